"""Pictures of every screen and state, light and dark, without a screen.

`make screenshots` writes them to build/screenshots; the README's are copied from there to docs/ by `--docs`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from unittest import mock

_ROOT = Path(__file__).parents[2]
_OUT = _ROOT / "build" / "screenshots"
# A screen as large as that of a laptop; the platform's own would squeeze menus and dialogs.
_SCREEN = {"name": "laptop", "width": 3456, "height": 2234, "logicalDpi": 96, "logicalBaseDpi": 96, "dpr": 1}
_SCALES = (2, 1)
# What the README shows, and what it is called there.
_README = {
    "window-light": "window-light",
    "window-dark": "window-dark",
    "tint-light": "tint-light",
    "inspector-real-dark": "inspector-dark",
    "dashboard-light": "dashboard-light",
}


def main() -> int:
    """Take the pictures; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, help="where the starter model is")
    parser.add_argument("--out", type=Path, default=_OUT, help="where the pictures go")
    parser.add_argument("--only", default="", metavar="NAME", help="one scene, or “readme”")
    parser.add_argument("--docs", action="store_true", help="copy the README's pictures to docs/")
    parser.add_argument("--scale", type=int, choices=_SCALES, default=_SCALES[0], help="of the screen")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    screen = options.out / "screen.json"
    screen.write_text(json.dumps({"screens": [_SCREEN]}))
    os.environ.update(QT_QPA_PLATFORM=f"offscreen:configfile={screen}", QT_SCALE_FACTOR=str(options.scale))

    from PySide6.QtWidgets import QApplication

    qt = QApplication([])
    qt.setApplicationName("MTPLX")
    _take_scenes(options.out, options.only)
    if options.only in ("", "readme"):
        from mtplx_engine import paths
        from scripts.screenshots import readme

        readme.take(paths.data_dir(options.data_dir), options.out)
        if options.docs:
            for source, name in _README.items():
                shutil.copyfile(options.out / f"{source}.png", _ROOT / "docs" / f"{name}.png")
    return 0


def _take_scenes(out: Path, only: str) -> None:
    from mtplx_engine.models import starter
    from scripts.screenshots.scenes import SCENES
    from scripts.screenshots.stage import Stage
    from tests.support.fake_host import fake_host_command

    for scene in SCENES:
        if only not in ("", scene.name):
            continue
        with (
            tempfile.TemporaryDirectory() as folder,
            mock.patch.object(starter, "is_installed", return_value=scene.installed),
        ):
            stage = Stage(Path(folder), fake_host_command(scene.script), scene.size)
            try:
                stage.take(scene.act(stage), out, scene.name)
            finally:
                stage.close()


if __name__ == "__main__":
    sys.exit(main())
