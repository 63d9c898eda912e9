"""Hold recordings against a file of expectations. A typo is an error that names the nearest known, never a pass."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, cast

from fxscope.analysis import select
from fxscope.analysis.check import counts, fusion, kernels, times
from fxscope.analysis.check.context import Answer, Context, NotRecorded, all_of, met, unknown
from fxscope.analysis.findings import CheckReport, Outcome
from fxscope.errors import FOREIGN, PassError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fxscope.analysis.check.context import Kind
    from fxscope.analysis.findings import Sweep
    from fxscope.model import Recording

# What can be expected. The docstring of each is its help; `fxscope check --kinds` prints them.
KINDS: dict[str, Kind] = {
    "kernels": counts.kernels,
    "memsets": counts.of_categories("memsets", "gpu_memset"),
    "copies": counts.of_categories("copies", "gpu_memcpy"),
    "device_events": counts.of_categories("device events"),
    "gemms": counts.gemms,
    "kernel_calls": counts.kernel_calls,
    "kernel_counts": counts.kernel_counts,
    "ops": counts.ops,
    "has_ops": counts.has_ops,
    "no_ops": counts.no_ops,
    "launches": counts.launches,
    "launches_none": counts.launches_none,
    "graphs": counts.compiled("graphs"),
    "graph_breaks": counts.compiled("graph_breaks"),
    "recompiles": counts.compiled("recompiles"),
    "fused": fusion.fused,
    "not_fused": fusion.not_fused,
    "between": fusion.between,
    "same_kernel": kernels.same_kernel,
    "different_kernel": kernels.different_kernel,
    "same_launch": kernels.same_launch,
    "decoded": kernels.decoded,
    "runtime": kernels.runtime,
    "config": kernels.config,
    "registers": kernels.per_kernel("registers", "registers per thread"),
    "shared_bytes": kernels.per_kernel("shared_bytes", "bytes of shared memory"),
    "num_warps": kernels.per_kernel("num_warps", "warps"),
    "num_stages": kernels.per_kernel("num_stages", "stages"),
    "call_bytes": kernels.per_kernel("bytes", "bytes read and written"),
    "occupancy": kernels.per_kernel("occupancy", "occupancy"),
    "shapes": kernels.tensors("shapes", "shapes"),
    "strides": kernels.tensors("strides", "strides"),
    "flops": kernels.flops,
    "shares_storage": kernels.shares_storage,
    "time_us": times.time_us,
    "device_us": times.device_us,
    "faster": times.faster,
    "no_slower": times.no_slower,
    "ratio": times.ratio,
    "share_of_roof": times.share_of_roof,
    "max_bytes": times.max_bytes,
    "peak_memory": times.peak_memory,
    "sweep": times.sweep,
    "measured": times.measured,
}
# Kinds that name their own recordings or sweeps, so that they are held once and not against each recording.
ACROSS = frozenset(
    {"same_kernel", "different_kernel", "same_launch", "faster", "no_slower", "ratio", "sweep", "measured"}
)
_SAID = ("claim", "in", "note")
_TOP = ("title", "expect")


def parse(text: str, where: str) -> dict[str, Any]:
    """Parse a file of expectations. Raises PassError with the line of a syntax error."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise PassError(f"{where} is not valid TOML: it is nested too deeply.") from None
    except ValueError as error:  # besides syntax: Python refuses integers of more than 4,300 digits
        raise PassError(f"{where} is not valid TOML: {str(error).split(';')[0]}.") from None


def entries(data: Mapping[str, Any], where: str) -> list[dict[str, Any]]:
    """The expectations of a parsed file: `[[expect]]` tables, and kinds that stand by themselves at the top.

    Raises:
        PassError: an unknown key, or nothing is expected.
    """
    found: list[dict[str, Any]] = []
    expect: Any = data.get("expect", [])
    tables: list[dict[str, Any]] = expect if isinstance(expect, list) else []  # pyright: ignore[reportUnknownVariableType]
    rows: list[Any] = [*tables]
    if not isinstance(expect, list) or not all(isinstance(item, dict) for item in rows):
        raise PassError(f"{where}: write [[expect]] with two brackets for each expectation.")
    top = {key: value for key, value in data.items() if key not in _TOP}
    for number, item in enumerate([top, *tables] if top else tables):
        label = "at the top" if top and number == 0 else f"in expectation {number if top else number + 1}"
        for key in item:
            if key not in KINDS and key not in _SAID:
                choices = (*KINDS, *_SAID, *(_TOP if label == "at the top" else ()))
                raise PassError(f"{where}: unknown key {key!r} {label}. {select.nearest(key, choices)}")
        for key in ("claim", "note"):
            if not isinstance(item.get(key, ""), str):
                raise PassError(f"{where}: {key} {label} is not a text.")
        if not any(key in KINDS for key in item):
            raise PassError(f"{where}: nothing is expected {label}{claim_of(item)}. Add a kind such as kernels = 4.")
        found.append(dict(item))
    if not found:
        raise PassError(f"{where}: the file expects nothing. Add kernels = 4, or [[expect]] tables.")
    return found


