"""Kernel lines are tied to nodes where the expressions agree from the store down, and nowhere else."""

from __future__ import annotations

from pathlib import Path

from fxscope.analysis import kernel_lines
from fxscope.model import replace
from tests import build

PLANS = Path(__file__).parent.parent / "data" / "h200" / "plans"

TRITON = """
    tmp0 = tl.load(in_out_ptr0 + (x0), None).to(tl.float32)
    tmp9 = tl.load(in_ptr0 + (x0), None).to(tl.float32)
    tmp1 = tmp0.to(tl.float32)
    tmp2 = tl.full([1], 0.5, tl.float32)
    tmp3 = tmp1 * tmp2
    tmp4 = libdevice.tanh(tmp1)
    tmp5 = tl.full([1], 1.0, tl.float32)
    tmp6 = tmp4 + tmp5
    tmp7 = tmp3 * tmp6
    tmp8 = tmp7.to(tl.float32)
    tmp10 = tmp8 * tmp9
    tl.store(in_out_ptr0 + (x0), tmp10, None)
""".splitlines()


def node(name, op, *inputs):
    return build.node(name, f"aten.{op}.default", *inputs)


def graph(*nodes):
    return {item.name: item for item in nodes}


def half_gelu():
    return graph(
        build.placeholder("g"),
        build.placeholder("u"),
        node("up", "convert_element_type", "g"),
        node("half", "mul", "up"),
        node("tanh", "tanh", "up"),
        node("one", "add", "tanh"),
        node("both", "mul", "half", "one"),
        node("down", "convert_element_type", "both"),
        node("out", "mul", "down", "u"),
    )


def call(nodes, *left_out):
    names = tuple(name for name, item in nodes.items() if item.op != "placeholder" and name not in left_out)
    return build.call(1, "k", *names, graph="g")


def by_variable(lines, tied):
    return {lines[number].split(" = ")[0].strip(): name for number, name in tied.items() if " = " in lines[number]}


def test_each_line_of_a_triton_kernel():
    nodes = half_gelu()
    tied = kernel_lines.tie(TRITON, call(nodes), nodes)
    assert by_variable(TRITON, tied) == {
        "tmp1": "up",
        "tmp3": "half",
        "tmp4": "tanh",
        "tmp6": "one",
        "tmp7": "both",
        "tmp8": "down",
        "tmp10": "out",
    }
    assert tied[len(TRITON) - 1] == "out"


def test_operands_may_stand_in_either_order():
    nodes = half_gelu()
    nodes["both"] = node("both", "mul", "one", "half")
    assert len(kernel_lines.tie(TRITON, call(nodes), nodes)) == 8


def test_a_graph_that_computes_something_else_is_not_tied():
    nodes = half_gelu()
    nodes["one"] = node("one", "sub", "tanh")
    assert kernel_lines.tie(TRITON, call(nodes), nodes) == {}


def test_the_loops_of_a_cpp_function_use_the_same_names():
    lines = """
        auto tmp0 = in_ptr0[static_cast<int64_t>(x0)];
        auto tmp1 = tmp0 + tmp0;
        out_ptr0[static_cast<int64_t>(x0)] = tmp1;
        auto tmp0 = at::vec::Vectorized<float>::loadu(in_ptr1 + x0, static_cast<int64_t>(16));
        auto tmp1 = tmp0.exp();
        tmp1.store(out_ptr1 + static_cast<int64_t>(x0));
    """.splitlines()
    nodes = graph(build.placeholder("a"), build.placeholder("b"), node("add", "add", "a"), node("exp", "exp", "b"))
    assert kernel_lines.tie(lines, call(nodes), nodes) == {2: "add", 3: "add", 5: "exp", 6: "exp"}


def test_what_is_one_op_of_several_lines_stays_untied():
    lines = """
        tmp0 = tl.load(in_ptr0 + (x0), None)
        tmp1 = tmp0 * tmp0
        tmp2 = libdevice.exp(tmp1)
        tl.store(out_ptr0 + (x0), tmp2, None)
    """.splitlines()
    nodes = graph(build.placeholder("a"), node("pow", "pow", "a"), node("exp", "exp", "pow"))
    assert kernel_lines.tie(lines, call(nodes), nodes) == {3: "exp", 4: "exp"}


