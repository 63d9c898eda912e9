class GraphModule(torch.nn.Module):
    def forward(self, primals_1: "bf16[512]", primals_3: "bf16[8, 256, 512]", primals_4: "bf16[1536, 512]", primals_6: "bf16[512, 512]", primals_8: "bf16[512]", primals_10: "bf16[2048, 512]", primals_11: "bf16[2048, 512]", primals_12: "bf16[512, 2048]", getitem_1: "f32[8, 256, 1]", rsqrt: "f32[8, 256, 1]", view: "bf16[2048, 512]", permute_1: "bf16[8, 8, 256, 64]", permute_2: "bf16[8, 8, 256, 64]", permute_3: "bf16[8, 8, 256, 64]", getitem_5: "bf16[8, 8, 256, 64]", getitem_6: "f32[8, 8, 256, 1]", getitem_11: "i64[]", getitem_12: "i64[]", addmm_1: "bf16[2048, 512]", getitem_15: "f32[8, 256, 1]", rsqrt_1: "f32[8, 256, 1]", view_8: "bf16[2048, 512]", mm: "bf16[2048, 2048]", mm_1: "bf16[2048, 2048]", view_12: "bf16[2048, 2048]", tangents_1: "bf16[8, 256, 512]"):
        # File: tests/gpu/plan_models.py:69 in forward, code: return self.down_proj(functional.gelu(self.gate_proj(x), approximate="tanh") * self.up_proj(x))
        view_14: "bf16[2048, 512]" = torch.ops.aten.reshape.default(tangents_1, [2048, 512])
        permute_9: "bf16[512, 2048]" = torch.ops.aten.permute.default(view_14, [1, 0])
        mm_3: "bf16[512, 2048]" = torch.ops.aten.mm.default(permute_9, view_12);  permute_9 = view_12 = None
        permute_8: "bf16[2048, 512]" = torch.ops.aten.permute.default(primals_12, [1, 0]);  primals_12 = None
        permute_11: "bf16[512, 2048]" = torch.ops.aten.permute.default(permute_8, [1, 0]);  permute_8 = None
        mm_4: "bf16[2048, 2048]" = torch.ops.aten.mm.default(view_14, permute_11);  view_14 = permute_11 = None
        view_15: "bf16[8, 256, 2048]" = torch.ops.aten.reshape.default(mm_4, [8, 256, 2048]);  mm_4 = None
        view_9: "bf16[8, 256, 2048]" = torch.ops.aten.reshape.default(mm, [8, 256, 2048]);  mm = None
        convert_element_type_12: "f32[8, 256, 2048]" = torch.ops.prims.convert_element_type.default(view_9, torch.float32);  view_9 = None
        mul_4: "f32[8, 256, 2048]" = torch.ops.aten.mul.Tensor(convert_element_type_12, convert_element_type_12)
        mul_5: "f32[8, 256, 2048]" = torch.ops.aten.mul.Tensor(mul_4, convert_element_type_12)
        mul_6: "f32[8, 256, 2048]" = torch.ops.aten.mul.Tensor(mul_5, 0.044715);  mul_5 = None
        add_5: "f32[8, 256, 2048]" = torch.ops.aten.add.Tensor(convert_element_type_12, mul_6);  mul_6 = None
        mul_7: "f32[8, 256, 2048]" = torch.ops.aten.mul.Tensor(add_5, 0.7978845608028654);  add_5 = None
        mul_8: "f32[8, 256, 2048]" = torch.ops.aten.mul.Tensor(convert_element_type_12, 0.5);  convert_element_type_12 = None
        tanh: "f32[8, 256, 2048]" = torch.ops.aten.tanh.default(mul_7);  mul_7 = None
        add_6: "f32[8, 256, 2048]" = torch.ops.aten.add.Tensor(tanh, 1)
        mul_9: "f32[8, 256, 2048]" = torch.ops.aten.mul.Tensor(mul_8, add_6)
        convert_element_type_13: "bf16[8, 256, 2048]" = torch.ops.prims.convert_element_type.default(mul_9, torch.bfloat16);  mul_9 = None
        mul_11: "bf16[8, 256, 2048]" = torch.ops.aten.mul.Tensor(view_15, convert_element_type_13);  convert_element_type_13 = None
        view_11: "bf16[8, 256, 2048]" = torch.ops.aten.reshape.default(mm_1, [8, 256, 2048]);  mm_1 = None
        mul_12: "bf16[8, 256, 2048]" = torch.ops.aten.mul.Tensor(view_15, view_11);  view_15 = view_11 = None
        view_16: "bf16[2048, 2048]" = torch.ops.aten.reshape.default(mul_11, [2048, 2048]);  mul_11 = None
        permute_13: "bf16[2048, 2048]" = torch.ops.aten.permute.default(view_16, [1, 0])
        mm_5: "bf16[2048, 512]" = torch.ops.aten.mm.default(permute_13, view_8);  permute_13 = None
        permute_7: "bf16[512, 2048]" = torch.ops.aten.permute.default(primals_11, [1, 0]);  primals_11 = None
        permute_15: "bf16[2048, 512]" = torch.ops.aten.permute.default(permute_7, [1, 0]);  permute_7 = None
        mm_6: "bf16[2048, 512]" = torch.ops.aten.mm.default(view_16, permute_15);  view_16 = permute_15 = None
        view_17: "bf16[8, 256, 512]" = torch.ops.aten.reshape.default(mm_6, [8, 256, 512]);  mm_6 = None
        convert_element_type_26: "f32[8, 256, 2048]" = torch.ops.prims.convert_element_type.default(mul_12, torch.float32);  mul_12 = None
        mul_18: "f32[8, 256, 2048]" = torch.ops.aten.mul.Tensor(add_6, 0.5);  add_6 = None
        mul_19: "f32[8, 256, 2048]" = torch.ops.aten.mul.Tensor(tanh, tanh);  tanh = None
        sub_2: "f32[8, 256, 2048]" = torch.ops.aten.sub.Tensor(1, mul_19);  mul_19 = None
        mul_20: "f32[8, 256, 2048]" = torch.ops.aten.mul.Tensor(mul_4, 0.134145);  mul_4 = None
        add_10: "f32[8, 256, 2048]" = torch.ops.aten.add.Tensor(mul_20, 1);  mul_20 = None
        mul_21: "f32[8, 256, 2048]" = torch.ops.aten.mul.Tensor(add_10, 0.7978845608028654);  add_10 = None
        mul_22: "f32[8, 256, 2048]" = torch.ops.aten.mul.Tensor(mul_8, sub_2);  mul_8 = sub_2 = None
        mul_23: "f32[8, 256, 2048]" = torch.ops.aten.mul.Tensor(mul_22, mul_21);  mul_22 = mul_21 = None
        add_11: "f32[8, 256, 2048]" = torch.ops.aten.add.Tensor(mul_18, mul_23);  mul_18 = mul_23 = None
        mul_24: "f32[8, 256, 2048]" = torch.ops.aten.mul.Tensor(convert_element_type_26, add_11);  convert_element_type_26 = add_11 = None
        convert_element_type_28: "bf16[8, 256, 2048]" = torch.ops.prims.convert_element_type.default(mul_24, torch.bfloat16);  mul_24 = None
        view_18: "bf16[2048, 2048]" = torch.ops.aten.reshape.default(convert_element_type_28, [2048, 2048]);  convert_element_type_28 = None
        permute_17: "bf16[2048, 2048]" = torch.ops.aten.permute.default(view_18, [1, 0])
        mm_7: "bf16[2048, 512]" = torch.ops.aten.mm.default(permute_17, view_8);  permute_17 = view_8 = None
        permute_6: "bf16[512, 2048]" = torch.ops.aten.permute.default(primals_10, [1, 0]);  primals_10 = None
        permute_19: "bf16[2048, 512]" = torch.ops.aten.permute.default(permute_6, [1, 0]);  permute_6 = None
        mm_8: "bf16[2048, 512]" = torch.ops.aten.mm.default(view_18, permute_19);  view_18 = permute_19 = None
        view_19: "bf16[8, 256, 512]" = torch.ops.aten.reshape.default(mm_8, [8, 256, 512]);  mm_8 = None
        add_12: "bf16[8, 256, 512]" = torch.ops.aten.add.Tensor(view_17, view_19);  view_17 = view_19 = None

        # File: tests/gpu/plan_models.py:322 in forward, code: return x + self.mlp(self.norm2(x))
        convert_element_type_33: "f32[8, 256, 512]" = torch.ops.prims.convert_element_type.default(add_12, torch.float32);  add_12 = None
        convert_element_type_35: "f32[512]" = torch.ops.prims.convert_element_type.default(primals_8, torch.float32);  primals_8 = None
        mul_26: "f32[8, 256, 512]" = torch.ops.aten.mul.Tensor(convert_element_type_33, convert_element_type_35);  convert_element_type_35 = None
        mul_27: "f32[8, 256, 512]" = torch.ops.aten.mul.Tensor(mul_26, 512)
        sum_1: "f32[8, 256, 1]" = torch.ops.aten.sum.dim_IntList(mul_26, [2], True)

        # File: tests/gpu/plan_models.py:178 in forward, code: return self.out(y.transpose(1, 2).reshape(batch, length, dim))
        view_7: "bf16[8, 256, 512]" = torch.ops.aten.reshape.default(addmm_1, [8, 256, 512]);  addmm_1 = None

        # File: tests/gpu/plan_models.py:321 in forward, code: x = x + self.attention(self.norm1(x))
        add_2: "bf16[8, 256, 512]" = torch.ops.aten.add.Tensor(primals_3, view_7);  view_7 = None

        # File: tests/gpu/plan_models.py:322 in forward, code: return x + self.mlp(self.norm2(x))
        convert_element_type_8: "f32[8, 256, 512]" = torch.ops.prims.convert_element_type.default(add_2, torch.float32);  add_2 = None
        sub_1: "f32[8, 256, 512]" = torch.ops.aten.sub.Tensor(convert_element_type_8, getitem_15);  convert_element_type_8 = getitem_15 = None
        mul_2: "f32[8, 256, 512]" = torch.ops.aten.mul.Tensor(sub_1, rsqrt_1);  sub_1 = None
        mul_28: "f32[8, 256, 512]" = torch.ops.aten.mul.Tensor(mul_26, mul_2);  mul_26 = None
        sum_2: "f32[8, 256, 1]" = torch.ops.aten.sum.dim_IntList(mul_28, [2], True);  mul_28 = None
        mul_29: "f32[8, 256, 512]" = torch.ops.aten.mul.Tensor(mul_2, sum_2);  sum_2 = None
        sub_4: "f32[8, 256, 512]" = torch.ops.aten.sub.Tensor(mul_27, sum_1);  mul_27 = sum_1 = None
        sub_5: "f32[8, 256, 512]" = torch.ops.aten.sub.Tensor(sub_4, mul_29);  sub_4 = mul_29 = None
        div: "f32[8, 256, 1]" = torch.ops.aten.div.Tensor(rsqrt_1, 512);  rsqrt_1 = None
        mul_30: "f32[8, 256, 512]" = torch.ops.aten.mul.Tensor(div, sub_5);  div = sub_5 = None
        mul_31: "f32[8, 256, 512]" = torch.ops.aten.mul.Tensor(convert_element_type_33, mul_2);  mul_2 = None
        sum_3: "f32[512]" = torch.ops.aten.sum.dim_IntList(mul_31, [0, 1]);  mul_31 = None
        sum_4: "f32[512]" = torch.ops.aten.sum.dim_IntList(convert_element_type_33, [0, 1]);  convert_element_type_33 = None
        convert_element_type_37: "bf16[8, 256, 512]" = torch.ops.prims.convert_element_type.default(mul_30, torch.bfloat16);  mul_30 = None
        convert_element_type_38: "bf16[512]" = torch.ops.prims.convert_element_type.default(sum_3, torch.bfloat16);  sum_3 = None
        convert_element_type_39: "bf16[512]" = torch.ops.prims.convert_element_type.default(sum_4, torch.bfloat16);  sum_4 = None
        add_13: "bf16[8, 256, 512]" = torch.ops.aten.add.Tensor(tangents_1, convert_element_type_37);  tangents_1 = convert_element_type_37 = None

        # File: tests/gpu/plan_models.py:178 in forward, code: return self.out(y.transpose(1, 2).reshape(batch, length, dim))
        view_20: "bf16[2048, 512]" = torch.ops.aten.reshape.default(add_13, [2048, 512])
        permute_5: "bf16[512, 512]" = torch.ops.aten.permute.default(primals_6, [1, 0]);  primals_6 = None
        permute_21: "bf16[512, 512]" = torch.ops.aten.permute.default(permute_5, [1, 0]);  permute_5 = None
        mm_9: "bf16[2048, 512]" = torch.ops.aten.mm.default(view_20, permute_21);  permute_21 = None
        permute_22: "bf16[512, 2048]" = torch.ops.aten.permute.default(view_20, [1, 0])
        permute_4: "bf16[8, 256, 8, 64]" = torch.ops.aten.permute.default(getitem_5, [0, 2, 1, 3])
        view_5: "bf16[8, 256, 512]" = torch.ops.aten.reshape.default(permute_4, [8, 256, 512]);  permute_4 = None
        view_6: "bf16[2048, 512]" = torch.ops.aten.reshape.default(view_5, [2048, 512]);  view_5 = None
        mm_10: "bf16[512, 512]" = torch.ops.aten.mm.default(permute_22, view_6);  permute_22 = view_6 = None
        sum_5: "bf16[1, 512]" = torch.ops.aten.sum.dim_IntList(view_20, [0], True);  view_20 = None
        view_21: "bf16[512]" = torch.ops.aten.reshape.default(sum_5, [512]);  sum_5 = None
        view_22: "bf16[8, 256, 512]" = torch.ops.aten.reshape.default(mm_9, [8, 256, 512]);  mm_9 = None
        view_23: "bf16[8, 256, 8, 64]" = torch.ops.aten.reshape.default(view_22, [8, 256, 8, 64]);  view_22 = None
        permute_25: "bf16[8, 8, 256, 64]" = torch.ops.aten.permute.default(view_23, [0, 2, 1, 3]);  view_23 = None

        # File: tests/gpu/plan_models.py:177 in forward, code: y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        _scaled_dot_product_cudnn_attention_backward = torch.ops.aten._scaled_dot_product_cudnn_attention_backward.default(permute_25, permute_1, permute_2, permute_3, getitem_5, getitem_6, getitem_11, getitem_12, None, None, None, 256, 256, 0.0, True);  permute_25 = permute_1 = permute_2 = permute_3 = getitem_5 = getitem_6 = getitem_11 = getitem_12 = None
        getitem_16: "bf16[8, 8, 256, 64]" = _scaled_dot_product_cudnn_attention_backward[0]
        getitem_17: "bf16[8, 8, 256, 64]" = _scaled_dot_product_cudnn_attention_backward[1]
        getitem_18: "bf16[8, 8, 256, 64]" = _scaled_dot_product_cudnn_attention_backward[2];  _scaled_dot_product_cudnn_attention_backward = None

        # File: tests/gpu/plan_models.py:176 in <genexpr>, code: q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        permute_26: "bf16[8, 256, 8, 64]" = torch.ops.aten.permute.default(getitem_18, [0, 2, 1, 3]);  getitem_18 = None
        view_24: "bf16[8, 256, 512]" = torch.ops.aten.reshape.default(permute_26, [8, 256, 512]);  permute_26 = None
        permute_27: "bf16[8, 256, 8, 64]" = torch.ops.aten.permute.default(getitem_17, [0, 2, 1, 3]);  getitem_17 = None
        view_25: "bf16[8, 256, 512]" = torch.ops.aten.reshape.default(permute_27, [8, 256, 512]);  permute_27 = None
        permute_28: "bf16[8, 256, 8, 64]" = torch.ops.aten.permute.default(getitem_16, [0, 2, 1, 3]);  getitem_16 = None
        view_26: "bf16[8, 256, 512]" = torch.ops.aten.reshape.default(permute_28, [8, 256, 512]);  permute_28 = None

        # File: tests/gpu/plan_models.py:176 in forward, code: q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        cat: "bf16[8, 256, 1536]" = torch.ops.aten.cat.default([view_26, view_25, view_24], 2);  view_26 = view_25 = view_24 = None
        view_27: "bf16[2048, 1536]" = torch.ops.aten.reshape.default(cat, [2048, 1536]);  cat = None
        permute: "bf16[512, 1536]" = torch.ops.aten.permute.default(primals_4, [1, 0]);  primals_4 = None
        permute_29: "bf16[1536, 512]" = torch.ops.aten.permute.default(permute, [1, 0]);  permute = None
        mm_11: "bf16[2048, 512]" = torch.ops.aten.mm.default(view_27, permute_29);  permute_29 = None
        permute_30: "bf16[1536, 2048]" = torch.ops.aten.permute.default(view_27, [1, 0])
        mm_12: "bf16[1536, 512]" = torch.ops.aten.mm.default(permute_30, view);  permute_30 = view = None
        sum_6: "bf16[1, 1536]" = torch.ops.aten.sum.dim_IntList(view_27, [0], True);  view_27 = None
        view_28: "bf16[1536]" = torch.ops.aten.reshape.default(sum_6, [1536]);  sum_6 = None
        view_29: "bf16[8, 256, 512]" = torch.ops.aten.reshape.default(mm_11, [8, 256, 512]);  mm_11 = None

        # File: tests/gpu/plan_models.py:321 in forward, code: x = x + self.attention(self.norm1(x))
        convert_element_type_48: "f32[8, 256, 512]" = torch.ops.prims.convert_element_type.default(view_29, torch.float32);  view_29 = None
        convert_element_type_50: "f32[512]" = torch.ops.prims.convert_element_type.default(primals_1, torch.float32);  primals_1 = None
        mul_33: "f32[8, 256, 512]" = torch.ops.aten.mul.Tensor(convert_element_type_48, convert_element_type_50);  convert_element_type_50 = None
        mul_34: "f32[8, 256, 512]" = torch.ops.aten.mul.Tensor(mul_33, 512)
        sum_7: "f32[8, 256, 1]" = torch.ops.aten.sum.dim_IntList(mul_33, [2], True)
        convert_element_type: "f32[8, 256, 512]" = torch.ops.prims.convert_element_type.default(primals_3, torch.float32);  primals_3 = None
        sub: "f32[8, 256, 512]" = torch.ops.aten.sub.Tensor(convert_element_type, getitem_1);  convert_element_type = getitem_1 = None
        mul: "f32[8, 256, 512]" = torch.ops.aten.mul.Tensor(sub, rsqrt);  sub = None
        mul_35: "f32[8, 256, 512]" = torch.ops.aten.mul.Tensor(mul_33, mul);  mul_33 = None
        sum_8: "f32[8, 256, 1]" = torch.ops.aten.sum.dim_IntList(mul_35, [2], True);  mul_35 = None
        mul_36: "f32[8, 256, 512]" = torch.ops.aten.mul.Tensor(mul, sum_8);  sum_8 = None
        sub_7: "f32[8, 256, 512]" = torch.ops.aten.sub.Tensor(mul_34, sum_7);  mul_34 = sum_7 = None
        sub_8: "f32[8, 256, 512]" = torch.ops.aten.sub.Tensor(sub_7, mul_36);  sub_7 = mul_36 = None
        div_1: "f32[8, 256, 1]" = torch.ops.aten.div.Tensor(rsqrt, 512);  rsqrt = None
        mul_37: "f32[8, 256, 512]" = torch.ops.aten.mul.Tensor(div_1, sub_8);  div_1 = sub_8 = None
        mul_38: "f32[8, 256, 512]" = torch.ops.aten.mul.Tensor(convert_element_type_48, mul);  mul = None
        sum_9: "f32[512]" = torch.ops.aten.sum.dim_IntList(mul_38, [0, 1]);  mul_38 = None
        sum_10: "f32[512]" = torch.ops.aten.sum.dim_IntList(convert_element_type_48, [0, 1]);  convert_element_type_48 = None
        convert_element_type_52: "bf16[8, 256, 512]" = torch.ops.prims.convert_element_type.default(mul_37, torch.bfloat16);  mul_37 = None
        convert_element_type_53: "bf16[512]" = torch.ops.prims.convert_element_type.default(sum_9, torch.bfloat16);  sum_9 = None
        convert_element_type_54: "bf16[512]" = torch.ops.prims.convert_element_type.default(sum_10, torch.bfloat16);  sum_10 = None
        add_14: "bf16[8, 256, 512]" = torch.ops.aten.add.Tensor(add_13, convert_element_type_52);  add_13 = convert_element_type_52 = None
        return (convert_element_type_53, convert_element_type_54, add_14, mm_12, view_28, mm_10, view_21, convert_element_type_38, convert_element_type_39, mm_7, mm_5, mm_3)
