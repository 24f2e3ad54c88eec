"""Model folders of all kinds, good, wrong and hostile, with what an inspection must say of each."""

from __future__ import annotations

import json
import os
import pickle
from typing import TYPE_CHECKING, Any, NamedTuple

from mtplx_engine.models import checkpoint, head_source, identity, manifest
from mtplx_engine.models.inspection import ProbeMemory, ProbeResult, Tier
from mtplx_engine.models.manifest import Manifest, Wiring
from tests.support import model_folder, module_shapes
from tests.support.model_folder import CONFIG, HEAD, HIDDEN, ROWS, TENSORS, TOKENIZER, raw_safetensors

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


_FUSED = ("F32", (HIDDEN, 2 * HIDDEN))
_HEAD_FILE = model_folder.safetensors(HEAD)
_NARROW_HEAD = model_folder.safetensors(HEAD | {"norm.weight": _FUSED})
_WEIGHTS = {"model.safetensors": model_folder.safetensors(TENSORS)}
_HEAD_CONFIG = {"model_type": "llama_mtp", "hidden_size": HIDDEN, "vocab_size": ROWS}
CANARY = "canary"
_RECURRENT = {
    "num_key_value_heads": 1,
    "head_dim": 2,
    "full_attention_interval": 1,
}
_MAMBA = {
    "mamba_num_heads": 2,
    "mamba_head_dim": 2,
    "n_groups": 1,
    "ssm_state_size": 2,
    "conv_kernel": 4,
}
EXPERTS = {
    "num_key_value_heads": 1,
    "head_dim": 2,
    "first_k_dense_replace": 0,
    "n_routed_experts": 2,
    "n_shared_experts": 1,
    "moe_intermediate_size": 4,
    "norm_topk_prob": True,
    "n_group": 1,
    "topk_group": 1,
    "routed_scaling_factor": 1.0,
    "num_experts_per_tok": 1,
    "max_position_embeddings": 64,
    "rope_theta": 10000.0,
    "rope_scaling": None,
    "use_qk_norm": False,
    "tie_word_embeddings": False,
    "attention_bias": False,
    "partial_rotary_factor": 1.0,
}


class Case(NamedTuple):
    """A folder, and what an inspection must say of it.

    Attributes:
        name: Of the case.
        build: Makes it in an empty folder.
        tier: What it is.
        reason: A part of what is said.
    """

    name: str
    build: Callable[[Path], object]
    tier: Tier
    reason: str


class _Touch:
    """Pickled, it touches the canary when it is read."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.open, (str(self._path), os.O_CREAT | os.O_WRONLY)


def canary(folder: Path) -> Path:
    """Return the file that any code out of `folder` would make."""
    return folder.parent / CANARY


def _write(folder: Path, files: dict[str, bytes] | None = None, **changes: object) -> None:
    for name in files or {}:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
    model_folder.write(folder, config=CONFIG | changes, files=_WEIGHTS | (files or {}))


def _with(files: dict[str, bytes], **changes: object) -> Callable[[Path], None]:
    return lambda folder: _write(folder, files, **changes)


def _weights(tensors: dict[str, Any] | None = None, drop: str = "", **changes: object) -> Callable[[Path], None]:
    kept = {name: spec for name, spec in TENSORS.items() if name != drop}
    return _with({"model.safetensors": model_folder.safetensors(kept | (tensors or {}))}, **changes)


def _header(entry: object, data_bytes: int = 0) -> Callable[[Path], None]:
    return _with({"model.safetensors": raw_safetensors({"t": entry}, data_bytes)})


def _tensor(shape: list[int], begin: int, end: int) -> dict[str, object]:
    return {"dtype": "F32", "shape": shape, "data_offsets": [begin, end]}


def _nested(folder: Path) -> None:
    """As Qwen3.5 is published: a nested configuration, what sees, the head among the trunk's tensors."""
    sizes = {**CONFIG, **_RECURRENT, "model_type": "qwen3_5_text"}
    config = {"model_type": "qwen3_5", "text_config": sizes}
    shapes = {
        name.replace("language_model.model", "model.language_model"): shape
        for name, shape in module_shapes.trunk(config).items()
    }
    shapes |= {f"mtp.{name}": shape for name, shape in module_shapes.head(config).items()}
    shapes["model.visual.patch_embed.proj.weight"] = (2, 2)
    weights = model_folder.safetensors(model_folder.tensors(shapes))
    model_folder.write(folder, config=config, files={"model.safetensors": weights})


