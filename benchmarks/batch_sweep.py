# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.11"]
# ///
"""Measure the GeGLU MLP eager, compiled, max-autotune and with Liger's kernel over batch sizes, on a real GPU.

    python benchmarks/batch_sweep.py --out OUT [--liger FOLDER] [--seconds 200] [--quick]

Plain torch, so that it runs wherever torch does. It writes `OUT/sweep.json` (schema `fxscope-sweep/1`, which
`fxscope sweep --from` and `fxscope check` read) and `OUT/traces.tar.gz` (one Kineto trace per setup and chosen batch,
for `fxscope view`).

What is measured, and how:
- wall time of a call: blocks of calls between two synchronisations, the setups interleaved block by block so that a
  drifting clock hits all alike; every block is one sample;
- device time, kernels, launches and the CPU time inside the runtime's launch calls: three profiled calls;
- peak memory above what lives before the call; largest and root-mean-square error against the same weights in float32;
- single projections (1024x4096x1024), depth (1 to 16 layers), training, a stride change, a new shape.

`--liger FOLDER` is where `pip install --no-deps --target FOLDER liger-kernel` put Liger; without it that setup is left
out, and the file says so. On a machine without a GPU `--quick` runs a toy size on the CPU: it tests the script.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import json
import math
import sys
import tarfile
import tempfile
import time
import traceback
from pathlib import Path
from types import SimpleNamespace

import torch
from torch import nn
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile, record_function, schedule

LAUNCHING = ("cudaLaunchKernel", "cuLaunchKernel", "cudaMemsetAsync", "cudaMemcpyAsync", "cudaGraphLaunch")
STARTED = time.perf_counter()


class GeGLUMLP(nn.Module):
    """down_proj(gelu(gate_proj(x)) * up_proj(x)), as in the article."""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden, bias=False)
        self.up_proj = nn.Linear(dim, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, dim, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map [..., dim] to [..., dim]."""
        activated = functional.gelu(self.gate_proj(x), approximate="tanh")
        return self.down_proj(activated * self.up_proj(x))


class Stack(nn.Module):
    """Some layers one after the other, with a residual so that numbers stay tame."""

    def __init__(self, layers: list[nn.Module]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run all layers."""
        for layer in self.layers:
            x = x + layer(x)
        return x


def liger_layer(folder: str | None):
    """Return (LigerGEGLUMLP, None), or (None, why not)."""
    if folder:
        sys.path.insert(0, folder)
    try:
        from liger_kernel.transformers.geglu import LigerGEGLUMLP
    except Exception as error:
        return None, f"liger-kernel cannot be imported: {type(error).__name__}: {error}"
    return LigerGEGLUMLP, None


def build(setup: str, reference: nn.Module, sizes: SimpleNamespace, liger) -> nn.Module:
    """Return the reference's weights in one setup."""
    if setup == "eager":
        return reference
    if setup == "liger":
        layer = liger(SimpleNamespace(hidden_size=sizes.dim, intermediate_size=sizes.hidden))
        layer.load_state_dict(reference.state_dict())
        return layer.to(device=sizes.device, dtype=sizes.dtype)
    mode = {"compiled": None, "max-autotune": "max-autotune-no-cudagraphs", "reduce-overhead": "reduce-overhead"}[setup]
    return torch.compile(reference, mode=mode, dynamic=False)


def synchronize() -> None:
    """Wait for the GPU, where there is one."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def samples_us(calls: dict, *, rounds: int, block_s: float) -> dict[str, list[float]]:
    """Return microseconds per call of each setup: `rounds` samples, interleaved."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    size = {}
    for name, call in calls.items():
        for _ in range(3):
            call()
        synchronize()
        start = time.perf_counter()
        for _ in range(5):
            call()
        synchronize()
        size[name] = max(3, min(200, int(block_s / max(1e-7, (time.perf_counter() - start) / 5))))
    for _ in range(rounds):
        for name, call in calls.items():
            synchronize()
            start = time.perf_counter()
            for _ in range(size[name]):
                call()
            synchronize()
            found[name].append(round((time.perf_counter() - start) / size[name] * 1e6, 4))
    return found


def profiled(call, label: str, path: Path) -> dict:
    """Profile three calls (wait 1, warm-up 1, active 3), write the trace, and return what it says per call."""
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if torch.cuda.is_available() else [])
    with profile(
        activities=activities,
        schedule=schedule(wait=1, warmup=1, active=3, repeat=1),
        record_shapes=True,
        on_trace_ready=lambda p: p.export_chrome_trace(str(path)),
    ) as profiler:
        for _ in range(5):
            with record_function(label):
                call()
            synchronize()
            profiler.step()
    events = json.loads(path.read_text())["traceEvents"]
    steps = sorted(
        (e["ts"], e["ts"] + e["dur"])
        for e in events
        if e.get("cat") == "user_annotation" and e["name"].startswith("ProfilerStep")
    )
    device = [e for e in events if e.get("cat") in ("kernel", "gpu_memset", "gpu_memcpy")]
    launching = [
        e for e in events if e.get("cat") in ("cuda_runtime", "cuda_driver") and e["name"].startswith(LAUNCHING)
    ]
    kernels: dict[str, dict] = {}
    for e in device:
        details = e.get("args", {})
        row = kernels.setdefault(
            e["name"],
            {
                "category": e["cat"],
                "count": 0,
                "samples_us": [],
                "registers": details.get("registers per thread"),
                "block": details.get("block"),
                "grid": details.get("grid"),
                "shared_bytes": details.get("shared memory"),
            },
        )
        row["count"] += 1
        row["samples_us"].append(round(e["dur"], 3))

    def per_step(items: list) -> list[float]:
        return [round(sum(e["dur"] for e in items if low <= e["ts"] < high), 3) for low, high in steps]

    number = max(1, len(steps))
    return {
        "num_steps": len(steps),
        "device_us": per_step(device),
        "launch_cpu_us": per_step(launching),
        "num_launches": len(device) / number,
        "num_kernels": sum(e["cat"] == "kernel" for e in device) / number,
        "num_runtime_launches": len(launching) / number,
        "kernels": kernels,
    }


