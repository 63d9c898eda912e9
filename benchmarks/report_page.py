# /// script
# dependencies = ["fxscope", "playwright"]
# ///
"""How fast the report is in headless Chromium: until it can be used, after unfolding, and frames a second while it moves.

    python benchmarks/report_page.py [--only WORDS] [--chromium PATH] [--keep FOLDER]

`made`: to write the page; `ready`: from the start of navigation to a first screen that answers, by the page's own clock
(median of ten); `graph`: to the graph, drawn; `unfolded`: from the click on "Unfold everything" until every one of so many
boxes has its place. Then frames a second, by requestAnimationFrame, over two seconds each: dragged, zoomed and scrolled
by one event a frame, in the graph as it opens, in the graph unfolded, and in the timeline; and the slowest of these
motions by the time that the page's script takes of a frame. Headless Chromium draws on the CPU and shows at most 60
frames; a desktop's browser is faster.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import shutil
import statistics
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
# Drag, zoom or scroll by one event per frame for two seconds, as a hand does; time the frames, and the script in each.
MOVE = """async ([selector, how]) => {
  const canvas = document.querySelector(selector), box = canvas.getBoundingClientRect();
  const x0 = box.left + box.width / 2, y0 = box.top + box.height / 2, frames = [], scripts = [];
  const pointer = (type, x, y) => canvas.dispatchEvent(
    new PointerEvent(type, {clientX: x, clientY: y, pointerId: 1, bubbles: true}));
  const wheel = (options) => canvas.dispatchEvent(
    new WheelEvent('wheel', {clientX: x0, clientY: y0, bubbles: true, cancelable: true, ...options}));
  canvas.setPointerCapture = () => {};
  if (how === 'drag') pointer('pointerdown', x0, y0);
  await new Promise((resolve) => {
    let last = performance.now(); const start = last;
    const step = (now) => {
      frames.push(now - last); last = now;
      const phase = (now - start) / 1000 * Math.PI, way = Math.sin(phase) > 0 ? 1 : -1;
      if (how === 'drag') pointer('pointermove', x0 + 180 * Math.sin(phase), y0 + 140 * Math.sin(2 * phase));
      else if (how === 'zoom') wheel({deltaY: -12 * way, ctrlKey: true});
      else wheel({deltaX: 40 * way, deltaY: selector.includes('graph') ? 40 * way : 0});
      // The page asked for its drawing before this: it runs in the next frame, before this function.
      if (now - start < 2000) requestAnimationFrame((next) => {
        scripts.push(performance.now() - next);
        step(next);
      }); else resolve();
    };
    requestAnimationFrame(step);
  });
  if (how === 'drag') pointer('pointerup', x0 + 50, y0);
  frames.shift(); scripts.sort((a, b) => a - b);
  return {fps: 1000 * frames.length / frames.reduce((a, b) => a + b, 0), script: scripts[scripts.length >> 1]};
}"""
MOTIONS = ("drag", "zoom", "scroll")


def make_recordings():
    """Load the tests' generator of recordings."""
    spec = importlib.util.spec_from_file_location("make_recordings", ROOT / "tests" / "report" / "make_recordings.py")
    assert spec is not None and spec.loader is not None
    sys.path.insert(0, str(ROOT))
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
        page.evaluate(FRAMES)
    return page, time.perf_counter() - start


WATCH = """new MutationObserver((_, watch) => {
  if (document.documentElement?.dataset.ready !== 'yes') return;
  window.readyAt = performance.now();
  watch.disconnect();
}).observe(document, { attributes: true, subtree: true, attributeFilter: ['data-ready'] });"""


def ready(browser, path: Path) -> float:
    """Return the median of ten times until a page can be used, in seconds after navigation began."""
    times: list[float] = []
    for _ in range(10):
        page = browser.new_page(viewport={"width": 1500, "height": 950})
        page.add_init_script(WATCH)
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready=yes]")
        times.append(page.evaluate("readyAt") / 1e3)
        page.close()
    return statistics.median(times)


def unfolded(page) -> float:
    """Unfold everything; return the seconds until it is laid out."""
    start = time.perf_counter()
    page.get_by_role("button", name="Unfold everything").click()
    return time.perf_counter() - start


def boxes(page) -> int:
    """Return how many boxes the graph shows, as its toolbar says."""
    said = page.inner_text("#view-graph .count")
    found = re.search(r"([0-9,]+) box", said) or re.search(r"([0-9,]+) node", said)
    return int(found[1].replace(",", "")) if found else 0


def motion(page, view: str) -> tuple[str, float]:
    """Drag, zoom and scroll; return frames a second of each as words, and the most time of the page's script, in ms."""
    page.wait_for_timeout(400)
    found = [page.evaluate(MOVE, [f".{view}-canvas", how]) for how in MOTIONS]
    return "/".join(f"{item['fps']:.0f}" for item in found), max(item["script"] for item in found)


def main() -> int:
    """Measure, and print one line per page."""
    from playwright.sync_api import sync_playwright

    from fxscope.render.page import html

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--chromium", default=shutil.which("chromium") or shutil.which("chromium-browser"), help="the browser to drive"
    )
    parser.add_argument("--keep", metavar="FOLDER", help="leave the pages here")
    parser.add_argument("--only", metavar="WORDS", default="", help="measure the pages whose name holds this")
    arguments = parser.parse_args()
    if not arguments.chromium:
        print("no Chromium on PATH: give --chromium PATH", file=sys.stderr)
        return 2
    make = make_recordings()
    folder = Path(arguments.keep or tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    print("frames/s: drag/zoom/scroll (ms of script in a frame, of the slowest)")
    print(
        "page                           size    made   ready   graph      unfolded  graph            unfolded         timeline"
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=arguments.chromium, args=ARGUMENTS)
        for name, build, has_graph in (
            ("12 layers, 100 kernel calls", lambda: make.large(500, layers=12), True),
            ("50 layers, 1,000 kernel calls", lambda: make.large(5000), True),
            ("80 layers, 8,800 nodes", lambda: make.large(8800, layers=80), True),
            ("100,000 launches", make.long_timeline, False),
        ):
            if arguments.only not in name:
                continue
            recording = build()
            start = time.perf_counter()
            text = html.render(recording)
            made = time.perf_counter() - start
            path = folder / f"{name.split(',')[0].replace(' ', '_')}.html"
            path.write_text(text, encoding="utf-8")
            row = f"{name:29} {len(text.encode()) / 1e3:6.0f} kB {made:5.2f} s {ready(browser, path):5.2f} s"
            moved = ["", ""]
            drawn, wait = "", ""
            if has_graph:
                page, seconds = opened(browser, path, "graph")
                drawn = f"{seconds:5.2f} s"
                moved[0] = shown(motion(page, "graph"))
                seconds = unfolded(page)
                wait = f"{boxes(page)}: {seconds:.2f} s"
                moved[1] = shown(motion(page, "graph"))
                page.close()
            page, _ = opened(browser, path, "timeline")
            moved.append(shown(motion(page, "timeline")))
            page.close()
            print(f"{row} {drawn:>7} {wait:>13}  {'  '.join(f'{words:15}' for words in moved)}", flush=True)
        browser.close()
    return 0


def shown(found: tuple[str, float]) -> str:
    """Return one motion's figures as a cell."""
    return f"{found[0]} ({found[1]:.1f})"


if __name__ == "__main__":
    sys.exit(main())
