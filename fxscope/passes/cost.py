"""Each kernel call and each eager op against the device's limits: bytes, FLOPs, and how near to the roof it ran.

Limits come from `gpus/*.json` (measured, where the file says so); on a device without limits every share is null. A floor
is what no version of the same work can beat: the bytes at the memory's rate (on a calibrated GPU at the L2 cache's, as far as
they fit there), or the FLOPs at the measured matrix rate, whichever takes longer.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from fxscope import gpus, op_names
from fxscope.columns import array, distinct, marked, picked, rows_of, with_columns
from fxscope.gpus import Gpu
from fxscope.gpus.calibration import Prediction
from fxscope.gpus.prediction import predict, traffic_floor_us
from fxscope.index import index_of, known_sum, reachable
from fxscope.model import Bound, Graph, KernelCall, Node, Recording, Roof, Timing, Workload, replace
from fxscope.passes import flops as counted
from fxscope.passes.fusion import rank
from fxscope.passes.predicted import as_run, of_dtype, pair_runs, predicted_step
from fxscope.passes.unfused import priced
from fxscope.text import rate as per_second


class Limits(NamedTuple):
    gpu: Gpu
    bytes_per_second: float
    basis: str
    launch_us: float | None = None  # what one launch takes of the CPU in this recording

    def memory_us(self, num_bytes: float) -> float:
        """Time below which these bytes cannot be moved: through the caches on a calibrated GPU, else from memory alone."""
        calibrated = self.gpu.calibration is not None
        return traffic_floor_us(self.gpu, num_bytes) if calibrated else num_bytes / self.bytes_per_second * 1e6


def cost(recording: Recording) -> Recording:
    """Recording → Recording with a roof per call and eager op, a lower bound in µs per unfused pair, and estimates."""
    limits = find_limits(recording)
    calls = tuple(
        cost_of_call(call, index_of(recording).nodes.get(call.graph, {}), limits, recording) for call in recording.calls
    )
    costed = tuple(
        cost_of_graph(graph, limits, recording) if graph.stage == "eager" else graph for graph in recording.graphs
    )
    index = index_of(replace(recording, calls=calls, graphs=costed))
    gpu = limits.gpu if limits is not None else None
    predicted = recording.predicted
    if recording.environment.target and not recording.launches and gpu is not None and not recording.is_partial:
        replays = not any(item.cudagraph_skip for item in recording.compiles)
        predicted = predicted_step(as_run(calls, recording.compiles), gpu, replays=replays)
    decisions = [priced(item, gpu, index.calls, index.nodes) for item in recording.decisions]
    decisions.sort(key=lambda item: rank(item, pair_runs(recording, item)))
    return replace(recording, calls=calls, graphs=costed, predicted=predicted, decisions=tuple(decisions))


def find_limits(recording: Recording) -> Limits | None:
    environment = recording.environment
    target = (environment.target or "").lower()
    gpu = gpus.load(target) if gpus.known(target) else gpus.find(environment.device)
    rate = gpu.bandwidth() if gpu is not None else None
    if gpu is None or rate is None:
        return None
    return Limits(gpu, rate.value, f"{per_second(rate.value)}, {gpu.basis(rate)}", launch_time(recording))


def launch_time(recording: Recording) -> float | None:
    """The median CPU time of the runtime calls that launched something here, in µs."""
    launches, ops = recording.launches, recording.ops
    launched = array(launches, "correlation")[marked(launches, "category", "kernel".__eq__)]
    calls = marked(ops, "category", "runtime".__eq__)
    calls[calls] = np.isin(array(ops, "correlation")[calls], launched[launched >= 0])
    return float(np.median(array(ops, "duration_ns")[calls])) / 1e3 if calls.any() else None


def cost_of_call(
    call: KernelCall, graph: Mapping[str, Node], limits: Limits | None, recording: Recording
) -> KernelCall:
    products = products_of(call, graph, recording)
    launches = index_of(recording).launches_of_call.get(call.id, ())
    flops = counted.of_nodes(products, graph)
    targets, kernels = [graph[name].target for name in products], {launch.name for launch in launches}
    dtype = counted.arithmetic(dtype_of(call, graph), targets, kernels, tf32=multiplies_by_tf32(recording))
    num_bytes = None
    if call.bytes_read is not None or call.bytes_written is not None:
        num_bytes = (call.bytes_read or 0) + (call.bytes_written or 0)
    on_cpu = (call.device or "").startswith("cpu")
    # nothing is launched from the CPU in a replay of a CUDA or HIP graph
    if limits is not None and any(
        item.cuda_graph is not None or any("GraphLaunch" in name for name in item.runtime) for item in launches
    ):
        limits = limits._replace(launch_us=None)
    certain = counted.of_nodes(products, graph, certain=True)
    uncounted = flops is None and (bool(products) or may_multiply(call, graph))
    roof = roof_of(num_bytes, certain, dtype, None if on_cpu else limits, uncounted=uncounted, timing=call.timing)
    call = replace(call, flops=flops, roof=roof)
    if limits is None and call.estimated_basis is not None:  # made with a file that is not here
        return call
    call = replace(call, estimated_us=None, estimated_range_us=None, estimated_basis=None)
    if not recording.environment.target or call.timing is not None or on_cpu:
        return call
    work = work_of(call, graph, recording)
    if work is None and num_bytes is not None:  # a roofline of its traffic and its products
        work = Workload(family="other", variant=call.kernel, num_bytes=num_bytes, flops=flops or 0)
    elif work is not None and work.family == "other":
        work = replace(work, flops=flops or 0)
    found: Prediction | str = "of this GPU nothing is known"
    if call.type == "user_triton":
        found = "generated code does not say what a user's own kernel does"
    elif limits is not None:
        found = predict(limits.gpu, work)
    if isinstance(found, Prediction):
        interval = found.low, found.high
        return replace(call, estimated_us=found.us, estimated_range_us=interval, estimated_basis=found.basis)
    floor, basis = (roof.floor_us, roof.basis) if roof is not None and call.type != "user_triton" else (None, None)
    if floor is None and limits is not None and (calibration := limits.gpu.calibration) is not None:
        floor = calibration.families["pointwise"].parameters["floor"]
        basis = f"the smallest kernels of the {limits.gpu.name}"
    words = f"lower bound: {basis}; " if floor is not None else ""
    return replace(call, estimated_us=floor, estimated_basis=f"{words}no prediction: {found}")


def work_of(call: KernelCall, graph: Mapping[str, Node], recording: Recording) -> Workload | None:
    """The workload of a call; of a matrix product with its dtype, which the code may not say."""
    work = call.workload
    if work is not None and work.m and work.dtype is None and (dtype := dtype_of(call, graph)) is not None:
        work = of_dtype(work, dtype)
    if work is not None and work.family == "gemm" and work.dtype == "float32" and multiplies_by_tf32(recording):
        work = replace(work, dtype="tfloat32")
    return work


def multiplies_by_tf32(recording: Recording) -> bool:
    """Return whether `torch.set_float32_matmul_precision` was "high" or "medium"."""
    return recording.environment.float32_matmul_precision in ("high", "medium")


def products_of(call: KernelCall, graph: Mapping[str, Node], recording: Recording) -> list[str]:
    """The nodes whose products the call computes: a bias that a kernel of its own adds makes that no convolution."""
    homes = index_of(recording).calls_of_node
    found: list[str] = []
    for name in call.nodes:
        if name not in graph or counted.first_operand(graph[name].target) is None:
            continue
        everywhere = homes.get((call.graph, name), ())
        opaque = [home for home in everywhere if home.is_extern or home.type == "triton_template"]
        if {home.code.call or home.id for home in opaque or everywhere} == {call.code.call or call.id}:
            found.append(name)
    return found


def may_multiply(call: KernelCall, graph: Mapping[str, Node]) -> bool:
    """Return whether there may be a product in code that is not Inductor's."""
    if not call.is_extern and call.type not in ("triton_template", "user_triton"):
        return False
    targets = [graph[name].target for name in call.nodes if name in graph]
    return call.type == "user_triton" or not targets or any(op_names.may_multiply(target) for target in targets)


