"""Extracts a drafting head from another repository: finds it by sparse copies, and fetches only its ranges."""

from __future__ import annotations

import dataclasses
import hashlib
from contextlib import contextmanager
from functools import partial as bind
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.hub import repository
from mtplx_engine.hub.errors import HubError, HubErrorKind
from mtplx_engine.hub.plan import ExtractedHead, Header, Part
from mtplx_engine.hub.transfer import Body, Requests, Transfer, changed, cut_off
from mtplx_engine.models import checkpoint, config_checks, head_source, safetensors_header
from mtplx_engine.models.families import appended_names, supported

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping
    from pathlib import Path

    from mtplx_engine.hub.errors import CancelToken
    from mtplx_engine.hub.http import HubConnection
    from mtplx_engine.hub.repository import RemoteFile, Repo
    from mtplx_engine.hub.retries import Retries
    from mtplx_engine.hub.transfer import Source
    from mtplx_engine.models.head_source import HeadSource


_LARGEST_HEAD = 64_000_000_000  # bytes; the heads of the largest open models have about 35 GB
# What must be equal in both, or the head was trained for another model.
_SHARED = ("model_type", "hidden_size", "num_hidden_layers", "vocab_size")

_FIRST_BYTES = 128 << 10  # holds most headers whole, so that one request is enough
# Files that an inspection does not read; they are left empty.
_UNREAD = frozenset(
    {
        "LICENSE",
        "LICENSE.md",
        "LICENSE.txt",
        "README.md",
        "merges.txt",
        "tokenizer.json",
        "tokenizer.model",
        "vocab.json",
    }
)


def find_original(
    copier: SparseCopier, original: Repo, config: Mapping[str, Any], folder: Path
) -> ExtractedHead | None:
    """Return the head in a repository, None without one; whether it fits is left to an inspection.

    `config` is the conversion's config.json, flattened and checked; the sparse copy is made in `folder`.

    Raises:
        EngineError: The repository is damaged, or of another model, or cannot be fetched.
        OSError: The disk cannot be written.
    """
    files = {file.name: file for file in original.files}
    folder.mkdir()
    own = _config(copier, original, files, folder)
    if differing := next((key for key in _SHARED if own.get(key) != config[key]), ""):
        raise _unfit(original, f"is another kind of model ({differing} differs)")
    with_head = _head_files(copier, original, files, folder, config)
    for name in with_head:
        copier.copy_file(original, files[name], folder)
    head = head_source.find_head(folder, own, checkpoint.weight_tensors(folder)) if with_head else None
    if head is None:
        return None
    if head.problem:
        raise _unfit(original, "has no single drafting head")
    return _extracted(original, files, config, folder, head)


def _config(copier: SparseCopier, original: Repo, files: Mapping[str, RemoteFile], folder: Path) -> dict[str, Any]:
    if config_checks.CONFIG_NAME not in files:
        raise _unfit(original, f"has no {config_checks.CONFIG_NAME}")
    copier.copy_file(original, files[config_checks.CONFIG_NAME], folder)
    return config_checks.read_config(folder)


def _head_files(
    copier: SparseCopier,
    original: Repo,
    files: Mapping[str, RemoteFile],
    folder: Path,
    config: Mapping[str, Any],
) -> tuple[str, ...]:
    """Return the files that hold tensors of a head, by the index; without an index, the only file of weights."""
    apart = [name for name in head_source.HEAD_FILES if name in files]
    weights = [name for name in files if repository.is_weights(name) and name not in apart]
    if checkpoint.WEIGHT_INDEX not in files:
        return (*apart, *(weights if len(weights) == 1 else ()))
    copier.copy_file(original, files[checkpoint.WEIGHT_INDEX], folder)
    table = checkpoint.weight_index(folder)
    named = {file for name, file in table.items() if supported.has_head(config, (name,))}
    (folder / checkpoint.WEIGHT_INDEX).unlink()  # it names files that are not copied
    if missing := next((name for name in sorted(named) if name not in files), ""):
        raise _unfit(original, f"has no file {missing[:100]!r}, which its index names")
    return (*apart, *sorted(named.difference(apart)))


