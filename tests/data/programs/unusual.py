"""Programs whose execution is not a straight line, or whose tensors are not plain and dense.

CASES: name → (function, shapes of its inputs, how it is run, its FLOPs). "compile" and "backward" say how; FLOPs are stated
where no mode of torch's sees the products: in a custom op's own Python, and in what torch compiles by itself.
"""

import contextlib
import threading

import torch
from torch import nn
from torch._higher_order_ops.map import map as for_each
from torch._higher_order_ops.scan import scan
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

# ---------------------------------------------------------------------- compiled

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


def _carried(carry, row):
    carry = carry * 0.5 + row.tanh()
    return carry, carry.sin()


def scanned(x, w):
    last, rows = scan(_carried, x.sum(0), x)
    return last @ w + rows.sum(0)


def scanned_products(x, w):
    def combine(carry, row):
        carry = (carry @ w + row).tanh()
        return carry, carry * 2

    return scan(combine, x[0].exp(), x)[1] @ w


def mapped(x, w):
    return for_each(lambda row, w: (row @ w).relu(), x, w).cos()


def attention_with_mask(x, w):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    q = x.view(1, 1, 16, 16).repeat(1, 2, 8, 1)
    mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, 128, 128, device="cpu")
    return flex_attention(q, q * 2, q, block_mask=mask).sum(1) * 2


class _SineOfProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return (x @ w).sin()

    @staticmethod
    def backward(ctx, gradient):
        x, w = ctx.saved_tensors
        slope = gradient * (x @ w).cos()
        return slope @ w.t(), x.t() @ slope


def own_function(x, w):
    return _SineOfProduct.apply(x, w).exp().sum()


def region_trained(x, w):
    @torch.compiler.nested_compile_region
    def block(y):
        return torch.relu(y @ w) + y

    return block(block(block(x))).sum()


@torch.library.custom_op("unusual::product", mutates_args=())
def _product(x: torch.Tensor) -> torch.Tensor:
    try:
        return torch.mm(x, x[:3])
    except RuntimeError:
        return torch.mm(x, x)


_product.register_fake(torch.empty_like)


def refused_inside_an_op(x, w):
    return torch.ops.unusual.product(x.sin()) @ w + 1


def compiled_calls_compiled(x, w):
    inner = torch.compile(lambda y: (y @ w).sin() * 3)
    torch._dynamo.graph_break()
    return (inner(x).cos() @ w).exp()


def broken_in_a_loop(x, w):
    def step(x):
        x = (x @ w).tanh()
        torch._dynamo.graph_break()
        return x.exp()

    for _ in range(3):
        x = step(x) + 1
    return x


def broken_by_data(x, w):
    x = x.sin()
    return x @ w if x.sum() > 1e6 else (x @ w).cos() * 2


@torch._dynamo.disable
def _compiled_again(x, w):
    return torch.compile(lambda x: (x @ w).relu() + 1)(x) @ w


def compiled_in_eager_in_compiled(x, w):
    return _compiled_again(x.sin(), w).exp()


# ---------------------------------------------------------------------- eager: control flow, higher-order ops


def eager_branch(x, w):
    return torch.cond(x.sum() > 0, lambda x: x.sin() @ w, lambda x: (x.cos() + 1) @ w @ w, (x,)).exp()


def eager_loop(x, w):
    return torch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, (x @ w).tanh()), (torch.tensor(0), x))[1] @ w


def eager_scan(x, w):
    return scanned(x, w)


def eager_map(x, w):
    return mapped(x, w)


def eager_function(x, w):
    return own_function(x, w)


# ---------------------------------------------------------------------- eager: checkpoints


def eager_recomputed(x, w):
    return recomputed(x, w)


def eager_recomputed_by_reentering(x, w):
    return checkpoint(lambda x: torch.tanh(x @ w).sin(), x, use_reentrant=True).sum()


def eager_recomputed_dropout(x, w):
    return checkpoint(lambda x: torch.dropout(torch.relu(x @ w), 0.5, True), x, use_reentrant=True).exp().sum()


def eager_recomputed_inside(x, w):
    def outer(x):
        return checkpoint(lambda x: (x @ w).sigmoid(), (x @ w).sin(), use_reentrant=False) @ w

    return checkpoint(outer, x, use_reentrant=False).sum()


def eager_recomputed_in_parts(x, w):
    layers = nn.Sequential(*[nn.Linear(16, 16) for _ in range(4)])
    return checkpoint_sequential(layers, 2, x @ w, use_reentrant=False).sum()


# ---------------------------------------------------------------------- eager: complex and sparse tensors


def eager_complex(x, w):
    a, b = (torch.view_as_complex(item.view(16, 8, 2)) for item in (x, w))
    return (a @ b.mH).abs().sum() + (a * b).angle().mean() + torch.view_as_real(a.conj() * b).sum()


def eager_complex_solved(x, w):
    a = torch.complex(x, w)
    return torch.linalg.solve(a @ a.mH + torch.eye(16), a).real @ w


