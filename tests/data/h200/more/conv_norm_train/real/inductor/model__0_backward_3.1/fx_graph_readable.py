class GraphModule(torch.nn.Module):
    def forward(self, primals_1: "f32[32, 16, 3, 3]", primals_3: "f32[8, 16, 64, 64]", primals_7: "f32[32]", convolution: "f32[8, 32, 64, 64]", squeeze_1: "f32[32]", le: "b8[8, 32, 64, 64]", unsqueeze_6: "f32[1, 32, 1, 1]", tangents_1: "f32[8, 32, 64, 64]"):
        # File: tests/gpu/plan_models.py:137 in forward, code: return torch.relu(self.norm(self.conv(x)))
        full_default: "f32[]" = torch.ops.aten.full.default([], 0.0, dtype = torch.float32, layout = torch.strided, device = device(type='cuda', index=0), pin_memory = False)
        where: "f32[8, 32, 64, 64]" = torch.ops.aten.where.self(le, full_default, tangents_1);  le = full_default = tangents_1 = None
        sum_1: "f32[32]" = torch.ops.aten.sum.dim_IntList(where, [0, 2, 3])
        sub_1: "f32[8, 32, 64, 64]" = torch.ops.aten.sub.Tensor(convolution, unsqueeze_6);  convolution = unsqueeze_6 = None
        mul_7: "f32[8, 32, 64, 64]" = torch.ops.aten.mul.Tensor(where, sub_1)
        sum_2: "f32[32]" = torch.ops.aten.sum.dim_IntList(mul_7, [0, 2, 3]);  mul_7 = None
        mul_8: "f32[32]" = torch.ops.aten.mul.Tensor(sum_1, 3.0517578125e-05)
        unsqueeze_7: "f32[1, 32]" = torch.ops.aten.unsqueeze.default(mul_8, 0);  mul_8 = None
        unsqueeze_8: "f32[1, 32, 1]" = torch.ops.aten.unsqueeze.default(unsqueeze_7, 2);  unsqueeze_7 = None
        unsqueeze_9: "f32[1, 32, 1, 1]" = torch.ops.aten.unsqueeze.default(unsqueeze_8, 3);  unsqueeze_8 = None
        mul_9: "f32[32]" = torch.ops.aten.mul.Tensor(sum_2, 3.0517578125e-05)
        mul_10: "f32[32]" = torch.ops.aten.mul.Tensor(squeeze_1, squeeze_1)
        mul_11: "f32[32]" = torch.ops.aten.mul.Tensor(mul_9, mul_10);  mul_9 = mul_10 = None
        unsqueeze_10: "f32[1, 32]" = torch.ops.aten.unsqueeze.default(mul_11, 0);  mul_11 = None
        unsqueeze_11: "f32[1, 32, 1]" = torch.ops.aten.unsqueeze.default(unsqueeze_10, 2);  unsqueeze_10 = None
        unsqueeze_12: "f32[1, 32, 1, 1]" = torch.ops.aten.unsqueeze.default(unsqueeze_11, 3);  unsqueeze_11 = None
        mul_12: "f32[32]" = torch.ops.aten.mul.Tensor(squeeze_1, primals_7);  primals_7 = None
        unsqueeze_13: "f32[1, 32]" = torch.ops.aten.unsqueeze.default(mul_12, 0);  mul_12 = None
        unsqueeze_14: "f32[1, 32, 1]" = torch.ops.aten.unsqueeze.default(unsqueeze_13, 2);  unsqueeze_13 = None
        unsqueeze_15: "f32[1, 32, 1, 1]" = torch.ops.aten.unsqueeze.default(unsqueeze_14, 3);  unsqueeze_14 = None
        mul_13: "f32[8, 32, 64, 64]" = torch.ops.aten.mul.Tensor(sub_1, unsqueeze_12);  sub_1 = unsqueeze_12 = None
        sub_3: "f32[8, 32, 64, 64]" = torch.ops.aten.sub.Tensor(where, mul_13);  where = mul_13 = None
        sub_4: "f32[8, 32, 64, 64]" = torch.ops.aten.sub.Tensor(sub_3, unsqueeze_9);  sub_3 = unsqueeze_9 = None
        mul_14: "f32[8, 32, 64, 64]" = torch.ops.aten.mul.Tensor(sub_4, unsqueeze_15);  sub_4 = unsqueeze_15 = None
        mul_15: "f32[32]" = torch.ops.aten.mul.Tensor(sum_2, squeeze_1);  sum_2 = squeeze_1 = None
        sum_3: "f32[32]" = torch.ops.aten.sum.dim_IntList(mul_14, [0, 2, 3])
        convolution_backward = torch.ops.aten.convolution_backward.default(mul_14, primals_3, primals_1, [32], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, False]);  mul_14 = primals_3 = primals_1 = None
        getitem_2: "f32[8, 16, 64, 64]" = convolution_backward[0]
        getitem_3: "f32[32, 16, 3, 3]" = convolution_backward[1];  convolution_backward = None
        return (getitem_3, sum_3, getitem_2, None, None, None, mul_15, sum_1)
