class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "bf16[512]", arg1_1: "bf16[512]", arg2_1: "bf16[8, 256, 512]", arg3_1: "bf16[1536, 512]", arg4_1: "bf16[1536]", arg5_1: "bf16[512, 512]", arg6_1: "bf16[512]", arg7_1: "bf16[512]", arg8_1: "bf16[512]", arg9_1: "bf16[2048, 512]", arg10_1: "bf16[2048, 512]", arg11_1: "bf16[512, 2048]"):
        # File: tests/gpu/plan_models.py:321 in forward, code: x = x + self.attention(self.norm1(x))
        convert_element_type: "f32[8, 256, 512]" = torch.ops.prims.convert_element_type.default(arg2_1, torch.float32)
        var_mean = torch.ops.aten.var_mean.correction(convert_element_type, [2], correction = 0, keepdim = True)
        getitem: "f32[8, 256, 1]" = var_mean[0]
        getitem_1: "f32[8, 256, 1]" = var_mean[1];  var_mean = None
        sub: "f32[8, 256, 512]" = torch.ops.aten.sub.Tensor(convert_element_type, getitem_1);  convert_element_type = getitem_1 = None
        add: "f32[8, 256, 1]" = torch.ops.aten.add.Tensor(getitem, 1e-05);  getitem = None
        rsqrt: "f32[8, 256, 1]" = torch.ops.aten.rsqrt.default(add);  add = None
        mul: "f32[8, 256, 512]" = torch.ops.aten.mul.Tensor(sub, rsqrt);  sub = rsqrt = None
        mul_1: "f32[8, 256, 512]" = torch.ops.aten.mul.Tensor(mul, arg0_1);  mul = arg0_1 = None
        add_1: "f32[8, 256, 512]" = torch.ops.aten.add.Tensor(mul_1, arg1_1);  mul_1 = arg1_1 = None
        convert_element_type_1: "bf16[8, 256, 512]" = torch.ops.prims.convert_element_type.default(add_1, torch.bfloat16);  add_1 = None

        # File: tests/gpu/plan_models.py:176 in forward, code: q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        view: "bf16[2048, 512]" = torch.ops.aten.reshape.default(convert_element_type_1, [2048, 512]);  convert_element_type_1 = None
        permute: "bf16[512, 1536]" = torch.ops.aten.permute.default(arg3_1, [1, 0]);  arg3_1 = None
        addmm: "bf16[2048, 1536]" = torch.ops.aten.addmm.default(arg4_1, view, permute);  arg4_1 = view = permute = None
        view_1: "bf16[8, 256, 1536]" = torch.ops.aten.reshape.default(addmm, [8, 256, 1536]);  addmm = None
        split = torch.ops.aten.split.Tensor(view_1, 512, -1);  view_1 = None
        getitem_2: "bf16[8, 256, 512]" = split[0]
        getitem_3: "bf16[8, 256, 512]" = split[1]
        getitem_4: "bf16[8, 256, 512]" = split[2];  split = None

        # File: tests/gpu/plan_models.py:176 in <genexpr>, code: q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        view_2: "bf16[8, 256, 8, 64]" = torch.ops.aten.reshape.default(getitem_2, [8, 256, 8, -1]);  getitem_2 = None
        permute_1: "bf16[8, 8, 256, 64]" = torch.ops.aten.permute.default(view_2, [0, 2, 1, 3]);  view_2 = None
        view_3: "bf16[8, 256, 8, 64]" = torch.ops.aten.reshape.default(getitem_3, [8, 256, 8, -1]);  getitem_3 = None
        permute_2: "bf16[8, 8, 256, 64]" = torch.ops.aten.permute.default(view_3, [0, 2, 1, 3]);  view_3 = None
        view_4: "bf16[8, 256, 8, 64]" = torch.ops.aten.reshape.default(getitem_4, [8, 256, 8, -1]);  getitem_4 = None
        permute_3: "bf16[8, 8, 256, 64]" = torch.ops.aten.permute.default(view_4, [0, 2, 1, 3]);  view_4 = None

        # File: tests/gpu/plan_models.py:177 in forward, code: y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        _scaled_dot_product_cudnn_attention = torch.ops.aten._scaled_dot_product_cudnn_attention.default(permute_1, permute_2, permute_3, None, False, 0.0, True);  permute_1 = permute_2 = permute_3 = None
        getitem_5: "bf16[8, 8, 256, 64]" = _scaled_dot_product_cudnn_attention[0];  _scaled_dot_product_cudnn_attention = None

        # File: tests/gpu/plan_models.py:178 in forward, code: return self.out(y.transpose(1, 2).reshape(batch, length, dim))
        permute_4: "bf16[8, 256, 8, 64]" = torch.ops.aten.permute.default(getitem_5, [0, 2, 1, 3]);  getitem_5 = None
        view_5: "bf16[8, 256, 512]" = torch.ops.aten.reshape.default(permute_4, [8, 256, 512]);  permute_4 = None
        view_6: "bf16[2048, 512]" = torch.ops.aten.reshape.default(view_5, [2048, 512]);  view_5 = None
        permute_5: "bf16[512, 512]" = torch.ops.aten.permute.default(arg5_1, [1, 0]);  arg5_1 = None
        addmm_1: "bf16[2048, 512]" = torch.ops.aten.addmm.default(arg6_1, view_6, permute_5);  arg6_1 = view_6 = permute_5 = None
        view_7: "bf16[8, 256, 512]" = torch.ops.aten.reshape.default(addmm_1, [8, 256, 512]);  addmm_1 = None

        # File: tests/gpu/plan_models.py:321 in forward, code: x = x + self.attention(self.norm1(x))
        add_2: "bf16[8, 256, 512]" = torch.ops.aten.add.Tensor(arg2_1, view_7);  arg2_1 = view_7 = None

        # File: tests/gpu/plan_models.py:322 in forward, code: return x + self.mlp(self.norm2(x))
        convert_element_type_8: "f32[8, 256, 512]" = torch.ops.prims.convert_element_type.default(add_2, torch.float32)
        var_mean_1 = torch.ops.aten.var_mean.correction(convert_element_type_8, [2], correction = 0, keepdim = True)
        getitem_14: "f32[8, 256, 1]" = var_mean_1[0]
        getitem_15: "f32[8, 256, 1]" = var_mean_1[1];  var_mean_1 = None
        sub_1: "f32[8, 256, 512]" = torch.ops.aten.sub.Tensor(convert_element_type_8, getitem_15);  convert_element_type_8 = getitem_15 = None
        add_3: "f32[8, 256, 1]" = torch.ops.aten.add.Tensor(getitem_14, 1e-05);  getitem_14 = None
        rsqrt_1: "f32[8, 256, 1]" = torch.ops.aten.rsqrt.default(add_3);  add_3 = None
        mul_2: "f32[8, 256, 512]" = torch.ops.aten.mul.Tensor(sub_1, rsqrt_1);  sub_1 = rsqrt_1 = None
        mul_3: "f32[8, 256, 512]" = torch.ops.aten.mul.Tensor(mul_2, arg7_1);  mul_2 = arg7_1 = None
        add_4: "f32[8, 256, 512]" = torch.ops.aten.add.Tensor(mul_3, arg8_1);  mul_3 = arg8_1 = None
        convert_element_type_9: "bf16[8, 256, 512]" = torch.ops.prims.convert_element_type.default(add_4, torch.bfloat16);  add_4 = None

        # File: tests/gpu/plan_models.py:69 in forward, code: return self.down_proj(functional.gelu(self.gate_proj(x), approximate="tanh") * self.up_proj(x))
        view_8: "bf16[2048, 512]" = torch.ops.aten.reshape.default(convert_element_type_9, [2048, 512])
        permute_6: "bf16[512, 2048]" = torch.ops.aten.permute.default(arg9_1, [1, 0]);  arg9_1 = None
        mm: "bf16[2048, 2048]" = torch.ops.aten.mm.default(view_8, permute_6);  view_8 = permute_6 = None
        view_9: "bf16[8, 256, 2048]" = torch.ops.aten.reshape.default(mm, [8, 256, 2048]);  mm = None
        convert_element_type_12: "f32[8, 256, 2048]" = torch.ops.prims.convert_element_type.default(view_9, torch.float32);  view_9 = None
        mul_8: "f32[8, 256, 2048]" = torch.ops.aten.mul.Tensor(convert_element_type_12, 0.5)
        mul_4: "f32[8, 256, 2048]" = torch.ops.aten.mul.Tensor(convert_element_type_12, convert_element_type_12)
        mul_5: "f32[8, 256, 2048]" = torch.ops.aten.mul.Tensor(mul_4, convert_element_type_12);  mul_4 = None
        mul_6: "f32[8, 256, 2048]" = torch.ops.aten.mul.Tensor(mul_5, 0.044715);  mul_5 = None
        add_5: "f32[8, 256, 2048]" = torch.ops.aten.add.Tensor(convert_element_type_12, mul_6);  convert_element_type_12 = mul_6 = None
        mul_7: "f32[8, 256, 2048]" = torch.ops.aten.mul.Tensor(add_5, 0.7978845608028654);  add_5 = None
        tanh: "f32[8, 256, 2048]" = torch.ops.aten.tanh.default(mul_7);  mul_7 = None
        add_6: "f32[8, 256, 2048]" = torch.ops.aten.add.Tensor(tanh, 1);  tanh = None
        mul_9: "f32[8, 256, 2048]" = torch.ops.aten.mul.Tensor(mul_8, add_6);  mul_8 = add_6 = None
        convert_element_type_13: "bf16[8, 256, 2048]" = torch.ops.prims.convert_element_type.default(mul_9, torch.bfloat16);  mul_9 = None
        view_10: "bf16[2048, 512]" = torch.ops.aten.reshape.default(convert_element_type_9, [2048, 512]);  convert_element_type_9 = None
        permute_7: "bf16[512, 2048]" = torch.ops.aten.permute.default(arg10_1, [1, 0]);  arg10_1 = None
        mm_1: "bf16[2048, 2048]" = torch.ops.aten.mm.default(view_10, permute_7);  view_10 = permute_7 = None
        view_11: "bf16[8, 256, 2048]" = torch.ops.aten.reshape.default(mm_1, [8, 256, 2048]);  mm_1 = None
        mul_10: "bf16[8, 256, 2048]" = torch.ops.aten.mul.Tensor(convert_element_type_13, view_11);  convert_element_type_13 = view_11 = None
        view_12: "bf16[2048, 2048]" = torch.ops.aten.reshape.default(mul_10, [2048, 2048]);  mul_10 = None
        permute_8: "bf16[2048, 512]" = torch.ops.aten.permute.default(arg11_1, [1, 0]);  arg11_1 = None
        mm_2: "bf16[2048, 512]" = torch.ops.aten.mm.default(view_12, permute_8);  view_12 = permute_8 = None
        view_13: "bf16[8, 256, 512]" = torch.ops.aten.reshape.default(mm_2, [8, 256, 512]);  mm_2 = None

        # File: tests/gpu/plan_models.py:322 in forward, code: return x + self.mlp(self.norm2(x))
        add_7: "bf16[8, 256, 512]" = torch.ops.aten.add.Tensor(add_2, view_13);  add_2 = view_13 = None
        return (add_7,)
