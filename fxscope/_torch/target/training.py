"""The backward of a model on a GPU that is not there.

Autograd asks the driver about CUDA tensors, even fake ones. So AOTAutograd traces forward and backward on fake CPU tensors,
without decompositions. Then each tensor of the joint graph is moved to the simulated device, and decomposed there. The
program runs on CPU tensors. A backward is lowered when it first runs, as on a device, or ahead where it will run later.
`torch.autocast("cuda")` becomes the CPU's with CUDA's lists of ops, from the header `ATen/autocast_mode.h` of this torch.
Experimental: an op that dispatches by device before Inductor sees it is traced as on a CPU.
"""

import contextlib
import re
import sys
import warnings
from collections.abc import Callable, Generator, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.checkpoint import CheckpointPolicy

from fxscope._torch.target.decisions import copies_of_constants
from fxscope._torch.target.plan import Plan, PlanError

_DEVICE = torch.device("cuda", 0)
_HEADER = Path(torch.__file__).parent / "include" / "ATen" / "autocast_mode.h"
_MACROS = {"lower": "LOWER_PRECISION_FP", "fp32": "FP32", "dtype": "FP32_SET_OPT_DTYPE", "promote": "PROMOTE"}


@contextlib.contextmanager
def backend(plan: Plan, *, train: bool) -> Generator[Any]:
    """For a `with` block: a backend for `torch.compile` that plans each forward, and backwards that run; `train`: all."""
    import torch._inductor.compile_fx as compile_fx
    import torch.nn.attention.flex_attention as flex

    plan.assume(
        "training",
        "forward and backward were traced on the CPU and moved to the device before they were decomposed",
        "autograd cannot run on a device that is not there; ops that choose by device earlier are as on a CPU",
    )
    original: Any = compile_fx._recursive_joint_graph_passes
    made_there = True  # the program makes its constants on the device, and copies none

    def joint_passes(graph_module: Any, *args: Any, **kwargs: Any) -> Any:
        move(graph_module)
        decompose(graph_module)
        if "input_device" in kwargs:
            kwargs["input_device"] = _DEVICE
        elif args and isinstance(args[0], torch.device):
            args = (_DEVICE, *args[1:])
        result = original(graph_module, *args, **kwargs)
        for node in copies_of_constants(result) if made_there else ():  # those whose elements differ: others are `full`
            node.meta["recompute"] = CheckpointPolicy.MUST_RECOMPUTE  # as a constant that lies on the device
        return result

    def inner_compile(graph_module: Any, example_inputs: Sequence[Any], **kwargs: Any) -> Any:
        placeholders = graph_module.graph.find_nodes(op="placeholder")
        # The backward's examples are on the device already, with the strides that the forward gave them.
        moved = [
            node.meta["val"]
            if isinstance(node.meta.get("val"), torch.Tensor) and example.device.type == "cpu"
            else example
            for node, example in zip(placeholders, example_inputs, strict=True)
        ]
        return compile_fx.compile_fx_inner(graph_module, moved, **kwargs)

    def compile_both(graph_module: Any, example_inputs: Sequence[Any]) -> Any:
        nonlocal made_there
        made = [node for node in graph_module.graph.nodes if getattr(node.target, "__name__", "") == "tensor"]
        made_there = all(node.kwargs.get("device") is not None for node in made)
        with (
            _cuda_autocast(graph_module, plan),
            torch._functorch.config.patch(force_non_lazy_backward_lowering=train, enable_autograd_cache=False),
        ):
            return compile_fx.compile_fx(graph_module, example_inputs, inner_compile=inner_compile, decompositions={})

    # Flex attention refuses gradients on CPU tensors, which here stand for the device's.
    with (
        mock.patch.object(compile_fx, "_recursive_joint_graph_passes", joint_passes),
        mock.patch.object(flex, "_validate_device", lambda *tensors: None, create=True),
    ):
        yield compile_both


@contextlib.contextmanager
def optimizers() -> Generator[None]:
    """Let optimizers treat CPU tensors as the device's: steps are counted there, and several parameters make one kernel."""
    names = ("_get_capturable_supported_devices", "_get_foreach_kernels_supported_devices")
    with contextlib.ExitStack() as stack:
        for module in [value for name, value in sys.modules.items() if name.startswith("torch.optim.")]:
            for name in filter(partial(hasattr, module), names):
                stack.enter_context(mock.patch.object(module, name, lambda supports_xla=True: ["cuda", "cpu"]))
        yield


