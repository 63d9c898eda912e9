"""Changes as rows: equal changes of layers are one row; the largest difference of time comes first."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from fxscope.analysis.compare.uses import per_step_of, without_memsets
from fxscope.analysis.findings import Comparison, KernelMatch, KernelUse
from fxscope.analysis.groups import label_of, numberless, pattern
from fxscope.analysis.missed import with_phase
from fxscope.analysis.stats import RUN_TO_RUN
from fxscope.index import grouped, known_sum
from fxscope.kernel_names.vendors import collective
from fxscope.op_names import is_generated
from fxscope.text import kernel_name


class ChangeRow(NamedTuple):
    """Matches that changed alike. Times are of a step, `None` where one is not known."""

    change: str  # "fused", "new", "faster"; "longer" where the noise is unknown
    a: str  # the ops of A
    b: str
    where: str  # "layers.[0..11].mlp ×12"
    num_a: float  # kernels
    num_b: float
    a_us: float | None
    b_us: float | None
    matches: tuple[KernelMatch, ...]

    @property
    def difference_us(self) -> float | None:
        """Return how much longer B takes. Work that only one side does counts whole."""
        if (self.num_a and self.a_us is None) or (self.num_b and self.b_us is None):
            return None
        return (self.b_us or 0.0) - (self.a_us or 0.0)


def change_rows(comparison: Comparison) -> list[ChangeRow]:
    rows = [_row(alike) for alike in grouped(changed(comparison), _key).values()]
    return sorted(rows, key=lambda row: (-abs(row.difference_us or 0.0), -max(row.num_a, row.num_b)))


def changed(comparison: Comparison) -> list[KernelMatch]:
    """The matches of other kernels, or of the same ones in another time.

    Of hundreds of kernels some differ by chance: where the step's device time shows no difference, a kernel's own must
    be larger than what that time varies by. With one step on a side all runs of a kernel must be, together.
    """
    step = comparison.step_time
    least_us = 0.0
    kept = [match for match in comparison.kernels if match.kind in ("same", "moved") and match.time]
    differences = {
        name: sum(map(_difference_us, alike)) for name, alike in grouped(kept, lambda item: item.a[0].kernel).items()
    }
    if step is not None and step.verdict not in ("faster", "slower") and step.a_us and step.ratio_high and step.ratio:
        least_us = step.a_us * min(RUN_TO_RUN, step.ratio_high / step.ratio - 1)
    found: list[KernelMatch] = []
    for match in comparison.kernels:
        time = match.time
        if match.kind not in ("same", "moved"):
            found += [] if all(use.is_rare for use in (*match.a, *match.b)) else [match]
        elif time is None or collective(match.a[0].kernel):
            continue  # collectives wait: their time says how late other ranks are
        elif time.is_single:
            if step is not None and abs(differences[match.a[0].kernel]) > RUN_TO_RUN * (step.a_us or 0.0):
                found.append(match)
        elif time.verdict in ("faster", "slower") and abs(_difference_us(match)) > least_us:
            found.append(match)
    return found


def _difference_us(match: KernelMatch) -> float:
    return (match.time.b_us or 0.0) - (match.time.a_us or 0.0) if match.time else 0.0


def _key(match: KernelMatch) -> tuple[str, ...]:
    return word_of(match), ops_of(match.a), ops_of(match.b), *map(numberless, _modules(match))


def _row(alike: Sequence[KernelMatch]) -> ChangeRow:
    first = alike[0]
    a, b = [use for match in alike for use in match.a], [use for match in alike for use in match.b]
    return ChangeRow(
        word_of(first),
        ops_of(first.a),
        ops_of(first.b),
        together(sorted({module for match in alike for module in _modules(match)}), len(alike)),
        num_kernels(a),
        num_kernels(b),
        total_us(a),
        total_us(b),
        tuple(alike),
    )


def total_us(uses: Sequence[KernelUse]) -> float | None:
    """The µs per step of some kernels, the median of their sums; `None`: no kernel, or a time is not known."""
    if (measured := per_step_of([use.samples_us for use in uses])) is not None:
        return measured
    return known_sum(None if use.time_us is None else use.time_us * use.runs for use in uses) if uses else None


def num_kernels(uses: Sequence[KernelUse]) -> float:
    """How many kernels a step launches, as a report counts them."""
    working = without_memsets(uses)
    ran = per_step_of([[None if time is None else 1 for time in use.samples_us] for use in working])
    return sum(use.runs for use in working) if ran is None else ran


def word_of(match: KernelMatch) -> str:
    if match.kind not in ("same", "moved") or match.time is None:
        return match.kind
    return ("longer" if _difference_us(match) > 0 else "shorter") if match.time.is_single else match.time.verdict


def ops_of(uses: Sequence[KernelUse]) -> str:
    """ "gelu, mul", "gelu·mul", else kernels' names: "2 mm, nvjet_…" of several."""
    names = Counter(map(_label, uses))
    return ", ".join(f"{count} {name}" if count > 1 else name for name, count in names.items())


def _label(use: KernelUse) -> str:
    if use.category == "gpu_memset":
        return "memset"
    has_ops = use.ops and not all(map(is_generated, use.ops))
    label = label_of(use.ops) if has_ops else kernel_name(use.kernel, 40)
    return with_phase(label, "backward" if use.is_backward else None)


def _modules(match: KernelMatch) -> tuple[str, ...]:
    """The modules of a match: those of the side that knows fewer, for a fused kernel is of several."""
    sides = [tuple(dict.fromkeys(module for use in side for module in use.modules)) for side in (match.a, match.b)]
    return min(filter(None, sides), key=len, default=())[:2]


def together(modules: Sequence[str], count: int) -> str:
    """ "layers.[0..11].mlp ×12" of twelve layers."""
    found = [pattern(names) or "" for names in grouped(modules, numberless).values()]
    times = f"×{count}" if count > 1 else ""
    return " ".join(filter(None, (", ".join(found[:2]), times)))
