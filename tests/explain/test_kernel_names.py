# ruff: noqa: E501 (names of kernels are as long as they are)
"""Kernel names: each field against operands that are known, and names of every family with known answers."""

import gzip
import json
from pathlib import Path

import pytest

from fxscope import cli
from fxscope.kernel_names import ROLES, decode, tables
from fxscope.model import Recording
from fxscope.passes.attribute import attribute
from tests import build

DATA = Path(__file__).parents[1] / "data" / "kernel_names" / "h200.json.gz"
OPS = json.loads(gzip.decompress(DATA.read_bytes()))
GEMM_FAMILIES = {"nvjet", "xmma", "cutlass", "cublas"}
ROLES_OF_TAGS = {
    "softmax": "softmax",
    "logsoftmax": "softmax",
    "sum_d": "reduction",
    "argmax": "reduction",
    "norm": "reduction",
    "cumsum": "scan",
    "sort": "sort",
    "topk": "sort",
    "cat": "copy",
    "stack": "copy",
    "contig": "copy",
    "mul": "elementwise",
    "relu": "elementwise",
    "rmsnorm": "normalization",
    "batchnorm": "normalization",
    "index": "index",
    "scatter": "index",
    "arange": "fill",
    "sdpa": "attention",
    "sdpa_causal": "attention",
    "foreach": "elementwise",
    "conv2d": "convolution",
    "convT": "convolution",
    "bmm": "gemm",
    "mm": "gemm",
    "int_mm": "gemm",
    "scaled_mm_fp8": "gemm",
    "mm_tf32": "gemm",
}


def _dtype(op: dict) -> str:
    return {"fp8_e4m3": "float8_e4m3fn", "tf32": "float32"}.get(op["dtype"], op["dtype"].replace("torch.", ""))


@pytest.mark.parametrize(
    "op", [op for op in OPS if op["tag"] == "mm"], ids=lambda op: f"{op['dtype']}-{op['ta']}{op['tb']}-{op['MKN']}"
)
def test_the_layout_and_the_dtypes_of_a_matmul_are_its_operands(op):
    m = op["MKN"][0]
    decoded = [decode(kernel["name"]) for kernel in op["kernels"] if kernel["cat"] == "kernel"]
    main = [item for item in decoded if item["role"] in ("gemm", "gemv")]
    assert len(main) == 1
    found = main[0]
    # cuBLAS is column-major: torch's w is its A, torch's x its B; a transposed view reads as T.
    layout = "NT"[op["tb"]] + "NT"[op["ta"]]
    if found["role"] == "gemv":
        assert m == 1 and found["layout"] is None
        return
    if m == 1:  # a row is a column: its own layout says nothing
        assert found["layout"][0] == layout[0]
    else:
        assert found["layout"] == layout
    for key in ("a", "b", "out"):
        assert found["dtypes"][key] == _dtype(op), key
    assert found["dtypes"]["accumulate"] in ("float32", "float64")
    if any(item["role"] == "split_k_reduce" for item in decoded):
        assert found["split_k"] is True


@pytest.mark.parametrize("op", OPS, ids=lambda op: f"{op['tag']}-{op['dtype']}")
def test_every_recorded_kernel_has_a_role_and_states_no_wrong_dtype(op):
    roles = []
    for kernel in op["kernels"]:
        decoded = decode(kernel["name"])
        assert decoded is not None and decoded["family"] is not None, kernel["name"]
        assert decoded["role"] in ROLES
        roles.append(decoded["role"])
        if kernel["cat"] != "kernel":
            assert decoded["role"] == kernel["cat"].removeprefix("gpu_")
        if decoded["role"] == "attention" and decoded["dtypes"]["a"]:
            assert decoded["dtypes"]["a"] == _dtype(op)
    if op["tag"] in ROLES_OF_TAGS and not (op["tag"] in ("mm",) and op["MKN"][0] == 1):
        assert ROLES_OF_TAGS[op["tag"]] in roles


def test_the_bias_and_the_activation_are_the_epilogue_that_the_name_states():
    names = [kernel["name"] for op in OPS if op["tag"] == "addmm_activation_gelu" for kernel in op["kernels"]]
    stated = {decode(name)["epilogue"] for name in names if name.startswith("nvjet")}
    assert stated == {"gelubias"}
    assert decode("nvjet_sm90_tst_64x8_64x16_1x2_h_bz_bias_TNT")["epilogue"] == "bias"
    assert decode("nvjet_sm90_tst_64x8_64x16_1x2_h_bz_TNT")["epilogue"] is None


