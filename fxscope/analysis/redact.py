"""A recording without what belongs to the program's author: for a bug report, or a vendor.

Removed: every source text (the user's lines, generated code, PTX), source lines, the arguments of ops, guards, reasons of
breaks and recompiles, values of scalars, switches that are text, messages of problems, the platform. Replaced, the same by the
same everywhere: files, functions, modules, the title, annotations; in what is left, every word that is neither PyTorch's nor
fxscope's own (a parameter's name in a graph, a kernel of the user's). Kept: graphs, shapes, dtypes, launches, times, decisions,
versions and the device's name.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fxscope import op_names
from fxscope.model import Recording, plain

if TYPE_CHECKING:
    from collections.abc import Callable

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d{1,4}(?!\d)")
_NAME = re.compile(r"\w+")
_SHORT = re.compile(r"[a-z]?\d{1,4}(?:x\d{1,4})*|[a-z]{0,2}\d{1,5}(?:gemm)?|[a-zA-Z]")  # 128x64, sm90, f16, s16816gemm
_LIBRARY = re.compile(r"(?:void )?at::native::|nvjet_sm\d+_|ncclDevKernel_|Memcpy |Memset ")
# By the name of the field: dropped (to None, or to nothing), and always the user's whatever the words.
_DROPPED = frozenset(
    "code arguments text cache_key guards recompile_reason break_reason concrete_inputs raw_reason platform device_properties"
    " remedy sources decoded".split()
)
_SAY_NOTHING = frozenset({type(None), bool, int, float})
_THEIRS = {"file": "file", "function": "function", "title": "title", "module": "module"}


def redact(recording: Recording) -> Recording:
    """A recording of the same form that says nothing of its program's text and names."""
    tree = msgspec.to_builtins(recording, enc_hook=plain, str_keys=True)
    return msgspec.convert(_Redactor().item(tree), Recording)


# Annotations that torch makes itself: a step and a call of compiled code are found by them. (That
# autograd::engine::evaluate_function is torch's is known by its words standing here.)
_TORCHS = ("ProfilerStep#", "## Call CompiledFxGraph ")


class _Redactor:
    """Gives each word that is not public a number."""

    def __init__(self) -> None:
        self._tokens: dict[tuple[str, str], str] = {}
        self.words = cache(self._words)  # a recording has few texts, each of them many times

    def item(self, value: Any, key: str = "") -> Any:
        if type(value) in _SAY_NOTHING:
            return value
        if isinstance(value, dict):
            if key in ("config", "limits"):  # switches: numbers say nothing of the program
                return {name: item for name, item in value.items() if isinstance(item, (bool, int, float))}
            if key == "environment":
                return {name: item for name, item in value.items() if name not in _DROPPED}
            theirs = value.get("category") in ("user_annotation", "python_function")
            return {
                self.words(name) if key in ("renames", "kwargs") else name: item
                if type(item) in _SAY_NOTHING
                else self.field(name, item, theirs)
                for name, item in value.items()
                if name not in _DROPPED
            }
        if isinstance(value, (list, tuple)):
            return [self.item(item, key) for item in value]
        return self.words(value) if isinstance(value, str) else value

    def field(self, name: str, value: Any, theirs: bool) -> Any:
        if name == "message":
            return "removed"
        if name == "schema":
            return value
        if isinstance(value, str) and (
            name in _THEIRS or (theirs and name == "name" and not value.startswith(_TORCHS))
        ):
            return self.theirs(_THEIRS.get(name, "annotation"), value)
        return self.item(value, name)

    def theirs(self, kind: str, text: str) -> str:
        """Replace a user's name; the parts of a module's path one by one, its numbers kept."""
        if kind == "module":
            return ".".join(part if part.isdigit() else self.token(kind, part) for part in text.split("."))
        return self.token(kind, text) + (".py" if kind == "file" else "")

    def _words(self, text: str) -> str:
        if _LIBRARY.match(text):
            return text
        return _NAME.sub(lambda found: found[0] if public(found[0]) else self.token("name", found[0]), text)

    def token(self, kind: str, text: str) -> str:
        """The same replacement for the same text."""
        return self._tokens.setdefault((kind, text), f"{kind}{len(self._tokens)}")


def public(name: str) -> bool:
    """Whether every part of a name is a word of PyTorch's ops or of fxscope itself."""
    return all(_is_public(part) for part in name.split("_") if part)


def _is_public(part: str) -> bool:
    known = _vocabulary()
    if part.lower().rstrip("0123456789") in known or _SHORT.fullmatch(part):
        return True
    words = _WORDS.findall(part)  # AddmmBackward0
    return "".join(words) == part and all(word.lower() in known or word.isdigit() for word in words)


@cache
def _vocabulary() -> frozenset[str]:
    """The words of the op table, and those that fxscope's own code is written in."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parents[1].rglob("*.py"))]
    every: Callable[[str], list[str]] = re.compile(r"[^\W\d_]+").findall
    words = {word.lower() for text in texts for word in every(text)}
    return frozenset(words | {word for name in op_names.table() for word in every(name.lower())})
