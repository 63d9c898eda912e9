"""`why`, `code` and `what-if` as a user types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fxscope import store
from fxscope.cli import main
from fxscope.model import Decision, Graph, Recording, Source
from tests import build

PROGRAMS = Path(__file__).parent / "programs.py"


@pytest.fixture(scope="session")
def geglu(recording_of, tmp_path_factory):
    path = tmp_path_factory.mktemp("why") / "geglu.fxscope"
    store.write(path, store.encode(recording_of("geglu")))
    return str(path)


@pytest.fixture(scope="session")
def trained(recording_of, tmp_path_factory):
    path = tmp_path_factory.mktemp("why") / "train.fxscope"
    store.write(path, store.encode(recording_of("geglu_train")))
    return str(path)


INLINED = """\
✓ gelu → mul: fused (inlined): inlined at lowering into one scheduler node (op2,
  10 ops)
  in cpp_fused__unsafe_view_gelu_mul_0:3
     programs.py:20  h = F.gelu(g, approximate="tanh")
     programs.py:21  m = h * u
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
def test_a_pair_by_whatever_name_the_user_has(geglu, capsys, a, b):
    assert main(["why", geglu, a, b]) == 0
    assert capsys.readouterr().out == INLINED


@pytest.mark.parametrize(
    ("a", "b"),
    [("buf2", "buf3"), ("m", "down_proj"), ("mul_6", "mm_2"), ("op2", "op3"), ("call:0/0:inference:3", "mm_2")],
)
def test_a_pair_that_was_not_fused(geglu, capsys, a, b):
    assert main(["why", geglu, a, b]) == 0
    out = capsys.readouterr().out
    assert out.startswith("– gelu·mul → mm: not fused: ")
    assert "BLAS GEMM, opaque to Inductor" in out
    assert "Cost: 8.19 kB of memory traffic and 1 launch" in out
    assert "return self.down_proj(m)" in out
    assert max(len(line) for line in out.splitlines()) <= 80


