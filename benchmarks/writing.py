"""How long pictures and pages take to write: exports of a model of 2,000 kernel calls, and the page of a large trace.

    python benchmarks/writing.py [--events 378000] [--calls 2000]

CPU seconds of this process. "Writing" a page includes the report and every pass that only the page needs; "reading" is
the trace file, its join and the other passes. The trace is generated: six steps, each event a third of an op, of a launch call
or of a kernel.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
STEPS, US = 6, 12.0  # per op with its launch and kernel


def seconds(action: Callable[[], Any]) -> tuple[Any, float]:
    """Return what an action gives, and its CPU seconds."""
    start = time.process_time()
    return action(), time.process_time() - start


def trace(events: int) -> dict[str, Any]:
    """Generate a profiler trace of about so many events."""
    found: list[dict[str, Any]] = []
    each = events // STEPS // 3
    for number in range(each * STEPS):
        begin, ids = number * US, {"External id": number + 1, "correlation": number + 1}
        op = {"ts": begin, "dur": 10.0, "args": {"External id": number + 1, "Input Dims": [[64, number % 16 + 1]]}}
        found.append({"ph": "X", "cat": "cpu_op", "name": f"aten::op_{number % 40}", "pid": 1, "tid": 1, **op})
        call = {"pid": 1, "tid": 1, "ts": begin + 2, "dur": 4.0, "args": ids}
        found.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", **call})
        ran = {"pid": 0, "tid": 7, "ts": begin + 8, "dur": 7.0, "args": ids | {"device": 0, "stream": 7}}
        found.append({"ph": "X", "cat": "kernel", "name": f"kernel_{number % 60}<float>", **ran})
    for step in range(STEPS):
        span = {"pid": 1, "tid": 1, "ts": step * each * US, "dur": each * US - 1}
        found.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", **span})
    return {"traceEvents": found, "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}]}


def large(calls: int):
    """Return the tests' generated model of about so many kernel calls."""
    spec = importlib.util.spec_from_file_location("make_recordings", ROOT / "tests" / "report" / "make_recordings.py")
    assert spec is not None and spec.loader is not None
    sys.path.insert(0, str(ROOT))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.large(calls * 5, layers=50)


def main() -> None:
    """Measure, and print one line per output."""
    from fxscope import store
    from fxscope.commands import common
    from fxscope.render import markdown, strip
    from fxscope.render.page import html

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=378_000, help="events of the generated trace")
    parser.add_argument("--calls", type=int, default=2000, help="kernel calls of the generated model")
    arguments = parser.parse_args()
    model = store.encode(large(arguments.calls))
    for name, render in (
        ("SVG", strip.render),
        ("PNG", strip.png),
        ("Markdown", markdown.render),
        ("page", html.render),
    ):
        recording = store.loads(store.gzip.decompress(model))  # nothing of the last output is kept with it
        _, took = seconds(lambda render=render, recording=recording: render(recording))
        print(f"{len(recording.calls):,} kernel calls  {name:8} {took:5.2f} s")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        path.write_text(json.dumps(trace(arguments.events)), encoding="utf-8")
        recording, reading = seconds(lambda: common.read(str(path)))
        text, writing = seconds(lambda: html.render(recording))
    print(f"{arguments.events:,} events  reading {reading:.2f} s, writing {writing:.2f} s ({writing / reading:.2f} ×)")
    print(f"page {len(text) / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