def _appended(folder: Path) -> None:
    """As GLM-4.5 is published: the head in a layer behind the last one."""
    config = CONFIG | EXPERTS | {"model_type": "glm4_moe"}
    shapes = module_shapes.trunk(config)
    raw = {
        "pre_fc_norm_embedding": "enorm",
        "pre_fc_norm_hidden": "hnorm",
        "fc": "eh_proj",
        "norm": "shared_head.norm",
    }
    for name, shape in module_shapes.head(config).items():
        path = name.removesuffix(".weight")
        own = name.removeprefix("layers.0.") if path not in raw else f"{raw[path]}.weight"
        shapes[f"model.layers.1.{own}"] = shape
    weights = model_folder.safetensors(model_folder.tensors(shapes))
    model_folder.write(folder, config=config, files={"model.safetensors": weights})


def _in_shards(folder: Path) -> None:
    parts = {f"model-{number}.safetensors": name for number, name in enumerate(TENSORS)}
    files = {file: model_folder.safetensors({name: TENSORS[name]}) for file, name in parts.items()}
    index = {"weight_map": {name: file for file, name in parts.items()}}
    model_folder.write(folder, files=files | {checkpoint.WEIGHT_INDEX: json.dumps(index).encode()})


def _quantized(folder: Path) -> None:
    packed = {
        "model.embed_tokens.weight": ("U32", (ROWS, 4)),
        "model.embed_tokens.scales": ("F16", (ROWS, 1)),
        "model.embed_tokens.biases": ("F16", (ROWS, 1)),
    }
    wider = CONFIG | {"hidden_size": 32, "quantization": {"bits": 4, "group_size": 32}}
    tensors = model_folder.trunk(32) | packed
    model_folder.write(folder, config=wider, files={"model.safetensors": model_folder.safetensors(tensors)})


def _head_folder(folder: Path, config: dict[str, Any] = _HEAD_CONFIG) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors").write_bytes(_HEAD_FILE)


def _with_head_folder(**changes: object) -> Callable[[Path], None]:
    def build(folder: Path) -> None:
        _write(folder)
        _head_folder(folder / "head", _HEAD_CONFIG | changes)

    return build


def _pair(folder: Path) -> None:
    _with_head_folder()(folder)
    found = checkpoint.check(folder)
    binding = head_source.bind_head("head", found.config, found.tensors, folder)
    manifest.write_manifest(folder, Manifest("pair", "Pair", "MIT", "here", 1, (), binding=binding))


def _pair_with_other_weights(folder: Path) -> None:
    _pair(folder)
    data = bytearray((folder / "model.safetensors").read_bytes())
    data[-1] ^= 1
    (folder / "model.safetensors").write_bytes(data)


def _remembered(rate: float) -> Callable[[Path], None]:
    def build(folder: Path) -> None:
        _write(folder, {"mtp.safetensors": _HEAD_FILE})
        key = identity.identity_of(checkpoint.check(folder))
        ProbeMemory(folder.parent).remember(key, ProbeResult(Wiring(), (rate, rate, rate)))

    return build


def _claims_to_be_the_starter(folder: Path) -> None:
    _write(folder, {"mtp.safetensors": _HEAD_FILE})
    head = manifest.HeadWiring("mtp", "llama", "after_norm", "embedding_first", "plain", ("mtp.safetensors",))
    manifest.write_manifest(folder, Manifest("smollm2-135m-instruct", "SmolLM2", "MIT", "here", 1, (), head))


def _code(name: str) -> Callable[[Path], None]:
    def build(folder: Path) -> None:
        _write(folder, {name: f"open({str(canary(folder))!r}, 'w').close()".encode()})

    return build


def _pickle(folder: Path) -> None:
    _write(folder, {"pytorch_model.bin": pickle.dumps(_Touch(canary(folder)))})


def _json(name: str, text: str | bytes) -> Callable[[Path], None]:
    def build(folder: Path) -> None:
        _write(folder)
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())

    return build


def _link(folder: Path) -> None:
    _write(folder)
    (folder / "more.txt").symlink_to("/etc/hostname")


def _dangling(name: str) -> Callable[[Path], None]:
    """Make a snapshot in the hub's cache, a file of which was not fetched."""

    def build(folder: Path) -> None:
        _write(folder)
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to("../../blobs/beef")

    return build


