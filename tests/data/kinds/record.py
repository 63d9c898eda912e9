"""Record programs.py on the GPU here: python3 record.py OUT. Writes OUT/absent-N.tar.gz (traces, logs, codes), OUT/spread.json.gz, OUT/record.log."""
from __future__ import annotations

import contextlib
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
COMPILED = "plan: compiled"
START_UNTIL, END = float(os.environ.get("START_UNTIL", 400)), float(os.environ.get("END", 455))  # seconds
JOBS = int(os.environ.get("JOBS", os.cpu_count() or 2))
AGAIN = "falcon dlrm pointnet vqvae gnn siren evoformer schnet wavenet convnext_v2 retention patchtst nerf super_resolution mla".split()
began = time.monotonic()


def main() -> int:
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    sys.path.insert(0, str(HERE))
    from programs import PROGRAMS

    only = os.environ.get("ONLY", "").split()
    names = [n for n in PROGRAMS if not only or n in only] + ([n + "@2" for n in AGAIN] if not only else [])
    work = Path(tempfile.mkdtemp(prefix="absent-"))
    log, children = [], {}
    size = JOBS * 2
    compiling = threading.Semaphore(JOBS)

    def run(name, turn):
        line = child_run(name, work / name, turn, compiling, children)
        log.append(f"[{time.monotonic() - began:6.1f} s] {line}")
        print(log[-1], flush=True)

    def stop():
        for child in list(children.values()):
            with contextlib.suppress(OSError):
                os.killpg(child.pid, signal.SIGKILL)

    timer = threading.Timer(END, stop)
    timer.daemon = True
    timer.start()
    with ThreadPoolExecutor(size) as pool:
        for first in range(0, len(names), size):
            if time.monotonic() - began > START_UNTIL:
                log.append("not started: " + " ".join(names[first:]))
                print(log[-1], flush=True)
                break
            batch = sorted(names[first : first + size], key=lambda n: "_train" not in n)
            turn = Turn(len(batch))
            list(pool.map(lambda n, turn=turn: run(n, turn), batch))
    timer.cancel()
    pack(work, out)
    (out / "record.log").write_text("\n".join(log) + "\n")
    shutil.rmtree(work, ignore_errors=True)
    print(f"{time.monotonic() - began:.0f} s in all")
    return 0


class Turn:
    def __init__(self, size):
        self._missing, self._changed, self.profiling = size, threading.Condition(), threading.Lock()

    def ready(self):
        with self._changed:
            self._missing -= 1
            self._changed.notify_all()

    def wait(self):
        with self._changed:
            self._changed.wait_for(lambda: self._missing <= 0)


def child_run(name, out, turn, compiling, children):
    out.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="child-"))
    environment = {
        **os.environ, "TORCHINDUCTOR_CACHE_DIR": str(scratch / "cache"), "TRITON_CACHE_DIR": str(scratch / "triton"),
        "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1", "OMP_NUM_THREADS": "2",
        "TORCH_TRACE": str(scratch / "trace"), "PYTHONPATH": str(HERE), "PYTHONUNBUFFERED": "1",
    }
    compiling.acquire()
    compiles, waiting, started = True, True, time.monotonic()
    with (out / "stderr.txt").open("w") as errors:
        child = subprocess.Popen([sys.executable, __file__, "--one", name.partition("@")[0], str(out)], env=environment, cwd=scratch, text=True,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, start_new_session=True)
        children[name] = child
        killer = threading.Timer(150, lambda: os.killpg(child.pid, signal.SIGKILL))
        killer.daemon = True
        killer.start()
        try:
            for line in child.stdout:
                if line.strip() == COMPILED:
                    waiting = compiles = False
                    killer.cancel()
                    compiling.release()
                    turn.ready()
                    turn.wait()
                    with turn.profiling, contextlib.suppress(BrokenPipeError):
                        child.stdin.write("go\n")
                        child.stdin.flush()
                        child.stdout.readline()
            code = child.wait()
        finally:
            killer.cancel()
            children.pop(name, None)
            if compiles:
                compiling.release()
            if waiting:
                turn.ready()
    if code == 0:
        with gzip.open(out / "torch_trace.log.gz", "wb", compresslevel=6) as file:
            for path in sorted((scratch / "trace").glob("*.log")):
                file.write(path.read_bytes())
        (out / "stderr.txt").unlink()
    shutil.rmtree(scratch, ignore_errors=True)
    seconds = time.monotonic() - started
    if code == 0:
        return f"{name}: ok, {seconds:.1f} s"
    tail = (out / "stderr.txt").read_text(errors="replace").strip().splitlines()[-3:]
    return f"{name}: FAILED with {code} after {seconds:.1f} s: {' | '.join(tail)[:400]}"


