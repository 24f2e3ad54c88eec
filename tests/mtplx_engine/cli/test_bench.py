"""What the bench cannot measure is refused before a model is loaded."""

from __future__ import annotations

import pytest

from mtplx_engine.cli.main import main


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--prompts", "0"], "'0' is not a whole number above 0"),
        (["--prompts", "-3"], "'-3' is not a whole number above 0"),
        (["--prompts", "50"], "there are 18 prompts, not 50"),
        (["--tokens", "3"], "3 tokens are too few"),
        (["--depths", "9"], "invalid choice: 9"),
        (["--drafters", "guess"], "invalid choice: 'guess'"),
        (["--data-dir", ""], "it is empty"),
    ],
)
def test_an_impossible_bench_is_a_usage_error(
    capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["bench", *arguments])
    assert ended.value.code == 2
    assert sentence in capsys.readouterr().err
