"""The checks of MTPLX as an app: Metal, its library, the keychain, files, memory.

Each check is a function of its inputs, so that the faults of a Mac can be tested anywhere; `checks` passes those of
this machine. A check never raises: what it cannot find out is a row that says so.
"""

from __future__ import annotations

import contextlib
import os
import resource
import secrets
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from mtplx_engine import backend
from mtplx_engine.doctor.environment import Check
from mtplx_engine.hub.credentials import system_keychain
from mtplx_engine.util import formatting, system
from mtplx_engine.util.files import replace_file

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mtplx_engine.hub.credentials import Keychain
    from mtplx_engine.util.system import Machine


_AGAIN = "Move MTPLX to the trash, download it again and put it into Applications."
_SERVICE, _ACCOUNT = "MTPLX self-test", "doctor"
_LEAST_MEMORY = 4 << 30  # bytes for the system, the window and the starter model
_LEAST_DISK = 1 << 30  # bytes for chats and logs
_LEAST_FILES = 256  # open at once: shards, sockets, the database
_TOLERANCE = 0.1  # of our estimate of Metal's memory limit


@dataclass(frozen=True, slots=True)
class Gpu:
    """The GPU as mlx reports it.

    Attributes:
        limit: Bytes, Metal's recommended maximum.
        product: The device's product of two 32 x 32 matrices of ones; each entry must be 32.
    """

    name: str
    limit: int
    product: tuple[float, ...]


def checks(data: Path) -> tuple[Check, ...]:
    """Check this machine; imports mlx, so not in a process that has a window."""
    gpu, trouble = None, ""
    try:
        gpu = this_gpu()
    except Exception as error:  # noqa: BLE001 - mlx raises anything when its library is unusable
        trouble = str(error) or repr(error)
    return (
        metal(sys.platform, gpu, trouble),
        library(sys.platform, [Path(entry) for entry in sys.path]),
        keychain(system_keychain),
        files(data),
        memory(system.this_machine(), gpu.limit if gpu else None),
        open_files(resource.getrlimit(resource.RLIMIT_NOFILE)[0]),
    )


def this_gpu() -> Gpu | None:
    """Return the GPU of this machine after it has computed something, None where mlx has none."""
    backend.prepare()
    import mlx.core as mx

    if not mx.metal.is_available():
        return None
    about = mx.device_info()
    ones = mx.ones((32, 32))
    product = cast("list[float]", (ones @ ones).reshape(-1).tolist())
    return Gpu(
        str(about.get("device_name", about["architecture"])),
        int(about["max_recommended_working_set_size"]),
        tuple(product),
    )


def metal(system: str, gpu: Gpu | None, trouble: str) -> Check:
    """Whether mlx finds Metal, and whether Metal computes.

    `system` is as in `sys.platform`; `trouble` is the error of mlx when it could not be asked, else "".
    """
    name = "Metal"
    if system != "darwin":
        return Check.unknown(name, "There is no Metal outside macOS; models run on the CPU here.")
    if trouble:
        return Check.failed(name, f"It does not work ({trouble[:200]}). {_AGAIN}")
    if gpu is None:
        return Check.failed(name, "mlx finds no Metal device, so nothing would be fast. Restart the Mac.")
    wrong = sum(entry != 32 for entry in gpu.product)
    if wrong or len(gpu.product) != 32 * 32:
        sentence = f"{gpu.name} computed {wrong} of {len(gpu.product)} numbers wrongly. Restart the Mac."
        return Check.failed(name, sentence)
    return Check.passed(name, f"{gpu.name} computes.")


