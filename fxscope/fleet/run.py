"""Make the digests of a job in processes of this machine or on a Ray cluster.

A trace that cannot be read, or that takes its process down, costs its own rank only.
"""

import contextlib
import os
import queue
import subprocess
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

import msgspec

from fxscope import children
from fxscope.errors import FxscopeError
from fxscope.fleet import digest as digesting
from fxscope.fleet.model import Digest
from fxscope.fleet.sources import Source
from fxscope.model import encoded

DEFAULT_MEMORY = 2 << 30
PROCESS_BYTES = 110 << 20  # an interpreter with numpy and what it keeps between traces
PER_UNPACKED_BYTE = 0.6  # peak of reading, measured on traces of 100 k and 1 M events
UNPACKED = 14  # a packed trace unpacks to about this many times its size


def digests(
    found: Sequence[Source],
    *,
    jobs: int | None = None,
    memory_bytes: int = DEFAULT_MEMORY,
    on: str = "local",
    progress: Callable[[int, int, str], None] | None = None,
) -> list[Digest]:
    """Return the digest of each trace, in the order given.

    Args:
        jobs: processes at once; by default one a core, as many as the memory allows.
        memory_bytes: of all processes: so many of them run at once as it has room for the largest trace.
        on: "local", "ray", or "ray://HOST:PORT".
        progress: called after each rank: done, of how many, which.
    """
    if on == "local":
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        tasks = _made(found, jobs or cores, memory_bytes)
    else:
        from fxscope.fleet import cluster

        tasks = cluster.made(found, None if on == "ray" else on)
    done: dict[Source, Digest] = {}
    with contextlib.closing(tasks) as made:
        for count, (source, data) in enumerate(made, start=1):
            done[source] = msgspec.json.decode(data, type=Digest)
            if progress is not None:
                progress(count, len(found), source.name)
    return [done[source] for source in found]


def work(source: Source) -> bytes:
    """A source's digest as JSON; whatever is wrong with its trace is a problem in it."""
    try:
        found = msgspec.structs.replace(digesting.digest(source.path), file=source.name)
    except FxscopeError as error:
        found = digesting.unreadable(source.name, str(error))
    except Exception as error:  # whatever is wrong with one trace must not cost the others theirs
        found = digesting.unreadable(source.name, f"the trace could not be digested ({type(error).__name__}: {error})")
    return encoded(found)


def need(source: Source) -> int:
    times = UNPACKED if source.path.endswith((".gz", ".zst")) else 1
    return PROCESS_BYTES + int(PER_UNPACKED_BYTE * times * source.size)


class _Worker:
    """A Python of its own that digests one trace after another (`fxscope.fleet.worker`): it may die, and only its rank is lost.

    `multiprocessing` would start the user's program again in each process, and its pool breaks as a whole when one dies.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._is_closed = False

    def ask(self, source: Source) -> bytes | None:
        """The source's digest, `None` where the process died over it."""
        if self._process is None and not self._is_closed:
            self._process = children.start(
                "fxscope.fleet.worker",
                environment={"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        answer, process = b"", self._process
        if process is not None and process.stdin is not None and process.stdout is not None:
            with contextlib.suppress(ValueError, OSError):  # it is gone, or was closed
                process.stdin.write(msgspec.json.encode(source) + b"\n")
                process.stdin.flush()
                answer = process.stdout.readline()
        if answer.endswith(b"\n"):
            return answer
        self._stop()
        return None

    def close(self) -> None:
        self._is_closed = True
        self._stop()

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with contextlib.suppress(ValueError, OSError):  # what was not written yet goes nowhere
                process.communicate()


def _made(found: Sequence[Source], jobs: int, memory_bytes: int) -> Generator[tuple[Source, bytes]]:
    """Yield digests as they are made, by as many processes as the memory has room for the largest trace."""
    jobs = max(1, min(jobs, len(found), memory_bytes // max(map(need, found), default=1)))
    workers = [_Worker() for _ in range(jobs)]
    idle: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
    for worker in workers:
        idle.put(worker)

    def work_on(source: Source) -> bytes:
        worker = idle.get()
        answer = worker.ask(source) or worker.ask(source)
        idle.put(worker)
        message = "the process that read it was killed, twice (out of memory?). Lower --jobs or profile fewer steps."
        return answer or encoded(digesting.unreadable(source.name, message))

    with ThreadPoolExecutor(jobs) as threads:
        try:
            # Large ones first, so that the last to finish is not one that has just begun.
            running = {threads.submit(work_on, source): source for source in sorted(found, key=need, reverse=True)}
            for future in as_completed(running):
                yield running[future], future.result()
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
            for worker in workers:
                worker.close()
