"""Names of ops, and what a name alone implies: the only place that parses an op's name.

`native_functions.yaml` says of each ATen op whether its result aliases an input and whether it has a kernel of its own;
`tools/make_op_table.py` writes that into `data/ops.txt`. `data/op_sets.json` is what the yaml cannot say: sets of ops, the
operands of a GEMM that are its matrices, and the other ops as which an extern kernel of Inductor's shows in a trace.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from fxscope.data import read_table, read_text
from fxscope.model import KernelCall, Nature, Node

_LIBRARIES = ("quantized", "mkldnn", "mkl", "onednn")  # a `linear` of theirs is a kernel, not ATen's composite
_PREFIX = re.compile(
    r"(?:torch\.ops|torch\.Tensor|extern_kernels|(?:torch\.)?nn(?:\.functional)?|functional|F|Tensor|_?operator|math|builtins)\.|aoti_torch_(?:(?:cuda|cpu|xpu|mps)_)?"
)
_OP = re.compile(r"(?P<space>\w+)(?:::|\.)(?P<name>\w+)(?:\.(?P<overload>\w+))?")

_DATA: dict[str, Any] = read_table("op_sets.json")
_SETS = {name: frozenset(" ".join(words).split()) for name, words in _DATA["sets"].items()}
# Torch's own namespaces: their ops go by their bare name. Any other op keeps its own: `mylib::foo`.
_BARE = frozenset(_DATA["bare"].split())

# The matrices among an op's operands, each [..., rows, columns].
GEMMS: dict[str, tuple[int, int]] = {name: (left, right) for name, (left, right) in _DATA["gemms"].items()}
# Convolutions of an input and a weight → the places of stride, padding and dilation; attentions → the place of `is_causal`,
# forward and backward (native_functions.yaml, torch 2.13).
CONVOLUTIONS: dict[str, tuple[int, ...]] = {name: tuple(places) for name, places in _DATA["convolutions"].items()}
IS_CAUSAL: dict[str, tuple[int, int]] = _DATA["is_causal"]
OPERATORS: dict[str, str] = _DATA["operators"]  # where `operator` has another name than Python's syntax tree
LINEARS = _SETS["linear"]  # GEMMs whose weight is [columns, inner], as a Linear stores it
# Views that the yaml does not declare, because the alias is hidden from autograd (`_unsafe_view`) or is Inductor's.
_MORE_VIEWS = _SETS["view"]
MAY_COPY = _SETS["may_copy"]  # new metadata or a copy, depending on strides, dtype or device
RESIZES = _SETS["resize"]  # views that only rename sizes, the elements in their order
CASTS = _SETS["cast"]
# Whose result jumps with a small difference; that add products; that leave memory unset.
JUMPS, SUMS, UNSET = _SETS["jump"], _SETS["sum"], _SETS["unset"]
# Ops that a user writes to copy or fill; a lookup by index or a scan, whose loops compute no value either, is not.
MOVES = _SETS["move"]
CONSTANTS = _SETS["constant"]  # values known when code is generated: they become constants of the kernels that use them
_HOST = _SETS["host"]  # storage is made or bookkeeping done; nothing is launched
# They have a kernel entry of their own, and all it does is call other ops (CompositeExplicitAutograd).
_MORE_COMPOSITES = _SETS["composite"]
_MORE_KEEP_SHAPE = _SETS["keeps_shape"]  # not elementwise, but the result has the shape of the largest operand
# Ops that hand all their work to an op they call, as those with one kernel for all devices do where they call any; other
# ops may call one for a detail (`addmm` copies its bias) and then do their own work. On the CPU `relu` is `clamp_min`, and
# what is fused on a GPU alone is code that calls other ops here (`fxscope dispatch` says so).
DELEGATES = _SETS["delegate"]
# Ops with a CPU kernel of their own, whose code leaves all the work to ops of these names on the path that calls one, and
# does it itself on others: `index_add` of rows is `scatter_add_`, of single numbers a loop (torch 2.13).
HANDS_TO = {op: frozenset(called.split()) for op, called in _DATA["hands_to"].items()}
USERS_TRITON = "triton_kernel_wrapper"  # begins the names of the ops that call Triton kernels of the user's
# What compiled code is called in a trace: what Dynamo compiled, then what of it Inductor's code runs (a region without one
# is of another backend, or `torch.cond` by itself, and calls eager ops), and a backward. Only Inductor's code is compiled:
# around it are the ops between graph breaks.
COMPILED_REGION, INDUCTOR_RUNS = "Torch-Compiled Region", "## Call CompiledFxGraph"
COMPILED_CODE = (INDUCTOR_RUNS, "CompiledFunction")
COMPILED_REGIONS = (COMPILED_REGION, *COMPILED_CODE)
COPIES = ("copy_", "_foreach_copy_")  # of what goes into compiled code
PACKAGE = "AOTInductor#"  # begins the id of the region that fxscope marks around the run of a package
REGION_ID = re.compile(rf"^{COMPILED_REGION}: (?P<id>\S+)")
REGION_KEY = re.compile(rf"^{INDUCTOR_RUNS} (?P<key>.*) ##$")
_GRAPH_NUMBER = re.compile(rf"^graph_\d+_(?=cpp_|kernel)|(?<=^{COMPILED_REGION}): \S+|(?<=^{INDUCTOR_RUNS}) .*(?= ##$)")
_CPP_NODE = re.compile(r"torch::autograd::CppNode<([^<]+).*>")  # the backward of a C++ autograd function
_MULTIPLIES = re.compile(
    r"conv|attention|mm$|mv$|matmul|linear|linalg|dot$|outer$|bilinear|cdist|rnn|lstm|gru|transformer|cholesky|solve|fft"
)
_ATTENTION = re.compile(r"scaled_dot_product|flash_attention|efficient_attention|flex_attention")


class OpName(NamedTuple):
    """The parts of an op's name; `namespace` and `overload` where the name has them."""

    namespace: str | None
    name: str
    overload: str | None = None


