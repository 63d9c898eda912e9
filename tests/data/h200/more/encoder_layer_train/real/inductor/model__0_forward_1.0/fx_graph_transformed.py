class GraphModule(torch.nn.Module):
    def forward(self, primals_1: "bf16[4, 128, 256]", primals_2: "bf16[768]", primals_3: "bf16[768, 256]", primals_4: "bf16[256, 256]", primals_5: "bf16[256]", primals_6: "bf16[256]", primals_7: "bf16[256]", primals_8: "bf16[1024, 256]", primals_9: "bf16[1024]", primals_10: "bf16[256, 1024]", primals_11: "bf16[256]", primals_12: "bf16[256]", primals_13: "bf16[256]"):
        # No stacktrace found for following nodes
        permute: "bf16[128, 4, 256]" = torch.ops.aten.permute.default(primals_1, [1, 0, 2])
        permute_1: "bf16[256, 768]" = torch.ops.aten.permute.default(primals_3, [1, 0])
        clone: "bf16[128, 4, 256]" = torch.ops.aten.clone.default(permute, memory_format = torch.contiguous_format);  permute = None
        view: "bf16[512, 256]" = torch.ops.aten.reshape.default(clone, [512, 256]);  clone = None
        mm: "bf16[512, 768]" = torch.ops.aten.mm.default(view, permute_1);  permute_1 = None
        view_1: "bf16[128, 4, 768]" = torch.ops.aten.reshape.default(mm, [128, 4, 768]);  mm = None
        add: "bf16[128, 4, 768]" = torch.ops.aten.add.Tensor(view_1, primals_2);  view_1 = primals_2 = None
        view_2: "bf16[128, 4, 3, 256]" = torch.ops.aten.reshape.default(add, [128, 4, 3, 256]);  add = None
        unsqueeze: "bf16[1, 128, 4, 3, 256]" = torch.ops.aten.unsqueeze.default(view_2, 0);  view_2 = None
        permute_2: "bf16[3, 128, 4, 1, 256]" = torch.ops.aten.permute.default(unsqueeze, [3, 1, 2, 0, 4]);  unsqueeze = None
        squeeze: "bf16[3, 128, 4, 256]" = torch.ops.aten.squeeze.dim(permute_2, -2);  permute_2 = None
        clone_1: "bf16[3, 128, 4, 256]" = torch.ops.aten.clone.default(squeeze, memory_format = torch.contiguous_format);  squeeze = None
        select: "bf16[128, 4, 256]" = torch.ops.aten.select.int(clone_1, 0, 0)
        select_1: "bf16[128, 4, 256]" = torch.ops.aten.select.int(clone_1, 0, 1)
        select_2: "bf16[128, 4, 256]" = torch.ops.aten.select.int(clone_1, 0, 2);  clone_1 = None
        view_3: "bf16[128, 16, 64]" = torch.ops.aten.reshape.default(select, [128, 16, 64]);  select = None
        permute_3: "bf16[16, 128, 64]" = torch.ops.aten.permute.default(view_3, [1, 0, 2]);  view_3 = None
        view_4: "bf16[128, 16, 64]" = torch.ops.aten.reshape.default(select_1, [128, 16, 64]);  select_1 = None
        permute_4: "bf16[16, 128, 64]" = torch.ops.aten.permute.default(view_4, [1, 0, 2]);  view_4 = None
        view_5: "bf16[128, 16, 64]" = torch.ops.aten.reshape.default(select_2, [128, 16, 64]);  select_2 = None
        permute_5: "bf16[16, 128, 64]" = torch.ops.aten.permute.default(view_5, [1, 0, 2]);  view_5 = None
        view_6: "bf16[4, 4, 128, 64]" = torch.ops.aten.reshape.default(permute_3, [4, 4, 128, 64]);  permute_3 = None
        view_7: "bf16[4, 4, 128, 64]" = torch.ops.aten.reshape.default(permute_4, [4, 4, 128, 64]);  permute_4 = None
        view_8: "bf16[4, 4, 128, 64]" = torch.ops.aten.reshape.default(permute_5, [4, 4, 128, 64]);  permute_5 = None
        _scaled_dot_product_cudnn_attention = torch.ops.aten._scaled_dot_product_cudnn_attention.default(view_6, view_7, view_8, None, True, 0.1)
        getitem: "bf16[4, 4, 128, 64]" = _scaled_dot_product_cudnn_attention[0]
        getitem_1: "f32[4, 4, 128, 1]" = _scaled_dot_product_cudnn_attention[1]
        getitem_6: "i64[]" = _scaled_dot_product_cudnn_attention[6]
        getitem_7: "i64[]" = _scaled_dot_product_cudnn_attention[7];  _scaled_dot_product_cudnn_attention = None
        permute_6: "bf16[128, 4, 4, 64]" = torch.ops.aten.permute.default(getitem, [2, 0, 1, 3])
        view_9: "bf16[512, 256]" = torch.ops.aten.reshape.default(permute_6, [512, 256]);  permute_6 = None
        permute_7: "bf16[256, 256]" = torch.ops.aten.permute.default(primals_4, [1, 0])
        addmm: "bf16[512, 256]" = torch.ops.aten.addmm.default(primals_5, view_9, permute_7);  primals_5 = view_9 = permute_7 = None
        view_10: "bf16[128, 4, 256]" = torch.ops.aten.reshape.default(addmm, [128, 4, 256]);  addmm = None
        permute_8: "bf16[4, 128, 256]" = torch.ops.aten.permute.default(view_10, [1, 0, 2]);  view_10 = None
        inductor_seeds_default: "i64[3]" = torch.ops.prims.inductor_seeds.default(3, device(type='cuda', index=0))
        inductor_lookup_seed_default: "i64[]" = torch.ops.prims.inductor_lookup_seed.default(inductor_seeds_default, 0)
        inductor_random_default_2: "f32[128, 4, 256]" = torch.ops.prims.inductor_random.default([128, 4, 256], inductor_lookup_seed_default, 'rand');  inductor_lookup_seed_default = None
        convert_element_type_default_2: "bf16[128, 4, 256]" = torch.ops.prims.convert_element_type.default(inductor_random_default_2, torch.bfloat16);  inductor_random_default_2 = None
        permute_9: "bf16[4, 128, 256]" = torch.ops.aten.permute.default(convert_element_type_default_2, [1, 0, 2]);  convert_element_type_default_2 = None
        gt: "b8[4, 128, 256]" = torch.ops.aten.gt.Scalar(permute_9, 0.1);  permute_9 = None
        mul: "bf16[4, 128, 256]" = torch.ops.aten.mul.Tensor(gt, permute_8);  permute_8 = None
        mul_1: "bf16[4, 128, 256]" = torch.ops.aten.mul.Tensor(mul, 1.1111111111111112);  mul = None
        add_1: "bf16[4, 128, 256]" = torch.ops.aten.add.Tensor(primals_1, mul_1);  primals_1 = mul_1 = None
        convert_element_type_5: "f32[4, 128, 256]" = torch.ops.prims.convert_element_type.default(add_1, torch.float32)
        var_mean = torch.ops.aten.var_mean.correction(convert_element_type_5, [2], correction = 0, keepdim = True)
        getitem_9: "f32[4, 128, 1]" = var_mean[0]
        getitem_10: "f32[4, 128, 1]" = var_mean[1];  var_mean = None
        add_2: "f32[4, 128, 1]" = torch.ops.aten.add.Tensor(getitem_9, 1e-05);  getitem_9 = None
        rsqrt: "f32[4, 128, 1]" = torch.ops.aten.rsqrt.default(add_2);  add_2 = None
        sub: "f32[4, 128, 256]" = torch.ops.aten.sub.Tensor(convert_element_type_5, getitem_10);  convert_element_type_5 = None
        mul_2: "f32[4, 128, 256]" = torch.ops.aten.mul.Tensor(sub, rsqrt);  sub = None
        mul_3: "f32[4, 128, 256]" = torch.ops.aten.mul.Tensor(mul_2, primals_6);  mul_2 = None
        add_3: "f32[4, 128, 256]" = torch.ops.aten.add.Tensor(mul_3, primals_7);  mul_3 = primals_7 = None
        convert_element_type_6: "bf16[4, 128, 256]" = torch.ops.prims.convert_element_type.default(add_3, torch.bfloat16);  add_3 = None
        view_11: "bf16[512, 256]" = torch.ops.aten.reshape.default(convert_element_type_6, [512, 256])
        permute_10: "bf16[256, 1024]" = torch.ops.aten.permute.default(primals_8, [1, 0])
        addmm_1: "bf16[512, 1024]" = torch.ops.aten.addmm.default(primals_9, view_11, permute_10);  primals_9 = permute_10 = None
        view_12: "bf16[4, 128, 1024]" = torch.ops.aten.reshape.default(addmm_1, [4, 128, 1024])
        convert_element_type_10: "f32[4, 128, 1024]" = torch.ops.prims.convert_element_type.default(view_12, torch.float32);  view_12 = None
        mul_4: "f32[4, 128, 1024]" = torch.ops.aten.mul.Tensor(convert_element_type_10, 0.5)
        mul_5: "f32[4, 128, 1024]" = torch.ops.aten.mul.Tensor(convert_element_type_10, 0.7071067811865476);  convert_element_type_10 = None
        erf: "f32[4, 128, 1024]" = torch.ops.aten.erf.default(mul_5);  mul_5 = None
        add_4: "f32[4, 128, 1024]" = torch.ops.aten.add.Tensor(erf, 1);  erf = None
        mul_6: "f32[4, 128, 1024]" = torch.ops.aten.mul.Tensor(mul_4, add_4);  mul_4 = add_4 = None
        convert_element_type_11: "bf16[4, 128, 1024]" = torch.ops.prims.convert_element_type.default(mul_6, torch.bfloat16);  mul_6 = None
        inductor_lookup_seed_default_1: "i64[]" = torch.ops.prims.inductor_lookup_seed.default(inductor_seeds_default, 1)
        inductor_random_default_1: "f32[4, 128, 1024]" = torch.ops.prims.inductor_random.default([4, 128, 1024], inductor_lookup_seed_default_1, 'rand');  inductor_lookup_seed_default_1 = None
        convert_element_type_default_1: "bf16[4, 128, 1024]" = torch.ops.prims.convert_element_type.default(inductor_random_default_1, torch.bfloat16);  inductor_random_default_1 = None
        gt_1: "b8[4, 128, 1024]" = torch.ops.aten.gt.Scalar(convert_element_type_default_1, 0.1);  convert_element_type_default_1 = None
        mul_7: "bf16[4, 128, 1024]" = torch.ops.aten.mul.Tensor(gt_1, convert_element_type_11);  convert_element_type_11 = None
        mul_8: "bf16[4, 128, 1024]" = torch.ops.aten.mul.Tensor(mul_7, 1.1111111111111112);  mul_7 = None
        view_13: "bf16[512, 1024]" = torch.ops.aten.reshape.default(mul_8, [512, 1024]);  mul_8 = None
        permute_11: "bf16[1024, 256]" = torch.ops.aten.permute.default(primals_10, [1, 0])
        addmm_2: "bf16[512, 256]" = torch.ops.aten.addmm.default(primals_11, view_13, permute_11);  primals_11 = permute_11 = None
        view_14: "bf16[4, 128, 256]" = torch.ops.aten.reshape.default(addmm_2, [4, 128, 256]);  addmm_2 = None
        inductor_lookup_seed_default_2: "i64[]" = torch.ops.prims.inductor_lookup_seed.default(inductor_seeds_default, 2);  inductor_seeds_default = None
        inductor_random_default: "f32[4, 128, 256]" = torch.ops.prims.inductor_random.default([4, 128, 256], inductor_lookup_seed_default_2, 'rand');  inductor_lookup_seed_default_2 = None
        convert_element_type_default: "bf16[4, 128, 256]" = torch.ops.prims.convert_element_type.default(inductor_random_default, torch.bfloat16);  inductor_random_default = None
        gt_2: "b8[4, 128, 256]" = torch.ops.aten.gt.Scalar(convert_element_type_default, 0.1);  convert_element_type_default = None
        mul_9: "bf16[4, 128, 256]" = torch.ops.aten.mul.Tensor(gt_2, view_14);  view_14 = None
        mul_10: "bf16[4, 128, 256]" = torch.ops.aten.mul.Tensor(mul_9, 1.1111111111111112);  mul_9 = None
        add_5: "bf16[4, 128, 256]" = torch.ops.aten.add.Tensor(convert_element_type_6, mul_10);  convert_element_type_6 = mul_10 = None
        convert_element_type_15: "f32[4, 128, 256]" = torch.ops.prims.convert_element_type.default(add_5, torch.float32)
        var_mean_1 = torch.ops.aten.var_mean.correction(convert_element_type_15, [2], correction = 0, keepdim = True)
        getitem_11: "f32[4, 128, 1]" = var_mean_1[0]
        getitem_12: "f32[4, 128, 1]" = var_mean_1[1];  var_mean_1 = None
        add_6: "f32[4, 128, 1]" = torch.ops.aten.add.Tensor(getitem_11, 1e-05);  getitem_11 = None
        rsqrt_1: "f32[4, 128, 1]" = torch.ops.aten.rsqrt.default(add_6);  add_6 = None
        sub_1: "f32[4, 128, 256]" = torch.ops.aten.sub.Tensor(convert_element_type_15, getitem_12);  convert_element_type_15 = None
        mul_11: "f32[4, 128, 256]" = torch.ops.aten.mul.Tensor(sub_1, rsqrt_1);  sub_1 = None
        mul_12: "f32[4, 128, 256]" = torch.ops.aten.mul.Tensor(mul_11, primals_12);  mul_11 = None
        add_7: "f32[4, 128, 256]" = torch.ops.aten.add.Tensor(mul_12, primals_13);  mul_12 = primals_13 = None
        convert_element_type_16: "bf16[4, 128, 256]" = torch.ops.prims.convert_element_type.default(add_7, torch.bfloat16);  add_7 = None
        return (convert_element_type_16, primals_3, primals_4, primals_6, primals_8, primals_10, primals_12, view, view_6, view_7, view_8, getitem, getitem_1, getitem_6, getitem_7, gt, add_1, getitem_10, rsqrt, view_11, addmm_1, gt_1, view_13, gt_2, add_5, getitem_12, rsqrt_1)
