"""Takes the decisions that Inductor leaves to the device, by a stated rule, and notes each as an assumption.

Names: torch 2.11 to 2.14.
"""

import contextlib
import math
from collections.abc import Generator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.utils._python_dispatch import TorchDispatchMode

from fxscope._torch import nodes
from fxscope._torch.target.plan import Plan
from fxscope.gpus import Gpu

NUMBER = 0.73  # for one that only data could tell: finite, and nothing that a compiler simplifies
_LAUNCH_S = 2e-6  # what the shortest kernel takes
_UNALIGNED = 3.0  # how much longer a GEMM on matrix units takes whose rows are not aligned


def padding(plan: Plan) -> AbstractContextManager[Any]:
    """Return where Inductor would time a padded against an unpadded GEMM, estimate both and say so.

    The estimate: a padded GEMM runs at the device's rate, after two copies at its bandwidth; one on matrix units whose rows
    are not aligned takes three times as long, and as long without them (float32).
    """
    import torch._inductor.fx_passes.pad_mm as pad_mm

    # Without its memory of other devices.
    original: Any = getattr(pad_mm._should_pad, "__wrapped__", pad_mm._should_pad)
    undecided: Any = object()  # in the place of what an earlier timing decided

    def should_pad(match: Any, mat1: Any, mat2: Any, op: Any, input: Any = None) -> bool:
        # Its cheap rules (memory-bound: no) come before its look into the cache of earlier timings.
        with mock.patch.object(pad_mm, "get_cached_should_pad", lambda key: undecided):
            found = original(match, mat1, mat2, op, input)
        if found is not undecided:
            return found
        if torch._inductor.config.deterministic:
            return False
        padded_s, plain_s = estimates(plan.gpu, mat1, mat2, pad_mm.get_alignment_size(mat1))
        padded = plain_s > 1.1 * padded_s  # Inductor's own margin
        plan.assume(
            f"pad_mm: {op} of {tuple(mat1.shape)} × {tuple(mat2.shape)}",
            "padded to aligned sizes" if padded else "not padded",
            "an estimate from the device's rates; on the device Inductor times both, and the estimate was right for 75 of "
            "82 products on an H100. shape_padding=False switches padding off",
        )
        return padded

    return mock.patch.object(pad_mm, "_should_pad", should_pad)


def estimates(gpu: Gpu, mat1: Any, mat2: Any, alignment: int) -> tuple[float, float]:
    """Return the seconds of a product with and without padding; rows have to be aligned to so many elements."""
    operations = 2.0 * math.prod(numbers(mat1.shape)) * numbers(mat2.shape)[-1]
    dtype = str(mat1.dtype).removeprefix("torch.")
    if dtype == "float32" and torch.backends.cuda.matmul.allow_tf32:
        dtype = "tfloat32"
    rate = gpu.matrix_rate(dtype) or gpu.matrix_rate("float32")
    gemm_s = operations / rate.value if rate is not None else 0.0
    copies_s = sum(
        max(_LAUNCH_S, 2 * tensor.dtype.itemsize * math.prod(numbers(tensor.shape)) / gpu.datasheet_bandwidth)
        for tensor in (mat1, mat2)
    )
    rows = (*(_row(tensor) for tensor in (mat1, mat2)), numbers(mat2.shape)[-1])  # the last is the result's
    odd = any(row % alignment for row in rows) and dtype not in ("float32", "float64")
    return copies_s + max(_LAUNCH_S, gemm_s), max(_LAUNCH_S, gemm_s * (_UNALIGNED if odd else 1.0))


def _row(tensor: Any) -> int:
    """Return how many elements lie between two rows of a matrix, or between two columns where those are contiguous."""
    sizes, strides = numbers(tensor.shape)[-2:], numbers(tensor.stride())[-2:]
    return max(strides[0] if strides[1] == 1 else strides[1], 1) if 1 in strides else sizes[1]


