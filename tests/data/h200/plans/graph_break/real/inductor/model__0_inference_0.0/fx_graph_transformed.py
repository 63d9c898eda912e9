class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "f32[512, 256]", arg1_1: "f32[512]", arg2_1: "f32[512, 256]"):
        # File: tests/gpu/plan_models.py:277 in forward, code: y = torch.relu(self.proj(x))
        permute: "f32[256, 512]" = torch.ops.aten.permute.default(arg0_1, [1, 0]);  arg0_1 = None
        mm_default: "f32[512, 512]" = torch.ops.aten.mm.default(arg2_1, permute);  arg2_1 = permute = None
        add_tensor: "f32[512, 512]" = torch.ops.aten.add.Tensor(arg1_1, mm_default);  arg1_1 = mm_default = None
        relu: "f32[512, 512]" = torch.ops.aten.relu.default(add_tensor);  add_tensor = None
        return (relu,)
