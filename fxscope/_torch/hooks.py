"""Patches of other people's modules that always come off again.

    class Watch:
        @hook_after("torch._inductor.scheduler:Scheduler.codegen_extern_call", "which extern call is whose")
        def _extern_call(self, result, scheduler, node): ...

    hooks.install(watch)

A name that this torch does not have is a problem, not an error; an exception inside fxscope's part never reaches the
user's program; `Hooks.close` restores what was there. `active()` lists what is installed now.
"""

import ctypes
import functools
import importlib
import inspect
import sys
import threading
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import torch

from fxscope._torch.quiet import raised_by_handler
from fxscope.errors import FxscopeError, one_line
from fxscope.model import Problem

TRACER = "TraceContext"  # of torch's profile function
TOOL = "PyTorch Profiler"  # what torch calls itself where Python has one profiler at a time: from 3.12 on
_MISSING = object()
_active: list[str] = []
_MARK = "fxscope_hooks"
_hidden: set[CodeType] = set()  # from Dynamo
_hidden_modules: set[str] = set()
_monitoring: Any = getattr(sys, "monitoring", None)  # from Python 3.12 on: cProfile, coverage, debuggers
_CAN_SUSPEND = hasattr(ctypes.pythonapi, "PyThreadState_EnterTracing")  # not Python 3.10
_this_thread = ctypes.PYFUNCTYPE(ctypes.c_void_p)(("PyThreadState_Get", ctypes.pythonapi))
if _CAN_SUSPEND:
    _of_thread = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
    _suspend, _resume = (_of_thread((f"PyThreadState_{name}Tracing", ctypes.pythonapi)) for name in ("Enter", "Leave"))


class _Tracing(threading.local):
    suspensions = 0  # of this thread
    around: tuple[int, ...] = ()  # … those around each compiled function that it has entered


_tracing = _Tracing()


class WithoutStacks:
    """Hide the Python calls of this thread from torch's tracer, which sees as many returns as calls."""

    def __enter__(self) -> None:
        # From Python 3.12 on the tracer slows threads that it does not see, too, such as that of a backward pass.
        is_slow = torch._C._autograd._profiler_enabled() and type(sys.getprofile()).__name__ in (TRACER, "NoneType")
        self._counts = _CAN_SUSPEND and (_tracing.suspensions > 0 or is_slow)
        if self._counts and not _tracing.suspensions:
            _suspend(_this_thread())
            tools = {_monitoring.get_tool(number) for number in range(6)} if _monitoring else set[str]()
            if sys.gettrace() is not None or not tools <= {None, TOOL}:  # the program watches itself, and goes on to
                self._counts = False
                _resume(_this_thread())
        _tracing.suspensions += self._counts

    def __exit__(self, *_: object) -> None:
        if self._counts and _tracing.suspensions == 1:
            _resume(_this_thread())
        elif self._counts and not _tracing.suspensions:  # resumed for Dynamo, by a session that has ended since
            _tracing.around = ()
        _tracing.suspensions = max(0, _tracing.suspensions - self._counts)


def dynamo_goes_on(original: Callable[..., Any], callback: Any) -> Any:
    """Set Dynamo's callback. From Python 3.12 on, Dynamo compiles nothing in a thread whose tracing is suspended."""
    if callback is not None and _tracing.suspensions:
        _tracing.around, _tracing.suspensions = (*_tracing.around, _tracing.suspensions), 0
        _resume(_this_thread())
    elif callback is None and _tracing.around and not _tracing.suspensions:
        _suspend(_this_thread())
        _tracing.around, _tracing.suspensions = _tracing.around[:-1], _tracing.around[-1]
    return original(callback)


def active() -> tuple[str, ...]:
    """The hooks and config patches of fxscope that are installed now."""
    return tuple(_active)


def resolve(path: str) -> tuple[Any, str, Any]:
    """(owner, attribute name, value) of `"package.module:Class.method"`. Raises ImportError or AttributeError."""
    module, _, names = path.partition(":")
    *parents, name = names.split(".")
    owner: Any = functools.reduce(getattr, parents, importlib.import_module(module))
    return owner, name, getattr(owner, name)


