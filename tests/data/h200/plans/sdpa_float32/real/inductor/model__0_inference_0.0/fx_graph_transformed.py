class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "f32[4, 8, 256, 64]", arg1_1: "f32[4, 8, 256, 64]", arg2_1: "f32[4, 8, 256, 64]"):
        # File: tests/gpu/plan_models.py:188 in forward, code: return functional.scaled_dot_product_attention(q, k, v)
        _scaled_dot_product_efficient_attention = torch.ops.aten._scaled_dot_product_efficient_attention.default(arg0_1, arg1_1, arg2_1, None, False);  arg0_1 = arg1_1 = arg2_1 = None
        getitem: "f32[4, 8, 256, 64]" = _scaled_dot_product_efficient_attention[0];  _scaled_dot_product_efficient_attention = None
        return (getitem,)
