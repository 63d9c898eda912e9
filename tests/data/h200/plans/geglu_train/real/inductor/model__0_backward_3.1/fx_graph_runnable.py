
import os
os.environ['TORCH_CUDA_ARCH_LIST'] = '9.0a'
os.environ['TORCHINDUCTOR_CACHE_DIR'] = '/tmp/geglu_train-w90yn8xt/cache/tmppab5b_ex'
os.environ['TRITON_CACHE_DIR'] = '/tmp/geglu_train-w90yn8xt/cache/tmppab5b_ex/triton'
os.environ['TORCHINDUCTOR_FORCE_DISABLE_CACHES'] = '1'
os.environ['TORCHINDUCTOR_COMPILE_THREADS'] = '1'
os.environ['TORCH_TRACE'] = '/tmp/geglu_train-w90yn8xt/trace'
os.environ['TORCH_COMPILE_DEBUG'] = '1'
os.environ['TORCH_COMPILE_DEBUG_DIR'] = '/tmp/geglu_train-w90yn8xt/debug'

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



    def forward(self, primals_1, primals_3, primals_4, view, mm, mm_1, view_4, tangents_1):
        view_6 = torch.ops.aten.view.default(tangents_1, [8192, 768]);  tangents_1 = None
        permute_3 = torch.ops.aten.permute.default(view_6, [1, 0])
        mm_3 = torch.ops.aten.mm.default(permute_3, view_4);  permute_3 = view_4 = None
        permute_2 = torch.ops.aten.permute.default(primals_4, [1, 0]);  primals_4 = None
        permute_5 = torch.ops.aten.permute.default(permute_2, [1, 0]);  permute_2 = None
        mm_4 = torch.ops.aten.mm.default(view_6, permute_5);  view_6 = permute_5 = None
        view_7 = torch.ops.aten.view.default(mm_4, [64, 128, 3072]);  mm_4 = None
        view_1 = torch.ops.aten.view.default(mm, [64, 128, 3072]);  mm = None
        convert_element_type_2 = torch.ops.prims.convert_element_type.default(view_1, torch.float32);  view_1 = None
        mul = torch.ops.aten.mul.Tensor(convert_element_type_2, convert_element_type_2)
        mul_1 = torch.ops.aten.mul.Tensor(mul, convert_element_type_2)
        mul_2 = torch.ops.aten.mul.Tensor(mul_1, 0.044715);  mul_1 = None
        add = torch.ops.aten.add.Tensor(convert_element_type_2, mul_2);  mul_2 = None
        mul_3 = torch.ops.aten.mul.Tensor(add, 0.7978845608028654);  add = None
        mul_4 = torch.ops.aten.mul.Tensor(convert_element_type_2, 0.5);  convert_element_type_2 = None
        tanh = torch.ops.aten.tanh.default(mul_3);  mul_3 = None
        add_1 = torch.ops.aten.add.Tensor(tanh, 1)
        mul_5 = torch.ops.aten.mul.Tensor(mul_4, add_1)
        convert_element_type_3 = torch.ops.prims.convert_element_type.default(mul_5, torch.bfloat16);  mul_5 = None
        mul_7 = torch.ops.aten.mul.Tensor(view_7, convert_element_type_3);  convert_element_type_3 = None
        view_3 = torch.ops.aten.view.default(mm_1, [64, 128, 3072]);  mm_1 = None
        mul_8 = torch.ops.aten.mul.Tensor(view_7, view_3);  view_7 = view_3 = None
        view_8 = torch.ops.aten.view.default(mul_7, [8192, 3072]);  mul_7 = None
        permute_7 = torch.ops.aten.permute.default(view_8, [1, 0])
        mm_5 = torch.ops.aten.mm.default(permute_7, view);  permute_7 = None
        permute_1 = torch.ops.aten.permute.default(primals_3, [1, 0]);  primals_3 = None
        permute_9 = torch.ops.aten.permute.default(permute_1, [1, 0]);  permute_1 = None
        mm_6 = torch.ops.aten.mm.default(view_8, permute_9);  view_8 = permute_9 = None
        view_9 = torch.ops.aten.view.default(mm_6, [64, 128, 768]);  mm_6 = None
        convert_element_type_16 = torch.ops.prims.convert_element_type.default(mul_8, torch.float32);  mul_8 = None
        mul_14 = torch.ops.aten.mul.Tensor(add_1, 0.5);  add_1 = None
        mul_15 = torch.ops.aten.mul.Tensor(tanh, tanh);  tanh = None
        sub = torch.ops.aten.sub.Tensor(1, mul_15);  mul_15 = None
        mul_16 = torch.ops.aten.mul.Tensor(mul, 0.134145);  mul = None
        add_4 = torch.ops.aten.add.Tensor(mul_16, 1);  mul_16 = None
        mul_17 = torch.ops.aten.mul.Tensor(add_4, 0.7978845608028654);  add_4 = None
        mul_18 = torch.ops.aten.mul.Tensor(mul_4, sub);  mul_4 = sub = None
        mul_19 = torch.ops.aten.mul.Tensor(mul_18, mul_17);  mul_18 = mul_17 = None
        add_5 = torch.ops.aten.add.Tensor(mul_14, mul_19);  mul_14 = mul_19 = None
        mul_20 = torch.ops.aten.mul.Tensor(convert_element_type_16, add_5);  convert_element_type_16 = add_5 = None
        convert_element_type_18 = torch.ops.prims.convert_element_type.default(mul_20, torch.bfloat16);  mul_20 = None
        view_10 = torch.ops.aten.view.default(convert_element_type_18, [8192, 3072]);  convert_element_type_18 = None
        permute_11 = torch.ops.aten.permute.default(view_10, [1, 0])
        mm_7 = torch.ops.aten.mm.default(permute_11, view);  permute_11 = view = None
        permute = torch.ops.aten.permute.default(primals_1, [1, 0]);  primals_1 = None
        permute_13 = torch.ops.aten.permute.default(permute, [1, 0]);  permute = None
        mm_8 = torch.ops.aten.mm.default(view_10, permute_13);  view_10 = permute_13 = None
        view_11 = torch.ops.aten.view.default(mm_8, [64, 128, 768]);  mm_8 = None
        add_6 = torch.ops.aten.add.Tensor(view_9, view_11);  view_9 = view_11 = None
        return (mm_7, add_6, mm_5, mm_3)

