"""CPU time of comparing two large traces, beside that of reading them: python benchmarks/diff_time.py A.json.gz B.json.gz."""

from __future__ import annotations

import sys
import time

from fxscope.analysis.compare import compare
from fxscope.commands import common
from fxscope.render.diff import diff_text


def main() -> None:
    """Print seconds of CPU time and their ratio."""
    began = time.process_time()
    a, b = map(common.read, sys.argv[1:3])
    read = time.process_time() - began
    lines = diff_text(compare(a, b)).count("\n")
    compared = time.process_time() - began - read
    launches = len(a.launches) + len(b.launches)
    print(f"read {read:.1f} s, compare {compared:.1f} s ({compared / read:.2f}×), {launches} launches, {lines} lines")


if __name__ == "__main__":
    main()
