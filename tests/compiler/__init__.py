"""Cases of the compiler's tests, as texts in tests/data/compiler."""

from pathlib import Path
from types import FunctionType
from typing import Any

FOLDER = Path(__file__).parents[1] / "data" / "compiler"


def functions(name: str) -> dict[str, tuple[FunctionType, list[str]]]:
    """The functions of a text, each with the parts of its docstring: where it is from, and what is expected."""
    path, names = FOLDER / name, dict[str, Any]()
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    found = {
        key: value for key, value in names.items() if isinstance(value, FunctionType) and "|" in (value.__doc__ or "")
    }
    return {key: (value, [part.strip() for part in value.__doc__.split("|")]) for key, value in found.items()}


def rows(name: str) -> dict[str, list[str]]:
    """The lines of a text behind its first one: name | … | …."""
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()[1:]
    found = ([part.strip() for part in line.split(" |")] for line in lines)
    return {first: rest for first, *rest in found}
