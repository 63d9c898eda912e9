"""Comparisons, check reports and sweeps as text, Markdown, JSON and JUnit XML."""

from __future__ import annotations

import textwrap
from collections import Counter
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from fxscope.op_names import out_of_place, table
from fxscope.render import labels
from fxscope.render.legible import legible
from fxscope.render.markdown import code, text
from fxscope.text import kernel_name, listed, microseconds, num_bytes

if TYPE_CHECKING:
    from fxscope.analysis.findings import (
        Change,
        Comparison,
        DecisionChange,
        KernelMatch,
        KernelUse,
        OpChange,
        Outcome,
        Report,
        Status,
    )

MARKS: dict[Status, str] = {"met": "✓", "not_met": "✗", "cannot_tell": "?"}
CHANGES = ("kept", "moved", "replaced", "regrouped", "fused", "merged", "split", "new", "gone")
MAX_OPS = 16


def check_text(report: Report, *, width: int = 80) -> str:
    """One line per expectation, with the fact, and the reason where it is not met."""
    lines = [report.title, ""] if report.title else []
    several = len({outcome.subject for outcome in report.outcomes}) > 1
    for outcome in report.outcomes:
        subject = f"[{outcome.subject}] " if several and outcome.subject else ""
        lines.append(f"{MARKS[outcome.status]} {subject}{outcome.claim}")
        if outcome.status == "met":
            lines += wrapped(outcome.found, width)
            continue
        lines += wrapped(f"expected {outcome.expected}; found {outcome.found}", width)
        for label, line in (("because", outcome.reason), ("note", outcome.note)):
            if line:
                lines += wrapped(f"{label}: {line}", width)
    return "\n".join([*lines, "", summary(report)]) + "\n"


def wrapped(line: str, width: int) -> list[str]:
    """A line folded and indented by four."""
    return textwrap.wrap(line, width, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)


def wrapped_under(line: str, width: int) -> list[str]:
    """A line folded, its continuation under the second column."""
    return textwrap.wrap(line, width, subsequent_indent=" " * 43, break_on_hyphens=False)


def summary(report: Report) -> str:
    """The last line: how many hold."""
    counts = {status: sum(o.status == status for o in report.outcomes) for status in MARKS}
    parts = [f"{counts['met']} of {len(report.outcomes)} hold"]
    if counts["not_met"]:
        parts.append(f"{counts['not_met']} do not")
    if counts["cannot_tell"]:
        parts.append(f"{counts['cannot_tell']} cannot be told")
    return ", ".join(parts)


def check_markdown(report: Report) -> str:
    """A table for a pull request."""
    lines = [f"### {text(report.title or 'Expectations')}", "", f"**{summary(report)}**", ""]
    lines += ["| | claim | where | fact |", "|---|---|---|---|"]
    for outcome in report.outcomes:
        fact = text(outcome.found)
        if outcome.status != "met":
            more = [f"expected {outcome.expected}", outcome.reason, outcome.note]
            fact += "<br>" + "<br>".join(text(line) for line in more if line)
        lines.append(f"| {MARKS[outcome.status]} | {text(outcome.claim)} | {text(outcome.subject)} | {fact} |")
    return "\n".join(lines) + "\n"


def check_junit(report: Report) -> str:
    """JUnit XML: what is not met is a failure; what cannot be told is one too, because nobody checked it."""
    failed = [outcome for outcome in report.outcomes if outcome.status != "met"]
    suite = ElementTree.Element(
        "testsuite",
        name=legible(report.title or "fxscope check"),
        tests=str(len(report.outcomes)),
        failures=str(len(failed)),
        errors="0",
        skipped="0",
    )
    for outcome in report.outcomes:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=legible(f"fxscope.{outcome.subject or 'recording'}.{outcome.kind}"),
            name=legible(outcome.claim),
        )
        if outcome.status != "met":
            failure = ElementTree.SubElement(
                case,
                "failure",
                type=outcome.status,
                message=legible(f"expected {outcome.expected}; found {outcome.found}"),
            )
            failure.text = legible("\n".join(part for part in (outcome.reason, outcome.note) if part))
        else:
            ElementTree.SubElement(case, "system-out").text = legible(outcome.found)
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def number(value: float | None, unit: str) -> str:
    """A number with its unit, "–" where it is not known."""
    if value is None:
        return "–"
    if unit == "us":
        return microseconds(value)
    if unit == "bytes":
        return num_bytes(value)
    return f"{value:g}"


def kernel_label(use: KernelUse, width: int) -> tuple[str, str]:
    """(kernel's name, the ops that tell instances of a C++ template apart where the name does not, or nothing)."""
    name = kernel_name(use.kernel, width)
    ops = [op for op in use.ops[:4] if op.strip("_") not in name.lower()] if "<" in use.kernel else []
    return name, f" ({', '.join(ops)})" if ops else ""


