"""Recordings from what a user has at hand: a recording, a trace, a folder with a trace and its compile's files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fxscope.errors import FxscopeError

if TYPE_CHECKING:
    from fxscope.analysis.findings import Sweep
    from fxscope.model import Recording

TRACES = ("trace.json.gz", "trace.json")
LOGS = ("torch_trace.log.gz", "torch_trace.log")


def read(name: str) -> Recording:
    """Return the recording that a path stands for, titled after it. Raises FxscopeError."""
    from fxscope.model import replace

    path = Path(name)
    if path.is_dir():
        recording = read_folder(path)
    elif path.suffix == ".fxscope" or looks_like_recording(path):
        from fxscope.store import load

        recording = load(path)
    else:
        from fxscope.readers.join import read_trace

        recording = read_trace(path)
    return recording if recording.title else replace(recording, title=stem(path))


def read_folder(path: Path) -> Recording:
    """Return the recording of a folder with a trace, and next to it a debug folder or a compile log."""
    from fxscope.readers.join import read_trace

    trace = next((path / name for name in TRACES if (path / name).is_file()), None)
    if trace is None:
        raise FxscopeError(f"{path} holds no trace: a folder needs {TRACES[0]} or {TRACES[1]}.")
    debug = next((path / name for name in ("inductor", "torch_compile_debug") if (path / name).is_dir()), None)
    log = next((path / name for name in LOGS if (path / name).is_file()), None)
    return with_memory(read_trace(trace, debug_dir=debug, compile_log=log), path / "meta.json")


def with_memory(recording: Recording, path: Path) -> Recording:
    """Add the peak memory that the program itself wrote down: `{"peak_mem": bytes}` in a folder's meta.json."""
    import json

    from fxscope.model import Memory, replace

    try:
        peak = json.loads(path.read_text(encoding="utf-8")).get("peak_mem")
    except (OSError, ValueError, AttributeError):
        return recording
    if recording.memory is not None or not isinstance(peak, int):
        return recording
    return replace(recording, memory=Memory(peak_bytes=peak))


def looks_like_recording(path: Path) -> bool:
    """Return whether a JSON file begins like a recording; a trace begins otherwise."""
    if path.suffix != ".json":
        return False
    try:
        with path.open("rb") as file:
            return b'"fxscope/' in file.read(200)
    except OSError:
        return False


def stem(path: Path) -> str:
    """Return a path's name without its suffixes."""
    return path.name.split(".")[0] or path.name


def named(arguments: list[str]) -> tuple[dict[str, Recording], dict[str, Sweep]]:
    """Return recordings and sweeps by name: "eager=path" names one, else the file's name does. Raises FxscopeError."""
    recordings: dict[str, Recording] = {}
    sweeps: dict[str, Sweep] = {}
    for argument in arguments:
        name, equals, path = argument.partition("=")
        if not equals or "/" in name:
            name, path = "", argument
        name = name or stem(Path(path))
        if name in recordings or name in sweeps:
            raise FxscopeError(f"two recordings are called {name!r}: name them, as in before={path}.")
        if is_sweep(Path(path)):
            sweeps[name] = read_sweep(Path(path))
        else:
            recordings[name] = read(path)
    return recordings, sweeps


def is_sweep(path: Path) -> bool:
    """Return whether a file is a sweep."""
    if path.suffix != ".json" or not path.is_file():
        return False
    with path.open("rb") as file:
        return b'"fxscope-sweep/' in file.read(200)


def read_sweep(path: Path) -> Sweep:
    """Read a sweep. Raises FxscopeError."""
    import msgspec

    from fxscope.analysis.findings import SWEEP_SCHEMA, Sweep

    try:
        sweep = msgspec.json.decode(path.read_bytes(), type=Sweep)
    except OSError as error:
        raise FxscopeError(f"cannot read {path}: {error.strerror}.") from None
    except msgspec.DecodeError as error:
        raise FxscopeError(
            f"{path} is not a sweep: {error}. One is made with `fxscope sweep … -o sweep.json`."
        ) from None
    if sweep.schema != SWEEP_SCHEMA:
        raise FxscopeError(f"{path} has schema {sweep.schema!r}, this fxscope reads {SWEEP_SCHEMA!r}.")
    return sweep
