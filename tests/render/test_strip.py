"""The strip: widths are times, idle time is to scale, one number per group of exclusive choices, 16:9, in real Chromium."""

import re
import struct
from itertools import combinations, pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fxscope.analysis.compare import compare
from fxscope.analysis.report import report
from fxscope.commands import common
from fxscope.errors import RenderError
from fxscope.model import BufferAccess, Graph, Launch, Op, Recording, Source, StepStats, Summary, replace
from fxscope.render import axis, markdown, notebook, strip, terminal
from fxscope.text import microseconds
from tests import build
from tests.captures import CHROMIUM, H200, recording, served

SVG = "{http://www.w3.org/2000/svg}"
NAMES = ("mlp_eager", "mlp_compiled", "mlp_liger")


def widths(drawn: str, row: str) -> list[float]:
    boxes = (item for item in ElementTree.fromstring(drawn).iter() if item.get("data-row") == row)
    return [float((box if box.get("width") else box.find(f"{SVG}rect")).get("width")) for box in boxes]  # type: ignore[union-attr, arg-type]


def texts(drawn: str) -> list[str]:
    return ["".join(item.itertext()) for item in ElementTree.fromstring(drawn).iter(f"{SVG}text")]


def brackets(drawn: str) -> list[list[complex]]:
    """The points of each bracket, from the kernel on its left to that on its right; y is the imaginary part."""
    paths = (item for item in ElementTree.fromstring(drawn).iter(f"{SVG}path") if item.get("class") == "fx-cut")
    found: list[list[complex]] = []
    for path in paths:
        points: list[complex] = []
        for letter, a, b in re.findall(r"([MLHV])([\d.]+) ?([\d.]*)", path.get("d", "")):
            if letter == "M" and points:
                break
            x, y = {"H": (a, points and points[-1].imag), "V": (points and points[-1].real, a)}.get(letter, (a, b))
            points.append(complex(float(x), float(y)))
        if not path.get("stroke-dasharray"):
            found.append(points)
    return found