def kernel_words(use: KernelUse, width: int) -> str:
    parts = ["".join(kernel_label(use, width))]
    details = [microseconds(use.mean_us)] if use.mean_us is not None else []
    details += [f"{labels.times(use.runs)} a step"] if use.runs > 1 else []
    details += [f"{use.registers} registers"] if use.registers else []
    return f"{parts[0]} ({', '.join(details)})" if details else parts[0]


def signed(us: float) -> str:
    """A difference of times with its sign."""
    return f"{'−' if us < 0 else '+'}{microseconds(abs(us))}"


def change_word(match: KernelMatch) -> str:
    """What became of the kernels of A, one of `CHANGES`: "fused" only where one kernel is known to do all of their work."""
    if match.kind in ("collapsed", "replaced") and len(match.a) > 1 and one_does_all(match):
        return "fused"
    if match.kind == "replaced" and max(len(match.a), len(match.b)) > 1:
        return "regrouped"
    return {"same": "kept", "collapsed": "merged"}.get(match.kind, match.kind)


def one_does_all(match: KernelMatch) -> bool:
    """Whether the one kernel of B runs all ops of A's, each of which runs some: what a library's call launches besides a
    kernel (a memset, a reduction of its partial results) shares its ops, and is not fused.
    """
    if len(match.b) != 1 or not all(use.ops for use in match.a):
        return False
    if match.aligned_by == "nodes":
        calls = [use.call for use in match.a]
        return None not in calls and len(set(calls)) == len(calls)
    a, b = (Counter(out_of_place(op) for use in side for op in use.ops) for side in (match.a, match.b))
    return a <= b


def change_words_of(match: KernelMatch) -> str:
    """What became of them, how many they were and are, and whether the ops are the same: "fused 2 → 1"."""
    word = change_word(match)
    if word == "replaced":
        ran = [{out_of_place(op) for use in side for op in use.ops} for side in (match.a, match.b)]
        if not all(ran) or not set().union(*ran) <= table().keys():
            return word  # what a program's own kernel does is not known
        return f"{word}, {'the same' if ran[0] == ran[1] else 'other'} ops"
    return f"{word} {len(match.a)} → {len(match.b)}" if max(len(match.a), len(match.b)) > 1 and word != "kept" else word


def match_line(match: KernelMatch) -> str:
    how = f" (aligned by {match.aligned_by})" if match.aligned_by and match.aligned_by != "name" else ""
    gain = f": {match.time.verdict}, {match.time.reason}" if match.time and match.time.ratio is not None else ""
    if match.time and match.time.verdict == "cannot tell":
        gain = ""  # the lines on the whole step say so, and why
    if match.predicted_us is not None and match.kind != "same":
        gain = f": predicted {signed(match.predicted_us)}"
    elif match.not_predicted and match.kind != "same":
        gain = f": not predicted ({listed(list(dict.fromkeys(match.not_predicted)), 2)})"
    saved = f"; {num_bytes(match.saved_bytes)} of traffic less" if match.saved_bytes and match.saved_bytes > 0 else ""
    return f"{change_words_of(match)}{how}{gain}{saved}"


def change_words(change: Change) -> str:
    """ "7 → 4"; what measured times show is said below them, with its interval."""
    line = f"{number(change.a, change.unit)} → {number(change.b, change.unit)}"
    if (
        change.a
        and change.b is not None
        and change.a != change.b
        and (change.unit not in ("count", "us") or change.subject.startswith("predicted"))
    ):
        line += f" (×{change.b / change.a:.2f})"
    return line


def decision_title(change: DecisionChange) -> str:
    """The ops and where they are: "pow + mean in norm1 and norm2"."""
    where = f" in {listed(change.where, 3)}" if change.where else ""
    often = f" ({change.count} times)" if change.count > max(1, len(change.where)) else ""
    return f"{' + '.join(change.pair)}{where}{often}"


def op_change_words(change: OpChange) -> tuple[str, str]:
    """("15 → 2", "21.9 µs → 3.10 µs of CPU"): how often a step runs the op, and its own time there, where known."""
    times = [microseconds(us) for us in (change.a_cpu_us, change.b_cpu_us) if us is not None]
    often = " → ".join(number(count, "count") for count in (change.a, change.b))
    return often, f"{' → '.join(times)} of CPU" if times else ""


def step_times(comparison: Comparison) -> list[tuple[str, str]]:
    """What the times of a step show: (which time, verdict and reason); one line where both say the same."""
    device = "device time, no collectives" if comparison.without_collectives else "device time"
    found: dict[str, str] = {}
    for name, time in ((device, comparison.step_time), ("wall time", comparison.wall_time)):
        if time is not None:
            said = f"{time.verdict}: {time.reason}"
            found[said] = f"{found[said]} and {name}" if said in found else name
    return [(name, said) for said, name in found.items()]


