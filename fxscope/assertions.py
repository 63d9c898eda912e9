"""Assertions about a recording, for tests: the failure shows the kernels, what ran in each, and the reason.

The pytest fixture `fxscope` returns these; in another test framework wrap a recording yourself: `Recorded(recording)`.
"""

from typing import Any

from fxscope.analysis.findings import CheckReport
from fxscope.index import index_of
from fxscope.model import Recording, replace

MAX_LINES = 40  # of the kernels in a message
__tracebackhide__ = True  # pytest shows the line of the test


class Recorded:
    """A recording with assertions. Everything of the recording itself is there too (`.graphs`, `.calls`, `.show()`)."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording

    def __getattr__(self, name: str) -> Any:
        if name == "recording":  # not set yet: copy and pickle ask before __init__ ran
            raise AttributeError(name)
        return getattr(self.recording, name)

    def check(self, *, others: "dict[str, Recorded | Recording] | None" = None, **expectations: Any) -> None:
        """Assert expectations of `fxscope check` by their names: `r.check(kernels=4, gemms=3)`.

        Raises:
            AssertionError: one is not met, or cannot be told.
            PassError: an unknown kind or name; the message names the nearest.
        """
        from fxscope.analysis.check import check

        given = {"recorded": self, **(others or {})}
        recordings = {name: item.recording if isinstance(item, Recorded) else item for name, item in given.items()}
        report = check(recordings, {"expect": [{"in": "recorded", **expectations}]}, where="the assertion")
        if not report.passed:
            raise AssertionError(self._message(report))

    def assert_fused(self, *names: str) -> None:
        """Assert that these ops run in one kernel together, wherever the rarest of them occurs."""
        self.check(fused=list(names))

    def assert_kernels(self, number: int | str | list[int]) -> None:
        """Assert how many kernels a step runs, or the compiled code calls where nothing ran: 4, "<= 5", [3, 5]."""
        self.check(kernels=number)

    def _message(self, report: CheckReport) -> str:
        from fxscope.render import grid
        from fxscope.render.reports import check_text

        failed = tuple(outcome for outcome in report.outcomes if outcome.status != "met")
        lines = (f"  {line}" for line in grid.first(kernels(self.recording), MAX_LINES, " lines"))
        return "\n".join([check_text(replace(report, outcomes=failed), width=120), *lines])


def kernels(recording: Recording) -> list[str]:
    """The kernels in order, and what runs in each, as lines."""
    from fxscope.analysis import select

    if not recording.calls:
        return [f"{unit.kernel}  [{', '.join(unit.ops) or unit.category}]" for unit in select.units(recording)]
    lines: list[str] = []
    for call in recording.calls:
        nodes = index_of(recording).nodes.get(call.graph, {})
        lines.append(f"{call.kernel}  [{call.type}]")
        ran = [name for name in call.nodes if name not in nodes or nodes[name].nature != "view"]
        lines += [f"  {name} = {nodes[name].target if name in nodes else '?'}" for name in ran or call.nodes]
    return lines
