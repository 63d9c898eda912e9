class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "f32[512, 256]", arg1_1: "f32[512]", arg2_1: "f32[512, 256]"):
        # File: tests/gpu/plan_models.py:277 in forward, code: y = torch.relu(self.proj(x))
        permute: "f32[256, 512]" = torch.ops.aten.permute.default(arg0_1, [1, 0]);  arg0_1 = None
        addmm: "f32[512, 512]" = torch.ops.aten.addmm.default(arg1_1, arg2_1, permute);  arg1_1 = arg2_1 = permute = None
        relu: "f32[512, 512]" = torch.ops.aten.relu.default(addmm);  addmm = None
        return (relu,)
