"""Differences between the TORCH_TRACE logs of a job's ranks: compiles, breaks, graphs, kernels, guards, collectives."""

import re
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple, cast

from fxscope.english import explained
from fxscope.errors import FxscopeError
from fxscope.fleet.sources import TRACE
from fxscope.index import grouped
from fxscope.model import Compile, Item, Problem, Recording
from fxscope.readers.compile_log import artifacts, read_log
from fxscope.readers.log_files import is_log, logs_of_ranks
from fxscope.text import first_line, microseconds

LOGGED = ("compiles", "graph breaks", "recompiles", "graphs", "kernels", "guards", "collectives")
ASPECTS = (*LOGGED, "cache hits and misses", "estimated runtimes")  # the last ones not by every torch
SCHEDULE, RUNTIMES = "inductor_collective_schedule", "inductor_runtime_and_tensor_meta"
COLLECTIVE = re.compile(r"_c10d_functional|\bc10d\b|wait_tensor")
# What differs between processes of one program: addresses, ids of types, this rank's device.
OWN = re.compile(r"0x[0-9a-f]+|\b\d{7,}\b|cuda:\d+|device(_index)? ?= ?\d+|index=\d+")


class Fact(NamedTuple):
    """One item of a rank, in the order of its log."""

    compile_id: str | None
    text: str


class RankGroup(Item, frozen=True, kw_only=True):
    ranks: tuple[int, ...]
    count: int  # items
    compile_id: str | None = None  # where they first differ from the first group
    first: str | None = None  # the first item that the first group does not have there; None where it ends
    instead: str | None = None  # what the first group has there


class LogDifference(Item, frozen=True, kw_only=True):
    """One aspect in which ranks differ; the largest group is first, of equally large ones that of the lowest rank."""

    aspect: str
    groups: tuple[RankGroup, ...]


class LogJob(Item, frozen=True, kw_only=True):
    schema: str = "fxscope-fleet-logs/1"
    title: str
    ranks: tuple[int, ...]
    compile_s: dict[int, float]  # rank → seconds in all compiles, where the log has them
    differences: tuple[LogDifference, ...] = ()
    problems: tuple[Problem, ...] = ()


def find(places: Sequence[str]) -> dict[int, list[Path]]:
    """Rank → its logs, of folders and of logs given one by one; 0 where no name contains a rank."""
    found: dict[int, list[Path]] = {}
    for place in map(Path, places):
        ranks = logs_of_ranks(place) if not TRACE.search(place.name) and is_log(place) else {}
        for rank, files in ranks.items():
            if rank is not None or len(ranks) == 1:
                found.setdefault(rank or 0, []).extend(files)
    return dict(sorted(found.items()))


def examine(logs: Mapping[int, Sequence[Path]], *, title: str) -> LogJob:
    """Compare the logs of each rank; one that cannot be read is a problem. Raises FxscopeError where fewer than two can be."""
    facts: dict[int, dict[str, list[Fact]]] = {}
    seconds: dict[int, float] = {}
    problems: list[Problem] = []
    for rank, files in logs.items():
        try:
            recordings = [read_log(file) for file in files]
            planned = [item for file in files for item in artifacts(file, SCHEDULE, RUNTIMES)]
        except FxscopeError as error:
            problems.append(Problem(where=f"rank {rank}", message=str(error)))
            continue
        facts[rank] = {aspect: [x for item in recordings for x in facts_of(item, aspect)] for aspect in ASPECTS}
        facts[rank] |= _planned(planned)
        times = [item.duration_us for recording in recordings for item in recording.compiles if item.duration_us]
        if times:
            seconds[rank] = round(sum(times) / 1e6, 3)
    if len(facts) < 2:
        why = f" ({problems[0].where}: {problems[0].message})" if problems else ""
        raise FxscopeError(f"{title} holds the log of one rank: nothing to compare with{why}. Try `fxscope view`.")
    found = [difference(aspect, {rank: item[aspect] for rank, item in facts.items()}) for aspect in ASPECTS]
    return LogJob(
        title=title,
        ranks=tuple(facts),
        compile_s=seconds,
        differences=tuple(filter(None, found)),
        problems=tuple(problems),
    )


def facts_of(recording: Recording, aspect: str) -> list[Fact]:
    """Return the items of one aspect, without what differs between processes of one program."""
    if aspect in ("graphs", "collectives"):
        rows = [
            (graph.compile_id or graph.id, f"{node.target}({', '.join(node.inputs)}) {node.outputs}")
            for graph in recording.graphs
            if graph.stage == "post_grad"
            for node in graph.nodes
            if node.op == "call_function" and (aspect == "graphs" or COLLECTIVE.search(node.target))
        ]
    elif aspect == "kernels":
        ids = {graph.id: graph.compile_id for graph in recording.graphs}
        rows = [(ids.get(call.graph) or call.graph, call.kernel) for call in recording.calls]
    else:
        rows = [(item.compile_id, text) for item in recording.compiles for text in _said(item, aspect)]
    return [Fact(compile_id, OWN.sub("…", text)) for compile_id, text in rows]


def _planned(found: Sequence[tuple[str, str, Any]]) -> dict[str, list[Fact]]:
    """Return Inductor's own schedule of collectives, and its estimate of each graph's run time, where the log has them."""
    facts: dict[str, list[Fact]] = {}
    for compile_id, name, value in found:
        if name == SCHEDULE and isinstance(value, list):
            calls = [str(item).removeprefix("torch.ops.") for item in cast("list[Any]", value)]
            facts.setdefault("collectives", []).extend(Fact(compile_id, call) for call in calls)
        elif name == RUNTIMES and isinstance(value, dict):
            times = [op.get("estimated_runtime_ns") for op in cast("list[dict[str, Any]]", value.get("ops") or [])]
            total = sum(time for time in times if isinstance(time, (int, float)))
            facts.setdefault("estimated runtimes", []).append(Fact(compile_id, microseconds(total / 1e3)))
    return facts


def _said(item: Compile, aspect: str) -> Sequence[str]:
    if aspect == "compiles":
        source = item.source
        return [f"{Path(source.file).name}:{source.line}" if source and source.file else item.compile_id]
    if aspect == "guards":
        return sorted(OWN.sub("…", text.split("  # ")[0]) for text in item.guards)  # without the line that made it
    broke = item.break_reason and explained(item.break_reason)
    said = {"graph breaks": broke, "recompiles": item.recompile_reason, "cache hits and misses": item.cache}
    return list(filter(None, [first_line(said.get(aspect) or "")]))


def difference(aspect: str, facts: Mapping[int, Sequence[Fact]]) -> LogDifference | None:
    """The groups of ranks that agree, `None` where all do."""
    groups = sorted(grouped(facts, lambda rank: tuple(facts[rank])).items(), key=lambda item: (-len(item[1]), item[1]))
    if len(groups) < 2:
        return None
    rule = groups[0][0]
    return LogDifference(aspect=aspect, groups=tuple(_group(rule, own, ranks) for own, ranks in groups))


def _group(rule: Sequence[Fact], own: Sequence[Fact], ranks: Sequence[int]) -> RankGroup:
    theirs, mine = next((pair for pair in zip_longest(rule, own) if pair[0] != pair[1]), (None, None))
    return RankGroup(
        ranks=tuple(ranks),
        count=len(own),
        compile_id=(mine or theirs or Fact(None, "")).compile_id,
        first=mine.text if mine else None,
        instead=theirs.text if theirs else None,
    )
