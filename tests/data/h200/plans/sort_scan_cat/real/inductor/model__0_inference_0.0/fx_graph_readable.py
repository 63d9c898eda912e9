class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "f32[256, 512]", arg1_1: "i64[256, 64]"):
        # File: tests/gpu/plan_models.py:362 in forward, code: values, indices = torch.sort(x, dim=-1)
        sort = torch.ops.aten.sort.default(arg0_1)
        getitem: "f32[256, 512]" = sort[0]
        getitem_1: "i64[256, 512]" = sort[1];  sort = None

        # File: tests/gpu/plan_models.py:363 in forward, code: return torch.cat([values, x.cumsum(-1)], 1), torch.gather(x, 1, index), indices
        cumsum: "f32[256, 512]" = torch.ops.aten.cumsum.default(arg0_1, -1)
        cat: "f32[256, 1024]" = torch.ops.aten.cat.default([getitem, cumsum], 1);  getitem = cumsum = None
        gather: "f32[256, 64]" = torch.ops.aten.gather.default(arg0_1, 1, arg1_1);  arg0_1 = arg1_1 = None
        return (cat, gather, getitem_1)
