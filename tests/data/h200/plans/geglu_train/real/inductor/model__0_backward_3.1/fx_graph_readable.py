class GraphModule(torch.nn.Module):
    def forward(self, primals_1: "bf16[3072, 768]", primals_3: "bf16[3072, 768]", primals_4: "bf16[768, 3072]", view: "bf16[8192, 768]", mm: "bf16[8192, 3072]", mm_1: "bf16[8192, 3072]", view_4: "bf16[8192, 3072]", tangents_1: "bf16[64, 128, 768]"):
        # File: tests/gpu/plan_models.py:69 in forward, code: return self.down_proj(functional.gelu(self.gate_proj(x), approximate="tanh") * self.up_proj(x))
        view_6: "bf16[8192, 768]" = torch.ops.aten.view.default(tangents_1, [8192, 768]);  tangents_1 = None
        permute_3: "bf16[768, 8192]" = torch.ops.aten.permute.default(view_6, [1, 0])
        mm_3: "bf16[768, 3072]" = torch.ops.aten.mm.default(permute_3, view_4);  permute_3 = view_4 = None
        permute_2: "bf16[3072, 768]" = torch.ops.aten.permute.default(primals_4, [1, 0]);  primals_4 = None
        permute_5: "bf16[768, 3072]" = torch.ops.aten.permute.default(permute_2, [1, 0]);  permute_2 = None
        mm_4: "bf16[8192, 3072]" = torch.ops.aten.mm.default(view_6, permute_5);  view_6 = permute_5 = None
        view_7: "bf16[64, 128, 3072]" = torch.ops.aten.view.default(mm_4, [64, 128, 3072]);  mm_4 = None
        view_1: "bf16[64, 128, 3072]" = torch.ops.aten.view.default(mm, [64, 128, 3072]);  mm = None
        convert_element_type_2: "f32[64, 128, 3072]" = torch.ops.prims.convert_element_type.default(view_1, torch.float32);  view_1 = None
        mul: "f32[64, 128, 3072]" = torch.ops.aten.mul.Tensor(convert_element_type_2, convert_element_type_2)
        mul_1: "f32[64, 128, 3072]" = torch.ops.aten.mul.Tensor(mul, convert_element_type_2)
        mul_2: "f32[64, 128, 3072]" = torch.ops.aten.mul.Tensor(mul_1, 0.044715);  mul_1 = None
        add: "f32[64, 128, 3072]" = torch.ops.aten.add.Tensor(convert_element_type_2, mul_2);  mul_2 = None
        mul_3: "f32[64, 128, 3072]" = torch.ops.aten.mul.Tensor(add, 0.7978845608028654);  add = None
        mul_4: "f32[64, 128, 3072]" = torch.ops.aten.mul.Tensor(convert_element_type_2, 0.5);  convert_element_type_2 = None
        tanh: "f32[64, 128, 3072]" = torch.ops.aten.tanh.default(mul_3);  mul_3 = None
        add_1: "f32[64, 128, 3072]" = torch.ops.aten.add.Tensor(tanh, 1)
        mul_5: "f32[64, 128, 3072]" = torch.ops.aten.mul.Tensor(mul_4, add_1)
        convert_element_type_3: "bf16[64, 128, 3072]" = torch.ops.prims.convert_element_type.default(mul_5, torch.bfloat16);  mul_5 = None
        mul_7: "bf16[64, 128, 3072]" = torch.ops.aten.mul.Tensor(view_7, convert_element_type_3);  convert_element_type_3 = None
        view_3: "bf16[64, 128, 3072]" = torch.ops.aten.view.default(mm_1, [64, 128, 3072]);  mm_1 = None
        mul_8: "bf16[64, 128, 3072]" = torch.ops.aten.mul.Tensor(view_7, view_3);  view_7 = view_3 = None
        view_8: "bf16[8192, 3072]" = torch.ops.aten.view.default(mul_7, [8192, 3072]);  mul_7 = None
        permute_7: "bf16[3072, 8192]" = torch.ops.aten.permute.default(view_8, [1, 0])
        mm_5: "bf16[3072, 768]" = torch.ops.aten.mm.default(permute_7, view);  permute_7 = None
        permute_1: "bf16[768, 3072]" = torch.ops.aten.permute.default(primals_3, [1, 0]);  primals_3 = None
        permute_9: "bf16[3072, 768]" = torch.ops.aten.permute.default(permute_1, [1, 0]);  permute_1 = None
        mm_6: "bf16[8192, 768]" = torch.ops.aten.mm.default(view_8, permute_9);  view_8 = permute_9 = None
        view_9: "bf16[64, 128, 768]" = torch.ops.aten.view.default(mm_6, [64, 128, 768]);  mm_6 = None
        convert_element_type_16: "f32[64, 128, 3072]" = torch.ops.prims.convert_element_type.default(mul_8, torch.float32);  mul_8 = None
        mul_14: "f32[64, 128, 3072]" = torch.ops.aten.mul.Tensor(add_1, 0.5);  add_1 = None
        mul_15: "f32[64, 128, 3072]" = torch.ops.aten.mul.Tensor(tanh, tanh);  tanh = None
        sub: "f32[64, 128, 3072]" = torch.ops.aten.sub.Tensor(1, mul_15);  mul_15 = None
        mul_16: "f32[64, 128, 3072]" = torch.ops.aten.mul.Tensor(mul, 0.134145);  mul = None
        add_4: "f32[64, 128, 3072]" = torch.ops.aten.add.Tensor(mul_16, 1);  mul_16 = None
        mul_17: "f32[64, 128, 3072]" = torch.ops.aten.mul.Tensor(add_4, 0.7978845608028654);  add_4 = None
        mul_18: "f32[64, 128, 3072]" = torch.ops.aten.mul.Tensor(mul_4, sub);  mul_4 = sub = None
        mul_19: "f32[64, 128, 3072]" = torch.ops.aten.mul.Tensor(mul_18, mul_17);  mul_18 = mul_17 = None
        add_5: "f32[64, 128, 3072]" = torch.ops.aten.add.Tensor(mul_14, mul_19);  mul_14 = mul_19 = None
        mul_20: "f32[64, 128, 3072]" = torch.ops.aten.mul.Tensor(convert_element_type_16, add_5);  convert_element_type_16 = add_5 = None
        convert_element_type_18: "bf16[64, 128, 3072]" = torch.ops.prims.convert_element_type.default(mul_20, torch.bfloat16);  mul_20 = None
        view_10: "bf16[8192, 3072]" = torch.ops.aten.view.default(convert_element_type_18, [8192, 3072]);  convert_element_type_18 = None
        permute_11: "bf16[3072, 8192]" = torch.ops.aten.permute.default(view_10, [1, 0])
        mm_7: "bf16[3072, 768]" = torch.ops.aten.mm.default(permute_11, view);  permute_11 = view = None
        permute: "bf16[768, 3072]" = torch.ops.aten.permute.default(primals_1, [1, 0]);  primals_1 = None
        permute_13: "bf16[3072, 768]" = torch.ops.aten.permute.default(permute, [1, 0]);  permute = None
        mm_8: "bf16[8192, 768]" = torch.ops.aten.mm.default(view_10, permute_13);  view_10 = permute_13 = None
        view_11: "bf16[64, 128, 768]" = torch.ops.aten.view.default(mm_8, [64, 128, 768]);  mm_8 = None
        add_6: "bf16[64, 128, 768]" = torch.ops.aten.add.Tensor(view_9, view_11);  view_9 = view_11 = None
        return (mm_7, add_6, mm_5, mm_3)
