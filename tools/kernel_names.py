"""Record which kernels a GPU runs for which op: names, ops, dtypes, shapes.

    python3 tools/kernel_names.py record $OUT --seconds 270      # on a machine with a GPU; needs torch, numpy, expecttest
    python3 tools/kernel_names.py merge FILE… --out tests/data/kernel_names/NAME.json.xz

Runs torch's own operator tests (`op_db` and its foreach, optimizer and module siblings, with their sample inputs) and the
batteries of `kernel_names_battery.py` under the profiler, and joins each kernel to the innermost op that launched it by
the trace's own ids. Work is spread over processes, a task (an op, a battery) at a time; what a process has written stays
when it dies: an assertion on the device costs one task. `$OUT/names.json.xz`:

    {"gpu", "torch", "tasks", "failed", "kernels": {name: [[op, [type], [shape], outer, api, task, dtype, phase, [result]]]}}

`op` is the innermost op open when the kernel was launched and `outer` the outermost one, types and shapes are its inputs'
as the profiler writes them, `api` the call that launched the kernel; `task`, `dtype`, `phase` (forward or backward) and
the result's dtypes are those of the sample that ran.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import lzma
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

DTYPES = "float32 bfloat16 float16 float64 int64 int32 int16 int8 uint8 bool complex64 complex128".split()
MOST = 6  # observations kept of one name
DATABASES = (
    "op_db",
    "foreach_unary_op_db",
    "foreach_binary_op_db",
    "foreach_pointwise_op_db",
    "foreach_reduce_op_db",
    "foreach_other_op_db",
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["record", "work", "merge"])
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--seconds", type=float, default=270)
    parser.add_argument("--jobs", type=int, default=max(2, (os.cpu_count() or 2) - 1))
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--other", action="store_true", help="other samples and sizes, and whole models")
    arguments = parser.parse_args()
    if arguments.other:
        os.environ["KERNEL_NAMES_OTHER"] = "1"
    if arguments.what == "work":
        return work(arguments.files[0], arguments.device)
    if arguments.what == "merge":
        kernels: dict[str, list[Any]] = {}
        found = [json.loads(lzma.decompress(path.read_bytes())) for path in arguments.files]
        for part in found:
            for name, seen in part["kernels"].items():
                kernels.setdefault(name, []).extend(row for row in seen if row not in kernels.get(name, []))
        write(arguments.out, {**found[0], "kernels": {name: rows[:MOST] for name, rows in kernels.items()}})
        return 0
    return record(arguments)


def write(path: Path, content: dict[str, Any]) -> None:
    content["kernels"] = dict(sorted(content["kernels"].items()))
    path.write_bytes(lzma.compress(json.dumps(content, separators=(",", ":")).encode(), preset=9 | lzma.PRESET_EXTREME))


# --- the parent: hands out tasks, and starts a process again that died -------------------------------------------------


def record(arguments: argparse.Namespace) -> int:
    out = arguments.files[0]
    out.mkdir(parents=True, exist_ok=True)
    parts = Path(tempfile.mkdtemp(prefix="names-"))
    started = time.monotonic()
    tasks = arguments.only or task_names()
    waiting, lock, failed, done = iter(tasks), threading.Lock(), Counter(), []

    def left() -> float:
        return arguments.seconds - (time.monotonic() - started)

    def serve(index: int) -> None:
        child = None
        again = None
        while left() > 0:
            with lock:
                task = again or next(waiting, None)
            again = None
            if task is None:
                break
            child = child or start(parts / f"{index}.jsonl", arguments.device)
            limit = threading.Timer(
                min(150 if task.startswith(("inductor", "model")) else 60, max(5, left())), child.kill
            )
            limit.start()
            try:
                child.stdin.write(task + "\n")
                child.stdin.flush()
                answer = child.stdout.readline().strip()
            except OSError:
                answer = ""
            limit.cancel()
            done.append(task)
            if answer.startswith("CUDA error ") and task.count("!") < 4:  # once more without the sample that did it
                again = f"{task}!{answer.split()[-1]}"
            if answer != "done":
                failed[answer or "died or out of time"] += 1
                print(f"[{time.monotonic() - started:5.0f} s] {task}: {answer or 'died or out of time'}", flush=True)
                child.kill()
                child = None
        if child:
            child.kill()

    threads = [threading.Thread(target=serve, args=(index,)) for index in range(arguments.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kernels, samples = gather(parts)
    import torch

    gpu = torch.cuda.get_device_name() if arguments.device == "cuda" else "cpu"
    counts = {"tasks": [len(done), len(tasks)], "samples": samples, "failed": dict(failed)}
    write(out / "names.json.xz", {"gpu": gpu, "torch": torch.__version__, **counts, "kernels": kernels})
    print(f"{len(kernels)} names, {counts}, {time.monotonic() - started:.0f} s; not run: {tasks[len(done) :][:8]}")
    return 0


def start(file: Path, device: str) -> subprocess.Popen[str]:
    cache = tempfile.mkdtemp(prefix="names-cache-")
    environment = {
        **os.environ,
        "TORCHINDUCTOR_CACHE_DIR": cache,
        "TRITON_CACHE_DIR": cache + "/triton",
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "KINETO_LOG_LEVEL": "6",
        "TEARDOWN_CUPTI": "0",
    }
    return subprocess.Popen(
        [sys.executable, __file__, "work", str(file), "--device", device],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    )


def gather(parts: Path) -> tuple[dict[str, list[Any]], dict[str, int]]:
    kernels: dict[str, list[Any]] = defaultdict(list)
    seen: dict[str, set[str]] = defaultdict(set)
    samples: Counter[str] = Counter()
    for path in sorted(parts.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            with contextlib.suppress(json.JSONDecodeError):  # the last line of a process that died
                part = json.loads(line)
                samples.update(part["samples"])
                for name, row in part["rows"]:
                    key = f"{row[0]}{row[1]}"
                    if key not in seen[name] and len(seen[name]) < MOST:
                        seen[name].add(key)
                        kernels[name].append(row)
    return kernels, dict(samples)


# --- a process: runs tasks until its standard input ends -----------------------------------------------------------------


def work(file: Path, device: str) -> int:
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what torch and its tests print is no answer
    import torch

    torch.manual_seed(0)
    for line in sys.stdin:
        task = line.strip()
        samples: Counter[str] = Counter()
        said = "done"
        try:
            rows = run_task(task, device, samples)
            with file.open("a") as out:
                out.write(json.dumps({"task": task, "samples": samples, "rows": rows}) + "\n")
        except Exception as error:
            said = f"{type(error).__name__}: {str(error).splitlines()[0][:100] if str(error) else ''}"
            said = f"CUDA error {samples['at']}" if is_fatal(error) else said
        answer.write(said.replace("\n", " ") + "\n")
        answer.flush()
    return 0


def databases() -> dict[str, Any]:
    from torch.testing._internal import common_methods_invocations as methods

    found = {
        f"{database}:{index}:{op.name}{'.' + op.variant_test_name if op.variant_test_name else ''}": op
        for database in DATABASES
        for index, op in enumerate(getattr(methods, database, ()))
    }
    from torch.testing._internal.common_modules import module_db

    found |= {f"module_db:{index}:{module.name}": module for index, module in enumerate(module_db)}
    from torch.testing._internal.common_optimizers import optim_db

    return found | {f"optim_db:{index}:{info.optim_cls.__name__}": info for index, info in enumerate(optim_db)}


def batteries() -> dict[str, Any]:
    sys.path.insert(0, str(Path(__file__).parent))
    import kernel_names_battery

    return kernel_names_battery.tasks()


def task_names() -> list[str]:
    # Compiled programs take longest: they go first. The rest in any order, so that time that is out costs a bit of each.
    first, rest = sorted(batteries()), list(databases())
    random.Random(0).shuffle(rest)
    return sorted(first, key=lambda name: not name.startswith("inductor")) + rest


def run_task(task: str, device: str, samples: Counter[str]) -> list[Any]:
    import torch

    battery = batteries()
    task, *skipped = task.split("!")
    if task in battery:
        made = battery[task](device)
    else:
        maker = {"module_db": module_cases, "optim_db": optimizer_cases}.get(task.split(":", 1)[0], op_cases)
        made = maker(databases()[task], device, samples)
    cases: list[Any] = []
    try:
        cases.extend(made)
    except Exception as error:
        samples[f"not made: {type(error).__name__}"] += 1
    labels: list[list[Any]] = []
    activities = [torch.profiler.ProfilerActivity.CPU]
    if device == "cuda":
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    if task.startswith(("inductor", "model")):  # what compiles and tunes is not to be recorded
        cases = [case for case in cases if forth_and_back(case[1], samples)]
    with torch.profiler.profile(activities=activities, record_shapes=True) as profile:
        for index, (dtype, call) in enumerate(cases):
            if str(index) in skipped:
                continue
            samples["at"] = index
            labels.append([task, dtype, "forward", []])
            with torch.profiler.record_function(f"sample#{len(labels) - 1}"):
                result = attempt(call, samples)
                if device == "cuda":
                    torch.cuda.synchronize()
            results = [one for one in flat(result) if isinstance(one, torch.Tensor)]
            labels[-1][3] = sorted({str(one.dtype).removeprefix("torch.") for one in results})
            if back := backward(results):
                labels.append([task, dtype, "backward", labels[-1][3]])
                with torch.profiler.record_function(f"sample#{len(labels) - 1}"):
                    attempt(back, samples)
                    if device == "cuda":
                        torch.cuda.synchronize()
    samples.pop("at", None)
    with tempfile.NamedTemporaryFile(suffix=".json") as trace:
        profile.export_chrome_trace(trace.name)
        return join(json.loads(Path(trace.name).read_bytes().decode("utf-8", "replace"))["traceEvents"], labels)


def is_fatal(error: Exception) -> bool:
    return "CUDA error" in str(error) or type(error).__name__ == "AcceleratorError"


def attempt(call: Any, samples: Counter[str]) -> Any:
    try:
        result = call()
    except Exception as error:
        if is_fatal(error):
            raise
        samples["raised"] += 1
        return None
    samples["ran"] += 1
    return result if result is not None else ()


def backward(results: list[Any]) -> Any:
    """Return the call that runs backward from these tensors, `None` where nothing does."""
    import torch

    wanted = [one for one in results if one.requires_grad and one.grad_fn is not None and one.layout == torch.strided]
    gradients = [torch.ones_like(one) for one in wanted]
    return (lambda: torch.autograd.backward(wanted, gradients)) if wanted else None


def forth_and_back(call: Any, samples: Counter[str]) -> bool:
    import torch

    result = attempt(call, samples)
    back = backward([one for one in flat(result) if isinstance(one, torch.Tensor)])
    return result is not None and (back is None or attempt(back, samples) is not None)


def flat(result: Any) -> list[Any]:
    if isinstance(result, (tuple, list)):
        return [one for part in result for one in flat(part)]
    return [*flat(list(result.values()))] if isinstance(result, dict) else [result]


def spread(items: Any, count: int) -> list[Any]:
    """A few of the first sixty, from the first to the last."""
    found = list(itertools.islice(items, 60))
    step = max(1, len(found) // count)
    return found[::step][:count]


def op_cases(op: Any, device: str, samples: Counter[str]) -> Any:
    import torch

    supported = op.supported_dtypes(device)
    backward = op.supported_backward_dtypes(device) if op.supports_autograd else set()
    other = "KERNEL_NAMES_OTHER" in os.environ
    make = op.reference_inputs if other else op.sample_inputs
    for name in (*DTYPES, "complex32") if other else DTYPES:
        dtype = getattr(torch, name)
        if dtype not in supported:
            continue
        made: list[Any] = []
        try:
            made = spread(make(device, dtype, requires_grad=dtype in backward), 6 if name == "float32" else 3)
        except Exception:
            samples["no sample inputs"] += 1
        for sample in made:
            yield name, lambda s=sample: op(s.input, *s.args, **s.kwargs)
    if isinstance(getattr(op, "domain", None), tuple) or type(op).__name__ in ("BinaryUfuncInfo", "ReductionOpInfo"):
        for name in DTYPES:  # tests are small: kernels for whole vectors, for strides and for a scalar too
            dtype = getattr(torch, name)
            if dtype in supported:
                arguments = 2 if type(op).__name__ == "BinaryUfuncInfo" else 1
                plain = [torch.ones(4, 256, 1024, device=device).to(dtype) for _ in range(arguments)]
                yield name, lambda p=plain: op(*p)
                yield (
                    name,
                    lambda p=plain: op(
                        p[0][:, ::2, ::2], *(one.mT.reshape(4, 256, 1024)[:, ::2, ::2] for one in p[1:])
                    ),
                )
                if arguments == 2:
                    yield name, lambda p=plain: op(p[0], 2)
                    yield name, lambda p=plain: op(p[0], p[1].double())
                if arguments == 1 and type(op).__name__ == "ReductionOpInfo":
                    yield name, lambda p=plain: op(p[0], dim=-1)
                    yield name, lambda p=plain: op(p[0], dim=1)


def module_cases(info: Any, device: str, samples: Counter[str]) -> Any:
    import torch

    for name in ("float32", "bfloat16", "float16", "float64"):
        dtype = getattr(torch, name)
        try:
            inputs = info.module_inputs_func(info, device=device, dtype=dtype, requires_grad=True, training=True)
            for one in spread(inputs, 3):
                built, given = one.constructor_input, one.forward_input
                module = info.module_cls(*built.args, **built.kwargs).to(device, dtype)
                yield name, lambda m=module, g=given: m(*g.args, **g.kwargs)
        except Exception:
            samples["no sample inputs"] += 1


def optimizer_cases(info: Any, device: str, samples: Counter[str]) -> Any:
    import torch

    for name in ("float32", "bfloat16", "float16", "float64"):
        dtype = getattr(torch, name)
        for one in spread(info.optim_inputs_func(device=device), 4):
            for how in (
                {},
                *({kind: True} for kind in info.supported_impls if kind in ("foreach", "fused", "capturable")),
            ):
                try:
                    weights = [torch.ones(1000, device=device, dtype=dtype, requires_grad=True) for _ in range(3)]
                    for weight in weights:
                        weight.grad = torch.ones_like(weight)
                    chosen = info.optim_cls(weights, **{"lr": 0.01, **one.kwargs, **how})
                except Exception:
                    samples["no sample inputs"] += 1
                    continue
                closure = (lambda: torch.zeros((), device=device)) if "LBFGS" in info.optim_cls.__name__ else None
                yield name, lambda c=chosen, f=closure: c.step(f) if f else c.step()


# --- the join --------------------------------------------------------------------------------------------------------------


def join(events: list[dict[str, Any]], labels: list[list[Any]]) -> list[Any]:
    """Return [name, row] of each kernel: its op by the external id of its launch."""
    ops, calls, marks, kernels = {}, {}, [], []
    threads: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for event in events:
        category, arguments = event.get("cat"), event.get("args", {})
        if category in ("cpu_op", "user_annotation"):
            if event["name"].startswith("sample#"):
                marks.append(event)
                continue
            ops[arguments.get("External id")] = event
            threads[event["tid"]].append(event)
        elif category in ("cuda_runtime", "cuda_driver", "hip_runtime"):
            calls[arguments.get("correlation")] = event
        elif category in ("kernel", "gpu_memset", "gpu_memcpy"):
            kernels.append(event)
    outermost(threads)
    marks.sort(key=lambda event: event["ts"])
    rows = []
    for kernel in kernels:
        arguments = kernel["args"]
        call = calls.get(arguments.get("correlation"))
        op = ops.get(arguments.get("External id"))
        at = (call or op or kernel)["ts"]
        mark = next((mark for mark in reversed(marks) if mark["ts"] <= at <= mark["ts"] + mark["dur"]), None)
        if mark is None or (call is None and op is None):
            continue  # torch.ones_like between two samples
        said = op["args"] if op else {}
        rows.append(
            [
                kernel["name"],
                [
                    op["name"] if op else None,
                    said.get("Input type", []),
                    said.get("Input Dims", []),
                    op.get("outer") if op else None,
                    call["name"] if call else None,
                    *labels[int(mark["name"].split("#")[1])],
                ],
            ]
        )
    unique = {json.dumps([name, row[0], row[1], row[6:]]): [name, row] for name, row in rows}
    return list(unique.values())


def outermost(threads: dict[Any, list[dict[str, Any]]]) -> None:
    """Write on each op the name of the outermost op around it."""
    for events in threads.values():
        end, outer = -1.0, None
        for event in sorted(events, key=lambda event: (event["ts"], -event["dur"])):
            if event["ts"] >= end:
                end, outer = event["ts"] + event["dur"], event["name"]
            event["outer"] = outer


if __name__ == "__main__":
    sys.exit(main())
