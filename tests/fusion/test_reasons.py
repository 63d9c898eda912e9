"""Inductor's reasons as codes: all that this torch can say has one, every code has words, and no logic reads words."""

import ast
import functools
import itertools
import re
from pathlib import Path
from string import Formatter
from typing import Any

import pytest
import torch

import fxscope
from fxscope import english
from fxscope._torch.hooks import switches
from fxscope.model import (
    BufferAccess,
    Environment,
    FusionAttempt,
    Graph,
    KernelCall,
    MemoryDep,
    Recording,
    Schedule,
    SchedulerNode,
    SourceText,
    replace,
)
from fxscope.passes.fusion import fusion, reasons as fusion_reasons
from fxscope.passes.fusion.reasons import CAUSES, RAW_REASONS, Reason, translate, with_value
from tests import build, captures

INDUCTOR = Path(torch.__file__).parent / "_inductor"
PACKAGE = Path(fxscope.__file__).parent
NEW = {"epilogue_fusion_user_defined_triton_kernel", "loop_reindexing_after_fusion", "triton.nested_reduction"}


@functools.cache
def parsed() -> dict[str, ast.Module]:
    return {str(path.relative_to(PACKAGE)): ast.parse(path.read_text()) for path in PACKAGE.rglob("*.py")}


def constants(node: ast.AST | None) -> set[str]:
    found = (item.value for item in ast.walk(node) if isinstance(item, ast.Constant)) if node else ()
    return {value for value in found if isinstance(value, str)}


@functools.cache
def used() -> dict[str, set[str]]:
    rules = (*RAW_REASONS, *CAUSES)
    found: dict[str, set[str]] = {
        "REASONS": {rule.code for rule in rules},
        "NOTES": set(),
        "HINTS": {rule.hint for rule in rules if rule.hint},
    }
    for name, tree in parsed().items():
        if not name.startswith("passes/fusion"):
            continue
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            words = {word.arg: word.value for word in node.keywords}
            if called == "Reason":
                code = node.args[0]
                found["REASONS"] |= (
                    constants(code.body) | constants(code.orelse) if isinstance(code, ast.IfExp) else constants(code)
                )
                found["HINTS"] |= constants(node.args[2] if len(node.args) > 2 else words.get("hint"))
            found["REASONS"] |= constants(words.get("reason_code"))
            if called == "noted":
                found["NOTES"] |= set().union(*map(constants, node.args))
    return found


def test_every_code_has_words_and_all_words_are_of_a_code():
    for table, codes in used().items():
        assert codes <= set(getattr(english, table)), table
    dynamic = {"recorded", "extern_attention", "fallback"}
    older = {"forward_backward", "activation_memory_budget"}  # of recordings made before 0.2.0 was complete
    assert set(english.REASONS) - used()["REASONS"] <= dynamic | older
    source = (PACKAGE / "data" / "fusion_reasons.json").read_text()
    source += "".join(path.read_text() for path in (PACKAGE / "passes" / "fusion").glob("*.py"))
    for code in {*english.NOTES, *english.HINTS} - {"recorded"} - older:
        assert f'"{code}"' in source, f"nothing gives {code}"


def test_a_rules_groups_are_what_its_words_name():
    for rule in (*RAW_REASONS, *CAUSES):
        named = {field for _, field, _, _ in Formatter().parse(english.REASONS[rule.code]) if field}
        assert named - {"buffer"} == set(re.compile(rule.pattern).groupindex), rule


# Fields and functions of `english` that hold words, and what takes a text apart.
SENTENCES = {"reason", "hint", "basis", "estimated_basis", "message", "remedy", "detail"}
SENTENCES |= {name for name in vars(english) if name.endswith("_text")}
PARTS = set("startswith endswith find index count partition rpartition split splitlines replace".split())
PARTS |= {"removeprefix", "removesuffix"}
SEARCHES = {"search", "match", "fullmatch", "findall", "finditer", "sub", "split"}  # of `re` and of its patterns


