"""Two recordings side by side: what stayed, collapsed, split, came and went; and when a time says nothing."""

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import pytest

from fxscope.analysis.check import check
from fxscope.analysis.compare import compare, kind_of, of_equal_work
from fxscope.analysis.compare.assign import Aligned, assign
from fxscope.analysis.compare.rows import change_rows
from fxscope.analysis.compare.uses import sum_bytes, without_memsets
from fxscope.analysis.findings import KernelMatch, KernelUse
from fxscope.analysis.select import Unit, launches_by_position, units
from fxscope.analysis.stats import compare_recorded, compare_times
from fxscope.commands import common
from fxscope.model import WHOLE, Decision, Environment, Graph, Recording, Source, Workload, replace
from fxscope.op_names import without_graph_number
from fxscope.passes.cost import cost
from fxscope.readers.join import read_trace
from fxscope.render.diff import SAME, diff_markdown, diff_text, is_same, kind_words, table
from tests import build, captures

ROOT = Path(__file__).parent.parent.parent

H200 = Path(__file__).parent.parent / "data" / "h200"


def align(a: Sequence[Unit], b: Sequence[Unit]) -> list[Aligned]:
    return assign((Recording(), Recording()), a, b)


def kinds(comparison) -> list[tuple[str, int, int, str | None]]:
    return [(match.kind, len(match.a), len(match.b), match.aligned_by) for match in comparison.kernels]


def test_the_traffic_of_a_call_counts_once_however_many_kernels_it_launches() -> None:
    def use(position: int, kernel: str, size: int, call: str | None = "c:1", category: str = "kernel") -> KernelUse:
        return KernelUse(position=position, kernel=kernel, category=category, call=call, bytes=size)

    split_k = [use(0, "memset", 4, category="gpu_memset"), use(1, "gemm", 100), use(2, "reduce", 100)]
    assert sum_bytes(split_k) == 104
    again = [replace(item, position=item.position + 3) for item in split_k]
    assert sum_bytes([*split_k, *again]) == 208
    assert sum_bytes([*split_k, use(3, "copy", 8, None), use(4, "copy", 8, None)]) == 120


def test_kernels_collapse_into_the_one_that_runs_their_ops() -> None:
    comparison = compare(build.gelu_mul_eager(), build.gelu_mul_compiled())
    assert kinds(comparison) == [("gone", 1, 0, None), ("same", 1, 1, "name"), ("fused", 2, 1, "op")]
    collapsed = comparison.kernels[2]
    assert [use.kernel for use in collapsed.a] == ["elementwise<gelu>", "elementwise<mul>"]
    assert collapsed.time is not None and collapsed.time.verdict == "faster"
    assert collapsed.b[0].config == "XBLOCK=512" and collapsed.b[0].num_warps == 8
    assert [use.registers for use in collapsed.a] == [32, 40] and collapsed.b[0].registers == 31
    split = kinds(compare(build.gelu_mul_compiled(), build.gelu_mul_eager()))
    assert {("split", 1, 2, "op"), ("new", 0, 1, None)} <= set(split)


def step(kernels: str) -> list[Unit]:
    """The kernels of a step, with ";" between them: name, ops, @LINE, %MODULE, <CALLER, !f or !b for a known direction."""
    found: list[Unit] = []
    for position, words in enumerate(map(str.split, kernels.split(";"))):
        named = {sign: tuple(word[1:] for word in words if word[0] == sign) for sign in "@%<!"}
        ops = tuple(word for word in words[1:] if word[0] not in named)
        chain = (*named["<"], words[0]) if named["<"] else ()
        lines = tuple(f"m.py:{line}" for line in named["@"])
        backward = named["!"] == ("b",) if named["!"] else None
        facts = (None, (), None, (), None, ops, frozenset(ops), chain, named["%"], lines, backward)
        found.append(Unit(position, words[0], "kernel", *facts))
    return found


def pairs_of(a: Sequence[Unit], b: Sequence[Unit], *, how: bool = False) -> list[str]:
    """ "0,1-2": the positions of the kernels of A and B that belong together."""
    sides = (
        ([",".join(str(unit.position) for unit in side) for side in group[:2]], group.how) for group in align(a, b)
    )
    return ["-".join(side) + (f" {by}" if how and by else "") for side, by in sides]


# A title; the kernels of A; those of B; which belong together, and by what.
ALIGNED = Path(__file__).with_name("aligned.txt").read_text()


@pytest.mark.parametrize("case", ALIGNED.strip().split("\n\n"), ids=lambda case: case.partition("\n")[0])
def test_which_kernels_belong_together(case: str) -> None:
    a, b, expected = case.splitlines()[1:]
    one, two = step(a), step(b)
    assert "; ".join(pairs_of(one, two, how=True)) == expected
    mirrored = ["-".join(reversed(pair.split("-"))) for pair in pairs_of(two, one)]
    assert sorted(mirrored) == sorted(pairs_of(one, two))


