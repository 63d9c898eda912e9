"""Live FX nodes → `model.Node`: metadata, the user's line, the module path, where a node came from.

Graphs are converted while the hook runs: the next pass of the compiler changes them in place.
"""

import functools
import linecache
import os
import re
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path
from traceback import FrameSummary
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from fxscope.model import Node, Source, TensorMeta, replace
from fxscope.op_names import repeats_draw

_TORCH = str(Path(torch.__file__).parent)
_FXSCOPE = str(Path(__file__).parents[1])
_STANDARD = sysconfig.get_path("stdlib") + os.sep
_LAUNCHERS = ("/bin/fxscope", "\\Scripts\\fxscope.exe\\__main__.py")  # the script that is the command
_MAX_ARGUMENTS = 400
_FRAME = re.compile(r'^ *File "(.+)", line (\d+), in (.+)\n(?! *File ") *(.*)', re.MULTILINE)  # and its code


def fx_node(node: Any) -> Node:
    meta = node.meta
    original = meta.get("original_aten")
    number = meta.get("seq_nr")
    return Node(
        name=node.name,
        op=node.op,
        target=target_name(node),
        inputs=tuple(dict.fromkeys(source.name for source in node.all_input_nodes)),
        outputs=tensors(meta.get("val", meta.get("example_value"))),
        arguments=_arguments(node),
        source=source_of(meta),
        from_node=tuple(dict.fromkeys(name for name, _ in ancestry(meta))),
        replaced_by=tuple(dict.fromkeys(replacing(meta))),
        original_aten=str(original) if original is not None else None,
        sequence_number=number if isinstance(number, int) and number >= 0 else None,
        recompute=policy.name.lower() if (policy := meta.get("recompute")) is not None else None,
    )


