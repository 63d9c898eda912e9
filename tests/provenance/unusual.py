"""Programs whose execution is not a straight line, or whose tensors are not plain and dense: name → (function, inputs)."""

import inspect

import torch
from torch.utils.checkpoint import checkpoint


def branch_taken(x, w):
    return torch.cond(x.sum() > 0, lambda x: x.sin() @ w, lambda x: (x.cos() + 1) @ w, (x,)).exp()


def branch_with_the_callers_names(x, w):
    return torch.cond((x + 1).sum() > 0, lambda x: (x + 2).sin(), lambda x: (x + 3).cos(), (x,)) + w


def branches_in_branches(x, w):
    def inner(x):
        return torch.cond(x.max() > 100, torch.sin, torch.cos, (x,))

    return torch.cond(x.sum() > 0, inner, lambda x: x.exp(), (x,)) * w


def two_branches(x, w):
    x = torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,))
    return torch.cond(x.sum() > 1e6, torch.sin, torch.cos, (x,)) @ w


def loop(x, w):
    x = torch.while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x.sin() * 2), (torch.tensor(0), x))[1]
    return (x + 1) @ w


def loop_with_products(x, w):
    return torch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, (x @ w).tanh()), (torch.tensor(0), x))[1] @ w


def branch_in_a_loop(x, w):
    def body(i, x):
        return i + 1, torch.cond(x.sum() > 0, lambda x: (x @ w).tanh(), lambda x: (x @ w).sigmoid() + 1, (x,))

    return torch.while_loop(lambda i, x: i < 4, body, (torch.tensor(0), x))[1] * 2 + w


def several_results(x, w):
    values, places = x.sin().topk(4)
    mean, parts = x.mean(0), (w + 1).split(8, 1)
    return values @ parts[0][:4] + mean[:8] + places.sum()


def region_compiled_once(x, w):
    @torch.compiler.nested_compile_region
    def block(y):
        return y.sin().sum(-1, keepdim=True) * y

    return block(block(x) + 1) @ w


def regions_around_products(x, w):
    @torch.compiler.nested_compile_region
    def block(y):
        return torch.relu(y @ w)

    return block(block(x))


def recomputed(x, w):
    return checkpoint(lambda x: torch.tanh(x @ w).sin(), x, use_reentrant=False).sum()


def recomputed_with_dropout(x, w):
    return checkpoint(lambda x: torch.dropout(torch.relu(x @ w), 0.5, True), x, use_reentrant=False).exp().sum()


def attention_with_bias(q, k, v):
    from torch.nn.attention.flex_attention import flex_attention

    return flex_attention(q, k, v, score_mod=lambda score, b, h, i, j: score + (i - j) * 0.1)


def complex_numbers(x, w):
    return (torch.view_as_complex(x) * torch.view_as_complex(w)).abs().exp()


def spectrum(x, w):
    return torch.fft.rfft(x).abs() @ w


@torch._dynamo.disable
def _multiplied_sparsely(x, w):
    return torch.sparse.mm(x.to_sparse(), w)


def sparse(x, w):
    return _multiplied_sparsely(torch.relu(x) * 2, w.sin()).cos() + x.exp()


def sorted_and_scanned(x, w):
    return x.sort(-1).values.cumsum(-1) * w


def scattered(x, w):
    index = (w.abs() * 4).long().clamp(max=15)
    return torch.zeros(16, 16).scatter_add(0, index, x.sin()) * x.gather(1, index).exp()


def graph_broken(x, w):
    x = x.sin() * 2
    torch._dynamo.graph_break()
    return (x.cos() @ w).exp()


def nested_compile(x, w):
    inner = torch.compile(lambda y: y.sin() * 3)
    return inner(x).cos() @ w


def concatenated(x, w):
    return torch.cat([x.sin(), w.cos(), x @ w], 1).exp().sum(0)


def written_in_place(x, w):
    x = x.clone()
    x.add_(1).mul_(w)
    x[:, 2:4] = w[:, :2].exp()
    return x @ w


def averages_and_variance(x, w):
    return torch.nn.functional.layer_norm(x + w, (16,)).softmax(-1).std(0)


SQUARE = ((16, 16), (16, 16))
SHAPES = {
    "attention_with_bias": ((1, 2, 32, 16),) * 3,
    "complex_numbers": ((16, 16, 2), (16, 16, 2)),
    "spectrum": ((16, 16), (9, 16)),
}
TRAINED = {function.__name__: (function, SQUARE) for function in (recomputed, recomputed_with_dropout)}
PROGRAMS = {
    name: (item, SHAPES.get(name, SQUARE))
    for name, item in globals().items()
    if inspect.isfunction(item) and item.__module__ == __name__ and name[0] != "_" and name not in TRAINED
}
