"""The expected cost of a missed fusion in device time, from the facts of both kernels, on a GPU that was calibrated."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import NamedTuple

from fxscope import op_names
from fxscope.english import UNREPLACED
from fxscope.gpus import Gpu
from fxscope.gpus.prediction import generated_us
from fxscope.index import index_of, known_sum
from fxscope.model import Decision, DecisionEnd, KernelCall, Node, Recording, Workload, replace
from fxscope.passes.flops import numbers

# Types of calls that no generated pointwise or reduction kernel replaces → whose kernel it is.
TEMPLATES, _OTHERS = UNREPLACED["triton_template"], UNREPLACED


class Side(NamedTuple):
    """One of the two: its work, its device time, and whether a library's kernel runs it."""

    work: Workload
    known_us: float | None  # measured, or on a target predicted
    predicted: bool
    library: bool


def priced(
    decision: Decision, gpu: Gpu | None, calls: Mapping[str, KernelCall], graphs: Mapping[str, Mapping[str, Node]]
) -> Decision:
    """The decision with `expected_us`; `None` where the facts do not carry a figure."""
    plain = replace(decision, expected_us=None)
    if decision.verdict == "fused" or decision.saved_bytes is None or gpu is None or gpu.calibration is None:
        return plain
    a, b = (side_of(end, calls, graphs) for end in decision.ends)
    if a is None or b is None or decision.a_call == decision.b_call is not None:
        return plain
    # A tile of a GEMM has a part of a row: a kernel of its own would still bring the parts of a reduction together.
    reduces = a.library != b.library and (b if a.library else a).work.reduced
    expected = None if reduces else expected_us(gpu, a, b, decision.saved_bytes)
    if expected is not None and {decision.a_call, decision.b_call} <= calls.keys():
        expected = min(expected, most_us(gpu, a, b, decision.saved_bytes))
    return replace(decision, expected_us=expected)


def expected_us(gpu: Gpu, a: Side, b: Side, saved_bytes: int) -> float | None:
    """Both kernels' device time less the fused one's; `None` where it is not positive or a library's time is unknown."""
    first, second = (side.known_us or (None if side.library else generated_us(gpu, side.work)) for side in (a, b))
    if first is None or second is None or (a.library and b.library):
        return None
    num_bytes = max(0, a.work.num_bytes + b.work.num_bytes - saved_bytes)
    if a.library or b.library:
        # The library's kernel keeps its time and moves what the other side alone moves besides.
        own = max(0, num_bytes - (a if a.library else b).work.num_bytes)
        fused = (first if a.library else second) + moving_us(gpu, own)
    else:
        longer = a.work if a.work.elements > b.work.elements else b.work
        kept = num_bytes / max(1, a.work.num_bytes + b.work.num_bytes)
        shares = dict.fromkeys(("slow_ops", "slowest_ops", "trig_ops", "reduced", "statements"), 1.0)
        shares |= dict.fromkeys(("requests", "sectors"), kept)
        counts = {key: round(share * (getattr(a.work, key) + getattr(b.work, key))) for key, share in shares.items()}
        family = "reduction" if counts["reduced"] else "pointwise"
        fused = generated_us(gpu, replace(longer, family=family, num_bytes=num_bytes, **counts))
        by_model = sum(generated_us(gpu, side.work) for side in (a, b))
        if (a.predicted or b.predicted) and by_model:
            # Two predictions less one of coarser facts would be the facts' difference: it is put to their scale.
            fused *= (first + second) / by_model
    saved = first + second - fused
    return saved if saved > 0 else None


def most_us(gpu: Gpu, a: Side, b: Side, saved_bytes: int) -> float:
    """Return what one kernel for both can save of compiled kernels' times: the shorter one, and the time of the traffic that
    goes. What else the longer one does (a sort, random numbers) is still done. An eager op's kernel may be slower than
    what Inductor would write in its place: nothing is known of that.
    """
    if a.known_us is None or b.known_us is None:
        return inf
    return min(a.known_us, b.known_us) + moving_us(gpu, saved_bytes)


def moving_us(gpu: Gpu, num_bytes: int) -> float:
    """Device time in µs of traffic in a kernel that runs anyway."""
    empty = Workload(family="pointwise")
    return generated_us(gpu, replace(empty, num_bytes=num_bytes)) - generated_us(gpu, empty)


def nodes_of(end: DecisionEnd, graphs: Mapping[str, Mapping[str, Node]]) -> list[Node]:
    known = graphs.get(end.graph, {})
    return [known[name] for name in end.nodes if name in known]


def time_of(call: KernelCall | None, nodes: Sequence[Node]) -> float | None:
    """The device time in µs of a kernel call, measured or on a target predicted, or of eager ops; `None` if not known."""
    if call is not None:
        return call.timing.mean_us if call.timing else call.estimated_us if _is_predicted(call) else None
    return known_sum(node.timing.mean_us if node.timing else None for node in nodes) if nodes else None


def _is_predicted(call: KernelCall) -> bool:
    return call.timing is None and call.estimated_range_us is not None


def side_of(end: DecisionEnd, calls: Mapping[str, KernelCall], graphs: Mapping[str, Mapping[str, Node]]) -> Side | None:
    """Gather one side's facts from its kernel call, or from its eager ops; `None` where its traffic is not known."""
    mine = nodes_of(end, graphs)
    call = calls.get(end.call or "")
    nodes = mine if call is None else nodes_of(DecisionEnd(call.nodes, call.graph, call.id), graphs)
    devices = [call.device] if call is not None else [item.device for node in nodes for item in node.outputs]
    traffic = [(item.bytes_read, item.bytes_written) for item in (nodes if call is None else [call])]
    unknown = (None, None) in traffic or (call is None and (not nodes or None in sum(traffic, ())))
    if unknown or any((device or "").startswith("cpu") for device in devices):
        return None
    targets = [node.target for node in nodes]
    reductions = sum(map(op_names.reductions, targets))
    elements = max((numbers(*(item.shape or ())) or 0 for node in nodes for item in node.outputs), default=0)
    reductions = reductions if call is None else max(reductions, int("reduction" in call.type))
    work = Workload(
        family="reduction" if reductions else "pointwise",
        num_bytes=sum((read or 0) + (written or 0) for read, written in traffic),
        elements=elements,
        outer=min(elements, 4096),  # enough rows for all multiprocessors
        statements=len(nodes),
        slow_ops=sum(op_names.evaluates(target, "transcendental") for target in targets),
        slowest_ops=sum(op_names.evaluates(target, "error_function") for target in targets),
        trig_ops=sum(op_names.evaluates(target, "trigonometric") for target in targets),
        reduced=reductions,
    )
    return Side(
        work=work,
        known_us=time_of(call, mine),
        predicted=call is not None and _is_predicted(call),
        library=any(map(is_library, targets)) if call is None else call.type in _OTHERS,
    )


def stood_in_for(decision: Decision, recording: Recording) -> list[str]:
    """Name the kinds of kernels that a fused one would replace, of which no pair was measured."""
    index = index_of(recording)
    types = []
    for end in decision.ends:
        call = index.calls.get(end.call or "")
        runs_library = call is None and any(is_library(node.target) for node in nodes_of(end, index.nodes))
        types.append("extern" if runs_library else call.type if call else "")
    return [*dict.fromkeys(_OTHERS[each] for each in types if each in _OTHERS)]


def is_library(target: str) -> bool:
    """Return whether a library's kernel runs the op, which no generated pointwise or reduction kernel replaces."""
    return op_names.is_gemm(target) or op_names.is_convolution(target) or op_names.is_attention(target)
