"""A keychain in memory, which may refuse, or forget what it is given."""

from __future__ import annotations


class FakeKeychain:
    """As keyring's backends are.

    Attributes:
        kept: Passwords by service and name.
        asked: How often for one.
        refuses: Whether it is locked.
    """

    def __init__(self, *, refuses: bool = False, forgets: bool = False) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self.asked = 0
        self.refuses = refuses
        self._forgets = forgets

    def get_password(self, service: str, username: str) -> str | None:
        """Return a password."""
        self.asked += 1
        if self.refuses:
            raise RuntimeError(f"locked, keeps {self.kept}")
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        """Keep a password."""
        if self.refuses:
            raise RuntimeError(f"locked, says {password}")
        if not self._forgets:
            self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        """Forget a password."""
        del self.kept[service, username]
