"""Advice on what to try first, by what it can gain at most, and the commands that go on from a report."""

from __future__ import annotations

import math
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fxscope import gpus
from fxscope.analysis.select import place
from fxscope.analysis.traced_regions import hides_kernels, is_compiled, runs_other_backend
from fxscope.columns import array, column, distinct, marked, rows_of
from fxscope.index import index_of
from fxscope.model import Gap, Item, Recording
from fxscope.op_names import is_gemm, is_pointwise, op_name
from fxscope.text import counted, kernel_name, listed, microseconds, of_roof, percent, shorten, shorten_front

if TYPE_CHECKING:
    from fxscope.analysis.report import Report, StepRow

VIEW_ALL = "fxscope view RECORDING --all"
BETWEEN_REPLAYS = "Look at what the CPU does between replays"
EAGER_OPS = "Compile the ops that run eagerly"
NO_GAIN = "record_fusion_log"  # a hint that saves no time
BY_COMPILING = ("compile", "compile_template")  # hints to compile eager code
MIN_SHARE = 0.02  # of a step: what gains less is no advice
MIN_ATTENTION = MIN_COPIES = 0.1  # of the device time, in attention that is written out, or in eager copies
MAX_NAMES = 50  # characters of the names in a command
MIN_LONG_IDLE = 0.2  # of a step: time in long gaps that is worth a look where the CPU is not the limit
LONG_IDLE_NS = 1_000_000  # an op takes the CPU some 5 to 200 µs: the launch of one kernel explains no longer idle time
_CONVERTS = re.compile(r"nchwToNhwc|nhwcToNchw")  # cuDNN's kernels that convert layouts
MATH_PATH = "aten::_scaled_dot_product_attention_math"  # the kernels of attention one by one
_MOST_SLOWED = 2.0  # times a step without a profiler: the gaps of slower profiled steps are not those of the others
WAITED = "; where a schedule has ended its steps, the trace is the one in on_trace_ready"
LOADER = "enumerate(DataLoader)#"  # torch.utils.data.dataloader marks each wait for a batch
LARGE_SHARE, LOW_ROOF = 0.5, 0.5  # of the device time, and of the roof: a kernel to look at first
HAVE_FUSED = ("Adam", "AdamW", "SGD")  # optimizers with fused=True on a GPU (torch 2.11)
NEVER_COMPILED = ("SparseAdam", "LBFGS")  # torch/_dynamo/eval_frame.py, `excluded_optimizer_classes` (torch 2.11)


class Advice(Item, frozen=True):
    """Something to try, and what it can gain at most per step."""

    text: str
    why: str
    gain_us: float | None = None


def advise(recording: Recording, made: Report) -> list[Advice]:
    """Return what to try: what keeps code from being compiled, then by what it can gain at most."""
    step = made.step
    failed = list(_failure_advice(made))
    found = [*failed, *_compile_advice(made)]
    if not failed or is_compiled(recording):
        found += list(_idle_advice(recording, made)) or list(_eager_advice(recording, made))
    found += [*_sync_advice(recording, made), *_optimizer_advice(made)]
    found += list(_loading_advice(recording, made)) or _outside_advice(recording, made)
    found += [*_precision_advice(recording, made), *_layout_advice(recording, made)]
    found += [*_communication_advice(recording, made), *_attention_advice(recording, made), *_dtype_advice(made)]
    found += _fusion_advice(made)
    least = MIN_SHARE * (step.wall_us or step.device_us or 0.0)
    kept_ = [item for item in found if item.gain_us is None or item.gain_us >= least]
    in_order = sorted(kept_, key=lambda item: (item.gain_us is not None, -(item.gain_us or 0.0)))
    return in_order or list(_last_advice(recording, made))


def _fusion_advice(made: Report) -> Iterator[Advice]:
    """The missed fusion that costs most, of those that a switch of the compiler may fuse."""
    for row in made.missed:
        if row.time_us and row.hint_code not in (None, *BY_COMPILING, NO_GAIN):
            total = next((item.time_us for item in made.brackets if item.number == row.bracket), row.time_us)
            why = f"{row.hint}; saves ~{microseconds(row.time_us)} (estimate)"
            yield Advice(f"Fuse {row.producer} → {row.consumer} ×{row.count}", why, total or row.time_us)
            return


