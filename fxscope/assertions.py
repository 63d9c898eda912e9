"""Assertions about a recording, for tests: the failure shows the kernels, what ran in each, and the reason.

The pytest fixture `fxscope` returns these; in another test framework wrap a recording yourself: `Recorded(recording)`.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

from fxscope.analysis.findings import CheckReport
from fxscope.index import index_of
from fxscope.model import Recording

MAX_LINES = 40  # of the plan in a message
__tracebackhide__ = True  # pytest shows the line of the test


class Recorded:
    """A recording with assertions. Everything of the recording itself is there too (`.graphs`, `.calls`, `.show()`)."""

    def __init__(self, recording: Recording, *, snapshot_path: Path | None = None, update: bool = False) -> None:
        self.recording = recording
        self._snapshot_path = snapshot_path
        self._update = update

    def __getattr__(self, name: str) -> Any:
        if name == "recording":  # not set yet: copy and pickle ask before __init__ ran
            raise AttributeError(name)
        return getattr(self.recording, name)

    def check(self, *, others: dict[str, Recorded | Recording] | None = None, **expectations: Any) -> None:
        """Assert expectations of `fxscope check` by their names: `r.check(kernels=4, gemms=3)`.

        Raises:
            AssertionError: one is not met, or cannot be told.
            PassError: an unknown kind or name; the message names the nearest.
        """
        from fxscope.analysis.check import check

        recordings = {"recorded": self.recording}
        for name, other in (others or {}).items():
            recordings[name] = other.recording if isinstance(other, Recorded) else other
        report = check(recordings, {"expect": [{"in": "recorded", **expectations}]}, where="the assertion")
        if not report.passed:
            raise AssertionError(self._message(report))

    def assert_fused(self, *names: str) -> None:
        """Assert that these ops run in one kernel together, wherever the rarest of them occurs."""
        self.check(fused=list(names))

    def assert_not_fused(self, *names: str) -> None:
        """Assert that no two of these ops share a kernel."""
        self.check(not_fused=list(names))

    def assert_kernels(self, number: int | str | list[int]) -> None:
        """Assert how many kernels a step runs, or the compiled code calls where nothing ran: 4, "<= 5", [3, 5]."""
        self.check(kernels=number)

    def assert_launches_none(self, *names: str) -> None:
        """Assert that these ops launch nothing."""
        self.check(launches_none=list(names))

    def assert_no_graph_breaks(self) -> None:
        """Assert that everything was captured in graphs without a break."""
        self.check(graph_breaks=0)

    def assert_same_kernel(self, *places: str, other: Recorded | Recording | None = None) -> None:
        """Assert the same kernels at each place; with `other`, at each place of both recordings."""
        if other is not None:
            for place in places or ("",):
                tail = f":{place}" if place else ""
                self.check(others={"other": other}, same_kernel=[f"recorded{tail}", f"other{tail}"])
            return
        self.check(same_kernel=list(places))

    def assert_plan(self, name: str = "plan") -> None:
        """Compare the fusion plan with the one that was reviewed and committed; `--fxscope-update` rewrites it.

        Raises:
            AssertionError: the plan differs (the message is a diff), or none was committed yet.
        """
        if self._snapshot_path is None:
            raise AssertionError("a snapshot needs the pytest fixture: use fxscope.record(…) of the fixture.")
        safe = "".join(char if char.isalnum() or char in "-_." else "_" for char in name)
        path = self._snapshot_path.with_name(f"{self._snapshot_path.name}.{safe}.txt")
        text = plan(self.recording)
        if self._update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        if not path.exists():
            raise AssertionError(
                f"there is no reviewed plan yet. Run pytest with --fxscope-update to write {path}, read it, and commit "
                f"it. It would be:\n\n{text}"
            )
        before = path.read_text(encoding="utf-8-sig")
        if before != text:
            diff = "\n".join(
                difflib.unified_diff(before.splitlines(), text.splitlines(), "reviewed", "now", lineterm="")
            )
            raise AssertionError(
                f"the plan is not the reviewed one ({path}). If it is better, run with --fxscope-update.\n\n{diff}"
            )

    def _message(self, report: CheckReport) -> str:
        from fxscope.model import replace
        from fxscope.render.reports import check_text

        failed = tuple(outcome for outcome in report.outcomes if outcome.status != "met")
        shown = plan(self.recording).splitlines()
        rest = [f"… {len(shown) - MAX_LINES} more lines"] if len(shown) > MAX_LINES else []
        lines = (f"  {line}" for line in [*shown[:MAX_LINES], *rest])
        return "\n".join([check_text(replace(report, outcomes=failed), width=120), *lines])


def plan(recording: Recording) -> str:
    """The fusion plan as text that is stable from run to run: the kernels in order, and what runs in each.

    Times, addresses and hashes are not in it; the numbers at the end of node names are, because they tell nodes apart.
    """
    from fxscope.analysis import select

    lines: list[str] = []
    graphs = index_of(recording).nodes
    if recording.calls:
        for graph_id in dict.fromkeys(call.graph for call in recording.calls):
            lines += [graph_id] if not lines else ["", graph_id]
            for call in (item for item in recording.calls if item.graph == graph_id):
                nodes = graphs.get(graph_id, {})
                lines.append(f"  {call.kernel}  [{call.type}]")
                ran = [name for name in call.nodes if name not in nodes or nodes[name].nature != "view"]
                lines += [f"    {name} = {nodes[name].target if name in nodes else '?'}" for name in ran or call.nodes]
    else:
        lines += [f"{unit.kernel}  [{', '.join(unit.ops) or unit.category}]" for unit in select.units(recording)]
    return "\n".join(lines or ["nothing was compiled, and nothing ran on a device"]) + "\n"
