class GraphModule(torch.nn.Module):
    def forward(self, primals_1: "bf16[3072, 768]", primals_2: "bf16[64, 128, 768]", primals_3: "bf16[3072, 768]", primals_4: "bf16[768, 3072]"):
        # File: tests/gpu/plan_models.py:69 in forward, code: return self.down_proj(functional.gelu(self.gate_proj(x), approximate="tanh") * self.up_proj(x))
        permute: "bf16[768, 3072]" = torch.ops.aten.permute.default(primals_1, [1, 0])
        view: "bf16[8192, 768]" = torch.ops.aten.view.default(primals_2, [8192, 768]);  primals_2 = None
        mm: "bf16[8192, 3072]" = torch.ops.aten.mm.default(view, permute);  permute = None
        view_1: "bf16[64, 128, 3072]" = torch.ops.aten.view.default(mm, [64, 128, 3072])
        convert_element_type_2: "f32[64, 128, 3072]" = torch.ops.prims.convert_element_type.default(view_1, torch.float32);  view_1 = None
        mul: "f32[64, 128, 3072]" = torch.ops.aten.mul.Tensor(convert_element_type_2, convert_element_type_2)
        mul_1: "f32[64, 128, 3072]" = torch.ops.aten.mul.Tensor(mul, convert_element_type_2);  mul = None
        mul_2: "f32[64, 128, 3072]" = torch.ops.aten.mul.Tensor(mul_1, 0.044715);  mul_1 = None
        add: "f32[64, 128, 3072]" = torch.ops.aten.add.Tensor(convert_element_type_2, mul_2);  mul_2 = None
        mul_3: "f32[64, 128, 3072]" = torch.ops.aten.mul.Tensor(add, 0.7978845608028654);  add = None
        mul_4: "f32[64, 128, 3072]" = torch.ops.aten.mul.Tensor(convert_element_type_2, 0.5);  convert_element_type_2 = None
        tanh: "f32[64, 128, 3072]" = torch.ops.aten.tanh.default(mul_3);  mul_3 = None
        add_1: "f32[64, 128, 3072]" = torch.ops.aten.add.Tensor(tanh, 1);  tanh = None
        mul_5: "f32[64, 128, 3072]" = torch.ops.aten.mul.Tensor(mul_4, add_1);  mul_4 = add_1 = None
        convert_element_type_3: "bf16[64, 128, 3072]" = torch.ops.prims.convert_element_type.default(mul_5, torch.bfloat16);  mul_5 = None
        permute_1: "bf16[768, 3072]" = torch.ops.aten.permute.default(primals_3, [1, 0])
        mm_1: "bf16[8192, 3072]" = torch.ops.aten.mm.default(view, permute_1);  permute_1 = None
        view_3: "bf16[64, 128, 3072]" = torch.ops.aten.view.default(mm_1, [64, 128, 3072])
        mul_6: "bf16[64, 128, 3072]" = torch.ops.aten.mul.Tensor(convert_element_type_3, view_3);  convert_element_type_3 = view_3 = None
        permute_2: "bf16[3072, 768]" = torch.ops.aten.permute.default(primals_4, [1, 0])
        view_4: "bf16[8192, 3072]" = torch.ops.aten.view.default(mul_6, [8192, 3072]);  mul_6 = None
        mm_2: "bf16[8192, 768]" = torch.ops.aten.mm.default(view_4, permute_2);  permute_2 = None
        view_5: "bf16[64, 128, 768]" = torch.ops.aten.view.default(mm_2, [64, 128, 768]);  mm_2 = None
        return (view_5, primals_1, primals_3, primals_4, view, mm, mm_1, view_4)
