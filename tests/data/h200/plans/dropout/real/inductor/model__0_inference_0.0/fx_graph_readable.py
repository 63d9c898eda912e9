class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "f32[1024, 1024]"):
        # File: tests/gpu/plan_models.py:147 in forward, code: return functional.dropout(torch.relu(x), 0.1, True)
        relu: "f32[1024, 1024]" = torch.ops.aten.relu.default(arg0_1);  arg0_1 = None

        # No stacktrace found for following nodes
        inductor_seeds_default: "i64[1]" = torch.ops.prims.inductor_seeds.default(1, device(type='cuda', index=0))

        # File: tests/gpu/plan_models.py:147 in forward, code: return functional.dropout(torch.relu(x), 0.1, True)
        inductor_lookup_seed_default: "i64[]" = torch.ops.prims.inductor_lookup_seed.default(inductor_seeds_default, 0);  inductor_seeds_default = None
        inductor_random_default: "f32[1024, 1024]" = torch.ops.prims.inductor_random.default([1024, 1024], inductor_lookup_seed_default, 'rand');  inductor_lookup_seed_default = None
        gt: "b8[1024, 1024]" = torch.ops.aten.gt.Scalar(inductor_random_default, 0.1);  inductor_random_default = None
        mul: "f32[1024, 1024]" = torch.ops.aten.mul.Tensor(gt, relu);  gt = relu = None
        mul_1: "f32[1024, 1024]" = torch.ops.aten.mul.Tensor(mul, 1.1111111111111112);  mul = None
        return (mul_1,)
