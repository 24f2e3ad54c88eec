"""The prompts of benchmarks and exactness checks, by kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mtplx_engine.measure.measurement import PromptKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


LETTER = (
    "Dear neighbours, on Saturday the water in our street is turned off from nine until noon. Please fill a few "
    "bottles the evening before. The school on the corner stays open and has water for everybody who needs some. "
    "If anything is unclear, ring the bell at number twelve."
)
PROGRAM = """def average(numbers):
    total = 0
    for number in numbers:
        total += number
    return total / len(numbers)

def largest(numbers):
    result = numbers[0]
    for number in numbers[1:]:
        if number > result:
            result = number
    return result"""
LIST = "apples 3, pears 7, plums 12, cherries 40, lemons 2, melons 1, figs 9, dates 15, grapes 60, limes 4"

PASSAGES: dict[PromptKind, str] = {
    PromptKind.CHAT: (
        "We came down to the harbour before the sun was over the hill. The boats lay close together, and somebody "
        "was mending a net on the wall. My aunt had brought bread, cheese and a thermos of coffee, so we sat on the "
        "steps and waited for the ferry. She told me how she had learned to swim there, long before the new pier "
        "was built, and how the whole street used to come out when a storm was over to see what the sea had left. "
        "The ferry was late, as it always is, and nobody minded."
    ),
    PromptKind.CODE: PROGRAM
    + """

class Stack:
    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)

    def pop(self):
        if not self.items:
            raise IndexError("nothing to pop")
        return self.items.pop()""",
    PromptKind.MATHS: (
        "A train leaves at 9:15 and travels 84 km in 70 minutes. Its speed is 84 / 70 = 1.2 km a minute, which is "
        "1.2 * 60 = 72 km an hour. A second train needs 5 / 6 of that time, 70 * 5 / 6 = 58.33 minutes, so its "
        "speed is 84 / 58.33 = 1.44 km a minute or 86.4 km an hour. Together they cover 1.2 + 1.44 = 2.64 km each "
        "minute when they meet head on, and 84 km are gone after 84 / 2.64 = 31.8 minutes."
    ),
    PromptKind.LANGUAGE: (
        "Am Rand des Dorfes steht eine alte Mühle, deren Rad sich seit Jahren nicht mehr dreht. Im Sommer sitzen "
        "dort die Kinder im Schatten und lassen kleine Boote aus Rinde den Bach hinunter schwimmen. Die Müllerin "
        "erzählt gern, wie früher die Wagen bis zur Brücke standen und wie laut es war, wenn das Wasser hoch stand. "
        "Heute hört man nur die Grillen und manchmal die Glocke der Kirche jenseits der Felder."
    ),
    PromptKind.COPY: f"{LETTER}\n\n{LIST}",
}


class Prompt(NamedTuple):
    """A prompt: its id as in "code-2", the kind of it and its answer, and the user message."""

    id: str
    kind: PromptKind
    text: str


def _numbered(texts: Iterable[tuple[PromptKind, str]]) -> Iterator[Prompt]:
    counts = dict.fromkeys(PromptKind, 0)
    for kind, text in texts:
        counts[kind] += 1
        yield Prompt(f"{kind.name.lower()}-{counts[kind]}", kind, text)


_CHAT, _CODE, _MATHS, _LANGUAGE, _COPY = PromptKind

# The first twelve are what `mtplx bench` runs: three kinds in turn.
PROMPTS: tuple[Prompt, ...] = tuple(
    _numbered(
        (
            (_CHAT, "Explain why the sky is blue in simple words."),
            (_CODE, "Write a Python function that counts the vowels in a string."),
            (_COPY, f"Repeat this text word for word, but write Sunday for Saturday:\n\n{LETTER}"),
            (_CHAT, "Write a short letter to a friend about a week at the sea."),
            (_CODE, "Write a JavaScript function that reverses a list."),
            (_COPY, f"Repeat this program, but call the first function mean:\n\n{PROGRAM}"),
            (_CHAT, "What are the main differences between a frog and a toad?"),
            (_CODE, "Write a C function that returns the largest of three whole numbers."),
            (_COPY, f"Repeat this list twice, the second time without the plums:\n\n{LIST}"),
            (_CHAT, "Describe how bread is baked, step by step."),
            (_CODE, "Write a Python class for a bank account with deposit and withdraw."),
            (_COPY, f"Repeat this text exactly, then add one friendly sentence:\n\n{LETTER}"),
            (_MATHS, "A shop sells pens at 3 for 2.40. What do 7 pens cost? Show each step."),
            (_LANGUAGE, "Erkläre in einfachen Worten, warum es im Winter kälter ist als im Sommer."),
            (_MATHS, "Solve x^2 - 5x + 6 = 0 and check both solutions by putting them in."),
            (_LANGUAGE, "Écris une courte lettre à une amie au sujet d'une semaine à la montagne."),
            (_MATHS, "Show step by step that the sum of the first n odd numbers is n squared."),
            (_LANGUAGE, "Describe paso a paso cómo se prepara una sopa de verduras."),
        )
    )
)


def of_kind(kind: PromptKind) -> tuple[Prompt, ...]:
    """Return the prompts of a kind, at least three."""
    return tuple(prompt for prompt in PROMPTS if prompt.kind == kind)


def filled(prompt: Prompt, length: int, encode: Callable[[str], list[int]]) -> list[int]:
    """Return the tokens of a prompt, filled with text of its kind before it up to nearly `length` tokens.

    A longer prompt stays as it is. `encode` turns a user message into the tokens of a chat.
    """
    ids = encode(prompt.text)
    missing = length - len(ids)
    if missing <= 0:
        return ids
    passage = PASSAGES[prompt.kind]
    a_passage = len(encode(f"{passage}\n\n{prompt.text}")) - len(ids)
    # Passages are numbered, or prompt lookup would find pure repetition.
    count = missing // max(1, a_passage) + 1
    text = "\n\n".join(f"{number}. {passage}" for number in range(1, count + 1))
    shown = len(passage) * missing // max(1, a_passage)
    while len(filled_ids := encode(f"{text[:shown]}\n\n{prompt.text}")) > length:
        shown -= max(1, shown * (len(filled_ids) - length) // length)
    return filled_ids
