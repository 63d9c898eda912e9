"""What a profiler session says of eager ops: storages, aliases, mutation, data flow, lines and modules."""

import torch

from fxscope._torch import event_tree, profiler, running
from fxscope.readers.eager_graph import SeenOp
from fxscope.readers.own_trace import OwnTrace
from tests.capture.programs import Block, GeGLU, Tied, moves


def observe(function, *inputs) -> list[SeenOp]:
    session = profiler.Session()
    session.start()
    function(*inputs)
    path, tree = session.stop()
    trace = OwnTrace(path, tree.times)
    session.cleanup()
    assert trace.problems == []
    return list(event_tree.facts_of(tree, trace.concrete, running.names_of(function, inputs, {})).values())


def aliases(op) -> bool:
    return bool(op.aliases)


def test_a_view_is_known_by_its_storage_not_its_name() -> None:
    ops = observe(moves, torch.randn(8, 8))
    seen = [(op.name, aliases(op)) for op in ops]
    assert seen == [
        ("aten::view", True),  # reshape that could be a view
        ("aten::transpose", True),
        ("aten::clone", False),  # reshape that had to copy
        ("aten::_unsafe_view", True),  # the schema does not say so
        ("aten::clone", False),  # contiguous that had to copy
        ("aten::add_", True),
        ("aten::view", True),
        ("aten::add", False),
    ]


def test_mutation_and_what_reads_it_afterwards() -> None:
    ops = observe(moves, torch.randn(8, 8))
    write = next(op for op in ops if op.name == "aten::add_")
    assert write.mutates == (0,) and write.aliases == (0,)
    final = ops[-1]
    assert final.name == "aten::add"
    assert final.inputs[0].producer == write.position


def test_data_flow_between_ops_goes_through_views() -> None:
    def program(x, w):
        return torch.nn.functional.linear(x, w).relu()

    with torch.no_grad():
        ops = observe(program, torch.randn(2, 8), torch.randn(4, 8))
    assert [op.name for op in ops] == ["aten::t", "aten::mm", "aten::relu"]
    assert ops[1].inputs[0].producer is None and ops[1].inputs[1].producer == 0
    assert ops[2].inputs[0].producer == 1
    assert ops[1].inputs[1].storage == ops[0].inputs[0].storage
    assert ops[1].inputs[1].meta.stride == (1, 8)


def test_freed_memory_is_not_taken_for_an_alias() -> None:
    def program():
        for _ in range(50):  # the allocator gives the same address again
            torch.ones(1000).mul(2)

    ops = observe(program)
    assert len({op.inputs[0].storage for op in ops if op.name == "aten::mul"}) == 50
    assert not any(op.aliases for op in ops if op.name == "aten::mul")


def test_lines_and_modules() -> None:
    model = Block()
    with torch.no_grad():
        ops = observe(model, torch.randn(4, 8))
    mms = [op for op in ops if op.name == "aten::mm"]
    assert [op.source.module for op in mms] == [
        f"layers.{index}.{name}_proj" for index in (0, 1) for name in ("gate", "up", "down")
    ]
    assert {op.source.module_type for op in mms} == {"Linear"}
    assert [op.source.code for op in mms[:3]] == [
        'gate = functional.gelu(self.gate_proj(x), approximate="tanh")',
        "up = self.up_proj(x)",
        "return self.down_proj(gate * up)",
    ]
    gelu = next(op for op in ops if op.name == "aten::gelu")
    assert (gelu.source.module, gelu.source.module_type, gelu.source.function) == ("layers.0", "GeGLU", "forward")


def test_parameters_are_known_by_name_and_a_tied_one_has_one_storage() -> None:
    ops = observe(Tied(), torch.tensor([1, 2, 3]))
    embedding = next(op for op in ops if op.name == "aten::embedding")
    transposed = next(op for op in ops if op.name == "aten::t")
    assert embedding.inputs[0].name == transposed.inputs[0].name == "embedding.weight"
    assert embedding.inputs[0].storage == transposed.inputs[0].storage


def test_backward_ops_belong_to_the_forward_line() -> None:
    model = GeGLU()

    def program():
        model(torch.randn(4, 8)).sum().backward()

    ops = observe(program)
    backward = next(op for op in ops if op.name == "aten::gelu_backward")
    forward = next(op for op in ops if op.name == "aten::gelu")
    assert backward.backward and not forward.backward
    assert backward.sequence_number == forward.sequence_number
    assert backward.source == forward.source and forward.source.line is not None
