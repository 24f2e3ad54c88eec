"""A chat to prompt tokens, through the model's own template; text that people type never becomes a control token."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mtplx_engine import template
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.surrogates import replace_surrogates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mtplx_engine.config import ChatMessage

# A private-use character on each side of a number: what a control token typed by a person is hidden behind while the
# template is rendered. Private-use characters in the text itself are hidden the same way.
_OPEN, _CLOSE = "\U000f4d54", "\U000f4d58"
_HIDDEN = re.compile(f"{_OPEN}(\\d+){_CLOSE}")


def encode_chat(tokenizer: Any, messages: Sequence[ChatMessage], window: int) -> list[int]:
    """Render a chat with the model's template, ready for the answer, and encode it.

    Args:
        tokenizer: A transformers tokenizer with a chat template.
        messages: The turns; text in them that spells a control token is encoded as plain text.
        window: The model's context in tokens.

    Raises:
        EngineError: BAD_REQUEST for an empty chat or one that the template refuses, UNSUPPORTED without a usable
            template, CONTEXT_OVERFLOW for a chat that is far too long.
    """
    if not messages:
        raise EngineError(ErrorKind.BAD_REQUEST, "There is nothing to answer: the chat is empty.")
    chosen = _template(tokenizer)
    # Not `all_special_tokens`: it lacks the control tokens that have no role of their own.
    controls = [token.content for token in tokenizer.added_tokens_decoder.values() if token.special]
    controls.sort(key=len, reverse=True)
    typed = re.compile("|".join(map(re.escape, [*controls, _OPEN, _CLOSE])))
    literals: list[str] = []

    def hide(found: re.Match[str]) -> str:
        literals.append(found.group())
        return f"{_OPEN}{len(literals) - 1}{_CLOSE}"

    def harmless(text: str) -> str:
        return typed.sub(hide, replace_surrogates(text))

    turns = [{"role": harmless(m.role), "content": harmless(m.content)} for m in messages]
    rendered = template.shared().render(chosen, turns, tokenizer.special_tokens_map, window)
    ids = _encode(tokenizer, rendered, literals)
    if not ids:
        raise EngineError(ErrorKind.BAD_REQUEST, "The model's chat template makes nothing of this chat.")
    return ids


def _template(tokenizer: Any) -> str:
    try:
        found: str = tokenizer.get_chat_template()
    except ValueError:  # it has none, or none for plain chats
        found = ""
    if not found:
        raise EngineError(
            ErrorKind.UNSUPPORTED,
            "This model has no chat template, so it cannot chat; choose an instruct model.",
        )
    return found


def _encode(tokenizer: Any, rendered: str, literals: list[str]) -> list[int]:
    """Encode rendered text, with the hidden literals as plain text."""
    ids: list[int] = []
    for index, part in enumerate(_HIDDEN.split(rendered)):
        is_literal = index % 2 == 1
        text = literals[int(part)] if is_literal else part
        if text:
            ids += tokenizer.encode(text, add_special_tokens=False, split_special_tokens=is_literal)
    return ids
