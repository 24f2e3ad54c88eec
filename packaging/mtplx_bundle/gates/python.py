"""Gates for Python: its own modules, the wheels, every import, and compiled modules."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib.util
import marshal
import re
import sys
import warnings
from types import CodeType
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from mtplx_bundle import code_signature, compiling, runtime, trimming, wheels
from mtplx_bundle.layout import EXTENSION_SUFFIXES, MACOS
from mtplx_bundle.runtime import DROPPED, SETTINGS
from mtplx_bundle.wheels import OWN, shipped

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mtplx_bundle.gates.contents import Contents
    from mtplx_bundle.wheels import Distribution


_DROPPED = {*(name.removesuffix(".py") for name in DROPPED), "_tkinter"}
# Built into the interpreter without an init function of that name.
_INNERMOST = {"sys", "builtins", "marshal", "_warnings", "_frozen_importlib", "_frozen_importlib_external"}
# Not for Macs.
_ELSEWHERE = {
    "_gdbm",  # the GPL's; python.org leaves it out
    "_msi",
    "_overlapped",
    "_winapi",
    "msilib",
    "msvcrt",
    "nis",
    "nt",
    "ossaudiodev",
    "spwd",
    "winreg",
    "winsound",
}


def incomplete_python(contents: Contents) -> Iterator[str]:
    """Yield Python's own modules that are missing or differ from those that were taken, extensions included."""
    layout, modules = contents.layout, contents.expected.modules
    for name in modules.names:
        path = layout.stdlib / name
        if not path.is_file():
            yield f"{name} of Python itself"
        elif path.read_bytes() != (modules.folder / name).read_bytes():
            yield f"{name} is not the one of Python {modules.version}"
    if len(list(layout.stdlib.glob(SETTINGS))) != 1:
        yield f"there is not one {SETTINGS}"
    yield from _missing_extensions(contents)
    interpreter = runtime.version(layout)
    if _is_for_release(contents) and interpreter != modules.version:
        yield f"the interpreter is Python {interpreter}, the modules are of {modules.version}"


def _is_for_release(contents: Contents) -> bool:
    """Whether somebody has signed the app; an app of two Pythons is for trying out."""
    for image in contents.images.get(contents.layout.executable, ()):
        with contextlib.suppress(code_signature.BadSignatureError):
            return not code_signature.verify(image).adhoc
    return False


def _missing_extensions(contents: Contents) -> Iterator[str]:
    layout = contents.layout
    try:
        interpreter = (layout.libraries / MACOS.python_library).read_bytes()
    except OSError:
        yield f"{contents.name(layout.libraries / MACOS.python_library)} is missing"
        return
    written = {name.removesuffix("/__init__.py").removesuffix(".py") for name in contents.expected.modules.names}
    for name in sorted(sys.stdlib_module_names - _DROPPED - _INNERMOST - _ELSEWHERE - written):
        extensions = (layout.extensions / f"{name}{suffix}" for suffix in EXTENSION_SUFFIXES)
        built_in = f"_PyInit_{name}\0".encode() in interpreter
        if not built_in and not any(path.is_file() for path in extensions):
            yield f"{name} of Python itself"


def changed_wheels(contents: Contents) -> Iterator[str]:
    """Yield locked wheels that are missing, other wheels, and files of wheels that are missing or changed.

    The expectation is the wheels' own, from their `RECORD`; what trimming leaves out is the one exception. Machine code
    is thinned and signed, so of that only presence is asked; other gates look at it.
    """
    found = {(canonicalize_name(item.name), item.version): item for item in shipped(contents.layout)}
    wanted = {*contents.expected.wheels, (canonicalize_name(OWN), contents.expected.version)}
    for name, version in sorted(wanted - found.keys()):
        if not trimming.is_left_out(f"{name.replace('-', '_')}-{version}.dist-info"):
            yield f"{name} {version} is missing"
    for name, version in sorted(found.keys() - wanted):
        yield f"{name} {version} is not locked"
    for name in sorted(contents.expected.own):
        if not (contents.layout.site / name).is_file():
            yield f"{name} of this checkout is missing"
    for item in found.values():
        try:
            yield from _changed_files(contents, item)
        except (OSError, ValueError) as error:
            yield f"the record of {item.name} cannot be read: {error}"


def _changed_files(contents: Contents, item: Distribution) -> Iterator[str]:
    for entry in wheels.read_record(item):
        path = contents.layout.site / entry.name
        if path.suffix == ".pyc":
            continue  # compiled anew; another gate looks at it
        if trimming.is_left_out(entry.name):
            if path.exists():
                yield f"{entry.name} should have been left out"
        elif not path.is_file():
            yield f"{entry.name} of {item.name} is missing"
        elif entry.sha256 and path not in contents.images and _sha256(path) != entry.sha256:
            yield f"{entry.name} is not the one in the wheel of {item.name}"