@lru_cache(maxsize=8192)
def parse(text: str) -> OpName:
    """Take a name apart: `aten::mul.Tensor`, `torch.ops.aten.mul.Tensor`, `F.gelu`, `extern_kernels.mm`, `operator.add`.

    What is no op's name (a C++ symbol, an annotation, a module path of four parts) comes back whole.
    """
    if node := _CPP_NODE.fullmatch(text):
        return OpName(None, node[1].strip("> ").rsplit("::", 1)[-1])
    plain = _PREFIX.sub("", text, count=1) if _PREFIX.match(text) else text
    if text.startswith("aoti_"):
        plain = plain.removesuffix("_out")
    if plain.startswith("torch.") and re.fullmatch(r"[\w.]+", plain):
        return OpName(None, plain.rsplit(".", 1)[-1])
    found = _OP.fullmatch(plain)
    return OpName(found["space"], found["name"], found["overload"]) if found else OpName(None, plain)


def op_name(text: str) -> str:
    """The name that an op goes by everywhere: `mm` of `aten.mm.default`, `mylib::foo` of `mylib.foo.default`."""
    found = parse(text)
    return found.name if found.namespace is None or found.namespace in _BARE else f"{found.namespace}::{found.name}"


def qualified(text: str) -> str:
    """The name with its namespace, as a trace writes it: `aten::mm` of `aten.mm.default`; bare where it has none."""
    found = parse(text)
    return found.name if found.namespace is None else f"{found.namespace}::{found.name}"


def is_dispatched(event: str) -> bool:
    """Return whether a profiler's event is an op that the dispatcher ran: `aten::mm`, `mylib::foo`.

    Not autograd's `autograd::engine::evaluate_function: MmBackward0`, Dynamo's marks, or a generated kernel.
    """
    return event.count("::") == 1 and " " not in event


