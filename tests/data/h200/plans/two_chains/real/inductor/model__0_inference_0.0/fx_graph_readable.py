class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "f32[2048, 2048]", arg1_1: "f32[2048, 2048]"):
        # File: tests/gpu/plan_models.py:233 in forward, code: return torch.sin(x * 2 + 1).relu(), torch.cos(y * 3 - 1).sigmoid()
        mul: "f32[2048, 2048]" = torch.ops.aten.mul.Tensor(arg0_1, 2);  arg0_1 = None
        add: "f32[2048, 2048]" = torch.ops.aten.add.Tensor(mul, 1);  mul = None
        sin: "f32[2048, 2048]" = torch.ops.aten.sin.default(add);  add = None
        relu: "f32[2048, 2048]" = torch.ops.aten.relu.default(sin);  sin = None
        mul_1: "f32[2048, 2048]" = torch.ops.aten.mul.Tensor(arg1_1, 3);  arg1_1 = None
        sub: "f32[2048, 2048]" = torch.ops.aten.sub.Tensor(mul_1, 1);  mul_1 = None
        cos: "f32[2048, 2048]" = torch.ops.aten.cos.default(sub);  sub = None
        sigmoid: "f32[2048, 2048]" = torch.ops.aten.sigmoid.default(cos);  cos = None
        return (relu, sigmoid)
