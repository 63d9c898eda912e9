class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "bf16[8, 12, 256, 64]", arg1_1: "bf16[8, 12, 256, 64]", arg2_1: "bf16[8, 12, 256, 64]"):
        # File: tests/gpu/plan_models.py:157 in forward, code: scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        permute: "bf16[8, 12, 64, 256]" = torch.ops.aten.permute.default(arg0_1, [0, 1, 3, 2]);  arg0_1 = None
        expand: "bf16[8, 12, 256, 64]" = torch.ops.aten.expand.default(arg1_1, [8, 12, 256, 64]);  arg1_1 = None
        view: "bf16[96, 256, 64]" = torch.ops.aten.view.default(expand, [96, 256, 64]);  expand = None
        expand_1: "bf16[8, 12, 64, 256]" = torch.ops.aten.expand.default(permute, [8, 12, 64, 256]);  permute = None
        view_1: "bf16[96, 64, 256]" = torch.ops.aten.view.default(expand_1, [96, 64, 256]);  expand_1 = None
        bmm: "bf16[96, 256, 256]" = torch.ops.aten.bmm.default(view, view_1);  view = view_1 = None
        view_2: "bf16[8, 12, 256, 256]" = torch.ops.aten.view.default(bmm, [8, 12, 256, 256]);  bmm = None
        mul: "bf16[8, 12, 256, 256]" = torch.ops.aten.mul.Tensor(view_2, 0.125);  view_2 = None

        # File: tests/gpu/plan_models.py:158 in forward, code: mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).tril()
        full_default: "b8[256, 256]" = torch.ops.aten.full.default([256, 256], True, dtype = torch.bool, layout = torch.strided, device = device(type='cuda', index=0), pin_memory = False)
        iota: "i64[256]" = torch.ops.prims.iota.default(256, start = 0, step = 1, dtype = torch.int64, device = device(type='cuda', index=0), requires_grad = False)
        unsqueeze: "i64[1, 256]" = torch.ops.aten.unsqueeze.default(iota, -2);  iota = None
        iota_1: "i64[256]" = torch.ops.prims.iota.default(256, start = 0, step = 1, dtype = torch.int64, device = device(type='cuda', index=0), requires_grad = False)
        unsqueeze_1: "i64[256, 1]" = torch.ops.aten.unsqueeze.default(iota_1, -1);  iota_1 = None
        sub: "i64[256, 256]" = torch.ops.aten.sub.Tensor(unsqueeze, unsqueeze_1);  unsqueeze = unsqueeze_1 = None
        le: "b8[256, 256]" = torch.ops.aten.le.Scalar(sub, 0);  sub = None
        logical_and: "b8[256, 256]" = torch.ops.aten.logical_and.default(le, full_default);  le = full_default = None

        # File: tests/gpu/plan_models.py:159 in forward, code: return torch.softmax(scores.masked_fill(~mask, float("-inf")), -1) @ v
        bitwise_not: "b8[256, 256]" = torch.ops.aten.bitwise_not.default(logical_and);  logical_and = None
        full_default_1: "bf16[]" = torch.ops.aten.full.default([], -inf, dtype = torch.bfloat16, layout = torch.strided, device = device(type='cuda', index=0), pin_memory = False)
        where: "bf16[8, 12, 256, 256]" = torch.ops.aten.where.self(bitwise_not, full_default_1, mul);  bitwise_not = full_default_1 = mul = None
        convert_element_type_2: "f32[8, 12, 256, 256]" = torch.ops.prims.convert_element_type.default(where, torch.float32);  where = None
        amax: "f32[8, 12, 256, 1]" = torch.ops.aten.amax.default(convert_element_type_2, [-1], True)
        sub_1: "f32[8, 12, 256, 256]" = torch.ops.aten.sub.Tensor(convert_element_type_2, amax);  convert_element_type_2 = amax = None
        exp: "f32[8, 12, 256, 256]" = torch.ops.aten.exp.default(sub_1);  sub_1 = None
        sum_1: "f32[8, 12, 256, 1]" = torch.ops.aten.sum.dim_IntList(exp, [-1], True)
        div: "f32[8, 12, 256, 256]" = torch.ops.aten.div.Tensor(exp, sum_1);  exp = sum_1 = None
        convert_element_type_3: "bf16[8, 12, 256, 256]" = torch.ops.prims.convert_element_type.default(div, torch.bfloat16);  div = None
        expand_2: "bf16[8, 12, 256, 256]" = torch.ops.aten.expand.default(convert_element_type_3, [8, 12, 256, 256]);  convert_element_type_3 = None
        view_3: "bf16[96, 256, 256]" = torch.ops.aten.view.default(expand_2, [96, 256, 256]);  expand_2 = None
        expand_3: "bf16[8, 12, 256, 64]" = torch.ops.aten.expand.default(arg2_1, [8, 12, 256, 64]);  arg2_1 = None
        view_4: "bf16[96, 256, 64]" = torch.ops.aten.view.default(expand_3, [96, 256, 64]);  expand_3 = None
        bmm_1: "bf16[96, 256, 64]" = torch.ops.aten.bmm.default(view_3, view_4);  view_3 = view_4 = None
        view_5: "bf16[8, 12, 256, 64]" = torch.ops.aten.view.default(bmm_1, [8, 12, 256, 64]);  bmm_1 = None
        return (view_5,)
