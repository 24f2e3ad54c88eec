"""Text is read in whatever encoding it comes; everything else is refused for a reason, and nothing gets out of hand."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from app.services import file_text
from app.services.file_text import Refusal, RefusedError, read


def pdf(path, *texts, password=""):
    """Write a PDF with a page for each text."""
    writer = PdfWriter()
    font = DictionaryObject(
        {NameObject("/Type"): NameObject("/Font"), NameObject("/Subtype"): NameObject("/Type1"),
         NameObject("/BaseFont"): NameObject("/Helvetica")}
    )  # fmt: skip
    for text in texts:
        page = writer.add_blank_page(300, 300)
        fonts = DictionaryObject({NameObject("/F1"): writer._add_object(font)})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        content = DecodedStreamObject()
        content.set_data(f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode())
        page[NameObject("/Contents")] = writer._add_object(content)
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    writer.write(path)
    return path


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"a,b\n1,2\n", "a,b\n1,2\n"),
        ("Grüße 日本 👩‍🚀".encode(), "Grüße 日本 👩‍🚀"),
        ("Grüße".encode("utf-8-sig"), "Grüße"),
        ("Grüße".encode("utf-16"), "Grüße"),
        ("Grüße".encode("cp1252"), "Grüße"),
        (b"\x1b[31mred\x1b[0m\n", "\x1b[31mred\x1b[0m\n"),
    ],
)
def test_text_of_any_encoding(tmp_path, data, text):
    (tmp_path / "a.txt").write_bytes(data)
    assert read(tmp_path / "a.txt") == text


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", Refusal.EMPTY),
        (b" \n", Refusal.EMPTY),
        (b"\x89PNG\r\n\x1a\n", Refusal.IMAGE),
        (b"\xff\xd8\xff\xe0", Refusal.IMAGE),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", Refusal.IMAGE),
        (b"\x7fELF\x02\x01\x01\x00", Refusal.BINARY),
        (b"PK\x03\x04\x14\x00\x06\x00", Refusal.BINARY),
        (bytes(range(1, 256)) * 9, Refusal.BINARY),
        (b"\xff\xfea", Refusal.BINARY),
        (b"%PDF-1.7\nnothing", Refusal.DAMAGED),
    ],
)
def test_what_is_no_text_is_refused(tmp_path, data, why):
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(RefusedError) as caught:
        read(tmp_path / "a")
    assert caught.value.why is why


def test_a_pdf_gives_its_pages(tmp_path):
    assert read(pdf(tmp_path / "a.pdf", "Tides", "Moon")) == "Tides\n\nMoon"


def test_pdfs_without_text_or_with_a_password(tmp_path):
    for path, why in (
        (pdf(tmp_path / "scan.pdf", ""), Refusal.SCANNED),
        (pdf(tmp_path / "locked.pdf", "Tides", password="secret"), Refusal.LOCKED),
    ):
        with pytest.raises(RefusedError) as caught:
            read(path)
        assert caught.value.why is why


def test_folders_missing_files_and_too_much(tmp_path, monkeypatch):
    monkeypatch.setattr(file_text, "LARGEST_FILE", 100)
    monkeypatch.setattr(file_text, "LONGEST_TEXT", 50)
    (tmp_path / "file").write_text("a" * 101)
    (tmp_path / "text").write_text("a" * 60)
    for name, why in (
        (".", Refusal.MISSING),
        ("none", Refusal.MISSING),
        ("file", Refusal.LARGE),
        ("text", Refusal.LARGE),
    ):
        with pytest.raises(RefusedError) as caught:
            read(tmp_path / name)
        assert caught.value.why is why


def test_it_answers_in_one_line_of_json(tmp_path):
    (tmp_path / "naïve 日本.txt").write_text("two\nlines", encoding="utf-8")
    command = [sys.executable, "-I", "-m", "app.services.file_text", str(tmp_path / "naïve 日本.txt")]
    output = subprocess.run(command, capture_output=True, check=True).stdout
    assert json.loads(output) == {"text": "two\nlines", "size": 9}


def test_it_needs_nothing_of_the_window():
    """A reader that imported Qt would take longer to start than to read."""
    code = "import sys, app.services.file_text; print([m for m in sys.modules if m.startswith(('PySide6', 'pypdf'))])"
    output = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, check=True).stdout
    assert output.strip() == b"[]"
