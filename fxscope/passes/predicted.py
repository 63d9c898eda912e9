"""Predict a planned step: the device's time, the CPU's, and which of the two limits it; its interval is `StepFit`'s."""

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from fxscope.dtypes import ITEM_BYTES
from fxscope.gpus import Gpu
from fxscope.gpus.calibration import CpuFit
from fxscope.gpus.prediction import fit_of
from fxscope.index import index_of, kept
from fxscope.model import Compile, Decision, KernelCall, PredictedStep, Recording, Workload, replace
from fxscope.text import percent


def of_dtype(work: Workload, dtype: str) -> Workload:
    """The workload with its dtype, where the code does not say it (and traffic was counted at two bytes)."""
    return replace(work, dtype=dtype, num_bytes=work.num_bytes * ITEM_BYTES.get(dtype, 2) // 2)


def as_run(calls: Iterable[KernelCall], compiles: Iterable[Compile]) -> list[KernelCall]:
    """The calls of a plan as a step runs them: those of a graph that several modules share more than once."""
    runs = runs_of(compiles)
    graphs = [(graph, list(group)) for graph, group in groupby(calls, lambda call: call.graph)]
    return [call for graph, group in graphs for _ in range(runs(graph)) for call in group]


def runs_of(compiles: Iterable[Compile]) -> Callable[[str], int]:
    runs = {item.compile_id: 1 if item.runs is None else item.runs for item in compiles}
    return lambda graph: runs.get(graph.partition(":")[0], 1)


def runs_a_step(recording: Recording, call_id: str | None) -> float:
    """Return how often a step runs a call, as traced, else as planned; 0.5 where every other step does. No call: once."""
    call = index_of(recording).calls.get(call_id or "")
    if call is None:
        return 1
    if call.timing is None:
        return kept(recording, "runs", lambda item: runs_of(item.compiles))(call.graph)
    return call.timing.count / index_of(recording).num_steps if recording.launches else 1


def pair_runs(recording: Recording, decision: Decision) -> float:
    if ends := [call for call in (decision.b_call, decision.a_call) if call]:
        calls = index_of(recording).calls
        timed = [end for end in ends if end in calls and calls[end].timing is not None]
        return min(runs_a_step(recording, end) for end in timed or ends[:1])
    index = index_of(recording)
    nodes = [index.node((end.graph, name)) for end in decision.ends for name in end.nodes]
    return min((node.timing.count / index.num_steps for node in nodes if node and node.timing), default=1.0)


def predicted_step(calls: Sequence[KernelCall], gpu: Gpu | None, *, replays: bool = True) -> PredictedStep | None:
    """Predict a step that runs each call as often as given, with CUDA graphs if it `replays`; `None` if a call has no time."""
    on_device = [call for call in calls if not (call.device or "").startswith("cpu")]
    timed = [(call, call.estimated_us or 0.0, call.estimated_range_us) for call in on_device]
    if gpu is None or gpu.calibration is None or not timed:
        return None
    calibration = gpu.calibration
    step, low, high, unlike = calibration.step, 0.0, 0.0, 0.0
    factor = step.factor if step is not None else 1.0
    for call, us, interval in timed:
        if interval is None:
            return None
        stretch = math.inf if call.workload is None else fit_of(calibration, call.workload)[-1]
        is_unlike = math.isinf(stretch)
        low += interval[0] if is_unlike else us / factor**stretch
        high += interval[1] if is_unlike else us * factor**stretch
        unlike += us * is_unlike
    total = sum(us for _, us, _ in timed)
    if step is None:  # calibrated without programs: nothing is known of sums
        basis = f"the sum of the calls; no whole program was measured on the {gpu.name}"
        return PredictedStep(device_us=total, device_range_us=None, num_calls=len(on_device), basis=basis)
    cpu = cpu_range(on_device, calibration.cpu)
    replayed = calibration.replay_us * len(on_device) if replays and calibration.replay_us is not None else None
    return PredictedStep(
        device_us=total,
        device_range_us=(low, high),
        num_calls=len(on_device),
        cpu_range_us=cpu,
        wall_range_us=(max(low, cpu[0]), max(high, cpu[1])) if cpu is not None else None,
        replay_range_us=(low + replayed, high + replayed) if replayed is not None else None,
        bound=None if cpu is None else "gpu" if low > cpu[1] else "cpu" if high < cpu[0] else None,
        basis=f"the sum of the calls; the range holds 80 of 100 among {step.count} programs measured on the {gpu.name}, of "
        "kinds left out of the fit"
        + (f"; {percent(unlike / total)} of the time is outside what was measured" if unlike > 0.1 * total else ""),
    )


def cpu_range(calls: Sequence[KernelCall], fit: CpuFit | None) -> tuple[float, float] | None:
    """The range of the CPU's time for a step, on a machine as the one that was measured."""
    if fit is None:
        return None
    generated = sum(not call.is_extern for call in calls)
    first = {call.graph: call.id for call in reversed(calls)}
    graphs = [call.graph for call in calls if call.id == first[call.graph]]  # one that runs twice stands here twice
    backward = sum(":backward" in graph for graph in graphs)
    time = len(graphs) * fit.graph_us + backward * fit.backward_us + generated * fit.generated_us
    time += (len(calls) - generated) * fit.library_us
    return time * fit.low, time * fit.high