def test_layers_are_paired_in_order_whatever_their_kernels_are_called() -> None:
    """One kernel of B does not take those of all layers: neither by op, nor by the line that all of them share."""

    def layers(*kernels: tuple[str, tuple[str, ...]], times: int, line: str | None = None) -> list[Unit]:
        rows = list(kernels) * times
        return step("; ".join(f"{name} {' '.join(ops)} @{line or name}" for name, ops in rows))

    gelu, mul, mm = ("gelu_kernel", ("gelu",)), ("mul_kernel", ("mul",)), ("mm_kernel", ("mm",))
    fused, other = ("triton_gelu_mul", ("gelu", "mul")), ("nvjet_mm", ("mm",))
    for line in (None, "9"):
        for one, two in (
            (layers(gelu, mul, times=4, line=line), layers(fused, times=4, line=line)),
            (layers(mul, gelu, mul, times=4, line=line), layers(fused, times=4, line=line)),
            (layers(mm, gelu, mul, times=4, line=line), layers(other, fused, times=4, line=line)),
            (layers(mm, times=75, line=line), layers(other, times=75, line=line)),
        ):
            each, found = len(one) // len(two), align(one, two)
            if len({u.kernel for u in two}) == 1:
                assert [len(group.a) for group in found] == [each] * len(two)
            assert all(len(group.b) == 1 and group.a for group in found) and sum(len(g.a) for g in found) == len(one)
            starts = [group.a[0].position for group in found]
            assert starts == sorted(starts) and [group.b[0].position for group in found] == list(range(len(two)))
    # A product is not several products: what one side has more of is gone, or new.
    found = align(layers(mm, times=5), layers(other, times=3))
    assert [(len(a), len(b)) for a, b, _ in found] == [(1, 1)] * 3 + [(1, 0)] * 2


def test_what_runs_at_another_place_is_neither_new_nor_gone() -> None:
    """The same kernel of the same op over the same shapes; with other shapes, or twice, it could be another one's."""
    base = captures.read("mlp_eager")
    gelu = next(unit for unit in units(base) if unit.ops == ("gelu",))
    end = max(launch.start_ns for launch in base.launches)
    late = tuple(
        replace(item, start_ns=item.start_ns + end) if item.name == gelu.kernel and item.step == 2 else item
        for item in base.launches
    )
    one = replace(
        base, launches=tuple(item for item in base.launches if item.step == 2), steps=base.steps[-1:], summary=None
    )
    moved = replace(one, launches=tuple(item for item in late if item.step == 2))
    assert [match.kind for match in compare(one, moved).kernels].count("moved") == 1
    (match,) = [match for match in compare(one, moved).kernels if match.kind not in ("same",)]
    assert (match.kind, match.aligned_by) == ("moved", "shapes") and match.a[0].kernel == match.b[0].kernel
    op = next(launch.op_id for launch in one.launches if launch.name == gelu.kernel)
    other = replace(moved, ops=tuple(replace(x, shapes=((8, 8),)) if x.id == op else x for x in moved.ops))
    assert {match.kind for match in compare(one, other).kernels} == {"same", "new", "gone"}


def test_one_graph_compiled_twice_is_paired_by_its_nodes() -> None:
    """One kernel of a plan against the several that do its work, whatever they are called; its like in every layer."""
    names = [f"{op}_{layer}" for layer in range(3) for op in ("amax", "sub", "sum")]
    graph = Graph(
        id=build.GRAPH,
        stage="post_grad",
        nodes=tuple(
            build.node(name, f"aten.{name[:-2]}.default", *before)
            for before, name in zip([(), *((name,) for name in names)], names, strict=False)
        ),
    )

    def plan(*groups: list[str]) -> Recording:
        work = Workload(family="pointwise", dtype="bfloat16", num_bytes=50_000_000, elements=25_000_000)
        calls = tuple(
            build.call(number, f"triton_poi_fused_{number % 2}", *group, workload=work, device="cuda:0")
            for number, group in enumerate(groups)
        )
        return cost(Recording(graphs=(graph,), calls=calls, environment=Environment(target="h200")))

    fused = plan(*(names[at : at + 3] for at in (0, 3, 6)))
    apart = plan(*(names[at : at + size] for start in (0, 3, 6) for at, size in ((start, 1), (start + 1, 2))))
    found = compare(fused, apart).kernels
    assert kinds(compare(fused, apart)) == [("split", 1, 2, "nodes")] * 3
    each = fused.calls[0].estimated_us
    assert sum(row.difference_us for row in change_rows(compare(fused, apart))) == pytest.approx(3 * each)
    assert [use.call for match in found for use in match.b] == [call.id for call in apart.calls]
    assert kinds(compare(apart, fused)) == [("fused", 2, 1, "nodes")] * 3
    assert {kind for kind, *_ in kinds(compare(fused, fused))} == {"same"}