def dtype_of(call: KernelCall, graph: Mapping[str, Node]) -> str | None:
    for name in call.nodes:
        if name in graph and (dtype := counted.dtype_of(graph[name], graph)) is not None:
            return dtype
    return next((access.dtype for access in (*(call.reads or ()), *(call.writes or ())) if access.dtype), None)


def roof_of(
    num_bytes: int | None,
    flops: int | None,
    dtype: str | None,
    limits: Limits | None,
    *,
    uncounted: bool,
    timing: Timing | None,
) -> Roof | None:
    """Hold one piece of work against the limits; rates are known without limits, shares are not.

    `flops`: that its kernel cannot skip; `uncounted`: there may be products, and their FLOPs are not known.
    """
    if num_bytes is None and flops is None:
        return None
    seconds = timing.median_us * 1e-6 if timing is not None and timing.median_us > 0 else None
    peak = limits.gpu.matrix_rate(dtype) if limits is not None and dtype else None
    memory_us = limits.memory_us(num_bytes) if limits is not None and num_bytes is not None else None
    compute_us = flops / peak.value * 1e6 if flops is not None and peak is not None else None
    floor = max((item for item in (memory_us, compute_us) if item is not None), default=None)
    bound: Bound | None = None
    if limits is not None and floor is not None:
        # Over before the CPU could launch the next one: neither memory nor arithmetic is what one waits for.
        if seconds and limits.launch_us is not None and seconds * 1e6 < limits.launch_us and floor < limits.launch_us:
            bound = "launch"
        elif not uncounted and (flops is None or compute_us is not None):
            bound = "compute" if (compute_us or 0.0) > (memory_us or 0.0) else "memory"
    basis = limits.basis if limits is not None and floor else None
    if limits is not None and peak is not None and compute_us and compute_us >= (memory_us or 0.0):
        basis = f"{per_second(peak.value, 'FLOP/s')} in {dtype}, {limits.gpu.basis(peak)}"
    return Roof(
        bound=bound,
        bytes_per_second=num_bytes / seconds if seconds and num_bytes is not None else None,
        flops=flops,
        flops_per_second=flops / seconds if seconds and flops is not None else None,
        share=floor / (seconds * 1e6) if seconds and floor is not None and not uncounted else None,
        floor_us=floor,
        basis=basis,
    )


