"""The recipe of the trained toy still makes such a model; a few steps are enough to see that."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import mlx.core as mx
import pytest

from mtplx_engine import backend
from mtplx_engine.models import checkpoint, loader
from tests.support.toy import TOY

ROOT = Path(__file__).resolve().parents[2]
# In a process of its own, since the recipe chooses its BLAS.
SHORT = """
import sys
from pathlib import Path
import train_toy
train_toy.TRUNK_STEPS = train_toy.HEAD_STEPS = 20
train_toy.main(Path(sys.argv[1]))
"""


def weights(folder: Path) -> dict[str, tuple[tuple[int, ...], mx.Dtype]]:
    tensors = mx.load(str(folder / "model.safetensors"))
    return {name: (tensor.shape, tensor.dtype) for name, tensor in tensors.items()}


@pytest.mark.long
def test_a_short_run_writes_a_model_like_the_toy(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SHORT, str(tmp_path)]
    output = subprocess.run(command, cwd=ROOT / "scripts", check=True, capture_output=True, text=True).stdout
    print(output)
    assert '"head_agreement"' in output
    assert weights(tmp_path) == weights(TOY)
    for name in ("config.json", "generation_config.json", "tokenizer_config.json"):
        assert (tmp_path / name).read_text() == (TOY / name).read_text()
    model = loader.load_checkpoint(checkpoint.check(tmp_path), backend.policy(), lambda *_: None)
    assert model.tokenizer.decode(model.tokenizer.encode("If the file is closed")) == "If the file is closed"
    assert model.target.vocabulary == 1024
