"""`why`, `code` and `what-if` as a user types them."""

import json
from pathlib import Path

import pytest

from fxscope.model import Decision, Graph, Recording, Source
from tests import build

PROGRAMS = Path(__file__).parent / "programs.py"


@pytest.fixture(scope="session")
def geglu(recording_of, tmp_path_factory):
    return str(recording_of("geglu").save(tmp_path_factory.mktemp("why") / "geglu.fxscope"))


@pytest.fixture(scope="session")
def trained(recording_of, tmp_path_factory):
    return str(recording_of("geglu_train").save(tmp_path_factory.mktemp("why") / "train.fxscope"))


INLINED = """\
✓ gelu → mul: fused (inlined): inlined at lowering into scheduler node op2 (10
  graph nodes)
  in cpp_fused__unsafe_view_gelu_mul_0:3
     programs.py:18  h = F.gelu(g, approximate="tanh")
     programs.py:19  m = h * u
"""


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("gelu", "mul"),
        ("h", "m"),
        ("aten.gelu", "aten::mul"),
        ("op:gelu", "op:mul"),
        ("tanh", "mul_6"),
        ("mul", "GELU"),
    ],
)
def test_a_pair_by_whatever_name_the_user_has(geglu, command, a, b):
    assert command("why", geglu, a, b).out == INLINED


@pytest.mark.parametrize(
    ("a", "b"),
    [("buf2", "buf3"), ("m", "down_proj"), ("mul_6", "mm_2"), ("op2", "op3"), ("call:0/0:inference:3", "mm_2")],
)
def test_a_pair_that_was_not_fused(geglu, command, a, b):
    out = command("why", geglu, a, b).out
    assert out.startswith("– gelu·mul → mm: not fused: ")
    assert "BLAS GEMM, opaque to Inductor" in out
    assert "Cost: 8.19 kB of memory traffic and 1 launch" in out
    assert "return self.down_proj(m)" in out
    assert max(len(line) for line in out.splitlines()) <= 80


def test_all_unfused_neighbours_most_expensive_first(geglu, command):
    found = json.loads(command("why", geglu, "--json").out)["missed"]
    sizes = [item["bytes"] for item in found]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(item["count"] for item in found) == 4


def test_one_name_tells_its_kernel_in_order(geglu, command):
    out = command("why", geglu, "tanh", "--all").out
    lines = [line.strip() for line in out.splitlines()]
    assert lines.index("add") < lines.index("tanh") < lines.index("mul_6")
    assert "reads 8.19 kB, writes 4.10 kB" in out


def test_a_name_with_several_places_answers_for_equal_ones_and_lists_the_others(geglu, command):
    out = command("why", geglu, "mm").out
    assert out.startswith("mm: own kernel, extern_kernels.mm:1\n  in gate_proj\n") and len(out.splitlines()) <= 15
    assert all(f"×1 {module}: own kernel" in out.partition("Other places:\n")[2] for module in ("up_proj", "down_proj"))
    assert "mm: own kernel, extern_kernels.mm:4\n  in down_proj\n" in command("why", geglu, "mm", "--all").out


