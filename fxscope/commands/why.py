"""`fxscope why RECORDING [A [B]]`: why two ops were fused, or were not, and what that costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from fxscope.analysis import select
from fxscope.commands import common
from fxscope.errors import FxscopeError
from fxscope.index import index_of

if TYPE_CHECKING:
    import argparse

    from fxscope.analysis.select import Place
    from fxscope.model import Decision, Recording


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "recording", metavar="RECORDING", help="a recording, a trace, or a folder with a trace and its compile's files"
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="none: all unfused neighbours, most expensive first; one: its kernel and its neighbours; two: that pair. A "
        "variable, op, FX node, buffer, kernel or module; op:mul, node:mul_6, call:0/0:inference:3 say which",
    )
    parser.add_argument("--limit", type=int, metavar="N", help="N decisions (default 10, with --json all); 0 for all")
    parser.add_argument(
        "--bandwidth", type=float, metavar="BYTES_PER_SECOND", help="your own measure of the device's memory bandwidth"
    )
    parser.add_argument("--json", action="store_true", help="the decisions as JSON")


def run(arguments: argparse.Namespace) -> int:
    from fxscope.passes.cost import cost

    if len(arguments.names) > 2:
        raise FxscopeError("give no name, one or two: fxscope why RECORDING gelu mul.")
    # No memory is so slow or so fast: a figure in another unit.
    what = "bytes per second, such as 4.3e12, between 1e6 and 1e16"
    common.check_measure("--bandwidth", arguments.bandwidth, what, least=1e6, most=1e16)
    recording = common.read(arguments.recording)
    if arguments.bandwidth is not None:
        recording = cost(recording, bandwidth=arguments.bandwidth)
    asked: tuple[Place, ...] = ()
    if not arguments.names:
        decisions, notes = unfused(recording), []
    elif len(arguments.names) == 1:
        decisions, notes = about(recording, arguments.names[0], width=common.width())
        asked = select.find(recording, arguments.names[0]).places
    else:
        decisions, notes = between(recording, *arguments.names)
        asked = tuple(place for name in arguments.names for place in select.find(recording, name).places)
    wanted = (0 if arguments.json else 10) if arguments.limit is None else arguments.limit
    limit = len(decisions) if wanted <= 0 else wanted
    if arguments.json:
        from fxscope.model import encoded

        print(encoded(decisions[:limit]).decode())
        return 0
    show(recording, decisions, notes, limit, asked)
    return 0


def show(
    recording: Recording, decisions: list[Decision], notes: list[str], limit: int, asked: tuple[Place, ...] = ()
) -> None:
    from fxscope.analysis import traced_regions
    from fxscope.render import decisions as text

    parts = list(notes)
    if seen := traced_regions.lines(recording):
        parts.insert(0, "\n".join(wrapped(seen, common.width())))
    if decisions:
        nodes = frozenset((place.graph, name) for place in asked for name in place.nodes)
        parts.append(text.render(recording, decisions[:limit], width=common.width(), asked=nodes).rstrip())
    elif not parts:
        parts.append(nothing(recording))
    if len(decisions) > limit:
        parts.append(f"… {len(decisions) - limit} more: --limit 0 shows all")
    print("\n\n".join(parts))


def wrapped(lines: list[str], columns: int) -> list[str]:
    """The lines within a width, each with its own indent."""
    import textwrap

    return [
        part
        for line in lines
        for part in textwrap.wrap(
            line, columns, subsequent_indent=" " * (len(line) - len(line.lstrip()) + 4), break_on_hyphens=False
        )
    ]


def nothing(recording: Recording) -> str:
    """Say why there is no decision to show."""
    if not recording.decisions:
        return "no decisions: nothing was compiled, and no two eager ops pass a tensor to each other."
    return "no unfused neighbours: every two kernels that share memory were fused, or there is only one."


def unfused(recording: Recording) -> list[Decision]:
    """All unfused neighbours, most expensive first."""
    return [item for item in recording.decisions if item.verdict != "fused"]


def about(recording: Recording, name: str, *, width: int = 80) -> tuple[list[Decision], list[str]]:
    """The story of one thing and the decisions about it."""
    from fxscope.render import decisions as text
    from fxscope.render import labels

    found = select.find(recording, name)
    place = select.one_place(recording, found)
    calls = index_of(recording).calls
    notes: list[str] = []
    if place.call in calls:
        notes.append(text.call_story(recording, calls[place.call], width=width))
        lines = [
            f"{choice.subject}: a benchmark on the device will choose. Predicted: {labels.choice_words(choice)} "
            f"({choice.basis})"
            for choice in recording.choices
            if place.call in choice.calls
        ]
        notes += ["\n".join(wrapped(lines, width))] if lines else []
    else:
        notes += apart_notes(recording, place)
    inside = [item for item in recording.decisions if touches(item, place)]
    return sorted(inside, key=lambda item: item.verdict != "fused"), notes


def touches(decision: Decision, place: Place) -> bool:
    """Whether a decision is about this place: its call, and inside the call its nodes."""
    if place.call is None:
        return any(end.graph == place.graph and set(end.nodes) & set(place.nodes) for end in decision.ends)
    if place.call not in (decision.a_call, decision.b_call):
        return False
    if decision.a_call != decision.b_call:
        return True
    return bool({*decision.a, *decision.b} & set(place.nodes)) or not place.nodes


def apart_notes(recording: Recording, place: Place) -> list[str]:
    """Say what became of nodes that ran in no call."""
    from fxscope.render import decisions as text

    graph = recording.graph(place.graph)
    notes: list[str] = []
    for node in graph.nodes:
        if node.name in place.nodes:
            notes.append(f"{node.name} ({node.target}): {node.kind}" + (f", {node.reason}" if node.reason else ""))
            if node.counters is not None:
                notes[-1] += "\n" + "\n".join(text.wrap(text.counters(node.counters), common.width()))
    return notes


def between(recording: Recording, first: str, second: str) -> tuple[list[Decision], list[str]]:
    """The decision about two things, or say why there can be none."""
    a_found, b_found = select.find(recording, first), select.find(recording, second)
    pairs = [(a, b) for a in a_found.places for b in b_found.places if a != b]
    decided = {item: found for item in pairs if (found := decide(recording, *item))}
    if len(pairs) > 1 and len(decided) == 1:
        # One of several readings is a pair of neighbours: that is the one meant.
        (((a, b), found),) = decided.items()
        return found, several(recording, a, b, found, (first, second))
    a, b = select.one_place(recording, a_found), select.one_place(recording, b_found)
    found = decided.get((a, b))
    if found:
        return found, several(recording, a, b, found, (first, second))
    return [], [not_neighbours(recording, a, b, first, second)]


def several(recording: Recording, a: Place, b: Place, found: list[Decision], names: tuple[str, str]) -> list[str]:
    """Say that two names are several pairs of one call, and how to ask for one."""
    if a.call is None or a.call != b.call or len(found) < 2:
        return []
    pairs: list[str] = []
    for item in found:
        sides = ({*item.a, *item.b} & set(a.nodes), {*item.a, *item.b} & set(b.nodes))
        if all(len(side) == 1 for side in sides):
            pairs.append(" ".join(f"node:{name}" for side in sides for name in side))
    text = f"{' and '.join(names)} are {len(found)} pairs in {index_of(recording).calls[a.call].handle}, in order."
    text += f" One alone: fxscope why RECORDING {pairs[-1]}" if pairs else ""
    return ["\n".join(wrapped([text], common.width()))]


def decide(recording: Recording, a: Place, b: Place) -> list[Decision]:
    """The decisions about two places: of two that ran in one call, the nearest of each node of the smaller one."""
    if a.call is not None and a.call == b.call:
        inside = [item for item in recording.decisions if item.a_call == a.call and item.b_call == a.call]
        # The join that brought exactly two together is the one with the fewest ops.
        inside.sort(key=lambda item: len(item.a) + len(item.b))
        ones, others = sorted((a.nodes, b.nodes), key=len)
        across: list[Decision] = []
        for name in ones:
            ends = (({name}, set(others)), (set(others), {name}))
            met = [item for item in inside if any(one & {*item.a} and other & {*item.b} for one, other in ends)]
            across += [item for item in met[:1] if item not in across]
        together = [item for item in inside if all({*nodes} & {*item.a, *item.b} for nodes in (ones, others))]
        return across or together[:1] or inside[:1]
    if a.call is not None and b.call is not None:
        return [item for item in recording.decisions if {item.a_call, item.b_call} == {a.call, b.call}]
    found: list[Decision] = []
    for item in recording.decisions:
        for one, other in (item.ends, item.ends[::-1]):
            if (
                (one.graph, other.graph) == (a.graph, b.graph)
                and set(one.nodes) & set(a.nodes)
                and set(other.nodes) & set(b.nodes)
            ):
                found.append(item)
                break
    return found


def not_neighbours(recording: Recording, a: Place, b: Place, first: str, second: str) -> str:
    """Say why there is no decision about two things: they are not neighbours, or one of them ran nowhere."""
    for place in (a, b):
        if place.call is None and recording.calls:
            return "\n".join(apart_notes(recording, place))
    if a.graph != b.graph:
        return (
            f"{first} and {second}: never considered. They are in different graphs ({a.graph} and {b.graph}) and pass "
            "no tensor to each other."
        )
    way = path(recording, a, b)
    text = f"{first} and {second}: never considered, no shared buffer."
    if way:
        handles = {call.id: call.handle for call in recording.calls}
        text += " Between them: " + ", then ".join(handles[call] for call in way) + "."
    return text


def path(recording: Recording, a: Place, b: Place) -> list[str]:
    """The calls on the shortest way of neighbours between two calls, both left out."""
    from networkx import Graph, NetworkXNoPath, NodeNotFound, shortest_path

    neighbours: Graph[str] = Graph(
        (item.a_call, item.b_call)
        for item in recording.decisions
        if item.a_call and item.b_call and item.a_call != item.b_call and item.other_graph is None
    )
    try:
        return cast("list[str]", shortest_path(neighbours, a.call, b.call))[1:-1]
    except (NetworkXNoPath, NodeNotFound):
        return []
