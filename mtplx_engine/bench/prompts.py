"""The prompts of the bench, of three kinds.

Heads guess code better than prose, and what copies from the context gains only where an answer repeats it.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

Kind = Literal["chat", "code", "copy"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class Prompt(NamedTuple):
    """A prompt and what its answer is like: conversation, a program, or mostly a copy of the prompt."""

    kind: Kind
    text: str


_LETTER = (
    "Dear neighbours, on Saturday the water in our street is turned off from nine until noon. Please fill a few "
    "bottles the evening before. The school on the corner stays open and has water for everybody who needs some. "
    "If anything is unclear, ring the bell at number twelve."
)
_PROGRAM = """def average(numbers):
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
_LIST = "apples 3, pears 7, plums 12, cherries 40, lemons 2, melons 1, figs 9, dates 15, grapes 60, limes 4"

PROMPTS: tuple[Prompt, ...] = (
    Prompt("chat", "Explain why the sky is blue in simple words."),
    Prompt("code", "Write a Python function that counts the vowels in a string."),
    Prompt("copy", f"Repeat this text word for word, but write Sunday for Saturday:\n\n{_LETTER}"),
    Prompt("chat", "Write a short letter to a friend about a week at the sea."),
    Prompt("code", "Write a JavaScript function that reverses a list."),
    Prompt("copy", f"Repeat this program, but call the first function mean:\n\n{_PROGRAM}"),
    Prompt("chat", "What are the main differences between a frog and a toad?"),
    Prompt("code", "Write a C function that returns the largest of three whole numbers."),
    Prompt("copy", f"Repeat this list twice, the second time without the plums:\n\n{_LIST}"),
    Prompt("chat", "Describe how bread is baked, step by step."),
    Prompt("code", "Write a Python class for a bank account with deposit and withdraw."),
    Prompt("copy", f"Repeat this text exactly, then add one friendly sentence:\n\n{_LETTER}"),
)
