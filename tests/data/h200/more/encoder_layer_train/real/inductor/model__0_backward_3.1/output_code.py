# AOT ID: ['0_backward']
from ctypes import c_void_p, c_long, c_int
import torch
import math
import random
import os
import tempfile
from math import inf, nan
from cmath import nanj
from torch._inductor.hooks import run_intermediate_hooks
from torch._inductor.utils import maybe_profile
from torch._inductor.codegen.memory_planning import _align as align
from torch import device, empty_strided
from torch._inductor.async_compile import AsyncCompile
from torch._inductor.select_algorithm import extern_kernels
import triton
import triton.language as tl
from torch._inductor.runtime.triton_heuristics import start_graph, end_graph
from torch._C import _cuda_getCurrentRawStream as get_raw_stream

aten = torch.ops.aten
inductor_ops = torch.ops.inductor
_quantized = torch.ops._quantized
assert_size_stride = torch._C._dynamo.guards.assert_size_stride
assert_alignment = torch._C._dynamo.guards.assert_alignment
empty_strided_cpu = torch._C._dynamo.guards._empty_strided_cpu
empty_strided_cpu_pinned = torch._C._dynamo.guards._empty_strided_cpu_pinned
empty_strided_cuda = torch._C._dynamo.guards._empty_strided_cuda
empty_strided_xpu = torch._C._dynamo.guards._empty_strided_xpu
empty_strided_mtia = torch._C._dynamo.guards._empty_strided_mtia
reinterpret_tensor = torch._C._dynamo.guards._reinterpret_tensor
alloc_from_pool = torch.ops.inductor._alloc_from_pool
async_compile = AsyncCompile()
empty_strided_p2p = torch._C._distributed_c10d._SymmetricMemory.empty_strided_p2p


# kernel path: /tmp/encoder_layer_train-xowbz50p/cache/tmp__v162kv/27/c27uwpdczwtbcexkradoxiyh4axuqxbpj7pcttso6rysvokilmyr.py
# Topologically Sorted Source Nodes: [clone_3, x_3, mul_19, sum_3, sum_4], Original ATen: [aten.native_layer_norm_backward, aten.native_layer_norm]
# Source node to ATen node mapping:
#   clone_3 => convert_element_type_17
#   mul_19 => mul_19
#   sum_3 => sum_3
#   sum_4 => sum_4
#   x_3 => convert_element_type_15, mul_11, sub_1
# Graph fragment:
#   %tangents_1 : Tensor "bf16[4, 128, 256][32768, 256, 1]cuda:0" = PlaceHolder[target=tangents_1]
#   %add_5 : Tensor "bf16[4, 128, 256][32768, 256, 1]cuda:0" = PlaceHolder[target=add_5]
#   %getitem_12 : Tensor "f32[4, 128, 1][128, 1, 1]cuda:0" = PlaceHolder[target=getitem_12]
#   %rsqrt_1 : Tensor "f32[4, 128, 1][128, 1, 1]cuda:0" = PlaceHolder[target=rsqrt_1]
#   %convert_element_type_17 : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%tangents_1, torch.float32), kwargs = {})
#   %convert_element_type_15 : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%add_5, torch.float32), kwargs = {})
#   %sub_1 : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sub.Tensor](args = (%convert_element_type_15, %getitem_12), kwargs = {})
#   %mul_11 : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.aten.mul.Tensor](args = (%sub_1, %rsqrt_1), kwargs = {})
#   %mul_19 : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type_17, %mul_11), kwargs = {})
#   %sum_3 : Tensor "f32[256][1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%mul_19, [0, 1]), kwargs = {})
#   %sum_4 : Tensor "f32[256][1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%convert_element_type_17, [0, 1]), kwargs = {})
#   return %buf2,%buf4
triton_red_fused_native_layer_norm_native_layer_norm_backward_0 = async_compile.triton('triton_red_fused_native_layer_norm_native_layer_norm_backward_0', '''
import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
from torch._inductor.runtime.hints import AutotuneHint, ReductionHint, TileHint, DeviceProperties
triton_helpers.set_driver_to_gpu()

@triton_heuristics.reduction(
    size_hints={'x': 1024, 'r0_': 128},
    reduction_hint=ReductionHint.OUTER,
    filename=__file__,
    triton_meta={'signature': {'in_ptr0': '*bf16', 'in_ptr1': '*bf16', 'in_ptr2': '*fp32', 'in_ptr3': '*fp32', 'out_ptr0': '*fp32', 'out_ptr1': '*fp32', 'xnumel': 'i32', 'r0_numel': 'i32', 'XBLOCK': 'constexpr', 'R0_BLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32), 'constants': {}, 'native_matmul': False, 'enable_fp_fusion': True, 'launch_pdl': False, 'disable_ftz': False, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]], (3,): [['tt.divisibility', 16]], (4,): [['tt.divisibility', 16]], (5,): [['tt.divisibility', 16]], (6,): [['tt.divisibility', 16]], (7,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'autotune_hints': set(), 'kernel_name': 'triton_red_fused_native_layer_norm_native_layer_norm_backward_0', 'mutated_arg_names': [], 'optimize_mem': True, 'no_x_dim': False, 'atomic_add_found': False, 'num_load': 4, 'num_store': 2, 'num_reduction': 2, 'backend_hash': '91D1D1166449D9E2EB66EB9770C9E2C3B0FEB787341F27FEB4D3F0338DA50336', 'assert_indirect_indexing': True, 'autotune_local_cache': True, 'autotune_pointwise': True, 'autotune_remote_cache': None, 'force_disable_caches': True, 'dynamic_scale_rblock': True, 'max_autotune': False, 'max_autotune_pointwise': False, 'min_split_scan_rblock': 256, 'spill_threshold': 16, 'store_cubin': False, 'deterministic': False, 'force_filter_reduction_configs': False, 'mix_order_reduction_allow_multi_stages': False, 'are_deterministic_algorithms_enabled': False, 'tiling_scores': {'x': 540672, 'r0_': 4096}}
)
@triton.jit
def triton_red_fused_native_layer_norm_native_layer_norm_backward_0(in_ptr0, in_ptr1, in_ptr2, in_ptr3, out_ptr0, out_ptr1, xnumel, r0_numel, XBLOCK : tl.constexpr, R0_BLOCK : tl.constexpr):
    xnumel = 1024
    r0_numel = 128
    rnumel = r0_numel
    RBLOCK: tl.constexpr = R0_BLOCK
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    xmask = xindex < xnumel
    r0_base = tl.arange(0, R0_BLOCK)[None, :]
    rbase = r0_base
    x0 = (xindex % 256)
    x1 = xindex // 256
    _tmp10 = tl.full([XBLOCK, R0_BLOCK], 0, tl.float32)
    x3 = xindex
    _tmp13 = tl.full([XBLOCK, R0_BLOCK], 0, tl.float32)
    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
        r0_index = r0_offset + r0_base
        r0_mask = r0_index < r0_numel
        roffset = r0_offset
        rindex = r0_index
        r0_2 = r0_index
        tmp0 = tl.load(in_ptr0 + (x0 + 256*r0_2 + 32768*x1), r0_mask & xmask, eviction_policy='evict_first', other=0.0).to(tl.float32)
        tmp2 = tl.load(in_ptr1 + (x0 + 256*r0_2 + 32768*x1), r0_mask & xmask, eviction_policy='evict_first', other=0.0).to(tl.float32)
        tmp4 = tl.load(in_ptr2 + (r0_2 + 128*x1), r0_mask & xmask, eviction_policy='evict_last', other=0.0)
        tmp6 = tl.load(in_ptr3 + (r0_2 + 128*x1), r0_mask & xmask, eviction_policy='evict_last', other=0.0)
        tmp1 = tmp0.to(tl.float32)
        tmp3 = tmp2.to(tl.float32)
        tmp5 = tmp3 - tmp4
        tmp7 = tmp5 * tmp6
        tmp8 = tmp1 * tmp7
        tmp9 = tl.broadcast_to(tmp8, [XBLOCK, R0_BLOCK])
        tmp11 = _tmp10 + tmp9
        _tmp10 = tl.where(r0_mask & xmask, tmp11, _tmp10)
        tmp12 = tl.broadcast_to(tmp1, [XBLOCK, R0_BLOCK])
        tmp14 = _tmp13 + tmp12
        _tmp13 = tl.where(r0_mask & xmask, tmp14, _tmp13)
    tmp10 = tl.sum(_tmp10, 1)[:, None]
    tmp13 = tl.sum(_tmp13, 1)[:, None]
    tl.store(out_ptr0 + (x3), tmp10, xmask)
    tl.store(out_ptr1 + (x3), tmp13, xmask)
''', device_str='cuda')


# kernel path: /tmp/encoder_layer_train-xowbz50p/cache/tmp__v162kv/u5/cu5vgtajhvkcwtwnvp7uxmx3ruuiey6yz3h2kkpn4xl7pcgzowh2.py
# Topologically Sorted Source Nodes: [clone_3, x_3, mul_19, sum_3, convert_element_type_22], Original ATen: [aten.native_layer_norm_backward, aten.native_layer_norm]
# Source node to ATen node mapping:
#   clone_3 => convert_element_type_17
#   convert_element_type_22 => convert_element_type_22
#   mul_19 => mul_19
#   sum_3 => sum_3
#   x_3 => convert_element_type_15, mul_11, sub_1
# Graph fragment:
#   %buf2 : Tensor "f32[256, 4][1, 256]cuda:0" = PlaceHolder[target=buf2]
#   %sum_3 : Tensor "f32[256][1]cuda:0" = PlaceHolder[target=sum_3]
#   %convert_element_type_17 : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%tangents_1, torch.float32), kwargs = {})
#   %convert_element_type_15 : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%add_5, torch.float32), kwargs = {})
#   %sub_1 : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sub.Tensor](args = (%convert_element_type_15, %getitem_12), kwargs = {})
#   %mul_11 : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.aten.mul.Tensor](args = (%sub_1, %rsqrt_1), kwargs = {})
#   %mul_19 : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type_17, %mul_11), kwargs = {})
#   %sum_3 : Tensor "f32[256][1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%mul_19, [0, 1]), kwargs = {})
#   %convert_element_type_22 : Tensor "bf16[256][1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%sum_3, torch.bfloat16), kwargs = {})
#   return %sum_3,%convert_element_type_22
triton_per_fused_native_layer_norm_native_layer_norm_backward_1 = async_compile.triton('triton_per_fused_native_layer_norm_native_layer_norm_backward_1', '''
import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
from torch._inductor.runtime.hints import AutotuneHint, ReductionHint, TileHint, DeviceProperties
triton_helpers.set_driver_to_gpu()

@triton_heuristics.persistent_reduction(
    size_hints={'x': 256, 'r0_': 4},
    reduction_hint=ReductionHint.OUTER_TINY,
    filename=__file__,
    triton_meta={'signature': {'in_ptr0': '*fp32', 'out_ptr1': '*bf16', 'xnumel': 'i32', 'r0_numel': 'i32', 'XBLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32), 'constants': {}, 'native_matmul': False, 'enable_fp_fusion': True, 'launch_pdl': False, 'disable_ftz': False, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'autotune_hints': set(), 'kernel_name': 'triton_per_fused_native_layer_norm_native_layer_norm_backward_1', 'mutated_arg_names': [], 'optimize_mem': True, 'no_x_dim': None, 'atomic_add_found': False, 'num_load': 1, 'num_store': 1, 'num_reduction': 1, 'backend_hash': '91D1D1166449D9E2EB66EB9770C9E2C3B0FEB787341F27FEB4D3F0338DA50336', 'assert_indirect_indexing': True, 'autotune_local_cache': True, 'autotune_pointwise': True, 'autotune_remote_cache': None, 'force_disable_caches': True, 'dynamic_scale_rblock': True, 'max_autotune': False, 'max_autotune_pointwise': False, 'min_split_scan_rblock': 256, 'spill_threshold': 16, 'store_cubin': False, 'deterministic': False, 'force_filter_reduction_configs': False, 'mix_order_reduction_allow_multi_stages': False, 'are_deterministic_algorithms_enabled': False, 'tiling_scores': {'x': 5120, 'r0_': 0}}
)
@triton.jit
def triton_per_fused_native_layer_norm_native_layer_norm_backward_1(in_ptr0, out_ptr1, xnumel, r0_numel, XBLOCK : tl.constexpr):
    xnumel = 256
    r0_numel = 4
    R0_BLOCK: tl.constexpr = 4
    rnumel = r0_numel
    RBLOCK: tl.constexpr = R0_BLOCK
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    xmask = xindex < xnumel
    r0_index = tl.arange(0, R0_BLOCK)[None, :]
    r0_offset = 0
    r0_mask = tl.full([R0_BLOCK], True, tl.int1)[None, :]
    roffset = r0_offset
    rindex = r0_index
    r0_1 = r0_index
    x0 = xindex
    tmp0 = tl.load(in_ptr0 + (x0 + 256*r0_1), xmask, other=0.0)
    tmp1 = tl.broadcast_to(tmp0, [XBLOCK, R0_BLOCK])
    tmp3 = tl.where(xmask, tmp1, 0)
    tmp4 = tl.sum(tmp3, 1)[:, None].to(tl.float32)
    tmp5 = tmp4.to(tl.float32)
    tl.store(out_ptr1 + (x0), tmp5, xmask)
''', device_str='cuda')


