"""Everything can be reached without a mouse and without eyes: names, roles, the way of the Tab key, the focus ring."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QAbstractButton, QApplication, QInputDialog, QWidget

from app.widgets.dialogs import AboutBox, LinkSheet, ShortcutSheet
from tests.support import models_window, speed_window
from tests.support.fake_script import Script

Role = QAccessible.Role
# What a screen reader can say nothing useful of.
MEANINGLESS = (Role.NoRole, Role.Client, Role.Pane, Role.Window, Role.Grouping)


def empty(driver):
    return driver.window


def answered(driver):
    driver.ask("Why?")
    driver.until_idle()
    return driver.window


def failed(driver):
    return answered(driver)


def inspected(driver):
    driver.window.menus.inspector.trigger()
    driver.window.inspector.dials["temperature"].field.setValue(0.1)
    driver.window.resize(1080, 1000)
    return driver.window


def settings(page):
    def open_page(driver):
        driver.window.menus.settings.trigger()
        window = driver.program._settings_window
        window.open_page(getattr(window, page))
        return window

    return open_page


def models(state):
    def open_state(driver):
        made = state(driver.program.theme)
        window = made if made.parentWidget() is None else made.parentWidget()
        driver.qtbot.addWidget(window)
        driver.until(lambda: not window._refreshes._timer.isActive())  # or rows go while they are looked at
        return made

    return open_state


def speed(state):
    def open_state(driver):
        window = speed_window.STATES[state](driver.program.theme).window
        driver.qtbot.addWidget(window)
        return window

    return open_state


def speed_in_the_program(driver):
    answered(driver)
    driver.window.menus.speed.trigger()
    return driver.program.speed.window()


def shortcuts(driver):
    driver.window.menus.shortcuts.trigger()
    return driver.window.findChild(ShortcutSheet)


def about(driver):
    driver.window.menus.about.trigger()
    return driver.window.findChild(AboutBox)


def preset_name(driver):
    driver.window.inspector.presets.save_as.trigger()
    return driver.window.findChild(QInputDialog)


def link(driver):
    sheet = LinkSheet(QUrl("https://example.org"), driver.window)
    sheet.open()
    return sheet


def worked_on(driver):
    """Return the window with what opens in it: the thoughts, the field to find with, a message being edited."""
    answered(driver)
    driver.window.menus.edit.find.trigger()
    driver.answer.thoughts.head.click()
    driver.window.menus.edit_last.trigger()
    return driver.window


def searched(driver):
    answered(driver)
    driver.window.sidebar.focus_search()
    driver.window.sidebar.search.setText("Why?")
    driver.until(driver.window.sidebar.found.isVisible)
    return driver.window


MODELS = ("offered", "paused", "found", "search-failed", "will-not-fit", "installed")
SCENES = {
    "empty": empty,
    "worked on": worked_on,
    "searched": searched,
    "answered": answered,
    "failed": failed,
    "inspector": inspected,
    **{f"settings, {page}": settings(page) for page in ("general", "chats", "models", "privacy")},
    **{f"models, {name}": models(models_window.STATES[name]) for name in MODELS},
    "models, token": models(models_window.token),
    **{f"speed, {name}": speed(name) for name in ("no-data", "two-lengths", "slower", "running", "failed", "exact")},
    "speed, now": speed_in_the_program,
    "shortcuts": shortcuts,
    "about": about,
    "preset name": preset_name,
    "link": link,
}


@pytest.fixture(params=SCENES)
def scene(request, start):
    driver = start(Script(answer_error="It broke." if request.param == "failed" else "", thinking="The Moon."))
    window = SCENES[request.param](driver)
    driver.until(window.isVisible)
    window.activateWindow()
    driver.until(lambda: QApplication.activeWindow() is window)
    QApplication.processEvents()
    yield window
    if window is not driver.window:
        window.close()


def focusable(window):
    return [
        widget
        for widget in window.findChildren(QWidget)
        if widget.isVisibleTo(window)
        and widget.window() is window
        and widget.isEnabled()
        and widget.focusPolicy() & Qt.FocusPolicy.TabFocus
        and widget.focusProxy() is None
        and widget.objectName() != "qt_spinbox_lineedit"  # its spin box has the focus
    ]


def described(widget):
    interface = QAccessible.queryAccessibleInterface(widget)
    return interface.text(QAccessible.Text.Name), interface.role()


def test_everything_has_a_name_a_role_its_turn_and_a_ring(scene):
    found = focusable(scene)
    assert found
    for widget in found:
        check_name_and_role(widget)
    check_told_apart(found)
    check_tab(scene, found)
    for widget in found:
        check_ring(scene, widget)


def check_name_and_role(widget):
    name, role = described(widget)
    assert name.strip(), widget
    assert role not in MEANINGLESS, (widget, role)


def check_told_apart(found):
    """Check that no two buttons side by side have the same name."""
    places = {}
    for button in found:
        if described(button)[1] in (Role.Button, Role.ButtonMenu):
            places.setdefault((described(button)[0], button.parentWidget()), []).append(button)
    assert [same for same in places.values() if len(same) > 1] == []


def check_tab(window, found):
    """Check that the Tab key reaches everything and comes round; arrows move within an exclusive group."""
    wanted = {widget for widget in found if not (_group(widget) and not widget.isChecked())}
    seen = []
    for _ in range(4 * len(wanted) + 4):
        window.focusNextChild()
        if seen and QApplication.focusWidget() is seen[0]:
            break
        seen.append(QApplication.focusWidget())
    assert wanted <= set(seen), wanted - set(seen)


def _group(widget):
    return widget.group() if isinstance(widget, QAbstractButton) else None


def check_ring(window, widget):
    """Check that the focus can be seen when it came by the keyboard."""
    frame = widget.parentWidget() if widget.objectName() == "message" else widget  # the composer shows it
    widget.clearFocus()
    QApplication.processEvents()
    without = frame.grab().toImage()
    widget.setFocus(Qt.FocusReason.TabFocusReason)
    QApplication.processEvents()
    assert frame.grab().toImage() != without, widget
