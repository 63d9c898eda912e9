"""What run, trace and view share: `-o FILE`, `--format NAME`, `--json`, `--force`, and the one place that writes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from fxscope.model import Recording


def add_output_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where a recording goes and how it is written."""
    group = parser.add_argument_group("output")
    group.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        action="append",
        default=None,
        help="write FILE, its suffix gives the format: .fxscope .json .svg .dot .md .html .txt; repeatable",
    )
    group.add_argument("--format", metavar="NAME", help="format, whatever the suffix; without -o it goes to stdout")
    group.add_argument("--json", action="store_const", const="json", dest="format", help="short for --format json")
    group.add_argument("--force", action="store_true", help="overwrite files that exist")
    group.add_argument(
        "--stage", metavar="STAGE", help="which graph to draw: eager, pre_grad, post_grad, kernel_calls…"
    )


def check_outputs(arguments: argparse.Namespace) -> None:
    """Fail before the long work, not after it: unknown formats and files that exist. Raises RenderError."""
    from fxscope.render import check_target

    for name in arguments.output or ():
        check_target(name, format=arguments.format, force=arguments.force)
    if not arguments.output and arguments.format:
        check_target(None, format=arguments.format)


def emit(recording: Recording, arguments: argparse.Namespace, **options: Any) -> None:
    """Write the recording where the options say; without -o, to stdout, and nothing else goes there."""
    from fxscope.render import render, save, show

    if getattr(arguments, "stage", None):
        options["stage"] = arguments.stage
    if arguments.output:
        for name in arguments.output:
            path = save(recording, Path(name), format=arguments.format, force=arguments.force, **options)
            print(f"wrote {path}", file=sys.stderr)
    elif arguments.format and arguments.format != "terminal":
        data = render(recording, arguments.format, **options)
        if isinstance(data, str):
            data = data.encode("utf-8", errors="replace")
            data += b"" if data.endswith(b"\n") else b"\n"
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        show(recording)
