"""Ray, Arrow and addresses: the same digests as on one machine, whatever dies on the way."""

from __future__ import annotations

import gzip
import signal
import socket
import sys
import tarfile
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fxscope import cli
from fxscope.errors import FxscopeError
from fxscope.fleet import findings, run, sources

if TYPE_CHECKING:
    from collections.abc import Iterator

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
from make_fleet import Fault, make

JOBS = Path(__file__).parent.parent / "data" / "fleet"


@pytest.fixture
def without_what_ray_leaves(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put back the hook and the handler that `ray.init` sets and `ray.shutdown` leaves (Ray 2.60)."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's own
@pytest.mark.usefixtures("without_what_ray_leaves")
def test_a_node_killed_in_the_middle_loses_nothing(tmp_path: Path) -> None:
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'fxscope[fleet]'")
    cluster_utils = pytest.importorskip("ray.cluster_utils")
    from fxscope.fleet import cluster

    make(JOBS / "ddp_even", tmp_path / "job", ranks=24, steps=4, faults=[Fault("input", 17, 4000.0)], seed=4)
    found = sources.find([str(tmp_path / "job")])
    nodes = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    doomed = nodes.add_node(num_cpus=2)
    nodes.add_node(num_cpus=1)
    root = str(Path(__file__).parents[2])
    ray.init(address=nodes.address, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": root}})
    killed: list[int] = []

    def progress(done: int, of: int, name: str) -> None:
        if done == 6 and not killed:
            killed.append(done)
            nodes.remove_node(doomed, allow_graceful=False)

    try:
        assert len({node["NodeID"] for node in ray.nodes() if node["Alive"]}) == 3
        spread = cluster.digests(found, progress=progress)
        assert killed and not doomed.any_processes_alive()
    finally:
        ray.shutdown()
        nodes.shutdown()
    assert spread == run.digests(found, jobs=2)
    first = findings.examine(spread).findings[0]
    assert first.ranks == (17,) and first.cause == "input"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_a_cluster_is_reached_through_rays_client(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--on ray://HOST:PORT`, as from a laptop: the client's process is no node of the cluster."""
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'fxscope[fleet]'")
    cluster_utils = pytest.importorskip("ray.cluster_utils")
    pytest.importorskip("grpc", reason="Ray's client is not installed: pip install 'fxscope[fleet]'")
    from fxscope.fleet import cluster

    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    head = {"num_cpus": 2, "include_dashboard": False, "ray_client_server_port": port}
    nodes = cluster_utils.Cluster(initialize_head=True, head_node_args=head)
    found = sources.find([str(JOBS / "ddp_slow_gpu")])
    try:
        assert cluster.digests(found, address=f"ray://127.0.0.1:{port}") == run.digests(found, jobs=1)
        assert not ray.is_initialized()
    finally:
        nodes.shutdown()
    monkeypatch.setattr("ray.util.client.worker.INITIAL_TIMEOUT_SEC", 1)  # Ray's own; it tries three times
    assert cli.main(["fleet", str(JOBS / "ddp_even"), "--on", f"ray://127.0.0.1:{port}"]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert f"cannot connect to Ray at ray://127.0.0.1:{port}" in said and "client server (port 10001" in said


def test_parquet_holds_the_whole_digests(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed: pip install 'fxscope[fleet]'")
    from fxscope.fleet import arrow

    made = run.digests(sources.find([str(JOBS / "ddp_slow_gpu")]))
    path = tmp_path / "fleet.parquet"
    path.write_bytes(arrow.parquet(made))
    assert arrow.read(path) == made
    rows = parquet.read_table(path).to_pylist()
    assert [row["rank"] for row in rows] == [0, 1, 2, 3]
    assert rows[2]["steps"][1]["compute_us"] == made[2].steps[1].compute_us
    path.write_bytes(b"no table")
    with pytest.raises(FxscopeError, match="cannot read"):
        arrow.read(path)


def test_an_address_is_read_through_fsspec() -> None:
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed: pip install 'fxscope[fleet]'")
    store = fsspec.filesystem("memory")
    for path in (JOBS / "ddp_even").glob("*.json.gz"):
        store.pipe(f"/fleet-job/{path.name}", path.read_bytes())
    found = sources.find(["memory://fleet-job"], pattern=r"rank[01]")
    assert [source.name for source in found] == ["rank0.json.gz", "rank1.json.gz"]
    # Another process would not see this memory: the task itself, here.
    made = run.decode(run.work(found[1], run.Settings()), "here")
    assert made.rank == 1 and made.coverage is not None
    store.rm("/fleet-job", recursive=True)
    with pytest.raises(FxscopeError, match="cannot"):
        sources.find(["nosuch://bucket/folder"])


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
    found = sources.find([address.format(folder=tmp_path)])
    assert [Path(source.name).name for source in found] == [f"rank{rank}.json.gz" for rank in range(4)]
    first = findings.examine(run.digests(found, jobs=2)).findings[0]
    assert (first.ranks, first.cause) == ((2,), "device_work")


def test_a_server_is_read_and_its_digests_are_not_trusted_without_a_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("aiohttp", reason="fsspec reads http with aiohttp, which is not installed")
    copied(tmp_path)
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    monkeypatch.setattr(SimpleHTTPRequestHandler, "log_message", lambda *_: None)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/"
        found = sources.find([address])
        assert [source.name for source in found] == [f"rank{rank}.json.gz" for rank in range(4)]
        made = run.digests(found, jobs=2, keep=tmp_path / "digests")
        assert findings.examine(made).findings[0].ranks == (2,)
        (tmp_path / "rank1.json.gz").unlink()
        again = run.digests(found, jobs=2, keep=tmp_path / "digests")
        assert [item.coverage is not None for item in again] == [True, False, True, True]
        assert "cannot fetch" in again[1].problems[0].message
        with pytest.raises(FxscopeError, match="does not exist, or cannot be reached"):
            sources.find([f"{address}nowhere/"])
        server.shutdown()


@pytest.mark.parametrize("packed", ["", ".gz", ".zst"])
def test_a_ranks_compile_log_is_read_beside_its_trace(packed: str, tmp_path: Path) -> None:
    """In a folder and at an address, packed or not: the digest knows the nodes of the compiled graphs."""
    log = gzip.decompress((JOBS.parent / "h200" / "mlp_compiled" / "torch_trace.log.gz").read_bytes())
    if packed == ".gz":
        log = gzip.compress(log)
    elif packed:
        log = pytest.importorskip("zstandard").ZstdCompressor().compress(log)
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed: pip install 'fxscope[fleet]'")
    names = ("rank3.json.gz", f"logs/rank_3/dedicated_log_torch_trace_rank_3_x1y2.log{packed}")
    store = fsspec.filesystem("memory")
    for name, content in zip(names, ((JOBS / "ddp_even" / "rank3.json.gz").read_bytes(), log), strict=True):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
        store.pipe(f"/with-log/{name}", content)
    try:
        for place in (str(tmp_path), "memory://with-log"):
            (found,) = sources.find([place])
            made = run.decode(run.work(found, run.Settings()), "here")
            assert made.rank == 3 and not made.problems
            assert [name for name, _ in made.plan.compiled] == ["0/0:inference:post_grad"]
            (nodes,) = [lines for _, lines in made.plan.nodes]
            assert "mm = aten.mm.default" in nodes and any(line.startswith("tanh") for line in nodes)
    finally:
        store.rm("/with-log", recursive=True)
    if packed:  # half of it: the trace still counts, and the log is said
        (tmp_path / names[1]).write_bytes(log[: len(log) // 2])
        made = run.decode(run.work(sources.find([str(tmp_path)])[0], run.Settings()), "here")
        assert made.coverage is not None and made.problems[0].where == Path(names[1]).name


def test_compile_logs_beside_traces_at_an_address_are_read() -> None:
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed: pip install 'fxscope[fleet]'")
    store = fsspec.filesystem("memory")
    store.pipe("/logged/rank0.json.gz", (JOBS / "ddp_even" / "rank0.json.gz").read_bytes())
    store.pipe("/logged/rank_0/dedicated_log_torch_trace.log", b"no log at all")
    (found,) = sources.find(["memory://logged"])
    made = run.decode(run.work(found, run.Settings()), "here")
    store.rm("/logged", recursive=True)
    assert made.rank == 0 and any("dedicated_log" in problem.where for problem in made.problems)
