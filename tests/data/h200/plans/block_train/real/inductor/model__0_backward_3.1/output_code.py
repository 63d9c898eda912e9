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


# kernel path: /tmp/block_train-ktojv2xx/cache/tmpzuumk51v/fa/cfagm7nkm4pfzl536gyxcy7uehnt5cllhc5rztv5w7eglswvsce4.py
# Topologically Sorted Source Nodes: [view_15, linear_2, gelu, mul_11, linear_3, mul_12, convert_element_type_26, mul_18, mul_19, sub_2, mul_20, add_10, mul_21, mul_22, mul_23, add_11, mul_24, convert_element_type_28], Original ATen: [aten.view, aten._unsafe_view, aten.gelu, aten.mul, aten.gelu_backward]
# Source node to ATen node mapping:
#   add_10 => add_10
#   add_11 => add_11
#   convert_element_type_26 => convert_element_type_26
#   convert_element_type_28 => convert_element_type_28
#   gelu => add_5, add_6, convert_element_type_12, convert_element_type_13, mul_4, mul_5, mul_6, mul_7, mul_8, mul_9, tanh
#   linear_2 => view_9
#   linear_3 => view_11
#   mul_11 => mul_11
#   mul_12 => mul_12
#   mul_18 => mul_18
#   mul_19 => mul_19
#   mul_20 => mul_20
#   mul_21 => mul_21
#   mul_22 => mul_22
#   mul_23 => mul_23
#   mul_24 => mul_24
#   sub_2 => sub_2
#   view_15 => view_15
# Graph fragment:
#   %mm_4 : Tensor "bf16[2048, 2048][2048, 1]cuda:0" = PlaceHolder[target=mm_4]
#   %mm : Tensor "bf16[2048, 2048][2048, 1]cuda:0" = PlaceHolder[target=mm]
#   %mm_1 : Tensor "bf16[2048, 2048][2048, 1]cuda:0" = PlaceHolder[target=mm_1]
#   %view_15 : Tensor "bf16[8, 256, 2048][524288, 2048, 1]cuda:0"[num_users=2] = call_function[target=torch.ops.aten.reshape.default](args = (%mm_4, [8, 256, 2048]), kwargs = {})
#   %view_9 : Tensor "bf16[8, 256, 2048][524288, 2048, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%mm, [8, 256, 2048]), kwargs = {})
#   %convert_element_type_12 : Tensor "f32[8, 256, 2048][524288, 2048, 1]cuda:0"[num_users=4] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%view_9, torch.float32), kwargs = {})
#   %mul_4 : Tensor "f32[8, 256, 2048][524288, 2048, 1]cuda:0"[num_users=2] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type_12, %convert_element_type_12), kwargs = {})
#   %mul_5 : Tensor "f32[8, 256, 2048][524288, 2048, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%mul_4, %convert_element_type_12), kwargs = {})
#   %mul_6 : Tensor "f32[8, 256, 2048][524288, 2048, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%mul_5, 0.044715), kwargs = {})
#   %add_5 : Tensor "f32[8, 256, 2048][524288, 2048, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%convert_element_type_12, %mul_6), kwargs = {})
#   %mul_7 : Tensor "f32[8, 256, 2048][524288, 2048, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%add_5, 0.7978845608028654), kwargs = {})
#   %mul_8 : Tensor "f32[8, 256, 2048][524288, 2048, 1]cuda:0"[num_users=2] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type_12, 0.5), kwargs = {})
#   %tanh : Tensor "f32[8, 256, 2048][524288, 2048, 1]cuda:0"[num_users=2] = call_function[target=torch.ops.aten.tanh.default](args = (%mul_7,), kwargs = {})
#   %add_6 : Tensor "f32[8, 256, 2048][524288, 2048, 1]cuda:0"[num_users=2] = call_function[target=torch.ops.aten.add.Tensor](args = (%tanh, 1), kwargs = {})
#   %mul_9 : Tensor "f32[8, 256, 2048][524288, 2048, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%mul_8, %add_6), kwargs = {})
#   %convert_element_type_13 : Tensor "bf16[8, 256, 2048][524288, 2048, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%mul_9, torch.bfloat16), kwargs = {})
#   %mul_11 : Tensor "bf16[8, 256, 2048][524288, 2048, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%view_15, %convert_element_type_13), kwargs = {})
#   %view_11 : Tensor "bf16[8, 256, 2048][524288, 2048, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%mm_1, [8, 256, 2048]), kwargs = {})
#   %mul_12 : Tensor "bf16[8, 256, 2048][524288, 2048, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%view_15, %view_11), kwargs = {})
#   %convert_element_type_26 : Tensor "f32[8, 256, 2048][524288, 2048, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%mul_12, torch.float32), kwargs = {})
#   %mul_18 : Tensor "f32[8, 256, 2048][524288, 2048, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%add_6, 0.5), kwargs = {})
#   %mul_19 : Tensor "f32[8, 256, 2048][524288, 2048, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%tanh, %tanh), kwargs = {})
#   %sub_2 : Tensor "f32[8, 256, 2048][524288, 2048, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sub.Tensor](args = (1, %mul_19), kwargs = {})
#   %mul_20 : Tensor "f32[8, 256, 2048][524288, 2048, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%mul_4, 0.134145), kwargs = {})
#   %add_10 : Tensor "f32[8, 256, 2048][524288, 2048, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%mul_20, 1), kwargs = {})
#   %mul_21 : Tensor "f32[8, 256, 2048][524288, 2048, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%add_10, 0.7978845608028654), kwargs = {})
#   %mul_22 : Tensor "f32[8, 256, 2048][524288, 2048, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%mul_8, %sub_2), kwargs = {})
#   %mul_23 : Tensor "f32[8, 256, 2048][524288, 2048, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%mul_22, %mul_21), kwargs = {})
#   %add_11 : Tensor "f32[8, 256, 2048][524288, 2048, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%mul_18, %mul_23), kwargs = {})
#   %mul_24 : Tensor "f32[8, 256, 2048][524288, 2048, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type_26, %add_11), kwargs = {})
#   %convert_element_type_28 : Tensor "bf16[8, 256, 2048][524288, 2048, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%mul_24, torch.bfloat16), kwargs = {})
#   return %mul_11,%convert_element_type_28
triton_poi_fused__unsafe_view_gelu_gelu_backward_mul_view_0 = async_compile.triton('triton_poi_fused__unsafe_view_gelu_gelu_backward_mul_view_0', '''
import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
from torch._inductor.runtime.hints import AutotuneHint, ReductionHint, TileHint, DeviceProperties
triton_helpers.set_driver_to_gpu()

@triton_heuristics.pointwise(
    size_hints={'x': 4194304}, 
    filename=__file__,
    triton_meta={'signature': {'in_out_ptr0': '*bf16', 'in_ptr0': '*bf16', 'in_ptr1': '*bf16', 'out_ptr0': '*bf16', 'xnumel': 'i32', 'XBLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32), 'constants': {}, 'native_matmul': False, 'enable_fp_fusion': True, 'launch_pdl': False, 'disable_ftz': False, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]], (3,): [['tt.divisibility', 16]], (4,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'autotune_hints': set(), 'kernel_name': 'triton_poi_fused__unsafe_view_gelu_gelu_backward_mul_view_0', 'mutated_arg_names': ['in_out_ptr0'], 'optimize_mem': True, 'no_x_dim': False, 'atomic_add_found': False, 'num_load': 3, 'num_store': 2, 'num_reduction': 0, 'backend_hash': '91D1D1166449D9E2EB66EB9770C9E2C3B0FEB787341F27FEB4D3F0338DA50336', 'assert_indirect_indexing': True, 'autotune_local_cache': True, 'autotune_pointwise': True, 'autotune_remote_cache': None, 'force_disable_caches': True, 'dynamic_scale_rblock': True, 'max_autotune': False, 'max_autotune_pointwise': False, 'min_split_scan_rblock': 256, 'spill_threshold': 16, 'store_cubin': False, 'deterministic': False, 'force_filter_reduction_configs': False, 'mix_order_reduction_allow_multi_stages': False, 'are_deterministic_algorithms_enabled': False, 'tiling_scores': {'x': 58720256}},
    min_elem_per_thread=0
)
@triton.jit
def triton_poi_fused__unsafe_view_gelu_gelu_backward_mul_view_0(in_out_ptr0, in_ptr0, in_ptr1, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    xnumel = 4194304
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = tl.full([XBLOCK], True, tl.int1)[:]
    x0 = xindex
    tmp0 = tl.load(in_ptr0 + (x0), None).to(tl.float32)
    tmp1 = tl.load(in_ptr1 + (x0), None).to(tl.float32)
    tmp18 = tl.load(in_out_ptr0 + (x0), None).to(tl.float32)
    tmp2 = tmp1.to(tl.float32)
    tmp3 = tl.full([1], 0.5, tl.float32)
    tmp4 = tmp2 * tmp3
    tmp5 = tmp2 * tmp2
    tmp6 = tmp5 * tmp2
    tmp7 = tl.full([1], 0.044715, tl.float32)
    tmp8 = tmp6 * tmp7
    tmp9 = tmp2 + tmp8
    tmp10 = tl.full([1], 0.7978845608028654, tl.float32)
    tmp11 = tmp9 * tmp10
    tmp12 = libdevice.tanh(tmp11)
    tmp13 = tl.full([1], 1.0, tl.float32)
    tmp14 = tmp12 + tmp13
    tmp15 = tmp4 * tmp14
    tmp16 = tmp15.to(tl.float32)
    tmp17 = tmp0 * tmp16
    tmp19 = tmp0 * tmp18
    tmp20 = tmp19.to(tl.float32)
    tmp21 = tmp14 * tmp3
    tmp22 = tmp12 * tmp12
    tmp23 = tmp13 - tmp22
    tmp24 = tmp4 * tmp23
    tmp25 = tl.full([1], 0.134145, tl.float32)
    tmp26 = tmp5 * tmp25
    tmp27 = tmp26 + tmp13
    tmp28 = tmp27 * tmp10
    tmp29 = tmp24 * tmp28
    tmp30 = tmp21 + tmp29
    tmp31 = tmp20 * tmp30
    tmp32 = tmp31.to(tl.float32)
    tl.store(out_ptr0 + (x0), tmp17, None)
    tl.store(in_out_ptr0 + (x0), tmp32, None)
''', device_str='cuda')


