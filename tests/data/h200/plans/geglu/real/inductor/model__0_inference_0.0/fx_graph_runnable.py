
import os
os.environ['TORCH_CUDA_ARCH_LIST'] = '9.0a'
os.environ['TORCHINDUCTOR_CACHE_DIR'] = '/tmp/geglu-gpi362aa/cache/tmpu26fmizp'
os.environ['TRITON_CACHE_DIR'] = '/tmp/geglu-gpi362aa/cache/tmpu26fmizp/triton'
os.environ['TORCHINDUCTOR_FORCE_DISABLE_CACHES'] = '1'
os.environ['TORCHINDUCTOR_COMPILE_THREADS'] = '1'
os.environ['TORCH_TRACE'] = '/tmp/geglu-gpi362aa/trace'
os.environ['TORCH_COMPILE_DEBUG'] = '1'
os.environ['TORCH_COMPILE_DEBUG_DIR'] = '/tmp/geglu-gpi362aa/debug'

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

torch._inductor.config.trace.enabled = False
torch._inductor.config.trace.save_real_tensors = False
torch._functorch.config.functionalize_rng_ops = False
torch._functorch.config.debug_partitioner = True
torch._functorch.config.fake_tensor_allow_unsafe_data_ptr_access = True
torch._functorch.config.unlift_effect_tokens = True
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



    def forward(self, arg0_1, arg1_1, arg2_1, arg3_1):
        permute = torch.ops.aten.permute.default(arg0_1, [1, 0]);  arg0_1 = None
        view = torch.ops.aten.view.default(arg1_1, [8192, 768])
        mm = torch.ops.aten.mm.default(view, permute);  view = permute = None
        view_1 = torch.ops.aten.view.default(mm, [64, 128, 3072]);  mm = None
        convert_element_type_2 = torch.ops.prims.convert_element_type.default(view_1, torch.float32);  view_1 = None
        mul = torch.ops.aten.mul.Tensor(convert_element_type_2, convert_element_type_2)
        mul_1 = torch.ops.aten.mul.Tensor(mul, convert_element_type_2);  mul = None
        mul_2 = torch.ops.aten.mul.Tensor(mul_1, 0.044715);  mul_1 = None
        add = torch.ops.aten.add.Tensor(convert_element_type_2, mul_2);  mul_2 = None
        mul_3 = torch.ops.aten.mul.Tensor(add, 0.7978845608028654);  add = None
        mul_4 = torch.ops.aten.mul.Tensor(convert_element_type_2, 0.5);  convert_element_type_2 = None
        tanh = torch.ops.aten.tanh.default(mul_3);  mul_3 = None
        add_1 = torch.ops.aten.add.Tensor(tanh, 1);  tanh = None
        mul_5 = torch.ops.aten.mul.Tensor(mul_4, add_1);  mul_4 = add_1 = None
        convert_element_type_3 = torch.ops.prims.convert_element_type.default(mul_5, torch.bfloat16);  mul_5 = None
        permute_1 = torch.ops.aten.permute.default(arg2_1, [1, 0]);  arg2_1 = None
        view_2 = torch.ops.aten.view.default(arg1_1, [8192, 768]);  arg1_1 = None
        mm_1 = torch.ops.aten.mm.default(view_2, permute_1);  view_2 = permute_1 = None
        view_3 = torch.ops.aten.view.default(mm_1, [64, 128, 3072]);  mm_1 = None
        mul_6 = torch.ops.aten.mul.Tensor(convert_element_type_3, view_3);  convert_element_type_3 = view_3 = None
        permute_2 = torch.ops.aten.permute.default(arg3_1, [1, 0]);  arg3_1 = None
        view_4 = torch.ops.aten.view.default(mul_6, [8192, 3072]);  mul_6 = None
        mm_2 = torch.ops.aten.mm.default(view_4, permute_2);  view_4 = permute_2 = None
        view_5 = torch.ops.aten.view.default(mm_2, [64, 128, 768]);  mm_2 = None
        return (view_5,)

def load_args(reader):
    buf0 = reader.storage(None, 4718592, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf0, (3072, 768), dtype=torch.bfloat16, is_leaf=True)  # arg0_1
    buf1 = reader.storage(None, 12582912, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf1, (64, 128, 768), dtype=torch.bfloat16, is_leaf=True)  # arg1_1
    buf2 = reader.storage(None, 4718592, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf2, (3072, 768), dtype=torch.bfloat16, is_leaf=True)  # arg2_1
    buf3 = reader.storage(None, 4718592, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf3, (768, 3072), dtype=torch.bfloat16, is_leaf=True)  # arg3_1
load_args._version = 0
mod = Repro()
if __name__ == '__main__':
    from torch._dynamo.repro.after_aot import run_repro
    with torch.no_grad():
        run_repro(mod, load_args, accuracy=False, command='run', save_dir=None, tracing_mode='real', check_str=None)
        # To run it separately, do 
        # mod, args = run_repro(mod, load_args, accuracy=False, command='get_args', save_dir=None, tracing_mode='real', check_str=None)
        # mod(*args)