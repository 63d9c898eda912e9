"""The report in a real browser: every link between the panes, search, folding, side by side, and hostile names."""

import base64
import itertools
import json
import os
import re
import statistics
import zlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fxscope import store
from fxscope.analysis.compare import compare
from fxscope.analysis.report import others, report
from fxscope.commands import common
from fxscope.model import Recording, Step, replace
from fxscope.op_names import op_name
from fxscope.passes.cost import cost
from fxscope.render import axis, diff, labels, strip, tables, terminal, theme
from fxscope.render.page import html, payload
from fxscope.render.report import MAX_KERNELS
from fxscope.text import flop, microseconds
from tests import build
from tests.captures import CHROMIUM, DATA, H200, recording, served
from tests.report import make_recordings as MAKE

ARGUMENTS = """--no-sandbox --headless --disable-gpu --disable-background-networking --disable-component-update
    --disable-sync""".split()
MUL = "0/0:inference:post_grad/mul_6"


@pytest.fixture(scope="module")
def browser():
    playwright = None
    try:
        from playwright.sync_api import sync_playwright

        if not CHROMIUM:
            raise FileNotFoundError("no chromium on PATH")
        playwright = sync_playwright().start()
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
    except Exception as error:
        if playwright is not None:
            playwright.stop()
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"needs playwright and Chromium: {error}")
    yield opened
    opened.close()
    playwright.stop()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def pages(folder):
    eager, compiled, liger = (recording(name) for name in ("mlp_eager", "mlp_compiled", "mlp_liger"))
    made = {
        "three": html.render(
            eager, others=(compiled, liger), comparison=(compare(eager, compiled), compare(eager, liger))
        ),
        "unaligned": html.render(eager, others=(compiled,)),
        "large": html.render(MAKE.large()),
        "long": html.render(MAKE.long_timeline()),
        "hostile": html.render(MAKE.hostile()),
        "training": html.render(MAKE.training()),
        **{name: html.render(make()) for name, make in READ.items()},
        "empty": html.render(store.loads('{"schema": "fxscope/2"}')),
    }
    for name, text in made.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return made


def planned() -> Recording:
    """Return the compiled MLP as a plan: the same calls, without what ran."""
    read = recording("mlp_compiled")
    calls = tuple(replace(call, timing=None) for call in read.calls)
    where = replace(read.environment, target="h200")
    return cost(replace(read, environment=where, calls=calls, launches=(), ops=(), steps=(), summary=None))


READ = {
    "geglu": lambda: recording("mlp_compiled"),
    "layers": lambda: MAKE.large(600, layers=12),
    "trained": lambda: common.read(str(H200 / "mlp_train_compiled")),
    "block": lambda: common.read(str(H200 / "block.fxscope")),
    "eager": lambda: common.read(str(H200 / "mlp_train_eager")),
    "served": served,
    "planned": planned,
    "gpt2": lambda: common.read(str(H200 / "gpt2_train.fxscope")),
    "experts": lambda: common.read(str(DATA / "report" / "experts.fxscope")),
}
PANES = ("geglu", "three", "trained", "block", "planned")


class Page:
    """A page, and everything it asked for or complained about."""

    def __init__(self, browser: Any, folder: Path, name: str, hash: str = "", **options: Any) -> None:
        options = {"viewport": {"width": 1500, "height": 950}, **options}
        self.page = browser.new_page(**options)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on(
            "console",
            lambda message: self.complaints.append(message.text) if message.type in ("error", "warning") else None,
        )
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.page.goto(f"{(folder / name).with_suffix('.html').as_uri()}{hash}")
        self.page.wait_for_selector("html[data-ready=yes]", timeout=20_000)

    def close(self) -> None:
        assert self.complaints == []
        outside = [url for url in self.requests if not url.startswith(("file:", "blob:", "data:"))]
        assert outside == []
        assert len([url for url in self.requests if url.startswith("file:")]) == 1, self.requests
        self.page.close()

    def text(self, selector: str) -> str:
        return self.page.inner_text(selector)

    def wait(self, selector: str, text: str) -> None:
        self.page.locator(selector, has_text=re.compile(f"^{re.escape(text)}$")).wait_for()  # the policy forbids eval

    def marked(self, region: str, text: str = "") -> list[str]:
        """The marked lines, once one with that text is there: a view is drawn when it has scrolled to its place."""
        found = self.page.locator(f"{region} .line.marked .text")
        found.filter(has_text=text).first.wait_for()
        return found.all_inner_texts()

    def paper(self) -> str:
        return self.page.evaluate("getComputedStyle(document.body).backgroundColor")

    def laid_out(self) -> str:
        return self.text("#view-graph .count")

    def saved(self, control: str) -> bytes:
        with self.page.expect_download() as waiting:
            self.page.click(control)
        return Path(waiting.value.path()).read_bytes()

    def saved_svg(self) -> str:
        self.page.click(".menu summary")
        return self.saved("#save-svg").decode()

    def choose_range(self, begin: float, end: float, y: float) -> None:
        box = self.page.locator(".timeline-canvas").bounding_box()
        self.page.keyboard.down("Shift")
        self.page.mouse.move(box["x"] + begin, box["y"] + y)
        self.page.mouse.down()
        for x in ((begin + end) / 2, end):
            self.page.mouse.move(box["x"] + x, box["y"] + y)
        self.page.mouse.up()
        self.page.keyboard.up("Shift")

    def hash(self) -> str:
        return self.page.evaluate("decodeURIComponent(location.hash.replaceAll('+', ' '))")


def rgb(colour: str) -> str:
    return f"rgb({', '.join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))})"


@pytest.fixture
def open_page(browser, folder, pages):
    opened: list[Page] = []

    def make(shown: str | Recording, hash: str = "", *, stage: str | None = None, **options: Any) -> Page:
        name = shown if isinstance(shown, str) else f"of_a_recording_{len(opened)}"
        if isinstance(shown, Recording):
            (folder / f"{name}.html").write_text(html.render(shown, stage=stage), encoding="utf-8")
        opened.append(Page(browser, folder, name, hash, **options))
        return opened[-1]

    yield make
    for page in opened:
        page.close()


def test_sizes(pages):
    most = {"geglu": 160_000, "three": 200_000, "block": 220_000, "large": 350_000, "long": 700_000}
    assert {name: len(pages[name]) for name, size in most.items() if len(pages[name].encode()) > size} == {}


def test_no_text_below_nine_points_and_nothing_from_outside(pages):
    source = html.asset("report.css") + html.asset("fleet.css") + html.assemble(html.SCRIPTS + " fleet loader")
    sizes = re.findall(r"font(?:-size)?(?: = '|:[^;}]*?)([\d.]+)px|\b(?:mono|sans)\((\d[\d.]*)", source)
    assert len(sizes) > 50 and min(float(css or canvas) for css, canvas in sizes) >= 12
    assert not re.search(r"\beval\(|new Function|innerHTML|insertAdjacentHTML|document\.write", source)
    assert re.findall(r"https?://[^\s'\"]+", source) == ["http://www.w3.org/2000/svg"] * source.count(
        "http://www.w3.org/2000/svg"
    )