def numbers(sizes: Any) -> list[int]:
    """Return sizes as numbers; of a symbolic one that with which it was traced."""
    import torch.fx.experimental.symbolic_shapes as symbolic_shapes

    hint: Any = getattr(symbolic_shapes, "optimization_hint", None) or symbolic_shapes.size_hint  # the latter to 2.11
    return [size if isinstance(size, int) else int(hint(size)) for size in sizes]


class _OnCpu(TorchDispatchMode):
    """Runs ops that name the CUDA device on the CPU instead."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        def convert(value: Any) -> Any:
            return torch.device("cpu") if isinstance(value, torch.device) and value.type == "cuda" else value

        args, kwargs = torch.utils._pytree.tree_map(convert, (args, kwargs or {}))
        return func(*args, **kwargs)


@contextlib.contextmanager
def constants_on_cpu() -> Generator[None]:
    """Fold constants on the CPU: Inductor and the tracer really run one-element ops (`aten.full`) on the graph's device."""
    import torch._inductor.fx_passes.joint_graph as joint_graph
    import torch.fx.experimental.proxy_tensor as proxy_tensor

    @contextlib.contextmanager
    def on_cpu() -> Generator[None]:
        with _OnCpu():
            yield

    folder: Any = joint_graph.UniformValueConstantFolder
    without_fakes = proxy_tensor.unset_fake_temporarily

    @contextlib.contextmanager
    def for_real() -> Generator[Any]:
        with without_fakes() as mode, _OnCpu():
            yield mode

    makers = [name for name in ("_deduce_value", "_add_peephole_patterns") if hasattr(folder, name)]
    with (
        mock.patch.multiple(folder, **{name: on_cpu()(getattr(folder, name)) for name in makers}),
        mock.patch.object(proxy_tensor, "unset_fake_temporarily", for_real),
    ):
        yield


class _OnDevice(torch.Tensor):
    device: Any = torch.device("cuda", 0)


@contextlib.contextmanager
def constants_on_device() -> Generator[None]:
    """Place the program's constants on the device: Inductor would copy each of them to it where it is used."""
    import torch._inductor.compile_fx as compile_fx
    from torch._inductor.graph import GraphLowering

    original: Any = GraphLowering.constant_name

    def constant_name(self: Any, name: str, device: Any) -> str:
        if device is not None and device.type == "cuda":
            with unset_fake_temporarily():
                self.constants[name] = self.constants[name].as_subclass(_OnDevice)
        return original(self, name, device)

    passes: Any = compile_fx._recursive_joint_graph_passes

    def joint_passes(graph_module: Any, *args: Any, **kwargs: Any) -> Any:
        for node in copies_of_constants(graph_module):
            node.meta["original_aten"] = torch.ops.aten.lift_fresh.default  # kernels are named after it
        return passes(graph_module, *args, **kwargs)

    with (
        mock.patch.object(GraphLowering, "constant_name", constant_name),
        mock.patch.object(compile_fx, "_recursive_joint_graph_passes", joint_passes),
    ):
        yield


def copies_of_constants(graph_module: Any) -> list[Any]:
    """Return the copies to the device that belong to making a constant there; one that the program asks for does not."""
    return [
        node
        for node in graph_module.graph.find_nodes(op="call_function", target=torch.ops.prims.device_put.default)
        if node.args[0].target is torch.ops.aten.lift_fresh_copy.default
        and node.meta.get("source_fn_stack") in (None, node.args[0].meta.get("source_fn_stack"))
    ]