def read_by(node: ast.AST) -> list[ast.expr]:
    """The expressions whose words a piece of code tests."""
    if isinstance(node, ast.Compare) and not all(isinstance(op, ast.Is | ast.IsNot) for op in node.ops):
        return [node.left, *node.comparators]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        owner = [node.func.value] if node.func.attr in PARTS else []
        return [*owner, *(node.args if node.func.attr in SEARCHES else [])]
    found = node.subject if isinstance(node, ast.Match) else node.slice if isinstance(node, ast.Subscript) else None
    return [found] if found is not None else []


def sentences_read(tree: ast.AST) -> set[str]:
    """The sentences in what code tests, also under a name that the same function gives them."""
    found = set[str]()
    for scope in [item for item in ast.walk(tree) if isinstance(item, ast.FunctionDef)] or [tree]:
        given: dict[str, list[ast.expr]] = {}
        for node in ast.walk(scope):
            for name in getattr(node, "targets", [getattr(node, "target", None)]):
                given.setdefault(getattr(name, "id", ""), []).append(getattr(node, "value", None) or ast.Constant(0))
        read = [item for node in ast.walk(scope) for item in read_by(node)]
        read += [value for item in read if isinstance(item, ast.Name) for value in given.get(item.id, [])]
        whole = [item for item in read if not any(isinstance(part, ast.SetComp) for part in ast.walk(item))]
        for part in itertools.chain.from_iterable(map(ast.walk, whole)):
            name = part.func if isinstance(part, ast.Call) else part if isinstance(part, ast.Attribute) else None
            if getattr(name, "attr", getattr(name, "id", "")) in SENTENCES and not is_torchs(name):
                found.add(ast.unparse(name))
    return found


def test_no_logic_reads_a_rendered_sentence():
    """Nothing tests the words of a reason, a hint or a problem: no comparison, search or part of one."""
    for name, tree in parsed().items():
        if not name.startswith("render/") and name != "english.py":  # a renderer cuts words to a width
            assert not sentences_read(tree), name


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("'lets' in item.hint", 1),
        ("item.reason == 'x'", 1),
        ("'x' != item.reason", 1),
        ("re.search('x', reason_text(code, {}))", 1),
        ("PATTERN.match(problem.message)", 1),
        ("english.hint_text(code, {}).startswith('set ')", 1),
        ("problem.message.partition(':')[0]", 1),
        ("(row.hint or '').rstrip('.').removeprefix('try ')", 1),
        ("def f(item):\n    words = item.reason.lower()\n    return 'x' in words", 1),
        ("def f(item):\n    if (words := item.remedy if item else None) and P.search(words): pass", 1),
        ("match item.reason:\n    case 'x': pass", 1),
        ("TABLE[reason_text(code, {})]", 1),
        ("item.hint is None or item.reason_code == 'x' or name.startswith('x')", 0),
        ("print(item.reason, len(item.hint))", 0),
    ],
)
def test_what_reads_a_sentence_is_found(code: str, count: int) -> None:
    assert len(sentences_read(ast.parse(code))) == count


def is_torchs(item: ast.expr) -> bool:
    owner = getattr(item, "value", None)
    return isinstance(owner, ast.Name) and owner.id in ("why", "graph_break")


@pytest.mark.parametrize("name", sorted({rule.config for rule in (*RAW_REASONS, *CAUSES) if rule.config} | {*NEW}))
def test_a_hint_names_a_switch_only_where_the_recorded_torch_has_it(name):
    from torch._inductor import config

    try:
        functools.reduce(getattr, name.split("."), config)
    except AttributeError:
        assert name not in switches()
        assert with_value(Reason("cycle", {}, "enable", name), switches()) == Reason("cycle")
        assert name in NEW  # an older torch lacks these


def said_by_inductor():
    """Every constant reason that `WhyNoFuse` objects are called with in the installed torch."""
    reasons = set()
    for name in ("scheduler.py", "choices.py", "codegen/simd.py"):
        for node in ast.walk(ast.parse((INDUCTOR / name).read_text())):
            if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Constant):
                continue
            function = node.func
            direct = isinstance(function, ast.Name) and function.id == "why"
            made = isinstance(function, ast.Call) and getattr(function.func, "id", "") == "WhyNoFuse"
            if (direct or made) and isinstance(node.args[0].value, str):
                reasons.add(node.args[0].value)
    return sorted(reasons)


