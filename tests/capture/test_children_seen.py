"""The coverage line counts the processes that a program starts."""

import pytest

from fxscope import load
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
    found["named"] = started(folder, ["-m", "fxscope", "run", "-o", "named.fxscope", "script.py"])
    return folder, found


def test_the_program_does_the_same(runs) -> None:
    _, found = runs
    status, out, error = found["named"]
    assert (status, out, said(error)) == (found["plain"][0], found["plain"][1], said(found["plain"][2]))


def test_what_is_not_followed_is_named_in_the_coverage_line(runs) -> None:
    folder, _ = runs
    recording = load(folder / "named.fxscope")
    (children,) = (item for item in recording.unobserved if item.what == "children")
    assert (children.count, children.detail) == (3, "3 child processes, not followed")
    assert children.detail in labels.coverage_line(recording)
    assert sorted(path.name for path in folder.glob("named*")) == ["named.fxscope"]