def library(system: str, search: Sequence[Path]) -> Check:
    """Whether there is one mlx library, with its Metal kernels beside it, where modules are imported from.

    A second mlx among those folders ends the process. `system` is as in `sys.platform`.
    """
    name, suffix = "Library", ".dylib" if system == "darwin" else ".so"
    folders = {(folder / "mlx" / "lib").resolve() for folder in search}
    found = sorted(path for folder in folders for path in folder.glob(f"libmlx{suffix}"))
    if len(found) != 1:
        where = ", ".join(str(path.parent) for path in found) or "nowhere"
        sentence = f"There must be one libmlx{suffix}, but there are {len(found)}: {where}. {_AGAIN}"
        return Check.failed(name, sentence)
    kernels = found[0].with_name("mlx.metallib")
    if system == "darwin" and not kernels.is_file():
        return Check.failed(name, f"{kernels} is missing. {_AGAIN}")
    return Check.passed(name, f"One libmlx{suffix}, in {found[0].parent}.")


def keychain(find: Callable[[], Keychain | None]) -> Check:
    """Whether the keychain keeps a password, gives it back and forgets it.

    `find` returns None where there is no keychain; it may raise anything.
    """
    name, word = "Keychain", secrets.token_hex(8)
    kept = "access tokens are known only until MTPLX quits"
    try:
        chain = find()
        if chain is None:
            return Check.unknown(name, f"There is no keychain here, so {kept}.")
        chain.set_password(_SERVICE, _ACCOUNT, word)
        same = chain.get_password(_SERVICE, _ACCOUNT) == word
        chain.delete_password(_SERVICE, _ACCOUNT)
    except Exception as error:  # noqa: BLE001 - each backend has errors of its own
        sentence = f"The keychain refused ({type(error).__name__}), so {kept}. Unlock it in Keychain Access."
        return Check.failed(name, sentence)
    if not same:
        sentence = f"The keychain gave back something else than it was given, so {kept}. Restart the Mac."
        return Check.failed(name, sentence)
    return Check.passed(name, "It keeps a password and gives it back.")


def files(data: Path) -> Check:
    """Whether the data folder takes a file to the disk and has room for more."""
    name, probe = "Files", data / f".doctor-{os.getpid()}"
    try:
        data.mkdir(parents=True, exist_ok=True)
        with contextlib.ExitStack() as stack:
            stack.callback(probe.unlink, missing_ok=True)
            replace_file(probe, b"MTPLX")
            same = probe.read_bytes() == b"MTPLX"
        free = shutil.disk_usage(data).free
    except OSError as error:
        sentence = f"Nothing can be kept in {data} ({error.strerror or error}). Make that folder writable."
        return Check.failed(name, sentence)
    if not same:
        return Check.failed(name, f"{data} does not keep what is written there. Check the disk.")
    if free < _LEAST_DISK:
        sentence = f"The disk of {data} has {formatting.size(free)} left. Make room for at least 1 GB."
        return Check.failed(name, sentence)
    return Check.passed(name, f"{data} keeps what is written there; {formatting.size(free)} are free.")


def memory(this: Machine, recommended: int | None) -> Check:
    """Whether there is memory for a model, and whether our estimate agrees with Metal.

    `recommended` is Metal's recommended maximum in bytes; None without Metal.
    """
    name = "Memory"
    if this.memory < _LEAST_MEMORY:
        need = formatting.size(_LEAST_MEMORY)
        sentence = f"This machine has {formatting.size(this.memory)}; MTPLX needs {need}. Use only small models."
        return Check.failed(name, sentence)
    share = f"Models can take {formatting.size(this.limit)} of {formatting.size(this.memory)}"
    if recommended is not None and abs(recommended - this.limit) > _TOLERANCE * recommended:
        said = f"Metal itself says {formatting.size(recommended)}"
        sentence = f"{share} by our reckoning, but {said}, so “fits” may be off; please report it."
        return Check.unknown(name, sentence)
    return Check.passed(name, f"{share}.")


def open_files(limit: int) -> Check:
    """Whether enough files may be open at once; `limit` is the process's soft one, RLIM_INFINITY for any number."""
    name = "Open files"
    if limit != resource.RLIM_INFINITY and limit < _LEAST_FILES:
        sentence = f"Only {limit} files may be open at once, {_LEAST_FILES} are needed. Restart this computer."
        return Check.failed(name, sentence)
    return Check.passed(name, "Any number." if limit == resource.RLIM_INFINITY else f"Up to {limit}.")