@pytest.mark.parametrize(
    ("a", "b", "a_ops", "b_ops", "verdict"),
    [
        (10.0, 16.0, {"mul"}, {"gelu", "mul"}, "not the same work"),
        (10.0, 6.0, {"mul"}, {"gelu", "mul"}, "faster"),  # more work in less time is a win all the same
        (16.0, 10.0, {"gelu", "mul"}, {"mul"}, "not the same work"),
        (10.0, 16.0, {"mul"}, {"mul"}, "slower"),
        (10.0, 16.0, set(), {"mul"}, "slower"),  # nothing is known of one side's work
    ],
)
def test_more_work_is_not_called_slower(a: float, b: float, a_ops: set[str], b_ops: set[str], verdict: str) -> None:
    time = of_equal_work(compare_times([a, a * 1.01], [b, b * 1.01]), a_ops, b_ops)
    assert time.verdict == verdict
    assert ("also runs gelu" in time.reason) == (verdict == "not the same work")


def test_other_work_is_not_called_faster_where_both_sides_name_it_alike() -> None:
    time = compare_times([16.0, 16.1], [10.0, 10.1])
    assert of_equal_work(time, {"relu", "mine"}, {"relu", "other"}).verdict == "faster"
    held = of_equal_work(time, {"relu", "dropout"}, {"relu", "sin"})
    assert held.verdict == "not the same work" and "only the first recording's kernel also runs dropout" in held.reason


@pytest.mark.parametrize("a", ["more/encoder_layer/real", "mlp_eager"])
def test_a_place_alone_ties_no_kernels_of_torchs_ops(a: str) -> None:
    """An addition is not a dropout beside it: each op is known, and two programs may differ in all of them."""
    comparison = compare(captures.read(a), captures.read("more/encoder_layer_train/real"))
    assert any(match.kind == "new" for match in comparison.kernels)
    assert not [match for match in comparison.kernels if match.aligned_by == "order"]


def test_a_place_ties_no_several_kernels_of_two_programs() -> None:
    other = captures.read("more/encoder_layer_train/real")
    bare = [replace(item, op=None, op_id=None, chain=(), nodes=(), graph=None, call=None) for item in other.launches]
    other = replace(other, launches=tuple(bare), ops=(), graphs=())
    matches = compare(captures.read("more/encoder_layer/real"), other).kernels
    assert all(min(len(match.a), len(match.b)) < 2 for match in matches if match.kind != "same")


def test_the_same_recording_twice_shows_no_difference() -> None:
    comparison = compare(build.gelu_mul_eager(), build.gelu_mul_eager())
    assert {match.kind for match in comparison.kernels} == {"same"}
    assert {match.time.verdict for match in comparison.kernels if match.time} == {"no difference shown"}
    assert comparison.ops == comparison.decisions == ()
    assert all(change.a == change.b for change in comparison.totals)


def test_one_step_on_a_side_shows_which_kernels_take_longer() -> None:
    """Its noise is unknown: no verdict, but not "no difference beyond noise" either."""
    a, b = (replace(build.gelu_mul_eager(gelu_ns=ns), steps=build.THREE_STEPS[:1]) for ns in (30_000, 90_000))
    a, b = (replace(side, launches=side.launches[:4]) for side in (a, b))
    (row,) = change_rows(compare(a, b))
    assert (row.change, row.a, row.difference_us) == ("longer", "gelu", 60.0)
    assert "(A or B has 1 step: noise unknown)" in diff_text(compare(a, b)) and not is_same(compare(a, b))
    assert diff_text(compare(a, a)).endswith(f"{SAME}\n")


def test_kernels_align_under_numbered_annotations_and_beside_a_rare_kernel() -> None:
    def run(*kernels: str, rare: str = "") -> Recording:
        each = [(step, name) for step in range(4) for name in (*kernels, *[rare] * (step == 1 and bool(rare)))]
        made = [build.launch(at, name, step=step, chain=(f"step {step}",)) for at, (step, name) in enumerate(each)]
        return Recording(launches=tuple(made), steps=build.steps(4))

    changes = [change_rows(compare(run("k", "a"), other)) for other in (run("k", "a", "b"), run("k", "c", rare="d"))]
    assert [[(row.change, row.num_b) for row in rows] for rows in changes] == [[("new", 1)], [("replaced", 1)]]
    assert "0 kernels" not in diff_text(compare(run("a"), run("c", rare="d")))


