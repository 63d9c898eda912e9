"""One language for naming things: every spelling finds the same thing in `why`, `code`, `explain` and `check`."""

from pathlib import Path

import pytest

import fxscope
from fxscope.analysis import select
from fxscope.analysis.check.context import Context
from fxscope.errors import FxscopeError, PassError
from fxscope.index import index_of
from fxscope.model import Graph, Recording
from tests import build

PATH = Path(fxscope.__file__).parent / "data" / "h200" / "mlp_compiled.fxscope"
FUSED = "triton_poi_fused__unsafe_view_gelu_mul_0"


def only(found: select.Found) -> select.Place:
    (place,) = found.places
    return place


@pytest.fixture(scope="module")
def recording() -> Recording:
    return fxscope.load(PATH)


@pytest.mark.parametrize(
    "text",
    [
        "gelu",
        "aten::gelu",
        "op:gelu",
        "op:aten.gelu.default",
        "F.gelu",
        "GELU",
        "h",
        "variable:h",
        "mul_6",
        "node:mul_6",
        "node:0/0:inference:post_grad/mul_6",
        FUSED,
        "triton_poi*",
        f"kernel:{FUSED}",
        f"call:{FUSED}:3",
        "0/0:inference:3",
        "call:0/0:inference:3",
        "line:model.py:17#3",
        "buffer:buf2",
    ],
)
def test_the_same_kernel_by_every_name(recording: Recording, text: str) -> None:
    place = only(select.find(recording, text))
    assert place.call == "0/0:inference:3"
    if text.isupper():  # only `find` forgives case
        return
    number = select.parse_selector(text).number
    units = [unit for unit in select.units_named(recording, text.partition("#")[0]) if unit.call == place.call]
    assert number or [unit.kernel for unit in units] == [FUSED]


def test_a_sort_in_front_excludes_the_others(recording: Recording) -> None:
    with pytest.raises(select.UnknownNameError, match="node:gelu"):
        select.find(recording, "node:gelu")
    assert not select.unit_matches(select.units_named(recording, FUSED)[0], "module:gelu")
    assert select.parse_selector("aten::mm#2") == ("aten::mm#2", None, "aten::mm", 2)
    assert select.parse_selector("op:aten::mm") == ("op:aten::mm", "op", "aten::mm", None)


def test_occurrences_are_counted_in_the_order_of_the_calls(recording: Recording) -> None:
    calls = list(index_of(recording).calls)
    found = [only(select.find(recording, f"mm#{n}")).call for n in (1, 2, 3)]
    assert found == sorted(found, key=lambda call: calls.index(call or "")) and len(set(found)) == 3
    with pytest.raises(PassError, match="mm#4: a step has only 3 places of mm"):
        select.find(recording, "mm#4")
    with pytest.raises(PassError, match="count from 1"):
        select.find(recording, "mm#0")


def test_a_custom_op_is_found_by_its_name_with_and_without_namespace() -> None:
    nodes = (build.node("foo", "mylib.foo.default"), build.node("foo_1", "otherlib.foo.default"))
    graph = Graph(id=build.GRAPH, stage="post_grad", nodes=nodes)
    calls = (
        build.call(0, "torch.ops.mylib.foo.default", "foo", handle="foo:0", type="fallback"),
        build.call(1, "torch.ops.otherlib.foo.default", "foo_1", handle="foo:1", type="fallback"),
    )
    both = Recording(graphs=(graph,), calls=calls)
    assert only(select.find(both, "mylib::foo")).call == "0/0:inference:0"
    assert only(select.find(both, "otherlib::foo")).call == "0/0:inference:1"
    assert len(select.find(both, "op:foo").places) == 2
    with pytest.raises(select.UnknownNameError):
        select.find(both, "op:default")


def test_check_takes_a_sort_and_a_recording_in_front(recording: Recording) -> None:
    context = Context({"eager": recording, "compiled": recording}, "compiled")
    assert context.place("op:gelu") == ("compiled", "op:gelu")
    assert context.place("eager:op:gelu") == ("eager", "op:gelu")
    with pytest.raises(FxscopeError, match="no recording 'eagre'"):
        context.place("eagre:gelu")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("arg0_1", "'arg0_1' is an input of 0/0:inference: nothing in it computes that"),
        ("permute_", "nothing is called 'permute_'"),
        ("x" * 10**5, "nothing is called '" + "x" * 99 + " in this recording"),
        ("op:arg0_1", "nothing is called 'op:arg0_1'"),
    ],
)
def test_of_a_node_that_nothing_ran_for_it_is_not_said_that_it_is_not_there(
    recording: Recording, name: str, words: str
) -> None:
    with pytest.raises(select.UnknownNameError) as raised:
        select.find(recording, name)
    assert str(raised.value).startswith(words)