BACKWARD_NODE = "autograd::engine::evaluate_function"  # torch/csrc/autograd/engine.cpp, around each node of a backward
OPTIMIZER_STEP = re.compile(r"Optimizer\.step#(?P<name>\w+)\.step")


def phase_of(chain: Sequence[str]) -> Literal["backward", "optimizer"] | None:
    """The phase of training that the events around an op name; None in a forward pass or in inference."""
    if any(OPTIMIZER_STEP.search(name) for name in chain):
        return "optimizer"
    return "backward" if any(name.startswith(BACKWARD_NODE) for name in chain) else None


def out_of_place(text: str) -> str:
    """The name of the op that does the same without writing into its operand: `add` of `aten::add_`."""
    name = op_name(text)
    return name if name.endswith("__") else name.rstrip("_")


def is_called(op: str, text: str) -> bool:
    """Return whether a user who writes `text` means this op; `foo` may mean `mylib::foo`, `otherlib::foo` does not."""
    wanted = op_name(text)
    return wanted == op_name(op) or (parse(text).namespace is None and wanted == parse(op).name)


@lru_cache(maxsize=4096)
def without_graph_number(name: str) -> str:
    """The name of an event without the number or key that a process gives each graph it compiles.

    `graph_0_cpp_fused_gelu_mul_0`, a C++ kernel's (torch 2.13, codegen/cpp.py), `Torch-Compiled Region: 0/0` and a key.
    """
    return _GRAPH_NUMBER.sub("", name)


def without_number(name: str) -> str:
    """The name of a kernel without the number that Inductor puts after it: `scan_kernel_0` of the user's `scan_kernel`."""
    return re.sub(r"_\d+$", "", name)


def is_generated(name: str) -> bool:
    """Return whether an event has the name of a kernel that Inductor wrote."""
    return without_graph_number(name).startswith(("triton_", "cpp_fused"))


def runs_as(kernel: str, op: str) -> bool:
    """Return whether an extern kernel, as a wrapper calls it, can be this op of a graph or a trace."""
    wanted, shown = op_name(kernel), op_name(op)
    return shown.lstrip("_") == wanted.lstrip("_") or shown in _DATA["shown_as"].get(wanted, ())


def is_gemm(text: str) -> bool:
    return op_name(text) in GEMMS or op_name(text) in LINEARS


def is_convolution(text: str) -> bool:
    return "conv" in op_name(text)


def copies_around_graph(op: str, chain: Iterable[str]) -> bool:
    """Return whether an op that no compiled graph has copies what goes into one.

    That is an input of a CUDA graph, a gradient that the backward expects in another layout, or a changed input.
    """
    regions = (name for name in chain if PACKAGE not in name)  # what a package copies may be its own
    return op_name(op) in COPIES and any(name.startswith(COMPILED_REGIONS) for name in regions)


def is_attention(text: str) -> bool:
    return bool(_ATTENTION.search(op_name(text)))


def is_collective(text: str) -> bool:
    """Return whether the op, or the call of a wrapper, communicates between ranks or waits for it."""
    return parse(text).namespace in ("c10d", "c10d_functional", "_c10d_functional", "symm_mem")


def repeats_draw(text: str) -> bool:
    """Return whether it is `run_and_save_rng_state` or `run_with_rng_state`: torch's wrapper of a draw in a checkpoint."""
    return "rng_state" in text


def may_multiply(text: str) -> bool:
    """Return whether the op multiplies matrices, or is not torch's, so that nobody knows."""
    return "::" in op_name(text) or bool(_MULTIPLIES.search(op_name(text)))


def evaluates(text: str, kind: str) -> int:
    """Return how many functions of a kind the op evaluates for each element; gelu counts as its exact form."""
    return int(out_of_place(text) in _SETS[kind])


def reductions(text: str) -> int:
    """Return how many times the op reduces its operand; 0 for what works element by element."""
    name = out_of_place(text)
    return int(name in _SETS["reduction"]) + 2 * (name in _SETS["double_reduction"])


