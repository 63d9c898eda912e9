"""Which pattern or pass replaced what: programs of torch's own tests of its patterns, and of users' reports."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

import fxscope
from fxscope.analysis.rewrites import life, pattern_story
from fxscope.analysis.why import why
from fxscope.errors import PassError
from fxscope.model import Graph, Node, Recording, Rewrite, replace
from fxscope.render.why import words

pytestmark = pytest.mark.slow


def tensors(*shape, count=1, dtype=torch.float32):
    return tuple(torch.ones(shape, dtype=dtype) for _ in range(count))


def attention(q, k, v):
    """test_fused_attention.py, `_test_sdpa_rewriter_1`."""
    return torch.matmul(q, k.transpose(-2, -1)).div(math.sqrt(q.shape[-1])).softmax(dim=-1).matmul(v)


def attention_with_a_cosine(q, k, v):
    return torch.matmul(q, k.transpose(-2, -1)).div(math.sqrt(q.shape[-1])).softmax(dim=-1).cos().matmul(v)


def masked(q, k, v, scale):
    mask = torch.ones(q.size(1), k.size(1), dtype=torch.bool, device=q.device).tril(diagonal=0)
    mask = mask.masked_fill(torch.logical_not(mask), -float("inf"))
    q, k, v = (item.permute(0, 2, 1, 3) for item in (q, k, v))
    return (scale(torch.matmul(q, k.transpose(-2, -1))) + mask).softmax(dim=-1).matmul(v)


def masked_div(q, k, v):
    """test_fused_attention.py, `_test_sdpa_rewriter_14`."""
    return masked(q, k, v, lambda scores: scores.div(3.0))


def masked_mul(q, k, v):
    """pytorch/pytorch#195412: the same attention, which the pattern misses."""
    return masked(q, k, v, lambda scores: scores.mul(1.0 / 3.0))


def cumsum_of_ones(x):
    """test_pattern_matcher.py, `test_pointless_cumsum`."""
    return torch.ones(4, 8, device=x.device).cumsum(1) * x


def cumsum(x):
    return x.cumsum(1)


def split_and_cat(x):
    """test_pattern_matcher.py, `test_splitwithsizes_cat`."""
    return torch.cat(torch.ops.aten.split_with_sizes.default(x, [8, 24], 1), 1) ** 2


def split_and_cat_swapped(x):
    first, second = torch.ops.aten.split_with_sizes.default(x, [8, 24], 1)
    return torch.cat([second, first], 1) ** 2


def product_and_sum(a, b, c):
    """test_pattern_matcher.py, `test_addmm`."""
    return torch.mm(a, b) + c


def product(a, b, c):
    return torch.mm(a, b)


def scaled_softmax(x):
    """test_torchinductor.py, `test_softmax_backward_data`: a scale in front of a softmax."""
    return torch.softmax(x * 3.0, -1)


# name: (program, inputs, target, the patterns and passes that must be there, those that must not)
Q = tensors(4, 2, 16, 32, count=3)
PROGRAMS = {
    "attention": (attention, Q, None, {"_sfdp_pattern_1"}, set()),
    "attention with a cosine": (attention_with_a_cosine, Q, "h200", set(), {"_sfdp"}),
    "masked attention, div": (masked_div, Q, None, {"_sfdp_pattern_14"}, set()),
    "masked attention, mul": (masked_mul, Q, None, set(), {"_sfdp"}),
    "cumsum of ones": (cumsum_of_ones, tensors(4, 8), "h200", {"pointless_cumsum_replacement"}, set()),
    "cumsum": (cumsum, tensors(4, 8), "h200", set(), {"cumsum"}),
    "split and cat": (split_and_cat, tensors(2, 32), "h200", {"splitwithsizes_cat_replace"}, set()),
    "split and cat swapped": (split_and_cat_swapped, tensors(2, 32), "h200", set(), {"splitwithsizes_cat_replace"}),
    "product and sum": (product_and_sum, tensors(16, 16, count=3), "h200", {"addmm"}, set()),
    "product": (product, tensors(16, 16, count=3), "h200", set(), {"addmm"}),
    "scaled softmax": (scaled_softmax, tensors(8, 64), "h200", {"mul_softmax_pattern"}, {"prepare_softmax"}),
    "softmax": (lambda x: torch.softmax(x, -1), tensors(8, 64), "h200", {"prepare_softmax_pattern"}, {"mul_softmax"}),
}


def recorded(program, inputs, target):
    torch._dynamo.reset()
    return fxscope.record(program, *inputs, compile=True, target=target, steps=1)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_patterns_that_fired_and_no_others_are_told(name: str) -> None:
    program, inputs, target, there, absent = PROGRAMS[name]
    recording = recorded(program, inputs, target)
    found = {item.pattern or item.by for item in recording.rewrites}
    assert all(any(item.startswith(wanted) for item in found) for wanted in there), found
    assert not any(unwanted in item for unwanted in absent for item in found), found
    for item in recording.rewrites:  # what a pass took away is not in the graph that was lowered
        lowered = {node.name for graph in recording.graphs if graph.stage == "post_grad" for node in graph.nodes}
        assert item.removed or item.added
        assert not (set(item.removed) - {name for other in recording.rewrites for name in other.added}) & lowered


