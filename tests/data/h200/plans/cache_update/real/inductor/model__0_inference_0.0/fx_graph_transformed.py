class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "bf16[4, 8, 512, 64]", arg1_1: "bf16[4, 8, 1, 64]"):
        # File: tests/gpu/plan_models.py:351 in forward, code: self.cache[:, :, 17:18] = x
        slice_1: "bf16[4, 8, 1, 64]" = torch.ops.aten.slice.Tensor(arg0_1, 2, 17, 18)
        copy: "bf16[4, 8, 1, 64]" = torch.ops.aten.copy.default(slice_1, arg1_1);  slice_1 = arg1_1 = None

        # No stacktrace found for following nodes
        slice_tensor: "bf16[4, 8, 1, 64]" = torch.ops.aten.slice.Tensor(arg0_1, 2, 17, 18)
        copy__default: "bf16[4, 8, 1, 64]" = torch.ops.aten.copy_.default(slice_tensor, copy);  slice_tensor = copy = copy__default = None

        # File: tests/gpu/plan_models.py:352 in forward, code: return (self.cache * 0.5).mean(-1)
        mul: "bf16[4, 8, 512, 64]" = torch.ops.aten.mul.Tensor(arg0_1, 0.5);  arg0_1 = None
        mean: "bf16[4, 8, 512]" = torch.ops.aten.mean.dim(mul, [-1]);  mul = None
        return (mean,)
