"""A demangled C++ name, parsed: return type off, symbol, template arguments, parameters. No grammar, only brackets."""

import re
from functools import lru_cache
from typing import NamedTuple

_OPEN, _CLOSE = frozenset("<({["), frozenset(">)}]")
# What is no bracket is matched whole: `->`, `operator<`
_MARKS = re.compile(r"->|operator(?:<<|>>|<=|>=|<|>|\(\))|[<>(){}\[\],]")
_LENGTH = re.compile(r"\d{1,4}")
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


@lru_cache(maxsize=16)
def parse(name: str) -> Name:
    """Parse a kernel name. Works on names that are cut off in the middle too."""
    text = normalize(name)
    symbol: list[str] = []
    templates = parameters = ""
    index = 0
    while index < len(text):
        character = text[index]
        if character == " ":
            # What stood before is the return type, or `std::enable_if<…>::type`.
            symbol, templates = [], ""
        elif character == "(":
            parameters = text[index + 1 : _closing(text, index)]
            break
        elif character in "<{" and "".join(symbol[-8:]) != "operator":
            end = _closing(text, index)
            templates, index = text[index + 1 : end], end
        else:
            if character == ":":
                templates = ""
            symbol.append(character)
        index += 1
    return Name("".join(symbol), split(templates), split(parameters))


@lru_cache(maxsize=16)
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
    parts: list[str] = []
    depth = start = 0
    for found in _MARKS.finditer(text):
        mark = found[0]
        if mark in _OPEN:
            depth += 1
        elif mark != ",":
            depth -= len(mark) == 1
        elif depth <= 0:
            parts.append(text[start : found.start()].strip())
            start = found.end()
    last = text[start:].strip()
    return (*parts, last) if last else tuple(parts)


def template(text: str, name: str) -> tuple[str, ...] | None:
    """Return the template arguments of the first `name<…>` in the text, `None` where there is none."""
    for found in re.finditer(rf"(?<![A-Za-z0-9_]){re.escape(name)}\s*<", text):
        end = _closing(text, found.end() - 1)
        return split(text[found.end() : end])
    return None


def _closing(text: str, index: int) -> int:
    """Return where the bracket at `index` closes, the text's length where it does not."""
    depth = 0
    for found in _MARKS.finditer(text, index):
        if found[0] in _OPEN:
            depth += 1
        elif found[0] in _CLOSE:
            depth -= 1
            if depth == 0:
                return found.start()
    return len(text)


def _mangled(text: str) -> str:
    """Read the nested names of a mangled symbol; its template arguments stay as they are."""
    position = text.find("N") + 1 if text.startswith("_ZN") else 2
    parts: list[str] = []
    while found := _LENGTH.match(text, position):
        length = int(found[0])
        position = found.end()
        parts.append(text[position : position + length])
        position += length
    if parts and parts[0].startswith("_GLOBAL__N"):
        parts = parts[1:]
    parts = [part for part in parts if not part.startswith("_GLOBAL__N")]
    return "::".join(parts) if parts else text
