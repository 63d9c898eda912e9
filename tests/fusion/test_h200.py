"""What an H200 compiled and ran, read from its files: the issue's numbers, and a decision for every pair."""

from collections import Counter
from pathlib import Path

import pytest

from tests import captures
from tests.fusion.test_every_pair import VERDICTS, check_every_pair

H200 = Path(__file__).parent.parent / "data" / "h200"
PLANS = sorted(path.parent.name for path in H200.glob("plans/*/real"))
COMPILED = sorted(path.parent.name for path in H200.glob("*/inductor"))
FOLDERS = [H200 / name for name in COMPILED] + [H200 / "plans" / name / "real" for name in PLANS]


@pytest.mark.parametrize("path", FOLDERS, ids=lambda path: path.parent.name if path.name == "real" else path.name)
def test_every_pair_has_one_decision_and_a_reason_where_files_cannot_tell(path):
    recording = captures.read(path)
    check_every_pair(recording, verdicts=(*VERDICTS, None))
    assert all(item.verdict is not None or item.reason_code == "no_fusion_log" for item in recording.decisions)
    assert all(call.scheduler_nodes for call in recording.calls)


@pytest.mark.parametrize(
    ("name", "terabytes", "share"), [("mlp_compiled", 2.69, 0.59), ("mlp_max_autotune", 3.91, 0.85)]
)
def test_gelu_mul_against_the_roof(name, terabytes, share):
    call = captures.read(name).calls[2]
    assert call.bytes_read + call.bytes_written == 150_994_944
    assert call.roof.bytes_per_second == pytest.approx(terabytes * 1e12, rel=0.005)
    assert call.roof.share == pytest.approx(share, abs=0.01)
    assert call.roof.bound == "memory"


def test_the_gemms_of_the_mlp_are_compute_bound():
    calls = captures.read("mlp_compiled").calls
    assert [call.flops for call in calls if call.type == "extern"] == [2 * 8192 * 768 * 3072] * 3
    assert {call.roof.bound for call in calls if call.type == "extern"} == {"compute"}


def test_a_gemm_and_its_epilogue_cost_100_mb():
    recording = captures.read("mlp_compiled")
    most_expensive = recording.decisions[0]
    assert most_expensive.verdict == "never_considered"
    assert "cuBLAS GEMM" in most_expensive.reason
    assert most_expensive.saved_bytes == 100_663_296
    assert 20 < most_expensive.expected_us < 56.1, "at most the whole pointwise kernel"
    assert most_expensive.config == "max_autotune_gemm"
    (inlined,) = [item for item in recording.decisions if item.how == "inlined"]
    assert len({*inlined.a, *inlined.b}) == 14
    assert inlined.a_call == "0/0:inference:3"


def test_max_autotune_says_what_the_template_was_told():
    decisions = captures.read("mlp_max_autotune").decisions
    assert "prologue_reads_more" in {item.reason_code for item in decisions}
    assert any("tried_as_template" in item.notes for item in decisions)


def test_a_graph_break_of_a_real_compile():
    recording = captures.read("plans/graph_break/real")
    (item,) = [item for item in recording.decisions if item.other_graph]
    assert "graph break at" in item.reason
    # The two graphs name the tensors between them differently.
    assert item.saved_bytes is None and item.expected_us is None


def test_the_second_half_of_a_split_reduction_is_the_reduction_and_nothing_before_it():
    recording = captures.read("plans/transpose_reduce/real")
    ran = Counter(name for call in recording.calls for name in call.nodes)
    assert ran["amax"] == 2
