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
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from os import getpid  # programs and their tests replace `os.getpid`
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fxscope import children, gpus
from fxscope.errors import CaptureError
from fxscope.model import Recording, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

TIMEOUT_S = 600.0
INSIDE = "FXSCOPE_INSIDE_CHILD"  # set in the environment of a child


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
    return _finish(_spawn(request, timeout_s, progress), title or function)


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
            recording = _spawn(request | {"pickle": str(path)}, timeout_s, progress)
        except skeleton.NotImportableError as reason:
            recording = _fork(request, call, str(reason), timeout_s, progress)
    return _finish(recording, title or name)


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


def _finish(recording: Recording, title: str) -> Recording:
    from fxscope import passes

    return passes.run(replace(recording, title=title))


# ---------------------------------------------------------------------- the two kinds of process


class _Exchange:
    """A folder with the request, the answer and what the child printed, and a pipe for its progress."""

    def __init__(self, folder: str) -> None:
        self.request, self.answer, self.log = (Path(folder, name) for name in ("request", "answer", "log"))
        self.op = Path(folder, "op")  # the op being worked on, kept up to date by the child
        self.op.write_bytes(b"\0" * 256)
        self.lines: list[str] = []


def _spawn(request: dict[str, Any], timeout_s: float, progress: Callable[[str], None] | None) -> Recording:
    """Run a fresh Python for the request."""
    with tempfile.TemporaryDirectory(prefix="fxscope-") as folder:
        exchange = _Exchange(folder)
        with _pipe(exchange, progress) as (write_end, close):
            request = request | _paths(exchange, write_end)
            try:
                exchange.request.write_text(json.dumps(request))
            except (TypeError, ValueError) as error:
                raise CaptureError(f"the compile options cannot be sent to another process: {error}.") from None
            environment = {INSIDE: "1", "CUDA_VISIBLE_DEVICES": "", "KINETO_LOG_LEVEL": "6", "PYTHONWARNINGS": "ignore"}
            with exchange.log.open("wb") as log:
                process = children.start(
                    "fxscope._torch.target.child_main",
                    str(exchange.request),
                    environment=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=(write_end,),
                    start_new_session=True,
                )
            close()
            try:
                code = process.wait(timeout_s)
            except BaseException as error:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                if not isinstance(error, subprocess.TimeoutExpired):
                    raise
                code = None
        return _answer(exchange, code, request["target"], timeout_s)


def _fork(
    request: dict[str, Any], call: Any, reason: str, timeout_s: float, progress: Callable[[str], None] | None
) -> Recording:
    """Plan in a forked copy of this process, which has the model already."""
    if not hasattr(os, "fork"):
        raise CaptureError(f"the model cannot be sent to another process ({reason}): give a factory, FILE.py:FUNCTION.")
    with tempfile.TemporaryDirectory(prefix="fxscope-") as folder:
        exchange = _Exchange(folder)
        with _pipe(exchange, progress) as (write_end, close):
            request = request | _paths(exchange, write_end)
            sys.stdout.flush()
            sys.stderr.flush()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Python 3.12 warns of threads; the copy only traces and compiles
                here = getpid()
                pid = os.fork()
            if pid == 0:
                _in_the_copy(request, exchange, call, here)
            close()
            code = _wait(pid, timeout_s)
        return _answer(exchange, code, request["target"], timeout_s)


def _in_the_copy(request: dict[str, Any], exchange: _Exchange, call: Any, parent: int) -> None:
    try:
        children.begin_copy(parent)
        os.setsid()
        faulthandler.disable()  # the caller's would write a crash's traceback to the caller's stderr
        log = os.open(exchange.log, os.O_WRONLY | os.O_CREAT)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.environ[INSIDE] = "1"
        warnings.simplefilter("ignore")  # a caller that makes errors of warnings does not ask that of a new Triton
        from fxscope._torch.target import child_main

        child_main.serve(request, call)
    finally:
        os._exit(0)  # whatever happened: never back into the caller's program


def _wait(pid: int, timeout_s: float) -> int | None:
    """The exit code of a forked child as `subprocess` would, None after the time is over."""
    end = time.monotonic() + timeout_s
    try:
        while time.monotonic() < end:
            try:
                done, status = os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:  # SIGCHLD is ignored, or somebody else collects every child
                return 0
            if done:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.02)
    except BaseException:
        _kill(pid)
        raise
    _kill(pid)
    return None


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def _paths(exchange: _Exchange, write_end: int) -> dict[str, Any]:
    return {"answer": str(exchange.answer), "op": str(exchange.op), "progress": write_end}


@contextlib.contextmanager
def _pipe(exchange: _Exchange, progress: Callable[[str], None] | None) -> Generator[tuple[int, Callable[[], None]]]:
    """Yield the child's end of a pipe and a function that closes it here; lines that come out are progress."""
    read_end, write_end = os.pipe()
    open_ends = {write_end}

    def listen() -> None:
        with os.fdopen(read_end, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                exchange.lines.append(line.strip())
                if progress is not None:
                    progress(line.strip())

    def close() -> None:
        if write_end in open_ends:
            open_ends.discard(write_end)
            os.close(write_end)

    listener = threading.Thread(target=listen, daemon=True)
    if progress is not None:
        progress("starting a process for the plan")
    listener.start()
    try:
        yield write_end, close
    finally:
        close()
        listener.join(timeout=5)


def _answer(exchange: _Exchange, code: int | None, target: str, timeout_s: float) -> Recording:
    """Turn what the child left behind into a recording, or into one clear error."""
    name = gpus.load(target).device_name
    op = exchange.op.read_bytes().split(b"\0")[0].decode(errors="replace")
    doing = f" while {exchange.lines[-1]}" if exchange.lines else ""
    at_op = f"; the op was {op}" if op else ""
    if code is None:
        raise CaptureError(
            f"no plan for {name} after {timeout_s:g} s{doing}{at_op}. Plan a part of the model, or allow more time."
        )
    try:
        answer = json.loads(exchange.answer.read_text())
    except (OSError, ValueError):
        said = exchange.log.read_text(errors="replace").strip().splitlines()
        last = f" Its last words: {said[-1][:300]}" if said else ""
        died = children.died(code)
        raise CaptureError(f"no plan for {name}: the process that makes it {died}{doing}{at_op}.{last}") from None
    if "not_importable" in answer:
        from fxscope._torch.target.skeleton import NotImportableError

        raise NotImportableError(answer["not_importable"])
    if "error" in answer:
        raise CaptureError(answer["error"])
    return msgspec.convert(answer["recording"], type=Recording)
