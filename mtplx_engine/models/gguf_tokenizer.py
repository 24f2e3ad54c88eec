"""Builds the tokenizer files of an mlx-lm folder from a GGUF's tokens, merges and chat template."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tokenizers import AddedToken, Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence

if TYPE_CHECKING:
    from pathlib import Path

_CONTROL = 3  # GGUF's token type of control tokens


def write_tokenizer(metadata: dict[str, Any], folder: Path) -> None:
    """Write tokenizer.json, tokenizer_config.json and special_tokens_map.json into `folder`.

    Args:
        metadata: The GGUF's, as mlx loads it; its pre-tokenizer must be "smollm" (byte-level BPE,
            digits apart).
        folder: Exists already.

    Raises:
        ValueError: The GGUF asks for another pre-tokenizer.
    """
    if metadata["tokenizer.ggml.pre"] != "smollm":
        raise ValueError(f"unknown pre-tokenizer {metadata['tokenizer.ggml.pre']!r}")
    tokens: list[str] = metadata["tokenizer.ggml.tokens"]
    kinds: list[int] = metadata["tokenizer.ggml.token_type"].tolist()
    control = [token for token, kind in zip(tokens, kinds, strict=True) if kind == _CONTROL]
    tokenizer = build(tokens, metadata["tokenizer.ggml.merges"], control)
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)

    named = {
        name: tokens[metadata[f"tokenizer.ggml.{key}_token_id"].item()]
        for name, key in [
            ("bos_token", "bos"),
            ("eos_token", "eos"),
            ("unk_token", "unknown"),
            ("pad_token", "padding"),
        ]
    }
    _write_json(folder / "special_tokens_map.json", named)
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": metadata["llama.context_length"].item(),
        "add_prefix_space": False,
        "clean_up_tokenization_spaces": False,
        **named,
        "chat_template": metadata["tokenizer.chat_template"],
    }
    _write_json(folder / "tokenizer_config.json", config)


def build(tokens: list[str], merges: list[str], control: list[str]) -> Tokenizer:
    """Return a byte-level BPE tokenizer that splits numbers into digits.

    Args:
        tokens: By id, in byte-level spelling.
        merges: Pairs "left right", most important first.
        control: The tokens that text is matched against first, and that decoding may skip.
    """
    vocabulary = {token: number for number, token in enumerate(tokens)}
    pairs = [(left, right) for left, _, right in (merge.partition(" ") for merge in merges)]
    tokenizer = Tokenizer(BPE(vocab=vocabulary, merges=pairs))
    tokenizer.pre_tokenizer = Sequence([Digits(individual_digits=True), ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = ByteLevelDecoder()
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in control])
    return tokenizer


def _write_json(path: Path, body: dict[str, Any]) -> None:
    path.write_text(json.dumps(body, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
