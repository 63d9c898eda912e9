"""Digests made on a Ray cluster, one task per rank. A trace is read where its task runs: every node must see the files."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import msgspec

from fxscope.errors import FxscopeError
from fxscope.fleet import run
from fxscope.fleet.digest import unreadable
from fxscope.fleet.sources import Source, first_line
from fxscope.model import encoded

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

RETRIES = 5  # of a task whose node or process died


def digests_of(found: Sequence[Source], address: str | None) -> Generator[tuple[Source, bytes]]:
    """Yield digests as tasks end; without an address on the connected cluster, $RAY_ADDRESS's, or a new one here.

    Raises:
        FxscopeError: Ray is not installed, or the cluster cannot be reached.
    """
    try:
        import ray  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise FxscopeError("--on ray needs Ray: pip install 'fxscope[ray]'.") from None
    is_own = not ray.is_initialized()
    if is_own:
        _connect(ray, address)
    try:
        yield from _tasks(ray, found)
    finally:
        if is_own:
            ray.shutdown()


def _connect(ray: Any, address: str | None) -> None:
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, OSError, ValueError, ImportError) as error:
        where = f" at {address}" if address else ""
        raise FxscopeError(f"cannot connect to Ray{where}: {first_line(error)}.") from None


def _tasks(ray: Any, found: Sequence[Source]) -> Generator[tuple[Source, bytes]]:
    task = ray.remote(max_retries=RETRIES, num_cpus=1)(_digest)
    running = {
        task.options(memory=run.need(source), name=f"fxscope {source.name}").remote(msgspec.json.encode(source)): source
        for source in sorted(found, key=run.need, reverse=True)
    }
    while running:
        (reference, *_), _ = ray.wait(list(running), num_returns=1)
        source = running.pop(reference)
        try:
            yield source, ray.get(reference)
        except ray.exceptions.RayError as error:
            message = f"its task failed {RETRIES + 1} times: {first_line(error)}"
            yield source, encoded(unreadable(source.name, message))


def _digest(source: bytes) -> bytes:
    return run.work(msgspec.json.decode(source, type=Source))
