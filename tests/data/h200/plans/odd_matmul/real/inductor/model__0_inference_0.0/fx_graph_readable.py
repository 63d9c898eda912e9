class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "bf16[1023, 1001]", arg1_1: "bf16[1001, 2047]"):
        # File: tests/gpu/plan_models.py:337 in forward, code: return torch.relu(x @ w)
        constant_pad_nd_default: "bf16[1024, 1008]" = torch.ops.aten.constant_pad_nd.default(arg0_1, [0, 7, 0, 1]);  arg0_1 = None
        constant_pad_nd_default_1: "bf16[1008, 2048]" = torch.ops.aten.constant_pad_nd.default(arg1_1, [0, 1, 0, 7]);  arg1_1 = None
        mm_default: "bf16[1024, 2048]" = torch.ops.aten.mm.default(constant_pad_nd_default, constant_pad_nd_default_1);  constant_pad_nd_default = constant_pad_nd_default_1 = None
        slice_tensor: "bf16[1023, 2048]" = torch.ops.aten.slice.Tensor(mm_default, 0, 0, -1);  mm_default = None
        slice_tensor_1: "bf16[1023, 2047]" = torch.ops.aten.slice.Tensor(slice_tensor, 1, 0, -1);  slice_tensor = None
        relu: "bf16[1023, 2047]" = torch.ops.aten.relu.default(slice_tensor_1);  slice_tensor_1 = None
        return (relu,)
