"""Short words for long things, shared by the renderers: what ran in a call, a kernel's name at some width."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from fxscope import english
from fxscope.analysis import select
from fxscope.analysis.findings import KernelUse
from fxscope.analysis.groups import KernelGroup, ends_of
from fxscope.analysis.report import StepRow
from fxscope.errors import RenderError
from fxscope.model import Decision, Graph, KernelCall, Node, Problem, Recording
from fxscope.op_names import is_generated, op_name
from fxscope.passes.predicted import pair_runs
from fxscope.text import about, counted, kernel_name, microseconds, num_bytes, of_roof, percent, sentence, span


def ops_of(call: KernelCall, nodes: Mapping[str, Node]) -> list[str]:
    """The user's ops that ran in a call, in order, views left out unless there is nothing else; and biases it adds."""
    biases = ["bias of convolution"] if len(call.biases) == 1 else ["biases of convolutions"] if call.biases else []
    return [*biases, *select.ops_in(call, nodes)] or [op_name(call.kernel)]


def time_words(call: KernelCall) -> str:
    """The median time of a call, or the time planned for it: "56.1 µs", "≈ 35.1 µs planned"; "" if unknown."""
    if call.timing:
        return microseconds(call.timing.median_us)
    return f"{planned_words(call)} planned" if call.estimated_us is not None else ""


def cost_line(call: KernelCall, *, timed: bool = True) -> str:
    """Time (unless it stands elsewhere), bytes and share of the roof, as far as they are known."""
    parts = [time_words(call)] if timed else []
    if call.bytes_read is not None or call.bytes_written is not None:
        parts.append(num_bytes((call.bytes_read or 0) + (call.bytes_written or 0)))
    if call.roof and call.roof.share is not None:
        parts.append(of_roof(call.roof.share))
    return " · ".join(part for part in parts if part)


def mark_of(row: KernelGroup | StepRow) -> str:
    return "≥ " if row.is_lower_bound else "~" if row.predicted else ""


def group_time(group: KernelGroup) -> str:
    return f"{mark_of(group)}{microseconds(group.time_us)}" if group.time_us is not None else ""


def in_step(group: KernelGroup) -> str:
    """ "1.12 s, 22 % in 12 launches": what equal kernels take in a step."""
    share = f", {percent(group.share)}" if group.share is not None else ""
    return f"{group_time(group)}{share} in {counted(round(group.launches), 'launch', 'launches')}".strip()


def planned_words(call: KernelCall) -> str:
    """The time planned for a call: "≈ 35.1 µs"; "≥ 35.1 µs" where only a floor is known; "–" where nothing is."""
    if call.estimated_us is None:
        return "–"
    if call.estimated_range_us is not None and call.estimated_us < 0.005:
        return "0.01 µs or less"
    return f"{'≈' if call.estimated_range_us is not None else '≥'} {microseconds(call.estimated_us)}"


def planned_basis(call: KernelCall) -> str:
    """Return what is predicted of a planned call, and what from: "predicted 3.1 µs, 80 of 100 from 2.8 µs to 3.5 µs (…)"."""
    if call.estimated_basis is None or call.estimated_us is None or call.estimated_range_us is None:
        return call.estimated_basis or ""
    times = span(*call.estimated_range_us)
    return f"predicted {microseconds(call.estimated_us)}, {times} in 80 of 100 ({call.estimated_basis})"


def ops_words(ops: Sequence[str], most: int = 4) -> str:
    """The ops of a kernel in a few words: "gelu · mul"; the first and the last where there are many."""
    if len(ops) > most:
        ops = [*ops[: most - 1], "…", ops[-1]]
    return " · ".join(ops)


def op_title(target: str) -> str:
    """An op's name; on a CPU a kernel that Inductor wrote is one of a trace's ops, and is called as a kernel."""
    return kernel_name(target) if is_generated(target) else op_name(target)


def kernel_label(use: KernelUse, width: int) -> str:
    """A kernel's name, and of a C++ template the ops that tell its instances apart where the name does not."""
    name = kernel_name(use.kernel, width)
    ops = [op for op in use.ops[:4] if op.strip("_") not in name.lower()] if "<" in use.kernel else []
    return f"{name} ({', '.join(ops)})" if ops else name


def node_title(node: Node, graph: Graph) -> str:
    """Name a node the same in every view: by its own name, with the op where that says another: "view_1 (reshape)".

    The nodes of an eager graph have no names of the user's compile: there the op is the name.
    """
    if node.op in ("placeholder", "get_attr", "output"):
        return node.name
    op = op_title(node.target)
    if graph.stage == "eager":
        return op
    return node.name if re.sub(r"_\d+$", "", node.name) == op else f"{node.name} ({op})"


