from __future__ import annotations

import subprocess
import zipfile

from mtplx_bundle import archive
from tests.support import tiny_app


def test_what_may_be_run_and_links_come_out_of_the_zip_as_they_went_in(tmp_path):
    layout = tiny_app.write(tmp_path / "MTPLX.app")
    (layout.resources / "link").symlink_to("MTPLX.icns")
    packed = archive.zipped(layout, tmp_path / "MTPLX.zip")
    with zipfile.ZipFile(packed) as zipped:
        modes = {item.filename: item.external_attr >> 16 for item in zipped.infolist()}
    assert modes["MTPLX.app/Contents/MacOS/MTPLX"] & 0o777 == 0o755
    assert modes["MTPLX.app/Contents/Resources/link"] & 0o170000 == 0o120000
    files = {path for path in layout.root.rglob("*") if not path.is_dir()}
    assert len(modes) == len(files)


def test_every_file_is_whole_in_the_zip(tmp_path):
    layout = tiny_app.write(tmp_path / "MTPLX.app")
    packed = archive.zipped(layout, tmp_path / "MTPLX.zip")
    with zipfile.ZipFile(packed) as zipped:
        assert zipped.testzip() is None
        zipped.extractall(tmp_path / "out")
    command = ["diff", "-r", str(layout.root), str(tmp_path / "out" / "MTPLX.app")]
    assert subprocess.run(command, check=False).returncode == 0
