"""Whatever an address looks like, the sheet says whose it is."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QWidget

from app.widgets.dialogs import LinkSheet


@pytest.fixture
def shown(qtbot):
    window = QWidget()
    qtbot.addWidget(window)

    def show(address: str) -> LinkSheet:
        sheet = LinkSheet(QUrl(address), window)
        sheet.open()
        return sheet

    return show


def bold(sheet):
    """Return the part of the address in bold."""
    fragments = iter(sheet.address.document().firstBlock())
    found = [each.fragment() for each in fragments]
    return "".join(each.text() for each in found if each.charFormat().fontWeight() == QFont.Weight.Bold)


@pytest.mark.parametrize(
    ("address", "host", "name"),
    [
        ("https://example.org/tides?moon=full", "example.org", ""),
        ("https://paypal.com@evil.example/\u202e?x=%0d%0a<b>hi</b>", "evil.example", "paypal.com"),
        ("https://paypal.com:secret@evil.example:8080/", "evil.example", "paypal.com:secret"),
        ("https://paypal.com%2Flogin@evil.example/@paypal.com", "evil.example", "paypal.com%2Flogin"),
        ("https://evil.example/paypal.com@", "evil.example", ""),
        ("http://user@аррle.com/", "xn--" + "аррle".encode("punycode").decode() + ".com", "user"),
        ("https://[2001:db8::1]/", "2001:db8::1", ""),
    ],
)
def test_the_host_is_marked_and_a_name_before_it_is_none(shown, address, host, name):
    sheet = shown(address)
    assert sheet.owner.text() == f"It leads to {host}"
    assert bold(sheet) == host
    assert sheet.address.toPlainText() == QUrl(address).toString(QUrl.ComponentFormattingOption.FullyEncoded)
    assert (sheet.warning.text() if sheet.warning else "").startswith(f"“{name}” before" if name else "")
    assert bool(sheet.warning) == bool(name)
    assert {each.textFormat() for each in (sheet.owner, sheet.warning) if each} == {Qt.TextFormat.PlainText}


def test_a_letter_is_written_to_somebody(shown):
    sheet = shown("mailto:moon@example.org?subject=tides")
    assert sheet.owner.text() == "It leads to moon@example.org"
    assert bold(sheet) == ""


def test_the_end_of_a_long_host_is_seen(shown):
    sheet = shown("https://" + "paypal.com." * 20 + "evil.example/")
    assert sheet.owner.text().endswith(".evil.example")
    assert "…" in sheet.owner.text()


def test_a_very_long_address_can_be_read_to_its_end(shown):
    sheet = shown("https://example.org/" + "a" * 3000 + "END")
    field = sheet.address
    assert sheet.height() < 400
    assert field.horizontalScrollBar().maximum() == 0
    bar = field.verticalScrollBar()
    assert bar.maximum() > 0
    bar.setValue(bar.maximum())
    end = field.textCursor()
    end.movePosition(end.MoveOperation.End)
    assert field.viewport().rect().contains(field.cursorRect(end))
