"""Factories for the tests of `--target`: some that work, and one of each kind that cannot."""

import os
import time
from functools import partial

import torch
from torch import _higher_order_ops as higher_order, nn


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.proj = nn.Linear(64, 64)

    def forward(self, x):
        return torch.relu(self.proj(x)) * 2


class Function(nn.Module):
    def __init__(self, function) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def made(build, *shape, **options):
    """Return the factory of a module that is made anew, and of one random input."""
    return lambda: (build(), (torch.randn(*shape, **options),))


def of(function, *shape, **options):
    return made(lambda: Function(function), *shape, **options)


def given(build, *inputs):
    return lambda: (build(), tuple(item() if callable(item) else item for item in inputs))


def small():
    print("this line is not the result")
    return Small().eval(), (torch.randn(8, 64),)


def asks_for_cuda():
    return Small().to("cuda", torch.bfloat16).eval(), (torch.randn(8, 64, device="cuda", dtype=torch.bfloat16),)


rms_norm = of(lambda x: nn.functional.rms_norm(x, (64,)), 8, 64)


class Autocast(Small):
    def forward(self, x):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            y = self.proj(x)
        return y.float().sum()


autocast = made(Autocast, 8, 64)
data_dependent = of(lambda x: (x * 2).nonzero(), 8)
other_device = of(lambda x: torch.einsum("i,i->i", x, torch.arange(8.0)), 8)


@torch.library.custom_op("fxscope_tests::aborts", mutates_args=())
def aborts_op(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


@aborts_op.register_fake
def _(x):
    os.abort()


aborts = of(lambda x: aborts_op(x * 2) + 1, 8)


@torch.library.custom_op("fxscope_tests::unsupported", mutates_args=())
def unsupported_op(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


unsupported = of(lambda x: unsupported_op(x * 2) + 1, 8)


def sleeps():
    time.sleep(600)
    return small()


sparse = given(lambda: Function(lambda x: x * 2), torch.eye(4).to_sparse())
sparse_product = of(
    lambda x: torch.sparse.mm(torch.sparse_coo_tensor([[0], [1]], [2.0], (2, 2), device=x.device), x), 2, 4
)
_indices = torch.tensor([[0, 1], [1, 0]])
sparse_from_indices = of(lambda values: torch.sparse_coo_tensor(_indices, values, (4, 4)) @ values.expand(4, 2), 2)
nothing_to_compile = of(lambda x: x, 3)
sampled = of(lambda x: nn.functional.grid_sample(x, x, align_corners=True), 2, 2, 2, 2, requires_grad=True)


sparse_gradient = given(lambda: nn.Sequential(nn.Embedding(8, 4, sparse=True), nn.ReLU()), torch.arange(4))


def grown_cache(x):
    """A key-value cache begins as an empty tensor, made while the model runs."""
    cache = torch.tensor([], dtype=x.dtype, device=x.device)
    return torch.cat([cache, x.relu()]) * 2


empty_cache = of(grown_cache, 64)
generated = of(lambda x: x + torch.randn(64, generator=torch.Generator(x.device), device=x.device), 64)


def raises():
    raise ValueError("no weights here")


evaluated_inside_of_training = of(nn.Sequential(nn.Linear(64, 64), nn.Dropout(0.5)).eval(), 8, 64)


def training_inside_of_evaluated():
    model = Function(nn.Sequential(nn.Linear(64, 64), nn.Dropout(0.5))).eval()
    model.function.train()
    return model, (torch.randn(8, 64),)


def checked(x):
    y = x.relu() + 1
    if (y > 3).any():
        raise ValueError("too large")
    return y.sigmoid()


checks_its_input = of(checked, 8, 64)


class _Constant(Small):
    def forward(self, x):
        few = torch.tensor([[0.5, 2.0]] * 4, device=x.device).reshape(8, 1)
        many = torch.tensor([float(number) for number in range(64)], device=x.device)
        return torch.where(self.proj(x) > 0, torch.tensor(0.5, device=x.device, dtype=x.dtype), x) * few + many


constant_on_the_device = made(_Constant, 8, 64)
list_index = of(lambda x: x[:, [-2]] * 2, 8, 64)  # Falcon takes heads by a list of one; torch makes a tensor of it.
trained = partial(of, requires_grad=True)
constant_as_tensor = trained(lambda x: x * torch.as_tensor([1.0, 2.0] * 32, device=x.device), 8, 64)
constant_from_the_cpu = trained(lambda x: x * torch.tensor([1.0, 2.0] * 32).to(x.device, torch.float64), 8, 64)


optimizer_step = given(lambda: torch.optim.AdamW(nn.Linear(64, 64).parameters(), lr=1e-3).step)
adagrad = given(lambda: torch.optim.Adagrad(nn.Linear(64, 64).parameters()).step)
optimizer_with_closure = given(lambda: torch.optim.LBFGS(nn.Linear(64, 64).parameters()).step)
distributed = made(lambda: nn.DataParallel(nn.Linear(64, 64)), 8, 64)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(64, 256), nn.Linear(256, 64)

    def forward(self, x):
        return self.down(nn.functional.gelu(self.up(x)))


class Blocks(nn.Module):
    """Two equal modules in a frame that Dynamo gives up: a graph break in a loop. Both run one compiled graph."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(2))

    def forward(self, x):
        for block in self.blocks:
            torch._dynamo.graph_break()
            x = block(x)
        return x


shared_graph = made(Blocks, 8, 64)


class DropoutInPlace(Small):
    def forward(self, x):
        return nn.functional.dropout(self.proj(x), 0.2, True, inplace=True)


class DropsNothing(nn.Module):
    """As the head of a vision transformer: the first token's row goes through a dropout of none."""

    def __init__(self) -> None:
        super().__init__()
        self.proj, self.head = nn.Linear(64, 64), nn.Linear(64, 16)

    def forward(self, x):
        x = nn.functional.dropout(self.proj(x), 0.2, True)
        return self.head(nn.functional.dropout(torch.tanh(x)[:, 0], 0.0, True))


drops_nothing = made(lambda: DropsNothing().to(torch.bfloat16), 8, 4, 64, dtype=torch.bfloat16)
dropout_in_place = made(lambda: DropoutInPlace().to(torch.bfloat16), 8, 64, dtype=torch.bfloat16)


class TwoGraphs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(64, 32), nn.Linear(32, 16)

    def forward(self, x):
        x = torch.relu(self.first(x))
        torch._dynamo.graph_break()
        return torch.tanh(self.second(x))


def convolutions():
    """Inductor computes these channels last, so that the backward reads what is laid out otherwise than was traced."""
    layers = [nn.Conv2d(128, 128, 3, padding=1, bias=False) for _ in range(3)]
    model = nn.Sequential(*(part for layer in layers for part in (layer, nn.ReLU())), nn.AdaptiveAvgPool2d(1))
    return model.to(torch.bfloat16), (torch.randn(4, 128, 12, 12, dtype=torch.bfloat16),)


def tuned():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(768, 2048), nn.GELU(), nn.Linear(2048, 768)).to(torch.bfloat16)
    return model.eval().requires_grad_(False), (torch.randn(1024, 768, dtype=torch.bfloat16),)


def grow(x):
    start = torch.tensor(0, device=x.device), x
    return higher_order.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 1.5 + y.sin()), start)[1]


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.proj = nn.Linear(64, 192)

    def forward(self, x):
        from torch.nn.attention.flex_attention import flex_attention as attend

        q, k, v = self.proj(x).view(2, 128, 3, 1, 64).permute(2, 0, 3, 1, 4).unbind(0)
        return attend(q, k, v, score_mod=lambda score, b, h, i, j: score + (i - j) * 0.1)


