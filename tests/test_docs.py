"""What the pages for engineers name is in the tree: files, modules, classes and their members, packages, layers."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "CONTRIBUTING.md",
    ROOT / "README.md",
    ROOT / "packaging" / "README.md",
]
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()
CODE = ("app", "mtplx_engine")
FOLDERS = (*CODE, "packaging", "scripts", "tests", "docs")

PATH = re.compile(
    r"(?<![\w./-])((?:app|mtplx_engine|tests|docs|packaging|scripts|resources|requirements|\.ci|\.github)/[\w./-]*\w)"
)
BARE_FILE = re.compile(r"`([\w-]+\.(?:py|md|toml|c))`")
MODULE = re.compile(r"(?<![\w./-])((?:app|mtplx_engine|scripts)(?:\.\w+)+)")
NO_MODULES = {"app.lock", "app.log"}  # files of the data folder
MEMBER = re.compile(r"(?<![\w./-])([A-Z]\w*[a-z]\w*)\.(\w+)")
CLASS = re.compile(r"`([A-Z]\w*)`")
OTHERS = {"BaseException", "WA_QuitOnClose"}
PLACED = re.compile(r"`([A-Za-z_][\w.]*)`\s+(?:in\s+|\()`(\S+\.py)`")
STOP = re.compile(r"(\S+\.py) {2,}(\S+(?:, \S+)*?)(?: {2,}.*|$)")


@cache
def names(path: Path) -> frozenset[str]:
    """Return what a module defines, if it is there: functions, classes, values, and `Class.member`, fields included."""
    found: set[str] = set()
    if not path.exists():
        return frozenset()
    for node in ast.parse(path.read_text()).body:
        found |= _names(node)
        if isinstance(node, ast.ClassDef):
            members = set().union(*map(_names, node.body))
            fields = {
                each.attr
                for each in ast.walk(node)
                if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store)
            }
            found |= {f"{node.name}.{member}" for member in members | fields}
    return frozenset(found)


def _names(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return {target.id for target in targets if isinstance(target, ast.Name)}


@cache
def all_names() -> frozenset[str]:
    files = (path for folder in CODE for path in (ROOT / folder).rglob("*.py"))
    return frozenset().union(*map(names, files))


def missing_paths(text: str) -> set[str]:
    missing = {path for path in PATH.findall(text) if not (ROOT / path).exists()}
    for name in BARE_FILE.findall(text):
        places = (ROOT, *(ROOT / folder for folder in FOLDERS))
        if not any(next(place.rglob(name) if place != ROOT else place.glob(name), None) for place in places):
            missing.add(name)
    return missing


def is_module(dotted: str) -> bool:
    """Whether this is a module, or something that a module defines."""
    path = ROOT.joinpath(*dotted.split("."))
    if path.is_dir() or path.with_suffix(".py").exists():
        return True
    module = path.parent.with_suffix(".py")
    return module.exists() and path.name in names(module)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_and_modules_are_there(page: Path) -> None:
    text = page.read_text()
    assert missing_paths(text) == set()
    assert {name for name in MODULE.findall(text) if name not in NO_MODULES and not is_module(name)} == set()


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name != "README.md"], ids=lambda page: str(page.relative_to(ROOT))
)
def test_classes_and_members_are_there(page: Path) -> None:
    text = page.read_text()
    members = {f"{owner}.{member}" for owner, member in MEMBER.findall(text)}
    classes = {name for name in CLASS.findall(text) if not re.match(r"Q[A-Z]", name)} - OTHERS
    if page.name == "decisions.md":  # it speaks of other libraries
        members, classes = members & all_names(), classes & all_names()
    assert members - all_names() == set()
    assert classes - all_names() == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_names_are_where_they_are_said_to_be(page: Path) -> None:
    """`Name` in `path.py`, `Name` (`path.py`), and the stops of the ways through the code."""
    text = page.read_text()
    stops = [(name, path) for path, found in STOP.findall(text) for name in found.split(", ")]
    placed = [(name, path) for name, path in (*PLACED.findall(text), *stops) if "/" in path]
    assert {
        (name, path) for name, path in placed if name not in names(ROOT / path) | names(page.parent / path)
    } == set()


def test_the_ways_through_the_code_are_read() -> None:
    """The patterns find what they are for."""
    assert len(STOP.findall(ARCHITECTURE)) > 50
    assert ("PrefixCache", "mtplx_engine/engine.py") in PLACED.findall(ARCHITECTURE)
    assert missing_paths("see app/nowhere.py, tests/app/... and `nobody.py`") == {
        "app/nowhere.py",
        "nobody.py",
    }
    assert not is_module("app.session.nowhere")
    assert is_module("mtplx_engine.cli.entry")


def test_files_of_the_data_folder_are_named_in_their_modules() -> None:
    lines = ARCHITECTURE.partition("## Where data lives")[2].split("```")[1].strip().splitlines()
    assert len(lines) > 10
    for line in lines:
        module = (ROOT / line.split()[-1]).read_text()
        for name in re.findall(r"[\w-]+\.(?:json|db|lock)\b|\.incoming|backups", line):
            assert f'"{name}"' in module, line


def test_every_package_is_described() -> None:
    packages = [
        path.parent.relative_to(ROOT) for top in ("app", "mtplx_engine") for path in ROOT.glob(f"{top}/**/__init__.py")
    ]
    assert len(packages) > 20
    assert [str(package) for package in packages if f"`{package}`" not in ARCHITECTURE] == []
    assert [
        str(package)
        for package in packages
        if not ast.get_docstring(ast.parse((ROOT / package / "__init__.py").read_text()))
    ] == []


def test_every_layer_is_drawn_and_no_other() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    drawn = ARCHITECTURE.partition("## Layers")[2].split("```")[1]
    layers = {
        layer
        for contract in contracts
        if contract["type"] == "layers" and contract["exhaustive"]
        for layer in " | ".join(contract["layers"]).split(" | ")
    }
    assert layers - set(re.findall(r"\w+", drawn)) == set()
    assert {name for name in re.findall(r"\w+_\w+|limits|serve", drawn) if name != "mtplx_engine"} - layers == set()
