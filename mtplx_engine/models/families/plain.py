"""Families that decode plainly, without drafts of their own; exactly those of `supported.PLAIN_ONLY`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mlx import nn
from mlx_lm.models import (
    deepseek_v32,
    gemma4,
    gemma4_text,
    glm_moe_dsa,
    mimo,
    mimo_v2_flash,
    nemotron_h,
    step3p5,
)
from mlx_lm.models.gemma4_text import logit_softcap

from mtplx_engine.models.families.family import EmbeddingAndHead

if TYPE_CHECKING:
    from collections.abc import Mapping

    import mlx.core as mx

    from mtplx_engine.models.families.family import Trunk


@dataclass(frozen=True, slots=True)
class PlainFamily:
    """A family without a supported head; see `Trunk` for its methods."""

    model: type[nn.Module]
    args: type

    def model_classes(self, config: Mapping[str, Any]) -> tuple[type[nn.Module], type]:  # noqa: ARG002 - one for all
        return self.model, self.args

    def ends(self, model: nn.Module) -> EmbeddingAndHead:
        """Return embedding and output head; the norm is part of `hidden_states`, where no head reads in between."""
        language = _language_model(model)
        trunk = _trunk(language)
        embedding = trunk.embeddings if "embeddings" in trunk else trunk.embed_tokens
        output = language.lm_head if "lm_head" in language else embedding
        cap = getattr(language, "final_logit_softcapping", None)
        return EmbeddingAndHead(embedding, nn.Identity(), output if cap is None else _Capped(output, cap))

    def hidden_states(self, model: nn.Module, tokens: mx.array, layers: list[Any]) -> mx.array:
        """Forward tokens [M]; returns [M, H] after the final norm."""
        rows: mx.array = _trunk(_language_model(model))(tokens[None], cache=layers)[0]
        return rows


class _Capped(nn.Module):
    """An output head whose logits are bent to stay within +-cap."""

    def __init__(self, output: nn.Module, cap: float) -> None:
        super().__init__()
        self.output = output
        self.cap = cap

    def __call__(self, hidden: mx.array) -> mx.array:
        is_embedding = isinstance(self.output, nn.Embedding | nn.QuantizedEmbedding)
        logits = self.output.as_linear(hidden) if is_embedding else self.output(hidden)
        capped: mx.array = logit_softcap(self.cap, logits)
        return capped


def _language_model(model: nn.Module) -> Any:
    return model.language_model if "language_model" in model else model


def _trunk(language: Any) -> Any:
    return language.backbone if "backbone" in language else language.model


PLAIN: Mapping[str, Trunk] = {
    "deepseek_v32": PlainFamily(deepseek_v32.Model, deepseek_v32.ModelArgs),
    "gemma4": PlainFamily(gemma4.Model, gemma4.ModelArgs),
    "gemma4_text": PlainFamily(gemma4_text.Model, gemma4_text.ModelArgs),
    "glm_moe_dsa": PlainFamily(glm_moe_dsa.Model, glm_moe_dsa.ModelArgs),
    "mimo": PlainFamily(mimo.Model, mimo.ModelArgs),
    "mimo_v2_flash": PlainFamily(mimo_v2_flash.Model, mimo_v2_flash.ModelArgs),
    "nemotron_h": PlainFamily(nemotron_h.Model, nemotron_h.ModelArgs),
    "step3p5": PlainFamily(step3p5.Model, step3p5.ModelArgs),
}
"""By config.json's `model_type`."""
