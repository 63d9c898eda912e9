
import os
os.environ['TORCH_CUDA_ARCH_LIST'] = '9.0a'
os.environ['TORCHINDUCTOR_CACHE_DIR'] = '/tmp/block_train-ktojv2xx/cache/tmpzuumk51v'
os.environ['TRITON_CACHE_DIR'] = '/tmp/block_train-ktojv2xx/cache/tmpzuumk51v/triton'
os.environ['TORCHINDUCTOR_FORCE_DISABLE_CACHES'] = '1'
os.environ['TORCHINDUCTOR_COMPILE_THREADS'] = '1'
os.environ['TORCH_TRACE'] = '/tmp/block_train-ktojv2xx/trace'
os.environ['TORCH_COMPILE_DEBUG'] = '1'
os.environ['TORCH_COMPILE_DEBUG_DIR'] = '/tmp/block_train-ktojv2xx/debug'

import torch
from torch import tensor, device
import torch.fx as fx
from torch._dynamo.testing import rand_strided
from math import inf
import torch._inductor.inductor_prims



import torch._dynamo.config
import torch._inductor.config
import torch._functorch.config
import torch.fx.experimental._config

torch._inductor.config.deterministic = False
torch._inductor.config.triton.store_cubin = False
torch._inductor.config.trace.enabled = False
torch._inductor.config.trace.save_real_tensors = False
torch._inductor.config.test_configs.runtime_triton_dtype_assert = False
torch._functorch.config.functionalize_rng_ops = False
torch._functorch.config.debug_partitioner = False
torch._functorch.config.fake_tensor_allow_unsafe_data_ptr_access = True
torch._functorch.config.unlift_effect_tokens = False
torch._functorch.config.selective_decompose = False



isolate_fails_code_str = None





if "__compile_source__" in globals():
    import inspect as __after_aot_inspect
    import linecache as __after_aot_linecache
    __after_aot_filename = __after_aot_inspect.currentframe().f_code.co_filename
    __after_aot_linecache.cache[__after_aot_filename] = (
        len(__compile_source__),
        None,
        __compile_source__.splitlines(True),
        __after_aot_filename,
    )
# torch version: 2.11.0+cu130
# torch cuda version: 13.0
# torch git version: 70d99e998b4955e0049d13a98d77ae1b14db1f45


# CUDA Info: 
# nvcc: NVIDIA (R) Cuda compiler driver 
# Copyright (c) 2005-2025 NVIDIA Corporation 
# Built on Wed_Aug_20_01:58:59_PM_PDT_2025 
# Cuda compilation tools, release 13.0, V13.0.88 
# Build cuda_13.0.r13.0/compiler.36424714_0 

# GPU Hardware Info: 
# NVIDIA H200 : 1 

torch._higher_order_ops.triton_kernel_wrap.kernel_side_table.reset_table()

