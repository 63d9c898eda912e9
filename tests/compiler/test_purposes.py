"""Why each kernel exists, of programs whose kernels are known by hand; each says what is there and what is not."""

from collections import Counter

import pytest
import torch
from torch import nn
from torch.nn.functional import embedding, gelu
from torch.utils.checkpoint import checkpoint

import fxscope
from fxscope.analysis.report import report
from fxscope.english import purpose_text
from fxscope.index import index_of
from fxscope.render.report import lines
from fxscope.render.why import call_story
from tests.capture.programs import Cache
from tests.compiler import functions

pytestmark = pytest.mark.slow


@torch.library.custom_op("fxscope_purposes::sin_in_place", mutates_args={"x"})
def sin_in_place(x: torch.Tensor) -> None:
    x.sin_()


class ConvLinear(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.linear = nn.Conv2d(8, 8, 3, padding=1), nn.Linear(16, 16)

    def forward(self, x):
        return self.linear(self.conv(x)).relu()


class Checkpointed(nn.Module):
    def __init__(self, checkpointed: bool = True) -> None:
        super().__init__()
        self.up, self.down, self.checkpointed = nn.Linear(64, 256), nn.Linear(256, 64), checkpointed

    def inner(self, x):
        return self.down(gelu(self.up(x)))

    def forward(self, x):
        return (checkpoint(self.inner, x, use_reentrant=False) if self.checkpointed else self.inner(x)).sum()


class GroupNorm(nn.Module):
    """The shape of pytorch/pytorch#188578: 32 groups of 40,960 elements."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(32, 320)

    def forward(self, x):
        return nn.functional.silu(self.norm(x))


def view_of_input(x):
    """pytorch/pytorch#131192: a custom op on a view of a graph input was cloned and copied back; torch 2.13 does not."""
    sin_in_place(x[0])


def own_tensor(x):
    y = x + 1
    sin_in_place(y)
    return y * 2


def foreach(*items):
    return torch._foreach_add(list(items), 1.0)


def added_to(x, i, v):
    """test_torchinductor.py, `test_index_put1`: the operand is copied, and the copy written into."""
    return x.index_put((i,), v, accumulate=True) * 2


def added_in_place(x, i, v):
    return x.index_put_((i,), v, accumulate=True).sum()


def branch(x, w):
    """test_control_flow.py: the condition is read by the branch alone, and saved for the backward."""
    return torch.cond(x.sum() > 0, lambda x, w: (x @ w).sin(), lambda x, w: (x * 2).cos(), (x, w)).sum()


def regions(x, w):
    @torch.compiler.nested_compile_region
    def block(y):
        return torch.softmax(y @ w, -1)

    return block(block(x)).sum()


INDEXED = (torch.ones(16, 4), torch.arange(8), torch.ones(8, 4))


def tensors(*shape, count=1, dtype=torch.float32):
    return tuple(torch.ones(shape, dtype=dtype) for _ in range(count))


def checkpointed_attention(x):
    """The op that draws is called by one that gives it the generator's state, in both passes."""
    return checkpoint(nn.functional.scaled_dot_product_attention, x, x, x, None, 0.1, use_reentrant=False).sin()


ATTENDED = (torch.ones(4, 2, 16, 32, dtype=torch.bfloat16).requires_grad_(),)
TRAINED = tuple(item.requires_grad_() for item in tensors(8, 8, count=2))

# name: (program, inputs, target, backward, purposes of its kernels)
PROGRAMS = {
    "convolution, CPU": (ConvLinear(), tensors(2, 8, 16, 16), None, False, {"computes": 3, "layout_copy": 2}),
    "convolution, GPU": (ConvLinear(), tensors(2, 8, 16, 16), "h200", False, {"computes": 4, "layout_copy": 2}),
    "linear": (nn.Sequential(nn.Linear(16, 16), nn.ReLU()), tensors(8, 16), "h200", False, {"computes": 2}),
    "sum": (torch.sum, tensors(4096, 4096), "h200", False, {"computes": 1, "split": 1}),
    "row sum": (lambda x: x.sum(1), tensors(4096, 4096), "h200", False, {"computes": 1}),
    "group norm": (GroupNorm().eval(), tensors(1, 320, 64, 64), "h200", False, {"computes": 2, "split": 1}),
    "long foreach": (foreach, tensors(10, count=300), "h200", False, {"computes": 1, "split": 2}),
    "short foreach": (foreach, tensors(10, count=30), "h200", False, {"computes": 1}),
    "transposed copy": (lambda x: x.t().contiguous(), tensors(8, 9), "h200", False, {"program_copy": 1}),
    "transposed and used": (lambda x: x.t().contiguous() + 1, tensors(8, 9), "h200", False, {"computes": 1}),
    "concatenation": (lambda x, y: torch.cat([x, y], 1), tensors(8, 8, count=2), "h200", False, {"program_copy": 1}),
    "scan": (lambda x: x.cumsum(0), tensors(64), "h200", False, {"computes": 1}),
    "look-up": (embedding, (*tensors(4, dtype=torch.int64), *tensors(9, 8)), "h200", False, {"computes": 1}),
    "buffer": (Cache(), tensors(4, 8), "h200", False, {"computes": 1, "mutation_copy": 1}),
    "custom op, own tensor": (own_tensor, tensors(8), None, False, {"computes": 2, "fallback": 1}),
    "custom op, view": (view_of_input, tensors(2, 8), None, False, {"fallback": 1}),
    "checkpoint": (Checkpointed(), tensors(32, 64), "h200", True, {"computes": 9, "recompute": 1, "layout_copy": 2}),
    "index_put": (added_to, INDEXED, "h200", False, {"computes": 2, "mutation_copy": 1}),
    "index_put_": (added_in_place, INDEXED, "h200", False, {"computes": 2}),
    "branch": (branch, TRAINED, "h200", True, {"computes": 10, "program_copy": 1}),
    "checkpointed attention": (checkpointed_attention, ATTENDED, "h200", True, {"computes": 5, "recompute": 1}),
    "no checkpoint": (Checkpointed(False), tensors(32, 64), "h200", True, {"computes": 9, "layout_copy": 2}),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_kernel_says_why_it_exists(name: str) -> None:
    program, inputs, target, backward, expected = PROGRAMS[name]
    recording = fxscope.record(program, *inputs, compile=True, target=target, backward=backward, steps=1)
    assert Counter(call.purpose for call in recording.calls) == expected
    for call in recording.calls:
        assert ("purpose unknown" in call_story(recording, call)) is (call.purpose is None)


SAID = functions("purposes.txt")


@pytest.mark.parametrize("name", SAID)
def test_a_kernel_says_what_asks_for_it_and_no_node_is_unknown(name: str) -> None:
    program, (_, inputs, options, there, absent) = SAID[name]
    options = {"compile": True, "steps": 1} | eval(options)
    recording = fxscope.record(program, *eval(f"({inputs},)", vars(torch)), **options)
    texts = [purpose_text(call.purpose, call.purpose_arguments) for call in recording.calls]
    assert any(there in text for text in texts) and not any(absent in text for text in texts), texts
    assert not [node for graph in recording.graphs for node in graph.nodes if node.kind == "unknown"]


@pytest.mark.parametrize("freezing", [True, False])
def test_a_layout_copy_that_freezing_adds_is_not_the_programs(freezing: bool) -> None:
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU()).eval()
    with torch.no_grad():
        recording = fxscope.record(model, *tensors(2, 3, 16, 16), compile={"options": {"freezing": freezing}}, steps=1)
    assert any(node.original_aten is None for node in recording.graphs[-1].nodes if "clone" in node.name) is freezing
    assert Counter(call.purpose for call in recording.calls) == {"layout_copy": 1, "computes": 2}


def self_copied(x, out):
    """A custom op's second write into an input becomes a copy of the input to itself."""
    sin_in_place(out)
    sin_in_place(out)
    return out.sum() + x


@pytest.mark.parametrize("program", [branch, regions, self_copied])
def test_no_node_that_ran_nowhere_is_unknown_and_a_branch_is_no_view(program) -> None:
    backward = program is not self_copied
    inputs = TRAINED if backward else tensors(8, 8, count=2)
    recording = fxscope.record(program, *inputs, compile=True, target="h200", backward=backward)
    nodes = [node for graph in recording.graphs if graph.stage == "post_grad" for node in graph.nodes]
    assert not [node.name for node in nodes if node.kind == "unknown"]
    assert "_" not in {item.pattern for item in recording.rewrites}  # torch calls handlers so
    around = [node for node in nodes if any(word in node.target for word in ("higher_order.cond", "invoke_subgraph"))]
    assert {(node.kind, node.nature) for node in around} <= {("kernel", "composite")}
    assert bool(around) is backward
    copies = [node for node in nodes if node.target == "aten.copy_.default"]
    assert {node.kind for node in copies} == (set() if backward else {"eliminated"})


def test_the_purposes_sum_to_the_device_time_and_copies_name_their_layout() -> None:
    recording = fxscope.record(ConvLinear(), *tensors(2, 8, 16, 16), compile=True, steps=1)
    rows = report(recording).purposes
    assert sum(row.time_us for row in rows) == pytest.approx(index_of(recording).device_us)
    copies = next(row for row in rows if row.purpose == "layout_copy")
    inside = sum(launch.duration_ns for launch in recording.launches if launch.call in copies.calls)
    assert copies.share == pytest.approx(inside / sum(launch.duration_ns for launch in recording.launches))
    shown = "\n".join(lines(report(recording), everything=True))
    assert "Layout copies: 2 kernels, " in shown and "Fallbacks" not in shown
    stories = [call_story(recording, call) for call in recording.calls if call.purpose == "layout_copy"]
    assert "layout copy for convolution, which requires stride order (3, 0, 2, 1)" in stories[0]


@pytest.mark.parametrize(
    ("program", "inputs", "words"),
    [
        (
            lambda x, i, y: x.scatter_add(1, i, y.relu()),
            (*tensors(8, 8), *tensors(8, 8, dtype=torch.int64), *tensors(8, 8)),
            "copy for scatter_add, whose kernel writes into it: the operand has to stay as it is",
        ),
        (nn.Conv2d(3, 8, 3), tensors(2, 3, 16, 16), "computes bias of convolution"),
    ],
)
def test_a_kernel_without_ops_names_the_op_that_it_is_for(program, inputs, words: str) -> None:
    recording = fxscope.record(program, *inputs, compile=True, target="h200")
    texts = [purpose_text(call.purpose, call.purpose_arguments) for call in recording.calls if not call.nodes]
    assert texts[-1] == words and "computes " not in texts and "purpose unknown" not in texts
    made = report(recording)
    shares = {row.share for row in made.purposes if row.purpose == "mutation_copy"}
    assert shares <= {row.time_us / made.step.device_us for row in made.kernels if row.time_us}


def test_a_copy_into_a_compiled_graph_is_no_unknown_op() -> None:
    """The gradient of `sum` has strides of 0; AOTAutograd's wrapper makes it contiguous for the compiled backward."""
    recording = fxscope.record(nn.Linear(8, 8), torch.randn(4, 8), compile=True, backward=True)
    rows = {row.purpose: row.kernels for row in report(recording).purposes}
    assert rows["wrapper_copy"] == 1 and "unknown" not in rows and recording.problems == ()
