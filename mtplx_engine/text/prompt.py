"""From a chat to the token ids of a prompt, by the model's chat template.

Text of the user that spells a control token (as "<|im_end|>") must not become one. So it is replaced by a placeholder
while the template is rendered, and encoded afterwards as `PlainText`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.text import template
from mtplx_engine.util.formatting import replace_surrogates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mtplx_engine.config import ChatMessage


class PlainText:
    """Encodes text without the added tokens of a transformers tokenizer with a backend of the tokenizers library.

    All added tokens count as control tokens, not only those flagged special: published tokenizers leave the marks of
    roles and of thinking without that flag. Only runs of blanks are text and keep their added tokens.

    Attributes:
        controls: Matches the spelling of an added token; an empty pattern when there is none.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._backend = tokenizer.backend_tokenizer
        added = {token_id: token for token_id, token in tokenizer.added_tokens_decoder.items() if token.content.strip()}
        self._ids = frozenset(added)
        self.controls = _any_of({token.content for token in added.values()})
        loose = {token.content for token in added.values() if token.normalized}
        self._loose = _any_of(loose | {self._normalized(content) for content in loose}) if loose else None

    def is_disguised(self, text: str) -> bool:
        """Whether the tokenizer's normalization turns a part of the text into the spelling of a control token."""
        if self._loose is None or self._backend.normalizer is None:
            return False
        rest = self.controls.sub("\n", text) if self.controls.pattern else text
        return self._loose.search(self._normalized(rest)) is not None

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text; a character that only an added token can encode is left out."""
        normal = self._normalized(text)
        splitter = self._backend.pre_tokenizer
        pieces = [piece for piece, _ in splitter.pre_tokenize_str(normal)] if splitter else [normal]
        return [token_id for piece in pieces if piece for token_id in self._encode_piece(piece)]

    def _encode_piece(self, piece: str) -> list[int]:
        ids = self._ids_of(piece)
        if self._ids.isdisjoint(ids):
            return ids
        # The vocabulary itself may contain the spelling of an added token, but hardly as a single character.
        apart = (token_id for character in piece for token_id in self._ids_of(character))
        return [token_id for token_id in apart if token_id not in self._ids]

    def _ids_of(self, piece: str) -> list[int]:
        return [token.id for token in self._backend.model.tokenize(piece)]

    def _normalized(self, text: str) -> str:
        normalizer = self._backend.normalizer
        normal: str = normalizer.normalize_str(text) if normalizer else text
        return normal


def _any_of(texts: set[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, sorted(texts, key=lambda text: (-len(text), text)))))


# The placeholder of a control token in the user's text is its number between two private-use characters. Those
# characters in the text itself are replaced in the same way.
_OPEN, _CLOSE = "\U000f4d54", "\U000f4d58"
_PLACEHOLDER = re.compile(f"{_OPEN}(\\d+){_CLOSE}")


class PromptEncoder:
    """Encodes chats for one model.

    Args:
        tokenizer: A transformers tokenizer, with a chat template unless the model cannot chat. It is used by one
            thread at a time.
        think_start: The mark before the model's thinking, "" when it has none.
    """

    def __init__(self, tokenizer: Any, window: int, think_start: str = "") -> None:
        self._tokenizer = tokenizer
        self._window = window
        self._think_start = think_start
        self._plain = PlainText(tokenizer)
        marks = "|".join(map(re.escape, (_OPEN, _CLOSE)))
        self._typed = re.compile("|".join(filter(None, (self._plain.controls.pattern, marks))))

    def encode(
        self, messages: Sequence[ChatMessage], *, thinking: bool | None = None, continues: bool = False
    ) -> list[int]:
        """Render a chat with the model's template, ready for the answer, and encode it.

        Text in it that spells a control token is encoded as plain text. `thinking` sets the template's switch, None
        leaves it unset; with `continues` the last turn is an answer to be continued.

        Raises:
            EngineError: BAD_REQUEST for an empty chat or one that the template refuses, UNSUPPORTED without a usable
                template.
        """
        if not messages:
            raise EngineError(ErrorKind.BAD_REQUEST, "There is nothing to answer: the chat is empty.")
        literals: list[str] = []
        switches: dict[str, bool] = {} if thinking is None else {"enable_thinking": thinking}
        turns = [self._turn(message, literals) for message in messages]
        if not continues:
            rendered = self._render(turns, switches)
        elif messages[-1].content:
            rendered = self._render_open_answer(turns, switches, literals)
        else:
            rendered = self._render_open_thinking(turns, switches)
        ids = self._encode(rendered, literals)
        if not ids:
            raise EngineError(ErrorKind.BAD_REQUEST, "The model's chat template makes nothing of this chat.")
        return ids

    def count(self, text: str) -> int:
        """Return how many tokens a text has inside a message of the user."""
        literals: list[str] = []
        return len(self._encode(self._escape(text, literals), literals))

    def _turn(self, message: ChatMessage, literals: list[str]) -> dict[str, str]:
        turn = {
            "role": self._escape(message.role, literals),
            "content": self._escape(message.content, literals),
        }
        if message.thinking:
            turn["reasoning_content"] = self._escape(message.thinking, literals)
        return turn

    def _escape(self, text: str, literals: list[str]) -> str:
        """Return the user's text with placeholders for spelled control tokens, which are appended to `literals`."""
        text = replace_surrogates(text)
        if self._plain.is_disguised(text):
            return _placeholder(text, literals)
        return self._typed.sub(lambda found: _placeholder(found.group(), literals), text)

    def _render(self, turns: Sequence[dict[str, str]], switches: dict[str, bool]) -> str:
        found = template_of(self._tokenizer)
        if not found:
            raise EngineError(
                ErrorKind.UNSUPPORTED,
                "This model has no chat template, so it cannot chat; choose an instruct model.",
            )
        names = {**self._tokenizer.special_tokens_map, **switches}
        return template.shared().render(found, turns, names, self._window)

    def _render_open_answer(self, turns: list[dict[str, str]], switches: dict[str, bool], literals: list[str]) -> str:
        """Render a chat up to the last character of its last turn, without what the template adds after it."""
        end = _placeholder("", literals)
        last = {**turns[-1], "content": turns[-1]["content"] + end}
        rendered = self._render([*turns[:-1], last], {**switches, "add_generation_prompt": False})
        before, found, _ = rendered.rpartition(end)
        if not found:
            raise EngineError(
                ErrorKind.BAD_REQUEST,
                "The model's chat template does not let an answer be continued; ask for a new one.",
            )
        return before

    def _render_open_thinking(self, turns: list[dict[str, str]], switches: dict[str, bool]) -> str:
        """Render a chat up to the last character of the thinking in its last turn, which has no content yet."""
        rendered = self._render(turns[:-1], switches)
        if self._think_start and not rendered.rstrip().endswith(self._think_start):
            rendered += f"{self._think_start}\n"
        return rendered + turns[-1].get("reasoning_content", "")

    def _encode(self, rendered: str, literals: list[str]) -> list[int]:
        """Encode rendered text, with the literals behind placeholders as plain text."""
        ids: list[int] = []
        for index, part in enumerate(_PLACEHOLDER.split(rendered)):
            if index % 2 == 1:
                ids += self._plain.encode(literals[int(part)])
            elif part:
                ids += self._tokenizer.encode(part, add_special_tokens=False)
        return ids


def _placeholder(literal: str, literals: list[str]) -> str:
    literals.append(literal)
    return f"{_OPEN}{len(literals) - 1}{_CLOSE}"


def template_of(tokenizer: Any) -> str:
    """Return the chat template of a transformers tokenizer, "" when there is none that can be used."""
    try:
        found = tokenizer.get_chat_template()
    except ValueError:  # it has none, or none for plain chats
        return ""
    return found if isinstance(found, str) else ""