# kernel path: /tmp/block_train-ktojv2xx/cache/tmpzuumk51v/ev/cevw2izgviyjviwtg2ehy5w4ryc32nyjrcgniysej4i644mmmrs7.py
# Topologically Sorted Source Nodes: [view_17, view_19, add_12, clone, clone_2, mul_26, mul_27, sum_1, linear_1, x, layer_norm_1, mul_28, sum_2, mul_29, sub_4, sub_5, div, mul_30, convert_element_type_37, add_13], Original ATen: [aten.view, aten.add, aten.native_layer_norm_backward, aten.native_layer_norm]
# Source node to ATen node mapping:
#   add_12 => add_12
#   add_13 => add_13
#   clone => convert_element_type_33
#   clone_2 => convert_element_type_35
#   convert_element_type_37 => convert_element_type_37
#   div => div
#   layer_norm_1 => convert_element_type_8, mul_2, sub_1
#   linear_1 => view_7
#   mul_26 => mul_26
#   mul_27 => mul_27
#   mul_28 => mul_28
#   mul_29 => mul_29
#   mul_30 => mul_30
#   sub_4 => sub_4
#   sub_5 => sub_5
#   sum_1 => sum_1
#   sum_2 => sum_2
#   view_17 => view_17
#   view_19 => view_19
#   x => add_2
# Graph fragment:
#   %mm_6 : Tensor "bf16[2048, 512][512, 1]cuda:0" = PlaceHolder[target=mm_6]
#   %mm_8 : Tensor "bf16[2048, 512][512, 1]cuda:0" = PlaceHolder[target=mm_8]
#   %primals_8 : Tensor "bf16[512][1]cuda:0" = PlaceHolder[target=primals_8]
#   %primals_3 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0" = PlaceHolder[target=primals_3]
#   %addmm_1 : Tensor "bf16[2048, 512][512, 1]cuda:0" = PlaceHolder[target=addmm_1]
#   %getitem_15 : Tensor "f32[8, 256, 1][256, 1, 1]cuda:0" = PlaceHolder[target=getitem_15]
#   %rsqrt_1 : Tensor "f32[8, 256, 1][256, 1, 1]cuda:0" = PlaceHolder[target=rsqrt_1]
#   %sum_1 : Tensor "f32[8, 256, 1][256, 1, 2048]cuda:0" = PlaceHolder[target=sum_1]
#   %sum_2 : Tensor "f32[8, 256, 1][256, 1, 2048]cuda:0" = PlaceHolder[target=sum_2]
#   %tangents_1 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0" = PlaceHolder[target=tangents_1]
#   %sub_5 : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0" = PlaceHolder[target=sub_5]
#   %view_17 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%mm_6, [8, 256, 512]), kwargs = {})
#   %view_19 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%mm_8, [8, 256, 512]), kwargs = {})
#   %add_12 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%view_17, %view_19), kwargs = {})
#   %convert_element_type_33 : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%add_12, torch.float32), kwargs = {})
#   %convert_element_type_35 : Tensor "f32[512][1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%primals_8, torch.float32), kwargs = {})
#   %mul_26 : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type_33, %convert_element_type_35), kwargs = {})
#   %mul_27 : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%mul_26, 512), kwargs = {})
#   %sum_1 : Tensor "f32[8, 256, 1][256, 1, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%mul_26, [2], True), kwargs = {})
#   %view_7 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%addmm_1, [8, 256, 512]), kwargs = {})
#   %add_2 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%primals_3, %view_7), kwargs = {})
#   %convert_element_type_8 : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%add_2, torch.float32), kwargs = {})
#   %sub_1 : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sub.Tensor](args = (%convert_element_type_8, %getitem_15), kwargs = {})
#   %mul_2 : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.aten.mul.Tensor](args = (%sub_1, %rsqrt_1), kwargs = {})
#   %mul_28 : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%mul_26, %mul_2), kwargs = {})
#   %sum_2 : Tensor "f32[8, 256, 1][256, 1, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%mul_28, [2], True), kwargs = {})
#   %mul_29 : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%mul_2, %sum_2), kwargs = {})
#   %sub_4 : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sub.Tensor](args = (%mul_27, %sum_1), kwargs = {})
#   %sub_5 : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sub.Tensor](args = (%sub_4, %mul_29), kwargs = {})
#   %div : Tensor "f32[8, 256, 1][256, 1, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.div.Tensor](args = (%rsqrt_1, 512), kwargs = {})
#   %mul_30 : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%div, %sub_5), kwargs = {})
#   %convert_element_type_37 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%mul_30, torch.bfloat16), kwargs = {})
#   %add_13 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0"[num_users=2] = call_function[target=torch.ops.aten.add.Tensor](args = (%tangents_1, %convert_element_type_37), kwargs = {})
#   return %sum_1,%sum_2,%sub_5,%add_13
triton_per_fused_add_native_layer_norm_native_layer_norm_backward_view_1 = async_compile.triton('triton_per_fused_add_native_layer_norm_native_layer_norm_backward_view_1', '''
import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
from torch._inductor.runtime.hints import AutotuneHint, ReductionHint, TileHint, DeviceProperties
triton_helpers.set_driver_to_gpu()

@triton_heuristics.persistent_reduction(
    size_hints={'x': 2048, 'r0_': 512},
    reduction_hint=ReductionHint.INNER,
    filename=__file__,
    triton_meta={'signature': {'in_ptr0': '*bf16', 'in_ptr1': '*bf16', 'in_ptr2': '*bf16', 'in_ptr3': '*bf16', 'in_ptr4': '*bf16', 'in_ptr5': '*fp32', 'in_ptr6': '*fp32', 'in_ptr7': '*bf16', 'out_ptr3': '*bf16', 'xnumel': 'i32', 'r0_numel': 'i32', 'XBLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32), 'constants': {}, 'native_matmul': False, 'enable_fp_fusion': True, 'launch_pdl': False, 'disable_ftz': False, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]], (3,): [['tt.divisibility', 16]], (4,): [['tt.divisibility', 16]], (5,): [['tt.divisibility', 16]], (6,): [['tt.divisibility', 16]], (7,): [['tt.divisibility', 16]], (8,): [['tt.divisibility', 16]], (9,): [['tt.divisibility', 16]], (10,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'autotune_hints': set(), 'kernel_name': 'triton_per_fused_add_native_layer_norm_native_layer_norm_backward_view_1', 'mutated_arg_names': [], 'optimize_mem': True, 'no_x_dim': None, 'atomic_add_found': False, 'num_load': 8, 'num_store': 1, 'num_reduction': 2, 'backend_hash': '91D1D1166449D9E2EB66EB9770C9E2C3B0FEB787341F27FEB4D3F0338DA50336', 'assert_indirect_indexing': True, 'autotune_local_cache': True, 'autotune_pointwise': True, 'autotune_remote_cache': None, 'force_disable_caches': True, 'dynamic_scale_rblock': True, 'max_autotune': False, 'max_autotune_pointwise': False, 'min_split_scan_rblock': 256, 'spill_threshold': 16, 'store_cubin': False, 'deterministic': False, 'force_filter_reduction_configs': False, 'mix_order_reduction_allow_multi_stages': False, 'are_deterministic_algorithms_enabled': False, 'tiling_scores': {'x': 16384, 'r0_': 14681088}}
)
@triton.jit
def triton_per_fused_add_native_layer_norm_native_layer_norm_backward_view_1(in_ptr0, in_ptr1, in_ptr2, in_ptr3, in_ptr4, in_ptr5, in_ptr6, in_ptr7, out_ptr3, xnumel, r0_numel, XBLOCK : tl.constexpr):
    xnumel = 2048
    r0_numel = 512
    R0_BLOCK: tl.constexpr = 512
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
    tmp0 = tl.load(in_ptr0 + (r0_1 + 512*x0), xmask, other=0.0).to(tl.float32)
    tmp1 = tl.load(in_ptr1 + (r0_1 + 512*x0), xmask, other=0.0).to(tl.float32)
    tmp4 = tl.load(in_ptr2 + (r0_1), None, eviction_policy='evict_last').to(tl.float32)
    tmp11 = tl.load(in_ptr3 + (r0_1 + 512*x0), xmask, other=0.0).to(tl.float32)
    tmp12 = tl.load(in_ptr4 + (r0_1 + 512*x0), xmask, other=0.0).to(tl.float32)
    tmp15 = tl.load(in_ptr5 + (x0), xmask, eviction_policy='evict_last')
    tmp17 = tl.load(in_ptr6 + (x0), xmask, eviction_policy='evict_last')
    tmp29 = tl.load(in_ptr7 + (r0_1 + 512*x0), xmask, other=0.0).to(tl.float32)
    tmp2 = tmp0 + tmp1
    tmp3 = tmp2.to(tl.float32)
    tmp5 = tmp4.to(tl.float32)
    tmp6 = tmp3 * tmp5
    tmp7 = tl.broadcast_to(tmp6, [XBLOCK, R0_BLOCK])
    tmp9 = tl.where(xmask, tmp7, 0)
    tmp10 = tl.sum(tmp9, 1)[:, None].to(tl.float32)
    tmp13 = tmp11 + tmp12
    tmp14 = tmp13.to(tl.float32)
    tmp16 = tmp14 - tmp15
    tmp18 = tmp16 * tmp17
    tmp19 = tmp6 * tmp18
    tmp20 = tl.broadcast_to(tmp19, [XBLOCK, R0_BLOCK])
    tmp22 = tl.where(xmask, tmp20, 0)
    tmp23 = tl.sum(tmp22, 1)[:, None].to(tl.float32)
    tmp24 = tl.full([1, 1], 512.0, tl.float32)
    tmp25 = tmp6 * tmp24
    tmp26 = tmp25 - tmp10
    tmp27 = tmp18 * tmp23
    tmp28 = tmp26 - tmp27
    tmp30 = tl.full([1, 1], 0.001953125, tl.float32)
    tmp31 = tmp17 * tmp30
    tmp32 = tmp31 * tmp28
    tmp33 = tmp32.to(tl.float32)
    tmp34 = tmp29 + tmp33
    tl.store(out_ptr3 + (r0_1 + 512*x0), tmp34, xmask)
''', device_str='cuda')


