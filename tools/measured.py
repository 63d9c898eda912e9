"""Calls that were measured on a GPU: output codes and times, as `tests/data/zoo` and `tests/data/battery` have them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from fxscope.dtypes import ITEM_BYTES
from fxscope.index import grouped
from fxscope.model import Workload, replace
from fxscope.passes.predicted import of_dtype
from fxscope.readers import output_code

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fxscope.model import KernelCall


class MeasuredCall(NamedTuple):
    """A call as its code states it, and its mean device time in µs."""

    call: KernelCall
    us: float


def measured_calls(program: Mapping[str, Any]) -> Iterator[MeasuredCall]:
    """Yield the calls of a program's graphs that were timed, in the order of the recording.

    Args:
        program: {"codes": [text], "calls": [[id, kernel, type, µs, …]]}, and where known "dtypes": {id: dtype}. An id is
            "PREFIX:NUMBER", the number counting the calls of one code from 1.
    """
    codes = [output_code.parse(text) for text in program["codes"]]
    left = list(range(len(codes)))
    groups = grouped(program["calls"], lambda item: item[0].rpartition(":")[0])
    for prefix, items in groups.items():
        numbered = {int(item[0].rpartition(":")[2]): item for item in items}
        found = next((position for position in left if _fits(codes[position], numbered)), None)
        if found is None:
            continue
        left.remove(found)
        calls = output_code.kernel_calls(codes[found], f"{prefix}:post_grad")
        # A program's inputs have no dtype in the code: that of most others.
        works = [call.workload for call in calls if call.workload is not None and call.workload.m]
        (common, _), *_ = [*Counter(work.dtype for work in works if work.dtype).most_common(1), ("bfloat16", 0)]
        for number, item in sorted(numbered.items()):
            call = calls[number - 1]
            work = call.workload
            dtype = program.get("dtypes", {}).get(item[0]) or (common if work is not None and not work.dtype else None)
            if work is not None and work.m and dtype and work.dtype != dtype:  # of inputs, which the code does not say
                at_two_bytes = work.num_bytes * 2 // ITEM_BYTES.get(work.dtype or "", 2)
                call = replace(call, workload=of_dtype(replace(work, num_bytes=at_two_bytes), dtype))
            if item[3]:
                yield MeasuredCall(call, item[3])


def battery_calls(content: Mapping[str, Any]) -> Iterator[tuple[str, Workload, float]]:
    """Yield (program, workload, µs) of what `fxscope calibrate` measured, now or when it wrote the programs' code."""
    for name, calls in content.get("calls", {}).items():
        yield from ((name, msgspec.convert(work, Workload), us) for work, us in calls)
    for name, program in content.get("programs", {}).items():
        for item in measured_calls(program):
            work = item.call.workload
            if work is not None:  # the code does not say that TF32 was switched on around it
                yield name, replace(work, dtype="tfloat32") if name.endswith("tfloat32") else work, item.us


def _fits(code: output_code.OutputCode, numbered: Mapping[int, Any]) -> bool:
    return max(numbered) <= len(code.calls) and all(
        code.calls[number - 1].kernel == item[1] for number, item in numbered.items()
    )
