"""The Qt style sheet, made from a palette; what it cannot express is painted by the widgets."""

from __future__ import annotations

import dataclasses
from string import Template
from typing import TYPE_CHECKING

from app.palette import Palette, over, tint

if TYPE_CHECKING:
    from pathlib import Path

    from PySide6.QtGui import QColor
    from PySide6.QtWidgets import QWidget

    from app.palette import IconSet


_TEMPLATE = Template("""
QWidget#chatPane, QWidget#transcriptPage, QStackedWidget#pages { background: $window; }
QScrollArea, QScrollArea > QWidget > QWidget { background: transparent; border: none; }
QWidget#sidebar, QWidget#inspector, QWidget#settingsTabs { background: $sidebar; }
QWidget#settingsWindow, QWidget#modelsWindow, QWidget#speedWindow { background: $window; }
QWidget#pageTabs { background: $sidebar; border-bottom: 1px solid $border; }
QWidget#downloadStrip { background: $sidebar; border-top: 1px solid $border; }
QFrame#modelCard { border: none; border-bottom: 1px solid $border; }
QWidget#downloadStrip QFrame#modelCard { border: none; }
QWidget#settingsTabs { border-bottom: 1px solid $border; }
QListView#chats { background: transparent; border: 1px solid transparent; border-radius: 8px; outline: none; }
QListView#chats:focus { border-color: $focus_border; }

QLabel { color: $text; background: transparent; }
QLabel[tone="secondary"] { color: $secondary; }
QLabel[tone="tertiary"] { color: $tertiary; }
QLabel[tone="faster"] { color: $faster; }
QLabel[tone="slower"] { color: $slower; }
QLabel[tone="warning"] { color: $warning; }
QLabel[tone="bad"] { color: $slower; }

QFrame#composer { background: $raised; border: 1px solid $border; border-radius: 12px; }
QFrame#composer[focused="true"] { border-color: $focus_border; }
QPlainTextEdit#message { background: transparent; border: none; color: $text;
    placeholder-text-color: $tertiary;
    selection-background-color: $accepted; selection-color: $text; }
QFrame#card { background: $raised; border: 1px solid $border; border-radius: 12px; }
QFrame#toast { background: $toast; border-radius: 8px; }
QFrame#toast QLabel { color: $toast_text; }
QFrame#toast QPushButton { color: $toast_action; background: transparent; border: 1px solid transparent;
    border-radius: 6px; padding: 3px 8px; }
QFrame#toast QPushButton:hover { background: $toast_hover; }
QFrame#toast QPushButton:focus { border-color: $toast_action; }

QLineEdit, QAbstractSpinBox, QPlainTextEdit#field { color: $text; background: $raised;
    border: 1px solid $border; border-radius: 8px; padding: 2px 6px; font-size: 13px;
    placeholder-text-color: $tertiary; selection-background-color: $accepted; selection-color: $text; }
QLineEdit:focus, QAbstractSpinBox:focus, QPlainTextEdit#field:focus { border-color: $accent; }
QLineEdit:disabled, QAbstractSpinBox:disabled { color: $tertiary; }

QPushButton { color: $text; background: $raised; border: 1px solid $border; border-radius: 8px; font-size: 13px;
    padding: 5px 12px; min-height: 18px; outline: none; }
QPushButton:hover { background: $hover_on_raised; }
QPushButton:pressed { background: $selected_on_raised; }
QPushButton:focus { border-color: $accent; }
QPushButton:disabled { color: $tertiary; }
QPushButton:default, QPushButton[primary="true"] { color: $on_accent; background: $accent;
    border-color: $accent; }
QPushButton:default:hover, QPushButton[primary="true"]:hover { background: $accent_hover; }
QPushButton:default:focus, QPushButton[primary="true"]:focus { border-color: $text; }
QPushButton[primary="true"]:disabled { color: $tertiary; background: $idle; border-color: $border; }

QCheckBox { color: $text; border: 1px solid transparent; border-radius: 6px; padding: 2px 4px 2px 2px;
    font-size: 13px; }
QCheckBox::indicator { width: 14px; height: 14px; border: 1px solid $tertiary; border-radius: 4px;
    background: $raised; }
QCheckBox::indicator:checked { background: $accent; border-color: $accent;
    image: url($images/check-on-accent.svg); }
QCheckBox:focus { border-color: $accent; }

QPushButton#quiet { background: transparent; border: 1px solid transparent; text-align: left;
    padding: 5px 8px; }
QPushButton#quiet:hover { background: $hover; }
QPushButton#quiet:pressed { background: $selected; }
QPushButton#quiet:focus { border-color: $accent; }
QPushButton#quiet::menu-indicator { image: none; width: 0; }

QPushButton#thinking { background: transparent; border: 1px solid transparent; color: $secondary;
    font-size: 12px; text-align: left; padding: 2px 8px 2px 2px; }
QPushButton#thinking:hover { color: $text; background: $hover; }
QPushButton#thinking:focus { border-color: $accent; }

QFrame#findBar { background: $raised; border: 1px solid $border; border-radius: 10px; }
QLineEdit#find { background: transparent; border: none; color: $text; font-size: 13px; padding: 2px 4px;
    placeholder-text-color: $tertiary;
    selection-background-color: $accepted; selection-color: $text; }

QPushButton#sample { background: transparent; border: 1px solid $border; border-radius: 12px;
    padding: 11px 16px; text-align: left; }
QPushButton#sample:hover { background: $hover; }
QPushButton#sample:pressed { background: $selected; }
QPushButton#sample:focus { border-color: $accent; }

QPushButton#latest { border-radius: 15px; padding: 5px 14px 5px 10px; min-height: 18px; font-size: 12px; }

QToolButton { background: transparent; border: 1px solid transparent; border-radius: 8px; padding: 0; }
QToolButton:hover { background: $hover; }
QToolButton:pressed { background: $selected; }
QToolButton:focus { border-color: $accent; }
QToolButton::menu-indicator { image: none; width: 0; }
QToolButton#settingsTab { color: $secondary; padding: 4px 0; }
QToolButton#pageTab { color: $secondary; padding: 0 12px; }
QToolButton#pageTab:disabled { color: $handle_hover; }
QToolButton#settingsTab:checked, QToolButton#pageTab:checked { color: $text; background: $selected; }
QToolButton#quietIcon { padding-right: 11px; border-left: none; }
QToolButton#quietIcon[side="right"] { padding-right: 0; padding-left: 11px; }
QToolButton#clip { padding-right: 12px; border-left: none; }
QFrame#chip { background: $bubble; border: none; border-radius: 8px; }
QFrame#popover { background: $raised; border: 1px solid $border; }
QToolButton#quietIcon:hover, QToolButton#quietIcon:pressed { background: transparent; }
QToolButton#send { background: $accent; border-radius: 16px; }
QToolButton#send:hover { background: $accent_hover; }
QToolButton#send:disabled { background: $idle; }
QToolButton#send:focus { border: 2px solid $text; }
QToolButton#send[stopping="true"] { background: $text; }
QToolButton#send[stopping="true"]:hover { background: $secondary; }

QTableView#history { background: transparent; border: none; outline: none;
    selection-background-color: $selected; selection-color: $text; }
QTableView#history::item { border: none; border-bottom: 1px solid $border; padding: 0 5px; }
QTableView#history QHeaderView { background: transparent; border: none; }
QTableView#history QHeaderView::section { background: transparent; color: $secondary; border: none;
    border-bottom: 1px solid $border; padding: 0 8px; font-size: 12px; }

QSlider { min-height: 22px; }
QSlider::groove:horizontal { height: 4px; border-radius: 2px; background: $handle; }
QSlider::sub-page:horizontal { border-radius: 2px; background: $accent; }
QSlider::handle:horizontal { width: 14px; margin: -6px 0; border: 1px solid $tertiary; border-radius: 8px;
    background: $raised; }
QSlider::handle:horizontal:focus { border: 2px solid $accent; }

QScrollBar:vertical { background: transparent; width: 12px; margin: 0; }
QScrollBar::handle:vertical { background: $handle; border-radius: 3px; min-height: 32px;
    margin: 2px 3px 2px 3px; }
QScrollBar::handle:vertical:hover { background: $handle_hover; }
QScrollBar::handle:vertical:disabled { background: transparent; }
QScrollBar:horizontal { background: transparent; height: 12px; margin: 0; border: none; }
QScrollBar::handle:horizontal { background: $handle; border-radius: 3px; min-width: 32px;
    margin: 3px 2px 3px 2px; }
QScrollBar::handle:horizontal:hover, QScrollBar::handle:horizontal:focus { background: $handle_hover; }
QScrollBar::add-line, QScrollBar::sub-line { height: 0; width: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }

QMenuBar { background: $sidebar; color: $text; border: none; padding: 2px 4px; }
QMenuBar::item { background: transparent; padding: 4px 8px; border-radius: 6px; }
QMenuBar::item:selected { background: $selected; }
QMenu { background: $raised; color: $text; border: 1px solid $border; padding: 4px; }
QMenu::item { padding: 5px 20px 5px 26px; border-radius: 5px; }
QMenu::item:selected { background: $accent; color: $on_accent; }
QMenu::item:disabled { color: $tertiary; background: transparent; }
QMenu::indicator { width: 14px; height: 14px; left: 7px; }
QMenu::indicator:checked { image: url($images/check.svg); }
QMenu::indicator:checked:selected { image: url($images/check-on-accent.svg); }
QMenu::separator { height: 1px; background: $border; margin: 4px 8px; }
QToolTip { background: $raised; color: $text; border: 1px solid $border; padding: 6px 8px; }
""")


