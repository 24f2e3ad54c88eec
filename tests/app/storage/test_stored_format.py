"""A data folder of format 3, as the program left it before `figures.kind` was dropped, shows what it showed then."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import apsw
import pytest

from app.chat.formats import to_json
from app.storage import schema
from app.storage.database import UNBEGUN, ChatDatabase
from app.storage.settings import SettingsFile
from app.storage.stats import Choice, Grouping
from mtplx_engine.measure.store import MeasurementStore

NOW = 1_796_000_000_000
STORED = Path(__file__).parents[2] / "data" / "stored-format-3"
EXPECTED = json.loads((STORED / "expected.json").read_text())  # by the program that wrote the folder


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return shutil.copytree(STORED, tmp_path / "data")


def as_json(value: Any) -> Any:
    return json.loads(json.dumps(value, default=str))


def test_the_file_is_migrated_after_a_copy_of_it_was_made(data_dir: Path) -> None:
    folder = data_dir / "chats"
    with ChatDatabase(folder, NOW) as database:
        assert database.notice == ""
    (copy,) = folder.glob("chats.format3-*.db")
    versions = {}
    for path in (copy, folder / schema.NAME):
        connection = apsw.Connection(str(path))
        columns = {row[1] for row in connection.execute("PRAGMA table_info(figures)")}
        versions[path.name] = connection.pragma("user_version"), "kind" in columns
        connection.close()
    assert versions == {copy.name: (3, True), schema.NAME: (len(schema.MIGRATIONS), False)}


def test_the_chats_and_drafts_are_the_same(data_dir: Path) -> None:
    with ChatDatabase(data_dir / "chats", NOW) as database:
        chats, unreadable = database.list_chats()
        assert ([chat.id for chat in chats], unreadable) == (EXPECTED["listed"], 0)
        loaded = [database.load_chat(chat.id) for chat in chats]
        assert [damaged for _, damaged in loaded] == [0] * len(chats)
        exported = to_json(conversation for conversation, _ in loaded)
        assert exported.strip() == (STORED / "chats.json").read_text().strip()
        assert database.draft(UNBEGUN) == EXPECTED["unbegun_draft"]
        index = database.search_index()
        found = {query: [each.chat.id for each in index.find(query)] for query in EXPECTED["found"]}
        assert found == EXPECTED["found"]


def test_the_statistics_are_the_same(data_dir: Path) -> None:
    with ChatDatabase(data_dir / "chats", NOW) as database:
        history = as_json(dataclasses.asdict(database.figures.read(Choice(grouping=Grouping.CONTEXT))))
        del history["choice"]
        assert history == EXPECTED["statistics"]
        groups = database.figures.read(Choice(grouping=Grouping.NOTHING)).groups
        assert as_json([dataclasses.asdict(group) for group in groups]) == EXPECTED["groups_of_any_context"]
        assert len(list(database.figures.each(Choice()))) == history["total"]["answers"]


def test_the_settings_and_measurements_are_the_same(data_dir: Path) -> None:
    settings = SettingsFile(data_dir).value
    assert as_json(dataclasses.asdict(settings)) == EXPECTED["settings"]
    written = json.loads((data_dir / "measurements.json").read_text())["results"]
    measurements = MeasurementStore(data_dir).all()
    newest_first = list(written.values())[::-1]
    assert as_json([dataclasses.asdict(each) for each in measurements]) == newest_first
