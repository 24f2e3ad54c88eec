"""What `mtplx` starts with: as little as can be, so that Ctrl-C is heard quietly from the first moment on."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line of this process and return its exit code."""
    try:
        from mtplx_engine.cli import main as command  # takes a while

        return command.main()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
