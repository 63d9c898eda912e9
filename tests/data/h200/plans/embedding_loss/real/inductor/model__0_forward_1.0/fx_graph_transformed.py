class GraphModule(torch.nn.Module):
    def forward(self, primals_1: "f32[8192, 256]", primals_2: "i64[8, 256]", primals_3: "f32[8192, 256]", primals_4: "i64[8, 256]"):
        # File: tests/gpu/plan_models.py:203 in forward, code: return functional.cross_entropy(self.head(self.embedding(tokens)).float().flatten(0, 1), targets.flatten())
        embedding: "f32[8, 256, 256]" = torch.ops.aten.embedding.default(primals_1, primals_2);  primals_1 = None
        permute: "f32[256, 8192]" = torch.ops.aten.permute.default(primals_3, [1, 0])
        view: "f32[2048, 256]" = torch.ops.aten.reshape.default(embedding, [2048, 256]);  embedding = None
        mm: "f32[2048, 8192]" = torch.ops.aten.mm.default(view, permute);  permute = None
        view_3: "i64[2048]" = torch.ops.aten.reshape.default(primals_4, [2048])

        # No stacktrace found for following nodes
        prepare_softmax_online_default = torch.ops.prims.prepare_softmax_online.default(mm, 1)
        getitem: "f32[2048, 1]" = prepare_softmax_online_default[0]
        getitem_1: "f32[2048, 1]" = prepare_softmax_online_default[1];  prepare_softmax_online_default = None
        sub_tensor: "f32[2048, 8192]" = torch.ops.aten.sub.Tensor(mm, getitem)
        exp_default: "f32[2048, 8192]" = torch.ops.aten.exp.default(sub_tensor);  exp_default = None

        # File: tests/gpu/plan_models.py:203 in forward, code: return functional.cross_entropy(self.head(self.embedding(tokens)).float().flatten(0, 1), targets.flatten())
        log: "f32[2048, 1]" = torch.ops.aten.log.default(getitem_1);  getitem_1 = None
        sub_1: "f32[2048, 8192]" = torch.ops.aten.sub.Tensor(sub_tensor, log);  sub_tensor = None
        ne: "b8[2048]" = torch.ops.aten.ne.Scalar(view_3, -100)
        full_default: "i64[]" = torch.ops.aten.full.default([], 0, dtype = torch.int64, layout = torch.strided, device = device(type='cuda', index=0), pin_memory = False)
        where: "i64[2048]" = torch.ops.aten.where.self(ne, view_3, full_default);  view_3 = full_default = None
        unsqueeze: "i64[2048, 1]" = torch.ops.aten.unsqueeze.default(where, 1);  where = None
        gather: "f32[2048, 1]" = torch.ops.aten.gather.default(sub_1, 1, unsqueeze);  sub_1 = unsqueeze = None
        squeeze: "f32[2048]" = torch.ops.aten.squeeze.dim(gather, 1);  gather = None
        neg: "f32[2048]" = torch.ops.aten.neg.default(squeeze);  squeeze = None
        full_default_1: "f32[]" = torch.ops.aten.full.default([], 0.0, dtype = torch.float32, layout = torch.strided, device = device(type='cuda', index=0), pin_memory = False)
        where_1: "f32[2048]" = torch.ops.aten.where.self(ne, neg, full_default_1);  neg = full_default_1 = None
        sum_2: "i64[]" = torch.ops.aten.sum.default(ne);  ne = None
        convert_element_type: "f32[]" = torch.ops.prims.convert_element_type.default(sum_2, torch.float32);  sum_2 = None
        sum_3: "f32[]" = torch.ops.aten.sum.default(where_1);  where_1 = None
        div: "f32[]" = torch.ops.aten.div.Tensor(sum_3, convert_element_type);  sum_3 = None
        return (div, primals_2, primals_3, primals_4, view, mm, getitem, log, convert_element_type)