def _extracted(
    original: Repo,
    files: Mapping[str, RemoteFile],
    config: Mapping[str, Any],
    folder: Path,
    head: HeadSource,
) -> ExtractedHead:
    architecture = config["model_type"]
    parts = [
        Part(raw, item.spec.dtype, item.spec.shape, str(item.path.relative_to(folder)), item.spec.begin)
        for raw, item in head.tensors.items()
        if not appended_names.is_repeated(raw, architecture)  # repeated ones are copies of the model's own
    ]
    parts.sort(key=lambda part: (part.file, part.begin, part.name))
    if sum(part.size for part in parts) > _LARGEST_HEAD:
        raise _unfit(original, f"has a drafting head of more than {_LARGEST_HEAD // 1_000_000_000} GB")
    used = dict.fromkeys(part.file for part in parts)
    return ExtractedHead(
        original=dataclasses.replace(original, files=tuple(files[name] for name in used), left_out=()),
        architecture=architecture,
        hidden_size=config["hidden_size"],
        vocabulary=config["vocab_size"],
        headers=tuple(_header(folder, name) for name in used),
        parts=tuple(parts),
    )


def _header(folder: Path, name: str) -> Header:
    with (folder / name).open("rb") as file:
        found = file.read(safetensors_header.LENGTH_BYTES)
        found += file.read(int.from_bytes(found, "little"))
    return Header(name, len(found), hashlib.sha256(found).hexdigest())


def _unfit(original: Repo, problem: str) -> EngineError:
    return EngineError(ErrorKind.REFUSED, f"{original.id} {problem}.")


MAX_BYTES: Final = 64 << 20
"""Most bytes that are fetched of repositories for one inspection."""


class SparseCopier:
    """Makes sparse copies of repositories: the headers of weights and the small files, up to `MAX_BYTES` in all."""

    def __init__(self, connection: HubConnection, interrupt: CancelToken, retries: Retries) -> None:
        self._connection = connection
        self._interrupt = interrupt
        self._retries = retries
        self._requests = Requests(connection, interrupt)
        self.fetched = 0

    def close(self) -> None:
        self._requests.close()

    def copy(self, repo: Repo, folder: Path) -> None:
        """Complete the sparse copy of a repository in `folder`.

        Raises:
            HubError: The files cannot be fetched, or exceed `MAX_BYTES`.
            OSError: The disk cannot be written.
        """
        for file in repo.files:
            if not (folder / file.name).exists():
                self.copy_file(repo, file, folder)

    def copy_config(self, repo: Repo, folder: Path) -> None:
        for file in repo.files:
            if file.name == config_checks.CONFIG_NAME:
                self.copy_file(repo, file, folder)

    def copy_file(self, repo: Repo, file: RemoteFile, folder: Path) -> None:
        path = folder / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        if repository.is_weights(file.name):
            self._copy_header(repo, file, path)
        elif file.name in _UNREAD or file.size > _most_bytes(file.name):
            _write_sparse(path, b"", file.size)  # too large files are refused for their size
        else:
            self._count(file.size)
            source = repo.source(self._connection, file)
            Transfer(source, self._requests, self._interrupt, self._retries, lambda _: None).run(path, 1)

    def _copy_header(self, repo: Repo, file: RemoteFile, path: Path) -> None:
        start = self._read(repo, file, 0, min(_FIRST_BYTES, file.size))
        length = int.from_bytes(start[: safetensors_header.LENGTH_BYTES], "little")
        end = safetensors_header.LENGTH_BYTES + length
        if length > safetensors_header.MAX_HEADER_BYTES or end > file.size:
            end = len(start)  # an invalid header is refused by its reader
        if end > len(start):
            start += self._read(repo, file, len(start), end)
        _write_sparse(path, start[:end], file.size)

    def _read(self, repo: Repo, file: RemoteFile, start: int, end: int) -> bytes:
        """Return bytes `start` to `end` (exclusive) of a file."""
        self._count(end - start)
        source = repo.source(self._connection, file)

        def ask() -> bytes:
            found = bytearray()
            if start == end:
                return b""
            with self._requests.get(source, start, end) as body:
                wanted = end - body.start
                for piece in body.pieces:
                    self._interrupt.check()
                    found += piece
                    if len(found) >= wanted:
                        return bytes(found[start - body.start : wanted])
            raise cut_off(source)

        return self._retries.patiently(ask, self._interrupt)

    def _count(self, count: int) -> None:
        self.fetched += count
        if self.fetched > MAX_BYTES:
            raise HubError(
                HubErrorKind.UNSAFE,
                f"This repository needs more than {MAX_BYTES >> 20} MB to say what it holds, which no honest model "
                "does. Choose another one.",
            )


