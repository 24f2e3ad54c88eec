"""Apple's tools get the right commands in the right order, which only a Mac can run; the zip keeps modes and links."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from mtplx_bundle import release
from tests.support import tiny_app
from tests.support.tiny_macho import Tiny

BUILD = Path(__file__).resolve().parents[2] / "packaging" / "build.py"
NAME = "Developer ID Application: Ann (TEAM)"


@pytest.fixture
def layout(tmp_path):
    return tiny_app.write(tmp_path / "MTPLX.app")


def test_every_code_is_signed_before_the_app_and_for_the_hardened_runtime(layout):
    tiny_app.put(layout.site / "no_suffix", Tiny(signed=False).bytes())
    commands = []
    release.sign_for(layout, NAME, commands.append)
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

    release.sign_for(layout, NAME, sign)
    assert (layout.site / "mlx" / "lib" / "libmlx.dylib").read_bytes().endswith(b"signed")
    assert layout.command.stat().st_mode & 0o111


def test_an_app_is_zipped_for_the_notary_and_stapled_itself(layout):
    commands = []
    release.notarise(layout.root, "ann", commands.append)
    packed, sent, stapled = commands
    assert packed[0] == "ditto"
    assert sent[:3] == ["xcrun", "notarytool", "submit"]
    assert sent[3] == packed[-1]
    assert {"ann", "--wait"} <= set(sent)
    assert stapled == ["xcrun", "stapler", "staple", str(layout.root)]


def test_an_image_goes_to_the_notary_as_it_is(tmp_path):
    commands, image = [], tmp_path / "MTPLX.dmg"
    image.touch()
    release.notarise(image, "ann", commands.append)
    assert commands[0][3] == str(image)
    assert len(commands) == 2


def test_an_image_is_signed_without_what_only_programs_have(tmp_path):
    commands = []
    release.sign_image(tmp_path / "MTPLX.dmg", NAME, commands.append)
    (command,) = commands
    assert command[0] == "codesign"
    assert command[-2:] == [NAME, str(tmp_path / "MTPLX.dmg")]
    assert "--timestamp" in command
    assert "runtime" not in command


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--notary-profile", "ann"), "needs --identity"),
        pytest.param(
            ("--identity", NAME),
            "only a Mac signs",
            marks=pytest.mark.skipif(sys.platform == "darwin", reason="this is one"),
        ),
    ],
)
def test_what_cannot_be_signed_is_refused_before_anything_is_built(options, word):
    ended = subprocess.run([sys.executable, str(BUILD), *options], capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert word in ended.stderr
    assert ended.stdout == ""


def test_the_image_shows_the_app_beside_the_way_to_applications(layout, tmp_path):
    seen = []

    def run(command):
        seen.extend(sorted(path.name for path in Path(command[command.index("-srcfolder") + 1]).iterdir()))
        assert command[0] == "hdiutil"

    image = release.make_disk_image(layout, tmp_path / "MTPLX.dmg", run)
    assert image == tmp_path / "MTPLX.dmg"
    assert seen == ["Applications", "MTPLX.app"]


def test_what_may_be_run_and_links_come_out_of_the_zip_as_they_went_in(tmp_path):
    layout = tiny_app.write(tmp_path / "MTPLX.app")
    (layout.resources / "link").symlink_to("MTPLX.icns")
    packed = release.make_zip(layout, tmp_path / "MTPLX.zip")
    with zipfile.ZipFile(packed) as zipped:
        modes = {item.filename: item.external_attr >> 16 for item in zipped.infolist()}
    assert modes["MTPLX.app/Contents/MacOS/MTPLX"] & 0o777 == 0o755
    assert modes["MTPLX.app/Contents/Resources/link"] & 0o170000 == 0o120000
    files = {path for path in layout.root.rglob("*") if not path.is_dir()}
    assert len(modes) == len(files)


def test_every_file_is_whole_in_the_zip(tmp_path):
    layout = tiny_app.write(tmp_path / "MTPLX.app")
    packed = release.make_zip(layout, tmp_path / "MTPLX.zip")
    with zipfile.ZipFile(packed) as zipped:
        assert zipped.testzip() is None
        zipped.extractall(tmp_path / "out")
    command = ["diff", "-r", str(layout.root), str(tmp_path / "out" / "MTPLX.app")]
    assert subprocess.run(command, check=False).returncode == 0