def test_why_of_a_replaced_op_names_the_pattern_and_the_kernel(tmp_path, command) -> None:
    recording = recorded(*PROGRAMS["attention"][:3])
    text = words(recording, why(recording, "softmax"), width=100)
    text, number = " ".join(text.split()), len(text.splitlines())
    assert "softmax was replaced by _scaled_dot_product_flash_attention_for_cpu in the joint" in text
    assert "pattern _sfdp_pattern_1_inference" in text and "It runs in torch.ops.aten._scaled_dot" in text
    assert number <= 15
    assert life(recording, "no_such_op") == []
    path = str(recording.save(tmp_path / "attention.fxscope"))
    assert "_sfdp_pattern_1" in command("why", path, "softmax", "--json").out
    command("why", path, "no_such_op", status=2)


def test_what_a_pattern_put_there_says_so_and_has_the_line_of_what_it_replaced() -> None:
    recording = recorded(*PROGRAMS["scaled softmax"][:3])
    lines = {node.source.line for node in recording.graphs[-1].nodes if node.source}
    assert lines == {scaled_softmax.__code__.co_firstlineno + 2}
    text = " ".join(words(recording, why(recording, "softmax"), width=100).split())
    assert "mul, amax and sub were replaced by" in text and "pattern mul_softmax_pattern" in text
    recording = recorded(*PROGRAMS["product"][:3])
    assert "replaced" not in words(recording, why(recording, "mm"), width=100)


def pointwise_between(a, b, c):
    """test_pattern_matcher.py, `test_addmm`, with an op between the product and the sum."""
    return torch.mm(a, b).relu() + c


def product_used_twice(a, b, c):
    """test_pattern_matcher.py, `test_addmm`: a product with another user stays a product."""
    product = torch.mm(a, b)
    return product + c, product.sin()


# name: (program, inputs, pattern, what is said of it)
NEAR = {
    "issue 195412": (masked_mul, Q, "_sfdp_pattern_14", "it wants aten.div.Tensor where mul is aten.mul.Tensor"),
    "a cosine between": (attention_with_a_cosine, Q, "_sfdp_pattern_1", "wants aten.div.Tensor where cos is"),
    "another order": (split_and_cat_swapped, tensors(2, 32), "splitwithsizes_cat_replace", "3 of 3 ops match; first"),
    "no ones": (cumsum, tensors(4, 8), "pointless_cumsum_replacement", "aten.full.default where arg0_1 is a graph"),
    "no scale": (lambda x: x.softmax(-1), tensors(8, 64), "mul_softmax_pattern", "where arg0_1 is a graph input"),
    "a relu between": (pointwise_between, tensors(16, 16, count=3), "addmm", "it wants aten.mm where relu is"),
    "two users": (
        product_used_twice,
        tensors(16, 16, count=3),
        "addmm",
        "aten.mm has another number of users than in the pattern (1)",
    ),
    "fired": (attention, Q, "_sfdp_pattern_1", "were replaced by _scaled_dot_product_flash_attention_for_cpu"),
}


@pytest.mark.parametrize("name", NEAR)
def test_a_pattern_that_missed_says_how_far_it_came_and_which_check_failed(name: str) -> None:
    program, inputs, pattern, words_of = NEAR[name]
    recording = recorded(program, inputs, None)
    story = pattern_story(recording, pattern)
    assert words_of in story.replace("aten.mm.default", "aten.mm"), story  # torch has both patterns
    assert ("did not match" in story) is not name.startswith("fired")
    assert not recording.problems
    for item in recording.near_misses:
        assert 0 <= item.matched <= item.total and (item.matched < item.total or item.code == "check"), item


def test_a_pattern_that_fired_shows_the_graph_before_and_after() -> None:
    recording = recorded(product_and_sum, tensors(16, 16, count=3), None)
    assert [call.purpose_arguments["ops"] for call in recording.calls] == [["addmm"]]  # in the place of `add`
    _, *lines = pattern_story(recording, "addmm").splitlines()
    assert lines == [
        "  - mm = aten.mm.default(arg0_1, arg1_1)",
        "  - add = aten.add.Tensor(mm, arg2_1)",
        "  + addmm_default = aten.addmm.default(arg2_1, arg0_1, arg1_1)",
    ]


