"""The default answer fits on one screen for every input, and its first lines say what limits the step."""

import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import fxscope
from fxscope import cli, store
from fxscope.analysis import select
from fxscope.analysis.advice import Advice
from fxscope.analysis.purposes import PurposeRow
from fxscope.analysis.report import CompileRow, CudaGraphs, Report, others, report
from fxscope.model import Memory, Recording, replace
from fxscope.render import axis, notebook, report as text, why
from tests import build, captures

ROOT = Path(__file__).parent.parent
INPUTS = [
    *sorted((ROOT / "fxscope" / "data" / "h200").glob("*.fxscope")),
    *sorted((ROOT / "tests" / "data" / "report").glob("*.json.gz")),
    *sorted((ROOT / "tests" / "data" / "logs").glob("*.log.gz")),
    *captures.CAPTURES.values(),
]
EXTRA = [Path(path) for path in os.environ.get("FXSCOPE_SCREEN_INPUTS", "").split(os.pathsep) if path]


def fits(out: str, most: int = 40) -> bool:
    lines = out.splitlines()
    return bool(lines) and len(lines) <= most and max(map(len, lines)) <= 80


@pytest.mark.parametrize("path", [*INPUTS, *EXTRA], ids=lambda path: "-".join(path.parts[-2:]))
def test_a_default_answer_fits_on_one_screen(path: Path, command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)  # a command of the answer repeats the path as it was typed
    for verb, most in (("view", 40), ("why", why.MAX_LINES)):
        out = command(verb, path.name).out
        assert fits(out, most), (verb, out)


def test_a_bare_trace_of_compiled_code_is_not_called_eager(command) -> None:
    out = command("view", captures.CAPTURES["mlp_small_compiled"] / "trace.json.gz").out
    assert 'mode="reduce-overhead" (CUDA graphs): the GPU idles' in " ".join(out.split())


@pytest.mark.parametrize("verb", ["view", "why", "diff", "check", "redact"])
def test_every_verb_reads_a_trace_and_chooses_its_steps(verb: str, tmp_path: Path) -> None:
    trace = str(captures.CAPTURES["mlp_eager"] / "trace.json.gz")
    expectations = tmp_path / "expect.toml"
    expectations.write_text("kernels = 5\n")
    more = {"diff": [trace], "check": [str(expectations)], "redact": ["-o", str(tmp_path / "redacted.fxscope")]}
    assert cli.main([verb, trace, *more.get(verb, []), "--steps", "0"]) == 0
    for steps in ("97", "0:100000000000"):
        assert cli.main([verb, trace, *more.get(verb, []), "--steps", steps, "--force"]) != 0


@pytest.mark.parametrize("capture", ["mlp_eager", "mlp_compiled", "mlp_train_compiled", "attn_compiled"])
def test_why_of_any_name_is_short(capture: str) -> None:
    """Of each sort of name a few, and each pair of a missed fusion."""
    recording = captures.read(capture)
    asked = [(f"{sort}:{name}",) for sort in select.SORTS for name in list(select.names(recording, sort))[:12]]
    asked += [row.names for row in report(recording).missed if row.names]
    for names in asked:
        lines = why.words(recording, recording.why(*names), width=80).splitlines()
        assert 0 < len(lines) <= why.MAX_LINES and max(map(len, lines)) <= 80, (names, lines)


def layers(number: int) -> Recording:
    """A compiled program of equal layers: a product and a gelu each, and a head of another shape."""
    nodes, calls, launches = [], [], []
    for layer in range(number):
        source = fxscope.model.Source(file="m.py", line=7, module=f"layers.{layer}.fc")
        mm, gelu = f"mm_{layer}", f"gelu_{layer}"
        nodes.append(build.node(mm, "aten.mm.default", shape=(64, 256), source=source, kind="kernel"))
        nodes.append(build.node(gelu, "aten.gelu.default", mm, shape=(64, 256), source=source, kind="fused"))
        calls.append(build.call(2 * layer, "extern_kernels.mm", mm))
        calls.append(build.call(2 * layer + 1, f"triton_poi_fused_gelu_{layer}", gelu))
    head = fxscope.model.Source(file="m.py", line=9, module="head")
    nodes.append(build.node("mm_head", "aten.mm.default", shape=(64, 10), source=head, kind="kernel"))
    calls.append(build.call(2 * number, "extern_kernels.mm", "mm_head"))
    for step in range(3):
        for place, call in enumerate(calls):
            launch = build.launch(len(launches), call.kernel, 1000 * (place % 2 + 1), step=step, call=call.id)
            launches.append(launch)
    known = {"reason_code": "extern_gemm", "reason_arguments": {"library": "cuBLAS"}}
    saved = {"saved_bytes": 1000, "saved_launches": 1, "expected_us": 2.0}
    decisions = tuple(build.pair(*calls[2 * layer : 2 * layer + 2], **known, **saved) for layer in range(number))
    graph = fxscope.model.Graph(id=build.GRAPH, stage="post_grad", nodes=tuple(nodes))
    return Recording(
        title="layers",
        graphs=(graph,),
        calls=tuple(calls),
        launches=tuple(launches),
        decisions=decisions,
        steps=build.steps(3),
    )


