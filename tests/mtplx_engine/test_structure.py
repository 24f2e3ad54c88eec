"""Modules stay small enough to be read at once, and no two of them know each other."""

from __future__ import annotations

import ast
import graphlib
from pathlib import Path

import pytest

import mtplx_engine

ENGINE = Path(mtplx_engine.__path__[0])
MODULES = {
    ".".join(path.relative_to(ENGINE.parent).with_suffix("").parts): path
    for path in sorted(ENGINE.rglob("*.py"))
}
FAMILIES = "mtplx_engine.models.families."
MOST_LINES, MOST_LINES_OF_A_FAMILY = 400, 120


@pytest.mark.parametrize("module", MODULES)
def test_no_module_is_long(module: str) -> None:
    most = MOST_LINES_OF_A_FAMILY if module.startswith(FAMILIES) else MOST_LINES
    assert len(MODULES[module].read_text().splitlines()) <= most


def imported(path: Path) -> set[str]:
    """Return the engine's modules that a module imports, those for types alone included."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names & MODULES.keys()


def test_imports_run_one_way() -> None:
    graph = {module: imported(path) for module, path in MODULES.items()}
    assert sum(map(len, graph.values())) > len(graph)
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError, which lists the modules


def test_a_circle_would_be_found(tmp_path: Path) -> None:
    """Imports for types count, as a module's name or as a name in its package."""
    lines = (
        "if TYPE_CHECKING:",
        "    from mtplx_engine.models import checkpoint",
        "    from mtplx_engine.errors import EngineError",
    )
    (tmp_path / "one.py").write_text("\n".join(lines))
    assert imported(tmp_path / "one.py") == {"mtplx_engine.models.checkpoint", "mtplx_engine.errors"}
