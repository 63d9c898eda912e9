"""Plan a model for an absent GPU in a forked copy of this process, and return the recording.

    record("model.py:make", target="h200")      # imports no torch here

The copy has the caller's model. Patches and mistakes of the simulated GPU (`simulate.py`) stay in the copy.
"""

import contextlib
import faulthandler
import importlib.util
import os
import re
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Generator, Mapping
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from unittest import mock

import msgspec

from fxscope import children, gpus, passes
from fxscope._torch.target.plan import Plan
from fxscope.errors import CaptureError
from fxscope.model import PARTIAL, Assumption, Environment, Recording, encoded, replace

Progress = Callable[[str], None]
Send = Callable[[tuple[str, Any]], None]

TIMEOUT_S = 600.0
INSIDE = "FXSCOPE_INSIDE_CHILD"  # set in the environment of a child
_ENVIRONMENT = {INSIDE: "1", "CUDA_VISIBLE_DEVICES": "", "KINETO_LOG_LEVEL": "6"}  # torch may not be imported yet


class Request(NamedTuple):
    """A plan to make: `call` is the model, its inputs and keyword inputs; of a factory, its name."""

    gpu: gpus.Gpu
    call: tuple[Any, tuple[Any, ...], dict[str, Any]] | str
    compile: Mapping[str, Any] | None
    backward: bool
    on_cpu: bool = False  # as `Plan.on_cpu`


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
    """Plan a model of this process, which is left alone, or of a factory, `"FILE.py:FUNCTION"` or `"package.module:FUNCTION"`.

    Raises CaptureError: the GPU, the factory or the model cannot be planned; one line says why, and which op it was.
    """
    gpu = _checked(target)
    call: Any
    if isinstance(model, str):
        call, name = model, model.rpartition(":")[2]
    else:
        model = getattr(model, "_orig_mod", model)  # an already compiled module
        call = (model, tuple(inputs), dict(kwargs or {}))
        name = str(getattr(model, "__qualname__", None) or type(model).__name__)
    recording = _planned(Request(gpu, call, compile, backward), timeout_s, progress)
    return passes.run(replace(recording, title=title or name))


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
        raise CaptureError(f"a plan needs Triton, which {sys.platform} has no wheel of. Plan on Linux, read it here.")
    for package in ("torch", "triton"):
        if importlib.util.find_spec(package) is None:
            raise CaptureError(f"a plan needs {package}: `fxscope doctor` has the version and how to install it.")
    return gpu


def _planned(request: Request, timeout_s: float, progress: Progress | None) -> Recording:
    """Answer a request in a forked copy of this process, which sends progress lines, the current op, and its answer."""
    progress = progress or (lambda line: None)
    progress("starting a process for the plan")
    with tempfile.TemporaryFile() as log:
        process, receiver = children.copy(_in_the_copy, request, log)
        end = time.monotonic() + timeout_s
        said = {"progress": "", "op": ""}
        what, advice = f" after {timeout_s:g} s", " Plan a part of the model, or allow more time."
        try:
            while receiver.poll(max(0.0, end - time.monotonic())):
                kind, value = children.received(receiver) or ("died", "")
                if kind == "died":
                    process.join()
                    what = f": the process that makes it {children.died(process.exitcode or 0)}"
                    log.seek(0)
                    lines = log.read().decode(errors="replace").strip().splitlines()
                    advice = f" Its last line: {lines[-1][:300]}" if lines else ""
                    break
                if kind == "recording":
                    return msgspec.json.decode(value, type=Recording)
                if kind == "asks autograd":
                    return _planned(request._replace(on_cpu=True), timeout_s, progress)
                if kind == "error":
                    raise CaptureError(value)
                said[kind] = value
                if kind == "progress":
                    progress(value)
        finally:
            receiver.close()
            _end(process)
    doing = f" while {said['progress']}" if said["progress"] else ""
    at_op = f"; the op was {said['op']}" if said["op"] else ""
    raise CaptureError(f"no plan for {request.gpu.device_name}{what}{doing}{at_op}.{advice}")


def _end(process: BaseProcess) -> None:
    """Kill a copy, with the compilers that it has started, which may be none yet."""
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError):
            if process.exitcode is None and process.pid is not None:
                kill(process.pid, signal.SIGKILL)
    process.join()


def _in_the_copy(request: Request, log: BinaryIO, sender: Connection) -> None:
    faulthandler.disable()  # the caller's would write a crash's traceback to the caller's stderr
    for stream in (1, 2):
        os.dup2(log.fileno(), stream)
    os.environ.update(_ENVIRONMENT)
    warnings.simplefilter("ignore")  # a caller that makes errors of warnings does not ask that of a new Triton
    sender.send(answer(request, sender.send))


# ---------------------------------------------------------------------- in the copy