def peak_bytes(call) -> dict:
    """Return peak and starting memory of one call."""
    if not torch.cuda.is_available():
        return {"peak_bytes": None, "start_bytes": None}
    synchronize()
    gc.collect()
    torch.cuda.reset_peak_memory_stats()
    start = torch.cuda.memory_allocated()
    result = call()
    synchronize()
    del result
    return {"peak_bytes": torch.cuda.max_memory_allocated(), "start_bytes": start}


def error_against(reference: torch.Tensor, result: torch.Tensor) -> dict:
    """Return the largest and the relative root-mean-square difference from the float32 result."""
    difference = result.float() - reference
    scale = reference.pow(2).mean().sqrt().item()
    return {
        "max_error": difference.abs().max().item(),
        "relative_rms_error": difference.pow(2).mean().sqrt().item() / scale if scale else None,
    }


def kernel_name(item) -> str:
    """Return a Triton kernel's name; a function that was already let go has none."""
    try:
        return item.fn.__name__
    except Exception:
        return "unnamed"


def triton_resources() -> list[dict]:
    """Return registers, spills, shared memory and configuration of every Triton kernel Inductor holds."""
    found = []
    try:
        from torch._inductor.runtime.triton_heuristics import CachingAutotuner
    except Exception:
        return found
    for item in gc.get_objects():
        # The type, not isinstance: asking some objects of torch for their class warns or imports.
        if issubclass(type(item), CachingAutotuner):
            for launcher in getattr(item, "launchers", ()):
                config = launcher.config
                if config is None:
                    continue
                found.append(
                    {
                        "kernel": kernel_name(item),
                        "kwargs": dict(config.kwargs),
                        "num_warps": config.num_warps,
                        "num_stages": config.num_stages,
                        "registers": getattr(launcher, "n_regs", None),
                        "spills": getattr(launcher, "n_spills", None),
                        "shared_bytes": getattr(launcher, "shared", None),
                        "heuristic": str(getattr(item, "heuristic_type", "")),
                        "size_hints": str(getattr(item, "size_hints", "")),
                    }
                )
    return found


def liger_resources() -> list[dict]:
    """Return what Triton says of Liger's compiled kernels."""
    found = []
    try:
        from liger_kernel.ops import geglu
    except Exception:
        return found
    for name in ("_geglu_tanh_forward_kernel", "_geglu_tanh_backward_kernel"):
        for cache in getattr(getattr(geglu, name), "device_caches", {}).values():
            for item in cache[0].values():
                meta = item.metadata
                found.append(
                    {
                        "kernel": name,
                        "num_warps": meta.num_warps,
                        "num_stages": meta.num_stages,
                        "registers": item.n_regs,
                        "spills": item.n_spills,
                        "shared_bytes": meta.shared,
                        "hash": item.hash[:16],
                    }
                )
    return found


