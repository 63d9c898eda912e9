"""Record what Inductor's benchmarks on a real GPU decide, with the time of every candidate.

    python3 tools/choices.py record $OUT/choices.json.xz [--seconds 150]
    python3 tools/choices.py fit tests/data/choices/h200.json.xz      # writes `choices` of fxscope/gpus/h200.json

Three kinds: the kernels that could do a matrix product under max-autotune, a product padded or not (`pad_mm`), and the
launch configurations of a generated kernel. Inductor's times hold what the CPU takes to launch: keep the machine quiet.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import lzma
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

ROOT = Path(__file__).resolve().parents[1]

HALF, FULL = "bfloat16", "float32"
# (dtype, batch, m, k, n, whether the second operand is a transposed weight)
PRODUCTS = [
    (HALF, 1, m, k, n, transposed)
    for m, k, n, transposed in (
        (16, 4096, 4096, True),
        (64, 768, 3072, True),
        (64, 4096, 14336, True),
        (128, 256, 1024, True),
        (128, 1024, 1024, False),
        (256, 256, 256, True),
        (512, 512, 2048, True),
        (512, 768, 768, True),
        (512, 4096, 4096, True),
        (1024, 256, 768, True),
        (1024, 1024, 4096, True),
        (1024, 4096, 1024, False),
        (2048, 768, 768, True),
        (2048, 2048, 2048, True),
        (2048, 704, 256, True),
        (4096, 768, 3072, True),
        (4096, 3072, 768, True),
        (4096, 4096, 4096, True),
        (4096, 512, 512, False),
        (8192, 1024, 1024, True),
        (8192, 768, 2304, True),
        (8192, 4096, 11008, True),
        (8192, 64, 64, True),
        (300, 300, 300, False),
        (768, 8192, 768, False),
        (32, 1024, 32000, True),
    )
]
PRODUCTS += [
    (FULL, 1, 512, 768, 768, True),
    (FULL, 1, 2048, 1024, 1024, True),
    (FULL, 1, 4096, 768, 3072, True),
    (FULL, 1, 128, 256, 1024, True),
    ("float16", 1, 1024, 1024, 1024, True),
    ("float16", 1, 4096, 2048, 2048, True),
    (HALF, 32, 128, 64, 128, False),
    (HALF, 64, 512, 64, 512, False),
    (HALF, 16, 1024, 1024, 128, False),
    (HALF, 8, 1024, 512, 1024, True),
]
# (dtype, batch, m, k, n, whether a pointwise kernel writes the first operand)
ODD = [
    (dtype, batch, m, k, n, written)
    for dtype, batch, m, k, n in (
        (HALF, 1, 2048, 1023, 2047),
        (HALF, 1, 4096, 1025, 1024),
        (HALF, 1, 1024, 1024, 1001),
        (HALF, 1, 4096, 4096, 4095),
        (HALF, 1, 513, 768, 50257),
        (HALF, 1, 8192, 301, 301),
        (HALF, 1, 2049, 2048, 2048),
        (HALF, 64, 197, 64, 197),
        (HALF, 16, 513, 513, 513),
        (FULL, 1, 2048, 1023, 2047),
        (FULL, 1, 4096, 1025, 1024),
        (FULL, 1, 1025, 1025, 1025),
        (FULL, 64, 65, 64, 65),
        (FULL, 16, 513, 513, 513),
        (FULL, 1, 4095, 4095, 4095),
        ("float16", 1, 2047, 2047, 2047),
    )
    for written in (False, True)
]
ROWS = (64, 512, 4096, 32768)
COLUMNS = (256, 1024, 4096)


def kernels() -> dict[str, Any]:
    """Return name → (function of torch, shapes, dtype) of programs that become one generated kernel or two."""
    import torch
    from torch.nn import functional

    found: dict[str, Any] = {}
    for rows in ROWS:
        for columns in COLUMNS:
            wide = (rows, columns)
            for name, function, shapes in (
                ("gelu", lambda x: functional.gelu(x), (wide,)),
                ("geglu", lambda x, y: functional.gelu(x, approximate="tanh") * y, (wide, wide)),
                ("bias", lambda x, b: torch.relu(x + b), (wide, (columns,))),
                ("transpose", lambda x, y: x.t() + y, (wide, (columns, rows))),
                ("softmax", lambda x: torch.softmax(x, -1), (wide,)),
                ("layer_norm", lambda x: functional.layer_norm(x, x.shape[-1:]), (wide,)),
                ("columns", lambda x: x.float().sum(0), (wide,)),
            ):
                found[f"{name}_{rows}x{columns}"] = (function, shapes, HALF)
            found[f"cast_{rows}x{columns}"] = (lambda x: x.to(torch.bfloat16) * 2, (wide,), FULL)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["record", "worker", "fit"])
    parser.add_argument("out", type=Path)
    parser.add_argument("--jobs", type=int, default=1, help="more disturb the CPU's part of each time")
    parser.add_argument("--seconds", type=float, default=150, help="begin nothing after so many")
    parser.add_argument("--worker", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.what == "worker":
        return worker(arguments)
    if arguments.what == "fit":
        return fit(arguments.out)
    with tempfile.TemporaryDirectory() as folder:
        lock = Path(folder, "lock")
        lock.touch()
        processes = []
        for number in range(arguments.jobs):
            command = [sys.executable, __file__, "worker", str(Path(folder, f"{number}.json")), "--worker", str(number)]
            command += ["--jobs", str(arguments.jobs), "--seconds", str(arguments.seconds)]
            environment = {
                **os.environ,
                "CHOICES_LOCK": str(lock),
                "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1",
                "TORCHINDUCTOR_CACHE_DIR": f"{folder}/cache{number}",
                "TRITON_CACHE_DIR": f"{folder}/triton{number}",
                "TORCHINDUCTOR_COMPILE_THREADS": str(max(2, (os.cpu_count() or 2) // arguments.jobs)),
            }
            processes.append(subprocess.Popen(command, env=environment))
        codes = [process.wait() for process in processes]
        rows: list[Any] = []
        about: dict[str, Any] = {}
        for number in range(arguments.jobs):
            path = Path(folder, f"{number}.json")
            if path.exists():
                answer = json.loads(path.read_text())
                rows += answer["rows"]
                about = answer["about"]
    with lzma.open(arguments.out, "wt", encoding="utf-8") as file:
        json.dump({"about": about, "rows": rows}, file)
    kinds = [row["kind"] for row in rows]
    print({kind: kinds.count(kind) for kind in sorted(set(kinds))}, codes)
    return max(codes)


def worker(arguments: argparse.Namespace) -> int:
    import torch
    import triton
    from torch._inductor import select_algorithm
    from torch._inductor.fx_passes import pad_mm
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner

    started = time.monotonic()
    rows: list[dict[str, Any]] = []
    current: dict[str, Any] = {}

    held: list[bool] = []

    def alone(function: Any) -> Any:
        def measure(*args: Any, **kwargs: Any) -> Any:
            if held:
                return function(*args, **kwargs)
            with Path(os.environ["CHOICES_LOCK"]).open() as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                held.append(True)
                try:
                    torch.cuda.synchronize()
                    return function(*args, **kwargs)
                finally:
                    held.clear()

        return measure

    cache = select_algorithm.AlgorithmSelectorCache
    cache.benchmark = alone(cache.benchmark)
    pad_mm._should_pad = alone(pad_mm._should_pad)

    def feedback(timings: Any, name: str, inputs: Any, choices: Any, *rest: Any) -> None:
        candidates = [[choice.name, str(getattr(choice, "description", "")), ms] for choice, ms in timings.items()]
        rows.append({"kind": "product", "op": name, **current, "candidates": candidates})

    select_algorithm.add_feedback_saver(feedback)
    faster = pad_mm.is_padded_faster

    def is_padded_faster(key: str, plain: float, padded: float) -> Any:
        answer = faster(key, plain, padded)
        rows.append(
            {"kind": "pad_mm", **current, "key": str(key), "plain_ms": plain, "padded_ms": padded, "padded": answer}
        )
        return answer

    pad_mm.is_padded_faster = is_padded_faster
    benchmark_all = CachingAutotuner.benchmark_all_configs

    def benchmark_all_configs(self: Any, *args: Any, **kwargs: Any) -> Any:
        timings = alone(benchmark_all)(self, *args, **kwargs)
        meta = {key: value for key, value in self.inductor_meta.items() if isinstance(value, int | float | str | bool)}
        rows.append(
            {
                "kind": "configuration",
                **current,
                "kernel": meta.get("kernel_name") or self.fn.__name__,
                "heuristic": str(self.heuristic_type),
                "size_hints": self.size_hints,
                "meta": meta,
                "signature": {k: str(v) for k, v in self.triton_meta["signature"].items()},
                "candidates": [
                    [dict(x.config.kwargs), x.config.num_warps, x.config.num_stages, x.n_regs, x.n_spills, x.shared, ms]
                    for x, ms in timings.items()
                ],
            }
        )
        return timings

    CachingAutotuner.benchmark_all_configs = benchmark_all_configs

    def tensor(shape: tuple[int, ...], dtype: str) -> torch.Tensor:
        return torch.randn(shape, device="cuda").to(getattr(torch, dtype))

    def work() -> Any:
        for dtype, batch, m, k, n, written in ODD:
            shape = {"dtype": dtype, "batch": batch, "m": m, "k": k, "n": n, "written": written}
            a, b = ((m, k), (k, n)) if batch == 1 else ((batch, m, k), (batch, k, n))
            function = (lambda x, y: (x * 2 + 1) @ y) if written else (lambda x, y: x @ y)
            yield shape, function, (a, b), dtype, {}
        for dtype, batch, m, k, n, transposed in PRODUCTS:
            shape = {"dtype": dtype, "batch": batch, "m": m, "k": k, "n": n, "transposed": transposed}
            a, b = (m, k), (n, k) if transposed else (k, n)
            if batch > 1:
                a, b = (batch, *a), (batch, *b)
            function = (lambda x, y: x @ y.mT) if transposed else (lambda x, y: x @ y)
            yield shape, function, (a, b), dtype, {"max_autotune_gemm": True}
        for more in (False, True):
            for name, (function, shapes, dtype) in kernels().items():
                options = {"max_autotune_pointwise": True} if more else {}
                yield {"program": name, "more": more}, function, shapes, dtype, options

    todo = list(work())
    ends = (len(ODD), len(ODD) + len(PRODUCTS))
    # One of each kind after the other, so that what the time does not reach is a part of all kinds.
    parts = [todo[: ends[0]], todo[ends[0] : ends[1]], todo[ends[1] :]]
    order = sorted(((i + 0.5) / len(part), number, i) for number, part in enumerate(parts) for i in range(len(part)))
    for position, (_, number, index) in enumerate(order):
        if position % arguments.jobs != arguments.worker:
            continue
        if time.monotonic() - started > arguments.seconds:
            print(f"worker {arguments.worker}: time is up at {position} of {len(order)}")
            break
        described, function, shapes, dtype, options = parts[number][index]
        current = described
        torch._dynamo.reset()
        try:
            with torch.no_grad():
                torch.compile(function, options=options)(*(tensor(shape, dtype) for shape in shapes))
            torch.cuda.synchronize()
        except Exception:
            traceback.print_exc()
    about = {"gpu": torch.cuda.get_device_name(0), "torch": torch.__version__, "triton": triton.__version__}
    arguments.out.write_text(json.dumps({"about": about, "rows": rows}, default=str))
    return 0


# ---------------------------------------------------------------------------------------------------------- fitting


def tile_of(description: str) -> str:
    """Return a template's configuration as the prediction names it: "64x128x32 w4 s3"."""
    rows, columns, depth, warps, stages = (
        re.search(rf"{name}=(\d+)", description)[1]  # pyright: ignore[reportOptionalSubscript]
        for name in ("BLOCK_M", "BLOCK_N", "BLOCK_K", "num_warps", "num_stages")
    )
    return f"{rows}x{columns}x{depth} w{warps} s{stages}"


