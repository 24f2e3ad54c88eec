"""Gate: whatever is imported is there.

A static walk from all our modules, for some are started by name. Of our own packages every import counts, wherever it
stands. Of others' only what is done on import, and there what stands in an `if` or a `try` may be missing, since they
make it optional so.
"""

from __future__ import annotations

import ast
import re
import sys
from typing import TYPE_CHECKING

from mtplx_bundle.runtime import DROPPED
from mtplx_bundle.target import EXTENSION_SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mtplx_bundle.gates.contents import Contents


_OURS = ("app", "mtplx_engine")
_STARTS = ("app.__main__", "mtplx_engine.host", "mtplx_engine.cli.entry")
_DROPPED = {*(name.removesuffix(".py") for name in DROPPED), "_tkinter"}


def faults(contents: Contents) -> Iterator[str]:
    """Yield the modules that something imports and that are not there, each with who does."""
    walk = _Walk(contents)
    walk.go()
    yield from sorted(walk.missing)


class _Walk:
    """Follows imports from where the app starts."""

    def __init__(self, contents: Contents) -> None:
        self._layout = contents.layout
        self._seen: set[str] = set()
        self._waiting = [(name, "the app") for name in (*_STARTS, *_modules(contents))]
        self.missing: set[str] = set()

    def go(self) -> None:
        """Walk until nothing new is imported."""
        while self._waiting:
            name, importer = self._waiting.pop()
            if name in self._seen:
                continue
            self._seen.add(name)
            self._waiting += [(parent, name) for parent in _parents(name)]
            path = self._resolve(name)
            if path is None:
                self.missing.add(f"{name}, which {importer} imports")
            elif path.suffix == ".py" and path.is_relative_to(self._layout.site):
                self._follow(name, path)

    def _resolve(self, name: str) -> Path | None:
        root = name.partition(".")[0]
        if root in sys.stdlib_module_names and root not in _DROPPED:
            # What has no file of its own is built in, and another gate's affair.
            built_in = name in (root, "os.path")
            return _find(self._layout.stdlib, name) or (self._layout.stdlib if built_in else None)
        return _find(self._layout.site, name)

    def _follow(self, name: str, path: Path) -> None:
        package = name if _is_package(path) else name.rpartition(".")[0]
        tree = ast.parse(path.read_bytes())
        nodes = _all_imports(tree) if name.partition(".")[0] in _OURS else _certain_imports(tree)
        for node in nodes:
            if isinstance(node, ast.Import):
                self._waiting += [(alias.name, name) for alias in node.names]
            else:
                self._follow_from(node, name, package)

    def _follow_from(self, node: ast.ImportFrom, name: str, package: str) -> None:
        base = node.module or ""
        if node.level:
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*above, *([node.module] if node.module else [])])
        self._waiting.append((base, name))
        found = self._resolve(base)
        for alias in (alias for alias in node.names if alias.name != "*"):
            # A module in the package, or else a name that the package binds.
            is_module = _find(self._layout.site, f"{base}.{alias.name}") is not None
            if is_module or (found is not None and _is_package(found) and not _binds(found, alias.name)):
                self._waiting.append((f"{base}.{alias.name}", name))


def _modules(contents: Contents) -> Iterator[str]:
    """Yield the names of our own modules."""
    site = contents.layout.site
    for path in contents.files:
        if path.suffix == ".py" and path.is_relative_to(site) and path.relative_to(site).parts[0] in _OURS:
            yield ".".join(path.relative_to(site).with_suffix("").parts).removesuffix(".__init__")


def _parents(name: str) -> Iterator[str]:
    """Yield the packages that are imported before a module in them."""
    parts = name.split(".")
    for count in range(1, len(parts)):
        yield ".".join(parts[:count])


def _all_imports(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield every import but those for the type checker."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and _is_for_types(node):
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        yield from _all_imports(node)


def _certain_imports(tree: ast.Module) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports that are done whenever the module is."""
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node


def _is_for_types(node: ast.If) -> bool:
    test = node.test
    return "TYPE_CHECKING" in (getattr(test, "id", ""), getattr(test, "attr", ""))


def _is_package(path: Path) -> bool:
    return path.name == "__init__.py"


def _binds(package: Path, name: str) -> bool:
    """Whether a package may have this name without a module of that name in it."""
    source = package.read_text(encoding="utf-8")
    # What makes its names as it goes may have any.
    return bool(re.search(rf"\b{re.escape(name)}\b|__getattr__|sys\.modules|globals\(\)|import \*", source))


def _find(folder: Path, name: str) -> Path | None:
    """Return the file or folder of a module below `folder`, None without one."""
    at = folder.joinpath(*name.split("."))
    extensions = (at.with_name(f"{at.name}{suffix}") for suffix in EXTENSION_SUFFIXES)
    for path in (at / "__init__.py", at.with_name(f"{at.name}.py"), *extensions):
        if path.is_file():
            return path
    return at if at.is_dir() else None  # a package without a file of its own