# kernel path: /tmp/block_train-ktojv2xx/cache/tmpzuumk51v/pb/cpbyotn7uakdjmn5guq4pvcb3x3nqmgvdrqgl3qjara7j5775c3z.py
# Topologically Sorted Source Nodes: [permute_26, view_24, permute_27, view_25, permute_28, view_26, cat], Original ATen: [aten.transpose, aten.view, aten.cat]
# Source node to ATen node mapping:
#   cat => cat
#   permute_26 => permute_26
#   permute_27 => permute_27
#   permute_28 => permute_28
#   view_24 => view_24
#   view_25 => view_25
#   view_26 => view_26
# Graph fragment:
#   %getitem_16 : Tensor "bf16[8, 8, 256, 64][131072, 64, 512, 1]cuda:0" = PlaceHolder[target=getitem_16]
#   %getitem_17 : Tensor "bf16[8, 8, 256, 64][131072, 64, 512, 1]cuda:0" = PlaceHolder[target=getitem_17]
#   %getitem_18 : Tensor "bf16[8, 8, 256, 64][131072, 64, 512, 1]cuda:0" = PlaceHolder[target=getitem_18]
#   %permute_26 : Tensor "bf16[8, 256, 8, 64][131072, 512, 64, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%getitem_18, [0, 2, 1, 3]), kwargs = {})
#   %view_24 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%permute_26, [8, 256, 512]), kwargs = {})
#   %permute_27 : Tensor "bf16[8, 256, 8, 64][131072, 512, 64, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%getitem_17, [0, 2, 1, 3]), kwargs = {})
#   %view_25 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%permute_27, [8, 256, 512]), kwargs = {})
#   %permute_28 : Tensor "bf16[8, 256, 8, 64][131072, 512, 64, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%getitem_16, [0, 2, 1, 3]), kwargs = {})
#   %view_26 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%permute_28, [8, 256, 512]), kwargs = {})
#   %cat : Tensor "bf16[8, 256, 1536][393216, 1536, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.cat.default](args = ([%view_26, %view_25, %view_24], 2), kwargs = {})
#   return %cat
triton_poi_fused_cat_transpose_view_2 = async_compile.triton('triton_poi_fused_cat_transpose_view_2', '''
import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
from torch._inductor.runtime.hints import AutotuneHint, ReductionHint, TileHint, DeviceProperties
triton_helpers.set_driver_to_gpu()

@triton_heuristics.pointwise(
    size_hints={'x': 4194304}, 
    filename=__file__,
    triton_meta={'signature': {'in_ptr0': '*bf16', 'in_ptr1': '*bf16', 'in_ptr2': '*bf16', 'out_ptr0': '*bf16', 'xnumel': 'i32', 'XBLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32), 'constants': {}, 'native_matmul': False, 'enable_fp_fusion': True, 'launch_pdl': False, 'disable_ftz': False, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]], (3,): [['tt.divisibility', 16]], (4,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'autotune_hints': set(), 'kernel_name': 'triton_poi_fused_cat_transpose_view_2', 'mutated_arg_names': [], 'optimize_mem': True, 'no_x_dim': False, 'atomic_add_found': False, 'num_load': 3, 'num_store': 1, 'num_reduction': 0, 'backend_hash': '91D1D1166449D9E2EB66EB9770C9E2C3B0FEB787341F27FEB4D3F0338DA50336', 'assert_indirect_indexing': True, 'autotune_local_cache': True, 'autotune_pointwise': True, 'autotune_remote_cache': None, 'force_disable_caches': True, 'dynamic_scale_rblock': True, 'max_autotune': False, 'max_autotune_pointwise': False, 'min_split_scan_rblock': 256, 'spill_threshold': 16, 'store_cubin': False, 'deterministic': False, 'force_filter_reduction_configs': False, 'mix_order_reduction_allow_multi_stages': False, 'are_deterministic_algorithms_enabled': False, 'tiling_scores': {'x': 18874368}},
    min_elem_per_thread=0
)
@triton.jit
def triton_poi_fused_cat_transpose_view_2(in_ptr0, in_ptr1, in_ptr2, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    xnumel = 3145728
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = tl.full([XBLOCK], True, tl.int1)[:]
    x0 = (xindex % 1536)
    x1 = xindex // 1536
    x2 = xindex
    tmp0 = x0
    tmp1 = tl.full([1], 0, tl.int64)
    tmp2 = tmp0 >= tmp1
    tmp3 = tl.full([1], 512, tl.int64)
    tmp4 = tmp0 < tmp3
    tmp5 = tl.load(in_ptr0 + (512*x1 + (x0)), tmp4, eviction_policy='evict_last', other=0.0).to(tl.float32)
    tmp6 = tmp0 >= tmp3
    tmp7 = tl.full([1], 1024, tl.int64)
    tmp8 = tmp0 < tmp7
    tmp9 = tmp6 & tmp8
    tmp10 = tl.load(in_ptr1 + (512*x1 + ((-512) + x0)), tmp9, eviction_policy='evict_last', other=0.0).to(tl.float32)
    tmp11 = tmp0 >= tmp7
    tmp12 = tl.full([1], 1536, tl.int64)
    tmp13 = tmp0 < tmp12
    tmp14 = tl.load(in_ptr2 + (512*x1 + ((-1024) + x0)), tmp11, eviction_policy='evict_last', other=0.0).to(tl.float32)
    tmp15 = tl.where(tmp9, tmp10, tmp14)
    tmp16 = tl.where(tmp4, tmp5, tmp15)
    tl.store(out_ptr0 + (x2), tmp16, None)
''', device_str='cuda')


# kernel path: /tmp/block_train-ktojv2xx/cache/tmpzuumk51v/qc/cqcasz6lwfq3njt2hsrtfjxm56rs5zkkb5ht3nvafvqbdykjtt4h.py
# Topologically Sorted Source Nodes: [view_17, view_19, add_12, clone, linear_1, x, layer_norm_1, mul_31, sum_3, sum_4, view_29, clone_4, layer_norm, mul_38, sum_9, sum_10], Original ATen: [aten.view, aten.add, aten.native_layer_norm_backward, aten.native_layer_norm]
# Source node to ATen node mapping:
#   add_12 => add_12
#   clone => convert_element_type_33
#   clone_4 => convert_element_type_48
#   layer_norm => convert_element_type, mul, sub
#   layer_norm_1 => convert_element_type_8, mul_2, sub_1
#   linear_1 => view_7
#   mul_31 => mul_31
#   mul_38 => mul_38
#   sum_10 => sum_10
#   sum_3 => sum_3
#   sum_4 => sum_4
#   sum_9 => sum_9
#   view_17 => view_17
#   view_19 => view_19
#   view_29 => view_29
#   x => add_2
# Graph fragment:
#   %mm_6 : Tensor "bf16[2048, 512][512, 1]cuda:0" = PlaceHolder[target=mm_6]
#   %mm_8 : Tensor "bf16[2048, 512][512, 1]cuda:0" = PlaceHolder[target=mm_8]
#   %primals_3 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0" = PlaceHolder[target=primals_3]
#   %addmm_1 : Tensor "bf16[2048, 512][512, 1]cuda:0" = PlaceHolder[target=addmm_1]
#   %getitem_15 : Tensor "f32[8, 256, 1][256, 1, 1]cuda:0" = PlaceHolder[target=getitem_15]
#   %rsqrt_1 : Tensor "f32[8, 256, 1][256, 1, 1]cuda:0" = PlaceHolder[target=rsqrt_1]
#   %mm_11 : Tensor "bf16[2048, 512][512, 1]cuda:0" = PlaceHolder[target=mm_11]
#   %getitem_1 : Tensor "f32[8, 256, 1][256, 1, 1]cuda:0" = PlaceHolder[target=getitem_1]
#   %rsqrt : Tensor "f32[8, 256, 1][256, 1, 1]cuda:0" = PlaceHolder[target=rsqrt]
#   %view_17 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%mm_6, [8, 256, 512]), kwargs = {})
#   %view_19 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%mm_8, [8, 256, 512]), kwargs = {})
#   %add_12 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%view_17, %view_19), kwargs = {})
#   %convert_element_type_33 : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%add_12, torch.float32), kwargs = {})
#   %view_7 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%addmm_1, [8, 256, 512]), kwargs = {})
#   %add_2 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%primals_3, %view_7), kwargs = {})
#   %convert_element_type_8 : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%add_2, torch.float32), kwargs = {})
#   %sub_1 : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sub.Tensor](args = (%convert_element_type_8, %getitem_15), kwargs = {})
#   %mul_2 : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.aten.mul.Tensor](args = (%sub_1, %rsqrt_1), kwargs = {})
#   %mul_31 : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type_33, %mul_2), kwargs = {})
#   %sum_3 : Tensor "f32[512][1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%mul_31, [0, 1]), kwargs = {})
#   %sum_4 : Tensor "f32[512][1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%convert_element_type_33, [0, 1]), kwargs = {})
#   %view_29 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%mm_11, [8, 256, 512]), kwargs = {})
#   %convert_element_type_48 : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%view_29, torch.float32), kwargs = {})
#   %convert_element_type : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%primals_3, torch.float32), kwargs = {})
#   %sub : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sub.Tensor](args = (%convert_element_type, %getitem_1), kwargs = {})
#   %mul : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.aten.mul.Tensor](args = (%sub, %rsqrt), kwargs = {})
#   %mul_38 : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type_48, %mul), kwargs = {})
#   %sum_9 : Tensor "f32[512][1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%mul_38, [0, 1]), kwargs = {})
#   %sum_10 : Tensor "f32[512][1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%convert_element_type_48, [0, 1]), kwargs = {})
#   return %buf11,%buf13,%buf33,%buf35
triton_red_fused_add_native_layer_norm_native_layer_norm_backward_view_3 = async_compile.triton('triton_red_fused_add_native_layer_norm_native_layer_norm_backward_view_3', '''
import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
from torch._inductor.runtime.hints import AutotuneHint, ReductionHint, TileHint, DeviceProperties
triton_helpers.set_driver_to_gpu()

@triton_heuristics.reduction(
    size_hints={'x': 8192, 'r0_': 128},
    reduction_hint=ReductionHint.OUTER,
    filename=__file__,
    triton_meta={'signature': {'in_ptr0': '*bf16', 'in_ptr1': '*bf16', 'in_ptr2': '*bf16', 'in_ptr3': '*bf16', 'in_ptr4': '*fp32', 'in_ptr5': '*fp32', 'in_ptr6': '*bf16', 'in_ptr7': '*fp32', 'in_ptr8': '*fp32', 'out_ptr0': '*fp32', 'out_ptr1': '*fp32', 'out_ptr2': '*fp32', 'out_ptr3': '*fp32', 'xnumel': 'i32', 'r0_numel': 'i32', 'XBLOCK': 'constexpr', 'R0_BLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32), 'constants': {}, 'native_matmul': False, 'enable_fp_fusion': True, 'launch_pdl': False, 'disable_ftz': False, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]], (3,): [['tt.divisibility', 16]], (4,): [['tt.divisibility', 16]], (5,): [['tt.divisibility', 16]], (6,): [['tt.divisibility', 16]], (7,): [['tt.divisibility', 16]], (8,): [['tt.divisibility', 16]], (9,): [['tt.divisibility', 16]], (10,): [['tt.divisibility', 16]], (11,): [['tt.divisibility', 16]], (12,): [['tt.divisibility', 16]], (13,): [['tt.divisibility', 16]], (14,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'autotune_hints': set(), 'kernel_name': 'triton_red_fused_add_native_layer_norm_native_layer_norm_backward_view_3', 'mutated_arg_names': [], 'optimize_mem': True, 'no_x_dim': False, 'atomic_add_found': False, 'num_load': 9, 'num_store': 4, 'num_reduction': 4, 'backend_hash': '91D1D1166449D9E2EB66EB9770C9E2C3B0FEB787341F27FEB4D3F0338DA50336', 'assert_indirect_indexing': True, 'autotune_local_cache': True, 'autotune_pointwise': True, 'autotune_remote_cache': None, 'force_disable_caches': True, 'dynamic_scale_rblock': True, 'max_autotune': False, 'max_autotune_pointwise': False, 'min_split_scan_rblock': 256, 'spill_threshold': 16, 'store_cubin': False, 'deterministic': False, 'force_filter_reduction_configs': False, 'mix_order_reduction_allow_multi_stages': False, 'are_deterministic_algorithms_enabled': False, 'tiling_scores': {'x': 10747904, 'r0_': 32768}}
)
@triton.jit
def triton_red_fused_add_native_layer_norm_native_layer_norm_backward_view_3(in_ptr0, in_ptr1, in_ptr2, in_ptr3, in_ptr4, in_ptr5, in_ptr6, in_ptr7, in_ptr8, out_ptr0, out_ptr1, out_ptr2, out_ptr3, xnumel, r0_numel, XBLOCK : tl.constexpr, R0_BLOCK : tl.constexpr):
    xnumel = 8192
    r0_numel = 128
    rnumel = r0_numel
    RBLOCK: tl.constexpr = R0_BLOCK
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    xmask = tl.full([XBLOCK], True, tl.int1)[:, None]
    r0_base = tl.arange(0, R0_BLOCK)[None, :]
    rbase = r0_base
    x0 = (xindex % 512)
    x1 = xindex // 512
    _tmp14 = tl.full([XBLOCK, R0_BLOCK], 0, tl.float32)
    x3 = xindex
    _tmp17 = tl.full([XBLOCK, R0_BLOCK], 0, tl.float32)
    _tmp28 = tl.full([XBLOCK, R0_BLOCK], 0, tl.float32)
    _tmp31 = tl.full([XBLOCK, R0_BLOCK], 0, tl.float32)
    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
        r0_index = r0_offset + r0_base
        r0_mask = r0_index < r0_numel
        roffset = r0_offset
        rindex = r0_index
        r0_2 = r0_index
        tmp0 = tl.load(in_ptr0 + (x0 + 512*r0_2 + 65536*x1), r0_mask, eviction_policy='evict_first', other=0.0).to(tl.float32)
        tmp1 = tl.load(in_ptr1 + (x0 + 512*r0_2 + 65536*x1), r0_mask, eviction_policy='evict_first', other=0.0).to(tl.float32)
        tmp4 = tl.load(in_ptr2 + (x0 + 512*r0_2 + 65536*x1), r0_mask, eviction_policy='evict_first', other=0.0).to(tl.float32)
        tmp5 = tl.load(in_ptr3 + (x0 + 512*r0_2 + 65536*x1), r0_mask, eviction_policy='evict_first', other=0.0).to(tl.float32)
        tmp8 = tl.load(in_ptr4 + (r0_2 + 128*x1), r0_mask, eviction_policy='evict_last', other=0.0)
        tmp10 = tl.load(in_ptr5 + (r0_2 + 128*x1), r0_mask, eviction_policy='evict_last', other=0.0)
        tmp19 = tl.load(in_ptr6 + (x0 + 512*r0_2 + 65536*x1), r0_mask, eviction_policy='evict_first', other=0.0).to(tl.float32)
        tmp22 = tl.load(in_ptr7 + (r0_2 + 128*x1), r0_mask, eviction_policy='evict_last', other=0.0)
        tmp24 = tl.load(in_ptr8 + (r0_2 + 128*x1), r0_mask, eviction_policy='evict_last', other=0.0)
        tmp2 = tmp0 + tmp1
        tmp3 = tmp2.to(tl.float32)
        tmp6 = tmp4 + tmp5
        tmp7 = tmp6.to(tl.float32)
        tmp9 = tmp7 - tmp8
        tmp11 = tmp9 * tmp10
        tmp12 = tmp3 * tmp11
        tmp13 = tl.broadcast_to(tmp12, [XBLOCK, R0_BLOCK])
        tmp15 = _tmp14 + tmp13
        _tmp14 = tl.where(r0_mask, tmp15, _tmp14)
        tmp16 = tl.broadcast_to(tmp3, [XBLOCK, R0_BLOCK])
        tmp18 = _tmp17 + tmp16
        _tmp17 = tl.where(r0_mask, tmp18, _tmp17)
        tmp20 = tmp19.to(tl.float32)
        tmp21 = tmp4.to(tl.float32)
        tmp23 = tmp21 - tmp22
        tmp25 = tmp23 * tmp24
        tmp26 = tmp20 * tmp25
        tmp27 = tl.broadcast_to(tmp26, [XBLOCK, R0_BLOCK])
        tmp29 = _tmp28 + tmp27
        _tmp28 = tl.where(r0_mask, tmp29, _tmp28)
        tmp30 = tl.broadcast_to(tmp20, [XBLOCK, R0_BLOCK])
        tmp32 = _tmp31 + tmp30
        _tmp31 = tl.where(r0_mask, tmp32, _tmp31)
    tmp14 = tl.sum(_tmp14, 1)[:, None]
    tmp17 = tl.sum(_tmp17, 1)[:, None]
    tmp28 = tl.sum(_tmp28, 1)[:, None]
    tmp31 = tl.sum(_tmp31, 1)[:, None]
    tl.store(out_ptr0 + (x3), tmp14, None)
    tl.store(out_ptr1 + (x3), tmp17, None)
    tl.store(out_ptr2 + (x3), tmp28, None)
    tl.store(out_ptr3 + (x3), tmp31, None)
''', device_str='cuda')