# kernel path: /tmp/encoder_layer_train-xowbz50p/cache/tmp__v162kv/pe/cpekz7jf57rpupb6mrxhsq3nafrybmt5nsqnxqunhu7ti5ahhwdh.py
# Topologically Sorted Source Nodes: [clone_3, clone_5, mul_14, mul_15, sum_1, x_3, mul_16, sum_2, mul_17, sub_3, sub_4, div, mul_18, convert_element_type_21, convert_element_type_24, mul_20, clone_7], Original ATen: [aten.native_layer_norm_backward, aten.native_layer_norm, aten.native_dropout_backward]
# Source node to ATen node mapping:
#   clone_3 => convert_element_type_17
#   clone_5 => convert_element_type_19
#   clone_7 => mul_21
#   convert_element_type_21 => convert_element_type_21
#   convert_element_type_24 => convert_element_type_24
#   div => div
#   mul_14 => mul_14
#   mul_15 => mul_15
#   mul_16 => mul_16
#   mul_17 => mul_17
#   mul_18 => mul_18
#   mul_20 => mul_20
#   sub_3 => sub_3
#   sub_4 => sub_4
#   sum_1 => sum_1
#   sum_2 => sum_2
#   x_3 => convert_element_type_15, mul_11, sub_1
# Graph fragment:
#   %tangents_1 : Tensor "bf16[4, 128, 256][32768, 256, 1]cuda:0" = PlaceHolder[target=tangents_1]
#   %primals_12 : Tensor "bf16[256][1]cuda:0" = PlaceHolder[target=primals_12]
#   %add_5 : Tensor "bf16[4, 128, 256][32768, 256, 1]cuda:0" = PlaceHolder[target=add_5]
#   %getitem_12 : Tensor "f32[4, 128, 1][128, 1, 1]cuda:0" = PlaceHolder[target=getitem_12]
#   %rsqrt_1 : Tensor "f32[4, 128, 1][128, 1, 1]cuda:0" = PlaceHolder[target=rsqrt_1]
#   %sum_1 : Tensor "f32[4, 128, 1][128, 1, 512]cuda:0" = PlaceHolder[target=sum_1]
#   %sum_2 : Tensor "f32[4, 128, 1][128, 1, 512]cuda:0" = PlaceHolder[target=sum_2]
#   %convert_element_type_21 : Tensor "bf16[4, 128, 256][32768, 256, 1]cuda:0" = PlaceHolder[target=convert_element_type_21]
#   %gt_2 : Tensor "b8[4, 128, 256][32768, 256, 1]cuda:0" = PlaceHolder[target=gt_2]
#   %convert_element_type_17 : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%tangents_1, torch.float32), kwargs = {})
#   %convert_element_type_19 : Tensor "f32[256][1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%primals_12, torch.float32), kwargs = {})
#   %mul_14 : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type_17, %convert_element_type_19), kwargs = {})
#   %mul_15 : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%mul_14, 256), kwargs = {})
#   %sum_1 : Tensor "f32[4, 128, 1][128, 1, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%mul_14, [2], True), kwargs = {})
#   %convert_element_type_15 : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%add_5, torch.float32), kwargs = {})
#   %sub_1 : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sub.Tensor](args = (%convert_element_type_15, %getitem_12), kwargs = {})
#   %mul_11 : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.aten.mul.Tensor](args = (%sub_1, %rsqrt_1), kwargs = {})
#   %mul_16 : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%mul_14, %mul_11), kwargs = {})
#   %sum_2 : Tensor "f32[4, 128, 1][128, 1, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%mul_16, [2], True), kwargs = {})
#   %mul_17 : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%mul_11, %sum_2), kwargs = {})
#   %sub_3 : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sub.Tensor](args = (%mul_15, %sum_1), kwargs = {})
#   %sub_4 : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sub.Tensor](args = (%sub_3, %mul_17), kwargs = {})
#   %div : Tensor "f32[4, 128, 1][128, 1, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.div.Tensor](args = (%rsqrt_1, 256), kwargs = {})
#   %mul_18 : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%div, %sub_4), kwargs = {})
#   %convert_element_type_21 : Tensor "bf16[4, 128, 256][32768, 256, 1]cuda:0"[num_users=2] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%mul_18, torch.bfloat16), kwargs = {})
#   %convert_element_type_24 : Tensor "bf16[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%gt_2, torch.bfloat16), kwargs = {})
#   %mul_20 : Tensor "bf16[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type_24, 1.1111111111111112), kwargs = {})
#   %mul_21 : Tensor "bf16[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type_21, %mul_20), kwargs = {})
#   return %sum_1,%sum_2,%convert_element_type_21,%mul_21
triton_per_fused_native_dropout_backward_native_layer_norm_native_layer_norm_backward_2 = async_compile.triton('triton_per_fused_native_dropout_backward_native_layer_norm_native_layer_norm_backward_2', '''
import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
from torch._inductor.runtime.hints import AutotuneHint, ReductionHint, TileHint, DeviceProperties
triton_helpers.set_driver_to_gpu()

@triton_heuristics.persistent_reduction(
    size_hints={'x': 512, 'r0_': 256},
    reduction_hint=ReductionHint.INNER,
    filename=__file__,
    triton_meta={'signature': {'in_out_ptr0': '*bf16', 'in_ptr0': '*bf16', 'in_ptr1': '*bf16', 'in_ptr2': '*fp32', 'in_ptr3': '*fp32', 'in_ptr4': '*i1', 'out_ptr2': '*bf16', 'xnumel': 'i32', 'r0_numel': 'i32', 'XBLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32), 'constants': {}, 'native_matmul': False, 'enable_fp_fusion': True, 'launch_pdl': False, 'disable_ftz': False, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]], (3,): [['tt.divisibility', 16]], (4,): [['tt.divisibility', 16]], (5,): [['tt.divisibility', 16]], (6,): [['tt.divisibility', 16]], (7,): [['tt.divisibility', 16]], (8,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'autotune_hints': set(), 'kernel_name': 'triton_per_fused_native_dropout_backward_native_layer_norm_native_layer_norm_backward_2', 'mutated_arg_names': ['in_out_ptr0'], 'optimize_mem': True, 'no_x_dim': None, 'atomic_add_found': False, 'num_load': 6, 'num_store': 2, 'num_reduction': 2, 'backend_hash': '91D1D1166449D9E2EB66EB9770C9E2C3B0FEB787341F27FEB4D3F0338DA50336', 'assert_indirect_indexing': True, 'autotune_local_cache': True, 'autotune_pointwise': True, 'autotune_remote_cache': None, 'force_disable_caches': True, 'dynamic_scale_rblock': True, 'max_autotune': False, 'max_autotune_pointwise': False, 'min_split_scan_rblock': 256, 'spill_threshold': 16, 'store_cubin': False, 'deterministic': False, 'force_filter_reduction_configs': False, 'mix_order_reduction_allow_multi_stages': False, 'are_deterministic_algorithms_enabled': False, 'tiling_scores': {'x': 4096, 'r0_': 1704448}}
)
@triton.jit
def triton_per_fused_native_dropout_backward_native_layer_norm_native_layer_norm_backward_2(in_out_ptr0, in_ptr0, in_ptr1, in_ptr2, in_ptr3, in_ptr4, out_ptr2, xnumel, r0_numel, XBLOCK : tl.constexpr):
    xnumel = 512
    r0_numel = 256
    R0_BLOCK: tl.constexpr = 256
    rnumel = r0_numel
    RBLOCK: tl.constexpr = R0_BLOCK
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    xmask = xindex < xnumel
    r0_index = tl.arange(0, R0_BLOCK)[None, :]
    r0_offset = 0
    r0_mask = tl.full([R0_BLOCK], True, tl.int1)[None, :]
    roffset = r0_offset
    rindex = r0_index
    r0_1 = r0_index
    x0 = xindex
    tmp0 = tl.load(in_ptr0 + (r0_1 + 256*x0), xmask, other=0.0).to(tl.float32)
    tmp2 = tl.load(in_ptr1 + (r0_1), None, eviction_policy='evict_last').to(tl.float32)
    tmp9 = tl.load(in_out_ptr0 + (r0_1 + 256*x0), xmask, other=0.0).to(tl.float32)
    tmp11 = tl.load(in_ptr2 + (x0), xmask, eviction_policy='evict_last')
    tmp13 = tl.load(in_ptr3 + (x0), xmask, eviction_policy='evict_last')
    tmp29 = tl.load(in_ptr4 + (r0_1 + 256*x0), xmask, other=0.0).to(tl.int1)
    tmp1 = tmp0.to(tl.float32)
    tmp3 = tmp2.to(tl.float32)
    tmp4 = tmp1 * tmp3
    tmp5 = tl.broadcast_to(tmp4, [XBLOCK, R0_BLOCK])
    tmp7 = tl.where(xmask, tmp5, 0)
    tmp8 = tl.sum(tmp7, 1)[:, None].to(tl.float32)
    tmp10 = tmp9.to(tl.float32)
    tmp12 = tmp10 - tmp11
    tmp14 = tmp12 * tmp13
    tmp15 = tmp4 * tmp14
    tmp16 = tl.broadcast_to(tmp15, [XBLOCK, R0_BLOCK])
    tmp18 = tl.where(xmask, tmp16, 0)
    tmp19 = tl.sum(tmp18, 1)[:, None].to(tl.float32)
    tmp20 = tl.full([1, 1], 0.00390625, tl.float32)
    tmp21 = tmp13 * tmp20
    tmp22 = tl.full([1, 1], 256.0, tl.float32)
    tmp23 = tmp4 * tmp22
    tmp24 = tmp23 - tmp8
    tmp25 = tmp14 * tmp19
    tmp26 = tmp24 - tmp25
    tmp27 = tmp21 * tmp26
    tmp28 = tmp27.to(tl.float32)
    tmp30 = tmp29.to(tl.float32)
    tmp31 = tl.full([1, 1], 1.1111111111111112, tl.float32)
    tmp32 = tmp30 * tmp31
    tmp33 = tmp28 * tmp32
    tl.store(in_out_ptr0 + (r0_1 + 256*x0), tmp28, xmask)
    tl.store(out_ptr2 + (r0_1 + 256*x0), tmp33, xmask)
''', device_str='cuda')


# kernel path: /tmp/encoder_layer_train-xowbz50p/cache/tmp__v162kv/23/c232rtucgup5beiguoks34sao6ovenmbnpofzpcwpv2pnoknzpkb.py
# Topologically Sorted Source Nodes: [convert_element_type_24, mul_20, clone_7, view_15, sum_5], Original ATen: [aten.native_dropout_backward, aten.view, aten.sum]
# Source node to ATen node mapping:
#   clone_7 => mul_21
#   convert_element_type_24 => convert_element_type_24
#   mul_20 => mul_20
#   sum_5 => sum_5
#   view_15 => view_15
# Graph fragment:
#   %mul_21 : Tensor "bf16[4, 128, 256][32768, 256, 1]cuda:0" = PlaceHolder[target=mul_21]
#   %convert_element_type_24 : Tensor "bf16[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%gt_2, torch.bfloat16), kwargs = {})
#   %mul_20 : Tensor "bf16[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type_24, 1.1111111111111112), kwargs = {})
#   %mul_21 : Tensor "bf16[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type_21, %mul_20), kwargs = {})
#   %view_15 : Tensor "bf16[512, 256][256, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.aten.reshape.default](args = (%mul_21, [512, 256]), kwargs = {})
#   %sum_5 : Tensor "bf16[1, 256][256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%view_15, [0], True), kwargs = {})
#   return %buf12
triton_red_fused_native_dropout_backward_sum_view_3 = async_compile.triton('triton_red_fused_native_dropout_backward_sum_view_3', '''
import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
from torch._inductor.runtime.hints import AutotuneHint, ReductionHint, TileHint, DeviceProperties
triton_helpers.set_driver_to_gpu()

@triton_heuristics.reduction(
    size_hints={'x': 1024, 'r0_': 128},
    reduction_hint=ReductionHint.OUTER,
    filename=__file__,
    triton_meta={'signature': {'in_ptr0': '*bf16', 'out_ptr0': '*fp32', 'xnumel': 'i32', 'r0_numel': 'i32', 'XBLOCK': 'constexpr', 'R0_BLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32), 'constants': {}, 'native_matmul': False, 'enable_fp_fusion': True, 'launch_pdl': False, 'disable_ftz': False, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]], (3,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'autotune_hints': set(), 'kernel_name': 'triton_red_fused_native_dropout_backward_sum_view_3', 'mutated_arg_names': [], 'optimize_mem': True, 'no_x_dim': False, 'atomic_add_found': False, 'num_load': 1, 'num_store': 1, 'num_reduction': 1, 'backend_hash': '91D1D1166449D9E2EB66EB9770C9E2C3B0FEB787341F27FEB4D3F0338DA50336', 'assert_indirect_indexing': True, 'autotune_local_cache': True, 'autotune_pointwise': True, 'autotune_remote_cache': None, 'force_disable_caches': True, 'dynamic_scale_rblock': True, 'max_autotune': False, 'max_autotune_pointwise': False, 'min_split_scan_rblock': 256, 'spill_threshold': 16, 'store_cubin': False, 'deterministic': False, 'force_filter_reduction_configs': False, 'mix_order_reduction_allow_multi_stages': False, 'are_deterministic_algorithms_enabled': False, 'tiling_scores': {'x': 270336, 'r0_': 0}}
)
@triton.jit
def triton_red_fused_native_dropout_backward_sum_view_3(in_ptr0, out_ptr0, xnumel, r0_numel, XBLOCK : tl.constexpr, R0_BLOCK : tl.constexpr):
    xnumel = 1024
    r0_numel = 128
    rnumel = r0_numel
    RBLOCK: tl.constexpr = R0_BLOCK
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    xmask = xindex < xnumel
    r0_base = tl.arange(0, R0_BLOCK)[None, :]
    rbase = r0_base
    x0 = (xindex % 256)
    x1 = xindex // 256
    _tmp2 = tl.full([XBLOCK, R0_BLOCK], 0, tl.float32)
    x3 = xindex
    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
        r0_index = r0_offset + r0_base
        r0_mask = r0_index < r0_numel
        roffset = r0_offset
        rindex = r0_index
        r0_2 = r0_index
        tmp0 = tl.load(in_ptr0 + (x0 + 256*r0_2 + 32768*x1), r0_mask & xmask, eviction_policy='evict_first', other=0.0).to(tl.float32)
        tmp1 = tl.broadcast_to(tmp0, [XBLOCK, R0_BLOCK])
        tmp3 = _tmp2 + tmp1
        _tmp2 = tl.where(r0_mask & xmask, tmp3, _tmp2)
    tmp2 = tl.sum(_tmp2, 1)[:, None]
    tl.store(out_ptr0 + (x3), tmp2, xmask)
''', device_str='cuda')


# kernel path: /tmp/encoder_layer_train-xowbz50p/cache/tmp__v162kv/n4/cn4dhycnoimzfj6noad43sr726fa4homswkfk4zcig4zsqoalbrv.py
# Topologically Sorted Source Nodes: [convert_element_type_24, mul_20, clone_7, view_15, sum_5], Original ATen: [aten.native_dropout_backward, aten.view, aten.sum]
# Source node to ATen node mapping:
#   clone_7 => mul_21
#   convert_element_type_24 => convert_element_type_24
#   mul_20 => mul_20
#   sum_5 => sum_5
#   view_15 => view_15
# Graph fragment:
#   %buf12 : Tensor "f32[1, 256, 4][1024, 1, 256]cuda:0" = PlaceHolder[target=buf12]
#   %convert_element_type_24 : Tensor "bf16[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%gt_2, torch.bfloat16), kwargs = {})
#   %mul_20 : Tensor "bf16[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type_24, 1.1111111111111112), kwargs = {})
#   %mul_21 : Tensor "bf16[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type_21, %mul_20), kwargs = {})
#   %view_15 : Tensor "bf16[512, 256][256, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.aten.reshape.default](args = (%mul_21, [512, 256]), kwargs = {})
#   %sum_5 : Tensor "bf16[1, 256][256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%view_15, [0], True), kwargs = {})
#   return %sum_5
triton_per_fused_native_dropout_backward_sum_view_4 = async_compile.triton('triton_per_fused_native_dropout_backward_sum_view_4', '''
import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
from torch._inductor.runtime.hints import AutotuneHint, ReductionHint, TileHint, DeviceProperties
triton_helpers.set_driver_to_gpu()

@triton_heuristics.persistent_reduction(
    size_hints={'x': 256, 'r0_': 4},
    reduction_hint=ReductionHint.OUTER_TINY,
    filename=__file__,
    triton_meta={'signature': {'in_ptr0': '*fp32', 'out_ptr0': '*bf16', 'xnumel': 'i32', 'r0_numel': 'i32', 'XBLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32), 'constants': {}, 'native_matmul': False, 'enable_fp_fusion': True, 'launch_pdl': False, 'disable_ftz': False, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'autotune_hints': set(), 'kernel_name': 'triton_per_fused_native_dropout_backward_sum_view_4', 'mutated_arg_names': [], 'optimize_mem': True, 'no_x_dim': None, 'atomic_add_found': False, 'num_load': 1, 'num_store': 1, 'num_reduction': 1, 'backend_hash': '91D1D1166449D9E2EB66EB9770C9E2C3B0FEB787341F27FEB4D3F0338DA50336', 'assert_indirect_indexing': True, 'autotune_local_cache': True, 'autotune_pointwise': True, 'autotune_remote_cache': None, 'force_disable_caches': True, 'dynamic_scale_rblock': True, 'max_autotune': False, 'max_autotune_pointwise': False, 'min_split_scan_rblock': 256, 'spill_threshold': 16, 'store_cubin': False, 'deterministic': False, 'force_filter_reduction_configs': False, 'mix_order_reduction_allow_multi_stages': False, 'are_deterministic_algorithms_enabled': False, 'tiling_scores': {'x': 5120, 'r0_': 0}}
)
@triton.jit
def triton_per_fused_native_dropout_backward_sum_view_4(in_ptr0, out_ptr0, xnumel, r0_numel, XBLOCK : tl.constexpr):
    xnumel = 256
    r0_numel = 4
    R0_BLOCK: tl.constexpr = 4
    rnumel = r0_numel
    RBLOCK: tl.constexpr = R0_BLOCK
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    xmask = xindex < xnumel
    r0_index = tl.arange(0, R0_BLOCK)[None, :]
    r0_offset = 0
    r0_mask = tl.full([R0_BLOCK], True, tl.int1)[None, :]
    roffset = r0_offset
    rindex = r0_index
    r0_1 = r0_index
    x0 = xindex
    tmp0 = tl.load(in_ptr0 + (x0 + 256*r0_1), xmask, other=0.0)
    tmp1 = tl.broadcast_to(tmp0, [XBLOCK, R0_BLOCK])
    tmp3 = tl.where(xmask, tmp1, 0)
    tmp4 = tl.sum(tmp3, 1)[:, None].to(tl.float32)
    tl.store(out_ptr0 + (x0), tmp4, xmask)
''', device_str='cuda')


