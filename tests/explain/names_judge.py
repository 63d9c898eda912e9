# ruff: noqa: E501 (tables)
"""Whether what a kernel's name is said to say is so: judged by the op that launched the kernel and its inputs.

A statement is held to what was recorded beside the name, never to the decoder's own tables:

- role: one that the launching op has kernels of (`ROLES_OF`: a sort sorts, scans and gathers; it computes no optimizer
  step); where the function's own name leaves no doubt (`CERTAIN`: a kernel that sets a tensor is no convolution), that.
- ops (of ATen's kernels): the launching op, in place or `_foreach_` or not. The same arithmetic counts where one functor
  serves several ops (`SAME`): `add` for `sub` (add, scaled by −1), `compare` for the six comparisons. `eq` for `ne` is wrong.
- dtypes (not of a solver's inner kernels): operands are dtypes of the op's inputs, or what it converted them to before; of a `copy_`, the source's exactly. The result is a dtype of the sample's
  results or of the op's inputs; of a `copy_` the target's exactly, of a comparison bool. A sum is never narrower than its
  operands, and half precision is added up in float32 unless the name spells half for it.
- family: the namespace that the symbol is in, where it is in one; else one that the op can call. Triton only where Triton
  launched it.
- direction: backward only where a backward op or a backward pass ran, forward only where no backward op did.

A name is wrong if one statement is wrong beside one op that it was seen with, unknown if nothing is said but `other`.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

_TYPES = {
    "float": "float32",
    "double": "float64",
    "c10::Half": "float16",
    "c10::BFloat16": "bfloat16",
    "long int": "int64",
    "long": "int64",
    "int": "int32",
    "short int": "int16",
    "signed char": "int8",
    "unsigned char": "uint8",
    "bool": "bool",
    "c10::complex<float>": "complex64",
    "c10::complex<double>": "complex128",
    "c10::complex<c10::Half>": "complex32",
    "c10::Float8_e4m3fn": "float8_e4m3fn",
    "c10::Float8_e5m2": "float8_e5m2",
    "c10::Float8_e4m3fnuz": "float8_e4m3fnuz",
    "c10::Float8_e5m2fnuz": "float8_e5m2fnuz",
}
_WORDS = (
    r"\b(?:c10::complex<(?:double|float|c10::Half)>|c10::\w+|float|double|half|__half|__nv_bfloat16|bfloat16|long long|"
    r"unsigned long|long|unsigned int|unsigned char|signed char|char|short|int|bool|true|false|bf16|f16|f32)\b"
)


def set_aside(name: str) -> bool:
    """Whether a name belongs to the third that is not looked at: by nothing but the name without types and numbers.

    So the bfloat16 and the float32 kernel of one functor are on one side, and all tiles of one GEMM.
    """
    skeleton = re.sub(r"[^A-Za-z:]+", " ", re.sub(_WORDS, " ", name))
    return int(hashlib.sha256(skeleton.encode()).hexdigest(), 16) % 3 == 0


_GEMM = {"gemm", "gemv", "split_k_reduce"}
_SORTS = {"sort", "index", "scan", "reduction", "copy", "fill", "elementwise"}
_LINALG = _GEMM | {"reduction", "copy", "fill", "elementwise", "index", "sort"}
ROLES_OF = (
    (
        r"mm|addmm|bmm|baddbmm|addbmm|_addmm_activation|_scaled_mm|_int_mm|_(scaled_)?grouped_mm|_weight_int\dpack_mm|linear|matmul|_cslt_sparse_mm|_scaled_mm_v2|gemm\w*",
        _GEMM,
    ),
    (r"addmv|mv|ger", _GEMM | {"reduction"}),
    (r"dot|vdot", {"reduction", "gemv", "gemm"}),
    (
        r"\w*convolution\w*|conv\dd\w*|_conv_depthwise2d\w*|slow_conv\w*|_slow_conv\w*|conv_depthwise3d\w*",
        {"convolution", "split_k_reduce", "gemm", "gemv"},
    ),
    (r"im2col|col2im|unfold|unfold_backward", {"convolution", "copy", "index", "reduction", "elementwise"}),
    (r"\w*attention\w*|\w*fmha\w*|flex_\w+", {"attention"}),
    (r"_cudnn_rnn\w*|miopen_rnn", {"gemm", "gemv", "elementwise", "split_k_reduce"}),
    (r"_sparse_softmax", {"softmax", "sort", "scan", "reduction", "index"}),
    (r"\w*softmax\w*", {"softmax"}),
    (r"\w*(layer_norm|rms_norm|group_norm|batch_norm|instance_norm)\w*", {"normalization", "reduction", "elementwise"}),
    (r"embedding_renorm|renorm", {"normalization", "elementwise", "reduction", "embedding", "index", "scan"}),
    (r"_?embedding\w*", {"embedding", "index", "sort", "scan", "reduction", "copy", "fill"}),
    (
        r"sort|_?unique\w*|topk|kthvalue|mode|(nan)?median|msort|argsort|_coalesce|randperm|_sparse_sparse_matmul",
        _SORTS | {"random"},
    ),
    (r"_?(cum|log_?cum)\w+", {"scan", "index"}),
    (
        r"(nonzero|masked_select|masked_scatter|repeat_interleave|searchsorted|bucketize|bincount|histc)\w*",
        {"index", "scan", "reduction", "elementwise", "sort"},
    ),
    (
        r"_?index\w*|gather|scatter\w*|take|put|_index_put_impl|flip|masked_fill\w*",
        {"index", "sort", "copy", "elementwise", "reduction", "fill", "scan"},
    ),
    (
        r"cat|_chunk_cat|stack|roll|triu|tril|\w*(tri[ul]_indices)|contiguous|clone|split_with_sizes_copy|_to_copy|to|copy\w*|_foreach_copy|_reshape_alias|_local_scalar_dense|transpose|_pin_memory|expand|repeat|resize\w*",
        {"copy", "fill", "elementwise"},
    ),
    (
        r"fill|zero|_foreach_zero|full|ones|zeros|arange|linspace|logspace|eye|new_zeros|zeros_like|range",
        {"fill", "elementwise"},
    ),
    (
        r"uniform|normal|random|bernoulli|exponential|cauchy|geometric|log_normal|poisson|binomial|_sample_dirichlet|_standard_gamma|multinomial|native_dropout\w*|rrelu_with_noise|rand\w*|dropout\w*",
        {"random", "elementwise", "scan", "reduction", "normalization"},
    ),
    (
        r"(special_)?(all|any|sum|nansum|mean|prod|var|std|amax|amin|aminmax|max|min|argmax|argmin|linalg_vector_norm|norm|equal|segment_reduce|hash_tensor|var_mean|std_mean|logsumexp|_segment_reduce_backward|_foreach_norm|_foreach_max|count_nonzero)",
        {"reduction", "elementwise"},
    ),
    (r"\w*(pool\dd|_pool)\w*", {"reduction", "elementwise", "index"}),
    (r"\w*loss\w*", {"reduction", "elementwise"}),
    (
        r"_fused_(adam|adamw|sgd|adagrad)|_amp_update_scale|_amp_foreach_non_finite_check_and_unscale",
        {"optimizer", "elementwise"},
    ),
    (r"linalg_vander|linalg_cross|linalg_diagonal", {"elementwise", "copy"}),
    (
        r"_?linalg_\w+|_?cholesky\w*|geqrf|ormqr|triangular_solve|lu_unpack|_lu_with_info|orgqr|linalg_matrix_exp",
        _LINALG | {"scan", "normalization"},
    ),
    (r"_fft\w+", {"copy", "elementwise"}),
    (r"_?sparse\w+|_to_sparse\w*|_convert_indices\w*|_cslt\w*|_convert_weight\w*", _LINALG | {"scan"}),
    (r"(c10d::|record_param_comms|nccl:|c10d_functional|_c10d_functional).*", {"collective", "copy", "elementwise"}),
    (r"(reflection|replication|constant)_pad\w*", {"elementwise", "copy", "fill", "index", "reduction"}),
    (
        r"\w*(upsample|grid_sampler|cdist|pdist|fake_quantize|weight_norm)\w*",
        {"elementwise", "reduction", "normalization"},
    ),
)
# By the function alone: helpers of libraries, whose op says little about them.
CERTAIN = (
    (r"^Memset|^\[CUDA memset|^FillBuffer|^__amd_rocclr_fill", {"memset"}),
    (r"^Memcpy|^\[CUDA memcpy|^Copy(?:Host|Device)To|^__amd_rocclr_copy", {"memcpy"}),
    (r"ncclDevKernel|ncclKernel", {"collective"}),
    (r"splitK_?reduce|splitKreduce|ReduceSplitK", {"split_k_reduce"}),
    (
        r"DeviceRadixSort|DeviceMergeSort|DeviceSegmentedSort|DeviceSegmentedRadixSort|radixSortKVInPlace|bitonicSortKV|radix_?sort|merge_?sort",
        {"sort"},
    ),
    (r"DeviceCompactInit", {"scan", "index", "fill"}),
    (r"DeviceScan", {"scan", "fill"}),
    (r"DeviceSelect|DeviceUniqueByKey|DevicePartition|DeviceHistogram|DeviceRunLength", {"index"}),
    (r"DeviceReduce|DeviceSegmentedReduce", {"reduction"}),
    (r"cublasLt::epilogue", {"elementwise", "split_k_reduce"}),
    (r"scal_kernel|scalePackedTensor|scale_tensor", {"elementwise"}),
    (
        r"(?i)convertTensor_kernel|nchwTo|nhwcTo|AddPadding|transpose_readWrite|tensorTransform|batched_transpose|SubTensorOp|transpose_N[CH]",
        {"copy"},
    ),
    (r"^.*::direct_copy_kernel", {"copy"}),
    (r"Im2d2Col|Col2Im2d", {"copy", "convolution"}),
    (r"setTensor|set_tensor|fill_|Fill", {"fill", "memset"}),
    (r"computeOffsets|computeBOffsets", {"index"}),
    (
        r"(?<![a-z_])[cdsz]?dot_kernel|reduce_1Block|::reduce_kernel<|reduce_wgrad|wgrad2d_c1_k1_nhwc_reduce",
        {"reduction"},
    ),
    (r"for_each::static_kernel|transform_kernel|parallel_for", {"elementwise", "index", "fill", "copy"}),
    (r"trsm|trsv|potrf|getrf|geqr[f2]|laswp|larf|syevj|gesvd|sytrd", {"other"}),
    (r"winograd\w*(?:Generate|Tile)", {"copy", "convolution"}),
)
_NAMESPACES = (
    (r"(?:at_cuda_detail::)?(?:\w+::)*?cub::(?!.*\(\*)", {"cub"}),
    (r"thrust::", {"thrust", "cub"}),
    (r"at::native::|at::cuda::|at::", {"aten"}),
    (r"pytorch_flash::|flash::|flash_", {"flash_attention"}),
    (r"cudnn::|cudnn_", {"cudnn"}),
    (r"cublasLt::|cublas::", {"cublas"}),
    (r"cusparse::|cusparseLt::", {"cusparse"}),
    (r"cusolver", {"cusolver"}),
    (r"ck::|ck_tile::", {"ck"}),
    (r"aiter::", {"aiter"}),
    (r"vllm::", {"vllm"}),
    (r"nvjet_", {"nvjet"}),
    (r"cutlass::|cutlass_|cutlass__5x_cudnn|cutlass3x", {"cutlass", "mem_efficient"}),
    (r"nccl", {"nccl"}),
    (r"Cijk_|Custom_Cijk", {"tensile"}),
    (r"sm\d+_xmma", {"xmma"}),
    (r"fmha_cutlass", {"mem_efficient"}),
    (r"Mem(?:set|cpy) ", {"cuda"}),
)
# Which ops can call a library
_CALLERS = {
    "cufft": r"_fft\w+|fft\w+",
    "cusolver": r"_?linalg_\w+|cholesky\w*|_cholesky\w*|geqrf|ormqr|orgqr|triangular_solve|lu\w*",
    "cusparse": r".*(sparse|mm|mv|addmm|triangular_solve|cslt|bsr|csr|add|mul).*",
    "cudnn": r".*(conv|cudnn|rnn|batch_norm|attention|pool|ctc|dropout|miopen).*",
    "miopen": r".*(conv|miopen|rnn|batch_norm|pool|softmax).*",
    "flash_attention": r".*(attention|mha|flash|fmha|attn).*",
    "mem_efficient": r".*(attention|mha).*",
    "cublas": r".*(mm|mv|dot|ger|linalg|cholesky|rnn|conv|solve|lu|geqrf|ormqr|orgqr|linear|matmul|_qr|fft|sparse|attention).*",
    "nvjet": r".*(mm|mv|linalg|cholesky|rnn|conv|solve|linear|matmul|gemm).*",
    "triton": r"triton.*|.*(bsr|Compiled|CompiledFx|inductor|flex|kernel|liger).*",
}
# What a functor's op stands for besides itself
_SAME = {
    "add": {"sub", "rsub", "_sparse_add"},
    "mul": {"div"},
    "compare": {"eq", "ne", "lt", "le", "gt", "ge", "equal"},
    "clamp": {"clamp_min", "clamp_max", "hardtanh", "relu", "relu6"},
    "threshold": {"threshold_backward", "relu"},
    "fill": {"zero", "zeros", "ones", "full"},
    "var": {"std", "var_mean", "std_mean"},
    "norm": {"linalg_vector_norm"},
    "amax": {"max"},
    "amin": {"min"},
    "maximum": {"clamp", "clamp_min", "fmax"},
    "minimum": {"clamp", "clamp_max", "fmin"},
    "random": {"randint"},
    "uniform": {"rand"},
    "normal": {"randn"},
    "prelu": {"_prelu_kernel"},
    "prelu_backward": {"_prelu_kernel_backward"},
    "masked_scale": {"native_dropout_backward"},
    "sqrt": {"pow"},
    "rsqrt": {"pow"},
    "reciprocal": {"pow"},
    "sign": {"sgn"},
    "conj_physical": {"copy"},
    "div": {"floor_divide"},
    "sum": {"multilabel_margin_loss_forward"},
}
_COMPARISONS = {
    "equal",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "isnan",
    "isinf",
    "signbit",
    "isposinf",
    "isneginf",
    "logical_and",
    "logical_or",
    "logical_xor",
    "logical_not",
}
_HALVES = {"float16", "bfloat16"}
_BITS = {
    "float64": 64,
    "int64": 64,
    "float32": 32,
    "int32": 32,
    "float16": 16,
    "bfloat16": 16,
    "int16": 16,
    "int8": 8,
    "uint8": 8,
    "bool": 1,
    "complex64": 64,
    "complex128": 128,
}
_SOLVERS = r"_?linalg_(?!vector_norm|cross)\w+|_?cholesky\w*|geqrf|ormqr|orgqr|triangular_solve|lu_\w+"
_WIDER = {
    "float16": ("float32", "float64"),
    "bfloat16": ("float32", "float64"),
    "float32": ("float64",),
    "complex64": ("complex128",),
}
_PROMOTING = {"sum", "prod", "cumsum", "cumprod", "nansum"}


def judge(name: str, rows: list[list[Any]], said: dict[str, Any]) -> tuple[str, list[str]]:
    """Return `right`, `unknown` or `wrong`, and every wrong statement with what was seen."""
    faults = [fault for row in rows for fault in _faults(name, row, said)]
    if faults:
        return "wrong", list(dict.fromkeys(faults))
    return ("unknown" if said["role"] == "other" and not said.get("ops") else "right"), []


def _base(op: str | None) -> str:
    text = re.sub(r"^\w+::", "", op or "") if not (op or "").startswith("c10d") else op or ""
    return text[:-1] if text.endswith("_") else text


def _faults(name: str, row: list[Any], said: dict[str, Any]) -> Any:
    op, types, _, _, api = row[:5]
    _, sample, phase, results = (row[5:9] + [None] * 4)[:4] if len(row) > 6 else (None, None, None, [])
    base = _base(op)
    generated = bool(op) and not re.match(r"(?:aten|c10d\w*|cudnn\w*|\w+)::", op) and "triton" in op
    yield from _role(name, op, base, generated, said)
    yield from _family(name, op, base, generated, api, said)
    if op is None or generated:
        return
    yield from _ops(base, said)
    yield from _dtypes(name, base, types, [sample, *(results or [])], said)
    backward = (
        "backward" in base or "_bwd" in base or phase == "backward" or "transpose" in base or "Backward" in (op or "")
    )
    direction = str(said.get("direction") or "")
    if direction.startswith("backward") and phase is not None and not backward:
        yield f"direction {direction}: {base} in {phase}"
    if direction == "forward" and re.search(r"backward", base) and "convolution" not in base:
        yield f"direction forward: {base}"


def _role(name: str, op: str | None, base: str, generated: bool, said: dict[str, Any]) -> Any:
    role = said["role"]
    head = re.split(
        r"[<(]",
        re.sub(
            r"^(?:void|static|__global__) |\(anonymous namespace\)::|<unnamed>::|std::enable_if.*?::type ", "", name
        ),
    )[0]
    certain = (
        None
        if generated
        else next(
            (
                roles
                for pattern, roles in CERTAIN
                if re.search(pattern, head) or (pattern[0] == "^" and re.match(pattern, name))
            ),
            None,
        )
    )
    if role == "other":
        return
    if certain is not None:
        if role not in certain:
            yield f"role {role}: {head}"
        return
    if op is None:
        return
    if generated:
        kind = re.match(r"triton_(poi|per|red|tem|for|spl|mix|unk)", name)
        allowed = {
            "poi": {"elementwise"},
            "per": {"reduction"},
            "red": {"reduction"},
            "mix": {"reduction"},
            "spl": {"scan"},
            "for": {"elementwise"},
            "tem": {"gemm", "convolution", "attention"},
            "unk": {"reduction", "elementwise"},
        }
        if kind and role not in allowed[kind[1]]:
            yield f"role {role}: {name[:60]}"
        return
    if not op.startswith(("aten::", "c10d", "nccl", "record_param")):
        return  # a project's own op says nothing that a table could hold
    allowed_roles = next((roles for pattern, roles in ROLES_OF if re.fullmatch(pattern, base)), {"elementwise"})
    if role not in allowed_roles:
        yield f"role {role}: {base}"


def _family(name: str, op: str | None, base: str, generated: bool, api: str | None, said: dict[str, Any]) -> Any:
    family = said["family"]
    if family is None:
        return
    text = re.sub(
        r"^(?:void|static|__global__) |\(anonymous namespace\)::|<unnamed>::|std::enable_if.*?::type ", "", name
    )
    inside = next((families for pattern, families in _NAMESPACES if re.match(pattern, text)), None)
    if inside is not None and family not in inside:
        yield f"family {family}: {text[:50]}"
    elif inside is None and op is not None:
        callers = _CALLERS.get(family)
        if (
            family == "triton"
            and not generated
            and "attention" not in base
            and not op.startswith("triton")
            and (op.startswith("aten::") or api in ("cudaLaunchKernel", "hipLaunchKernel"))
        ):
            yield f"family triton: launched by {op}"
        elif callers and "attention" not in base and op.startswith("aten::") and not re.fullmatch(callers, base):
            yield f"family {family}: {base}"


def _ops(base: str, said: dict[str, Any]) -> Any:
    if said["family"] != "aten":
        return
    name = base.removeprefix("_foreach_").removeprefix("special_")
    for op in said.get("ops") or ():
        if op == "copy" and said["role"] == "copy":
            continue  # held as a role
        if op not in (name, base, name.lstrip("_")) and name not in _SAME.get(op, ()):
            yield f"ops {op}: {base}"


def _dtypes(name: str, base: str, types: list[str], around: list[Any], said: dict[str, Any]) -> Any:
    if re.fullmatch(_SOLVERS, base):
        return  # a solver refines in another precision, and works on real parts of complex matrices
    tensors = [_TYPES[kind] for kind in types if kind in _TYPES]
    # An op may convert its inputs first, in a kernel of its own; a kernel that casts as it loads is held to its inputs.
    converted = (
        [] if "WithCast" in name or "gpu_kernel_impl<" in name or base == "copy" else [kind for kind in around if kind]
    )
    if base in _PROMOTING and all(kind.startswith(("int", "uint", "bool")) for kind in tensors):
        converted.append("int64")
    if base in (*_PROMOTING, "mean", "linalg_vector_norm"):  # with dtype=
        converted += [wide for kind in tensors for wide in _WIDER.get(kind, ())]
    if base == "_index_put_impl":
        converted.append("int64")  # indices come in a list, whose types are not recorded
    if (said["family"] in ("cub", "thrust") and not re.fullmatch(r"sort|topk|_unique2?|unique_consecutive", base)) or (
        said["family"] == "cudnn" and said["role"] == "copy"
    ):
        return  # helpers that read what the op's own kernels wrote
    lists = any("TensorList" in kind for kind in types)
    near = {kind for kind in around if kind} | set(tensors) | set(converted)
    dtypes = said["dtypes"]
    for which in ("a", "b"):
        kind = dtypes[which]
        if kind is None or not tensors:
            continue
        if base == "copy" and len(tensors) > 1:
            if kind != tensors[1]:
                yield f"dtypes.{which} {kind}: copy from {tensors[1]}"
        elif kind not in (near if lists else [*tensors, *converted]):
            yield f"dtypes.{which} {kind}: {base} of {tensors}"
    out = dtypes["out"]
    if out is not None and tensors:
        if base == "copy":
            wrong = out != tensors[0]
        elif base in _COMPARISONS:
            wrong = out != "bool" and base != "_foreach"
        else:
            real = {"complex64": "float32", "complex128": "float64"}
            wrong = out not in near | set(converted) | {real.get(kind) for kind in near}
            wrong = (
                wrong
                and not (base in ("all", "any") and out == "bool")
                and not (base in ("argmax", "argmin") and out == "int64")
            )
            # what a sum that is split writes first
            wrong = wrong and not (out == "float32" and said["role"] in ("gemm", "split_k_reduce") and _HALVES & near)
        if wrong:
            yield f"dtypes.out {out}: {base} of {tensors} → {around[1:]}"
    total, operand = dtypes["accumulate"], dtypes["a"] or (tensors[0] if tensors else None)
    if total is not None and operand is not None:
        widths = [_BITS.get(total, 64) * (1 + operand.startswith("complex")), _BITS.get(operand, 0)]
        narrow = widths[0] < widths[1] and not operand.startswith(("int", "uint"))
        half = operand in _HALVES and total not in ("float32", "float64")
        if narrow or (half and not (total == operand and _spells_half(name))):
            yield f"dtypes.accumulate {total}: {base} of {operand}"


def _spells_half(name: str) -> bool:
    return bool(re.search(r"Half|half|_h\d*gemm|f16f16|_hhh|HHH|BFloat16|bf16bf16|h16816|_f16_f16_f16", name))
