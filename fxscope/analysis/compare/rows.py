"""Changes as rows: equal changes of layers are one row; the largest difference of time comes first."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from fxscope.analysis.compare.kinds import change_word
from fxscope.index import grouped
from fxscope.op_names import is_generated
from fxscope.text import kernel_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fxscope.analysis.findings import Comparison, KernelMatch, KernelUse


NUMBER = re.compile(r"(?<![^._])\d+(?![^.])")


class ChangeRow(NamedTuple):
    """Matches that changed alike. Times are of a step, `None` where one is not known."""

    change: str  # "fused", "new", "faster"
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
    """The changes of a comparison, without what stayed as it was."""
    matches = [match for match in comparison.kernels if is_changed(match)]
    rows = [_row(alike) for alike in grouped(matches, _key).values()]
    return sorted(rows, key=lambda row: (-abs(row.difference_us or 0.0), -max(row.num_a, row.num_b)))


def is_changed(match: KernelMatch) -> bool:
    """Return whether other kernels run, or the same ones in another time."""
    if match.kind not in ("same", "moved"):
        return True
    return match.time is not None and match.time.verdict in ("faster", "slower")


def _key(match: KernelMatch) -> tuple[str, ...]:
    return word_of(match), ops_of(match.a), ops_of(match.b), *map(layerless, _modules(match))


def _row(alike: Sequence[KernelMatch]) -> ChangeRow:
    first = alike[0]
    sides = [use for match in alike for use in match.a], [use for match in alike for use in match.b]
    times = [None if any(use.time_us is None for use in side) or not side else sum(map(_time, side)) for side in sides]
    return ChangeRow(
        word_of(first),
        ops_of(first.a),
        ops_of(first.b),
        together(sorted({module for match in alike for module in _modules(match)}), len(alike)),
        *(sum(use.runs for use in side) for side in sides),
        *times,
        tuple(alike),
    )


def _time(use: KernelUse) -> float:
    return (use.time_us or 0.0) * use.runs


def word_of(match: KernelMatch) -> str:
    """Return what became of the kernels, in one word."""
    word = change_word(match)
    return match.time.verdict if word in ("kept", "moved") and match.time is not None else word


def ops_of(uses: Sequence[KernelUse]) -> str:
    """ "gelu, mul", "gelu·mul", else kernels' names: "2 mm, nvjet_…" of several."""
    names = Counter(
        "memset"
        if use.category == "gpu_memset"
        else "·".join(use.ops)
        if use.ops and not all(map(is_generated, use.ops))
        else kernel_name(use.kernel, 40)
        for use in uses
    )
    return ", ".join(f"{count} {name}" if count > 1 else name for name, count in names.items())


def _modules(match: KernelMatch) -> tuple[str, ...]:
    """The modules of a match: those of the side that knows fewer, for a fused kernel is of several."""
    sides = [tuple(dict.fromkeys(module for use in side for module in use.modules)) for side in (match.a, match.b)]
    return min(filter(None, sides), key=len, default=())[:2]


def layerless(module: str) -> str:
    """ "layers.3.mlp" → "layers.[*].mlp", and "DecoderLayer_3" of a profiler → "DecoderLayer_[*]"."""
    return NUMBER.sub("[*]", module)


def together(modules: Sequence[str], count: int) -> str:
    """ "layers.[0..11].mlp ×12" of twelve layers."""
    found: list[str] = []
    for pattern, names in grouped(modules, layerless).items():
        numbers = [list(map(int, NUMBER.findall(name))) for name in names]
        for column in zip(*numbers, strict=True):
            pattern = pattern.replace("[*]", _range(sorted(set(column))), 1)
        found.append(pattern)
    times = f"×{count}" if count > 1 else ""
    return " ".join(filter(None, (", ".join(found[:2]), times)))


def _range(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return str(numbers[0])
    whole = numbers[-1] - numbers[0] == len(numbers) - 1
    return f"[{numbers[0]}..{numbers[-1]}]" if whole else f"[{','.join(map(str, numbers))}]"
