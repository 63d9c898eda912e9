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


def emit(recording: Recording, arguments: argparse.Namespace, *, keep: bool = False, **options: Any) -> None:
    """Write the recording where the options say; without -o, to stdout, and nothing else goes there.

    Every file that can be written is written before an error of another is raised. With `keep`, for a recording that
    exists nowhere else, a failure that would lose it saves it as .fxscope.

    Raises:
        RenderError: something could not be made or written; one line for each.
    """
    from fxscope.render import show
    from fxscope.render.legible import legible_streams

    if getattr(arguments, "stage", None):
        options["stage"] = arguments.stage
    with legible_streams():
        if arguments.output:
            write_files(recording, arguments, keep=keep, **options)
        elif arguments.format and arguments.format != "terminal":
            write_stdout(recording, arguments.format, keep=keep, **options)
        else:
            show(recording)


def write_files(recording: Recording, arguments: argparse.Namespace, *, keep: bool, **options: Any) -> None:
    """Write each of `-o`; see `emit`."""
    from fxscope.errors import FxscopeError, RenderError
    from fxscope.render import format_of, save
    from fxscope.store import rescue

    failed: list[str] = []
    unforeseen: Exception | None = None
    safe = False  # whether the recording itself is on disk
    for name in arguments.output:
        try:
            path = save(recording, Path(name), format=arguments.format, force=arguments.force, **options)
        except FxscopeError as error:
            failed.append(f"{name} was not written: {error}")
        except Exception as error:  # a fault of fxscope's own costs the user one file, not all of them
            unforeseen = unforeseen or error
            failed.append(f"{name} was not written: {type(error).__name__}: {error} (a fault of fxscope's)")
        else:
            safe = safe or format_of(name, arguments.format) in ("fxscope", "json")
            print(f"wrote {path}", file=sys.stderr)
    if failed and keep and not safe:
        failed.append(rescue(recording, Path(arguments.output[0])))
    if unforeseen is not None:
        print("\n".join(failed), file=sys.stderr)
        raise unforeseen
    if failed:
        raise RenderError("\n".join(failed))


def write_stdout(recording: Recording, format: str, *, keep: bool, **options: Any) -> None:
    """Write one format to stdout; see `emit`."""
    from fxscope.errors import RenderError
    from fxscope.render import render
    from fxscope.store import rescue

    try:
        data = render(recording, format, **options)
    except RenderError as error:
        if not keep:
            raise
        raise RenderError(f"{error}\n{rescue(recording, Path('recording'))}") from None
    if isinstance(data, str):
        data = data.encode("utf-8", errors="replace")
        data += b"" if data.endswith(b"\n") else b"\n"
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
