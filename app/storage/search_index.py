"""Full-text search over all chats: an FTS5 index beside the database, and a scan while it is incomplete."""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import apsw

from app.chat.conversation import MessageStatus, clean_text
from app.chat.matching import FoundChat, SearchTerms
from app.storage import records
from app.storage.errors import make_private
from app.storage.schema import CACHE_KIB, transaction

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from app.chat.conversation import ChatSummary


NAME: Final = "search.db"
QUERY_LIMIT: Final = 200  # characters
_FORMAT: Final = 1
_SLICE: Final = 200  # messages indexed between two tasks, some 10 ms
# Only so many of the newest matches are ranked: common words cost no more than rare ones.
_CANDIDATES: Final = 400
_CHATS, _PASSAGES = 50, 3  # most results, and excerpts of each
_TRIGRAM: Final = 3
_MATCHED_TERMS: Final = 4  # the longest ones are looked up in the index

_SCHEMA = """
    CREATE VIRTUAL TABLE found.bodies
        USING fts5(text, content = '', contentless_delete = 1, tokenize = 'trigram')
"""
_NEWEST_FIRST = f"""
    FROM {{source}} JOIN chats ON chats.id = messages.chat_id
    WHERE chats.deleted_ms IS NULL AND messages.deleted_ms IS NULL AND {{condition}}
    ORDER BY {{seq}} DESC LIMIT {_CANDIDATES}
"""
_log = logging.getLogger(__name__)


