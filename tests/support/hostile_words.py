"""Words that a repository says in fields of its own, so that they look like ours or hide what they are."""

from __future__ import annotations

import json
import unicodedata

from mtplx_engine.util.formatting import BIDI_CONTROLS
from tests.support import model_folder
from tests.support.fake_hub import FakeRepo
from tests.support.model_folder import CONFIG, HEAD, HIDDEN, ROWS, TENSORS

CLAIM = "Verified by MTPLX"
EVIL = f"x\u202ey\n\n{CLAIM}\r\x1b[2J\x1b]0;title\x07\u2028{CLAIM}\x9b1m\u200b" + "z" * 5000
REPO, HEAD_REPO = "evil/words", "evil/words-MTP"


def _listed(entries: list[dict[str, object]]) -> list[dict[str, object]]:
    return [*entries, *({**entries[0], "path": f"{name}{EVIL[:60]}.py"} for name in ("a", "b", "c"))]


def sound() -> FakeRepo:
    """Return a model that loads."""
    files = {
        "config.json": json.dumps(CONFIG).encode(),
        "tokenizer.json": json.dumps(model_folder.TOKENIZER).encode(),
        "model.safetensors": model_folder.safetensors(TENSORS),
    }
    return FakeRepo(files, licence=EVIL, tags=(EVIL,), card={"base_model": EVIL}, listed=_listed)


def repos() -> dict[str, FakeRepo]:
    """Return repositories that are sound, and that are refused for what is quoted then."""
    config = {"model_type": "llama_mtp", "hidden_size": EVIL, "vocab_size": ROWS}
    stray = {"fc.weight": ("F32", (HIDDEN, 2 * HIDDEN)), EVIL[:90]: ("F32", (HIDDEN,))}
    return {
        REPO: sound(),
        f"{REPO}-kind": _with("config.json", json.dumps(CONFIG | {"model_type": EVIL}).encode()),
        f"{REPO}-size": _with("config.json", json.dumps(CONFIG | {"vocab_size": EVIL}).encode()),
        f"{REPO}-tensor": _with("model.safetensors", model_folder.safetensors(TENSORS | {EVIL[:90]: ("F32", (1,))})),
        f"{REPO}-own-head": _with("mtp.safetensors", model_folder.safetensors(HEAD | stray)),
        HEAD_REPO: FakeRepo(
            {"config.json": json.dumps(config).encode(), "model.safetensors": model_folder.safetensors(HEAD)}
        ),
        f"{HEAD_REPO}-kind": _with("config.json", json.dumps(CONFIG | {"model_type": EVIL}).encode()),
    }


def _with(name: str, data: bytes) -> FakeRepo:
    found = sound()
    found.files[name] = data
    return found


def faults(line: str) -> list[str]:
    """Return what makes a line more than a line, or something else than is seen."""
    return [
        char
        for char in line
        if char in BIDI_CONTROLS or char == "\u200b" or unicodedata.category(char) in ("Cc", "Zl", "Zp")
    ]
