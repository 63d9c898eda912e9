# /// script
# dependencies = ["fxscope", "playwright"]
# ///
"""How fast the report is in headless Chromium: until it can be used, after unfolding, and frames a second while it pans.

    python benchmarks/report_page.py [--chromium PATH] [--keep FOLDER]

`ready`: from opening the file to a first screen that answers (best of three); `graph`: to the graph, drawn; `unfolded`:
from the click on "Unfold everything" until every box has its place. Pictures in headless Chromium are drawn by the CPU; a
desktop's browser is faster.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
ARGUMENTS = [
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# Pan by one drag event per frame for two seconds, as a hand does, and time the frames.
PAN = """async (selector) => {
  const canvas = document.querySelector(selector), box = canvas.getBoundingClientRect();
  const x0 = box.left + box.width / 2, y0 = box.top + box.height / 2, times = [];
  const send = (type, x, y) => canvas.dispatchEvent(
    new PointerEvent(type, {clientX: x, clientY: y, pointerId: 1, bubbles: true}));
  canvas.setPointerCapture = () => {};
  send('pointerdown', x0, y0);
  await new Promise((resolve) => {
    let last = performance.now(); const start = last;
    const step = (now) => {
      times.push(now - last); last = now;
      const phase = (now - start) / 1000 * Math.PI;
      send('pointermove', x0 + 180 * Math.sin(phase), y0 + 140 * Math.sin(2 * phase));
      if (now - start < 2000) requestAnimationFrame(step); else resolve();
    };
    requestAnimationFrame(step);
  });
  send('pointerup', x0 + 50, y0);
  times.shift(); times.sort((a, b) => a - b);
  const total = times.reduce((a, b) => a + b, 0);
  return {fps: 1000 * times.length / total, p95_ms: times[Math.floor(times.length * 0.95)]};
}"""


def make_recordings():
    """Load the tests' generator of recordings."""
    spec = importlib.util.spec_from_file_location("make_recordings", ROOT / "tests" / "report" / "make_recordings.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FRAMES = "() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))"


def opened(browser, path: Path, view: str):
    """Open a page; return it and the seconds until it can be used."""
    page = browser.new_page(viewport={"width": 1500, "height": 950})
    start = time.perf_counter()
    page.goto(f"{path.as_uri()}#view={view}")
    page.wait_for_selector("html[data-ready=yes]")
    page.evaluate(FRAMES)
    if view == "graph":
        page.wait_for_selector("#view-graph:not([aria-busy=true])", state="attached", timeout=60_000)
        page.evaluate(FRAMES)
    return page, time.perf_counter() - start


def best(browser, path: Path, view: str) -> float:
    """Return the least of three times until a page can be used, in seconds."""
    times: list[float] = []
    for _ in range(3):
        page, ready = opened(browser, path, view)
        page.close()
        times.append(ready)
    return min(times)


def unfolded(page) -> float:
    """Unfold everything; return the seconds until it is laid out."""
    start = time.perf_counter()
    page.get_by_role("button", name="Unfold everything").click()
    page.wait_for_selector("#view-graph:not([aria-busy=true])", state="attached", timeout=60_000)
    return time.perf_counter() - start


def main() -> int:
    """Measure, and print one line per page."""
    from playwright.sync_api import sync_playwright

    from fxscope.render.page import html

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--chromium", default=shutil.which("chromium") or shutil.which("chromium-browser"), help="the browser to drive"
    )
    parser.add_argument("--keep", metavar="FOLDER", help="leave the pages here")
    arguments = parser.parse_args()
    if not arguments.chromium:
        print("no Chromium on PATH: give --chromium PATH", file=sys.stderr)
        return 2
    make = make_recordings()
    folder = Path(arguments.keep or tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    print("page                           size     made    ready    graph  unfolded  frames/s  p95 frame")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=arguments.chromium, args=ARGUMENTS)
        for name, recording, view in (
            ("12 layers, 101 kernel calls", make.large(500, layers=12), "graph"),
            ("50 layers, 1,010 kernel calls", make.large(5000), "graph"),
            ("80 layers, 8,800 nodes", make.large(8800, layers=80), "graph"),
            ("100,000 launches", make.long_timeline(), "timeline"),
        ):
            start = time.perf_counter()
            text = html.render(recording)
            made = time.perf_counter() - start
            path = folder / f"{name.split(',')[0].replace(' ', '_')}.html"
            path.write_text(text, encoding="utf-8")
            first = best(browser, path, "overview")
            page, drawn = opened(browser, path, view)
            wait = f"{unfolded(page):7.2f} s" if view == "graph" else " " * 9
            page.wait_for_timeout(400)
            pan = page.evaluate(PAN, f".{view}-canvas")
            print(
                f"{name:29} {len(text.encode()) / 1e3:5.0f} kB {made:6.2f} s {first:6.2f} s {drawn:6.2f} s {wait} "
                f"{pan['fps']:8.1f} {pan['p95_ms']:7.1f} ms",
                flush=True,
            )
            page.close()
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