# name, role, family, then what else it states: dtypes as a/b/out/accumulate, layout, tile, stages, arch, split_k, …
KNOWN = [
    (
        "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT",
        "gemm",
        "nvjet",
        {
            "dtypes": "bfloat16/bfloat16/bfloat16/float32",
            "layout": "TN",
            "tile": [256, 128],
            "stages": 4,
            "tile_k": 64,
            "cluster": [1, 2],
            "split_k": False,
            "arch": "sm90",
        },
    ),
    (
        "nvjet_hsh_64x8_64x16_4x1_v_bz_splitK_TNT",
        "gemm",
        "nvjet",
        {"arch": None, "split_k": True, "dtypes": "float16/float16/float16/float32"},
    ),
    (
        "nvjet_tss_512x16_64x3_2x1_v_bz_coopB_TNN",
        "gemm",
        "nvjet",
        {"dtypes": "bfloat16/bfloat16/float32/float32", "layout": "TN"},
    ),
    (
        "nvjet_sm100_tst_64x32_64x16_2x1_2cta_h_bz_splitk_TNT",
        "gemm",
        "nvjet",
        {"arch": "sm100", "split_k": True, "tile": [64, 32]},
    ),
    (
        "nvjet_sm120_hsh_mma_96x256x64_2_48x64x64_tmaAB_alignCD4_bz_TNNN",
        "gemm",
        "nvjet",
        {"tile": [96, 256], "tile_k": 64, "stages": 2, "layout": "TN"},
    ),
    (
        "sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize64x128x128_warpgroupsize1x1x1_bias_f16_execute_segment_k_off_kernel__5x_cublas",
        "gemm",
        "xmma",
        {
            "dtypes": "float8_e4m3fn/float8_e4m3fn/bfloat16/float32",
            "layout": "TN",
            "tile": [64, 128],
            "epilogue": "bias",
            "split_k": False,
        },
    ),
    (
        "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x16_stage4_warpsize2x2x1_tensor16x8x8_execute_kernel__5x_cublas",
        "gemm",
        "xmma",
        {"dtypes": "float32/float32/float32/float32", "math": "tf32", "stages": 4},
    ),
    (
        "sm80_xmma_wgrad_implicit_gemm_indexed_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x64x64_stage3_warpsize2x2x1_g1_tensor16x8x16_execute_kernel__5x_cudnn",
        "convolution",
        "xmma",
        {"direction": "backward_weight", "layout": None, "dtypes": "float16/float16/float16/float32"},
    ),
    (
        "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_align8>(T1::Params)",
        "gemm",
        "cutlass",
        {
            "dtypes": "bfloat16/bfloat16/bfloat16/float32",
            "layout": "TN",
            "tile": [256, 128],
            "tile_k": 32,
            "stages": 3,
            "arch": "sm80",
            "epilogue": "relu",
        },
    ),
    (
        "void cutlass::Kernel2<cutlass_80_tensorop_s16816gemm_bf16_64x64_64x6_tn_align8>(T1::Params)",
        "gemm",
        "cutlass",
        {"dtypes": "bfloat16/bfloat16/float32/float32"},
    ),
    (
        "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_16x4_nn_align4>(T1::Params)",
        "gemm",
        "cutlass",
        {"dtypes": "float32/float32/float32/float32", "math": "tf32"},
    ),
    (
        "cutlass_80_simt_sgemm_128x64_8x5_tn_align1",
        "gemm",
        "cutlass",
        {"dtypes": "float32/float32/float32/float32", "math": None},
    ),
    (
        "cutlass3x_sm90_tensorop_s64x128x32gemm_e4m3_e4m3_f32_bf16_bf16_64x128x128_2x1x1_0_tnt_align16_warpspecialized_epi_nosmem",
        "gemm",
        "cutlass",
        {
            "dtypes": "float8_e4m3fn/float8_e4m3fn/bfloat16/float32",
            "layout": "TN",
            "stages": None,
            "cluster": [2, 1, 1],
        },
    ),
    (
        "cutlass3x_sm90_tensorop_h64x128x16gemm_f16_f16_f16_void_f16_128x128x64_2x1x1_0_ttn_align8_warpspecialized_pingpong_epi_nosmem",
        "gemm",
        "cutlass",
        {"dtypes": "float16/float16/float16/float16", "layout": "TT"},
    ),
    (
        "ampere_fp16_s16816gemm_fp16_64x64_sliced1x2_ldg8_relu_f2f_stages_64x6_tn",
        "gemm",
        "cublas",
        {
            "dtypes": "float16/float16/float16/float32",
            "layout": "TN",
            "tile": [64, 64],
            "stages": 6,
            "tile_k": 64,
            "arch": "sm80",
        },
    ),
    (
        "ampere_sgemm_32x32_sliced1x4_tn",
        "gemm",
        "cublas",
        {"dtypes": "float32/float32/float32/float32", "tile": [32, 32]},
    ),
    ("volta_h884gemm_256x64_ldg8_nn", "gemm", "cublas", {"dtypes": "float16/float16/float16/float16", "arch": "sm70"}),
    (
        "maxwell_scudnn_128x128_stridedB_splitK_interior_nn_v1",
        "convolution",
        "cudnn",
        {"split_k": True, "layout": None, "arch": "sm50"},
    ),
    (
        "void gemv2N_kernel<int, int, __half, __half, __half, float, 128, 8, 4, 4, 1, false, cublasGemvParams<int> >(int)",
        "gemv",
        "cublas",
        {"dtypes": "None/None/None/None"},
    ),
    (
        "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 64, 4, false, false, cutlass::bfloat16_t, pytorch_flash::Flash_kernel_traits<64, 128, 64, 4, cutlass::bfloat16_t> >, false, true>(pytorch_flash::Flash_fwd_params)",
        "attention",
        "flash_attention",
        {"dtypes": "bfloat16/bfloat16/None/None", "head_dim": 64, "tile": [128, 64], "direction": "forward"},
    ),
    (
        "fmha_cutlassB_f16_aligned_64x64_k64_dropout_sm80(PyTorchMemEffAttention::AttentionBackwardKernel<cutlass::arch::Sm80>::Params)",
        "attention",
        "mem_efficient",
        {"direction": "backward", "arch": "sm80", "tile": [64, 64]},
    ),
    (
        "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_cga1x1x1_kernel0_0",
        "attention",
        "cudnn",
        {"dtypes": "None/None/None/None", "arch": "sm90", "direction": "forward"},
    ),
    (
        "void at::native::vectorized_elementwise_kernel<(int)4, at::native::FillFunctor<float>, at::detail::Array<char *, (int)1>>(int, T2, T3)",
        "fill",
        "aten",
        {"functor": "FillFunctor"},
    ),
    (
        "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, bool, at::native::CompareEqFunctor<float> >, at::detail::Array<char*, 3> >(int)",
        "elementwise",
        "aten",
        {"ops": ["compare"]},
    ),
    (
        "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)0, false>, float const*, double>(int)",
        "optimizer",
        "aten",
        {},
    ),
    (
        "void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::Half, long, unsigned int, 2, 2, -2, true>(int)",
        "index",
        "aten",
        {},
    ),
    (
        "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_",
        "fill",
        "aten",
        {},
    ),
    (
        "void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<at_cuda_detail::cub::DeviceRadixSortPolicy<long, long, int>::Policy800, false, long, long, int>(int*)",
        "sort",
        "cub",
        {},
    ),
    (
        "void cub::CUB_200200_800_NS::DeviceReduceSingleTileKernel<cub::DeviceReducePolicy<int, int, cub::Sum>::Policy600, int*>(int*)",
        "reduction",
        "cub",
        {},
    ),
    (
        "triton_poi_fused__unsafe_view_gelu_mul_0",
        "elementwise",
        "triton",
        {"ops": ["_unsafe_view", "gelu", "mul"], "kind": "pointwise"},
    ),
    (
        "triton_red_fused__log_softmax_nll_loss_forward_sub_view_2",
        "reduction",
        "triton",
        {"ops": ["_log_softmax", "nll_loss_forward", "sub", "view"]},
    ),
    ("triton_tem_fused__unsafe_view_gelu_mm_mul_t_view_1", "gemm", "triton", {"kind": "template"}),
    ("triton_poi_fused_add_mul_relu_sin_0d1d2d3de", "elementwise", "triton", {"ops": ["add", "mul", "relu", "sin"]}),
    ("triton_spl_fused_cumsum_0", "scan", "triton", {}),
    ("_geglu_tanh_forward_kernel", "elementwise", "triton", {"origin": "user", "direction": "forward"}),
    ("_rms_layernorm_forward", "normalization", "triton", {"origin": "user"}),
    ("_rope_embedding", "elementwise", "triton", {}),
    ("_attn_fwd", "attention", "triton", {}),
    ("fused_moe_kernel", "gemm", "triton", {}),
    (
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "collective",
        "nccl",
        {"operation": "AllReduce", "dtypes": "bfloat16/None/bfloat16/None"},
    ),
    (
        "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x208x64_MI16x16x1_SN_GSU4_ISA942_WG64_4_1",
        "gemm",
        "tensile",
        {"layout": "TN", "tile": [256, 208], "arch": "gfx942", "epilogue": None},
    ),
    ("Cijk_Ailk_Bjlk_SB_MT64x64x16_SE_GSU1_ISA906_WG16_16_1", "gemm", "tensile", {"layout": "NT"}),
    ("Memcpy HtoD (Pinned -> Device)", "memcpy", "cuda", {"direction": "HtoD"}),
    ("[CUDA memset]", "memset", "cuda", {}),
]