def end_names(recording: Recording) -> Callable[[Decision], tuple[str, ...]]:
    """A function that names both ends of a decision as the report does: by the user's ops, "gelu·mul" and "mm"."""
    ends = ends_of(recording)
    return lambda decision: tuple(end.label for end in ends(decision))


def price(decision: Decision, recording: Recording) -> str:
    """Say what staying apart costs: "100.7 MB, about 31.3 µs"; the time only on a GPU that was calibrated.

    It is for one time: "…, 12 times a step" where a step runs the two more often.
    """
    if decision.saved_bytes is None:
        return "not known"
    size = f"{'at least ' if decision.saved_bytes_least else ''}{num_bytes(decision.saved_bytes)}"
    runs = pair_runs(recording, decision)
    often = f"{times(runs)} a step" if runs != 1 else ""
    return ", ".join(filter(None, (size, about(decision.expected_us), often)))


def times(runs: float) -> str:
    """Return how often, in words: "12 times"; "2.5 times" where steps differ."""
    return f"{runs:.0f} times" if runs == round(runs) else f"{runs:.1f} times"


def problem_line(problem: Problem) -> str:
    if not problem.remedy:
        return f"{problem.where}: {problem.message}"
    stop = "" if problem.message.endswith((".", "!", "?")) else "."
    return f"{problem.where}: {problem.message}{stop} {sentence(problem.remedy)}"


def coverage_line(recording: Recording) -> str:
    """The one line that says how much of what ran was attributed, and what was not observed."""
    missing = f"; not in it: {'; '.join(item.detail for item in recording.unobserved)}" if recording.unobserved else ""
    coverage = recording.coverage
    if coverage is None:
        planned = ": nothing was run, only planned" if recording.environment.target else ""
        return f"no device events{planned}{missing}"
    total = coverage.device_events
    parts = [f"{coverage.to_op} of {total} device events → ops"]
    parts += [f"{coverage.to_call} → kernel calls"] if coverage.to_call is not None else []
    parts += [f"{coverage.to_node} → nodes"] if coverage.to_node is not None else []
    parts += [f"{coverage.unattributed} unattributed"] if coverage.unattributed else []
    return ", ".join(parts) + missing


def default_stage(recording: Recording) -> str | None:
    """The stage to draw when none is asked for: post-grad where something was compiled, else eager."""
    stages = [graph.stage for graph in recording.graphs]
    preferred = ("post_grad", "eager", "forward", "pre_grad")
    return next((stage for stage in (*preferred, *stages) if stage in stages), None)


def graphs_of(recording: Recording, stage: str | None) -> list[Graph]:
    """The graphs of a stage, or the one with that id. Raises RenderError, whose message lists those there are."""
    wanted = stage or default_stage(recording)
    found = [graph for graph in recording.graphs if wanted in (graph.stage, graph.id)]
    if not found and (recording.graphs or stage):
        stages: Iterable[str] = dict.fromkeys(graph.stage for graph in recording.graphs)
        raise RenderError(f"the recording has no stage {stage!r}. It has {', '.join(stages) or 'no graph'}.")
    return found


def decoded_words(decoded: Mapping[str, Any]) -> dict[str, str]:
    """What a kernel's name states, field → words, and nothing that it does not."""
    guessed = " (a guess, from the words of the name)" if decoded.get("guess") else ""
    dtypes = decoded.get("dtypes") or {}
    layout = decoded.get("layout")  # in BLAS's words, which the other words explain
    operands = dict.fromkeys(str(dtypes[key]) for key in ("a", "b") if dtypes.get(key))
    found = {
        "role": decoded["role"].replace("_", " ") + guessed,
        "family": decoded.get("family") and decoded["family"] + guessed,
        "arch": decoded.get("arch"),
        "operands": " × ".join(operands),
        "result": dtypes.get("out"),
        "accumulates in": dtypes.get("accumulate"),
        "layout": f"{layout} ({english.LAYOUTS[layout]})" if layout in english.LAYOUTS else layout,
        "tile": "×".join(map(str, decoded.get("tile") or ())),
        "tile K": decoded.get("tile_k"),
        "stages": decoded.get("stages"),
        "cluster": "×".join(map(str, decoded.get("cluster") or ())),
        "epilogue": decoded.get("epilogue"),
        "split K": "yes" if decoded.get("split_k") else None,
        "computes": decoded.get("functor") or " · ".join(decoded.get("ops") or ()),
        **{key: decoded.get(key) for key in ("kind", "direction", "operation", "math")},
    }
    return {key: str(value) for key, value in found.items() if value not in (None, "")}
