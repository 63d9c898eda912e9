"""The layering of docs/design.md holds: read from the imports themselves, so a new file is held to it unasked."""

from __future__ import annotations

import ast
import sys
from functools import cache
from pathlib import Path

import pytest

from fxscope.cli import VERBS
from tests.processes import printed

PACKAGE = Path(__file__).parent.parent / "fxscope"

# Each room: what it may import from outside the standard library, and the rooms below it. The longest name that
# fits a file is its room.
FLOOR = tuple(
    """fxscope.model fxscope.errors fxscope.columns fxscope.store fxscope.children fxscope.kernel_names
    fxscope.op_names fxscope.dtypes fxscope.index fxscope.gpus fxscope.text fxscope.english""".split()
)
PASSES = (*FLOOR, "fxscope.passes")
READERS = (*FLOOR, "fxscope.readers", "fxscope.passes")
ANALYSIS = (*PASSES, "fxscope.analysis")
FLEET = (*ANALYSIS, "fxscope.readers", "fxscope.fleet")
RENDER = (*ANALYSIS, "fxscope.fleet", "fxscope.render")
TORCH = (*READERS, "fxscope._torch", "fxscope", "fxscope.factories")
ALL = ("fxscope",)
ROOMS: dict[str, tuple[set[str], tuple[str, ...]]] = {
    "fxscope": (set(), ALL),
    "fxscope.__main__": (set(), ("fxscope.cli",)),
    "fxscope.errors": (set(), ()),
    "fxscope.data": (set(), ()),  # every room may read its tables
    "fxscope.children": (set(), ()),
    "fxscope.model": (
        {"msgspec", "pandas"},
        tuple(
            """fxscope.model fxscope.errors fxscope.index fxscope.english fxscope.analysis
            fxscope.assertions fxscope.render""".split()
        ),
    ),  # what people ask of a recording (`explain`, `why`, `show`, `save`, …) looks upwards, inside the methods
    "fxscope.columns": ({"msgspec", "numpy"}, ("fxscope.model",)),
    "fxscope.store": ({"msgspec", "numpy"}, ("fxscope.model", "fxscope.columns", "fxscope.errors")),
    "fxscope.kernel_names": (set(), ("fxscope.kernel_names", "fxscope.op_names")),
    "fxscope.dtypes": (set(), ()),
    "fxscope.index": (set(), ("fxscope.model", "fxscope.columns", "fxscope.op_names")),
    "fxscope.op_names": (set(), ("fxscope.model",)),
    "fxscope.text": (set(), ("fxscope.kernel_names", "fxscope.op_names")),
    "fxscope.english": (set(), ("fxscope.text",)),
    "fxscope.gpus": (
        {"msgspec", "numpy"},
        ("fxscope.model", "fxscope.errors", "fxscope.store", "fxscope.gpus", "fxscope.op_names", "fxscope.index"),
    ),
    "fxscope.readers": ({"numpy", "msgspec", "isal", "zstandard", "compression"}, READERS),
    "fxscope.passes": ({"msgspec", "numpy"}, PASSES),
    "fxscope.analysis": ({"msgspec", "numpy", "networkx", "tomli"}, ANALYSIS),
    "fxscope.fleet": ({"numpy", "msgspec", "ray"}, FLEET),
    "fxscope._torch": ({"torch", "triton", "msgspec", "numpy"}, TORCH),
    "fxscope.capture": ({"torch"}, TORCH),
    "fxscope.render": ({"rich", "graphviz", "msgspec", "resvg_py"}, RENDER),
    "fxscope.assertions": (set(), RENDER),
    "fxscope.pytest_plugin": ({"pytest"}, ALL),
    "fxscope.notebook": (set(), ALL),
    "fxscope.factories": (set(), ("fxscope.errors", "fxscope.store")),
    "fxscope.cli": (set(), ALL),
    "fxscope.commands": ({"msgspec", "networkx", "numpy", "mcp"}, ALL),
}