def exists(path: str) -> bool:
    try:
        resolve(path)
    except Exception:  # a module of torch may fail at import: Dynamo of 2.11 does where the user has no name
        return False
    return True


class Hook(NamedTuple):
    """A function of torch that a method of fxscope's is called for."""

    path: str  # "module:Class.method" of a function of torch
    when: str  # "before", "after" or "around" it, as `Hooks.wrap` has it
    purpose: str  # what is not recorded without it
    optional: bool  # not a problem where this torch does not have it


def _hook(when: str, path: str, purpose: str = "", *, optional: bool = False) -> Callable[[Any], Any]:
    def marked(method: Any) -> Any:
        setattr(method, _MARK, (Hook(path, when, purpose, optional), *getattr(method, _MARK, ())))
        return method

    return marked


hook_before, hook_after, hook_around = (functools.partial(_hook, when) for when in ("before", "after", "around"))


def hooks_of(kind: type) -> Iterator[tuple[str, Hook]]:
    """Yield each marked method of a class by name, and its hooks, in the order in which they are written."""
    for name in vars(kind):
        for item in getattr(getattr(kind, name), _MARK, ()):
            yield name, item


def hide_from_dynamo(code: CodeType, *, with_calls: bool = True) -> None:
    """Have Dynamo leave the frames of a Python function of fxscope alone where a compiled program calls it.

    Dynamo compiles each frame that a compiled function calls after a graph break, also those of a hook. `with_calls`:
    whether it leaves alone what the function calls, too.
    """
    dynamo: Any = getattr(torch._C, "_dynamo", None)
    try:
        action = dynamo.eval_frame._FrameAction
        nested = action.SKIP if with_calls else action.DEFAULT
        strategy = dynamo.eval_frame._FrameExecStrategy(action.SKIP, nested)
        dynamo.eval_frame.set_code_exec_strategy(code, strategy)
    except AttributeError:  # not in this torch
        return
    _hidden.add(code)


def _hide_modules() -> None:
    """Hide what hooks may run from Dynamo: the functions of each module of fxscope that is imported by now."""
    for name, module in [*sys.modules.items()]:
        is_ours = name.startswith("fxscope.") and not name.startswith("fxscope._torch.programs.")  # those are recorded
        if is_ours and name not in _hidden_modules:
            _hidden_modules.add(name)
            kinds = [item for item in vars(module).values() if isinstance(item, type) and item.__module__ == name]
            for item in (*vars(module).values(), *(member for kind in kinds for member in vars(kind).values())):
                function = inspect.unwrap(getattr(item, "__func__", item))
                if isinstance(function, FunctionType) and function.__module__ == name:
                    _hide_with_inner(function.__code__)


def _hide_with_inner(code: CodeType) -> None:
    if code not in _hidden:
        hide_from_dynamo(code, with_calls=False)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            _hide_with_inner(inner)