# kernel path: /tmp/encoder_layer_train-xowbz50p/cache/tmp__v162kv/r3/cr3lrnvdgwsvq2hmykligpch4go7o4kmxrnrjtntbvpz7s35ofsb.py
# Topologically Sorted Source Nodes: [view_17, convert_element_type_29, mul_22, clone_8, convert_element_type_30, linear, gelu, mul_25, mul_26, mul_27, exp, mul_28, mul_29, add_9, mul_30, convert_element_type_32, view_18, sum_6], Original ATen: [aten.view, aten.native_dropout_backward, aten.gelu_backward, aten.gelu, aten.sum]
# Source node to ATen node mapping:
#   add_9 => add_9
#   clone_8 => mul_23
#   convert_element_type_29 => convert_element_type_29
#   convert_element_type_30 => convert_element_type_30
#   convert_element_type_32 => convert_element_type_32
#   exp => exp
#   gelu => add_4, convert_element_type_10, erf, mul_5
#   linear => view_12
#   mul_22 => mul_22
#   mul_25 => mul_25
#   mul_26 => mul_26
#   mul_27 => mul_27
#   mul_28 => mul_28
#   mul_29 => mul_29
#   mul_30 => mul_30
#   sum_6 => sum_6
#   view_17 => view_17
#   view_18 => view_18
# Graph fragment:
#   %mm_1 : Tensor "bf16[512, 1024][1024, 1]cuda:0" = PlaceHolder[target=mm_1]
#   %gt_1 : Tensor "b8[4, 128, 1024][131072, 1024, 1]cuda:0" = PlaceHolder[target=gt_1]
#   %addmm_1 : Tensor "bf16[512, 1024][1024, 1]cuda:0" = PlaceHolder[target=addmm_1]
#   %convert_element_type_32 : Tensor "bf16[4, 128, 1024][131072, 1024, 1]cuda:0" = PlaceHolder[target=convert_element_type_32]
#   %view_17 : Tensor "bf16[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%mm_1, [4, 128, 1024]), kwargs = {})
#   %convert_element_type_29 : Tensor "bf16[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%gt_1, torch.bfloat16), kwargs = {})
#   %mul_22 : Tensor "bf16[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type_29, 1.1111111111111112), kwargs = {})
#   %mul_23 : Tensor "bf16[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%view_17, %mul_22), kwargs = {})
#   %convert_element_type_30 : Tensor "f32[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%mul_23, torch.float32), kwargs = {})
#   %view_12 : Tensor "bf16[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%addmm_1, [4, 128, 1024]), kwargs = {})
#   %convert_element_type_10 : Tensor "f32[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%view_12, torch.float32), kwargs = {})
#   %mul_5 : Tensor "f32[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type_10, 0.7071067811865476), kwargs = {})
#   %erf : Tensor "f32[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.erf.default](args = (%mul_5,), kwargs = {})
#   %add_4 : Tensor "f32[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%erf, 1), kwargs = {})
#   %mul_25 : Tensor "f32[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%add_4, 0.5), kwargs = {})
#   %mul_26 : Tensor "f32[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type_10, %convert_element_type_10), kwargs = {})
#   %mul_27 : Tensor "f32[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%mul_26, -0.5), kwargs = {})
#   %exp : Tensor "f32[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.exp.default](args = (%mul_27,), kwargs = {})
#   %mul_28 : Tensor "f32[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%exp, 0.3989422804014327), kwargs = {})
#   %mul_29 : Tensor "f32[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type_10, %mul_28), kwargs = {})
#   %add_9 : Tensor "f32[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%mul_25, %mul_29), kwargs = {})
#   %mul_30 : Tensor "f32[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type_30, %add_9), kwargs = {})
#   %convert_element_type_32 : Tensor "bf16[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%mul_30, torch.bfloat16), kwargs = {})
#   %view_18 : Tensor "bf16[512, 1024][1024, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.aten.reshape.default](args = (%convert_element_type_32, [512, 1024]), kwargs = {})
#   %sum_6 : Tensor "bf16[1, 1024][1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%view_18, [0], True), kwargs = {})
#   return %convert_element_type_32,%buf17
triton_red_fused_gelu_gelu_backward_native_dropout_backward_sum_view_5 = async_compile.triton('triton_red_fused_gelu_gelu_backward_native_dropout_backward_sum_view_5', '''
import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
from torch._inductor.runtime.hints import AutotuneHint, ReductionHint, TileHint, DeviceProperties
triton_helpers.set_driver_to_gpu()

@triton_heuristics.reduction(
    size_hints={'x': 4096, 'r0_': 128},
    reduction_hint=ReductionHint.OUTER,
    filename=__file__,
    triton_meta={'signature': {'in_out_ptr0': '*bf16', 'in_ptr0': '*i1', 'in_ptr1': '*bf16', 'out_ptr0': '*fp32', 'xnumel': 'i32', 'r0_numel': 'i32', 'XBLOCK': 'constexpr', 'R0_BLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32), 'constants': {}, 'native_matmul': False, 'enable_fp_fusion': True, 'launch_pdl': False, 'disable_ftz': False, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]], (3,): [['tt.divisibility', 16]], (4,): [['tt.divisibility', 16]], (5,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'autotune_hints': set(), 'kernel_name': 'triton_red_fused_gelu_gelu_backward_native_dropout_backward_sum_view_5', 'mutated_arg_names': ['in_out_ptr0'], 'optimize_mem': True, 'no_x_dim': False, 'atomic_add_found': False, 'num_load': 3, 'num_store': 2, 'num_reduction': 1, 'backend_hash': '91D1D1166449D9E2EB66EB9770C9E2C3B0FEB787341F27FEB4D3F0338DA50336', 'assert_indirect_indexing': True, 'autotune_local_cache': True, 'autotune_pointwise': True, 'autotune_remote_cache': None, 'force_disable_caches': True, 'dynamic_scale_rblock': True, 'max_autotune': False, 'max_autotune_pointwise': False, 'min_split_scan_rblock': 256, 'spill_threshold': 16, 'store_cubin': False, 'deterministic': False, 'force_filter_reduction_configs': False, 'mix_order_reduction_allow_multi_stages': False, 'are_deterministic_algorithms_enabled': False, 'tiling_scores': {'x': 4751360, 'r0_': 0}}
)
@triton.jit
def triton_red_fused_gelu_gelu_backward_native_dropout_backward_sum_view_5(in_out_ptr0, in_ptr0, in_ptr1, out_ptr0, xnumel, r0_numel, XBLOCK : tl.constexpr, R0_BLOCK : tl.constexpr):
    xnumel = 4096
    r0_numel = 128
    rnumel = r0_numel
    RBLOCK: tl.constexpr = R0_BLOCK
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    xmask = tl.full([XBLOCK], True, tl.int1)[:, None]
    r0_base = tl.arange(0, R0_BLOCK)[None, :]
    rbase = r0_base
    x0 = (xindex % 1024)
    x1 = xindex // 1024
    _tmp27 = tl.full([XBLOCK, R0_BLOCK], 0, tl.float32)
    x3 = xindex
    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
        r0_index = r0_offset + r0_base
        r0_mask = r0_index < r0_numel
        roffset = r0_offset
        rindex = r0_index
        r0_2 = r0_index
        tmp0 = tl.load(in_out_ptr0 + (x0 + 1024*r0_2 + 131072*x1), r0_mask, eviction_policy='evict_first', other=0.0).to(tl.float32)
        tmp1 = tl.load(in_ptr0 + (x0 + 1024*r0_2 + 131072*x1), r0_mask, eviction_policy='evict_first', other=0.0).to(tl.int1)
        tmp7 = tl.load(in_ptr1 + (x0 + 1024*r0_2 + 131072*x1), r0_mask, eviction_policy='evict_first', other=0.0).to(tl.float32)
        tmp2 = tmp1.to(tl.float32)
        tmp3 = tl.full([1, 1], 1.1111111111111112, tl.float32)
        tmp4 = tmp2 * tmp3
        tmp5 = tmp0 * tmp4
        tmp6 = tmp5.to(tl.float32)
        tmp8 = tmp7.to(tl.float32)
        tmp9 = tl.full([1, 1], 0.7071067811865476, tl.float32)
        tmp10 = tmp8 * tmp9
        tmp11 = libdevice.erf(tmp10)
        tmp12 = tl.full([1, 1], 1.0, tl.float32)
        tmp13 = tmp11 + tmp12
        tmp14 = tl.full([1, 1], 0.5, tl.float32)
        tmp15 = tmp13 * tmp14
        tmp16 = tmp8 * tmp8
        tmp17 = tl.full([1, 1], -0.5, tl.float32)
        tmp18 = tmp16 * tmp17
        tmp19 = libdevice.exp(tmp18)
        tmp20 = tl.full([1, 1], 0.3989422804014327, tl.float32)
        tmp21 = tmp19 * tmp20
        tmp22 = tmp8 * tmp21
        tmp23 = tmp15 + tmp22
        tmp24 = tmp6 * tmp23
        tmp25 = tmp24.to(tl.float32)
        tmp26 = tl.broadcast_to(tmp25, [XBLOCK, R0_BLOCK])
        tmp28 = _tmp27 + tmp26
        _tmp27 = tl.where(r0_mask, tmp28, _tmp27)
        tl.store(in_out_ptr0 + (x0 + 1024*r0_2 + 131072*x1), tmp25, r0_mask)
    tmp27 = tl.sum(_tmp27, 1)[:, None]
    tl.store(out_ptr0 + (x3), tmp27, None)
''', device_str='cuda')


# kernel path: /tmp/encoder_layer_train-xowbz50p/cache/tmp__v162kv/ko/ckosltpezxzprclx7z4gm7nat2kha67qqwlpdkil2torkfdbnk7y.py
# Topologically Sorted Source Nodes: [view_17, convert_element_type_29, mul_22, clone_8, convert_element_type_30, linear, gelu, mul_25, mul_26, mul_27, exp, mul_28, mul_29, add_9, mul_30, convert_element_type_32, view_18, sum_6], Original ATen: [aten.view, aten.native_dropout_backward, aten.gelu_backward, aten.gelu, aten.sum]
# Source node to ATen node mapping:
#   add_9 => add_9
#   clone_8 => mul_23
#   convert_element_type_29 => convert_element_type_29
#   convert_element_type_30 => convert_element_type_30
#   convert_element_type_32 => convert_element_type_32
#   exp => exp
#   gelu => add_4, convert_element_type_10, erf, mul_5
#   linear => view_12
#   mul_22 => mul_22
#   mul_25 => mul_25
#   mul_26 => mul_26
#   mul_27 => mul_27
#   mul_28 => mul_28
#   mul_29 => mul_29
#   mul_30 => mul_30
#   sum_6 => sum_6
#   view_17 => view_17
#   view_18 => view_18
# Graph fragment:
#   %buf17 : Tensor "f32[1, 1024, 4][4096, 1, 1024]cuda:0" = PlaceHolder[target=buf17]
#   %view_17 : Tensor "bf16[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%mm_1, [4, 128, 1024]), kwargs = {})
#   %convert_element_type_29 : Tensor "bf16[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%gt_1, torch.bfloat16), kwargs = {})
#   %mul_22 : Tensor "bf16[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type_29, 1.1111111111111112), kwargs = {})
#   %mul_23 : Tensor "bf16[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%view_17, %mul_22), kwargs = {})
#   %convert_element_type_30 : Tensor "f32[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%mul_23, torch.float32), kwargs = {})
#   %view_12 : Tensor "bf16[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%addmm_1, [4, 128, 1024]), kwargs = {})
#   %convert_element_type_10 : Tensor "f32[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%view_12, torch.float32), kwargs = {})
#   %mul_5 : Tensor "f32[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type_10, 0.7071067811865476), kwargs = {})
#   %erf : Tensor "f32[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.erf.default](args = (%mul_5,), kwargs = {})
#   %add_4 : Tensor "f32[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%erf, 1), kwargs = {})
#   %mul_25 : Tensor "f32[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%add_4, 0.5), kwargs = {})
#   %mul_26 : Tensor "f32[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type_10, %convert_element_type_10), kwargs = {})
#   %mul_27 : Tensor "f32[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%mul_26, -0.5), kwargs = {})
#   %exp : Tensor "f32[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.exp.default](args = (%mul_27,), kwargs = {})
#   %mul_28 : Tensor "f32[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%exp, 0.3989422804014327), kwargs = {})
#   %mul_29 : Tensor "f32[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type_10, %mul_28), kwargs = {})
#   %add_9 : Tensor "f32[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%mul_25, %mul_29), kwargs = {})
#   %mul_30 : Tensor "f32[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type_30, %add_9), kwargs = {})
#   %convert_element_type_32 : Tensor "bf16[4, 128, 1024][131072, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%mul_30, torch.bfloat16), kwargs = {})
#   %view_18 : Tensor "bf16[512, 1024][1024, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.aten.reshape.default](args = (%convert_element_type_32, [512, 1024]), kwargs = {})
#   %sum_6 : Tensor "bf16[1, 1024][1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%view_18, [0], True), kwargs = {})
#   return %sum_6
triton_per_fused_gelu_gelu_backward_native_dropout_backward_sum_view_6 = async_compile.triton('triton_per_fused_gelu_gelu_backward_native_dropout_backward_sum_view_6', '''
import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
from torch._inductor.runtime.hints import AutotuneHint, ReductionHint, TileHint, DeviceProperties
triton_helpers.set_driver_to_gpu()

@triton_heuristics.persistent_reduction(
    size_hints={'x': 1024, 'r0_': 4},
    reduction_hint=ReductionHint.OUTER,
    filename=__file__,
    triton_meta={'signature': {'in_ptr0': '*fp32', 'out_ptr0': '*bf16', 'xnumel': 'i32', 'r0_numel': 'i32', 'XBLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32), 'constants': {}, 'native_matmul': False, 'enable_fp_fusion': True, 'launch_pdl': False, 'disable_ftz': False, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'autotune_hints': set(), 'kernel_name': 'triton_per_fused_gelu_gelu_backward_native_dropout_backward_sum_view_6', 'mutated_arg_names': [], 'optimize_mem': True, 'no_x_dim': None, 'atomic_add_found': False, 'num_load': 1, 'num_store': 1, 'num_reduction': 1, 'backend_hash': '91D1D1166449D9E2EB66EB9770C9E2C3B0FEB787341F27FEB4D3F0338DA50336', 'assert_indirect_indexing': True, 'autotune_local_cache': True, 'autotune_pointwise': True, 'autotune_remote_cache': None, 'force_disable_caches': True, 'dynamic_scale_rblock': True, 'max_autotune': False, 'max_autotune_pointwise': False, 'min_split_scan_rblock': 256, 'spill_threshold': 16, 'store_cubin': False, 'deterministic': False, 'force_filter_reduction_configs': False, 'mix_order_reduction_allow_multi_stages': False, 'are_deterministic_algorithms_enabled': False, 'tiling_scores': {'x': 20480, 'r0_': 0}}
)
@triton.jit
def triton_per_fused_gelu_gelu_backward_native_dropout_backward_sum_view_6(in_ptr0, out_ptr0, xnumel, r0_numel, XBLOCK : tl.constexpr):
    xnumel = 1024
    r0_numel = 4
    R0_BLOCK: tl.constexpr = 4
    rnumel = r0_numel
    RBLOCK: tl.constexpr = R0_BLOCK
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    xmask = xindex < xnumel
    r0_index = tl.arange(0, R0_BLOCK)[None, :]
    r0_offset = 0
    r0_mask = tl.full([R0_BLOCK], True, tl.int1)[None, :]
    roffset = r0_offset
    rindex = r0_index
    r0_1 = r0_index
    x0 = xindex
    tmp0 = tl.load(in_ptr0 + (x0 + 1024*r0_1), xmask, other=0.0)
    tmp1 = tl.broadcast_to(tmp0, [XBLOCK, R0_BLOCK])
    tmp3 = tl.where(xmask, tmp1, 0)
    tmp4 = tl.sum(tmp3, 1)[:, None].to(tl.float32)
    tl.store(out_ptr0 + (x0), tmp4, xmask)
''', device_str='cuda')


