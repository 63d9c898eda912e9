"""The answer to "why" as text: the verdict, the cost and what to try in `MAX_LINES` lines; with `everything` all details."""

from collections.abc import Sequence

from fxscope import english, op_names
from fxscope.analysis import traced_regions
from fxscope.analysis.report import buffers_unknown
from fxscope.analysis.report import report as report_of
from fxscope.analysis.why import Same, WhyAnswer, what_became
from fxscope.index import grouped, index_of
from fxscope.model import KernelCall, Recording
from fxscope.render import decisions, grid, labels, report
from fxscope.text import counted, kernel_name, listed, microseconds, num_bytes, of_roof, percent, shorten, wrapped

MAX_LINES = 15
MAX_OTHERS = 2  # lines about groups that are not the largest
MAX_MISSED = 8


def words(recording: Recording, answer: WhyAnswer, *, width: int, everything: bool = False) -> str:
    """The answer as text: the largest group of equal places first, the exceptions after it."""
    if answer.names and not everything:
        return "\n".join(brief(recording, answer, width)) + "\n"
    parts = ["\n".join(wrapped(seen, width))] if (seen := traced_regions.more(recording)) else []
    if not answer.names:
        rows: list[str] = []
        for limit in range(MAX_MISSED, 0, -1):
            rows = report.missed(report_of(recording), width, everything=everything, limit=limit)
            if everything or len(rows) <= MAX_LINES:
                break
        parts += ["\n".join(rows)] if rows else [] if parts else [nothing(recording)]
    for item in answer.same:
        several = len(answer.same) > 1 or item.count > 1
        parts += [f"×{item.count} {item.module or ''}".rstrip() + ":"] if several else []
        parts += same_words(recording, item, width=width)
    return "\n\n".join(parts) + "\n"


def brief(recording: Recording, answer: WhyAnswer, width: int) -> list[str]:
    """The answer about one or two names in at most `MAX_LINES` lines."""
    first, rest = answer.same[0], answer.same[1:]
    others = [exception(recording, item, width) for item in rest[:MAX_OTHERS]]
    others += [f"  … {counted(len(rest) - MAX_OTHERS, 'more group')}"] if len(rest) > MAX_OTHERS else []
    others = ["Other places:", *others] if others else []
    about_one = len(answer.names) == 1
    lines = ["\n".join(wrapped(first.note.splitlines(), width))] if first.note else []
    lines = [line for text in lines for line in text.splitlines()]
    if about_one and not first.note:
        lines += verdict(recording, first, answer.names[0], width)
    room = MAX_LINES - len(others) - 1
    blocks = pairs(recording, first, width, about_one=about_one)
    shown = 0
    while shown < len(blocks) and len(lines) + len(blocks[shown]) <= room:
        lines += blocks[shown]
        shown += 1
    if not answer.decisions and (seen := traced_regions.more(recording)):
        lines += wrapped(seen, width)
    left = counted(len(blocks) - shown, "more pair") if shown < len(blocks) else ""
    if len(lines) > room:
        lines, left = lines[:room], "the rest"
    return [*lines, *others, *([f"… {left}: --all"] if left else [])]


def verdict(recording: Recording, item: Same, name: str, width: int) -> list[str]:
    """Return what became of the nodes of a name, and what their kernels take."""
    index = index_of(recording)
    times = f" ×{item.count}" if item.count > 1 else ""
    where = f" ({item.module})" if item.module else ""
    call = index.calls.get(item.call or "")
    group = next(
        (
            group
            for group in report_of(recording).groups
            if (call is not None and call.id in group.calls) or (call is None and set(item.nodes) & set(group.nodes))
        ),
        None,
    )
    if call is not None:
        head = f"{name}{times}{where}: {home(recording, item, call)}"
    elif group is not None:
        kernels = listed(list(dict.fromkeys(kernel_name(kernel, 40) for kernel in group.kernels)), 2)
        head = f"{name}{times}{where}: launches {kernels}"
    else:
        head = "\n".join(what_became(recording, item.nodes)[:3])
    costs: list[str] = []
    if group is not None and group.time_us is not None:
        bound = "at least " if group.is_lower_bound else ""
        costs.append(f"{bound}{microseconds(group.time_us)} per step ({percent(group.share)} of the device time)")
    if call is not None and call.roof is not None and call.roof.share is not None:
        costs.append(f"{of_roof(call.roof.share)}{f', {call.roof.bound}-bound' if call.roof.bound else ''}")
    if call is not None and call.bytes_read is not None and call.bytes_written is not None:
        costs.append(f"reads {num_bytes(call.bytes_read)}, writes {num_bytes(call.bytes_written)}")
    lines = [line for text in head.splitlines() for line in grid.folded(text, width, rest="  ")]
    lines += grid.folded("; ".join(costs), width, "  ", "  ") if costs else []
    if call is not None and call.purpose != "computes":
        lines += grid.folded(english.purpose_text(call.purpose, call.purpose_arguments), width, "  ", "  ")
    compared = report_of(recording).numerics
    lines += [
        line
        for row in (compared.rows if compared is not None and call is not None else ())
        if call is not None and row.call_id == call.id
        for line in grid.folded(f"numerics, {row.state}: {report.difference(row)}", width, "  ", "    ")
    ]
    nodes = [node for key in item.nodes if (node := index.by_key.get(key)) is not None]
    return [*lines, *(report.cut(f"  {line}", width) for line in decisions.user_lines(nodes, 1))]