def sweep(arguments, sizes, liger, report) -> None:
    """Fill report["points"]: every setup at every batch."""
    traced = {1, 8, 64, 512}
    for batch in arguments.batches:
        if time.perf_counter() - STARTED > arguments.seconds * 0.65:
            report["notes"].append(f"batch {batch} left out: the time was up")
            continue
        torch.compiler.reset()
        torch.manual_seed(0)
        with torch.no_grad():
            reference = GeGLUMLP(sizes.dim, sizes.hidden).to(device=sizes.device, dtype=sizes.dtype)
            x = torch.randn(batch, sizes.sequence, sizes.dim, device=sizes.device, dtype=sizes.dtype)
            exact = None
            if batch <= 64:
                full = GeGLUMLP(sizes.dim, sizes.hidden).to(sizes.device)
                full.load_state_dict(reference.state_dict())
                exact = full.float()(x.float())
                del full
            calls, points = {}, {}
            for setup in setups_for(batch, arguments, liger):
                point = {"vary": {"batch": batch}, "setup": setup, "problem": None}
                report["points"].append(point)
                try:
                    model = build(setup, reference, sizes, liger)
                    start = time.perf_counter()
                    result = model(x).clone()
                    synchronize()
                    point["first_call_s"] = time.perf_counter() - start
                    point.update(
                        error_against(exact, result)
                        if exact is not None
                        else {"max_error": None, "relative_rms_error": None}
                    )
                    del result

                    def call(model=model, x=x):
                        return model(x)

                    for _ in range(3):
                        call()
                    point.update(peak_bytes(call))
                    path = report["folder"] / f"{setup}_batch{batch}.json"
                    point.update(profiled(call, "mlp_fwd", path))
                    if batch not in traced:
                        path.unlink()
                    calls[setup], points[setup] = call, point
                except Exception as error:
                    point["problem"] = f"{type(error).__name__}: {error}"[:400]
            for setup, samples in samples_us(calls, rounds=arguments.rounds, block_s=0.01).items():
                points[setup]["wall_us"] = samples
            if batch == 64:
                report["triton_configs"] += [{"batch": batch, **row} for row in triton_resources()]
            del calls, points
            gc.collect()
        say(f"batch {batch}")


def setups_for(batch: int, arguments, liger) -> list[str]:
    """Return the setups of one batch; max-autotune only at some, because each costs ten seconds."""
    found = ["eager", "compiled"]
    if arguments.cuda:
        found.append("reduce-overhead")
        if batch in (1, 8, 64, 512) and time.perf_counter() - STARTED < arguments.seconds * 0.6:
            found.append("max-autotune")
        if liger is not None:
            found.append("liger")
    return found


def experiment(report, name: str, arguments):
    """Return a decorator that runs a measurement now, and writes its failure down instead of passing it on."""

    def run(function):
        if time.perf_counter() - STARTED > arguments.seconds:
            report["experiments"][name] = {"problem": f"left out: {arguments.seconds} s were up"}
            return
        try:
            torch.compiler.reset()
            report["experiments"][name] = function()
        except Exception:
            report["experiments"][name] = {"problem": traceback.format_exc(limit=3)[-800:]}
        gc.collect()
        say(name)

    return run


