"""Ops and launches that are columns inside behave as the tuples they stand for, in memory and on disk."""

import copy
import gc
import pickle
import zipfile
from pathlib import Path

import msgspec
import pytest

from fxscope import load, read_trace, store
from fxscope.analysis.why import why
from fxscope.columns import Items, KeptItems, column, picked, with_columns
from fxscope.errors import FxscopeError
from fxscope.index import index_of
from fxscope.model import Launch, Recording
from fxscope.readers.trace.columns import Trace
from fxscope.render import render

H200 = Path(__file__).parent.parent / "data" / "h200"


@pytest.fixture(scope="module")
def recording() -> Recording:
    return read_trace(H200 / "mlp_eager_stack" / "trace.json.gz")


@pytest.mark.parametrize("part", ["ops", "launches"])
def test_they_look_like_tuples(recording: Recording, part: str) -> None:
    items = getattr(recording, part)
    plain = tuple(items)
    assert isinstance(items, Items) and isinstance(plain, tuple)
    assert items == plain and plain == items and items != plain[1:]
    assert part == "launches" or hash(items) == hash(plain)  # what a launch has decoded is a dict
    assert len(items) == len(plain) and items[3] == plain[3] and items[-1] == plain[-1]
    assert items[2:9:3] == plain[2:9:3] and items[5:2] == () and items[::-1] == plain[::-1]
    assert (*items, *items) == plain + plain and plain[0] in items
    with pytest.raises(IndexError):
        items[len(plain)]
    assert pickle.loads(pickle.dumps(items)) == plain and copy.deepcopy(items) == plain
    for field in plain[0].__struct_fields__:
        values = [getattr(item, field) for item in plain]
        assert column(items, field) == column(plain, field) == values
        assert column(items, field, [4, 1]) == column(plain, field, [4, 1]) == [values[4], values[1]]
    assert picked(items, [4, 1]) == picked(plain, [4, 1]) == [plain[4], plain[1]]
    steps = list(range(len(plain)))
    assert with_columns(items, step=steps) == with_columns(plain, step=steps)
    assert column(with_columns(items, step=steps), "step") == steps and column(items, "step") != steps


def test_a_trace_is_freed_once_its_recording_is_made() -> None:
    def traces() -> int:
        return sum(type(item) is Trace for item in gc.get_objects())

    before, made = traces(), read_trace(H200 / "mlp_eager" / "trace.json.gz")
    assert any(column(made.ops, "shapes")) and traces() == before


def test_nodes_of_a_trace_are_made_once_and_by_name(recording: Recording) -> None:
    (graph,) = recording.graphs
    assert isinstance(graph.nodes, KeptItems)
    assert (
        render(recording, "dot")
        and why(recording, "mm", "mul").same
        and len(graph.nodes._made_items) < len(graph.nodes) / 4
    )  # the places' alone
    by_name = index_of(recording).nodes[graph.id]
    name = graph.nodes[-1].name
    assert by_name[name] is graph.nodes[-1] and by_name.get("no such node") is None and len(by_name) == len(graph.nodes)
    assert [by_name[node.name] for node in graph.nodes] == list(graph.nodes)
    assert all(node.arguments for node in graph.nodes if node.target == "aten::mm")


def test_arguments_are_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = read_trace(H200 / "mlp_eager_stack" / "trace.json.gz")
    assert any(column(made.ops, "shapes")) and any(column(made.launches, "grid"))
    monkeypatch.delattr("fxscope.readers.trace.items.args_of")
    assert any(column(made.ops, "dtypes")) and made.ops[4] and any(column(made.launches, "block"))


def test_a_field_without_a_column_has_its_default() -> None:
    items = Items(Launch, 2, {})
    assert column(items, "nodes") == [(), ()] and column(items, "call", [1]) == [None]


@pytest.mark.parametrize("name", ["mlp_compiled", "mlp_eager_stack", "mlp_train_eager"])
def test_a_large_recording_is_stored_as_columns(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = read_trace(H200 / name / "trace.json.gz")
    monkeypatch.setattr(store, "MANY", 10)
    path = tmp_path / "x.fxscope"
    path.write_bytes(store.encode(recording))
    assert render(recording, "json") == msgspec.json.format(recording.to_json().encode(), indent=1) + b"\n"
    assert zipfile.is_zipfile(path)
    found = load(path)
    assert isinstance(found.ops, Items) and found == store.loads(recording.to_json())
    assert store.encode(found) == path.read_bytes() == store.encode(store.loads(recording.to_json()))


def test_a_damaged_archive_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MANY", 10)
    data = store.encode(read_trace(H200 / "mlp_eager" / "trace.json.gz"))
    path = tmp_path / "x.fxscope"
    for place in range(0, len(data), len(data) // 150):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :])
        try:
            tuple(load(path).ops)
        except FxscopeError as error:
            assert "\n" not in str(error)
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(FxscopeError, match="damaged"):
        load(path)
