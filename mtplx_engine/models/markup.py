"""The marks that a model puts around its thinking and its tool calls, as mlx-lm knows them from its tokenizer."""

from __future__ import annotations

import importlib
import json
from dataclasses import dataclass
from typing import Any

from mlx_lm import tokenizer_utils

from mtplx_engine.prompt import template_of
from mtplx_engine.segments import Markup

# mlx-lm imports the module that tokenizer_config.json names; only these are formats of tool calls.
TOOL_PARSERS = frozenset(
    {
        "function_gemma",
        "gemma4",
        "glm47",
        "json_tools",
        "kimi_k2",
        "kimi_k3",
        "laguna",
        "longcat",
        "minicpm5",
        "minimax_m2",
        "mistral",
        "muse_spark",
        "pythonic",
        "qwen3_coder",
    }
)
_SWITCH = "enable_thinking"  # the name that templates agree on
_TAIL = 32  # tokens at the end of a prompt where an opening mark may stand


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that a model asks for: a name, and its arguments as a JSON object."""

    name: str
    arguments: str


def read(tokenizer: Any) -> Markup:
    """Return the marks of a model with this tokenizer (transformers); formats that we do not know count as none."""
    wrapper = tokenizer_utils.TokenizerWrapper(tokenizer)
    named = tokenizer.init_kwargs.get("tool_parser_type")
    parser = named if named is not None else tokenizer_utils._infer_tool_parser(tokenizer)  # noqa: SLF001
    if not isinstance(parser, str) or parser not in TOOL_PARSERS:
        return Markup(wrapper.think_start or "", wrapper.think_end or "")
    module = _tool_parser(parser)
    return Markup(
        wrapper.think_start or "",
        wrapper.think_end or "",
        module.tool_call_start,
        module.tool_call_end,
        parser,
    )


def opens_thinking(tokenizer: Any, markup: Markup, prompt: list[int]) -> bool:
    """Return whether a prompt ends with the mark that opens the thinking, as some templates write it."""
    if not markup.think_start:
        return False
    tail: str = tokenizer.decode(
        prompt[-_TAIL:], skip_special_tokens=False, clean_up_tokenization_spaces=False
    )
    return tail.rstrip().endswith(markup.think_start)


def has_thinking_switch(tokenizer: Any) -> bool:
    """Return whether the chat template looks at `enable_thinking`."""
    return _SWITCH in template_of(tokenizer)


def hidden_ids(tokenizer: Any, markup: Markup) -> frozenset[int]:
    """Return the control tokens, which are not shown, except those that spell a mark."""
    marks = (markup.think_start, markup.think_end, markup.tool_start, markup.tool_end)
    return frozenset(
        token_id
        for token_id, token in tokenizer.added_tokens_decoder.items()
        if token.special and not any(token.content in mark for mark in marks)
    )


def tool_calls(markup: Markup, text: str) -> tuple[ToolCall, ...]:
    """Return the calls in the text of a tool-call segment.

    Raises:
        ValueError: The text is not in the model's format.
    """
    if markup.tool_parser not in TOOL_PARSERS:
        raise ValueError("this model has no format for tool calls")
    try:
        found = _tool_parser(markup.tool_parser).parse_tool_call(text, None)
        calls = found if isinstance(found, list) else [found]
        return tuple(
            ToolCall(str(call["name"]), json.dumps(call.get("arguments") or {}, ensure_ascii=False))
            for call in calls
        )
    except Exception as error:  # the text is the model's, and each parser fails in its own way
        raise ValueError(f"not a tool call: {error!r}") from error


def _tool_parser(name: str) -> Any:
    return importlib.import_module(f"mlx_lm.tool_parsers.{name}")
