
import os
os.environ['TORCH_CUDA_ARCH_LIST'] = '9.0a'
os.environ['TORCHINDUCTOR_CACHE_DIR'] = '/tmp/block_train-ktojv2xx/cache/tmpjlf_jqrc'
os.environ['TRITON_CACHE_DIR'] = '/tmp/block_train-ktojv2xx/cache/tmpjlf_jqrc/triton'
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



    def forward(self, primals_1, primals_2, primals_3, primals_4, primals_5, primals_6, primals_7, primals_8, primals_9, primals_10, primals_11, primals_12):
        convert_element_type = torch.ops.prims.convert_element_type.default(primals_3, torch.float32)
        var_mean = torch.ops.aten.var_mean.correction(convert_element_type, [2], correction = 0, keepdim = True)
        getitem = var_mean[0]
        getitem_1 = var_mean[1];  var_mean = None
        add = torch.ops.aten.add.Tensor(getitem, 1e-05);  getitem = None
        rsqrt = torch.ops.aten.rsqrt.default(add);  add = None
        sub = torch.ops.aten.sub.Tensor(convert_element_type, getitem_1);  convert_element_type = None
        mul = torch.ops.aten.mul.Tensor(sub, rsqrt);  sub = None
        mul_1 = torch.ops.aten.mul.Tensor(mul, primals_1);  mul = None
        add_1 = torch.ops.aten.add.Tensor(mul_1, primals_2);  mul_1 = primals_2 = None
        convert_element_type_1 = torch.ops.prims.convert_element_type.default(add_1, torch.bfloat16);  add_1 = None
        view = torch.ops.aten.view.default(convert_element_type_1, [2048, 512]);  convert_element_type_1 = None
        permute = torch.ops.aten.permute.default(primals_4, [1, 0])
        addmm = torch.ops.aten.addmm.default(primals_5, view, permute);  primals_5 = permute = None
        view_1 = torch.ops.aten.view.default(addmm, [8, 256, 1536]);  addmm = None
        split = torch.ops.aten.split.Tensor(view_1, 512, -1);  view_1 = None
        getitem_2 = split[0]
        getitem_3 = split[1]
        getitem_4 = split[2];  split = None
        view_2 = torch.ops.aten.view.default(getitem_2, [8, 256, 8, -1]);  getitem_2 = None
        permute_1 = torch.ops.aten.permute.default(view_2, [0, 2, 1, 3]);  view_2 = None
        view_3 = torch.ops.aten.view.default(getitem_3, [8, 256, 8, -1]);  getitem_3 = None
        permute_2 = torch.ops.aten.permute.default(view_3, [0, 2, 1, 3]);  view_3 = None
        view_4 = torch.ops.aten.view.default(getitem_4, [8, 256, 8, -1]);  getitem_4 = None
        permute_3 = torch.ops.aten.permute.default(view_4, [0, 2, 1, 3]);  view_4 = None
        _scaled_dot_product_cudnn_attention = torch.ops.aten._scaled_dot_product_cudnn_attention.default(permute_1, permute_2, permute_3, None, True, 0.0, True)
        getitem_5 = _scaled_dot_product_cudnn_attention[0]
        getitem_6 = _scaled_dot_product_cudnn_attention[1]
        getitem_11 = _scaled_dot_product_cudnn_attention[6]
        getitem_12 = _scaled_dot_product_cudnn_attention[7];  _scaled_dot_product_cudnn_attention = None
        permute_4 = torch.ops.aten.permute.default(getitem_5, [0, 2, 1, 3])
        view_5 = torch.ops.aten.view.default(permute_4, [8, 256, 512]);  permute_4 = None
        view_6 = torch.ops.aten.view.default(view_5, [2048, 512]);  view_5 = None
        permute_5 = torch.ops.aten.permute.default(primals_6, [1, 0])
        addmm_1 = torch.ops.aten.addmm.default(primals_7, view_6, permute_5);  primals_7 = view_6 = permute_5 = None
        view_7 = torch.ops.aten.view.default(addmm_1, [8, 256, 512])
        add_2 = torch.ops.aten.add.Tensor(primals_3, view_7);  view_7 = None
        convert_element_type_8 = torch.ops.prims.convert_element_type.default(add_2, torch.float32)
        var_mean_1 = torch.ops.aten.var_mean.correction(convert_element_type_8, [2], correction = 0, keepdim = True)
        getitem_14 = var_mean_1[0]
        getitem_15 = var_mean_1[1];  var_mean_1 = None
        add_3 = torch.ops.aten.add.Tensor(getitem_14, 1e-05);  getitem_14 = None
        rsqrt_1 = torch.ops.aten.rsqrt.default(add_3);  add_3 = None
        sub_1 = torch.ops.aten.sub.Tensor(convert_element_type_8, getitem_15);  convert_element_type_8 = None
        mul_2 = torch.ops.aten.mul.Tensor(sub_1, rsqrt_1);  sub_1 = None
        mul_3 = torch.ops.aten.mul.Tensor(mul_2, primals_8);  mul_2 = None
        add_4 = torch.ops.aten.add.Tensor(mul_3, primals_9);  mul_3 = primals_9 = None
        convert_element_type_9 = torch.ops.prims.convert_element_type.default(add_4, torch.bfloat16);  add_4 = None
        permute_6 = torch.ops.aten.permute.default(primals_10, [1, 0])
        view_8 = torch.ops.aten.view.default(convert_element_type_9, [2048, 512]);  convert_element_type_9 = None
        mm = torch.ops.aten.mm.default(view_8, permute_6);  permute_6 = None
        view_9 = torch.ops.aten.view.default(mm, [8, 256, 2048])
        convert_element_type_12 = torch.ops.prims.convert_element_type.default(view_9, torch.float32);  view_9 = None
        mul_4 = torch.ops.aten.mul.Tensor(convert_element_type_12, convert_element_type_12)
        mul_5 = torch.ops.aten.mul.Tensor(mul_4, convert_element_type_12);  mul_4 = None
        mul_6 = torch.ops.aten.mul.Tensor(mul_5, 0.044715);  mul_5 = None
        add_5 = torch.ops.aten.add.Tensor(convert_element_type_12, mul_6);  mul_6 = None
        mul_7 = torch.ops.aten.mul.Tensor(add_5, 0.7978845608028654);  add_5 = None
        mul_8 = torch.ops.aten.mul.Tensor(convert_element_type_12, 0.5);  convert_element_type_12 = None
        tanh = torch.ops.aten.tanh.default(mul_7);  mul_7 = None
        add_6 = torch.ops.aten.add.Tensor(tanh, 1);  tanh = None
        mul_9 = torch.ops.aten.mul.Tensor(mul_8, add_6);  mul_8 = add_6 = None
        convert_element_type_13 = torch.ops.prims.convert_element_type.default(mul_9, torch.bfloat16);  mul_9 = None
        permute_7 = torch.ops.aten.permute.default(primals_11, [1, 0])
        mm_1 = torch.ops.aten.mm.default(view_8, permute_7);  permute_7 = None
        view_11 = torch.ops.aten.view.default(mm_1, [8, 256, 2048])
        mul_10 = torch.ops.aten.mul.Tensor(convert_element_type_13, view_11);  convert_element_type_13 = view_11 = None
        permute_8 = torch.ops.aten.permute.default(primals_12, [1, 0])
        view_12 = torch.ops.aten.view.default(mul_10, [2048, 2048]);  mul_10 = None
        mm_2 = torch.ops.aten.mm.default(view_12, permute_8);  permute_8 = None
        view_13 = torch.ops.aten.view.default(mm_2, [8, 256, 512]);  mm_2 = None
        add_7 = torch.ops.aten.add.Tensor(add_2, view_13);  add_2 = view_13 = None
        return (add_7, primals_1, primals_3, primals_4, primals_6, primals_8, primals_10, primals_11, primals_12, getitem_1, rsqrt, view, permute_1, permute_2, permute_3, getitem_5, getitem_6, getitem_11, getitem_12, addmm_1, getitem_15, rsqrt_1, view_8, mm, mm_1, view_12)