def test_a_graph_of_another_number_is_the_same_graph() -> None:
    def numbered(number: int):
        recording = build.gelu_mul_compiled()

        def named(item):
            if "triton_poi" in item.name:
                return replace(item, name=f"graph_{number}_cpp_fused_gelu_mul_0")
            return replace(item, name=f"Torch-Compiled Region: 0/{number}") if item.name.startswith("Torch-C") else item

        launches, ops = (tuple(named(item) for item in items) for items in (recording.launches, recording.ops))
        run = replace(ops[-1], id=len(ops), name=f"## Call CompiledFxGraph f7k{number} ##")
        return replace(recording, launches=launches, ops=(*ops, run))

    a, b = numbered(0), numbered(1)
    assert {launch.name for launch in a.launches} != {launch.name for launch in b.launches}
    comparison = compare(a, b)
    assert {match.kind for match in comparison.kernels} == {"same"}
    assert comparison.ops == ()
    names = [{without_graph_number(item.name) for item in (*each.launches, *each.ops)} for each in (a, b)]
    assert names[0] == names[1] >= {"cpp_fused_gelu_mul_0"}


def test_cpu_ops_are_counted_over_every_step() -> None:
    a, b = captures.read("mlp_train_eager"), captures.read("mlp_train_compiled")
    (change,) = [item for item in compare(a, b).ops if item.subject == "aten::t"]
    assert len(a.steps) == 3 and (change.a, change.b) == (sum(op.name == "aten::t" for op in a.ops) / 3, None)
    once = max(op.id for op in a.ops if op.name == "aten::t")  # one step of three runs it once less: most steps do not
    assert not compare(replace(a, ops=tuple(op for op in a.ops if op.id != once)), a).ops


@pytest.mark.parametrize("ranks", [(0, 1), (2, 3)])
def test_equal_ranks_of_a_training_job_do_not_differ(ranks: tuple[int, int]) -> None:
    """Of 300 kernels some differ by chance, copies change places, and collectives wait for the late rank."""
    a, b = (read_trace(ROOT / f"tests/data/fleet/ddp_even/rank{rank}.json.gz") for rank in ranks)
    text = diff_text(compare(a, b))
    assert "change, per step" not in text and "no difference" in text.lower()


def test_a_decision_that_changed_and_its_reason() -> None:
    before = build.gelu_mul_compiled()
    decisions = (
        replace(
            before.decisions[0],
            verdict="fused",
            reason_code="recorded",
            reason_arguments={"words": "epilogue of a template"},
        ),
        before.decisions[1],
    )
    (change,) = compare(before, replace(before, decisions=decisions)).decisions
    assert change.pair == ("mm", "gelu·mul")
    assert (change.a_verdict, change.b_verdict) == ("never_considered", "fused")
    assert change.b_reason == "epilogue of a template"


def norms(*modules: str | None, verdict: str, graph: str = build.GRAPH, line: int | None = 7) -> Recording:
    """A pow and a mean in each of some modules, and what was decided about the two."""

    def node(name: str, number: int, module: str | None, *inputs: str):
        source = Source(file="norm.py", line=line, module=module) if module or line else None
        return build.node(f"{name}_{number}", f"aten.{name}.default", *inputs, shape=(8,), source=source)

    rows = list(enumerate(modules))
    nodes = [node(op, i, m, *([f"pow_{i}"] * (op == "mean"))) for i, m in rows for op in ("pow", "mean")]
    decisions = tuple(
        Decision(
            graph=graph,
            a=(f"pow_{i}",),
            b=(f"mean_{i}",),
            verdict=verdict,
            how="inlined",
            reason_code="indirect",
            reason_arguments={"buffer": f"buf{i}"},
        )
        for i, _ in rows
    )
    graphs = (Graph(id=graph, stage="post_grad", nodes=tuple(nodes)),)
    return Recording(graphs=graphs, decisions=decisions)


@pytest.mark.parametrize(
    ("a", "b", "where", "count"),
    [
        # by module, whichever comes first; a norm that one side lacks shifts no other
        (norms("n1", "n2", verdict="rejected"), norms("n2", verdict="fused", graph="g"), ("n2",), 1),
        (norms("n1", "n2", "n3", verdict="rejected"), norms("n3", "n2", verdict="fused", graph="g"), ("n2", "n3"), 2),
        (norms("n1", verdict="rejected"), norms("n2", verdict="fused", graph="g"), (), 0),
        # by line, where a side knows no module
        (norms("n1", verdict="rejected"), norms(None, verdict="fused", graph="g"), ("norm.py:7",), 1),
        (norms("n1", verdict="rejected"), norms(None, verdict="fused", graph="g", line=9), (), 0),
        # nothing tells which is which; all say the same
        (norms("n1", "n2", verdict="rejected"), norms(None, verdict="fused", graph="g", line=None), (), 0),
        (norms("n1", "n2", verdict="rejected"), norms(None, None, verdict="fused", graph="g", line=None), (), 2),
        # the same graph: its nodes tell
        (
            norms(None, None, verdict="rejected", line=None),
            norms(None, None, verdict="fused", line=None),
            ("pow_0 + mean_0", "pow_1 + mean_1"),
            2,
        ),
    ],
)
def test_a_decision_is_held_against_the_one_about_the_same_place(
    a: Recording, b: Recording, where: tuple[str, ...], count: int
) -> None:
    found = compare(a, b).decisions
    assert [(set(item.where), item.count) for item in found] == ([(set(where), count)] if count else [])
    for item in found:
        assert item.pair == ("pow", "mean") and (item.a_verdict, item.b_verdict) == ("rejected", "fused")
        assert (item.a_reason == "one indexes a buffer indirectly") == (count > 1)


