"""Programs of every kind that PyTorch runs, each a public function: what observing must leave exactly as it is.

    python any_programs.py plain|observed RESULT.json [NAME …]

runs each one (or those that are named) and writes, as a line of JSON each, what it returned, printed and warned, what it did
to the random state, and the exception it ended in. `tests/capture/test_any_program.py` holds the two to be equal.
"""

import contextlib
import gzip
import hashlib
import inspect
import json
import os
import random
import re
import sys
import tempfile
import threading
import warnings
import zipfile
from pathlib import Path
from typing import Any

import torch
from torch import _higher_order_ops as higher_order, nn
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode


def _mlp(width: int = 8) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, 16), nn.GELU(), nn.Dropout(0.1), nn.Linear(16, width))


# ---------------------------------------------------------------------- higher-order ops


def cond_training():
    x = torch.randn(4, 4, requires_grad=True)
    torch.cond(x.sum() > 0, lambda x: x.sin() * 2, lambda x: x.cos() * 3, (x,)).sum().backward()
    return x.grad


def cond_compiled():
    @torch.compile(backend="aot_eager", fullgraph=True)
    def function(x):
        return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,)) + 1

    return function(torch.randn(4, 4))


def flex_attention_masked_training():
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    q, k, v = (torch.randn(1, 2, 128, 8, requires_grad=True) for _ in range(3))
    mask = create_block_mask(lambda b, h, i, j: i >= j, 1, None, 128, 128, device="cpu")
    flex_attention(q, k, v, block_mask=mask).sum().backward()
    return q.grad, k.grad, v.grad


def checkpoint():
    from torch.utils.checkpoint import checkpoint as again

    model, x = _mlp(), torch.randn(2, 8, requires_grad=True)
    again(model, x, use_reentrant=False).sum().backward()
    again(model, x, use_reentrant=True).sum().backward()
    return x.grad, [p.grad for p in model.parameters()]


def checkpoint_selective():
    from torch.utils.checkpoint import CheckpointPolicy, checkpoint as again, create_selective_checkpoint_contexts

    def policy(_, op, *__, **___):
        return CheckpointPolicy.MUST_SAVE if op is torch.ops.aten.addmm.default else CheckpointPolicy.PREFER_RECOMPUTE

    model, x = _mlp(), torch.randn(2, 8, requires_grad=True)
    again(
        model, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(policy)
    ).sum().backward()
    return x.grad


def saved_tensor_hooks():
    x = torch.randn(4, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.half(), lambda t: t.float()):
        y = (x.sin() * x).sum()
    with torch.autograd.graph.save_on_cpu():
        z = (x.cos() * x).sum()
    (y + z).backward()
    return x.grad


# ---------------------------------------------------------------------- subclasses and layouts


class Logged(torch.Tensor):
    """A subclass with `__torch_function__`."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        print("function", func.__name__)
        return super().__torch_function__(func, types, args, kwargs)


class Wrapped(torch.Tensor):
    """A wrapper subclass with `__torch_dispatch__`, that must meet every op."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, dtype=inner.dtype, requires_grad=inner.requires_grad
        )

    def __init__(self, inner):
        self.inner = inner

    def __repr__(self):
        return f"Wrapped({self.inner})"

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        print("dispatch", func)
        from torch.utils._pytree import tree_map_only

        out = func(*tree_map_only(cls, lambda t: t.inner, args), **tree_map_only(cls, lambda t: t.inner, kwargs or {}))
        return tree_map_only(torch.Tensor, cls, out)


def subclass_function():
    x = torch.randn(3).as_subclass(Logged)
    return (x.relu() + 1).as_subclass(torch.Tensor)


def subclass_dispatch():
    x, y = Wrapped(torch.randn(3, 3)), torch.randn(3, 3)
    return ((x @ y).relu() + x).inner


def subclass_training():
    model = nn.Linear(4, 4)
    model.weight = nn.Parameter(Wrapped(torch.randn(4, 4)))
    out = model(torch.randn(2, 4))
    out.sum().backward()
    return out.inner, model.weight.grad.inner, model.bias.grad


