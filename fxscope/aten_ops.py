"""What an op's name lets one expect, before anything ran: a view, a kernel, a composite, or host work.

Schemas cannot decide this alone: `OpOverload.is_view` is true of ops that may copy (`reshape`, `contiguous`) and false of
`_unsafe_view`, which never launches anything (torch 2.13, `torch/_ops.py`). What ran decides; this is the expectation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fxscope.model import Nature

# New metadata over the same storage, always (native_functions.yaml: those whose return aliases `self`, and the unsafe twins).
VIEWS = frozenset(
    """alias as_strided _reshape_alias _unsafe_view chunk detach diagonal expand expand_as flatten_dense_tensors
    lift_fresh movedim moveaxis narrow permute ravel_view real imag view_as_real view_as_complex select slice split
    split_with_sizes unsafe_split unsafe_chunk squeeze swapaxes swapdims t transpose numpy_T mT mH H T adjoint
    unbind unflatten unfold unsqueeze view view_as hsplit vsplit dsplit tensor_split set_ data resolve_conj resolve_neg
    _conj _neg_view conj positive detach_ t_ transpose_ squeeze_ unsqueeze_ as_strided_ values indices _values _indices
    crow_indices col_indices _nested_view_from_buffer reinterpret_tensor broadcast_to rename refine_names align_to
    slice_inverse select_backward_view lift _test_ambiguous_defaults_view""".split()
)
# New metadata or a copy, depending on strides, dtype or device.
MAY_COPY = frozenset(
    "reshape contiguous to _to_copy_or_self flatten ravel reshape_as type_as type cpu cuda float half".split()
)
# Storage is made or bookkeeping done; nothing is launched.
HOST = frozenset(
    """empty empty_like empty_strided new_empty new_empty_strided empty_permuted empty_quantized resize_ resize_as_
    size stride sym_size sym_stride sym_numel sym_storage_offset numel dim is_floating_point is_complex is_nonzero_host
    item _local_scalar_dense result_type can_cast record_stream _has_compatible_shallow_copy_type is_same_size
    storage_offset is_contiguous output_nr _version requires_grad_ retain_grad is_leaf lift_fresh_copy_host promote_types
    set_data _assert_async_host sym_constrain_range sym_constrain_range_for_size _assert_scalar device dtype
    _nested_tensor_size is_pinned pin_memory_host _backward backward""".split()
)
# No kernel of its own on any backend of note: it calls others.
COMPOSITES = frozenset(
    """linear matmul conv1d conv2d conv3d convolution _convolution layer_norm batch_norm _batch_norm_impl_index
    instance_norm group_norm dropout feature_dropout alpha_dropout cross_entropy_loss nll_loss nll_loss_nd softmax
    log_softmax einsum scaled_dot_product_attention multi_head_attention_forward where_scalar max_pool2d max_pool1d
    adaptive_avg_pool2d pad pixel_shuffle_composite embedding_bag one_hot tensordot kron norm_composite std_composite
    gelu_backward_composite rms_norm cosine_similarity pairwise_distance bilinear_composite stack_composite clone_composite
    square absolute true_divide_composite to_dense type_composite nan_to_num_composite linalg_norm linalg_vector_norm_composite
    rnn_tanh lstm gru upsample_composite interpolate_composite zeros ones full zeros_like ones_like full_like rand randn
    randint new_zeros new_ones new_full arange_composite hstack vstack dstack column_stack addr_composite""".split()
)
# These call one kernel of their own name underneath or, on some backends, another op; a trace shows which.


def base_name(target: str) -> str:
    """Return the op's name without namespace and overload: "aten::view", "aten.view.default" → "view"."""
    name = target.removeprefix("torch.ops.")
    if "::" in name:
        return name.split("::", 1)[1].split(".")[0]
    parts = name.split(".")
    return parts[1] if len(parts) > 1 and parts[0] in ("aten", "prims", "inductor") else parts[-1]


def namespace(target: str) -> str | None:
    """Return "aten" of "aten::view" or "aten.view.default"; `None` where there is none."""
    name = target.removeprefix("torch.ops.")
    if "::" in name:
        return name.split("::", 1)[0]
    parts = name.split(".")
    return parts[0] if len(parts) > 1 else None


def expected_nature(target: str) -> Nature:
    """Return what the name lets one expect; "unknown" for ops that may copy and for names outside ATen and prims."""
    name = base_name(target)
    if name in VIEWS or name in ("view_of", "broadcast_in_dim", "collapse_view", "split_dim"):
        return "view"
    if name in MAY_COPY:
        return "unknown"
    if name in HOST:
        return "host"
    if name in COMPOSITES:
        return "composite"
    return "kernel" if namespace(target) in ("aten", "prims", "inductor") else "unknown"