def cudnn_layouts(plan: Plan) -> AbstractContextManager[Any]:
    """Give a convolution's result the memory format that it has with cuDNN.

    The rules are those of `aten/src/ATen/native/Convolution.cpp` and `ConvUtils.h`. The CPU tensors of a training get the
    device's formats, too: a view that fits the CPU's would be wrong later.
    """
    select, determine = torch._C._select_conv_backend, torch._C._conv_determine_backend_memory_format
    backends: Any = torch._C._ConvBackend
    cudnn = (backends.Cudnn, backends.CudnnTranspose)

    def select_backend(input: Any, weight: Any, *args: Any, **kwargs: Any) -> Any:
        if input.device.type != "cuda" and not (plan.on_cpu and input.device.type == "cpu"):
            return select(input, weight, *args, **kwargs)
        if 0 in (input.size(0), input.size(1)):
            return backends.Empty
        given = dict(zip(("bias", "stride", "padding", "dilation", "transposed"), args, strict=False)) | kwargs
        groups, transposed = given.get("groups", 1), bool(given.get("transposed"))
        stride, padding = given.get("stride") or (1,), given.get("output_padding") or (0,)
        if any(out >= step for out, step in zip(padding, stride, strict=False)):  # cuDNN does not take it
            return select(input, weight, *args, **kwargs)
        depthwise = not transposed and input.dim() > 3 and 1 < groups == input.size(1) and weight.size(0) % groups == 0
        if depthwise and _cudnn_format(input, weight) is torch.contiguous_format:
            return backends.CudaDepthwise2d if input.dim() == 4 else backends.CudaDepthwise3d
        return backends.CudnnTranspose if transposed else backends.Cudnn

    def memory_format(input: Any, weight: Any, backend: Any) -> Any:
        return _cudnn_format(input, weight) if backend in cudnn else determine(input, weight, backend)

    asked: Any = {"_select_conv_backend": select_backend, "_conv_determine_backend_memory_format": memory_format}
    return mock.patch.multiple(torch._C, **asked)


def _cudnn_format(input: Any, weight: Any) -> Any:
    """`cudnn_conv_suggest_memory_format`: channels last where either operand is, except in float64."""
    if torch.float64 not in (input.dtype, weight.dtype):
        formats = {torch._prims_common.suggest_memory_format(tensor) for tensor in (input, weight)}
        for channels_last, dimensions in ((torch.channels_last, 4), (torch.channels_last_3d, 5)):
            if weight.dim() == dimensions and channels_last in formats:
                return channels_last
    return torch.contiguous_format


@contextlib.contextmanager
def kernels_of_cuda(plan: Plan) -> Generator[None]:
    """Register what torch asks of ops of the device alone: that they have a kernel, or the shape of their result.

    Without a kernel of it, RMS norm is decomposed before a graph is traced. Fake tensors never run these.
    A CPU build has no cuDNN: its `grid_sampler` (bilinear, zeros, aligned corners) is here by the rule of GridSampler.cpp.
    """
    ops: Any = torch.ops.aten

    def sample(input: Any, grid: Any, *modes: Any) -> Any:
        dtypes = torch.backends.cudnn.CUDNN_TENSOR_DTYPES if torch.backends.cudnn.enabled else ()
        fits = (input.is_cuda or plan.on_cpu) and input.dim() == 4 and input.size(1) <= 1024
        if fits and modes == (0, 0, True) and all(x.dtype in dtypes and 0 < x.numel() < 1 << 31 for x in (input, grid)):
            return ops.cudnn_grid_sampler(input, grid)
        return (ops.grid_sampler_2d if input.dim() == 4 else ops.grid_sampler_3d)(input, grid, *modes)

    kernels: list[tuple[str, str, Any]] = [
        *(("grid_sampler", f"Autograd{device}", sample) for device in ("CPU", "CUDA")),
        ("_thnn_fused_gru_cell", "Meta", lambda x, h, y, *b: [torch.empty_like(y), y.new_empty(len(y), 5 * y.size(1))]),
        ("_thnn_fused_lstm_cell", "Meta", lambda x, h, cx, *b: [torch.empty_like(item) for item in (cx, cx, x)]),
        ("cudnn_grid_sampler_backward", "Meta", lambda *args: [torch.empty_like(item) for item in args[:2]]),
        ("_fused_rms_norm", "CPU", lambda *args: ops._fused_rms_norm.default.decompose(*args)),
        ("_fused_rms_norm", "CUDA", lambda *args: ops._fused_rms_norm.default.decompose(*args)),
        ("cudnn_grid_sampler", "Meta", lambda input, grid: input.new_empty(*input.shape[:2], *grid.shape[1:3])),
    ]
    with torch.library._scoped_library("aten", "IMPL") as library:
        for name, key, kernel in kernels:
            if hasattr(ops, name) and not torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", key):
                library.impl(name, kernel, key)
        yield


