"""Record what Inductor really writes for each program on a GPU, plan the same without one, and compare the two.

    python3 tools/zoo.py record $OUT                        # on a machine with a GPU; needs torch and the programs' libraries
    python3 tools/zoo.py record $OUT --only gpt2 bert       # some of them
    python3 tools/zoo.py plan $OUT --gpu h100               # anywhere; the GPU, if there is one, is hidden
    python3 tools/zoo.py compare tests/data/zoo/h100 $OUT   # what was recorded, what was planned

Programs come from `tests/zoo/programs.py` (`--programs FILE` for others). `record` makes one folder per program and packs
the folders into `$OUT/zoo-N.tar.gz`:

    NAME/real/     trace.json.gz, torch_trace.log.gz, kernels.json, output_code.json, meta.json

`kernels.json`: kernel → registers, spilled bytes and shared memory of every config that Triton compiled, and the one
that won. Programs compile side by side in batches; a batch is profiled one by one while nothing else uses the GPU.

`plan` writes `$OUT/NAME.json.xz` as soon as a program is planned ({codes, meta}; without a plan {error}) and
leaves out what is there already (`--again` does not). Without `--part` the third that is set aside is left alone.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import hashlib
import importlib
import importlib.util
import json
import lzma
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
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
COMPILED = "plan: compiled"  # a child says so on stdout, then waits for a line before it profiles
LARGEST = 15_000_000  # bytes of one archive


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["record", "plan", "compare", "one"])
    parser.add_argument("out", type=Path)
    parser.add_argument("planned", type=Path, nargs="?")
    parser.add_argument("--programs", type=Path, default=ROOT / "tests" / "zoo" / "programs.py")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--gpu", default="h200", help="the GPU to plan for: a name of fxscope/gpus")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2, help="how many compile at once")
    parser.add_argument("--timeout", type=float, default=240, help="seconds for one program")
    parser.add_argument("--threads", type=int, default=1, help="compile threads of one recorded program")
    parser.add_argument("--part", choices=["open", "aside", "all"], default="open", help="of a plan or a comparison")
    parser.add_argument("--again", action="store_true", help="plan what has been planned too")
    arguments = parser.parse_args()
    if arguments.what == "one":
        return one(arguments.only[0], arguments)
    programs = load(arguments.programs)
    wanted = arguments.only or list(programs)
    unknown = sorted(set(wanted) - set(programs))
    if unknown:
        parser.error(f"no program {unknown[0]!r}; there are {', '.join(programs)}")
    if not arguments.only and arguments.what != "record" and arguments.part != "all":
        wanted = [name for name in wanted if set_aside(name) == (arguments.part == "aside")]
    if arguments.what == "compare":
        if arguments.planned is None:
            parser.error("compare needs two folders: what was recorded, and what was planned")
        return compare(wanted, arguments.out, arguments.planned)
    arguments.out.mkdir(parents=True, exist_ok=True)
    if arguments.what == "plan":
        return plan_all(wanted, programs, arguments)
    return run_all(wanted, programs, arguments)


def set_aside(name: str) -> bool:
    """Whether a program belongs to the third that is not looked at while planning is mended: by nothing but its name."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % 3 == 0


