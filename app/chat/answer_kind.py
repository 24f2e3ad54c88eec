"""A guess at what an answer is like, from its text: what it is like decides how well it can be drafted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from app.chat.conversation import Role
from mtplx_engine.measurement import PromptKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mtplx_engine.config import ChatMessage

_LOOKED_AT: Final = 40_000  # characters of prompt and answer; more would tell no more
_FENCE: Final = re.compile(r" {0,3}(?:```|~~~)")
# Scripts without spaces count by character.
_WORD: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+")
_FORMULA: Final = re.compile(
    r"\\(?:frac|sqrt|sum|prod|int|lim|cdot|times|begin|left|boxed|approx|leq?|geq?|neq|pm|pi|theta|alpha|infty)\b"
    r"|\$[^$\n]{1,200}\$|\\[\[(]"
    r"|[=≈≤≥<>] ?[-−+]?\d|\d ?[-−+*/×·÷^] ?\d"
)
_CODE_SHARE, _COPIED_SHARE, _FOREIGN_SHARE = 0.3, 0.6, 0.4
_RUN: Final = 4  # words in a row that make a copy
_LEAST_COPIED, _LEAST_SPOKEN = 20, 8  # words below which nothing is said of copies, and of the language
_LEAST_FORMULAS, _WORDS_PER_FORMULA = 3, 20


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_ENGLISH: Final = _set(
    "the of and to is that it for was on are with as at be this have from or by not but what all were when we "
    "there can an your which their if will each how do you i my he she they"
)
# German, French, Spanish, Italian, Portuguese, Dutch, Polish, Turkish.
_OTHERS: Final = (
    _set(
        "der das und ist nicht ein eine mit auf für dem den von zu im auch es sich wird sind oder wie "
        "le la les des du et est une dans que qui pour pas sur avec ce il elle sont plus au aux vous nous "
        "el los las un una y es en por con para no se lo como más su del al "
        "il gli di che è non si della nel sono anche questo o os e não uma do da em um com na mais dos foi "
        "het een van ik je niet zijn dat op te voor ook i w nie się na jest z że jak ale bir ve bu için çok"
    )
    - _ENGLISH
)


def kind_of(prompt: Sequence[ChatMessage], answer: str) -> PromptKind:
    """Return what an answer is like; takes a time that grows with the length of the texts, up to a limit.

    Args:
        prompt: The turns that the model was given, at least those before the answer.
        answer: Its text as far as it was written.
    """
    answer = answer[:_LOOKED_AT]
    words = _words(answer)
    spoken, code = _without_code(answer)
    if _is_copied(words, prompt):
        return PromptKind.COPY
    if code > _CODE_SHARE * len(answer) or (code and _asks_about_code(prompt)):
        return PromptKind.CODE
    formulas = sum(1 for _ in _FORMULA.finditer(spoken))
    if formulas >= _LEAST_FORMULAS and formulas * _WORDS_PER_FORMULA >= len(words):
        return PromptKind.MATHS
    return PromptKind.LANGUAGE if _is_foreign(spoken) else PromptKind.CHAT


def _is_copied(answer: list[str], prompt: Sequence[ChatMessage]) -> bool:
    """Whether most runs of words in the answer stand in the prompt too."""
    if len(answer) < _LEAST_COPIED:
        return False
    said = "\n".join(turn.content[-_LOOKED_AT:] for turn in prompt[-3:])[-_LOOKED_AT:]
    there = set(_runs(_words(said)))
    runs = _runs(answer)
    return sum(run in there for run in runs) >= _COPIED_SHARE * len(runs)


def _runs(words: list[str]) -> list[tuple[str, ...]]:
    return list(zip(*(words[start:] for start in range(_RUN)), strict=False))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _without_code(text: str) -> tuple[str, int]:
    """Return a text without its fenced code, and how many characters of that there are."""
    spoken: list[str] = []
    code, is_code = 0, False
    for line in text.split("\n"):
        if _FENCE.match(line):
            is_code = not is_code
        elif is_code:
            code += len(line) + 1
        else:
            spoken.append(line)
    return "\n".join(spoken), code


def _asks_about_code(prompt: Sequence[ChatMessage]) -> bool:
    question = next((turn.content for turn in reversed(prompt) if turn.role == Role.USER.value), "")
    return bool(_without_code(question[-_LOOKED_AT:])[1])


def _is_foreign(text: str) -> bool:
    """Whether a text is written in other letters than English, or with the small words of another language."""
    letters = [letter for letter in text if letter.isalpha()]
    if not letters:
        return False
    if sum(not _is_latin(letter) for letter in letters) >= _FOREIGN_SHARE * len(letters):
        return True
    words = _words(text)
    english, others = sum(word in _ENGLISH for word in words), sum(word in _OTHERS for word in words)
    return len(words) >= _LEAST_SPOKEN and others > 2 * english and others * 8 >= len(words)


def _is_latin(letter: str) -> bool:
    return letter < "\u0250" or "\u1e00" <= letter <= "\u1eff"