# kernel path: /tmp/encoder_layer_train-xowbz50p/cache/tmp__v162kv/t6/ct6fviqsoacf44cpqc4ythcqnox76nbr36cylqwazq6cg7vbabhv.py
# Topologically Sorted Source Nodes: [view_20, add_10, clone_9, x_1, mul_37, sum_9, sum_10], Original ATen: [aten.view, aten.add, aten.native_layer_norm_backward, aten.native_layer_norm]
# Source node to ATen node mapping:
#   add_10 => add_10
#   clone_9 => convert_element_type_37
#   mul_37 => mul_37
#   sum_10 => sum_10
#   sum_9 => sum_9
#   view_20 => view_20
#   x_1 => convert_element_type_5, mul_2, sub
# Graph fragment:
#   %convert_element_type_21 : Tensor "bf16[4, 128, 256][32768, 256, 1]cuda:0" = PlaceHolder[target=convert_element_type_21]
#   %mm_3 : Tensor "bf16[512, 256][256, 1]cuda:0" = PlaceHolder[target=mm_3]
#   %add_1 : Tensor "bf16[4, 128, 256][32768, 256, 1]cuda:0" = PlaceHolder[target=add_1]
#   %getitem_10 : Tensor "f32[4, 128, 1][128, 1, 1]cuda:0" = PlaceHolder[target=getitem_10]
#   %rsqrt : Tensor "f32[4, 128, 1][128, 1, 1]cuda:0" = PlaceHolder[target=rsqrt]
#   %view_20 : Tensor "bf16[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%mm_3, [4, 128, 256]), kwargs = {})
#   %add_10 : Tensor "bf16[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%convert_element_type_21, %view_20), kwargs = {})
#   %convert_element_type_37 : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%add_10, torch.float32), kwargs = {})
#   %convert_element_type_5 : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%add_1, torch.float32), kwargs = {})
#   %sub : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sub.Tensor](args = (%convert_element_type_5, %getitem_10), kwargs = {})
#   %mul_2 : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.aten.mul.Tensor](args = (%sub, %rsqrt), kwargs = {})
#   %mul_37 : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type_37, %mul_2), kwargs = {})
#   %sum_9 : Tensor "f32[256][1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%mul_37, [0, 1]), kwargs = {})
#   %sum_10 : Tensor "f32[256][1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%convert_element_type_37, [0, 1]), kwargs = {})
#   return %buf21,%buf23
triton_red_fused_add_native_layer_norm_native_layer_norm_backward_view_7 = async_compile.triton('triton_red_fused_add_native_layer_norm_native_layer_norm_backward_view_7', '''
import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
from torch._inductor.runtime.hints import AutotuneHint, ReductionHint, TileHint, DeviceProperties
triton_helpers.set_driver_to_gpu()

@triton_heuristics.reduction(
    size_hints={'x': 1024, 'r0_': 128},
    reduction_hint=ReductionHint.OUTER,
    filename=__file__,
    triton_meta={'signature': {'in_ptr0': '*bf16', 'in_ptr1': '*bf16', 'in_ptr2': '*bf16', 'in_ptr3': '*fp32', 'in_ptr4': '*fp32', 'out_ptr0': '*fp32', 'out_ptr1': '*fp32', 'xnumel': 'i32', 'r0_numel': 'i32', 'XBLOCK': 'constexpr', 'R0_BLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32), 'constants': {}, 'native_matmul': False, 'enable_fp_fusion': True, 'launch_pdl': False, 'disable_ftz': False, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]], (3,): [['tt.divisibility', 16]], (4,): [['tt.divisibility', 16]], (5,): [['tt.divisibility', 16]], (6,): [['tt.divisibility', 16]], (7,): [['tt.divisibility', 16]], (8,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'autotune_hints': set(), 'kernel_name': 'triton_red_fused_add_native_layer_norm_native_layer_norm_backward_view_7', 'mutated_arg_names': [], 'optimize_mem': True, 'no_x_dim': False, 'atomic_add_found': False, 'num_load': 5, 'num_store': 2, 'num_reduction': 2, 'backend_hash': '91D1D1166449D9E2EB66EB9770C9E2C3B0FEB787341F27FEB4D3F0338DA50336', 'assert_indirect_indexing': True, 'autotune_local_cache': True, 'autotune_pointwise': True, 'autotune_remote_cache': None, 'force_disable_caches': True, 'dynamic_scale_rblock': True, 'max_autotune': False, 'max_autotune_pointwise': False, 'min_split_scan_rblock': 256, 'spill_threshold': 16, 'store_cubin': False, 'deterministic': False, 'force_filter_reduction_configs': False, 'mix_order_reduction_allow_multi_stages': False, 'are_deterministic_algorithms_enabled': False, 'tiling_scores': {'x': 802816, 'r0_': 4096}}
)
@triton.jit
def triton_red_fused_add_native_layer_norm_native_layer_norm_backward_view_7(in_ptr0, in_ptr1, in_ptr2, in_ptr3, in_ptr4, out_ptr0, out_ptr1, xnumel, r0_numel, XBLOCK : tl.constexpr, R0_BLOCK : tl.constexpr):
    xnumel = 1024
    r0_numel = 128
    rnumel = r0_numel
    RBLOCK: tl.constexpr = R0_BLOCK
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    xmask = xindex < xnumel
    r0_base = tl.arange(0, R0_BLOCK)[None, :]
    rbase = r0_base
    x0 = (xindex % 256)
    x1 = xindex // 256
    _tmp12 = tl.full([XBLOCK, R0_BLOCK], 0, tl.float32)
    x3 = xindex
    _tmp15 = tl.full([XBLOCK, R0_BLOCK], 0, tl.float32)
    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
        r0_index = r0_offset + r0_base
        r0_mask = r0_index < r0_numel
        roffset = r0_offset
        rindex = r0_index
        r0_2 = r0_index
        tmp0 = tl.load(in_ptr0 + (x0 + 256*r0_2 + 32768*x1), r0_mask & xmask, eviction_policy='evict_first', other=0.0).to(tl.float32)
        tmp1 = tl.load(in_ptr1 + (x0 + 256*r0_2 + 32768*x1), r0_mask & xmask, eviction_policy='evict_first', other=0.0).to(tl.float32)
        tmp4 = tl.load(in_ptr2 + (x0 + 256*r0_2 + 32768*x1), r0_mask & xmask, eviction_policy='evict_first', other=0.0).to(tl.float32)
        tmp6 = tl.load(in_ptr3 + (r0_2 + 128*x1), r0_mask & xmask, eviction_policy='evict_last', other=0.0)
        tmp8 = tl.load(in_ptr4 + (r0_2 + 128*x1), r0_mask & xmask, eviction_policy='evict_last', other=0.0)
        tmp2 = tmp0 + tmp1
        tmp3 = tmp2.to(tl.float32)
        tmp5 = tmp4.to(tl.float32)
        tmp7 = tmp5 - tmp6
        tmp9 = tmp7 * tmp8
        tmp10 = tmp3 * tmp9
        tmp11 = tl.broadcast_to(tmp10, [XBLOCK, R0_BLOCK])
        tmp13 = _tmp12 + tmp11
        _tmp12 = tl.where(r0_mask & xmask, tmp13, _tmp12)
        tmp14 = tl.broadcast_to(tmp3, [XBLOCK, R0_BLOCK])
        tmp16 = _tmp15 + tmp14
        _tmp15 = tl.where(r0_mask & xmask, tmp16, _tmp15)
    tmp12 = tl.sum(_tmp12, 1)[:, None]
    tmp15 = tl.sum(_tmp15, 1)[:, None]
    tl.store(out_ptr0 + (x3), tmp12, xmask)
    tl.store(out_ptr1 + (x3), tmp15, xmask)
''', device_str='cuda')


# kernel path: /tmp/encoder_layer_train-xowbz50p/cache/tmp__v162kv/5h/c5ht6c55m5rpo6efsh6slp7xihj2zf3olkrezuuq23f3ejgffo5g.py
# Topologically Sorted Source Nodes: [view_20, add_10, clone_9, clone_11, mul_32, mul_33, sum_7, x_1, mul_34, sum_8, mul_35, sub_6, sub_7, div_1, mul_36, convert_element_type_41, convert_element_type_44, mul_38, clone_13, permute_20, clone_14], Original ATen: [aten.view, aten.add, aten.native_layer_norm_backward, aten.native_layer_norm, aten.native_dropout_backward, aten.transpose, aten.clone]
# Source node to ATen node mapping:
#   add_10 => add_10
#   clone_11 => convert_element_type_39
#   clone_13 => mul_39
#   clone_14 => clone_14
#   clone_9 => convert_element_type_37
#   convert_element_type_41 => convert_element_type_41
#   convert_element_type_44 => convert_element_type_44
#   div_1 => div_1
#   mul_32 => mul_32
#   mul_33 => mul_33
#   mul_34 => mul_34
#   mul_35 => mul_35
#   mul_36 => mul_36
#   mul_38 => mul_38
#   permute_20 => permute_20
#   sub_6 => sub_6
#   sub_7 => sub_7
#   sum_7 => sum_7
#   sum_8 => sum_8
#   view_20 => view_20
#   x_1 => convert_element_type_5, mul_2, sub
# Graph fragment:
#   %convert_element_type_21 : Tensor "bf16[4, 128, 256][32768, 256, 1]cuda:0" = PlaceHolder[target=convert_element_type_21]
#   %mm_3 : Tensor "bf16[512, 256][256, 1]cuda:0" = PlaceHolder[target=mm_3]
#   %primals_6 : Tensor "bf16[256][1]cuda:0" = PlaceHolder[target=primals_6]
#   %add_1 : Tensor "bf16[4, 128, 256][32768, 256, 1]cuda:0" = PlaceHolder[target=add_1]
#   %getitem_10 : Tensor "f32[4, 128, 1][128, 1, 1]cuda:0" = PlaceHolder[target=getitem_10]
#   %rsqrt : Tensor "f32[4, 128, 1][128, 1, 1]cuda:0" = PlaceHolder[target=rsqrt]
#   %sum_7 : Tensor "f32[4, 128, 1][128, 1, 512]cuda:0" = PlaceHolder[target=sum_7]
#   %sum_8 : Tensor "f32[4, 128, 1][128, 1, 512]cuda:0" = PlaceHolder[target=sum_8]
#   %convert_element_type_41 : Tensor "bf16[4, 128, 256][32768, 256, 1]cuda:0" = PlaceHolder[target=convert_element_type_41]
#   %gt : Tensor "b8[4, 128, 256][256, 1024, 1]cuda:0" = PlaceHolder[target=gt]
#   %view_20 : Tensor "bf16[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%mm_3, [4, 128, 256]), kwargs = {})
#   %add_10 : Tensor "bf16[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%convert_element_type_21, %view_20), kwargs = {})
#   %convert_element_type_37 : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%add_10, torch.float32), kwargs = {})
#   %convert_element_type_39 : Tensor "f32[256][1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%primals_6, torch.float32), kwargs = {})
#   %mul_32 : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type_37, %convert_element_type_39), kwargs = {})
#   %mul_33 : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%mul_32, 256), kwargs = {})
#   %sum_7 : Tensor "f32[4, 128, 1][128, 1, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%mul_32, [2], True), kwargs = {})
#   %convert_element_type_5 : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%add_1, torch.float32), kwargs = {})
#   %sub : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sub.Tensor](args = (%convert_element_type_5, %getitem_10), kwargs = {})
#   %mul_2 : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.aten.mul.Tensor](args = (%sub, %rsqrt), kwargs = {})
#   %mul_34 : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%mul_32, %mul_2), kwargs = {})
#   %sum_8 : Tensor "f32[4, 128, 1][128, 1, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%mul_34, [2], True), kwargs = {})
#   %mul_35 : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%mul_2, %sum_8), kwargs = {})
#   %sub_6 : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sub.Tensor](args = (%mul_33, %sum_7), kwargs = {})
#   %sub_7 : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sub.Tensor](args = (%sub_6, %mul_35), kwargs = {})
#   %div_1 : Tensor "f32[4, 128, 1][128, 1, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.div.Tensor](args = (%rsqrt, 256), kwargs = {})
#   %mul_36 : Tensor "f32[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%div_1, %sub_7), kwargs = {})
#   %convert_element_type_41 : Tensor "bf16[4, 128, 256][32768, 256, 1]cuda:0"[num_users=2] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%mul_36, torch.bfloat16), kwargs = {})
#   %convert_element_type_44 : Tensor "bf16[4, 128, 256][256, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%gt, torch.bfloat16), kwargs = {})
#   %mul_38 : Tensor "bf16[4, 128, 256][256, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type_44, 1.1111111111111112), kwargs = {})
#   %mul_39 : Tensor "bf16[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type_41, %mul_38), kwargs = {})
#   %permute_20 : Tensor "bf16[128, 4, 256][256, 32768, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%mul_39, [1, 0, 2]), kwargs = {})
#   %clone_14 : Tensor "bf16[128, 4, 256][1024, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.clone.default](args = (%permute_20,), kwargs = {memory_format: torch.contiguous_format})
#   return %sum_7,%sum_8,%convert_element_type_41,%clone_14
triton_per_fused_add_clone_native_dropout_backward_native_layer_norm_native_layer_norm_backward_transpose_view_8 = async_compile.triton('triton_per_fused_add_clone_native_dropout_backward_native_layer_norm_native_layer_norm_backward_transpose_view_8', '''
import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
from torch._inductor.runtime.hints import AutotuneHint, ReductionHint, TileHint, DeviceProperties
triton_helpers.set_driver_to_gpu()

@triton_heuristics.persistent_reduction(
    size_hints={'x': 512, 'r0_': 256},
    reduction_hint=ReductionHint.INNER,
    filename=__file__,
    triton_meta={'signature': {'in_out_ptr0': '*bf16', 'in_ptr0': '*bf16', 'in_ptr1': '*bf16', 'in_ptr2': '*bf16', 'in_ptr3': '*fp32', 'in_ptr4': '*fp32', 'in_ptr5': '*i1', 'out_ptr2': '*bf16', 'xnumel': 'i32', 'r0_numel': 'i32', 'XBLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32), 'constants': {}, 'native_matmul': False, 'enable_fp_fusion': True, 'launch_pdl': False, 'disable_ftz': False, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]], (3,): [['tt.divisibility', 16]], (4,): [['tt.divisibility', 16]], (5,): [['tt.divisibility', 16]], (6,): [['tt.divisibility', 16]], (7,): [['tt.divisibility', 16]], (8,): [['tt.divisibility', 16]], (9,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'autotune_hints': set(), 'kernel_name': 'triton_per_fused_add_clone_native_dropout_backward_native_layer_norm_native_layer_norm_backward_transpose_view_8', 'mutated_arg_names': ['in_out_ptr0'], 'optimize_mem': True, 'no_x_dim': None, 'atomic_add_found': False, 'num_load': 7, 'num_store': 2, 'num_reduction': 2, 'backend_hash': '91D1D1166449D9E2EB66EB9770C9E2C3B0FEB787341F27FEB4D3F0338DA50336', 'assert_indirect_indexing': True, 'autotune_local_cache': True, 'autotune_pointwise': True, 'autotune_remote_cache': None, 'force_disable_caches': True, 'dynamic_scale_rblock': True, 'max_autotune': False, 'max_autotune_pointwise': False, 'min_split_scan_rblock': 256, 'spill_threshold': 16, 'store_cubin': False, 'deterministic': False, 'force_filter_reduction_configs': False, 'mix_order_reduction_allow_multi_stages': False, 'are_deterministic_algorithms_enabled': False, 'tiling_scores': {'x': 4096, 'r0_': 1966592}}
)
@triton.jit
def triton_per_fused_add_clone_native_dropout_backward_native_layer_norm_native_layer_norm_backward_transpose_view_8(in_out_ptr0, in_ptr0, in_ptr1, in_ptr2, in_ptr3, in_ptr4, in_ptr5, out_ptr2, xnumel, r0_numel, XBLOCK : tl.constexpr):
    xnumel = 512
    r0_numel = 256
    R0_BLOCK: tl.constexpr = 256
    rnumel = r0_numel
    RBLOCK: tl.constexpr = R0_BLOCK
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    xmask = xindex < xnumel
    r0_index = tl.arange(0, R0_BLOCK)[None, :]
    r0_offset = 0
    r0_mask = tl.full([R0_BLOCK], True, tl.int1)[None, :]
    roffset = r0_offset
    rindex = r0_index
    r0_1 = r0_index
    x0 = xindex
    x2 = (xindex % 128)
    x3 = xindex // 128
    tmp0 = tl.load(in_out_ptr0 + (r0_1 + 256*x0), xmask, other=0.0).to(tl.float32)
    tmp1 = tl.load(in_ptr0 + (r0_1 + 256*x0), xmask, other=0.0).to(tl.float32)
    tmp4 = tl.load(in_ptr1 + (r0_1), None, eviction_policy='evict_last').to(tl.float32)
    tmp11 = tl.load(in_ptr2 + (r0_1 + 256*x0), xmask, other=0.0).to(tl.float32)
    tmp13 = tl.load(in_ptr3 + (x0), xmask, eviction_policy='evict_last')
    tmp15 = tl.load(in_ptr4 + (x0), xmask, eviction_policy='evict_last')
    tmp31 = tl.load(in_ptr5 + (r0_1 + 256*x3 + 1024*x2), xmask, other=0.0).to(tl.int1)
    tmp2 = tmp0 + tmp1
    tmp3 = tmp2.to(tl.float32)
    tmp5 = tmp4.to(tl.float32)
    tmp6 = tmp3 * tmp5
    tmp7 = tl.broadcast_to(tmp6, [XBLOCK, R0_BLOCK])
    tmp9 = tl.where(xmask, tmp7, 0)
    tmp10 = tl.sum(tmp9, 1)[:, None].to(tl.float32)
    tmp12 = tmp11.to(tl.float32)
    tmp14 = tmp12 - tmp13
    tmp16 = tmp14 * tmp15
    tmp17 = tmp6 * tmp16
    tmp18 = tl.broadcast_to(tmp17, [XBLOCK, R0_BLOCK])
    tmp20 = tl.where(xmask, tmp18, 0)
    tmp21 = tl.sum(tmp20, 1)[:, None].to(tl.float32)
    tmp22 = tl.full([1, 1], 0.00390625, tl.float32)
    tmp23 = tmp15 * tmp22
    tmp24 = tl.full([1, 1], 256.0, tl.float32)
    tmp25 = tmp6 * tmp24
    tmp26 = tmp25 - tmp10
    tmp27 = tmp16 * tmp21
    tmp28 = tmp26 - tmp27
    tmp29 = tmp23 * tmp28
    tmp30 = tmp29.to(tl.float32)
    tmp32 = tmp31.to(tl.float32)
    tmp33 = tl.full([1, 1], 1.1111111111111112, tl.float32)
    tmp34 = tmp32 * tmp33
    tmp35 = tmp30 * tmp34
    tl.store(in_out_ptr0 + (r0_1 + 256*x0), tmp30, xmask)
    tl.store(out_ptr2 + (r0_1 + 256*x3 + 1024*x2), tmp35, xmask)
''', device_str='cuda')