def load(path: Path) -> dict[str, Any]:
    spec = importlib.util.spec_from_file_location("zoo_programs", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["zoo_programs"] = module
    spec.loader.exec_module(module)
    return getattr(module, "PROGRAMS", None) or module.MODELS


def run_all(wanted: list[str], programs: dict[str, Any], arguments: argparse.Namespace) -> int:
    work = Path(tempfile.mkdtemp(prefix="zoo-"))
    started = time.monotonic()
    log: list[str] = []
    compiling = threading.Semaphore(arguments.jobs)
    # Training takes longest to compile: first, so that a batch ends together.
    wanted = sorted(wanted, key=lambda name: not programs[name].train)
    size = arguments.jobs * 2

    def run(name: str, turn: Turn) -> None:
        line = run_child(name, work / name / "real", turn, arguments, compiling)
        log.append(line)
        print(f"[{time.monotonic() - started:6.1f} s] {line}", flush=True)

    with ThreadPoolExecutor(size) as pool:
        for first in range(0, len(wanted), size):
            batch = wanted[first : first + size]
            turn = Turn(len(batch))
            list(pool.map(lambda name, turn=turn: run(name, turn), batch))
    pack(work, arguments.out)
    (arguments.out / "zoo-record.log").write_text("\n".join(log) + "\n")
    shutil.rmtree(work)
    print(f"{time.monotonic() - started:.0f} s")
    return 0


def pack(work: Path, out: Path) -> None:
    """Pack the folders of programs into archives of bounded size."""
    number, size = 1, 0
    archive = tarfile.open(out / f"zoo-{number}.tar.gz", "w:gz", compresslevel=6)  # noqa: SIM115
    for folder in sorted(work.iterdir()):
        for file in folder.rglob("*.json"):
            if file.stat().st_size > 200_000:
                file.with_suffix(".json.gz").write_bytes(gzip.compress(file.read_bytes(), 9))
                file.unlink()
        weight = sum(
            file.stat().st_size if file.suffix == ".gz" else file.stat().st_size // 4
            for file in folder.rglob("*")
            if file.is_file()
        )
        if size + weight > LARGEST and size:
            archive.close()
            number, size = number + 1, 0
            archive = tarfile.open(out / f"zoo-{number}.tar.gz", "w:gz", compresslevel=6)  # noqa: SIM115
        archive.add(folder, arcname=folder.name)
        size += weight
    archive.close()


# ------------------------------------------------------------------------------------------------- plan, compare


def plan_all(wanted: list[str], programs: dict[str, Any], arguments: argparse.Namespace) -> int:
    """Plan several programs at once, each in a forked copy of this process that has imported what takes time."""
    os.environ.update(
        CUDA_VISIBLE_DEVICES="", TORCHINDUCTOR_COMPILE_THREADS="1", TORCHINDUCTOR_FORCE_DISABLE_CACHES="1"
    )
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # the programs are side by side already
    os.environ.setdefault("TRITON_CACHE_DIR", str(arguments.out.resolve() / ".triton"))  # the same kernel once for all
    sys.path.insert(0, str(ROOT))
    for module in ("torch._inductor.compile_fx", "triton", "transformers"):
        with contextlib.suppress(ImportError):
            importlib.import_module(module)

    running: dict[int, tuple[str, float]] = {}  # process → program, when it began

    def wait_for_one() -> None:
        process, status = os.wait()
        name, begin = running.pop(process)
        path = arguments.out / f"{name}.json.xz"
        if status:
            write_packed(path, {"error": f"the process ended with {os.waitstatus_to_exitcode(status)}"})
        failed = json.loads(lzma.decompress(path.read_bytes())).get("error")
        said = f"FAILED: {failed.strip().splitlines()[0][:200]}" if failed else "ok"
        print(f"{name} {said}, {time.monotonic() - begin:.1f} s", flush=True)

    # Training takes longest to compile: first, so that all end together.
    for name in sorted(wanted, key=lambda name: not programs[name].train):
        if (arguments.out / f"{name}.json.xz").exists() and not arguments.again:
            continue
        if len(running) == arguments.jobs:
            wait_for_one()
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            signal.alarm(int(arguments.timeout))  # nothing handles it: the copy ends
            try:
                packed = plan(programs[name], name, arguments)
            except BaseException as error:
                traceback.print_exc()
                packed = {"error": f"{type(error).__name__}: {error}"[:4000]}
            write_packed(arguments.out / f"{name}.json.xz", packed)
            os._exit(0)
        running[child] = name, time.monotonic()
    while running:
        wait_for_one()
    return 0


def write_packed(path: Path, value: Any) -> None:
    unfinished = path.with_suffix(".part")
    with lzma.open(unfinished, "wt", encoding="utf-8") as file:
        json.dump(value, file, default=str)
    unfinished.rename(path)


def compare(wanted: list[str], real: Path, planned: Path) -> int:
    """Print what of each plan is what the real GPU's compile wrote, and for both parts how many are."""
    sys.path.insert(0, str(ROOT))
    from tests.target import plans

    columns = ("calls", "names", "sources")
    counts = {part: dict.fromkeys((*columns, "programs"), 0) for part in (False, True)}
    for name in wanted:
        theirs = plans.unpacked(real / f"{name}.json.xz")
        path = planned / f"{name}.json.xz"
        if not path.exists():
            print(f"{name}: not planned yet")
            continue
        ours = plans.unpacked(path)
        row = counts[set_aside(name)]
        row["programs"] += 1
        if "error" in ours:
            print(f"{name}: no plan: {ours['error'].strip().splitlines()[0][:300]}")
            continue
        equal = plans.compare(ours, theirs)
        for column in columns:
            row[column] += bool(equal[column])
        wrong = [column for column in columns if equal[column] is False]
        print(f"{name}: {'equal' if not wrong else 'other ' + ', '.join(wrong)}")
    for part, row in counts.items():
        if row["programs"]:
            figures = ", ".join(f"{column} {row[column]}" for column in columns)
            print(f"{'set aside' if part else 'open'}: {row['programs']} programs; equal {figures}")
    return 0


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


def run_child(name: str, out: Path, turn: Turn, arguments: argparse.Namespace, compiling: threading.Semaphore) -> str:
    """Run one program in a process of its own and say how it went."""
    out.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f"{name}-"))
    environment = {
        **os.environ,
        "TORCHINDUCTOR_CACHE_DIR": str(scratch / "cache"),
        "TRITON_CACHE_DIR": str(scratch / "triton"),
        "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1",
        "TORCHINDUCTOR_COMPILE_THREADS": str(arguments.threads),  # the programs are side by side already
        "OMP_NUM_THREADS": "2",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
    }
    environment.update(TORCH_TRACE=str(scratch / "trace"))
    command = [sys.executable, __file__, "one", str(out), "--only", name]
    command += ["--programs", str(arguments.programs.resolve())]
    compiling.acquire()
    compiles = True
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
        killer = threading.Timer(arguments.timeout, child.kill)
        killer.start()
        waiting = True
        try:
            assert child.stdout is not None
            assert child.stdin is not None
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
                        child.stdout.readline()  # "profiled"
            code = child.wait()
        finally:
            killer.cancel()
            if compiles:
                compiling.release()
            if waiting:
                turn.ready()
    if code == 0:
        with gzip.open(out / "torch_trace.log.gz", "wb", compresslevel=9) as file:
            for log in sorted((scratch / "trace").glob("*.log")):
                file.write(log.read_bytes())
        (out / "stderr.txt").unlink()
    shutil.rmtree(scratch, ignore_errors=True)
    seconds = time.monotonic() - started
    if code == 0:
        return f"{name}: ok, {seconds:.1f} s"
    tail = (out / "stderr.txt").read_text(errors="replace").strip().splitlines()[-1:]
    return f"{name}: FAILED with {code} after {seconds:.1f} s: {''.join(tail)[:300]}"