def answer(request: Request, send: Send) -> tuple[str, Any]:
    """Return ("recording", JSON), ("error", line) or ("asks autograd", ""); send progress and the current op meanwhile."""
    at = ""

    def note(op: str) -> None:
        nonlocal at
        at = op
        send(("op", op[:200]))

    try:
        recording = plan(request, lambda line: send(("progress", line)), note)
        return ("recording", encoded(recording)) if recording is not None else ("asks autograd", "")
    except CaptureError as error:
        return "error", str(error)
    except BaseException as error:
        return "error", explain(error, request.gpu.device_name, at)


def plan(request: Request, say: Callable[[str], None], note: Callable[[str], None]) -> Recording | None:
    """Plan; `None` where the program runs a backward itself, which works on CPU tensors only (`Request.on_cpu`)."""
    say("importing torch")
    import torch

    from fxscope._torch import running
    from fxscope._torch.environment import environment
    from fxscope._torch.inductor import InductorCapture
    from fxscope._torch.target import simulate

    torch._dynamo.reset()
    gpu = request.gpu
    # No question to this machine's GPU: a copy of a process that has used CUDA already cannot ask it.
    with mock.patch.object(torch.cuda, "is_available", lambda: False):
        here = environment()
    torch.set_num_threads(1)  # OpenMP's threads do not survive a fork
    say("building the model")
    options = running.compile_options(request.compile) or {}
    call, fake_factory = _call_factory(request.call, gpu) if isinstance(request.call, str) else (request.call, None)
    model, inputs, kwargs = call
    with simulate.planning(gpu) as made, following(note), simulate.asking_autograd(made, note):
        made.progress, made.on_cpu = say, request.on_cpu
        if fake_factory:
            made.assume("model", "its values are unknown: the factory ran on tensors without memory", fake_factory)
        say(f"tracing for {gpu.device_name}")
        with InductorCapture() as capture:
            try:
                simulate.compile_for_target(
                    model, inputs, made, kwargs=kwargs, train=request.backward, compile_options=options
                )
            except Exception as error:
                if not (made.needs_cpu or (made.codes and type(innermost(error)).__name__ in _DATA_DEPENDENT)):
                    raise
                capture.hooks.problem(PARTIAL, f"it ends {cause_of(error)}", "the graphs after it are missing")
            if made.needs_cpu:
                return None
            facts = capture.facts()
            here = replace(here, float32_matmul_precision=torch.get_float32_matmul_precision())
        if not made.codes:
            why = f"nothing was compiled: torch.compile captured no graph: {capture.why_no_graph}"
            raise CaptureError(f"{why}. `fxscope run` without --target shows what it does.")
        recording = recording_of(facts, here, made)
    say("done")
    return recording


def recording_of(facts: Recording, here: Environment, plan: Plan) -> Recording:
    return replace(
        facts,
        environment=replace(here, target=plan.gpu.name),
        compiles=tuple(
            replace(
                item,
                runs=plan.runs.get(item.compile_id),
                cudagraphs=plan.cudagraphs,
                cudagraph_skip=plan.cudagraph_skips.get(item.compile_id) or item.cudagraph_skip,
                cudagraph_rerecords=0 if plan.cudagraphs and item.compile_id in plan.replays else None,
            )
            for item in facts.compiles
        ),
        assumptions=tuple(
            Assumption(subject=subject, assumed=assumed, because=because)
            for subject, assumed, because in plan.assumptions
        ),
    )