def test_all_unfused_neighbours_most_expensive_first(geglu, capsys):
    assert main(["why", geglu, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["missed"]
    sizes = [item["bytes"] for item in found]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(item["count"] for item in found) == 4


def test_one_name_tells_its_kernel_in_order(geglu, capsys):
    assert main(["why", geglu, "tanh", "--all"]) == 0
    out = capsys.readouterr().out
    lines = [line.strip() for line in out.splitlines()]
    assert lines.index("add") < lines.index("tanh") < lines.index("mul_6")
    assert "reads 8.19 kB, writes 4.10 kB" in out


def test_a_name_with_several_places_answers_for_equal_ones_and_lists_the_others(geglu, capsys):
    assert main(["why", geglu, "mm"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("mm (gate_proj): own kernel") and "Other places:\n  ×1 up_proj: mm → 1 kernel" in out
    assert "  ×1 down_proj: mm → 1 kernel" in out and len(out.splitlines()) <= 15
    assert main(["why", geglu, "mm", "--all"]) == 0
    everything = capsys.readouterr().out
    assert "mm (down_proj): own kernel, extern_kernels.mm:4\n" in everything


def test_two_names_that_are_several_pairs_of_a_kernel_tell_each_one(tmp_path, capsys):
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
    path = tmp_path / "norms.fxscope"
    graph = Graph(id=build.GRAPH, stage="post_grad", nodes=nodes)
    store.write(path, store.encode(Recording(graphs=(graph,), calls=(kernel,), decisions=decisions)))
    assert main(["why", str(path), "op:pow", "op:mean"]) == 0
    told = capsys.readouterr().out
    assert " ".join(told.split()).startswith("✓ pow → mean: fused: join 1")
    assert [line.strip() for line in told.splitlines() if "m.py" in line] == ["m.py:1", "m.py:2", "m.py:3"]
    assert main(["why", str(path), "node:pow_2", "node:mul_2"]) == 0
    told = capsys.readouterr().out
    assert told.count("join 2") == 1 and "join 1" not in told
    assert "m.py:2" in told and "m.py:3" not in told  # where mul_3 is, which was not asked about


def test_a_module_is_a_name(geglu, capsys):
    assert main(["why", geglu, "module:gate_proj", "gelu"]) == 0
    assert "→ gelu·mul" in capsys.readouterr().out


def test_an_unknown_name_has_its_nearest(geglu, capsys):
    assert main(["why", geglu, "gelux"]) == 2
    assert "Did you mean gelu" in capsys.readouterr().err


def test_no_neighbours_are_told_the_way_between(geglu, capsys):
    assert main(["why", geglu, "node:mm", "node:mm_2"]) == 0
    out = capsys.readouterr().out
    assert "never considered, no shared buffer" in out


@pytest.mark.slow
def test_forward_and_backward(trained, capsys):
    assert main(["why", trained, "call:0/0:forward:3", "call:0/0:backward:1"]) == 0
    assert "They are in different graphs" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_an_op_computed_in_forward_and_backward_is_marked(trained, capsys):
    assert main(["why", trained, "call:0/0:backward:3", "--all"]) == 0
    out = capsys.readouterr().out
    assert "vertical" in out or "inlined" in out  # torch 2.11 inlines all of it
    assert "horizontal" in out


@pytest.mark.parametrize(("words", "message"), [(["a", "b", "c"], "one or two")])
def test_bad_questions(geglu, capsys, words, message):
    assert main(["why", geglu, *words]) == 2
    assert message in capsys.readouterr().err


def test_a_missing_file_is_one_line(capsys):
    assert main(["why", "nowhere.fxscope"]) == 2
    assert "nowhere.fxscope" in capsys.readouterr().err


def test_code_ties_each_line(geglu, capsys):
    assert main(["code", geglu, "gelu", "--all"]) == 0
    out = capsys.readouterr().out
    lines = {
        line.split("│")[1].strip(): line.split("│")[2].strip() for line in out.splitlines() if line.count("│") >= 2
    }
    assert lines["tanh :20"].startswith("auto tmp")
    assert ".tanh()" in lines["tanh :20"]
    assert lines["mul_6 :21"].endswith(";")
    assert "cpp_fused__unsafe_view_gelu_mul_0(buf2, buf1)" in out
    assert "extern_kernels" not in out


def test_code_as_json_has_every_line(geglu, capsys, recording_of):
    assert main(["code", geglu, "--json", "--full", "--budget", "0"]) == 0
    lines = json.loads(capsys.readouterr().out)["lines"]
    text = next(source.text for source in recording_of("geglu").sources if source.kind == "output_code")
    assert [line["text"] for line in lines] == text.splitlines()
    tanh = next(line for line in lines if line["node"] == "tanh")
    assert tanh["source"] is not None
    assert tanh["call"] == "0/0:inference:3"


def test_code_of_the_whole_file(geglu, capsys):
    assert main(["code", geglu, "--full"]) == 0
    assert "def call(self, args):" in capsys.readouterr().out


def test_code_of_an_eager_recording_says_what_is_missing(tmp_path, capsys):
    from fxscope.model import Recording

    path = store.write(tmp_path / "eager.fxscope", store.encode(Recording()))
    assert main(["code", str(path)]) == 2
    assert "no output code" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "say what to change"),
        (["--set", "max_autotun=true"], "Did you mean max_autotune"),
        (["--set", "max_autotune"], "NAME=VALUE"),
        (["--set", "epilogue_fusion=false", "--steps", "1"], "at least 2"),
    ],
)
def test_what_if_refuses(capsys, words, message):
    assert main(["what-if", f"{PROGRAMS}:geglu", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.cpp
def test_what_if_compares(tmp_path, capsys):
    factory = tmp_path / "factory.py"
    factory.write_text(
        "import torch\n\n\ndef make():\n    def program(x):\n        return (x.sin() * 2).sum(-1) + x.cos().sum(-1)\n"
        "    return program, (torch.randn(16, 16),)\n"
    )
    assert main(["what-if", f"{factory}:make", "--set", "max_fusion_size=1", "--steps", "2"]) == 0
    out = capsys.readouterr().out
    assert "max_fusion_size: default → 1" in out and "kernels" in out and len(out.splitlines()) <= 40
    assert main(["what-if", f"{factory}:make", "--set", "debug_index_asserts=true", "--steps", "2"]) == 0
    assert capsys.readouterr().out == "debug_index_asserts=true: no difference beyond noise.\n"