def target_name(node: Any) -> str:
    """An op's name: `aten.mul.Tensor`, `torch.nn.functional.gelu`, or a placeholder's target."""
    target = node.target
    if isinstance(target, (str, torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        return str(target)
    if isinstance(target, torch._ops.OperatorBase):  # higher-order operators
        if repeats_draw(target.name()) and node.args and isinstance(node.args[0], torch._ops.OpOverload):
            return str(node.args[0])
        return f"higher_order.{target.name()}"
    module = getattr(target, "__module__", None) or ""
    name = getattr(target, "__qualname__", None) or getattr(target, "__name__", None) or str(target)
    if module.startswith("torch._C") or module == "torch.functional":
        module = "torch.nn.functional" if hasattr(torch.nn.functional, name) else "torch"
    return f"{module.removeprefix('_')}.{name}" if module else name


@functools.lru_cache(maxsize=4096)
def overload(name: str, variant: str) -> Any:
    """The `OpOverload` of "aten::add" and "Tensor", `None` where Python has no view of it."""
    namespace, _, base = name.partition("::")
    try:
        return getattr(getattr(getattr(torch.ops, namespace), base), variant)
    except (AttributeError, RuntimeError):
        return None


def overloads(name: str) -> list[str]:
    """The overloads of an op with names: "Tensor" and others of "aten::add"."""
    namespace, _, base = name.partition("::")
    packet = getattr(getattr(torch.ops, namespace), base, None)
    return [item for item in packet.overloads() if item != "default"] if packet is not None else []


def _arguments(node: Any) -> str:
    parts = [_argument(value) for value in node.args]
    parts += [f"{name}={_argument(value)}" for name, value in node.kwargs.items()]
    text = ", ".join(parts)
    return text if len(text) <= _MAX_ARGUMENTS else text[: _MAX_ARGUMENTS - 1] + "…"


def _argument(value: Any) -> str:
    if isinstance(value, torch.fx.Node):
        return value.name
    if isinstance(value, (list, tuple)):
        inner = ", ".join(_argument(item) for item in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    if isinstance(value, torch.Tensor):
        return f"tensor{tuple(value.shape)}"
    try:
        return repr(value)
    except Exception as error:  # it can be any object, with any __repr__
        return f"<{type(value).__name__} whose repr raises {type(error).__name__}>"


def tensors(value: Any) -> tuple[TensorMeta, ...]:
    """The metadata of every tensor in a value (a tensor, or a nest of lists and tuples)."""
    return tuple(tensor_meta(tensor) for tensor in leaves(value))


def leaves(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def tensor_meta(tensor: torch.Tensor) -> TensorMeta:
    """One tensor's metadata. What a kind of tensor does not have (sparse: strides) is None."""
    strided = tensor.layout == torch.strided and not tensor.is_nested
    try:
        stride = tuple(dimension(size) for size in tensor.stride()) if strided else None
        offset = dimension(tensor.storage_offset()) if strided else None
    except (RuntimeError, NotImplementedError):  # nested and other wrapper tensors
        stride = offset = None
    try:
        shape = tuple(dimension(size) for size in tensor.shape)
    except RuntimeError:  # a nested tensor of the strided layout has no sizes, one each
        shape = tuple(f"j{index}" for index in range(tensor.dim()))
    return TensorMeta(
        shape=shape,
        dtype=str(tensor.dtype).removeprefix("torch."),
        stride=stride,
        storage_offset=offset,
        device=str(tensor.device),
    )


def dimension(size: Any) -> int | str:
    """A size; a symbolic one becomes its expression (`"s0"`). Never adds a guard."""
    if isinstance(size, torch.SymInt):
        node = size.node
        constant = getattr(node, "constant", None)
        return int(constant) if constant is not None else str(getattr(node, "expr", node))
    return int(size)


def ancestry(meta: dict[str, Any]) -> Iterator[tuple[str, int | None]]:
    """Yield (name, id of its fx.Graph) of the nodes that a node came from, nearest first (`meta["from_node"]`)."""
    for item in sources(meta):
        name = getattr(item, "name", None)
        if isinstance(name, str) and name:
            identity = getattr(item, "graph_id", None)
            yield name, identity if isinstance(identity, int) else None


def sources(meta: dict[str, Any]) -> Iterator[Any]:
    """Yield torch's records (`torch.fx.traceback.NodeSource`) of where a node came from, nearest first."""
    todo: list[Any] = list(meta.get("from_node") or ())
    while todo:
        item = todo.pop(0)
        yield item
        todo.extend(getattr(item, "from_node", None) or ())


def replacing(meta: dict[str, Any]) -> Iterator[str]:
    """Yield the passes that torch says replaced something by this node, the latest first."""
    for item in sources(meta):
        actions = {getattr(action, "name", None) for action in getattr(item, "action", None) or ()}
        name = getattr(item, "pass_name", None)
        if "REPLACE" in actions and isinstance(name, str) and name:
            yield name


def source_of(meta: dict[str, Any]) -> Source | None:
    """The user's line and the module path that torch recorded for a node."""
    module, module_type = module_of(meta)
    frame = source_in(meta.get("stack_trace"))
    if frame is None and module is None:
        return None
    return replace(frame or Source(), module=module, module_type=module_type)


def source_in(stack_trace: str | None) -> Source | None:
    """The innermost line of a printed stack trace that is the user's, else the innermost one."""
    found = _FRAME.findall(stack_trace or "")
    return source_of_frames(FrameSummary(file, int(line), name, line=code or None) for file, line, name, code in found)


def source_of_frames(frames: Iterable[Any]) -> Source | None:
    """The innermost user line of a sequence of `traceback.FrameSummary`, outermost first."""
    every = list(frames)
    chosen = next((frame for frame in reversed(every) if is_user_file(frame.filename)), every[-1] if every else None)
    return chosen and Source(file=chosen.filename, line=chosen.lineno, code=chosen.line or None, function=chosen.name)


def caller() -> Source | None:
    """The innermost line of the running Python stack that is the user's."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if is_user_file(code.co_filename) and not code.co_filename.startswith("<"):
            return place(code.co_filename, frame.f_lineno, code.co_name)
        frame = frame.f_back
    return None


@functools.lru_cache(maxsize=4096)
def place(file: str, line: int | None, function: str) -> Source:
    code = linecache.getline(file, line).strip() if line else None
    return Source(file=file, line=line, code=code or None, function=function)


def is_user_file(file: str) -> bool:
    """Return whether a file is not of torch, fxscope (with its launcher) or Python itself, nor made up by Dynamo."""
    if file.startswith(_STANDARD) and "-packages" not in file:
        return False
    return not (file.startswith((_TORCH, _FXSCOPE, "<frozen", "<eval_with_key>")) or file.endswith(_LAUNCHERS))


def module_of(meta: dict[str, Any]) -> tuple[str | None, str | None]:
    """The innermost module's path (`"layers.0.mlp"`) and type of a node (`meta["nn_module_stack"]`)."""
    stack = meta.get("nn_module_stack") or meta.get("fwd_nn_module_stack")
    if not stack:
        return None, None
    path, kind = list(stack.values())[-1]
    name = kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))
    return module_path(str(path)), name.rsplit(".", 1)[-1]


def module_path(path: str) -> str:
    """A module's path as `named_modules()` has it: `L['self']._modules['layers'][0].mlp` → `layers.0.mlp`."""
    path = re.sub(r"^L\['(?:args'\]\[0|[^']*')\]\.?", "", path)  # of a decorated method, self is args[0]
    path = re.sub(r"^G\['([^']*)'\]", r"\1", path)
    path = re.sub(r"\.?_modules\[['\"]([^'\"]*)['\"]\]", r".\1", path)
    path = re.sub(r"getattr\((?:L\['[^']*'\])?\.?(.*?), ['\"]([^'\"]*)['\"]\)", r"\1.\2", path)
    path = re.sub(r"\[['\"]?([^'\"\]]*)['\"]?\]", r".\1", path)
    return re.sub(r"^(__closure__\.\d+\.cell_contents\.?)+", "", path.strip("."))  # a variable of a function
