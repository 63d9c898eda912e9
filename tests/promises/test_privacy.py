"""What a recording gives away, and what is left of it after `fxscope redact`."""

import re
import zipfile
from pathlib import Path

import pytest

from fxscope import cli, store
from fxscope.analysis.redact import public, redact
from fxscope.commands import common
from fxscope.model import Compile, Graph, Launch, NearMiss, Node, Op, Recording, Source
from fxscope.passes import verify
from tests.processes import run_python
from tools import fuzz

SECRETS = "zzkeyzz qqmodelqq wwweightww vvvarvv ffunctionff aannotationaa ttitlett xxexceptionxx ggraphgg".split()
PROGRAM = """
import torch
KEY = "zzkeyzz"
class qqmodelqq(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.wwweightww = torch.nn.Linear(4, 4)
    def forward(self, vvvarvv):
        def ffunctionff(vvvarvv): return self.wwweightww(vvvarvv).relu()  # zzkeyzz
        if vvvarvv.sum() > 0:
            torch._dynamo.graph_break("ggraphgg")
        return ffunctionff(vvvarvv) + 1
model = torch.compile(qqmodelqq(), backend="aot_eager")
with torch.profiler.record_function("aannotationaa"):
    model(torch.ones(2, 4))
    torch.ones(3).sin()"""
PROGRAM += "\n" * 20 + """\nraise ValueError("xxexceptionxx")\n"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a recording of a program with secrets in its text, its names and its exception."""
    folder = tmp_path_factory.mktemp("zzkeyzz")
    (folder / "zzkeyzz.py").write_text(PROGRAM)
    run_python("-m", "fxscope", "run", "--title", "ttitlett", "-o", "out.fxscope", "zzkeyzz.py", cwd=folder)
    return folder / "out.fxscope"


def unpacked(path: Path) -> bytes:
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            return b"".join(archive.read(name) for name in archive.namelist())
    return store.contents(path)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["fxscope", "json", "html", "md", "txt", "dot"])
def test_nothing_of_a_programs_text_and_names_is_left(suffix: str, recorded: Path, tmp_path: Path) -> None:
    before = unpacked(recorded).decode()
    assert {word for word in SECRETS if word not in before} == {"xxexceptionxx"}
    out = tmp_path / f"redacted.{suffix}"
    assert cli.main(["redact", str(recorded), "-o", str(out)]) == 0
    after = unpacked(out).decode().lower()
    assert not [word for word in (*SECRETS, str(recorded.parent).lower(), "super()") if word in after]
    if suffix == "fxscope":
        kept, was = store.load(out), store.load(recorded)
        verify(kept)
        assert [len(graph.nodes) for graph in kept.graphs] == [len(graph.nodes) for graph in was.graphs]
        assert [launch.duration_ns for launch in kept.launches] == [launch.duration_ns for launch in was.launches]
        assert "aten::relu" in {op.name for op in kept.ops} and kept.environment.torch == was.environment.torch


@pytest.mark.parametrize("name", ["mlp_compiled", "attn_eager", "mlp_liger"])
def test_what_is_pytorchs_stays(name: str) -> None:
    was = common.read(str(fuzz.DATA / "h200" / name))
    kept = redact(was)
    verify(kept)
    assert [launch.name for launch in kept.launches] == [launch.name for launch in was.launches]
    assert [call.handle for call in kept.calls] == [call.handle for call in was.calls]
    assert [item.reason for item in kept.decisions] == [item.reason for item in was.decisions]
    assert kept.sources == ()


@pytest.mark.parametrize(
    ("word", "known"),
    [
        ("triton_poi_fused_add_relu_0", True),
        ("arg12_1", True),
        ("AddmmBackward0", True),
        ("torch.bfloat16", True),
        ("hunter2pass", False),
        ("AKIAIOSFODNN7EXAMPLE", False),
        ("l4155512.weight", False),
        ("add_555_123_4567", False),
        ("555-123-4567", False),
        ("add_0815", False),
        ("mul_1234", False),  # of 200 nodes
    ],
)
def test_what_counts_as_public(word: str, known: bool) -> None:
    assert public(word, counters=200) is known


