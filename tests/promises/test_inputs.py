"""Files and clients that mean harm: one line, bounded work, nobody else served."""

from __future__ import annotations

import gzip
import http.client
import socket
import threading
import time
from pathlib import Path

import pytest

from fxscope import store
from fxscope.commands import open as opening
from fxscope.errors import FxscopeError, TraceError
from fxscope.readers import trace
from tools import fuzz


def test_a_recording_that_unpacks_too_far_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MAX_BYTES", 1 << 20)
    path = tmp_path / "bomb.fxscope"
    path.write_bytes(gzip.compress(b" " * (8 << 20)))
    with pytest.raises(FxscopeError, match="unpacks to more than 1 MiB"):
        store.load(path)
    path.write_bytes(gzip.compress(b" " * 1000)[:-9])
    with pytest.raises(FxscopeError, match="damaged or truncated"):
        store.load(path)


@pytest.mark.parametrize("text", ["{" * 3_000_000, '{"a":[' * 500_000, "[[" * 1_000_000])
@pytest.mark.parametrize("head", ["", '{"traceEvents":['])
def test_brackets_without_end_are_refused(head: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(head + text)
    with pytest.raises(TraceError):
        trace.recording(path)


def test_open_answers_its_own_address_alone_and_a_silent_client_holds_up_nobody(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = free.getsockname()
    monkeypatch.setattr(opening, "ADDRESS", address)
    serving = threading.Thread(target=opening.serve, args=("t.json", b"{}"), kwargs={"browser": False, "timeout_s": 60})
    serving.start()
    while not capsys.readouterr().out:
        time.sleep(0.01)
    with socket.create_connection(address) as silent:
        silent.sendall(b"GET /")
        for host, status in (("evil.example:9001", 421), (f"127.0.0.1:{address[1]}", 200)):
            client = http.client.HTTPConnection(*address, timeout=30)
            client.request("GET", "/t.json", headers={"Host": host})
            assert client.getresponse().status == status
        serving.join(timeout=30)
        assert not serving.is_alive()


def test_damaged_files_of_a_compile_are_one_line_or_a_recording(tmp_path: Path) -> None:
    for seed in range(40):
        fuzz.compile_files(seed, tmp_path)
