class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "bf16[1024, 256]", arg1_1: "Sym(s77)", arg2_1: "Sym(s27)", arg3_1: "bf16[s77, s27, 256]", arg4_1: "bf16[1024, 256]", arg5_1: "bf16[256, 1024]"):
        # File: tests/gpu/plan_models.py:69 in forward, code: return self.down_proj(functional.gelu(self.gate_proj(x), approximate="tanh") * self.up_proj(x))
        mul: "Sym(s27*s77)" = arg1_1 * arg2_1
        view: "bf16[s27*s77, 256]" = torch.ops.aten.reshape.default(arg3_1, [mul, 256])
        permute: "bf16[256, 1024]" = torch.ops.aten.permute.default(arg0_1, [1, 0]);  arg0_1 = None
        mm: "bf16[s27*s77, 1024]" = torch.ops.aten.mm.default(view, permute);  view = permute = None
        view_1: "bf16[s77, s27, 1024]" = torch.ops.aten.reshape.default(mm, [arg1_1, arg2_1, 1024]);  mm = None
        convert_element_type_2: "f32[s77, s27, 1024]" = torch.ops.prims.convert_element_type.default(view_1, torch.float32);  view_1 = None
        mul_25: "f32[s77, s27, 1024]" = torch.ops.aten.mul.Tensor(convert_element_type_2, 0.5)
        mul_21: "f32[s77, s27, 1024]" = torch.ops.aten.mul.Tensor(convert_element_type_2, convert_element_type_2)
        mul_22: "f32[s77, s27, 1024]" = torch.ops.aten.mul.Tensor(mul_21, convert_element_type_2);  mul_21 = None
        mul_23: "f32[s77, s27, 1024]" = torch.ops.aten.mul.Tensor(mul_22, 0.044715);  mul_22 = None
        add_10: "f32[s77, s27, 1024]" = torch.ops.aten.add.Tensor(convert_element_type_2, mul_23);  convert_element_type_2 = mul_23 = None
        mul_24: "f32[s77, s27, 1024]" = torch.ops.aten.mul.Tensor(add_10, 0.7978845608028654);  add_10 = None
        tanh: "f32[s77, s27, 1024]" = torch.ops.aten.tanh.default(mul_24);  mul_24 = None
        add_11: "f32[s77, s27, 1024]" = torch.ops.aten.add.Tensor(tanh, 1);  tanh = None
        mul_26: "f32[s77, s27, 1024]" = torch.ops.aten.mul.Tensor(mul_25, add_11);  mul_25 = add_11 = None
        convert_element_type_3: "bf16[s77, s27, 1024]" = torch.ops.prims.convert_element_type.default(mul_26, torch.bfloat16);  mul_26 = None
        view_2: "bf16[s27*s77, 256]" = torch.ops.aten.reshape.default(arg3_1, [mul, 256]);  arg3_1 = None
        permute_1: "bf16[256, 1024]" = torch.ops.aten.permute.default(arg4_1, [1, 0]);  arg4_1 = None
        mm_1: "bf16[s27*s77, 1024]" = torch.ops.aten.mm.default(view_2, permute_1);  view_2 = permute_1 = None
        view_3: "bf16[s77, s27, 1024]" = torch.ops.aten.reshape.default(mm_1, [arg1_1, arg2_1, 1024]);  mm_1 = None
        mul_45: "bf16[s77, s27, 1024]" = torch.ops.aten.mul.Tensor(convert_element_type_3, view_3);  convert_element_type_3 = view_3 = None
        view_4: "bf16[s27*s77, 1024]" = torch.ops.aten.reshape.default(mul_45, [mul, 1024]);  mul_45 = mul = None
        permute_2: "bf16[1024, 256]" = torch.ops.aten.permute.default(arg5_1, [1, 0]);  arg5_1 = None
        mm_2: "bf16[s27*s77, 256]" = torch.ops.aten.mm.default(view_4, permute_2);  view_4 = permute_2 = None
        view_5: "bf16[s77, s27, 256]" = torch.ops.aten.reshape.default(mm_2, [arg1_1, arg2_1, 256]);  mm_2 = arg1_1 = arg2_1 = None
        return (view_5,)