def test_every_reason_of_the_installed_torch_has_a_code():
    assert len(said_by_inductor()) > 30
    unknown = [
        words for words in said_by_inductor() if translate(words.replace("%s", "7"), None, {}).code == "torch_says"
    ]
    assert not unknown, "new reasons: add them to RAW_REASONS and to english.json"


ON, OFF = {"loop_ordering_after_fusion": True}, {"loop_ordering_after_fusion": False}
BOTH = {**ON, "loop_reindexing_after_fusion": False}


@pytest.mark.parametrize(
    ("raw", "cause", "limits", "code", "hint", "words"),
    [
        ("the moon is full", None, {}, "torch_says", None, "Inductor: the moon is full"),
        ("exceeds max fusion", None, {"max_fusion_size": 64}, "too_many_nodes", "raise", "(max_fusion_size = 64)"),
        ("memory deps did not match", None, OFF, "other_elements", "enable", "just written"),
        ("memory deps did not match", None, ON, "other_elements", None, "is on, and does not help"),
        ("memory deps did not match", None, BOTH, "other_elements", "enable", "just written"),
        ("template epilogue not satisfied", None, {"epilogue_fusion": True}, "epilogue_not_pointwise", None, "is on"),
        # torch prints (numel1, numel2), (rnumel1, rnumel2)
        (
            "numel/rnumel mismatch (reduce) (Max(1, s0), 4), (s1, 512)",
            None,
            {},
            "reduction_spaces_differ",
            "enable",
            "(numel, rnumel) is (Max(1, s0), s1) and (4, 512)",
        ),
        (
            "numel/rnumel mismatch (non-reduce) (64, 4096), (1, 1)",
            None,
            {},
            "spaces_differ",
            None,
            "different iteration spaces: 64 and 4096 elements",
        ),
        ("no shared data", "{'b': 'different offset: 0 v.s. 512'}", {}, "offsets_differ", None, "0 and from"),
        (
            "no shared data",
            "{'b': \"Mismatch loop orders: M('b') v.s. x\"}",
            OFF,
            "loop_orders_differ",
            "enable",
            "order",
        ),
        ("no shared data", "{'b': 'broadcast'}", {}, "broadcast", None, "reads b broadcast"),
        ("no shared data", "{'b': 'different numel: 8 v.s. 64'}", {}, "loops_differ_in_number", None, ": 8 and 64"),
        ("no shared data", "{'b': \"not MemoryDep: <class 'A'>\"}", {}, "whole_buffer", None, "b as a whole"),
    ],
)
def test_inductors_words_become_a_code_and_a_hint(raw, cause, limits, code, hint, words):
    found = translate(raw, cause, limits)
    assert (found.code, found.hint) == (code, hint)
    assert words in english.reason_text(found.code, found.arguments, found.notes, found.config)


def test_the_two_spaces_keep_the_order_of_the_pair():
    for swapped in (False, True):
        found = translate("numel/rnumel mismatch (reduce) (2048, 4), (256, 512)", None, {}, swapped=swapped)
        assert found.arguments["spaces"] == [("2048", "256"), ("4", "512")][:: -1 if swapped else 1]
    (real,) = [item for item in captures.read("attn_compiled").decisions if "numel/rnumel" in (item.raw_reason or "")]
    assert real.reason_code == "reduction_spaces_differ"  # a scan beside a sum
    assert real.reason.endswith("(numel, rnumel) is (2048, 256) and (4, 512)")


@pytest.mark.parametrize(
    ("kernel", "type", "device", "code", "hint"),
    [
        ("extern_kernels.mm", "extern", "cuda:0", "extern_gemm", "template_epilogue"),
        ("extern_kernels.addmm", "extern", "cpu", "extern_gemm", None),
        ("extern_kernels.convolution", "extern", "cuda:0", "extern_convolution", None),
        ("torch.ops.aten._scaled_dot_product_flash_attention.default", "fallback", "cuda:0", "extern_attention", None),
        ("torch.ops.aten.topk.default", "fallback", "cuda:0", "fallback", None),
        ("add_kernel_0", "user_triton", "cuda:0", "user_triton", "enable"),
    ],
)
def test_opaque_kernels_say_what_they_are(kernel, type, device, code, hint):
    found = fusion_reasons.opaque(kernel, type, producer=True, device=device, limits={})
    assert (found.code, found.hint) == (code, hint)
    tuned = fusion_reasons.opaque(kernel, type, producer=True, device=device, limits={"max_autotune": True})
    assert tuned.hint is None or type == "user_triton"


