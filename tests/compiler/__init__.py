"""Cases of the compiler's tests, as texts in tests/data/compiler."""

from pathlib import Path
from types import FunctionType
from typing import Any

FOLDER = Path(__file__).parents[1] / "data" / "compiler"


def functions(name: str) -> dict[str, tuple[FunctionType, list[str]]]:
    """The functions of a text, each with the parts of its docstring: where it is from, and what is expected."""
    path, names = FOLDER / name, dict[str, Any]()
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    found = [item for item in names.values() if isinstance(item, FunctionType) and "|" in (item.__doc__ or "")]
    return {item.__name__: (item, [part.strip() for part in item.__doc__.split("|")]) for item in found}


def rows(name: str) -> dict[str, list[str]]:
    """The lines of a text behind its first one: name | … | …."""
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()[1:]
    found = ([part.strip() for part in line.split(" |")] for line in lines)
    return {first: rest for first, *rest in found}