def pack(work, out):
    spread, number, size = {}, 1, 0
    for folder in sorted(work.iterdir()):
        if (folder / "spread.json").exists():
            spread[folder.name] = json.loads((folder / "spread.json").read_text())
            (folder / "spread.json").unlink()
    with gzip.open(out / "spread.json.gz", "wt", compresslevel=9) as file:
        json.dump(spread, file)
    archive = tarfile.open(out / f"absent-{number}.tar.gz", "w:gz", compresslevel=6)
    for folder in sorted(work.iterdir()):
        weight = sum(f.stat().st_size // (1 if f.suffix == ".gz" else 5) for f in folder.rglob("*") if f.is_file())
        if size + weight > 14_000_000 and size:
            archive.close()
            number, size = number + 1, 0
            if number > 6:
                break
            archive = tarfile.open(out / f"absent-{number}.tar.gz", "w:gz", compresslevel=6)
        archive.add(folder, arcname=folder.name)
        size += weight
    archive.close()


def one(name, out):
    import torch

    sys.path.insert(0, str(HERE))
    from programs import PROGRAMS
    from torch._inductor.graph import GraphLowering

    model = PROGRAMS[name]
    codes = []
    original = GraphLowering.codegen

    def codegen(self, *args, **kwargs):
        result = original(self, *args, **kwargs)
        text = getattr(result[0] if isinstance(result, tuple) else result, "value", None)
        if isinstance(text, str):
            codes.append(text)
        return result

    GraphLowering.codegen = codegen
    torch.manual_seed(0)
    module, inputs = model.make("cuda")
    if model.train:
        inputs = tuple(x.requires_grad_() if x.is_floating_point() else x for x in inputs)
    compiled = torch.compile(module, **model.compile)
    autocast = torch.autocast("cuda", torch.bfloat16) if model.autocast else contextlib.nullcontext()

    def step():
        with torch.set_grad_enabled(model.train), autocast:
            result = compiled(*inputs)
        if model.train:
            result.float().sum().backward()

    started = time.monotonic()
    step()
    torch.cuda.synchronize()
    first = time.monotonic() - started
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    print(COMPILED, flush=True)
    sys.stdin.readline()
    walls = []
    for _ in range(3):
        begin = time.monotonic()
        for _ in range(10):
            step()
        torch.cuda.synchronize()
        walls.append((time.monotonic() - begin) / 10 * 1e6)
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    names, rows = [], []
    for session in range(3):
        schedule = torch.profiler.schedule(wait=1 if session == 0 else 0, warmup=2, active=3, repeat=1)
        count = 6 if session == 0 else 5
        with torch.profiler.profile(activities=activities if session == 0 else activities[1:], schedule=schedule, record_shapes=session == 0) as profiler:
            for _ in range(count):
                step()
                torch.cuda.synchronize()
                profiler.step()
        path = out / f"trace{session}.json"
        profiler.export_chrome_trace(str(path))
        data = path.read_bytes()
        if session == 0:
            (out / "trace.json.gz").write_bytes(gzip.compress(data, 6))
        path.unlink()
        found = sorted((e["ts"], e["name"], e["dur"]) for e in json.loads(data)["traceEvents"]
                       if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset") and "dur" in e)
        each = len(found) // 3
        for number in range(3):
            part = found[number * each : (number + 1) * each]
            labels = [item[1] for item in part]
            names = names or labels
            rows.append([round(item[2], 3) for item in part] if labels == names else {"sum": sum(i[2] for i in part), "count": len(part)})
    print("profiled", flush=True)
    (out / "spread.json").write_text(json.dumps({"names": [n[:60] for n in names], "us": rows, "wall": walls}))
    (out / "output_code.json").write_text(json.dumps(codes))
    (out / "meta.json").write_text(json.dumps({
        "name": name, "torch": torch.__version__, "gpu": torch.cuda.get_device_name(0), "first_call_s": first, "per_call_us": sorted(walls)[1],
        "peak_mem": torch.cuda.max_memory_allocated(), "train": model.train, "kind": model.kind, "python": sys.version.split()[0]}))


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        try:
            one(sys.argv[2], Path(sys.argv[3]))
        except Exception:
            traceback.print_exc()
            sys.exit(1)
        sys.exit(0)
    sys.exit(main())
