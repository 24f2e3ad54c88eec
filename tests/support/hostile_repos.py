"""Repositories that want to do harm, or to bring a program that reads them down: none of them may be installed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mtplx_engine.models import checkpoint
from tests.support import model_folder
from tests.support.fake_hub import FakeRepo
from tests.support.model_folder import CONFIG, TENSORS, TOKENIZER, raw_safetensors

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.fake_hub import Asked, Handler


COMMIT = "c" * 40
_CODE_KEYS = ("auto_map", "custom_pipelines", "model_file", "trust_remote_code")
_TEXT = {"model_type": "llama"}


def _repo(files: dict[str, bytes] | None = None, *, config: object = None, **fields: Any) -> FakeRepo:
    """Return a sound repository with other files, or another config.json."""
    body = config if isinstance(config, bytes) else json.dumps(CONFIG if config is None else config).encode()
    sound = {
        "config.json": body,
        "tokenizer.json": json.dumps(TOKENIZER).encode(),
        "model.safetensors": model_folder.safetensors(TENSORS),
    }
    return FakeRepo(sound | (files or {}), **fields)


def _weights(data: bytes) -> FakeRepo:
    return _repo({"model.safetensors": data})


def _header(entry: object, data_bytes: int = 0) -> FakeRepo:
    return _weights(raw_safetensors({"t": entry}, data_bytes))


def _tensor(shape: object, begin: object, end: object, dtype: object = "F32", **more: object) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end], **more}


def _listed(**changes: object) -> FakeRepo:
    """Return a repository whose weight file is listed with other properties."""

    def listed(entries: list[dict[str, object]]) -> list[dict[str, object]]:
        return [item | changes if item["path"] == "model.safetensors" else item for item in entries]

    return _repo(listed=listed)


def _added(*paths: str) -> FakeRepo:
    """Return a repository that lists its weight file under more names."""

    def listed(entries: list[dict[str, object]]) -> list[dict[str, object]]:
        weights = next(item for item in entries if item["path"] == "model.safetensors")
        return [*entries, *({**weights, "path": path} for path in paths)]

    return _repo(listed=listed)


def _redirected(to: str) -> FakeRepo:
    def act(handler: Handler, _data: bytes, _asked: Asked) -> None:
        handler.reply(302, headers={"Location": to})

    return _repo(fault=act)


def _lying(status: int, body: bytes = b"", **headers: str) -> FakeRepo:
    def act(handler: Handler, data: bytes, _asked: Asked) -> None:
        handler.reply(status, body or data, {name.replace("_", "-"): value for name, value in headers.items()})

    return _repo(fault=act)


def _code_in(name: str, key: str) -> FakeRepo:
    body: dict[str, Any] = {"a": [{"b": {key: {"AutoModel": "evil.Model"}}}]}
    more = {"evil.py": b""}
    return _repo(more, config=CONFIG | body) if name == "config.json" else _repo({name: json.dumps(body).encode()})


def all_of_them() -> dict[str, FakeRepo]:
    """Return all of them by name."""
    return {
        **_with_code(),
        **_with_odd_config(),
        **_with_odd_json(),
        **_with_odd_weights(),
        **_with_odd_listing(),
    }


def _with_code() -> dict[str, FakeRepo]:
    files = ("config.json", "tokenizer_config.json", "generation_config.json", "special_tokens_map.json")
    found = {f"{key} in {name}": _code_in(name, key) for name in files for key in _CODE_KEYS}
    kinds = ("../../evil", "/tmp/evil", "evil.module", "LLAMA", "llama\0", 7, None, [], {"a": 1}, "a" * 10**6)
    for number, kind in enumerate(kinds):
        found[f"kind {number}"] = _repo(config=CONFIG | {"model_type": kind})
    files_named = ("../x.safetensors", "/etc/passwd", "x.bin", 5)
    for number, name in enumerate(files_named):
        found[f"head file {number}"] = _repo(
            config=CONFIG | {"mtp_file": 1, "mlx_lm_extra_tensors": {"mtp_file": name}}
        )
    return found


def _with_odd_config() -> dict[str, FakeRepo]:
    changes: tuple[dict[str, object], ...] = (
        {"num_hidden_layers": 10**6},
        {"num_hidden_layers": -1},
        {"num_hidden_layers": True},
        {"num_hidden_layers": 1.5},
        {"num_hidden_layers": "1"},
        {"num_hidden_layers": None},
        {"hidden_size": 2**33},
        {"hidden_size": 10**400},
        {"vocab_size": 0},
        {"num_attention_heads": [2]},
        {"rms_norm_eps": float("nan")},
        {"rope_theta": float("inf")},
        {"eos_token_id": "x"},
        {"quantization": []},
        {"quantization": {"bits": 4, "group_size": 0}},
        {"quantization": {"bits": 10**9, "group_size": 32}},
        {"head_dim": 10**9},
        {"kv_lora_rank": "x" * 99},
    )
    return {f"config {number}": _repo(config=CONFIG | change) for number, change in enumerate(changes)}


def _with_odd_json() -> dict[str, FakeRepo]:
    bodies = {
        "deep list": b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        "deep object": b'{"a": ' * 50_000 + b"1" + b"}" * 50_000,
        "key twice": b'{"model_type": "llama", "model_type": "x"}',
        "long number": b'{"a": ' + b"9" * 5000 + b"}",
        "list": b"[]",
        "nothing": b"",
        "cut": b'{"model_type": "lla',
        "UTF-16": json.dumps(CONFIG).encode("utf-16"),
        "mark": b"\xef\xbb\xbf{}",
        "binary": bytes(range(256)),
        "huge": b'{"a": "' + b"x" * (9 << 20) + b'"}',
    }
    found = {f"json {name}": _repo(config=body) for name, body in bodies.items()}
    for number, table in enumerate(({"x": "../y"}, {"x": "/etc/passwd"}, {"x": 5}, {"x": "y"}, [], "x")):
        index = {checkpoint.WEIGHT_INDEX: json.dumps({"weight_map": table}).encode()}
        found[f"index {number}"] = _repo(index)
    return found


def _with_odd_weights() -> dict[str, FakeRepo]:
    million = {f"t{n}": _tensor([0], 0, 0) for n in range(201_000)}
    headers = {
        "overflow": _header(_tensor([65536] * 4, 0, 0)),
        "narrowed": _header(_tensor([2**32 + 2, 2], 0, 16), 16),
        "gap": _header(_tensor([1], 4, 8), 8),
        "beyond the end": _header(_tensor([4], 0, 16), 4),
        "backwards": _header(_tensor([1], 8, 4), 8),
        "negative": _header(_tensor([-1, -1], 0, 4), 4),
        "fractions": _header(_tensor([1.0], 0, 4), 4),
        "dimensions": _header(_tensor([1] * 9, 0, 4), 4),
        "unknown type": _header(_tensor([1], 0, 4, "F31"), 4),
        "more keys": _header(_tensor([1], 0, 4, code="evil"), 4),
        "no object": _header([]),
        "metadata": _weights(raw_safetensors({"__metadata__": {"a": {}}}, 0)),
        "many": _weights(raw_safetensors(million, 0)),
        "pickle": _weights(b"\x80\x04cos\nsystem\n(S'true'\ntR."),
        "empty": _weights(b""),
        "short": _weights(b"\x10"),
        "length 2^63": _weights((2**63).to_bytes(8, "little") + bytes(64)),
        "length 2^40": _weights((2**40).to_bytes(8, "little") + bytes(64)),
        "40 MB": _weights((40 << 20).to_bytes(8, "little") + bytes((40 << 20) + 64)),
    }
    return {f"header {name}": repo for name, repo in headers.items()}


def _with_odd_listing() -> dict[str, FakeRepo]:
    lfs = {"oid": "a" * 64, "size": 10**4, "pointerSize": 130}
    return {
        "commit a path": _repo(commit="../../../evil"),
        "commit a branch": _repo(commit="main"),
        "commit empty": _repo(commit=""),
        "size negative": _listed(size=-1),
        "size absurd": _listed(size=2**60),
        "size in words": _listed(size="large"),
        "size another": _listed(size=10**6),
        "hash a path": _listed(lfs={**lfs, "oid": "../../../../evil"}),
        "hash empty": _listed(oid="", lfs=None),
        "lfs of another size": _listed(lfs={**lfs, "size": 2**60}),
        "two of a name": _added("model.safetensors"),
        "two but for case": _added("MODEL.safetensors"),
        "no list": _repo(listed=lambda _: {"error": "x"}),
        "list of words": _repo(listed=lambda _: ["model.safetensors"]),
        "nothing": FakeRepo({}),
        "only code": FakeRepo({"config.json": json.dumps(CONFIG).encode(), "model.py": b"", "x.bin": b""}),
        "to a file": _redirected("file:///etc/passwd"),
        "to plain http": _redirected("http://example.com/model"),
        "to ftp": _redirected("ftp://example.com/model"),
        "to nowhere": _redirected("https:///model"),
        "another range": _lying(206, Content_Range="bytes 0-9/10"),
        "range backwards": _lying(206, Content_Range="bytes 99999-9/10"),
        "a page": _lying(200, b"<html>Sign in</html>", Content_Type="text/html"),
    }


def harmless_names(canary: Path) -> FakeRepo:
    """Return a sound repository that lists names which lead away or look like others, and code."""
    code = f"open({str(canary)!r}, 'w').close()".encode()
    names = (
        "../../evil.json",
        "/tmp/evil.json",
        "..\\config.json",
        "sub/../../config.json",
        ".git/hooks/post-checkout",
        ".cache/huggingface/x",
        "config.json\u202e",
        "model\u202enosj.safetensors",
        "model\u200b.safetensors",
        "modеl.safetensors",
        "CON.py",
        "modeling_llama.py",
        "setup.py",
        "mtplx.json",
        "download.json",
        "config.json/x",
        "pytorch_model.bin",
        "x" * 300 + ".safetensors",
    )
    etag = '"../../../../evil"'

    def act(handler: Handler, data: bytes, asked: Asked) -> None:
        handler.serve(data, asked, ranged="Range" in handler.headers, etag=etag)

    return _repo(dict.fromkeys(names, code), fault=act)
