"""A job of many ranks as text for a terminal or a log, and as Markdown for a pull request."""

from fxscope.english import CAUSES
from fxscope.fleet.model import Fleet, PlanChange, PlanGroup, RankLine, headline, named
from fxscope.model import replace
from fxscope.render import grid, markdown as md
from fxscope.render.labels import problem_line
from fxscope.render.legible import legible
from fxscope.text import aligned, counted, kernel_name, microseconds, percent, sentence

SHADES = " ░▒▓█"
MAX_RANKS = 24  # beyond, the terminal shows the named ones and the extremes
MAX_CHANGES = 6
MAX_FINDINGS = 2  # of a screen
SCREEN_RANKS = 12
MAX_PROBLEMS = 8


def change_line(change: PlanChange, width: int | None = None) -> str:
    """Say how a rank's plan differs: "gemm: 4 → 44 launches a step", first on the others, then here."""
    name = kernel_name(change.name, width) if change.what == "kernel" else change.name
    us = change.total_us
    cost = f" ({'+' if us > 0 else '−'}{microseconds(abs(us))} a step)" if us else ""
    sides = f"{change.majority or '–'} → {change.here or '–'}"
    if change.change in ("other_configuration", "other_shapes"):
        return f"{change.change.replace('_', ' ')} {name}: {sides}{cost}"
    return f"{name}: {sides} {'launches' if change.what == 'kernel' else 'calls'} a step{cost}"


def facts(fleet: Fleet) -> str:
    of = f" of {fleet.world}" if fleet.world and fleet.world != len(fleet.ranks) else ""
    parts = [counted(len(fleet.ranks), "rank") + of, counted(len(fleet.steps), "step") + " compared"]
    parts += [f"step {microseconds(fleet.step_us)}"] if fleet.step_us is not None else []
    parts += [f"{percent(fleet.exposed_share)} exposed communication"] if fleet.exposed_share is not None else []
    return " · ".join(parts)


# ---------------------------------------------------------------------- terminal


def text(fleet: Fleet, *, width: int = 80, every: bool = False) -> str:
    """The job in one screen: the verdict, the findings, ranks × steps, problems; `every`: all evidence and the rule."""
    lines = [legible(fleet.title)] if fleet.title else []
    lines += [*_fold(sentence(fleet.verdict), width), *_fold(facts(fleet), width), ""]
    for number, finding in enumerate(fleet.findings[: None if every else MAX_FINDINGS], start=1):
        most = MAX_CHANGES if every else 3
        lines += _fold(f"{number}. {headline(finding)}", width, "   ") if len(fleet.findings) > 1 else []
        changes = [change_line(change, width - 30) for change in finding.changes[:most]]
        for said in (*(finding.evidence if every else finding.evidence[:3]), *changes):
            lines += _fold(f"   - {said}", width, "     ")
        lines += [f"     and {finding.num_changes - most} more"] if finding.num_changes > most else []
        lines.append("")
    if len(fleet.findings) > MAX_FINDINGS and not every:
        lines += [f"… {len(fleet.findings) - MAX_FINDINGS} more findings (--all)", ""]
    lines += [*_fold(fleet.rule, width), ""] if fleet.findings and every else []
    lines += [*_rank_table(fleet, width, MAX_RANKS if every else SCREEN_RANKS), ""] if len(fleet.ranks) > 1 else []
    if len(fleet.plans) > 1 and every:
        plans = [line for group in fleet.plans for line in _fold(f"  {plan_line(group)}", width, "    ")]
        lines += ["Plans:", *plans, ""]
    if fleet.problems:
        problems = grid.first([problem_line(item) for item in fleet.problems], MAX_PROBLEMS)
        lines += ["Problems:", *(line for item in problems for line in _fold(f"  {item}", width, "    ")), ""]
    return "\n".join(lines)


def _fold(line: str, width: int, indent: str = "") -> list[str]:
    return grid.folded(legible(line), width, rest=indent)


def plan_line(group: PlanGroup) -> str:
    kind = CAUSES[group.cause] if group.cause else "same work" if group.changes else "reference"
    kind = "another program" if group.program and not group.changes else kind
    more = f"; {change_line(group.changes[0], 50)}" if group.changes else ""
    return f"{named(group.ranks)}: {counted(group.num_kernels, 'kernel')} a step, {kind}{more}"


def shown(fleet: Fleet, limit: int = MAX_RANKS) -> list[RankLine]:
    """The ranks to list: all of few; of many those that are named, then the latest."""
    if len(fleet.ranks) <= limit:
        return list(fleet.ranks)
    named = marks(fleet)
    order = sorted(fleet.ranks, key=lambda line: (line.rank not in named, -line.late_us))
    return sorted(order[:limit], key=lambda line: line.rank)


def marks(fleet: Fleet) -> dict[int, str]:
    """Rank → the cause in its first finding; one about every rank names none."""
    found: dict[int, str] = {}
    for finding in fleet.findings:
        for rank in finding.ranks if len(finding.ranks) < len(fleet.ranks) else ():
            found.setdefault(rank, CAUSES[finding.cause])
    return found


def scale(fleet: Fleet) -> float:
    """The darkest shade's lateness: the job's most, a tenth of a step at least, so that an even job looks even."""
    most = max((value for line in fleet.ranks for value in line.lateness_us if value), default=0.0)
    return max(most, 0.1 * (fleet.step_us or 0.0))


def _rank_table(fleet: Fleet, width: int, limit: int) -> list[str]:
    """Ranks × (work, waiting, lateness by step); the shade of a step says how late, 0 to the step's most."""
    rows, said, most = shown(fleet, limit), marks(fleet), scale(fleet)
    head = ["rank", "late", "device", "data", "host idle", "exposed", "lateness by step"]
    table = [head]
    room = max(8, width - 57 - max(map(len, said.values()), default=0))
    for line in rows:
        times = (line.late_us, line.compute_us, line.idle_input_us, line.idle_host_us, line.exposed_us)
        shades = "".join(shade(value, most) for value in line.lateness_us[-room:])
        table.append([str(line.rank), *map(microseconds, times), f"{shades} {said.get(line.rank, '')}".rstrip()])
    lines = aligned(table, left={len(head) - 1})
    if len(rows) < len(fleet.ranks):
        lines.append(f"{len(fleet.ranks) - len(rows)} ranks more, none of them named")
    return lines


def shade(value: float | None, most: float) -> str:
    """A block for a step's lateness: from " " (not late) to "█" (the latest of the job); "?" where it is not known."""
    if value is None:
        return "?"
    return SHADES[0] if value <= 0 or most <= 0 else SHADES[min(4, 1 + int(3.999 * value / most))]


# ---------------------------------------------------------------------- Markdown


def markdown(fleet: Fleet) -> str:
    return md.block(fleet.title or "fleet", text(replace(fleet, title=""), width=100, every=True))