class SearchIndex:
    """Finds chats by titles and messages, on the thread of the chats' connection.

    Nothing here raises: while the index is incomplete, all messages are scanned.
    """

    def __init__(self, connection: apsw.Connection, folder: Path, *, distrusted: bool) -> None:
        """Attach the index in `folder` to the open database; a `distrusted` one, of another file, is rebuilt."""
        self._connection = connection
        self._path = folder / NAME
        self._unindexed: set[int] = set()
        self._rebuilt = False
        self._usable = self._open() and not distrusted
        if self._usable:
            self._unindexed.update(self._missing())
        else:
            self._rebuild()
        connection.set_update_hook(self._changed)

    @property
    def behind(self) -> bool:
        """Whether messages are not indexed yet."""
        return bool(self._unindexed)

    def catch_up(self) -> None:
        """Index a slice of the new and changed messages."""
        some = list(islice(self._unindexed, _SLICE))
        try:
            with transaction(self._connection):
                self._index(some)
        except (apsw.FullError, apsw.IOError) as error:
            _log.warning("nothing is indexed until the next start: %r", error)
            self._usable = False
            self._unindexed.clear()
        except apsw.Error as error:
            self._replace(error)
        else:
            self._unindexed.difference_update(some)

    def find(self, query: str) -> tuple[FoundChat, ...]:
        """Return the chats that contain every word of `query`: by title first, then by the best match."""
        wanted = SearchTerms(clean_text(query)[:QUERY_LIMIT])
        if not wanted.terms:
            return ()
        if self._unindexed:
            self.catch_up()
        condition, values = _like("title", wanted.terms)
        titled = self._chats(f"{condition} ORDER BY touched DESC, seq DESC LIMIT {_CHATS}", *values)
        messages: dict[str, list[int]] = {}
        for seq, chat_id in self._ranked(wanted):
            messages.setdefault(chat_id, []).append(seq)
        said = [chat_id for chat_id in messages if all(chat.id != chat_id for chat in titled)]
        chats = [*titled, *(chat for chat_id in said[:_CHATS] for chat in self._chats("id = ?", chat_id))]
        return tuple(self._found(chat, wanted, messages.get(chat.id, [])) for chat in chats[:_CHATS])

    def _chats(self, condition: str, *values: str) -> tuple[ChatSummary, ...]:
        where = f"WHERE deleted_ms IS NULL AND {condition}"
        chats, _ = records.read_chats(self._connection, where, *values)
        return chats

    def _found(self, chat: ChatSummary, wanted: SearchTerms, seqs: list[int]) -> FoundChat:
        passages = []
        for seq in seqs[:_PASSAGES]:
            with suppress(apsw.CorruptError, UnicodeDecodeError):
                for message_id, text in self._connection.execute("SELECT id, text FROM messages WHERE seq = ?", (seq,)):
                    passages.append(wanted.passage(text, message_id))
        return FoundChat(chat, wanted.marked(chat.title), tuple(passages))

    def _ranked(self, wanted: SearchTerms) -> list[tuple[int, str]]:
        """Return matching messages as (seq, chat id), the best first, newer before older of equal rank."""
        if self._usable and not self._unindexed:
            try:
                return self._matching(wanted)
            except apsw.Error as error:
                self._replace(error)
        try:
            return self._containing(wanted.terms)
        except apsw.Error as error:
            _log.warning("not searched: %r", error)
            return []

    def _matching(self, wanted: SearchTerms) -> list[tuple[int, str]]:
        longest = sorted((term for term in wanted.terms if len(term) >= _TRIGRAM), key=len, reverse=True)
        asked, others = longest[:_MATCHED_TERMS], set(wanted.terms) - set(longest[:_MATCHED_TERMS])
        if not asked:
            return self._containing(wanted.terms)
        condition, values = _like("messages.text", others)
        rows: list[Any] = self._connection.execute(
            "SELECT bodies.rowid, messages.chat_id, bm25(bodies)"
            + _NEWEST_FIRST.format(
                source="found.bodies JOIN messages ON messages.seq = bodies.rowid",
                condition=f"bodies MATCH ? AND {condition}",
                seq="bodies.rowid",
            ),
            (" ".join(_quoted(term) for term in asked), *values),
        ).fetchall()
        # A lower bm25 is better; the sort is stable.
        return [(seq, chat_id) for seq, chat_id, _ in sorted(rows, key=lambda row: row[2])]

    def _containing(self, terms: Iterable[str]) -> list[tuple[int, str]]:
        condition, values = _like("messages.text", terms)
        rows: Any = self._connection.execute(
            "SELECT messages.seq, messages.chat_id"
            + _NEWEST_FIRST.format(source="messages", condition=condition, seq="messages.seq"),
            values,
        )
        return [(seq, chat_id) for seq, chat_id in rows]

    # ------------------------------------------------------------ the index

    def _changed(self, _kind: int, schema: str, table: str, seq: int) -> None:
        if self._usable and schema == "main" and table == "messages":
            self._unindexed.add(seq)

    def _index(self, seqs: list[int]) -> None:
        """Update the index for some messages; an unfinished answer is indexed when it ends."""
        # One statement for all: FTS5 flushes after each.
        some = json.dumps(seqs)
        self._connection.execute("DELETE FROM found.bodies WHERE rowid IN (SELECT value FROM json_each(?))", (some,))
        self._connection.execute(
            """
            INSERT INTO found.bodies (rowid, text) SELECT seq, text FROM messages
            WHERE seq IN (SELECT value FROM json_each(?)) AND status <> ? AND deleted_ms IS NULL
            """,
            (some, MessageStatus.STREAMING.value),
        )

    def _missing(self) -> list[int]:
        """Return the messages that are only in one of database and index."""
        try:
            rows = self._connection.execute("""
                SELECT seq FROM messages WHERE seq NOT IN (SELECT rowid FROM found.bodies) AND text <> ''
                UNION ALL
                SELECT rowid FROM found.bodies WHERE rowid NOT IN (SELECT seq FROM messages)
            """)
            return [seq for (seq,) in rows]
        except apsw.Error as error:
            _log.warning("the index of the chats is not complete: %r", error)
            return []

    def _open(self) -> bool:
        """Attach the index; return whether that succeeded and it has this format."""
        try:
            make_private(self._path)
            self._connection.execute("ATTACH ? AS found", (str(self._path),))
            self._connection.execute(f"PRAGMA found.cache_size = -{CACHE_KIB}")
            self._connection.execute("PRAGMA found.synchronous = NORMAL")
            self._connection.execute("PRAGMA found.journal_mode = WAL").fetchall()
            ((version,),) = self._connection.execute("PRAGMA found.user_version")
        except (apsw.Error, OSError) as error:
            _log.warning("the index of the chats was not opened: %r", error)
            return False
        return bool(version == _FORMAT)

    def _replace(self, error: apsw.Error) -> None:
        """Rebuild a damaged index, once: if that does not help, the fault is elsewhere."""
        _log.warning("the index of the chats cannot be used: %r", error)
        self._unindexed.clear()
        self._usable = False
        if not self._rebuilt:
            self._rebuilt = True
            self._rebuild()

    def _rebuild(self) -> None:
        with suppress(apsw.Error):
            self._connection.execute("DETACH found")
        try:
            for suffix in ("-wal", "-journal", ""):
                self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
            self._open()
            self._connection.execute(_SCHEMA)
            self._connection.execute(f"PRAGMA found.user_version = {_FORMAT}")
        except (apsw.Error, OSError) as error:
            _log.warning("there is no index of the chats: %r", error)
        else:
            self._usable = True
            self._unindexed.update(self._missing())


def _quoted(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'


def _like(column: str, terms: Iterable[str]) -> tuple[str, list[str]]:
    """Return an SQL condition that `column` contains every term, ignoring case, and its values."""
    conditions, values = ["TRUE"], []
    for term in terms:
        # LIKE ignores case only in ASCII.
        cases = {term} if term.isascii() else {term, term.lower(), term.upper(), term.title()}
        conditions.append("(" + " OR ".join([f"{column} LIKE ? ESCAPE '\\'"] * len(cases)) + ")")
        for each in cases:
            escaped = each.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
            values.append(f"%{escaped}%")
    return " AND ".join(conditions), values
