class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "f32[8, 256]", arg1_1: "f32[1024, 256]", arg2_1: "f32[8, 256, 256]"):
        # File: tests/gpu/plan_models.py:219 in forward, code: weight, expert = torch.softmax(self.gate(x).float(), -1).topk(2, -1)
        permute: "f32[256, 8]" = torch.ops.aten.permute.default(arg0_1, [1, 0]);  arg0_1 = None
        mm: "f32[1024, 8]" = torch.ops.aten.mm.default(arg1_1, permute);  permute = None
        amax: "f32[1024, 1]" = torch.ops.aten.amax.default(mm, [-1], True)
        sub: "f32[1024, 8]" = torch.ops.aten.sub.Tensor(mm, amax);  mm = amax = None
        exp: "f32[1024, 8]" = torch.ops.aten.exp.default(sub);  sub = None
        sum_1: "f32[1024, 1]" = torch.ops.aten.sum.dim_IntList(exp, [-1], True)
        div: "f32[1024, 8]" = torch.ops.aten.div.Tensor(exp, sum_1);  exp = sum_1 = None
        topk = torch.ops.aten.topk.default(div, 2);  div = None
        getitem: "f32[1024, 2]" = topk[0]
        getitem_1: "i64[1024, 2]" = topk[1];  topk = None

        # File: tests/gpu/plan_models.py:220 in forward, code: order = expert.flatten().argsort(stable=True)
        view: "i64[2048]" = torch.ops.aten.view.default(getitem_1, [2048]);  getitem_1 = None
        sort = torch.ops.aten.sort.stable(view, stable = True);  view = None
        getitem_3: "i64[2048]" = sort[1];  sort = None

        # File: tests/gpu/plan_models.py:221 in forward, code: rows = x[order // 2].view(self.weights.shape[0], -1, x.shape[-1])
        div_1: "i64[2048]" = torch.ops.aten.div.Tensor_mode(getitem_3, 2, rounding_mode = 'floor')
        index: "f32[2048, 256]" = torch.ops.aten.index.Tensor(arg1_1, [div_1]);  arg1_1 = div_1 = None
        view_1: "f32[8, 256, 256]" = torch.ops.aten.view.default(index, [8, -1, 256]);  index = None

        # File: tests/gpu/plan_models.py:222 in forward, code: y = torch.bmm(rows, self.weights).flatten(0, 1) * weight.flatten()[order, None].to(x.dtype)
        bmm: "f32[8, 256, 256]" = torch.ops.aten.bmm.default(view_1, arg2_1);  view_1 = arg2_1 = None
        view_2: "f32[2048, 256]" = torch.ops.aten.view.default(bmm, [2048, 256]);  bmm = None
        view_3: "f32[2048]" = torch.ops.aten.view.default(getitem, [2048]);  getitem = None
        unsqueeze: "f32[2048, 1]" = torch.ops.aten.unsqueeze.default(view_3, 1);  view_3 = None
        index_1: "f32[2048, 1]" = torch.ops.aten.index.Tensor(unsqueeze, [getitem_3]);  unsqueeze = None
        mul: "f32[2048, 256]" = torch.ops.aten.mul.Tensor(view_2, index_1);  view_2 = index_1 = None

        # File: tests/gpu/plan_models.py:223 in forward, code: return torch.zeros_like(x).index_add(0, order // 2, y)
        full_default: "f32[1024, 256]" = torch.ops.aten.full.default([1024, 256], 0, dtype = torch.float32, layout = torch.strided, device = device(type='cuda', index=0), pin_memory = False)
        div_2: "i64[2048]" = torch.ops.aten.div.Tensor_mode(getitem_3, 2, rounding_mode = 'floor');  getitem_3 = None
        index_put: "f32[1024, 256]" = torch.ops.aten.index_put.default(full_default, [div_2], mul, True);  full_default = div_2 = mul = None
        return (index_put,)
