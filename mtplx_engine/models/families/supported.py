"""The architectures that this version can run. Imports no mlx: it is asked before any load."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SUPPORTED: frozenset[str] = frozenset(
    {"deepseek_v3", "glm4_moe", "glm4_moe_lite", "llama", "qwen3_5", "qwen3_5_moe", "qwen3_next"}
)
"""Values of config.json's `model_type` whose drafting heads load; `registry` has a family for each."""

PLAIN_ONLY: Mapping[str, str] = {
    "gemma4": "Gemma 4",
    "gemma4_text": "Gemma 4",
    "mimo": "MiMo",
    "mimo_v2_flash": "MiMo-V2",
    "step3p5": "Step-3.5",
}
"""Those that decode plainly until their drafting heads are supported, with their names for people."""

LATER: Mapping[str, str] = {
    "deepseek_v32": "DeepSeek-V3.2",
    "glm_moe_dsa": "GLM-5",
    "nemotron_h": "Nemotron-H",
}
"""Those that mlx-lm runs with caches that cannot be rolled back yet."""

_HEAD = re.compile(r"(^|\.)mtp(_\w+)?\.")
_LAYER = re.compile(r"(^|\.)layers\.(\d+)\.")


def has_head(config: Mapping[str, Any], names: Iterable[str]) -> bool:
    """Whether tensors of these names hold a drafting head: below `mtp`, or in a layer behind the trunk's last."""
    layers: int = config["num_hidden_layers"]
    return any(
        _HEAD.search(name) or ((match := _LAYER.search(name)) and int(match[2]) >= layers) for name in names
    )
