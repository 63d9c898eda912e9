
import os
os.environ['TORCH_CUDA_ARCH_LIST'] = '9.0a'
os.environ['TORCHINDUCTOR_CACHE_DIR'] = '/tmp/mixture_of_experts-ch0ihwuc/cache/tmp_cok3je5'
os.environ['TRITON_CACHE_DIR'] = '/tmp/mixture_of_experts-ch0ihwuc/cache/tmp_cok3je5/triton'
os.environ['TORCHINDUCTOR_FORCE_DISABLE_CACHES'] = '1'
os.environ['TORCHINDUCTOR_COMPILE_THREADS'] = '1'
os.environ['TORCH_TRACE'] = '/tmp/mixture_of_experts-ch0ihwuc/trace'
os.environ['TORCH_COMPILE_DEBUG'] = '1'
os.environ['TORCH_COMPILE_DEBUG_DIR'] = '/tmp/mixture_of_experts-ch0ihwuc/debug'

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
        permute = torch.ops.aten.permute.default(arg0_1, [1, 0]);  arg0_1 = None
        mm = torch.ops.aten.mm.default(arg1_1, permute);  permute = None
        amax = torch.ops.aten.amax.default(mm, [-1], True)
        sub = torch.ops.aten.sub.Tensor(mm, amax);  mm = amax = None
        exp = torch.ops.aten.exp.default(sub);  sub = None
        sum_1 = torch.ops.aten.sum.dim_IntList(exp, [-1], True)
        div = torch.ops.aten.div.Tensor(exp, sum_1);  exp = sum_1 = None
        topk = torch.ops.aten.topk.default(div, 2);  div = None
        getitem = topk[0]
        getitem_1 = topk[1];  topk = None
        view = torch.ops.aten.view.default(getitem_1, [2048]);  getitem_1 = None
        sort = torch.ops.aten.sort.stable(view, stable = True);  view = None
        getitem_3 = sort[1];  sort = None
        div_1 = torch.ops.aten.div.Tensor_mode(getitem_3, 2, rounding_mode = 'floor')
        index = torch.ops.aten.index.Tensor(arg1_1, [div_1]);  arg1_1 = div_1 = None
        view_1 = torch.ops.aten.view.default(index, [8, -1, 256]);  index = None
        bmm = torch.ops.aten.bmm.default(view_1, arg2_1);  view_1 = arg2_1 = None
        view_2 = torch.ops.aten.view.default(bmm, [2048, 256]);  bmm = None
        view_3 = torch.ops.aten.view.default(getitem, [2048]);  getitem = None
        unsqueeze = torch.ops.aten.unsqueeze.default(view_3, 1);  view_3 = None
        index_1 = torch.ops.aten.index.Tensor(unsqueeze, [getitem_3]);  unsqueeze = None
        mul = torch.ops.aten.mul.Tensor(view_2, index_1);  view_2 = index_1 = None
        full_default = torch.ops.aten.full.default([1024, 256], 0, dtype = torch.float32, layout = torch.strided, device = device(type='cuda', index=0), pin_memory = False)
        div_2 = torch.ops.aten.div.Tensor_mode(getitem_3, 2, rounding_mode = 'floor');  getitem_3 = None
        index_put = torch.ops.aten.index_put.default(full_default, [div_2], mul, True);  full_default = div_2 = mul = None
        return (index_put,)

def load_args(reader):
    buf0 = reader.storage(None, 8192, device=device(type='cuda', index=0))
    reader.tensor(buf0, (8, 256), is_leaf=True)  # arg0_1
    buf1 = reader.storage(None, 1048576, device=device(type='cuda', index=0))
    reader.tensor(buf1, (1024, 256), is_leaf=True)  # arg1_1
    buf2 = reader.storage(None, 2097152, device=device(type='cuda', index=0))
    reader.tensor(buf2, (8, 256, 256), is_leaf=True)  # arg2_1
load_args._version = 0
mod = Repro()
if __name__ == '__main__':
    from torch._dynamo.repro.after_aot import run_repro
    with torch.no_grad():
        run_repro(mod, load_args, accuracy=False, command='run', save_dir=None, tracing_mode='real', check_str=None)
        # To run it separately, do 
        # mod, args = run_repro(mod, load_args, accuracy=False, command='get_args', save_dir=None, tracing_mode='real', check_str=None)
        # mod(*args)