def test_two_names_that_are_several_pairs_of_a_kernel_tell_each_one(tmp_path, command):
    """Three norms in one kernel: each pair at its own line, how many there are, and how to ask for one."""
    places = [(f"{op}_{number}", number) for number in (1, 2, 3) for op in ("pow", "mean", "mul")]
    nodes = tuple(
        build.node(name, f"aten.{name[:-2]}.x", source=Source(file="m.py", line=number)) for name, number in places
    )
    kernel = build.call(0, "triton_per_fused", *(name for name, _ in places))
    decisions = tuple(
        Decision(
            graph=build.GRAPH,
            a=a,
            b=b,
            a_call=kernel.id,
            b_call=kernel.id,
            verdict="fused",
            reason_code="recorded",
            reason_arguments={"words": f"join {number}"},
        )
        for number in (1, 2, 3)
        for a, b in [
            ((f"pow_{number}",), (f"mean_{number}",)),
            ((f"pow_{number}", f"mean_{number}"), (f"mul_{number}", f"mul_{number % 3 + 1}")),
        ]
    )
    graph = Graph(id=build.GRAPH, stage="post_grad", nodes=nodes)
    path = Recording(graphs=(graph,), calls=(kernel,), decisions=decisions).save(tmp_path / "norms.fxscope")
    told = command("why", path, "op:pow", "op:mean").out
    assert " ".join(told.split()).startswith("✓ pow → mean: fused: join 1")
    assert [line.strip() for line in told.splitlines() if "m.py" in line] == ["m.py:1", "m.py:2", "m.py:3"]
    told = command("why", path, "node:pow_2", "node:mul_2").out
    assert told.count("join 2") == 1 and "join 1" not in told
    assert "m.py:2" in told and "m.py:3" not in told  # where mul_3 is, which was not asked about


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("why {geglu} module:gate_proj gelu", "→ gelu·mul"),
        ("why {geglu} node:mm node:mm_2", "never considered, no shared buffer"),
        ("code {geglu} --all", "def call(self, args):"),
    ],
)
def test_a_part_of_the_answer(geglu, command, words, answer):
    assert answer in command(*words.format(geglu=geglu).split()).out


@pytest.mark.parametrize("case", (Path(__file__).parent / "refused.txt").read_text("utf-8").splitlines())
def test_what_cannot_be_answered_is_refused(geglu, tmp_path, command, case):
    words, message = case.split(" → ")
    eager = Recording().save(tmp_path / "eager.fxscope")
    given = words.format(
        geglu=geglu, eager=eager, factory=f"{PROGRAMS.parents[2]}/fxscope/_torch/programs/geglu.py:make"
    )
    assert message in command(*given.split(), status=2).err


@pytest.mark.slow
def test_forward_and_backward(trained, command):
    out = command("why", trained, "call:0/0:forward:3", "call:0/0:backward:1").out
    assert "They are in different graphs" in " ".join(out.split())


@pytest.mark.slow
def test_an_op_computed_in_forward_and_backward_is_marked(trained, command):
    out = command("why", trained, "call:0/0:backward:3", "--all").out
    assert "vertical" in out or "inlined" in out  # torch 2.11 inlines all of it
    assert "horizontal" in out


def test_code_ties_each_line(geglu, command):
    out = command("code", geglu, "gelu", "--all").out
    lines = {
        line.split("│")[1].strip(): line.split("│")[2].strip() for line in out.splitlines() if line.count("│") >= 2
    }
    assert lines["tanh :18"].startswith("auto tmp")
    assert ".tanh()" in lines["tanh :18"]
    assert lines["mul_6 :19"].endswith(";")
    assert "cpp_fused__unsafe_view_gelu_mul_0(buf2, buf1)" in out
    assert "extern_kernels" not in out


def test_code_as_json_has_every_line(geglu, command, recording_of):
    lines = json.loads(command("code", geglu, "--json", "--all").out)["lines"]
    text = next(source.text for source in recording_of("geglu").sources if source.kind == "output_code")
    assert [line["text"] for line in lines] == text.splitlines()
    tanh = next(line for line in lines if line["node"] == "tanh")
    assert tanh["source"] is not None
    assert tanh["call"] == "0/0:inference:3"


@pytest.mark.cpp
def test_what_if_compares(tmp_path, command):
    factory = tmp_path / "factory.py"
    factory.write_text(
        "import torch\n\n\ndef make():\n    def program(x):\n        return (x.sin() * 2).sum(-1) + x.cos().sum(-1)\n"
        "    return program, (torch.randn(16, 16),)\n"
    )
    out = command("what-if", f"{factory}:make", "--set", "max_fusion_size=1").out
    assert "max_fusion_size: default → 1" in out and "kernels" in out and len(out.splitlines()) <= 40
    out = command("what-if", f"{factory}:make", "--set", "debug_index_asserts=true").out
    assert out == "debug_index_asserts=true: no difference beyond noise.\n"