@pytest.mark.parametrize(
    ("name", "role", "family", "states"), KNOWN, ids=lambda value: value[:60] if isinstance(value, str) else ""
)
def test_names_with_known_answers(name, role, family, states):
    decoded = decode(name)
    assert (decoded["role"], decoded["family"]) == (role, family)
    dtypes = "/".join(str(decoded["dtypes"][key]) for key in ("a", "b", "out", "accumulate"))
    for key, value in states.items():
        assert (dtypes if key == "dtypes" else decoded.get(key)) == value, key


def test_a_name_that_says_nothing_is_all_null():
    decoded = decode("xyzzy")
    assert decoded["role"] == "other"
    assert {key for key, value in decoded.items() if value is not None} == {"role", "dtypes"}
    assert set(decoded["dtypes"].values()) == {None}
    assert decode("   ") is None


@pytest.mark.parametrize(
    "name",
    [
        "void at::native::vectorized_elementwise_kernel<4, at::nat",
        "nvjet_",
        "sm80_xmma_",
        "Cijk_",
        "void cutlass::",
        "<<<>>>",
        "((((",
        "triton_",
        "_Z",
        "\x00é",
    ],
)
def test_names_cut_off_or_made_of_brackets_do_no_harm(name):
    decoded = decode(name)
    assert decoded is None or decoded["role"] in ROLES


