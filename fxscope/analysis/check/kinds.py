"""What can be expected: one row for each kind. `fxscope check --kinds` prints them."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Literal, NamedTuple

from fxscope.analysis.check import counts, fusion, kernels, times
from fxscope.model import KERNELS

Takes = Literal["number", "table", "number or table", "names", "own"]


class Kind(NamedTuple):
    """One thing that can be expected, and how it is read."""

    takes: (
        Takes  # a number; what is expected at each place; the same, or a number for every kernel; names; its own form
    )
    read: Callable[..., Iterable[Any]]  # (context, place) → (fact, what is shown[, reason]); an own form's value → rows
    help: str
    example: str = ""
    of_each: Any = None  # expected at each of the names
    expected: str = "{place} {wanted}"  # in words


_TWO = '["compiled:triton_poi*", "eager:gelu + eager:mul"]'
_MM = '["eager:mm#1", "eager:mm#2"]'
_SIZES = '{ "aten::mm#1" = [[8192, 768], [768, 3072]] }'
_BETWEEN = '{ pair = ["mm", "gelu"], verdict = "never_considered" }'
_RATIO = '{ of = "compiled:mm", to = "eager:mm", is = "0.9..1.1" }'
_DECODED = '{ "aten::addmm" = { epilogue = "bias", layout = "TN" } }'

KINDS: dict[str, Kind] = {
    "kernels": Kind("number", counts.events("kernel", *KERNELS), "Kernels per step; planned calls where nothing ran"),
    "memsets": Kind("number", counts.events("memset", "gpu_memset"), "Memsets per step"),
    "copies": Kind("number", counts.events("copy", "gpu_memcpy"), "Copies per step"),
    "device_events": Kind("number", counts.events("device event"), "Kernels, memsets and copies per step"),
    "gemms": Kind("number", counts.gemms, "GEMMs among the kernels of a step"),
    "kernel_calls": Kind("number", counts.kernel_calls, "Kernel calls in the generated wrappers"),
    "kernel_counts": Kind("table", counts.kernel_counts, "Kernels per step by name, or glob", '{ "nvjet*" = 3 }'),
    "ops": Kind("table", counts.ops, "CPU ops per step", '{ "aten::mm" = 3 }'),
    "has_ops": Kind("names", counts.ops, "CPU ops that occur in a step", '["aten::mm"]', ">= 1"),
    "no_ops": Kind("names", counts.ops, "CPU ops that do not occur, but in another recording", '["aten::t"]', 0),
    "launches": Kind("table", counts.launches, "Kernels under an op per step", '{ "aten::linear" = 3 }'),
    "launches_none": Kind(
        "names", counts.launched, "Ops that run nothing on the device", '["aten::t"]', 0, "{place} launches nothing"
    ),
    "graphs": Kind("number", counts.graphs, "Graphs that Dynamo compiled"),
    "graph_breaks": Kind("number", counts.graph_breaks, "Graphs that ended in a break"),
    "recompiles": Kind("number", counts.recompiles, "Frames compiled again, with the guard that failed"),
    "fused": Kind("own", fusion.fused, "Ops that run in one kernel together", '["gelu", "mul"]'),
    "not_fused": Kind("own", fusion.not_fused, "Ops of which no two share a kernel", '["mm", "gelu"]'),
    "between": Kind("own", fusion.between, "The verdict on two ops", _BETWEEN),
    "same_kernel": Kind("own", kernels.same_kernel, "The same kernels, name for name in order, at each place", _MM),
    "different_kernel": Kind(
        "own", partial(kernels.same_kernel, wanted=False), "No two of the places run the same kernel", _MM
    ),
    "same_launch": Kind("own", kernels.same_launch, "The same kernels, launched with the same grid and resources", _MM),
    "decoded": Kind("own", kernels.decoded, "Parts of a kernel's name", _DECODED),
    "runtime": Kind("table", kernels.runtime, "Runtime calls that launch", '{ "aten::gelu" = ["cudaLaunchKernel"] }'),
    "config": Kind(
        "table", kernels.fact("config", "configuration"), "Launch configuration", '{ "triton_*" = "XBLOCK=1024*" }'
    ),
    **{
        name: Kind("number or table", kernels.fact(field, noun), f"{help} of each kernel", f'{{ "nvjet*" = {limit} }}')
        for name, field, noun, help, limit in (
            ("registers", "registers", "registers per thread", "Registers per thread", '"<= 168"'),
            ("shared_bytes", "shared_bytes", "bytes of shared memory", "Bytes of shared memory per block", '"< 48 kB"'),
            ("num_warps", "num_warps", "warps", "Warps per block", "8"),
            ("num_stages", "num_stages", "stages", "Pipeline stages", "4"),
            ("call_bytes", "bytes", "bytes read and written", "Bytes that the call reads and writes", '"< 152 MB"'),
            ("occupancy", "occupancy", "occupancy", "Theoretical occupancy, 0 to 1,", '">= 0.5"'),
        )
    },
    "shapes": Kind("table", kernels.tensors("shapes"), "Shapes of an op's inputs", _SIZES),
    "strides": Kind("table", kernels.tensors("strides"), "Strides of an op's inputs", _SIZES),
    "flops": Kind("table", kernels.flops, "Floating-point operations of an op", '{ "aten::mm#1" = "~ 38.7e9" }'),
    "shares_storage": Kind(
        "names", kernels.shares_storage, "Ops whose result is a view", '["aten::t"]', True, "{place} shares storage"
    ),
    "time_us": Kind("table", kernels.time_us, "Median time of each kernel", '{ "triton_poi*" = "50..60" }'),
    "device_us": Kind("table", kernels.device_us, "Device time per step under an op", '{ "aten::t" = 0 }'),
    "faster": Kind("own", times.faster, "The first place takes less device time than the second", _TWO),
    "ratio": Kind("own", times.ratio, "Device time of one place over another's", _RATIO),
    "share_of_roof": Kind(
        "number or table", kernels.share_of_roof, "Share of the nearer roof", '{ "nvjet*" = ">= 60 %" }'
    ),
    "max_bytes": Kind("own", kernels.max_bytes, "Bytes that all kernel calls read and write, at most", '"360 MB"'),
    "peak_memory": Kind("number", kernels.peak_memory, "Peak device memory of the recorded run", '"273 MB..276 MB"'),
}
# Kinds that name their own recordings, so that they are held once and not against each recording.
ACROSS = frozenset({"same_kernel", "different_kernel", "same_launch", "faster", "ratio"})


def help_of_kinds() -> str:
    """Every kind with its sentence and an example."""
    return "\n".join(
        f"{name:17} {kind.help}{f': `{name} = {kind.example}`' if kind.example else ''}."
        for name, kind in KINDS.items()
    )
