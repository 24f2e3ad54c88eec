"""Where new versions are. Nothing is ever looked up or installed by itself: the person's browser opens the page.

Without an address there is no command for it: a page that somebody else may own is no place to send people to.
"""

from __future__ import annotations

PAGE = ""
