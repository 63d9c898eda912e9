"""All guards that a call failed, with the values that it met: torch names the first one of each compiled version."""

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_TENSOR = re.compile(
    r"check_tensor\((?P<source>.+), \w+, DispatchKeySet\(.*?\), (?P<dtype>torch\.\w+), device=(?P<device>\w+), "
    r"requires_grad=(?P<requires_grad>\w+), size=\[(?P<size>.*?)\], stride=\[(?P<stride>.*?)\]\)"
)
_LOCAL = re.compile(r"L\[['\"](\w+)['\"]\]")
_MAX_VALUE = 60


def with_values(reasons: Iterable[str], entries: Any, variables: Mapping[str, Any]) -> list[str]:
    """Torch's reasons for a recompile, one for each compiled version, with values and the version's other failed guards."""
    failed = {str(entry.compile_id): list(_failed(entry.guard_manager, variables)) for entry in _versions(entries)}
    lines: list[str] = []
    for reason in reasons:
        version, _, first = reason.partition(": ")
        others: list[str] = []
        for guard, words in failed.get(version, ()):
            if not re.match(rf"{re.escape(guard)}(?!\S)", first):
                others.append(f"{version}: {words}")
            elif "expected" not in first:
                reason = reason.replace(guard, words, 1)
        lines += [reason, *others]
    return lines


def _versions(entries: Any) -> Iterator[Any]:
    """Yield the compiled versions of a frame: a list, in older torch each with the next."""
    if isinstance(entries, list):
        yield from entries
    else:
        while entries is not None:
            yield entries
            entries = entries.next


def _failed(manager: Any, variables: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each guard that fails as torch writes it, and with its value: comparisons and those of tensors."""
    scope = {"L": variables, "G": manager.global_scope["G"], **manager.closure_vars}

    def value(text: str) -> Any:
        return eval(text, {**manager.global_scope, "__builtins__": builtins}, scope)

    for part in getattr(manager, "code_parts", ()):
        try:
            if found := _TENSOR.match(part):
                yield from _of_tensor(found, value(found["source"]))
            elif isinstance(compared := ast.parse(part, mode="eval").body, ast.Compare):
                left, _, right = part.partition(" == ")
                is_typed = right and isinstance(compared.comparators[0], ast.Constant)  # torch compares types, too
                if value(part) is False or (is_typed and type(value(left)) is not type(value(right))):
                    guard = _LOCAL.sub(r"\1", part)
                    yield guard, f"{guard}, actual {value(left)!r:.{_MAX_VALUE}}" if right else guard
        except Exception:  # a part that is no expression, or a value that is not there now
            continue


def _of_tensor(guard: re.Match[str], tensor: Any) -> Iterator[tuple[str, str]]:
    """Yield what of a tensor is not as a guard wants it, in torch's words, without and with the values.

    A wanted value "None" is any. Strides count where the sizes are right.
    """
    name = _LOCAL.sub(r"\1", guard["source"])
    compared = [(f"{kind} mismatch", guard[kind], getattr(tensor, kind)) for kind in ("dtype", "requires_grad")]
    for kind, values in (("size", tensor.size()), ("stride", tensor.stride())):
        wanted = [item.strip() for item in guard[kind].split(",") if item.strip()]
        if len(wanted) != len(values):
            compared.append(("rank mismatch", str(len(wanted)), len(values)))
            break
        pairs = [*zip(wanted, values, strict=True)]
        compared += [(f"{kind} mismatch at index {place}", *pair) for place, pair in enumerate(pairs)]
        if any(one not in ("None", str(other)) for one, other in pairs):
            break
    for kind, one, actual in compared:
        if one not in ("None", str(actual)):
            what = f"tensor '{name}' {kind}."
            yield what, f"{what} expected {one}, actual {actual}"
