"""The context of an expectation: named recordings, the places in them that a file can point at, how values are written."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, cast

from fxscope.analysis import select
from fxscope.analysis.compare.uses import sums
from fxscope.analysis.findings import TimeComparison
from fxscope.analysis.select import Unit
from fxscope.analysis.stats import compare_recorded
from fxscope.errors import PassError
from fxscope.model import Recording


class Row(NamedTuple):
    holds: bool
    expected: str
    found: str
    reason: str | None = None


class NotRecorded(Exception):
    def __init__(self, why: str, expected: str | None = None, found: str = "not in the recording") -> None:
        super().__init__(why)
        self.expected, self.found = expected, found


class Context(NamedTuple):
    """The recordings of one check, and the one that names without a prefix belong to."""

    recordings: Mapping[str, Recording]
    here: str

    @property
    def recording(self) -> Recording:
        return self.recordings[self.here]

    def place(self, text: str) -> tuple[str, str | None]:
        """Split "eager:aten::mm#1" into recording and selector; a bare recording's name has no selector. Raises PassError."""
        if text in self.recordings:
            return text, None
        head, colon, tail = text.partition(":")
        if colon and head in self.recordings and not tail.startswith(":"):
            return head, tail
        if head in select.SORTS:
            return self.here, text
        if colon and not tail.startswith(":") and "." not in head and "/" not in head and not head.startswith("void "):
            raise PassError(f"{text!r}: there is no recording {head!r}. {select.nearest(head, self.recordings)}")
        return self.here, text

    def units(self, text: str) -> list[Unit]:
        """The kernels at a place; several joined with " + ". Raises PassError where a name is there, but launches nothing."""
        found: list[Unit] = []
        for part in text.split(" + "):
            where, selector = self.place(part.strip())
            recording = self.recordings[where]
            if selector is None:
                found += [u for u in select.units(recording) if u.is_kernel]
                continue
            named = select.units_named(recording, selector)
            if not named:
                raise PassError(f"{selector!r} occurs in {recording.title}, but no kernel is known to run it.")
            found += named
        return found

    def compared(self, a: str, b: str) -> TimeComparison:
        """Return what the times at two places show; what two recordings say of a CPU is of two processes."""
        parts = [part.strip() for text in (a, b) for part in text.split(" + ")]
        apart = len({self.place(part)[0] for part in parts}) > 1
        on_cpu = apart and any(unit.category == "cpu_kernel" for part in parts for unit in self.units(part))
        a_us, b_us = (sums(unit.samples_us for unit in self.units(side)) for side in (a, b))
        return compare_recorded(a_us, b_us, on_cpu=on_cpu)


def listed(items: Iterable[str]) -> str:
    counts = Counter(items)
    return ", ".join(name if count == 1 else f"{name} ({count}×)" for name, count in counts.items())


def a_list(value: object, kind: str, *, least: int = 1) -> list[str]:
    if isinstance(value, str) and least == 1:
        value = [value]
    items = cast("list[Any]", value) if isinstance(value, list) else []
    if not all(isinstance(item, str) for item in items) or len(items) < least:
        several = "" if least == 1 else f"at least {least} "
        raise PassError(f'{kind} takes a list of {several}names, such as ["gelu", "mul"].')
    return items


def a_table(value: object, kind: str, example: str) -> dict[str, Any]:
    if not isinstance(value, dict) or not value:
        raise PassError(f"{kind} takes a table, such as {kind} = {example}.")
    return cast(dict[str, Any], value)
