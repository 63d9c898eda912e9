class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "f32[512, 256]", arg1_1: "f32[512]", arg2_1: "f32[512, 256]"):
        # File: tests/gpu/plan_models.py:299 in forward, code: return torch.softmax(self.proj(x), -1)
        convert_element_type: "bf16[512]" = torch.ops.prims.convert_element_type.default(arg1_1, torch.bfloat16);  arg1_1 = None
        convert_element_type_1: "bf16[512, 256]" = torch.ops.prims.convert_element_type.default(arg0_1, torch.bfloat16);  arg0_1 = None
        convert_element_type_2: "bf16[512, 256]" = torch.ops.prims.convert_element_type.default(arg2_1, torch.bfloat16);  arg2_1 = None
        permute: "bf16[256, 512]" = torch.ops.aten.permute.default(convert_element_type_1, [1, 0]);  convert_element_type_1 = None
        addmm: "bf16[512, 512]" = torch.ops.aten.addmm.default(convert_element_type, convert_element_type_2, permute);  convert_element_type = convert_element_type_2 = permute = None
        convert_element_type_6: "f32[512, 512]" = torch.ops.prims.convert_element_type.default(addmm, torch.float32);  addmm = None
        amax: "f32[512, 1]" = torch.ops.aten.amax.default(convert_element_type_6, [-1], True)
        sub: "f32[512, 512]" = torch.ops.aten.sub.Tensor(convert_element_type_6, amax);  convert_element_type_6 = amax = None
        exp: "f32[512, 512]" = torch.ops.aten.exp.default(sub);  sub = None
        sum_1: "f32[512, 1]" = torch.ops.aten.sum.dim_IntList(exp, [-1], True)
        div: "f32[512, 512]" = torch.ops.aten.div.Tensor(exp, sum_1);  exp = sum_1 = None
        return (div,)
