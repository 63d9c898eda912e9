class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "bf16[4, 128, 256]", arg1_1: "bf16[768]", arg2_1: "bf16[768, 256]", arg3_1: "bf16[256, 256]", arg4_1: "bf16[256]", arg5_1: "bf16[256]", arg6_1: "bf16[256]", arg7_1: "bf16[256]", arg8_1: "bf16[256]", arg9_1: "bf16[1024, 256]", arg10_1: "bf16[1024]", arg11_1: "bf16[256, 1024]", arg12_1: "bf16[256]"):
        # No stacktrace found for following nodes
        _transformer_encoder_layer_fwd: "bf16[4, 128, 256]" = torch.ops.aten._transformer_encoder_layer_fwd.default(arg0_1, 256, 4, arg2_1, arg1_1, arg3_1, arg4_1, True, True, 1e-05, arg5_1, arg6_1, arg7_1, arg8_1, arg9_1, arg10_1, arg11_1, arg12_1);  arg0_1 = arg2_1 = arg1_1 = arg3_1 = arg4_1 = arg5_1 = arg6_1 = arg7_1 = arg8_1 = arg9_1 = arg10_1 = arg11_1 = arg12_1 = None
        return (_transformer_encoder_layer_fwd,)
