"""What a recording gives away, and what is left of it after `fxscope redact`."""

import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec
import pytest

from fxscope import cli, store
from fxscope.analysis.redact import redact
from fxscope.analysis.report import report
from fxscope.columns import Items
from fxscope.commands import common
from fxscope.model import Environment, Graph, Launch, Node, Op, Recording, Source, replace
from fxscope.passes import verify
from tests.processes import run_python
from tools import fuzz

KINDS = (
    "555-123-4567 ; +1 (415) 555-2671 ; 41/55/51/23 ; 4️⃣1️⃣5️⃣5️⃣1️⃣ ; ٤١٥٥٥٥١٢ ; 41, 55, 12 ; 415|551 ; "
    "12 34 56 78 ; add_4155512 ; add_555_123_4567 ; l4155512.weight ; case::add_4155512 ; jane.roe@acme.com ; "
    "https://acme.com/?token=ghp_16C7 ; API_KEY=hunter2pass ; 192.168.77.13:8080 ; acme-node-12 ; Müller ; 患者 ; "
    "0x7fee12ab ; 123e4567-e89b-12d3 ; /home/mary/client/target.py(3): call ; C:\\Users\\jane ; "
    "2024-05-17T12:00 ; acme::score ; AcmeBackward0 ; triton_poi_fused_acme_0 ; aten::acme ; torch.nn.acme ; "
    "ProfilerStep#acme"
)
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


@pytest.mark.parametrize("name", ["mlp_compiled", "attn_eager", "mlp_train_eager"])
def test_what_is_pytorchs_stays(name: str) -> None:
    was = common.read(str(fuzz.DATA / "h200" / name))
    kept = redact(was)
    verify(kept)
    assert [launch.name for launch in kept.launches] == [launch.name for launch in was.launches]
    assert [call.handle for call in kept.calls] == [call.handle for call in was.calls]
    assert [item.reason for item in kept.decisions] == [item.reason for item in was.decisions]
    assert kept.sources == () and report(kept).step == report(was).step


def test_a_graph_break_keeps_its_place_and_cost_and_loses_its_line() -> None:
    was = common.read(str(fuzz.DATA / "questions" / "graph_break.fxscope"))
    (row,) = report(kept := redact(was)).breaks
    assert {item.reason_arguments["why"] for item in kept.decisions if "why" in item.reason_arguments} == {"removed"}
    assert row.cost_us == report(was).breaks[0].cost_us and row.hints == ("removed",) and "print" not in kept.to_json()


def filled(kind: Any, text: str) -> Any:
    parts = [part for part in get_args(kind) if part not in (..., type(None))]
    if kind in (str, Any) or (str in parts and isinstance(kind, UnionType)):
        return text
    if not parts:
        hints = get_type_hints(kind)
        return kind(**{name: filled(hint, text) for name, hint in hints.items()}) if hints else kind(1)
    if get_origin(kind) in (tuple, Sequence):
        return tuple(filled(part, text) for part in parts)
    return (
        {"key": filled(parts[1], text)}
        if get_origin(kind) is dict
        else (parts[0] if get_origin(kind) is Literal else filled(parts[0], text))
    )


@pytest.mark.parametrize("secret", KINDS.split(" ; "))
def test_no_secret_is_left_in_any_text(secret: str) -> None:
    """Telephone numbers, names, paths and keys; also in names of annotations, kernels and a plan's GPU."""
    recording = filled(Recording, secret)
    names = {"aten::add": "cpu_op", secret: "user_annotation", "nvjet_sm90_jane_doe": "user_annotation"}
    ops = tuple(Op(id=0, name=name, category=kind, start_ns=0, duration_ns=1) for name, kind in names.items())
    skip = f'incompatible op\nFound from : \n File "a.py", line 3\n return {secret}'
    compiled = replace(recording.compiles[0], cudagraph_skip=skip)
    kept = redact(replace(recording, ops=ops, compiles=(compiled,), environment=Environment(target=secret)))
    text = repr(msgspec.json.decode(kept.to_json()))
    assert not [word for word in (secret, "acme", "jane", "mary/") if word in text]
    assert (kept.compiles[0].cudagraph_skip, kept.compiles[0].break_reason) == ("incompatible op\n", "removed")
    assert kept.ops[0].name == "aten::add" and kept.near_misses[0].matched == recording.near_misses[0].matched
    assert (kept.compiles[0].cache, kept.numerics and kept.numerics.rows[0].state) == ("miss", "within")


@pytest.mark.parametrize("line", (Path(__file__).parents[1] / "redacted_names.txt").read_text().splitlines())
def test_a_name_is_a_librarys_or_made_of_whole_ops_and_their_counters_or_is_the_users(line: str) -> None:
    verb, _, text = line.replace("\\n", "\n").partition(" ")
    launch = Launch(id=0, name=text, category="kernel", start_ns=1, duration_ns=2)
    (left,) = redact(Recording(launches=(launch,))).launches
    assert (left.name == text) == (verb == "keeps"), left.name


def test_parts_of_a_modules_path_are_layers_or_the_users() -> None:
    paths = "calls.415.555 layers.126.0 Block_3.Linear_237 p_3.Q_415"
    nodes = tuple(Node(name=path, op="dispatch", target="a", source=Source(module=path)) for path in paths.split())
    kept = redact(Recording(graphs=(Graph(id="g", stage="eager", nodes=nodes),))).graphs[0].nodes
    numbers = [re.findall(r"(?<![a-z\d])\d+", node.source.module) for node in kept if node.source]
    assert numbers == [[], ["126", "0"], ["3", "237"], []]


@pytest.mark.parametrize("name", ["mlp_eager_stack", "mlp_eager"])
def test_columns_of_a_trace_stay_columns_with_the_texts_of_items(name: str) -> None:
    recording = common.read(str(Path(__file__).parent.parent / "data" / "h200" / name / "trace.json.gz"))
    assert isinstance(recording.ops, Items)
    graphs = tuple(replace(graph, nodes=tuple(graph.nodes)) for graph in recording.graphs)
    items = replace(recording, graphs=graphs, ops=tuple(recording.ops), launches=tuple(recording.launches))
    redacted = redact(recording)
    assert redacted == redact(items)
    assert all(isinstance(part, Items) for part in (redacted.ops, redacted.launches, redacted.graphs[0].nodes))