# kernel path: /tmp/encoder_layer_train-xowbz50p/cache/tmp__v162kv/n4/cn4fesoeyjrofj4zk3gqw33t346jubjbtkeb2oe4voq4jdfh7hw3.py
# Topologically Sorted Source Nodes: [view_24, view_25, view_26, permute_26, view_27, permute_27, view_28, permute_28, view_29, full, _generalized_scatter, _generalized_scatter_1, add_11, _generalized_scatter_2, add_12, unsqueeze_1, permute_29, squeeze_1, clone_15, view_30, sum_12], Original ATen: [aten.view, aten.transpose, aten.select_backward, aten.add, aten.unsqueeze, aten.squeeze, aten.clone, aten._unsafe_view, aten.sum]
# Source node to ATen node mapping:
#   _generalized_scatter => select_scatter_default
#   _generalized_scatter_1 => select_scatter_default_1
#   _generalized_scatter_2 => select_scatter_default_2
#   add_11 => add_11
#   add_12 => add_12
#   clone_15 => clone_15
#   full => full_default
#   permute_26 => permute_26
#   permute_27 => permute_27
#   permute_28 => permute_28
#   permute_29 => permute_29
#   squeeze_1 => squeeze_1
#   sum_12 => sum_12
#   unsqueeze_1 => unsqueeze_1
#   view_24 => view_24
#   view_25 => view_25
#   view_26 => view_26
#   view_27 => view_27
#   view_28 => view_28
#   view_29 => view_29
#   view_30 => view_30
# Graph fragment:
#   %getitem_15 : Tensor "bf16[4, 4, 128, 64][256, 64, 1024, 1]cuda:0" = PlaceHolder[target=getitem_15]
#   %getitem_14 : Tensor "bf16[4, 4, 128, 64][256, 64, 1024, 1]cuda:0" = PlaceHolder[target=getitem_14]
#   %getitem_13 : Tensor "bf16[4, 4, 128, 64][256, 64, 1024, 1]cuda:0" = PlaceHolder[target=getitem_13]
#   %view_24 : Tensor "bf16[16, 128, 64][64, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%getitem_15, [16, 128, 64]), kwargs = {})
#   %view_25 : Tensor "bf16[16, 128, 64][64, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%getitem_14, [16, 128, 64]), kwargs = {})
#   %view_26 : Tensor "bf16[16, 128, 64][64, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%getitem_13, [16, 128, 64]), kwargs = {})
#   %permute_26 : Tensor "bf16[128, 16, 64][1024, 64, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%view_24, [1, 0, 2]), kwargs = {})
#   %view_27 : Tensor "bf16[128, 4, 256][1024, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%permute_26, [128, 4, 256]), kwargs = {})
#   %permute_27 : Tensor "bf16[128, 16, 64][1024, 64, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%view_25, [1, 0, 2]), kwargs = {})
#   %view_28 : Tensor "bf16[128, 4, 256][1024, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%permute_27, [128, 4, 256]), kwargs = {})
#   %permute_28 : Tensor "bf16[128, 16, 64][1024, 64, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%view_26, [1, 0, 2]), kwargs = {})
#   %view_29 : Tensor "bf16[128, 4, 256][1024, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%permute_28, [128, 4, 256]), kwargs = {})
#   %full_default : Tensor "bf16[3, 128, 4, 256][131072, 1024, 256, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.aten.full.default](args = ([3, 128, 4, 256], 0), kwargs = {dtype: torch.bfloat16, layout: torch.strided, device: cuda:0, pin_memory: False})
#   %select_scatter_default : Tensor "bf16[3, 128, 4, 256][131072, 1024, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.select_scatter.default](args = (%full_default, %view_27, 0, 2), kwargs = {})
#   %select_scatter_default_1 : Tensor "bf16[3, 128, 4, 256][131072, 1024, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.select_scatter.default](args = (%full_default, %view_28, 0, 1), kwargs = {})
#   %add_11 : Tensor "bf16[3, 128, 4, 256][131072, 1024, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%select_scatter_default, %select_scatter_default_1), kwargs = {})
#   %select_scatter_default_2 : Tensor "bf16[3, 128, 4, 256][131072, 1024, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.select_scatter.default](args = (%full_default, %view_29, 0, 0), kwargs = {})
#   %add_12 : Tensor "bf16[3, 128, 4, 256][131072, 1024, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%add_11, %select_scatter_default_2), kwargs = {})
#   %unsqueeze_1 : Tensor "bf16[3, 128, 4, 1, 256][131072, 1024, 256, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.unsqueeze.default](args = (%add_12, 3), kwargs = {})
#   %permute_29 : Tensor "bf16[1, 128, 4, 3, 256][256, 1024, 256, 131072, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%unsqueeze_1, [3, 1, 2, 0, 4]), kwargs = {})
#   %squeeze_1 : Tensor "bf16[128, 4, 3, 256][1024, 256, 131072, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.squeeze.dim](args = (%permute_29, 0), kwargs = {})
#   %clone_15 : Tensor "bf16[128, 4, 3, 256][3072, 768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.clone.default](args = (%squeeze_1,), kwargs = {memory_format: torch.contiguous_format})
#   %view_30 : Tensor "bf16[128, 4, 768][3072, 768, 1]cuda:0"[num_users=2] = call_function[target=torch.ops.aten.reshape.default](args = (%clone_15, [128, 4, 768]), kwargs = {})
#   %sum_12 : Tensor "bf16[1, 1, 768][768, 768, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%view_30, [0, 1], True), kwargs = {})
#   return %buf37
triton_red_fused__unsafe_view_add_clone_select_backward_squeeze_sum_transpose_unsqueeze_view_9 = async_compile.triton('triton_red_fused__unsafe_view_add_clone_select_backward_squeeze_sum_transpose_unsqueeze_view_9', '''
import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
from torch._inductor.runtime.hints import AutotuneHint, ReductionHint, TileHint, DeviceProperties
triton_helpers.set_driver_to_gpu()

@triton_heuristics.reduction(
    size_hints={'x': 4096, 'r0_': 128},
    reduction_hint=ReductionHint.OUTER,
    filename=__file__,
    triton_meta={'signature': {'in_ptr0': '*bf16', 'in_ptr1': '*bf16', 'in_ptr2': '*bf16', 'out_ptr0': '*fp32', 'xnumel': 'i32', 'r0_numel': 'i32', 'XBLOCK': 'constexpr', 'R0_BLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32), 'constants': {}, 'native_matmul': False, 'enable_fp_fusion': True, 'launch_pdl': False, 'disable_ftz': False, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]], (3,): [['tt.divisibility', 16]], (4,): [['tt.divisibility', 16]], (5,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'autotune_hints': set(), 'kernel_name': 'triton_red_fused__unsafe_view_add_clone_select_backward_squeeze_sum_transpose_unsqueeze_view_9', 'mutated_arg_names': [], 'optimize_mem': True, 'no_x_dim': False, 'atomic_add_found': False, 'num_load': 3, 'num_store': 1, 'num_reduction': 1, 'backend_hash': '91D1D1166449D9E2EB66EB9770C9E2C3B0FEB787341F27FEB4D3F0338DA50336', 'assert_indirect_indexing': True, 'autotune_local_cache': True, 'autotune_pointwise': True, 'autotune_remote_cache': None, 'force_disable_caches': True, 'dynamic_scale_rblock': True, 'max_autotune': False, 'max_autotune_pointwise': False, 'min_split_scan_rblock': 256, 'spill_threshold': 16, 'store_cubin': False, 'deterministic': False, 'force_filter_reduction_configs': False, 'mix_order_reduction_allow_multi_stages': False, 'are_deterministic_algorithms_enabled': False, 'tiling_scores': {'x': 811008, 'r0_': 0}}
)
@triton.jit
def triton_red_fused__unsafe_view_add_clone_select_backward_squeeze_sum_transpose_unsqueeze_view_9(in_ptr0, in_ptr1, in_ptr2, out_ptr0, xnumel, r0_numel, XBLOCK : tl.constexpr, R0_BLOCK : tl.constexpr):
    xnumel = 3072
    r0_numel = 128
    rnumel = r0_numel
    RBLOCK: tl.constexpr = R0_BLOCK
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    xmask = xindex < xnumel
    r0_base = tl.arange(0, R0_BLOCK)[None, :]
    rbase = r0_base
    x0 = (xindex % 768)
    x1 = xindex // 768
    _tmp17 = tl.full([XBLOCK, R0_BLOCK], 0, tl.float32)
    x3 = xindex
    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
        r0_index = r0_offset + r0_base
        r0_mask = r0_index < r0_numel
        roffset = r0_offset
        rindex = r0_index
        r0_2 = r0_index
        tmp3 = tl.load(in_ptr0 + (256*r0_2 + 32768*x1 + ((x0 % 256))), r0_mask & xmask, eviction_policy='evict_first', other=0.0).to(tl.float32)
        tmp8 = tl.load(in_ptr1 + (256*r0_2 + 32768*x1 + ((x0 % 256))), r0_mask & xmask, eviction_policy='evict_first', other=0.0).to(tl.float32)
        tmp13 = tl.load(in_ptr2 + (256*r0_2 + 32768*x1 + ((x0 % 256))), r0_mask & xmask, eviction_policy='evict_first', other=0.0).to(tl.float32)
        tmp0 = x0 // 256
        tmp1 = tl.full([1, 1], 2, tl.int32)
        tmp2 = tmp0 == tmp1
        tmp4 = tl.full([1, 1], 0.0, tl.float32)
        tmp5 = tl.where(tmp2, tmp3, tmp4)
        tmp6 = tl.full([1, 1], 1, tl.int32)
        tmp7 = tmp0 == tmp6
        tmp9 = tl.where(tmp7, tmp8, tmp4)
        tmp10 = tmp5 + tmp9
        tmp11 = tl.full([1, 1], 0, tl.int32)
        tmp12 = tmp0 == tmp11
        tmp14 = tl.where(tmp12, tmp13, tmp4)
        tmp15 = tmp10 + tmp14
        tmp16 = tl.broadcast_to(tmp15, [XBLOCK, R0_BLOCK])
        tmp18 = _tmp17 + tmp16
        _tmp17 = tl.where(r0_mask & xmask, tmp18, _tmp17)
    tmp17 = tl.sum(_tmp17, 1)[:, None]
    tl.store(out_ptr0 + (x3), tmp17, xmask)
''', device_str='cuda')


