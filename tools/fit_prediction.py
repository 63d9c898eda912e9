"""Fit the prediction of kernel times to what was measured, and hold it against programs that were set aside.

python3 tools/fit_prediction.py fit h200 [--battery BATTERY.json.xz]    # writes the calibration into fxscope/gpus/h200.json
python3 tools/fit_prediction.py check h200 h100                         # the tables of docs/target.md, on the part set aside
python3 tools/fit_prediction.py check h200 --fitted                     # … on the part fitted to: no measure of quality

The zoo (`tests/data/zoo`) is fitted to but for the third that `tests/zoo/programs.py` sets aside by name. `check` takes the
recording's output codes as if they were planned: sources, shapes and configurations, never times or a library's kernels.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import math
import sys
from collections import defaultdict
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from fxscope import gpus  # noqa: E402
from fxscope.gpus import fitting  # noqa: E402
from fxscope.gpus.calibration import Calibration, CpuFit, FamilyFit, Prediction, StepFit  # noqa: E402
from fxscope.gpus.prediction import Works, corrected, predict, stretch_of, times_of  # noqa: E402
from fxscope.index import grouped  # noqa: E402
from fxscope.model import replace  # noqa: E402
from fxscope.passes.predicted import predicted_step  # noqa: E402
from tools.measured import MeasuredCall, battery_calls, measured_calls  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

ZOO, KINDS_FOLDER, BATTERY = (ROOT / "tests" / "data" / name for name in ("zoo", "kinds", "battery"))
FOLDS = 5  # each program is held against a fit that did not see it
# What is left out of a fit together: programs of one kind of architecture, in inference and training.
KINDS = {
    "text encoder": "albert bert bert_train clip_text deberta distilbert electra modernbert roberta",
    "text decoder": "bloom gemma2 gpt2 gpt2_dynamic gpt2_train gpt_neox llama llama_autocast llama_cache llama_masked "
    "llama_train mistral opt phi3 qwen2 qwen3 qwen3_train frozen_backbone_train",
    "encoder and decoder": "bart t5 t5_train whisper",
    "experts": "mixtral qwen2_moe",
    "state space": "mamba",
    "recurrent": "lstm recurrent",
    "residual convolutions": "nfnet regnet resnet18 resnet18_channels_last_train resnet18_float32 resnet18_train vgg11 "
    "squeezenet",
    "depthwise convolutions": "convnext convnext_tiny efficientnet ghostnet mobilenet_v3 mobilenet_v3_train shufflenet",
    "vision transformer": "deit_train dinov2 segformer swin swin_t swin_train vision_transformer vit vit_train",
    "mixer": "mixer resmlp mlp_autocast_train",
    "detection": "retinanet_heads ssdlite_heads",
    "image generation": "dit unet unet_train vae_decoder",
    "audio": "conformer deepspeech_train wav2letter wav2vec2",
    "graph": "gat gcn gin graph_sage_train",
}
KIND_OF = {name: kind for kind, names in KINDS.items() for name in names.split()}
Programs = dict[str, tuple[dict[str, Any], list[MeasuredCall]]]


class LeftOut(NamedTuple):
    """A call, its time by a fit that saw nothing of its kind of program, and its distance from all that this fit saw."""

    item: fitting.Observation
    us: float
    distance: float
    count: int = 1  # how often its program ran it
    num_fitted: int = 10  # calls of its family that the fit saw; without any the time is a roofline

    @property
    def stretch(self) -> float:
        return stretch_of(self.distance)

    @property
    def is_outside(self) -> bool:
        return math.isinf(self.stretch)


def set_aside(name: str) -> bool:
    """The rule of `tests/zoo/programs.py`, which needs torch to be imported."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % 3 == 0


def read(path: Path) -> Any:
    data = path.read_bytes()
    return json.loads(lzma.decompress(data) if path.suffix == ".xz" else data)


def programs(folder: Path, *, aside: bool | None) -> Programs:
    """Return name → (meta, calls) of the programs of one part; `None`: of both."""
    found: Programs = {}
    for path in sorted(folder.glob("*.json.xz")):
        name = path.name.removesuffix(".json.xz")
        if aside is None or set_aside(name) == aside:
            content = read(path)
            found[name] = (content["meta"], list(measured_calls(content)))
    return found


def observations(found: Programs, gpu: str, memory: float, later_us: float) -> list[fitting.Observation]:
    return [
        fitting.Observation(
            f"{gpu}/{name}", item.call.workload, max(item.us - later_us, 0.3), KIND_OF.get(name) or meta["kind"], memory
        )
        for name, (meta, calls) in found.items()
        for item in calls
        if item.call.workload is not None
    ]


