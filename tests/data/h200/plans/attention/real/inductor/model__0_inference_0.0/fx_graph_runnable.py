
import os
os.environ['TORCH_CUDA_ARCH_LIST'] = '9.0a'
os.environ['TORCHINDUCTOR_CACHE_DIR'] = '/tmp/attention-oz0g4tp3/cache/tmp3age7q4c'
os.environ['TRITON_CACHE_DIR'] = '/tmp/attention-oz0g4tp3/cache/tmp3age7q4c/triton'
os.environ['TORCHINDUCTOR_FORCE_DISABLE_CACHES'] = '1'
os.environ['TORCHINDUCTOR_COMPILE_THREADS'] = '1'
os.environ['TORCH_TRACE'] = '/tmp/attention-oz0g4tp3/trace'
os.environ['TORCH_COMPILE_DEBUG'] = '1'
os.environ['TORCH_COMPILE_DEBUG_DIR'] = '/tmp/attention-oz0g4tp3/debug'

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



    def forward(self, arg0_1, arg1_1, arg2_1):
        permute = torch.ops.aten.permute.default(arg0_1, [0, 1, 3, 2]);  arg0_1 = None
        expand = torch.ops.aten.expand.default(arg1_1, [8, 12, 256, 64]);  arg1_1 = None
        view = torch.ops.aten.view.default(expand, [96, 256, 64]);  expand = None
        expand_1 = torch.ops.aten.expand.default(permute, [8, 12, 64, 256]);  permute = None
        view_1 = torch.ops.aten.view.default(expand_1, [96, 64, 256]);  expand_1 = None
        bmm = torch.ops.aten.bmm.default(view, view_1);  view = view_1 = None
        view_2 = torch.ops.aten.view.default(bmm, [8, 12, 256, 256]);  bmm = None
        mul = torch.ops.aten.mul.Tensor(view_2, 0.125);  view_2 = None
        full_default = torch.ops.aten.full.default([256, 256], True, dtype = torch.bool, layout = torch.strided, device = device(type='cuda', index=0), pin_memory = False)
        iota = torch.ops.prims.iota.default(256, start = 0, step = 1, dtype = torch.int64, device = device(type='cuda', index=0), requires_grad = False)
        unsqueeze = torch.ops.aten.unsqueeze.default(iota, -2);  iota = None
        iota_1 = torch.ops.prims.iota.default(256, start = 0, step = 1, dtype = torch.int64, device = device(type='cuda', index=0), requires_grad = False)
        unsqueeze_1 = torch.ops.aten.unsqueeze.default(iota_1, -1);  iota_1 = None
        sub = torch.ops.aten.sub.Tensor(unsqueeze, unsqueeze_1);  unsqueeze = unsqueeze_1 = None
        le = torch.ops.aten.le.Scalar(sub, 0);  sub = None
        logical_and = torch.ops.aten.logical_and.default(le, full_default);  le = full_default = None
        bitwise_not = torch.ops.aten.bitwise_not.default(logical_and);  logical_and = None
        full_default_1 = torch.ops.aten.full.default([], -inf, dtype = torch.bfloat16, layout = torch.strided, device = device(type='cuda', index=0), pin_memory = False)
        where = torch.ops.aten.where.self(bitwise_not, full_default_1, mul);  bitwise_not = full_default_1 = mul = None
        convert_element_type_2 = torch.ops.prims.convert_element_type.default(where, torch.float32);  where = None
        amax = torch.ops.aten.amax.default(convert_element_type_2, [-1], True)
        sub_1 = torch.ops.aten.sub.Tensor(convert_element_type_2, amax);  convert_element_type_2 = amax = None
        exp = torch.ops.aten.exp.default(sub_1);  sub_1 = None
        sum_1 = torch.ops.aten.sum.dim_IntList(exp, [-1], True)
        div = torch.ops.aten.div.Tensor(exp, sum_1);  exp = sum_1 = None
        convert_element_type_3 = torch.ops.prims.convert_element_type.default(div, torch.bfloat16);  div = None
        expand_2 = torch.ops.aten.expand.default(convert_element_type_3, [8, 12, 256, 256]);  convert_element_type_3 = None
        view_3 = torch.ops.aten.view.default(expand_2, [96, 256, 256]);  expand_2 = None
        expand_3 = torch.ops.aten.expand.default(arg2_1, [8, 12, 256, 64]);  arg2_1 = None
        view_4 = torch.ops.aten.view.default(expand_3, [96, 256, 64]);  expand_3 = None
        bmm_1 = torch.ops.aten.bmm.default(view_3, view_4);  view_3 = view_4 = None
        view_5 = torch.ops.aten.view.default(bmm_1, [8, 12, 256, 64]);  bmm_1 = None
        return (view_5,)

def load_args(reader):
    buf0 = reader.storage(None, 3145728, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf0, (8, 12, 256, 64), dtype=torch.bfloat16, is_leaf=True)  # arg0_1
    buf1 = reader.storage(None, 3145728, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf1, (8, 12, 256, 64), dtype=torch.bfloat16, is_leaf=True)  # arg1_1
    buf2 = reader.storage(None, 3145728, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf2, (8, 12, 256, 64), dtype=torch.bfloat16, is_leaf=True)  # arg2_1
load_args._version = 0
mod = Repro()
if __name__ == '__main__':
    from torch._dynamo.repro.after_aot import run_repro
    with torch.no_grad():
        run_repro(mod, load_args, accuracy=False, command='run', save_dir=None, tracing_mode='real', check_str=None)
        # To run it separately, do 
        # mod, args = run_repro(mod, load_args, accuracy=False, command='get_args', save_dir=None, tracing_mode='real', check_str=None)
        # mod(*args)