def test_no_number_of_the_program_is_left() -> None:
    """Telephone and case numbers, wherever a program may write them."""
    where = Source(file="a.py", line=3, module="cases.4155512.p_555_123_4567")
    node = Node(name="l4155512_weight", op="dispatch", target="case::add_4155512", source=where, reason="12 34 56 78")
    names = {"aten::add": "cpu_op", "555-123-4567": "cpu_op", "nvjet_sm90_jane_doe": "user_annotation"}
    kernel = Launch(id=0, name="add_kernel_4155512", category="kernel", start_ns=1, duration_ns=2, chain=tuple(names))
    ops = tuple(Op(id=0, name=name, category=kind, start_ns=0, duration_ns=1) for name, kind in names.items())
    miss = NearMiss(graph="a", by="pass", pattern="_sfdp_pattern_1", node="div", matched=2, total=5, code="users")
    graph = Graph(id="g", stage="eager", nodes=(node,))
    kept = redact(Recording(graphs=(graph,), launches=(kernel,), ops=ops, near_misses=(miss,)))
    assert (kept.near_misses[0].code, kept.near_misses[0].matched) == ("users", 2)
    text = kept.to_json()
    assert not [word for word in ("4155512", "555", "4567", "123", "34 56", "jane") if word in text]
    assert "aten::add" in text


@pytest.mark.parametrize(
    ("kept", "text"),
    [
        (False, "client_142_score"),
        (False, "triton_user_doctor_7_account"),
        (False, "Memcpy jane.doe@acme.com"),
        (False, "sm80_jane_gemm_4155512"),
        (True, "Memcpy HtoD (Pageable -> Device)"),
        (True, "nvjet_sm90_tst_64x8_64x16_1x2_h_bz_bias_TNT"),
        (True, "triton_poi_fused_add_mul_3"),
        (True, "op0_op1"),
        (True, "float8_e4m3fn"),
    ],
)
def test_numbers_that_are_not_a_counter_at_the_end_are_the_users(kept: bool, text: str) -> None:
    graph = Graph(
        id="g", stage="eager", nodes=tuple(Node(name=f"add_{i}", op="dispatch", target="aten::add") for i in range(600))
    )
    launch = Launch(id=0, name=text, category="kernel", start_ns=1, duration_ns=2)
    (left,) = redact(Recording(graphs=(graph,), launches=(launch,))).launches
    assert (left.name == text) == kept, left.name


def test_parts_of_a_modules_path_are_layers_or_the_users() -> None:
    paths = ("calls.415.555", "layers.126.0")
    nodes = tuple(
        Node(name=f"a{i}", op="dispatch", target="a", source=Source(module=path)) for i, path in enumerate(paths)
    )
    kept = redact(Recording(graphs=(Graph(id="g", stage="eager", nodes=nodes),))).graphs[0].nodes
    assert [re.findall(r"(?<![a-z\d])\d+", node.source.module) for node in kept if node.source] == [[], ["126", "0"]]


@pytest.mark.parametrize("number", ["41/55/51/23", "(415) 555-12", "4️⃣1️⃣5️⃣5️⃣1️⃣", "٤١٥٥٥٥١٢", "41, 55, 12", "415|551"])
def test_numbers_side_by_side_are_one(number: str) -> None:
    place = {"op": "dispatch", "target": "aten::add", "reason": f"in {number}"}
    graph = Graph(id="g", stage="eager", nodes=tuple(Node(name=f"add_{i}", **place) for i in range(600)))
    skip = f'incompatible op\nFound from : \n File "a.py", line 3\n return add({number})'
    compiled = Compile(compile_id="0/0", failure=f"ValueError: add of {number}", cudagraph_skip=skip)
    kept = redact(Recording(graphs=(graph,), compiles=(compiled,)))
    assert not re.findall(r"(?<![a-z\d])\d", kept.graphs[0].nodes[0].reason)
    assert kept.compiles[0].failure == "removed" and kept.compiles[0].cudagraph_skip == "incompatible op\n"