# kernel path: /tmp/encoder_layer_train-xowbz50p/cache/tmp__v162kv/dr/cdrauqc4eryhnesibwsvdgclqvhjogxhpareytfelfvux6g5ak7v.py
# Topologically Sorted Source Nodes: [view_24, view_25, view_26, permute_26, view_27, permute_27, view_28, permute_28, view_29, full, _generalized_scatter, _generalized_scatter_1, add_11, _generalized_scatter_2, add_12, unsqueeze_1, permute_29, squeeze_1, clone_15, view_30, sum_12], Original ATen: [aten.view, aten.transpose, aten.select_backward, aten.add, aten.unsqueeze, aten.squeeze, aten.clone, aten._unsafe_view, aten.sum]
# Source node to ATen node mapping:
#   _generalized_scatter => select_scatter_default
#   _generalized_scatter_1 => select_scatter_default_1
#   _generalized_scatter_2 => select_scatter_default_2
#   add_11 => add_11
#   add_12 => add_12
#   clone_15 => clone_15
#   full => full_default
#   permute_26 => permute_26
#   permute_27 => permute_27
#   permute_28 => permute_28
#   permute_29 => permute_29
#   squeeze_1 => squeeze_1
#   sum_12 => sum_12
#   unsqueeze_1 => unsqueeze_1
#   view_24 => view_24
#   view_25 => view_25
#   view_26 => view_26
#   view_27 => view_27
#   view_28 => view_28
#   view_29 => view_29
#   view_30 => view_30
# Graph fragment:
#   %buf37 : Tensor "f32[1, 1, 768, 4][3072, 3072, 1, 768]cuda:0" = PlaceHolder[target=buf37]
#   %view_24 : Tensor "bf16[16, 128, 64][64, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%getitem_15, [16, 128, 64]), kwargs = {})
#   %view_25 : Tensor "bf16[16, 128, 64][64, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%getitem_14, [16, 128, 64]), kwargs = {})
#   %view_26 : Tensor "bf16[16, 128, 64][64, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%getitem_13, [16, 128, 64]), kwargs = {})
#   %permute_26 : Tensor "bf16[128, 16, 64][1024, 64, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%view_24, [1, 0, 2]), kwargs = {})
#   %view_27 : Tensor "bf16[128, 4, 256][1024, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%permute_26, [128, 4, 256]), kwargs = {})
#   %permute_27 : Tensor "bf16[128, 16, 64][1024, 64, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%view_25, [1, 0, 2]), kwargs = {})
#   %view_28 : Tensor "bf16[128, 4, 256][1024, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%permute_27, [128, 4, 256]), kwargs = {})
#   %permute_28 : Tensor "bf16[128, 16, 64][1024, 64, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%view_26, [1, 0, 2]), kwargs = {})
#   %view_29 : Tensor "bf16[128, 4, 256][1024, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%permute_28, [128, 4, 256]), kwargs = {})
#   %full_default : Tensor "bf16[3, 128, 4, 256][131072, 1024, 256, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.aten.full.default](args = ([3, 128, 4, 256], 0), kwargs = {dtype: torch.bfloat16, layout: torch.strided, device: cuda:0, pin_memory: False})
#   %select_scatter_default : Tensor "bf16[3, 128, 4, 256][131072, 1024, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.select_scatter.default](args = (%full_default, %view_27, 0, 2), kwargs = {})
#   %select_scatter_default_1 : Tensor "bf16[3, 128, 4, 256][131072, 1024, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.select_scatter.default](args = (%full_default, %view_28, 0, 1), kwargs = {})
#   %add_11 : Tensor "bf16[3, 128, 4, 256][131072, 1024, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%select_scatter_default, %select_scatter_default_1), kwargs = {})
#   %select_scatter_default_2 : Tensor "bf16[3, 128, 4, 256][131072, 1024, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.select_scatter.default](args = (%full_default, %view_29, 0, 0), kwargs = {})
#   %add_12 : Tensor "bf16[3, 128, 4, 256][131072, 1024, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%add_11, %select_scatter_default_2), kwargs = {})
#   %unsqueeze_1 : Tensor "bf16[3, 128, 4, 1, 256][131072, 1024, 256, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.unsqueeze.default](args = (%add_12, 3), kwargs = {})
#   %permute_29 : Tensor "bf16[1, 128, 4, 3, 256][256, 1024, 256, 131072, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%unsqueeze_1, [3, 1, 2, 0, 4]), kwargs = {})
#   %squeeze_1 : Tensor "bf16[128, 4, 3, 256][1024, 256, 131072, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.squeeze.dim](args = (%permute_29, 0), kwargs = {})
#   %clone_15 : Tensor "bf16[128, 4, 3, 256][3072, 768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.clone.default](args = (%squeeze_1,), kwargs = {memory_format: torch.contiguous_format})
#   %view_30 : Tensor "bf16[128, 4, 768][3072, 768, 1]cuda:0"[num_users=2] = call_function[target=torch.ops.aten.reshape.default](args = (%clone_15, [128, 4, 768]), kwargs = {})
#   %sum_12 : Tensor "bf16[1, 1, 768][768, 768, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%view_30, [0, 1], True), kwargs = {})
#   return %sum_12
triton_per_fused__unsafe_view_add_clone_select_backward_squeeze_sum_transpose_unsqueeze_view_10 = async_compile.triton('triton_per_fused__unsafe_view_add_clone_select_backward_squeeze_sum_transpose_unsqueeze_view_10', '''
import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
from torch._inductor.runtime.hints import AutotuneHint, ReductionHint, TileHint, DeviceProperties
triton_helpers.set_driver_to_gpu()

@triton_heuristics.persistent_reduction(
    size_hints={'x': 1024, 'r0_': 4},
    reduction_hint=ReductionHint.OUTER,
    filename=__file__,
    triton_meta={'signature': {'in_ptr0': '*fp32', 'out_ptr0': '*bf16', 'xnumel': 'i32', 'r0_numel': 'i32', 'XBLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32), 'constants': {}, 'native_matmul': False, 'enable_fp_fusion': True, 'launch_pdl': False, 'disable_ftz': False, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'autotune_hints': set(), 'kernel_name': 'triton_per_fused__unsafe_view_add_clone_select_backward_squeeze_sum_transpose_unsqueeze_view_10', 'mutated_arg_names': [], 'optimize_mem': True, 'no_x_dim': None, 'atomic_add_found': False, 'num_load': 1, 'num_store': 1, 'num_reduction': 1, 'backend_hash': '91D1D1166449D9E2EB66EB9770C9E2C3B0FEB787341F27FEB4D3F0338DA50336', 'assert_indirect_indexing': True, 'autotune_local_cache': True, 'autotune_pointwise': True, 'autotune_remote_cache': None, 'force_disable_caches': True, 'dynamic_scale_rblock': True, 'max_autotune': False, 'max_autotune_pointwise': False, 'min_split_scan_rblock': 256, 'spill_threshold': 16, 'store_cubin': False, 'deterministic': False, 'force_filter_reduction_configs': False, 'mix_order_reduction_allow_multi_stages': False, 'are_deterministic_algorithms_enabled': False, 'tiling_scores': {'x': 15360, 'r0_': 0}}
)
@triton.jit
def triton_per_fused__unsafe_view_add_clone_select_backward_squeeze_sum_transpose_unsqueeze_view_10(in_ptr0, out_ptr0, xnumel, r0_numel, XBLOCK : tl.constexpr):
    xnumel = 768
    r0_numel = 4
    R0_BLOCK: tl.constexpr = 4
    rnumel = r0_numel
    RBLOCK: tl.constexpr = R0_BLOCK
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    xmask = xindex < xnumel
    r0_index = tl.arange(0, R0_BLOCK)[None, :]
    r0_offset = 0
    r0_mask = tl.full([R0_BLOCK], True, tl.int1)[None, :]
    roffset = r0_offset
    rindex = r0_index
    r0_1 = r0_index
    x0 = xindex
    tmp0 = tl.load(in_ptr0 + (x0 + 768*r0_1), xmask, other=0.0)
    tmp1 = tl.broadcast_to(tmp0, [XBLOCK, R0_BLOCK])
    tmp3 = tl.where(xmask, tmp1, 0)
    tmp4 = tl.sum(tmp3, 1)[:, None].to(tl.float32)
    tl.store(out_ptr0 + (x0), tmp4, xmask)
''', device_str='cuda')


# kernel path: /tmp/encoder_layer_train-xowbz50p/cache/tmp__v162kv/ov/covgyd4bugt27qxgayis7uzv5oepxbw4hzmt2ipmnhmth2skcxx6.py
# Topologically Sorted Source Nodes: [view_24, view_25, view_26, permute_26, view_27, permute_27, view_28, permute_28, view_29, full, _generalized_scatter, _generalized_scatter_1, add_11, _generalized_scatter_2, add_12, unsqueeze_1, permute_29, squeeze_1, clone_15], Original ATen: [aten.view, aten.transpose, aten.select_backward, aten.add, aten.unsqueeze, aten.squeeze, aten.clone]
# Source node to ATen node mapping:
#   _generalized_scatter => select_scatter_default
#   _generalized_scatter_1 => select_scatter_default_1
#   _generalized_scatter_2 => select_scatter_default_2
#   add_11 => add_11
#   add_12 => add_12
#   clone_15 => clone_15
#   full => full_default
#   permute_26 => permute_26
#   permute_27 => permute_27
#   permute_28 => permute_28
#   permute_29 => permute_29
#   squeeze_1 => squeeze_1
#   unsqueeze_1 => unsqueeze_1
#   view_24 => view_24
#   view_25 => view_25
#   view_26 => view_26
#   view_27 => view_27
#   view_28 => view_28
#   view_29 => view_29
# Graph fragment:
#   %getitem_15 : Tensor "bf16[4, 4, 128, 64][256, 64, 1024, 1]cuda:0" = PlaceHolder[target=getitem_15]
#   %getitem_14 : Tensor "bf16[4, 4, 128, 64][256, 64, 1024, 1]cuda:0" = PlaceHolder[target=getitem_14]
#   %getitem_13 : Tensor "bf16[4, 4, 128, 64][256, 64, 1024, 1]cuda:0" = PlaceHolder[target=getitem_13]
#   %view_24 : Tensor "bf16[16, 128, 64][64, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%getitem_15, [16, 128, 64]), kwargs = {})
#   %view_25 : Tensor "bf16[16, 128, 64][64, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%getitem_14, [16, 128, 64]), kwargs = {})
#   %view_26 : Tensor "bf16[16, 128, 64][64, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%getitem_13, [16, 128, 64]), kwargs = {})
#   %permute_26 : Tensor "bf16[128, 16, 64][1024, 64, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%view_24, [1, 0, 2]), kwargs = {})
#   %view_27 : Tensor "bf16[128, 4, 256][1024, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%permute_26, [128, 4, 256]), kwargs = {})
#   %permute_27 : Tensor "bf16[128, 16, 64][1024, 64, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%view_25, [1, 0, 2]), kwargs = {})
#   %view_28 : Tensor "bf16[128, 4, 256][1024, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%permute_27, [128, 4, 256]), kwargs = {})
#   %permute_28 : Tensor "bf16[128, 16, 64][1024, 64, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%view_26, [1, 0, 2]), kwargs = {})
#   %view_29 : Tensor "bf16[128, 4, 256][1024, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%permute_28, [128, 4, 256]), kwargs = {})
#   %full_default : Tensor "bf16[3, 128, 4, 256][131072, 1024, 256, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.aten.full.default](args = ([3, 128, 4, 256], 0), kwargs = {dtype: torch.bfloat16, layout: torch.strided, device: cuda:0, pin_memory: False})
#   %select_scatter_default : Tensor "bf16[3, 128, 4, 256][131072, 1024, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.select_scatter.default](args = (%full_default, %view_27, 0, 2), kwargs = {})
#   %select_scatter_default_1 : Tensor "bf16[3, 128, 4, 256][131072, 1024, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.select_scatter.default](args = (%full_default, %view_28, 0, 1), kwargs = {})
#   %add_11 : Tensor "bf16[3, 128, 4, 256][131072, 1024, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%select_scatter_default, %select_scatter_default_1), kwargs = {})
#   %select_scatter_default_2 : Tensor "bf16[3, 128, 4, 256][131072, 1024, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.select_scatter.default](args = (%full_default, %view_29, 0, 0), kwargs = {})
#   %add_12 : Tensor "bf16[3, 128, 4, 256][131072, 1024, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%add_11, %select_scatter_default_2), kwargs = {})
#   %unsqueeze_1 : Tensor "bf16[3, 128, 4, 1, 256][131072, 1024, 256, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.unsqueeze.default](args = (%add_12, 3), kwargs = {})
#   %permute_29 : Tensor "bf16[1, 128, 4, 3, 256][256, 1024, 256, 131072, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%unsqueeze_1, [3, 1, 2, 0, 4]), kwargs = {})
#   %squeeze_1 : Tensor "bf16[128, 4, 3, 256][1024, 256, 131072, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.squeeze.dim](args = (%permute_29, 0), kwargs = {})
#   %clone_15 : Tensor "bf16[128, 4, 3, 256][3072, 768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.clone.default](args = (%squeeze_1,), kwargs = {memory_format: torch.contiguous_format})
#   return %clone_15
triton_poi_fused_add_clone_select_backward_squeeze_transpose_unsqueeze_view_11 = async_compile.triton('triton_poi_fused_add_clone_select_backward_squeeze_transpose_unsqueeze_view_11', '''
import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
from torch._inductor.runtime.hints import AutotuneHint, ReductionHint, TileHint, DeviceProperties
triton_helpers.set_driver_to_gpu()

@triton_heuristics.pointwise(
    size_hints={'x': 524288}, 
    filename=__file__,
    triton_meta={'signature': {'in_ptr0': '*bf16', 'in_ptr1': '*bf16', 'in_ptr2': '*bf16', 'out_ptr0': '*bf16', 'xnumel': 'i32', 'XBLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32), 'constants': {}, 'native_matmul': False, 'enable_fp_fusion': True, 'launch_pdl': False, 'disable_ftz': False, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]], (3,): [['tt.divisibility', 16]], (4,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'autotune_hints': set(), 'kernel_name': 'triton_poi_fused_add_clone_select_backward_squeeze_transpose_unsqueeze_view_11', 'mutated_arg_names': [], 'optimize_mem': True, 'no_x_dim': False, 'atomic_add_found': False, 'num_load': 3, 'num_store': 1, 'num_reduction': 0, 'backend_hash': '91D1D1166449D9E2EB66EB9770C9E2C3B0FEB787341F27FEB4D3F0338DA50336', 'assert_indirect_indexing': True, 'autotune_local_cache': True, 'autotune_pointwise': True, 'autotune_remote_cache': None, 'force_disable_caches': True, 'dynamic_scale_rblock': True, 'max_autotune': False, 'max_autotune_pointwise': False, 'min_split_scan_rblock': 256, 'spill_threshold': 16, 'store_cubin': False, 'deterministic': False, 'force_filter_reduction_configs': False, 'mix_order_reduction_allow_multi_stages': False, 'are_deterministic_algorithms_enabled': False, 'tiling_scores': {'x': 2359296}},
    min_elem_per_thread=0
)
@triton.jit
def triton_poi_fused_add_clone_select_backward_squeeze_transpose_unsqueeze_view_11(in_ptr0, in_ptr1, in_ptr2, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    xnumel = 393216
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = tl.full([XBLOCK], True, tl.int1)[:]
    x1 = ((xindex // 256) % 3)
    x0 = (xindex % 256)
    x2 = xindex // 768
    x3 = xindex
    tmp3 = tl.load(in_ptr0 + (x0 + 256*x2), None, eviction_policy='evict_last').to(tl.float32)
    tmp8 = tl.load(in_ptr1 + (x0 + 256*x2), None, eviction_policy='evict_last').to(tl.float32)
    tmp13 = tl.load(in_ptr2 + (x0 + 256*x2), None, eviction_policy='evict_last').to(tl.float32)
    tmp0 = x1
    tmp1 = tl.full([1], 2, tl.int32)
    tmp2 = tmp0 == tmp1
    tmp4 = tl.full([1], 0.0, tl.float32)
    tmp5 = tl.where(tmp2, tmp3, tmp4)
    tmp6 = tl.full([1], 1, tl.int32)
    tmp7 = tmp0 == tmp6
    tmp9 = tl.where(tmp7, tmp8, tmp4)
    tmp10 = tmp5 + tmp9
    tmp11 = tl.full([1], 0, tl.int32)
    tmp12 = tmp0 == tmp11
    tmp14 = tl.where(tmp12, tmp13, tmp4)
    tmp15 = tmp10 + tmp14
    tl.store(out_ptr0 + (x3), tmp15, None)
''', device_str='cuda')


