"""Device time of a step by the purpose of its kernels: computing, layout copies, recomputation and others."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Literal

from fxscope.analysis.groups import KernelGroup
from fxscope.index import index_of
from fxscope.model import Item, Purpose, Recording


class PurposeRow(Item, frozen=True, kw_only=True):
    """The kernels of a step that exist for one purpose.

    "wrapper_copy" are those that copy what goes into a compiled graph, "eager" others that no compiled graph calls.
    """

    purpose: Purpose | Literal["wrapper_copy", "eager", "unknown"]
    kernels: float  # launches per step
    time_us: float | None = None  # per step; the rows sum to the step's device time
    share: float | None = None  # of that
    calls: tuple[str, ...] = ()


def purpose_rows(
    recording: Recording, groups: Iterable[KernelGroup], device_us: float | None
) -> tuple[PurposeRow, ...]:
    """The purposes of the groups of a step, most device time first; none where the recording has no purposes."""
    if "purposes" not in recording.history:
        return ()
    calls = index_of(recording).calls
    counts, times = defaultdict[str, float](float), defaultdict[str, float](float)
    for group in groups:
        own = [calls[name].purpose or "unknown" for name in group.calls]
        purposes = own or ["wrapper_copy" if group.around_graph else "eager" if group.attributed else "unknown"]
        for purpose in purposes:
            counts[purpose] += group.launches / len(purposes)
            times[purpose] += (group.time_us or 0.0) / len(purposes)
    total = sum(times.values())
    rows = [
        PurposeRow(
            purpose=purpose,  # pyright: ignore[reportArgumentType]
            kernels=counts[purpose],
            time_us=times[purpose] if total else None,
            share=times[purpose] / device_us if total and device_us else None,
            calls=tuple(call.id for call in recording.calls if (call.purpose or "unknown") == purpose),
        )
        for purpose in counts
    ]
    return tuple(sorted(rows, key=lambda row: (-(row.time_us or 0.0), row.purpose)))