# kernel path: /tmp/block_train-ktojv2xx/cache/tmpzuumk51v/x4/cx4eduxubexepcnokir5hmlg6uovnvjgl3qzxvjjcfslctdunrgv.py
# Topologically Sorted Source Nodes: [view_17, view_19, add_12, clone, linear_1, x, layer_norm_1, mul_31, sum_3, convert_element_type_38], Original ATen: [aten.view, aten.add, aten.native_layer_norm_backward, aten.native_layer_norm]
# Source node to ATen node mapping:
#   add_12 => add_12
#   clone => convert_element_type_33
#   convert_element_type_38 => convert_element_type_38
#   layer_norm_1 => convert_element_type_8, mul_2, sub_1
#   linear_1 => view_7
#   mul_31 => mul_31
#   sum_3 => sum_3
#   view_17 => view_17
#   view_19 => view_19
#   x => add_2
# Graph fragment:
#   %buf11 : Tensor "f32[512, 16][1, 512]cuda:0" = PlaceHolder[target=buf11]
#   %sum_3 : Tensor "f32[512][1]cuda:0" = PlaceHolder[target=sum_3]
#   %view_17 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%mm_6, [8, 256, 512]), kwargs = {})
#   %view_19 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%mm_8, [8, 256, 512]), kwargs = {})
#   %add_12 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%view_17, %view_19), kwargs = {})
#   %convert_element_type_33 : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%add_12, torch.float32), kwargs = {})
#   %view_7 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%addmm_1, [8, 256, 512]), kwargs = {})
#   %add_2 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%primals_3, %view_7), kwargs = {})
#   %convert_element_type_8 : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%add_2, torch.float32), kwargs = {})
#   %sub_1 : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sub.Tensor](args = (%convert_element_type_8, %getitem_15), kwargs = {})
#   %mul_2 : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.aten.mul.Tensor](args = (%sub_1, %rsqrt_1), kwargs = {})
#   %mul_31 : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type_33, %mul_2), kwargs = {})
#   %sum_3 : Tensor "f32[512][1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%mul_31, [0, 1]), kwargs = {})
#   %convert_element_type_38 : Tensor "bf16[512][1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%sum_3, torch.bfloat16), kwargs = {})
#   return %sum_3,%convert_element_type_38
triton_per_fused_add_native_layer_norm_native_layer_norm_backward_view_4 = async_compile.triton('triton_per_fused_add_native_layer_norm_native_layer_norm_backward_view_4', '''
import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
from torch._inductor.runtime.hints import AutotuneHint, ReductionHint, TileHint, DeviceProperties
triton_helpers.set_driver_to_gpu()

@triton_heuristics.persistent_reduction(
    size_hints={'x': 512, 'r0_': 16},
    reduction_hint=ReductionHint.OUTER_TINY,
    filename=__file__,
    triton_meta={'signature': {'in_ptr0': '*fp32', 'out_ptr1': '*bf16', 'xnumel': 'i32', 'r0_numel': 'i32', 'XBLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32), 'constants': {}, 'native_matmul': False, 'enable_fp_fusion': True, 'launch_pdl': False, 'disable_ftz': False, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]], (3,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'autotune_hints': set(), 'kernel_name': 'triton_per_fused_add_native_layer_norm_native_layer_norm_backward_view_4', 'mutated_arg_names': [], 'optimize_mem': True, 'no_x_dim': None, 'atomic_add_found': False, 'num_load': 1, 'num_store': 1, 'num_reduction': 1, 'backend_hash': '91D1D1166449D9E2EB66EB9770C9E2C3B0FEB787341F27FEB4D3F0338DA50336', 'assert_indirect_indexing': True, 'autotune_local_cache': True, 'autotune_pointwise': True, 'autotune_remote_cache': None, 'force_disable_caches': True, 'dynamic_scale_rblock': True, 'max_autotune': False, 'max_autotune_pointwise': False, 'min_split_scan_rblock': 256, 'spill_threshold': 16, 'store_cubin': False, 'deterministic': False, 'force_filter_reduction_configs': False, 'mix_order_reduction_allow_multi_stages': False, 'are_deterministic_algorithms_enabled': False, 'tiling_scores': {'x': 34816, 'r0_': 0}}
)
@triton.jit
def triton_per_fused_add_native_layer_norm_native_layer_norm_backward_view_4(in_ptr0, out_ptr1, xnumel, r0_numel, XBLOCK : tl.constexpr):
    xnumel = 512
    r0_numel = 16
    R0_BLOCK: tl.constexpr = 16
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
    tmp0 = tl.load(in_ptr0 + (x0 + 512*r0_1), xmask, other=0.0)
    tmp1 = tl.broadcast_to(tmp0, [XBLOCK, R0_BLOCK])
    tmp3 = tl.where(xmask, tmp1, 0)
    tmp4 = tl.sum(tmp3, 1)[:, None].to(tl.float32)
    tmp5 = tmp4.to(tl.float32)
    tl.store(out_ptr1 + (x0), tmp5, xmask)
''', device_str='cuda')


# kernel path: /tmp/block_train-ktojv2xx/cache/tmpzuumk51v/2s/c2su3nqgaua5mvx5a5l6hyvxuy5wfnsw6tz6j2xj3eu2ajxt6io4.py
# Topologically Sorted Source Nodes: [div, mul_30, convert_element_type_37, add_13, view_20, sum_5], Original ATen: [aten.native_layer_norm_backward, aten.add, aten.view, aten.sum]
# Source node to ATen node mapping:
#   add_13 => add_13
#   convert_element_type_37 => convert_element_type_37
#   div => div
#   mul_30 => mul_30
#   sum_5 => sum_5
#   view_20 => view_20
# Graph fragment:
#   %add_13 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0" = PlaceHolder[target=add_13]
#   %div : Tensor "f32[8, 256, 1][256, 1, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.div.Tensor](args = (%rsqrt_1, 512), kwargs = {})
#   %mul_30 : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%div, %sub_5), kwargs = {})
#   %convert_element_type_37 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%mul_30, torch.bfloat16), kwargs = {})
#   %add_13 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0"[num_users=2] = call_function[target=torch.ops.aten.add.Tensor](args = (%tangents_1, %convert_element_type_37), kwargs = {})
#   %view_20 : Tensor "bf16[2048, 512][512, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.aten.reshape.default](args = (%add_13, [2048, 512]), kwargs = {})
#   %sum_5 : Tensor "bf16[1, 512][512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%view_20, [0], True), kwargs = {})
#   return %buf20
triton_red_fused_add_native_layer_norm_backward_sum_view_5 = async_compile.triton('triton_red_fused_add_native_layer_norm_backward_sum_view_5', '''
import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
from torch._inductor.runtime.hints import AutotuneHint, ReductionHint, TileHint, DeviceProperties
triton_helpers.set_driver_to_gpu()

@triton_heuristics.reduction(
    size_hints={'x': 8192, 'r0_': 128},
    reduction_hint=ReductionHint.OUTER,
    filename=__file__,
    triton_meta={'signature': {'in_ptr0': '*bf16', 'out_ptr0': '*fp32', 'xnumel': 'i32', 'r0_numel': 'i32', 'XBLOCK': 'constexpr', 'R0_BLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32), 'constants': {}, 'native_matmul': False, 'enable_fp_fusion': True, 'launch_pdl': False, 'disable_ftz': False, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]], (3,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'autotune_hints': set(), 'kernel_name': 'triton_red_fused_add_native_layer_norm_backward_sum_view_5', 'mutated_arg_names': [], 'optimize_mem': True, 'no_x_dim': False, 'atomic_add_found': False, 'num_load': 1, 'num_store': 1, 'num_reduction': 1, 'backend_hash': '91D1D1166449D9E2EB66EB9770C9E2C3B0FEB787341F27FEB4D3F0338DA50336', 'assert_indirect_indexing': True, 'autotune_local_cache': True, 'autotune_pointwise': True, 'autotune_remote_cache': None, 'force_disable_caches': True, 'dynamic_scale_rblock': True, 'max_autotune': False, 'max_autotune_pointwise': False, 'min_split_scan_rblock': 256, 'spill_threshold': 16, 'store_cubin': False, 'deterministic': False, 'force_filter_reduction_configs': False, 'mix_order_reduction_allow_multi_stages': False, 'are_deterministic_algorithms_enabled': False, 'tiling_scores': {'x': 2162688, 'r0_': 0}}
)
@triton.jit
def triton_red_fused_add_native_layer_norm_backward_sum_view_5(in_ptr0, out_ptr0, xnumel, r0_numel, XBLOCK : tl.constexpr, R0_BLOCK : tl.constexpr):
    xnumel = 8192
    r0_numel = 128
    rnumel = r0_numel
    RBLOCK: tl.constexpr = R0_BLOCK
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    xmask = tl.full([XBLOCK], True, tl.int1)[:, None]
    r0_base = tl.arange(0, R0_BLOCK)[None, :]
    rbase = r0_base
    x0 = (xindex % 512)
    x1 = xindex // 512
    _tmp2 = tl.full([XBLOCK, R0_BLOCK], 0, tl.float32)
    x3 = xindex
    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
        r0_index = r0_offset + r0_base
        r0_mask = r0_index < r0_numel
        roffset = r0_offset
        rindex = r0_index
        r0_2 = r0_index
        tmp0 = tl.load(in_ptr0 + (x0 + 512*r0_2 + 65536*x1), r0_mask, eviction_policy='evict_first', other=0.0).to(tl.float32)
        tmp1 = tl.broadcast_to(tmp0, [XBLOCK, R0_BLOCK])
        tmp3 = _tmp2 + tmp1
        _tmp2 = tl.where(r0_mask, tmp3, _tmp2)
    tmp2 = tl.sum(_tmp2, 1)[:, None]
    tl.store(out_ptr0 + (x3), tmp2, None)
''', device_str='cuda')