def _last_advice(recording: Recording, made: Report) -> Iterator[Advice]:
    """Say what to look at where no change is known that saves time: idle time, then a kernel far below its roof."""
    step = made.step
    is_trace = bool(recording.steps) and not step.ops  # of a profiler that waited
    if not recording.launches and (recording.step_times is not None or is_trace):
        problem = f": {made.problems[0]}" if made.problems else WAITED if is_trace else ""
        yield Advice("Record again", f"no kernel was observed{problem}")
        return
    top = next((row for row in made.kernels if row.share), None)
    if top is None or step.wall_us is None:
        return
    found = list(_launch_advice(recording, made)) if step.bound == "neither" and not step.is_whole else []
    yield from found
    roof = f" at {of_roof(top.roof, 'its roof')}" if top.roof is not None else ""
    why = f"takes {percent(top.share)} of the {step.clock}{roof}"
    if top.roof is not None and top.roof < LOW_ROOF and (top.share or 0.0) >= LARGE_SHARE and step.bound != "cpu":
        yield Advice(f"Look at {top.label} first", f"it {why}")
    elif not found:
        yield Advice("Nothing stands out", f"{top.label} {why}")


def _loading_advice(recording: Recording, made: Report) -> Iterator[Advice]:
    """Advise workers where torch's DataLoader takes much of a step that the device does not limit."""
    loading: Counter[int] = Counter()
    rows = marked(recording.ops, "name", lambda name: name.startswith(LOADER)).nonzero()[0].tolist()
    loaders = set(column(recording.ops, "name", rows))
    for step, took_ns in rows_of(recording.ops, "step", "duration_ns", which=rows):
        loading[step] += took_ns
    loading_us = median(loading[step] for step in index_of(recording).steps) / 1e3
    share = min(1.0, loading_us / made.step.wall_us) if made.step.wall_us else 0.0
    if share >= MIN_LONG_IDLE and made.step.bound != "gpu" and made.step.wall_us is not None:
        why = f"the DataLoader takes {percent(share)} of {'the run' if made.step.is_whole else 'a step'}"
        text = "More workers" if any("MultiProcessing" in name for name in loaders) else "Load data in workers"
        yield Advice(f"{text}, DataLoader(num_workers=…)", why, share * made.step.wall_us)


