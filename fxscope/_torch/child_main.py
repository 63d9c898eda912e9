"""The other side of `child.py`: makes the plan and writes the recording as JSON.

python -m fxscope._torch.child_main REQUEST.json
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import re
import sys
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import msgspec

from fxscope import gpus
from fxscope.errors import CaptureError
from fxscope.model import Recording, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def main() -> int:
    """Serve the request whose path is the only argument."""
    request = json.loads(Path(sys.argv[1]).read_text())
    sys.path[:] = request["sys_path"]
    serve(request, None)
    return 0


def serve(request: dict[str, Any], call: Any) -> None:
    """Make the plan and write the answer.

    Args:
        request: see `child.py`.
        call: (model, inputs, keyword inputs) where this process has them already.
    """
    from fxscope._torch.skeleton import NotImportableError

    with os.fdopen(request["progress"], "w", encoding="utf-8", buffering=1) as pipe:

        def say(line: str) -> None:
            with contextlib.suppress(OSError, ValueError):
                pipe.write(line + "\n")

        answer: dict[str, Any]
        with _op_file(request["op"]) as note:
            try:
                answer = {"recording": to_plain(plan(request, call, say, note))}
            except NotImportableError as error:
                answer = {"not_importable": str(error)}
            except CaptureError as error:
                answer = {"error": str(error)}
            except BaseException as error:
                answer = {"error": explain(error, gpus.load(request["target"]).device_name, note.op)}
        Path(request["answer"]).write_bytes(msgspec.json.encode(answer))


def to_plain(recording: Recording) -> Any:
    """Return the recording as JSON's types; `torch.__version__` is a subclass of str that msgspec does not take."""
    return msgspec.to_builtins(recording, str_keys=True, enc_hook=str)


def plan(request: dict[str, Any], call: Any, say: Callable[[str], None], note: _Note) -> Recording:
    """Return the recording of a plan, without the conclusions of passes."""
    say("importing torch")
    import torch

    from fxscope._torch import fake_gpu, fake_report, skeleton
    from fxscope._torch.environment import environment
    from fxscope._torch.inductor import InductorCapture

    torch._dynamo.reset()
    gpu = gpus.load(request["target"])
    here = environment()
    say("building the model")
    if call is None and "pickle" in request:
        call = skeleton.loads(Path(request["pickle"]).read_bytes())
    if call is None:
        from fxscope.commands.run import load_factory

        call = load_factory(request["factory"])
    model, inputs, kwargs = call
    with resources.as_file(resources.files("fxscope.gpus") / f"{gpu.name}.json") as path:
        target = fake_gpu.read_target(path)
    keep = tuple(request["keep"])
    with fake_gpu.planning(target) as made, note.following():
        made.progress = say
        say(f"tracing for {gpu.device_name}")
        try:
            with InductorCapture() as capture:
                fake_gpu.compile_for_target(
                    model, inputs, made, kwargs=kwargs, train=request["backward"], compile_options=request["compile"]
                )
                facts = capture.facts()
        except fake_gpu.PlanError as error:
            raise CaptureError(str(error)) from None
        if not made.codes:
            raise CaptureError(
                "nothing was compiled: the model has no tensor operation that torch.compile can take. "
                "`fxscope run` without --target shows what it does."
            )
        recording = fake_report.recording_of(facts, here, gpu, made)
        recording = fake_report.with_resources(recording, gpu, made, keep=keep)
    say("done")
    if torch.version.cuda is None:
        recording = replace(
            recording, assumptions=(*recording.assumptions, *fake_report.early_decompositions(recording))
        )
    return recording


class _Note:
    """Keeps the op being worked on in a file, where it survives a crash."""

    def __init__(self, memory: mmap.mmap) -> None:
        self._memory = memory
        self.op: str | None = None

    def write(self, op: str) -> None:
        """Note an op."""
        self.op = op
        data = op.encode(errors="replace")[:255]
        self._memory[: len(data) + 1] = data + b"\0"

    @contextlib.contextmanager
    def following(self) -> Iterator[None]:
        """Note each op that is traced or lowered."""
        import torch
        from torch._inductor.graph import GraphLowering

        with contextlib.ExitStack() as stack:
            for owner in (torch.fx.Interpreter, GraphLowering):
                original = vars(owner)["run_node"]

                def run_node(interpreter: Any, node: Any, original: Any = original) -> Any:
                    if node.op.startswith("call"):
                        self.write(str(node.target))
                    return original(interpreter, node)

                stack.enter_context(mock.patch.object(owner, "run_node", run_node))
            yield


@contextlib.contextmanager
def _op_file(path: str) -> Iterator[_Note]:
    with Path(path).open("r+b") as file, mmap.mmap(file.fileno(), 256) as memory:
        yield _Note(memory)


def explain(error: BaseException, device: str, op: str | None) -> str:
    """Say in one line what stopped a plan, and at which op."""
    innermost = error
    while True:
        deeper = getattr(innermost, "inner_exception", None) or innermost.__cause__
        if not isinstance(deeper, BaseException) or deeper is innermost:
            break
        innermost = deeper
    text = str(error)
    named = re.search(r"target: (\S+)", text) or re.search(r"FX node with fake tensors: call_\w+ (.+?)\(", text)
    where = named[1] if named else op
    lines = [line.strip() for line in str(innermost).strip().splitlines() if line.strip()]
    what = f"{type(innermost).__name__}: {lines[0]}" if lines else type(innermost).__name__
    frames = re.findall(r'File "([^"]+)", line (\d+), in \w+\n\s+(.+)', text)
    users = [frame for frame in frames if "/torch/" not in frame[0] and "/fxscope/_torch/" not in frame[0]]
    line = f" ({users[-1][0]}:{users[-1][1]}: {users[-1][2].strip()})" if users else ""
    at_op = f"at {where}{line}: " if where else ""
    return f"no plan for {device}: {at_op}{what[:400]}"


if __name__ == "__main__":
    sys.exit(main())