def others(arguments, sizes, liger, report) -> None:
    """Fill report["experiments"]."""
    rounds = arguments.rounds

    @experiment(report, "training", arguments)
    def _():
        batch, found = arguments.middle, {}
        for setup in ["eager", "compiled"] + (["liger"] if liger is not None and arguments.cuda else []):
            torch.compiler.reset()
            reference = GeGLUMLP(sizes.dim, sizes.hidden).to(device=sizes.device, dtype=sizes.dtype)
            model = build(setup, reference, sizes, liger)
            x = torch.randn(
                batch, sizes.sequence, sizes.dim, device=sizes.device, dtype=sizes.dtype, requires_grad=True
            )

            def call(model=model, x=x):
                model(x).square().mean().backward()
                for parameter in model.parameters():
                    parameter.grad = None
                x.grad = None

            for _ in range(3):
                call()
            path = report["folder"] / f"train_{setup}_batch{batch}.json"
            found[setup] = {**peak_bytes(call), **profiled(call, "mlp_train", path)}
            found[setup]["wall_us"] = samples_us({setup: call}, rounds=rounds, block_s=0.01)[setup]
            found[setup]["configs"] = triton_resources() if setup == "compiled" else []
        return found

    @experiment(report, "depth", arguments)
    def _():
        found = []
        for batch in (1, 8):
            for depth in (1, 2, 4, 8, 16):
                torch.compiler.reset()
                layers = [GeGLUMLP(sizes.dim, sizes.hidden) for _ in range(depth)]
                eager = Stack(layers).to(device=sizes.device, dtype=sizes.dtype).requires_grad_(False)
                x = torch.randn(batch, sizes.sequence, sizes.dim, device=sizes.device, dtype=sizes.dtype)
                compiled = torch.compile(eager, dynamic=False)
                compiled(x)
                calls = {"eager": lambda m=eager, x=x: m(x), "compiled": lambda m=compiled, x=x: m(x)}
                found.append(
                    {"batch": batch, "depth": depth, "wall_us": samples_us(calls, rounds=rounds, block_s=0.01)}
                )
        return found

    @experiment(report, "up_proj_1024_4096_1024", arguments)
    def _():
        # The second-hand report gives only "1024x4096x1024, 2.1 to 1.5 ms": both readings, in both precisions.
        found = []
        for dtype in (torch.float32, torch.bfloat16):
            for what, model, width in (
                ("up_proj alone: [1024, 1024] x [1024, 4096]", nn.Linear(1024, 4096, bias=False), 1024),
                ("up_proj alone: [1024, 4096] x [4096, 1024]", nn.Linear(4096, 1024, bias=False), 4096),
                ("the whole MLP: 1024 rows, dim 1024, hidden 4096", GeGLUMLP(1024, 4096), 1024),
                ("the whole MLP: 1024 rows, dim 4096, hidden 1024", GeGLUMLP(4096, 1024), 4096),
            ):
                torch.compiler.reset()
                eager = model.to(device=sizes.device, dtype=dtype).requires_grad_(False)
                x = torch.randn(1024, width, device=sizes.device, dtype=dtype)
                compiled = torch.compile(eager, dynamic=False)
                compiled(x)
                calls = {"eager": lambda m=eager, x=x: m(x), "compiled": lambda m=compiled, x=x: m(x)}
                found.append(
                    {"what": what, "dtype": str(dtype)[6:], "wall_us": samples_us(calls, rounds=rounds, block_s=0.01)}
                )
        return found

    @experiment(report, "new_shape", arguments)
    def _():
        from torch._dynamo.utils import counters

        found = {}
        with torch.no_grad():
            eager = GeGLUMLP(sizes.dim, sizes.hidden).to(device=sizes.device, dtype=sizes.dtype)
            compiled = torch.compile(eager)
            graphs = []
            counters.clear()
            for batch in (4, 6, 10):
                compiled(torch.randn(batch, sizes.sequence, sizes.dim, device=sizes.device, dtype=sizes.dtype))
                graphs.append(counters["stats"]["unique_graphs"])
            found["graphs_compiled_after_each_batch"] = {"batches": [4, 6, 10], "unique_graphs": graphs}
            if liger is not None and arguments.cuda:
                layer = build("liger", eager, sizes, liger)
                kernels = []
                for batch in (4, 6, 10):
                    layer(torch.randn(batch, sizes.sequence, sizes.dim, device=sizes.device, dtype=sizes.dtype))
                    kernels.append(len([r for r in liger_resources() if "forward" in r["kernel"]]))
                found["liger_kernels_after_each_batch"] = {"batches": [4, 6, 10], "compiled_kernels": kernels}
        return found

    @experiment(report, "stride_change", arguments)
    def _():
        from torch._dynamo.utils import counters

        with torch.no_grad():
            eager = nn.Linear(256, 256).to(device=sizes.device, dtype=sizes.dtype)
            compiled = torch.compile(eager)
            x = torch.randn(256, 256, device=sizes.device, dtype=sizes.dtype)
            counters.clear()
            compiled(x)
            before, thrown = counters["stats"]["unique_graphs"], None
            try:
                result = compiled(x.t())
                close = torch.allclose(result.float(), eager(x.t()).float(), atol=0.1, rtol=0.05)
            except Exception as error:
                thrown, close = f"{type(error).__name__}: {error}"[:300], None
            return {
                "unique_graphs": [before, counters["stats"]["unique_graphs"]],
                "thrown": thrown,
                "result_is_right": close,
            }

    if liger is not None and arguments.cuda:

        @experiment(report, "liger_columns", arguments)
        def _():
            found = []
            with torch.no_grad():
                for hidden in (1024, 2048, 3072, 8192, 16384, 32768):
                    layer = liger(SimpleNamespace(hidden_size=256, intermediate_size=hidden)).to(
                        device=sizes.device, dtype=sizes.dtype
                    )
                    x = torch.randn(1024, 256, device=sizes.device, dtype=sizes.dtype)
                    layer(x)
                    path = report["folder"] / f"liger_hidden{hidden}.json"
                    row = profiled(lambda layer=layer, x=x: layer(x), "mlp_fwd", path)
                    found.append(
                        {"hidden": hidden, "kernels": {k: v for k, v in row["kernels"].items() if "geglu" in k}}
                    )
                    path.unlink()
            return {"rows": found, "compiled": liger_resources()}


