"""Processes that a program starts are recorded each, or the coverage line says that they are not."""

from __future__ import annotations

import pytest
import torch

from fxscope import load
from fxscope._torch import hooks, processes
from fxscope.capture import Followed
from fxscope.render import labels
from tests.capture.test_any_script import HEAD, said, started

pytestmark = pytest.mark.slow
SCRIPT = (
    HEAD
    + """
import subprocess
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, TensorDataset

def work(rank, scale):
    print(rank, (torch.ones(3).cos() * scale).sum().item() > 0, flush=True)

if __name__ == "__main__":
    for batch in DataLoader(TensorDataset(torch.arange(8.0)), batch_size=4, num_workers=2):
        batch[0].sin()
    pid = os.fork()
    if pid == 0:
        os._exit(3)
    print(os.waitpid(pid, 0)[1])
    print(subprocess.run([sys.executable, "-c", "print('hello')"], capture_output=True, text=True).stdout)
    mp.spawn(work, args=(2.0,), nprocs=1)
"""
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("children")
    (folder / "script.py").write_text(SCRIPT)
    found = {"plain": started(folder, ["script.py"])}
    for name, words in (("named", []), ("followed", ["--follow-children"])):
        found[name] = started(folder, ["-m", "fxscope", "run", *words, "-o", f"{name}.fxscope", "script.py"])
    return folder, found


@pytest.mark.parametrize("name", ["named", "followed"])
def test_the_program_does_the_same(runs, name) -> None:
    _, found = runs
    status, out, error = found[name]
    assert (status, out, said(error)) == (found["plain"][0], found["plain"][1], said(found["plain"][2]))


def test_what_is_not_followed_is_named_in_the_coverage_line(runs) -> None:
    folder, _ = runs
    recording = load(folder / "named.fxscope")
    (children,) = (item for item in recording.unobserved if item.what == "children")
    assert children.count == 5
    assert children.detail == (
        "2 DataLoader workers, 1 forked process, 1 command and 1 process of multiprocessing, not followed"
    )
    assert children.detail in labels.coverage_line(recording)
    assert sorted(path.name for path in folder.glob("named*")) == ["named.fxscope"]


def test_what_is_spawned_is_followed_where_that_is_asked_for(runs) -> None:
    folder, _ = runs
    recording = load(folder / "followed.fxscope")
    details = {item.what: item.detail for item in recording.unobserved}
    assert details["children"] == "2 DataLoader workers, 1 forked process and 1 command, not followed"
    (path,) = folder.glob("followed.*.fxscope")
    assert path.name in details["followed children"] and path.name in labels.coverage_line(recording)
    child = load(path)
    targets = {node.target for node in child.graph("eager").nodes}
    assert "aten::cos" in targets and "aten::sin" not in targets
    assert child.title.startswith("script.py, SpawnProcess-")


def test_a_followed_process_that_wrote_nothing_is_not_said_to_be_recorded(tmp_path) -> None:
    old, new, none = (tmp_path / f"a.SpawnProcess-{number}.fxscope" for number in (1, 2, 3))
    old.write_text("of an earlier run")
    watched = processes.Processes(tmp_path / "a.fxscope", "a", Followed)
    with hooks.Hooks() as installed:
        watched.start(installed)
        for path in (old, new, none):
            process = torch.multiprocessing.get_context("spawn").Process(target=print, name=path.name.split(".")[1])
            watched._begins(process)
            assert isinstance(process._target, Followed) and process._target.path == str(path)
    new.write_text("of this one")
    assert [(item.what, item.count, item.detail) for item in watched.unobserved()] == [
        ("followed children", 1, f"1 process of multiprocessing recorded beside it ({new.name})"),
        ("children", 2, f"2 processes of multiprocessing without a recording ({old.name} to {none.name})"),
    ]
