"""`mtplx doctor`: every self-test that this machine can run, as a report for a bug report."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from mtplx_engine import paths
from mtplx_engine.cli import options
from mtplx_engine.cli.output import Console
from mtplx_engine.doctor import report
from mtplx_engine.doctor.environment import failed

if TYPE_CHECKING:
    import argparse


SUMMARY = "test this machine, and print a report with nothing private in it"
EXAMPLES = """\
examples:
  mtplx doctor
  mtplx doctor --json > report.json
exit code: 0 when no check failed, 1 otherwise
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    parser.add_argument(
        "--bundle", action="store_true", help="only what has to be right where MTPLX is an app"
    )
    options.add_data_dir(parser)
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the report; returns the exit code."""
    data = paths.data_dir(arguments.data_dir)
    checks = report.examine_bundle(data) if arguments.bundle else report.examine(data)
    text = json.dumps(report.as_json(checks), indent=1) if arguments.json else report.render(checks)
    Console(sys.stdout).line(text)
    return 1 if failed(checks) else 0
