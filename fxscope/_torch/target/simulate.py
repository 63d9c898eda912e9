"""The GPU that is not there: Inductor writes its CUDA code for a device described by `gpus/NAME.json`.

    with planning(gpus.load("h200")) as plan:
        compile_for_target(module, inputs, plan)

Tensors are fake, on device `cuda:0`; the file answers torch's questions about the device; nothing is launched, and no driver
is needed. The patches are global and a mistake in them can abort the process: this runs in a child process (`child.py`). The
modules of this folder need only torch, Triton and msgspec, so that `tools/zoo.py` runs where the other packages are missing.
"""

import contextlib
import os
import types
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.nested._internal.nested_tensor import NestedTensor
from torch.utils._python_dispatch import is_traceable_wrapper_subclass
from torch.utils._pytree import tree_leaves, tree_map, tree_map_only

from fxscope._torch.inductor import current_compile_id
from fxscope._torch.target import decisions, device as fake_device, sdpa, training
from fxscope._torch.target.plan import Plan, PlanError
from fxscope._torch.target.reached import reached
from fxscope._torch.target.values import Values
from fxscope.gpus import Gpu

# Inductor's switches whose outcome a benchmark decides, and nothing is known of how (`decisions.py` has others).
BENCHMARKED = ("benchmark_combo_kernel", "triton.multi_kernel", "force_pointwise_cat_autotune")


@contextlib.contextmanager
def planning(gpu: Gpu) -> Generator[Plan]:
    """Pretend, for the duration of a `with` block, that a GPU is this machine's."""
    plan = Plan(gpu)
    original: Any = NestedTensor.__tensor_unflatten__

    def unflatten(parts: Any, meta: Any, size: Sequence[Any], stride: Any) -> Any:  # fake offsets take no lengths
        return original(parts, meta, [None if type(item) is int else item for item in size], stride)

    jagged_results = mock.patch.object(NestedTensor, "__tensor_unflatten__", staticmethod(unflatten))
    with fake_device.device(plan), sdpa.choice(plan), _no_launch(plan), _shapes_from_cpu(plan), jagged_results:
        yield plan


def asking_autograd(plan: Plan, note: Callable[[str], None]) -> AbstractContextManager[Any]:
    """Note each backward that the program runs (`torch.autograd.grad`, `Tensor.backward`, `torch.func.grad`)."""
    original: Any = torch.autograd._engine_run_backward

    def run(*args: Any, **kwargs: Any) -> Any:
        note("torch.autograd")
        if not plan.on_cpu:
            plan.needs_cpu = True  # it is planned again
            raise PlanError("autograd cannot run on a device that is not there")
        return original(*args, **kwargs)

    return mock.patch.object(torch.autograd, "_engine_run_backward", run)


def _shapes_from_cpu(plan: Plan) -> AbstractContextManager[Any]:
    """Ask the CPU's kernel for the results of an op without a shape rule: torch would run it on zeros on the device."""
    import torch._subclasses.fake_tensor as fake

    original: Any = fake.run_fallback_kernel

    def run(mode: Any, func: Any, arguments: Sequence[Any], spec: Any, error: Exception) -> Any:
        def moved(value: Any, device: str) -> Any:
            is_dense = isinstance(value, torch.Tensor) and value.layout is torch.strided
            return _fake(value, mode, device) if is_dense else value

        if func._schema.is_mutable or not any(isinstance(item, FakeTensor) and item.is_cuda for item in arguments):
            return original(mode, func, arguments, spec, error)
        try:
            result = original(mode, func, [moved(item, "cpu") for item in arguments], spec, error)
        except NotImplementedError:
            is_sparse = any(isinstance(item, FakeTensor) and item.layout is not torch.strided for item in arguments)
            what = "its tensors must be dense" if is_sparse else "torch runs it on the device to find its shape"
            advice = "Leave it out of the graph (torch.compiler.disable), or write it in other ops"
            raise PlanError(f"{func} cannot be planned: {what}. {advice}.") from None
        plan.assume("shape", f"{func}: the results have the shapes of a CPU's", "torch runs it on the device for them")
        return tree_map(lambda item: moved(item, "cuda"), result)

    return mock.patch.object(fake, "run_fallback_kernel", run)


