"""Logs of TORCH_TRACE: files that are one, and their ranks. Loading this costs less than the readers of logs."""

import re
from pathlib import Path

from fxscope.index import grouped
from fxscope.readers.trace.unpacked import beginning

LOG_SUFFIXES = (".log", ".log.gz", ".log.zst")
ENTRY = re.compile(r"^[VDIWEC]\d{4} .*?\{")


def is_log(path: Path) -> bool:
    """Return whether a path is a log, packed or not, by its first lines; or a folder with logs below it."""
    if path.is_dir():
        return any(is_log(file) for files in logs_of_ranks(path).values() for file in files)
    lines = (beginning(path, 1 << 20) or b"").decode("utf-8", errors="replace").splitlines()
    return any(ENTRY.match(line) for line in lines[:20])


def logs_of_ranks(folder: Path) -> dict[int | None, list[Path]]:
    """The logs below a folder by their rank (`rank_3/…`, `…_rank_3_….log`), `None` where no name contains one; or a log."""

    def rank(path: Path) -> int | None:
        numbers = re.findall(r"rank[_-]?(\d+)", str(path.relative_to(folder)) if path != folder else path.name)
        return int(numbers[-1]) if numbers else None

    names = sorted(path for path in folder.rglob("*") if path.name.endswith(LOG_SUFFIXES)) or [folder]
    found = grouped((path for path in names if path.is_file() and path.stat().st_size), rank)
    return dict(sorted(found.items(), key=lambda item: (item[0] is None, item[0] or 0)))