@pytest.fixture(scope="module")
def twelve() -> Report:
    return report(layers(12))


def test_equal_layers_are_one_group_and_another_shape_is_not(twelve: Report) -> None:
    found = {(group.label, group.module): (group.count, group.launches, group.time_us) for group in twelve.groups}
    assert found == {
        ("gelu", "layers.[0..11].fc"): (12, 12, 24.0),
        ("mm", "layers.[0..11].fc"): (12, 12, 12.0),
        ("mm", "head"): (1, 1, 1.0),
    }
    assert [(row.label, row.count, row.time_us) for row in twelve.kernels] == [("gelu", 12, 24.0), ("mm", 13, 13.0)]

    rest = others(twelve.kernels, 1, twelve.step)
    assert rest is not None and twelve.step.device_us == 37.0
    assert (rest.time_us, rest.launches, rest.share) == (13.0, 13, pytest.approx(13 / 37))


def test_equal_missed_fusions_are_one_row(twelve: Report) -> None:
    (row,) = twelve.missed
    assert (row.producer, row.consumer, row.count, row.time_us) == ("mm", "gelu", 12, 24.0)
    assert row.module == "layers.[0..11].fc" and row.reason == "cuBLAS GEMM, opaque to Inductor"
    known, other = (two := layers(2)).decisions
    two = replace(two, decisions=(known, replace(other, saved_bytes=None, expected_us=None)))  # unknown is not 0
    said = why.words(two, two.why("mm", "gelu"), width=999)
    assert "Cost: 1.00 kB of memory traffic and 1 launch, ~2.00 µs (" in said and "×2 per step: –" in said, said


def test_pairs_that_share_a_library_kernel_are_bracketed_and_counted_once() -> None:
    made = report(recording := captures.read("mlp_compiled"))
    rows = [row for row in made.missed if row.bracket is not None]
    assert len(rows) > 1 and len(made.brackets) == 1
    each = [row.time_us for row in rows if row.time_us is not None]
    assert max(each) <= (made.brackets[0].time_us or 0) <= sum(each)
    assert "at most one fusion per kernel" in text.render(recording)
    together = f" {axis.rivals(made, rows[0])}: {axis.saving(made, rows[0]).strip('~')} in total"
    assert together in text.missed(made, 80, everything=False, limit=1)  # as the page has it, of the first row alone
    (two,) = (row for row in rows if row.count == 2)  # the gate's and the up projection's result, read by one kernel
    assert two.bytes == recording.decisions[two.decisions[0]].saved_bytes


def test_why_answers_for_a_group_and_lists_the_exceptions(tmp_path: Path, command) -> None:
    path = layers(4).save(tmp_path / "layers.fxscope")
    assert command("why", path, "mm", "gelu").out.startswith("– mm → gelu ×4: not fused: cuBLAS GEMM")
    out = command("why", path, "mm").out
    assert out.startswith("mm ×4: own kernel, ") and "×1 head: own kernel, " in out
    assert out.splitlines()[1] == "  in layers.[0..3].fc"


def test_why_knows_the_rows_of_the_report_by_their_labels() -> None:
    recording = captures.read("mlp_compiled")
    (same,) = recording.why("gelu·mul").same
    assert same.count == 1 and same.call is not None and same.decisions


@pytest.mark.parametrize("capture", ["mlp_train_compiled", "mlp_train_eager", "attn_compiled", "mlp_liger"])
def test_why_accepts_every_name_that_a_table_prints(capture: str) -> None:
    """As it is printed: cut in the middle, with its phase, a part of a kernel, a module."""
    recording = captures.read(capture)
    made = report(recording)
    printed = {re.split(r"\s{2,}", line.strip())[0] for line in text.kernels(made, 60, 10, everything=False)[1:]}
    asked = [(name,) for name in printed if not name.startswith("others") and ":" not in name]
    asked += [(row.producer,) for row in made.missed] + [(row.consumer,) for row in made.missed]
    asked += [row.names for row in made.missed if row.names] + [(row.module,) for row in made.kernels if row.module]
    assert asked
    for names in asked:
        assert why.words(recording, recording.why(*names), width=80).strip(), names