def test_calls_whose_other_loops_were_asked_about_were_considered() -> None:
    """Two C++ functions use two versions of one buffer in a loop each; of the loops that share a mask one was asked."""

    def access(*names: str) -> tuple[BufferAccess, ...]:
        return tuple(
            BufferAccess(
                buffer=name,
                bytes=4096,
                shape=(1024,),
                dtype="float32",
                deps=(MemoryDep(index="c0", ranges=(("c0", 1024),)),),
            )
            for name in names
        )

    made = (
        ("zeros", (), ("buf0",), "pointwise"),
        ("exp", ("mask",), ("buf1",), "pointwise"),
        ("scatter_add", ("buf0",), ("buf2",), "extern"),
        ("sin", ("buf2",), ("buf3",), "pointwise"),
        ("cos", ("mask",), ("buf4",), "pointwise"),
    )
    nodes = tuple(
        SchedulerNode(name=f"op{n}", type=kind, group=n, origins=(name,), reads=access(*reads), writes=access(*writes))
        for n, (name, reads, writes, kind) in enumerate(made)
    )
    graph = Graph(
        id=build.GRAPH,
        stage="post_grad",
        nodes=(build.placeholder("mask", 1024), *(build.node(name, f"aten.{name}.default") for name, *_ in made)),
    )

    def call(number: int, kernel: str, *members: int, **options: Any) -> KernelCall:
        return build.call(
            number,
            kernel,
            *(made[n][0] for n in members),
            scheduler_nodes=tuple(f"op{n}" for n in members),
            reads=tuple(item for n in members for item in nodes[n].reads),
            writes=tuple(item for n in members for item in nodes[n].writes),
            **options,
        )

    calls = (
        call(0, "cpp_fused_0", 0, 1, type="cpp"),
        call(1, "aten.scatter_reduce_.two", 2, type="fallback"),
        call(2, "cpp_fused_1", 3, 4, type="cpp"),
    )
    asked = FusionAttempt(a=("op1",), b=("op4",), fused=False, raw_reason="nodes numel incompatibility")
    schedule = Schedule(
        graph=graph.id, nodes=nodes, groups=build.alone(nodes), renames={"buf2": "buf0"}, attempts=(asked,)
    )

    def verdict(schedule: Schedule) -> str | None:
        found = fusion(Recording(graphs=(graph,), calls=calls, schedules=(schedule,))).decisions
        return next(item.verdict for item in found if (item.a_call, item.b_call) == (calls[0].id, calls[2].id))

    assert verdict(schedule) == "rejected"
    assert verdict(replace(schedule, attempts=())) == "never_considered"


@pytest.mark.parametrize(
    ("where", "code", "library"),
    [
        ({"device": "NVIDIA H200"}, "", "cuBLAS"),
        ({"device": "AMD Instinct MI300X"}, "", "hipBLAS"),
        ({"device": None}, "Properties(type='hip', …)", "hipBLAS"),
        ({"device": "AMD EPYC", "target": "h200"}, "", "cuBLAS"),  # planned on another vendor's CPU
    ],
)
def test_a_gemm_is_of_its_vendors_library(where, code, library):
    shared = (BufferAccess(buffer="buf0"),)
    calls = (
        build.call(0, "extern_kernels.mm", device="cuda:0", writes=shared),
        build.call(1, "triton_poi_fused_relu_0", device="cuda:0", reads=shared),
    )
    sources = (SourceText(id="c", kind="output_code", text=code),)
    found = fusion(Recording(environment=Environment(**where), calls=calls, sources=sources))
    assert [item.reason_arguments["library"] for item in found.decisions] == [library]
