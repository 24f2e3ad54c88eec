from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtplx_bundle import code_signature, macho
from mtplx_bundle.macho import ARM64, X86_64, Dependency, NotMachOError
from tests.support import tiny_macho
from tests.support.tiny_macho import Tiny

NAMES = st.text("abc/@._", min_size=1, max_size=30)


@given(st.lists(NAMES, max_size=4), st.lists(NAMES, max_size=2), st.lists(NAMES, max_size=3), st.booleans())
def test_what_a_file_says_is_read(needs, weak, rpaths, signed):
    tiny = Tiny(needs=tuple(needs), weak=tuple(weak), rpaths=tuple(rpaths), signed=signed, minimum=(13, 3))
    (image,) = macho.images(tiny.bytes())
    assert image.dependencies == (
        *(Dependency(name, weak=False) for name in needs),
        *(Dependency(name, weak=True) for name in weak),
    )
    assert image.rpaths == tuple(rpaths)
    assert image.minimum == (13, 3)
    assert (image.signature is not None) is signed


def test_thinning_keeps_the_apple_processor_and_its_signature():
    tiny = Tiny().bytes()
    other = Tiny(architecture=X86_64).bytes()
    both = tiny_macho.fat(other, tiny, architectures=(X86_64, ARM64))
    assert macho.thinned(both) == tiny
    assert macho.thinned(tiny) == tiny
    code_signature.verify(macho.images(macho.thinned(both))[0])


def test_without_an_image_for_it_thinning_is_refused():
    with pytest.raises(NotMachOError):
        macho.thinned(Tiny(architecture=X86_64).bytes())


@pytest.mark.parametrize(
    ("data", "is_one"),
    [
        (Tiny().bytes(), True),
        (tiny_macho.fat(Tiny().bytes(), architectures=(ARM64,)), True),
        (bytes.fromhex("cafebabe00000034"), False),  # a Java class, of version 52
        (b"#!/bin/sh", False),
        (b"", False),
    ],
)
def test_a_macho_file_is_known_by_its_first_bytes(tmp_path, data, is_one):
    (tmp_path / "file").write_bytes(data)
    assert macho.is_macho(tmp_path / "file") is is_one


@given(st.integers(0, 200), st.integers(0, 255))
def test_bytes_that_are_off_are_refused_or_read_but_never_crash(at, byte):
    data = bytearray(tiny_macho.fat(Tiny(rpaths=("@loader_path",)).bytes(), architectures=(ARM64,)))
    data[at if at < 28 else 4096 + at] = byte
    with contextlib.suppress(NotMachOError):
        macho.images(bytes(data))


def test_an_sdk_is_named_without_touching_anything_else():
    tiny = Tiny(minimum=(14, 0), sdk=(27, 1), signed=False).bytes()
    (image,) = macho.images(tiny)
    assert (image.minimum, image.sdk) == ((14, 0), (27, 1))
    assert macho.with_sdk(tiny, (15, 0)) == Tiny(minimum=(14, 0), sdk=(15, 0), signed=False).bytes()
    with pytest.raises(NotMachOError):
        macho.with_sdk(Tiny(minimum=None).bytes(), (15, 0))