while_loop = of(grow, 64, 64)
flex_attention = made(Attention, 2, 128, 64)
eigenvalues = of(lambda a: torch.linalg.eigh(a @ a.t())[0] * 2, 8, 8)
third_smallest = of(lambda a: a.kthvalue(3).values * 2, 4, 8)
hessian = of(torch.func.hessian(lambda a: (a**3).sum()), 8)


def gradient(x):
    return torch.autograd.grad((x**3).sum(), x)[0] * 2


layers = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64))


def halves(x):
    first, second = (layers(part).relu() for part in x.chunk(2))
    torch._dynamo.graph_break()
    (second * 2).sum().backward()
    return first.sigmoid()


def counting(x, steps):
    steps.add_(1)
    layers(x + steps).sum().backward()


training_that_counts = given(lambda: counting, torch.randn(8, 64), torch.zeros(8, 64))
function_of_parameters = given(lambda: lambda x: layers(x).relu(), torch.randn(8, 64))
jacobian_of_parameters = given(lambda: lambda x: torch.func.vmap(torch.func.jacrev(layers))(x) * 2, torch.randn(8, 64))
part_of_a_training = given(lambda: halves, torch.randn(16, 64))
gradient_of_a_function = given(lambda: gradient, torch.randn(8, requires_grad=True))
gradient_without_grad = of(gradient, 8)
forces = of(torch.enable_grad()(lambda x: gradient(x.detach().requires_grad_())), 8)
distances = of(lambda a: torch.nn.functional.pdist(a) * 2, 8, 4)


# The device's fused cell has no shape rule of torch's.
gru_cell = given(lambda: nn.GRUCell(8, 16), torch.randn(2, 8), torch.randn(2, 16))


def attend_rows(rows):
    heads = rows.unflatten(-1, (4, 16)).transpose(1, 2)
    return nn.functional.scaled_dot_product_attention(heads, heads, heads, is_causal=True).values() * 2


_rows = [torch.randn(count, 64) for count in (5, 15, 20)]
nested = given(lambda: Function(lambda x: x * 2), partial(torch.nested.nested_tensor, _rows))
_jagged = partial(torch.nested.nested_tensor, _rows, layout=torch.jagged)
jagged = given(lambda: Function(attend_rows), _jagged)
jagged_half = given(lambda: Function(attend_rows), partial(_jagged, dtype=torch.bfloat16, requires_grad=True))
jagged_without_lengths = given(
    lambda: Function(lambda x, ends: nn.functional.layer_norm(torch.nested.nested_tensor_from_jagged(x, ends), (64,))),
    *(torch.randn(40, 64), torch.tensor([0, 5, 20, 40])),
)


def sum_of_products():
    left, right = torch.randn(64, 128), torch.randn(128, 256)
    return Function(lambda x, w, h, u: x @ w + h @ u), (left, right, left.clone(), right.clone())


def scanned():
    function = Function(lambda x, xs: higher_order.scan(lambda c, y: (c * 0.9 + y, c * 2), x, xs))
    return function, (torch.randn(16), torch.randn(8, 16))
