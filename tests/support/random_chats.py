"""Chats of every shape, for properties."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from app.chat.conversation import Attachment, ChatSummary, Conversation, Message, MessageStatus, Role
from app.chat.settings import ChatSettings
from app.chat.validation import LATEST_MS, clean_name, clean_title
from mtplx_engine.config import SamplerConfig
from mtplx_engine.stats import DecodeStats

if TYPE_CHECKING:
    from collections.abc import Callable


words = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
names = words.map(clean_name)
times = st.integers(0, LATEST_MS)
stats = st.builds(
    DecodeStats,
    prompt_tokens=st.integers(0, 10**6),
    emitted=st.integers(0, 10**6),
    accepted_at=st.lists(st.integers(0, 99), max_size=8).map(tuple),
    ttft_s=st.none() | st.floats(1e-6, 1e6),
    seed=st.integers(0, 2**63 - 1),
    depth=st.sampled_from(["auto", "0", "8"]),
)
samplers = st.builds(
    SamplerConfig,
    temperature=st.floats(0, 5),
    logit_bias=st.lists(st.tuples(st.integers(0, 99), st.floats(-100, 100)), max_size=3).map(tuple),
    seed=st.none() | st.integers(0, 2**63 - 1),
)
attachments = st.lists(st.builds(Attachment, names, st.integers(0, 2**40), words), max_size=2).map(tuple)
contents = st.fixed_dictionaries(
    {
        "role": st.sampled_from((Role.USER, Role.ASSISTANT)),
        "text": words,
        "model": names,
        "error": words,
        "stats": st.none() | stats,
        "status": st.sampled_from(sorted(set(MessageStatus) - {MessageStatus.STREAMING})),
        "thinking": words,
        "thought_ms": st.integers(0, 10**9),
        "sampler": st.none() | samplers,
        "attachments": attachments,
        "created_ms": times,
    }
)
chat_settings = st.builds(
    ChatSettings,
    system_prompt=words,
    preset=words,
    sampler=st.none() | samplers,
    drafting=st.none() | st.just("auto") | st.integers(0, 8),
    context=st.none() | st.integers(1, 10**6),
    thinking=st.none() | st.booleans(),
)


@st.composite
def conversations(draw: Callable[..., object], name: str = "c") -> Conversation:
    """Return chats with branches and everything that a message can have."""
    messages: list[Message] = []
    for index, fields in enumerate(draw(st.lists(contents, max_size=6))):
        parent = draw(st.none() | st.sampled_from(messages)) if messages else None
        message = Message(f"{name}-{index}", name, parent and parent.id, **fields)
        cut = draw(st.integers(0, len(message.text)))
        messages.append(dataclasses.replace(message, marks=(cut, len(message.text) - cut)))
    chat = ChatSummary(name, clean_title(draw(words)), draw(times), draw(times), draw(st.booleans()))
    leaf = draw(st.sampled_from(messages)).id if messages else None
    settings = draw(chat_settings)
    if messages and draw(st.booleans()):
        settings = dataclasses.replace(settings, reads_from=messages[0].id)
    return Conversation(chat, tuple(messages), leaf, settings, draw(words))