def comparison_text(comparison: Comparison, *, width: int = 80) -> str:
    room = max(60, width - 40)  # for a kernel's name, which is worth more whole than the margin is
    lines = [f"A  {comparison.a_title}", f"B  {comparison.b_title}", ""]
    lines += [f"{change.subject:42} {change_words(change)}" for change in comparison.totals]
    for name, said in step_times(comparison):
        lines += wrapped_under(f"{f'{name} of a step':42} {said}", width)
    lines += ["", "Kernels, in the order of a step"]
    for match in comparison.kernels:
        lines.append("")
        lines += wrapped(match_line(match), width)
        if match.kind in ("same", "moved"):
            for a, b in zip(match.a, match.b, strict=False):
                times = f"{microseconds(a.mean_us)} → {microseconds(b.mean_us)}"
                if max(a.runs, b.runs) > 1:
                    often = dict.fromkeys(map(labels.times, (a.runs, b.runs)))
                    times += f", {' → '.join(often)} a step"
                registers = (
                    "" if a.registers == b.registers else f", registers {a.registers or '–'} → {b.registers or '–'}"
                )
                lines.append(f"    =  {''.join(kernel_label(b, room))}  {times}{registers}")
            continue
        lines += [f"    −  {kernel_words(use, room)}" for use in match.a]
        lines += [f"    +  {kernel_words(use, room)}" for use in match.b]
    for heading, changes in (
        ("CPU ops that vanished or became fewer", comparison.ops_gone),
        ("CPU ops added", comparison.ops_added),
    ):
        if changes:
            lines += ["", f"{heading}, per step"]
            for item in changes[:MAX_OPS]:
                before = "   before the first launch" if item.before_first_launch else ""
                often, cost = op_change_words(item)
                lines.append(f"    {item.name:44} {often}{f'   {cost}' if cost else ''}{before}")
            if len(changes) > MAX_OPS:
                lines.append(f"    … {len(changes) - MAX_OPS} more")
    if comparison.decisions:
        lines += ["", "Decisions that changed"]
        for item in comparison.decisions:
            lines += wrapped(
                f"{decision_title(item)}: {item.a_verdict} ({item.a_reason}) → {item.b_verdict} ({item.b_reason})",
                width,
            )
    lines += [""] if comparison.notes else []
    for note in comparison.notes:
        lines += textwrap.wrap(note, width, break_on_hyphens=False)
    return "\n".join(lines).rstrip() + "\n"


def comparison_markdown(comparison: Comparison) -> str:
    a, b = text(comparison.a_title), text(comparison.b_title)
    lines = [f"### {a} → {b}", "", f"| per step | {a} | {b} |", "|---|--:|--:|"]
    for change in comparison.totals:
        left, right = (number(value, change.unit) for value in (change.a, change.b))
        lines.append(f"| {text(change.subject)} | {left} | {right} |")
    for name, said in step_times(comparison):
        lines += ["", f"**{name[0].upper()}{name[1:]}:** {text(said)}"]
    lines += ["", f"| | {a} | {b} | time |", "|---|---|---|---|"]
    for match in comparison.kernels:
        cells = [
            "<br>".join(code(kernel_label(use, 60)[0]) + text(kernel_label(use, 60)[1]) for use in side) or "–"
            for side in (match.a, match.b)
        ]
        how = f" by {match.aligned_by}" if match.aligned_by and match.aligned_by != "name" else ""
        time = "–"
        if match.time is not None and match.time.ratio is not None:
            time = f"{microseconds(match.time.a_us)} → {microseconds(match.time.b_us)}"
            time += f", {match.time.verdict}" if match.time.verdict != "cannot tell" else ""
        elif match.predicted_us is not None:
            time = f"predicted {signed(match.predicted_us)}"
        elif match.not_predicted:
            time = "not predicted"
        lines.append(f"| {change_words_of(match)}{how} | {cells[0]} | {cells[1]} | {time} |")
    for heading, changes in (
        ("CPU ops that vanished or became fewer", comparison.ops_gone),
        ("CPU ops added", comparison.ops_added),
    ):
        if changes:
            items = [
                f"{code(c.name)} {op_change_words(c)[0]}{' (before the first launch)' if c.before_first_launch else ''}"
                for c in changes
            ]
            lines += ["", f"**{heading}:** {', '.join(items[:MAX_OPS])}{' …' if len(items) > MAX_OPS else ''}"]
    if comparison.decisions:
        lines += ["", "**Decisions that changed:**", ""]
        lines += [
            f"- {text(decision_title(d))}: {text(str(d.a_verdict))} ({text(d.a_reason or '–')}) → "
            f"{text(str(d.b_verdict))} ({text(d.b_reason or '–')})"
            for d in comparison.decisions
        ]
    lines += ["", *(f"> {text(note)}" for note in comparison.notes)] if comparison.notes else []
    return "\n".join(lines) + "\n"


def outcome_lines(outcome: Outcome) -> list[str]:
    """One outcome as short lines, for failure messages."""
    return [f"{MARKS[outcome.status]} {outcome.claim}", f"  expected {outcome.expected}", f"  found {outcome.found}"]
