"""`fxscope demo`: the GeGLU MLP, eager and compiled here, planned for an H200, and as a real H200 ran it."""

from __future__ import annotations

import sys
from importlib import resources
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from fxscope.commands import common
from fxscope.text import aligned

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from fxscope.model import Recording

BUNDLED = ("mlp_eager", "mlp_compiled", "mlp_liger")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="FOLDER", default="fxscope-demo", help="where the pictures go")
    parser.add_argument("--force", action="store_true", help="overwrite files that exist")
    parser.add_argument("--no-target", action="store_true", help="leave out the plan for an H200 (about 15 s)")


def run(arguments: argparse.Namespace) -> int:
    from fxscope.errors import FxscopeError, RenderError
    from fxscope.render import show

    folder = Path(arguments.output)
    if folder.exists() and not folder.is_dir():
        raise RenderError(f"{folder} is a file: give --output a folder.")
    if folder.is_dir() and any(folder.iterdir()) and not arguments.force:
        raise RenderError(f"{folder} is not empty. Use --force to overwrite what is in it, or another folder.")

    recordings: dict[str, Recording] = {}
    chapters: list[tuple[str, str, Callable[[], Recording]]] = [
        ("here_eager", "The MLP as PyTorch runs it, op by op, on this machine", lambda: record_here(compiled=False)),
        ("here_compiled", "The same under torch.compile, on this machine", lambda: record_here(compiled=True)),
        *(
            (f"h200_{name.removeprefix('mlp_')}", f"Recorded on a real H200: {name}", lambda name=name: bundled(name))
            for name in BUNDLED
        ),
    ]
    if not arguments.no_target:
        chapters.insert(2, ("h200_planned", "What Inductor would write for an H200, without one", plan_for_h200))
    for name, heading, make in chapters:
        common.say(f"── {heading}")
        try:
            recordings[name] = make()
        except FxscopeError as error:
            if name not in ("here_compiled", "h200_planned"):
                raise
            print(f"\n=== {heading}\n\nnot on this machine: {error}", flush=True)
            continue
        print(f"\n=== {heading}\n", flush=True)
        show(recordings[name])
    written = write_all(recordings, folder)
    print("\n=== Guess first, then look\n")
    print(three_ways(recordings))
    print(f"\nPictures, pages and recordings are in {folder}/:")
    for path in written:
        print(f"  {path}")
    return 0


def record_here(*, compiled: bool) -> Recording:
    """Record the MLP on this machine; the article's size on a GPU, a small one on a CPU."""
    if "torch" not in sys.modules:
        common.say("   importing torch …")
    from fxscope._torch import geglu
    from fxscope.capture import record
    from fxscope.errors import FxscopeError
    from fxscope.factories import raised

    model, inputs = geglu.here()
    title = f"GeGLU MLP {'compiled' if compiled else 'eager'}, here"
    try:
        return record(model, *inputs, compile=compiled, title=title)
    except FxscopeError:
        raise
    except Exception as error:  # Inductor has no compiler, or fails for a reason of its own
        raise raised(title, error) from None


def plan_for_h200() -> Recording:
    """Plan the MLP at the article's size for an H200 that need not be here."""
    from fxscope._torch import geglu
    from fxscope._torch.target import child

    title = "GeGLU MLP, planned for an H200"
    return child.record_for_target(
        "h200", factory=f"{geglu.__file__}:full", title=title, progress=lambda line: common.say(f"   {line}")
    )


def bundled(name: str) -> Recording:
    """Load one of the recordings that come with fxscope, made on a real H200."""
    from fxscope.store import load

    with resources.as_file(resources.files("fxscope") / "data" / "h200" / f"{name}.fxscope") as path:
        return load(path)


def write_all(recordings: dict[str, Recording], folder: Path) -> list[Path]:
    """Write each recording, its picture, and one page that compares the real ones."""
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


def three_ways(recordings: dict[str, Recording]) -> str:
    """A table: what this machine does, what an H200 would do, what a real one did."""
    titles = {"here_compiled": "here", "h200_planned": "H200, planned", "h200_compiled": "H200, real"}
    present = {name: title for name, title in titles.items() if name in recordings}
    columns = [[present[name], *(call.kernel for call in recordings[name].calls)] for name in present]
    lines = ["kernel calls of the compiled MLP, in order", ""]
    lines += aligned(list(zip_longest(*columns, fillvalue="")), gap=" " * 5)
    if {"h200_planned", "h200_compiled"} <= present.keys():
        same = [call.kernel for call in recordings["h200_planned"].calls] == [
            call.kernel for call in recordings["h200_compiled"].calls
        ]
        lines += ["", f"The plan's call list {'equals' if same else 'differs from'} the real one."]
    return "\n".join(lines)
