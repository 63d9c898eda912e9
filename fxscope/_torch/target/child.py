"""Plans a model for a GPU that is not there, in a process of its own, and comes back with the recording.

    record_for_target("h200", factory="model.py:make")      # imports no torch here
    record(model, x, target="h200")

The simulated GPU (`simulate.py`) patches torch globally and a mistake in it can abort the process: neither may touch
the caller. A factory, or a model whose classes a fresh process can import, goes to a fresh process; of tensors only
shapes and dtypes travel. A model of the running script itself, or one that cannot be pickled, is planned in a forked
copy.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib.util
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from os import getpid  # programs and their tests replace `os.getpid`
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fxscope import children, gpus, passes
from fxscope.errors import CaptureError
from fxscope.model import Recording, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from multiprocessing.context import ForkProcess

TIMEOUT_S = 600.0
INSIDE = "FXSCOPE_INSIDE_CHILD"  # set in the environment of a child
AT_OP = "\tat "  # before an op that the child is at, in what it says


def record_for_target(
    target: str,
    *,
    factory: str,
    compile: Mapping[str, Any] | None = None,
    backward: bool = False,
    title: str | None = None,
    keep: tuple[str, ...] = (),
    timeout_s: float = TIMEOUT_S,
    progress: Callable[[str], None] | None = None,
) -> Recording:
    """Plan the model that a factory makes.

    Args:
        target: name of a GPU that `fxscope.gpus` knows.
        factory: `"FILE.py:FUNCTION"` or `"package.module:FUNCTION"`, returning (module, inputs).
        compile: arguments of `torch.compile`.
        backward: plan the backward as well (experimental).
        title: what to call the recording.
        keep: "ptx" and "sass", to keep those texts among the recording's sources.
        timeout_s: give up after so many seconds.
        progress: called with a line now and then.

    Raises:
        CaptureError: the GPU, the factory or the model cannot be planned; one line says why, and which op it was.
    """
    _check(target, keep)
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
    request = _request(target, compile, backward, keep) | {"factory": f"{location}:{function}"}
    return passes.run(replace(_planned(request, None, timeout_s, progress), title=title or function))


def record(
    model: Any,
    *inputs: Any,
    target: str,
    compile: Mapping[str, Any] | None = None,
    backward: bool = False,
    title: str | None = None,
    kwargs: Mapping[str, Any] | None = None,
    keep: tuple[str, ...] = (),
    timeout_s: float = TIMEOUT_S,
    progress: Callable[[str], None] | None = None,
) -> Recording:
    """Plan a model that exists in this process; see `record_for_target`. The model itself is left alone."""
    _check(target, keep)
    from fxscope._torch.target import skeleton

    model = getattr(model, "_orig_mod", model)  # an already compiled module
    request = _request(target, compile, backward, keep)
    name = str(getattr(model, "__qualname__", None) or type(model).__name__)
    call = (model, tuple(inputs), dict(kwargs or {}))
    with tempfile.TemporaryDirectory(prefix="fxscope-") as folder:
        path = Path(folder, "model.pickle")
        try:
            path.write_bytes(skeleton.dumps(call))
            recording = _planned(request | {"pickle": str(path)}, None, timeout_s, progress)
        except skeleton.NotImportableError:  # a copy of this process has the model
            recording = _planned(request, call, timeout_s, progress)
    return passes.run(replace(recording, title=title or name))


# ---------------------------------------------------------------------- before and after


def _check(target: str, keep: tuple[str, ...]) -> None:
    if os.environ.get(INSIDE):
        raise CaptureError("a plan for another GPU is being made by this very process; it cannot make another one.")
    try:
        gpu = gpus.load(target)
    except Exception as error:
        raise CaptureError(str(error)) from None
    if not gpu.target:
        possible = ", ".join(name for name in gpus.names() if gpus.load(name).target)
        raise CaptureError(f"{gpu.name} is known by its rates only, for rooflines. Plans can be made for {possible}.")
    if unknown := sorted(set(keep) - {"ptx", "sass"}):
        raise CaptureError(f"there is no {unknown[0]!r} to keep; there are ptx and sass.")
    if sys.platform != "linux":
        raise CaptureError(
            f"planning for another GPU needs Triton's compiler, which has no {sys.platform} wheel: do it on Linux and "
            "open the recording here."
        )
    for package in ("torch", "triton"):
        if importlib.util.find_spec(package) is None:
            raise CaptureError(
                f"planning for another GPU needs {package}. `fxscope doctor` says which version, and how to install it."
            )


def _request(target: str, compile: Any, backward: bool, keep: tuple[str, ...]) -> dict[str, Any]:
    options = {} if compile in (None, True, False) else {"mode": compile} if isinstance(compile, str) else dict(compile)
    if target.endswith(".json"):
        target = str(Path(target).resolve())
    return {"target": target, "compile": options, "backward": backward, "keep": list(keep), "sys_path": sys.path}


# ---------------------------------------------------------------------- the two kinds of process


class _Said:
    """Messages of the child while it works, through a pipe: lines of progress, and the op that it is at."""

    def __init__(self, progress: Callable[[str], None] | None) -> None:
        self.progress, self.last, self.op = progress, "", ""

    def listen(self, read_end: int) -> None:
        with os.fdopen(read_end, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line.startswith(AT_OP):
                    self.op = line.removeprefix(AT_OP).strip()
                    continue
                self.last = line.strip()
                if self.progress is not None:
                    self.progress(self.last)


def _planned(request: dict[str, Any], call: Any, timeout_s: float, progress: Callable[[str], None] | None) -> Recording:
    """Answer a request in a fresh Python; where a call is given, in a forked copy of this process, which has it."""
    if progress is not None:
        progress("starting a process for the plan")
    with tempfile.TemporaryDirectory(prefix="fxscope-") as folder:
        read_end, write_end = os.pipe()
        request |= {"answer": str(Path(folder, "answer")), "log": str(Path(folder, "log")), "progress": write_end}
        said = _Said(progress)
        listener = threading.Thread(target=said.listen, args=(read_end,), daemon=True)
        try:
            process = _fresh(request, Path(folder, "request")) if call is None else _copy(request, call)
        finally:
            listener.start()
            os.close(write_end)
        try:
            code = _ended(process, timeout_s)
        finally:
            listener.join(timeout=5)
        return _answer(request, said, code, timeout_s)


def _fresh(request: dict[str, Any], path: Path) -> subprocess.Popen[bytes]:
    try:
        path.write_text(json.dumps(request))
    except (TypeError, ValueError) as error:
        raise CaptureError(f"the compile options cannot be sent to another process: {error}.") from None
    with Path(request["log"]).open("wb") as log:
        return children.start(
            "fxscope._torch.target.child_main",
            str(path),
            environment={INSIDE: "1", "CUDA_VISIBLE_DEVICES": "", "KINETO_LOG_LEVEL": "6", "PYTHONWARNINGS": "ignore"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(request["progress"],),
            start_new_session=True,
        )


def _copy(request: dict[str, Any], call: Any) -> ForkProcess:
    process = multiprocessing.get_context("fork").Process(target=_in_the_copy, args=(request, call, getpid()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python 3.12 warns of threads; the copy only traces and compiles
        process.start()
    return process


def _in_the_copy(request: dict[str, Any], call: Any, parent: int) -> None:
    try:
        children.begin_copy(parent)
        os.setsid()
        faulthandler.disable()  # the caller's would write a crash's traceback to the caller's stderr
        log = os.open(request["log"], os.O_WRONLY | os.O_CREAT)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.environ[INSIDE] = "1"
        warnings.simplefilter("ignore")  # a caller that makes errors of warnings does not ask that of a new Triton
        from fxscope._torch.target import child_main

        child_main.serve(request, call)
    finally:
        os._exit(0)  # whatever happened: never back into the caller's program


def _ended(process: subprocess.Popen[bytes] | ForkProcess, timeout_s: float) -> int | None:
    """Wait for a child; return its exit code, `None` where the time is over and it was killed."""
    is_copy = not isinstance(process, subprocess.Popen)
    wait = process.join if is_copy else process.wait
    code = None
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            wait(timeout_s)
        code = process.exitcode if is_copy else process.returncode
    finally:
        if code is None and process.pid is not None:
            for kill in (os.killpg, os.kill):  # with the compilers that it has started, which may be none yet
                with contextlib.suppress(ProcessLookupError):
                    kill(process.pid, signal.SIGKILL)
            wait()
    return code


def _answer(request: dict[str, Any], said: _Said, code: int | None, timeout_s: float) -> Recording:
    """Turn what the child left behind into a recording, or into one clear error."""
    name = gpus.load(request["target"]).device_name
    doing = f" while {said.last}" if said.last else ""
    at_op = f"; the op was {said.op}" if said.op else ""
    try:
        answer = json.loads(Path(request["answer"]).read_text())
    except (OSError, ValueError):
        if code is None:
            raise CaptureError(
                f"no plan for {name} after {timeout_s:g} s{doing}{at_op}. Plan a part of the model, or allow more time."
            ) from None
        lines = Path(request["log"]).read_text(errors="replace").strip().splitlines()
        last = f" Its last words: {lines[-1][:300]}" if lines else ""
        raise CaptureError(
            f"no plan for {name}: the process that makes it {children.died(code)}{doing}{at_op}.{last}"
        ) from None
    if "not_importable" in answer:
        from fxscope._torch.target.skeleton import NotImportableError

        raise NotImportableError(answer["not_importable"])
    if "error" in answer:
        raise CaptureError(answer["error"])
    return msgspec.convert(answer["recording"], type=Recording)