def fit(names: list[str]) -> None:
    """Fit GPUs of one silicon together: they differ by the rate of their memory and by what each call takes longer.

    The first is the one whose battery is fitted to, and whose parameters are found.
    """
    measured = [gpus.load(name) for name in names]
    first = measured[0]
    zoos = {gpu.name: programs(ZOO / gpu.name, aside=False) for gpu in measured}
    points, texts, cards = [], [], {}
    for gpu in measured:
        ratio = gpu.datasheet_bandwidth / first.datasheet_bandwidth
        later_us = later(zoos[first.name], zoos[gpu.name])
        cards[gpu.name] = ratio, later_us
        parts = [zoos[gpu.name], programs(KINDS_FOLDER / gpu.name, aside=None)]
        points += [item for part in parts for item in observations(part, gpu.name, ratio, later_us)]
        texts.append(f"{sum(map(len, parts))} programs on an {gpu.device_name} (tests/data/zoo, tests/data/kinds)")
    content = read(BATTERY / f"{first.name}.json.xz")
    seen = {item.work for item in points}  # a kind that is left out is left out of the battery, too
    added = [fitting.Observation(part, work, us) for part, work, us in battery_calls(content) if work not in seen]
    texts.append(f"{len(added)} calls of fxscope's battery on an {first.device_name}")
    groups = fitting.groups_of([*points, *added])
    parameters = fitting.fit_all(groups, first.multiprocessors, start={})
    held = left_out(groups, first.multiprocessors, parameters)
    print_left_out(groups, parameters, held, first.multiprocessors)
    fits = fitting.described(groups, parameters, first.multiprocessors, held=pairs_of(held))
    for gpu in measured:
        mine = Calibration(
            families={family: of_card(found, *cards[gpu.name]) for family, found in fits.items()},
            step=step_fit(held),
            cpu=fit_cpu(zoos[gpu.name]),
            replay_us=replay_us(content["launch"]),
            source="calibration",
        )
        path = ROOT / "fxscope" / "gpus" / f"{gpu.name}.json"
        description = json.loads(path.read_text())
        description["calibration"] = msgspec.to_builtins(mine)
        text = "; ".join(texts)
        description["sources"]["calibration"] = (
            f"{text}; torch 2.11.0+cu130, fitted together by tools/fit_prediction.py"
        )
        path.write_text(json.dumps(description, indent=1, ensure_ascii=False) + "\n")


def pairs_of(held: Sequence[LeftOut]) -> dict[str, list[tuple[float, str]]]:
    """Return family → (measured over predicted, kind) of calls that no fit saw, as if they were like measured ones."""
    inside = grouped((call for call in held if not call.is_outside), lambda call: fitting.family_of(call.item.work))
    pairs = {
        family: [((call.item.us / call.us) ** (1 / call.stretch), call.item.kind) for call in calls]
        for family, calls in inside.items()
    }
    # Functions of which a fit saw nothing, each of which counts the same.
    unseen = [(call, fitting.family_of(call.item.work)) for call in held if not call.num_fitted]
    pairs["anything"] = [(call.item.us / call.us, family) for call, family in unseen]
    return pairs


def replay_us(launch: Mapping[str, float]) -> float:
    """The time between two kernels of a CUDA graph's replay beyond their own 0.9 µs."""
    return round(max(0.0, (launch["replay_400_us"] - launch["replay_50_us"]) / 350 - 0.9), 3)


def left_out(
    groups: Mapping[str, fitting.FamilyCalls], multiprocessors: int, begin: Mapping[str, Mapping[str, float]]
) -> list[LeftOut]:
    """Every call with its prediction by a fit that saw nothing of its kind, whose search began at the fit to all.

    The battery is never left out.
    """
    found: list[LeftOut] = []
    for kind in sorted({kind for group in groups.values() for kind in group.kinds} - {"battery"}):
        needed = {family for family, group in groups.items() if kind in group.kinds} | {"pointwise", "anything"}
        others = {
            name: rows(groups[name], groups[name].kinds != kind) for name in needed if {*groups[name].kinds} != {kind}
        }
        parameters = fitting.fit_all(others, multiprocessors, start={}, begin=begin)
        for family, group in groups.items():
            if family == "anything" or kind not in group.kinds:
                continue
            mine = rows(group, group.kinds == kind)
            used = family if family in parameters else "anything"
            num_fitted = len(others[family].us) if family in others else 0
            times = times_of(used, parameters[used], mine.works, multiprocessors)
            nearest = np.full(len(mine.us), np.inf)
            if num_fitted:
                own = times_of(family, parameters[family], others[family].works, multiprocessors)
                table = fitting.corrections_of(others[family], own)
                factors, nearest = corrected(table, [item.work for item in mine.items], mine.works)
                times = times * factors
            found += [
                LeftOut(item, float(us), float(distance), int(count), num_fitted)
                for item, us, distance, count in zip(mine.items, times, nearest, mine.counts, strict=True)
            ]
    return found