# kernel path: /tmp/encoder_layer_train-xowbz50p/cache/tmp__v162kv/ln/cln6gq7ucajkbpuymeduj2wlf7fra3jbz665wfbryqvemr4ijxcp.py
# Topologically Sorted Source Nodes: [view_33, permute_34, add_13], Original ATen: [aten.view, aten.transpose, aten.add]
# Source node to ATen node mapping:
#   add_13 => add_13
#   permute_34 => permute_34
#   view_33 => view_33
# Graph fragment:
#   %convert_element_type_41 : Tensor "bf16[4, 128, 256][32768, 256, 1]cuda:0" = PlaceHolder[target=convert_element_type_41]
#   %mm_8 : Tensor "bf16[512, 256][256, 1]cuda:0" = PlaceHolder[target=mm_8]
#   %view_33 : Tensor "bf16[128, 4, 256][1024, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%mm_8, [128, 4, 256]), kwargs = {})
#   %permute_34 : Tensor "bf16[4, 128, 256][256, 1024, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%view_33, [1, 0, 2]), kwargs = {})
#   %add_13 : Tensor "bf16[4, 128, 256][32768, 256, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%convert_element_type_41, %permute_34), kwargs = {})
#   return %add_13
triton_poi_fused_add_transpose_view_12 = async_compile.triton('triton_poi_fused_add_transpose_view_12', '''
import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
from torch._inductor.runtime.hints import AutotuneHint, ReductionHint, TileHint, DeviceProperties
triton_helpers.set_driver_to_gpu()

@triton_heuristics.pointwise(
    size_hints={'x': 131072}, 
    filename=__file__,
    triton_meta={'signature': {'in_out_ptr0': '*bf16', 'in_ptr0': '*bf16', 'xnumel': 'i32', 'XBLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32), 'constants': {}, 'native_matmul': False, 'enable_fp_fusion': True, 'launch_pdl': False, 'disable_ftz': False, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'autotune_hints': set(), 'kernel_name': 'triton_poi_fused_add_transpose_view_12', 'mutated_arg_names': ['in_out_ptr0'], 'optimize_mem': True, 'no_x_dim': False, 'atomic_add_found': False, 'num_load': 2, 'num_store': 1, 'num_reduction': 0, 'backend_hash': '91D1D1166449D9E2EB66EB9770C9E2C3B0FEB787341F27FEB4D3F0338DA50336', 'assert_indirect_indexing': True, 'autotune_local_cache': True, 'autotune_pointwise': True, 'autotune_remote_cache': None, 'force_disable_caches': True, 'dynamic_scale_rblock': True, 'max_autotune': False, 'max_autotune_pointwise': False, 'min_split_scan_rblock': 256, 'spill_threshold': 16, 'store_cubin': False, 'deterministic': False, 'force_filter_reduction_configs': False, 'mix_order_reduction_allow_multi_stages': False, 'are_deterministic_algorithms_enabled': False, 'tiling_scores': {'x': 1048576}},
    min_elem_per_thread=0
)
@triton.jit
def triton_poi_fused_add_transpose_view_12(in_out_ptr0, in_ptr0, xnumel, XBLOCK : tl.constexpr):
    xnumel = 131072
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = tl.full([XBLOCK], True, tl.int1)[:]
    x3 = xindex
    x0 = (xindex % 256)
    x1 = ((xindex // 256) % 128)
    x2 = xindex // 32768
    tmp0 = tl.load(in_out_ptr0 + (x3), None).to(tl.float32)
    tmp1 = tl.load(in_ptr0 + (x0 + 256*x2 + 1024*x1), None).to(tl.float32)
    tmp2 = tmp0 + tmp1
    tl.store(in_out_ptr0 + (x3), tmp2, None)
''', device_str='cuda')


async_compile.wait(globals())
del async_compile

