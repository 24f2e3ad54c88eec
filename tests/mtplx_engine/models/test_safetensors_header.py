"""The header reader accepts what the reference parser accepts, and nothing that does not add up."""

from __future__ import annotations

import contextlib
import json
import math
from typing import TYPE_CHECKING, Any

import pytest
import safetensors
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.models import safetensors_header
from mtplx_engine.models.safetensors_header import ITEM_BYTES, TensorSpec
from tests.support import model_folder

if TYPE_CHECKING:
    from pathlib import Path


shapes = st.lists(st.integers(0, 3), max_size=4).map(tuple)
tables = st.dictionaries(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8).filter(lambda name: name != "__metadata__"),
    st.tuples(st.sampled_from(sorted(ITEM_BYTES)), shapes),
    max_size=5,
)
one_file = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def read(folder: Path, data: bytes) -> dict[str, TensorSpec]:
    (folder / "x.safetensors").write_bytes(data)
    return safetensors_header.read(folder / "x.safetensors")


def reference(data: bytes) -> dict[str, tuple[str, tuple[int, ...]]] | None:
    """Return what the reference parser reads, None when it refuses."""
    try:
        return {name: (info["dtype"], tuple(info["shape"])) for name, info in safetensors.deserialize(data)}
    except safetensors.SafetensorError:
        return None


@one_file
@given(tables)
def test_a_sound_file_is_read_as_the_reference_reads_it(tmp_path: Path, table: dict[str, Any]) -> None:
    data = model_folder.safetensors(table)
    found = {name: (spec.dtype, spec.shape) for name, spec in read(tmp_path, data).items()}
    assert found == table == reference(data)


@settings(one_file, max_examples=300)
@given(tables, st.data())
def test_what_is_accepted_after_damage_the_reference_accepts_too(
    tmp_path: Path, table: dict[str, Any], draw: st.DataObject
) -> None:
    data = bytearray(model_folder.safetensors(table))
    for _ in range(draw.draw(st.integers(1, 3), label="changes")):
        at = draw.draw(st.integers(0, len(data) - 1), label="at")
        data[at : at + draw.draw(st.integers(0, 2), label="cut")] = draw.draw(st.binary(max_size=3), label="in")
    with contextlib.suppress(EngineError):
        found = {name: (spec.dtype, spec.shape) for name, spec in read(tmp_path, bytes(data)).items()}
        assert found == reference(bytes(data))


@settings(one_file, max_examples=300)
@given(
    st.dictionaries(
        st.sampled_from("abc"),
        st.fixed_dictionaries(
            {
                "dtype": st.sampled_from(["F32", "U8", "F4", 3, None]),
                "shape": st.lists(
                    st.sampled_from([0, 1, 2, 65_536, 2**31 - 1, 2**31, 2**40, 2**64, -1, True, 1.0]),
                    max_size=9,
                ),
                "data_offsets": st.lists(st.sampled_from([0, 1, 4, 8, 2**63, -4, False]), max_size=3),
            }
        ),
        min_size=1,
    )
)
def test_no_lie_about_sizes_passes(tmp_path: Path, header: dict[str, Any]) -> None:
    with contextlib.suppress(EngineError):
        found = read(tmp_path, model_folder.raw_safetensors(header, 8))
        assert sum(spec.size for spec in found.values()) == 8
        assert all(math.prod(spec.shape) <= 8 for spec in found.values())