def loops_of(recording: Recording, call: KernelCall) -> list[set[str]]:
    """The nodes of each of a call's loop nests, as far as they were recorded: a C++ function may have several."""
    members = [
        node
        for schedule in recording.schedules
        if schedule.graph == call.graph
        for node in schedule.nodes
        if node.name in call.scheduler_nodes and node.ran is not None
    ]
    return [{name for node in loop for name in node.ran or ()} for loop in grouped(members, lambda n: n.group).values()]


def home(recording: Recording, item: Same, call: KernelCall) -> str:
    """Return which kernel runs some nodes, and what else runs in it: "fused with mul in triton_…:3"."""
    nodes = index_of(recording).nodes.get(call.graph, {})
    asked = {name for _, name in item.nodes}
    ops = labels.ops_of(call, nodes)
    if asked >= set(call.nodes):
        return f"{call.handle} runs {labels.ops_words(ops)}" if len(ops) > 1 else f"own kernel, {call.handle}"
    mine = set(op_names.ops_of(nodes[name] for name in asked if name in nodes))
    others = [op for op in ops if op not in mine]
    loops = [loop for loop in loops_of(recording, call) if asked & loop]
    if loops:
        together = op_names.ops_of(nodes[name] for name in set[str]().union(*loops) if name in nodes)
        others = [op for op in others if op in together]
    return f"fused with {listed(others, 4)} in {call.handle}" if others else f"runs in {call.handle}"


def pairs(recording: Recording, item: Same, width: int, *, about_one: bool) -> list[list[str]]:
    """The decisions of a group as blocks of lines: those not fused first, most saved first; equal ones once."""
    ends = labels.Ends(recording)
    same = grouped(item.decisions, lambda one: (ends(one), one.verdict, one.reason))
    ordered = sorted(same.items(), key=lambda entry: (entry[0][1] == "fused", -(entry[1][0].expected_us or 0.0)))
    blocks: list[list[str]] = []
    for (pair, *_), alike in ordered:
        number = len(alike) * (1 if about_one else item.count)
        title = f"{' → '.join(pair)}{f' ×{number}' if number > 1 else ''}"
        lines = decisions.block(recording, alike[0], title, width, most=2 if about_one else 5)
        where = [] if about_one else decisions.places(recording, alike[0], width, frozenset(item.nodes), 1)
        blocks.append(lines + where)
    return blocks


def exception(recording: Recording, item: Same, width: int) -> str:
    """One line of a group that is not the largest: how many places, where, what was decided."""
    head = f"  ×{item.count} {item.module or ''}".rstrip()
    if item.call is not None:
        call = index_of(recording).calls[item.call]
        said = labels.kernel_title(call, index_of(recording).nodes.get(call.graph, {}))
    else:
        ends = labels.Ends(recording)
        found = [f"{' → '.join(ends(one))}: {english.VERDICTS[one.verdict]}" for one in item.decisions]
        said = [*found, *filter(None, [item.note]), *what_became(recording, item.nodes)][0]
    return shorten(f"{head}: {said}", width)


def same_words(recording: Recording, item: Same, *, width: int) -> Sequence[str]:
    """Return all that is known of one group of equal places."""
    parts = ["\n".join(wrapped(item.note.splitlines(), width))] if item.note else []
    if item.call is not None:
        parts.append(decisions.call_story(recording, index_of(recording).calls[item.call], width=width))
        lines = [
            f"{choice.subject}: a benchmark on the device will choose. Predicted: {labels.choice_words(choice)} "
            f"({choice.basis})"
            for choice in recording.choices
            if item.call in choice.calls
        ]
        parts += ["\n".join(wrapped(lines, width))] if lines else []
    elif not item.note and not (item.decisions and item.calls):
        parts.append("\n".join(wrapped(what_became(recording, item.nodes), width)))
    ends = labels.Ends(recording)
    asked = frozenset(item.nodes)
    found = (decisions.block(recording, one, " → ".join(ends(one)), width, asked=asked) for one in item.decisions)
    return [*parts, *map("\n".join, found)]


def nothing(recording: Recording) -> str:
    """Say why there is no decision to show."""
    if not recording.decisions:
        if recording.launches and not recording.calls and not any(n.outputs for g in recording.graphs for n in g.nodes):
            return "missed fusions unknown: a trace has no data flow. Record with fxscope run."
        return "no fusion decisions: no compiled graph, and no eager op reads another's result"
    if left := buffers_unknown(recording):
        return f"missed fusions unknown: {left}."
    return "no missed fusions: kernels that share memory are fused, or there is only one"
