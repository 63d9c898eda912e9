"""`fxscope demo`: the GeGLU MLP, eager and compiled here, planned for an H200, and as a real H200 ran it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from fxscope.commands import common

if TYPE_CHECKING:
    from fxscope.model import Recording

BUNDLED = ("mlp_eager", "mlp_compiled", "mlp_liger")
HEADINGS = {
    "h200_eager": "GeGLU MLP, eager, recorded on an H200",
    "h200_compiled": "GeGLU MLP under torch.compile, recorded on an H200",
    "h200_liger": "GeGLU MLP with Liger's kernel, recorded on an H200",
    "here_eager": "GeGLU MLP, eager, on this machine",
    "here_compiled": "GeGLU MLP under torch.compile, on this machine",
    "h200_planned": "GeGLU MLP, planned for an H200",
}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="FOLDER", default="fxscope-demo", help="for recordings and pictures")
    parser.add_argument("--force", action="store_true", help="overwrite files that exist")
    parser.add_argument("--no-target", action="store_true", help="do not plan for an H200 (saves about 15 s)")


def run(arguments: argparse.Namespace) -> int:
    from fxscope.errors import FxscopeError, RenderError
    from fxscope.render import report

    folder = Path(arguments.output)
    if folder.exists() and not folder.is_dir():
        raise RenderError(f"{folder} is a file: give --output a folder.")
    if folder.is_dir() and any(folder.iterdir()) and not arguments.force:
        raise RenderError(f"{folder} is not empty. Use --force to overwrite what is in it, or another folder.")

    chapters: dict[str, Callable[[], Recording]] = {
        **{f"h200_{name.removeprefix('mlp_')}": lambda name=name: bundled(name) for name in BUNDLED},
        "here_eager": lambda: record_here(compiled=False),
        "here_compiled": lambda: record_here(compiled=True),
    }
    if not arguments.no_target:
        chapters["h200_planned"] = plan_for_h200
    recordings: dict[str, Recording] = {}
    failed: list[str] = []
    for name, make in chapters.items():
        common.say(f"── {HEADINGS[name]}")
        try:
            recordings[name] = make()
        except FxscopeError as error:
            if name not in ("here_compiled", "h200_planned"):
                raise
            failed.append(f"{HEADINGS[name]}: {error}")
    written = write_all(recordings, folder)
    print(f"=== {HEADINGS['h200_compiled']}\n")
    compiled = str(folder / "h200_compiled.fxscope")
    print(report.render(recordings["h200_compiled"], width=common.width(), name=compiled))
    print("=== All recordings, on an H200 and on this machine (here)\n")
    print("\n".join(report.summary(list(recordings.values()), width=common.width())))
    for line in failed:
        print(f"\nnot recorded: {line}")
    print(f"\n{folder}/ has {len(recordings)} recordings, a picture of each, and a page: {written[-1]}")
    print(f"Next: fxscope diff {folder / 'h200_eager.fxscope'} {compiled}")
    return 0


def record_here(*, compiled: bool) -> Recording:
    """Record the MLP on this machine; the article's size on a GPU, a small one on a CPU."""
    if "torch" not in sys.modules:
        common.say("   importing torch …")
    from fxscope._torch import geglu
    from fxscope.capture import record
    from fxscope.factories import explained_errors

    model, inputs = geglu.here()
    title = f"GeGLU MLP {'compiled' if compiled else 'eager'}, here"
    with explained_errors(title):
        return record(model, *inputs, compile=compiled, title=title)


def plan_for_h200() -> Recording:
    """Plan the MLP at the article's size for an H200 that need not be here."""
    from fxscope._torch import geglu
    from fxscope._torch.target import child

    title = "GeGLU MLP, planned for an H200"
    return child.record(
        f"{geglu.__file__}:full", target="h200", title=title, progress=lambda line: common.say(f"   {line}")
    )


def bundled(name: str) -> Recording:
    """Load one of the recordings that come with fxscope, made on a real H200."""
    from fxscope.store import load

    with resources.as_file(resources.files("fxscope") / "data" / "h200" / f"{name}.fxscope") as path:
        return load(path)


def write_all(recordings: dict[str, Recording], folder: Path) -> list[Path]:
    """Write each recording, its picture, and one page that compares those of the H200; return the pictures and the page."""
    from fxscope.analysis import compare
    from fxscope.errors import RenderError
    from fxscope.render import save

    written: list[Path] = []
    for name, recording in recordings.items():
        save(recording, folder / f"{name}.fxscope", force=True)
        try:
            written.append(save(recording, folder / f"{name}.svg", force=True))
        except RenderError as error:
            common.say(f"   no picture: {error}")
            written.append(save(recording, folder / f"{name}.dot", force=True))
    first, *others = (recordings[f"h200_{name.removeprefix('mlp_')}"] for name in BUNDLED)
    comparison = tuple(compare.compare(first, other) for other in others)
    written.append(save(first, folder / "report.html", force=True, others=tuple(others), comparison=comparison))
    return written
