"""Types that every part of the record uses: words, evidence, tensors, places in the program."""

import re
from collections.abc import Sequence
from typing import Any, Literal, cast, get_args

import msgspec
from msgspec.structs import replace as replace

SCHEMA = "fxscope/2"
WHOLE = "whole trace"  # the name of the one step of a recording in which none were found
Stage = Literal["eager", "pre_grad", "joint", "forward", "backward", "post_grad"]
Direction = Literal["inference", "forward", "backward"]
Kind = Literal["input", "view", "kernel", "fused", "folded", "eliminated", "host", "unknown"]
Nature = Literal["view", "kernel", "composite", "host", "unknown"]
Evidence = Literal[  # the strongest first
    "correlation", "external_id", "lowering", "debug_handle", "origin_node", "from_node", "origins", "order", "name"
]
EVIDENCE_BY_STRENGTH: tuple[Evidence, ...] = get_args(Evidence)
LaunchCategory = Literal["kernel", "gpu_memset", "gpu_memcpy", "cpu_kernel"]
KERNELS = ("kernel", "cpu_kernel")  # the categories of what computes; the others clear and copy memory
_Loops = Literal["triton_pointwise", "triton_reduction", "triton_persistent_reduction"]
_Triton = Literal[_Loops, "triton_template", "triton_foreach", "triton_scan", "triton_other", "user_triton"]
CallType = Literal[_Triton, "extern", "fallback", "cpp"]
EXTERN: tuple[CallType, ...] = ("extern", "fallback")  # a library's kernel, called as it is
Verdict = Literal["fused", "rejected", "never_considered"]
_WithTemplate = Literal["epilogue", "prologue", "template"]
_OfSeveral = Literal["reduction", "foreach", "combo", "mix_order", "nested_reduction"]
How = Literal["inlined", "vertical", "horizontal", _WithTemplate, _OfSeveral, "folded"]
Bound = Literal["memory", "compute", "launch"]
Purpose = Literal[
    "computes", "program_copy", "layout_copy", "mutation_copy", "recompute", "saved", "split", "fallback", "collective"
]
Relation = Literal["lowered_to", "ran_in", "backward_of", "same_source"]


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """Base of every type of the record."""

    def to_json(self) -> str:
        """Return the JSON of it (`docs/schema.md`)."""
        return encoded(self).decode()


def plain(value: Any) -> Any:
    """A sequence of items (`fxscope.columns`) as the tuple it stands for: what msgspec cannot encode by itself."""
    if isinstance(value, Sequence):
        return tuple(value)
    raise NotImplementedError


def encoded(value: Any) -> bytes:
    """Return the JSON of what is recorded or found; what no UTF-8 can say, as in a file's name, is written "\\udcff"."""
    try:
        return msgspec.json.encode(value, enc_hook=plain)
    except UnicodeEncodeError:
        return msgspec.json.encode(_sayable(msgspec.to_builtins(value, enc_hook=plain)))


CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]+")


def _sayable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_sayable(key): _sayable(item) for key, item in cast("dict[Any, Any]", value).items()}
    return [_sayable(item) for item in cast("Any", value)] if isinstance(value, list | tuple) else value


class Printed(Item, frozen=True, kw_only=True, dict=True):
    """Base of an answer, which `print`, Python's prompt and a notebook show as the terminal does."""

    def __repr__(self) -> str:
        from fxscope.render import printed

        return printed(self) or super().__repr__()


class TensorMeta(Item, frozen=True, kw_only=True):
    """A tensor's metadata. Symbolic sizes (dynamic shapes) are strings such as `"s0"`."""

    shape: tuple[int | str, ...]
    dtype: str | None = None  # "bfloat16", without the "torch." prefix
    stride: tuple[int | str, ...] | None = None  # in elements
    storage_offset: int | str | None = None  # in elements
    device: str | None = None  # "cuda:0"


class Source(Item, frozen=True, kw_only=True):
    """A place in the user's program. `module` is the module path, such as `"mlp.up_proj"`."""

    file: str | None = None
    line: int | None = None
    code: str | None = None
    function: str | None = None
    module: str | None = None
    module_type: str | None = None  # "Linear"


class Timing(Item, frozen=True, kw_only=True):
    """Device time over every execution of one thing, in microseconds."""

    count: int
    total_us: float
    mean_us: float
    min_us: float
    max_us: float
    median_us: float  # which one outlier does not move
