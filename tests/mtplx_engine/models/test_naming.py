"""Names that several models have: the right one is found, or none, and never is another one deleted."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtplx_engine import paths
from mtplx_engine.cli.main import main
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import library, manifest
from mtplx_engine.models.folders import InstalledModel, UserFolders
from mtplx_engine.models.library import ModelPreferences
from mtplx_engine.models.manifest import Manifest
from tests.support import model_folder

NAMES = ("toy", "Toy", "acme--toy", "other--toy", "toy+mtp")
TYPED = (*NAMES, "TOY", "acme/toy", "OTHER/toy", "")


def model(root: str, name: str, title: str, *, there: bool = True) -> InstalledModel:
    place = "" if root == "/models" else root
    return InstalledModel(name, title, Path(root) / name, 1, False, True, place, there)


shelves = st.dictionaries(
    st.tuples(st.sampled_from(("/models", "/disk", "/usb")), st.sampled_from(NAMES)),
    st.tuples(st.sampled_from(("toy", "Toy", "A toy")), st.booleans()),
).map(
    lambda kept: tuple(model(root, name, title, there=there) for (root, name), (title, there) in kept.items())
)


@given(shelves, st.sampled_from(TYPED))
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


@given(shelves)
def test_every_model_can_be_meant(found: tuple[InstalledModel, ...]) -> None:
    handles = [library.handle(each, found) for each in found]
    assert len(set(handles)) == len(found)
    for each, typed in zip(found, handles, strict=True):
        assert typed == str(each.path) or library.called(typed, found) == (each,)


@given(shelves)
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
            {name for name in there if form(typed) in map(form, names_of(name))}
            for form in (str, str.casefold)
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
