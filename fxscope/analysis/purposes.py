"""Device time of a step by the purpose of its kernels: computing, layout copies, recomputation and others."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Literal

from fxscope.analysis.groups import KernelGroup, time_of
from fxscope.index import index_of
from fxscope.model import Item, Purpose, Recording


class PurposeRow(Item, frozen=True, kw_only=True):
    """The kernels of a step with one purpose; "wrapper_copy" copies inputs of a compiled graph, "eager" is in none."""

    purpose: Purpose | Literal["wrapper_copy", "eager", "unknown"]
    kernels: float  # launches per step
    time_us: float | None = None  # per step, the median
    share: float | None = None  # of the step's device time
    calls: tuple[str, ...] = ()


def purpose_rows(
    recording: Recording, groups: Iterable[KernelGroup], device_us: float | None
) -> tuple[PurposeRow, ...]:
    """The purposes of the groups of a step, most device time first; none where the recording has no purposes."""
    if "purposes" not in recording.history:
        return ()
    calls = index_of(recording).calls
    by_purpose = defaultdict[str, list[KernelGroup]](list)
    for group in groups:
        called = calls[group.calls[0]].purpose if group.calls else group.outside if group.attributed else None
        by_purpose[called or "unknown"].append(group)
    rows = [
        PurposeRow(
            purpose=purpose,  # pyright: ignore[reportArgumentType]
            kernels=sum(group.launches for group in same),
            time_us=time,
            share=time / device_us if time is not None and device_us else None,
            calls=tuple(call.id for call in recording.calls if (call.purpose or "unknown") == purpose),
        )
        for purpose, same in by_purpose.items()
        for time in [time_of(recording, same)]
    ]
    return tuple(sorted(rows, key=lambda row: (-(row.time_us or 0.0), row.purpose)))