def load_args(reader):
    buf0 = reader.storage(None, 1024, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf0, (512,), dtype=torch.bfloat16, is_leaf=True)  # primals_1
    buf1 = reader.storage(None, 1024, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf1, (512,), dtype=torch.bfloat16, is_leaf=True)  # primals_2
    buf2 = reader.storage(None, 2097152, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf2, (8, 256, 512), dtype=torch.bfloat16, is_leaf=True)  # primals_3
    buf3 = reader.storage(None, 1572864, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf3, (1536, 512), dtype=torch.bfloat16, is_leaf=True)  # primals_4
    buf4 = reader.storage(None, 3072, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf4, (1536,), dtype=torch.bfloat16, is_leaf=True)  # primals_5
    buf5 = reader.storage(None, 524288, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf5, (512, 512), dtype=torch.bfloat16, is_leaf=True)  # primals_6
    buf6 = reader.storage(None, 1024, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf6, (512,), dtype=torch.bfloat16, is_leaf=True)  # primals_7
    buf7 = reader.storage(None, 1024, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf7, (512,), dtype=torch.bfloat16, is_leaf=True)  # primals_8
    buf8 = reader.storage(None, 1024, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf8, (512,), dtype=torch.bfloat16, is_leaf=True)  # primals_9
    buf9 = reader.storage(None, 2097152, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf9, (2048, 512), dtype=torch.bfloat16, is_leaf=True)  # primals_10
    buf10 = reader.storage(None, 2097152, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf10, (2048, 512), dtype=torch.bfloat16, is_leaf=True)  # primals_11
    buf11 = reader.storage(None, 2097152, device=device(type='cuda', index=0), dtype_hint=torch.bfloat16)
    reader.tensor(buf11, (512, 2048), dtype=torch.bfloat16, is_leaf=True)  # primals_12
load_args._version = 0
mod = Repro()
if __name__ == '__main__':
    from torch._dynamo.repro.after_aot import run_repro
    with torch.no_grad():
        run_repro(mod, load_args, accuracy=False, command='run', save_dir=None, tracing_mode='real', check_str=None)
        # To run it separately, do 
        # mod, args = run_repro(mod, load_args, accuracy=False, command='get_args', save_dir=None, tracing_mode='real', check_str=None)
        # mod(*args)