"""The real captures of `tests/data/h200`, each read once in a process; the recordings of `tests/data/report`; the browser."""

import gzip
import os
import shutil
from argparse import Namespace
from functools import cache
from pathlib import Path

from fxscope import store
from fxscope.commands import common
from fxscope.model import Recording

DATA = Path(__file__).parent / "data"
H200 = DATA / "h200"
CHROMIUM = os.environ.get("FXSCOPE_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
CAPTURES = {"/".join(path.parent.relative_to(H200).parts): path.parent for path in sorted(H200.rglob("trace.json.gz"))}


@cache
def read(path: Path | str) -> Recording:
    """The recording of a folder or file; a name without a root is one of the H200's."""
    return common.read(str(H200 / path))


def served() -> Recording:
    """A replay of CUDA graphs, with the capture that names its kernels."""
    replay, capture = (str(DATA / "vendors" / f"vllm_{name}.json.gz") for name in ("replay", "capture"))
    return common.read(replay, Namespace(capture=capture))


def recording(name: str) -> Recording:
    return store.loads(gzip.decompress((DATA / "report" / f"{name}.json.gz").read_bytes()))