@settings(one_file)
@given(st.binary(max_size=64))
def test_rubbish_is_refused_with_a_sentence(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(EngineError) as caught:
        read(tmp_path, data)
    assert caught.value.kind is ErrorKind.REFUSED


def tensor(shape: object, offsets: object, dtype: object = "F32") -> dict[str, object]:
    return {"t": {"dtype": dtype, "shape": shape, "data_offsets": offsets}}


@pytest.mark.parametrize(
    ("header", "data_bytes", "reason"),
    [
        (tensor([65536, 65536, 65536, 65536], [0, 0]), 0, "another number of bytes"),
        (tensor([65536, 65536, 65536, 16384], [0, 0]), 0, "another number of bytes"),
        (tensor([1 << 40], [0, 0]), 0, "impossible shape"),
        (tensor([(1 << 32) + 2, 2], [0, 16]), 16, "impossible shape"),
        (tensor([1] * 9, [0, 4]), 4, "impossible shape"),
        (tensor([1.0], [0, 4]), 4, "impossible shape"),
        (tensor([True], [0, 4]), 4, "impossible shape"),
        (tensor("1", [0, 4]), 4, "impossible shape"),
        (tensor([1], [4, 8]), 8, "gap or an overlap"),
        (tensor([1], [0, 4]), 8, "should have 4 bytes of data but has 8"),
        (tensor([1], [0, 4]), 0, "should have 4 bytes of data but has 0"),
        (tensor([1], [4, 0]), 4, "another number of bytes"),
        (tensor([1], [-4, 0]), 4, "no sound place"),
        (tensor([1], [0]), 4, "no sound place"),
        (tensor([1], [0, 4], "F33"), 4, "unknown type 'F33'"),
        (tensor([1], [0, 4], ["F32"]), 4, "unknown type"),
        ({**tensor([1], [0, 4]), "u": tensor([1], [0, 4])["t"]}, 4, "gap or an overlap"),
        ({"t": {"dtype": "F32"}}, 0, "unknown way"),
        ({"t": 1}, 0, "unknown way"),
        ([], 0, "holds a list"),
        ({"__metadata__": {"a": 1}}, 0, "metadata that are not text"),
        ({"__metadata__": []}, 0, "metadata that are not text"),
    ],
)
def test_a_lying_header_is_refused(tmp_path: Path, header: object, data_bytes: int, reason: str) -> None:
    with pytest.raises(EngineError, match=f"^x.safetensors .*{reason}"):
        read(tmp_path, model_folder.raw_safetensors(header, data_bytes))


@pytest.mark.parametrize("length", [9, 1 << 40, 1 << 63, (1 << 64) - 1])
def test_a_header_longer_than_the_file_is_refused(tmp_path: Path, length: int) -> None:
    with pytest.raises(EngineError, match="cut off"):
        read(tmp_path, length.to_bytes(8, "little") + b"{}      ")


def test_a_huge_header_is_refused_unread(tmp_path: Path) -> None:
    size = safetensors_header.MAX_HEADER_BYTES + 1
    with (tmp_path / "x.safetensors").open("wb") as file:
        file.write(size.to_bytes(8, "little"))
        file.truncate(size + 8)
    with pytest.raises(EngineError, match="has a header of 33554433 bytes, more than 33554432"):
        safetensors_header.read(tmp_path / "x.safetensors")


@pytest.mark.parametrize("spelled", [b'"dtype"', b'"\\u0064type"'])
def test_too_many_tensors_are_refused(tmp_path: Path, spelled: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safetensors_header, "MAX_TENSORS", 3)
    header = {str(n): {"dtype": "U8", "shape": [1], "data_offsets": [n, n + 1]} for n in range(4)}
    text = json.dumps(header).encode().replace(b'"dtype"', spelled)
    with pytest.raises(EngineError, match="more than 3 tensors"):
        read(tmp_path, len(text).to_bytes(8, "little") + text + bytes(4))


@pytest.mark.parametrize(
    "text",
    ['{"a":{"dty\\u0070e":"U8","shape":[],"data_offsets":[0,1]}}', '{"a":{}}', '{"a":[0,0,0]}', "[1,2]"],
)
def test_a_header_with_too_much_in_it_is_not_even_parsed(
    tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(safetensors_header, "MAX_TENSORS", 300)
    monkeypatch.setattr(safetensors_header.json_files, "parse_json", lambda *_: pytest.fail("parsed"))
    raw = ",".join([text] * 4000).encode()
    with pytest.raises(EngineError, match="more than 300 tensors"):
        read(tmp_path, len(raw).to_bytes(8, "little") + raw)


@pytest.mark.parametrize("metadata", [None, {}, {"format": "mlx"}])
def test_metadata_of_text_are_fine(tmp_path: Path, metadata: object) -> None:
    assert read(tmp_path, model_folder.raw_safetensors({"__metadata__": metadata}, 0)) == {}
