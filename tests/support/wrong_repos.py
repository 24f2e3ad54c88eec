"""Repositories of other kinds than models in MLX form: what they are, and the words that must say so."""

from __future__ import annotations

import json

from tests.support import model_folder
from tests.support.fake_hub import FakeRepo
from tests.support.model_folder import CONFIG, TENSORS

_CONFIG = json.dumps(CONFIG).encode()
_README = b"# A model\n"
_WEIGHTS = model_folder.safetensors(TENSORS)
_FILES: dict[str, tuple[dict[str, bytes], str]] = {
    "GGUF": ({"README.md": _README, "m-Q4_K_M.gguf": b"GGUF", "m-Q8_0.gguf": b"GGUF"}, "GGUF files"),
    "GGUF in folders": ({"README.md": _README, "Q4/m-1.gguf": b"GGUF"}, "GGUF files"),
    "GGUF with a configuration": ({"config.json": b"{}", "m.gguf": b"GGUF"}, "GGUF files"),
    "adapter": ({"adapter_config.json": b"{}", "adapter_model.safetensors": _WEIGHTS}, "adapter (LoRA)"),
    "MLX adapter": ({"adapter_config.json": b"{}", "adapters.safetensors": _WEIGHTS}, "adapter (LoRA)"),
    "old adapter": ({"adapter_config.json": b"{}", "adapter_model.bin": b"x"}, "adapter (LoRA)"),
    "page": ({"README.md": _README}, "only README.md"),
    "page and pictures": ({"README.md": _README, "a.png": b"", "b.png": b""}, "only README.md, a.png, b.png"),
    "empty": ({}, "is empty"),
    "PyTorch": (
        {"config.json": _CONFIG, "pytorch_model.bin": b"x", "tokenizer.json": b"{}"},
        "PyTorch files",
    ),
    "PyTorch shards": ({"config.json": _CONFIG, "pytorch_model-1-of-2.bin": b"x"}, "PyTorch files"),
    "old PyTorch": ({"consolidated.00.pth": b"x", "params.json": b"{}"}, "PyTorch files"),
    "ONNX": ({"config.json": _CONFIG, "onnx/model.onnx": b"x"}, "ONNX files"),
    "Core ML": ({"m.mlpackage/Data/weights/weight.bin": b"x"}, "Core ML files"),
    "TensorFlow": ({"config.json": _CONFIG, "tf_model.h5": b"x"}, "TensorFlow files"),
    "Flax": ({"config.json": _CONFIG, "flax_model.msgpack": b"x"}, "Flax files"),
    "folders": (
        {"README.md": _README, "4bit/config.json": _CONFIG, "4bit/model.safetensors": _WEIGHTS},
        "models in folders (4bit)",
    ),
    "many folders": (
        {f"{bits}bit/config.json": _CONFIG for bits in (3, 4, 5, 6, 8)},
        "models in folders (3bit, 4bit, 5bit and 2 more)",
    ),
    "pictures": ({"model_index.json": b"{}", "unet/model.safetensors": _WEIGHTS}, "no language model"),
    "data": ({"README.md": _README, "data/train.parquet": b"PAR1"}, "data and no weights"),
    "lines of data": ({"train.jsonl": b"{}"}, "data and no weights"),
    "weights alone": ({"model.safetensors": _WEIGHTS}, "weights and no config.json"),
    "configuration alone": ({"config.json": _CONFIG, "tokenizer.json": b"{}"}, "no weights"),
    "other weights": ({"config.json": _CONFIG, "consolidated.safetensors": _WEIGHTS}, "no weights"),
}
REPOS = {name: FakeRepo(dict(files)) for name, (files, _) in _FILES.items()}
WORDS = {name: words for name, (_, words) in _FILES.items()}
