"""Text of each kind of prompt: what prompts quote, and what fills a prompt up to a length."""

from __future__ import annotations

from mtplx_engine.measurement import PromptKind

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