def eager_complex_trained(x, w):
    a = torch.complex(x, w)
    return (a @ a).abs().sum()


def eager_spectrum(x, w):
    return torch.fft.ifft(torch.fft.fft(x) * torch.fft.fft(w)).real.relu()


def eager_sparse_coordinates(x, w):
    s = torch.relu(x).to_sparse()
    return torch.sparse.mm(s, w) + (s * 2).coalesce().to_dense()


def eager_sparse_rows(x, w):
    s = torch.relu(x).to_sparse_csr()
    return s @ w + (s @ w[0])[:, None]


def eager_sparse_sums(x, w):
    s = torch.sparse_coo_tensor(torch.tensor([[0, 1, 1], [2, 0, 0]]), x[0, :3], (16, 16))
    return torch.sparse.sum(s, 0).to_dense() + torch.sparse.addmm(x, s, w).sum(0)


def eager_sparse_trained(x, w):
    return torch.sparse.mm(x.to_sparse(), w).sum()


# ---------------------------------------------------------------------- eager: exceptions in ops


def eager_refused(x, w):
    with contextlib.suppress(RuntimeError):
        torch.mm(x, w[:5])
    with contextlib.suppress(IndexError):
        x[99]
    with contextlib.suppress(RuntimeError):
        torch.addmm(x, w, w[:3])
    return x @ w


@torch.library.custom_op("unusual::fails", mutates_args=())
def _fails(x: torch.Tensor) -> torch.Tensor:
    y = (x @ x).sin()
    if y.numel():
        raise ValueError("it fails")
    return y


def eager_failed_inside_an_op(x, w):
    with contextlib.suppress(ValueError):
        torch.ops.unusual.fails(x)
    return torch.ops.unusual.product(x) + w


def _raising(gradient):
    raise ValueError(f"it has {(gradient @ gradient).dim()} dimensions")


def eager_failed_in_a_hook(x, w):
    y = (x.detach().requires_grad_() @ w).sin()
    y.register_hook(_raising)
    with contextlib.suppress(ValueError):
        y.exp().sum().backward()
    return y.detach() @ w


def eager_failed_to_unpack(x, w):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 1, _raising):
        y = (x.detach().requires_grad_() @ w).sigmoid().sum()
    with contextlib.suppress(ValueError):
        y.backward()
    return y.detach() * w


def eager_failed_on_nan(x, w):
    x = x.detach().requires_grad_()
    with contextlib.suppress(RuntimeError), torch.autograd.detect_anomaly(check_nan=True):
        ((x * 0).sqrt() @ w).sum().backward()
    return x.detach() @ w


# ---------------------------------------------------------------------- eager: backward with threads and hooks


def _in_threads(function, *items):
    threads = [threading.Thread(target=function, args=(item,)) for item in items]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def eager_threads(x, w):
    def work(factor):
        ((x.detach().requires_grad_() @ w).sin() * factor).sum().backward()

    _in_threads(work, 1, 2, 3)
    return x @ w


def eager_backward_in_a_thread(x, w):
    x = x.detach().requires_grad_()
    y = (x @ w).tanh()
    y.register_hook(lambda gradient: gradient @ w)
    thread = threading.Thread(target=y.exp().sum().backward)
    thread.start()
    thread.join()
    return x.grad * 2


def eager_data_parallel(x, w):
    model = nn.Linear(16, 16)
    _in_threads(lambda part: model(part @ w).sin().sum().backward(), *x.detach().chunk(2))
    return model.weight.grad @ w


def eager_hooks(x, w):
    y = (x @ w).sin()
    y.register_hook(lambda gradient: gradient @ w)
    return y.exp().sum()


# ---------------------------------------------------------------------- the table

SQUARE, PRODUCT = ((16, 16), (16, 16)), 2 * 16**3
SHAPES = {
    "attention_with_bias": ((1, 2, 32, 16),) * 3,
    "complex_numbers": ((16, 16, 2), (16, 16, 2)),
    "spectrum": ((16, 16), (9, 16)),
}
TRAINED = """recomputed recomputed_with_dropout own_function region_trained eager_function eager_recomputed
    eager_recomputed_by_reentering eager_recomputed_dropout eager_recomputed_inside eager_recomputed_in_parts
    eager_complex_trained eager_sparse_trained eager_hooks""".split()
FLOPS = {
    "eager_branch": PRODUCT,
    "eager_loop": 4 * PRODUCT,
    "eager_scan": PRODUCT // 16,
    "eager_map": PRODUCT,
    "eager_failed_inside_an_op": 2 * PRODUCT,
}
THREADS = {"eager_threads": 3, "eager_backward_in_a_thread": 1, "eager_data_parallel": 2}
CASES = {
    name: (
        item,
        SHAPES.get(name, SQUARE),
        {"compile": not name.startswith("eager"), "backward": name in TRAINED},
        FLOPS.get(name),
    )
    for name, item in [*globals().items()]
    if callable(item) and getattr(item, "__module__", "") == __name__ and name[0] != "_"
}