def test_policy_allows_the_loader_and_the_program_only(pages):
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', pages["geglu"])
    assert policy is not None
    assert "default-src 'none'" in policy[1] and "connect-src" not in policy[1]
    assert "unsafe" not in policy[1]
    scripts = re.findall(r"<script>(.*?)</script>", pages["geglu"], re.DOTALL)
    packed = re.findall(r'id="program">([^<]*)<', pages["geglu"])
    assert len(scripts) == len(packed) == 1
    allowed = [scripts[0], zlib.decompress(base64.b64decode(packed[0])).decode()]
    assert re.findall(r"script-src ([^;]*);", policy[1]) == [html.hashes(*allowed)]


def test_the_payload_is_letters_and_writes_out_what_cannot_be_seen(pages):
    data = re.search(r'id="recording">([^<]*)<', pages["hostile"])
    assert data is not None and re.fullmatch(r"[A-Za-z0-9+/=]+", data[1])
    text = payload.to_json(["evil\u202egnp", "a\u2028b", "nul\x00", "\u200b", "back\\slash", "µs ← é"])
    assert json.loads(text) == ["evil\\u202egnp", "a\\u2028b", "nul\\x00", "\\u200b", "back\\slash", "µs ← é"]


def test_hostile_names_are_only_text(open_page, pages):
    assert pages["hostile"].count("</script>") == 3  # the page's own
    page = open_page("hostile", "#view=graph")
    for view in ("overview", "graph", "timeline", "code", "tables"):
        page.page.click(f"#tab-{view}")
    for tab in page.page.locator("#view-tables [role=tab]").all():
        tab.click()
    page.page.click("#tab-graph")
    page.page.fill("#search", "script")
    page.page.keyboard.press("Enter")
    assert "</script><script>window.hacked=1</script>" in page.text("#panel")
    page.page.click("[data-stage=post_grad]")
    page.page.get_by_role("button", name="List").click()
    assert "evil\\u202egnp.exe" in page.text(".graph-list")
    page.page.wait_for_timeout(100)
    assert page.page.evaluate("[window.hacked, document.images.length, document.scripts.length]") == [None, 0, 3]


@pytest.mark.parametrize("name", READ)
def test_the_first_screen_or_one_click_answers_five_questions(open_page, name):
    answers(open_page(name, viewport={"width": 1280, "height": 800}).page, READ[name]())


def answers(page: Any, read: Recording) -> None:
    """Ask a page of 800 px five questions: what it says first or after one click is what the record says."""
    made, record = report(read), json.loads(read.to_json())
    nodes = {(graph["id"], node["name"]): node for graph in record["graphs"] for node in graph["nodes"]}
    calls = {call["id"]: call for call in record["calls"]}

    def asked(part: Any) -> tuple[str, str, Any]:
        """What a part of the strip says, what a click on it shows, and the kernel call that it stands for."""
        page.click("#tab-overview")
        said, ref = part.text_content(), part.get_attribute("data-ref") or ""
        part.click(force=True)  # texts lie over boxes
        assert page.get_attribute("#app", "data-view") == "graph"
        return said, page.inner_text("#panel"), calls.get(ref.partition(":")[2])

    # Where does time go?
    times, hero = defaultdict[int, float](float), page.inner_text(".hero")
    for launch in record["launches"]:
        times[launch["step"]] += launch["duration_ns"] / 1e3
    tiles = page.locator(".tiles b").all_inner_texts()
    assert len(tiles) <= 3 and (not times or microseconds(statistics.median(times.values())) in tiles)
    assert "Nothing" in hero or (made.step.verdict in hero and made.contents.lower() in hero.lower())
    assert page.locator(".top-kernels tbody tr").first.bounding_box()["y"] + 20 < 800
    assert page.locator(".advice li").all_inner_texts() == [f"{item.text}: {item.why}" for item in made.advice[:3]]
    # What fused into which kernel, and which line is a kernel?
    for look in ("k-fused", "k-kernel"):
        page.click("#tab-overview")
        found = page.locator(".strip-host:visible [data-row=kernel]").filter(has=page.locator(f".{look}"))
        sizes = found.evaluate_all("all => all.map((part) => part.querySelector('rect').getBoundingClientRect().width)")
        said, panel, call = asked(found.nth(sizes.index(max(sizes)))) if sizes else ("Eager", hero, None)
        assert said.partition("\n")[0][:12] in panel and (not call or call["kernel"] in panel)
        ran = [nodes[call["graph"], item] for item in call["nodes"]] if call else []
        ran = [node for node in ran if node["nature"] == "kernel"]
        assert [node for node in ran if op_name(node["original_aten"] or node["target"]) not in panel] == []
        lines = [f"{Path(x['file']).name}:{x['line']}" for x in (node["source"] for node in ran) if x and x["line"]]
        assert any(line in panel for line in lines) or not ran or "source lines" in hero
    # Which ops are views?
    said, panel, _ = asked(page.locator(".strip-host:visible [data-row=view]").first)
    views = {op_name(node["target"]) for node in nodes.values() if node["nature"] == "view"}
    assert "0 µs: " in said and set(re.findall(r"[a-z_]\w+", said.partition("0 µs: ")[2])) <= views and "view" in panel
    # Which is the worst missed fusion, and why?
    pairs = [row for row in made.missed if row.is_possible]
    words = [f"{row.producer} → {row.consumer}{f' ×{row.count}' if row.count > 1 else ''}" for row in pairs]
    listed = page.locator("#view-overview .missed .pair").all_text_contents()
    assert [re.split(r" \(with \d|: ", item)[0] for item in listed] == words[:4] and (
        pairs or re.search("missed fusions|fusion decisions", hero)
    )
    if pairs:
        assert axis.saving(made, pairs[0]) in listed[0]
        _, panel, _ = asked(page.locator(".strip-host:visible [data-decision]", has_text="1"))
        costly = read.decisions[int(re.search(r"decision=(\d+)", page.url)[1])]
        assert costly.reason.split(":")[0] in panel and labels.price(costly, read) in panel
        saved = [sum(record["decisions"][at]["saved_bytes"] or 0 for at in row.decisions) for row in pairs]
        assert pairs[0].time_us or saved[0] == max(saved) > 0


def test_a_part_of_the_strip_without_a_label_is_read_by_pointer_and_by_keys(open_page):
    page = open_page("block")
    tips = "all => all.map((g) => g.querySelector('title').textContent.replace('\\n', ' · '))"
    tips = page.page.locator(".strip-host [data-row=op]").evaluate_all(tips)
    page.page.hover(".strip-host [data-row=op]:not(:has(text))")
    place = tips.index(page.text(".strip-says"))
    assert re.search(r"µs, [\d.]+ % in \d+ launch", tips[place])
    page.page.focus(".strip-host")
    for tip in tips[place + 1 :]:
        page.page.keyboard.press("ArrowRight")
        assert page.text(".strip-says") == tip
    rows = []
    for key in ["ArrowUp"] * 9 + ["ArrowDown"] * 9:
        page.page.keyboard.press(key)
        rows.append(page.page.get_attribute(".strip-host .at", "data-row"))
    assert list(dict.fromkeys(rows)) == ["view", "line", "module", "idle", "op", "kernel", None]
    page.page.keyboard.press("Enter")  # on a missed fusion
    page.wait(".kind-word", "Decision")