def test_one_of_several_like_decisions_is_named_by_its_node() -> None:
    a = norms("n1", "n1", "n1", verdict="rejected")
    first, second, third = a.decisions
    b = replace(a, decisions=(first, replace(second, verdict="fused"), third))
    (change,) = compare(a, b).decisions
    assert (change.a_reason, change.where, change.count) == ("one indexes buf1 indirectly", ("n1",), 1)
    moved = replace(b, graphs=(replace(b.graphs[0], nodes=b.graphs[0].nodes[:5]),))  # another graph: any of the three
    assert compare(a, moved).decisions == ()
    text = diff_text(compare(norms("n1", "n2", verdict="rejected"), norms("n1", "n2", verdict="fused")))
    why = "one indexes a buffer indirectly"
    assert f"pow + mean in n1 and n2: not fused: rejected ({why}) → fused ({why})" in " ".join(text.split())


def test_a_kernel_that_shows_no_ops_is_aligned_by_its_place() -> None:
    base = build.gelu_mul_compiled()
    launches = tuple(
        replace(item, name="_hand_written", call=None, op="HandWritten", chain=("HandWritten",))
        if "poi" in item.name
        else item
        for item in base.launches
    )
    hand = replace(base, launches=launches, calls=(), graphs=(), decisions=(), compiles=())
    comparison = compare(build.gelu_mul_eager(), hand)
    assert ("merged", 2, 1, "order") in kinds(comparison)


def test_a_plan_has_no_times() -> None:
    plan = replace(build.gelu_mul_compiled(), launches=(), ops=(), steps=())
    comparison = compare(build.gelu_mul_eager(), plan)
    assert comparison.step_time is None
    assert any("no device events" in note for note in comparison.notes)
    assert all(match.time is None or match.time.ratio is None for match in comparison.kernels)
    totals = {change.subject: (change.a, change.b) for change in comparison.totals}
    # What a recording launched is not a number of calls: one call launches several kernels, or none.
    assert totals["kernels per step"] == (3, None) and totals["kernel calls in compiled code"] == (
        None,
        len(plan.calls),
    )
    assert ("kernels per step", len(plan.calls)) in [(item.subject, item.b) for item in compare(plan, plan).totals]


@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [
        ([10.0, 10.1, 9.9], [20.0, 20.1, 19.9], "slower"),
        ([20.0, 20.1, 19.9], [10.0, 10.1, 9.9], "faster"),
        ([10.0, 10.001, 9.999], [10.3, 10.301, 10.299], "no difference shown"),  # 3 %: less than a run differs
        ([0.79, 0.8, 0.79], [0.71, 0.72, 0.71], "no difference shown"),  # a memset; two or three ticks of the clock
        ([10.0, 20.0, 15.0], [12.0, 25.0, 17.0], "no difference shown"),  # the interval holds 1
        ([1.0, 1.0, 1.0], [1.0, 1.0, 1e9], "no difference shown"),  # and here has no bound
        ([10.0], [20.0], "no difference shown"),  # one repeat
        ([], [20.0], "not measured"),
        ([0.0, 0.0], [20.0, 20.0], "not measured"),
    ],
)
def test_times_need_repeats_an_interval_and_may_show_nothing(a: list[float], b: list[float], verdict: str) -> None:
    found = compare_times(a, b)
    assert found.verdict == verdict and ("over 10,000" in (found.reason or "")) == (1e9 in b)


def test_a_run_without_steps_is_not_slower_than_a_step() -> None:
    steps = captures.read("mlp_train_compiled")
    run = replace(steps, steps=(replace(steps.steps[-1], name=WHOLE, duration_ns=10 * steps.steps[-1].duration_ns),))
    for a, b, name in ((steps, run, "B"), (run, steps, "A")):
        time = compare(a, b).wall_time
        assert time is not None and time.verdict == "cannot tell" and f"{name} has no steps" in time.reason
    same = compare(run, run)
    assert same.wall_time is not None and "has no steps" not in same.wall_time.reason
    other = replace(captures.read("mlp_train_eager"), steps=run.steps)
    assert "per step" not in diff_text(compare(run, other), every=True) + str(compare(run, other).totals)


def test_real_captures_eager_against_compiled() -> None:
    comparison = compare(captures.read("mlp_eager"), captures.read("mlp_compiled"))
    real = [match for match in comparison.kernels if match.a[0].category == "kernel"]
    assert [match.kind for match in real] == ["same", "same", "fused", "same"]
    fused = real[2]
    assert [use.ops for use in fused.a] == [("gelu",), ("mul",)]
    assert fused.b[0].kernel == "triton_poi_fused__unsafe_view_gelu_mul_0" and fused.aligned_by == "op"
    assert fused.b[0].bytes == 150_994_944
    totals = {change.subject: (change.a, change.b) for change in comparison.totals}
    assert totals["device events per step"] == (7, 6) and totals["peak memory"] == (274202624, 274202624)
    assert {"aten::t", "aten::linear", "aten::matmul"} <= {item.subject for item in comparison.ops if item.b is None}
    assert "TorchDynamo Cache Lookup" in {item.subject for item in comparison.ops if item.a is None}


