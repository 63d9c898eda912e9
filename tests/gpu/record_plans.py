"""Record what Inductor really writes on a GPU for each program of `plan_models.py`, and what fxscope plans without it.

    python3 tests/gpu/record_plans.py $OUT                   # all programs; needs nothing but torch
    python3 tests/gpu/record_plans.py $OUT --only geglu sdpa

Makes `$OUT/plans.tar.gz` and `$OUT/plans.log`. One folder per program:

    NAME/real/     trace.json.gz, torch_trace.log.gz, inductor/, table.txt, kernels.json, output_code.json, meta.json
    NAME/hidden/   output_code.json, kernels.json, meta.json: planned in a process that cannot see the GPU

`kernels.json`: kernel → registers, spilled bytes and shared memory of every config that Triton compiled, and the one
that won. Programs compile side by side in batches; a batch is profiled one by one while nothing else uses the GPU.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
COMPILED = "plan: compiled"  # a child says so on stdout, then waits for a line before it profiles


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--jobs", type=int, default=max(1, min(8, (os.cpu_count() or 2) // 2)))
    parser.add_argument("--timeout", type=float, default=240, help="seconds for one program")
    parser.add_argument("--no-hidden", action="store_true", help="only the real plans")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--hidden", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        return one(arguments.one, arguments.out, hidden=arguments.hidden)

    sys.path.insert(0, str(HERE))
    import plan_models

    wanted = arguments.only or list(plan_models.MODELS)
    unknown = sorted(set(wanted) - set(plan_models.MODELS))
    if unknown:
        parser.error(f"no program {unknown[0]!r}; there are {', '.join(plan_models.MODELS)}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix="plans-"))
    started = time.monotonic()
    log: list[str] = []

    def run(name: str, hidden: bool, turn: Turn) -> None:
        line = run_child(name, work / name / ("hidden" if hidden else "real"), hidden, turn, arguments.timeout)
        log.append(line)
        print(f"[{time.monotonic() - started:6.1f} s] {line}", flush=True)

    with ThreadPoolExecutor(arguments.jobs) as pool:
        for first in range(0, len(wanted), arguments.jobs):
            batch = wanted[first : first + arguments.jobs]
            turn = Turn(len(batch))
            list(pool.map(lambda name, turn=turn: run(name, False, turn), batch))
        if not arguments.no_hidden:
            list(pool.map(lambda name: run(name, True, Turn(1)), wanted))

    if not arguments.no_hidden:
        for name in wanted:
            line = same(name, work / name)
            log.append(line)
            print(line, flush=True)
    with tarfile.open(arguments.out / "plans.tar.gz", "w:gz", compresslevel=9) as archive:
        archive.add(work, arcname="plans")
    (arguments.out / "plans.log").write_text("\n".join(log) + "\n")
    shutil.rmtree(work)
    size = (arguments.out / "plans.tar.gz").stat().st_size
    print(f"{arguments.out / 'plans.tar.gz'}: {size / 1e6:.1f} MB in {time.monotonic() - started:.0f} s")
    return 0


def same(name: str, folder: Path) -> str:
    """Say whether the plan made without the GPU is the real one: kernels, their text, what each configuration takes."""
    sys.path.insert(0, str(ROOT))
    from fxscope._torch.target.kernels import kernel_sources

    found = {}
    for kind in ("real", "hidden"):
        try:
            codes = json.loads((folder / kind / "output_code.json").read_text())
            kernels = json.loads((folder / kind / "kernels.json").read_text())
        except OSError:
            return f"{name}: {kind} plan is missing"
        texts = [
            (kernel, text[text.rindex("@triton.jit") :]) for code in codes for kernel, text in kernel_sources(code)
        ]
        takes = {
            (kernel, key): (config["registers"], config["spill_bytes"], config["shared_bytes"])
            for kernel, facts in kernels.items()
            for key, config in facts["configs"].items()
        }
        found[kind] = (texts, takes)
    (real, real_takes), (hidden, hidden_takes) = found["real"], found["hidden"]
    words = [
        f"{name}: {len(real)} kernels {'equal' if real == hidden else 'DIFFER'}",
        f"resources of {len(real_takes)} configurations {'equal' if real_takes == hidden_takes else 'DIFFER'}",
    ]
    return ", ".join(words)


class Turn:
    """Lets the programs of a batch profile one at a time, and only once all of them have compiled or failed."""

    def __init__(self, size: int) -> None:
        self._missing = size
        self._changed = threading.Condition()
        self.profiling = threading.Lock()

    def ready(self) -> None:
        with self._changed:
            self._missing -= 1
            self._changed.notify_all()

    def wait(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._missing <= 0)


def run_child(name: str, out: Path, hidden: bool, turn: Turn, timeout: float) -> str:
    """Run one program in a process of its own and say how it went."""
    out.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f"{name}-"))
    environment = {
        **os.environ,
        "TORCHINDUCTOR_CACHE_DIR": str(scratch / "cache"),
        "TRITON_CACHE_DIR": str(scratch / "triton"),
        "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1",
        "TORCHINDUCTOR_COMPILE_THREADS": "1",  # the programs are side by side already
        "OMP_NUM_THREADS": "2",
        "PYTHONPATH": str(ROOT),
    }
    if hidden:
        environment["CUDA_VISIBLE_DEVICES"] = ""
    else:
        environment.update(
            TORCH_TRACE=str(scratch / "trace"), TORCH_COMPILE_DEBUG="1", TORCH_COMPILE_DEBUG_DIR=str(scratch / "debug")
        )
    command = [sys.executable, __file__, str(out), "--one", name, *(["--hidden"] if hidden else [])]
    started = time.monotonic()
    with (out / "stderr.txt").open("w") as errors:
        child = subprocess.Popen(
            command,
            env=environment,
            cwd=scratch,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        killer = threading.Timer(timeout, child.kill)
        killer.start()
        waiting = True
        try:
            assert child.stdout is not None
            assert child.stdin is not None
            for line in child.stdout:
                if line.strip() == COMPILED:
                    waiting = False
                    turn.ready()
                    turn.wait()
                    with turn.profiling, contextlib.suppress(BrokenPipeError):
                        child.stdin.write("go\n")
                        child.stdin.flush()
                        child.stdout.readline()  # "profiled"
            code = child.wait()
        finally:
            killer.cancel()
            if waiting:
                turn.ready()
    what = "hidden" if hidden else "real"
    if code == 0:
        if not hidden:
            collect_logs(scratch, out)
        (out / "stderr.txt").unlink()
    shutil.rmtree(scratch, ignore_errors=True)
    seconds = time.monotonic() - started
    if code == 0:
        return f"{name} {what}: ok, {seconds:.1f} s"
    tail = (out / "stderr.txt").read_text(errors="replace").strip().splitlines()[-1:]
    return f"{name} {what}: FAILED with {code} after {seconds:.1f} s: {''.join(tail)[:300]}"


def collect_logs(scratch: Path, out: Path) -> None:
    """Move the structured log and the debug folders to where a recording of this kind has them."""
    logs = sorted((scratch / "trace").glob("*.log"))
    if logs:
        with gzip.open(out / "torch_trace.log.gz", "wb", compresslevel=9) as file:
            for log in logs:
                file.write(log.read_bytes())
    for folder in sorted((scratch / "debug").rglob("torchinductor/*")):
        if folder.is_dir():
            keep = out / "inductor" / folder.name
            keep.mkdir(parents=True, exist_ok=True)
            for file in folder.iterdir():
                if file.suffix in {".py", ".txt", ".json"} and file.stat().st_size < 2_000_000:
                    shutil.copy(file, keep / file.name)


# ---------------------------------------------------------------------------------------------- in the child


def one(name: str, out: Path, *, hidden: bool) -> int:
    """Record one program; called in a process of its own."""
    sys.path.insert(0, str(HERE))
    import torch
    from plan_models import MODELS

    torch.manual_seed(0)
    model = MODELS[name]
    try:
        (plan if hidden else record)(model, name, out)
    except Exception:
        traceback.print_exc()
        return 1
    return 0


def meta(name: str, **more: Any) -> dict[str, Any]:
    import torch

    try:
        import triton

        version = triton.__version__
    except ImportError:
        version = None
    return {"name": name, "torch": torch.__version__, "triton": version, "python": sys.version.split()[0], **more}


def write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1, default=str))


def plan(model: Any, name: str, out: Path) -> None:
    """Plan for the H200 with the GPU hidden, through the part of fxscope that needs torch alone."""
    import torch

    from fxscope._torch.target import simulate

    assert not torch.cuda.is_available()
    target = simulate.read_target(ROOT / "fxscope" / "gpus" / "h200.json")
    started = time.monotonic()
    module, inputs = model.make("cpu")
    if model.train:
        inputs = tuple(x.requires_grad_() if x.is_floating_point() else x for x in inputs)
    codes: list[str] = []
    kernels: dict[str, Any] = {}
    with simulate.planning(target) as planned:
        simulate.compile_for_target(module, inputs, planned, train=model.train, compile_options=model.compile)
        codes = list(planned.codes)
        for code in codes:
            kernels.update(simulate.triton_resources(code, planned))
    write(out / "output_code.json", codes)
    write(out / "kernels.json", kernels)
    write(out / "meta.json", meta(name, assumptions=planned.assumptions, seconds=time.monotonic() - started))


def record(model: Any, name: str, out: Path) -> None:
    """Compile and run on the GPU."""
    import torch
    from torch._inductor.graph import GraphLowering
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner

    codes: list[str] = []
    tuners: dict[int, Any] = {}
    found: dict[str, dict[str, Any]] = {}
    original_codegen, original_launchers = GraphLowering.codegen, CachingAutotuner._make_launchers

    def codegen(self, *args, **kwargs):
        result = original_codegen(self, *args, **kwargs)
        text = getattr(result[0] if isinstance(result, tuple) else result, "value", None)
        if isinstance(text, str):
            codes.append(text)
        return result

    def make_launchers(self, *args, **kwargs):
        result = original_launchers(self, *args, **kwargs)
        kernel = str(self.inductor_meta.get("kernel_name") or self.fn.__name__)
        tuners[id(self)] = (kernel, self)
        configs = found.setdefault(kernel, {"heuristic": str(self.heuristic_type), "configs": {}})["configs"]
        for launcher in self.launchers:
            configs[config_key(launcher.config)] = {
                **config_fields(launcher.config),
                "registers": launcher.n_regs,
                "spill_bytes": None if launcher.n_spills is None else launcher.n_spills * 4,
                "shared_bytes": launcher.shared,
            }
        return result

    GraphLowering.codegen = codegen
    CachingAutotuner._make_launchers = make_launchers
    module, inputs = model.make("cuda")
    if model.train:
        inputs = tuple(x.requires_grad_() if x.is_floating_point() else x for x in inputs)
    compiled = torch.compile(module, **model.compile)

    def step() -> None:
        with torch.set_grad_enabled(model.train):
            result = compiled(*inputs)
            if model.train:
                result.float().sum().backward()

    torch.cuda.reset_peak_memory_stats()
    started = time.monotonic()
    step()
    torch.cuda.synchronize()
    first = time.monotonic() - started
    for _ in range(3):
        step()
    torch.cuda.synchronize()

    print(COMPILED, flush=True)
    sys.stdin.readline()
    begin = time.monotonic()
    for _ in range(20):
        step()
    torch.cuda.synchronize()
    per_call = (time.monotonic() - begin) / 20
    schedule = torch.profiler.schedule(wait=1, warmup=2, active=3, repeat=1)
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities, schedule=schedule, record_shapes=True) as profiler:
        for _ in range(6):
            step()
            torch.cuda.synchronize()
            profiler.step()
    profiler.export_chrome_trace(str(out / "trace.json"))
    print("profiled", flush=True)
    (out / "trace.json.gz").write_bytes(gzip.compress((out / "trace.json").read_bytes(), 9))
    (out / "trace.json").unlink()
    (out / "table.txt").write_text(
        profiler.key_averages().table(sort_by="self_cuda_time_total", row_limit=60, max_name_column_width=80)
    )
    for kernel, tuner in tuners.values():
        if len(tuner.launchers) == 1:
            found[kernel]["chosen"] = config_key(tuner.launchers[0].config)
    write(out / "output_code.json", codes)
    write(out / "kernels.json", found)
    write(
        out / "meta.json",
        meta(
            name,
            gpu=torch.cuda.get_device_name(0),
            first_call_s=first,
            per_call_us=per_call * 1e6,
            peak_mem=torch.cuda.max_memory_allocated(),
            compile=str(model.compile),
            train=model.train,
            what=model.what,
        ),
    )


def config_key(config: Any) -> str:
    """Return a Triton config as one comparable string."""
    blocks = ",".join(f"{name}={value}" for name, value in sorted(config.kwargs.items()))
    return f"{blocks};warps={config.num_warps};stages={config.num_stages}"


def config_fields(config: Any) -> dict[str, Any]:
    return {"kwargs": dict(config.kwargs), "num_warps": config.num_warps, "num_stages": config.num_stages}


if __name__ == "__main__":
    sys.exit(main())
