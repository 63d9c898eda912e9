"""`fxscope demo`: the GeGLU MLP, eager and compiled here, planned for an H200, and as a real H200 ran it."""

import argparse
from pathlib import Path
from typing import Any

from fxscope import data
from fxscope.commands import common
from fxscope.errors import FxscopeError, RenderError
from fxscope.model import Recording
from fxscope.render import save

BUNDLED = ("eager", "compiled", "liger")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="FOLDER", default="fxscope-demo", help="default: %(default)s")
    parser.add_argument("--force", action="store_true", help="overwrite files that exist")


def run(arguments: argparse.Namespace) -> int:
    from fxscope._torch.programs import geglu
    from fxscope.render import report
    from fxscope.store import load

    folder = Path(arguments.output)
    if folder.exists() and not folder.is_dir():
        raise RenderError(f"{folder} is a file: give --output a folder.")
    program = geglu.here()
    folder.mkdir(parents=True, exist_ok=True)  # now: recording takes a minute
    if any(folder.iterdir()) and not arguments.force:
        raise RenderError(f"{folder} is not empty. Use --force to overwrite what is in it, or another folder.")

    recordings = {f"h200_{name}": load(data.FOLDER / "h200" / f"mlp_{name}.fxscope") for name in BUNDLED}
    recordings["here_eager"] = record_here(*program, compiled=False)
    others = {"here_compiled": lambda: record_here(*program, compiled=True), "h200_planned": plan_for_h200}
    failed: list[str] = []
    for name, make in others.items():
        try:
            recordings[name] = make()
        except FxscopeError as error:
            failed.append(f"\nnot recorded: {name}: {error}")
    page = write_all(recordings, folder)
    compiled = str(folder / "h200_compiled.fxscope")
    print("=== GeGLU MLP under torch.compile, recorded on an H200\n")
    print(report.render(recordings["h200_compiled"], width=common.screen_width(), name=compiled))
    print("=== All recordings, on an H200 and on this machine (here)\n")
    print("\n".join(report.summary(list(recordings.values()), width=common.screen_width())))
    print(*failed, sep="\n", end="\n" if failed else "")
    print(f"\n{folder}/ has {len(recordings)} recordings, a picture of each, and a page: {page}")
    print(f"Next: fxscope diff {folder / 'h200_eager.fxscope'} {compiled}")
    return 0


def record_here(model: Any, inputs: tuple[Any, ...], *, compiled: bool) -> Recording:
    """Record the MLP on this machine; the article's size on a GPU, a small one on a CPU."""
    title = f"GeGLU MLP, {'compiled' if compiled else 'eager'}, here"
    common.say(f"── {title}")
    from fxscope.capture import record
    from fxscope.factories import explained_errors

    with explained_errors(title):
        return record(model, *inputs, compile=compiled, title=title)


def plan_for_h200() -> Recording:
    from fxscope._torch.programs import geglu
    from fxscope._torch.target import child

    title = "GeGLU MLP, plan for H200"
    common.say(f"── {title}")
    return child.record(
        f"{geglu.__file__}:full", target="h200", title=title, progress=lambda line: common.say(f"   {line}")
    )


def write_all(recordings: dict[str, Recording], folder: Path) -> Path:
    """Write each recording, its picture, and one page that compares those of the H200; return the page."""
    from fxscope.analysis import compare

    for name, recording in recordings.items():
        save(recording, folder / f"{name}.fxscope", force=True)
        save(recording, folder / f"{name}.svg", force=True)
    first, *others = (recordings[f"h200_{name}"] for name in BUNDLED)
    comparison = tuple(compare.compare(first, other) for other in others)
    return save(first, folder / "report.html", force=True, others=tuple(others), comparison=comparison)
