"""Apple's tools are asked for the right things, in the right order; what they do then can only be seen on a Mac."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtplx_bundle import archive, notary, signing
from tests.support import tiny_app
from tests.support.tiny_macho import Tiny

NAME = "Developer ID Application: Ann (TEAM)"


@pytest.fixture
def layout(tmp_path):
    return tiny_app.write(tmp_path / "MTPLX.app")


def test_every_code_is_signed_before_the_app_and_for_the_hardened_runtime(layout):
    tiny_app.put(layout.site / "no_suffix", Tiny(signed=False).bytes())
    commands = []
    signing.sign_for(layout, NAME, commands.append)
    *nested, app = commands
    assert app[-1] == str(layout.root)
    names = [Path(command[-1]).name for command in nested]
    assert {"no_suffix", "libmlx.dylib", "mtplx", "mtplx-engine"} <= set(names)
    assert "MTPLX" not in names  # it stands for the app
    for command in commands:
        assert command[0] == "codesign"
        assert {"--timestamp", "runtime", NAME} <= set(command)
        assert "--deep" not in command


def test_code_is_signed_outside_the_app_and_put_back(layout):
    def sign(command):
        path = Path(command[-1])
        if path.is_file():
            assert not path.is_relative_to(layout.root)
            path.write_bytes(path.read_bytes() + b"signed")

    signing.sign_for(layout, NAME, sign)
    assert (layout.site / "mlx" / "lib" / "libmlx.dylib").read_bytes().endswith(b"signed")
    assert layout.command.stat().st_mode & 0o111


def test_an_app_is_zipped_for_the_notary_and_stapled_itself(layout):
    commands = []
    notary.notarise(layout.root, "ann", commands.append)
    packed, sent, stapled = commands
    assert packed[0] == "ditto"
    assert sent[:3] == ["xcrun", "notarytool", "submit"]
    assert sent[3] == packed[-1]
    assert {"ann", "--wait"} <= set(sent)
    assert stapled == ["xcrun", "stapler", "staple", str(layout.root)]


def test_an_image_goes_to_the_notary_as_it_is(tmp_path):
    commands, image = [], tmp_path / "MTPLX.dmg"
    image.touch()
    notary.notarise(image, "ann", commands.append)
    assert commands[0][3] == str(image)
    assert len(commands) == 2


def test_the_image_shows_the_app_beside_the_way_to_applications(layout, tmp_path):
    seen = []

    def run(command):
        seen.extend(sorted(path.name for path in Path(command[command.index("-srcfolder") + 1]).iterdir()))
        assert command[0] == "hdiutil"

    image = archive.disk_image(layout, tmp_path / "MTPLX.dmg", run)
    assert image == tmp_path / "MTPLX.dmg"
    assert seen == ["Applications", "MTPLX.app"]
