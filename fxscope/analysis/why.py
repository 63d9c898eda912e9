"""Answers of `why`: the decisions about names, equal places of a step as one answer."""

import re
from collections.abc import Iterable
from itertools import product
from typing import get_args

from fxscope.analysis import select
from fxscope.analysis.findings import MatchKind, TimeVerdict
from fxscope.analysis.groups import KernelGroup, Places, ends_of, groups, pattern
from fxscope.analysis.report import CompileRow, cache_rows, compile_rows, report
from fxscope.analysis.rewrites import life
from fxscope.analysis.select import Place
from fxscope.columns import column
from fxscope.errors import PassError
from fxscope.index import Key, by_each, grouped, index_of, kept
from fxscope.model import Decision, Item, Printed, Recording, replace
from fxscope.text import counted, microseconds, percent

# A row of `diff`, which may be of several kernels: "split/gelu·mul", "new/2 mm, gelu/fc".
_CHANGE = re.compile(rf"(?:{'|'.join((*get_args(MatchKind), *get_args(TimeVerdict)))})/(?:\d+ )?([^/,]+)")


class Same(Item, frozen=True, kw_only=True):
    """Equal places, or equal pairs of places, and the decisions about the first of them."""

    count: int = 1
    module: str | None = None  # "layers.[0..11].act"
    calls: tuple[str, ...] = ()  # one call of each place
    nodes: tuple[tuple[str, str], ...] = ()  # (graph, node) that the question is about, of the first place
    call: str | None = None  # whose story answers the question about one name
    decisions: tuple[Decision, ...] = ()
    note: str = ""  # an answer without a decision


class WhyAnswer(Printed, frozen=True, kw_only=True):
    """The answer to "why": the largest group of equal places first, then the exceptions."""

    names: tuple[str, ...] = ()
    same: tuple[Same, ...] = ()
    decisions: tuple[Decision, ...] = ()  # of every place


def why(recording: Recording, *names: str) -> WhyAnswer:
    """Answer for no name (all missed fusions), one name, or two (that pair). Raises PassError: a name is unknown."""
    answer = _answer(recording, *names)
    vars(answer)["recording"] = recording  # its text has names and times of it
    return answer


def _answer(recording: Recording, *names: str) -> WhyAnswer:
    if len(names) == 1:  # a row's id: break/model.py:7, gelu→mul/never_considered, fused/gelu·mul/layers.[0..11] ×12
        (name,) = names
        found = (*compile_rows(recording), cache_rows(recording))
        if rows := [row for rows in found for row in rows if row.id == name]:
            return WhyAnswer(names=names, same=tuple(Same(count=row.count, note=_story(row)) for row in rows))
        change = _CHANGE.match(name)
        names = tuple(name.partition("/")[0].split("→")) if "→" in name else (change[1] if change else name,)
    if len(names) > 2:
        raise PassError("give no name, one or two: why gelu mul.")
    if not names:
        return WhyAnswer(decisions=tuple(item for item in recording.decisions if item.verdict != "fused"))
    answer = _about(recording, names[0]) if len(names) == 1 else _between(recording, *names)
    return replace(answer, same=tuple(sorted(answer.same, key=lambda item: -item.count)))


def _story(row: CompileRow) -> str:
    lines = [f"{row.where} ×{row.count}: {row.reason}", *(f"also: {guard}" for guard in row.also)]
    return "\n".join([*lines, *(f"try: {hint}" for hint in row.hints)])


def _about(recording: Recording, name: str) -> WhyAnswer:
    try:
        places = places_of(recording, name)
    except select.UnknownNameError:
        lines = life(recording, name) or [_unplaced(group, recording) for group in labelled(recording, name)]
        if not lines:
            raise
        return WhyAnswer(names=(name,), same=(Same(note="\n".join(lines)),))
    found: list[Same] = []
    every: dict[int, Decision] = {}
    for same in grouped(places, lambda place: _key(recording, place)).values():
        first = same[0]
        inside = [item for item in recording.decisions if touches(item, first)]
        inside.sort(key=lambda item: item.verdict != "fused")
        every |= {id(item): item for place in same for item in recording.decisions if touches(item, place)}
        found.append(
            Same(
                count=len(same),
                module=_modules(recording, same),
                calls=tuple(place.call for place in same if place.call),
                nodes=tuple((first.graph, node) for node in first.nodes),
                call=first.call if first.call in index_of(recording).calls else None,
                decisions=tuple(inside),
            )
        )
    return WhyAnswer(names=(name,), same=tuple(found), decisions=tuple(every.values()))


