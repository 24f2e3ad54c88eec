"""Where new versions are. Nothing is ever looked up or installed by itself: the person's browser opens the page."""

from __future__ import annotations

PAGE = "https://github.com/mtplx/mtplx/releases"