class Runner:
    def __init__(self, partitions):
        self.partitions = partitions

    def recursively_apply_fns(self, fns):
        new_callables = []
        for fn, c in zip(fns, self.partitions):
            new_callables.append(fn(c))
        self.partitions = new_callables

    def call(self, args):
        primals_3, primals_4, primals_6, primals_8, primals_10, primals_12, view, view_6, view_7, view_8, getitem, getitem_1, getitem_6, getitem_7, gt, add_1, getitem_10, rsqrt, view_11, addmm_1, gt_1, view_13, gt_2, add_5, getitem_12, rsqrt_1, tangents_1 = args
        args.clear()
        assert_size_stride(primals_3, (768, 256), (256, 1))
        assert_size_stride(primals_4, (256, 256), (256, 1))
        assert_size_stride(primals_6, (256, ), (1, ))
        assert_size_stride(primals_8, (1024, 256), (256, 1))
        assert_size_stride(primals_10, (256, 1024), (1024, 1))
        assert_size_stride(primals_12, (256, ), (1, ))
        assert_size_stride(view, (512, 256), (256, 1))
        assert_size_stride(view_6, (4, 4, 128, 64), (256, 64, 1024, 1))
        assert_size_stride(view_7, (4, 4, 128, 64), (256, 64, 1024, 1))
        assert_size_stride(view_8, (4, 4, 128, 64), (256, 64, 1024, 1))
        assert_size_stride(getitem, (4, 4, 128, 64), (256, 64, 1024, 1))
        assert_size_stride(getitem_1, (4, 4, 128, 1), (512, 128, 1, 1))
        assert_size_stride(getitem_6, (), ())
        assert_size_stride(getitem_7, (), ())
        assert_size_stride(gt, (4, 128, 256), (256, 1024, 1))
        assert_size_stride(add_1, (4, 128, 256), (32768, 256, 1))
        assert_size_stride(getitem_10, (4, 128, 1), (128, 1, 1))
        assert_size_stride(rsqrt, (4, 128, 1), (128, 1, 1))
        assert_size_stride(view_11, (512, 256), (256, 1))
        assert_size_stride(addmm_1, (512, 1024), (1024, 1))
        assert_size_stride(gt_1, (4, 128, 1024), (131072, 1024, 1))
        assert_size_stride(view_13, (512, 1024), (1024, 1))
        assert_size_stride(gt_2, (4, 128, 256), (32768, 256, 1))
        assert_size_stride(add_5, (4, 128, 256), (32768, 256, 1))
        assert_size_stride(getitem_12, (4, 128, 1), (128, 1, 1))
        assert_size_stride(rsqrt_1, (4, 128, 1), (128, 1, 1))
        assert_size_stride(tangents_1, (4, 128, 256), (32768, 256, 1))
        with torch.cuda._DeviceGuard(0):
            torch.cuda.set_device(0)
            buf2 = empty_strided_cuda((256, 4), (1, 256), torch.float32)
            buf4 = empty_strided_cuda((256, 4), (1, 256), torch.float32)
            # Topologically Sorted Source Nodes: [clone_3, x_3, mul_19, sum_3, sum_4], Original ATen: [aten.native_layer_norm_backward, aten.native_layer_norm]
            # [Provenance debug handles] triton_red_fused_native_layer_norm_native_layer_norm_backward_0:1
            stream0 = get_raw_stream(0)
            triton_red_fused_native_layer_norm_native_layer_norm_backward_0.run(tangents_1, add_5, getitem_12, rsqrt_1, buf2, buf4, 1024, 128, stream=stream0)
            buf7 = empty_strided_cuda((256, ), (1, ), torch.bfloat16)
            # Topologically Sorted Source Nodes: [clone_3, x_3, mul_19, sum_3, convert_element_type_22], Original ATen: [aten.native_layer_norm_backward, aten.native_layer_norm]
            # [Provenance debug handles] triton_per_fused_native_layer_norm_native_layer_norm_backward_1:2
            stream0 = get_raw_stream(0)
            triton_per_fused_native_layer_norm_native_layer_norm_backward_1.run(buf2, buf7, 256, 4, stream=stream0)
            del buf2
            buf8 = empty_strided_cuda((256, ), (1, ), torch.bfloat16)
            # Topologically Sorted Source Nodes: [clone_3, sum_4, convert_element_type_23], Original ATen: [aten.native_layer_norm_backward]
            # [Provenance debug handles] triton_per_fused_native_layer_norm_native_layer_norm_backward_1:3
            stream0 = get_raw_stream(0)
            triton_per_fused_native_layer_norm_native_layer_norm_backward_1.run(buf4, buf8, 256, 4, stream=stream0)
            buf6 = add_5; del add_5  # reuse
            buf9 = empty_strided_cuda((4, 128, 256), (32768, 256, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [clone_3, clone_5, mul_14, mul_15, sum_1, x_3, mul_16, sum_2, mul_17, sub_3, sub_4, div, mul_18, convert_element_type_21, convert_element_type_24, mul_20, clone_7], Original ATen: [aten.native_layer_norm_backward, aten.native_layer_norm, aten.native_dropout_backward]
            # [Provenance debug handles] triton_per_fused_native_dropout_backward_native_layer_norm_native_layer_norm_backward_2:4
            stream0 = get_raw_stream(0)
            triton_per_fused_native_dropout_backward_native_layer_norm_native_layer_norm_backward_2.run(buf6, tangents_1, primals_12, getitem_12, rsqrt_1, gt_2, buf9, 512, 256, stream=stream0)
            del getitem_12
            del gt_2
            del primals_12
            del rsqrt_1
            del tangents_1
            buf12 = reinterpret_tensor(buf4, (1, 256, 4), (1024, 1, 256), 0); del buf4  # reuse
            # Topologically Sorted Source Nodes: [convert_element_type_24, mul_20, clone_7, view_15, sum_5], Original ATen: [aten.native_dropout_backward, aten.view, aten.sum]
            # [Provenance debug handles] triton_red_fused_native_dropout_backward_sum_view_3:5
            stream0 = get_raw_stream(0)
            triton_red_fused_native_dropout_backward_sum_view_3.run(buf9, buf12, 1024, 128, stream=stream0)
            buf13 = empty_strided_cuda((1, 256), (256, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [convert_element_type_24, mul_20, clone_7, view_15, sum_5], Original ATen: [aten.native_dropout_backward, aten.view, aten.sum]
            # [Provenance debug handles] triton_per_fused_native_dropout_backward_sum_view_4:6
            stream0 = get_raw_stream(0)
            triton_per_fused_native_dropout_backward_sum_view_4.run(buf12, buf13, 256, 4, stream=stream0)
            del buf12
            buf11 = empty_strided_cuda((256, 1024), (1024, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [convert_element_type_24, mul_20, clone_7, view_15, permute_13, permute_15], Original ATen: [aten.native_dropout_backward, aten.view, aten.t, aten.mm]
            # [Provenance debug handles] extern_kernels.mm:7
            extern_kernels.mm(reinterpret_tensor(buf9, (256, 512), (1, 256), 0), view_13, out=buf11)
            del view_13
            buf10 = empty_strided_cuda((512, 1024), (1024, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [convert_element_type_24, mul_20, clone_7, view_15, x_2, permute_12, mm_1], Original ATen: [aten.native_dropout_backward, aten.view, aten.t, aten.mm]
            # [Provenance debug handles] extern_kernels.mm:8
            extern_kernels.mm(reinterpret_tensor(buf9, (512, 256), (256, 1), 0), primals_10, out=buf10)
            del buf9
            del primals_10
            buf14 = reinterpret_tensor(buf10, (4, 128, 1024), (131072, 1024, 1), 0); del buf10  # reuse
            buf17 = empty_strided_cuda((1, 1024, 4), (4096, 1, 1024), torch.float32)
            # Topologically Sorted Source Nodes: [view_17, convert_element_type_29, mul_22, clone_8, convert_element_type_30, linear, gelu, mul_25, mul_26, mul_27, exp, mul_28, mul_29, add_9, mul_30, convert_element_type_32, view_18, sum_6], Original ATen: [aten.view, aten.native_dropout_backward, aten.gelu_backward, aten.gelu, aten.sum]
            # [Provenance debug handles] triton_red_fused_gelu_gelu_backward_native_dropout_backward_sum_view_5:9
            stream0 = get_raw_stream(0)
            triton_red_fused_gelu_gelu_backward_native_dropout_backward_sum_view_5.run(buf14, gt_1, addmm_1, buf17, 4096, 128, stream=stream0)
            del addmm_1
            del gt_1
            buf18 = empty_strided_cuda((1, 1024), (1024, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [view_17, convert_element_type_29, mul_22, clone_8, convert_element_type_30, linear, gelu, mul_25, mul_26, mul_27, exp, mul_28, mul_29, add_9, mul_30, convert_element_type_32, view_18, sum_6], Original ATen: [aten.view, aten.native_dropout_backward, aten.gelu_backward, aten.gelu, aten.sum]
            # [Provenance debug handles] triton_per_fused_gelu_gelu_backward_native_dropout_backward_sum_view_6:10
            stream0 = get_raw_stream(0)
            triton_per_fused_gelu_gelu_backward_native_dropout_backward_sum_view_6.run(buf17, buf18, 1024, 4, stream=stream0)
            del buf17
            buf15 = empty_strided_cuda((512, 256), (256, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [view_17, convert_element_type_29, mul_22, clone_8, convert_element_type_30, linear, gelu, mul_25, mul_26, mul_27, exp, mul_28, mul_29, add_9, mul_30, convert_element_type_32, view_18, permute_16, mm_3], Original ATen: [aten.view, aten.native_dropout_backward, aten.gelu_backward, aten.gelu, aten.t, aten.mm]
            # [Provenance debug handles] extern_kernels.mm:11
            extern_kernels.mm(reinterpret_tensor(buf14, (512, 1024), (1024, 1), 0), primals_8, out=buf15)
            del primals_8
            buf16 = empty_strided_cuda((1024, 256), (256, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [view_17, convert_element_type_29, mul_22, clone_8, convert_element_type_30, linear, gelu, mul_25, mul_26, mul_27, exp, mul_28, mul_29, add_9, mul_30, convert_element_type_32, view_18, permute_17, permute_19], Original ATen: [aten.view, aten.native_dropout_backward, aten.gelu_backward, aten.gelu, aten.t, aten.mm]
            # [Provenance debug handles] extern_kernels.mm:12
            extern_kernels.mm(reinterpret_tensor(buf14, (1024, 512), (1, 1024), 0), view_11, out=buf16)
            del buf14
            del view_11
            buf21 = empty_strided_cuda((256, 4), (1, 256), torch.float32)
            buf23 = empty_strided_cuda((256, 4), (1, 256), torch.float32)
            # Topologically Sorted Source Nodes: [view_20, add_10, clone_9, x_1, mul_37, sum_9, sum_10], Original ATen: [aten.view, aten.add, aten.native_layer_norm_backward, aten.native_layer_norm]
            # [Provenance debug handles] triton_red_fused_add_native_layer_norm_native_layer_norm_backward_view_7:13
            stream0 = get_raw_stream(0)
            triton_red_fused_add_native_layer_norm_native_layer_norm_backward_view_7.run(buf6, buf15, add_1, getitem_10, rsqrt, buf21, buf23, 1024, 128, stream=stream0)
            buf25 = buf6; del buf6  # reuse
            buf28 = empty_strided_cuda((128, 4, 256), (1024, 256, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [view_20, add_10, clone_9, clone_11, mul_32, mul_33, sum_7, x_1, mul_34, sum_8, mul_35, sub_6, sub_7, div_1, mul_36, convert_element_type_41, convert_element_type_44, mul_38, clone_13, permute_20, clone_14], Original ATen: [aten.view, aten.add, aten.native_layer_norm_backward, aten.native_layer_norm, aten.native_dropout_backward, aten.transpose, aten.clone]
            # [Provenance debug handles] triton_per_fused_add_clone_native_dropout_backward_native_layer_norm_native_layer_norm_backward_transpose_view_8:14
            stream0 = get_raw_stream(0)
            triton_per_fused_add_clone_native_dropout_backward_native_layer_norm_native_layer_norm_backward_transpose_view_8.run(buf25, buf15, primals_6, add_1, getitem_10, rsqrt, gt, buf28, 512, 256, stream=stream0)
            del add_1
            del getitem_10
            del gt
            del primals_6
            del rsqrt
            buf26 = empty_strided_cuda((256, ), (1, ), torch.bfloat16)
            # Topologically Sorted Source Nodes: [view_20, add_10, clone_9, x_1, mul_37, sum_9, convert_element_type_42], Original ATen: [aten.view, aten.add, aten.native_layer_norm_backward, aten.native_layer_norm]
            # [Provenance debug handles] triton_per_fused_native_layer_norm_native_layer_norm_backward_1:15
            stream0 = get_raw_stream(0)
            triton_per_fused_native_layer_norm_native_layer_norm_backward_1.run(buf21, buf26, 256, 4, stream=stream0)
            del buf21
            buf27 = empty_strided_cuda((256, ), (1, ), torch.bfloat16)
            # Topologically Sorted Source Nodes: [view_20, add_10, clone_9, sum_10, convert_element_type_43], Original ATen: [aten.view, aten.add, aten.native_layer_norm_backward]
            # [Provenance debug handles] triton_per_fused_native_layer_norm_native_layer_norm_backward_1:16
            stream0 = get_raw_stream(0)
            triton_per_fused_native_layer_norm_native_layer_norm_backward_1.run(buf23, buf27, 256, 4, stream=stream0)
            buf31 = reinterpret_tensor(buf23, (1, 256, 4), (1024, 1, 256), 0); del buf23  # reuse
            # Topologically Sorted Source Nodes: [convert_element_type_44, mul_38, clone_13, permute_20, clone_14, view_21, sum_11], Original ATen: [aten.native_dropout_backward, aten.transpose, aten.clone, aten._unsafe_view, aten.sum]
            # [Provenance debug handles] triton_red_fused_native_dropout_backward_sum_view_3:17
            stream0 = get_raw_stream(0)
            triton_red_fused_native_dropout_backward_sum_view_3.run(buf28, buf31, 1024, 128, stream=stream0)
            buf32 = empty_strided_cuda((1, 256), (256, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [convert_element_type_44, mul_38, clone_13, permute_20, clone_14, view_21, sum_11], Original ATen: [aten.native_dropout_backward, aten.transpose, aten.clone, aten._unsafe_view, aten.sum]
            # [Provenance debug handles] triton_per_fused_native_dropout_backward_sum_view_4:18
            stream0 = get_raw_stream(0)
            triton_per_fused_native_dropout_backward_sum_view_4.run(buf31, buf32, 256, 4, stream=stream0)
            del buf31
            buf30 = empty_strided_cuda((256, 256), (256, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [convert_element_type_44, mul_38, clone_13, permute_20, clone_14, view_21, permute_22, multi_head_attention_forward, permute_24], Original ATen: [aten.native_dropout_backward, aten.transpose, aten.clone, aten._unsafe_view, aten.t, aten.permute, aten.view, aten.mm]
            # [Provenance debug handles] extern_kernels.mm:19
            extern_kernels.mm(reinterpret_tensor(buf28, (256, 512), (1, 256), 0), reinterpret_tensor(getitem, (512, 256), (256, 1), 0), out=buf30)
            buf29 = buf15; del buf15  # reuse
            # Topologically Sorted Source Nodes: [convert_element_type_44, mul_38, clone_13, permute_20, clone_14, view_21, multi_head_attention_forward, permute_21, mm_5], Original ATen: [aten.native_dropout_backward, aten.transpose, aten.clone, aten._unsafe_view, aten.t, aten.mm]
            # [Provenance debug handles] extern_kernels.mm:20
            extern_kernels.mm(reinterpret_tensor(buf28, (512, 256), (256, 1), 0), primals_4, out=buf29)
            del buf28
            del primals_4
            # Topologically Sorted Source Nodes: [view_23, permute_25, _scaled_dot_product_cudnn_attention_backward], Original ATen: [aten.view, aten.permute, aten._scaled_dot_product_cudnn_attention_backward]
            # [Provenance debug handles] torch.ops.aten._scaled_dot_product_cudnn_attention_backward.default:21
            buf33 = torch.ops.aten._scaled_dot_product_cudnn_attention_backward.default(reinterpret_tensor(buf29, (4, 4, 128, 64), (256, 64, 1024, 1), 0), view_6, view_7, view_8, getitem, getitem_1, getitem_6, getitem_7, None, None, None, 128, 128, 0.1, False)
            del buf29
            del getitem
            del getitem_1
            del getitem_6
            del getitem_7
            del view_6
            del view_7
            del view_8
            buf34 = buf33[0]
            assert_size_stride(buf34, (4, 4, 128, 64), (256, 64, 1024, 1), 'torch.ops.aten._scaled_dot_product_cudnn_attention_backward.default')
            assert_alignment(buf34, 16, 'torch.ops.aten._scaled_dot_product_cudnn_attention_backward.default')
            buf35 = buf33[1]
            assert_size_stride(buf35, (4, 4, 128, 64), (256, 64, 1024, 1), 'torch.ops.aten._scaled_dot_product_cudnn_attention_backward.default')
            assert_alignment(buf35, 16, 'torch.ops.aten._scaled_dot_product_cudnn_attention_backward.default')
            buf36 = buf33[2]
            assert_size_stride(buf36, (4, 4, 128, 64), (256, 64, 1024, 1), 'torch.ops.aten._scaled_dot_product_cudnn_attention_backward.default')
            assert_alignment(buf36, 16, 'torch.ops.aten._scaled_dot_product_cudnn_attention_backward.default')
            del buf33
            buf37 = empty_strided_cuda((1, 1, 768, 4), (3072, 3072, 1, 768), torch.float32)
            # Topologically Sorted Source Nodes: [view_24, view_25, view_26, permute_26, view_27, permute_27, view_28, permute_28, view_29, full, _generalized_scatter, _generalized_scatter_1, add_11, _generalized_scatter_2, add_12, unsqueeze_1, permute_29, squeeze_1, clone_15, view_30, sum_12], Original ATen: [aten.view, aten.transpose, aten.select_backward, aten.add, aten.unsqueeze, aten.squeeze, aten.clone, aten._unsafe_view, aten.sum]
            # [Provenance debug handles] triton_red_fused__unsafe_view_add_clone_select_backward_squeeze_sum_transpose_unsqueeze_view_9:22
            stream0 = get_raw_stream(0)
            triton_red_fused__unsafe_view_add_clone_select_backward_squeeze_sum_transpose_unsqueeze_view_9.run(buf36, buf35, buf34, buf37, 3072, 128, stream=stream0)
            buf38 = empty_strided_cuda((1, 1, 768), (768, 768, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [view_24, view_25, view_26, permute_26, view_27, permute_27, view_28, permute_28, view_29, full, _generalized_scatter, _generalized_scatter_1, add_11, _generalized_scatter_2, add_12, unsqueeze_1, permute_29, squeeze_1, clone_15, view_30, sum_12], Original ATen: [aten.view, aten.transpose, aten.select_backward, aten.add, aten.unsqueeze, aten.squeeze, aten.clone, aten._unsafe_view, aten.sum]
            # [Provenance debug handles] triton_per_fused__unsafe_view_add_clone_select_backward_squeeze_sum_transpose_unsqueeze_view_10:23
            stream0 = get_raw_stream(0)
            triton_per_fused__unsafe_view_add_clone_select_backward_squeeze_sum_transpose_unsqueeze_view_10.run(buf37, buf38, 768, 4, stream=stream0)
            del buf37
            buf39 = empty_strided_cuda((128, 4, 3, 256), (3072, 768, 256, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [view_24, view_25, view_26, permute_26, view_27, permute_27, view_28, permute_28, view_29, full, _generalized_scatter, _generalized_scatter_1, add_11, _generalized_scatter_2, add_12, unsqueeze_1, permute_29, squeeze_1, clone_15], Original ATen: [aten.view, aten.transpose, aten.select_backward, aten.add, aten.unsqueeze, aten.squeeze, aten.clone]
            # [Provenance debug handles] triton_poi_fused_add_clone_select_backward_squeeze_transpose_unsqueeze_view_11:24
            stream0 = get_raw_stream(0)
            triton_poi_fused_add_clone_select_backward_squeeze_transpose_unsqueeze_view_11.run(buf36, buf35, buf34, buf39, 393216, stream=stream0)
            del buf34
            del buf35
            buf40 = empty_strided_cuda((768, 256), (256, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [view_24, view_25, view_26, permute_26, view_27, permute_27, view_28, permute_28, view_29, full, _generalized_scatter, _generalized_scatter_1, add_11, _generalized_scatter_2, add_12, unsqueeze_1, permute_29, squeeze_1, clone_15, view_30, view_32, permute_30, permute_33], Original ATen: [aten.view, aten.transpose, aten.select_backward, aten.add, aten.unsqueeze, aten.squeeze, aten.clone, aten._unsafe_view, aten.t, aten.mm]
            # [Provenance debug handles] extern_kernels.mm:25
            extern_kernels.mm(reinterpret_tensor(buf39, (768, 512), (1, 768), 0), view, out=buf40)
            del view
            buf41 = reinterpret_tensor(buf36, (512, 256), (256, 1), 0); del buf36  # reuse
            # Topologically Sorted Source Nodes: [view_24, view_25, view_26, permute_26, view_27, permute_27, view_28, permute_28, view_29, full, _generalized_scatter, _generalized_scatter_1, add_11, _generalized_scatter_2, add_12, unsqueeze_1, permute_29, squeeze_1, clone_15, view_30, view_32, multi_head_attention_forward, permute_32, mm_8], Original ATen: [aten.view, aten.transpose, aten.select_backward, aten.add, aten.unsqueeze, aten.squeeze, aten.clone, aten._unsafe_view, aten.t, aten.mm]
            # [Provenance debug handles] extern_kernels.mm:26
            extern_kernels.mm(reinterpret_tensor(buf39, (512, 768), (768, 1), 0), primals_3, out=buf41)
            del buf39
            del primals_3
            buf42 = buf25; del buf25  # reuse
            # Topologically Sorted Source Nodes: [view_33, permute_34, add_13], Original ATen: [aten.view, aten.transpose, aten.add]
            # [Provenance debug handles] triton_poi_fused_add_transpose_view_12:27
            stream0 = get_raw_stream(0)
            triton_poi_fused_add_transpose_view_12.run(buf42, buf41, 131072, stream=stream0)
            del buf41
        return (buf42, reinterpret_tensor(buf38, (768, ), (1, ), 0), buf40, buf30, reinterpret_tensor(buf32, (256, ), (1, ), 0), buf26, buf27, buf16, reinterpret_tensor(buf18, (1024, ), (1, ), 0), buf11, reinterpret_tensor(buf13, (256, ), (1, ), 0), buf7, buf8, )

runner = Runner(partitions=[])
call = runner.call
recursively_apply_fns = runner.recursively_apply_fns


def get_args():
    from torch._dynamo.testing import rand_strided
    primals_3 = rand_strided((768, 256), (256, 1), device='cuda:0', dtype=torch.bfloat16)
    primals_4 = rand_strided((256, 256), (256, 1), device='cuda:0', dtype=torch.bfloat16)
    primals_6 = rand_strided((256, ), (1, ), device='cuda:0', dtype=torch.bfloat16)
    primals_8 = rand_strided((1024, 256), (256, 1), device='cuda:0', dtype=torch.bfloat16)
    primals_10 = rand_strided((256, 1024), (1024, 1), device='cuda:0', dtype=torch.bfloat16)
    primals_12 = rand_strided((256, ), (1, ), device='cuda:0', dtype=torch.bfloat16)
    view = rand_strided((512, 256), (256, 1), device='cuda:0', dtype=torch.bfloat16)
    view_6 = rand_strided((4, 4, 128, 64), (256, 64, 1024, 1), device='cuda:0', dtype=torch.bfloat16)
    view_7 = rand_strided((4, 4, 128, 64), (256, 64, 1024, 1), device='cuda:0', dtype=torch.bfloat16)
    view_8 = rand_strided((4, 4, 128, 64), (256, 64, 1024, 1), device='cuda:0', dtype=torch.bfloat16)
    getitem = rand_strided((4, 4, 128, 64), (256, 64, 1024, 1), device='cuda:0', dtype=torch.bfloat16)
    getitem_1 = rand_strided((4, 4, 128, 1), (512, 128, 1, 1), device='cuda:0', dtype=torch.float32)
    getitem_6 = rand_strided((), (), device='cuda:0', dtype=torch.int64)
    getitem_7 = rand_strided((), (), device='cuda:0', dtype=torch.int64)
    gt = rand_strided((4, 128, 256), (256, 1024, 1), device='cuda:0', dtype=torch.bool)
    add_1 = rand_strided((4, 128, 256), (32768, 256, 1), device='cuda:0', dtype=torch.bfloat16)
    getitem_10 = rand_strided((4, 128, 1), (128, 1, 1), device='cuda:0', dtype=torch.float32)
    rsqrt = rand_strided((4, 128, 1), (128, 1, 1), device='cuda:0', dtype=torch.float32)
    view_11 = rand_strided((512, 256), (256, 1), device='cuda:0', dtype=torch.bfloat16)
    addmm_1 = rand_strided((512, 1024), (1024, 1), device='cuda:0', dtype=torch.bfloat16)
    gt_1 = rand_strided((4, 128, 1024), (131072, 1024, 1), device='cuda:0', dtype=torch.bool)
    view_13 = rand_strided((512, 1024), (1024, 1), device='cuda:0', dtype=torch.bfloat16)
    gt_2 = rand_strided((4, 128, 256), (32768, 256, 1), device='cuda:0', dtype=torch.bool)
    add_5 = rand_strided((4, 128, 256), (32768, 256, 1), device='cuda:0', dtype=torch.bfloat16)
    getitem_12 = rand_strided((4, 128, 1), (128, 1, 1), device='cuda:0', dtype=torch.float32)
    rsqrt_1 = rand_strided((4, 128, 1), (128, 1, 1), device='cuda:0', dtype=torch.float32)
    tangents_1 = rand_strided((4, 128, 256), (32768, 256, 1), device='cuda:0', dtype=torch.bfloat16)
    return [primals_3, primals_4, primals_6, primals_8, primals_10, primals_12, view, view_6, view_7, view_8, getitem, getitem_1, getitem_6, getitem_7, gt, add_1, getitem_10, rsqrt, view_11, addmm_1, gt_1, view_13, gt_2, add_5, getitem_12, rsqrt_1, tangents_1]


def benchmark_compiled_module(args, times=10, repeat=10):
    from torch._inductor.utils import print_performance
    fn = lambda: call(list(args))
    return print_performance(fn, times=times, repeat=repeat)


if __name__ == "__main__":
    from torch._inductor.wrapper_benchmark import compiled_module_main
    args = get_args()
    compiled_module_main('None', lambda times, repeat: benchmark_compiled_module(args, times=times, repeat=repeat))
