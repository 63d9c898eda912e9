"""Expectations about fusion: which ops ran in one kernel, which did not, what was decided, and why."""

from __future__ import annotations

from fnmatch import fnmatchcase
from math import inf
from typing import TYPE_CHECKING, get_args

from fxscope.analysis import select
from fxscope.analysis.check import quantity
from fxscope.analysis.check.context import Answer, Context, NotRecorded, a_list, a_table, keys_of, met
from fxscope.analysis.why import why
from fxscope.columns import column
from fxscope.errors import PassError
from fxscope.index import index_of
from fxscope.model import How, Verdict

if TYPE_CHECKING:
    from fxscope.model import Decision, KernelCall, Recording


def fused(context: Context, value: object) -> Answer:
    """Ops that run in one kernel together: `fused = ["gelu", "mul"]`."""
    wanted = a_list(value, "fused", least=2)
    expected = f"{' and '.join(wanted)} in one kernel"
    recording = context.recording
    select.require(recording, *wanted)
    if not knows_nodes(recording):
        raise NotRecorded("no kernel's nodes are known: a kernel's name may list ops that it does not run")
    homes = {name: places(recording, name) for name in wanted}
    together: set[str] = set[str].intersection(*homes.values())
    rarest = min(homes.values(), key=len)
    # Every occurrence of the rarest name counts: one layer that fused does not speak for the others.
    holds = bool(together) and rarest <= together
    if holds:
        return met(True, expected, f"in {', '.join(sorted(describe(recording, place) for place in together))}")
    found = "; ".join(
        f"{name} in {', '.join(describe(recording, p) for p in sorted(homes[name])) or 'no kernel'}" for name in wanted
    )
    return met(False, expected, found, why_not(recording, wanted))


def not_fused(context: Context, value: object) -> Answer:
    """Ops of which no two share a kernel: `not_fused = ["mm", "gelu"]`."""
    wanted = a_list(value, "not_fused", least=2)
    recording = context.recording
    select.require(recording, *wanted)
    expected = f"{' and '.join(wanted)} in different kernels"
    if not knows_nodes(recording):
        raise NotRecorded("no kernel's nodes are known: a kernel's name may list ops that it does not run")
    homes = [places(recording, name) for name in wanted]
    shared: set[str] = set[str]().union(*(a & b for i, a in enumerate(homes) for b in homes[i + 1 :]))
    if not shared:
        return met(True, expected, "no kernel runs two of them", why_not(recording, wanted))
    how = next((d.reason for d in decisions_between(recording, *wanted[:2]) if d.verdict == "fused"), None)
    return met(False, expected, f"together in {', '.join(sorted(describe(recording, p) for p in shared))}", how)


def knows_nodes(recording: Recording) -> bool:
    """Return whether it is known what ran in the kernels: calls with nodes, or an eager run's ops."""
    if recording.calls:
        return any(call.nodes for call in recording.calls)
    return any(column(recording.launches, "op"))


def places(recording: Recording, name: str) -> set[str]:
    """The kernels (call ids, or positions in a step where nothing was compiled) that run an op."""
    found: set[str] = set()
    if recording.calls:
        calls = index_of(recording).calls
        graphs = {call.graph for call in recording.calls}
        for graph in graphs:
            for _, node in select.nodes_named(recording, name, graph=graph):
                found |= {item for item in node.calls if item in calls} or {
                    call.id for call in calls.values() if call.graph == graph and node.name in call.nodes
                }
        found |= {call.id for call in recording.calls if name in (call.kernel, call.handle)}
        if found:
            return found
    for unit in select.units_matching(recording, name):
        if unit.is_kernel:
            found.add(unit.call or f"#{unit.position}")
    return found


def describe(recording: Recording, place: str) -> str:
    """A kernel's name with what tells two calls of it apart."""
    if place.startswith("#"):
        return select.units(recording)[int(place[1:])].kernel
    call: KernelCall = next(item for item in recording.calls if item.id == place)
    return call.handle


def decisions_between(recording: Recording, a: str, b: str) -> list[Decision]:
    """The decisions about what is called a and what is called b, as `why` answers."""
    try:
        return list(why(recording, a, b).decisions)
    except select.UnknownNameError:
        return []


def why_not(recording: Recording, wanted: list[str]) -> str | None:
    """The reason why the first pair of these ops that was decided on stayed apart."""
    for i, a in enumerate(wanted):
        for b in wanted[i + 1 :]:
            for decision in decisions_between(recording, a, b):
                if decision.verdict != "fused":
                    hint = f" ({decision.hint})" if decision.hint else ""
                    return f"{a} and {b}: {decision.reason}{hint}"
    if not recording.compiles and not recording.calls:
        return "nothing was compiled: each op of an eager program launches its own kernels"
    return None


def between(context: Context, value: object) -> Answer:
    """The verdict on two ops: `between = { pair = ["mm", "gelu"], verdict = "never_considered" }`."""
    table = a_table(value, "between", '{ pair = ["mm", "gelu"], verdict = "never_considered" }')
    keys_of(table, "between", ["pair"], ["verdict", "how", "saved_bytes", "saved_us", "reason"])
    pair = a_list(table["pair"], "pair", least=2)
    if len(pair) != 2:
        raise PassError("between: pair takes two names.")
    recording = context.recording
    select.require(recording, *pair)
    allowed: dict[str, tuple[str, ...]] = {"verdict": get_args(Verdict), "how": get_args(How)}
    for key, choices in allowed.items():
        if key in table and table[key] not in choices:
            raise PassError(f"between: {key} {table[key]!r} is not known. {select.nearest(str(table[key]), choices)}")
    sizes = {key: quantity.parse(table[key]) for key in ("saved_bytes", "saved_us") if key in table}
    expected = (
        ", ".join(f"{key} {sizes[key].text if key in sizes else table[key]}" for key in table if key != "pair")
        or "decided on"
    )
    found = decisions_between(recording, *pair)
    if not found:
        raise NotRecorded(f"the recording has no decision between {pair[0]} and {pair[1]}")
    least: Decision | None = None
    for decision in found:
        holds = all(getattr(decision, key) == table[key] for key in ("verdict", "how") if key in table)
        holds = holds and ("reason" not in table or matches_reason(decision, table["reason"]))
        size, saved = sizes.get("saved_bytes"), decision.saved_bytes
        if holds and "saved_us" in sizes:
            holds = decision.saved_us is not None and sizes["saved_us"].holds(decision.saved_us)
        if holds and size is not None and saved is not None and decision.saved_bytes_least:
            least = decision if size.overlaps(saved, inf) else least
            holds = size.holds(saved) and size.holds(inf) and not size.negated
        elif size is not None:
            holds = holds and saved is not None and size.holds(saved)
        if holds:
            return met(True, expected, told(decision), decision.reason)
    if least is not None:
        raise NotRecorded(f"only a lower bound of the bytes is known: {told(least)}")
    return met(False, expected, told(found[0]), found[0].reason)


def matches_reason(decision: Decision, pattern: str) -> bool:
    """Return whether a reason's code, its words as shown, or torch's own words match what an expectation names."""
    texts = (decision.reason_code, decision.reason, decision.raw_reason or "")
    return any(fnmatchcase(text, f"*{pattern}*") for text in texts)


def told(decision: Decision) -> str:
    parts = [decision.verdict or "not known", decision.how or ""]
    least = "at least " if decision.saved_bytes_least else ""
    parts += [f"saves {least}{decision.saved_bytes} B"] if decision.saved_bytes is not None else []
    return ", ".join(part for part in parts if part)
