"""The bytes of calls, held against the addresses that their kernels touch.

`touched.json.xz` has them of each Triton kernel of the captures and of some of the zoo: its text ran on arrays of indices.
"""

import dataclasses
import json
import lzma
from pathlib import Path

import pytest

from fxscope.model import MemoryDep, Recording
from fxscope.passes.footprint import addresses, footprint, overlap
from fxscope.readers import output_code, triton_accesses
from tests import captures

DATA = Path(__file__).parents[1] / "data"
TOUCHED = json.loads(lzma.decompress((DATA / "touched.json.xz").read_bytes()))


@pytest.mark.parametrize("name", TOUCHED["captures"])
def test_the_bytes_of_a_call_are_the_addresses_that_it_touches(name: str) -> None:
    recording = captures.read(name)
    memory: dict[str, str] = {}  # buffer → the first one in its memory, by graph
    for source in recording.sources:
        if source.id.endswith(":output_code"):
            graph = source.id.removesuffix("output_code")
            memory |= {graph + key: first for key, first in output_code.parse(source.text).memory.items()}
    calls = {call.id: call for call in recording.calls}
    for call_id, sides in TOUCHED["captures"][name].items():
        for side, touched in sides.items():
            said = dict.fromkeys(touched, 0)
            for access in getattr(calls[call_id], side) or ():
                buffer = memory.get(f"{call_id.rpartition(':')[0]}:{access.buffer}", access.buffer)
                if buffer in said:
                    said[buffer] += access.bytes or 0
            assert said == touched, (call_id, side)


def test_what_is_written_again_is_not_read() -> None:
    recording = captures.read("plans/cache_update/real")
    assert [access.buffer for access in recording.calls[0].reads or ()] == ["arg1_1"]
    (adding,) = [
        call
        for call in captures.read("plans/embedding_loss/real").calls
        if call.writes
        and call.reads
        and {access.buffer for access in call.writes} & {access.buffer for access in call.reads}
    ]
    assert {access.bytes for access in adding.writes} == {2048 * 256 * 4}
    assert 2048 * 256 * 4 in {access.bytes for access in adding.reads if access.buffer == adding.writes[0].buffer}


def dep(index: str, **ranges: int) -> MemoryDep:
    return MemoryDep(index=index, ranges=tuple(ranges.items()))


def test_loops_that_overlap_touch_what_they_share_once() -> None:
    half, other = dep("100*a + b", a=64, b=60), dep("100*a + b + 20", a=64, b=60)
    assert addresses([half, other]) == addresses([half, other, half]) == 64 * 80
    assert overlap([half], [other]) == 64 * 40
    assert addresses([dep("a", a=6400), half]) == 6400  # rows that follow upon each other
    assert addresses([dep("a", a=5), dep("a + 50", a=5)]) == 10
    assert addresses([dep("99 - b + 100*a", a=64, b=100), dep("100*a + b", a=64, b=50)]) == 6400  # backwards
    # Windows that meet themselves, strides of no common grid, a row that is left, what is looked up: an upper bound.
    windows, rows = dep("a + b", a=5, b=3), dep("8*tmp0 + b", a=16, b=8)
    assert addresses([windows]) is addresses([dep("3*a + 2*b", a=4, b=4), half]) is addresses([rows]) is None
    assert addresses([half, dep("100*a + b + 50", a=64, b=60)]) is addresses([dep("a - 1", a=5), half]) is None
    assert (footprint([windows]), footprint([rows])) == (7, 128)
    assert overlap([windows], [half]) is None and overlap([rows], [rows]) == 128


def planned(folder: Path, factory: str) -> Recording:
    import fxscope
    from fxscope import cli

    saved = folder / "plan.fxscope"
    program = DATA / "programs" / "overlapping.py"
    assert cli.main(["run", f"{program}:{factory}", "--target", "h200", "-o", str(saved)]) == 0
    return fxscope.load(saved)


@pytest.mark.slow
def test_what_a_kernel_stores_it_does_not_read_and_what_is_written_in_part_is_read_whole(tmp_path: Path) -> None:
    recording = planned(tmp_path, "build_other")
    scaled, square = 2 * 16 * 64 * 64 * 4, 16 * 16 * 4
    written = {access.buffer for call in recording.calls for access in call.writes or () if access.bytes == scaled}
    assert written and not any(access.buffer in written for call in recording.calls for access in call.reads or ())
    assert square in {access.bytes for call in recording.calls for access in call.reads or ()}


@pytest.mark.slow
def test_what_is_looked_up_depends_on_what_its_place_depends_on(tmp_path: Path) -> None:
    recording = planned(tmp_path, "build_looked_up")
    tables = [access for call in recording.calls for access in call.reads or () if access.shape == (96, 8)]
    assert {access.bytes for access in tables} == {16 * 8 * 4}
    (picture,) = (access for call in recording.calls for access in call.reads or () if access.shape == (1, 4, 32, 32))
    assert picture.bytes == 4 * (4 * 2 * 2) * 4  # four neighbours of each of 2 x 2 points, in each channel