def nested_jagged():
    x = torch.nested.nested_tensor([torch.randn(2, 4), torch.randn(3, 4)], layout=torch.jagged)
    return nn.Linear(4, 4)(x).relu().values(), (x * 2).sum(-1).values()


def nested_jagged_training():
    parts = [torch.randn(2, 4, requires_grad=True), torch.randn(3, 4, requires_grad=True)]
    x = torch.nested.as_nested_tensor(parts, layout=torch.jagged)
    functional.layer_norm(nn.Linear(4, 4)(x), (4,)).values().sum().backward()
    return [part.grad for part in parts]


def sparse_coo():
    x = torch.eye(4).to_sparse().requires_grad_()
    y = torch.sparse.mm(x, torch.randn(4, 2, requires_grad=True))
    y.sum().backward()
    return y, x.grad.to_dense(), (torch.eye(4).to_sparse() + torch.eye(4).to_sparse()).coalesce().values()


def sparse_embedding():
    model = nn.EmbeddingBag(10, 4, sparse=True)
    optimizer = torch.optim.SparseAdam(model.parameters())
    model(torch.tensor([[1, 2], [3, 1]])).sum().backward()
    optimizer.step()
    return model.weight, model.weight.grad.to_dense()


def complex_numbers():
    x = torch.randn(4, dtype=torch.complex64, requires_grad=True)
    torch.fft.fft(x).abs().sum().backward()
    return torch.view_as_real(x.grad), torch.view_as_real(x.conj().resolve_conj())


def fake_tensors():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        y = nn.Linear(8, 4)(torch.randn(2, 8))
    return str(tuple(y.shape)), type(y).__name__


# ---------------------------------------------------------------------- functorch


def func_grad_vmap():
    from torch.func import functional_call, grad, vmap

    model = nn.Linear(3, 1)
    parameters = dict(model.named_parameters())

    def loss(p, x):
        return functional_call(model, p, (x,)).sum() ** 2

    return vmap(grad(loss), in_dims=(None, 0))(parameters, torch.randn(5, 3))


def func_jacobians():
    from torch.func import hessian, jacfwd, jacrev, jvp

    def function(x):
        return (x.sin() * x).sum() + x.prod()

    x = torch.randn(3)
    return hessian(function)(x), jacrev(function)(x), jacfwd(function)(x), jvp(function, (x,), (torch.ones(3),))


def forward_ad():
    import torch.autograd.forward_ad as fwad

    with fwad.dual_level():
        x = fwad.make_dual(torch.randn(3), torch.ones(3))
        return fwad.unpack_dual(x.sin()).tangent


# ---------------------------------------------------------------------- autograd


def autograd_function():
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * grad

    x = torch.randn(3, requires_grad=True)
    Cube.apply(x).sum().backward()
    return x.grad, torch.autograd.gradcheck(Cube.apply, torch.randn(3, dtype=torch.double, requires_grad=True))


