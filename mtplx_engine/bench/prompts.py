"""The prompts of the bench: short, of different kinds, none of them in the starter head's training data."""

from __future__ import annotations

PROMPTS: tuple[str, ...] = (
    "Explain why the sky is blue in simple words.",
    "Write a short letter to a friend about a week at the sea.",
    "What are the main differences between a frog and a toad?",
    "Write a Python function that counts the vowels in a string.",
    "Give three tips for sleeping better at night.",
    "A train travels 120 km in 2 hours. How fast is it, and how far does it go in 5 hours?",
    "Describe how bread is baked, step by step.",
    "What is the difference between weather and climate?",
    "Write a JavaScript function that reverses a list.",
    "Summarise the story of Robinson Crusoe in a few sentences.",
    "Rewrite this sentence politely: Send me the report now.",
    "What should I think about before buying a used bicycle?",
)