# kernel path: /tmp/block_train-ktojv2xx/cache/tmpzuumk51v/tp/ctp32zrvd7yylfpyj54vlaafywydqiteqb6grdcfauhqsjnpfnxb.py
# Topologically Sorted Source Nodes: [div, mul_30, convert_element_type_37, add_13, view_20, sum_5], Original ATen: [aten.native_layer_norm_backward, aten.add, aten.view, aten.sum]
# Source node to ATen node mapping:
#   add_13 => add_13
#   convert_element_type_37 => convert_element_type_37
#   div => div
#   mul_30 => mul_30
#   sum_5 => sum_5
#   view_20 => view_20
# Graph fragment:
#   %buf20 : Tensor "f32[1, 512, 16][8192, 1, 512]cuda:0" = PlaceHolder[target=buf20]
#   %div : Tensor "f32[8, 256, 1][256, 1, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.div.Tensor](args = (%rsqrt_1, 512), kwargs = {})
#   %mul_30 : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%div, %sub_5), kwargs = {})
#   %convert_element_type_37 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%mul_30, torch.bfloat16), kwargs = {})
#   %add_13 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0"[num_users=2] = call_function[target=torch.ops.aten.add.Tensor](args = (%tangents_1, %convert_element_type_37), kwargs = {})
#   %view_20 : Tensor "bf16[2048, 512][512, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.aten.reshape.default](args = (%add_13, [2048, 512]), kwargs = {})
#   %sum_5 : Tensor "bf16[1, 512][512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%view_20, [0], True), kwargs = {})
#   return %sum_5
triton_per_fused_add_native_layer_norm_backward_sum_view_6 = async_compile.triton('triton_per_fused_add_native_layer_norm_backward_sum_view_6', '''
import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
from torch._inductor.runtime.hints import AutotuneHint, ReductionHint, TileHint, DeviceProperties
triton_helpers.set_driver_to_gpu()

@triton_heuristics.persistent_reduction(
    size_hints={'x': 512, 'r0_': 16},
    reduction_hint=ReductionHint.OUTER_TINY,
    filename=__file__,
    triton_meta={'signature': {'in_ptr0': '*fp32', 'out_ptr0': '*bf16', 'xnumel': 'i32', 'r0_numel': 'i32', 'XBLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32), 'constants': {}, 'native_matmul': False, 'enable_fp_fusion': True, 'launch_pdl': False, 'disable_ftz': False, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]], (3,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'autotune_hints': set(), 'kernel_name': 'triton_per_fused_add_native_layer_norm_backward_sum_view_6', 'mutated_arg_names': [], 'optimize_mem': True, 'no_x_dim': None, 'atomic_add_found': False, 'num_load': 1, 'num_store': 1, 'num_reduction': 1, 'backend_hash': '91D1D1166449D9E2EB66EB9770C9E2C3B0FEB787341F27FEB4D3F0338DA50336', 'assert_indirect_indexing': True, 'autotune_local_cache': True, 'autotune_pointwise': True, 'autotune_remote_cache': None, 'force_disable_caches': True, 'dynamic_scale_rblock': True, 'max_autotune': False, 'max_autotune_pointwise': False, 'min_split_scan_rblock': 256, 'spill_threshold': 16, 'store_cubin': False, 'deterministic': False, 'force_filter_reduction_configs': False, 'mix_order_reduction_allow_multi_stages': False, 'are_deterministic_algorithms_enabled': False, 'tiling_scores': {'x': 34816, 'r0_': 0}}
)
@triton.jit
def triton_per_fused_add_native_layer_norm_backward_sum_view_6(in_ptr0, out_ptr0, xnumel, r0_numel, XBLOCK : tl.constexpr):
    xnumel = 512
    r0_numel = 16
    R0_BLOCK: tl.constexpr = 16
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
    tmp0 = tl.load(in_ptr0 + (x0 + 512*r0_1), xmask, other=0.0)
    tmp1 = tl.broadcast_to(tmp0, [XBLOCK, R0_BLOCK])
    tmp3 = tl.where(xmask, tmp1, 0)
    tmp4 = tl.sum(tmp3, 1)[:, None].to(tl.float32)
    tl.store(out_ptr0 + (x0), tmp4, xmask)
''', device_str='cuda')


# kernel path: /tmp/block_train-ktojv2xx/cache/tmpzuumk51v/wp/cwpy6uatbbclu7jky2bgb7iipoh3g5hiayekuo4or55nmeu4futd.py
# Topologically Sorted Source Nodes: [permute_26, view_24, permute_27, view_25, permute_28, view_26, cat, view_27, sum_6], Original ATen: [aten.transpose, aten.view, aten.cat, aten.sum]
# Source node to ATen node mapping:
#   cat => cat
#   permute_26 => permute_26
#   permute_27 => permute_27
#   permute_28 => permute_28
#   sum_6 => sum_6
#   view_24 => view_24
#   view_25 => view_25
#   view_26 => view_26
#   view_27 => view_27
# Graph fragment:
#   %cat : Tensor "bf16[8, 256, 1536][393216, 1536, 1]cuda:0" = PlaceHolder[target=cat]
#   %permute_26 : Tensor "bf16[8, 256, 8, 64][131072, 512, 64, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%getitem_18, [0, 2, 1, 3]), kwargs = {})
#   %view_24 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%permute_26, [8, 256, 512]), kwargs = {})
#   %permute_27 : Tensor "bf16[8, 256, 8, 64][131072, 512, 64, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%getitem_17, [0, 2, 1, 3]), kwargs = {})
#   %view_25 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%permute_27, [8, 256, 512]), kwargs = {})
#   %permute_28 : Tensor "bf16[8, 256, 8, 64][131072, 512, 64, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%getitem_16, [0, 2, 1, 3]), kwargs = {})
#   %view_26 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%permute_28, [8, 256, 512]), kwargs = {})
#   %cat : Tensor "bf16[8, 256, 1536][393216, 1536, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.cat.default](args = ([%view_26, %view_25, %view_24], 2), kwargs = {})
#   %view_27 : Tensor "bf16[2048, 1536][1536, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.aten.reshape.default](args = (%cat, [2048, 1536]), kwargs = {})
#   %sum_6 : Tensor "bf16[1, 1536][1536, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%view_27, [0], True), kwargs = {})
#   return %buf29
triton_red_fused_cat_sum_transpose_view_7 = async_compile.triton('triton_red_fused_cat_sum_transpose_view_7', '''
import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
from torch._inductor.runtime.hints import AutotuneHint, ReductionHint, TileHint, DeviceProperties
triton_helpers.set_driver_to_gpu()

@triton_heuristics.reduction(
    size_hints={'x': 32768, 'r0_': 128},
    reduction_hint=ReductionHint.OUTER,
    filename=__file__,
    triton_meta={'signature': {'in_ptr0': '*bf16', 'out_ptr0': '*fp32', 'xnumel': 'i32', 'r0_numel': 'i32', 'XBLOCK': 'constexpr', 'R0_BLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32), 'constants': {}, 'native_matmul': False, 'enable_fp_fusion': True, 'launch_pdl': False, 'disable_ftz': False, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]], (3,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'autotune_hints': set(), 'kernel_name': 'triton_red_fused_cat_sum_transpose_view_7', 'mutated_arg_names': [], 'optimize_mem': True, 'no_x_dim': False, 'atomic_add_found': False, 'num_load': 1, 'num_store': 1, 'num_reduction': 1, 'backend_hash': '91D1D1166449D9E2EB66EB9770C9E2C3B0FEB787341F27FEB4D3F0338DA50336', 'assert_indirect_indexing': True, 'autotune_local_cache': True, 'autotune_pointwise': True, 'autotune_remote_cache': None, 'force_disable_caches': True, 'dynamic_scale_rblock': True, 'max_autotune': False, 'max_autotune_pointwise': False, 'min_split_scan_rblock': 256, 'spill_threshold': 16, 'store_cubin': False, 'deterministic': False, 'force_filter_reduction_configs': False, 'mix_order_reduction_allow_multi_stages': False, 'are_deterministic_algorithms_enabled': False, 'tiling_scores': {'x': 6488064, 'r0_': 0}}
)
@triton.jit
def triton_red_fused_cat_sum_transpose_view_7(in_ptr0, out_ptr0, xnumel, r0_numel, XBLOCK : tl.constexpr, R0_BLOCK : tl.constexpr):
    xnumel = 24576
    r0_numel = 128
    rnumel = r0_numel
    RBLOCK: tl.constexpr = R0_BLOCK
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    xmask = tl.full([XBLOCK], True, tl.int1)[:, None]
    r0_base = tl.arange(0, R0_BLOCK)[None, :]
    rbase = r0_base
    x0 = (xindex % 1536)
    x1 = xindex // 1536
    _tmp2 = tl.full([XBLOCK, R0_BLOCK], 0, tl.float32)
    x3 = xindex
    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
        r0_index = r0_offset + r0_base
        r0_mask = r0_index < r0_numel
        roffset = r0_offset
        rindex = r0_index
        r0_2 = r0_index
        tmp0 = tl.load(in_ptr0 + (x0 + 1536*r0_2 + 196608*x1), r0_mask, eviction_policy='evict_first', other=0.0).to(tl.float32)
        tmp1 = tl.broadcast_to(tmp0, [XBLOCK, R0_BLOCK])
        tmp3 = _tmp2 + tmp1
        _tmp2 = tl.where(r0_mask, tmp3, _tmp2)
    tmp2 = tl.sum(_tmp2, 1)[:, None]
    tl.store(out_ptr0 + (x3), tmp2, None)
''', device_str='cuda')


