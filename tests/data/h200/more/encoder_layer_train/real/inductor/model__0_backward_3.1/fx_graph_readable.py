class GraphModule(torch.nn.Module):
    def forward(self, primals_3: "bf16[768, 256]", primals_4: "bf16[256, 256]", primals_6: "bf16[256]", primals_8: "bf16[1024, 256]", primals_10: "bf16[256, 1024]", primals_12: "bf16[256]", view: "bf16[512, 256]", view_6: "bf16[4, 4, 128, 64]", view_7: "bf16[4, 4, 128, 64]", view_8: "bf16[4, 4, 128, 64]", getitem: "bf16[4, 4, 128, 64]", getitem_1: "f32[4, 4, 128, 1]", getitem_6: "i64[]", getitem_7: "i64[]", gt: "b8[4, 128, 256]", add_1: "bf16[4, 128, 256]", getitem_10: "f32[4, 128, 1]", rsqrt: "f32[4, 128, 1]", view_11: "bf16[512, 256]", addmm_1: "bf16[512, 1024]", gt_1: "b8[4, 128, 1024]", view_13: "bf16[512, 1024]", gt_2: "b8[4, 128, 256]", add_5: "bf16[4, 128, 256]", getitem_12: "f32[4, 128, 1]", rsqrt_1: "f32[4, 128, 1]", tangents_1: "bf16[4, 128, 256]"):
        # No stacktrace found for following nodes
        convert_element_type_17: "f32[4, 128, 256]" = torch.ops.prims.convert_element_type.default(tangents_1, torch.float32);  tangents_1 = None
        convert_element_type_19: "f32[256]" = torch.ops.prims.convert_element_type.default(primals_12, torch.float32);  primals_12 = None
        mul_14: "f32[4, 128, 256]" = torch.ops.aten.mul.Tensor(convert_element_type_17, convert_element_type_19);  convert_element_type_19 = None
        mul_15: "f32[4, 128, 256]" = torch.ops.aten.mul.Tensor(mul_14, 256)
        sum_1: "f32[4, 128, 1]" = torch.ops.aten.sum.dim_IntList(mul_14, [2], True)
        convert_element_type_15: "f32[4, 128, 256]" = torch.ops.prims.convert_element_type.default(add_5, torch.float32);  add_5 = None
        sub_1: "f32[4, 128, 256]" = torch.ops.aten.sub.Tensor(convert_element_type_15, getitem_12);  convert_element_type_15 = getitem_12 = None
        mul_11: "f32[4, 128, 256]" = torch.ops.aten.mul.Tensor(sub_1, rsqrt_1);  sub_1 = None
        mul_16: "f32[4, 128, 256]" = torch.ops.aten.mul.Tensor(mul_14, mul_11);  mul_14 = None
        sum_2: "f32[4, 128, 1]" = torch.ops.aten.sum.dim_IntList(mul_16, [2], True);  mul_16 = None
        mul_17: "f32[4, 128, 256]" = torch.ops.aten.mul.Tensor(mul_11, sum_2);  sum_2 = None
        sub_3: "f32[4, 128, 256]" = torch.ops.aten.sub.Tensor(mul_15, sum_1);  mul_15 = sum_1 = None
        sub_4: "f32[4, 128, 256]" = torch.ops.aten.sub.Tensor(sub_3, mul_17);  sub_3 = mul_17 = None
        div: "f32[4, 128, 1]" = torch.ops.aten.div.Tensor(rsqrt_1, 256);  rsqrt_1 = None
        mul_18: "f32[4, 128, 256]" = torch.ops.aten.mul.Tensor(div, sub_4);  div = sub_4 = None
        mul_19: "f32[4, 128, 256]" = torch.ops.aten.mul.Tensor(convert_element_type_17, mul_11);  mul_11 = None
        sum_3: "f32[256]" = torch.ops.aten.sum.dim_IntList(mul_19, [0, 1]);  mul_19 = None
        sum_4: "f32[256]" = torch.ops.aten.sum.dim_IntList(convert_element_type_17, [0, 1]);  convert_element_type_17 = None
        convert_element_type_21: "bf16[4, 128, 256]" = torch.ops.prims.convert_element_type.default(mul_18, torch.bfloat16);  mul_18 = None
        convert_element_type_22: "bf16[256]" = torch.ops.prims.convert_element_type.default(sum_3, torch.bfloat16);  sum_3 = None
        convert_element_type_23: "bf16[256]" = torch.ops.prims.convert_element_type.default(sum_4, torch.bfloat16);  sum_4 = None
        convert_element_type_24: "bf16[4, 128, 256]" = torch.ops.prims.convert_element_type.default(gt_2, torch.bfloat16);  gt_2 = None
        mul_20: "bf16[4, 128, 256]" = torch.ops.aten.mul.Tensor(convert_element_type_24, 1.1111111111111112);  convert_element_type_24 = None
        mul_21: "bf16[4, 128, 256]" = torch.ops.aten.mul.Tensor(convert_element_type_21, mul_20);  mul_20 = None
        view_15: "bf16[512, 256]" = torch.ops.aten.view.default(mul_21, [512, 256]);  mul_21 = None
        permute_11: "bf16[1024, 256]" = torch.ops.aten.permute.default(primals_10, [1, 0]);  primals_10 = None
        permute_12: "bf16[256, 1024]" = torch.ops.aten.permute.default(permute_11, [1, 0]);  permute_11 = None
        mm_1: "bf16[512, 1024]" = torch.ops.aten.mm.default(view_15, permute_12);  permute_12 = None
        permute_13: "bf16[256, 512]" = torch.ops.aten.permute.default(view_15, [1, 0])
        mm_2: "bf16[256, 1024]" = torch.ops.aten.mm.default(permute_13, view_13);  permute_13 = view_13 = None
        sum_5: "bf16[1, 256]" = torch.ops.aten.sum.dim_IntList(view_15, [0], True);  view_15 = None
        view_16: "bf16[256]" = torch.ops.aten.view.default(sum_5, [256]);  sum_5 = None
        view_17: "bf16[4, 128, 1024]" = torch.ops.aten.view.default(mm_1, [4, 128, 1024]);  mm_1 = None
        convert_element_type_29: "bf16[4, 128, 1024]" = torch.ops.prims.convert_element_type.default(gt_1, torch.bfloat16);  gt_1 = None
        mul_22: "bf16[4, 128, 1024]" = torch.ops.aten.mul.Tensor(convert_element_type_29, 1.1111111111111112);  convert_element_type_29 = None
        mul_23: "bf16[4, 128, 1024]" = torch.ops.aten.mul.Tensor(view_17, mul_22);  view_17 = mul_22 = None
        convert_element_type_30: "f32[4, 128, 1024]" = torch.ops.prims.convert_element_type.default(mul_23, torch.float32);  mul_23 = None
        view_12: "bf16[4, 128, 1024]" = torch.ops.aten.view.default(addmm_1, [4, 128, 1024]);  addmm_1 = None
        convert_element_type_10: "f32[4, 128, 1024]" = torch.ops.prims.convert_element_type.default(view_12, torch.float32);  view_12 = None
        mul_5: "f32[4, 128, 1024]" = torch.ops.aten.mul.Tensor(convert_element_type_10, 0.7071067811865476)
        erf: "f32[4, 128, 1024]" = torch.ops.aten.erf.default(mul_5);  mul_5 = None
        add_4: "f32[4, 128, 1024]" = torch.ops.aten.add.Tensor(erf, 1);  erf = None
        mul_25: "f32[4, 128, 1024]" = torch.ops.aten.mul.Tensor(add_4, 0.5);  add_4 = None
        mul_26: "f32[4, 128, 1024]" = torch.ops.aten.mul.Tensor(convert_element_type_10, convert_element_type_10)
        mul_27: "f32[4, 128, 1024]" = torch.ops.aten.mul.Tensor(mul_26, -0.5);  mul_26 = None
        exp: "f32[4, 128, 1024]" = torch.ops.aten.exp.default(mul_27);  mul_27 = None
        mul_28: "f32[4, 128, 1024]" = torch.ops.aten.mul.Tensor(exp, 0.3989422804014327);  exp = None
        mul_29: "f32[4, 128, 1024]" = torch.ops.aten.mul.Tensor(convert_element_type_10, mul_28);  convert_element_type_10 = mul_28 = None
        add_9: "f32[4, 128, 1024]" = torch.ops.aten.add.Tensor(mul_25, mul_29);  mul_25 = mul_29 = None
        mul_30: "f32[4, 128, 1024]" = torch.ops.aten.mul.Tensor(convert_element_type_30, add_9);  convert_element_type_30 = add_9 = None
        convert_element_type_32: "bf16[4, 128, 1024]" = torch.ops.prims.convert_element_type.default(mul_30, torch.bfloat16);  mul_30 = None
        view_18: "bf16[512, 1024]" = torch.ops.aten.view.default(convert_element_type_32, [512, 1024]);  convert_element_type_32 = None
        permute_10: "bf16[256, 1024]" = torch.ops.aten.permute.default(primals_8, [1, 0]);  primals_8 = None
        permute_16: "bf16[1024, 256]" = torch.ops.aten.permute.default(permute_10, [1, 0]);  permute_10 = None
        mm_3: "bf16[512, 256]" = torch.ops.aten.mm.default(view_18, permute_16);  permute_16 = None
        permute_17: "bf16[1024, 512]" = torch.ops.aten.permute.default(view_18, [1, 0])
        mm_4: "bf16[1024, 256]" = torch.ops.aten.mm.default(permute_17, view_11);  permute_17 = view_11 = None
        sum_6: "bf16[1, 1024]" = torch.ops.aten.sum.dim_IntList(view_18, [0], True);  view_18 = None
        view_19: "bf16[1024]" = torch.ops.aten.view.default(sum_6, [1024]);  sum_6 = None
        view_20: "bf16[4, 128, 256]" = torch.ops.aten.view.default(mm_3, [4, 128, 256]);  mm_3 = None
        add_10: "bf16[4, 128, 256]" = torch.ops.aten.add.Tensor(convert_element_type_21, view_20);  convert_element_type_21 = view_20 = None
        convert_element_type_37: "f32[4, 128, 256]" = torch.ops.prims.convert_element_type.default(add_10, torch.float32);  add_10 = None
        convert_element_type_39: "f32[256]" = torch.ops.prims.convert_element_type.default(primals_6, torch.float32);  primals_6 = None
        mul_32: "f32[4, 128, 256]" = torch.ops.aten.mul.Tensor(convert_element_type_37, convert_element_type_39);  convert_element_type_39 = None
        mul_33: "f32[4, 128, 256]" = torch.ops.aten.mul.Tensor(mul_32, 256)
        sum_7: "f32[4, 128, 1]" = torch.ops.aten.sum.dim_IntList(mul_32, [2], True)
        convert_element_type_5: "f32[4, 128, 256]" = torch.ops.prims.convert_element_type.default(add_1, torch.float32);  add_1 = None
        sub: "f32[4, 128, 256]" = torch.ops.aten.sub.Tensor(convert_element_type_5, getitem_10);  convert_element_type_5 = getitem_10 = None
        mul_2: "f32[4, 128, 256]" = torch.ops.aten.mul.Tensor(sub, rsqrt);  sub = None
        mul_34: "f32[4, 128, 256]" = torch.ops.aten.mul.Tensor(mul_32, mul_2);  mul_32 = None
        sum_8: "f32[4, 128, 1]" = torch.ops.aten.sum.dim_IntList(mul_34, [2], True);  mul_34 = None
        mul_35: "f32[4, 128, 256]" = torch.ops.aten.mul.Tensor(mul_2, sum_8);  sum_8 = None
        sub_6: "f32[4, 128, 256]" = torch.ops.aten.sub.Tensor(mul_33, sum_7);  mul_33 = sum_7 = None
        sub_7: "f32[4, 128, 256]" = torch.ops.aten.sub.Tensor(sub_6, mul_35);  sub_6 = mul_35 = None
        div_1: "f32[4, 128, 1]" = torch.ops.aten.div.Tensor(rsqrt, 256);  rsqrt = None
        mul_36: "f32[4, 128, 256]" = torch.ops.aten.mul.Tensor(div_1, sub_7);  div_1 = sub_7 = None
        mul_37: "f32[4, 128, 256]" = torch.ops.aten.mul.Tensor(convert_element_type_37, mul_2);  mul_2 = None
        sum_9: "f32[256]" = torch.ops.aten.sum.dim_IntList(mul_37, [0, 1]);  mul_37 = None
        sum_10: "f32[256]" = torch.ops.aten.sum.dim_IntList(convert_element_type_37, [0, 1]);  convert_element_type_37 = None
        convert_element_type_41: "bf16[4, 128, 256]" = torch.ops.prims.convert_element_type.default(mul_36, torch.bfloat16);  mul_36 = None
        convert_element_type_42: "bf16[256]" = torch.ops.prims.convert_element_type.default(sum_9, torch.bfloat16);  sum_9 = None
        convert_element_type_43: "bf16[256]" = torch.ops.prims.convert_element_type.default(sum_10, torch.bfloat16);  sum_10 = None
        convert_element_type_44: "bf16[4, 128, 256]" = torch.ops.prims.convert_element_type.default(gt, torch.bfloat16);  gt = None
        mul_38: "bf16[4, 128, 256]" = torch.ops.aten.mul.Tensor(convert_element_type_44, 1.1111111111111112);  convert_element_type_44 = None
        mul_39: "bf16[4, 128, 256]" = torch.ops.aten.mul.Tensor(convert_element_type_41, mul_38);  mul_38 = None
        permute_20: "bf16[128, 4, 256]" = torch.ops.aten.permute.default(mul_39, [1, 0, 2]);  mul_39 = None
        clone_14: "bf16[128, 4, 256]" = torch.ops.aten.clone.default(permute_20, memory_format = torch.contiguous_format);  permute_20 = None
        view_21: "bf16[512, 256]" = torch.ops.aten.view.default(clone_14, [512, 256]);  clone_14 = None
        permute_7: "bf16[256, 256]" = torch.ops.aten.permute.default(primals_4, [1, 0]);  primals_4 = None
        permute_21: "bf16[256, 256]" = torch.ops.aten.permute.default(permute_7, [1, 0]);  permute_7 = None
        mm_5: "bf16[512, 256]" = torch.ops.aten.mm.default(view_21, permute_21);  permute_21 = None
        permute_22: "bf16[256, 512]" = torch.ops.aten.permute.default(view_21, [1, 0])
        permute_6: "bf16[128, 4, 4, 64]" = torch.ops.aten.permute.default(getitem, [2, 0, 1, 3])
        view_9: "bf16[512, 256]" = torch.ops.aten.view.default(permute_6, [512, 256]);  permute_6 = None
        mm_6: "bf16[256, 256]" = torch.ops.aten.mm.default(permute_22, view_9);  permute_22 = view_9 = None
        sum_11: "bf16[1, 256]" = torch.ops.aten.sum.dim_IntList(view_21, [0], True);  view_21 = None
        view_22: "bf16[256]" = torch.ops.aten.view.default(sum_11, [256]);  sum_11 = None
        view_23: "bf16[128, 4, 4, 64]" = torch.ops.aten.view.default(mm_5, [128, 4, 4, 64]);  mm_5 = None
        permute_25: "bf16[4, 4, 128, 64]" = torch.ops.aten.permute.default(view_23, [1, 2, 0, 3]);  view_23 = None
        _scaled_dot_product_cudnn_attention_backward = torch.ops.aten._scaled_dot_product_cudnn_attention_backward.default(permute_25, view_6, view_7, view_8, getitem, getitem_1, getitem_6, getitem_7, None, None, None, 128, 128, 0.1, False);  permute_25 = view_6 = view_7 = view_8 = getitem = getitem_1 = getitem_6 = getitem_7 = None
        getitem_13: "bf16[4, 4, 128, 64]" = _scaled_dot_product_cudnn_attention_backward[0]
        getitem_14: "bf16[4, 4, 128, 64]" = _scaled_dot_product_cudnn_attention_backward[1]
        getitem_15: "bf16[4, 4, 128, 64]" = _scaled_dot_product_cudnn_attention_backward[2];  _scaled_dot_product_cudnn_attention_backward = None
        view_24: "bf16[16, 128, 64]" = torch.ops.aten.view.default(getitem_15, [16, 128, 64]);  getitem_15 = None
        view_25: "bf16[16, 128, 64]" = torch.ops.aten.view.default(getitem_14, [16, 128, 64]);  getitem_14 = None
        view_26: "bf16[16, 128, 64]" = torch.ops.aten.view.default(getitem_13, [16, 128, 64]);  getitem_13 = None
        permute_26: "bf16[128, 16, 64]" = torch.ops.aten.permute.default(view_24, [1, 0, 2]);  view_24 = None
        view_27: "bf16[128, 4, 256]" = torch.ops.aten.view.default(permute_26, [128, 4, 256]);  permute_26 = None
        permute_27: "bf16[128, 16, 64]" = torch.ops.aten.permute.default(view_25, [1, 0, 2]);  view_25 = None
        view_28: "bf16[128, 4, 256]" = torch.ops.aten.view.default(permute_27, [128, 4, 256]);  permute_27 = None
        permute_28: "bf16[128, 16, 64]" = torch.ops.aten.permute.default(view_26, [1, 0, 2]);  view_26 = None
        view_29: "bf16[128, 4, 256]" = torch.ops.aten.view.default(permute_28, [128, 4, 256]);  permute_28 = None
        full_default: "bf16[3, 128, 4, 256]" = torch.ops.aten.full.default([3, 128, 4, 256], 0, dtype = torch.bfloat16, layout = torch.strided, device = device(type='cuda', index=0), pin_memory = False)
        select_scatter: "bf16[3, 128, 4, 256]" = torch.ops.aten.select_scatter.default(full_default, view_27, 0, 2);  view_27 = None
        select_scatter_1: "bf16[3, 128, 4, 256]" = torch.ops.aten.select_scatter.default(full_default, view_28, 0, 1);  view_28 = None
        add_11: "bf16[3, 128, 4, 256]" = torch.ops.aten.add.Tensor(select_scatter, select_scatter_1);  select_scatter = select_scatter_1 = None
        select_scatter_2: "bf16[3, 128, 4, 256]" = torch.ops.aten.select_scatter.default(full_default, view_29, 0, 0);  full_default = view_29 = None
        add_12: "bf16[3, 128, 4, 256]" = torch.ops.aten.add.Tensor(add_11, select_scatter_2);  add_11 = select_scatter_2 = None
        unsqueeze_1: "bf16[3, 128, 4, 1, 256]" = torch.ops.aten.unsqueeze.default(add_12, 3);  add_12 = None
        permute_29: "bf16[1, 128, 4, 3, 256]" = torch.ops.aten.permute.default(unsqueeze_1, [3, 1, 2, 0, 4]);  unsqueeze_1 = None
        squeeze_1: "bf16[128, 4, 3, 256]" = torch.ops.aten.squeeze.dim(permute_29, 0);  permute_29 = None
        clone_15: "bf16[128, 4, 3, 256]" = torch.ops.aten.clone.default(squeeze_1, memory_format = torch.contiguous_format);  squeeze_1 = None
        view_30: "bf16[128, 4, 768]" = torch.ops.aten.view.default(clone_15, [128, 4, 768]);  clone_15 = None
        sum_12: "bf16[1, 1, 768]" = torch.ops.aten.sum.dim_IntList(view_30, [0, 1], True)
        view_31: "bf16[768]" = torch.ops.aten.view.default(sum_12, [768]);  sum_12 = None
        view_32: "bf16[512, 768]" = torch.ops.aten.view.default(view_30, [512, 768]);  view_30 = None
        permute_30: "bf16[768, 512]" = torch.ops.aten.permute.default(view_32, [1, 0])
        mm_7: "bf16[768, 256]" = torch.ops.aten.mm.default(permute_30, view);  permute_30 = view = None
        permute_1: "bf16[256, 768]" = torch.ops.aten.permute.default(primals_3, [1, 0]);  primals_3 = None
        permute_32: "bf16[768, 256]" = torch.ops.aten.permute.default(permute_1, [1, 0]);  permute_1 = None
        mm_8: "bf16[512, 256]" = torch.ops.aten.mm.default(view_32, permute_32);  view_32 = permute_32 = None
        view_33: "bf16[128, 4, 256]" = torch.ops.aten.view.default(mm_8, [128, 4, 256]);  mm_8 = None
        permute_34: "bf16[4, 128, 256]" = torch.ops.aten.permute.default(view_33, [1, 0, 2]);  view_33 = None
        add_13: "bf16[4, 128, 256]" = torch.ops.aten.add.Tensor(convert_element_type_41, permute_34);  convert_element_type_41 = permute_34 = None
        return (add_13, view_31, mm_7, mm_6, view_22, convert_element_type_42, convert_element_type_43, mm_4, view_19, mm_2, view_16, convert_element_type_22, convert_element_type_23)
