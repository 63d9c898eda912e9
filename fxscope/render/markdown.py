"""The recording as Markdown for a GitHub comment: the strip as text, kernels, missed fusions."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from fxscope.analysis.report import others, report
from fxscope.render import axis, labels
from fxscope.render.legible import legible
from fxscope.text import microseconds, num_bytes, percent, roof_share, sentence

if TYPE_CHECKING:
    from fxscope.model import Recording

MAX_LINES, MAX_ROWS, MAX_CALLS, MAX_MISSED, MAX_STRIP = 59, 6, 40, 4, 8


def render(recording: Recording) -> str:
    """Markdown of fewer than 60 lines."""
    head = [f"## {text(recording.title or 'recording')}", "", where(recording), ""]
    foot = [f"**Coverage:** {labels.coverage_line(recording)}", *notes(recording)]
    return legible("\n".join([*head, *summary(recording), *foot])) + "\n"


def notes(recording: Recording) -> list[str]:
    """Assumptions, predicted choices and problems, the first of each."""
    choices = [
        line
        for basis, found in labels.choices_by_basis(recording).items()
        for line in (
            *(f"{choice.subject}: {labels.choice_words(choice)}" for choice in found),
            f"predicted from: {basis}",
        )
    ]
    assumed = [f"{a.subject}: {a.assumed} ({a.because})" for a in recording.assumptions]
    problems = [labels.problem_line(problem) for problem in recording.problems]
    out: list[str] = []
    for heading, lines, most in (
        ("Assumed, not observed", assumed, 2),
        (sentence(labels.CHOICES), choices, 5),
        ("Problems", problems, 2),
    ):
        if lines:
            more = [f"… {len(lines) - most} more"] if len(lines) > most else []
            out += ["", f"**{heading}:**", "", *(f"- {text(line)}" for line in [*lines[:most], *more])]
    return out


def where(recording: Recording) -> str:
    environment = recording.environment
    place = f"planned for {environment.target}" if environment.target else environment.device
    parts = [
        place,
        environment.torch and f"torch {environment.torch}",
        environment.triton and f"triton {environment.triton}",
    ]
    return text(" · ".join(part for part in parts if part))


def summary(recording: Recording) -> list[str]:
    """The strip as text, the kernels with the most time and the missed fusions."""
    made = report(recording)
    picture = list(axis.text_lines(recording))[:MAX_STRIP]
    parts = ["```text", *(line.replace("`", "'") for line in picture), "```", ""] if picture else []
    if made.kernels:
        parts += ["| kernels | module | launches | time | share | roof |", "|---|---|--:|--:|--:|--:|"]
        rest = others(made.kernels, MAX_ROWS, made.step)
        for row in [*made.kernels[:MAX_ROWS], *([rest] if rest else [])]:
            phase = f" ({row.phase})" if row.phase else ""
            numbers = (
                f"{row.launches:,.0f} | {microseconds(row.time_us)} | {percent(row.share)} | {roof_share(row.roof)}"
            )
            parts.append(f"| {text(row.label)}{phase} | {text(row.module or '–')} | {numbers} |")
        parts.append("")
    return [*parts, *costs(recording)]


def costs(recording: Recording) -> list[str]:
    """The most expensive missed fusions; rows of one number exclude each other."""
    made = report(recording)
    if not made.missed:
        return []
    lines = ["| not fused | | saves per step | reason |", "|---|--:|--:|---|"]
    for row in made.missed[:MAX_MISSED]:
        saved = num_bytes(row.bytes)
        if row.time_us is not None:
            saved = f"{'≥' if row.is_least else '~'} {microseconds(row.time_us)}, {saved}"
        either = f" (one of group {row.bracket})" if row.bracket is not None else ""
        lines.append(
            f"| {text(f'{row.producer} → {row.consumer}')} | ×{row.count} | {saved}{either} | {text(row.reason)} |"
        )
    for bracket in made.brackets:
        if bracket.time_us is not None and any(row.bracket == bracket.number for row in made.missed[:MAX_MISSED]):
            lines += ["", f"Group {bracket.number}: ~ {microseconds(bracket.time_us)} together; a kernel joins one."]
    return [*lines, ""]


def text(value: str) -> str:
    """Escape what Markdown or HTML would read as markup: names and sources are not ours to trust."""
    value = escape(value, quote=False).replace("\n", " ")
    for char in "\\`*_|[]#":
        value = value.replace(char, f"\\{char}")
    return value


def code(value: str) -> str:
    """A code span that survives in a table cell, whatever the name holds."""
    return f"`{value.replace('`', chr(39)).replace('|', '¦').replace(chr(10), ' ')}`"
