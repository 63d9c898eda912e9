"""A demangled C++ name, parsed: return type off, symbol, template arguments, parameters. No grammar, only brackets."""

from __future__ import annotations

import re
from typing import NamedTuple

_OPEN = {"<": ">", "(": ")", "{": "}", "[": "]"}
_CASTS = re.compile(r"\((?:int|bool|unsigned int|unsigned long|long|char|short|signed char)\)(?=-?\d)")
_ANONYMOUS = ("(anonymous namespace)", "<unnamed>", "{anonymous}", "_GLOBAL__N_1")


class Name(NamedTuple):
    """`symbol` is qualified and has no template arguments; `templates` belong to its last component."""

    symbol: str
    templates: tuple[str, ...]
    parameters: tuple[str, ...]

    @property
    def function(self) -> str:
        """The last component: the name that its author gave it."""
        return self.symbol.rsplit("::", 1)[-1]


def parse(name: str) -> Name:
    """Parse a kernel name. Works on names that are cut off in the middle too."""
    text = normalize(name)
    depth = 0
    symbol: list[str] = []
    templates: str | None = None
    parameters = ""
    start = 0
    index = 0
    while index < len(text):
        character = text[index]
        if depth == 0 and character == " ":
            # What stood before is the return type, or `std::enable_if<…>::type`.
            symbol, templates = [], None
        elif depth == 0 and character == "(":
            parameters = text[index + 1 : _closing(text, index)]
            break
        elif character in "<{" and not _arrow(text, index):
            if depth == 0:
                start = index
            depth += 1
        elif depth and character in ">}" and not _arrow(text, index):
            depth -= 1
            if depth == 0:
                templates = text[start + 1 : index]
        elif depth and character == "(":
            index = _closing(text, index)
        elif depth == 0:
            if character == ":":
                templates = None
            symbol.append(character)
        index += 1
    if depth and templates is None:  # cut off inside the template arguments
        templates = text[start + 1 :]
    return Name("".join(symbol), split(templates or ""), split(parameters))


def normalize(name: str) -> str:
    """Return the name without `void`, namespaces without a name, `(int)` before numbers, and device suffixes."""
    text = name.strip()
    if text.startswith("_Z"):
        text = _mangled(text)
    for anonymous in _ANONYMOUS:
        text = text.replace(anonymous + "::", "").replace(anonymous, "")
    text = _CASTS.sub("", text)
    for prefix in ("__global__ ", "static ", "void "):
        text = text.removeprefix(prefix)
    return re.sub(r"\s+\[clone [^\]]*\]$|\.kd$", "", text)


def split(text: str) -> tuple[str, ...]:
    """Split at the commas that are in no bracket."""
    parts: list[str] = []
    depth = 0
    part = ""
    for index, character in enumerate(text):
        if character in "<({[" and not _arrow(text, index):
            depth += 1
        elif character in ">)}]" and not _arrow(text, index):
            depth -= 1
        if character == "," and depth <= 0:
            parts.append(part.strip())
            part = ""
        else:
            part += character
    if part.strip():
        parts.append(part.strip())
    return tuple(parts)


def template(text: str, name: str) -> tuple[str, ...] | None:
    """Return the template arguments of the first `name<…>` in the text, `None` where there is none."""
    for found in re.finditer(rf"(?<![A-Za-z0-9_]){re.escape(name)}\s*<", text):
        end = _closing(text, found.end() - 1)
        return split(text[found.end() : end])
    return None


def _closing(text: str, index: int) -> int:
    depth = 0
    for position in range(index, len(text)):
        if text[position] in "<({[" and not _arrow(text, position):
            depth += 1
        elif text[position] in ">)}]" and not _arrow(text, position):
            depth -= 1
            if depth == 0:
                return position
    return len(text)


def _arrow(text: str, index: int) -> bool:
    """Whether the bracket is part of `->`, `operator<` or a comparison and closes nothing."""
    return (text[index] == ">" and index > 0 and text[index - 1] == "-") or (
        text[index] in "<>" and text[max(0, index - 8) : index] == "operator"
    )


def _mangled(text: str) -> str:
    """Read the nested names of a mangled symbol; its template arguments stay as they are."""
    position = text.find("N") + 1 if text.startswith("_ZN") else 2
    parts: list[str] = []
    while found := re.match(r"\d+", text[position:]):
        length = int(found[0])
        position += len(found[0])
        parts.append(text[position : position + length])
        position += length
    if parts and parts[0].startswith("_GLOBAL__N"):
        parts = parts[1:]
    parts = [part for part in parts if not part.startswith("_GLOBAL__N")]
    return "::".join(parts) if parts else text
