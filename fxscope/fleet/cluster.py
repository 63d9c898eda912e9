"""Digests made on a Ray cluster: a task a rank, with memory and retries; results come back as Arrow tables.

A node that dies takes its running tasks along: Ray starts them again elsewhere. A trace is read where the task runs, so a
folder has to be on every node (a shared file system), or the address one that fsspec knows.
"""

from __future__ import annotations

import contextlib
import logging
import os
import warnings
from collections import deque
from typing import TYPE_CHECKING, Any

import msgspec

from fxscope.errors import FxscopeError
from fxscope.fleet import run

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from pathlib import Path

    from fxscope.fleet.model import Digest
    from fxscope.fleet.run import Progress, Settings
    from fxscope.fleet.sources import Source

RETRIES = 5  # of a task whose node or process died; a damaged trace is no failure of its task
IN_FLIGHT = 4  # tasks submitted for each CPU: enough that none idles, few enough that the scheduler keeps up


def library() -> Any:
    """Ray. Raises FxscopeError where it is not installed."""
    try:
        import ray  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise FxscopeError("--on ray needs Ray: pip install 'fxscope[fleet]'.") from None
    return ray


def digests(
    found: Sequence[Source],
    *,
    address: str | None = None,
    keep: Path | None = None,
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> list[Digest]:
    """The digest of each trace, in the order given, made on Ray.

    Args:
        found: the traces; their addresses are opened on the cluster's nodes.
        address: ray://HOST:PORT of a running cluster; `None` takes the one this process is connected to, else
            RAY_ADDRESS's, else starts one on this machine.
        keep: a folder here, in which digests are kept, and from which those of unchanged traces are taken.
        settings: the rest.
        progress: called after each rank.

    Raises:
        FxscopeError: Ray is not installed, or the cluster cannot be reached.
    """
    ray = library()
    settings = settings or run.Settings()
    done = run.kept(found, keep, settings)
    missing = [source for source in found if source.key not in done]
    count = len(found) - len(missing)
    with _connected(ray, address):
        for source, data in _tasks(ray, missing, settings):
            done[source.key] = run.decode(data, source.name)
            run.hold(source, data, keep, settings)
            count += 1
            if progress is not None:
                progress(count, len(found), source.name)
    return [done[source.key] for source in found]


@contextlib.contextmanager
def _connected(ray: Any, address: str | None) -> Generator[None]:
    """Connect, and disconnect what was connected here."""
    if ray.is_initialized():
        yield
        return
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Ray's own, of what is said below
            if address or os.environ.get("RAY_ADDRESS"):
                ray.init(address=address or os.environ["RAY_ADDRESS"], **options)
            else:
                ray.init(include_dashboard=False, num_cpus=run.usable_cores(), **options)
    except (ConnectionError, RuntimeError, OSError, ValueError, ImportError) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        there = (
            " Is that the head's client server (port 10001 unless `ray start` was given another)?"
            if (address or "").startswith("ray://")
            else ""
        )
        raise FxscopeError(
            f"cannot connect to Ray{f' at {address}' if address else ''}: {lines[0].rstrip('.')}.{there}"
        ) from None
    try:
        yield
    finally:
        ray.shutdown()


def _tasks(ray: Any, found: Sequence[Source], settings: Settings) -> Iterator[tuple[Source, bytes]]:
    """Yield digests as tasks end."""
    limit = max(8, IN_FLIGHT * int(ray.cluster_resources().get("CPU", 1)))
    task = ray.remote(max_retries=RETRIES)(_work)
    waiting = deque(sorted(found, key=run.need, reverse=True))
    running: dict[Any, Source] = {}
    encoded = msgspec.json.encode(settings)
    while waiting or running:
        while waiting and len(running) < limit:
            source = waiting.popleft()
            remote = task.options(num_cpus=1, memory=run.need(source), name=f"fxscope {source.name}")
            running[remote.remote(msgspec.json.encode(source), encoded)] = source
        ready, _ = ray.wait(list(running), num_returns=1)
        for reference in ready:
            source = running.pop(reference)
            try:
                result = ray.get(reference)
            except ray.exceptions.RayError as error:
                lines = str(error).strip().splitlines() or [type(error).__name__]
                yield source, run.lost(source, f"its task failed {RETRIES + 1} times: {lines[0]}")
                continue
            yield source, result.column("digest")[0].as_py()


def _work(source: bytes, settings: bytes) -> Any:
    """Run on a node: digest one trace into a table of one row."""
    from fxscope.fleet import arrow, run
    from fxscope.fleet.sources import Source

    data = run.work(msgspec.json.decode(source, type=Source), msgspec.json.decode(settings, type=run.Settings))
    return arrow.table([run.decode(data, "a task")])
