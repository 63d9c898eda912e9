"""Expectations about fusion: which ops ran in one kernel, which did not, and why."""

from collections.abc import Iterable, Iterator
from itertools import combinations

from fxscope.analysis import select
from fxscope.analysis.check.context import Context, NotRecorded, Row, a_list
from fxscope.analysis.why import why
from fxscope.columns import column
from fxscope.index import index_of
from fxscope.model import Decision, Recording


def fused(context: Context, value: object) -> Iterator[Row]:
    """Hold that ops run in one kernel together, at every occurrence of the rarest: one layer does not prove the others."""
    wanted, homes = homes_of(context, value, "fused")
    together = set[str].intersection(*homes.values())
    expected = f"{' and '.join(wanted)} in one kernel"
    if together and min(homes.values(), key=len) <= together:
        yield Row(True, expected, f"in {described(context.recording, together)}")
        return
    found = "; ".join(
        f"{name} in {described(context.recording, homes[name]) or 'no kernel'}" for name in dict.fromkeys(wanted)
    )
    yield Row(False, expected, found, why_not(context.recording, wanted))


def not_fused(context: Context, value: object) -> Iterator[Row]:
    wanted, homes = homes_of(context, value, "not_fused")
    shared = set[str]().union(*(homes[a] & homes[b] for a, b in combinations(wanted, 2)))
    expected = f"{' and '.join(wanted)} in different kernels"
    if not shared:
        yield Row(True, expected, "each runs in a kernel without the others")
        return
    decisions = decisions_between(context.recording, *wanted[:2])
    how = next((item.reason for item in decisions if item.verdict == "fused"), None)
    yield Row(False, expected, f"together in {described(context.recording, shared)}", how)


def homes_of(context: Context, value: object, kind: str) -> tuple[list[str], dict[str, set[str]]]:
    """Return the named ops, and the kernels that run each. Raises NotRecorded."""
    wanted, recording = a_list(value, kind, least=2), context.recording
    select.require(recording, *wanted)
    # Calls with nodes, or an eager run's ops
    known = any(call.nodes for call in recording.calls) if recording.calls else any(column(recording.launches, "op"))
    if not known:
        raise NotRecorded("no kernel's nodes are known: a kernel's name may list ops that it does not run")
    return wanted, {name: kernels_of(recording, name) for name in wanted}


def kernels_of(recording: Recording, name: str) -> set[str]:
    """Return the kernels (call ids, or positions in a step where nothing was compiled) that run an op."""
    calls, found = index_of(recording).calls, set[str]()
    for graph in {call.graph for call in recording.calls}:
        for _, node in select.nodes_named(recording, name, graph=graph):
            found |= {item for item in node.calls if item in calls} or {
                call.id for call in calls.values() if call.graph == graph and node.name in call.nodes
            }
    found |= {call.id for call in recording.calls if name in (call.kernel, call.handle)}
    return found or {
        unit.call or f"#{unit.position}" for unit in select.units_matching(recording, name) if unit.is_kernel
    }


def described(recording: Recording, kernels: Iterable[str]) -> str:
    calls, units = index_of(recording).calls, select.units(recording)
    return ", ".join(
        units[int(item[1:])].kernel if item.startswith("#") else calls[item].handle for item in sorted(kernels)
    )


def decisions_between(recording: Recording, a: str, b: str) -> list[Decision]:
    try:
        return list(why(recording, a, b).decisions)
    except select.UnknownNameError:
        return []


def why_not(recording: Recording, wanted: list[str]) -> str | None:
    """The reason why the first pair of these ops that was decided on stayed apart."""
    for a, b in combinations(wanted, 2):
        for decision in decisions_between(recording, a, b):
            if decision.verdict != "fused":
                hint = f" ({decision.hint})" if decision.hint else ""
                return f"{a} and {b}: {decision.reason}{hint}"
    if not recording.compiles and not recording.calls:
        return "nothing was compiled: each op of an eager program launches its own kernels"
    return None