def cost_of_graph(graph: Graph, limits: Limits | None, recording: Recording) -> Graph:
    """The graph with the cost of its kernels; one that multiplies nothing, of tensors that are not known, has none."""
    if "kernel" not in distinct(graph.nodes, "kind"):
        return graph
    multiply = {name for name in distinct(graph.nodes, "target") if counted.first_operand(name) is not None}
    products = {name for name, target in rows_of(graph.nodes, "name", "target") if target in multiply}
    parents = dict(rows_of(graph.nodes, "name", "parent"))
    above = reachable(map(parents.get, products), lambda name: [parents[name]] if name else [])
    composite = {name for name, nature in rows_of(graph.nodes, "name", "nature") if nature == "composite"}
    products -= composite & above.keys()  # they are those of the ops that it calls
    facts = enumerate(rows_of(graph.nodes, "kind", "name", "inputs", "outputs"))
    rows = [row for row, (kind, name, *known) in facts if kind == "kernel" and (any(known) or name in products)]
    by_name, tf32 = index_of(recording).nodes[graph.id], multiplies_by_tf32(recording)
    kernels = index_of(recording).runs_of_node.get(graph.id, {})
    fields = ("bytes_read", "bytes_written", "flops", "roof")
    costs: dict[str, list[Any]] = {field: [None] * len(graph.nodes) for field in fields}
    works: dict[object, tuple[int | None, int | None, int | None, partial[Roof | None]]] = {}  # layers do the same
    for row, node in zip(rows, picked(graph.nodes, rows), strict=True):
        names = tuple(kernels.get(node.name, ()))
        key = (node.target, node.arguments, node.inputs, node.outputs, names)
        if key not in works:
            works[key] = node_work(node, by_name, names, limits, tf32=tf32)
        read, written, flops, roof = works[key]
        for values, value in zip(costs.values(), (read, written, flops, roof(timing=node.timing)), strict=True):
            values[row] = value
    return replace(graph, nodes=with_columns(graph.nodes, **costs))


def node_work(
    node: Node, by_name: Mapping[str, Node], kernels: Iterable[str], limits: Limits | None, *, tf32: bool
) -> tuple[int | None, int | None, int | None, partial[Roof | None]]:
    """(Bytes read, bytes written, FLOPs, what makes the roof of a time) of an eager op that launched `kernels`."""
    first = [output for name in node.inputs if name in by_name for output in by_name[name].outputs[:1]]
    # A trace records neither which tensors flow nor what comes out: unknown, not nothing.
    read = (node.bytes_read or counted.tensor_bytes(first)) if first else None
    written = counted.tensor_bytes(node.outputs) if node.outputs else None
    flops, certain = (counted.of_node(node, by_name, certain=certain) for certain in (False, True))
    dtype = counted.dtype_of(node, by_name) or next((output.dtype for output in node.outputs), None)
    device = next((output.device for output in node.outputs if output.device), "")
    num_bytes = known_sum((read, written))
    if num_bytes is None and certain is not None:
        num_bytes = counted.factor_bytes(node, by_name, certain)
    arithmetic = counted.arithmetic(dtype, (node.target,), kernels, tf32=tf32)
    limits = None if (device or "").startswith("cpu") else limits
    uncounted = flops is None and op_names.may_multiply(node.target)
    return read, written, flops, partial(roof_of, num_bytes, certain, arithmetic, limits, uncounted=uncounted)