def places_of(recording: Recording, name: str) -> tuple[Place, ...]:
    """The places that a name means. Where nothing of that name ran, those of a report's rows. Raises UnknownNameError."""
    try:
        places, unknown = select.find(recording, name).places, None
    except select.UnknownNameError as error:
        places, unknown = (), error
    index = index_of(recording)
    nodes = {place: [index.nodes[place.graph][node] for node in place.nodes] for place in places}
    # What a composite calls ran, under its name
    own = tuple(item for item in places if item.call or any(node.nature != "composite" for node in nodes[item]))
    if any(item.call or any(node.kind == "kernel" for node in nodes[item]) for item in own):
        return own
    found = labelled(recording, name)
    calls = [index.calls[call] for group in found for call in group.calls]
    inside = {(call.graph, node) for call in calls for node in call.nodes}
    rows = [Place(call.graph, call.nodes, call.id) for call in calls]
    rows += [
        Place(graph, (node,), None) for group in found for graph, node in group.nodes if (graph, node) not in inside
    ]
    if not rows:  # a part of a kernel, as a decision names it
        ends, wanted = ends_of(recording), pattern_of(name)
        for decision in recording.decisions:
            named = zip(ends(decision), decision.ends, strict=True)
            rows += [Place(end.graph, end.nodes, end.call) for one, end in named if wanted.fullmatch(one.label)]
    if unknown is not None and not rows:
        raise unknown
    return tuple(dict.fromkeys(rows)) or places


def pattern_of(text: str) -> re.Pattern[str]:
    """The pattern of a name as a table prints it, cut where it has "…"."""
    return re.compile(".*".join(map(re.escape, text.split("…"))), re.IGNORECASE)


def labelled(recording: Recording, text: str) -> list[KernelGroup]:
    """The groups that a report's table calls so: "gelu·mul", "mm (backward)", "layer_norm_…ckward", "layers.[0..11]".

    A kernel whose op is not known is also found by a part of its name that begins with a word.
    """
    wanted = pattern_of(text)
    begins_a_word = re.compile(rf"(?<![A-Za-z0-9])(?:{wanted.pattern})", re.IGNORECASE)

    def is_called(group: KernelGroup) -> bool:
        phase, label = group.phase, group.label
        names = (label, f"{label} ({phase})", f"{phase}/{label}", group.id, group.module or "")
        return any(map(wanted.fullmatch, names)) or (
            not group.attributed and any(map(begins_a_word.search, group.kernels))
        )

    return list(filter(is_called, groups(recording)))


def _unplaced(group: KernelGroup, recording: Recording) -> str:
    what = "in no recorded graph" if group.attributed else "its op is not known"
    step = report(recording).step
    time = f", {microseconds(group.time_us)}{step.each} ({percent(group.share)} of the {step.clock})"
    launches = counted(round(group.launches), "launch", "launches")
    return f"{group.label}: {what}; {launches}{time if group.time_us is not None else ''}"