def test_the_command_writes_one_object_a_line(capsys):
    assert cli.main(["kernel", "--json", "_attn_fwd", "Memset (Device)"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["role"] for line in lines] == ["attention", "memset"]
    assert set(lines[0]["decoded"]) >= {"family", "arch", "dtypes", "layout", "tile", "epilogue", "split_k", "stages"}


def test_a_generated_loop_of_a_cpu_is_known_as_the_profiler_calls_it():
    for name in ("cpp_fused_convolution_relu_3", "graph_0_cpp_fused_convolution_relu_3"):
        found = decode(name)
        assert (found["family"], found["role"], found["ops"]) == ("inductor_cpp", "other", ["convolution", "relu"])


def test_a_kernel_on_a_cpu_goes_by_its_op_and_is_not_decoded():
    """`aten::addmm` is no elementwise kernel for having "add" in it, nor C++ of Inductor's one of Triton's."""
    names = ("aten::addmm", "graph_0_cpp_fused_add_native_layer_norm_backward_7")
    launches = (
        *(build.launch(i, name, category="cpu_kernel") for i, name in enumerate(names)),
        build.launch(2, "triton_poi_fused_add_0"),
    )
    found = [launch.decoded for launch in attribute(Recording(launches=launches)).launches]
    assert found[:2] == [None, None] and found[2]["family"] == "triton"


def test_rules_give_known_roles():
    for name in tables.tables()["roles"]:
        assert {role for _, role in tables.rules("roles", name)} <= {*ROLES}, name
    for name in tables.tables()["directions"]:
        assert {way.partition("_")[0] for _, way in tables.rules("directions", name)} <= {"forward", "backward"}, name