def test_the_timeline_opens_with_a_step_and_has_what_ran_outside_of_them_last(open_page, monkeypatch):
    steps = open_page(served(), "#view=timeline").page.locator("#view-timeline select").first
    assert steps.locator("option").all_inner_texts() == ["whole trace", "outside the steps"]
    monkeypatch.setattr(payload, "MAX_EVENTS", 600)
    assert payload.rows_of(served())[1] == "step 0 of 1: the rest is in the recording"  # and not the capture


@pytest.mark.parametrize("kind", ["launches", "ops"])
def test_what_is_chosen_in_another_step_opens_that_step(open_page, kind):
    page, items = open_page("eager", "#view=timeline"), getattr(READ["eager"](), kind)
    found = [item for item in items if item.step >= 0 and not item.name.startswith("Prof")]
    for item in (found[0], found[-1], found[len(found) // 2]):
        page.page.evaluate(f"location.hash = '#{'op' if kind == 'ops' else 'launch'}={item.id}&view=timeline'")
        page.wait(".panel-title", item.name)
        assert int(page.page.locator("#view-timeline select").first.input_value()) == item.step


def test_lanes_cover_as_many_pixels_as_the_device_is_busy(open_page):
    """Kernels that are narrower than a pixel: 3.01 of every 10 µs on one stream, all of the time on another."""
    launches = [
        build.launch(2 * i + k, "k", time, start_ns=10_000 * i, stream=7 + k, step=0)
        for i in range(2000)
        for k, time in enumerate((3010, 10_000))
    ]
    step = Step(index=0, name="ProfilerStep#0", start_ns=0, duration_ns=20_000_000)
    page = open_page(Recording(title="thin", steps=(step,), launches=tuple(launches)), "#view=timeline")
    page.page.wait_for_timeout(300)
    paint = """() => {
      const { width, height } = document.querySelector('.timeline-canvas'), sums = new Array(height).fill(0);
      const { data } = document.querySelector('.timeline-canvas').getContext('2d').getImageData(0, 0, width, height);
      for (let i = 3; i < data.length; i += 4) sums[Math.floor(i / 4 / width)] += data[i]; // opacity
      return sums.slice(30);
    }"""
    rows = page.page.evaluate(paint)
    empty, full = min(rows), max(rows)
    shares = [(row - empty) / (full - empty) for row in rows]
    thin = statistics.mode(round(share, 3) for share in shares if 0.05 < share < 0.95)  # the height of a lane
    assert thin == pytest.approx(0.301, abs=0.006)


NARROW = """() => [...document.querySelectorAll('#app *')].filter((e) => {
  const box = e.getBoundingClientRect(), style = getComputedStyle(e);
  const text = [...e.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  const cut = /hidden|clip/.test(style.overflowX) && style.textOverflow !== 'ellipsis' && e.scrollWidth > e.clientWidth + 1;
  return text && !e.closest('svg, .offscreen, .skip') && style.display !== 'inline' && box.height > 0
    && (box.width < 4 || cut);
}).map((e) => `${e.tagName}.${e.className}: ${e.textContent}`)"""
SMALL = """() => [...document.querySelectorAll('body *')].filter((e) => {
  const svg = e.closest('svg'), wide = svg?.viewBox.baseVal.width, scale = wide ? svg.getBoundingClientRect().width / wide : 1;
  return [...e.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())
    && e.getClientRects().length && parseFloat(getComputedStyle(e).fontSize) * scale < 11.99;
}).map((e) => `${e.tagName}: ${e.textContent}`)"""
LABELS = """() => { const old = CanvasRenderingContext2D.prototype.fillText; window.drawn = [];
  CanvasRenderingContext2D.prototype.fillText = function (words, x, y) {
    if (y === 11) drawn.push([words, x + this.measureText(words).width, x]); old.call(this, words, x, y); }; }"""


@pytest.mark.parametrize("width", [1600, 800, 390])
def test_no_text_is_cut_and_no_page_is_wider_than_the_window(open_page, width):
    page = open_page("three", viewport={"width": width, "height": 900})
    page.page.evaluate(LABELS)
    hidden = "e => e.scrollWidth - e.clientWidth"
    assert page.page.locator(".strip-host:visible").first.evaluate(hidden) <= 0 or width < 800  # a phone scrolls
    for view in ("overview", "graph", "timeline", "code", "tables", "compare"):
        page.page.click(f"#tab-{view}")
        if view == "graph":
            page.page.evaluate("location.hash = '#recording=1&decision=0&view=graph'")
            page.wait(".kind-word", "Decision")
        assert page.page.evaluate(NARROW) == page.page.evaluate(SMALL) == [], view
        assert page.page.evaluate("document.documentElement.scrollWidth") <= width, view
        assert page.page.locator("#search").is_visible()
        page.page.wait_for_timeout(100)
        page.page.evaluate("drawn.length = 0; document.querySelector('#view-timeline input').click()")
        page.page.wait_for_timeout(100)
        canvas, tools = map(page.page.locator, (".timeline-canvas", "#view-timeline .toolbar"))
        if (at := canvas.bounding_box()) and (over := tools.bounding_box()):
            end = over["x"] - at["x"] if over["y"] + over["height"] > at["y"] else at["width"]
            assert (drawn := page.page.evaluate("drawn")) and [label for label in drawn if label[1] > end] == []


FIGURE = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)? (?:µs|ms|s|[kMGT]?B(?:/s)?|%|[kMGT]?FLOP(?:/s)?)(?!\w)")


def figures_of(value: Any) -> set[str]:
    """Every number of a view model, in every unit that it can have."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return {words for item in value for words in figures_of(item)}
    if isinstance(value, str):
        return set(FIGURE.findall(value))
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return set()
    return {unit(value) for name, unit in tables.UNITS.items() if name not in ("int", "text")} | {flop(value)}


def test_every_number_of_a_comparison_is_that_of_the_terminal(open_page):
    first, *others = (recording(item) for item in ("mlp_eager", "mlp_compiled", "mlp_liger"))
    found = [compare(first, other) for other in others]
    said = [strip.render(first, others=others), *(diff.diff_text(item, every=True) for item in found)]
    said += [axis.saving(made, row) for made in map(report, (first, *others)) for row in axis.possible(made)]
    figures = set(FIGURE.findall(open_page("three").text("#view-compare")))
    assert figures and figures <= figures_of([said, msgspec.to_builtins(found)])


@pytest.mark.parametrize("name", ["geglu", "trained", "block", "planned", "eager"])
def test_every_number_is_that_of_what_it_stands_beside(open_page, name):
    """Rows of the first page and of tables, parts of the strip, panels of calls, pairs and launches."""
    page, read = open_page(name), READ[name]()
    made, drawn, calls = report(read), axis.Strip(read), {call.id: call for call in read.calls}
    drawn.lay_out(1.0)

    def check(texts: list[str], subjects: list[Any], *, least: int = 0) -> None:
        assert len(texts) == len(subjects) >= least
        for text, subject in zip(texts, subjects, strict=True):
            found = set(FIGURE.findall(text))
            assert found <= figures_of(subject), (text, found - figures_of(subject))

    def said(selector: str) -> list[str]:
        return page.page.locator(f"#view-overview {selector}").all_text_contents()

    def about(shown: Iterable[str], named: Iterable[str]) -> list[Any]:
        """Everything that is said about some calls and nodes: how each ran, and the pairs that it is a side of."""
        ids = {*shown}
        pairs = [item for item in read.decisions if {item.a_call, item.b_call} & ids]
        groups = [group for group in made.groups if {*group.calls} & ids]
        nodes = {key for call in ids for key in calls[call].nodes} | {*named}
        ran = [item for item in read.launches if item.call in ids or nodes & {*item.nodes}]
        times = [[launch.duration_ns / 1e3, launch.bytes, launch.shared_bytes, launch.occupancy] for launch in ran]
        pairs += [item for item in read.decisions if nodes & {*item.a, *item.b}]
        own = [msgspec.to_builtins([calls[call] for call in ids]), *map(labels.in_step, groups), times]
        return [*own, msgspec.to_builtins(pairs), [labels.price(item, read) for item in pairs]]

    def lineage(op: int | None) -> set[int]:
        return set() if op is None else {op, *lineage(parents[op])}

    def under(op: Any) -> list[str]:
        return [op.node, *(name for x in read.launches if op.id in lineage(x.op_id) for name in x.nodes)]

    parents = {op.id: op.parent for op in read.ops}
    pairs = [(i, x) for i, x in enumerate(read.decisions) if x.verdict != "fused" and x.saved_bytes][:40]
    check(said(".tiles li"), [f"{value} {words}" for value, words in strip.figures(made)], least=2)
    rest = others(made.kernels, MAX_KERNELS, made.step)
    check(said(".top-kernels tbody tr"), msgspec.to_builtins([*made.kernels[:MAX_KERNELS], *([rest] if rest else [])]))
    check(said(".missed > li"), [axis.saving(made, row) for row in axis.possible(made)][:4])
    for row in ("op", "kernel"):
        parts = said(f".strip-host [data-row={row}]")
        check(parts, [msgspec.to_builtins(group) for group in drawn.order], least=2)
        assert [part for part, group in zip(parts, drawn.order, strict=True) if labels.in_step(group) not in part] == []
    launches = [(i, x) for i, x in enumerate(read.launches) if x.step == read.launches[0].step]
    ops = [x for x in read.ops if x.step >= 0 and x.category != "user_annotation"][::9]
    nodes = [(g.id, x.name) for g in read.graphs if g.stage in ("eager", "post_grad") for x in g.nodes[::3]]
    chosen: list[tuple[str, str, Any, Sequence[str]]] = [
        *((f"decision={i}", labels.price(d, read), None, ()) for i, d in pairs),
        *((f"call={call.id}", call.handle, None, ()) for call in read.calls[:40]),
        *(
            (f"launch={i}", microseconds(x.duration_ns / 1e3), msgspec.to_builtins(x), x.nodes)
            for i, x in launches[:40]
        ),
        *((f"op={x.id}", microseconds(x.duration_ns / 1e3), x.duration_ns / 1e3, under(x)) for x in ops),
        *((f"node={graph}/{name}", name, None, [name]) for graph, name in nodes),
    ]
    for address, words, own, named in chosen:
        page.page.evaluate(f"new Promise((go) => {{ onhashchange = go; location.hash = '#{address}&view=graph'; }})")
        page.page.locator("#panel", has_text=words).wait_for()
        shown = page.text("#panel")
        check([shown], [[own, about([call.id for call in read.calls if call.handle in shown], named)]])
    page.page.evaluate("location.hash = '#view=tables'")  # nothing is chosen: each table begins with its first row
    for table in tables.tables(read):
        page.page.click(f"[data-table={table['key']}]")
        units = [tables.UNITS[unit] for _, _, unit in table["columns"]]
        shown = page.page.locator("#view-tables .lines-rows .tr").all()
        for row, cells in zip(shown, zip(*table["values"], strict=True), strict=False):
            words = [unit(cell) for unit, cell in zip(units, cells, strict=True)]
            assert row.locator(".td").all_text_contents() == words
        assert len(shown) >= 1
    records = [made, rest, read.summary, read.coverage, *read.calls, *read.decisions, *read.compiles]
    whole = [msgspec.to_builtins(records), terminal.render(read, width=200, everything=True)]
    whole += [1 - (made.step.busy_share or 0), *(labels.price(item, read) for item in read.decisions)]
    whole += [(call.bytes_read or 0) + (call.bytes_written or 0) for call in read.calls]  # what a kernel moves
    whole += [node.timing.median_us for graph in read.graphs for node in graph.nodes if node.timing]
    whole += [gap.duration_ns / 1e3 for gap in (read.summary.gaps if read.summary else ())]
    for view in ("overview", "graph", "code"):
        page.page.click(f"#tab-{view}")
        check([page.text(f"#view-{view}")], [whole])
    page.page.click("#tab-graph")
    for stage in page.page.locator("[data-stage]:visible").all():
        stage.click()
        check([" ".join(re.findall(r"<text[^>]*>([^<]*)", page.saved_svg()))], [whole])  # what the canvas shows


@pytest.mark.parametrize("name", ["trained", "eager"])
def test_axis_tips_and_sums_of_the_timeline_are_those_of_the_launches(open_page, name):
    page, read = open_page(name, "#view=timeline"), READ[name]()
    first = min(item.step for item in read.launches if item.step >= 0)
    ran = sorted((x.start_ns, x.start_ns + x.duration_ns) for x in read.launches if x.step == first)
    begin = min(x.start_ns for x in (*read.ops, *read.launches) if x.step == first)
    page.page.evaluate(LABELS)
    for left, right in ((30, 700), (420, 440), (900, 1400)):
        page.choose_range(left, right, y=300)
        page.page.wait_for_timeout(100)
        low, high = (begin + int(end) for end in re.search(r"range=(-?\d+)_(\d+)", page.hash()).groups())
        inside = [(max(low, a), min(high, b)) for a, b in ran if a < high and b > low]
        ends = [low, *itertools.accumulate((b for _, b in inside), max)]
        busy = sum(max(0, b - max(a, end)) for (a, b), end in zip(inside, ends, strict=False))
        times = [high - low, busy, high - low - busy, sum(b - a for a, b in inside)]
        assert FIGURE.findall(page.text(".sums"))[:4] == [microseconds(time / 1e3) for time in times]
        assert f"{len(inside)} launch" in page.text(".sums")
    page.page.keyboard.press("+")
    page.page.wait_for_url(re.compile("span="))
    page.page.evaluate("drawn.length = 0; document.querySelector('#view-timeline input').click()")
    page.page.wait_for_timeout(100)
    low, high = map(int, re.search(r"span=(-?\d+)_(\d+)", page.hash()).groups())
    scale = (page.page.locator(".timeline-canvas").bounding_box()["width"] - 16) / (high - low)
    marks = [(*words.split(), x - 11) for words, _, x in page.page.evaluate("drawn") if words != "0"]
    units = {"µs": 1e3, "ms": 1e6, "s": 1e9}
    places = [((float(time) * units[unit] - low) * scale, x) for time, unit, x in marks]
    assert len(places) > 3 and [pair for pair in places if abs(pair[0] - pair[1]) > 1] == []


def test_a_missed_fusion_unfolds_one_layer_and_zooms_to_its_own_pair(open_page):
    """A kernel of the tenth layer computes a node of the third again, whose box is in the third's kernel."""
    made = MAKE.large(600, layers=12)
    fused = [call for call in made.calls if call.kernel.startswith("triton")]
    first, second = (next(call for call in fused if f"add_{layer}_" in call.nodes[-1]) for layer in (3, 10))
    gemm = next(call for call in made.calls if call.nodes and call.nodes[0].startswith("mm_10_1"))
    again = replace(second, nodes=(first.nodes[0], *second.nodes))
    pairs = tuple(build.pair(call, gemm, saved_bytes=10**6, reason_code="extern") for call in (first, again))
    calls = tuple(again if call is second else call for call in made.calls)
    page = open_page(replace(made, calls=calls, decisions=pairs), "#decision=1&view=graph")
    page.page.wait_for_timeout(300)
    assert 12 < int(re.search(r"([\d,]+) boxes", page.laid_out())[1]) < 60, page.laid_out()  # eleven layers stay closed
    seen = hovered(page)
    assert again.handle in seen and gemm.nodes[0] in seen and first.handle not in seen
    assert "not fused" in page.saved_svg()


def test_a_kernel_without_a_node_of_its_own_is_drawn_beside_the_one_it_was_not_fused_with(open_page):
    """The rest of a split reduction, a layout copy."""
    made = MAKE.large(600, layers=12)
    first = next(call for call in made.calls if call.kernel.startswith("triton"))
    for nodes in (first.nodes[:1], ()):
        rest = replace(first, id="rest", handle="triton_per_fused_rest:99", nodes=nodes)
        pairs = (build.pair(first, rest, saved_bytes=10**6, reason_code="extern"),)
        page = open_page(replace(made, calls=(*made.calls, rest), decisions=pairs), "#decision=0&view=graph")
        page.page.wait_for_timeout(300)
        picture = page.saved_svg()
        width, height, x, y = map(
            float,
            re.findall(r'viewBox="0 0 (\S+) (\S+)"', picture)[0]
            + re.findall(rf'<text x="([\d.]+)" y="([\d.]+)"[^>]*>{rest.handle}<', picture)[0],
        )
        assert 0 < x < width - 7 * len(rest.handle) and 0 < y < height and "1.00 MB" in picture


@pytest.mark.parametrize("number", range(3))
def test_both_kernels_of_a_missed_fusion_are_in_view_also_of_the_graph_beside(open_page, number):
    page, read = open_page("trained"), READ["trained"]()
    page.page.locator("#view-overview .missed .pair").nth(number).click()
    page.page.wait_for_timeout(500)
    decision = read.decisions[int(re.search(r"decision=(\d+)", page.hash())[1])]
    seen, calls = hovered(page), {call.id: call for call in read.calls}
    for end in decision.ends:
        assert any(words in seen for words in (calls[end.call].handle, *end.nodes)), end


def hovered(page: Page, drawn: str = ".graph-canvas") -> str:
    """Return what the drawings say of what is under a grid of points."""
    said: dict[str, None] = {}
    for canvas in page.page.locator(f"{drawn}:visible").all():
        place = canvas.bounding_box()
        for x in range(20, int(place["width"]), 60):
            for y in range(20, int(place["height"]), 25):
                page.page.mouse.move(place["x"] + x, place["y"] + y)
                said.update(dict.fromkeys(page.page.locator(".tip:not([hidden])").all_inner_texts()))
    return "\n".join(said)


@pytest.mark.parametrize("name", ["geglu", "trained", "eager"])
def test_the_timeline_says_the_times_of_the_record(open_page, name):
    page, read = open_page(name, "#view=timeline"), READ[name]()
    said = hovered(page, ".timeline-canvas")
    launched = r"(?:\n(?:launched by|kernel call) .+)*(?:\n(.+) after it was launched)?"
    found = re.findall(rf"(?m)^(.+s) · starts at .+s$(?:{launched})", said)
    ops = {(microseconds(op.duration_ns / 1e3), "") for op in read.ops}
    waits = [(launch.duration_ns, launch.start_ns - (launch.launched_ns or 0)) for launch in read.launches]
    true = ops | {tuple(microseconds(ns / 1e3) for ns in pair) for pair in waits}
    assert len(found) > 3 and any(after for _, after in found) and set(found) <= true


def test_a_node_lights_up_source_code_timeline_and_decisions(open_page):
    page = open_page("geglu", f"#node={MUL}&view=graph")
    panel = page.text("#panel")
    assert "mul_6" in panel and "triton_poi_fused__unsafe_view_gelu_mul_0:3" in panel and "model.py:17" in panel
    assert "debug handle" in panel and "Weakest link" in panel and "3 launches" in panel
    assert "never considered" in panel and "cuBLAS GEMM" in panel
    assert page.marked("#region-source") and "up_proj" in page.marked("#region-source")[0]
    assert page.marked("#view-code", "triton_poi_fused__unsafe_view_gelu_mul_0")
    page.page.evaluate("location.hash = '#node=mm_1'")  # a bare name, in the page that is open
    page.wait(".panel-title", "mm_1")
    assert "not in this recording" in open_page("geglu", "#node=no_such_node").text("#say")


TRITON = "triton_poi_fused__unsafe_view_gelu_mul_0"


@pytest.mark.parametrize(
    ("hash", "clicked", "said", "address"),
    [
        ("#view=code", "#region-source .line[data-line='18']", "model.py:18 extern_kernels.mm mm_2", "line="),
        (f"#node={MUL}&view=code", "#view-code .line.marked", f"{TRITON}:3 mul_6", "code="),
        ("", "#view-overview .missed .pair", "Decision cuBLAS Hint:", "decision="),
        ("", ".strip-host [data-row=line]", "model.py:17", "line="),
        (f"#node={MUL}&view=graph", "[data-stage=pre_grad]", "mul_6", "0/0:pre_grad"),
    ],
)
def test_a_click_selects_what_it_names_everywhere(open_page, hash, clicked, said, address):
    page = open_page("geglu", hash)
    page.page.locator(clicked).first.click()
    panel = page.text("#panel")
    assert [words for words in said.split() if words not in panel] == [] and address in page.hash()
    page.page.click("#tab-code")
    assert page.marked("#view-code") and page.marked("#region-source")


def test_a_bar_of_the_timeline_is_clickable(open_page):
    page = open_page("geglu", "#view=timeline")
    seen = set()
    for y in range(40, 520, 12):  # one column of the picture, from the CPU down to the device
        box = page.page.locator(".timeline-canvas").bounding_box()  # beside the panel, once that is there
        page.page.mouse.click(box["x"] + box["width"] * 0.84, box["y"] + y)
        seen.update(page.page.locator(".kind-word").all_inner_texts())
        if "Launch" in seen:
            break
    assert seen == {"CPU event", "Launch"}
    assert "triton_poi_fused" in page.text("#panel") or "nvjet" in page.text("#panel")


def test_graph_keys_go_along_the_data_and_fold(open_page):
    page = open_page("geglu", f"#node={MUL}&view=graph")
    page.page.focus(".graph-canvas")
    page.page.keyboard.press("ArrowUp")
    assert page.text(".panel-title") == "convert_element_type_5"
    page.page.keyboard.press("ArrowDown")
    assert page.text(".panel-title") == "mul_6"
    assert page.text(".graph-stages + .graph-list") == "" and page.laid_out() == "28 nodes"  # the decomposition opened
    page.page.keyboard.press("Enter")  # folds the kernel around it
    assert page.laid_out() == "28 nodes, 15 boxes"
    page.page.keyboard.press("v")
    assert re.fullmatch(r"28 nodes, \d boxes", page.laid_out())


def test_a_large_model_opens_folded_by_module(open_page):
    page = open_page("large", "#view=graph")
    assert page.laid_out() == "5,000 nodes, 50 boxes"
    assert page.page.is_checked("#view-graph .check:has-text('Modules') input")
    page.page.goto(page.page.url.split("#")[0] + "#node=add_7_12")
    page.wait(".panel-title", "add_7_12")
    boxes = int(re.search(r"([\d,]+) boxes", page.laid_out())[1].replace(",", ""))
    assert 50 < boxes < 200  # its modules opened, the others did not
    page.page.get_by_role("button", name="Unfold everything").click()
    assert page.laid_out() == "5,000 nodes"
    assert page.page.locator(".minimap").is_visible()


def test_back_goes_back_and_the_address_holds_stage_folds_and_place(open_page):
    page = open_page("geglu")
    page.page.click("#tab-graph")
    page.page.click("[data-stage=pre_grad]")
    page.page.click("[data-stage=post_grad]")
    page.laid_out()
    page.page.keyboard.press("v")  # keys are global: nothing has the focus
    assert page.laid_out() == "28 nodes, 19 boxes"
    page.page.click("#tab-tables")
    page.page.go_back()
    assert page.page.get_attribute("#app", "data-view") == "graph" and page.laid_out() == "28 nodes, 19 boxes"
    page.page.go_back()
    assert page.laid_out() == "28 nodes"
    page.page.go_back()
    assert page.page.get_attribute("[data-stage=pre_grad]", "aria-selected") == "true"
    page.page.go_back()
    page.page.go_back()
    assert page.page.get_attribute("#app", "data-view") == "overview"
    for _ in range(4):
        page.page.go_forward()
    again = open_page("geglu", "#" + page.page.url.split("#", 1)[1])
    assert again.laid_out() == "28 nodes, 19 boxes"
    again.page.focus(".graph-canvas")
    again.page.keyboard.press("+")
    again.page.wait_for_url(re.compile("at="))


def test_the_address_holds_the_second_step_the_range_and_the_time_in_view(open_page):
    page = open_page("geglu", "#view=timeline")
    page.page.select_option("select[aria-label='Second step, below']", index=2)
    page.page.wait_for_url(re.compile("below="))
    page.choose_range(300, 600, y=300)
    page.page.wait_for_url(re.compile("range="))
    sums = page.text(".sums")
    assert sums.count("busy") == 2  # of both steps
    page.page.keyboard.press("+")
    page.page.wait_for_url(re.compile("span="))
    again = open_page("geglu", "#" + page.page.url.split("#", 1)[1])
    assert again.text(".sums") == sums
    page.page.go_back()
    page.page.wait_for_url(re.compile("below=(?!.*range)"))
    assert page.page.locator(".sums").is_hidden()
    page.page.go_back()
    page.page.wait_for_url(re.compile("timeline$"))
    assert page.page.input_value("select[aria-label='Second step, below']") == ""
    page.page.go_forward()
    page.page.go_forward()
    assert page.text(".sums") == sums


def test_headings_stand_over_their_columns_and_stay(open_page):
    page = open_page("geglu", "#view=tables")
    for tab in page.page.locator("#view-tables [role=tab]").all():
        tab.click()
        lefts = "[...document.querySelectorAll('.table-host %s > .td')].map((e) => e.getBoundingClientRect().left)"
        heads, first = (page.page.evaluate(lefts % row) for row in (".th", ".lines-rows .tr:first-child"))
        assert heads == pytest.approx(first, abs=0.6), tab.inner_text()
    page = open_page("large", "#view=tables")
    page.page.click("[data-table=calls]")
    page.page.evaluate("document.querySelector('.tbody').scrollTop = 9000")
    assert page.page.locator(".th").bounding_box()["y"] < 150
    assert page.saved("button:has-text('Save CSV')").startswith(b"\xef\xbb\xbfCall,Kernel call")


AXE = Path(__file__).parents[1] / "js" / "node_modules" / "axe-core" / "axe.min.js"


def violations(page: Any) -> list[tuple[str, list[str]]]:
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [(item["id"], [node["html"] for node in item["nodes"]]) for item in found]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PANES)
def test_axe_finds_nothing(open_page, name, scheme):
    if not AXE.exists():
        if os.environ.get("CI") == "true":
            raise FileNotFoundError(AXE)
        pytest.skip("needs axe-core: npm install --prefix tests/js")
    page = open_page(name, bypass_csp=True, color_scheme=scheme).page
    for view in ("overview", "graph", "timeline", "code", "tables", "compare"):
        if page.locator(f"#tab-{view}").is_visible():
            page.click(f"#tab-{view}")
            page.wait_for_timeout(400)  # until boxes and messages stand still
            assert violations(page) == [], view