def test_a_text_without_stores_ties_nothing():
    nodes = half_gelu()
    assert kernel_lines.tie(["x = 1", ""], call(nodes), nodes) == {}


def test_every_recorded_kernel_is_read_without_an_error():
    count = 0
    for path in sorted(PLANS.glob("*/real/inductor/*/output_code.py")):
        lines = path.read_text().splitlines()
        program = kernel_lines.read(lines)
        count += sum(len(items) for items in program.values())
        assert all(variable.startswith("tmp") for _, variable in kernel_lines.stores(lines))
    assert count > 500


def test_what_is_inlined_into_a_reductions_loop_is_tied():
    """Inductor's C++ stores an accumulator, Triton what is left of a loop's `_tmp`."""
    cpp = """
        float tmp_acc0 = 0;
        auto tmp0 = at::vec::Vectorized<float>::loadu(in_ptr0 + x0, static_cast<int64_t>(16));
        auto tmp1 = tmp0.exp();
        tmp_acc0_vec = tmp_acc0_vec + tmp1;
        tmp_acc0 = tmp_acc0 + at::vec::vec_reduce_all<float, 1>([](auto& x, auto& y) { return x + y; }, tmp_acc0_vec);
        out_ptr0[static_cast<int64_t>(x0)] = static_cast<float>(tmp_acc0);
    """.splitlines()
    nodes = graph(build.placeholder("a"), node("exp", "exp", "a"), node("sum_1", "sum", "exp"))
    assert kernel_lines.tie(cpp, call(nodes), nodes) == {3: "exp", 4: "sum_1", 6: "sum_1"}
    triton = """
        _tmp3 = tl.full([XBLOCK, R0_BLOCK], 0, tl.float32)
        tmp0 = tl.load(in_ptr0 + (r0_1), None)
        tmp1 = libdevice.exp(tmp0)
        tmp2 = tl.broadcast_to(tmp1, [XBLOCK, R0_BLOCK])
        tmp4 = _tmp3 + tmp2
        _tmp3 = tl.where(r0_mask & xmask, tmp4, _tmp3)
        tmp3 = tl.sum(_tmp3, 1)[:, None]
        tl.store(out_ptr0 + (x0), tmp3, xmask)
    """.splitlines()
    assert kernel_lines.tie(triton, call(nodes), nodes) == {3: "exp", 5: "sum_1", 6: "sum_1", 7: "sum_1", 8: "sum_1"}
    largest = graph(build.placeholder("a"), node("exp", "exp", "a"), node("amax", "amax", "exp"))
    scalar = """
        auto tmp0 = in_ptr0[static_cast<int64_t>(x0)];
        auto tmp1 = std::exp(tmp0);
        tmp_acc0 = max_propagate_nan(tmp_acc0, tmp1);
        out_ptr0[static_cast<int64_t>(x0)] = tmp_acc0;
    """.splitlines()
    assert kernel_lines.tie(scalar, call(largest), largest) == {2: "exp", 3: "amax", 4: "amax"}
    assert kernel_lines.tie(scalar, call(nodes), nodes) == {}


def test_of_two_nodes_that_agree_alike_neither_is_said():
    lines = """
        tmp0 = tl.load(in_ptr0 + (x0), None)
        tmp1 = tl.load(in_ptr1 + (x0), None)
        tmp2 = tmp0 * tmp1
        tl.store(out_ptr0 + (x0), tmp2, None)
    """.splitlines()
    inputs = [build.placeholder(name) for name in "abc"]
    one = graph(*inputs, node("ab", "mul", "a", "b"))
    assert kernel_lines.tie(lines, call(one), one) == {3: "ab", 4: "ab"}
    two = graph(*inputs, node("ab", "mul", "a", "b"), node("ac", "mul", "a", "c"))
    assert kernel_lines.tie(lines, call(two), two) == {}


