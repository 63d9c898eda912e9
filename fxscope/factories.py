"""Programs given as words: `FILE.py:FACTORY`, a function that returns (module, inputs), and switches, `NAME=VALUE`."""

import ast
import contextlib
import functools
import importlib
import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Generator
from pathlib import Path
from typing import Any

from fxscope.errors import NOT_PYTHON, CaptureError, FxscopeError, one_line
from fxscope.store import opened

FACTORY = re.compile(r"^(?P<module>.+\.py|[^:]+):(?P<name>[A-Za-z_]\w*)$")


def parse_setting(text: str) -> tuple[str, Any]:
    """(switch, value) of `NAME=VALUE`. Raises CaptureError where there is no `=`."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise CaptureError(f"--set {text}: write NAME=VALUE, such as --set epilogue_fusion=false.")
    return name.strip(), parse_value(value)


def parse_value(text: str) -> Any:
    lowered = text.strip().lower()
    if lowered in ("true", "on", "yes", "false", "off", "no"):
        return lowered in ("true", "on", "yes")
    try:
        return ast.literal_eval(text)
    except (TypeError, *NOT_PYTHON):  # a text, however many brackets it has
        return text


def load_factory(program: str, **given: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Return (model, inputs, keyword inputs) of `FILE.py:FACTORY`. Raises CaptureError if it cannot be called."""
    match = FACTORY.match(program)
    if match is None:
        if Path(program).suffix:
            opened(Path(program), CaptureError).close()
        takes = ", ".join(f"{name}=…" for name in given)
        raise CaptureError(f"{program}: write FILE.py:FACTORY, where FACTORY({takes}) returns (module, inputs).")
    factory = _load(match["module"], match["name"])
    if given and callable(factory):
        signature = inspect.signature(factory)
        try:
            signature.bind_partial(**given)
        except TypeError as error:
            raise CaptureError(f"{program} {error}. It is {match['name']}{signature}.") from None
    return call_factory(functools.partial(factory, **given) if given else factory, program)


def _load(module_name: str, name: str) -> Any:
    path = Path(module_name)
    try:
        if module_name.endswith(".py"):
            opened(path, CaptureError).close()
            sys.path.insert(0, str(path.resolve().parent))
            spec = importlib.util.spec_from_file_location(path.stem, path.resolve())
            assert spec is not None and spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules[path.stem] = module
            spec.loader.exec_module(module)
        else:
            sys.path.insert(0, str(Path.cwd()))
            module = importlib.import_module(module_name)
    except (CaptureError, KeyboardInterrupt):
        raise
    except BaseException as error:
        if isinstance(error, ModuleNotFoundError) and f"{module_name}.".startswith(f"{error.name}."):
            raise CaptureError(f"there is no module {module_name}: write FILE.py:FACTORY.") from None
        raise CaptureError(f"importing {module_name} raised {described(error)}.") from None
    if not hasattr(module, name):
        functions = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise CaptureError(f"{module_name} has no {name}. It has {', '.join(functions[:8]) or 'no functions'}.")
    return getattr(module, name)


def call_factory(factory: Any, label: str) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """(model, inputs, keyword inputs) that a factory gives: `(module, x)`, `(module, x, y)`, `(module, (x, y))`, each also
    with a dictionary of keyword inputs at the end. Raises CaptureError.
    """
    expected = f"{label} must be a function of no arguments that returns (module, inputs)"
    if not callable(factory):
        raise CaptureError(f"{expected}; it is a {type(factory).__name__}.")
    try:
        result: Any = factory()
    except (Exception, SystemExit) as error:
        advice = f" {expected}." if isinstance(error, TypeError) else ""  # perhaps it takes an argument
        raise CaptureError(f"{label} raised {described(error)}.{advice}") from None
    items: list[Any] = list(result) if isinstance(result, (tuple, list)) else []  # type: ignore[reportUnknownArgumentType]
    keywords: dict[Any, Any] = items[-1] if items and isinstance(items[-1], dict) else {}
    if len(items) < 2 or not callable(items[0]) or not all(isinstance(name, str) for name in keywords):
        what: str = type(result).__name__  # type: ignore[reportUnknownArgumentType]
        if isinstance(result, (tuple, list)):
            what += f" of {', '.join(type(item).__name__ for item in items[:4]) or 'nothing'}"
        raise CaptureError(f"{expected}; it returned a {what}.")
    inputs = [item for item in items[1:] if item is not keywords]
    if len(inputs) == 1 and isinstance(inputs[0], (tuple, list)):
        inputs: list[Any] = list(inputs[0])
    return items[0], tuple(inputs), keywords


@contextlib.contextmanager
def explained_errors(title: str) -> Generator[None]:
    """Raise CaptureError where a model raises, with what to do about it."""
    try:
        yield
    except FxscopeError:
        raise
    except (Exception, SystemExit) as error:
        advice = "Run it without fxscope to see the whole traceback."
        if "InvalidCxxCompiler" in str(error):
            advice = "Inductor writes C++ for a CPU: install a compiler (`fxscope doctor` says how), or use --target."
        raise CaptureError(f"{title} raised {described(error)}. {advice}") from None


def described(error: BaseException) -> str:
    where = _where(error)
    return one_line(error).rstrip(".") + (f" ({where})" if where else "")


def _where(error: BaseException) -> str | None:
    ours = str(Path(__file__).parent)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith((ours, "<frozen")) and "site-packages" not in frame.filename:
            return f"{Path(frame.filename).name}:{frame.lineno}"
    return None