def _outside_advice(recording: Recording, made: Report) -> Iterator[Advice]:
    """Name the program's line at the longest time without a kernel, where such times are much of a step on a CPU."""
    index = index_of(recording)
    own_ns = {step.index: step.duration_ns - 1e3 * index.compiling_us.get(step.index, 0.0) for step in recording.steps}
    steps = sorted((item for item in recording.steps if item.index in index.steps), key=lambda item: own_ns[item.index])
    if not made.step.on_cpu or hides_kernels(recording) or len(steps) < 2 or made.step.wall_us is None:
        return  # a first step has start-up
    step = steps[len(steps) // 2]
    fields = "step", "start_ns", "duration_ns", "graph", "nodes"
    compiles = ((at, start, took, "", ()) for start, took, at, _ in index.compiles)  # left out of a step's wall time
    every = (*rows_of(recording.launches, *fields), *compiles)
    rows = sorted((row for row in every if row[0] == step.index), key=lambda row: row[1])
    nodes = [index.node((graph, next(iter(names), ""))) for *_, graph, names in rows]
    places = [*((node and place(node.source)) or "" for node in nodes), ""]  # a backward op may have no line
    latest = [*accumulate(places[:-1], lambda last, at: at or last, initial="a step begins")]
    where = [f"before {at}" if at else f"after {last}" for at, last in zip(places, latest, strict=True)]
    ends = list(accumulate((start + took for _, start, took, *_ in rows), max, initial=step.start_ns))
    starts = (*(start for _, start, *_ in rows), step.start_ns + step.duration_ns)
    gaps = [start - end for start, end in zip(starts, ends, strict=True)]
    long_ns = sum(gap for gap in gaps if gap >= LONG_IDLE_NS)
    share = min(1.0, long_ns / max(1, own_ns[step.index]))
    if share >= MIN_LONG_IDLE:
        why = f"no kernel runs in {percent(share)} of a step, in gaps ≥ 1 ms, the longest there"
        yield Advice(f"Look at what the program does {where[gaps.index(max(gaps))]}", why, long_ns / 1e3)


def _idle_advice(recording: Recording, made: Report) -> Iterator[Advice]:
    """Advise CUDA graphs where the device waits for the CPU, unless most of the idle time is too long for launches."""
    step = made.step
    if step.bound == "gpu" or not step.idle_us or step.on_cpu:
        return
    long_us, longest = _long_idle(recording, step)
    if step.bound == "unknown":
        why = f"the GPU idles {microseconds(step.idle_us)}, and no launch shows what it waits for"
        yield Advice("Record the launches, too", why, step.idle_us)
    elif step.bound == "cpu" and long_us <= step.idle_us / 2:
        yield from _launch_advice(recording, made)
    elif step.bound in ("cpu", "queued") or long_us >= MIN_LONG_IDLE * (step.wall_us or 0.0):
        after = longest.after if longest else None
        label = next((group.label for group in made.groups if after in group.kernels), after and kernel_name(after, 40))
        waits = "delays launched work" if step.bound == "queued" else "the CPU does"
        text = f"Look at what {waits} {f'before {shorten(label, 40)}' if label else 'after the last kernel'}"
        share = percent(min(1.0, long_us / step.idle_us))
        why = f"{share} of the idle time is in gaps ≥ 1 ms, the longest there"
        if step.bound == "queued":
            why += "; possible causes: an event, another stream or process, kernels that the trace lacks"
        elif longest and longest.during:
            why += f", while the CPU is in {shorten_front(longest.during.removeprefix(LOADER), 48)}"
        yield Advice(text, why, long_us if step.bound == "neither" else step.idle_us)


def _sync_advice(recording: Recording, made: Report) -> Iterator[Advice]:
    """Advise against `.item()` in a step whose device idles: each call waits for all work that was launched before it."""
    rows, step = [row for row in made.groups if row.label == "local_scalar_dense"], made.step
    number = sum(row.count for row in rows)
    if number > 1 and step.bound != "gpu" and (step.idle_us or 0.0) >= MIN_LONG_IDLE * (step.wall_us or 0.0):
        nodes = [index_of(recording).node(key) for row in rows for key in row.nodes]
        lines = Counter(filter(None, (place(node.source) for node in nodes if node))).most_common(1)
        why = f"the CPU waits for the GPU {number:,} times" + (f", most at {lines[0][0]}" if lines else "")
        copies = marked(recording.launches, "op", lambda op: op is not None and op_name(op) == "_local_scalar_dense")
        yield Advice("Avoid .item()", why, min(step.idle_us or 0.0, _idle_behind(recording, copies)))


def _idle_behind(recording: Recording, launches: NDArray[np.bool_], *, least_us: float = 0.0) -> float:
    """Return the time in µs of a step in which the device idles right after some launches, at least so long each time."""
    every, index = recording.launches, index_of(recording)
    rows = np.argsort(array(every, "start_ns"), kind="stable")
    starts, steps = array(every, "start_ns")[rows], array(every, "step")[rows]
    busy_until = np.maximum.accumulate(starts + array(every, "duration_ns")[rows])
    idle_us = np.append(starts[1:] - busy_until[:-1], 0).clip(0) / 1e3
    counts = launches[rows] & np.isin(steps, index.steps) & (idle_us >= least_us)
    sums = np.bincount(steps[counts], idle_us[counts], max(index.steps, default=0) + 1)
    return float(np.median(sums[list(index.steps)]))


def _launch_advice(recording: Recording, made: Report) -> Iterator[Advice]:
    """Advise to launch with less work of the CPU: by compiling what runs eagerly, or by CUDA graphs."""
    step = made.step
    if not step.idle_us:
        return
    why = f"the GPU idles {microseconds(step.idle_us)} of {'the run' if step.is_whole else 'each step'}"
    total = sum(row.launches for row in made.kernels) if recording.calls else 0.0  # a bare trace knows no calls
    eager = sum(row.launches for row in made.kernels if not row.calls) / total if total else 0.0
    if (made.cuda_graphs.share or 0.0) >= 0.5:
        text = BETWEEN_REPLAYS
    elif eager > 0.5:
        text = EAGER_OPS
        why += f", and {percent(eager)} of the launches are theirs"
    elif made.breaks and is_compiled(recording):
        return
    elif made.serving is not None:
        text = "Enable CUDA graphs in the engine, for the passes below"
    else:
        compiled = 'mode="reduce-overhead" (CUDA graphs)'
        text = compiled if is_compiled(recording) else 'torch.compile(mode="reduce-overhead")'
        why += f" while the CPU makes {counted(round(step.launch_calls or step.launches), 'launch', 'launches')}"
    yield Advice(text, why, step.idle_us)


def gaps_of_step(recording: Recording) -> tuple[float, list[Gap]]:
    """Return the wall time in µs of the profiled step with the median one, and its idle times, the longest first."""
    walls = sorted((item.wall_us, item.step) for item in index_of(recording).step_stats)
    wall_us, step = walls[len(walls) // 2] if walls else (0.0, None)
    return wall_us, [gap for gap in recording.summary.gaps if gap.step == step] if walls and recording.summary else []


def _long_idle(recording: Recording, step: StepRow) -> tuple[float, Gap | None]:
    """Return the idle time in long gaps of the median step in µs, and the longest of them.

    Gaps are put to the scale of the steps that nobody watched; those of a step that was slowed down more are not theirs.
    The ends of a whole run, where the program may do other work, count only where the CPU is the limit.
    """
    profiled_us, gaps = gaps_of_step(recording)
    gaps = [gap for gap in gaps if step.bound != "neither" or not step.is_whole or (gap.before and gap.after)]
    scale = min(1.0, (step.wall_us or 0.0) / (profiled_us or 1.0))
    least_ns = LONG_IDLE_NS / scale if scale * _MOST_SLOWED >= 1.0 else math.inf
    long = [gap for gap in gaps if gap.duration_ns >= least_ns]
    every = np.ones(len(recording.launches), bool)  # the table of gaps holds the longest alone
    long_us = max(sum(gap.duration_ns for gap in long) / 1e3, _idle_behind(recording, every, least_us=least_ns / 1e3))
    return min(long_us * scale, step.idle_us or 0.0), next(iter(long or gaps), None)


def _eager_advice(recording: Recording, made: Report) -> Iterator[Advice]:
    if is_compiled(recording) and not recording.calls:  # a bare trace: which of its launches are eager is unknown
        return
    rows = [row for row in made.groups if not row.calls and row.phase != "optimizer"]
    rows = [row for row in rows if row.ops and all(map(is_pointwise, row.ops))]
    time_us = sum(row.time_us or 0.0 for row in rows)
    share = time_us / made.step.device_us if made.step.device_us else 0.0
    if share >= MIN_SHARE:
        names = listed(list(dict.fromkeys(row.label for row in rows)), 3)
        why = f"{percent(share)} of the {made.step.clock} is in pointwise ops that Inductor can fuse ({names})"
        saved = sum(row.time_us or 0.0 for row in made.missed if row.hint_code in BY_COMPILING)
        text = 'torch.compile(backend="inductor")' if runs_other_backend(recording) else "torch.compile"
        yield Advice(EAGER_OPS if is_compiled(recording) else text, why, saved or time_us)


def _attention_advice(recording: Recording, made: Report) -> Iterator[Advice]:
    """One attention kernel in place of bmm, softmax and bmm, where these run eagerly and take much of the time."""
    rows = {row.label: row for row in made.kernels if row.phase in (None, "forward") and not row.calls}
    softmax, bmm = rows.get("softmax"), rows.get("bmm")
    if softmax and bmm and bmm.count >= 2 * softmax.count:
        share = (softmax.share or 0.0) + (bmm.share or 0.0)
        text, end = "F.scaled_dot_product_attention", "; if that is attention, one kernel computes it"
        if MATH_PATH in distinct(recording.ops, "name"):
            text, end = f"Let {text} run a fused kernel", " of its math path: see its mask, dropout and dtype"
        if share >= MIN_ATTENTION:
            why = f"{percent(share)} of the {made.step.clock} is in softmax and bmm{end}"
            yield Advice(text, why, softmax.time_us or 0.0)


def _dtype_advice(made: Report) -> Iterator[Advice]:
    """One layout and dtype, where copies take much of the time; float32, where float64 does. A Memcpy changes neither."""
    copies = [row for row in made.groups if row.label == "copy_" and row.outside != "unknown" and not row.calls]
    copies = [row for row in copies if not "".join(row.kernels).startswith("Memcpy")]
    double = [row for row in made.groups if (row.shape or "").startswith("float64")]
    for text, what, rows in (("Keep one layout and dtype", "copy_", copies), ("Use float32", "float64", double)):
        time_us = sum(row.time_us or 0.0 for row in rows)
        if made.step.device_us and time_us >= MIN_COPIES * made.step.device_us:
            why = f"{what} takes {percent(time_us / made.step.device_us)} of the {made.step.clock}"
            yield Advice(text, why, time_us)


def _communication_advice(recording: Recording, made: Report) -> Iterator[Advice]:
    steps = index_of(recording).step_stats
    exposed = median([item.exposed_communication_us or 0.0 for item in steps]) if steps else 0.0
    wall = median([item.wall_us for item in steps]) if steps else 0.0
    if wall and exposed >= MIN_LONG_IDLE * wall:
        whole = "the run" if made.step.is_whole else "each step"
        part = f"{microseconds(exposed)} ({percent(exposed / wall)}) of {whole}"
        why = f"{part} is exposed communication: transfer, or waiting for a late rank"
        yield Advice("Compare the ranks (fxscope fleet FOLDER), then overlap communication", why, exposed)


def _optimizer_advice(made: Report) -> Iterator[Advice]:
    rows = [row for row in made.kernels if row.phase == "optimizer" and "fused" not in row.label.lower()]
    names = dict.fromkeys(name for row in rows if (name := row.label.partition(" ")[0]) not in NEVER_COMPILED)
    rows = [row for row in rows if row.label.partition(" ")[0] in names]
    if rows and made.step.device_us:
        time_us, launches = sum(row.time_us or 0.0 for row in rows), sum(row.launches for row in rows)
        have_fused = [f"{name}(fused=True)" for name in names if name in HAVE_FUSED]
        text = ", or ".join([*([listed(have_fused, 2)] if have_fused else []), "compile the optimizer step"])
        yield Advice(text[0].upper() + text[1:], f"{microseconds(time_us)} in {launches:,.0f} launches", time_us)


def _compile_advice(made: Report) -> Iterator[Advice]:
    failed = {row.where for row in made.failures[:1]}
    if made.step.compiling_us > (made.step.wall_us or 0.0) and not made.recompiles:
        yield Advice("Record again after the compile", "most of the time is compiling")
    # A break of torch's own has no hint: one that is between no two kernels costs nothing that a user can avoid.
    breaks = [row for row in made.breaks if row.where not in failed and (row.hints or row.cost_us)]
    for row in sorted(breaks, key=lambda row: not row.hints)[:1]:
        yield Advice(f"Remove the graph break at {row.where}", row.reason)
    for row in [row for row in made.recompiles if row.where not in failed][:1]:
        cost = f", {microseconds(row.cost_us)} of compiling" if row.cost_us is not None else ""
        yield Advice(f"Stop the recompiles of {row.where}", f"×{row.count}{cost}; {next(iter(row.hints), row.reason)}")


def _failure_advice(made: Report) -> Iterator[Advice]:
    """Advice for the first compile that made no graph: to stop recompiles that reached the limit, else torch's hint."""
    for row in made.failures[:1]:
        guard = next((item.reason for item in made.recompiles if item.where == row.where), None)
        text = f"Stop the recompiles of {row.where}" if guard else f"Let torch.compile compile {row.where}"
        after = guard or " ".join(row.hints[:1])
        yield Advice(text, f"it is not compiled: {row.reason}{'. ' if after else ''}{after}")


def _precision_advice(recording: Recording, made: Report) -> Iterator[Advice]:
    """TF32, where float32 GEMMs take the time of a GPU that has it and the program did not ask for less precision."""
    gpu = gpus.find(recording.environment.device)
    rates = [gpu.matrix_rate(dtype) for dtype in ("float32", "tfloat32")] if gpu is not None else []
    exact = recording.environment.float32_matmul_precision == "highest"
    if made.step.bound == "cpu" or not exact or len(rates) < 2 or None in rates:
        return
    slow, fast = (rate.value for rate in rates if rate is not None)
    gemms = [group for group in made.groups if any(map(is_gemm, group.ops))]
    found = [group.time_us or 0.0 for group in gemms if (group.shape or "").startswith("float32")]
    if found:
        why = f"float32 GEMMs take {microseconds(sum(found))}; products then keep 10 bits of the mantissa"
        text = 'torch.set_float32_matmul_precision("high") (TF32)'
        yield Advice(text, why, sum(found) * (1 - slow / fast))


def _layout_advice(recording: Recording, made: Report) -> Iterator[Advice]:
    """Channels last, where cuDNN converts between layouts around its kernels."""
    kernels = recording.summary.kernels if recording.summary is not None else ()
    total = sum(item.total_us for item in kernels)
    found = [item for item in kernels if _CONVERTS.search(item.name)]
    if made.step.bound != "cpu" and found and made.step.device_us:
        time_us = sum(item.total_us for item in found) / total * made.step.device_us
        number = sum(item.count for item in found) / max(1, made.step.steps + made.step.left_out)
        why = f"cuDNN converts layouts in {counted(round(number), 'kernel')}, {microseconds(time_us)}"
        yield Advice("memory_format=torch.channels_last (channels_last_3d in 3-D)", why, time_us)


def quoted(name: str) -> str:
    return name if re.fullmatch(r"[\w.,:/@·…-]+", name) else shlex.quote(name)


def next_commands(made: Report) -> list[str]:
    """Commands that go on from here; RECORDING stands for the input."""
    pairs = [" ".join(map(quoted, row.names)) for row in made.missed if row.names and row.is_possible]
    short = [f"fxscope why RECORDING {pair}" for pair in pairs if len(pair) < MAX_NAMES]
    return [*short[:1], VIEW_ALL, "fxscope view RECORDING -o page.html"]