from torch.nn import *
class Repro(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()



    def forward(self, primals_1, primals_3, primals_4, primals_6, primals_8, primals_10, primals_11, primals_12, getitem_1, rsqrt, view, permute_1, permute_2, permute_3, getitem_5, getitem_6, getitem_11, getitem_12, addmm_1, getitem_15, rsqrt_1, view_8, mm, mm_1, view_12, tangents_1):
        view_14 = torch.ops.aten.view.default(tangents_1, [2048, 512])
        permute_9 = torch.ops.aten.permute.default(view_14, [1, 0])
        mm_3 = torch.ops.aten.mm.default(permute_9, view_12);  permute_9 = view_12 = None
        permute_8 = torch.ops.aten.permute.default(primals_12, [1, 0]);  primals_12 = None
        permute_11 = torch.ops.aten.permute.default(permute_8, [1, 0]);  permute_8 = None
        mm_4 = torch.ops.aten.mm.default(view_14, permute_11);  view_14 = permute_11 = None
        view_15 = torch.ops.aten.view.default(mm_4, [8, 256, 2048]);  mm_4 = None
        view_9 = torch.ops.aten.view.default(mm, [8, 256, 2048]);  mm = None
        convert_element_type_12 = torch.ops.prims.convert_element_type.default(view_9, torch.float32);  view_9 = None
        mul_4 = torch.ops.aten.mul.Tensor(convert_element_type_12, convert_element_type_12)
        mul_5 = torch.ops.aten.mul.Tensor(mul_4, convert_element_type_12)
        mul_6 = torch.ops.aten.mul.Tensor(mul_5, 0.044715);  mul_5 = None
        add_5 = torch.ops.aten.add.Tensor(convert_element_type_12, mul_6);  mul_6 = None
        mul_7 = torch.ops.aten.mul.Tensor(add_5, 0.7978845608028654);  add_5 = None
        mul_8 = torch.ops.aten.mul.Tensor(convert_element_type_12, 0.5);  convert_element_type_12 = None
        tanh = torch.ops.aten.tanh.default(mul_7);  mul_7 = None
        add_6 = torch.ops.aten.add.Tensor(tanh, 1)
        mul_9 = torch.ops.aten.mul.Tensor(mul_8, add_6)
        convert_element_type_13 = torch.ops.prims.convert_element_type.default(mul_9, torch.bfloat16);  mul_9 = None
        mul_11 = torch.ops.aten.mul.Tensor(view_15, convert_element_type_13);  convert_element_type_13 = None
        view_11 = torch.ops.aten.view.default(mm_1, [8, 256, 2048]);  mm_1 = None
        mul_12 = torch.ops.aten.mul.Tensor(view_15, view_11);  view_15 = view_11 = None
        view_16 = torch.ops.aten.view.default(mul_11, [2048, 2048]);  mul_11 = None
        permute_13 = torch.ops.aten.permute.default(view_16, [1, 0])
        mm_5 = torch.ops.aten.mm.default(permute_13, view_8);  permute_13 = None
        permute_7 = torch.ops.aten.permute.default(primals_11, [1, 0]);  primals_11 = None
        permute_15 = torch.ops.aten.permute.default(permute_7, [1, 0]);  permute_7 = None
        mm_6 = torch.ops.aten.mm.default(view_16, permute_15);  view_16 = permute_15 = None
        view_17 = torch.ops.aten.view.default(mm_6, [8, 256, 512]);  mm_6 = None
        convert_element_type_26 = torch.ops.prims.convert_element_type.default(mul_12, torch.float32);  mul_12 = None
        mul_18 = torch.ops.aten.mul.Tensor(add_6, 0.5);  add_6 = None
        mul_19 = torch.ops.aten.mul.Tensor(tanh, tanh);  tanh = None
        sub_2 = torch.ops.aten.sub.Tensor(1, mul_19);  mul_19 = None
        mul_20 = torch.ops.aten.mul.Tensor(mul_4, 0.134145);  mul_4 = None
        add_10 = torch.ops.aten.add.Tensor(mul_20, 1);  mul_20 = None
        mul_21 = torch.ops.aten.mul.Tensor(add_10, 0.7978845608028654);  add_10 = None
        mul_22 = torch.ops.aten.mul.Tensor(mul_8, sub_2);  mul_8 = sub_2 = None
        mul_23 = torch.ops.aten.mul.Tensor(mul_22, mul_21);  mul_22 = mul_21 = None
        add_11 = torch.ops.aten.add.Tensor(mul_18, mul_23);  mul_18 = mul_23 = None
        mul_24 = torch.ops.aten.mul.Tensor(convert_element_type_26, add_11);  convert_element_type_26 = add_11 = None
        convert_element_type_28 = torch.ops.prims.convert_element_type.default(mul_24, torch.bfloat16);  mul_24 = None
        view_18 = torch.ops.aten.view.default(convert_element_type_28, [2048, 2048]);  convert_element_type_28 = None
        permute_17 = torch.ops.aten.permute.default(view_18, [1, 0])
        mm_7 = torch.ops.aten.mm.default(permute_17, view_8);  permute_17 = view_8 = None
        permute_6 = torch.ops.aten.permute.default(primals_10, [1, 0]);  primals_10 = None
        permute_19 = torch.ops.aten.permute.default(permute_6, [1, 0]);  permute_6 = None
        mm_8 = torch.ops.aten.mm.default(view_18, permute_19);  view_18 = permute_19 = None
        view_19 = torch.ops.aten.view.default(mm_8, [8, 256, 512]);  mm_8 = None
        add_12 = torch.ops.aten.add.Tensor(view_17, view_19);  view_17 = view_19 = None
        convert_element_type_33 = torch.ops.prims.convert_element_type.default(add_12, torch.float32);  add_12 = None
        convert_element_type_35 = torch.ops.prims.convert_element_type.default(primals_8, torch.float32);  primals_8 = None
        mul_26 = torch.ops.aten.mul.Tensor(convert_element_type_33, convert_element_type_35);  convert_element_type_35 = None
        mul_27 = torch.ops.aten.mul.Tensor(mul_26, 512)
        sum_1 = torch.ops.aten.sum.dim_IntList(mul_26, [2], True)
        view_7 = torch.ops.aten.view.default(addmm_1, [8, 256, 512]);  addmm_1 = None
        add_2 = torch.ops.aten.add.Tensor(primals_3, view_7);  view_7 = None
        convert_element_type_8 = torch.ops.prims.convert_element_type.default(add_2, torch.float32);  add_2 = None
        sub_1 = torch.ops.aten.sub.Tensor(convert_element_type_8, getitem_15);  convert_element_type_8 = getitem_15 = None
        mul_2 = torch.ops.aten.mul.Tensor(sub_1, rsqrt_1);  sub_1 = None
        mul_28 = torch.ops.aten.mul.Tensor(mul_26, mul_2);  mul_26 = None
        sum_2 = torch.ops.aten.sum.dim_IntList(mul_28, [2], True);  mul_28 = None
        mul_29 = torch.ops.aten.mul.Tensor(mul_2, sum_2);  sum_2 = None
        sub_4 = torch.ops.aten.sub.Tensor(mul_27, sum_1);  mul_27 = sum_1 = None
        sub_5 = torch.ops.aten.sub.Tensor(sub_4, mul_29);  sub_4 = mul_29 = None
        div = torch.ops.aten.div.Tensor(rsqrt_1, 512);  rsqrt_1 = None
        mul_30 = torch.ops.aten.mul.Tensor(div, sub_5);  div = sub_5 = None
        mul_31 = torch.ops.aten.mul.Tensor(convert_element_type_33, mul_2);  mul_2 = None
        sum_3 = torch.ops.aten.sum.dim_IntList(mul_31, [0, 1]);  mul_31 = None
        sum_4 = torch.ops.aten.sum.dim_IntList(convert_element_type_33, [0, 1]);  convert_element_type_33 = None
        convert_element_type_37 = torch.ops.prims.convert_element_type.default(mul_30, torch.bfloat16);  mul_30 = None
        convert_element_type_38 = torch.ops.prims.convert_element_type.default(sum_3, torch.bfloat16);  sum_3 = None
        convert_element_type_39 = torch.ops.prims.convert_element_type.default(sum_4, torch.bfloat16);  sum_4 = None
        add_13 = torch.ops.aten.add.Tensor(tangents_1, convert_element_type_37);  tangents_1 = convert_element_type_37 = None
        view_20 = torch.ops.aten.view.default(add_13, [2048, 512])
        permute_5 = torch.ops.aten.permute.default(primals_6, [1, 0]);  primals_6 = None
        permute_21 = torch.ops.aten.permute.default(permute_5, [1, 0]);  permute_5 = None
        mm_9 = torch.ops.aten.mm.default(view_20, permute_21);  permute_21 = None
        permute_22 = torch.ops.aten.permute.default(view_20, [1, 0])
        permute_4 = torch.ops.aten.permute.default(getitem_5, [0, 2, 1, 3])
        view_5 = torch.ops.aten.view.default(permute_4, [8, 256, 512]);  permute_4 = None
        view_6 = torch.ops.aten.view.default(view_5, [2048, 512]);  view_5 = None
        mm_10 = torch.ops.aten.mm.default(permute_22, view_6);  permute_22 = view_6 = None
        sum_5 = torch.ops.aten.sum.dim_IntList(view_20, [0], True);  view_20 = None
        view_21 = torch.ops.aten.view.default(sum_5, [512]);  sum_5 = None
        view_22 = torch.ops.aten.view.default(mm_9, [8, 256, 512]);  mm_9 = None
        view_23 = torch.ops.aten.view.default(view_22, [8, 256, 8, 64]);  view_22 = None
        permute_25 = torch.ops.aten.permute.default(view_23, [0, 2, 1, 3]);  view_23 = None
        _scaled_dot_product_cudnn_attention_backward = torch.ops.aten._scaled_dot_product_cudnn_attention_backward.default(permute_25, permute_1, permute_2, permute_3, getitem_5, getitem_6, getitem_11, getitem_12, None, None, None, 256, 256, 0.0, True);  permute_25 = permute_1 = permute_2 = permute_3 = getitem_5 = getitem_6 = getitem_11 = getitem_12 = None
        getitem_16 = _scaled_dot_product_cudnn_attention_backward[0]
        getitem_17 = _scaled_dot_product_cudnn_attention_backward[1]
        getitem_18 = _scaled_dot_product_cudnn_attention_backward[2];  _scaled_dot_product_cudnn_attention_backward = None
        permute_26 = torch.ops.aten.permute.default(getitem_18, [0, 2, 1, 3]);  getitem_18 = None
        view_24 = torch.ops.aten.view.default(permute_26, [8, 256, 512]);  permute_26 = None
        permute_27 = torch.ops.aten.permute.default(getitem_17, [0, 2, 1, 3]);  getitem_17 = None
        view_25 = torch.ops.aten.view.default(permute_27, [8, 256, 512]);  permute_27 = None
        permute_28 = torch.ops.aten.permute.default(getitem_16, [0, 2, 1, 3]);  getitem_16 = None
        view_26 = torch.ops.aten.view.default(permute_28, [8, 256, 512]);  permute_28 = None
        cat = torch.ops.aten.cat.default([view_26, view_25, view_24], 2);  view_26 = view_25 = view_24 = None
        view_27 = torch.ops.aten.view.default(cat, [2048, 1536]);  cat = None
        permute = torch.ops.aten.permute.default(primals_4, [1, 0]);  primals_4 = None
        permute_29 = torch.ops.aten.permute.default(permute, [1, 0]);  permute = None
        mm_11 = torch.ops.aten.mm.default(view_27, permute_29);  permute_29 = None
        permute_30 = torch.ops.aten.permute.default(view_27, [1, 0])
        mm_12 = torch.ops.aten.mm.default(permute_30, view);  permute_30 = view = None
        sum_6 = torch.ops.aten.sum.dim_IntList(view_27, [0], True);  view_27 = None
        view_28 = torch.ops.aten.view.default(sum_6, [1536]);  sum_6 = None
        view_29 = torch.ops.aten.view.default(mm_11, [8, 256, 512]);  mm_11 = None
        convert_element_type_48 = torch.ops.prims.convert_element_type.default(view_29, torch.float32);  view_29 = None
        convert_element_type_50 = torch.ops.prims.convert_element_type.default(primals_1, torch.float32);  primals_1 = None
        mul_33 = torch.ops.aten.mul.Tensor(convert_element_type_48, convert_element_type_50);  convert_element_type_50 = None
        mul_34 = torch.ops.aten.mul.Tensor(mul_33, 512)
        sum_7 = torch.ops.aten.sum.dim_IntList(mul_33, [2], True)
        convert_element_type = torch.ops.prims.convert_element_type.default(primals_3, torch.float32);  primals_3 = None
        sub = torch.ops.aten.sub.Tensor(convert_element_type, getitem_1);  convert_element_type = getitem_1 = None
        mul = torch.ops.aten.mul.Tensor(sub, rsqrt);  sub = None
        mul_35 = torch.ops.aten.mul.Tensor(mul_33, mul);  mul_33 = None
        sum_8 = torch.ops.aten.sum.dim_IntList(mul_35, [2], True);  mul_35 = None
        mul_36 = torch.ops.aten.mul.Tensor(mul, sum_8);  sum_8 = None
        sub_7 = torch.ops.aten.sub.Tensor(mul_34, sum_7);  mul_34 = sum_7 = None
        sub_8 = torch.ops.aten.sub.Tensor(sub_7, mul_36);  sub_7 = mul_36 = None
        div_1 = torch.ops.aten.div.Tensor(rsqrt, 512);  rsqrt = None
        mul_37 = torch.ops.aten.mul.Tensor(div_1, sub_8);  div_1 = sub_8 = None
        mul_38 = torch.ops.aten.mul.Tensor(convert_element_type_48, mul);  mul = None
        sum_9 = torch.ops.aten.sum.dim_IntList(mul_38, [0, 1]);  mul_38 = None
        sum_10 = torch.ops.aten.sum.dim_IntList(convert_element_type_48, [0, 1]);  convert_element_type_48 = None
        convert_element_type_52 = torch.ops.prims.convert_element_type.default(mul_37, torch.bfloat16);  mul_37 = None
        convert_element_type_53 = torch.ops.prims.convert_element_type.default(sum_9, torch.bfloat16);  sum_9 = None
        convert_element_type_54 = torch.ops.prims.convert_element_type.default(sum_10, torch.bfloat16);  sum_10 = None
        add_14 = torch.ops.aten.add.Tensor(add_13, convert_element_type_52);  add_13 = convert_element_type_52 = None
        return (convert_element_type_53, convert_element_type_54, add_14, mm_12, view_28, mm_10, view_21, convert_element_type_38, convert_element_type_39, mm_7, mm_5, mm_3)

def load_args(reader):
    buf0 = reader.storage(None, 1024, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf0, (512,), dtype=torch.bfloat16, is_leaf=True)  # primals_1
    buf1 = reader.storage(None, 2097152, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf1, (8, 256, 512), dtype=torch.bfloat16, is_leaf=True)  # primals_3
    buf2 = reader.storage(None, 1572864, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf2, (1536, 512), dtype=torch.bfloat16, is_leaf=True)  # primals_4
    buf3 = reader.storage(None, 524288, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf3, (512, 512), dtype=torch.bfloat16, is_leaf=True)  # primals_6
    buf4 = reader.storage(None, 1024, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf4, (512,), dtype=torch.bfloat16, is_leaf=True)  # primals_8
    buf5 = reader.storage(None, 2097152, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf5, (2048, 512), dtype=torch.bfloat16, is_leaf=True)  # primals_10
    buf6 = reader.storage(None, 2097152, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf6, (2048, 512), dtype=torch.bfloat16, is_leaf=True)  # primals_11
    buf7 = reader.storage(None, 2097152, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf7, (512, 2048), dtype=torch.bfloat16, is_leaf=True)  # primals_12
    buf8 = reader.storage(None, 8192, device=device(type='cuda', index=0))
    reader.tensor(buf8, (8, 256, 1), is_leaf=True)  # getitem_1
    buf9 = reader.storage(None, 8192, device=device(type='cuda', index=0))
    reader.tensor(buf9, (8, 256, 1), is_leaf=True)  # rsqrt
    buf10 = reader.storage(None, 2097152, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf10, (2048, 512), dtype=torch.bfloat16, is_leaf=True)  # view
    buf11 = reader.storage(None, 6291456, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf11, (8, 8, 256, 64), (393216, 64, 1536, 1), dtype=torch.bfloat16, is_leaf=True)  # permute_1
    reader.tensor(buf11, (8, 8, 256, 64), (393216, 64, 1536, 1), dtype=torch.bfloat16, storage_offset=512, is_leaf=True)  # permute_2
    reader.tensor(buf11, (8, 8, 256, 64), (393216, 64, 1536, 1), dtype=torch.bfloat16, storage_offset=1024, is_leaf=True)  # permute_3
    buf12 = reader.storage(None, 2097152, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf12, (8, 8, 256, 64), (131072, 64, 512, 1), dtype=torch.bfloat16, is_leaf=True)  # getitem_5
    buf13 = reader.storage(None, 65536, device=device(type='cuda', index=0))
    reader.tensor(buf13, (8, 8, 256, 1), is_leaf=True)  # getitem_6
    buf14 = reader.storage(None, 8, device=device(type='cuda', index=0), dtype_hint=torch.int64)
    reader.tensor(buf14, (), dtype=torch.int64, is_leaf=True)  # getitem_11
    buf15 = reader.storage(None, 8, device=device(type='cuda', index=0), dtype_hint=torch.int64)
    reader.tensor(buf15, (), dtype=torch.int64, is_leaf=True)  # getitem_12
    buf16 = reader.storage(None, 2097152, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf16, (2048, 512), dtype=torch.bfloat16, is_leaf=True)  # addmm_1
    buf17 = reader.storage(None, 8192, device=device(type='cuda', index=0))
    reader.tensor(buf17, (8, 256, 1), is_leaf=True)  # getitem_15
    buf18 = reader.storage(None, 8192, device=device(type='cuda', index=0))
    reader.tensor(buf18, (8, 256, 1), is_leaf=True)  # rsqrt_1
    buf19 = reader.storage(None, 2097152, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf19, (2048, 512), dtype=torch.bfloat16, is_leaf=True)  # view_8
    buf20 = reader.storage(None, 8388608, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf20, (2048, 2048), dtype=torch.bfloat16, is_leaf=True)  # mm
    buf21 = reader.storage(None, 8388608, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf21, (2048, 2048), dtype=torch.bfloat16, is_leaf=True)  # mm_1
    buf22 = reader.storage(None, 8388608, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf22, (2048, 2048), dtype=torch.bfloat16, is_leaf=True)  # view_12
    buf23 = reader.storage(None, 2097152, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf23, (8, 256, 512), dtype=torch.bfloat16, is_leaf=True)  # tangents_1
load_args._version = 0
mod = Repro()
if __name__ == '__main__':
    from torch._dynamo.repro.after_aot import run_repro
    with torch.no_grad():
        run_repro(mod, load_args, accuracy=False, command='run', save_dir=None, tracing_mode='real', check_str=None)
        # To run it separately, do 
        # mod, args = run_repro(mod, load_args, accuracy=False, command='get_args', save_dir=None, tracing_mode='real', check_str=None)
        # mod(*args)