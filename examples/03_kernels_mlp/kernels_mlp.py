# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.9", "kernels>=0.15"]
# ///
"""The GeGLU MLP with a hand-written kernel: LigerGEGLUMLP, loaded through Hugging Face's `kernels`.

    python kernels_mlp.py [--batch N] [--seq N] [--dim N] [--hidden N] [--trace FILE]

The layer comes from `kernels.get_kernel("kernels-community/liger-kernels", version=1)`. Without a network set
`LOCAL_KERNELS="kernels-community/liger-kernels=/path"` to a copy on disk, or install `liger-kernel` from PyPI
(`pip install --no-deps liger-kernel`): it holds the same kernel. The kernel is Triton: it runs on a GPU.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function, schedule

REPOSITORY = "kernels-community/liger-kernels"


class NotHereError(Exception):
    """The layer cannot be loaded or run; the message says why and what to do."""


def load_layer() -> tuple[type, str]:
    """Return (the class LigerGEGLUMLP, where it came from). Raises NotHereError."""
    reasons = []
    try:
        from kernels import get_kernel
    except ImportError:
        reasons.append("the `kernels` library is not installed (pip install kernels)")
    else:
        try:
            kernel = get_kernel(REPOSITORY, version=1)
            where = f"{REPOSITORY}{' (LOCAL_KERNELS)' if REPOSITORY in os.environ.get('LOCAL_KERNELS', '') else ''}"
            return kernel.layers.LigerGEGLUMLP, where
        except Exception as error:  # no network, no such version, no build for this machine: each has its own type
            reasons.append(f"get_kernel({REPOSITORY!r}) failed: {type(error).__name__}: {str(error).splitlines()[:1]}")
    try:
        from liger_kernel.transformers.geglu import LigerGEGLUMLP
    except ImportError as error:
        reasons.append(f"liger-kernel cannot be imported: {error} (pip install --no-deps liger-kernel)")
    except RuntimeError as error:
        reasons.append(f"liger-kernel does not start here: {error}")
    else:
        return LigerGEGLUMLP, "liger-kernel from PyPI"
    raise NotHereError(
        "LigerGEGLUMLP is not here:\n  - " + "\n  - ".join(reasons) + "\nWithout a network set "
        f'LOCAL_KERNELS="{REPOSITORY}=/path/to/a/copy", or install one of the two.'
    )


def build(layer: type, dim: int, hidden: int) -> nn.Module:
    """Return the layer with its projections, whichever version it is.

    Version 1 and the PyPI package build their own from a configuration. Later versions are only a `forward`, meant to
    replace that of a model's own layer: there the projections are ours.
    """
    config = SimpleNamespace(hidden_size=dim, intermediate_size=hidden, hidden_act="gelu_pytorch_tanh")
    if "__init__" in vars(layer):
        return layer(config)
    module = layer()
    module.config = config
    module.gate_proj = nn.Linear(dim, hidden, bias=False)
    module.up_proj = nn.Linear(dim, hidden, bias=False)
    module.down_proj = nn.Linear(hidden, dim, bias=False)
    return module


def make(batch: int, seq: int, dim: int, hidden: int) -> tuple[nn.Module, tuple[torch.Tensor, ...], str]:
    """Return (layer, inputs, where the layer came from). Raises NotHereError."""
    layer, where = load_layer()
    gpu = torch.cuda.is_available()
    options = {"device": "cuda" if gpu else "cpu", "dtype": torch.bfloat16 if gpu else torch.float32}
    return build(layer, dim, hidden).to(**options), (torch.randn(batch, seq, dim, **options),), where


def factory(batch: int = 64, seq: int = 128, dim: int = 768, hidden: int = 3072):
    """Return (module, inputs), for `fxscope run kernels_mlp.py:factory` and `fxscope sweep`."""
    module, inputs, _ = make(batch, seq, dim, hidden)
    return module, inputs


def try_once(model: nn.Module, x: torch.Tensor) -> None:
    """Run the layer once. Raises NotHereError where its kernel cannot run on this machine."""
    try:
        model(x)
    except Exception as error:
        if torch.cuda.is_available():
            raise
        raise NotHereError(
            f"the layer's kernel does not run on a CPU ({type(error).__name__}: {str(error)[:120]}). It is Triton "
            "and needs a GPU; a copy in LOCAL_KERNELS whose backend is cpu runs here. The same MLP without it: "
            "../03_simple_mlp/simple_mlp.py."
        ) from None


def run_profiled(call, label: str, trace: Path) -> None:
    """Call five times under the profiler: wait 1, warm-up 1, active 3; print its table and write the trace."""
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if torch.cuda.is_available() else [])
    trace.parent.mkdir(parents=True, exist_ok=True)
    with profile(
        activities=activities,
        schedule=schedule(wait=1, warmup=1, active=3, repeat=1),
        record_shapes=True,
        on_trace_ready=lambda profiler: profiler.export_chrome_trace(str(trace)),
    ) as profiler:
        for _ in range(5):
            with record_function(label):
                call()
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            profiler.step()
    order = "cuda_time_total" if torch.cuda.is_available() else "cpu_time_total"
    print(profiler.key_averages().table(sort_by=order, row_limit=25))
    print(f"trace: {trace}")


def main() -> int:
    """Parse the options, profile, report."""
    parser = argparse.ArgumentParser(description="Profile the GeGLU MLP with Liger's kernel.")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seq", type=int, default=128)
    parser.add_argument("--dim", type=int, default=768)
    parser.add_argument("--hidden", type=int, default=3072)
    parser.add_argument("--trace", type=Path, default=Path("traces/kernels_mlp.json"), help="where the trace goes")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    with torch.no_grad():
        try:
            model, (x,), where = make(arguments.batch, arguments.seq, arguments.dim, arguments.hidden)
            try_once(model, x)
        except NotHereError as error:
            print(f"kernels_mlp: {error}", file=sys.stderr)
            return 2
        print(f"LigerGEGLUMLP from {where}")
        run_profiled(lambda: model(x), "mlp_fwd", arguments.trace)
    return 0


if __name__ == "__main__":
    sys.exit(main())