def _pipe(folder: Path) -> None:
    _write(folder)
    os.mkfifo(folder / "pipe")


def _large_header(folder: Path) -> None:
    _write(folder)
    with (folder / "model.safetensors").open("wb") as file:
        file.write((40 << 20).to_bytes(8, "little"))
        file.truncate((40 << 20) + 64)


def _without_tokenizer(folder: Path) -> None:
    _write(folder)
    (folder / "tokenizer.json").unlink()


def _tokenizer(**changes: object) -> Callable[[Path], object]:
    return lambda folder: model_folder.write(folder, tokenizer=TOKENIZER | changes)


_TEXT_CONFIG = '{"model_type": "llama_mtp", "auto_map": {"AutoModel": "evil.Model"}}'
_DEEP = '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}"
_OVERFLOWING = [65536, 65536, 65536, 65536]
_UNKNOWN_NAME = {"model_type": "../../evil"}

GOOD = (
    Case("plain", _write, Tier.NO_HEAD, "no drafting head"),
    Case("shards", _in_shards, Tier.NO_HEAD, "no drafting head"),
    Case("quantized", _quantized, Tier.NO_HEAD, "no drafting head"),
    Case("file", _with({"mtp.safetensors": _HEAD_FILE}), Tier.UNVERIFIED, "tried when"),
    Case("folder file", _with({"mtp/weights.safetensors": _HEAD_FILE}), Tier.UNVERIFIED, "tried when"),
    Case("model file", _with({"model-mtp.safetensors": _HEAD_FILE}), Tier.UNVERIFIED, "tried when"),
    Case(
        "named file",
        _with({"x.safetensors": _HEAD_FILE}, mlx_lm_extra_tensors={"mtp_file": "x.safetensors"}),
        Tier.UNVERIFIED,
        "tried when",
    ),
    Case("nested", _nested, Tier.UNVERIFIED, "tried when"),
    Case("appended", _appended, Tier.UNVERIFIED, "tried when"),
    Case("head folder", _with_head_folder(), Tier.UNVERIFIED, "tried when"),
    Case("pair", _pair, Tier.UNVERIFIED, "tried when"),
    Case("false starter", _claims_to_be_the_starter, Tier.UNVERIFIED, "tried when"),
    Case("remembered", _remembered(0.6), Tier.VERIFIED, "agreed with it on 60%"),
    Case("dangling page", _dangling("README.md"), Tier.NO_HEAD, "no drafting head"),
    Case("dangling settings", _dangling("generation_config.json"), Tier.NO_HEAD, "no drafting head"),
    Case("remembered as useless", _remembered(0.1), Tier.NO_HEAD, "on 10% of a known text, too little"),
)
WRONG = (
    Case(
        "unfit head",
        _with({"mtp.safetensors": _NARROW_HEAD}),
        Tier.NO_HEAD,
        "(norm.weight has the shape [4, 8]",
    ),
    Case("other size", _with_head_folder(hidden_size=8), Tier.NO_HEAD, "model with hidden_size 8"),
    Case("other weights", _pair_with_other_weights, Tier.NO_HEAD, "installed for other weights"),
    Case(
        "later head",
        _weights({"mtp.fc.weight": _FUSED}, model_type="mimo"),
        Tier.LATER,
        "heads of MiMo models come in a later version",
    ),
    Case(
        "later layer",
        _weights({"model.layers.1.eh_proj.weight": _FUSED}, model_type="step3p5"),
        Tier.LATER,
        "heads of Step-3.5 models come in a later version",
    ),
    Case("later, no head", _with({}, model_type="gemma4_text"), Tier.NO_HEAD, "no drafting head"),
    Case("no way back", _with({}, model_type="nemotron_h", **_MAMBA), Tier.NO_HEAD, "Nemotron-H"),
    Case("no state", _with({}, model_type="nemotron_h"), Tier.REFUSED, "does not say mamba_num_heads"),
    Case("unknown", _with({}, model_type="rwkv9"), Tier.UNSUPPORTED, '"rwkv9"'),
    Case("no kind", _with({}, model_type=7), Tier.REFUSED, "which architecture"),
    Case(
        "only a head of a later version",
        lambda folder: _write(folder, model_type="gemma4_assistant"),
        Tier.LATER,
        "Drafting heads of Gemma 4 models come in a later version",
    ),
    Case("only a head", _head_folder, Tier.UNSUPPORTED, "no model of its own"),
    Case("no tokenizer", _without_tokenizer, Tier.REFUSED, "no tokenizer.json"),
    Case(
        "missing file",
        _json(checkpoint.WEIGHT_INDEX, '{"weight_map": {"x": "y"}}'),
        Tier.REFUSED,
        "y is missing",
    ),
    Case("cut head", _with({"mtp.safetensors": b"short"}), Tier.REFUSED, "mtp.safetensors is cut off"),
    Case("cut weights", _with({"model.safetensors": b"\x10"}), Tier.REFUSED, "is cut off"),
    Case("no object", _json("config.json", "[]"), Tier.REFUSED, "holds a list"),
    Case(
        "with a BOM",
        _json("config.json", b"\xef\xbb\xbf{}"),
        Tier.REFUSED,
        "save it as UTF-8 without that mark",
    ),
    Case("end in words", _with({}, eos_token_id="abc"), Tier.REFUSED, "eos_token_id is 'abc', but it must be"),
    Case("dangling weights", _dangling("model.safetensors"), Tier.REFUSED, "model.safetensors is missing"),
    Case("dangling tokenizer", _dangling("tokenizer.json"), Tier.REFUSED, "no tokenizer.json"),
    Case("in UTF-16", _json("config.json", "{}".encode("utf-16")), Tier.REFUSED, "not valid JSON"),
    Case("large ids", _tokenizer(added_tokens=[{"id": 99, "content": "x"}]), Tier.REFUSED, "ids up to 99"),
)
INCOMPLETE = (
    Case("no norm", _weights(drop="model.norm.weight"), Tier.REFUSED, "model.norm.weight is missing."),
    Case("stray", _weights({"x.weight": _FUSED}), Tier.REFUSED, "config.json: x.weight is unknown."),
    Case("narrow", _weights({"model.norm.weight": _FUSED}), Tier.REFUSED, "has the shape [4, 8] instead of [4]"),
)
"""Only mlx-lm's classes know that."""