def _call_factory(factory: str, gpu: gpus.Gpu) -> tuple[Any, str | None]:
    """Return what a factory makes, and why it was made of fake tensors (it asks for CUDA), None where it was not."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    from fxscope._torch.target import simulate
    from fxscope.factories import load_factory

    try:
        return load_factory(factory), None
    except CaptureError as error:
        if torch.cuda.is_available() or not re.search("cuda|nvidia", str(error), re.IGNORECASE):
            raise
        reason = "it asks for a CUDA device, and there is none here"

    def apply(module: Any, convert: Any, recurse: bool = True) -> Any:
        # `Module._apply` exchanges the insides of a fake parameter with another's, which fake ones do not allow.
        for part in module.children() if recurse else ():
            part._apply(convert)
        for name, tensor in module._parameters.items():
            if tensor is not None:
                with torch.no_grad():
                    module._parameters[name] = torch.nn.Parameter(convert(tensor), requires_grad=tensor.requires_grad)
        module._buffers.update({name: convert(item) for name, item in module._buffers.items() if item is not None})
        return module

    with simulate.planning(gpu), FakeTensorMode(), mock.patch.object(torch.nn.Module, "_apply", apply):
        return load_factory(factory), reason


@contextlib.contextmanager
def following(note: Callable[[str], None]) -> Generator[None]:
    import torch
    from torch._inductor.graph import GraphLowering
    from torch._inductor.pattern_matcher import GraphPatternEntry

    def apply(entry: Any, match: Any, graph: Any, node: Any, original: Any = GraphPatternEntry.apply) -> None:
        try:
            original(entry, match, graph, node)
        except Exception as error:  # at an op of what takes the node's place, as the loop that a scan becomes
            note(str(node.target))
            error.add_note(node.stack_trace or "")
            raise

    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(GraphPatternEntry, "apply", apply))
        for owner in (torch.fx.Interpreter, GraphLowering, torch._dynamo.utils):
            original = vars(owner)["run_node"]

            def run_node(owner: Any, node: Any, *args: Any, original: Any = original, **kwargs: Any) -> Any:
                if node.op.startswith("call"):
                    note(str(node.target).replace("\n", " "))
                return original(owner, node, *args, **kwargs)

            stack.enter_context(mock.patch.object(owner, "run_node", run_node))
        yield


_CAUSE_IN_TEXT = (re.compile(r"got (\w+\((['\"]).*?\2\))", re.DOTALL), re.compile(r"Explanation: (.+?)\n"))
_DATA_DEPENDENT = {  # exception → the switch that makes a symbol of such a result
    "DataDependentOutputException": "capture_scalar_outputs",
    "DynamicOutputShapeException": "capture_dynamic_output_shape_ops",
}


def innermost(error: BaseException) -> BaseException:
    while isinstance(deeper := getattr(error, "inner_exception", None) or error.__cause__, BaseException):
        error = deeper
    return error


def explain(error: BaseException, device: str, op: str = "") -> str:
    """Say in one line what stopped a plan, and at which op and line of the user's."""
    why = cause_of(error, op)
    return why if type(innermost(error)).__name__ == "PlanError" else f"no plan for {device}: {why}"


def cause_of(error: BaseException, op: str = "") -> str:
    cause = innermost(error)
    kind, text = type(cause).__name__, "\n".join((str(error), *getattr(cause, "__notes__", ())))
    users_line = _users_line(error, text)
    if kind == "PlanError":
        return f"{cause}{users_line}"
    if found := re.search(r"got PlanError\((['\"])(.*?)\1\)", text, re.DOTALL):  # Dynamo keeps an op's error as words
        return f"{found[2]}{users_line}"
    if "autograd's threading" in str(cause):
        what = "a backward has run in this process already, and autograd's threads do not survive the fork that plans"
        return f"{what}. Use `fxscope run FILE.py:FACTORY --target GPU`, or plan before the first backward."
    frames = traceback.extract_tb(cause.__traceback__)
    is_ours = bool(frames) and Path(frames[-1].filename).parent == Path(__file__).parent
    if kind == "AttributeError" and is_ours and "module 'torch" in str(cause):
        return f"plans need torch 2.11 or newer. Missing in this one: {cause}."
    lines = [line.strip() for line in str(cause).strip().splitlines() if line.strip()]
    what = f"{kind}: {lines[0]}" if lines else kind
    called = [str(frame.f_locals.get("func")) for frame, _ in traceback.walk_tb(cause.__traceback__)]
    if any("produce_guards" in frame.name for frame in frames):
        op = ""
        what = f"torch cannot guard its sizes ({what}); a jagged tensor made in it needs min_seqlen and max_seqlen"
    elif sparse := next((item for item in (op, *called) if re.match(r"aten\.\w*sparse", item)), None):
        op, what = sparse, "a plan has dense tensors only: make them dense (`to_dense()`, `sparse=False`)"
    elif kind in _DATA_DEPENDENT:
        op = lines[0] if lines and not getattr(cause, "__notes__", ()) else op.removesuffix("_impl")
        switch = f"torch._dynamo.config.{_DATA_DEPENDENT[kind]} = True"
        what = f"its result depends on the data, and a plan has none; {switch} makes it a symbol where torch can"
    else:
        what = next((found[1] for pattern in _CAUSE_IN_TEXT if (found := pattern.search(text))), what)
    where = re.sub(r"<(?:built-in )?\w+ ([\w.]+)(?: (?:of|at) .*)?>", r"\1", op)
    place = where + users_line if where else users_line[2:-1]  # without an op, no parentheses
    return (f"at {place}: " if place else "") + what[:400]


def _users_line(error: BaseException, text: str) -> str:
    """The innermost place in the user's files, from Dynamo's text or from the traceback."""
    from fxscope._torch import nodes

    source = nodes.source_in(text) or nodes.source_of_frames(traceback.extract_tb(error.__traceback__))
    if source is None or source.file is None or source.file.startswith("<") or not nodes.is_user_file(source.file):
        return ""
    return f" ({Path(source.file).name}:{source.line}: {(source.code or '')[:80]})"