def test_real_captures_liger_is_aligned_by_place() -> None:
    comparison = compare(captures.read("mlp_eager"), captures.read("mlp_liger"))
    (fused,) = [match for match in comparison.kernels if match.kind == "merged"]
    assert fused.b[0].kernel == "_geglu_tanh_forward_kernel" and fused.aligned_by == "order"
    compiled = compare(captures.read("mlp_eager"), captures.read("mlp_compiled")).kernels
    triton = next(use for match in compiled for use in match.b if use.kernel.startswith("triton_"))
    assert triton.registers and triton.config
    assert fused.time is not None and fused.time.verdict == "faster"  # what a program's own op does is not known
    assert not [item for item in comparison.ops if "Dynamo" in item.subject]


def test_the_command_in_three_formats(tmp_path: Path, command) -> None:
    pair = {"a": build.gelu_mul_eager(), "b": build.gelu_mul_compiled()}
    files = [str(recording.save(tmp_path / f"{name}.fxscope")) for name, recording in pair.items()]
    text = command("diff", *files).out
    assert "fused gelu·mul" in text and "3 → 2 kernels" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "  − elementwise ×2" in command("diff", *files, "--all").out.splitlines()
    assert json.loads(command("diff", *files, "--json").out)["schema"] == "fxscope-comparison/2"
    command("diff", *files, "-o", tmp_path / "diff.md")
    assert "fused gelu·mul " in (tmp_path / "diff.md").read_text()
    command("diff", *files, "-o", tmp_path / "diff.md", status=2)  # it exists
    command("diff", *files, "-o", tmp_path / "diff.html", status=2)
    assert "Traceback" not in command("diff", files[0], tmp_path / "none.fxscope", status=2).err


def test_a_memset_does_not_carry_its_calls_traffic() -> None:
    matches = compare(captures.read("mlp_eager"), captures.read("mlp_compiled")).kernels
    memsets = [use for match in matches for use in match.b if use.category == "gpu_memset"]
    assert len(memsets) == 2 and all(use.bytes is not None and use.bytes < 1000 for use in memsets)


TRAINING = (
    ("mlp_train_eager", "mlp_train_compiled"),
    ("plans/block/real", "plans/block_train/real"),
    ("more/encoder_layer/real", "more/encoder_layer_train/real"),
    ("more/encoder_layer_train/real", "plans/block_train/real"),
    ("plans/conv_norm/real", "more/conv_norm_train/real"),
)


def is_backward(recording, position: int) -> bool:
    """Read the direction off the trace alone: autograd calls its nodes "…Backward"."""
    row = launches_by_position(recording)[position][0]
    return any("Backward" in name for name in row.chain)


@pytest.mark.parametrize(("a", "b"), [*TRAINING, *((b, b) for _, b in TRAINING), *((b, a) for a, b in TRAINING)])
def test_a_training_steps_forward_is_compared_with_a_forward(a: str, b: str) -> None:
    left, right = captures.read(a), captures.read(b)
    comparison = compare(left, right)
    matched = [match for match in comparison.kernels if match.a and match.b]
    for match in matched:
        directions = {is_backward(left, use.position) for use in match.a}
        assert {is_backward(right, use.position) for use in match.b} == directions and len(directions) == 1, match
    seen = {is_backward(right, use.position) for match in matched for use in match.b}
    assert seen == ({False, True} if "train" in a and "train" in b else {False})
    if a == b:
        assert {match.kind for match in comparison.kernels} == {"same"} and not comparison.decisions


def test_names_of_calls_buffers_and_nodes_are_no_change_of_a_decision() -> None:
    block, train = (captures.read(f"plans/{name}/real") for name in ("block", "block_train"))
    assert block.decisions and compare(block, train).decisions == ()  # of other calls, buffers and scheduler nodes
    for names in (("extern_kernels.mm:3", "extern_kernels.mm:4"), ("cpp_fused_add_2:5", "cpp_fused_add_0:1")):
        whys = ({"reason_code": "folded", "reason_arguments": {"kernel": name}} for name in names)
        a, b = (replace(block, decisions=tuple(replace(item, **why) for item in block.decisions)) for why in whys)
        assert compare(a, b).decisions == ()