def test_why_pattern_is_a_verb_and_an_unknown_pattern_is_refused(tmp_path, command) -> None:
    recording = recorded(masked_mul, Q, None)
    path = str(recording.save(tmp_path / "attention.fxscope"))
    shown = command("why", path, "--pattern", "_sfdp_pattern_14").out
    assert "Pattern _sfdp_pattern_14_inference did not match" in shown and len(shown.splitlines()) <= 15
    softmaxes = recorded(lambda x: (x * 3.0).softmax(-1) + (x * 5.0).softmax(0), tensors(8, 64), "h200")
    path = str(softmaxes.save(tmp_path / "softmax.fxscope"))
    shown, every = (command("why", path, "--pattern", "mul_softmax_pattern", *more).out for more in ([], ["--all"]))
    assert shown.startswith("×2: ") and every.count("were replaced") == 1
    assert len(shown.splitlines()) == 15 < len(every.splitlines())
    with pytest.raises(PassError, match="was not tried"):
        pattern_story(recording, "no_such_pattern")


def test_what_the_partitioner_computes_once_is_the_node_that_stays() -> None:
    def program(x, w):
        first, second = torch.sin(x) @ w, torch.sin(x) @ w
        noise = torch.rand_like(x) + torch.rand_like(x)
        return first.relu() + second.relu() * noise

    w = torch.ones(4, 4, requires_grad=True)
    recording = fxscope.record(program, torch.ones(4, 4), w, compile=True, backward=True, steps=1, warmup=0)
    (graph,) = (graph for graph in recording.graphs if graph.stage == "pre_grad")
    nodes = {node.name: node for node in graph.nodes}
    assert nodes["second"].reason == "is computed once, as first, which became mm"
    assert (nodes["second"].kind, nodes["second"].calls) == (nodes["first"].kind, nodes["first"].calls)
    assert nodes["relu_1"].calls
    assert not [name for name in nodes if "rand" in name and "computed once" in (nodes[name].reason or "")]


@pytest.mark.parametrize(
    ("program", "inputs"),
    [
        (product_and_sum, tuple(item.requires_grad_() for item in tensors(8, 8, count=3))),  # `mm` becomes `addmm`
        (torch.nn.LayerNorm(16), tensors(8, 16)),  # the gradient of the input is traced, and nothing needs it
        (
            lambda x: (x - x.amax(1, keepdim=True)).exp().sum(1) + x.softmax(1).sum(1),
            (tensors(8, 16)[0].requires_grad_(),),
        ),
        (lambda x: checkpoint(torch.sin, x, use_reentrant=False), (tensors(8, 16)[0].requires_grad_(),)),
        (lambda x, i: x.index_copy_(0, i, x[:1] * 2).sum(), (*tensors(8, 16), torch.tensor([3]))),  # reinplaced
        (lambda x: F.dropout(x.clone().view(16, 8).view(8, 16), training=False).contiguous() * 2, tensors(8, 16)),
        (
            lambda x: F.cross_entropy(x, torch.zeros(8, dtype=torch.int64, device=x.device)),
            (tensors(8, 16)[0].requires_grad_(),),
        ),
        (attention, tensors(4, 2, 16, 32, count=3, dtype=torch.float16)),  # views that a pattern replaced
    ],
)
def test_no_node_of_a_joint_graph_is_unknown(program, inputs) -> None:
    backward = any(item.requires_grad for item in inputs) or isinstance(program, torch.nn.Module)
    recording = fxscope.record(program, *inputs, compile=True, target="h200", backward=backward)
    nodes = {(graph.stage, node.name): node for graph in recording.graphs for node in graph.nodes}
    assert not [key for key, node in nodes.items() if node.kind == "unknown"]
    if not backward:
        assert not [key for key, node in nodes.items() if (node.reason or "").startswith("no later node")]
    if program is product_and_sum:
        assert nodes["joint", "mm"].calls == nodes["pre_grad", "mm"].calls == ("0/0:forward:1",)
        assert nodes["forward", "mm"].reason == "pattern addmm replaced it by addmm_default"
    elif isinstance(program, torch.nn.Module):
        unused = {node.name for (stage, _), node in nodes.items() if stage == "joint" and node.kind == "eliminated"}
        assert {"mul_3", "sum_1", "sub_2"} <= unused
    for _, name in nodes:
        assert len(words(recording, why(recording, name), width=80).splitlines()) <= 15


def test_of_many_changes_the_first_are_shown_and_all_with_everything() -> None:
    graph, op = "0/0:joint", "aten.relu.default"
    node = Node(name="relu", op="call_function", target=op, kind="unknown")
    change = Rewrite(graph=graph, by="p", removed=("relu",), removed_ops=(op,), added=("relu",), added_ops=(op,))
    rewrites = tuple(replace(change, pattern=f"p{n}") for n in range(18))
    recording = Recording(graphs=(Graph(id=graph, stage="joint", nodes=(node,)),), rewrites=rewrites)
    found = why(recording, "relu")
    first, every = (words(recording, found, width=100, everything=yes).splitlines() for yes in (False, True))
    assert len(first) == 15 and "p0" in first[0] and first[-1] == "… the rest: --all"
    assert len(every) == 18 and "p17" in every[-1]