def double_backward():
    x = torch.randn(3, requires_grad=True)
    (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    first.sum().backward()
    return x.grad


def hooks_everywhere():
    model, x = _mlp(), torch.randn(2, 8, requires_grad=True)
    model[0].register_forward_hook(lambda m, i, o: o * 2)
    model[3].register_forward_pre_hook(lambda m, i: (i[0] + 1,))
    model[3].register_full_backward_hook(lambda m, gi, go: tuple(g * 2 for g in gi))
    model[0].weight.register_post_accumulate_grad_hook(lambda p: print("accumulated", tuple(p.shape)))
    x.register_hook(lambda g: g + 1)
    model(x).sum().backward()
    return x.grad, model[0].weight.grad, len(model[0]._forward_hooks)


def anomaly_mode():
    with torch.autograd.detect_anomaly(check_nan=True):
        x = torch.tensor([0.0], requires_grad=True)
        (x.sqrt() * 0).sum().backward()


def inplace_error():
    x = torch.randn(3, requires_grad=True)
    y = x.exp()
    y.add_(1)
    y.sum().backward()


# ---------------------------------------------------------------------- modes


class Loud(TorchDispatchMode):
    """A mode of the program's own."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        print(func)
        return func(*args, **(kwargs or {}))


def own_dispatch_mode():
    with Loud():
        return _mlp()(torch.randn(2, 8)).shape


def own_function_mode():
    from torch.overrides import TorchFunctionMode

    class Loud(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            if func.__name__ != "__get__":  # torch's tracer reads the gradients of an optimizer
                print(func.__name__)
            return func(*args, **(kwargs or {}))

    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters())
    with Loud():
        model(torch.randn(2, 3).relu() + 1).sum().backward()
        optimizer.step()
    return model.weight


def flop_counter():
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        _mlp()(torch.randn(2, 8)).sum().backward()
    return counter.get_total_flops()


def deterministic_mode():
    torch.use_deterministic_algorithms(True)
    try:
        return torch.zeros(4).index_add_(0, torch.tensor([0, 0, 1]), torch.randn(3)), torch.empty(2)
    finally:
        torch.use_deterministic_algorithms(False)


def make_fx_traces():
    from torch.fx.experimental.proxy_tensor import make_fx

    graph = make_fx(lambda x: (x.sin() + 1).sum(), tracing_mode="symbolic")(torch.randn(3))
    return graph.code, graph(torch.ones(3))


def mode_left_open():
    mode = Loud()
    mode.__enter__()
    CLEANUP.append(lambda: mode.__exit__(None, None, None))
    return torch.randn(2) + 1


CLEANUP: list[Any] = []  # what a program left open on purpose, ended after the recording


# ---------------------------------------------------------------------- compilers


def compiled_training():
    model = torch.compile(_mlp(), backend="aot_eager")
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(2, 8)).square().mean().backward()
        optimizer.step()
    return list(model.parameters())


def compiled_graph_break():
    @torch.compile(backend="eager")
    def function(x):
        y = x + 1
        print("in the middle", int(y.numel()))
        return y * 2

    return function(torch.randn(3))


def compiled_own_backend():
    seen = []

    def backend(graph, inputs):
        seen.append([node.op for node in graph.graph.nodes])
        return graph.forward

    return torch.compile(lambda x: x.sin() + 1, backend=backend)(torch.ones(3)), seen


def compiled_autograd():
    import torch._dynamo.compiled_autograd

    model, x = nn.Linear(4, 4), torch.ones(2, 4)
    with torch._dynamo.compiled_autograd._enable(torch.compile(backend="eager")):
        model(x).sum().backward()
    return model.weight.grad


def export_strict_dynamic():
    batch = torch.export.Dim("batch", min=2)
    exported = torch.export.export(_mlp().eval(), (torch.randn(4, 8),), dynamic_shapes=({0: batch},), strict=True)
    decomposed = exported.run_decompositions()
    return decomposed.module()(torch.ones(3, 8))


def aot_inductor_package():
    x = torch.randn(2, 8)
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        exported = torch.export.export(_mlp().eval(), (x,))
        path = torch._inductor.aoti_compile_and_package(
            exported,
            package_path=f"{folder}/model.pt2",
            inductor_configs={"aot_inductor.compile_wrapper_opt_level": "O0"},
        )
        with zipfile.ZipFile(path) as archive:
            code = {name.rpartition(".")[0][-8:]: archive.read(name) for name in archive.namelist() if ".cpp" in name}
        # Names of the files hold a hash of the folder; what a kernel is compiled from is the program's alone.
        lines = sorted(line for text in code.values() for line in text.decode().splitlines() if "fused" in line)
        return torch._inductor.aoti_load_package(path)(x), lines, "RecordFunction" in str(code)


def jit_script_trace():
    scripted = torch.jit.script(nn.Linear(4, 4))
    traced = torch.jit.trace(_mlp().eval(), torch.ones(1, 8))
    return scripted(torch.ones(2, 4)), traced(torch.ones(1, 8)), str(scripted.graph)


def fx_symbolic_trace():
    traced = torch.fx.symbolic_trace(_mlp().eval())
    return traced.code, traced(torch.ones(1, 8)), torch.fx.Interpreter(traced).run(torch.ones(1, 8))


def custom_op():
    @torch.library.custom_op("anyprog::triple", mutates_args=())
    def triple(x: torch.Tensor) -> torch.Tensor:
        return x * 3

    @triple.register_fake
    def _(x):
        return torch.empty_like(x)

    triple.register_autograd(lambda ctx, grad: grad * 3)
    x = torch.randn(3, requires_grad=True)
    triple(x).sum().backward()
    return (
        x.grad,
        torch.compile(lambda x: triple(x) + 1, backend="aot_eager")(torch.ones(3)),
        torch.library.opcheck(triple, (torch.ones(2),)),
    )


def old_library_op():
    library = torch.library.Library("anyprog_old", "FRAGMENT")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x + x, "CompositeExplicitAutograd")
    CLEANUP.append(library._destroy)
    return torch.ops.anyprog_old.twice(torch.randn(3))


# ---------------------------------------------------------------------- training


def optimizers():
    results = []
    for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.Adagrad, torch.optim.RMSprop, torch.optim.LBFGS):
        model = nn.Linear(3, 1)
        optimizer = kind(model.parameters(), lr=0.01)

        def closure(model=model, optimizer=optimizer):
            optimizer.zero_grad()
            loss = model(torch.ones(2, 3)).square().mean()
            loss.backward()
            return loss

        for _ in range(3):
            optimizer.step(closure)
        results.append(model.weight)
    return results


def autocast_and_scaler():
    model, scaler = _mlp(), torch.amp.GradScaler("cpu")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = model(torch.randn(2, 8)).square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    return list(model.parameters()), scaler.get_scale()


def recurrent_and_conv():
    lstm, conv = (
        nn.LSTM(4, 8, 2, bidirectional=True),
        nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.MaxPool2d(2)),
    )
    packed = nn.utils.rnn.pack_padded_sequence(torch.randn(5, 2, 4), [5, 3])
    image = conv(torch.randn(2, 3, 8, 8))
    image.sum().backward()
    return lstm(packed)[0].data, image, conv[1].running_mean, conv[0].weight.grad


def lazy_modules():
    model = nn.Sequential(nn.LazyLinear(4), nn.LazyBatchNorm1d())
    return model(torch.randn(3, 5)), repr(model)


def data_loader():
    data = torch.utils.data.TensorDataset(torch.arange(10.0))
    loader = torch.utils.data.DataLoader(data, batch_size=3, shuffle=True)
    return [batch[0] for batch in loader]


# ---------------------------------------------------------------------- Python around it


def _in_a_thread(work):
    worker = threading.Thread(target=work)
    worker.start()
    worker.join()


def thread_pool_training():
    from concurrent.futures import ThreadPoolExecutor

    def work(seed):
        generator = torch.Generator().manual_seed(seed)
        weight = torch.randn(3, 3, generator=generator, requires_grad=True)
        (weight @ weight).sum().backward()
        return weight.grad

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(work, range(4)))


def asyncio_program():
    import asyncio

    async def work(x):
        await asyncio.sleep(0)
        return x.sin()

    async def main():
        return await asyncio.gather(*(work(torch.full((2,), float(i))) for i in range(3)))

    return asyncio.run(main())


def save_and_load():
    with tempfile.TemporaryDirectory() as folder:
        model = _mlp()
        torch.save(model, str(Path(folder, "model.pt")))
        torch.save(model.state_dict(), str(Path(folder, "state.pt")))
        again = torch.load(str(Path(folder, "model.pt")), weights_only=False)
        digest = hashlib.sha256(Path(folder, "state.pt").read_bytes()).hexdigest()
        return again.eval()(torch.ones(1, 8)), digest, repr(again)


def numpy_and_dlpack():
    x = torch.randn(4)
    x.numpy()[0] = 5
    return x, torch.from_dlpack(x) + 1, torch.tensor(memoryview(bytearray(b"1234")), dtype=torch.uint8)


def warns_and_prints():
    warnings.warn("a warning of the program's", stacklevel=1)
    print("out")
    print("err", file=sys.stderr)
    return torch.randn(3).view(3).T


def raises():
    raise ValueError(f"of the program's own: {torch.ones(2).sum().item()}")


def finalisers():
    import weakref

    x = torch.randn(3)
    weakref.finalize(x, print, "gone")
    y = x * 2
    del x
    print("after")
    return y


def tensor_set_and_data():
    x = torch.ones(3)
    x.data = torch.randn(2)
    y = torch.randn(2, requires_grad=True)
    y.data.mul_(2)
    with torch.no_grad():
        y.swapaxes(0, 0)
    return x, y.detach(), x._version, y._version


def _ops_of(work, **options):
    with torch.profiler.profile(**options) as profile:
        work()
    return sorted({event.name for event in profile.events() if event.name.startswith("aten::")})


def profiler_of_its_own():
    return _ops_of(lambda: torch.randn(4, 4) @ torch.randn(4, 4), record_shapes=True)


def _scheduled(steps, handle=None, **schedule):
    handled = []
    with torch.profiler.profile(
        schedule=torch.profiler.schedule(**schedule), on_trace_ready=handle or (lambda p: handled.append(p.step_num))
    ) as profile:
        for _ in range(steps):
            torch.ones(3).sin()
            profile.step()
    return handled


def _in_trace(path):
    """What a program sees of a trace that it wrote."""
    data = Path(path).read_bytes()
    trace = json.loads(gzip.decompress(data) if str(path).endswith(".gz") else data)
    names = sorted(event.get("name", "") for event in trace["traceEvents"] if event.get("cat") == "cpu_op")
    return names, sorted(trace), trace.get("key"), trace.get("traceName") == str(path)


def _profiled(write, **options):
    with tempfile.TemporaryDirectory() as folder:
        with torch.profiler.profile(**options) as profile:
            profile.add_metadata("key", "value")
            torch.ones(3).sin()
        results = write(profile, Path(folder))
        return results, [_in_trace(path) for path in sorted(Path(folder).rglob("*.json*"))]


def profiler_writes_for_tensorboard():
    with tempfile.TemporaryDirectory() as folder:
        handlers = [torch.profiler.tensorboard_trace_handler(folder, "me", use_gzip=use) for use in (False, True)]
        _scheduled(9, lambda p: handlers.pop()(p), wait=1, warmup=1, active=2, repeat=2)
        return [_in_trace(path)[0] for path in sorted(Path(folder).iterdir(), key=lambda path: path.suffix)]


def profiler_writes_what_python_exports():
    def write(profile, folder):
        if "use_python_export" in inspect.signature(profile.export_chrome_trace).parameters:
            profile.export_chrome_trace(str(folder / "python.json"), use_python_export=True)
        profile.export_chrome_trace(str(folder / "kineto.json"))

    return _profiled(write)


def profiler_writes_where_it_cannot():
    results = []
    for path in ("/nowhere/at/all.json", "/nowhere/at/all.json.gz", tempfile.gettempdir()):
        with torch.profiler.profile() as profile:
            torch.ones(3).sin()
        try:
            profile.export_chrome_trace(path)
        except Exception as error:
            results.append((type(error).__name__, str(error)))
    return results


def profiler_of_nothing_comes_first():
    with torch.profiler.profile():
        pass
    torch.ones(3).cos()
    return profiler_of_its_own()


def profiler_in_a_program_that_fails():
    profile = torch.profiler.profile()
    try:
        with profile:
            torch.ones(3).sin()
            raise KeyError("theirs")
    except KeyError as error:
        return str(error), len(profile.key_averages()) > 0


def profiler_only_traces():
    try:
        config = torch._C._profiler._ExperimentalConfig(trace_only=True)
    except TypeError:  # not in this torch
        return None
    return _profiled(
        lambda profile, folder: profile.export_chrome_trace(str(folder / "a.json")), experimental_config=config
    )


def autograd_profiler_writes():
    with tempfile.TemporaryDirectory() as folder:
        with torch.autograd.profiler.profile(record_shapes=True) as profile:
            torch.ones(3).sin()
        profile.export_chrome_trace(str(Path(folder, "a.json")))
        names = sorted({event.name for event in profile.function_events if event.name.startswith("aten::")})
        return names, _in_trace(Path(folder, "a.json"))


def profiler_nested():
    try:
        with torch.profiler.profile(), torch.profiler.profile():
            torch.ones(3).sin()
    except Exception as error:
        return type(error).__name__, str(error)
    return "fine"


def profiler_left_open():
    profile = torch.profiler.profile()
    profile.start()
    CLEANUP.append(profile.stop)
    return torch.ones(3).sin()


def profiler_in_a_thread():
    names = []
    _in_a_thread(lambda: names.append(_ops_of(lambda: torch.ones(3).sin())))
    return names


def profiler_of_all_threads():
    config = torch._C._profiler._ExperimentalConfig(profile_all_threads=True)
    return _ops_of(lambda: _in_a_thread(lambda: torch.ones(2).cos()), experimental_config=config)


def profiler_legacy():
    with torch.autograd.profiler_legacy.profile() as profile:
        torch.ones(2).sin()
    return sorted({event.name for event in profile.function_events})


def profiler_of_itt():
    with torch.autograd.profiler.emit_itt():
        return torch.ones(2).sin()


def profiler_that_ends_any_other():
    if torch.autograd._profiler_enabled():  # as PyTorch Lightning does
        torch.autograd._disable_profiler()
    return profiler_of_its_own()


def optimizer_in_backward():
    model = _mlp()
    optimizers = {parameter: torch.optim.SGD([parameter], lr=0.1) for parameter in model.parameters()}
    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(lambda p: (optimizers[p].step(), optimizers[p].zero_grad()))
    for _ in range(12):
        model(torch.ones(2, 8)).sum().backward()
    return list(model.parameters()), profiler_of_its_own()


def raises_in_backward():
    class Raises(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            raise ZeroDivisionError("of the program's own")

    x = torch.randn(3, requires_grad=True)
    with contextlib.suppress(ZeroDivisionError):
        Raises.apply(x).sum().backward()
    (x * 3).sum().backward()
    return x.grad


def warnings_are_said_once():
    with warnings.catch_warnings(record=True) as caught:
        warnings.resetwarnings()
        parameter = nn.Parameter(torch.ones(3))
        optimizer = torch.optim.SGD([parameter], lr=0.1)
        for _ in range(12):  # some of them after the observation
            warnings.warn("at one line", stacklevel=1)
            (parameter * parameter).sum().backward()
            optimizer.step()
    return [str(warning.message) for warning in caught]


def record_function_names():
    with torch.profiler.record_function("mine"), torch.profiler.record_function("größer → 1"):
        return torch.ones(3).sin()


def trace_function():
    events = []
    sys.settrace(lambda frame, event, arg: events.append(event))
    try:
        torch.ones(3).sin()
    finally:
        sys.settrace(None)
    return sys.gettrace() is None


def distributed_gloo_one():
    import torch.distributed as dist

    dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    try:
        model = nn.parallel.DistributedDataParallel(_mlp())
        model(torch.randn(2, 8)).sum().backward()
        x = torch.ones(3)
        dist.all_reduce(x)
        return x, [p.grad for p in model.parameters()]
    finally:
        dist.destroy_process_group()


@contextlib.contextmanager
def _fake_mesh():
    import torch.distributed as dist
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
    try:
        yield dist.device_mesh.init_device_mesh("cpu", (2,))
    finally:
        dist.destroy_process_group()


def fsdp_fake():
    from torch.distributed.fsdp import fully_shard

    with _fake_mesh() as mesh:
        model = _mlp()
        fully_shard(model, mesh=mesh)
        model(torch.randn(2, 8)).sum().backward()
        return [tuple(p.grad.to_local().shape) for p in model.parameters()]


def dtensor_fake():
    from torch.distributed.tensor import DTensor, Replicate, Shard

    with _fake_mesh() as mesh:
        # Nothing is sent: with this backend what is received is whatever was in that memory.
        x = DTensor.from_local(torch.ones(2, 4), mesh, [Shard(0)], run_check=False)
        w = DTensor.from_local(torch.ones(4, 4), mesh, [Replicate()], run_check=False)
        return (x @ w).to_local(), str((x @ w).placements)


# Programs of one expression.
EXPRESSIONS = {
    "cond_eager": lambda: torch.cond(
        torch.tensor(True), lambda x: x.sin() @ x, lambda x: x.cos(), (torch.randn(4, 4),)
    ),
    "while_loop": lambda: higher_order.while_loop(
        lambda i, x: i < 4, lambda i, x: (i + 1, x.sin() + i), (torch.tensor(0), torch.randn(3))
    ),
    "scan": lambda: higher_order.scan(
        lambda carry, x: (carry + x, carry * x), torch.zeros(3), torch.randn(5, 3), dim=0
    ),
    "associative_scan": lambda: higher_order.associative_scan(
        lambda a, b: a + b, torch.randn(8, 2), dim=0, combine_mode="generic"
    ),
    "map_over": lambda: higher_order.map(lambda x, y: x.sin() + y, torch.randn(3, 2), torch.randn(2)),
    "func_functionalize": lambda: torch.func.functionalize(lambda x: x.clone().add_(1).view(-1).mul_(2))(
        torch.randn(2, 2)
    ),
    "func_vmap_random": lambda: torch.func.vmap(lambda x: x + torch.randn(2), randomness="different")(
        torch.zeros(3, 2)
    ),
    "compiled_inductor": lambda: torch.compile(nn.Sequential(nn.Linear(4, 4), nn.ReLU()))(torch.ones(2, 4)),
    "quantised_dynamic": lambda: torch.ao.quantization.quantize_dynamic(_mlp().eval(), {nn.Linear}, dtype=torch.qint8)(
        torch.ones(2, 8)
    ),
    "sparse_csr": lambda: torch.eye(4).to_sparse_csr() @ torch.randn(4, 2),
    "nested_strided": lambda: (torch.nested.nested_tensor([torch.randn(2, 4), torch.randn(3, 4)]) * 2).to_padded_tensor(
        0.0
    ),
    "parametrisations": lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4))(torch.randn(2, 4)),
    "meta_device": lambda: str(nn.Linear(2, 2, device="meta").to_empty(device="cpu").weight.shape),
    "foreach_ops": lambda: torch._foreach_norm(torch._foreach_mul([torch.randn(3) for _ in range(3)], 2.0)),
    "linear_algebra": lambda: torch.linalg.solve(torch.randn(4, 4), torch.linalg.svd(torch.randn(4, 4)).S),
    "raises_in_an_op": lambda: torch.randn(2, 3) @ torch.randn(2, 3),
    "out_of_memory": lambda: torch.empty(1 << 60),
    "profiler_ends_in_warmup": lambda: _scheduled(5, wait=1, warmup=1, active=2),
    "profiler_ends_in_wait": lambda: _scheduled(4, wait=3, warmup=1, active=1),
    "profiler_ends_while_active": lambda: _scheduled(4, wait=1, warmup=1, active=5),
    "profiler_repeats": lambda: _scheduled(9, wait=1, warmup=1, active=1, repeat=3),
    "profiler_skip_first": lambda: _scheduled(6, wait=0, warmup=1, active=1, skip_first=2, repeat=1),
    "profiler_writes_an_archive": lambda: _profiled(
        lambda profile, folder: profile.export_chrome_trace(str(folder / "a.json.gz"))
    ),
    "strange_shapes": lambda: (
        torch.randn(0, 4).sum(),
        torch.tensor(3.0).expand(2, 0),
        torch.randn(2, 3).as_strided((2, 2), (1, 1)),
        torch.tensor(1) << 3,
    ),
    "random_everywhere": lambda: (
        torch.randn(2),
        torch.bernoulli(torch.full((4,), 0.5)),
        torch.randperm(5),
        torch.multinomial(torch.ones(4), 2),
        random.random(),
    ),
}


PROGRAMS = EXPRESSIONS | {
    name: item
    for name, item in globals().items()
    if inspect.isfunction(item) and item.__module__ == __name__ and not name.startswith("_")
}


# ---------------------------------------------------------------------- the driver


def plainly(value: Any) -> Any:
    """Return a value as JSON that is equal only where every bit is."""
    if isinstance(value, torch.Tensor):
        data = value.detach()
        if data.layout is not torch.strided or data.is_quantized or data.is_nested:
            return [type(value).__name__, str(data.layout), str(data)]
        if type(data) is not torch.Tensor and not isinstance(data, nn.Parameter):
            return [type(value).__name__, str(tuple(data.shape))]
        raw = data.contiguous().resolve_conj().view(-1)
        raw = raw.view(torch.uint8) if raw.numel() else raw
        return [
            str(value.dtype),
            list(value.shape),
            list(value.stride()),
            value.requires_grad,
            raw.numpy().tobytes().hex(),
        ]
    if isinstance(value, (list, tuple)):
        return [plainly(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plainly(item) for key, item in value.items()}
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


@contextlib.contextmanager
def streams_kept(kept: dict[str, str]):
    """Put what goes to the two streams, of Python and of C++, into `kept`."""
    moved = []
    for name, number, stream in (("out", 1, sys.stdout), ("err", 2, sys.stderr)):
        stream.flush()
        file = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed below
        moved.append((name, number, stream, file, os.dup(number)))
        os.dup2(file.fileno(), number)
    try:
        yield
    finally:
        for name, number, stream, file, before in moved:
            stream.flush()
            os.dup2(before, number)
            os.close(before)
            file.seek(0)
            kept[name] = re.sub(r"^\[W\d+ [\d:.]+ ", "[W ", file.read(), flags=re.MULTILINE)  # C++ says when
            file.close()


def run_one(name: str, how: str) -> dict[str, Any]:
    torch._dynamo.reset()
    random.seed(0)
    torch.manual_seed(0)
    done: dict[str, Any] = {"value": None, "error": None}

    def call() -> None:
        try:
            done["value"] = PROGRAMS[name]()
        except Exception as error:
            done["error"] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            raise

    with streams_kept(done), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        recorder: Any = contextlib.nullcontext()
        if how == "observed":
            import fxscope

            recorder = fxscope.record(title=name)
        try:
            with recorder:
                call()
        except Exception as error:
            done["left"] = f"{type(error).__name__}: {error}"  # the observed program's own, or it should be
        if how == "observed" and recorder.recording is not None:
            done["problems"] = [f"{problem.where}: {problem.message}" for problem in recorder.recording.problems]
            done["nodes"] = sum(len(graph.nodes) for graph in recorder.recording.graphs)
    with streams_kept({}):
        done["value"] = plainly(done["value"])  # a subclass may print
    for end in CLEANUP:
        with contextlib.suppress(Exception):
            end()
    CLEANUP.clear()
    done["warnings"] = [str(warning.message) for warning in caught]
    done["random"] = [random.random(), plainly(torch.get_rng_state())[-1]]
    done["state"] = [
        torch.is_grad_enabled(),
        torch.utils._python_dispatch._get_current_dispatch_mode() is None,
        torch._C._autograd._profiler_enabled(),
    ]
    return done


def main() -> None:
    import torch._inductor.compile_fx  # warns, once, of what it uses

    how, path, *names = sys.argv[1:]
    torch.set_num_threads(1)
    for name in names or PROGRAMS:
        result = run_one(name, how)
        with Path(path).open("a") as file:  # one line each: a crash costs one program
            file.write(json.dumps({"name": name, **result}) + "\n")


if __name__ == "__main__":
    main()