def load_args(reader):
    buf0 = reader.storage(None, 4718592, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf0, (3072, 768), dtype=torch.bfloat16, is_leaf=True)  # primals_1
    buf1 = reader.storage(None, 4718592, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf1, (3072, 768), dtype=torch.bfloat16, is_leaf=True)  # primals_3
    buf2 = reader.storage(None, 4718592, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf2, (768, 3072), dtype=torch.bfloat16, is_leaf=True)  # primals_4
    buf3 = reader.storage(None, 12582912, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf3, (8192, 768), dtype=torch.bfloat16, is_leaf=True)  # view
    buf4 = reader.storage(None, 50331648, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf4, (8192, 3072), dtype=torch.bfloat16, is_leaf=True)  # mm
    buf5 = reader.storage(None, 50331648, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf5, (8192, 3072), dtype=torch.bfloat16, is_leaf=True)  # mm_1
    buf6 = reader.storage(None, 50331648, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf6, (8192, 3072), dtype=torch.bfloat16, is_leaf=True)  # view_4
    buf7 = reader.storage(None, 12582912, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf7, (64, 128, 768), dtype=torch.bfloat16, is_leaf=True)  # tangents_1
load_args._version = 0
mod = Repro()
if __name__ == '__main__':
    from torch._dynamo.repro.after_aot import run_repro
    with torch.no_grad():
        run_repro(mod, load_args, accuracy=False, command='run', save_dir=None, tracing_mode='real', check_str=None)
        # To run it separately, do 
        # mod, args = run_repro(mod, load_args, accuracy=False, command='get_args', save_dir=None, tracing_mode='real', check_str=None)
        # mod(*args)