def one(name: str, arguments: argparse.Namespace) -> int:
    """Record one program; called in a process of its own."""
    import torch

    torch.manual_seed(0)
    try:
        record(load(arguments.programs)[name], name, arguments.out)
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


def plan(model: Any, name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Plan for a GPU with the GPU hidden, through the part of fxscope that needs torch alone."""
    import torch

    from fxscope import gpus
    from fxscope._torch.target import simulate

    assert not torch.cuda.is_available()
    torch.manual_seed(0)
    target = gpus.load(arguments.gpu)
    module, inputs = model.make("cpu")
    if model.train:
        inputs = tuple(x.requires_grad_() if x.is_floating_point() else x for x in inputs)
    wanted = getattr(model, "autocast", False)
    started = time.monotonic()
    with simulate.planning(target) as planned, contextlib.ExitStack() as stack:
        if wanted:
            stack.enter_context(torch.autocast("cuda", torch.bfloat16))
        simulate.compile_for_target(module, inputs, planned, train=model.train, compile_options=model.compile)
        seconds = time.monotonic() - started
    facts = meta(name, gpu=arguments.gpu, assumptions=planned.assumptions, seconds=seconds)
    return {"codes": planned.codes, "meta": facts}


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
    wanted = getattr(model, "autocast", False)
    autocast = torch.autocast("cuda", torch.bfloat16) if wanted else contextlib.nullcontext()

    def step() -> None:
        with torch.set_grad_enabled(model.train), autocast:
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
    for kernel, facts in found.items():  # of one name in two graphs each is tuned by itself
        won = {config_key(tuner.launchers[0].config) for name, tuner in tuners.values() if name == kernel}
        if len(won) == 1 and all(len(tuner.launchers) == 1 for name, tuner in tuners.values() if name == kernel):
            facts["chosen"] = won.pop()
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
            what=getattr(model, "what", None) or model.library,
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
