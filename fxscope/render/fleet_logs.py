"""The logs of a job's ranks as text: what differs, where first, and what follows in time."""

from fxscope.fleet.logs import LOGGED, LogJob, RankGroup
from fxscope.fleet.model import named, ranges
from fxscope.render import grid
from fxscope.render.legible import legible
from fxscope.render.report import cut
from fxscope.text import counted, listed, shorten

MAX_GROUPS = 3  # of an aspect
NOTEWORTHY_S = 0.5  # seconds that ranks compile longer


def text(job: LogJob, *, width: int = 80, every: bool = False) -> str:
    """The differences, one paragraph for each aspect; `every`: all groups of ranks."""
    differing = [item.aspect for item in job.differences]
    verdict = f"{listed(differing, 9)} differ between ranks" if differing else "no difference between ranks"
    lines = [f"{legible(job.title)}: compile logs of {counted(len(job.ranks), 'rank')} ({ranges(job.ranks)})"]
    lines += [f"{verdict[0].upper()}{verdict[1:]}."]
    same = [aspect for aspect in LOGGED if aspect not in differing]
    lines += [f"The same on all: {listed(same, 9)}."] if same and differing else []
    last = max(job.compile_s, key=job.compile_s.__getitem__, default=0)
    if (longer := job.compile_s.get(last, 0.0) - min(job.compile_s.values(), default=0.0)) >= NOTEWORTHY_S:
        lines.append(f"Rank {last} compiles {longer:.1f} s longer than the quickest.")
    if "collectives" in differing:
        lines.append("The logs do not hold process groups: ranks of one group must call the same collectives.")
    lines = [part for line in lines for part in grid.folded(line, width)]
    for item in job.differences:
        shown = item.groups if every else item.groups[:MAX_GROUPS]
        lines += ["", item.aspect.capitalize()]
        for group in shown:
            head = f"  {named(group.ranks)}: {group.count}"
            lines.append(shorten(f"{head}{_first(group, width - len(head))}", width))
        more = len(item.groups) - len(shown)
        lines += [f"  … {more} more groups (--all)"] if more else []
    for problem in job.problems[: None if every else 3]:
        lines += grid.folded(f"{problem.where}: {problem.message}", width, most=2)
    return "\n".join(lines) + "\n"


def _first(group: RankGroup, width: int) -> str:
    """Say where a group of ranks first differs from the first group; of long texts from a little before the difference."""
    if group.compile_id is None:
        return ""
    mine, theirs = (legible(text) if text else "nothing" for text in (group.first, group.instead))
    common = next((place for place, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b), 0) - 4
    if common > 0:
        mine, theirs = f"…{mine[common:]}", f"…{theirs[common:]}"
    room = max(20, width - len(f"; first in {group.compile_id}:  (others: )"))
    theirs = cut(theirs, room // 2)
    mine = cut(mine, room - len(theirs))
    return f"; first in {group.compile_id}: {mine} (others: {theirs})"