@pytest.mark.slow
def test_what_a_kernel_keeps_for_itself_and_slices_that_overlap(tmp_path: Path) -> None:
    recording = planned(tmp_path, "build")
    sliced, normal = sorted(recording.calls, key=lambda call: call.bytes_read or 0)
    assert sliced.bytes_read == 64 * 80 * 4
    assert [(access.dtype, access.bytes) for access in normal.writes or ()] == [
        ("float32", 16 * 8192 * 4),
        ("bfloat16", 16 * 8192 * 2),
    ]


@pytest.mark.slow
def test_rows_that_are_looked_up_and_written() -> None:
    """A table of which few rows are read by several joined loops, a store by index, a sum by index (a read, too), a mask."""
    import torch

    import fxscope

    def program(ids, table, positions, cache, values, wide):
        rows = torch.nn.functional.layer_norm(table[ids] + positions[: ids.shape[1]], (64,))
        mask = torch.zeros(20, 8).scatter(1, ids.reshape(20, 1) % 8, 1.5)
        cache[:, ids[0]] = values
        padded = torch.nn.functional.pad(wide[:, ::2], (1, 1)).exp()
        return rows, padded, mask.sigmoid(), torch.zeros(500, 64).index_add_(0, ids[1], rows[0])

    given = torch.arange(20).reshape(2, 10), torch.randn(500, 64), torch.randn(100, 64), torch.zeros(3, 500)
    recording = fxscope.record(program, *given, torch.ones(3, 10), torch.ones(6, 40), compile=True, steps=1, warmup=0)
    names = {
        (name, side): [
            access for call in recording.calls for access in getattr(call, side) or () if access.shape == shape
        ]
        for name, shape in {
            "tables": (500, 64),
            "positions": (100, 64),
            "cache": (3, 500),
            "mask": (20, 8),
            "wide": (6, 40),
        }.items()
        for side in ("reads", "writes")
    }
    sizes = {key: sorted(access.bytes for access in found) for key, found in names.items()}
    assert sizes["wide", "reads"] == [6 * 20 * 4]
    assert sizes["cache", "reads"] == [] and sizes["cache", "writes"] == [3 * 10 * 4]
    assert sizes["positions", "reads"] == [10 * 64 * 4]
    assert max(sizes["mask", "writes"]) == 20 * 8 * 4
    # What is added to, unless the kernel fills it itself (that depends on the number of threads); and the table.
    fill_apart = sum(any(access.shape == (500, 64) for access in call.writes or ()) for call in recording.calls) > 1
    assert sizes["tables", "reads"] == [10 * 64 * 4] * fill_apart + [20 * 64 * 4]


@pytest.mark.parametrize("name", TOUCHED["zoo"])
def test_what_a_kernels_code_proves_is_what_it_touches(name: str) -> None:
    """Without a scheduler's count: broadcasts, digits of an index, channels last, sums over rows; no concatenations."""
    codes = json.loads(lzma.decompress((DATA / "zoo" / "h200" / f"{name}.json.xz").read_bytes()))["codes"]
    proven: set[tuple[str, str]] = set()
    for code in map(output_code.parse, codes.values() if isinstance(codes, dict) else codes):
        for call in (call for call in code.calls if call.kernel in TOUCHED["zoo"][name]):
            touched = TOUCHED["zoo"][name][call.kernel]
            for (pointer, loaded), (size, certain) in triton_accesses.touched(call, code.kernels[call.kernel]).items():
                place = f"{pointer} {'read' if loaded else 'written'}"
                if certain and place in touched:
                    assert size == touched[place], (call.kernel, place)
                    proven.add((call.kernel, place))
    assert len(proven) > 20


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("xmask = xindex < xnumel", "xmask = xindex < 5"),
        ("xmask = xindex < xnumel", "xmask = (xindex % 2) < 1"),
        ("xmask = xindex < xnumel", "xmask = xindex < ynumel"),
        ("xmask = xindex < xnumel", "xmask = tl.full([XBLOCK], False, tl.int1)[:]"),
        ("    xmask = xindex < xnumel\n", ""),
        (", xmask)", ", xmask | tmp0)"),
        (", xmask)", ", xmask & (tmp0 < 3))"),
        (", xmask)", ", xmask if tmp0 else tmp1)"),
    ],
)
def test_a_mask_that_may_leave_something_out_proves_no_bytes(was: str, now: str) -> None:
    source = """
@triton.jit
def copied(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    xnumel = 40
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    x0 = xindex
    tmp0 = tl.load(in_ptr0 + (x0), xmask)
    tl.store(out_ptr0 + (x0), tmp0, xmask)
"""
    arguments = ("in_ptr0", "out_ptr0", "xnumel", "XBLOCK")
    meta = {"triton_meta": "{'signature': {'in_ptr0': '*fp32', 'out_ptr0': '*fp32'}}"}
    kernel = output_code.Kernel(
        name="copied", type="triton_pointwise", lines=(1, 1), source=source, arguments=arguments, origins=(), meta=meta
    )
    call = output_code.Call(
        kernel="copied",
        type="triton_pointwise",
        handle=None,
        lines=(1, 1),
        arguments=("arg0", "buf0", "40"),
        results=(),
        reads=(),
        writes=(),
        device=None,
        source_nodes=(),
        original_aten=(),
    )
    assert was in source
    assert set(triton_accesses.touched(call, kernel).values()) == {(160, True)}
    other = dataclasses.replace(kernel, source=source.replace(was, now))
    assert not any(found.certain for found in triton_accesses.touched(call, other).values())
