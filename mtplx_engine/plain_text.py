"""Text to tokens that are none of those added to a vocabulary, whatever the text spells."""

from __future__ import annotations

import re
from typing import Any


class PlainText:
    """Encodes without the added tokens of a tokenizer.

    All of them count, not only those that it calls special: published tokenizers leave the marks of roles and of
    thinking without that flag. Runs of blanks are text, though, and stay the tokens that the model knows them by.

    Args:
        tokenizer: A transformers tokenizer with a backend of the tokenizers library.

    Attributes:
        controls: Finds what spells an added token; an empty pattern when there is none.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._backend = tokenizer.backend_tokenizer
        added = {
            token_id: token
            for token_id, token in tokenizer.added_tokens_decoder.items()
            if token.content.strip()
        }
        self._ids = frozenset(added)
        self.controls = _any_of({token.content for token in added.values()})
        loose = {token.content for token in added.values() if token.normalized}
        self._loose = _any_of(loose | {self._normalized(content) for content in loose}) if loose else None

    def is_disguised(self, text: str) -> bool:
        """Whether the tokenizer's own normalization of a text makes a control token of what does not spell one."""
        if self._loose is None or self._backend.normalizer is None:
            return False
        rest = self.controls.sub("\n", text) if self.controls.pattern else text
        return self._loose.search(self._normalized(rest)) is not None

    def encode(self, text: str) -> list[int]:
        """Return ids of a text; a character that only an added token can spell is left out."""
        normal = self._normalized(text)
        splitter = self._backend.pre_tokenizer
        pieces = [piece for piece, _ in splitter.pre_tokenize_str(normal)] if splitter else [normal]
        return [token_id for piece in pieces if piece for token_id in self._piece(piece)]

    def _piece(self, piece: str) -> list[int]:
        ids = self._ids_of(piece)
        if self._ids.isdisjoint(ids):
            return ids
        # The vocabulary itself may hold what an added token spells, but hardly in one character.
        apart = (token_id for character in piece for token_id in self._ids_of(character))
        return [token_id for token_id in apart if token_id not in self._ids]

    def _ids_of(self, piece: str) -> list[int]:
        return [token.id for token in self._backend.model.tokenize(piece)]

    def _normalized(self, text: str) -> str:
        normalizer = self._backend.normalizer
        normal: str = normalizer.normalize_str(text) if normalizer else text
        return normal


def _any_of(words: set[str]) -> re.Pattern[str]:
    """Return what finds the words, the longest first."""
    return re.compile("|".join(map(re.escape, sorted(words, key=lambda word: (-len(word), word)))))