def fit(path: Path) -> int:
    """Fit what a benchmark says of templates and of the library, and hold it against products left out one at a time.

    `rows`: {"m", "k", "n", "dtype", "quiet", "candidates": [[name, description, µs], …]}, the fastest ten or all. What
    was measured on a machine that was busy (`quiet` false) is not fitted to: its choices are only counted.
    """
    sys.path.insert(0, str(ROOT))
    from fxscope import gpus
    from fxscope.gpus import prediction
    from fxscope.gpus.fitting import Observation, fit_family, spreads_of

    content = json.loads(lzma.decompress(path.read_bytes()))
    name = path.name.split(".")[0]
    gpu = gpus.load(name)
    multiprocessors = int(gpu.limit("multi_processor_count"))
    rows = content["products"]
    quiet = [row for row in rows if row["quiet"]]

    def parameters(without: Any) -> dict[str, float]:
        points = [
            (Observation(str(shape(row)), product(row, tile_of(text)), us), 1)
            for row in quiet
            if shape(row) != without
            for kind, text, us in row["candidates"]
            if kind != "library"
        ]
        return fit_family("template", points, multiprocessors, start=prediction.FORMULAS["template"][1])

    def library_us(fitted: dict[str, float], without: Any) -> float:
        """The launch that parts best what the library won from what a template won."""
        known = [row for row in rows if shape(row) != without]
        tried = [tenth / 10 for tenth in range(0, 301, 5)]
        right = [sum(by_library(row, fitted, us) == won_by_library(row) for row in known) for us in tried]
        best = [us for us, count in zip(tried, right, strict=True) if count == max(right)]
        return best[len(best) // 2]

    def by_library(row: Any, fitted: dict[str, float], launch_us: float) -> bool:
        found = prediction.predict(gpu, product(row, None))
        assert found is not None
        return found.us + launch_us < min(template_times(row, fitted).values())

    def template_times(row: Any, fitted: dict[str, float]) -> dict[str, float]:
        tiles = {tile_of(text) for kind, text, _ in row["candidates"] if kind != "library"}
        if len(tiles) < 2:  # only the winner is known of this product: against what the others were tried with
            tiles |= all_tiles
        return {tile: prediction.time_of(fitted, product(row, tile), multiprocessors) for tile in tiles}

    all_tiles = {tile_of(text) for row in quiet for kind, text, _ in row["candidates"] if kind != "library"}
    held: list[tuple[float, float]] = []  # measured, predicted by a fit that left the product out
    kinds: list[bool] = []
    templates: list[bool] = []
    regret: list[float] = []
    for row in rows:
        fitted = parameters(shape(row))
        kinds.append(by_library(row, fitted, library_us(fitted, shape(row))) == won_by_library(row))
        measured = {tile_of(text): us for kind, text, us in row["candidates"] if kind != "library"}
        if row["quiet"] and len(measured) > 1:
            times = template_times(row, fitted)
            held += [(us, times[tile]) for tile, us in measured.items()]
            chosen = min(times, key=times.__getitem__)
            templates.append(chosen == min(measured, key=measured.__getitem__))
            regret.append(measured[chosen] / min(measured.values()))
    fitted = parameters(None)
    launch = library_us(fitted, None)
    about = content["about"]
    print(f"library or template: {sum(kinds)} of {len(kinds)}; which template: {sum(templates)} of {len(templates)}")
    print(
        f"the predicted template took at most {max(regret):.2f} times as long as the best, in the middle {median(regret):.2f}"
    )
    inside = [abs(us / predicted - 1) for us, predicted in held]
    print(f"templates: {len(held)} benchmarks of products left out, median error {median(inside):.1%}")
    configurations = fit_configurations(name)
    target = ROOT / "fxscope" / "gpus" / f"{name}.json"
    described = json.loads(target.read_text())
    described["choices"] = {
        "library_us": launch,
        "template": {
            "parameters": fitted,
            "spreads": msgspec.to_builtins(spreads_of(held)),
            "count": sum(kind != "library" for row in quiet for kind, *_ in row["candidates"]),
        },
        "kind": {"right": sum(kinds), "count": len(kinds)},
        "best_template": {"right": sum(templates), "count": len(templates)},
        # The rule was made looking at this GPU's programs; the other's are what it is held against.
        "padding": content["padding"],
        "configurations": configurations,
        "source": "choices",
    }
    described["sources"]["choices"] = (
        f"Inductor's benchmarks of {len(rows)} products on an {about['gpu']}, torch {about['torch']}, Triton "
        f"{about['triton']}, fitted by tools/choices.py"
    )
    target.write_text(json.dumps(described, indent=1, ensure_ascii=False) + "\n")
    return 0


def fit_configurations(name: str) -> dict[str, Any]:
    """Return class → where the most frequent winner stands, of the zoo's open part, held against the part set aside."""
    from fxscope.gpus.prediction import configuration_class, elements_a_warp

    won: dict[str, Counter[int]] = defaultdict(Counter)
    held: dict[str, list[int]] = defaultdict(list)
    for path in sorted((ROOT / "tests" / "data" / "zoo" / name).glob("*.json.xz")):
        aside = int(hashlib.sha256(path.name.removesuffix(".json.xz").encode()).hexdigest(), 16) % 3 == 0
        for kernel in json.loads(lzma.decompress(path.read_bytes()))["kernels"].values():
            configs = kernel["configs"]
            if len(configs) < 2 or kernel.get("chosen") not in configs:
                continue
            key = configuration_class(kernel["heuristic"], [config["kwargs"] for config in configs.values()])
            order = sorted(configs, key=lambda k: elements_a_warp(configs[k]["kwargs"], configs[k]["num_warps"]))
            place = order.index(kernel["chosen"])
            if aside:
                held[key].append(place)
            else:
                won[key][place] += 1
    found = {}
    for key, counts in sorted(won.items()):
        place = counts.most_common(1)[0][0]
        right = sum(item == place for item in held[key])
        print(f"{key}: {right} of {len(held[key])}")
        if len(held[key]) >= 10:
            found[key] = {"place": place, "held": {"right": right, "count": len(held[key])}}
    return found


def shape(row: Any) -> tuple[Any, ...]:
    return row["m"], row["k"], row["n"], row["dtype"]


def won_by_library(row: Any) -> bool:
    return min(row["candidates"], key=lambda candidate: candidate[2])[0] == "library"


def product(row: Any, tile: str | None) -> Any:
    from fxscope.gpus import prediction
    from fxscope.model import replace
    from fxscope.readers import workload

    work = workload.product(row["m"], row["k"], row["n"], row["dtype"], tile=tile)
    return replace(work, reuse=prediction.COLD)


if __name__ == "__main__":
    sys.exit(main())