def say(what: str) -> None:
    """Print progress."""
    print(f"{time.perf_counter() - STARTED:6.1f} s  {what}", file=sys.stderr, flush=True)


def main() -> int:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--liger", help="folder that holds the liger_kernel package")
    parser.add_argument("--seconds", type=float, default=200.0, help="no new experiment starts after this")
    parser.add_argument("--rounds", type=int, default=15, help="samples of each wall time")
    parser.add_argument("--quick", action="store_true", help="a toy size")
    arguments = parser.parse_args()
    arguments.cuda = torch.cuda.is_available()
    if not arguments.cuda and not arguments.quick:
        print(
            "batch_sweep: torch sees no GPU here. --quick runs a toy size on the CPU, to test the script.",
            file=sys.stderr,
        )
        return 2
    sizes = SimpleNamespace(
        dim=64 if arguments.quick else 768,
        hidden=128 if arguments.quick else 3072,
        sequence=4 if arguments.quick else 128,
        dtype=torch.bfloat16 if arguments.cuda else torch.float32,
        device="cuda" if arguments.cuda else "cpu",
    )
    arguments.batches = [1, 4] if arguments.quick else [64, 1, 8, 512, 2, 4, 16, 32, 128, 256]
    arguments.middle = 4 if arguments.quick else 64
    torch.backends.cuda.matmul.allow_tf32 = False
    liger, why_not = liger_layer(arguments.liger)
    triton_version = None
    try:
        import triton

        triton_version = triton.__version__
    except ImportError:
        pass
    arguments.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        report = {
            "schema": "fxscope-sweep/1",
            "title": "GeGLU MLP over batch sizes",
            "vary": "batch",
            "environment": {
                "torch": torch.__version__,
                "triton": triton_version,
                "cuda": torch.version.cuda,
                "device": torch.cuda.get_device_name() if arguments.cuda else "cpu",
            },
            "parameters": {
                "sequence": sizes.sequence,
                "dim": sizes.dim,
                "hidden": sizes.hidden,
                "dtype": str(sizes.dtype)[6:],
            },
            "notes": [why_not] if why_not else [],
            "points": [],
            "experiments": {},
            "triton_configs": [],
            "folder": Path(folder),
        }
        sweep(arguments, sizes, liger, report)
        others(arguments, sizes, liger, report)
        if liger is not None:
            report["experiments"]["liger_resources"] = liger_resources()
        del report["folder"]
        report["points"].sort(key=lambda point: (point["vary"]["batch"], point["setup"]))
        report["seconds"] = round(time.perf_counter() - STARTED, 1)
        (arguments.out / "sweep.json").write_text(json.dumps(report, indent=1, default=str) + "\n")
        with tarfile.open(arguments.out / "traces.tar.gz", "w:gz") as archive:
            for path in sorted(Path(folder).glob("*.json")):
                packed = path.with_suffix(".json.gz")
                packed.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
                archive.add(packed, arcname=packed.name)
    problems = [p for p in report["points"] if p["problem"]] + [
        n for n, e in report["experiments"].items() if "problem" in e
    ]
    say(f"{len(report['points'])} points, {len(problems)} problems, wrote {arguments.out}/sweep.json")
    return 0 if report["points"] and not math.isnan(report["seconds"]) else 1


if __name__ == "__main__":
    sys.exit(main())
