"""Models are listed and found by name, and none is deleted that was not meant; preferences outlast a restart."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtplx_engine import paths
from mtplx_engine.cli.main import main
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import checkpoint, library, manifest
from mtplx_engine.models.folders import InstalledModel, UserFolders
from mtplx_engine.models.library import ModelPreferences
from mtplx_engine.models.manifest import Manifest
from tests.support import model_folder


def test_the_last_use_is_kept(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    ModelPreferences(tmp_path).note_use(one, now_s=17.6)
    ModelPreferences(tmp_path).note_use(one, now_s=18.2)
    assert ModelPreferences(tmp_path).last_used(one) == 18
    assert ModelPreferences(tmp_path).last_used(other) is None


def test_the_default_is_kept(tmp_path: Path) -> None:
    assert ModelPreferences(tmp_path).default() is None
    for chosen in (tmp_path / "one", tmp_path / "other", None):
        ModelPreferences(tmp_path).set_default(chosen)
        assert ModelPreferences(tmp_path).default() == chosen


def test_a_choice_that_cannot_be_noted_is_said(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(EngineError) as caught:
        ModelPreferences(tmp_path / "data").set_default(tmp_path)
    assert caught.value.kind is ErrorKind.STORAGE


@pytest.mark.parametrize("entry", ['"x"', "true", "[]", "null"])
def test_odd_notes_are_none(tmp_path: Path, entry: str) -> None:
    for name, key in (("used.json", str(tmp_path)), ("chosen.json", "default")):
        value = entry if name == "used.json" else "7"
        (tmp_path / name).write_text(f'{{"format": 1, "results": {{"{key}": {value}}}}}')
    assert ModelPreferences(tmp_path).last_used(tmp_path) is None
    assert ModelPreferences(tmp_path).default() is None


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with two whole models, one in pieces, and what is none."""
    models = tmp_path / "models"
    named = model_folder.write(models / "named")
    (named / "mtp.safetensors").write_bytes(model_folder.safetensors({"fc.weight": ("F32", (4, 8))}))
    noted = Manifest("named", "Named Model", "MIT", "here", 1, manifest.record_files(named, ["config.json"]))
    manifest.write_manifest(named, noted)
    model_folder.write(models / "plain")
    broken = model_folder.write(models / "broken")
    (broken / checkpoint.WEIGHT_INDEX).write_text(json.dumps({"weight_map": {"x": "model-9.safetensors"}}))
    (models / ".staging").mkdir()
    (models / "note.txt").write_text("")
    return tmp_path


def test_models_are_listed_with_what_they_have(data: Path) -> None:
    broken, named, plain = library.installed_models(data)
    assert (named.name, named.title, named.has_head, named.complete) == ("named", "Named Model", True, True)
    assert (plain.name, plain.title, plain.has_head, plain.complete) == ("plain", "plain", False, True)
    assert (broken.name, broken.complete) == ("broken", False)
    assert plain.size == sum(path.stat().st_size for path in plain.path.iterdir())


def test_a_file_that_is_gone_makes_it_incomplete(data: Path) -> None:
    (data / "models" / "named" / "config.json").unlink()
    (data / "models" / "plain" / "model.safetensors").unlink()
    assert not any(model.complete for model in library.installed_models(data))


def test_a_damaged_index_makes_it_incomplete(data: Path) -> None:
    (data / "models" / "plain" / checkpoint.WEIGHT_INDEX).write_text("[]")
    assert [model.name for model in library.installed_models(data) if model.complete] == ["named"]


def test_no_data_folder_means_no_models(tmp_path: Path) -> None:
    assert library.installed_models(tmp_path / "none") == ()


@pytest.mark.parametrize("name", ["named", "NAMED", "Named Model", "named model"])
def test_a_name_finds_its_model(data: Path, name: str) -> None:
    assert library.resolve_model(name, data) == data / "models" / "named"


