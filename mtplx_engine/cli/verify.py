"""`mtplx verify`: whether an installed model is still, byte for byte, what was downloaded."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

from mtplx_engine import paths
from mtplx_engine.cli import options
from mtplx_engine.cli.output import Console
from mtplx_engine.errors import EngineError, ErrorKind
from mtplx_engine.hub import plan
from mtplx_engine.models import library, manifest
from mtplx_engine.util.formatting import ProgressLine

if TYPE_CHECKING:
    import argparse

    from mtplx_engine.models.manifest import Manifest


SUMMARY = "check an installed model's files against their checksums"
EXAMPLES = """\
examples:
  mtplx verify mlx-community--Qwen3.5-4B-MLX-4bit
exit code: 0 when every byte is as it was downloaded, 1 otherwise
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    parser.add_argument("model", metavar="NAME", help="an installed model")
    options.add_data_dir(parser)
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Read all files of a model; returns the exit code.

    Raises:
        EngineError: NOT_FOUND, when there is no such model; UNSUPPORTED, when nothing is known of its files.
    """
    folder = library.resolve_model(arguments.model, paths.data_dir(arguments.data_dir))
    noted = manifest.read_manifest(folder)
    if noted is None or not noted.files:
        raise EngineError(
            ErrorKind.UNSUPPORTED,
            f"{folder.name or folder} was not installed by MTPLX, so its checksums are not known; see mtplx inspect.",
        )
    with contextlib.closing(ProgressLine(sys.stderr)) as line:
        wrong = manifest.differing_files(folder, noted, line)
    console = Console(sys.stdout)
    if arguments.json:
        body = {"name": folder.name, "files": len(noted.files), "wrong": list(wrong)}
        console.json(body)
    elif wrong:
        console.line(f"{len(wrong)} of {len(noted.files)} files are not as they were: {', '.join(wrong)}")
        console.line(_repair(noted))
    else:
        console.line(f"All {len(noted.files)} files of {folder.name} are as they were downloaded.")
    return 1 if wrong else 0


def _repair(noted: Manifest) -> str:
    """Return what brings the right files back."""
    source = plan.read_origin(noted.source)
    if source is None:
        return "Remove the model (mtplx remove) and set it up again."
    return f"Get only these again with: mtplx pull {source.repo}"