def claim_of(item: Mapping[str, Any]) -> str:
    return f' ("{item["claim"]}")' if item.get("claim") else ""


def check(
    recordings: Mapping[str, Recording],
    data: Mapping[str, Any],
    *,
    where: str = "the expectations",
    sweeps: Mapping[str, Sweep] | None = None,
) -> CheckReport:
    """Hold every expectation against its recordings, in the file's order.

    Raises:
        PassError: an unknown key, name or value, each with the nearest known one.
    """
    outcomes: list[Outcome] = []
    for number, item in enumerate(entries(data, where), start=1):
        chosen = chosen_recordings(item, recordings, where)
        for kind, value in item.items():
            if kind not in KINDS:
                continue
            for name in chosen[:1] if kind in ACROSS else chosen:
                context = Context(recordings, sweeps or {}, name)
                try:
                    verdict = answer(kind, context, value)
                except PassError as error:
                    raise PassError(f"{where}: expectation {number}{claim_of(item)}, {kind}: {error}") from None
                except FOREIGN as error:
                    raise PassError(
                        f"{where}: expectation {number}{claim_of(item)}, {kind}: {value!r:.80} is not a valid value ({error})."
                    ) from error
                subject = name if kind not in ACROSS or "in" in item else "all"
                outcomes.append(verdict.outcome(kind, subject, claim=item.get("claim"), note=item.get("note")))
    return CheckReport(title=data.get("title"), outcomes=tuple(outcomes))


def answer(kind: str, context: Context, value: object) -> Answer:
    """Return what comes of one expectation: an answer, or the rows that make one."""
    try:
        found = KINDS[kind](context, value)
        return found if isinstance(found, Answer) else all_of(found)
    except NotRecorded as error:
        return unknown(words(value), str(error))
    except select.UnknownNameError as error:  # not a typo: another recording has it
        return met(False, words(value), str(error))


def words(value: object) -> str:
    """An expected value as a file has it: "gelu, mul", "aten::mm 3"."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {item}" for key, item in cast("dict[str, Any]", value).items())
    return ", ".join(map(str, cast("list[Any]", value))) if isinstance(value, list) else str(value)


def chosen_recordings(item: Mapping[str, Any], recordings: Mapping[str, Recording], where: str) -> list[str]:
    """The recordings that one expectation is about: those it names, else all."""
    wanted: Any = item.get("in")
    if wanted is None:
        return list(recordings) or [""]
    listed = [wanted] if isinstance(wanted, str) else cast("list[Any]", wanted) if isinstance(wanted, list) else []
    if not listed or not all(isinstance(name, str) for name in listed):
        raise PassError(f"{where}: in{claim_of(item)} takes the name of a recording, or a list of names.")
    for name in listed:
        if name not in recordings:
            raise PassError(
                f"{where}: there is no recording {name!r}{claim_of(item)}. {select.nearest(name, recordings)}"
            )
    return listed


def help_of_kinds() -> str:
    """Every kind with its first line of help."""
    lines: list[str] = []
    for name, function in KINDS.items():
        text = (function.__doc__ or _HELP.get(name) or "").strip().splitlines()
        lines.append(f"{name:17} {text[0] if text else _HELP[name]}")
    return "\n".join(lines)


_HELP = {
    "memsets": "Memsets per step.",
    "copies": "Copies per step.",
    "device_events": "Kernels, memsets and copies per step.",
    "graphs": "Graphs that Dynamo compiled.",
    "graph_breaks": "Graphs that ended in a break.",
    "recompiles": "Frames compiled again, with the guard that failed.",
    "shapes": 'Shapes of an op\'s inputs: `shapes = { "aten::mm#1" = [[8192, 768], [768, 3072]] }`.',
    "strides": "Strides of an op's inputs, in the same form.",
    "registers": 'Registers per thread: a number for every kernel, or `{ "nvjet*" = 168 }`.',
    "shared_bytes": "Bytes of shared memory per block.",
    "call_bytes": 'Bytes that a kernel call reads and writes: `call_bytes = { "triton_poi*" = "< 152 MB" }`.',
    "num_warps": "Warps per block.",
    "num_stages": "Pipeline stages.",
    "occupancy": "Occupancy that the profiler estimates, 0 to 1.",
}
