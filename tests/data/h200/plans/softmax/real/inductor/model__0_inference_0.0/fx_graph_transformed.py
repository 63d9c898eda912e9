class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "bf16[512, 32768]"):
        # File: tests/gpu/plan_models.py:98 in forward, code: return torch.softmax(x.float() * 0.1, -1).to(x.dtype)
        convert_element_type: "f32[512, 32768]" = torch.ops.prims.convert_element_type.default(arg0_1, torch.float32);  arg0_1 = None

        # No stacktrace found for following nodes
        mul_tensor: "f32[512, 32768]" = torch.ops.aten.mul.Tensor(convert_element_type, 1);  convert_element_type = None
        amax_default: "f32[512, 1]" = torch.ops.aten.amax.default(mul_tensor, [-1], True)
        sub_tensor: "f32[512, 32768]" = torch.ops.aten.sub.Tensor(mul_tensor, amax_default);  mul_tensor = amax_default = None
        mul_tensor_1: "f32[512, 32768]" = torch.ops.aten.mul.Tensor(sub_tensor, 0.1);  sub_tensor = None

        # File: tests/gpu/plan_models.py:98 in forward, code: return torch.softmax(x.float() * 0.1, -1).to(x.dtype)
        exp: "f32[512, 32768]" = torch.ops.aten.exp.default(mul_tensor_1);  mul_tensor_1 = None
        sum_1: "f32[512, 1]" = torch.ops.aten.sum.dim_IntList(exp, [-1], True)
        div: "f32[512, 32768]" = torch.ops.aten.div.Tensor(exp, sum_1);  exp = sum_1 = None
        convert_element_type_1: "bf16[512, 32768]" = torch.ops.prims.convert_element_type.default(div, torch.bfloat16);  div = None
        return (convert_element_type_1,)
