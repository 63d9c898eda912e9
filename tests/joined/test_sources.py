"""One program, three sources (recorded live, a debug folder, a compile log): the same question has the same answer."""

import importlib.util
from functools import cache
from pathlib import Path

import pytest

import fxscope
from fxscope.analysis import select
from fxscope.analysis.why import why
from fxscope.errors import FxscopeError
from fxscope.model import Recording
from fxscope.op_names import expected_nature
from tests.processes import printed

HOME = Path(__file__).parent.parent / "data" / "h200"
BOTH = {
    "/".join(path.parent.relative_to(HOME).parts): path.parent
    for path in sorted(HOME.rglob("trace.json.gz"))
    if (path.parent / "inductor").is_dir() and (path.parent / "torch_trace.log.gz").is_file()
}


@cache
def sources(name: str) -> tuple[Recording, Recording]:
    folder = BOTH[name]
    trace = folder / "trace.json.gz"
    return (
        fxscope.read_trace(trace, debug_dir=folder / "inductor"),
        fxscope.read_trace(trace, compile_log=folder / "torch_trace.log.gz"),
    )


def ops(recording: Recording) -> set[str]:
    """Return the bare names of the ops that can be asked for and do work."""
    found = {name for name in select.names(recording, "op") if "." not in name and "::" not in name}
    return {name for name in found if expected_nature(f"aten::{name}") != "view"}


def where(recording: Recording, name: str) -> list[str]:
    """Return the calls that a name ran in; none where it is not known, or nothing of it ran."""
    try:
        return sorted({place.call for place in select.find(recording, name).places if place.call})
    except FxscopeError:
        return []


@pytest.mark.parametrize("name", BOTH)
def test_an_op_is_found_in_the_same_calls(name: str) -> None:
    debug, log = sources(name)
    asked = sorted(ops(debug) | ops(log))
    assert asked
    assert {op: where(debug, f"op:{op}") for op in asked} == {op: where(log, f"op:{op}") for op in asked}


def test_gelu_is_known_from_a_debug_folder_alone() -> None:
    debug, log = sources("mlp_compiled")
    (place,) = select.find(debug, "gelu").places
    assert place.call == "0/0:inference:3" and len(place.nodes) == 11
    assert [item.verdict for item in why(debug, "gelu", "mul").decisions] == ["fused"]
    graph, other = (recording.graph("0/0:inference:post_grad") for recording in (debug, log))
    assert {node.name: node.original_aten for node in graph.nodes} == {
        node.name: node.original_aten for node in other.nodes
    }
    assert where(debug, "h") == where(log, "h") == ["0/0:inference:3"]  # a variable of the source
    assert where(debug, "linear") == []  # what the variables' functions were, a debug folder does not say


def test_a_piece_of_what_autograd_called_is_not_the_users_op() -> None:
    """`mul_14` is a piece of gelu_backward, `mul_7` the user's: the comment names both ops, and not which is whose."""
    for recording in sources("mlp_train_compiled"):
        nodes = {node.name: node for node in recording.graph("0/0:backward:post_grad").nodes}
        assert nodes["mul_14"].original_aten is nodes["mul_7"].original_aten is None
        assert nodes["sub"].original_aten == "aten.gelu_backward" and nodes["tanh"].original_aten == "aten.gelu"
        assert where(recording, "gelu_backward") == ["0/0:backward:3"]


QUESTIONS = (
    ("gelu", "mul"),
    ("_softmax", "add"),
    ("softmax", "add"),
    ("native_layer_norm", "addmm#1"),
    ("layer_norm", "addmm#2"),
    ("addmm#1", "gelu"),
    ("g", "y"),
    ("mul", "addmm#3"),
    ("y", "op:add"),
)


@pytest.mark.slow
@pytest.mark.cpp
def test_live_and_from_files(tmp_path: Path) -> None:
    program = HOME.parent / "programs" / "asked_program.py"
    trace = tmp_path / "trace.json"
    printed(
        program,
        trace,
        timeout_s=600,
        TORCH_TRACE=str(tmp_path / "log"),
        TORCH_COMPILE_DEBUG="1",
        TORCH_COMPILE_DEBUG_DIR=str(tmp_path / "debug"),
        TORCHINDUCTOR_FORCE_DISABLE_CACHES="1",
    )
    spec = importlib.util.spec_from_file_location("asked_program", program)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    import torch

    model, inputs = module.build()
    with torch.no_grad():
        live = fxscope.record(model, *inputs, compile=True, steps=1, warmup=1)
    log = fxscope.read_trace(trace, compile_log=tmp_path / "log")
    debug = fxscope.read_trace(trace, debug_dir=tmp_path / "debug")
    asked = sorted(ops(live) | ops(log) | ops(debug))
    answers = {op: where(live, f"op:{op}") for op in asked}
    assert answers["gelu"] == answers["mul"] != answers["_softmax"]
    assert {op: where(log, f"op:{op}") for op in asked} == answers
    assert {op: where(debug, f"op:{op}") for op in asked} == answers
    for question in QUESTIONS:
        said = [
            [(item.verdict, item.a_call, item.b_call) for item in why(recording, *question).decisions]
            for recording in (live, log, debug)
        ]
        assert said[0] == said[1] == said[2] != [], question
    moved = [(call.bytes_read, call.bytes_written) for call in live.calls]
    for call, known in zip(debug.calls, moved, strict=True):  # the text of a loop in C++ is not read for bytes
        assert (call.bytes_read, call.bytes_written) == ((None, None) if call.type == "cpp" else known)
    (product,) = [call for call in debug.calls if call.kernel == "extern_kernels.mm"]
    assert product.bytes_read == 2 * 8 * 32 * 4  # of x, which is four times that
    assert {call.bytes_read for call in log.calls} <= {None, *(read for read, _ in moved)}
