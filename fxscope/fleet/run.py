"""Where the digests are made: in processes of this machine, under a memory cap, or on Ray. One rank, one task.

A digest is kept as soon as it is made, so a run that was interrupted goes on where it was; a trace that cannot be read, or
that takes its process down, costs its own rank only.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fxscope import children, store
from fxscope.errors import FxscopeError
from fxscope.fleet import digest as digesting
from fxscope.fleet import sources
from fxscope.fleet.model import DIGEST_SCHEMA, Digest
from fxscope.model import encoded
from fxscope.readers.trace.reader import MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from fxscope.fleet.sources import Source

    Progress = Callable[[int, int, str], None]  # done, of how many, which

DEFAULT_MEMORY = 2 << 30
PROCESS_BYTES = 110 << 20  # an interpreter with numpy and what it keeps between traces
PER_UNPACKED_BYTE = 0.6  # peak of reading, measured on traces of 100 k and 1 M events
SUFFIX = ".digest.json.gz"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What every task needs to know."""

    input_annotation: str | None = None
    max_bytes: int = MAX_BYTES
    memory_bytes: int | None = None  # of one process; more is a problem of that rank


def digests(
    found: Sequence[Source],
    *,
    keep: Path | None = None,
    jobs: int | None = None,
    memory_bytes: int = DEFAULT_MEMORY,
    on: str = "local",
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> list[Digest]:
    """The digest of each trace, in the order given.

    Args:
        found: the traces.
        keep: a folder in which digests are kept, and from which those of unchanged traces are taken.
        jobs: processes at once; by default one a core, as many as the memory allows.
        memory_bytes: what all processes together may take. A trace that needs more by itself is a problem of its rank.
        on: "local", "ray", or "ray://HOST:PORT".
        settings: the rest.
        progress: called after each rank.

    Raises:
        FxscopeError: the folder cannot be written, or Ray cannot be used.
    """
    settings = settings or Settings()
    done = kept(found, keep, settings)
    missing = [source for source in found if source.key not in done]
    count = len(found) - len(missing)
    if on == "local":
        tasks = _local(missing, jobs or usable_cores(), memory_bytes, settings)
    else:
        from fxscope.fleet import cluster

        tasks = cluster.digests_of(missing, settings, None if on == "ray" else on)
    with contextlib.closing(tasks) as made:
        for source, data in made:
            done[source.key] = decode(data, source.name)
            hold(source, data, keep, settings)
            count += 1
            if progress is not None:
                progress(count, len(found), source.name)
    return [done[source.key] for source in found]


def usable_cores() -> int:
    """How many cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# ---------------------------------------------------------------------- digests on disk


def path_of(source: Source, folder: Path, settings: Settings) -> Path:
    """Where a source's digest is kept; another pattern for data annotations gives another digest."""
    extra = f"-{digesting.signature([settings.input_annotation])[:6]}" if settings.input_annotation else ""
    return folder / f"{source.key}{extra}{SUFFIX}"


def kept(found: Sequence[Source], folder: Path | None, settings: Settings) -> dict[str, Digest]:
    """The digests that are there already, by the source's key; what cannot be read is made again."""
    result: dict[str, Digest] = {}
    for source in found if folder is not None else ():
        path = path_of(source, folder, settings)  # type: ignore[arg-type]
        if path.is_file() and source.version:
            with contextlib.suppress(FxscopeError):
                result[source.key] = read(path)
    return result


def hold(source: Source, data: bytes, folder: Path | None, settings: Settings) -> None:
    """Keep a digest, whole or not at all; not one of a trace that could not be read, which may be mended."""
    if folder is not None and decode(data, source.name).coverage is not None:
        store.write(path_of(source, folder, settings), gzip.compress(data, compresslevel=6, mtime=0), force=True)


def read(path: Path) -> Digest:
    """Read one digest. Raises FxscopeError."""
    try:
        return decode(store.contents(path, what="a digest"), str(path))
    except OSError as error:
        raise FxscopeError(f"cannot read {path}: {error}.") from None


def decode(data: bytes, where: str) -> Digest:
    """Decode a digest from JSON. Raises FxscopeError."""
    try:
        found = msgspec.json.decode(data, type=Digest)
    except store.NOT_JSON as error:
        raise FxscopeError(
            f"{where} is not a digest: {error}. One is made with `fxscope fleet FOLDER --shard 0/1 -o DIGESTS`."
        ) from None
    if found.schema != DIGEST_SCHEMA:
        raise FxscopeError(f"{where} has schema {found.schema!r}, this fxscope reads {DIGEST_SCHEMA!r}.")
    columns = msgspec.structs.asdict(found.collectives).values()
    if len({len(column) for column in columns}) > 1 or any(
        not -1 <= group < len(found.groups) for group in found.collectives.group
    ):
        raise FxscopeError(f"{where} is not a digest: its collectives do not agree with each other. Make it again.")
    return found


# ---------------------------------------------------------------------- one task


def work(source: Source, settings: Settings) -> bytes:
    """A source's digest as JSON; whatever is wrong with its trace is a problem in it."""
    if settings.memory_bytes:
        limit_memory(settings.memory_bytes)
    try:
        with tempfile.TemporaryDirectory(prefix="fxscope-fleet-") as folder:
            found = digesting.digest(
                sources.fetch(source.address, Path(folder)) if source.is_remote else source.address,
                input_annotation=settings.input_annotation,
                max_bytes=settings.max_bytes,
            )
            found = msgspec.structs.replace(found, file=source.name)
    except FxscopeError as error:
        found = digesting.unreadable(source.name, str(error))
    except MemoryError:
        found = digesting.unreadable(
            source.name, "the trace needs more memory than there is. Raise --memory or profile fewer steps."
        )
    except (
        Exception
    ) as error:  # whatever is wrong with one trace must not cost the others theirs; it is said with the rank
        found = digesting.unreadable(source.name, f"the trace could not be digested ({type(error).__name__}: {error})")
    return encoded(found)


def lost(source: Source, message: str) -> bytes:
    """The digest of a rank of which nothing could be read, as JSON."""
    return encoded(digesting.unreadable(source.name, message))


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
    """About how much memory a task takes."""
    return PROCESS_BYTES + int(PER_UNPACKED_BYTE * source.unpacked_bytes)


# ---------------------------------------------------------------------- processes of this machine


class _Worker:
    """A Python of its own that digests one trace after another (`fxscope.fleet.worker`): it may die, and only its rank is lost.

    `multiprocessing` would start the user's program again in each process, and its pool breaks as a whole when one dies.
    """

    def __init__(self, settings: Settings, folder: str) -> None:
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "TMPDIR": folder}
        self._process = children.start(
            "fxscope.fleet.worker", environment=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._send(msgspec.json.encode(settings))

    def ask(self, source: Source) -> bytes | None:
        """The source's digest, `None` where the process died over it."""
        assert self._process.stdout is not None
        try:
            self._send(msgspec.json.encode(source))
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

    def _send(self, line: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + b"\n")
        self._process.stdin.flush()


class _Pool:
    """Workers, one a thread."""

    def __init__(self, settings: Settings, folder: str) -> None:
        self._settings, self._folder = settings, folder  # for what is fetched: a process that is killed removes nothing
        self._idle: list[_Worker] = []
        self._all: set[_Worker] = set()
        self._stopped = False

    def digest(self, source: Source) -> bytes:
        """A source's digest. A rank whose process died twice has none, and says so."""
        for _ in range(2):
            if self._stopped:
                break
            worker = self._take()
            answer = worker.ask(source)
            if answer is not None:
                self._idle.append(worker)
                return answer
            worker.stop()
            self._all.discard(worker)
        message = "the process that read it was killed, twice (out of memory?). Raise --memory or profile fewer steps."
        return lost(source, message)

    def _take(self) -> _Worker:
        try:
            return self._idle.pop()
        except IndexError:
            worker = _Worker(self._settings, self._folder)
            self._all.add(worker)
            return worker

    def stop(self) -> None:
        self._stopped = True
        for worker in list(self._all):
            worker.stop()


def _local(
    found: Sequence[Source], jobs: int, memory_bytes: int, settings: Settings
) -> Generator[tuple[Source, bytes]]:
    """Yield digests as they are made, by as many processes as the memory has room for the largest trace."""
    if not found:
        return
    jobs = max(1, min(jobs, len(found), memory_bytes // max(map(need, found))))
    settings = msgspec.structs.replace(settings, memory_bytes=memory_bytes)
    with tempfile.TemporaryDirectory(prefix="fxscope-fleet-") as folder, ThreadPoolExecutor(jobs) as threads:
        pool = _Pool(settings, folder)
        try:
            # Large ones first, so that the last to finish is not one that has just begun.
            running = {threads.submit(pool.digest, source): source for source in sorted(found, key=need, reverse=True)}
            for future in as_completed(running):
                yield running[future], future.result()
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
            pool.stop()
