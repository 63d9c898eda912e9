"""All guards that a call failed, with the values that it met: torch names the first one of each compiled version."""

import ast
import builtins
import enum
import itertools
import re
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fxscope.text import first_line

_TENSOR = re.compile(
    r"check_tensor\((?P<source>.+), \w+, DispatchKeySet\(.*?\), (?P<dtype>torch\.\w+), device=(?P<device>\w+), "
    r"requires_grad=(?P<requires_grad>\w+), size=\[(?P<size>.*?)\], stride=\[(?P<stride>.*?)\]\)"
)
_OBJECT = re.compile(r"___check_obj_id\((?P<source>.+), (?P<id>\d+)\)")
_LOCAL = re.compile(r"L\[['\"](\w+)['\"]\]")
_ABOUT = re.compile(r", type=<class '| \(HINT: ")  # what torch adds to the expression of a guard
_MAX_VALUE = 60


def with_values(reasons: Iterable[str], entries: Any, variables: Mapping[str, Any]) -> list[str]:
    """Torch's reasons for a recompile, one for each compiled version, with values and the version's other failed guards."""
    managers = {str(entry.compile_id): entry.guard_manager for entry in _versions(entries)}
    lines: list[str] = []
    for reason in reasons:
        version, _, first = reason.partition(": ")
        manager = managers.get(version)  # none of a version that is gone: then the names are those of the call
        held = (getattr(manager, name, None) or {} for name in ("closure_vars", "global_scope"))
        scope = {**ChainMap(*held), "__builtins__": builtins, "L": variables}
        failed = [item for part in getattr(manager, "code_parts", ()) for item in _of_part(part, scope)]
        others = [words for guard, words in failed if not re.match(rf"{re.escape(guard)}(?!\S)", first)]
        if "expected" not in first:
            guard = first_line(first).partition("  # ")[0].strip()
            words = next(_of_part(guard, {**scope, **variables}), (guard, guard))[1]
            reason = reason.replace(guard, words, 1)
        lines += [reason, *(f"{version}: {words}" for words in others)]
    return lines


def _versions(entries: Any) -> Iterator[Any]:
    """Yield the compiled versions of a frame: a list, in older torch each with the next."""
    if isinstance(entries, list):
        yield from entries
    else:
        while entries is not None:
            yield entries
            entries = entries.next


def _of_part(part: str, scope: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what a part of torch's guards asks for and does not find: nothing of one that is no expression."""

    def value(text: str) -> Any:
        return eval(text, scope)

    try:
        if found := _TENSOR.match(part):
            yield from _of_tensor(found, value(found["source"]))
            return
        asked, guard = _ABOUT.split(part)[0], _LOCAL.sub(r"\1", part)
        if (found := _OBJECT.match(part)) and isinstance(actual := value(found["source"]), enum.Enum):
            names = {id(item): f"{type(item).__name__}.{item.name}" for item in type(actual)}
            if (wanted := names.get(int(found["id"]), names[id(actual)])) != names[id(actual)]:
                place = _LOCAL.sub(r"\1", found["source"])
                yield guard, f"{place} == {wanted}, actual {names[id(actual)]}"
                return
        asks = ast.parse(asked, mode="eval").body
        if not isinstance(asks, ast.Compare) or isinstance(asks.ops[0], ast.Is | ast.IsNot):  # asks about no value
            if re.search(r"\b[LG]\[", part) and value(asked) is False:  # else it asks about torch's own state
                yield guard, guard
            return
        sides = [asks.left, *asks.comparators]
        values = [value(ast.unparse(side)) for side in sides]
        # torch compares types, too
        is_constant = isinstance(asks.ops[0], ast.Eq) and isinstance(sides[1], ast.Constant)
        if value(asked) is False or (is_constant and type(values[0]) is not type(values[1])):
            names = {"L", "G", *scope["L"]}
            named = [any(isinstance(item, ast.Name) and item.id in names for item in ast.walk(side)) for side in sides]
            actual = " and ".join(f"{one!r:.{_MAX_VALUE}}" for one in itertools.compress(values, named))
            yield guard, f"{guard}, actual {actual}"
    except Exception:  # a part that is no expression, or a value that is not there now
        return


def _of_tensor(guard: re.Match[str], tensor: Any) -> Iterator[tuple[str, str]]:
    """Yield how a tensor differs from its guard (wanted "None": any), in torch's words, without and with the values."""
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
