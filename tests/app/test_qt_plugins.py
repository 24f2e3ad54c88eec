"""The program starts from a folder with any name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import PySide6
import pytest
import shiboken6

START = """
import sys
sys.path.insert(0, sys.argv[1])
from PySide6.QtWidgets import QApplication
from app import qt_plugins
qt_plugins.find()
print(QApplication(["test", "-platform", "offscreen"]).platformName())
"""


@pytest.mark.parametrize("name", ["a, b; c", 'an "app"', "back\\slash"])
def test_qt_starts_from_a_folder_whose_name_its_settings_cannot_hold(tmp_path, name):
    folder = tmp_path / name
    (folder / "PySide6").mkdir(parents=True)
    for path in Path(PySide6.__file__).parent.iterdir():
        (folder / "PySide6" / path.name).symlink_to(path)
    (folder / "shiboken6").symlink_to(Path(shiboken6.__file__).parent)
    ended = subprocess.run(
        [sys.executable, "-c", START, str(folder)], capture_output=True, text=True, check=False
    )
    assert (ended.stdout, ended.returncode) == ("offscreen\n", 0), ended.stderr