def test_folding_keeps_order_and_downward_flow(open_page):
    """Twelve layers: open one after the other; each time a column, data downward."""
    page = open_page(MAKE.large(600, layers=12), "#group=0/0:inference:post_grad/layers.3&view=graph")
    page.page.focus(".graph-canvas")
    for _ in range(3):  # close the layer, open it, close it
        page.page.keyboard.press("Enter")
    picture = page.saved_svg()
    width, height = (float(x) for x in re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', picture).groups())
    assert height > width  # no strip
    tops = {text: float(y) for y, text in re.findall(r'<text x="[\d.]+" y="([\d.]+)"[^>]*>(\d+)</text>', picture)}
    order = [tops[str(layer)] for layer in range(12) if str(layer) in tops]
    assert len(order) >= 11 and order == sorted(order)


def test_a_long_kernel_name_keeps_its_end_in_a_table(open_page):
    page = open_page("geglu", "#view=tables", viewport={"width": 1280, "height": 800})
    page.page.click("[data-table=kernels]")
    cell = page.page.locator("#view-tables .lines-rows .tr .td", has_text="nvjet").first
    name, right = cell.inner_text(), cell.bounding_box()["x"] + cell.bounding_box()["width"]
    assert name.endswith("_TNT") and "\n" not in name
    last = "const r = document.createRange(); r.selectNodeContents(e.querySelector('span').lastChild);"
    end = cell.evaluate(f"e => {{ {last} return r.getBoundingClientRect().right; }}")
    assert end <= right


def test_a_phone_shows_pairs_of_kernels_below_each_other_and_both_panes_of_code(open_page):
    page = open_page("three", "#view=compare", viewport={"width": 390, "height": 844})
    cells = [cell.bounding_box() for cell in page.page.locator(".versus-cell").all()]
    assert cells and all(box is None or box["x"] + box["width"] <= 390 for box in cells)
    named = "getComputedStyle(document.querySelector('.versus-cell[data-of=mlp_compiled]'), '::before').content"
    assert page.page.evaluate(named) == '"mlp_compiled"'
    page = open_page("geglu", "#view=code", viewport={"width": 390, "height": 844})
    source, code = (page.page.locator(pane).bounding_box() for pane in ("#region-source", "#view-code"))
    assert source["height"] > 100 and code["y"] >= source["y"] + source["height"] - 1 and code["height"] > 200


@pytest.mark.parametrize(
    ("name", "view", "said"),
    [
        ("long", "graph", ["No graph was recorded.", "--compile-log FOLDER"]),
        ("long", "overview", ["graph nodes"]),
        ("unaligned", "compare", ["No alignment was made"]),
        ("empty", "overview", ["Which pairs were not fused is not known"]),
        ("planned", "overview", ["Nothing was run."]),
        ("empty", "tables", ["nothing to tabulate"]),
    ],
)
def test_a_view_says_what_is_not_there_and_shows_no_empty_control(open_page, name, view, said):
    page = open_page(name, f"#view={view}")
    assert [words for words in said if words not in page.text(f"#view-{view}")] == []
    assert page.page.locator("#view-graph :is(button, select, input):visible").count() == 0
    assert "Of the roof" not in page.text(f"#view-{view}")  # a column of dashes says nothing
    assert page.page.locator("#tab-timeline").is_visible() == (name in ("long", "unaligned"))


def test_search_finds_and_selects(open_page):
    page = open_page("geglu", "#view=graph")
    page.page.keyboard.press("/")
    page.page.keyboard.type("tanh")
    hits = page.page.locator("#found [role=option]").all_inner_texts()
    assert any("tanh" in hit and "post-grad" in hit for hit in hits)
    page.page.keyboard.press("Enter")
    assert "tanh" in page.text(".panel-title")
    page.page.keyboard.press("/")
    page.page.keyboard.type("zzzzz")
    assert "Nothing has that name" in page.text("#found")


def test_tables_sort_filter_and_copy(open_page):
    page = open_page("geglu", "#view=tables")
    page.page.click("[data-table=kernels]")
    page.page.get_by_role("button", name="Median", exact=True).click()
    assert page.page.locator("[role=columnheader][aria-sort=descending]").inner_text().strip().startswith("Median")
    first = page.page.locator(".lines-rows .tr").first.inner_text()
    page.page.get_by_role("button", name="Median", exact=True).click()
    assert page.page.locator(".lines-rows .tr").first.inner_text() != first
    page.page.fill("#view-tables input[type=search]", "triton")
    assert page.page.locator(".lines-rows .tr").count() == 1
    # A file has no clipboard to read back from, so what is copied is caught on its way.
    catch = "Object.defineProperty(navigator, 'clipboard', {value: {writeText: (text) => { window.caught = text; }}})"
    page.page.evaluate(catch)
    page.page.get_by_role("button", name="Copy Markdown").click()
    page.wait("#say", "Markdown copied")
    markdown = page.page.evaluate("window.caught").splitlines()
    assert markdown[0].startswith("| Kernel | Category | Launches | Total |") and len(markdown) == 3
    assert "| 168.2 µs | 56.2 µs |" in markdown[2]
    page.page.get_by_role("button", name="Copy CSV").click()
    page.wait("#say", "CSV copied")
    heading, row = page.page.evaluate("window.caught").splitlines()
    assert heading.startswith("Kernel,Category,Launches,Total (µs),Median (µs)")
    assert row.startswith("triton_poi_fused__unsafe_view_gelu_mul_0,kernel,3,168.")
    page.page.click("[data-table=calls]")
    page.page.locator(".lines-rows .tr", has_text="gelu_mul_0:3").click()
    assert "call=0/0:inference:3" in page.hash() and "50.3 MB" in page.text("#panel")


def test_side_by_side(open_page):
    page = open_page("three")
    assert page.page.get_attribute("#app", "data-view") == "compare"
    text = page.text("#view-compare")
    said = ["Times are medians over steps.", "fused 2 → 1", "gelu", TRITON, "_geglu_tanh_forward_kernel"]
    assert [words for words in said if words not in text] == []
    row = page.page.locator(".versus-row", has_text=TRITON)
    cells = row.locator(".versus-cell").all_inner_texts()
    assert len(cells) == 3  # the part of a name that tells two kernels apart is never cut
    assert "vectorized_elementwise_kernel<gelu>" in cells[0] and "vectorized_elementwise_kernel<mul>" in cells[0]
    assert "_geglu_tanh_forward_kernel" in cells[2]
    kept = page.page.locator(".versus-row", has_text="nvjet_sm90_tst_192x128")
    assert "same" in kept.first.inner_text()
    row.locator(".use", has_text="triton").click()
    assert page.page.input_value("#recording-pick") == "1"
    assert "recording=1" in page.hash() and "mul_6" in page.text("#panel")
    page.page.click("#tab-graph")
    assert page.page.get_attribute("[data-stage=post_grad]", "aria-selected") == "true"
    for place, tip, said in (("2", "_geglu_tanh", "_geglu_tanh"), ("0", "<gelu>", "GeluCUDA"), ("1", TRITON, TRITON)):
        page.page.click("#tab-compare")
        part = page.page.locator(f"#view-compare [data-recording='{place}'] [data-row=kernel]", has_text=tip)
        part.first.click(force=True)  # its words lie over it
        assert page.page.get_attribute("#app", "data-view") == "graph" and said in page.text("#panel")
        assert page.page.input_value("#recording-pick") == place


def test_the_panel_appears_when_something_is_chosen(open_page):
    page = open_page("three")
    for view in ("compare", "graph", "timeline", "code", "tables"):
        page.page.click(f"#tab-{view}")
        assert not page.page.is_visible("#panel"), view
        assert page.page.evaluate(f"document.querySelector('#view-{view}').getBoundingClientRect().right") > 1490
    page.page.click("#tab-graph")
    page.page.fill("#search", "gelu")
    page.page.keyboard.press("Enter")
    page.page.wait_for_selector("#panel", state="visible")


def test_list_of_the_graph_is_for_screen_readers(open_page):
    page = open_page("geglu", "#view=graph")
    page.page.click("[data-stage=post_grad]")
    page.laid_out()
    page.page.keyboard.press("l")
    assert page.page.get_by_role("grid", name="Nodes of 0/0:inference:post_grad").is_visible()
    page.page.locator(".graph-list .tr", has_text="mul_6").first.click()
    page.wait(".panel-title", "mul_6")


def test_what_changed_between_two_stages(open_page):
    page = open_page("training", "#view=graph")
    page.page.click("[data-stage=post_grad]")
    pick = page.page.locator("#view-graph select[aria-label='Graph of this stage']")
    assert not pick.is_visible()  # both are there, beside each other
    page.page.keyboard.press("d")
    if "0/0:forward" not in page.hash():
        page.page.select_option("#view-graph select[aria-label='Graph of this stage']", label="forward · 0/0")
    assert page.text("#view-graph .count") == "Pre-grad → Post-grad: 1 rewritten, 1 gone, 1 kept"
    rows = [row.split("\n") for row in page.page.locator(".graph-list .lines-rows .tr").all_inner_texts()]
    assert rows[0][:6] == ["rewritten", "linear", "torch.nn.functional.linear", "mm", "mm.default", "pattern_matcher"]
    assert rows[1][:2] == ["gone", "unused"] and rows[1][-1] == "no link leads on from it"
    page.page.locator(".graph-list .tr", has_text="rewritten").click()
    assert page.text(".panel-title") == "mm" and "as=changes" in page.hash()
    page.page.keyboard.press("d")
    assert page.page.locator(".graph-canvas").first.is_visible()


def test_forward_and_backward_stand_beside_each_other(open_page):
    page = open_page("training", "#view=graph")
    page.page.click("[data-stage=post_grad]")
    boxes = [canvas.bounding_box() for canvas in page.page.locator(".graph-canvas").all()]
    labels = page.page.locator(".graph-label").all_inner_texts()
    assert len(boxes) == 2 and sorted(labels) == ["backward", "forward"]
    left = min(range(2), key=lambda k: boxes[k]["x"])
    assert labels[left] == "forward" and boxes[left]["width"] > 300
    page.page.evaluate("location.hash = '#node=0/0:backward:post_grad/mm_1&view=graph'")
    page.wait(".panel-title", "mm_1")
    assert page.page.locator(".graph-canvas").count() == 2
    page.page.keyboard.press("b")
    assert [canvas.is_visible() for canvas in page.page.locator(".graph-canvas").all()].count(True) == 1


def test_graph_breaks_say_where_and_why(open_page):
    page = open_page("training")
    items = page.page.locator(".breaks li").all_inner_texts()
    rows = report(MAKE.training()).breaks
    assert len(items) == len(rows) == 2 and page.page.evaluate(SMALL) == []
    for text, row in zip(items, rows, strict=True):
        assert row.where in text and row.reason in text and all(f"Try: {hint}" in text for hint in row.hints[:2])
    page.page.locator(".breaks button").first.click()
    assert page.page.get_attribute("#app", "data-view") == "code"


def test_two_recordings_stand_below_each_other_at_one_scale_and_a_range_sums_both(open_page):
    page = open_page("three", "#view=timeline")
    assert page.page.input_value("select[aria-label='Second step, below']").startswith("1:")
    box = page.page.locator(".timeline-canvas").bounding_box()
    page.choose_range(8, box["width"] - 4, y=box["height"] - 20)
    sums = page.page.locator(".sums p").all_inner_texts()
    assert len(sums) == 2 and all("idle" in line for line in sums)
    spans = [re.search(r": ([\d.]+ \S+): device", line)[1] for line in sums]
    assert spans[0] == spans[1]  # one scale
    assert "7 launches" in sums[0] and "6 launches" in sums[1]
    page.page.select_option("select[aria-label='Second step, below']", "")
    page.page.keyboard.press("ArrowRight")
    assert "launch=" in page.hash()
    page.page.keyboard.press("m")  # the sums of what is chosen
    assert "1 launch of" in page.text(".sums") and page.page.locator(".sums p").count() == 1


@pytest.mark.parametrize(("name", "least"), [("three", 5), ("planned", 4), ("large", 3)])
def test_printed_texts_keep_their_size_and_a_graph_has_as_many_sheets_as_it_needs(open_page, name, least):
    page = open_page(name, color_scheme="dark")
    page.page.click("#tab-graph")
    boxes = set(re.findall(r"<text[^>]*>([^<]*)<", page.saved_svg()))
    if name == "large":  # 5,000 boxes: on paper folded again
        page.page.get_by_role("button", name="Unfold everything").click()
    data = page.page.pdf(prefer_css_page_size=True, print_background=True)
    views = page.page.locator("[data-print=true]").count()
    assert views >= least and len(re.findall(rb"/Type\s*/Page\b", data)) >= views
    assert page.page.get_attribute("#app", "data-paper") is None
    page.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.paper() == rgb(theme.PAPER) and page.page.evaluate(SMALL) == []
    one = "'[data-print=true]:not(:has(> .page, > .sheets)), [data-print=true] .strip-host, .sheets > svg'"
    sizes = "map((e) => [e.getBoundingClientRect().height, e.getBoundingClientRect().width])"
    sizes = page.page.evaluate(f"[...document.querySelectorAll({one})].{sizes}")
    assert len(sizes) >= views and all(height <= 712 and width <= 1040 for height, width in sizes)
    assert boxes <= set(page.page.locator(".sheets text").all_text_contents()) and len(boxes) > 10
    assert len(page.page.locator(".sheets svg").all()) <= 12
    page.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.paper() == rgb(theme.DARK["paper"])
    page.page.click("#theme")
    assert page.paper() == rgb(theme.PAPER)
    page.page.emulate_media(media="print")
    assert page.page.evaluate("getComputedStyle(document.body).overflow") == "visible"
    assert not page.page.locator(".searchbox").is_visible()


def test_a_timeline_that_was_printed_before_it_was_seen_shows_the_step(open_page):
    page = open_page("geglu")
    page.page.evaluate("window.dispatchEvent(new Event('beforeprint')); window.dispatchEvent(new Event('afterprint'))")
    page.page.keyboard.press("3")
    page.page.keyboard.press("w")  # the address has the span of what was zoomed
    page.page.wait_for_url(re.compile("span="))
    left, right = map(int, re.search(r"span=(-?\d+)_(\d+)", page.hash()).groups())
    assert right - left > 100_000  # ns: two thirds of a step of 600 µs


def test_a_saved_graph_has_title_place_and_legend_inside(open_page):
    page = open_page("geglu", f"#node={MUL}&view=graph")
    page.page.click(".menu summary")
    assert page.saved("#save-png").startswith(b"\x89PNG")
    page.page.keyboard.press("Escape")
    picture = page.saved_svg()
    words = "mlp_compiled|Post-grad · inference · 0/0 · NVIDIA H200|fused|not fused|mul_6|tanh|100.7 MB".split("|")
    assert [item for item in words if item not in picture] == []
    width = float(re.search(r'viewBox="0 0 ([\d.]+)', picture)[1])
    ends = [float(x) + len(text) * 6 for x, text in re.findall(r'<text x="([\d.]+)"[^>]*>([^<]*)<', picture)]
    assert max(ends) <= width  # nothing cut


def test_data_flows_downward_through_what_lies_between_two_ops_of_a_kernel(open_page):
    """A view outside of the kernel whose ops write and read it: every arrow still ends below where it began."""
    page = open_page(MAKE.large(120, layers=4), "#view=graph", stage="post_grad")
    assert page.page.get_attribute("#app", "data-view") == "graph"  # the stage that was asked for
    assert page.page.get_attribute("[data-stage=post_grad]", "aria-selected") == "true"
    page.page.get_by_role("button", name="Unfold everything").click()
    picture = page.saved_svg()
    # Every plain edge is a piece of one path; red and dashed marks of missed fusions are others.
    edges = max(re.findall(r'<path d="([^"]+)"[^>]*fill="none"', picture), key=len).split("M")[1:]
    ends = [[float(x) for x in re.findall(r"-?[\d.]+", edge)] for edge in edges]
    assert len(ends) > 100
    assert [end for end in ends if end[-1] <= end[1]] == []
    assert overlaps(picture) == []


def overlaps(picture: str) -> list[tuple[float, ...]]:
    """Pairs of boxes and frames of a saved picture of which neither holds the other."""
    rects = []
    for path in re.findall(r'<path d="(M[^"M]+Z)"', picture):
        numbers = [float(x) for x in re.findall(r"-?[\d.]+", path)]
        rects.append((min(numbers[::2]), min(numbers[1::2]), max(numbers[::2]), max(numbers[1::2])))
    rects = sorted({rect for rect in rects if rect[2] - rect[0] > 40}, key=lambda rect: rect[0])  # no arrow, no legend

    def holds(a, b):
        return a[0] <= b[0] and a[1] <= b[1] and a[2] >= b[2] and a[3] >= b[3]

    assert len(rects) > 100
    pairs = ((a, b) for i, a in enumerate(rects) for b in rects[i + 1 :] if b[0] < a[2])
    return [(*a, *b) for a, b in pairs if a[1] < b[3] and b[1] < a[3] and not holds(a, b) and not holds(b, a)]