def test_files_of_less_detail_are_no_other_decision() -> None:
    folder = H200 / "plans" / "block_train" / "real"
    trace = folder / "trace.json.gz"
    debug = read_trace(trace, debug_dir=folder / "inductor")
    log = read_trace(trace, compile_log=folder / "torch_trace.log.gz")
    assert compare(debug, log).decisions == compare(log, debug).decisions == ()
    changed = tuple(replace(item, verdict="rejected") if item.how == "inlined" else item for item in debug.decisions)
    found = compare(debug, replace(debug, decisions=changed)).decisions
    assert found and {(item.a_verdict, item.b_verdict) for item in found} == {("fused", "rejected")}


def test_a_ratio_follows_from_the_two_times_beside_it() -> None:
    a, b = [10.0, 10.1, 9.9], [20.0, 45.1, 19.9]
    there, back = compare_times(a, b), compare_times(b, a)
    assert there.a_us == median(a) and there.b_us == median(b)
    assert there.ratio == pytest.approx(there.b_us / there.a_us) == pytest.approx(1 / back.ratio)
    assert there.ratio_low == pytest.approx(1 / back.ratio_high)  # neither side is the measure of the other
    assert there.ratio_low < there.ratio < there.ratio_high


def test_what_cannot_be_told_is_said_once_and_without_an_interval() -> None:
    """Of a step, not of each kernel again: one recording a side says nothing of a CPU, however steady its repeats are."""
    time = compare_recorded([10.0, 10.1, 9.9], [20.0, 20.1, 19.9], on_cpu=True)
    assert (time.verdict, time.ratio_low, time.ratio_high) == ("cannot tell", None, None)
    a, b = slowed(1.0), slowed(1.5)
    comparison = compare(a, b)
    assert {match.time.verdict for match in comparison.kernels if match.time} == {"cannot tell"}
    for shown in (diff_text(comparison, width=200), diff_markdown(comparison)):
        assert shown.count("Times: not comparable; one process each") == shown.count("not comparable") == 1
        assert "×" not in shown and " to " not in shown


CPU = Path(__file__).parent.parent / "data" / "checks" / "linear_live.fxscope"


def slowed(factor: float):
    """A real recording of a CPU; kernels and steps last `factor` times as long."""
    recording = common.read(str(CPU))
    return replace(
        recording,
        summary=None,
        launches=tuple(replace(item, duration_ns=int(item.duration_ns * factor)) for item in recording.launches),
        steps=tuple(replace(item, duration_ns=int(item.duration_ns * factor)) for item in recording.steps),
    )


def test_an_expectation_about_two_processes_on_a_cpu_is_not_told(tmp_path: Path) -> None:
    recordings = {"before": slowed(1.0), "after": slowed(1.5)}
    expected = {"faster": ["before:aten::addmm", "after:aten::addmm"]}
    assert [item.status for item in check(recordings, expected).outcomes] == ["cannot_tell"]
    apart = {"ratio": {"of": "after:aten::addmm", "to": "before:aten::addmm", "is": "1.4..1.6"}}
    assert [item.status for item in check(recordings, apart).outcomes] == ["cannot_tell"]
    within = {"faster": ["after:aten::copy_", "after:aten::addmm"]}
    assert [item.status for item in check(recordings, within).outcomes] == ["met"]


# The ops of A's kernels, of B's, and what became of them.
@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        ("gelu; mul", "gelu mul", "fused 2 → 1"),
        ("gelu; mul_", "add gelu mul", "fused 2 → 1"),
        ("gelu; mul", "mylib_geglu", "merged 2 → 1"),
        ("add; add", "add", "merged 2 → 1"),  # the other may be gone
        ("gelu; mul", "mul sum", "regrouped 2 → 1"),
        ("gelu mul", "mul; sum", "regrouped 1 → 2"),
        ("gelu mul", "gelu; mul", "split 1 → 2"),
        ("gelu; mul", "sum; sin", "regrouped 2 → 2"),
        ("gelu", "gelu", "replaced"),
        ("gelu", "", "gone"),
    ],
)
def test_fused_is_said_only_where_one_kernel_is_known_to_do_the_work_of_all(a: str, b: str, words: str) -> None:
    sides = [
        tuple(
            KernelUse(position=0, kernel=f"{name}{at}", category="kernel", ops=tuple(ops.split()))
            for at, ops in enumerate(filter(None, side.split(";")))
        )
        for name, side in (("a", a), ("b", b))
    ]
    assert kind_words(KernelMatch(kind=kind_of(*sides, "op"), a=sides[0], b=sides[1])) == words


def test_memsets_and_numbers_of_generated_kernels_are_no_change_of_the_work() -> None:
    memset = KernelUse(position=0, kernel="Memset (Device)", category="gpu_memset", ops=("mm",))
    a, b, other = (
        KernelUse(position=1, kernel=name, category="kernel", ops=("mm",), call=name) for name in ("x_1", "x_2", "y")
    )
    assert kind_of((memset, a), (b,)) == "replaced" and kind_of((a, other), (b,), "nodes") == "fused"
    assert kind_of((a, replace(other, call=a.call)), (b,), "nodes") == "merged"  # a kernel and its split-K sum
    assert without_memsets([memset, a]) == [a] and without_memsets([memset]) == [memset]
    one, two = (replace(a, kernel=f"triton_poi_fused_mm_{number}") for number in (1, 2))
    assert kind_of((one,), (two,)) == "same" and kind_of((one,), (replace(two, ops=("mm", "add")),)) == "replaced"


