"""For every two kernel calls that share a buffer there is exactly one decision with a verdict and a reason."""

from collections import Counter
from itertools import combinations

import pytest
import torch

NAMES = """linear geglu geglu_train norm_gelu_residual attention conv_norm graph_break two_chains
    transpose_reduce experts""".split()
LONG = {"attention", "conv_norm", "experts", "graph_break"}
compiled_programs = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in NAMES]
)


VERDICTS = ("fused", "rejected", "never_considered")


def check_every_pair(recording, verdicts=VERDICTS):
    assert recording.calls
    decided = Counter(
        frozenset((item.a_call, item.b_call))
        for item in recording.decisions
        if item.a_call != item.b_call and item.other_graph is None
    )
    buffers = {
        call.id: {access.buffer for access in (*(call.reads or ()), *(call.writes or ()))} for call in recording.calls
    }
    assert all(buffers.values()), "a call reads and writes nothing"
    for a, b in combinations(recording.calls, 2):
        if a.graph == b.graph and buffers[a.id] & buffers[b.id]:
            assert decided[frozenset((a.id, b.id))] == 1, f"{a.handle} and {b.handle}"
    for item in recording.decisions:
        assert item.verdict in verdicts and item.reason
        assert item.verdict is None or "unknown" not in item.reason.lower()
    assert max(decided.values(), default=1) == 1


@compiled_programs
def test_every_pair_that_shares_a_buffer_has_one_verdict(recording_of, name):
    check_every_pair(recording_of(name))


# One plan takes about five seconds: one is always made, the others where slow tests run.
@pytest.mark.parametrize(
    "name",
    [name if name == "user_kernel" else pytest.param(name, marks=pytest.mark.slow) for name in (*NAMES, "user_kernel")],
)
def test_every_pair_has_one_verdict_in_cuda_code_too(plan_of, name):
    check_every_pair(plan_of(name))


def test_a_users_kernel_is_opaque(plan_of):
    recording = plan_of("user_kernel")
    item = next(item for item in recording.decisions if (item.a_call or "").endswith(":2"))
    assert "user-written Triton kernel double_0" in item.reason
    assert item.hint is None  # its reader reads another tensor too, and then torch does not join them
    assert (item.saved_bytes, item.expected_us) == (2 * 16 * 64 * 4, None)  # its result is for that reader alone
    assert [call.bytes_read for call in recording.calls if call.type == "user_triton"] == [4096]  # not what it fills
    (call,) = (call for call in plan_of("user_kernel_part").calls if call.type == "user_triton")
    assert [access.bytes for access in call.writes] == [4096]  # not the memory of which it is given a part
    between = next(item for item in recording.decisions if item.raw_reason)
    assert between.reason == "the second also needs a result that is computed between the two"


@compiled_programs
def test_every_op_of_a_call_is_told_how_it_got_in(recording_of, name):
    recording = recording_of(name)
    for call in recording.calls:
        if call.type != "cpp" or len(call.scheduler_nodes) < 1 or len(call.nodes) < 2:
            continue
        inside = [item for item in recording.decisions if item.a_call == item.b_call == call.id]
        named = {node for item in inside for node in (*item.a, *item.b)}
        computed = {node for node in call.nodes if node in named}
        (schedule,) = (item for item in recording.schedules if item.graph == call.graph)
        groups = [[node for node in schedule.nodes if node.name in group.members] for group in schedule.groups]
        alone = {name for nodes in groups if len(nodes) == 1 and len(nodes[0].ran or ()) == 1 for name in nodes[0].ran}
        assert computed | alone >= set(call.nodes), f"{call.handle}: nothing is said of {set(call.nodes) - computed}"


def test_bytes_come_from_the_schedulers_own_sets(recording_of):
    recording = recording_of("geglu")
    call = next(call for call in recording.calls if call.type == "cpp")
    # Two inputs and one output of 4 × 8 × 32 floats.
    assert (call.bytes_read, call.bytes_written) == (2 * 4096, 4096)
    product = next(call for call in recording.calls if call.kernel == "extern_kernels.mm")
    assert product.flops == 2 * 32 * 16 * 32


def test_geglu_was_inlined_and_the_scheduler_was_never_asked(recording_of):
    recording = recording_of("geglu")
    (fused,) = [item for item in recording.decisions if item.verdict == "fused" and item.how == "inlined"]
    assert "into scheduler node" in fused.reason
    assert {"tanh", "mul_6"} <= {*fused.a, *fused.b}
    assert not recording.schedules[0].attempts, "gelu and mul met before there was a scheduler"


def test_a_gemm_is_never_considered_and_costs_its_result_twice(recording_of):
    recording = recording_of("geglu")
    mm = next(item for item in recording.decisions if item.a_call == "0/0:inference:1" and "mul_6" in item.b)
    assert mm.verdict == "never_considered"
    assert "GEMM" in mm.reason
    assert "opaque" in mm.reason
    assert mm.saved_bytes == 2 * 4096
    assert mm.hint is None  # on a CPU no switch joins the two


def test_joins_of_the_backward(recording_of):
    recording = recording_of("geglu_train")
    how = {
        item.how for item in recording.decisions if item.verdict == "fused" and item.a_call.startswith("0/0:backward")
    }
    assert {"horizontal", "inlined"} <= how
    assert "vertical" in how or torch.__version__ < "2.13"  # 2.11 and 2.12 inline all of it


def test_reductions_name_themselves(recording_of):
    recording = recording_of("norm_gelu_residual")
    assert len(recording.calls) == 1
    assert "reduction" in {item.how for item in recording.decisions}


def test_a_graph_break_says_where_and_why(recording_of):
    recording = recording_of("graph_break")
    (item,) = [item for item in recording.decisions if item.other_graph]
    assert item.verdict == "never_considered"
    assert "graph break at" in item.reason
    assert "programs.py" in item.reason
    assert "torch._dynamo.graph_break()" in item.reason
