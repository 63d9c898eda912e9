"""Traces at addresses."""

from __future__ import annotations

import tarfile
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec
import pytest

from fxscope.errors import FxscopeError
from fxscope.fleet import findings, run, sources
from fxscope.fleet.model import Digest

JOBS = Path(__file__).parent.parent / "data" / "fleet"


def test_an_address_is_read_through_fsspec() -> None:
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed: pip install 'fxscope[fleet]'")
    store = fsspec.filesystem("memory")
    for path in (JOBS / "ddp_even").glob("*.json.gz"):
        store.pipe(f"/fleet-job/{path.name}", path.read_bytes())
    found = sources.listed(["memory://fleet-job"], pattern=r"rank[01]")
    assert [source.name for source in found] == ["rank0.json.gz", "rank1.json.gz"]
    # Another process would not see this memory: the task itself, here.
    made = msgspec.json.decode(run.work(found[1]), type=Digest)
    assert made.rank == 1 and made.num_events is not None
    store.rm("/fleet-job", recursive=True)
    with pytest.raises(FxscopeError, match="cannot"):
        sources.listed(["nosuch://bucket/folder"])


def copied(folder: Path) -> Path:
    for path in (JOBS / "ddp_slow_gpu").glob("*.json.gz"):
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "truth.json").write_text('{"ranks": 4}')  # no trace
    return folder


@pytest.mark.parametrize("address", ["file://{folder}", "zip://::{folder}/job.zip", "tar://::{folder}/job.tar"])
def test_addresses_of_files_and_archives(address: str, tmp_path: Path) -> None:
    pytest.importorskip("fsspec", reason="fsspec is not installed: pip install 'fxscope[fleet]'")
    copied(tmp_path)
    with zipfile.ZipFile(tmp_path / "job.zip", "w") as archive, tarfile.open(tmp_path / "job.tar", "w") as tape:
        for path in sorted(tmp_path.glob("*.json*")):
            archive.write(path, f"step_5/{path.name}")
            tape.add(path, path.name)
    found = sources.listed([address.format(folder=tmp_path)])
    assert [Path(source.name).name for source in found] == [f"rank{rank}.json.gz" for rank in range(4)]
    first = findings.examine(run.digests(found, jobs=2)).findings[0]
    assert (first.ranks, first.cause) == ((2,), "device_work")


def test_a_server_is_read_and_a_file_that_is_gone_costs_its_own_rank(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("aiohttp", reason="fsspec reads http with aiohttp, which is not installed")
    copied(tmp_path)
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    monkeypatch.setattr(SimpleHTTPRequestHandler, "log_message", lambda *_: None)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/"
        found = sources.listed([address])
        assert [source.name for source in found] == [f"rank{rank}.json.gz" for rank in range(4)]
        made = run.digests(found, jobs=2)
        assert findings.examine(made).findings[0].ranks == (2,)
        (tmp_path / "rank1.json.gz").unlink()
        again = run.digests(found, jobs=2)
        assert [item.num_events is not None for item in again] == [True, False, True, True]
        assert "cannot fetch" in again[1].problems[0].message
        with pytest.raises(FxscopeError, match="does not exist, or cannot be reached"):
            sources.listed([f"{address}nowhere/"])
        server.shutdown()