@contextlib.contextmanager
def _no_launch(plan: Plan) -> Generator[None]:
    """Stop after the code is written: a module that returns fake outputs takes the place of the compiled one."""
    from torch._inductor import compile_fx
    from torch._inductor.graph import GraphLowering

    original: Any = compile_fx.fx_codegen_and_compile

    def compile_graph(module: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(module, *args, **kwargs)
        if not plan.cudagraphs:  # else torch captures, part by part
            placeholders = torch._inductor.cudagraph_utils.get_placeholder_info(module.graph)
            static, mutated = kwargs.get("static_input_idxs") or (), result.mutated_input_idxs
            is_backward = kwargs.get("is_backward", False)
            capture(None, static, is_backward=is_backward, placeholders=placeholders, mutated_input_idxs=mutated)
            if result.disabled_cudagraphs_reason:
                plan.cudagraph_skips.setdefault(current_compile_id(), result.disabled_cudagraphs_reason)
        return result

    def capture(model: Any, static_input_idxs: Sequence[int] = (), **known: Any) -> Any:
        plan.parts[current_compile_id()].append(types.SimpleNamespace(static_input_idxs=static_input_idxs, **known))
        return model

    def compile_to_module(lowering: Any) -> Any:
        plan.progress(f"writing the kernels of graph {lowering.graph_id if lowering.graph_id is not None else ''}")
        code, _ = lowering.codegen()
        is_ahead = lowering.is_backward and torch._functorch.config.force_non_lazy_backward_lowering
        (plan.ahead if is_ahead else plan.lowered).append(code.value)
        graph_module, compile_id = lowering.orig_gm, current_compile_id()
        names = [node.name for node in graph_module.graph.find_nodes(op="placeholder")]

        def call(arguments: list[Any]) -> Any:
            values = list(arguments)
            arguments.clear()
            is_replayed = plan.ran(compile_id, dict(zip(names, values, strict=True)), is_backward=lowering.is_backward)
            mode: Any = torch._guards.detect_fake_mode(values)
            with mode or contextlib.nullcontext():
                there = [_placed(value, plan, mode, "cuda") for value in values] if plan.on_cpu else values
                results = _Dry(graph_module).run(*there)
                if plan.on_cpu:
                    back = {id(placed): value for placed, value in zip(there, values, strict=True)}
                    results = [back.get(id(item), _placed(item, plan, mode, "cpu")) for item in results]
            if is_replayed:
                plan.managed += [item.untyped_storage() for item in results if isinstance(item, torch.Tensor)]
            return results

        runner = types.SimpleNamespace(partitions=[], recursively_apply_fns=lambda fns: [fn(call) for fn in fns])
        return types.SimpleNamespace(__file__=os.devnull, call=call, runner=runner)

    with (
        mock.patch.multiple(compile_fx, fx_codegen_and_compile=compile_graph, cudagraphify=capture),
        mock.patch.object(GraphLowering, "_compile_to_module", compile_to_module),
    ):
        yield


def _placed(value: Any, plan: Plan, mode: FakeTensorMode, device: str) -> Any:
    """Return a tensor on a device; what is known of its values stays known."""
    if not isinstance(value, torch.Tensor) or value.device.type == device:
        return value
    made = _fake(value, mode, device)
    if value in plan.known:
        plan.known[made] = plan.known[value]
    return made


class _Dry(torch.fx.Interpreter):
    """Runs a lowered graph on tensors without memory."""

    def run_node(self, n: torch.fx.Node) -> Any:
        if hasattr(n.target, "_inductor_lowering_function"):  # a pattern's: it makes Inductor's IR, not tensors

            def made(value: torch.Tensor) -> torch.Tensor:
                sizes, strides = decisions.numbers(value.size()), decisions.numbers(value.stride())
                return torch.empty_strided(sizes, strides, dtype=value.dtype, device=value.device)

            return tree_map_only(torch.Tensor, made, n.meta["val"])
        return super().run_node(n)

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        result = super().call_function(target, args, kwargs)
        # `_foreach_add_`, which a pass put in the place of `_foreach_add`, returns nothing: its results are its operands.
        return list(args[0]) if result is None and args and isinstance(args[0], list | tuple) else result


def compile_for_target(
    module: Any,
    inputs: Sequence[Any],
    plan: Plan,
    *,
    kwargs: Mapping[str, Any] | None = None,
    train: bool = False,
    compile_options: Mapping[str, Any] | None = None,
) -> None:
    """Compile a module or a function for the plan's target and throw the result away. What it reaches becomes fake.

    Raises PlanError: the options ask for benchmarks, or the module exchanges data with other processes.
    """
    import torch._inductor.config as inductor_config
    from torch._inductor.compile_fx import compile_fx

    arguments = dict(compile_options or {})
    patches = _switches(arguments, plan) | {
        "fx_graph_cache": False,
        "fx_graph_remote_cache": False,
        "compile_threads": 1,
        "trace.provenance_tracking_level": 1,
    }
    # As Dynamo's own: what only data decides is asked of the plan, or made a symbol, as on the device.
    config: Any = torch._dynamo.config
    one_graph = bool(arguments.get("fullgraph"))
    symbols = ShapeEnv(
        allow_scalar_outputs=one_graph or config.capture_scalar_outputs,
        allow_dynamic_output_shape_ops=one_graph or config.capture_dynamic_output_shape_ops,
    )
    mode, values = FakeTensorMode(shape_env=symbols), Values(plan.known)
    plan.on_cpu |= train
    device = "cpu" if plan.on_cpu else "cuda"
    # As a real recording: a module without a backward runs under `no_grad`, a function decides itself.
    grad = train or not isinstance(module, nn.Module)

    def fake(tensor: torch.Tensor) -> torch.Tensor:
        made = _fake(tensor, mode, device)
        values.learn(made, tensor)
        return made

    with contextlib.ExitStack() as stack:
        stack.enter_context(decisions.branches(mode, plan))
        stack.enter_context(values.followed(mode, plan, decisions.asked_at))
        if plan.on_cpu:
            stack.enter_context(training.optimizers())
        with torch.no_grad():
            _make_fake(module, _Once(fake), mode, plan)
            call_inputs, call_kwargs = tree_map_only(
                torch.Tensor,
                lambda tensor: fake(tensor).requires_grad_(tensor.requires_grad and grad),
                (tuple(inputs), dict(kwargs or {})),
            )
        stack.enter_context(inductor_config.patch(patches))
        backend = stack.enter_context(training.backend(plan, train=train)) if plan.on_cpu else compile_fx
        compiled: Any = torch.compile(module, backend=backend, **arguments)
        stack.enter_context(torch.set_grad_enabled(grad))
        stack.enter_context(mode)
        stack.enter_context(decisions.kernels_of_cuda(plan))
        compiled(*call_inputs, **call_kwargs)


def _make_fake(called: Any, once: "_Once", mode: FakeTensorMode, plan: Plan) -> None:
    """Replace the tensors that a call reaches by fake ones; tied ones stay tied."""
    items, variables = reached(called)
    for module in (item for item in items if isinstance(item, nn.Module)):
        _refuse_processes(module)
    for value, replace in variables:
        if any(isinstance(leaf, torch.Tensor) for leaf in tree_leaves(value)):
            replace(tree_map(once, value))
    for optimizer in (item for item in items if isinstance(item, torch.optim.Optimizer)):
        _make_optimizer_fake(optimizer, once, mode, plan)


def _switches(arguments: dict[str, Any], plan: Plan) -> dict[str, Any]:
    """Take mode and options out of `torch.compile`'s arguments; return the Inductor switches they mean."""
    import torch._inductor.config as inductor_config
    from torch._inductor import list_mode_options

    backend = arguments.pop("backend", "inductor")
    if backend != "inductor":
        raise PlanError(f"backend={backend!r} cannot be planned for another GPU: only Inductor's code can.")
    of_mode = list_mode_options(arguments.pop("mode", None) or "default", arguments.get("dynamic"))
    switches = {**of_mode, **(arguments.pop("options", None) or {})}
    given = {**inductor_config.get_config_copy(), **switches}
    for name in BENCHMARKED:
        if given.get(name):
            raise PlanError(f"{name} needs benchmarks on the device. Plan without it, or record on the device.")
    if given.get("coordinate_descent_tuning"):
        because = "on the device coordinate descent chooses them"
        plan.assume("tuning", "the launch configurations of the kernels are not planned", because)
    plan.cudagraphs = bool(given["triton.cudagraphs"])
    if plan.cudagraphs:
        plan.assume(
            "CUDA graphs",
            "the kernels of a part are launched as one graph where torch's checks forbid no replay",
            "graphs are captured on the device when the model first runs",
        )
    return switches


def _fake(value: torch.Tensor, mode: FakeTensorMode, device: str) -> torch.Tensor:
    if is_traceable_wrapper_subclass(value):  # a jagged tensor, quantized weights
        names, context = value.__tensor_flatten__()
        with mode, torch.no_grad():
            parts = {name: getattr(value, name) for name in names}  # a device mesh is one, too
            parts = tree_map_only(torch.Tensor, lambda part: _fake(part, mode, device), parts)
            return type(value).__tensor_unflatten__(parts, context, value.size(), value.stride())
    if type(value).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__ and not isinstance(value, FakeTensor):
        name = type(value).__name__
        raise PlanError(
            f"a {name} cannot be planned: torch.compile needs its __tensor_flatten__. Give the tensors in it."
        )
    if value.layout is not torch.strided or value.is_nested:
        kind = "nested" if value.is_nested else f"{value.layout} {tuple(value.shape)}"
        raise PlanError(f"a {kind} tensor cannot be planned: make it dense{' or jagged' * value.is_nested}.")
    with mode, torch.no_grad():
        made = torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device=device)
    # What `mark_dynamic` and `mark_static_address` said of it
    vars(made).update({name: mark for name, mark in vars(value).items() if name.startswith("_dynamo_")})
    return made