def rows(group: fitting.FamilyCalls, mask: np.ndarray) -> fitting.FamilyCalls:
    """The calls of a family that a mask keeps."""
    items = group.items[mask]
    works = Works([item.work for item in items], [item.memory for item in items])
    return fitting.FamilyCalls(items, works, group.us[mask], group.counts[mask], group.kinds[mask])


def print_left_out(
    groups: Mapping[str, fitting.FamilyCalls],
    parameters: Mapping[str, Mapping[str, float]],
    held: Sequence[LeftOut],
    multiprocessors: int,
) -> None:
    """Print how well a kind is predicted by all others: times by a fit, and ranges by errors, that saw nothing of it."""
    steps: dict[bool, list[tuple[float, bool]]] = {True: [], False: []}
    calls: dict[bool, list[bool]] = {True: [], False: []}
    unseen: list[bool] = []
    near: dict[str, list[bool]] = defaultdict(list)
    for kind, mine in grouped(held, lambda call: call.item.kind).items():
        others = [call for call in held if call.item.kind != kind]
        rest = {name: rows(group, group.kinds != kind) for name, group in groups.items() if {*group.kinds} != {kind}}
        pairs, step = pairs_of(others), step_fit(others)
        ranges = {
            family: fitting.range_of(
                group, times_of(family, parameters[family], group.works, multiprocessors), pairs.get(family, ())
            )
            for family, group in rest.items()
        }
        assert step is not None
        for program in grouped(mine, lambda call: call.item.program).values():
            real = low = high = total = 0.0
            for call in program:
                least, most = interval_of(call, ranges)
                calls[kind in KINDS].append(least <= call.item.us <= most)
                unseen += [calls[kind in KINDS][-1]] * (not call.num_fitted)
                near["outside" if call.is_outside else f"{int(call.distance)}"].append(calls[kind in KINDS][-1])
                us = call.us * step.middle
                real, total = real + call.count * call.item.us, total + call.count * us
                low += call.count * (least if call.is_outside else us / step.factor**call.stretch)
                high += call.count * (most if call.is_outside else us * step.factor**call.stretch)
            steps[kind in KINDS].append((total / real, low <= real <= high))
    print("| kinds left out | programs | within 15 % | within 25 % | in the range | calls | in the interval |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for of_zoo, text in ((False, "further kinds"), (True, "kinds of the zoo")):
        found = steps[of_zoo]
        within = " | ".join(share(abs(ratio - 1) <= most for ratio, _ in found) for most in (0.15, 0.25))
        ranged = f"{share(inside for _, inside in found)} | {len(calls[of_zoo])} | {share(calls[of_zoo])}"
        print(f"| {text} | {len(found)} | {within} | {ranged} |")
    by_distance = ", ".join(f"{name}: {share(inside)} of {len(inside)}" for name, inside in sorted(near.items()))
    print(f"calls in the interval by their distance from those fitted: {by_distance}")
    print(f"calls of functions that the fit did not see: {share(unseen)} of {len(unseen)} in the interval")


def interval_of(call: LeftOut, ranges: Mapping[str, tuple[float, float]]) -> tuple[float, float]:
    """The interval of a call as `predict` makes it."""
    if call.is_outside:
        low, high = ranges["anything"]
        return call.us * low, call.us * high
    low, high = ranges[fitting.family_of(call.item.work)]
    return call.us * low**call.stretch, call.us * high**call.stretch


def later(first: Programs, other: Programs) -> float:
    """By how much a call takes longer on another GPU, in µs: the median over the calls that both ran."""
    pairs = [
        item.us - mine.us
        for name, (_, calls) in other.items()
        for mine, item in zip(first.get(name, ({}, []))[1], calls, strict=False)
        if mine.call.kernel == item.call.kernel
    ]
    return round(median(pairs), 3) if pairs else 0.0


def of_card(found: FamilyFit, memory: float, later_us: float) -> FamilyFit:
    """The fit of a family with another memory's rate and later calls."""
    parameters = {
        name: value * memory if name == "dram" else value + later_us * name.endswith("floor")
        for name, value in found.parameters.items()
    }
    return replace(found, parameters={name: float(f"{value:.4g}") for name, value in parameters.items()})


def step_fit(held: Sequence[LeftOut]) -> StepFit | None:
    """Return how far sums over whole programs are off, without the calls that are unlike what was measured."""
    programs = grouped((call for call in held if not call.is_outside), lambda call: (call.item.program, call.item.kind))
    if len(programs) < 10:
        return None
    sums = []
    for (_, kind), calls in programs.items():
        real = sum(call.count * call.item.us for call in calls)
        sums.append((real, np.array([call.count * call.us for call in calls]), [call.stretch for call in calls], kind))
    middle = fitting.quantile([(real / us.sum(), kind) for real, us, _, kind in sums], 0.5)
    needed = [(factor_to_reach(real, us * middle, stretches), kind) for real, us, stretches, kind in sums]
    return StepFit(middle=middle, factor=fitting.quantile(needed, 0.8), count=len(programs))


def factor_to_reach(real: float, us: np.ndarray, stretches: Sequence[float]) -> float:
    """Return the least factor by which calls must be off, each as far as its stretch says, for their sum to be the real one."""
    upwards = 1 if real > us.sum() else -1
    factors = np.geomspace(1, 20, 400)
    reached = (us[:, None] * factors ** (upwards * np.array(stretches)[:, None])).sum(axis=0)
    return float(factors[min(np.searchsorted(reached * upwards, real * upwards), len(factors) - 1)])


def fit_cpu(zoo: Programs) -> CpuFit:
    """What a step takes where the CPU sets its length, which is in every program of the zoo."""
    rows = []
    for meta, calls in zoo.values():
        graphs = {item.call.graph for item in calls}
        generated = sum(not item.call.is_extern for item in calls)
        backward = sum(":backward" in graph for graph in graphs)
        rows.append(([len(graphs), backward, generated, len(calls) - generated], meta["per_call_us"]))
    counts = np.array([row[0] for row in rows], dtype=float)
    wall = np.array([row[1] for row in rows])

    def fitted(chosen: np.ndarray) -> np.ndarray:
        weights, found = 1 / wall[chosen], np.zeros(counts.shape[1])
        for _ in range(30):
            scaled = counts[chosen] * weights[:, None]
            found = np.maximum(np.linalg.lstsq(scaled, wall[chosen] * weights, rcond=None)[0], 0.0)
            error = np.abs(np.log(np.maximum(counts[chosen] @ found, 1.0) / wall[chosen]))
            weights = np.sqrt(np.minimum(1.0, 0.2 / np.maximum(error, 1e-6))) / wall[chosen]
        return found

    everything = np.arange(len(rows))
    ratios = np.empty(len(rows))
    for fold in range(FOLDS):
        mine = everything % FOLDS == fold
        ratios[mine] = wall[mine] / np.maximum(counts[mine] @ fitted(everything[~mine]), 1.0)
    found = fitted(everything)
    low, high = (round(float(value), 3) for value in np.quantile(ratios, [0.1, 0.9]))
    graph, backward, generated, library = (float(f"{value:.4g}") for value in found)
    return CpuFit(
        graph_us=graph,
        backward_us=backward,
        generated_us=generated,
        library_us=library,
        low=low,
        high=high,
        count=len(rows),
    )


# ---------------------------------------------------------------------- holding it against recordings


def check(names: list[str], *, aside: bool, variants: Path | None) -> None:
    kind = "set aside" if aside else "fitted to"
    print(
        f"| GPU ({kind}) | programs | within 15 % | in the range | calls | median error | in the interval | wall in range |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    steps: dict[str, dict[str, tuple[float, float]]] = {}
    families: dict[str, dict[str, list[tuple[float, float, bool]]]] = {}
    for name in names:
        gpu = gpus.load(name)
        found = {
            program: held(meta, calls, gpu) for program, (meta, calls) in programs(ZOO / name, aside=aside).items()
        }
        steps[name] = {program: (real, us) for program, (_, real, us, _, _) in found.items() if us is not None}
        each = [item for calls, *_ in found.values() for item in calls]
        families[name] = defaultdict(list)
        for family, real, us, inside in each:
            families[name][family].append((real, us, inside))
        within = [abs(us / real - 1) <= 0.15 for real, us in steps[name].values()]
        ranged = [inside for _, _, _, inside, _ in found.values() if inside is not None]
        wall = [inside for *_, inside in found.values() if inside is not None]
        print(
            f"| {gpu.device_name} | {len(found)} | {share(within)} of {len(within)} | {share(ranged)} | {len(each)} | "
            f"{median(abs(us / real - 1) for _, real, us, _ in each):.1%} | {share(i for *_, i in each)} | {share(wall)} |"
        )
        print_outliers(steps[name], set(found) - set(steps[name]))
    print(
        "\n| GPU | family | calls | median error | in the interval | predicted over real, sum |\n|---|---|--:|--:|--:|--:|"
    )
    for name in names:
        for family, items in sorted(families[name].items()):
            total = sum(us for _, us, _ in items) / sum(real for real, _, _ in items)
            error = median(abs(us / real - 1) for real, us, _ in items)
            print(f"| {name} | {family} | {len(items)} | {error:.1%} | {share(i for *_, i in items)} | {total:.2f} |")
    if variants is not None:
        order(names, variants)


def held(
    meta: dict[str, Any], calls: list[MeasuredCall], gpu: gpus.Gpu
) -> tuple[list[tuple[str, float, float, bool]], float, float | None, bool | None, bool | None]:
    """Return (family, real, predicted, inside) of each call; of the step: real, predicted, inside; wall inside."""
    each: list[tuple[str, float, float, bool]] = []
    planned = []
    for item in calls:
        found = predict(gpu, item.call.workload)
        if isinstance(found, Prediction) and item.call.workload is not None:
            each.append((fitting.family_of(item.call.workload), item.us, found.us, found.low <= item.us <= found.high))
            planned.append(
                replace(item.call, estimated_us=found.us, estimated_range_us=(found.low, found.high), timing=None)
            )
        else:
            planned.append(item.call)
    real = sum(item.us for item in calls)
    step = predicted_step(planned, gpu)
    if step is None or step.device_range_us is None:
        return each, real, None, None, None
    wall = None
    if step.wall_range_us is not None and "per_call_us" in meta:
        wall = step.wall_range_us[0] <= meta["per_call_us"] <= step.wall_range_us[1]
    return each, real, step.device_us, step.device_range_us[0] <= real <= step.device_range_us[1], wall


def share(values: Iterable[bool]) -> str:
    found = list(values)
    return f"{sum(found) / len(found):.0%}" if found else "–"


def print_outliers(steps: dict[str, tuple[float, float]], missing: set[str]) -> None:
    off = [f"{name} {us / real - 1:+.0%}" for name, (real, us) in steps.items() if abs(us / real - 1) > 0.15]
    print(
        f"<!-- off by more than 15 %: {', '.join(off) or 'none'}; not predicted: {', '.join(sorted(missing)) or 'none'} -->"
    )


def order(names: list[str], variants: Path) -> None:
    """Which of two variants of a program takes the device longer: `FAMILY__VARIANT` within a family."""
    print(
        "\n| GPU | variants | within 15 % | pairs | order right | … that differ by 10 % or more |\n|---|--:|--:|--:|--:|--:|"
    )
    for name in names:
        if not (variants / name).is_dir():
            continue
        gpu = gpus.load(name)
        found = {n: held(meta, calls, gpu) for n, (meta, calls) in programs(variants / name, aside=None).items()}
        steps = {n: (real, us) for n, (_, real, us, _, _) in found.items() if us is not None}
        right, clear = [], []
        for a, b in combinations(sorted(steps), 2):
            if a.partition("__")[0] != b.partition("__")[0]:
                continue
            agrees = (steps[a][0] < steps[b][0]) == (steps[a][1] < steps[b][1])
            right.append(agrees)
            if abs(np.log(steps[a][0] / steps[b][0])) > np.log(1.1):
                clear.append(agrees)
        within = share(abs(us / real - 1) <= 0.15 for real, us in steps.values())
        pairs = f"{len(right)} | {share(right)} | {share(clear)} of {len(clear)}"
        print(f"| {gpu.device_name} | {len(steps)} | {within} | {pairs} |")
        print_outliers(steps, set(found) - set(steps))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=["fit", "check"])
    parser.add_argument("gpu", nargs="+")
    parser.add_argument("--fitted", action="store_true", help="check on the part that was fitted to")
    parser.add_argument("--variants", type=Path, default=ROOT / "tests" / "data" / "variants")
    arguments = parser.parse_args()
    if arguments.what == "fit":
        fit(arguments.gpu)
    else:
        check(
            arguments.gpu,
            aside=not arguments.fitted,
            variants=arguments.variants if arguments.variants.is_dir() else None,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