def test_a_mask_of_cpp_is_loaded_compared_and_cast():
    """As dropout's: the cast of its mask hid all that stood below it."""
    lines = """
        auto tmp0 = at::vec::Vectorized<float>::loadu(in_ptr0 + static_cast<int64_t>(x0), static_cast<int64_t>(16));
        auto tmp1 = at::vec::VecMask<float,1>::from(in_ptr1 + static_cast<int64_t>(x0), static_cast<int64_t>(16));
        auto tmp2 = tmp1.to<float,1>();
        auto tmp3 = tmp0 * tmp2;
        auto tmp4 = at::vec::VecMask<float,1>(tmp3 > tmp0);
        tmp4.store(out_ptr0 + static_cast<int64_t>(x0), static_cast<int64_t>(16));
    """.splitlines()
    nodes = graph(
        build.placeholder("x"),
        build.placeholder("mask"),
        node("float", "convert_element_type", "mask"),
        node("dropped", "mul", "x", "float"),
        node("larger", "gt", "dropped", "x"),
    )
    assert kernel_lines.tie(lines, call(nodes), nodes) == {3: "float", 4: "dropped", 5: "larger", 6: "larger"}


def test_a_value_of_several_lines_is_not_that_of_an_earlier_loop():
    def lines(inside):
        return f"""
            auto tmp1 = tmp0.exp();
            auto tmp0 = at::vec::Vectorized<float>::loadu(in_ptr0 + static_cast<int64_t>(x0), static_cast<int64_t>(16));
            auto tmp1 =
            [&]
            {{
                tmpbuf[x0_inner] = {inside};
                return at::vec::Vectorized<float>::loadu(tmpbuf.data(), static_cast<int64_t>(16));
            }}
            ()
            ;
            auto tmp2 = tmp0 + tmp1;
            tmp2.store(out_ptr0 + static_cast<int64_t>(x0));
        """.splitlines()

    gathered, made = lines("in_ptr1[static_cast<int64_t>(x0)]"), lines("normalized_rand_cpu(in_ptr1[0], x0)")
    inputs = build.placeholder("a"), build.placeholder("b")
    of_memory = graph(*inputs, node("sum", "add", "a", "b"))
    assert kernel_lines.tie(gathered, call(of_memory), of_memory) == {11: "sum", 12: "sum"}
    assert kernel_lines.tie(made, call(of_memory), of_memory) == {}
    of_random = graph(*inputs, node("random", "inductor_random", "b"), node("sum", "add", "a", "random"))
    assert kernel_lines.tie(made, call(of_random), of_random) == {11: "sum", 12: "sum"}


def test_what_a_mask_chooses_is_a_where():
    scalar = """
        auto tmp0 = in_ptr0[static_cast<int64_t>(x0)];
        auto tmp1 = in_ptr1[static_cast<int64_t>(x0)];
        auto tmp2 = std::exp(tmp1);
        auto tmp3 = static_cast<float>(0.0);
        auto tmp4 = tmp0 ? tmp3 : tmp2;
        out_ptr0[static_cast<int64_t>(x0)] = tmp4;
    """.splitlines()
    vector = """
        auto tmp0 = at::vec::VecMask<float,1>::from(in_ptr0 + x0, static_cast<int64_t>(16));
        auto tmp1 = at::vec::Vectorized<float>::loadu(in_ptr1 + x0, static_cast<int64_t>(16));
        auto tmp2 = tmp1.exp();
        auto tmp3 = static_cast<float>(0.0);
        auto tmp4 = decltype(tmp2)::blendv(tmp2, at::vec::Vectorized<float>(tmp3), tmp0.template cast<float,1>());
        auto tmp5 = at::vec::Vectorized<float>(tmp3);
        auto tmp6 = decltype(tmp2)::blendv(tmp2, tmp5, tmp0.template cast<float,1>());
        tmp6.store(out_ptr0 + x0);
    """.splitlines()
    nodes = graph(
        build.placeholder("m"),
        build.placeholder("a"),
        node("exp", "exp", "a"),
        node("zero", "full"),
        node("where", "where", "m", "zero", "exp"),
    )
    assert kernel_lines.tie(scalar, call(nodes), nodes) == {3: "exp", 5: "where", 6: "where"}
    assert kernel_lines.tie(vector, call(nodes), nodes) == {3: "exp", 7: "where", 8: "where"}
    other = {**nodes, "where": node("where", "where", "m", "exp", "zero")}  # the number where the mask is not
    assert kernel_lines.tie(scalar, call(other), other) == kernel_lines.tie(vector, call(other), other) == {}