def branches(mode: Any, plan: Plan) -> AbstractContextManager[Any]:
    """Answer what Python asks a tensor between two graphs, and say so: conditions are false, numbers `NUMBER`.

    Most conditions are checks that raise (`if (ids >= size).any()`) or draws (`if torch.rand([]) < layerdrop`). An integer
    (`int(x.argmax())`) may become a size: the plan ends there.
    """
    import torch._subclasses.fake_impls as fake_impls

    op = torch.ops.aten._local_scalar_dense.default
    table: dict[Any, Any] = fake_impls.op_implementations_dict
    original = table[op]
    because = "a plan has no values; on the device Python looks at them between two graphs"

    def ask(fake_mode: Any, func: Any, tensor: Any) -> Any:
        if fake_mode is mode and torch._guards.TracingContext.try_get() is None:
            if tensor.dtype == torch.bool:
                plan.assume("branch", f"a condition that depends on the data is false{asked_at()}", because)
                return False
            if tensor.dtype.is_floating_point:
                plan.assume("number", f"a number that depends on the data is {NUMBER}{asked_at()}", because)
                return NUMBER
        return original(fake_mode, func, tensor)

    return mock.patch.dict(table, {op: ask})


def asked_at() -> str:
    """The innermost line of the user's code that is being run, as " (FILE:LINE)"."""
    source = nodes.caller()
    return f" ({Path(source.file).name}:{source.line})" if source and source.file else ""


@contextlib.contextmanager
def library_kernels(plan: Plan) -> Generator[None]:
    """Take the library's kernel, or else the first candidate, where Inductor would time whole kernels."""
    import torch._inductor.ir as ir
    import torch._inductor.scheduler as scheduler
    import torch._inductor.select_algorithm as select

    cache: Any = select.AlgorithmSelectorCache
    speedup: Any = scheduler.Scheduler.speedup_by_fusion

    def times(
        self: Any, name: str, inputs: Any, layout: Any, gen: Any, key: Any, choices: Any, *args: Any, **kwargs: Any
    ) -> Any:
        first = next((choice for choice in choices if "Extern" in type(choice).__name__), choices[0])
        plan.assume(
            f"kernel of {name}",
            f"{first.name} of {len(choices)} candidates",
            "the library's kernel, else the first candidate; on the device a benchmark chooses",
        )
        return {first: 0.0}

    def by_fusion(self: Any, node1: Any, node2: Any) -> Any:
        if any(n.is_template() and isinstance(n.get_template_node(), ir.MultiTemplateBuffer) for n in (node1, node2)):
            return scheduler.FusionResult.fuse(False)  # nothing is fused into a library's kernel
        if torch._inductor.config.benchmark_fusion:
            plan.assume(
                "benchmark_fusion",
                "every fusion that Inductor allows is made",
                "on the device it times fused and unfused kernels and keeps the faster; nothing was measured of that",
            )
        with torch._inductor.config.patch(benchmark_fusion=False):
            return speedup(self, node1, node2)

    with (
        mock.patch.multiple(cache, do_autotuning=times, make_precompile_fn=lambda self, *args, **kwargs: dict),
        mock.patch.object(scheduler.Scheduler, "speedup_by_fusion", by_fusion),
    ):
        yield
