"""No module is too long to be read as one text, and no two of them know each other, not even by a type."""

from __future__ import annotations

import ast
import graphlib
from pathlib import Path

import pytest

import app
import mtplx_engine

MOST_LINES = 550
"""One concept a module, of about 150 to 500 lines; what is longer has a second concept in it."""


def modules(package: str, root: Path) -> dict[str, Path]:
    """Return the modules of a package and of the packages in it by their dotted names."""
    files = sorted((root / package).rglob("*.py"))
    return {".".join(path.relative_to(root).with_suffix("").parts): path for path in files}


MODULES = {
    package.__name__: modules(package.__name__, Path(package.__path__[0]).parent) for package in (app, mtplx_engine)
}


@pytest.mark.parametrize("package", MODULES)
def test_no_module_is_long(package: str) -> None:
    lines = {module: len(path.read_text().splitlines()) for module, path in MODULES[package].items()}
    assert lines
    assert {module: count for module, count in lines.items() if count > MOST_LINES} == {}


def imported(path: Path, known: dict[str, Path]) -> set[str]:
    """Return the known modules that a module imports, anywhere in it, those for types alone included."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {name for name in (*names, *(f"{name}.__init__" for name in names)) if name in known}


def graph(known: dict[str, Path]) -> dict[str, set[str]]:
    """Return what each module imports. A package that re-exports its own modules is no circle of theirs."""
    return {module: imported(path, known) - {f"{module.rpartition('.')[0]}.__init__"} for module, path in known.items()}


@pytest.mark.parametrize("package", MODULES)
def test_imports_run_one_way(package: str) -> None:
    imports = graph(MODULES[package])
    assert sum(map(len, imports.values())) > len(imports)
    graphlib.TopologicalSorter(imports).prepare()  # raises CycleError, which lists the modules


def test_a_circle_would_be_found(tmp_path: Path) -> None:
    """Imports for types count, as a module's name or as a name in its package, and those in functions."""
    lines = {
        "__init__": "",
        "one": "if TYPE_CHECKING:\n    from pack import two\n",
        "two": "def late():\n    from pack.three import Name\n",
        "three": "import pack.one\n",
    }
    (tmp_path / "pack").mkdir()
    for name, text in lines.items():
        (tmp_path / "pack" / f"{name}.py").write_text(text)
    imports = graph(modules("pack", tmp_path))
    assert imports == {
        "pack.__init__": set(),
        "pack.one": {"pack.two"},
        "pack.three": {"pack.one"},
        "pack.two": {"pack.three"},
    }
    with pytest.raises(graphlib.CycleError):
        graphlib.TopologicalSorter(imports).prepare()