class _Once:
    """Makes one fake tensor of each tensor, so that tied ones stay tied, and an optimizer's are the model's."""

    def __init__(self, fake: Callable[[torch.Tensor], torch.Tensor]) -> None:
        self._fake = fake
        self._known: dict[int, tuple[torch.Tensor, ...]] = {}  # → itself, as an id is good while it lives, and the fake

    def __call__(self, tensor: Any) -> Any:
        if not isinstance(tensor, torch.Tensor):
            return tensor
        if id(tensor) not in self._known:
            found = self._fake(tensor)
            if isinstance(tensor, nn.Parameter):
                found = nn.Parameter(found, requires_grad=tensor.requires_grad)
            elif tensor.is_leaf and tensor.requires_grad:
                found.requires_grad_()
            if tensor.is_leaf and tensor.grad is not None:
                found.grad = self._fake(tensor.grad)
            self._known |= {id(item): (tensor, found) for item in (tensor, found)}
        return self._known[id(tensor)][1]


def _make_optimizer_fake(optimizer: torch.optim.Optimizer, once: _Once, mode: FakeTensorMode, plan: Plan) -> None:
    """Replace parameters, gradients and state by fake ones; a step makes a missing state, and the plan is of later steps."""
    groups, states = optimizer.param_groups, dict(optimizer.state)
    optimizer.state.clear()
    for group in groups:
        group.update(tree_map(once, group))
        if "capturable" in group:
            group["capturable"] = True  # as Dynamo sets it for parameters on a GPU: the count of steps lies there, too
    for parameter, state in states.items():
        made = tree_map(once, state)
        if isinstance(step := made.get("step"), torch.Tensor):
            with mode:
                made["step"] = torch.empty((), dtype=step.dtype, device=once(parameter).device)
        optimizer.state[once(parameter)] = made
    parameters = [parameter for group in groups for parameter in group["params"] if parameter.requires_grad]
    if all(parameter.grad is None for parameter in parameters):
        plan.assume(
            "gradients",
            "every parameter that asks for a gradient has one, of its own shape and layout",
            "the program has run no backward when its step is planned",
        )
        with mode:
            for parameter in parameters:
                parameter.grad = torch.empty_like(parameter)
    if not states:
        try:
            with mode:
                type(optimizer).step(optimizer)
        except Exception as error:
            raise PlanError(
                f"the step of {type(optimizer).__name__} cannot be planned: its first step, which makes its state, fails "
                f"without data ({type(error).__name__}: {str(error).strip()[:200]}). Plan the program without it."
            ) from None


def _refuse_processes(module: nn.Module) -> None:
    """Raise PlanError for a module whose work on each device is not known without the others."""
    kinds = {kind.__name__ for kind in type(module).__mro__}
    if found := kinds & {"DataParallel", "DistributedDataParallel", "FullyShardedDataParallel", "FSDPModule"}:
        raise PlanError(
            f"a {found.pop()} exchanges data between processes while it runs, and a plan is one process: plan the module "
            "without it, whose kernels each rank runs."
        )
