class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "f32[2048, 3072]"):
        # File: tests/gpu/plan_models.py:243 in forward, code: y = (x * 2).transpose(0, 1)
        mul: "f32[2048, 3072]" = torch.ops.aten.mul.Tensor(arg0_1, 2);  arg0_1 = None
        permute: "f32[3072, 2048]" = torch.ops.aten.permute.default(mul, [1, 0]);  mul = None

        # File: tests/gpu/plan_models.py:244 in forward, code: return y.sum(dim=0), (y + 1).amax(dim=1)
        sum_1: "f32[2048]" = torch.ops.aten.sum.dim_IntList(permute, [0])
        add: "f32[3072, 2048]" = torch.ops.aten.add.Tensor(permute, 1);  permute = None
        amax: "f32[3072]" = torch.ops.aten.amax.default(add, [1]);  add = None
        return (sum_1, amax)
