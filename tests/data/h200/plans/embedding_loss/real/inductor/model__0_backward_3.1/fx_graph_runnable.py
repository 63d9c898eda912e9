
import os
os.environ['TORCH_CUDA_ARCH_LIST'] = '9.0a'
os.environ['TORCHINDUCTOR_CACHE_DIR'] = '/tmp/embedding_loss-0woh9wp2/cache/tmp2xa73b4s'
os.environ['TRITON_CACHE_DIR'] = '/tmp/embedding_loss-0woh9wp2/cache/tmp2xa73b4s/triton'
os.environ['TORCHINDUCTOR_FORCE_DISABLE_CACHES'] = '1'
os.environ['TORCHINDUCTOR_COMPILE_THREADS'] = '1'
os.environ['TORCH_TRACE'] = '/tmp/embedding_loss-0woh9wp2/trace'
os.environ['TORCH_COMPILE_DEBUG'] = '1'
os.environ['TORCH_COMPILE_DEBUG_DIR'] = '/tmp/embedding_loss-0woh9wp2/debug'

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



    def forward(self, primals_2, primals_3, primals_4, view, mm, amax, log, convert_element_type, tangents_1):
        div_1 = torch.ops.aten.div.Tensor(tangents_1, convert_element_type);  tangents_1 = convert_element_type = None
        view_3 = torch.ops.aten.view.default(primals_4, [2048]);  primals_4 = None
        unsqueeze_1 = torch.ops.aten.unsqueeze.default(view_3, 1);  view_3 = None
        ne_3 = torch.ops.aten.ne.Scalar(unsqueeze_1, -100)
        full_default = torch.ops.aten.full.default([], 0, dtype = torch.int64, layout = torch.strided, device = device(type='cuda', index=0), pin_memory = False)
        where_2 = torch.ops.aten.where.self(ne_3, unsqueeze_1, full_default);  unsqueeze_1 = full_default = None
        iota_default = torch.ops.prims.iota.default(8192, start = 0, step = 1, dtype = torch.int64, device = device(type='cuda', index=0), requires_grad = False)
        view_default = torch.ops.aten.view.default(iota_default, [1, 8192]);  iota_default = None
        expand_default = torch.ops.aten.expand.default(where_2, [2048, 8192]);  where_2 = None
        eq_tensor = torch.ops.aten.eq.Tensor(expand_default, view_default);  expand_default = view_default = None
        scalar_tensor_default = torch.ops.aten.scalar_tensor.default(0, dtype = torch.float32, layout = torch.strided, device = device(type='cuda', index=0))
        scalar_tensor_default_1 = torch.ops.aten.scalar_tensor.default(-1.0, dtype = torch.float32, layout = torch.strided, device = device(type='cuda', index=0))
        where_self = torch.ops.aten.where.self(eq_tensor, scalar_tensor_default_1, scalar_tensor_default);  eq_tensor = scalar_tensor_default_1 = scalar_tensor_default = None
        full_default_1 = torch.ops.aten.full.default([], 0.0, dtype = torch.float32, layout = torch.strided, device = device(type='cuda', index=0), pin_memory = False)
        where_3 = torch.ops.aten.where.self(ne_3, div_1, full_default_1);  ne_3 = div_1 = None
        mul = torch.ops.aten.mul.Tensor(where_self, where_3);  where_self = where_3 = None
        sub = torch.ops.aten.sub.Tensor(mm, amax);  mm = amax = None
        sub_1 = torch.ops.aten.sub.Tensor(sub, log);  sub = log = None
        exp_1 = torch.ops.aten.exp.default(sub_1);  sub_1 = None
        sum_4 = torch.ops.aten.sum.dim_IntList(mul, [1], True)
        mul_1 = torch.ops.aten.mul.Tensor(exp_1, sum_4);  exp_1 = sum_4 = None
        sub_2 = torch.ops.aten.sub.Tensor(mul, mul_1);  mul = mul_1 = None
        permute_1 = torch.ops.aten.permute.default(sub_2, [1, 0])
        mm_1 = torch.ops.aten.mm.default(permute_1, view);  permute_1 = view = None
        permute = torch.ops.aten.permute.default(primals_3, [1, 0]);  primals_3 = None
        permute_3 = torch.ops.aten.permute.default(permute, [1, 0]);  permute = None
        mm_2 = torch.ops.aten.mm.default(sub_2, permute_3);  sub_2 = permute_3 = None
        view_6 = torch.ops.aten.view.default(mm_2, [8, 256, 256]);  mm_2 = None
        eq = torch.ops.aten.eq.Scalar(primals_2, -1)
        unsqueeze_2 = torch.ops.aten.unsqueeze.default(eq, -1);  eq = None
        where_4 = torch.ops.aten.where.self(unsqueeze_2, full_default_1, view_6);  unsqueeze_2 = full_default_1 = view_6 = None
        full_default_6 = torch.ops.aten.full.default([8192, 256], 0, dtype = torch.float32, layout = torch.strided, device = device(type='cuda', index=0), pin_memory = False)
        index_put = torch.ops.aten.index_put.default(full_default_6, [primals_2], where_4, True);  full_default_6 = primals_2 = where_4 = None
        return (index_put, None, mm_1, None)

def load_args(reader):
    buf0 = reader.storage(None, 16384, device=device(type='cuda', index=0), dtype_hint=torch.int64)
    reader.tensor(buf0, (8, 256), dtype=torch.int64, is_leaf=True)  # primals_2
    buf1 = reader.storage(None, 8388608, device=device(type='cuda', index=0))
    reader.tensor(buf1, (8192, 256), is_leaf=True)  # primals_3
    buf2 = reader.storage(None, 16384, device=device(type='cuda', index=0), dtype_hint=torch.int64)
    reader.tensor(buf2, (8, 256), dtype=torch.int64, is_leaf=True)  # primals_4
    buf3 = reader.storage(None, 2097152, device=device(type='cuda', index=0))
    reader.tensor(buf3, (2048, 256), is_leaf=True)  # view
    buf4 = reader.storage(None, 67108864, device=device(type='cuda', index=0))
    reader.tensor(buf4, (2048, 8192), is_leaf=True)  # mm
    buf5 = reader.storage(None, 8192, device=device(type='cuda', index=0))
    reader.tensor(buf5, (2048, 1), is_leaf=True)  # amax
    buf6 = reader.storage(None, 8192, device=device(type='cuda', index=0))
    reader.tensor(buf6, (2048, 1), is_leaf=True)  # log
    buf7 = reader.storage(None, 4, device=device(type='cuda', index=0))
    reader.tensor(buf7, (), is_leaf=True)  # convert_element_type
    buf8 = reader.storage(None, 4, device=device(type='cuda', index=0))
    reader.tensor(buf8, (), is_leaf=True)  # tangents_1
load_args._version = 0
mod = Repro()
if __name__ == '__main__':
    from torch._dynamo.repro.after_aot import run_repro
    with torch.no_grad():
        run_repro(mod, load_args, accuracy=False, command='run', save_dir=None, tracing_mode='real', check_str=None)
        # To run it separately, do 
        # mod, args = run_repro(mod, load_args, accuracy=False, command='get_args', save_dir=None, tracing_mode='real', check_str=None)
        # mod(*args)