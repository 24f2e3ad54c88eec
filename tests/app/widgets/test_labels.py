"""A label gives way before its row does, and never forgets what it says."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel

from app.widgets.labels import ElidedLabel


def test_it_shows_what_there_is_room_for(qtbot):
    label = ElidedLabel()
    qtbot.addWidget(label)
    label.setText("41 tok/s · 2.6 per step · 80 % · 212 tokens")
    label.resize(label.sizeHint())
    label.show()
    assert QLabel.text(label) == label.text()
    label.resize(label.width() // 2, label.height())
    shown = QLabel.text(label)
    assert shown.endswith("…")
    assert shown.startswith("41 tok/s")
    assert label.text() == label.accessibleDescription() == "41 tok/s · 2.6 per step · 80 % · 212 tokens"
    assert label.minimumSizeHint().width() == 0
