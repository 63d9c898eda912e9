class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "bf16[2, 16, 256, 64]", arg1_1: "bf16[2, 4, 256, 64]", arg2_1: "bf16[2, 4, 256, 64]", arg3_1: "b8[256, 256]"):
        # File: tests/gpu/plan_models.py:404 in forward, code: plain = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        _scaled_dot_product_cudnn_attention = torch.ops.aten._scaled_dot_product_cudnn_attention.default(arg0_1, arg1_1, arg2_1, None, False, 0.0, True)
        getitem: "bf16[2, 16, 256, 64]" = _scaled_dot_product_cudnn_attention[0];  _scaled_dot_product_cudnn_attention = None

        # File: tests/gpu/plan_models.py:405 in forward, code: masked = functional.scaled_dot_product_attention(q, k.repeat_interleave(4, 1), v.repeat_interleave(4, 1), mask)
        unsqueeze: "bf16[2, 4, 1, 256, 64]" = torch.ops.aten.unsqueeze.default(arg1_1, 2);  arg1_1 = None
        expand: "bf16[2, 4, 4, 256, 64]" = torch.ops.aten.expand.default(unsqueeze, [2, 4, 4, 256, 64]);  unsqueeze = None
        clone: "bf16[2, 4, 4, 256, 64]" = torch.ops.aten.clone.default(expand, memory_format = torch.contiguous_format);  expand = None
        view: "bf16[2, 16, 256, 64]" = torch.ops.aten.view.default(clone, [2, 16, 256, 64]);  clone = None
        unsqueeze_1: "bf16[2, 4, 1, 256, 64]" = torch.ops.aten.unsqueeze.default(arg2_1, 2);  arg2_1 = None
        expand_1: "bf16[2, 4, 4, 256, 64]" = torch.ops.aten.expand.default(unsqueeze_1, [2, 4, 4, 256, 64]);  unsqueeze_1 = None
        clone_1: "bf16[2, 4, 4, 256, 64]" = torch.ops.aten.clone.default(expand_1, memory_format = torch.contiguous_format);  expand_1 = None
        view_1: "bf16[2, 16, 256, 64]" = torch.ops.aten.view.default(clone_1, [2, 16, 256, 64]);  clone_1 = None
        full_default: "bf16[]" = torch.ops.aten.full.default([], -65536.0, dtype = torch.bfloat16, layout = torch.strided, device = device(type='cuda', index=0), pin_memory = False)
        full_default_1: "bf16[]" = torch.ops.aten.full.default([], 0.0, dtype = torch.bfloat16, layout = torch.strided, device = device(type='cuda', index=0), pin_memory = False)
        where: "bf16[256, 256]" = torch.ops.aten.where.self(arg3_1, full_default_1, full_default);  arg3_1 = full_default_1 = full_default = None
        _scaled_dot_product_cudnn_attention_1 = torch.ops.aten._scaled_dot_product_cudnn_attention.default(arg0_1, view, view_1, where, False);  arg0_1 = view = view_1 = where = None
        getitem_9: "bf16[2, 16, 256, 64]" = _scaled_dot_product_cudnn_attention_1[0];  _scaled_dot_product_cudnn_attention_1 = None

        # File: tests/gpu/plan_models.py:406 in forward, code: return plain + masked
        add: "bf16[2, 16, 256, 64]" = torch.ops.aten.add.Tensor(getitem, getitem_9);  getitem = getitem_9 = None
        return (add,)