PAIRS = (
    ("mlp_eager", "mlp_compiled", "5 → 4 kernels", "fused gelu·mul"),
    ("mlp_eager", "mlp_liger", "5 → 4 kernels", "merged gelu, mul → LigerGELUMulFunction"),
    ("mlp_compiled", "mlp_max_autotune", "4 → 4 kernels", "faster gelu·mul"),
    ("attn_eager", "attn_compiled", "9 → 8 kernels", "replaced cumsum"),
    ("mlp_train_eager", "mlp_train_compiled", "20 → 17 kernels", "regrouped gelu·mul·gelu_backward"),
    ("plans/block/real", "plans/block_train/real", "10 → 52 kernels", "new mm"),
)


@pytest.mark.parametrize(("a", "b", "kernels", "row"), PAIRS)
def test_a_screen_says_what_changed(a: str, b: str, kernels: str, row: str) -> None:
    text = diff_text(compare(captures.read(a), captures.read(b)))
    lines = text.splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 80 and "kept" not in text
    assert kernels in next(line for line in lines if "kernels" in line) and any(row in line for line in lines)


@pytest.mark.parametrize("name", [*dict.fromkeys(name for pair in PAIRS for name in pair[:2]), "checks"])
def test_a_recording_against_itself_is_one_sentence(name: str) -> None:
    recording = common.read(str(CPU)) if name == "checks" else captures.read(name)
    assert diff_text(compare(recording, recording)).splitlines()[2:] == ["", SAME]
    assert diff_markdown(compare(recording, recording)).endswith(f"```text\n{SAME}\n```\n")


def test_equal_layers_are_one_row_and_the_largest_difference_is_first() -> None:
    def step(slow: float, norm: str) -> Recording:
        rows = [(kernel, layer) for layer in range(12) for kernel in ("mlp", norm)]
        nodes = [
            build.node(
                f"{kernel}_{layer}",
                f"aten.{'mm' if kernel == 'mlp' else 'pow'}.default",
                shape=(8,),
                source=Source(file="m.py", line=3, module=f"layers.{layer}.{'mlp' if kernel == 'mlp' else 'norm'}"),
            )
            for kernel, layer in rows
        ]
        launches = []
        for turn in range(3):
            for place, (kernel, layer) in enumerate(rows):
                item = build.launch(turn * 100 + place, kernel, step=turn, start_ns=(turn * 100 + place) * 100_000)
                duration = int((slow if kernel == "mlp" else 5) * 1000) + turn
                launches.append(replace(item, graph="g", nodes=(f"{kernel}_{layer}",), duration_ns=duration))
        return Recording(
            title=norm,
            graphs=(Graph(id="g", stage="post_grad", nodes=tuple(nodes)),),
            launches=tuple(launches),
            steps=build.steps(3),
        )

    rows = change_rows(compare(step(10, "norm"), step(30, "norm_2")))
    assert [(row.change, row.where, row.num_a, row.num_b) for row in rows] == [
        ("slower", "layers.[0..11].mlp ×12", 12, 12),
        ("replaced", "layers.[0..11].norm ×12", 12, 12),
    ]
    assert rows[0].difference_us == pytest.approx(12 * 20)
    wide = rows[1]._replace(change="regrouped", a="pow", b="add·mul·div", num_b=1, where="x" * 60)
    assert "regrouped add·mul·div" in table([wide], 80)[1]


def test_versions_and_switches_that_differ_stand_first() -> None:
    a = replace(captures.read("mlp_compiled"), environment=Environment(torch="2.11", device="H200"))
    b = replace(a, environment=Environment(torch="2.13", device="H200"))
    b = replace(b, compiles=tuple(replace(item, config={"max_autotune": True}) for item in b.compiles))
    assert compare(a, b).settings == (("torch", "2.11", "2.13"), ("max_autotune", "default", "True"))
    assert diff_text(compare(a, b)).splitlines()[2:4] == ["torch: 2.11 → 2.13", "max_autotune: default → True"]
    plan = replace(a, environment=Environment(torch="2.11", device="AMD EPYC", target="h200"))
    assert compare(a, plan).settings == (("device", "H200", "plan for h200"),)


def test_a_folder_of_one_recording_is_that_recording(tmp_path: Path, command) -> None:
    file = build.gelu_mul_eager().save(tmp_path / "a.fxscope")
    command("diff", tmp_path, file)
    build.gelu_mul_compiled().save(tmp_path / "b.fxscope")
    assert "holds 2 files (" in command("diff", tmp_path, file, status=2).err