# kernel path: /tmp/block_train-ktojv2xx/cache/tmpzuumk51v/hh/chhsjhybu5rcljibvumedsbp27u2nwaewhlsv3dk4x2wr4uhztxi.py
# Topologically Sorted Source Nodes: [permute_26, view_24, permute_27, view_25, permute_28, view_26, cat, view_27, sum_6], Original ATen: [aten.transpose, aten.view, aten.cat, aten.sum]
# Source node to ATen node mapping:
#   cat => cat
#   permute_26 => permute_26
#   permute_27 => permute_27
#   permute_28 => permute_28
#   sum_6 => sum_6
#   view_24 => view_24
#   view_25 => view_25
#   view_26 => view_26
#   view_27 => view_27
# Graph fragment:
#   %buf29 : Tensor "f32[1, 1536, 16][24576, 1, 1536]cuda:0" = PlaceHolder[target=buf29]
#   %permute_26 : Tensor "bf16[8, 256, 8, 64][131072, 512, 64, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%getitem_18, [0, 2, 1, 3]), kwargs = {})
#   %view_24 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%permute_26, [8, 256, 512]), kwargs = {})
#   %permute_27 : Tensor "bf16[8, 256, 8, 64][131072, 512, 64, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%getitem_17, [0, 2, 1, 3]), kwargs = {})
#   %view_25 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%permute_27, [8, 256, 512]), kwargs = {})
#   %permute_28 : Tensor "bf16[8, 256, 8, 64][131072, 512, 64, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.permute.default](args = (%getitem_16, [0, 2, 1, 3]), kwargs = {})
#   %view_26 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%permute_28, [8, 256, 512]), kwargs = {})
#   %cat : Tensor "bf16[8, 256, 1536][393216, 1536, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.cat.default](args = ([%view_26, %view_25, %view_24], 2), kwargs = {})
#   %view_27 : Tensor "bf16[2048, 1536][1536, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.aten.reshape.default](args = (%cat, [2048, 1536]), kwargs = {})
#   %sum_6 : Tensor "bf16[1, 1536][1536, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%view_27, [0], True), kwargs = {})
#   return %sum_6
triton_per_fused_cat_sum_transpose_view_8 = async_compile.triton('triton_per_fused_cat_sum_transpose_view_8', '''
import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
from torch._inductor.runtime.hints import AutotuneHint, ReductionHint, TileHint, DeviceProperties
triton_helpers.set_driver_to_gpu()

@triton_heuristics.persistent_reduction(
    size_hints={'x': 2048, 'r0_': 16},
    reduction_hint=ReductionHint.OUTER,
    filename=__file__,
    triton_meta={'signature': {'in_ptr0': '*fp32', 'out_ptr0': '*bf16', 'xnumel': 'i32', 'r0_numel': 'i32', 'XBLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32), 'constants': {}, 'native_matmul': False, 'enable_fp_fusion': True, 'launch_pdl': False, 'disable_ftz': False, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]], (3,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'autotune_hints': set(), 'kernel_name': 'triton_per_fused_cat_sum_transpose_view_8', 'mutated_arg_names': [], 'optimize_mem': True, 'no_x_dim': None, 'atomic_add_found': False, 'num_load': 1, 'num_store': 1, 'num_reduction': 1, 'backend_hash': '91D1D1166449D9E2EB66EB9770C9E2C3B0FEB787341F27FEB4D3F0338DA50336', 'assert_indirect_indexing': True, 'autotune_local_cache': True, 'autotune_pointwise': True, 'autotune_remote_cache': None, 'force_disable_caches': True, 'dynamic_scale_rblock': True, 'max_autotune': False, 'max_autotune_pointwise': False, 'min_split_scan_rblock': 256, 'spill_threshold': 16, 'store_cubin': False, 'deterministic': False, 'force_filter_reduction_configs': False, 'mix_order_reduction_allow_multi_stages': False, 'are_deterministic_algorithms_enabled': False, 'tiling_scores': {'x': 104448, 'r0_': 0}}
)
@triton.jit
def triton_per_fused_cat_sum_transpose_view_8(in_ptr0, out_ptr0, xnumel, r0_numel, XBLOCK : tl.constexpr):
    xnumel = 1536
    r0_numel = 16
    R0_BLOCK: tl.constexpr = 16
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
    tmp0 = tl.load(in_ptr0 + (x0 + 1536*r0_1), xmask, other=0.0)
    tmp1 = tl.broadcast_to(tmp0, [XBLOCK, R0_BLOCK])
    tmp3 = tl.where(xmask, tmp1, 0)
    tmp4 = tl.sum(tmp3, 1)[:, None].to(tl.float32)
    tl.store(out_ptr0 + (x0), tmp4, xmask)
''', device_str='cuda')


