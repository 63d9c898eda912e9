"""Kernel names: each field against operands that are known, and names of every family with known answers."""

import gzip
import json
from pathlib import Path

import pytest

from fxscope.kernel_names import ROLES, decode, tables
from fxscope.model import Recording
from fxscope.passes.attribute import attribute
from tests import build

DATA = Path(__file__).parents[1] / "data" / "kernel_names" / "h200.json.gz"
OPS = json.loads(gzip.decompress(DATA.read_bytes()))
TAGS_OF_ROLES = {
    "softmax": "softmax logsoftmax",
    "reduction": "sum_d argmax norm",
    "scan": "cumsum",
    "sort": "sort topk",
    "copy": "cat stack contig",
    "elementwise": "mul relu foreach",
    "normalization": "rmsnorm batchnorm",
    "index": "index scatter",
    "fill": "arange",
    "attention": "sdpa sdpa_causal",
    "convolution": "conv2d convT",
    "gemm": "bmm mm int_mm scaled_mm_fp8 mm_tf32",
}
ROLES_OF_TAGS = {tag: role for role, tags in TAGS_OF_ROLES.items() for tag in tags.split()}


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


# Name, role, family, then what else it states: dtypes as a/b/out/accumulate, layout, tile, stages, arch, split_k, …
KNOWN = [json.loads(line) for line in DATA.with_name("known.jsonl").read_text().splitlines()]


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


def test_the_command_writes_one_object_a_line(command):
    lines = [json.loads(line) for line in command("kernel", "--json", "_attn_fwd", "Memset (Device)").out.splitlines()]
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
