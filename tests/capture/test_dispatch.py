"""What the dispatcher shows of eager ops: storages, aliases, mutation, data flow, lines and modules."""

from __future__ import annotations

import torch

from fxscope._torch.op_recorder import OpRecorder
from tests.capture.programs import Block, GeGLU, Tied, moves


def observe(function, *inputs, **options) -> OpRecorder:
    recorder = OpRecorder(**options)
    with recorder:
        function(*inputs)
    assert recorder.problems == []
    return recorder


def aliases(op) -> bool:
    return bool(op.aliases)


def test_a_view_is_known_by_its_storage_not_its_name() -> None:
    ops = observe(moves, torch.randn(8, 8)).ops
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
    ops = observe(moves, torch.randn(8, 8)).ops
    write = next(op for op in ops if op.name == "aten::add_")
    assert write.mutates == (0,) and write.aliases == (0,)
    final = ops[-1]
    assert final.name == "aten::add"
    assert final.inputs[0].producer == write.position


def test_data_flow_between_ops_goes_through_views() -> None:
    def program(x, w):
        return torch.nn.functional.linear(x, w).relu()

    with torch.no_grad():
        ops = observe(program, torch.randn(2, 8), torch.randn(4, 8)).ops
    assert [op.name for op in ops] == ["aten::t", "aten::mm", "aten::relu"]
    assert ops[1].inputs[0].producer is None and ops[1].inputs[1].producer == 0
    assert ops[2].inputs[0].producer == 1
    assert ops[1].inputs[1].storage == ops[0].inputs[0].storage
    assert ops[1].inputs[1].meta.stride == (1, 8)


def test_freed_memory_is_not_taken_for_an_alias() -> None:
    def program():
        for _ in range(50):  # the allocator gives the same address again
            torch.ones(1000).mul(2)

    ops = observe(program).ops
    assert len({op.outputs[0].storage for op in ops if op.name == "aten::mul"}) == 50
    assert not any(op.aliases for op in ops if op.name == "aten::mul")


def test_lines_and_modules() -> None:
    model = Block()
    with torch.no_grad():
        ops = observe(model, torch.randn(4, 8)).ops
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
    ops = observe(Tied(), torch.tensor([1, 2, 3])).ops
    embedding = next(op for op in ops if op.name == "aten::embedding")
    transposed = next(op for op in ops if op.name == "aten::t")
    assert embedding.inputs[0].name == transposed.inputs[0].name == "embedding.weight"
    assert embedding.inputs[0].storage == transposed.inputs[0].storage


def test_backward_ops_belong_to_the_forward_line() -> None:
    model = GeGLU()

    def program():
        model(torch.randn(4, 8)).sum().backward()

    ops = observe(program).ops
    backward = next(op for op in ops if op.name == "aten::gelu_backward")
    forward = next(op for op in ops if op.name == "aten::gelu")
    assert backward.backward and not forward.backward
    assert backward.sequence_number == forward.sequence_number
    assert backward.source == forward.source and forward.source.line is not None


def test_the_result_and_the_random_state_are_the_same() -> None:
    def program():
        return torch.nn.functional.dropout(torch.randn(8, 8), 0.5) @ torch.randn(8, 8)

    torch.manual_seed(0)
    expected, state = program(), torch.get_rng_state()
    torch.manual_seed(0)
    with OpRecorder():
        result = program()
    assert torch.equal(result, expected) and torch.equal(torch.get_rng_state(), state)


def test_a_compiled_function_still_compiles_under_the_observer() -> None:
    graphs = []

    def backend(module, _):
        graphs.append(module)
        return module.forward

    torch._dynamo.reset()
    recorder = OpRecorder()
    with recorder:
        torch.compile(lambda x: x.sin().cos(), backend=backend)(torch.ones(3))
    assert len(graphs) == 1
    assert [op.name for op in recorder.ops][-2:] == ["aten::sin", "aten::cos"]


def test_it_stops_writing_down_at_the_limit() -> None:
    def program():
        x = torch.ones(2)
        for _ in range(20):
            x = x + 1
        return x

    recorder = observe(program, max_ops=5)
    assert len(recorder.ops) == 5 and recorder.num_passed > 20


def test_a_mistake_of_the_observer_is_a_problem_and_the_op_still_runs(monkeypatch) -> None:
    from fxscope._torch import nodes

    def broken(tensor):
        raise RuntimeError("the observer's own mistake")

    monkeypatch.setattr(nodes, "tensor_meta", broken)
    recorder = OpRecorder()
    x = torch.ones(2)
    with recorder:
        result = x + 1
    assert result.tolist() == [2.0, 2.0]
    (problem,) = recorder.problems
    assert problem.message.startswith("RuntimeError: the observer's own mistake") and "1)" in problem.message