def _between(recording: Recording, first: str, second: str) -> WhyAnswer:
    a_found, b_found = places_of(recording, first), places_of(recording, second)
    pairs = product(a_found, b_found if recording.decisions else ())
    once = {frozenset(pair): pair for pair in pairs}.values()  # of two equal names each pair comes twice
    decided = [(a, b, found) for a, b in once if a != b and (found := decide(recording, a, b))]
    ends = ends_of(recording)

    def key(item: tuple[Place, Place, list[Decision]]) -> object:
        return tuple(
            (*((end.label, end.phase) for end in ends(one)), one.verdict, one.reason_code, one.hint_code)
            for one in item[2]
        )

    found = [
        Same(
            count=len(same),
            module=_modules(recording, [place for a, b, _ in same for place in (a, b)]),
            calls=tuple(call for a, _, _ in same if (call := a.call)),
            nodes=tuple((place.graph, node) for place in same[0][:2] for node in place.nodes),
            decisions=tuple(same[0][2]),
        )
        for same in grouped(decided, key).values()
    ]
    every = {id(item): item for _, _, items in decided for item in items}
    if not found:
        a, b = a_found[0], b_found[0]
        note = not_neighbours(recording, a, b, first, second)
        found = [Same(nodes=tuple((a.graph, node) for node in a.nodes), note=note)]
    return WhyAnswer(names=(first, second), same=tuple(found), decisions=tuple(every.values()))


def _key(recording: Recording, place: Place) -> object:
    places, index = kept(recording, "places", Places), index_of(recording)
    if place.call in index.calls:
        return places.of_call(index.calls[place.call]).key
    return places.of_nodes(place.graph, place.nodes).key


def _modules(recording: Recording, places: list[Place]) -> str | None:
    index = index_of(recording)
    nodes = [index.nodes[place.graph][name] for place in places for name in place.nodes]
    return pattern(node.source.module for node in nodes if node.source and node.source.module)


def touches(decision: Decision, place: Place) -> bool:
    """Return whether a decision is about this place: its call, and inside the call its nodes."""
    if place.call is None:
        return any(end.graph == place.graph and set(end.nodes) & set(place.nodes) for end in decision.ends)
    if place.call not in (decision.a_call, decision.b_call):
        return False
    is_inside = bool({*decision.a, *decision.b} & set(place.nodes)) or not place.nodes
    return is_inside or decision.a_call != decision.b_call


def _places(item: Decision) -> set[object]:
    return {key for end in item.ends for key in (end.call, *((end.graph, node) for node in end.nodes)) if key}


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
        return across or together[:1]
    known = kept(recording, "decisions of places", lambda made: by_each(made.decisions, _places))
    by_call = a.call is not None and b.call is not None
    keys = [[place.call] if by_call else [(place.graph, node) for node in place.nodes] for place in (a, b)]
    of_a, of_b = ({id(item): item for key in side for item in known.get(key, ())} for side in keys)
    between = [item for number, item in of_a.items() if number in of_b]
    if by_call:
        return between
    return [x for x in between if not any({*end.nodes} & {*a.nodes} and {*end.nodes} & {*b.nodes} for end in x.ends)]


def not_neighbours(recording: Recording, a: Place, b: Place, first: str, second: str) -> str:
    """Say why there is no decision about two things: they are not neighbours, or one of them ran nowhere."""
    for place in (a, b):
        if place.call is None and recording.calls:
            return "\n".join(what_became(recording, [(place.graph, name) for name in place.nodes]))
    if a.graph != b.graph:
        return f"{first} and {second}: never considered. They are in different graphs ({a.graph} and {b.graph})."
    calls = index_of(recording).calls
    if a.call is not None and a.call == b.call:
        return f"{first} and {second}: both run in {calls[a.call].handle}, not in one loop."
    if any(place.call in calls and calls[place.call].reads is None for place in (a, b)):
        return f"{first} and {second}: unknown. The buffers of their kernel calls were not read."
    if a.call is None or b.call is None:
        if not any(column(index_of(recording).graphs[a.graph].nodes, "outputs")):
            return f"{first} and {second}: unknown. A trace does not record which op reads what another wrote."
        return f"{first} and {second}: never considered. No tensor is known to pass between them."
    return f"{first} and {second}: never considered, no shared buffer."


def what_became(recording: Recording, keys: Iterable[Key]) -> list[str]:
    nodes = [index_of(recording).nodes[graph][name] for graph, name in keys]
    return [f"{node.name} ({node.target}): {node.kind}" + (f", {node.reason}" if node.reason else "") for node in nodes]
