"""Which repositories, revisions and files a hub may offer us, by name."""

from __future__ import annotations

import re

from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id

_COMMIT = re.compile(r"[0-9a-f]{40}")
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,200}")
_WEIGHTS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,120}\.safetensors")
_DEEPER_WEIGHTS = frozenset({"mtp/weights.safetensors"})
_OTHERS = frozenset(
    {
        "config.json",
        "generation_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "special_tokens_map.json",
        "added_tokens.json",
        "vocab.json",
        "merges.txt",
        "tokenizer.model",
        "chat_template.jinja",
        "chat_template.json",
        "model.safetensors.index.json",
        "README.md",
        "LICENSE",
        "LICENSE.txt",
        "LICENSE.md",
    }
)


def is_repo(name: str) -> bool:
    """Whether `name` has the form owner/name."""
    try:
        validate_repo_id(name)
    except HFValidationError:
        return False
    return "/" in name


def is_commit(revision: str) -> bool:
    """Whether `revision` is a commit, which never means something else later."""
    return bool(_COMMIT.fullmatch(revision))


def is_revision(name: str) -> bool:
    """Whether a branch, a tag or a commit can be called that."""
    return bool(_REVISION.fullmatch(name)) and ".." not in name


def is_weights(name: str) -> bool:
    """Whether a file of this name holds tensors in the one form that carries no code."""
    return bool(_WEIGHTS.fullmatch(name)) or name in _DEEPER_WEIGHTS


def is_wanted(name: str) -> bool:
    """Whether a model needs a file of this name; everything else, code and pickles above all, is never fetched."""
    return name in _OTHERS or is_weights(name)
