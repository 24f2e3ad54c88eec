from __future__ import annotations

import contextlib
import hashlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mtplx_bundle import code_signature, macho
from mtplx_bundle.code_signature import INFO_SLOT, SEAL_SLOT, BadSignatureError
from tests.support.tiny_macho import Tiny

SIGNED = Tiny(slots=((INFO_SLOT, b"plist"), (SEAL_SLOT, b"seal"))).bytes()
START = macho.images(SIGNED)[0].signature[0]


def test_what_was_signed_is_read():
    found = code_signature.verify(macho.images(SIGNED)[0])
    assert found.identifier == "tiny"
    assert found.adhoc
    assert not found.runtime
    assert found.slots[INFO_SLOT] == hashlib.sha256(b"plist").digest()
    assert found.slots[SEAL_SLOT] == hashlib.sha256(b"seal").digest()


@given(st.integers(400, START - 1))  # behind the load commands, which say where the signature is
def test_no_byte_can_be_changed(at):
    data = bytearray(SIGNED)
    data[at] ^= 0x40
    with pytest.raises(BadSignatureError, match=f"from {at // 4096 * 4096} on"):
        code_signature.verify(macho.images(bytes(data))[0])


@given(st.integers(0, 300), st.integers(0, 255))
@example(at=0, byte=0)
def test_a_signature_that_is_off_is_refused_or_read_but_never_crashes(at, byte):
    data = bytearray(SIGNED)
    data[START + at] = byte
    with contextlib.suppress(BadSignatureError):
        code_signature.verify(macho.images(bytes(data))[0])


def test_code_without_a_signature_is_not_signed():
    with pytest.raises(BadSignatureError, match="not signed"):
        code_signature.verify(macho.images(Tiny(signed=False).bytes())[0])