def _most_bytes(name: str) -> int:
    return MAX_BYTES if name == checkpoint.WEIGHT_INDEX else config_checks.CONFIG_MAX_BYTES


def _write_sparse(path: Path, start: bytes, size: int) -> None:
    with path.open("wb") as file:
        file.write(start)
        file.truncate(size)


class _Run(NamedTuple):
    """Consecutive bytes in a file of the original, from offset `begin` there and `at` in the head's file."""

    file: str
    begin: int
    at: int
    size: int


class RangeAssembler:
    """A `RangeSource` of an extracted head, whose bytes come from the original's files; thread-safe once it is open."""

    def __init__(self, head: ExtractedHead, connection: HubConnection, requests: Requests) -> None:
        self._requests = requests
        self._headers = head.headers
        self._sources = {file.name: head.original.source(connection, file) for file in head.original.files}
        self._start = head.start
        self._runs = _runs(head)
        self._etags: dict[str, str] = {}

    def open(self, interrupt: CancelToken, retries: Retries) -> None:
        """Check that the files are those in which the head was found.

        Raises:
            HubError: One was changed, or the hub supports no ranges, or cannot be reached.
        """
        for header in self._headers:
            retries.patiently(bind(self._check_header, header), interrupt)

    @contextmanager
    def get(self, source: Source, start: int, end: int, etag: str = "") -> Iterator[Body]:  # noqa: ARG002 - as RangeSource
        """Yield bytes `start` to `end` (exclusive) of the head's file, see `Requests.get`."""
        pieces = self._pieces(start, end)
        try:
            yield Body(pieces, start, self._etag, is_range=True)
        finally:
            pieces.close()

    @property
    def _etag(self) -> str:
        # Of all files together.
        known = "\n".join(f"{name} {etag}" for name, etag in sorted(self._etags.items()))
        return f'"{hashlib.sha256(known.encode()).hexdigest()}"'

    def _check_header(self, header: Header) -> None:
        source = self._sources[header.file]
        found = bytearray()
        with self._requests.get(source, 0, header.size) as body:
            if not body.is_range and header.size < source.size:
                raise _no_ranges(source)
            for piece in body.pieces:
                found += piece
                if len(found) >= header.size:
                    break
        if len(found) < header.size:
            raise cut_off(source)
        if hashlib.sha256(found[: header.size]).hexdigest() != header.sha256:
            raise changed(source)
        self._etags[header.file] = body.etag

    def _pieces(self, start: int, end: int) -> Generator[bytes, None, None]:
        if start < len(self._start):
            yield self._start[start:end]
        for run in self._runs:
            first, last = max(start, run.at), min(end, run.at + run.size)
            if first < last:
                moved = run.begin - run.at
                yield from self._range(run.file, first + moved, last + moved)

    def _range(self, file: str, start: int, end: int) -> Iterator[bytes]:
        """Yield a range of a file of the original, or raise HubError if it was changed or is cut off."""
        source, etag = self._sources[file], self._etags[file]
        with self._requests.get(source, start, end, etag) as body:
            if body.etag != etag:
                raise changed(source)
            if not body.is_range:
                raise _no_ranges(source)
            skip, left = start - body.start, end - start
            for piece in body.pieces:
                data = piece[skip:][:left]
                skip, left = max(skip - len(piece), 0), left - len(data)
                if data:
                    yield data
                if not left:
                    return
        raise cut_off(source)


def _runs(head: ExtractedHead) -> tuple[_Run, ...]:
    """Return the ranges of a head, with consecutive tensors of one file merged."""
    found: list[_Run] = []
    at = len(head.start)
    for part in head.parts:
        last = found[-1] if found else None
        if last is not None and (last.file, last.begin + last.size) == (part.file, part.begin):
            found[-1] = last._replace(size=last.size + part.size)
        else:
            found.append(_Run(part.file, part.begin, at, part.size))
        at += part.size
    return tuple(found)


def _no_ranges(source: Source) -> HubError:
    return HubError(
        HubErrorKind.NOT_FOUND,
        f"The hub gives only all of {source.title}, so the drafting head cannot be taken out of it. Use another "
        "mirror, or choose another model.",
    )
