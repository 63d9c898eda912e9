"""Markdown for a GitHub comment: what the terminal prints and the strip in characters, in a block of code."""

from html import escape

from fxscope.model import Recording
from fxscope.render import grid, report
from fxscope.render.axis import LEFT, Strip
from fxscope.render.legible import legible
from fxscope.text import microseconds

MAX_LINES, WIDTH = 55, 100


def render(recording: Recording) -> str:
    """Markdown of fewer than 60 lines."""
    shown = report.render(recording, width=WIDTH).splitlines()
    lines = grid.first([*shown, "", *bars(recording)], MAX_LINES, " lines")
    return block(recording.title or "recording", "\n".join(lines).strip("\n"))


def bars(recording: Recording) -> list[str]:
    """Busy and idle, ops and times of the step to scale, in characters; nothing without times."""
    strip, room = Strip(recording), WIDTH - 9
    if not strip.timed:
        return []
    strip.lay_out(room / strip.total)
    rows = {"ops": " " * WIDTH, "time": " " * WIDTH}
    for group in strip.order:
        place = strip.places[group.id]
        start, end = round(place.x - LEFT), round(place.right - LEFT)
        for name, words in (("ops", group.label), ("time", microseconds(group.time_us))):
            cell = f"│{words if len(words) < end - start else ''}".ljust(end - start)
            rows[name] = rows[name][:start] + cell[: end - start] + rows[name][end:]
    parts = strip.report.step.parts_us
    busy = [f"step     {'█' * round(parts[0] / sum(parts) * room)}".ljust(WIDTH, "░")] if parts else []
    return [*busy, *(f"{name:9}{row[:room]}".rstrip() for name, row in rows.items()), ""]


def block(title: str, body: str) -> str:
    return legible(f"### {text(title)}\n\n{fenced(body)}")


def fenced(body: str) -> str:
    return f"```text\n{body.replace('```', chr(39) * 3).rstrip()}\n```\n"


def text(value: str) -> str:
    """Escape what Markdown or HTML would read as markup: names and sources are not ours to trust."""
    value = escape(value, quote=False).replace("\n", " ")
    for char in "\\`*_|[]#":
        value = value.replace(char, f"\\{char}")
    return value
