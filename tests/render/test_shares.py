"""Every time per step is the median over steps of what something takes in one; a share is of the step's device time."""

import re
from collections import Counter
from pathlib import Path
from statistics import median

import pytest

from fxscope import load
from fxscope.analysis.compare import compare
from fxscope.analysis.report import others, report
from fxscope.index import index_of
from fxscope.model import Recording, replace
from fxscope.passes.attribute import timing, with_timing
from fxscope.passes.cost import cost
from fxscope.render import dot, labels, markdown, strip, tables, terminal, why
from fxscope.render.page import payload
from fxscope.text import FASTER, microseconds, span
from tests import build, captures
from tests.test_screen import layers

DATA = Path(__file__).parents[1] / "data"
CAPTURES = {
    **{str(path.parent.relative_to(DATA)): path.parent for path in sorted(DATA.glob("h200/**/trace.json.gz"))},
    **{str(path.relative_to(DATA)): path for path in sorted(DATA.rglob("*.fxscope"))},
    **{str(path.relative_to(DATA)): path for path in sorted(DATA.glob("report/*.json.gz"))},
}


def read(path: Path) -> Recording:
    return load(path) if path.suffixes == [".json", ".gz"] else captures.read(path)


@pytest.mark.parametrize("name", CAPTURES)
def test_the_shares_of_a_table_are_of_what_the_header_says(name: str) -> None:
    recording = read(CAPTURES[name])
    index = index_of(recording)
    if not recording.launches:
        pytest.skip("nothing ran in it")
    whole = sum(launch.duration_ns for launch in recording.launches) / 1e3
    made = report(recording)
    what = "CPU time" if made.step.on_cpu else "device time"
    assert f"Kernels, {microseconds(index.device_us)} of {what} per step" in terminal.render(recording)
    rows = [*made.kernels[:3], *([rest] if (rest := others(made.kernels, 3, made.step)) else [])]
    for row in (*rows, *made.groups):
        assert row.time_us is None or row.share == pytest.approx(row.time_us / (index.device_us or 1))
    assert sum(row.launches for row in rows) == made.step.launches
    assert [row.time_us for row in made.kernels] == sorted((row.time_us or 0 for row in made.kernels), reverse=True)
    for call in recording.calls:
        if call.timing is not None:
            assert call.timing.total_us <= whole * 1.000001
    timed = sum(call.timing.total_us for call in recording.calls if call.timing)
    assert timed <= whole * 1.000001
    if recording.summary is not None:
        stats = recording.summary.kernels
        assert sum(item.total_us for item in stats) == pytest.approx(whole, rel=1e-6)
        assert sum(item.share for item in stats) == pytest.approx(1, abs=1e-6)
        assert all(item.share == pytest.approx(item.total_us / whole, abs=1e-9) for item in stats)
    page, *_ = tables.tables(recording)
    keys = [key for key, _, _ in page["columns"]]
    assert sum(page["values"][keys.index("share")]) == pytest.approx(1, abs=1e-6)


def test_the_middle_of_times_is_their_median_and_an_outlier_moves_the_range_only() -> None:
    times = [10_000, 11_000, 12_000, 13_000, 900_000]
    found = timing(times)
    assert (found.median_us, found.min_us, found.max_us) == (12.0, 10.0, 900.0) and found.mean_us > 180
    assert span(found.min_us, found.max_us) == "10.0–900.0 µs" and span(5, 2000) == "5.00 µs–2.00 ms"
    recording = read(CAPTURES["h200/mlp_eager"])
    durations: dict[str, list[int]] = {}
    for launch in recording.launches:
        durations.setdefault(launch.name, []).append(launch.duration_ns)
    stats = {item.name: item for item in recording.summary.kernels}
    assert {name: item.median_us for name, item in stats.items()} == {
        name: pytest.approx(median(of) / 1e3) for name, of in durations.items()
    }


def test_no_share_of_a_roof_above_all_of_it_stands_without_the_words() -> None:
    recording = build.mlp_compiled()
    hurried = (replace(call, timing=call.timing and timing([call.timing.mean_us * 250])) for call in recording.calls)
    slow = cost(replace(recording, calls=tuple(hurried)))
    above = [call for call in slow.calls if call.roof and call.roof.share and call.roof.share > 1.005]
    assert above
    texts = {
        "dot": dot.render(slow),
        "markdown": markdown.render(slow),
        "page": labels.cost_line(above[0]),
        "terminal": terminal.render(slow, width=120),
        "why": why.roof(above[0]),
    }
    assert "> 100 %" in texts["terminal"] and "> 100 %" in texts["markdown"]  # a narrow column
    for view in ("dot", "page", "why"):
        text = texts[view]
        mentions = re.findall(r"(?<!\d)(?:1[1-9]|[2-9]\d)\d %(?=(.{0,80}))", text, re.DOTALL)
        assert mentions, view
        assert all(FASTER in mention for mention in mentions), (view, mentions)
    assert " at the limit " in texts["why"] and "floor" not in texts["why"]
    assert FASTER not in terminal.render(build.mlp_compiled(), width=120)


def test_what_takes_time_has_one_number_in_every_pane() -> None:
    """In steps that differ: a call, equal calls, an op, a module and a purpose, each the median over steps of its sum."""
    made = layers(3)
    calls = tuple(replace(call, purpose=("computes", "fallback")[at % 2]) for at, call in enumerate(made.calls))
    made = replace(made, calls=calls, history=(*made.history, "purposes"))
    slowed = (replace(item, duration_ns=item.duration_ns * (10 + 7 * item.id % 13)) for item in made.launches)
    noisy = with_timing(replace(made, launches=tuple(slowed)))

    def true(*calls: str) -> str:
        by_step = Counter[int]()
        for item in noisy.launches:
            by_step[item.step] += item.duration_ns * (item.call in calls)
        return microseconds(median(by_step.values()) / 1e3)

    answer, tips = report(noisy), re.findall("<title>(.+?)</title>", strip.render(noisy), re.DOTALL)
    shown, names = payload.page((noisy,), None), [call.id for call in noisy.calls]
    data, texts = shown["recordings"][0], (terminal.render(noisy, everything=True), markdown.render(noisy))
    for row in answer.kernels:
        assert all(re.search(rf" {row.label} .* {true(*row.calls)} ", text) for text in texts)
    note = f"the rows sum to {microseconds(sum(row.time_us or 0 for row in answer.kernels))}"
    assert all(note in text for text in (*texts, shown["overview"][0]["note"]))
    assert [microseconds(row.time_us) for row in answer.purposes] == [true(*row.calls) for row in answer.purposes] != []
    for group in answer.groups:
        time = true(*group.calls)
        assert any(f"\n{time}, " in tip for tip in tips) and time in texts[0]
        assert {data["calls"]["step"][names.index(call)].partition(",")[0] for call in group.calls} == {time}
    frames = next(graph["groups"] for graph in data["graphs"] if graph["stage"] == "post_grad")
    found, modules = dict(zip(frames["title"], frames["meta"], strict=True)), true(*names[:6])
    assert found["layers"] == modules and any(tip.startswith(f"layers.[0..2] ×3: {modules}, ") for tip in tips)
    assert [found[name] for name in "012"] == [true(*names[2 * at : 2 * at + 2]) for at in range(3)]
    for call, use in zip(noisy.calls, (use for item in compare(noisy, made).kernels for use in item.a), strict=True):
        assert microseconds(call.timing and call.timing.median_us) == true(call.id) == microseconds(use.time_us)