def _sha256(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


_OURS = ("app", "mtplx_engine")
_STARTS = ("app.__main__", "mtplx_engine.host", "mtplx_engine.cli.entry")


def missing_imports(contents: Contents) -> Iterator[str]:
    """Yield the modules that are imported but missing, each with its importer.

    A static walk from all our modules, for some are started by name. Of our own packages every import counts, wherever
    it stands. Of others' only what is done on import, and there what stands in an `if` or a `try` may be missing, since
    they make it optional so.
    """
    walk = _ImportWalk(contents)
    walk.go()
    yield from sorted(walk.missing)


class _ImportWalk:
    """Follows imports from the modules that the app starts."""

    def __init__(self, contents: Contents) -> None:
        self._layout = contents.layout
        self._seen: set[str] = set()
        self._waiting = [(name, "the app") for name in (*_STARTS, *_own_modules(contents))]
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
        for node in _all_imports(tree) if name.partition(".")[0] in _OURS else tree.body:
            if isinstance(node, ast.Import):
                self._waiting += [(alias.name, name) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                self._follow_from(node, name, package)

    def _follow_from(self, node: ast.ImportFrom, name: str, package: str) -> None:
        base = node.module or ""
        if node.level:
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*above, *([node.module] if node.module else [])])
        self._waiting.append((base, name))
        found = self._resolve(base)
        for alias in (alias for alias in node.names if alias.name != "*"):
            # A module in the package, or else a name that the package defines.
            is_module = _find(self._layout.site, f"{base}.{alias.name}") is not None
            if is_module or (found is not None and _is_package(found) and not _may_define(found, alias.name)):
                self._waiting.append((f"{base}.{alias.name}", name))


def _own_modules(contents: Contents) -> Iterator[str]:
    site = contents.layout.site
    for path in contents.files:
        if path.suffix == ".py" and path.is_relative_to(site) and path.relative_to(site).parts[0] in _OURS:
            yield ".".join(path.relative_to(site).with_suffix("").parts).removesuffix(".__init__")


def _parents(name: str) -> Iterator[str]:
    """Yield the packages that are imported before a module in them."""
    parts = name.split(".")
    for count in range(1, len(parts)):
        yield ".".join(parts[:count])


def _all_imports(tree: ast.AST) -> Iterator[ast.stmt]:
    """Yield every import but those for the type checker."""
    for node in ast.iter_child_nodes(tree):
        test = getattr(node, "test", None)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in (
            getattr(test, "id", ""),
            getattr(test, "attr", ""),
        ):
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        yield from _all_imports(node)


def _is_package(path: Path) -> bool:
    return path.name == "__init__.py"


def _may_define(package: Path, name: str) -> bool:
    """Whether a package may have this attribute without a module of that name in it."""
    source = package.read_text(encoding="utf-8")
    # A package that creates its names at run time may have any.
    return bool(re.search(rf"\b{re.escape(name)}\b|__getattr__|sys\.modules|globals\(\)|import \*", source))


def _find(folder: Path, name: str) -> Path | None:
    """Return the file or folder of a module below `folder`, None without one."""
    at = folder.joinpath(*name.split("."))
    extensions = (at.with_name(f"{at.name}{suffix}") for suffix in EXTENSION_SUFFIXES)
    for path in (at / "__init__.py", at.with_name(f"{at.name}.py"), *extensions):
        if path.is_file():
            return path
    return at if at.is_dir() else None  # a package without a file of its own


_UNCHECKED = 1  # flags of a .pyc that Python never compares with its source


def uncompiled(contents: Contents) -> Iterator[str]:
    """Yield the modules with a syntax error, or whose compiled form is missing, cut off or of another source."""
    for path in contents.files:
        if path.suffix != ".py":
            continue
        source, compiled = path.read_bytes(), compiling.compiled_path(path)
        if compiled.is_file():
            if (why := _staleness(compiled.read_bytes(), source)) is not None:
                yield f"{contents.name(compiled)} {why}"
        elif (error := _syntax_error(source, path)) is not None:
            yield f"{contents.name(path)}: {error}"
        elif path.is_relative_to(contents.layout.stdlib) and not compiling.is_rarely_used(path):
            yield f"{contents.name(path)} is not compiled"


def _staleness(compiled: bytes, source: bytes) -> str | None:
    """Return why a compiled module is not the one of a source, None when it is."""
    header = importlib.util.MAGIC_NUMBER + _UNCHECKED.to_bytes(4, "little")
    if not compiled.startswith(header):
        return "is of another Python, or looks at its source"
    header += importlib.util.source_hash(source)
    if not compiled.startswith(header):
        return "was compiled from another text"
    try:
        code = marshal.loads(compiled[len(header) :])  # noqa: S302 - of our own build; nothing is run
    except (EOFError, ValueError, TypeError):
        code = None
    return None if isinstance(code, CodeType) else "is cut off"


def _syntax_error(source: bytes, path: Path) -> str | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of odd escapes in other people's modules
        try:
            compile(source, str(path), "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            return str(error)
    return None
