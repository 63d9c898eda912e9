"""Plan a model for an absent GPU in a forked copy of this process, and return the recording.

    record_for_target("h200", factory="model.py:make")      # imports no torch here
    record(model, x, target="h200")

The simulated GPU (`simulate.py`) patches torch globally and a mistake in it can abort the process: neither may touch
the caller. The copy has the caller's model, whatever it is.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib.util
import multiprocessing
import os
import signal
import sys
import tempfile
import time
import warnings
from os import getpid  # programs and their tests replace `os.getpid`
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import msgspec

from fxscope import children, gpus, passes
from fxscope.errors import CaptureError
from fxscope.model import Recording, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkProcess

    Progress = Callable[[str], None]

TIMEOUT_S = 600.0
INSIDE = "FXSCOPE_INSIDE_CHILD"  # set in the environment of a child
_ENVIRONMENT = {INSIDE: "1", "CUDA_VISIBLE_DEVICES": "", "KINETO_LOG_LEVEL": "6"}  # torch may not be imported yet


class Request(NamedTuple):
    """A plan to make: `call` is the model, its inputs and keyword inputs; of a factory, its name."""

    gpu: gpus.Gpu
    call: tuple[Any, tuple[Any, ...], dict[str, Any]] | str
    compile: Mapping[str, Any] | None
    backward: bool


def record_for_target(
    target: str,
    *,
    factory: str,
    compile: Mapping[str, Any] | None = None,
    backward: bool = False,
    title: str | None = None,
    timeout_s: float = TIMEOUT_S,
    progress: Progress | None = None,
) -> Recording:
    """Plan the model that a factory makes.

    Args:
        target: name of a GPU that `fxscope.gpus` knows.
        factory: `"FILE.py:FUNCTION"` or `"package.module:FUNCTION"`, returning (module, inputs).
        compile: arguments of `torch.compile`.
        backward: plan the backward as well (experimental).
        progress: called with a line now and then.

    Raises:
        CaptureError: the GPU, the factory or the model cannot be planned; one line says why, and which op it was.
    """
    gpu = _checked(target)
    location, _, function = factory.rpartition(":")
    if not location or not function:
        raise CaptureError(
            f"{factory!r} is not a factory: write FILE.py:FUNCTION, FUNCTION returning (module, inputs)."
        )
    if location.endswith(".py"):
        path = Path(location).expanduser().resolve()
        if not path.is_file():
            raise CaptureError(f"there is no file {location}: give the path of the script that defines {function}.")
        location = str(path)
    request = Request(gpu, f"{location}:{function}", compile, backward)
    return passes.run(replace(_planned(request, timeout_s, progress), title=title or function))


def record(
    model: Any,
    *inputs: Any,
    target: str,
    compile: Mapping[str, Any] | None = None,
    backward: bool = False,
    title: str | None = None,
    kwargs: Mapping[str, Any] | None = None,
    timeout_s: float = TIMEOUT_S,
    progress: Progress | None = None,
) -> Recording:
    """Plan a model that exists in this process; see `record_for_target`. The model itself is left alone."""
    gpu = _checked(target)
    model = getattr(model, "_orig_mod", model)  # an already compiled module
    request = Request(gpu, (model, tuple(inputs), dict(kwargs or {})), compile, backward)
    name = str(getattr(model, "__qualname__", None) or type(model).__name__)
    return passes.run(replace(_planned(request, timeout_s, progress), title=title or name))


def _checked(target: str) -> gpus.Gpu:
    """Return the GPU of a request that can be answered here. Raises CaptureError."""
    if os.environ.get(INSIDE):
        raise CaptureError("a plan for another GPU is being made by this very process; it cannot make another one.")
    try:
        gpu = gpus.load(target)
    except Exception as error:
        raise CaptureError(str(error)) from None
    if not gpu.target:
        possible = ", ".join(name for name in gpus.names() if gpus.load(name).target)
        raise CaptureError(f"{gpu.name} is known by its rates only, for rooflines. Plans can be made for {possible}.")
    if sys.platform != "linux":
        raise CaptureError(
            f"planning for another GPU needs Triton, which has no {sys.platform} wheel: do it on Linux and open the "
            "recording here."
        )
    for package in ("torch", "triton"):
        if importlib.util.find_spec(package) is None:
            raise CaptureError(
                f"planning for another GPU needs {package}. `fxscope doctor` says which version, and how to install it."
            )
    return gpu


def _planned(request: Request, timeout_s: float, progress: Progress | None) -> Recording:
    """Answer a request in a forked copy of this process, which sends progress lines, the current op, and its answer."""
    progress = progress or (lambda line: None)
    progress("starting a process for the plan")
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    with receiver, tempfile.TemporaryFile() as log:
        process = context.Process(target=_in_the_copy, args=(request, sender, log, getpid()))
        with sender, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python 3.12 warns of threads; the copy only traces and compiles
            process.start()
        end = time.monotonic() + timeout_s
        said = {"progress": "", "op": ""}
        what, advice = f" after {timeout_s:g} s", " Plan a part of the model, or allow more time."
        try:
            while receiver.poll(max(0.0, end - time.monotonic())):
                try:
                    kind, value = receiver.recv()
                except (EOFError, OSError):
                    process.join()
                    what = f": the process that makes it {children.died(process.exitcode or 0)}"
                    log.seek(0)
                    lines = log.read().decode(errors="replace").strip().splitlines()
                    advice = f" Its last line: {lines[-1][:300]}" if lines else ""
                    break
                if kind == "recording":
                    return msgspec.json.decode(value, type=Recording)
                if kind == "error":
                    raise CaptureError(value)
                said[kind] = value
                if kind == "progress":
                    progress(value)
        finally:
            _end(process)
    doing = f" while {said['progress']}" if said["progress"] else ""
    at_op = f"; the op was {said['op']}" if said["op"] else ""
    raise CaptureError(f"no plan for {request.gpu.device_name}{what}{doing}{at_op}.{advice}")


def _end(process: ForkProcess) -> None:
    """Kill a copy, with the compilers that it has started, which may be none yet."""
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError):
            if process.exitcode is None and process.pid is not None:
                kill(process.pid, signal.SIGKILL)
    process.join()


def _in_the_copy(request: Request, sender: Connection, log: BinaryIO, parent: int) -> None:
    try:
        children.begin_copy(parent)
        os.setsid()
        faulthandler.disable()  # the caller's would write a crash's traceback to the caller's stderr
        for stream in (1, 2):
            os.dup2(log.fileno(), stream)
        os.environ.update(_ENVIRONMENT)
        warnings.simplefilter("ignore")  # a caller that makes errors of warnings does not ask that of a new Triton
        from fxscope._torch.target import child_main

        sender.send(child_main.answer(request, sender.send))
    finally:
        os._exit(0)  # whatever happened: never back into the caller's program