@pytest.mark.parametrize("capture", ["mlp_train_compiled", "mlp_train_eager", "attn_eager", "block"])
def test_a_missed_fusion_saves_no_more_than_its_kernels_take(capture: str) -> None:
    made = report(store.load(ROOT / "tests/data/h200/block.fxscope") if capture == "block" else captures.read(capture))
    times: dict[str, float] = {}
    for row in made.kernels:
        times[row.label] = times.get(row.label, 0.0) + (row.time_us or 0.0)
    for row in made.missed:
        sides = {side.removesuffix(" (backward)") for side in (row.producer, row.consumer)}
        if row.time_us is not None and sides <= times.keys():
            assert row.time_us <= sum(map(times.__getitem__, sides)) + 0.01, row
    for item in made.advice:
        assert item.gain_us is None or made.step.wall_us is None or item.gain_us <= made.step.wall_us, item


def test_the_next_commands_work_as_they_are_printed(tmp_path: Path, command) -> None:
    """A long path becomes a variable of the shell; a name of RECORDING would have to be replaced by hand."""
    for name in ("short.fxscope", f"{'long' * 8}.fxscope", f"{'long' * 30}.fxscope"):
        path = layers(2).save(tmp_path / name)
        lines = text.lines(report(store.load(path)), name=str(path))
        commands = [line[6:] for line in lines[next(n for n, line in enumerate(lines) if line.startswith("Next:")) :]]
        variables = dict(line.split("=") for line in commands if line.startswith("R="))
        assert "RECORDING" not in " ".join(commands)
        for line in commands:
            if line.startswith("fxscope") and "page.html" not in line:
                command(*(variables.get("R", "") if word == "$R" else word for word in shlex.split(line)[1:]))


def test_the_python_api_answers_as_the_verbs_do() -> None:
    recording = layers(4)
    answer = recording.why("mm", "gelu")
    assert answer.same[0].count == 4 and "cuBLAS GEMM" in str(answer)
    assert recording.explain() is report(recording) and "×4" in str(recording.explain())
    assert recording.diff(recording).kernels
    with pytest.raises(AssertionError):
        recording.assert_fused("mm", "gelu")
    pandas = pytest.importorskip("pandas")
    frame = recording.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and frame.time_us.sum() == recording.explain().step.device_us


@pytest.mark.parametrize(("recording", "has_strip"), [("mlp_train_compiled", True), (Recording(title="empty"), False)])
def test_a_notebook_shows_the_strip_and_the_report_in_little_space(recording: Any, has_strip: bool) -> None:
    shown = notebook(captures.read(recording) if isinstance(recording, str) else recording)
    assert len(shown) <= 60_000 and "<pre" in shown and "<script" not in shown and ("<svg" in shown) == has_strip


def test_a_screen_full_of_breaks_and_recompiles_fits(twelve: Report) -> None:
    fields = {"reason": "tensor 'x' size mismatch " * 4, "hints": ("do",)}
    rows = [CompileRow(id=f"x/{at}", where=f"train.py:{at}", **fields) for at in range(3)]
    purposes = "fallback", "layout_copy", "split"
    made = replace(
        twelve,
        advice=tuple(Advice(text=f"Stop {row.where}", why=row.reason) for row in rows),
        purposes=tuple(PurposeRow(purpose=name, kernels=3, time_us=9.0) for name in purposes),
        cuda_graphs=CudaGraphs(state="off"),
        memory=Memory(step_bytes=100),
        memory_peak_in="aten::" + 40 * "x",
        breaks=tuple(rows[:2]),
        recompiles=tuple(rows),
        problems=("a problem",),
        unknown=("modules",),
    )
    shown = text.lines(made, name="train.fxscope")
    assert len(shown) <= 40 and {"Graph breaks", "Recompiles"} <= set(shown)
    assert any(line.startswith("Memory peak of the recorded") for line in shown)  # a line of its own
    fewer = text.lines(replace(twelve, recompiles=tuple(rows)))
    assert "  … 2 more: --all" not in fewer  # a line for one is that one's


@pytest.mark.parametrize("module", ["Model_0." * 20 + "Conv2d_0", "layers.[0..11]." + "Long" * 20])
@pytest.mark.parametrize(("count", "launches"), [(1, 1.0), (1175, 1026.5)])
def test_a_module_of_any_length_leaves_the_columns_where_they_are(
    twelve: Report, module: str, count: int, launches: float
) -> None:
    row = replace(twelve.kernels[0], module=module, count=count, launches=launches)
    head, first, *_ = text.kernels(replace(twelve, kernels=(row, *twelve.kernels)), 80, 10, everything=False)
    assert len(first) <= 80 and first.index("%") == head.index("share") + 4
    assert f"  {launches:,.0f} " in first


def test_the_commands_after_a_run_that_saved_nothing_begin_with_saving_it() -> None:
    following = text.lines(report(layers(2)), name="")[-2:]
    assert following[0].startswith("Next: add -o x.fxscope · ") and "RECORDING" not in "".join(following)
