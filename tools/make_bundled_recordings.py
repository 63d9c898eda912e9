"""Make the recordings that come with fxscope from captures of a real H200.

    python tools/make_bundled_recordings.py CAPTURES

CAPTURES holds one folder per scenario with trace.json.gz, meta.json and, where something was compiled, inductor/ (the
TORCH_COMPILE_DEBUG folder) and torch_trace.log.gz. `tools/zoo.py` shows how such a folder is recorded.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from fxscope import store
from fxscope.model import Memory, Recording, replace
from fxscope.readers.join import read_trace

HOME = Path(__file__).resolve().parent.parent / "fxscope" / "data" / "h200"
TITLES = {
    "mlp_eager": "GeGLU MLP, eager, H200",
    "mlp_compiled": "GeGLU MLP, compiled, H200",
    "mlp_max_autotune": "GeGLU MLP, max-autotune, H200",
    "mlp_liger": "GeGLU MLP, Liger, H200",
    "linear_eager": "Linear, eager, H200",
    "linear_compiled": "Linear, compiled, H200",
}


def main() -> None:
    """Read each capture, join it, and write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("captures", type=Path)
    arguments = parser.parse_args()
    for name, title in TITLES.items():
        path = store.write(HOME / f"{name}.fxscope", store.encode(read(arguments.captures / name, title)), force=True)
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


def read(folder: Path, title: str) -> Recording:
    """Return one capture as a recording, with the versions that its meta.json names."""
    debug, log = folder / "inductor", folder / "torch_trace.log.gz"
    recording = read_trace(
        folder / "trace.json.gz",
        debug_dir=debug if debug.is_dir() else None,
        compile_log=log if log.is_file() else None,
    )
    meta = json.loads((folder / "meta.json").read_text())
    environment = replace(recording.environment, torch=meta["torch"], triton=meta["triton"])
    memory = Memory(peak_bytes=meta.get("peak_mem"))
    return replace(recording, title=title, environment=environment, memory=memory)


if __name__ == "__main__":
    main()