HOSTILE = (
    Case("code", _code("modeling.py"), Tier.REFUSED, "holds modeling.py"),
    Case("hidden code", _code("sub/evil.PY"), Tier.REFUSED, "holds evil.PY"),
    Case("pickle", _pickle, Tier.REFUSED, "holds pytorch_model.bin"),
    Case("auto_map", _with({}, auto_map={"AutoConfig": "evil.C"}), Tier.REFUSED, "run code"),
    Case("model_file", _with({}, model_file="../evil.py"), Tier.REFUSED, "(model_file)"),
    Case("own trust", _with({}, trust_remote_code=True), Tier.REFUSED, "(trust_remote_code)"),
    Case("tokenizer", _json("tokenizer_config.json", '{"auto_map": {}}'), Tier.REFUSED, "(auto_map)"),
    Case("head config", _json("head/config.json", _TEXT_CONFIG), Tier.REFUSED, "(auto_map)"),
    Case("module path", _with({}, **_UNKNOWN_NAME), Tier.UNSUPPORTED, "cannot run"),
    Case("link", _link, Tier.REFUSED, "a link to a place outside"),
    Case("pipe", _pipe, Tier.REFUSED, "not a plain file"),
    Case("mtp_file", _with({}, mlx_lm_extra_tensors={"mtp_file": "../x.safetensors"}), Tier.REFUSED, "mtp_file"),
    Case("overflow", _header(_tensor(_OVERFLOWING, 0, 0)), Tier.REFUSED, "another number of bytes"),
    Case("gap", _header(_tensor([1], 4, 8), 8), Tier.REFUSED, "a gap"),
    Case("large header", _large_header, Tier.REFUSED, "has a header of"),
    Case("deep", _json("config.json", _DEEP), Tier.REFUSED, "not valid JSON"),
    Case("key twice", _json("config.json", '{"a": 1, "a": 2}'), Tier.REFUSED, "not valid JSON"),
    Case("long number", _json("config.json", '{"a": ' + "9" * 5000 + "}"), Tier.REFUSED, "not valid JSON"),
    Case("million layers", _with({}, num_hidden_layers=10**6), Tier.REFUSED, "num_hidden_layers is 1000000"),
    Case("odd latent", _with({}, kv_lora_rank="x" * 99), Tier.REFUSED, "kv_lora_rank"),
)
