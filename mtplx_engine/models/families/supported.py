"""The architectures that this version can run. Imports no mlx, since it is read before any load."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


SUPPORTED: frozenset[str] = frozenset(
    {"deepseek_v3", "glm4_moe", "glm4_moe_lite", "kimi_k2", "llama", "qwen3_5", "qwen3_5_moe", "qwen3_next"}
)
"""Values of config.json's `model_type` whose drafting heads load; `registry` has a family for each."""

PUBLISHED: frozenset[str] = SUPPORTED - {"llama"}
"""Those of `SUPPORTED` whose makers publish heads; heads of the others are trained later by somebody else."""

PLAIN_ONLY: Mapping[str, str] = {
    "deepseek_v32": "DeepSeek-V3.2",
    "gemma4": "Gemma 4",
    "gemma4_text": "Gemma 4",
    "glm_moe_dsa": "GLM-5",
    "mimo": "MiMo",
    "mimo_v2_flash": "MiMo-V2",
    "nemotron_h": "Nemotron-H",
    "step3p5": "Step-3.5",
}
"""Those that decode plainly until their drafting heads are supported, with display names."""

_UNDRAFTED: frozenset[str] = frozenset({"deepseek_v32", "glm_moe_dsa", "nemotron_h"})
"""Those of `PLAIN_ONLY` that cannot verify drafts: mlx-lm computes the rows of a wide forward in another way than
single ones, and the state of Nemotron-H's layers cannot be rolled back."""

_HEAD = re.compile(r"(^|\.)mtp(_\w+)?\.")
_LAYER = re.compile(r"(^|\.)layers\.(\d{1,9})\.")


def why_later(architecture: str) -> str:
    """Return why a folder with only a drafting head is not used yet; empty when no later version will use it."""
    target = architecture.removesuffix("_assistant")
    if target == architecture or target not in PLAIN_ONLY:
        return ""
    return f"Drafting heads of {PLAIN_ONLY[target]} models come in a later version; until then none is used."


def takes_drafts(config: Mapping[str, Any]) -> bool:
    """Whether a model can verify drafts and roll them back; one that cannot does not draft for others either."""
    return config["model_type"] not in _UNDRAFTED


def has_head(config: Mapping[str, Any], names: Iterable[str]) -> bool:
    """Whether some of these tensors are a drafting head's: below `mtp`, or in a layer behind the trunk's last."""
    layers: int = config["num_hidden_layers"]
    return any(_HEAD.search(name) or ((match := _LAYER.search(name)) and int(match[2]) >= layers) for name in names)


def why_plain(config: Mapping[str, Any], names: Iterable[str], *, head: bool) -> str:
    """Return why a model has no drafter of its own, one sentence; empty when its head may be used.

    `config` is laid flat; `names` are without those of the head, if one was found.
    """
    later = PLAIN_ONLY.get(config["model_type"])
    if later and not takes_drafts(config):
        return f"Nothing can draft for {later} models in this version; this model decodes plainly."
    if later and (head or has_head(config, names)):
        return f"Drafting heads of {later} models come in a later version; this model decodes plainly."
    return "" if head else "This model has no drafting head (MTP); it decodes plainly."
