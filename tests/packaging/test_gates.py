"""One fault planted for each gate, in an app where all of them are open."""

from __future__ import annotations

import platform
import plistlib
import shutil
import zipfile
from typing import TYPE_CHECKING

import pytest

from mtplx_bundle.gates import files
from mtplx_bundle.gates.contents import Contents, locked, of_checkout
from mtplx_bundle.gates.gate import GATES
from mtplx_bundle.layout import Layout
from tests.support import code_faults, module_faults, part_faults, tiny_app
from tests.support.planting import drop, link, put, script, tell

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    """An app without a fault; not to be changed."""
    return tiny_app.write(tmp_path_factory.mktemp("sound") / "MTPLX.app")


@pytest.fixture
def layout(sound: Layout, tmp_path: Path) -> Layout:
    """A copy of it to plant faults in."""
    shutil.copytree(sound.root, tmp_path / "MTPLX.app")
    return Layout(tmp_path / "MTPLX.app")


def report(layout: Layout) -> dict[str, list[str]]:
    """What the closed gates say, by name."""
    contents = Contents(layout, tiny_app.EXPECTED)
    found = {gate.name: list(gate.faults(contents)) for gate in GATES}
    return {name: faults for name, faults in found.items() if faults}


def test_a_sound_app_passes_every_gate(sound):
    assert report(sound) == {}


FAULTS = {**code_faults.FAULTS, **module_faults.FAULTS, **part_faults.FAULTS}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_closes_its_gate(layout, fault):
    plant, name, word = FAULTS[fault]
    plant(layout)
    (gate,) = (gate for gate in GATES if gate.name == name)
    assert any(word in line for line in gate.faults(Contents(layout, tiny_app.EXPECTED)))


def test_every_gate_has_a_fault_that_closes_it():
    sealed = {"the seal covers every file"}  # its faults are below
    assert {gate for _, gate, _ in FAULTS.values()} | sealed == {gate.name for gate in GATES}


def rule(layout: Layout, rules: dict[str, object]) -> None:
    seal = plistlib.loads(layout.seal.read_bytes())
    layout.seal.write_bytes(plistlib.dumps({**seal, "rules2": rules}))


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (put("app/window.py", b"# another"), "changed after"),
        (put("app/extra.py", b""), "not sealed"),
        (drop("app/window.py"), "missing"),
        (lambda layout: layout.seal.unlink(), "cannot be read"),
        (tell(LSMinimumSystemVersion="11.0"), "does not cover Contents/Info.plist"),
        (script, "holds no signature"),
        (link("app/link.py", "window.py"), "link.py is not sealed"),
        (link("app/gone.py", "nothing"), "gone.py is not sealed"),
        (lambda layout: (layout.root / "Icon\r").write_bytes(b""), "beside Contents"),
        (lambda layout: (layout.root / "stray").symlink_to("Contents"), "beside Contents"),
        (lambda layout: rule(layout, {}), "leave files out"),
    ],
)
def test_the_seal_notices_any_change(layout, change, word):
    change(layout)
    assert any(word in line for line in report(layout)["the seal covers every file"])


def test_a_link_is_sealed_with_where_it_leads(layout):
    (layout.site / "link").symlink_to("app")
    tiny_app.seal(layout)
    assert "the seal covers every file" not in report(layout)
    (layout.site / "link").unlink()
    (layout.site / "link").symlink_to("helper")
    (fault,) = report(layout)["the seal covers every file"]
    assert fault.endswith("link was changed after the signing")


def test_what_apple_fastens_to_a_notarised_app_is_no_stray(layout):
    layout.ticket.write_bytes(b"notarised")
    assert report(layout) == {}


def test_nested_code_is_sealed_by_its_own_signature(layout):
    seal = plistlib.loads(layout.seal.read_bytes())
    seal["files2"]["Helpers/mtplx"] = {"cdhash": bytes(20)}
    layout.seal.write_bytes(plistlib.dumps(seal))
    assert "Contents/Helpers/mtplx was changed after the signing" in report(layout)["the seal covers every file"]


def test_a_stale_compiled_module_is_noticed(layout):
    put("app/window.py", b"# another")(layout)
    assert any("another text" in line for line in report(layout)["every module compiles"])


def test_the_zip_has_a_budget_too(layout, monkeypatch):
    monkeypatch.setattr(files, "ZIP_MB", 0.001)
    packed = layout.root.with_suffix(".zip")
    starter = layout.starter.relative_to(layout.root.parent)
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(str(starter / "model.safetensors"), bytes(2000))
    assert "the sizes are within budget" not in report(layout)
    with zipfile.ZipFile(packed, "a") as archive:
        archive.writestr("MTPLX.app/Contents/large", bytes(2000))
    assert report(layout)["the sizes are within budget"] == ["MTPLX.zip has 0 MB, 0.001 are allowed"]


def test_the_starter_model_is_not_counted(layout, monkeypatch):
    monkeypatch.setattr(files, "BUNDLE_MB", 1)
    model = tiny_app.put(layout.starter / "model.safetensors", b"")
    with model.open("r+b") as file:
        file.truncate(2_000_000)
    assert "the sizes are within budget" not in report(layout)


LOCK = """\
apsw==3.54.1.0 \\
    --hash=sha256:00
    # via mtplx
cffi==2.1.1 ; sys_platform == 'linux' \\
    --hash=sha256:01
Jaraco.Classes==3.4.0 ; python_full_version < '3.12' and platform_machine == 'arm64' \\
    --hash=sha256:02
numpy==2.5.5 ; python_full_version >= '3.12' \\
    --hash=sha256:03
"""


def test_what_is_locked_for_macs_is_expected_and_nothing_else():
    assert locked(LOCK) == {("apsw", "3.54.1.0"), ("jaraco-classes", "3.4.0")}


def test_a_checkout_expects_its_own_version_and_the_modules_of_its_python():
    found = of_checkout(None)
    names = {name for name, _ in found.wheels}
    assert {"mlx-metal", "pyside6-essentials", "backports-tarfile"} <= names
    assert not {"mlx-cpu", "secretstorage", "colorama"} & names
    assert {"app/__main__.py", "mtplx_engine/host.py", "resources/models.toml"} <= found.own
    assert found.modules.version == platform.python_version()
