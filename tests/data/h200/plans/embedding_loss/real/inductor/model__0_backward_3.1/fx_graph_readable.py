class GraphModule(torch.nn.Module):
    def forward(self, primals_2: "i64[8, 256]", primals_3: "f32[8192, 256]", primals_4: "i64[8, 256]", view: "f32[2048, 256]", mm: "f32[2048, 8192]", amax: "f32[2048, 1]", log: "f32[2048, 1]", convert_element_type: "f32[]", tangents_1: "f32[]"):
        # File: tests/gpu/plan_models.py:203 in forward, code: return functional.cross_entropy(self.head(self.embedding(tokens)).float().flatten(0, 1), targets.flatten())
        div_1: "f32[]" = torch.ops.aten.div.Tensor(tangents_1, convert_element_type);  tangents_1 = convert_element_type = None
        view_3: "i64[2048]" = torch.ops.aten.view.default(primals_4, [2048]);  primals_4 = None
        unsqueeze_1: "i64[2048, 1]" = torch.ops.aten.unsqueeze.default(view_3, 1);  view_3 = None
        ne_3: "b8[2048, 1]" = torch.ops.aten.ne.Scalar(unsqueeze_1, -100)
        full_default: "i64[]" = torch.ops.aten.full.default([], 0, dtype = torch.int64, layout = torch.strided, device = device(type='cuda', index=0), pin_memory = False)
        where_2: "i64[2048, 1]" = torch.ops.aten.where.self(ne_3, unsqueeze_1, full_default);  unsqueeze_1 = full_default = None

        # No stacktrace found for following nodes
        iota_default: "i64[8192]" = torch.ops.prims.iota.default(8192, start = 0, step = 1, dtype = torch.int64, device = device(type='cuda', index=0), requires_grad = False)
        view_default: "i64[1, 8192]" = torch.ops.aten.view.default(iota_default, [1, 8192]);  iota_default = None
        expand_default: "i64[2048, 8192]" = torch.ops.aten.expand.default(where_2, [2048, 8192]);  where_2 = None
        eq_tensor: "b8[2048, 8192]" = torch.ops.aten.eq.Tensor(expand_default, view_default);  expand_default = view_default = None
        scalar_tensor_default: "f32[]" = torch.ops.aten.scalar_tensor.default(0, dtype = torch.float32, layout = torch.strided, device = device(type='cuda', index=0))
        scalar_tensor_default_1: "f32[]" = torch.ops.aten.scalar_tensor.default(-1.0, dtype = torch.float32, layout = torch.strided, device = device(type='cuda', index=0))
        where_self: "f32[2048, 8192]" = torch.ops.aten.where.self(eq_tensor, scalar_tensor_default_1, scalar_tensor_default);  eq_tensor = scalar_tensor_default_1 = scalar_tensor_default = None

        # File: tests/gpu/plan_models.py:203 in forward, code: return functional.cross_entropy(self.head(self.embedding(tokens)).float().flatten(0, 1), targets.flatten())
        full_default_1: "f32[]" = torch.ops.aten.full.default([], 0.0, dtype = torch.float32, layout = torch.strided, device = device(type='cuda', index=0), pin_memory = False)
        where_3: "f32[2048, 1]" = torch.ops.aten.where.self(ne_3, div_1, full_default_1);  ne_3 = div_1 = None
        mul: "f32[2048, 8192]" = torch.ops.aten.mul.Tensor(where_self, where_3);  where_self = where_3 = None
        sub: "f32[2048, 8192]" = torch.ops.aten.sub.Tensor(mm, amax);  mm = amax = None
        sub_1: "f32[2048, 8192]" = torch.ops.aten.sub.Tensor(sub, log);  sub = log = None
        exp_1: "f32[2048, 8192]" = torch.ops.aten.exp.default(sub_1);  sub_1 = None
        sum_4: "f32[2048, 1]" = torch.ops.aten.sum.dim_IntList(mul, [1], True)
        mul_1: "f32[2048, 8192]" = torch.ops.aten.mul.Tensor(exp_1, sum_4);  exp_1 = sum_4 = None
        sub_2: "f32[2048, 8192]" = torch.ops.aten.sub.Tensor(mul, mul_1);  mul = mul_1 = None
        permute_1: "f32[8192, 2048]" = torch.ops.aten.permute.default(sub_2, [1, 0])
        mm_1: "f32[8192, 256]" = torch.ops.aten.mm.default(permute_1, view);  permute_1 = view = None
        permute: "f32[256, 8192]" = torch.ops.aten.permute.default(primals_3, [1, 0]);  primals_3 = None
        permute_3: "f32[8192, 256]" = torch.ops.aten.permute.default(permute, [1, 0]);  permute = None
        mm_2: "f32[2048, 256]" = torch.ops.aten.mm.default(sub_2, permute_3);  sub_2 = permute_3 = None
        view_6: "f32[8, 256, 256]" = torch.ops.aten.view.default(mm_2, [8, 256, 256]);  mm_2 = None
        eq: "b8[8, 256]" = torch.ops.aten.eq.Scalar(primals_2, -1)
        unsqueeze_2: "b8[8, 256, 1]" = torch.ops.aten.unsqueeze.default(eq, -1);  eq = None
        where_4: "f32[8, 256, 256]" = torch.ops.aten.where.self(unsqueeze_2, full_default_1, view_6);  unsqueeze_2 = full_default_1 = view_6 = None
        full_default_6: "f32[8192, 256]" = torch.ops.aten.full.default([8192, 256], 0, dtype = torch.float32, layout = torch.strided, device = device(type='cuda', index=0), pin_memory = False)
        index_put: "f32[8192, 256]" = torch.ops.aten.index_put.default(full_default_6, [primals_2], where_4, True);  full_default_6 = primals_2 = where_4 = None
        return (index_put, None, mm_1, None)
