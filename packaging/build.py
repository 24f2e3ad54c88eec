"""`python packaging/build.py`: builds MTPLX.app, and packs it. `make app` runs it."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from mtplx_bundle import release, wheels
from mtplx_bundle.assembly import Order, assemble
from mtplx_bundle.layout import LINUX, MACOS
from mtplx_bundle.runtime import UnfitPythonError
from mtplx_engine import paths
from mtplx_engine.models import starter

_PROJECT = Path(__file__).resolve().parent.parent
_BUILD = _PROJECT / "build"


def main() -> int:
    """Build the app and pack it; return the exit code."""
    parser = argparse.ArgumentParser(description="Build MTPLX.app.")
    parser.add_argument("--twin", action="store_true", help="lay it out for this Linux machine, to try it here")
    parser.add_argument("--python", type=Path, metavar="DIR", help="take the Python that is installed in DIR")
    parser.add_argument("--identity", metavar="NAME", help="sign for this Developer ID; needs a Mac")
    parser.add_argument("--notary-profile", metavar="NAME", help="notarise with this account; needs a Mac")
    options = parser.parse_args()
    if options.notary_profile and not options.identity:
        parser.error("Apple looks only at what is signed: --notary-profile needs --identity")
    if options.identity and sys.platform != "darwin":
        parser.error("only a Mac signs for a Developer ID; without --identity the app is signed for nobody")
    started = time.monotonic()
    order = Order(
        target=LINUX if options.twin else MACOS,
        folder=_BUILD / ("twin" if options.twin else "app"),
        cache=_BUILD / "cache",
        starter=starter.ensure(paths.data_dir(), lambda *_: None),
        python=Path(sys.base_prefix) if options.twin else options.python,
        identity=options.identity,
    )
    try:
        layout = assemble(order, _say)
    except UnfitPythonError as error:
        parser.exit(1, f"app: {error}\n")
    if not options.twin:
        if options.notary_profile:
            release.notarise(layout.root, options.notary_profile)
        name = f"MTPLX-{wheels.own_version(layout)}-{order.target.name}"
        packed = release.make_zip(layout, order.folder / f"{name}.zip")
        _say(f"{packed.relative_to(_PROJECT)}: {packed.stat().st_size / 1e6:.0f} MB")
        if sys.platform == "darwin":
            image = release.make_disk_image(layout, order.folder / f"{name}.dmg")
            if options.identity:
                release.sign_image(image, options.identity)
            if options.notary_profile:
                release.notarise(image, options.notary_profile)
    _say(f"{layout.root.relative_to(_PROJECT)} in {time.monotonic() - started:.0f} s")
    return 0


def _say(text: str) -> None:
    sys.stdout.write(f"app: {text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
