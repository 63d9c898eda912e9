"""Tables of a recording for the page and the terminal: columns and values."""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from fxscope.data import read_table
from fxscope.index import index_of
from fxscope.model import Recording, Summary
from fxscope.passes import bound
from fxscope.render import grid, labels, theme
from fxscope.text import counted, kernel_name, microseconds, num_bytes, percent, rate, roof_share

MAX_LINES = 25
UNITS: dict[str, Callable[[Any], str]] = {  # the page formats them the same way
    "text": lambda value: "–" if value is None else str(value),
    "int": lambda value: "–" if value is None else f"{value:,}",
    "us": microseconds,
    "bytes": num_bytes,
    "share": percent,
    "roof": roof_share,
    "rate": rate,
    "flops": lambda value: rate(value, "FLOP/s"),
}

# Key → title and columns: (key, heading, unit, where). `where` is an attribute of a line: "roof.share" is unknown where the
# roof is; it is null for what a function gives.
TABLES: dict[str, Any] = read_table("tables.json")


def table(key: str, lines: Sequence[Any], refs: Sequence[Any], **computed: Callable[[Any], Any]) -> dict[str, Any]:
    """A table of `TABLES` without the columns that hold nothing.

    `refs`: what each line stands for, (type, index or name) or None. `computed`: columns that are functions of a line.
    """
    made = [
        ((name, heading, unit), list(map(computed.get(name) or reader_of(where), lines)))
        for name, heading, unit, where in TABLES[key]["columns"]
    ]
    used = [(column, values) for column, values in made if any(value is not None for value in values)]
    return {
        "key": key,
        "title": TABLES[key]["title"],
        "columns": [column for column, _ in used],
        "values": [values for _, values in used],
        "refs": list(refs),
    }


def reader_of(where: str) -> Callable[[Any], Any]:
    """Return what reads "roof.share" of a line, `None` where there is no roof."""
    return lambda line: reduce(lambda item, name: None if item is None else getattr(item, name), where.split("."), line)


def text(
    made: dict[str, Any],
    width: int,
    *,
    only: Sequence[str] = (),
    most: int = MAX_LINES,
    more: str = "write .html or .json",
) -> list[str]:
    """A table as lines of at most `width` columns, the rows after `most` counted; nothing of an empty one.

    `only`: keys of the columns to show, all but the category by default. `more`: what shows the other rows.
    """
    if not made["refs"]:
        return []
    shown = [
        (key, heading, unit, values)
        for (key, heading, unit), values in zip(made["columns"], made["values"], strict=True)
        if key != "category" and (not only or key in only)
    ]
    cells = [
        [_name(key, x) if unit == "text" and x else UNITS[unit](x) for x in values[:most]]
        for key, _, unit, values in shown
    ]
    # Units and abbreviations keep their capitals.
    headings = [text if text[1:2].isupper() else text[:1].lower() + text[1:] for _, text, *_ in shown]
    rows = [headings, *map(list, zip(*cells, strict=True))]
    cut = [place for place, (_, _, unit, _) in enumerate(shown) if unit == "text"]
    out = [f" {line}" for line in grid.table(rows, width - 1, left={0, *cut}, cut=cut)]
    left = len(made["refs"]) - most
    out += [f"   … {counted(left, 'more row')}: {more}"] if left > 0 else []
    return out


def _name(key: str, text: str) -> str:
    if key in ("kernel", "after", "before"):
        return kernel_name(text, 90)
    return text.replace("autograd::engine::evaluate_function: ", "evaluate: ")


def of_trace(summary: Summary, *, width: int = 80, everything: bool = False) -> str:
    most = 1 << 30 if everything else MAX_LINES
    out: list[str] = []
    for made in of_summary(summary):
        only = [key for key, *_ in made["columns"] if (made["key"], key) != ("ops", "launches")]
        lines = text(made, width, only=only, most=most, more="--all, or write .html or .json")
        out += [grid.heading(made["title"].lower(), width), *lines] if lines else []
    if limit := bound.of_summary(summary):
        out += [grid.heading("verdict", width), f" {limit.words}"]
    return "\n".join(out) + "\n"


def tables(recording: Recording) -> list[dict[str, Any]]:
    """Kernels, calls, ops and steps, of which those that are empty are left out."""
    found = [calls(recording), *(of_summary(recording.summary) if recording.summary else ())]
    made = {item["key"]: item for item in found if item["refs"]}
    return [made[key] for key in ("kernels", "calls", "ops", "steps") if key in made]


def of_summary(summary: Summary) -> list[dict[str, Any]]:
    """Ops as `key_averages()` has them, kernels, steps, gaps of the device and waits."""
    return [
        table("ops", summary.ops, [("opname", line.name) for line in summary.ops]),
        table("kernels", summary.kernels, [("kernel", line.name) for line in summary.kernels]),
        table("steps", summary.steps, [None] * len(summary.steps)),
        table(
            "gaps",
            summary.gaps,
            summary.gaps,
            idle=lambda gap: gap.duration_ns / 1e3,
            after=lambda gap: gap.before or "start of the step",
            before=lambda gap: gap.after or "end of the step",
        ),
        table("waits", summary.syncs, summary.syncs),
    ]


def calls(recording: Recording) -> dict[str, Any]:
    nodes = index_of(recording).nodes
    return table(
        "calls",
        recording.calls,
        [("call", position) for position in range(len(recording.calls))],
        type=lambda call: theme.CALLS[call.type],
        ops=lambda call: " · ".join(labels.ops_of(call, nodes.get(call.graph, {}))),
        planned=lambda call: call.estimated_us if call.estimated_range_us else None,
    )