def test_a_division_by_a_number_may_be_a_product():
    lines = """
        tmp0 = tl.load(in_ptr0 + (x0), None)
        tmp1 = tl.full([1], 0.0625, tl.float32)
        tmp2 = tmp0 * tmp1
        tmp3 = libdevice.exp(tmp2)
        tl.store(out_ptr0 + (x0), tmp3, None)
    """.splitlines()

    def divided(arguments):
        div = replace(node("div", "div", "a"), arguments=arguments)
        return graph(build.placeholder("a"), div, node("exp", "exp", "div"))

    by_16, by_8, unknown = divided("a, 16.0"), divided("a, 8.0"), divided(None)
    assert kernel_lines.tie(lines, call(by_16), by_16) == {3: "div", 4: "exp", 5: "exp"}
    assert kernel_lines.tie(lines, call(by_8), by_8) == kernel_lines.tie(lines, call(unknown), unknown) == {}


def test_of_two_nodes_that_agree_down_to_one_line_the_store_is_neithers():
    lines = """
        tmp0 = tl.load(in_ptr0 + (x0), None)
        tmp1 = libdevice.exp(tmp0)
        tmp2 = tmp1 * 2.0
        tl.store(out_ptr0 + (x0), tmp2, None)
    """.splitlines()
    nodes = graph(build.placeholder("a"), node("exp", "exp", "a"), node("one", "mul", "exp"), node("two", "mul", "exp"))
    assert kernel_lines.tie(lines, call(nodes), nodes) == {2: "exp"}


def test_welfords_lines_are_the_one_variance_of_a_kernel():
    lines = """
        tmp1_mean = tl.zeros([XBLOCK, R0_BLOCK], tl.float32)
        tmp0 = tl.load(in_ptr0 + (r0_1), None)
        tmp1_mean_next, tmp1_m2_next, tmp1_weight_next = triton_helpers.welford_reduce(
        tmp1_mean = tl.where(r0_mask, tmp1_mean_next, tmp1_mean)
        tmp3, tmp4, tmp5 = triton_helpers.welford(tmp1_mean, tmp1_m2, tmp1_weight, 1)
    """.splitlines()
    one = graph(build.placeholder("a"), node("var_mean", "var_mean", "a"))
    two = graph(*one.values(), node("var_mean_1", "var_mean", "a"))
    assert kernel_lines.tie(lines, call(one), one) == dict.fromkeys((1, 3, 4, 5), "var_mean")
    assert kernel_lines.tie(lines, call(two), two) == {}


def test_a_product_and_a_sum_in_one_line_are_the_node_that_says_so():
    lines = """
        tmp0 = tl.load(in_ptr0 + (x0), None)
        tmp1 = tl.load(in_ptr1 + (x0), None)
        tmp2 = -tmp0
        tmp3 = tl.fma(tmp2, tmp1, tmp0)
        tl.store(out_ptr0 + (x0), tmp3, None)
    """.splitlines()
    nodes = graph(
        build.placeholder("a"), build.placeholder("b"), node("neg", "neg", "a"), node("fma", "fma", "neg", "b", "a")
    )
    found = kernel_lines.tie(lines, call(nodes), nodes)
    assert (found[4], found[5]) == ("fma", "fma") and found.get(3, "neg") == "neg"
