"""Make the digests of a job: a process for each trace, as many at once as the memory has room for, or on a Ray cluster.

A trace that cannot be read, or that takes its process down, costs its own rank only.
"""

import contextlib
import os
from collections.abc import Callable, Generator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import cast

import msgspec

from fxscope import children
from fxscope.errors import FxscopeError
from fxscope.fleet import digest as digesting
from fxscope.fleet.model import Digest
from fxscope.fleet.sources import Source
from fxscope.model import encoded

DEFAULT_MEMORY = 2 << 30
PROCESS_BYTES = 110 << 20  # an interpreter with numpy
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

    `jobs`: processes at once, by default one a core; `memory_bytes` of all of them has room for as many of the largest trace.
    `on`: "local", "ray", or "ray://HOST:PORT". `progress`: called after each rank: done, of how many, which.
    """
    if on == "local":
        tasks = _made(found, jobs, memory_bytes)
    else:
        from fxscope.fleet import cluster

        tasks = cluster.made(found, None if on == "ray" else on)
    done: dict[Source, Digest] = {}
    with contextlib.closing(tasks):
        for count, (source, data) in enumerate(tasks, start=1):
            done[source] = msgspec.json.decode(data, type=Digest)
            if progress is not None:
                progress(count, len(found), source.name)
    return [done[source] for source in found]


def _made(found: Sequence[Source], jobs: int | None, memory_bytes: int) -> Generator[tuple[Source, bytes]]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    jobs = max(1, min(jobs or cores, len(found), memory_bytes // max(map(need, found), default=1)))
    died: set[Source] = set()
    waiting = sorted(found, key=need)  # the largest is taken first, so that the last to finish has not just begun
    running: dict[Connection, tuple[Source, BaseProcess]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                source = waiting.pop()
                process, receiver = children.copy(_answer, source)
                running[receiver] = source, process
            for receiver in cast("list[Connection]", wait(list(running))):
                source, process = running.pop(receiver)
                with receiver:
                    answer = children.received(receiver)
                process.join()
                if answer is None and source not in died:
                    died.add(source)
                    waiting.insert(0, source)  # once more, when others have gone
                    continue
                said = "the process that read it was killed, twice (out of memory?). Lower --jobs or trace fewer steps."
                yield source, answer or encoded(digesting.unreadable(source.name, said))
    finally:
        for _, process in running.values():
            process.kill()


def _answer(source: Source, sender: Connection) -> None:
    sender.send(work(source))


def work(source: Source) -> bytes:
    """A source's digest as JSON; whatever is wrong with its trace is a problem in it."""
    try:
        found = msgspec.structs.replace(digesting.digest(source.path), file=source.name)
    except FxscopeError as error:
        found = digesting.unreadable(source.name, str(error).removeprefix(source.path).lstrip(": "))
    except Exception as error:  # whatever is wrong with one trace must not cost the others theirs
        found = digesting.unreadable(source.name, f"the trace could not be digested ({type(error).__name__}: {error})")
    return encoded(found)


def need(source: Source) -> int:
    times = UNPACKED if source.path.endswith((".gz", ".zst")) else 1
    return PROCESS_BYTES + int(PER_UNPACKED_BYTE * times * source.size)
