"""ctrl-C and SIGTERM at any moment: what a verb writes is whole or absent, and no temporary file stays."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

import pytest

from fxscope.readers import trace
from fxscope.readers.trace import reader
from tests.processes import printed
from tools import fuzz, interrupt

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no such signals there")


@pytest.mark.slow
@pytest.mark.parametrize("verb", interrupt.VERBS)
def test_what_is_written_is_whole_or_absent_and_nothing_else_stays(verb: str, tmp_path: Path) -> None:
    harness = interrupt.Harness(verb, tmp_path)
    for seed in range(2 if verb == "run" else 4):
        harness.trial(seed)


def test_msgspec_is_imported_whole() -> None:
    """An interrupt as its C module is made is lost there; the first decoding then ends the process (msgspec 0.22)."""
    code = """
import signal, sys
class Finder:
    def find_spec(self, name, *_):
        if name == "msgspec._core": print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))
sys.meta_path.insert(0, Finder())
import fxscope.cli
print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))
"""
    assert printed("-c", code).split() == ["True", "False"]


def test_a_long_scan_can_be_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head, events, between, tail = fuzz.Traces().documents[0]
    path = tmp_path / "long.json"
    block = between.join(events)
    path.write_bytes(head + between.join([block] * (64 * 2**20 // len(block))) + tail)
    read: list[int] = []
    more = reader.Reader._more

    def timed(self: reader.Reader) -> bool:
        read.append(self._read)
        if len(read) == 1:
            signal.setitimer(signal.ITIMER_REAL, 0.02)
        return more(self)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(reader.Reader, "_more", timed)
    before, timer = signal.signal(signal.SIGALRM, interrupted), signal.getitimer(signal.ITIMER_REAL)
    try:
        with pytest.raises(KeyboardInterrupt):
            trace.read(path)
    finally:
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *timer)
    assert read and read[-1] < path.stat().st_size / 2