@cache
def modules() -> list[tuple[str, Path]]:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(["fxscope", *path.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(".__init__")
        found.append((name, path))
    return found


MODULES = {name for name, _ in modules()}


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def imports(path: Path) -> set[str]:
    """Return every module a file imports, in functions too, but not under TYPE_CHECKING."""
    found: set[str] = set()

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        if isinstance(node, ast.expr):  # no statement is in one
            return
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in MODULES else node.module)
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(parsed(path))
    return found


def below(name: str, part: str) -> bool:
    """Return whether a dotted name is the part or inside it; the package itself holds only what is in its `__init__`."""
    return name == part or (part != "fxscope" and name.startswith(part + "."))


@pytest.mark.parametrize(("name", "path"), modules(), ids=lambda value: value if isinstance(value, str) else "")
def test_a_module_imports_only_what_its_room_may(name: str, path: Path) -> None:
    room = max((room for room in ROOMS if below(name, room)), key=len, default=None)
    assert room, f"{name} is in no room of this table and of docs/design.md"
    outside, inside = ROOMS[room]
    used = imports(path)
    standard = {*sys.stdlib_module_names, "tomllib"}  # of Python 3.11, where there is one; 3.10 has tomli
    strangers = {item.split(".")[0] for item in used} - standard - {"fxscope", "__future__"}
    assert strangers <= outside, f"{name} imports {strangers - outside}"
    if inside == ALL:
        return
    may = (*inside, "fxscope.data")
    upward = {item for item in used if item.split(".")[0] == "fxscope" and not any(below(item, part) for part in may)}
    assert not upward, f"{name} looks upwards at {sorted(upward)}"


def test_the_design_names_every_room() -> None:
    text = (PACKAGE.parent / "docs" / "design.md").read_text()
    table = text[text.index("## The rooms") : text.index("## Where do I find")]
    for room in set(ROOMS) - {"fxscope"}:
        path = PACKAGE.parent / room.replace(".", "/")
        assert f"`{path.name}{'/' if path.is_dir() else '.py'}`" in table, f"docs/design.md does not name {room}"


def test_rooms_import_from_rows_above_theirs_alone() -> None:
    text = (PACKAGE.parent / "docs" / "design.md").read_text()
    lines = [line.split("|")[1] for line in text[text.index("| room") :].partition("\n\n")[0].splitlines()]
    row_of = {name.strip("/").removesuffix(".py"): i for i, line in enumerate(lines) for name in line.split("`")[1::2]}

    def row(name: str) -> str:
        return name.partition("fxscope.")[2].split(".")[0]

    for name, path in modules():
        room = row(name)
        if room not in ("", "model"):  # the package itself; what looks upwards inside methods
            wrong = {item for item in imports(path) if row_of.get(row(item), 0) > row_of[room]}
            assert not wrong, f"{name} imports {wrong}, which docs/design.md has in a row below"


def test_torch_is_imported_only_in_its_own_room() -> None:
    for name, path in modules():
        if name.startswith("fxscope._torch") or name == "fxscope.capture":
            continue
        assert not {item for item in imports(path) if item.split(".")[0] in ("torch", "triton")}, name


@pytest.mark.parametrize("arguments", [["--help"], ["view", "--help"], ["kernel", "--help"], ["--version"]])
def test_the_command_line_starts_without_torch(arguments: list[str]) -> None:
    code = (
        "import sys; from fxscope.cli import main\n"
        f"try: main({arguments!r})\n"
        "except SystemExit as stop: assert stop.code == 0, stop.code\n"
        "heavy = {'torch', 'triton', 'numpy', 'networkx', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    printed("-c", code)


def test_importing_the_package_is_free() -> None:
    code = "import sys, fxscope; assert not {'torch', 'msgspec', 'numpy', 'rich'} & set(sys.modules)"
    printed("-c", code)


def test_every_public_name_resolves_lazily() -> None:
    code = (
        "import sys, fxscope\n"
        "assert fxscope.load and fxscope.Recording and fxscope.FxscopeError and fxscope.read_trace\n"
        "assert 'torch' not in sys.modules\n"
        "assert callable(fxscope.record)\n"
        "try: fxscope.nothing\n"
        "except AttributeError: pass\n"
        "else: raise SystemExit('no AttributeError')"
    )
    printed("-c", code)


def test_one_class_name_has_one_meaning() -> None:
    places: dict[str, list[str]] = {}
    for name, path in modules():
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef) and not name.startswith("fxscope.fleet"):  # a fleet has its own words
                places.setdefault(node.name, []).append(name)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_no_verb_imports_another() -> None:
    verbs = {f"fxscope.commands.{verb.replace('-', '_')}" for verb in VERBS}
    assert verbs <= MODULES
    for name, path in modules():
        if name in verbs:
            assert not imports(path) & (verbs - {name}), f"{name}: what two verbs need stands in commands/common.py"
