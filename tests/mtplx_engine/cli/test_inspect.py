"""`mtplx inspect` prints what an inspection found, for users and for programs, without the model stack."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from typing import TYPE_CHECKING

from mtplx_engine.cli.main import main
from tests.support.model_folder import HEAD
from tests.support.odd_folders import GOOD, HOSTILE

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def build(folder: Path, name: str) -> Path:
    next(case for case in (*GOOD, *HOSTILE) if case.name == name).build(folder)
    return folder


def test_for_users(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = build(tmp_path / "tiny", "file")
    assert main(["inspect", str(folder), "--data-dir", str(tmp_path)]) == 0
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["model"] == "tiny"
    assert lines["folder"] == str(folder)
    assert lines["tier"] == "supported, unverified"
    assert "tried when" in lines["reason"]
    assert lines["family"] == "llama"
    assert lines["head"] == "mtp.safetensors, 848 bytes"
    assert lines["note"].startswith("It has no chat template")
    assert lines["fit"] == "fits"
    assert lines["memory"].startswith("weights 944 bytes, drafting head 848 bytes, 8192 tokens of context")


def test_for_programs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    build(tmp_path / "models" / "tiny", "file")
    assert main(["inspect", "tiny", "--context", "100", "--json", "--data-dir", str(tmp_path)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["tier"] == "supported, unverified"
    assert found["loads"] is True
    assert [note.partition(",")[0] for note in found["notes"]] == ["It has no chat template"]
    size = 4 * sum(math.prod(shape) for _, shape in HEAD.values())
    assert found["head"] == {"source": "mtp.safetensors", "size": size}
    parts = ("weights", "head", "cache", "scratch")
    assert found["fit"]["total"] == sum(found["fit"][part] for part in parts)
    assert (found["fit"]["verdict"], found["fit"]["context"]) == ("fits", 100)


def test_what_is_refused_is_told_by_the_exit_code(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = build(tmp_path / "bad", "auto_map")
    assert main(["inspect", str(folder), "--json", "--data-dir", str(tmp_path)]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["tier"], found["loads"], found["head"], found["fit"]) == ("refused", False, None, None)


def test_it_imports_no_model_stack(tmp_path: Path) -> None:
    folder = build(tmp_path / "tiny", "nested")
    code = (
        "import sys; from mtplx_engine.cli.main import main;"
        f"code = main(['inspect', {str(folder)!r}, '--data-dir', {str(tmp_path)!r}]);"
        "sys.exit(str({'mlx', 'mlx_lm', 'numpy', 'transformers'} & set(sys.modules) or '') or code)"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