@contextlib.contextmanager
def _cuda_autocast(graph_module: Any, plan: Plan) -> Generator[None]:
    """Let a graph that autocasts on CUDA do so on the CPU tensors that it is traced with."""
    entered = any("_enter_autocast" in str(node.target) for node in graph_module.graph.nodes)
    if not entered and not torch.is_autocast_enabled("cuda"):
        yield
        return
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(like_cuda())
        except LookupError as error:
            raise PlanError(
                f"autocast in training cannot be planned with this torch ({error}). Plan the forward only, or cast the "
                "model (model.to(torch.bfloat16))."
            ) from None
        plan.assume(
            "autocast",
            "casts of the backward's trace follow CUDA's lists in this torch's headers",
            "autograd cannot run on a device that is not there; CPU tensors were cast in their place",
        )
        enter_on_cpu(graph_module)
        if torch.is_autocast_enabled("cuda"):
            cached = torch.is_autocast_cache_enabled()
            dtype = torch.get_autocast_dtype("cuda")
            stack.enter_context(torch.autocast("cpu", dtype=dtype, cache_enabled=cached))
        yield


def move(graph_module: Any) -> None:
    """Move every tensor and every device argument of a graph to the simulated device, in place."""
    values = [node.meta.get("val") for node in graph_module.graph.nodes]
    mode: Any = torch._guards.detect_fake_mode(values)

    def moved_device(value: Any) -> Any:
        return _DEVICE if isinstance(value, torch.device) and value.type == "cpu" else value

    def moved(value: Any) -> Any:
        if isinstance(value, FakeTensor) and value.device.type == "cpu":
            with mode:
                return torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device=_DEVICE)
        return moved_device(value)

    for node in graph_module.graph.nodes:
        if "val" in node.meta:
            node.meta["val"] = tree_map(moved, node.meta["val"])
        if node.op == "call_function":
            node.args = torch.fx.node.map_aggregate(node.args, moved_device)
            node.kwargs = torch.fx.node.map_aggregate(node.kwargs, moved_device)
    graph_module.recompile()


def decompose(graph_module: Any) -> None:
    """Trace a graph again through Inductor's decompositions, in place; metadata of nodes is kept."""
    import torch.fx.traceback as traceback
    from torch._inductor.decomposition import select_decomp_table
    from torch.fx.experimental.proxy_tensor import make_fx, set_original_aten_op

    placeholders = list(graph_module.graph.find_nodes(op="placeholder"))
    values = [node.meta["val"] for node in placeholders]
    mode: Any = torch._guards.detect_fake_mode(values)

    class Again(torch.fx.Interpreter):
        def run_node(self, n: torch.fx.Node) -> Any:
            if n.target is torch.ops.aten.lift_fresh_copy.default:  # a constant is no input, and not moved
                with set_original_aten_op(torch.ops.aten.lift_fresh.default):
                    return super().run_node(n).to(_DEVICE)
            result, before = super().run_node(n), n.meta.get("val")
            # A draw has the dtype of its tensor, what it is decomposed into one of its own. (Other ops may really differ:
            # the statistics of a norm are bfloat16 on a CPU and float32 on the device.)
            drawn = torch.Tag.nondeterministic_seeded in getattr(n.target, "tags", ())
            return result.to(before.dtype) if drawn and isinstance(before, torch.Tensor) else result

    numbered = getattr(traceback, "_preserve_node_seq_nr", contextlib.nullcontext)  # by autograd, in both directions
    fields = [*getattr(torch.fx.proxy, "_COPY_META_FIELDS", ()), "fwd_nn_module_stack"]
    copied = mock.patch.object(torch.fx.proxy, "_COPY_META_FIELDS", fields, create=True)
    with torch.no_grad(), traceback.preserve_node_meta(), numbered(), copied, mode or contextlib.nullcontext():
        again = make_fx(Again(graph_module).run, decomposition_table=select_decomp_table(), tracing_mode="real")
        traced: Any = again(*values)
    for old, new in zip(placeholders, traced.graph.find_nodes(op="placeholder"), strict=True):
        value = new.meta.get("val")
        new.meta.update(old.meta)
        new.meta["val"] = value if value is not None else old.meta["val"]
        new._rename(old.name)
        new.target = old.target
    output, new_output = graph_module.graph.output_node(), traced.graph.output_node()
    new_output.meta.update({key: value for key, value in output.meta.items() if key != "val"})
    graph_module.graph = traced.graph
    for name, part in (*traced.named_buffers(), *traced.named_children()):  # constants, and graphs of regions
        setattr(graph_module, name, part)
    graph_module.recompile()