def test_a_path_finds_its_model(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = model_folder.write(tmp_path / "elsewhere")
    assert library.resolve_model(str(folder), data) == folder
    monkeypatch.chdir(tmp_path)
    assert library.resolve_model("elsewhere", data) == folder
    monkeypatch.setenv("HOME", str(tmp_path))
    assert library.resolve_model("~/elsewhere", data) == folder


def test_an_installed_name_wins_over_a_folder_here(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (data / "named").mkdir()
    monkeypatch.chdir(data)
    assert library.resolve_model("named", data) == data / "models" / "named"


@pytest.mark.parametrize("name", ["other", ""])
def test_an_unknown_name_is_told_what_is_installed(data: Path, name: str) -> None:
    with pytest.raises(EngineError, match=f'No model is called "{name}". There are: named, plain.') as caught:
        library.resolve_model(name, data)
    assert caught.value.kind is ErrorKind.NOT_FOUND


def test_without_any_model_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="None is installed"):
        library.resolve_model("other", tmp_path)


def test_a_wrong_path_is_named(data: Path) -> None:
    with pytest.raises(EngineError, match="There is no model folder /nowhere/model"):
        library.resolve_model("/nowhere/model", data)


# ---------------------------------------------------------------- names that several models have


NAMES = ("toy", "Toy", "acme--toy", "other--toy", "toy+mtp")
TYPED = (*NAMES, "TOY", "acme/toy", "OTHER/toy", "")


def model(root: str, name: str, title: str, *, there: bool = True) -> InstalledModel:
    place = "" if root == "/models" else root
    return InstalledModel(name, title, Path(root) / name, 1, False, True, place, there)


model_lists = st.dictionaries(
    st.tuples(st.sampled_from(("/models", "/disk", "/usb")), st.sampled_from(NAMES)),
    st.tuples(st.sampled_from(("toy", "Toy", "A toy")), st.booleans()),
).map(lambda items: tuple(model(root, name, title, there=there) for (root, name), (title, there) in items.items()))


@given(model_lists, st.sampled_from(TYPED))
def test_a_name_means_only_models_that_have_it(found: tuple[InstalledModel, ...], typed: str) -> None:
    meant = library.called(typed, found)
    for each in meant:
        own = (each.name, each.title, each.repo)
        assert typed.casefold() in (name.casefold() for name in own if name)
    ours = [each for each in found if not each.place and each.name == typed]
    if ours:
        assert list(meant) == ours
    if len(meant) > 1:
        with pytest.raises(EngineError) as caught:
            library.check_one(typed, meant, found)
        assert caught.value.kind is ErrorKind.BAD_REQUEST
        assert all(library.handle(each, found) in str(caught.value) for each in meant)


@given(model_lists)
def test_every_model_can_be_meant(found: tuple[InstalledModel, ...]) -> None:
    handles = [library.handle(each, found) for each in found]
    assert len(set(handles)) == len(found)
    for each, typed in zip(found, handles, strict=True):
        assert typed == str(each.path) or library.called(typed, found) == (each,)


@given(model_lists)
def test_every_model_is_offered_by_a_title_of_its_own(found: tuple[InstalledModel, ...]) -> None:
    handles, titles = zip(*library.choices(found), strict=True) if library.choices(found) else ((), ())
    assert len(set(handles)) == len(set(titles)) == sum(each.there for each in found)


@settings(max_examples=25, deadline=None)
@given(st.sets(st.sampled_from(NAMES), min_size=1), st.sampled_from(TYPED), st.sampled_from(NAMES))
def test_no_model_is_deleted_that_was_not_meant(there: set[str], typed: str, default: str) -> None:
    with tempfile.TemporaryDirectory() as root:
        data = Path(root)
        folders = {name: install(data, name) for name in there}
        if default in folders:
            ModelPreferences(data).set_default(folders[default])
        code = main(["remove", typed, "--yes", "--data-dir", root])
        gone = {name for name in there if not folders[name].exists()}
        exact, loose = (
            {name for name in there if form(typed) in map(form, names_of(name))} for form in (str, str.casefold)
        )
        meant = {typed} if typed in there else exact or loose
        assert gone == (meant if len(meant) == 1 else set())
        assert (code == 0) == bool(gone)
        assert (ModelPreferences(data).default() is None) == (default not in there or default in gone)


def names_of(folder: str) -> tuple[str, ...]:
    """Return what the model in a folder is called; each has the same title."""
    return (folder, "toy", *((folder.replace("--", "/"),) if "--" in folder else ()))


def install(data: Path, name: str) -> Path:
    folder = model_folder.write(paths.models_dir(data) / name)
    manifest.write_manifest(
        folder, Manifest(name, "toy", "mit", "here", 1, manifest.record_files(folder, ["config.json"]))
    )
    return folder


def test_which_one_is_meant_is_asked_with_whose_it_is_and_where(tmp_path: Path) -> None:
    for name in ("acme--toy", "other--toy"):
        install(tmp_path, name)
    models = paths.models_dir(tmp_path)
    with pytest.raises(EngineError) as caught:
        library.resolve_model("toy", tmp_path)
    assert str(caught.value) == (
        f'"toy" means 2 models: acme--toy (by acme, in {models}) and other--toy (by other, in {models}). '
        "Say which one is meant."
    )
    assert library.resolve_model("other/toy", tmp_path) == models / "other--toy"


def test_of_two_folders_with_one_name_in_two_places_the_path_is_asked_for(tmp_path: Path) -> None:
    data, places = tmp_path / "data", [tmp_path / "one", tmp_path / "two"]
    for place in places:
        model_folder.write(place / "mine")
        UserFolders(data).add(place)
    with pytest.raises(EngineError, match=f"{places[0] / 'mine'} and {places[1] / 'mine'}"):
        library.resolve_model("mine", data)
    assert library.resolve_model(str(places[1] / "mine"), data) == places[1] / "mine"
    assert library.find_model(str(places[1] / "mine"), data).path == places[1] / "mine"
    ours = install(data, "mine")
    assert library.resolve_model("mine", data) == ours
    with pytest.raises(EngineError, match="is your own"):
        library.remove_model(places[0] / "mine", data)


def test_all_that_can_be_loaded_is_named_where_a_name_is_unknown(tmp_path: Path) -> None:
    data = tmp_path / "data"
    install(data, "ours")
    for name in ("mine", "ours"):
        model_folder.write(tmp_path / "disk" / name)
    UserFolders(data).add(tmp_path / "disk")
    with pytest.raises(EngineError, match=f"There are: ours, mine, {tmp_path / 'disk' / 'ours'}. Give"):
        library.resolve_model("nothing", data)
