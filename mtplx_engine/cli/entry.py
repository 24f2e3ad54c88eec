"""The program `mtplx`: imports next to nothing before it runs, so that Ctrl-C is quiet from the first moment on."""

from __future__ import annotations

from typing import NoReturn

from mtplx_engine.cli.exit import end


def main() -> NoReturn:
    try:
        from mtplx_engine.cli import main as command  # takes a while

        code = command.main()
    except KeyboardInterrupt:
        code = 130
    end(code)


if __name__ == "__main__":
    main()