# ---------------------------------------------------------------------- autocast


def lists(header: Path = _HEADER) -> dict[str, set[str]]:
    """CUDA's lists as kind → names such as "softmax.int".

    Kinds: "lower" (run in the lower precision), "fp32", "dtype" (the result is float32), "promote" (to the widest).

    Raises LookupError: the header is absent or has another form.
    """
    text = header.read_text(encoding="utf-8").replace("\\\n", " ") if header.is_file() else ""
    found: dict[str, set[str]] = {}
    for kind, macro in _MACROS.items():
        body = re.search(rf"#define AT_FORALL_{macro}\(_\)(.*)", text)
        if body is None:
            raise LookupError(f"{header} does not have CUDA's lists")
        entries = re.findall(r"_\((\w+)(?:,\s*(\w+))?\)", body[1])
        found[kind] = {f"{name}.{overload}" if overload else name for name, overload in entries}
    return found


@contextlib.contextmanager
def like_cuda() -> Generator[None]:
    """Let the CPU's autocast cast what CUDA's would, for a `with` block. Raises LookupError as `lists` does."""
    rule_of = {name: kind for kind, names in lists().items() for name in names}
    rule_of |= {"norm.Scalar": "norm", "norm.ScalarOpt_dim": "norm"}
    names = {name.removeprefix("aten::") for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")}
    with torch.library._scoped_library("aten", "IMPL") as library, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # each of these takes the place of the CPU's own kernel
        for name in sorted(names):
            rule = rule_of.get(name)
            if rule is None and not torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", "AutocastCPU"):
                continue
            packet, _, overload = name.partition(".")
            op = getattr(getattr(torch.ops.aten, packet), overload or "default")
            library.impl(op, _kernel(op, rule), "AutocastCPU")
        yield


def _kernel(op: Any, rule: str | None) -> Callable[..., Any]:
    exclude = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(exclude):
            if rule in ("dtype", "norm") and _eligible(args[0]):
                return _in_float32(op, rule, args, kwargs)
            if rule in ("lower", "fp32", "promote"):
                dtypes = {getattr(leaf, "dtype", None) for leaf in tree_leaves((args, kwargs))}
                widens = rule == "fp32" or (rule == "promote" and torch.float32 in dtypes)
                to = torch.float32 if widens else torch.get_autocast_dtype("cpu")
                args, kwargs = tree_map(lambda value: value.to(to) if _eligible(value) else value, (args, kwargs))
            return op(*args, **kwargs)

    return kernel


def _in_float32(op: Any, rule: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call an op whose result is to be float32: by its `dtype`, or by the overload that has one."""
    if rule == "dtype":
        names = [argument.name for argument in op._schema.arguments]
        place = names.index("dtype") if "dtype" in names else None
        if place is None or kwargs.get("dtype") is not None or (len(args) > place and args[place] is not None):
            return op(*args, **kwargs)
        return op(*args[:place], **{**kwargs, "dtype": torch.float32})  # nothing comes after it by position
    if op is torch.ops.aten.norm.Scalar:
        return torch.ops.aten.norm.ScalarOpt_dtype(args[0], *(args[1:] or (2,)), dtype=torch.float32)
    p, dim, *keep = args[1:]
    return torch.ops.aten.norm.ScalarOpt_dim_dtype(args[0], p, dim, *(keep or (False,)), dtype=torch.float32)


def _eligible(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point() and value.dtype != torch.float64


def enter_on_cpu(graph_module: Any) -> None:
    """Make every `autocast("cuda")` that a Dynamo graph enters one of the CPU, in place."""
    for part in graph_module.modules():
        for node in part.graph.nodes if hasattr(part, "graph") else ():
            if "_enter_autocast" in str(node.target) and node.args and node.args[0] == "cuda":
                given = node.args[1] if len(node.args) > 1 else None
                dtype = torch.get_autocast_dtype("cuda") if given is None else given
                node.args = ("cpu", dtype, *node.args[2:])
        if hasattr(part, "recompile"):
            part.recompile()
