"""Digests on a real Ray cluster: the same as on one machine, though a node dies on the way."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fxscope.fleet import run, sources

if TYPE_CHECKING:
    from collections.abc import Iterator

JOB = Path(__file__).parent.parent / "data" / "fleet" / "ddp_slow_gpu"


@pytest.fixture
def without_what_ray_leaves(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Restore the hook and the handler that `ray.init` sets and `ray.shutdown` leaves (Ray 2.60)."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's own
@pytest.mark.usefixtures("without_what_ray_leaves")
def test_a_node_killed_in_the_middle_loses_nothing() -> None:
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'ray[client]'")
    cluster_utils = pytest.importorskip("ray.cluster_utils")
    found = sources.listed([str(JOB)])
    nodes = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    doomed = nodes.add_node(num_cpus=2)
    root = str(Path(__file__).parents[2])
    ray.init(address=nodes.address, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": root}})
    killed: list[int] = []

    def progress(done: int, of: int, name: str) -> None:
        if not killed:
            killed.append(done)
            nodes.remove_node(doomed, allow_graceful=False)

    try:
        spread = run.digests(found, on="ray", progress=progress)
        assert killed and not doomed.any_processes_alive()
    finally:
        ray.shutdown()
        nodes.shutdown()
    assert spread == run.digests(found, jobs=1)


def test_a_cluster_that_cannot_be_used_is_one_line(monkeypatch: pytest.MonkeyPatch, command) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    (said,) = command("fleet", JOB, "--on", "ray", status=2).err.splitlines()
    assert 'pip install "ray[client]"' in said