class Hooks:
    """A set of patches with one life: put on in order, taken off in reverse order.

    Attributes:
        problems: what went wrong inside hooks; each place is reported once.
    """

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._undo: list[tuple[str, Callable[[], object]]] = []
        self._failed: set[str] = set()

    def problem(self, where: str, message: str, remedy: str | None = None) -> None:
        if where not in self._failed:
            self._failed.add(where)
            self.problems.append(Problem(where=where, message=message, remedy=remedy))

    def guard(self, where: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call one of fxscope's own functions; an exception of ours becomes a problem and the result is None."""
        try:
            if _tracing.suspensions:  # as in a compile, which calls most hooks
                return function(*args, **kwargs)
            with WithoutStacks():
                return function(*args, **kwargs)
        except Exception as error:
            if raised_by_handler(error):
                raise
            remedy = "the program itself is not affected; `fxscope doctor` says what this torch offers"
            self.problem(where, str(error) if isinstance(error, FxscopeError) else one_line(error), remedy)
            return None

    def install(self, owner: Any, within: str | tuple[str, ...] = "") -> set[str]:
        """Put on what the methods of an object are marked for, where the path begins with `within`.

        Exceptions out of "around" are the owner's matter. Return the purposes of the functions that this torch does not have.
        """
        _hide_modules()
        lost: set[str] = set()
        for name, item in hooks_of(type(owner)):
            is_meant = item.path.startswith(within) and (exists(item.path) or not item.optional)
            if is_meant and not self.wrap(item.path, item.when, getattr(owner, name), item.purpose):
                lost.add(item.purpose)
        return lost

    def wrap(self, path: str, when: str, method: Callable[..., Any], purpose: str = "") -> bool:
        """Wrap a function of torch; return whether this torch has it.

        "before" it, `method` is called with the arguments; "after" it, with the result, then the arguments; "around" it,
        with the original, then the arguments, and its result is the result: it must call the original at most once and
        guard its own work. `purpose`: what is not recorded without it.
        """
        found = self._found(path, purpose)
        if found is None:
            return False
        owner, name, original = found
        kind = type(own) if isinstance(own := vars(owner).get(name), (classmethod, staticmethod)) else None
        if kind is not None:  # the bound value would have lost the class it is called on
            original = own.__func__
        state, label = {"on": True}, f"hook {path}"

        @functools.wraps(original)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if not state["on"]:
                return original(*args, **kwargs)
            if when == "around":
                return method(original, *args, **kwargs)
            if when == "before":
                self.guard(label, method, *args, **kwargs)
            result = original(*args, **kwargs)
            if when == "after":
                self.guard(label, method, result, *args, **kwargs)
            return result

        value = wrapper if kind is None else kind(wrapper)
        self.put(owner, name, value, path, on_restore=lambda: state.update(on=False))
        return True

    def replace(self, path: str, value: Any) -> None:
        if (found := self._found(path)) is not None:
            self.put(*found[:2], value, path)

    def value(self, path: str, purpose: str) -> Any:
        """Return a value of torch; None, with a problem, where this torch does not have it."""
        found = self._found(path, purpose)
        return found and found[2]

    def _found(self, path: str, purpose: str = "") -> tuple[Any, str, Any] | None:
        try:
            return resolve(path)
        except Exception as error:  # a module of torch may fail at import: its config reads the environment's numbers
            lacks = isinstance(error, (ModuleNotFoundError, AttributeError))
            why = "this torch lacks the hook" if lacks else f"torch cannot import the hook here ({one_line(error)})"
            without = f"recorded without {purpose}: " if purpose else ""
            self.problem(f"hook {path}", f"{without}{why}", "see `fxscope doctor`; the rest is recorded")
            return None

    def put(self, owner: Any, name: str, value: Any, path: str, on_restore: Callable[[], object] | None = None) -> None:
        own = vars(owner).get(name, _MISSING)  # an inherited attribute is restored by deleting ours
        setattr(owner, name, value)

        def undo() -> None:
            if on_restore is not None:
                on_restore()
            # Someone may have wrapped our wrapper meanwhile: theirs stays on, and ours inside it passes through.
            if vars(owner).get(name) is value:
                if own is _MISSING:
                    delattr(owner, name)
                else:
                    setattr(owner, name, own)

        self.at_end(path, undo)

    def at_end(self, label: str, undo: Callable[[], object]) -> None:
        _active.append(label)
        self._undo.append((label, undo))

    def close(self) -> None:
        """Take everything off again, in reverse order; one that fails, or ctrl-C, does not keep the others on."""
        theirs: BaseException | None = None
        while self._undo:
            label, undo = self._undo.pop()
            try:
                undo()
            except Exception as error:
                self.problem(f"restoring {label}", f"{type(error).__name__}: {error}")
            except BaseException as error:
                theirs = error
            finally:
                _active.remove(label)
        if theirs is not None:
            raise theirs


hide_from_dynamo(Hooks.guard.__code__)


def switches(path: str = "torch._inductor.config") -> dict[str, Any]:
    """Every switch of one of torch's config modules but for deprecated ones, which warn when they are read."""
    config: Any = importlib.import_module(path)
    entries = config._config.items()
    names = [name for name, it in entries if it.alias is None and not getattr(it, "deprecated", False)]
    return {name: getattr(config, name) for name in names}