# kernel path: /tmp/block_train-ktojv2xx/cache/tmpzuumk51v/pj/cpjbuptmxg7djxcmv6exf3puv62yans62qxl3rukmhplksupxsvj.py
# Topologically Sorted Source Nodes: [view_29, clone_4, clone_6, mul_33, mul_34, sum_7, layer_norm, mul_35, sum_8, mul_36, sub_7, sub_8, div_1, mul_37, convert_element_type_52, add_14], Original ATen: [aten.view, aten.native_layer_norm_backward, aten.native_layer_norm, aten.add]
# Source node to ATen node mapping:
#   add_14 => add_14
#   clone_4 => convert_element_type_48
#   clone_6 => convert_element_type_50
#   convert_element_type_52 => convert_element_type_52
#   div_1 => div_1
#   layer_norm => convert_element_type, mul, sub
#   mul_33 => mul_33
#   mul_34 => mul_34
#   mul_35 => mul_35
#   mul_36 => mul_36
#   mul_37 => mul_37
#   sub_7 => sub_7
#   sub_8 => sub_8
#   sum_7 => sum_7
#   sum_8 => sum_8
#   view_29 => view_29
# Graph fragment:
#   %mm_11 : Tensor "bf16[2048, 512][512, 1]cuda:0" = PlaceHolder[target=mm_11]
#   %primals_1 : Tensor "bf16[512][1]cuda:0" = PlaceHolder[target=primals_1]
#   %primals_3 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0" = PlaceHolder[target=primals_3]
#   %getitem_1 : Tensor "f32[8, 256, 1][256, 1, 1]cuda:0" = PlaceHolder[target=getitem_1]
#   %rsqrt : Tensor "f32[8, 256, 1][256, 1, 1]cuda:0" = PlaceHolder[target=rsqrt]
#   %add_13 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0" = PlaceHolder[target=add_13]
#   %sum_7 : Tensor "f32[8, 256, 1][256, 1, 2048]cuda:0" = PlaceHolder[target=sum_7]
#   %sum_8 : Tensor "f32[8, 256, 1][256, 1, 2048]cuda:0" = PlaceHolder[target=sum_8]
#   %view_29 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%mm_11, [8, 256, 512]), kwargs = {})
#   %convert_element_type_48 : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%view_29, torch.float32), kwargs = {})
#   %convert_element_type_50 : Tensor "f32[512][1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%primals_1, torch.float32), kwargs = {})
#   %mul_33 : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.aten.mul.Tensor](args = (%convert_element_type_48, %convert_element_type_50), kwargs = {})
#   %mul_34 : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%mul_33, 512), kwargs = {})
#   %sum_7 : Tensor "f32[8, 256, 1][256, 1, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%mul_33, [2], True), kwargs = {})
#   %convert_element_type : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%primals_3, torch.float32), kwargs = {})
#   %sub : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sub.Tensor](args = (%convert_element_type, %getitem_1), kwargs = {})
#   %mul : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=3] = call_function[target=torch.ops.aten.mul.Tensor](args = (%sub, %rsqrt), kwargs = {})
#   %mul_35 : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%mul_33, %mul), kwargs = {})
#   %sum_8 : Tensor "f32[8, 256, 1][256, 1, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sum.dim_IntList](args = (%mul_35, [2], True), kwargs = {})
#   %mul_36 : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%mul, %sum_8), kwargs = {})
#   %sub_7 : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sub.Tensor](args = (%mul_34, %sum_7), kwargs = {})
#   %sub_8 : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.sub.Tensor](args = (%sub_7, %mul_36), kwargs = {})
#   %div_1 : Tensor "f32[8, 256, 1][256, 1, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.div.Tensor](args = (%rsqrt, 512), kwargs = {})
#   %mul_37 : Tensor "f32[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%div_1, %sub_8), kwargs = {})
#   %convert_element_type_52 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.prims.convert_element_type.default](args = (%mul_37, torch.bfloat16), kwargs = {})
#   %add_14 : Tensor "bf16[8, 256, 512][131072, 512, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%add_13, %convert_element_type_52), kwargs = {})
#   return %sum_7,%sum_8,%add_14
triton_per_fused_add_native_layer_norm_native_layer_norm_backward_view_9 = async_compile.triton('triton_per_fused_add_native_layer_norm_native_layer_norm_backward_view_9', '''
import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
from torch._inductor.runtime.hints import AutotuneHint, ReductionHint, TileHint, DeviceProperties
triton_helpers.set_driver_to_gpu()

@triton_heuristics.persistent_reduction(
    size_hints={'x': 2048, 'r0_': 512},
    reduction_hint=ReductionHint.INNER,
    filename=__file__,
    triton_meta={'signature': {'in_out_ptr0': '*bf16', 'in_ptr0': '*bf16', 'in_ptr1': '*bf16', 'in_ptr2': '*bf16', 'in_ptr3': '*fp32', 'in_ptr4': '*fp32', 'xnumel': 'i32', 'r0_numel': 'i32', 'XBLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024, warp_size=32), 'constants': {}, 'native_matmul': False, 'enable_fp_fusion': True, 'launch_pdl': False, 'disable_ftz': False, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]], (3,): [['tt.divisibility', 16]], (4,): [['tt.divisibility', 16]], (5,): [['tt.divisibility', 16]], (6,): [['tt.divisibility', 16]], (7,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'autotune_hints': set(), 'kernel_name': 'triton_per_fused_add_native_layer_norm_native_layer_norm_backward_view_9', 'mutated_arg_names': ['in_out_ptr0'], 'optimize_mem': True, 'no_x_dim': None, 'atomic_add_found': False, 'num_load': 6, 'num_store': 1, 'num_reduction': 2, 'backend_hash': '91D1D1166449D9E2EB66EB9770C9E2C3B0FEB787341F27FEB4D3F0338DA50336', 'assert_indirect_indexing': True, 'autotune_local_cache': True, 'autotune_pointwise': True, 'autotune_remote_cache': None, 'force_disable_caches': True, 'dynamic_scale_rblock': True, 'max_autotune': False, 'max_autotune_pointwise': False, 'min_split_scan_rblock': 256, 'spill_threshold': 16, 'store_cubin': False, 'deterministic': False, 'force_filter_reduction_configs': False, 'mix_order_reduction_allow_multi_stages': False, 'are_deterministic_algorithms_enabled': False, 'tiling_scores': {'x': 16384, 'r0_': 10486784}}
)
@triton.jit
def triton_per_fused_add_native_layer_norm_native_layer_norm_backward_view_9(in_out_ptr0, in_ptr0, in_ptr1, in_ptr2, in_ptr3, in_ptr4, xnumel, r0_numel, XBLOCK : tl.constexpr):
    xnumel = 2048
    r0_numel = 512
    R0_BLOCK: tl.constexpr = 512
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
    tmp0 = tl.load(in_ptr0 + (r0_1 + 512*x0), xmask, other=0.0).to(tl.float32)
    tmp2 = tl.load(in_ptr1 + (r0_1), None, eviction_policy='evict_last').to(tl.float32)
    tmp9 = tl.load(in_ptr2 + (r0_1 + 512*x0), xmask, other=0.0).to(tl.float32)
    tmp11 = tl.load(in_ptr3 + (x0), xmask, eviction_policy='evict_last')
    tmp13 = tl.load(in_ptr4 + (x0), xmask, eviction_policy='evict_last')
    tmp20 = tl.load(in_out_ptr0 + (r0_1 + 512*x0), xmask, other=0.0).to(tl.float32)
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
    tmp21 = tl.full([1, 1], 0.001953125, tl.float32)
    tmp22 = tmp13 * tmp21
    tmp23 = tl.full([1, 1], 512.0, tl.float32)
    tmp24 = tmp4 * tmp23
    tmp25 = tmp24 - tmp8
    tmp26 = tmp14 * tmp19
    tmp27 = tmp25 - tmp26
    tmp28 = tmp22 * tmp27
    tmp29 = tmp28.to(tl.float32)
    tmp30 = tmp20 + tmp29
    tl.store(in_out_ptr0 + (r0_1 + 512*x0), tmp30, xmask)
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
        primals_1, primals_3, primals_4, primals_6, primals_8, primals_10, primals_11, primals_12, getitem_1, rsqrt, view, permute_1, permute_2, permute_3, getitem_5, getitem_6, getitem_11, getitem_12, addmm_1, getitem_15, rsqrt_1, view_8, mm, mm_1, view_12, tangents_1 = args
        args.clear()
        assert_size_stride(primals_1, (512, ), (1, ))
        assert_size_stride(primals_3, (8, 256, 512), (131072, 512, 1))
        assert_size_stride(primals_4, (1536, 512), (512, 1))
        assert_size_stride(primals_6, (512, 512), (512, 1))
        assert_size_stride(primals_8, (512, ), (1, ))
        assert_size_stride(primals_10, (2048, 512), (512, 1))
        assert_size_stride(primals_11, (2048, 512), (512, 1))
        assert_size_stride(primals_12, (512, 2048), (2048, 1))
        assert_size_stride(getitem_1, (8, 256, 1), (256, 1, 1))
        assert_size_stride(rsqrt, (8, 256, 1), (256, 1, 1))
        assert_size_stride(view, (2048, 512), (512, 1))
        assert_size_stride(permute_1, (8, 8, 256, 64), (393216, 64, 1536, 1))
        assert_size_stride(permute_2, (8, 8, 256, 64), (393216, 64, 1536, 1))
        assert_size_stride(permute_3, (8, 8, 256, 64), (393216, 64, 1536, 1))
        assert_size_stride(getitem_5, (8, 8, 256, 64), (131072, 64, 512, 1))
        assert_size_stride(getitem_6, (8, 8, 256, 1), (2048, 256, 1, 1))
        assert_size_stride(getitem_11, (), ())
        assert_size_stride(getitem_12, (), ())
        assert_size_stride(addmm_1, (2048, 512), (512, 1))
        assert_size_stride(getitem_15, (8, 256, 1), (256, 1, 1))
        assert_size_stride(rsqrt_1, (8, 256, 1), (256, 1, 1))
        assert_size_stride(view_8, (2048, 512), (512, 1))
        assert_size_stride(mm, (2048, 2048), (2048, 1))
        assert_size_stride(mm_1, (2048, 2048), (2048, 1))
        assert_size_stride(view_12, (2048, 2048), (2048, 1))
        assert_size_stride(tangents_1, (8, 256, 512), (131072, 512, 1))
        with torch.cuda._DeviceGuard(0):
            torch.cuda.set_device(0)
            buf0 = empty_strided_cuda((512, 2048), (2048, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [view_14, permute_9, permute_12], Original ATen: [aten.view, aten.t, aten.mm]
            # [Provenance debug handles] extern_kernels.mm:1
            extern_kernels.mm(reinterpret_tensor(tangents_1, (512, 2048), (1, 512), 0), view_12, out=buf0)
            del view_12
            buf1 = empty_strided_cuda((2048, 2048), (2048, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [view_14, linear_4, permute_11, mm_4], Original ATen: [aten.view, aten.t, aten.mm]
            # [Provenance debug handles] extern_kernels.mm:2
            extern_kernels.mm(reinterpret_tensor(tangents_1, (2048, 512), (512, 1), 0), primals_12, out=buf1)
            del primals_12
            buf2 = empty_strided_cuda((8, 256, 2048), (524288, 2048, 1), torch.bfloat16)
            buf5 = reinterpret_tensor(mm_1, (8, 256, 2048), (524288, 2048, 1), 0); del mm_1  # reuse
            # Topologically Sorted Source Nodes: [view_15, linear_2, gelu, mul_11, linear_3, mul_12, convert_element_type_26, mul_18, mul_19, sub_2, mul_20, add_10, mul_21, mul_22, mul_23, add_11, mul_24, convert_element_type_28], Original ATen: [aten.view, aten._unsafe_view, aten.gelu, aten.mul, aten.gelu_backward]
            # [Provenance debug handles] triton_poi_fused__unsafe_view_gelu_gelu_backward_mul_view_0:3
            stream0 = get_raw_stream(0)
            triton_poi_fused__unsafe_view_gelu_gelu_backward_mul_view_0.run(buf5, buf1, mm, buf2, 4194304, stream=stream0)
            del buf1
            del mm
            buf3 = empty_strided_cuda((2048, 512), (512, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [view_15, linear_2, gelu, mul_11, view_16, permute_13, permute_16], Original ATen: [aten.view, aten._unsafe_view, aten.gelu, aten.mul, aten.t, aten.mm]
            # [Provenance debug handles] extern_kernels.mm:4
            extern_kernels.mm(reinterpret_tensor(buf2, (2048, 2048), (1, 2048), 0), view_8, out=buf3)
            buf4 = empty_strided_cuda((2048, 512), (512, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [view_15, linear_2, gelu, mul_11, view_16, linear_3, permute_15, mm_6], Original ATen: [aten.view, aten._unsafe_view, aten.gelu, aten.mul, aten.t, aten.mm]
            # [Provenance debug handles] extern_kernels.mm:5
            extern_kernels.mm(reinterpret_tensor(buf2, (2048, 2048), (2048, 1), 0), primals_11, out=buf4)
            del buf2
            del primals_11
            buf6 = empty_strided_cuda((2048, 512), (512, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [view_15, linear_2, gelu, linear_3, mul_12, convert_element_type_26, mul_18, mul_19, sub_2, mul_20, add_10, mul_21, mul_22, mul_23, add_11, mul_24, convert_element_type_28, view_18, permute_17, permute_20], Original ATen: [aten.view, aten._unsafe_view, aten.gelu, aten.mul, aten.gelu_backward, aten.t, aten.mm]
            # [Provenance debug handles] extern_kernels.mm:6
            extern_kernels.mm(reinterpret_tensor(buf5, (2048, 2048), (1, 2048), 0), view_8, out=buf6)
            del view_8
            buf7 = empty_strided_cuda((2048, 512), (512, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [view_15, linear_2, gelu, linear_3, mul_12, convert_element_type_26, mul_18, mul_19, sub_2, mul_20, add_10, mul_21, mul_22, mul_23, add_11, mul_24, convert_element_type_28, view_18, permute_19, mm_8], Original ATen: [aten.view, aten._unsafe_view, aten.gelu, aten.mul, aten.gelu_backward, aten.t, aten.mm]
            # [Provenance debug handles] extern_kernels.mm:7
            extern_kernels.mm(reinterpret_tensor(buf5, (2048, 2048), (2048, 1), 0), primals_10, out=buf7)
            del buf5
            del primals_10
            buf17 = empty_strided_cuda((8, 256, 512), (131072, 512, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [view_17, view_19, add_12, clone, clone_2, mul_26, mul_27, sum_1, linear_1, x, layer_norm_1, mul_28, sum_2, mul_29, sub_4, sub_5, div, mul_30, convert_element_type_37, add_13], Original ATen: [aten.view, aten.add, aten.native_layer_norm_backward, aten.native_layer_norm]
            # [Provenance debug handles] triton_per_fused_add_native_layer_norm_native_layer_norm_backward_view_1:8
            stream0 = get_raw_stream(0)
            triton_per_fused_add_native_layer_norm_native_layer_norm_backward_view_1.run(buf4, buf7, primals_8, primals_3, addmm_1, getitem_15, rsqrt_1, tangents_1, buf17, 2048, 512, stream=stream0)
            del primals_8
            del tangents_1
            buf18 = empty_strided_cuda((2048, 512), (512, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [div, mul_30, convert_element_type_37, add_13, view_20, linear_1, permute_21, mm_9], Original ATen: [aten.native_layer_norm_backward, aten.add, aten.view, aten.t, aten.mm]
            # [Provenance debug handles] extern_kernels.mm:9
            extern_kernels.mm(reinterpret_tensor(buf17, (2048, 512), (512, 1), 0), primals_6, out=buf18)
            del primals_6
            # Topologically Sorted Source Nodes: [view_22, view_23, permute_25, _scaled_dot_product_cudnn_attention_backward], Original ATen: [aten.view, aten.transpose, aten._scaled_dot_product_cudnn_attention_backward]
            # [Provenance debug handles] torch.ops.aten._scaled_dot_product_cudnn_attention_backward.default:10
            buf22 = torch.ops.aten._scaled_dot_product_cudnn_attention_backward.default(reinterpret_tensor(buf18, (8, 8, 256, 64), (131072, 64, 512, 1), 0), permute_1, permute_2, permute_3, getitem_5, getitem_6, getitem_11, getitem_12, None, None, None, 256, 256, 0.0, True)
            del buf18
            del getitem_11
            del getitem_12
            del getitem_6
            del permute_1
            del permute_2
            del permute_3
            buf23 = buf22[0]
            assert_size_stride(buf23, (8, 8, 256, 64), (131072, 64, 512, 1), 'torch.ops.aten._scaled_dot_product_cudnn_attention_backward.default')
            assert_alignment(buf23, 16, 'torch.ops.aten._scaled_dot_product_cudnn_attention_backward.default')
            buf24 = buf22[1]
            assert_size_stride(buf24, (8, 8, 256, 64), (131072, 64, 512, 1), 'torch.ops.aten._scaled_dot_product_cudnn_attention_backward.default')
            assert_alignment(buf24, 16, 'torch.ops.aten._scaled_dot_product_cudnn_attention_backward.default')
            buf25 = buf22[2]
            assert_size_stride(buf25, (8, 8, 256, 64), (131072, 64, 512, 1), 'torch.ops.aten._scaled_dot_product_cudnn_attention_backward.default')
            assert_alignment(buf25, 16, 'torch.ops.aten._scaled_dot_product_cudnn_attention_backward.default')
            del buf22
            buf26 = empty_strided_cuda((8, 256, 1536), (393216, 1536, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [permute_26, view_24, permute_27, view_25, permute_28, view_26, cat], Original ATen: [aten.transpose, aten.view, aten.cat]
            # [Provenance debug handles] triton_poi_fused_cat_transpose_view_2:11
            stream0 = get_raw_stream(0)
            triton_poi_fused_cat_transpose_view_2.run(buf23, buf24, buf25, buf26, 3145728, stream=stream0)
            del buf23
            del buf24
            buf27 = reinterpret_tensor(buf25, (2048, 512), (512, 1), 0); del buf25  # reuse
            # Topologically Sorted Source Nodes: [permute_26, view_24, permute_27, view_25, permute_28, view_26, cat, view_27, linear, permute_29, mm_11], Original ATen: [aten.transpose, aten.view, aten.cat, aten.t, aten.mm]
            # [Provenance debug handles] extern_kernels.mm:12
            extern_kernels.mm(reinterpret_tensor(buf26, (2048, 1536), (1536, 1), 0), primals_4, out=buf27)
            del primals_4
            buf11 = empty_strided_cuda((512, 16), (1, 512), torch.float32)
            buf13 = empty_strided_cuda((512, 16), (1, 512), torch.float32)
            buf33 = empty_strided_cuda((512, 16), (1, 512), torch.float32)
            buf35 = empty_strided_cuda((512, 16), (1, 512), torch.float32)
            # Topologically Sorted Source Nodes: [view_17, view_19, add_12, clone, linear_1, x, layer_norm_1, mul_31, sum_3, sum_4, view_29, clone_4, layer_norm, mul_38, sum_9, sum_10], Original ATen: [aten.view, aten.add, aten.native_layer_norm_backward, aten.native_layer_norm]
            # [Provenance debug handles] triton_red_fused_add_native_layer_norm_native_layer_norm_backward_view_3:13
            stream0 = get_raw_stream(0)
            triton_red_fused_add_native_layer_norm_native_layer_norm_backward_view_3.run(buf4, buf7, primals_3, addmm_1, getitem_15, rsqrt_1, buf27, getitem_1, rsqrt, buf11, buf13, buf33, buf35, 8192, 128, stream=stream0)
            del addmm_1
            del buf4
            del buf7
            del getitem_15
            del rsqrt_1
            buf15 = empty_strided_cuda((512, ), (1, ), torch.bfloat16)
            # Topologically Sorted Source Nodes: [view_17, view_19, add_12, clone, linear_1, x, layer_norm_1, mul_31, sum_3, convert_element_type_38], Original ATen: [aten.view, aten.add, aten.native_layer_norm_backward, aten.native_layer_norm]
            # [Provenance debug handles] triton_per_fused_add_native_layer_norm_native_layer_norm_backward_view_4:14
            stream0 = get_raw_stream(0)
            triton_per_fused_add_native_layer_norm_native_layer_norm_backward_view_4.run(buf11, buf15, 512, 16, stream=stream0)
            del buf11
            buf16 = empty_strided_cuda((512, ), (1, ), torch.bfloat16)
            # Topologically Sorted Source Nodes: [view_17, view_19, add_12, clone, sum_4, convert_element_type_39], Original ATen: [aten.view, aten.add, aten.native_layer_norm_backward]
            # [Provenance debug handles] triton_per_fused_add_native_layer_norm_native_layer_norm_backward_view_4:15
            stream0 = get_raw_stream(0)
            triton_per_fused_add_native_layer_norm_native_layer_norm_backward_view_4.run(buf13, buf16, 512, 16, stream=stream0)
            buf19 = empty_strided_cuda((512, 512), (512, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [div, mul_30, convert_element_type_37, add_13, view_20, permute_22, transpose_3, reshape, linear_1, permute_24], Original ATen: [aten.native_layer_norm_backward, aten.add, aten.view, aten.t, aten.transpose, aten.mm]
            # [Provenance debug handles] extern_kernels.mm:16
            extern_kernels.mm(reinterpret_tensor(buf17, (512, 2048), (1, 512), 0), reinterpret_tensor(getitem_5, (2048, 512), (512, 1), 0), out=buf19)
            del getitem_5
            buf20 = reinterpret_tensor(buf13, (1, 512, 16), (8192, 1, 512), 0); del buf13  # reuse
            # Topologically Sorted Source Nodes: [div, mul_30, convert_element_type_37, add_13, view_20, sum_5], Original ATen: [aten.native_layer_norm_backward, aten.add, aten.view, aten.sum]
            # [Provenance debug handles] triton_red_fused_add_native_layer_norm_backward_sum_view_5:17
            stream0 = get_raw_stream(0)
            triton_red_fused_add_native_layer_norm_backward_sum_view_5.run(buf17, buf20, 8192, 128, stream=stream0)
            buf21 = empty_strided_cuda((1, 512), (512, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [div, mul_30, convert_element_type_37, add_13, view_20, sum_5], Original ATen: [aten.native_layer_norm_backward, aten.add, aten.view, aten.sum]
            # [Provenance debug handles] triton_per_fused_add_native_layer_norm_backward_sum_view_6:18
            stream0 = get_raw_stream(0)
            triton_per_fused_add_native_layer_norm_backward_sum_view_6.run(buf20, buf21, 512, 16, stream=stream0)
            del buf20
            buf28 = empty_strided_cuda((1536, 512), (512, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [permute_26, view_24, permute_27, view_25, permute_28, view_26, cat, view_27, permute_30, permute_32], Original ATen: [aten.transpose, aten.view, aten.cat, aten.t, aten.mm]
            # [Provenance debug handles] extern_kernels.mm:19
            extern_kernels.mm(reinterpret_tensor(buf26, (1536, 2048), (1, 1536), 0), view, out=buf28)
            del view
            buf29 = empty_strided_cuda((1, 1536, 16), (24576, 1, 1536), torch.float32)
            # Topologically Sorted Source Nodes: [permute_26, view_24, permute_27, view_25, permute_28, view_26, cat, view_27, sum_6], Original ATen: [aten.transpose, aten.view, aten.cat, aten.sum]
            # [Provenance debug handles] triton_red_fused_cat_sum_transpose_view_7:20
            stream0 = get_raw_stream(0)
            triton_red_fused_cat_sum_transpose_view_7.run(buf26, buf29, 24576, 128, stream=stream0)
            del buf26
            buf30 = empty_strided_cuda((1, 1536), (1536, 1), torch.bfloat16)
            # Topologically Sorted Source Nodes: [permute_26, view_24, permute_27, view_25, permute_28, view_26, cat, view_27, sum_6], Original ATen: [aten.transpose, aten.view, aten.cat, aten.sum]
            # [Provenance debug handles] triton_per_fused_cat_sum_transpose_view_8:21
            stream0 = get_raw_stream(0)
            triton_per_fused_cat_sum_transpose_view_8.run(buf29, buf30, 1536, 16, stream=stream0)
            del buf29
            buf39 = buf17; del buf17  # reuse
            # Topologically Sorted Source Nodes: [view_29, clone_4, clone_6, mul_33, mul_34, sum_7, layer_norm, mul_35, sum_8, mul_36, sub_7, sub_8, div_1, mul_37, convert_element_type_52, add_14], Original ATen: [aten.view, aten.native_layer_norm_backward, aten.native_layer_norm, aten.add]
            # [Provenance debug handles] triton_per_fused_add_native_layer_norm_native_layer_norm_backward_view_9:22
            stream0 = get_raw_stream(0)
            triton_per_fused_add_native_layer_norm_native_layer_norm_backward_view_9.run(buf39, buf27, primals_1, primals_3, getitem_1, rsqrt, 2048, 512, stream=stream0)
            del buf27
            del getitem_1
            del primals_1
            del primals_3
            del rsqrt
            buf37 = empty_strided_cuda((512, ), (1, ), torch.bfloat16)
            # Topologically Sorted Source Nodes: [view_29, clone_4, layer_norm, mul_38, sum_9, convert_element_type_53], Original ATen: [aten.view, aten.native_layer_norm_backward, aten.native_layer_norm]
            # [Provenance debug handles] triton_per_fused_add_native_layer_norm_native_layer_norm_backward_view_4:23
            stream0 = get_raw_stream(0)
            triton_per_fused_add_native_layer_norm_native_layer_norm_backward_view_4.run(buf33, buf37, 512, 16, stream=stream0)
            del buf33
            buf38 = empty_strided_cuda((512, ), (1, ), torch.bfloat16)
            # Topologically Sorted Source Nodes: [view_29, clone_4, sum_10, convert_element_type_54], Original ATen: [aten.view, aten.native_layer_norm_backward]
            # [Provenance debug handles] triton_per_fused_add_native_layer_norm_native_layer_norm_backward_view_4:24
            stream0 = get_raw_stream(0)
            triton_per_fused_add_native_layer_norm_native_layer_norm_backward_view_4.run(buf35, buf38, 512, 16, stream=stream0)
            del buf35
        return (buf37, buf38, buf39, buf28, reinterpret_tensor(buf30, (1536, ), (1, ), 0), buf19, reinterpret_tensor(buf21, (512, ), (1, ), 0), buf15, buf16, buf6, buf3, buf0, )

runner = Runner(partitions=[])
call = runner.call
recursively_apply_fns = runner.recursively_apply_fns


def get_args():
    from torch._dynamo.testing import rand_strided
    primals_1 = rand_strided((512, ), (1, ), device='cuda:0', dtype=torch.bfloat16)
    primals_3 = rand_strided((8, 256, 512), (131072, 512, 1), device='cuda:0', dtype=torch.bfloat16)
    primals_4 = rand_strided((1536, 512), (512, 1), device='cuda:0', dtype=torch.bfloat16)
    primals_6 = rand_strided((512, 512), (512, 1), device='cuda:0', dtype=torch.bfloat16)
    primals_8 = rand_strided((512, ), (1, ), device='cuda:0', dtype=torch.bfloat16)
    primals_10 = rand_strided((2048, 512), (512, 1), device='cuda:0', dtype=torch.bfloat16)
    primals_11 = rand_strided((2048, 512), (512, 1), device='cuda:0', dtype=torch.bfloat16)
    primals_12 = rand_strided((512, 2048), (2048, 1), device='cuda:0', dtype=torch.bfloat16)
    getitem_1 = rand_strided((8, 256, 1), (256, 1, 1), device='cuda:0', dtype=torch.float32)
    rsqrt = rand_strided((8, 256, 1), (256, 1, 1), device='cuda:0', dtype=torch.float32)
    view = rand_strided((2048, 512), (512, 1), device='cuda:0', dtype=torch.bfloat16)
    permute_1 = rand_strided((8, 8, 256, 64), (393216, 64, 1536, 1), device='cuda:0', dtype=torch.bfloat16)
    permute_2 = rand_strided((8, 8, 256, 64), (393216, 64, 1536, 1), device='cuda:0', dtype=torch.bfloat16)
    permute_3 = rand_strided((8, 8, 256, 64), (393216, 64, 1536, 1), device='cuda:0', dtype=torch.bfloat16)
    getitem_5 = rand_strided((8, 8, 256, 64), (131072, 64, 512, 1), device='cuda:0', dtype=torch.bfloat16)
    getitem_6 = rand_strided((8, 8, 256, 1), (2048, 256, 1, 1), device='cuda:0', dtype=torch.float32)
    getitem_11 = rand_strided((), (), device='cuda:0', dtype=torch.int64)
    getitem_12 = rand_strided((), (), device='cuda:0', dtype=torch.int64)
    addmm_1 = rand_strided((2048, 512), (512, 1), device='cuda:0', dtype=torch.bfloat16)
    getitem_15 = rand_strided((8, 256, 1), (256, 1, 1), device='cuda:0', dtype=torch.float32)
    rsqrt_1 = rand_strided((8, 256, 1), (256, 1, 1), device='cuda:0', dtype=torch.float32)
    view_8 = rand_strided((2048, 512), (512, 1), device='cuda:0', dtype=torch.bfloat16)
    mm = rand_strided((2048, 2048), (2048, 1), device='cuda:0', dtype=torch.bfloat16)
    mm_1 = rand_strided((2048, 2048), (2048, 1), device='cuda:0', dtype=torch.bfloat16)
    view_12 = rand_strided((2048, 2048), (2048, 1), device='cuda:0', dtype=torch.bfloat16)
    tangents_1 = rand_strided((8, 256, 512), (131072, 512, 1), device='cuda:0', dtype=torch.bfloat16)
    return [primals_1, primals_3, primals_4, primals_6, primals_8, primals_10, primals_11, primals_12, getitem_1, rsqrt, view, permute_1, permute_2, permute_3, getitem_5, getitem_6, getitem_11, getitem_12, addmm_1, getitem_15, rsqrt_1, view_8, mm, mm_1, view_12, tangents_1]


def benchmark_compiled_module(args, times=10, repeat=10):
    from torch._inductor.utils import print_performance
    fn = lambda: call(list(args))
    return print_performance(fn, times=times, repeat=repeat)


if __name__ == "__main__":
    from torch._inductor.wrapper_benchmark import compiled_module_main
    args = get_args()
    compiled_module_main('None', lambda times, repeat: benchmark_compiled_module(args, times=times, repeat=repeat))
