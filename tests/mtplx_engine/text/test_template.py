"""No template hangs the engine, takes its memory or gets at anything; the next chat is rendered as if nothing was."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.text import template
from mtplx_engine.text.template import MAX_TEMPLATE, TemplateProcess
from tests.support import tiny_folder

if TYPE_CHECKING:
    from collections.abc import Iterator


TURNS = [{"role": "user", "content": "hello"}]
WINDOW = 512


@pytest.fixture(scope="module")
def process() -> Iterator[TemplateProcess]:
    yield template.shared()
    assert render(template.shared(), tiny_folder.TEMPLATE).startswith("<|im_start|>user\nhello")


@pytest.fixture
def own() -> Iterator[TemplateProcess]:
    """One that a test may bring to its end."""
    process = TemplateProcess()
    yield process
    process.close()


def render(process: TemplateProcess, text: str) -> str:
    return process.render(text, TURNS, {"bos_token": "<s>"}, WINDOW)


def check_refused(process: TemplateProcess, text: str, kind: ErrorKind, words: str) -> None:
    with pytest.raises(EngineError, match=words) as caught:
        render(process, text)
    assert caught.value.kind is kind
    assert "\n" not in str(caught.value)


def test_a_template_is_rendered(process: TemplateProcess) -> None:
    expected = "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n"
    assert render(process, tiny_folder.TEMPLATE) == expected
    assert render(process, "{{ bos_token }}{{ messages[0].content }}\u2028\U0001f600") == "<s>hello\u2028\U0001f600"


@pytest.mark.parametrize(
    "text",
    [
        "{{ 2 ** (2 ** 33) }}",
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    ],
)
def test_what_takes_too_long_is_ended(own: TemplateProcess, text: str) -> None:
    check_refused(own, text, ErrorKind.UNSUPPORTED, "longer than 2 seconds.*choose another model")
    assert render(own, "{{ messages[0].role }}") == "user"  # by a new process


@pytest.mark.parametrize("text", ["{{ 'a' * 4000000000 }}", "{{ '%4000000000d' % 1 }}"])
def test_what_takes_too_much_memory_is_ended(process: TemplateProcess, text: str) -> None:
    check_refused(process, text, ErrorKind.UNSUPPORTED, "1 GB of memory.*choose another model")


@pytest.mark.parametrize("text", ["{{ 'a' * 5000 }}", "{{ messages[0].content.center(90000000) }}"])
def test_what_makes_too_much_of_a_chat_is_refused(process: TemplateProcess, text: str) -> None:
    check_refused(process, text, ErrorKind.UNSUPPORTED, "characters of this chat.*choose another model")


def test_text_of_the_chat_is_counted_in_tokens_only(process: TemplateProcess) -> None:
    content = "=" * 500_000  # few tokens for its length
    turns = [{"role": "user", "content": content}]
    rendered = process.render("<{{ messages[0].content }}>", turns, {}, 512)
    assert rendered == f"<{content}>"


def test_a_template_that_is_too_large_is_not_read(own: TemplateProcess) -> None:
    words = f"{MAX_TEMPLATE + 1:,} characters.*{MAX_TEMPLATE:,}.*choose another model"
    check_refused(own, "a" * (MAX_TEMPLATE + 1), ErrorKind.UNSUPPORTED, words)
    assert own._child is None


@pytest.mark.parametrize(
    "text",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}{{ ''.__class__.__mro__[1].__subclasses__()[0].x() }}",
        "{{ cycler.__init__.__globals__.os.system('true') }}",
        "{{ messages.append(1) }}",
        "{% include '/etc/passwd' %}",
        "{% import 'os' as os %}",
        "{{ raise_exception('nobody may speak') }}",
        "{% if %}",
        "{{ strftime_now('\ud800') }}",
        "{{ 1 / 0 }}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{% for a in range(100001) %}{% endfor %}",
        "{{ messages[0].nothing.more }}",
    ],
)
def test_what_it_may_not_do_is_one_error(process: TemplateProcess, text: str) -> None:
    """It would not write any chat."""
    check_refused(process, text, ErrorKind.UNSUPPORTED, "chat template is broken.*Choose another model")


@pytest.mark.parametrize(
    "text",
    [
        "{% if messages[0].content == 'hello' %}{{ raise_exception('say more') }}{% endif %}",
        "{{ 1 / (messages[0].content != 'hello') }}",
    ],
)
def test_a_refused_chat_is_distinguished_from_a_broken_template(process: TemplateProcess, text: str) -> None:
    check_refused(process, text, ErrorKind.BAD_REQUEST, "does not accept this chat")


@pytest.mark.parametrize(
    "text",
    [
        "{{ ''.__class__ }}",
        "{{ '{x.__class__}'.format_map({'x': messages}) }}",
        "{{ ('{0.__class__}' | attr('format'))(messages) }}",
    ],
)
def test_what_it_may_not_see_is_empty(process: TemplateProcess, text: str) -> None:
    assert render(process, text) == ""


def test_a_process_that_was_ended_from_outside_is_replaced(own: TemplateProcess) -> None:
    render(own, "x")
    assert own._child
    own._child.kill()
    own._child.wait()
    assert render(own, "y") == "y"


def test_one_that_does_not_answer_is_ended(own: TemplateProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever keeps it: here it is the start, which takes longer than the patience."""
    monkeypatch.setattr(template, "_PATIENCE_S", 0.01)
    check_refused(own, "x", ErrorKind.UNSUPPORTED, "2 seconds")
    assert own._child is None


CTRL_C = """
import os, signal, sys, threading
from mtplx_engine.text.template import TemplateProcess

slow = "{% for a in range(4000) %}{% for b in range(2000) %}{% endfor %}{% endfor %}slow"

def render(template):
    return process.render(template, [{"role": "user", "content": "hi"}], {}, 512)

process = TemplateProcess()
print(render("ready"))
heard = []
signal.signal(signal.SIGINT, lambda *_: heard.append(1))
threading.Timer(0.05, os.killpg, (0, signal.SIGINT)).start()
print(render(slow), len(heard))
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Timer(0.05, os.killpg, (0, signal.SIGINT)).start()
try:
    print(render(slow))
except KeyboardInterrupt:
    print("interrupted")
print(render("next"))
process.close()
"""


def test_ctrl_c_at_the_terminal_is_for_the_command_alone() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CTRL_C], capture_output=True, text=True, check=True, start_new_session=True
    )
    assert done.stdout.split("\n") == ["ready", "slow 1", "interrupted", "next", ""]
    assert not done.stderr