@lru_cache(maxsize=1)
def table() -> dict[str, frozenset[str]]:
    """The ops that torch ships: name → what `native_functions.yaml` says of it."""
    text = read_text("ops.txt")
    rows = (line.split() for line in text.splitlines() if not line.startswith("#"))
    return {name: frozenset(kinds) for name, *kinds in rows}


def is_pointwise(text: str) -> bool:
    return out_of_place(text) in _SETS["pointwise"] or "pointwise" in table().get(out_of_place(text), ())


def keeps_shape(text: str) -> bool:
    """Return whether the op's result has the shape of its largest operand."""
    return out_of_place(text) in _MORE_KEEP_SHAPE or is_pointwise(text)


@lru_cache(maxsize=8192)
def expected_nature(text: str) -> Nature:
    """Return what the name lets one expect before anything ran; what ran decides.

    "unknown" for ops that may copy and for names outside ATen and prims. `OpOverload.is_view` cannot serve: it is true of
    `reshape` and `contiguous`, and false of `_unsafe_view`, which launches nothing (torch 2.13, `torch/_ops.py`).
    """
    found, name = parse(text), op_name(text)
    kinds = table().get(name, frozenset[str]()) if found.namespace not in _LIBRARIES else frozenset[str]()
    if name in MAY_COPY:
        return "unknown"
    if name in _HOST:
        return "host"
    if name in _MORE_VIEWS or "view" in kinds:
        return "view"
    if name in _MORE_COMPOSITES or "composite" in kinds:
        return "composite"
    return "kernel" if found.namespace in ("aten", "prims", "inductor") else "unknown"


def split_joined(text: str) -> list[str]:
    """Take the ops out of the middle of an Inductor kernel's name: `_unsafe_view_gelu_mul` → three ops.

    Ops are joined with underscores and contain some: the longest known name at each place is taken.
    """
    words, longest = text.split("_"), _most_words()
    ops: list[str] = []
    index = 0
    while index < len(words):
        for end in range(min(len(words), index + longest), index, -1):
            name = "_".join(words[index:end])
            if (name in table() and not name.endswith("_")) or (end == index + 1 and name):
                ops.append(name)
                index = end
                break
        else:
            index += 1
    return ops


@lru_cache(maxsize=1)
def _most_words() -> int:
    return max(name.count("_") for name in table()) + 1


def op_of(node: Node) -> str:
    """The op that the user wrote, as far as torch recorded it, else the node's own."""
    return op_name(written_op(node.target, node.original_aten, node.replaced_by))


def written_op(target: str, original: str | None, replaced_by: Sequence[str]) -> str:
    """The op that the user wrote, with namespace and overload; of what a pass made of several nodes, the op of one."""
    if original is None or (is_gemm(target) and not may_multiply(original)):
        return target
    is_no_view = replaced_by and expected_nature(target) not in ("view", "unknown")
    return target if is_no_view and expected_nature(original) == "view" else original


def ops_of(nodes: Iterable[Node]) -> list[str]:
    """The user's ops among these nodes, in order; views are left out unless there is nothing else."""
    every = list(nodes)
    return list(dict.fromkeys(op_of(node) for node in [node for node in every if node.nature != "view"] or every))


def only_named(call: KernelCall, nodes: Mapping[str, Node]) -> list[str]:
    """The user's ops in a generated kernel's name of which nothing ran in the call; a library kernel's name claims nothing."""
    ran, named = (
        dict.fromkeys(op_of(nodes[name]) if name in nodes else name for name in names)
        for names in ((*call.nodes, *call.biases), call.named_only)
    )
    words = split_joined(call.kernel.partition("_fused_")[2].rpartition("_")[0])  # `triton_poi_fused_gelu_mul_0`
    return [] if call.is_extern else [op for op in named if op not in ran and op in words]
