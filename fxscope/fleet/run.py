"""Run the making of digests: in processes of this machine, under a memory cap, or on Ray. One rank, one task.

A trace that cannot be read, or that takes its process down, costs its own rank only.
"""

import contextlib
import logging
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import msgspec

from fxscope import children
from fxscope.errors import FxscopeError
from fxscope.fleet import digest as digesting
from fxscope.fleet import sources
from fxscope.fleet.model import Digest
from fxscope.fleet.sources import Source
from fxscope.model import encoded

Progress = Callable[[int, int, str], None]  # done, of how many, which

DEFAULT_MEMORY = 2 << 30
PROCESS_BYTES = 110 << 20  # an interpreter with numpy and what it keeps between traces
PER_UNPACKED_BYTE = 0.6  # peak of reading, measured on traces of 100 k and 1 M events
UNPACKED = 14  # a packed trace unpacks to about this many times its size
RETRIES = 5  # of a Ray task whose node or process died


def digests(
    found: Sequence[Source],
    *,
    jobs: int | None = None,
    memory_bytes: int = DEFAULT_MEMORY,
    on: str = "local",
    progress: Progress | None = None,
) -> list[Digest]:
    """Return the digest of each trace, in the order given.

    Args:
        found: the traces.
        jobs: processes at once; by default one a core, as many as the memory allows.
        memory_bytes: what all processes together may take. A trace that needs more by itself is a problem of its rank.
        on: "local", "ray", or "ray://HOST:PORT".
        progress: called after each rank.

    Raises:
        FxscopeError: Ray cannot be used.
    """
    if on == "local":
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        tasks = _local(found, jobs or cores, memory_bytes)
    else:
        tasks = _on_ray(found, None if on == "ray" else on)
    done: dict[Source, Digest] = {}
    with contextlib.closing(tasks) as made:
        for count, (source, data) in enumerate(made, start=1):
            done[source] = msgspec.json.decode(data, type=Digest)
            if progress is not None:
                progress(count, len(found), source.name)
    return [done[source] for source in found]


# ---------------------------------------------------------------------- one task


def work(source: Source) -> bytes:
    """A source's digest as JSON; whatever is wrong with its trace is a problem in it."""
    try:
        with tempfile.TemporaryDirectory(prefix="fxscope-fleet-") as folder:
            is_remote = sources.is_remote(source.address)
            found = digesting.digest(sources.fetch(source.address, Path(folder)) if is_remote else source.address)
            found = msgspec.structs.replace(found, file=source.name)
    except FxscopeError as error:
        found = digesting.unreadable(source.name, str(error))
    except MemoryError:
        message = "the trace needs more memory than there is. Raise --memory or profile fewer steps."
        found = digesting.unreadable(source.name, message)
    except Exception as error:  # whatever is wrong with one trace must not cost the others theirs
        found = digesting.unreadable(source.name, f"the trace could not be digested ({type(error).__name__}: {error})")
    return encoded(found)


def limit_memory(num_bytes: int) -> None:
    """Let this process allocate no more than so much; what the system does not know is left out."""
    try:
        import resource
    except ImportError:  # Windows
        return
    if sys.platform == "linux":
        with contextlib.suppress(OSError, ValueError, OverflowError):  # a lower limit may be set already
            resource.setrlimit(resource.RLIMIT_DATA, (num_bytes, resource.getrlimit(resource.RLIMIT_DATA)[1]))


def need(source: Source) -> int:
    times = UNPACKED if source.address.endswith((".gz", ".zst")) else 1
    return PROCESS_BYTES + int(PER_UNPACKED_BYTE * times * source.size)


# ---------------------------------------------------------------------- processes of this machine


class _Worker:
    """A Python of its own that digests one trace after another (`fxscope.fleet.worker`): it may die, and only its rank is lost.

    `multiprocessing` would start the user's program again in each process, and its pool breaks as a whole when one dies.
    """

    def __init__(self, memory_bytes: int, folder: str) -> None:
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "TMPDIR": folder}
        self._process = children.start(
            "fxscope.fleet.worker",
            str(memory_bytes),
            environment=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def ask(self, source: Source) -> bytes | None:
        """The source's digest, `None` where the process died over it."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(msgspec.json.encode(source) + b"\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except (BrokenPipeError, ValueError, OSError):  # it is gone, or was stopped
            return None
        return answer if answer.endswith(b"\n") else None

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError, OSError):
                    pipe.close()


def _local(found: Sequence[Source], jobs: int, memory_bytes: int) -> Generator[tuple[Source, bytes]]:
    """Yield digests as they are made, by as many processes as the memory has room for the largest trace."""
    if not found:
        return
    jobs = max(1, min(jobs, len(found), memory_bytes // max(map(need, found))))
    workers: set[_Worker] = set()
    idle: list[_Worker] = []
    stopped = threading.Event()

    def work_on(source: Source) -> bytes:
        for _ in range(2):
            if stopped.is_set():
                break
            try:
                worker = idle.pop()
            except IndexError:
                worker = _Worker(memory_bytes, folder)
                workers.add(worker)
            answer = worker.ask(source)
            if answer is not None:
                idle.append(worker)
                return answer
            worker.stop()
        message = "the process that read it was killed, twice (out of memory?). Raise --memory or profile fewer steps."
        return encoded(digesting.unreadable(source.name, message))

    # The folder is for what is fetched: a process that is killed removes nothing.
    with tempfile.TemporaryDirectory(prefix="fxscope-fleet-") as folder, ThreadPoolExecutor(jobs) as threads:
        try:
            # Large ones first, so that the last to finish is not one that has just begun.
            running = {threads.submit(work_on, source): source for source in sorted(found, key=need, reverse=True)}
            for future in as_completed(running):
                yield running[future], future.result()
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
            stopped.set()
            for worker in list(workers):
                worker.stop()


# ---------------------------------------------------------------------- Ray


def _on_ray(found: Sequence[Source], address: str | None) -> Generator[tuple[Source, bytes]]:
    """Yield digests as tasks end; without an address on the connected cluster, $RAY_ADDRESS's, or a new one here.

    A trace is read where its task runs: every node must see the files.
    """
    try:
        import ray  # pyright: ignore[reportMissingImports]
        from ray.exceptions import RayError  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise FxscopeError("--on ray needs Ray: pip install 'fxscope[ray]'.") from None
    is_own = not ray.is_initialized()
    try:
        if is_own:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        task = ray.remote(max_retries=RETRIES, num_cpus=1)(work)
        largest_first = sorted(found, key=need, reverse=True)
        running = {task.options(memory=need(source)).remote(source): source for source in largest_first}
    except (ConnectionError, RuntimeError, OSError, ValueError, ImportError) as error:
        where = f" at {address}" if address else ""
        raise FxscopeError(f"cannot connect to Ray{where}: {sources.first_line(error)}.") from None
    try:
        while running:
            (reference, *_), _ = ray.wait(list(running))
            source = running.pop(reference)
            try:
                yield source, ray.get(reference)
            except RayError as error:
                message = f"its task failed {RETRIES + 1} times: {sources.first_line(error)}"
                yield source, encoded(digesting.unreadable(source.name, message))
    finally:
        if is_own:
            ray.shutdown()