def stylesheet(palette: Palette, images: Path) -> str:
    """Return the style sheet in the colours of `palette`, with the images that `write_images` wrote to a folder."""
    return _TEMPLATE.substitute(
        dataclasses.asdict(palette),
        images=images.as_posix(),
        accepted=_rgba(palette.accepted),
        hover=_rgba(palette.hover),
        selected=_rgba(palette.selected),
        hover_on_raised=over(palette.hover, palette.raised),
        selected_on_raised=over(palette.selected, palette.raised),
        accent_hover=over(palette.hover, palette.accent),
        focus_border=over(tint(palette.accent, 0.55), palette.border),
        idle=over(palette.selected, palette.raised),
        handle=_rgba(tint(palette.text, 0.18)),
        handle_hover=_rgba(tint(palette.text, 0.32)),
        toast_hover=_rgba(tint(palette.toast_text, 0.1)),
    )


def write_images(palette: Palette, icons: IconSet, folder: Path) -> None:
    icons.write("check", palette.text, folder / "check.svg")
    icons.write("check", palette.on_accent, folder / "check-on-accent.svg")


def restyle(widget: QWidget) -> None:
    """Apply the style sheet again to a widget whose dynamic properties have changed."""
    widget.style().unpolish(widget)
    widget.style().polish(widget)


def _rgba(color: QColor) -> str:
    return f"rgba({color.red()}, {color.green()}, {color.blue()}, {color.alphaF():.3f})"
