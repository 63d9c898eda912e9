"""The context of an expectation: named recordings, and the places in them that a file can point at."""

from __future__ import annotations

from collections import Counter
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from fxscope.analysis import select
from fxscope.analysis.check import quantity
from fxscope.analysis.compare import together
from fxscope.analysis.findings import Outcome
from fxscope.analysis.stats import compare_runs
from fxscope.errors import PassError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from fxscope.analysis.findings import Status, Sweep, TimeComparison
    from fxscope.analysis.select import Unit
    from fxscope.model import Recording

    Kind = Callable[["Context", object], "Answer | Iterable[Row]"]  # holds an expected value against a recording


Row = tuple[bool, str, str]  # whether it holds, what was expected, what was found
Found = tuple[float, str]  # a number, and what is shown of it


class Answer(NamedTuple):
    """The outcome of one expectation."""

    status: Status
    expected: str
    found: str
    reason: str | None = None

    def outcome(self, kind: str, subject: str, *, claim: str | None = None, note: str | None = None) -> Outcome:
        """The row of a report."""
        return Outcome(
            claim=claim or f"{kind} {self.expected}",
            kind=kind,
            subject=subject,
            status=self.status,
            expected=self.expected,
            found=self.found,
            reason=self.reason if self.status != "met" else None,
            note=note,
        )


class Context(NamedTuple):
    """The recordings and sweeps of one check, and the one that names without a prefix belong to."""

    recordings: Mapping[str, Recording]
    sweeps: Mapping[str, Sweep]
    here: str

    @property
    def recording(self) -> Recording:
        """The recording that the expectation is about."""
        return self.recordings[self.here]

    def find(self, name: str) -> Recording:
        """A recording by name. Raises PassError."""
        if name not in self.recordings:
            raise PassError(f"there is no recording {name!r}. {select.nearest(name, self.recordings)}")
        return self.recordings[name]

    def place(self, text: str) -> tuple[str, str | None]:
        """Split "eager:aten::mm#1" into recording and selector; a bare recording's name has no selector."""
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
        """The kernels at a place; several joined with " + "."""
        found: list[Unit] = []
        for part in text.split(" + "):
            where, selector = self.place(part.strip())
            recording = self.find(where)
            if selector is None:
                found += [u for u in select.units(recording) if u.is_kernel]
            else:
                found += some(select.units_named(recording, selector), selector, recording)
        return found

    def samples(self, text: str) -> list[float]:
        """The time at a place per step, summed over its kernels, in µs."""
        return together(self.units(text))

    def compared(self, a: str, b: str) -> TimeComparison:
        """Return what the times at two places show; what two recordings say of a CPU is of two processes."""
        parts = [part.strip() for text in (a, b) for part in text.split(" + ")]
        apart = len({self.place(part)[0] for part in parts}) > 1
        on_cpu = apart and any(unit.category == "cpu_kernel" for part in parts for unit in self.units(part))
        return compare_runs([self.samples(a)], [self.samples(b)], on_cpu=on_cpu)


def some(units: list[Unit], selector: str, recording: Recording) -> list[Unit]:
    """The units. Raises PassError where there are none: the name is there, but launches nothing."""
    if not units:
        raise PassError(f"{selector!r} occurs in {recording.title}, but no kernel is known to run it.")
    return units


class NotRecorded(Exception):
    """An expectation that the recording cannot decide, and why."""


def all_of(rows: Iterable[Row]) -> Answer:
    """Join several parts of one expectation; where some are not met, only those are shown."""
    rows = list(rows)
    wrong = [row for row in rows if not row[0]]
    expected = "; ".join(dict.fromkeys(row[1] for row in wrong or rows))
    found = "; ".join(dict.fromkeys(row[2] for row in wrong or rows))
    return met(not wrong, expected, found)


def met(holds: bool, expected: object, found: object, reason: str | None = None) -> Answer:
    """A verdict; the reason is kept where it is needed, for what is not met."""
    return Answer("met" if holds else "not_met", str(expected), str(found), reason)


def unknown(expected: object, why: str) -> Answer:
    """The recording does not hold what it takes."""
    return Answer("cannot_tell", str(expected), "not in the recording", why)


def each_step(noun: str) -> Callable[[Callable[[Recording], Sequence[int]]], Kind]:
    """Make a kind of a function that counts something of a recording, in each step or once."""

    def kind(read: Callable[[Recording], Sequence[int]]) -> Kind:
        @wraps(read)
        def hold(context: Context, value: object) -> Answer:
            expected, counts = quantity.parse(value), read(context.recording)
            distinct = sorted(set(counts))
            one = noun.removesuffix("s") if distinct == [1] else noun
            found = f"{distinct[0]} {one}" if len(distinct) == 1 else f"{', '.join(map(str, counts))} {one} (by step)"
            return met(all(expected.holds(count) for count in distinct), expected.text, found)

        return hold

    return kind


def each_place(
    example: str, everywhere: str | None = None
) -> Callable[[Callable[[Context, str], Iterable[Found]]], Kind]:
    """Make a kind of a function that reads numbers at a place, each with its words.

    Args:
        example: of a table of places.
        everywhere: the place of a number without one; `None` where it needs one.
    """

    def kind(read: Callable[[Context, str], Iterable[Found]]) -> Kind:
        @wraps(read)
        def hold(context: Context, value: object) -> Iterator[Row]:
            table = value if isinstance(value, dict) or everywhere is None else {everywhere: value}
            for place, amount in a_table(table, read.__name__, example).items():
                expected = quantity.parse(amount)
                for number, shown in read(context, place):
                    yield expected.holds(number), f"{place} {expected.text}".strip(), shown

        return hold

    return kind


def listed(items: Iterable[str]) -> str:
    """Names with their numbers: "a, b (2×)"."""
    counts = Counter(items)
    return ", ".join(name if count == 1 else f"{name} ({count}×)" for name, count in counts.items())


def a_list(value: object, kind: str, *, least: int = 1) -> list[str]:
    """A list of names. Raises PassError."""
    if isinstance(value, str) and least == 1:
        value = [value]
    items = cast("list[Any]", value) if isinstance(value, list) else []
    if not all(isinstance(item, str) for item in items) or len(items) < least:
        raise PassError(
            f'{kind} takes a list of {"" if least == 1 else f"at least {least} "}names, such as ["gelu", "mul"].'
        )
    return items


def a_table(value: object, kind: str, example: str) -> dict[str, Any]:
    """A table. Raises PassError."""
    if not isinstance(value, dict) or not value:
        raise PassError(f"{kind} takes a table, such as {kind} = {example}.")
    return cast(dict[str, Any], value)


def keys_of(value: Mapping[str, Any], kind: str, needed: Sequence[str], optional: Sequence[str] = ()) -> None:
    """Raise PassError for a key that is missing or unknown, naming the nearest."""
    for key in value:
        if key not in (*needed, *optional):
            raise PassError(f"{kind} has no key {key!r}. {select.nearest(key, (*needed, *optional))}")
    for key in needed:
        if key not in value:
            raise PassError(f"{kind} needs the key {key!r}.")