def layers(number: int, *, gap_ns: int = 50_000) -> Recording:
    """Return a step of `number` equal layers of three eager kernels of 10 µs; the device is idle in between."""
    ops: list[Op] = []
    launches: list[Launch] = []
    for layer in range(number):
        for name, inner in (("aten::mm", "fc1"), ("aten::gelu", "act"), ("aten::addmm", "fc2")):
            source, start = Source(module=f"model.layers.{layer}.{inner}"), len(ops) * gap_ns
            launched = {"start_ns": start, "step": 0, "op_id": len(ops), "op": name}
            launches.append(build.launch(len(ops), f"k_{inner}", 10_000, **launched))
            ops.append(build.op(len(ops), name, start_ns=start, source=source, shapes=((8, 8),), dtypes=("float",)))
    return Recording(
        title="layers", steps=build.steps(1, 3 * number * gap_ns), ops=tuple(ops), launches=tuple(launches)
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_row_sums_to_the_device_time_and_the_step_row_to_the_wall_time(name: str) -> None:
    made = report(recording(name))
    drawn = strip.render(recording(name))
    for row in ("op", "kernel", "launch"):
        assert sum(widths(drawn, row)) == pytest.approx(strip.SPAN, rel=0.02), row
    busy, idle = sum(widths(drawn, "step")), sum(widths(drawn, "idle"))
    assert busy + idle == pytest.approx(strip.SPAN, rel=0.02)
    assert busy / (busy + idle) == pytest.approx(made.step.busy_share, abs=0.02)
    assert markdown.render(recording(name)).count("\n") < 60
    shares = sorted(group.time_us / sum(item.time_us for item in made.groups) for group in made.groups)  # type: ignore[operator, misc]
    assert sorted(width / strip.SPAN for width in widths(drawn, "kernel")) == pytest.approx(shares, abs=0.001)


def test_two_recordings_share_one_scale() -> None:
    eager, compiled = recording("mlp_eager"), recording("mlp_compiled")
    drawn = strip.render(eager, others=(compiled,), comparison=(compare(eager, compiled),))
    total = sum(widths(drawn, "kernel"))
    times = [sum(group.time_us or 0 for group in report(item).groups) for item in (eager, compiled)]
    assert total == pytest.approx(strip.SPAN * sum(times) / max(times), rel=0.02)
    walls = [report(item).step.wall_us for item in (eager, compiled)]
    assert sum(widths(drawn, "step")) + sum(widths(drawn, "idle")) == pytest.approx(
        strip.SPAN * sum(walls) / max(walls),  # type: ignore[arg-type, type-var]
        rel=0.02,
    )


@pytest.mark.parametrize("number", [1, 2, 3])
def test_several_strips_lie_below_each_other_and_each_mark_has_its_words(number: int) -> None:
    first, *others = (recording(name) for name in NAMES[:number])
    drawn = strip.render(first, others=tuple(others), comparison=tuple(compare(first, other) for other in others))
    root = ElementTree.fromstring(drawn)
    marks = [item for item in root.iter(f"{SVG}circle") if item.get("class") == "fx-mark"]
    assert set(NAMES[:number]) <= set(texts(drawn)) and (marks or number > 2)
    costs = [words for words in texts(drawn) if re.search(r"[\d.]+ (µs|kB|MB of traffic) per step", words)]
    assert len(costs) == len(marks), costs


def test_choices_that_exclude_each_other_have_one_number() -> None:
    made = report(recording("mlp_compiled"))
    assert len(made.missed) > 1 and {row.bracket for row in made.missed} == {1}
    said = [words for words in texts(strip.render(recording("mlp_compiled"))) if "per step" in words and "→" in words]
    assert len(said) == 1 and "other pairs, at most one fusion per kernel)" in said[0]
    assert said[0].startswith("1 mm → gelu·mul ×2 (with ")


def test_rows_of_one_bracket_show_what_they_save_together() -> None:
    """A chain: each GEMM takes the kernel after it, and graph breaks, whose cost is not known, tie the pairs."""
    ops = ("mm", "gelu", "mm", "exp", "mm", "sin")
    calls = [build.call(i, "extern_kernels.mm" if op == "mm" else "triton_poi", f"n{i}") for i, op in enumerate(ops)]
    nodes = tuple(build.node(f"n{i}", f"aten.{op}.default") for i, op in enumerate(ops))
    sizes = (3000, None, 2000, None, 1000)
    pairs = [build.pair(*x, saved_bytes=n, hint_code="compile") for x, n in zip(pairwise(calls), sizes, strict=True)]
    graph = Graph(id=build.GRAPH, stage="post_grad", nodes=nodes)
    made = report(Recording(title="chain", graphs=(graph,), calls=tuple(calls), decisions=tuple(pairs)))
    assert axis.saving(made, made.missed[0]) == "6.00 kB of traffic", made.missed


@pytest.mark.parametrize("name", ["mlp_train_compiled", "attn_compiled", "block.fxscope"])
def test_no_marker_touches_another_and_each_has_its_line(name: str) -> None:
    drawn = strip.render(common.read(str(H200 / name)), in_page=True)
    root = ElementTree.fromstring(drawn)
    marks = [item for item in root.iter(f"{SVG}g") if item.get("data-decision")]
    circles = [
        (float(c.get("cx", "")), float(c.get("cy", ""))) for c in root.iter(f"{SVG}circle") if c.get("r") == "12"
    ]
    paths = brackets(drawn)
    numbers = [float(item.get("y", "")) for item in root.iter(f"{SVG}text") if (item.text or "").isdigit()]
    assert len(marks) == len(circles) == len(paths) >= 1
    for number, (x, y) in enumerate(circles):
        for other, path in enumerate(paths):
            assert min(point.imag for point in path) >= numbers[0] + 8  # below the numbers of launches
            if other != number:
                assert max(abs(x - circles[other][0]), abs(y - circles[other][1])) >= 26
                along = [a + (b - a) * k / 50 for a, b in pairwise(path) for k in range(51)]
                assert min(abs(point - complex(x, y)) for point in along) > 12, (number, other)
    assert all(strip.LEFT <= x <= strip.RIGHT - 12 for x, _ in circles)  # not over the rows' names, and whole
    listed = [words[0] for words in texts(drawn) if re.match(r"\d .* per step", words)]
    assert listed == [str(number + 1) for number in range(len(marks))]


@pytest.mark.parametrize("name", ["mlp_compiled", "mlp_train_compiled", "attn_compiled"])
def test_a_marker_opens_the_pair_that_its_bracket_joins(name: str) -> None:
    read = common.read(str(H200 / name))
    made = axis.Strip(read)
    made.lay_out(axis.SPAN / made.total)
    middles = {call: made.places[group.id].middle for group in made.report.groups for call in group.calls}
    drawn = strip.render(read, in_page=True)
    root = ElementTree.fromstring(drawn)
    opened = [int(item.get("data-decision", "")) for item in root.iter(f"{SVG}g") if item.get("data-decision")]
    for position, path in zip(opened, brackets(drawn), strict=True):
        ends = sorted(middles[call] for call in (read.decisions[position].a_call, read.decisions[position].b_call))
        assert [path[0].real, path[-1].real] == pytest.approx(ends, abs=0.1)


def test_cpu_kernels_that_took_longer_than_the_step_have_one_time() -> None:
    """Kernels are timed under the profiler, the step without: the row has the time of the figures, not the step's."""
    made = layers(2)
    slow = tuple(replace(item, duration_ns=200_000, category="cpu_kernel") for item in made.launches)
    drawn = strip.render(replace(made, launches=slow))
    time = microseconds(report(replace(made, launches=slow)).step.device_us)
    assert [words for words in texts(drawn) if time in words], texts(drawn)
    assert "widths: CPU time; equal layers once (×N)" in texts(drawn) and "of the device time" not in drawn


def test_a_cpu_step_has_the_time_without_a_kernel_to_scale() -> None:
    made = layers(2)
    ran = tuple(replace(item, category="cpu_kernel") for item in made.launches)
    figures = {"name": "", "device_busy_us": 0.0, "device_idle_us": 0.0, "num_launches": 6}
    read = replace(made, launches=ran, summary=Summary(steps=(StepStats(step=0, wall_us=240.0, **figures),)))
    drawn = strip.render(read)
    assert widths(drawn, "step") + widths(drawn, "idle") == pytest.approx([strip.SPAN / 4, strip.SPAN * 3 / 4])
    assert "kernels 60.0 µs (25 %), while recording, rest 180.0 µs (75 %)" in texts(drawn)
    assert "kernels 60.0 µs (25 % of a step while recording), rest 180.0 µs" in terminal.render(read)
    assert markdown.bars(read)[0].count("█") == pytest.approx((markdown.WIDTH - 9) / 4, abs=1)


def test_the_picture_is_16_to_9_and_no_text_is_below_9_points_at_800_px() -> None:
    for drawn in (strip.render(recording("mlp_compiled")), strip.render(recording("mlp_eager"), is_light=True)):
        root = ElementTree.fromstring(drawn)
        _, _, width, height = map(float, root.get("viewBox", "").split())
        assert width / height == pytest.approx(16 / 9)
        sizes = [float(item.get("font-size")) for item in root.iter() if item.get("font-size")]  # type: ignore[arg-type]
        assert min(sizes) * 800 / width * 72 / 96 >= 9


def test_pairs_that_nothing_fuses_are_not_marked() -> None:
    read = common.read(str(H200 / "mlp_compiled"))
    missed = report(read).missed
    assert any(row.is_possible for row in missed) and not all(row.is_possible for row in missed)
    tips = {"".join(item.itertext()) for item in ElementTree.fromstring(strip.render(read)).iter(f"{SVG}title")}
    marked = {tip.removeprefix("not fused: ") for tip in tips if tip.startswith("not fused")}
    assert marked == {f"{row.producer} → {row.consumer}" for row in missed if row.is_possible}


def nested() -> Recording:
    """Two equal layers of eight kernels, their reads in another order; each pair of a layer encloses the next."""
    nodes, calls, decisions = [], [], []
    for layer, order in enumerate((1, -1)):
        for place, op in enumerate(("mm", "gelu", "exp", "sin", "tanh", "cos", "log", "addmm")):
            both = [Source(file="m.py", line=place, module=f"m.{layer}.{op}.{i}") for i in range(2)]
            made = [build.node(f"{op}{layer}{i}", f"aten.{op}", source=source) for i, source in enumerate(both)]
            used = [BufferAccess(buffer=f"b{n}", shape=(8, n), dtype="float32") for n in (1, 2, 3)]
            access = {"reads": tuple(used[1:][::order]), "writes": tuple(used[:1]), "timing": build.timing(10.0)}
            calls.append(build.call(len(calls), f"triton_{op}", *(node.name for node in made), **access))
            nodes += made
        cost = [{"saved_bytes": 1000 * (i + 1), "hint_code": "compile"} for i in range(4)]
        decisions += [build.pair(calls[i - 8], calls[-1 - i], **more) for i, more in enumerate(cost)]
    graph = Graph(id=build.GRAPH, stage="post_grad", nodes=tuple(nodes))
    return Recording(title="nested", graphs=(graph,), calls=tuple(calls), decisions=tuple(decisions))


def test_nested_brackets_leave_room_for_their_list_the_most_expensive_first() -> None:
    drawn = strip.render(nested())
    assert len(widths(drawn, "kernel")) == 8 and {"m.[0..1] ×2", "gelu.[0..1]"} <= set(texts(drawn)), texts(drawn)
    listed = [item for item in ElementTree.fromstring(drawn).iter(f"{SVG}text") if item.get("class") == "cost"]
    sizes = ["".join(item.itertext()).partition(": ")[2].partition(" kB")[0] for item in listed]
    assert sizes == ["8.00", "6.00", "4.00", "2.00"]
    assert max(float(item.get("y", "")) for item in listed) < strip.HEIGHT - 16 - strip.SIZE  # above the legend


def test_views_are_dots_above_the_ops_and_only_equal_modules_are_counted() -> None:
    # The views of the last are between kernels narrower than a dot.
    for read in (common.read(str(H200 / "block.fxscope")), common.read(str(H200 / "mlp_train_compiled")), served()):
        drawn, views = strip.render(read), axis.Strip(read).views.values()
        tips = re.findall("<title>views, 0 µs: (.*?)</title>", drawn)
        counts = [int(count or 1) for tip in tips for count in re.findall(r"[^,×]+?(?: ×(\d+))?(?:, |$)", tip)]
        assert sum(counts) == sum(map(len, views)) > 0 and "• view, 0 µs" in texts(drawn) and "getitem" not in drawn
    parts = [replace(item, source=Source(module=f"mlp.{item.id}")) for item in layers(1).ops]
    assert "mlp.[0..2]" in texts(strip.render(replace(layers(1), ops=tuple(parts))))


def test_times_of_several_gpus_say_so_and_cpu_kernels_have_no_share_but_a_scale() -> None:
    made = layers(2)
    both = replace(made, launches=tuple(replace(item, device=item.id % 2) for item in made.launches))
    assert "device time of 2 GPUs per step" in texts(strip.render(both))
    slow, fast = (
        replace(read, launches=tuple(replace(item, category="cpu_kernel") for item in read.launches))
        for read in (layers(4, gap_ns=15_000), made)  # whose step takes longer, with half of the kernels
    )
    assert report(slow).step.busy_share is None and not widths(strip.render(slow), "idle")  # no step is known
    assert widths(strip.render(slow, others=(fast,)), "step") == pytest.approx([strip.SPAN, strip.SPAN / 2])


def test_a_row_has_a_module_where_all_its_kernels_have_one() -> None:
    read = layers(3)
    without = replace(read, ops=(replace(read.ops[0], source=None), *read.ops[1:]))
    known, other = ({row.label: row.module for row in report(item).kernels} for item in (read, without))
    assert known["mm"] == "model.layers.[0..2].fc1" and other == {**known, "mm": None}


def test_equal_layers_are_drawn_once() -> None:
    drawn = strip.render(layers(12))
    assert "model.layers.[0..11] ×12" in texts(drawn)
    assert widths(drawn, "kernel") == pytest.approx([strip.SPAN / 3] * 3, rel=0.01)
    assert len(widths(drawn, "module")) == 4  # the layers, and three modules of one


@pytest.mark.parametrize("number", [24, 40])
def test_a_notebook_cell_holds_the_strip_of_a_hundred_kernels(number: int) -> None:
    made = layers(number)
    launches = (replace(item, name=f"void at::native::kernel_{item.id}<float, 4>(int)") for item in made.launches)
    ops = (replace(item, name=f"aten::operation_{item.id}", source=None) for item in made.ops)
    many = replace(made, launches=tuple(launches), ops=tuple(ops))
    assert len(report(many).groups) == 3 * number
    shown = notebook(many)
    assert len(shown) <= 60_000 and "<svg" in shown


@pytest.mark.parametrize("name", ["block.fxscope", "mlp_train_compiled"])
@pytest.mark.parametrize("beside", [0, 1])  # a comparison lists its missed fusion first
def test_a_picture_names_the_longest_ops_that_have_no_room_for_a_name(name: str, beside: int) -> None:
    read = common.read(str(H200 / name))
    read = replace(read, decisions=()) if beside else read
    groups = sorted(report(read).groups, key=lambda group: -group.time_us)  # type: ignore[operator]
    scale = strip.SPAN / sum(group.time_us for group in groups)  # type: ignore[misc]
    narrow = [group for group in groups if not strip.fitted(group.label, group.time_us * scale)]  # type: ignore[operator]
    has_room = name == "mlp_train_compiled" and not beside  # in a page, above its table
    pages = [strip.render(read, head=False, in_page=True)] if has_room else []
    for drawn in map(texts, [strip.render(read, others=(read,) * beside), *pages]):
        named = [item for words in drawn for item in words.split(" · ") if re.match(r"[a-z] .* µs$", item)]
        assert len(named) >= 3 and {item[0] for item in named} <= set(drawn)
        for letter, item, group in zip("abcdefgh", dict.fromkeys(named), narrow, strict=False):
            assert item.startswith(f"{letter} {group.label[:6]}") and item.endswith(microseconds(group.time_us))


def test_source_lines_stand_between_modules_and_ops() -> None:
    drawn = strip.render(recording("mlp_compiled"))
    assert {"model.py:17", "model.py:18"} <= {words.partition("  ")[0] for words in texts(drawn)}
    assert sum(widths(drawn, "line")) == pytest.approx(strip.SPAN, rel=0.02)
    assert not widths(strip.render(layers(12)), "line")  # none is known


def test_a_recording_without_kernels_is_drawn_as_its_graph_and_says_what_it_needs() -> None:
    with pytest.raises(RenderError, match="no kernel is recorded"):
        strip.render(Recording(title="empty"))


def test_the_command_writes_every_format_and_refuses_a_fourth(tmp_path: Path, command) -> None:
    names = [recording(name).save(tmp_path / f"{name}.fxscope") for name in NAMES]
    outputs = [tmp_path / f"x.{suffix}" for suffix in ("svg", "png")]
    command("view", *names, "-o", outputs[0], "-o", outputs[1])
    drawn, packed = outputs[0].read_text(encoding="utf-8"), outputs[1].read_bytes()
    assert "mlp_liger" in drawn and packed.startswith(b"\x89PNG") and struct.unpack(">II", packed[16:24]) == (1600, 900)
    said = command("view", *names, names[0], "-o", outputs[0], "--force", status=2).err
    assert "a picture holds 3 recordings" in said


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
@pytest.mark.parametrize(
    ("names", "width"),
    [
        ("block.fxscope", 1600),
        ("mlp_compiled", 800),
        ("mlp_train_compiled mlp_compiled", 800),
        ("mlp_train_compiled block.fxscope mlp_train_compiled", 1600),
    ],
)
def test_chromium_draws_no_text_outside_or_over_another(tmp_path: Path, names: str, width: int) -> None:
    sync_api = pytest.importorskip("playwright.sync_api")
    first, *others = (common.read(str(H200 / name)) for name in names.split())
    drawn = strip.render(first, others=others)
    page_file = tmp_path / "x.html"
    page_file.write_text(drawn.replace(' width="1280" height="720"', "", 1), encoding="utf-8")
    with sync_api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--headless", "--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": width, "height": width * 9 // 16})
        page.goto(page_file.as_uri())
        places = "map(t => t.getBoundingClientRect()).map((r) => [r.left, r.right, r.top, r.bottom])"
        boxes = page.eval_on_selector_all("svg text", f"list => list.{places}")
        right = page.evaluate("document.querySelector('svg').getBoundingClientRect().right")
        browser.close()
    assert boxes and all(a >= 0 and b <= right for a, b, *_ in boxes)
    over = [
        (a, b)
        for a, b in combinations(boxes, 2)
        if a[0] < b[1] and b[0] < a[1] and min(a[3], b[3]) - max(a[2], b[2]) > 0.3 * (a[3] - a[2])  # lines are tight
    ]
    assert over == []
