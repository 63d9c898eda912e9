"""Make the digests of a job on a Ray cluster whose nodes see the traces: one rank, one task."""

import logging
from collections.abc import Generator, Sequence

from fxscope.errors import FxscopeError
from fxscope.fleet import digest as digesting
from fxscope.fleet.run import need, work
from fxscope.fleet.sources import Source
from fxscope.model import encoded

RETRIES = 5  # of a task whose node or process died


def made(found: Sequence[Source], address: str | None) -> Generator[tuple[Source, bytes]]:
    """Yield digests as tasks end, on Ray's cluster at an address, else the connected one, $RAY_ADDRESS's, or a new one here."""
    try:
        import ray  # pyright: ignore[reportMissingImports]
        from ray.exceptions import RayError  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise FxscopeError('--on ray needs Ray: pip install "ray[client]".') from None
    is_own = not ray.is_initialized()
    try:
        if is_own:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        task = ray.remote(max_retries=RETRIES, num_cpus=1)(work)
        largest_first = sorted(found, key=need, reverse=True)
        running = {task.options(memory=need(source)).remote(source): source for source in largest_first}
    except (ConnectionError, RuntimeError, OSError, ValueError, ImportError) as error:
        where = f" at {address}" if address else ""
        raise FxscopeError(f"cannot connect to Ray{where}: {str(error).partition(chr(10))[0]}.") from None
    try:
        while running:
            (reference, *_), _ = ray.wait(list(running))
            source = running.pop(reference)
            try:
                yield source, ray.get(reference)
            except RayError as error:
                message = f"its task failed {RETRIES + 1} times: {str(error).partition(chr(10))[0]}"
                yield source, encoded(digesting.unreadable(source.name, message))
    finally:
        if is_own:
            ray.shutdown()
