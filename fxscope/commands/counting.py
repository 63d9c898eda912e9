"""`fxscope run … --counters`: the same command once more under Nsight Compute, and what it counted on the recording.

The second run knows that it is one by a variable of its environment, which says what to count. Whatever goes wrong with
it is a problem of the recording and a line on stderr: the program has run, and what was recorded stays.
"""

from __future__ import annotations

import gc
import os
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fxscope import children
from fxscope.errors import FxscopeError
from fxscope.index import grouped, index_of
from fxscope.model import Problem, replace
from fxscope.render.legible import legible

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from fxscope.model import Recording
    from fxscope.passes.counters import CountedKernel

VARIABLE = "FXSCOPE_COUNTED_STEP"  # "EDGES NUMBER" of a script (`counted.bounds`), "model" of a factory
_PLACES = ("/usr/local/cuda/bin/ncu", "/opt/nvidia/nsight-compute/*/ncu", "/opt/cuda/bin/ncu")
# As the program has them, so that the counters explain the times that were recorded.
_OPTIONS = (
    "--csv --page raw --print-units base --profile-from-start off --clock-control none --cache-control none "
    "--target-processes application-only"
).split()
# `python -m` would put the current folder in front.
_AGAIN = """import os, runpy, sys
os.chdir(sys.argv.pop(1))
sys.path[:] = [entry for entry in sys.path if entry]
runpy.run_module("fxscope", run_name="__main__", alter_sys=True)
"""


def requested() -> str | None:
    """Return what this process is to count, `None` where it is no second run; its own children are none."""
    return os.environ.pop(VARIABLE, None)


def with_counters(
    recording: Recording, arguments: argparse.Namespace, what: str | None, say: Callable[[str], None]
) -> Recording:
    """The recording with the counters of one step, or with the reason why there are none.

    Args:
        recording: complete.
        arguments: of this run, with its command line (`words`) and the folder that it began in (`folder`).
        what: the value of `VARIABLE`; None where the steps are not the program's own.
        say: told what is being done.
    """
    from fxscope.passes.counters import counters

    try:
        kernels = _counted(recording, arguments, what, say)
    except (FxscopeError, OSError) as error:
        return _without(recording, f"no counters: {str(error).rstrip('.')}")
    joined = counters(recording, kernels, step=step_of(recording))
    if joined.problems != recording.problems:
        print(legible(f"fxscope run: {joined.problems[-1].message}"), file=sys.stderr)
    return joined


def step_of(recording: Recording) -> int:
    """The step whose kernels are counted: the last of those that are most alike, in which all is warmed up."""
    from fxscope.passes.counters import kernels_of

    alike = grouped(
        index_of(recording).steps, lambda step: tuple(launch.name for launch in kernels_of(recording, step))
    )
    return max(alike.items(), key=lambda item: (bool(item[0]), len(item[1]), len(item[0])))[1][-1]


def _without(recording: Recording, message: str) -> Recording:
    print(legible(f"fxscope run: {message}"), file=sys.stderr)
    return replace(recording, problems=(*recording.problems, Problem(where="counters", message=message)))


def _counted(
    recording: Recording, arguments: argparse.Namespace, what: str | None, say: Callable[[str], None]
) -> list[CountedKernel]:
    from fxscope.passes.counters import kernels_of
    from fxscope.readers import counters
    from fxscope.store import OwnFolder

    number = len(kernels_of(recording, step_of(recording)))
    device = recording.environment.device or ""
    if not number:
        raise FxscopeError("the recorded step ran no kernel on a GPU")
    if "AMD" in device or (recording.environment.cuda is None and recording.environment.torch is not None):
        raise FxscopeError(f"they are read with Nsight Compute, which knows NVIDIA's GPUs, and not {device or 'this'}")
    if what is None:
        raise FxscopeError("the program profiles itself, and a GPU serves one profiler at a time")
    ncu = find()
    if ncu is None:
        raise FxscopeError(
            "Nsight Compute (ncu) is neither on PATH nor in CUDA's folder. It comes with the CUDA toolkit"
        )
    packages = [children.PACKAGES, os.environ.get("PYTHONPATH")]
    again = [sys.executable, "-c", _AGAIN, str(arguments.folder), *arguments.words]
    _give_memory_back()
    say(f"counting {number} kernels, in a second run under Nsight Compute")
    with OwnFolder() as folder:
        log = Path(folder, "ncu.csv")
        ended = children.run(
            [str(ncu), *_OPTIONS, "--metrics", ",".join(counters.METRICS), "--log-file", str(log), *again],
            environment={VARIABLE: what, "PYTHONPATH": os.pathsep.join(filter(None, packages))},
        )
        text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    try:
        return counters.read(text)
    except FxscopeError as error:
        last = [line for line in ended.stderr.decode("utf-8", "replace").splitlines() if line.strip()][-1:]
        program = f"; the program ended with {last[0].strip()!r}" if ended.returncode and last else ""
        raise FxscopeError(f"{str(error).rstrip('.')}{program}") from None


def _give_memory_back() -> None:
    """Return what torch keeps of the GPU's memory: the second run needs as much as the first."""
    torch: Any = sys.modules.get("torch")
    gc.collect()
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def find() -> Path | None:
    """Nsight Compute's command: on PATH, in the folder that CUDA_HOME names, or where its installers put it."""
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    found = [Path(name) for name in (shutil.which("ncu"), home and f"{home}/bin/ncu") if name]
    for place in _PLACES:  # the newest version first
        versions = Path("/").glob(place.lstrip("/"))
        found += sorted(versions, key=lambda path: list(map(int, re.findall(r"\d+", path.parent.name))), reverse=True)
    return next((path for path in found if path.is_file() and os.access(path, os.X_OK)), None)
