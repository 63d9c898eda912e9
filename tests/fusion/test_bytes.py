"""The bytes of calls, held against the addresses that their kernels touch: each Triton kernel's text runs on indices."""

from __future__ import annotations

import pytest

from fxscope.model import replace
from tests import captures
from tests.fusion.triton_addresses import audit, touched

CAPTURES = [name for name, folder in captures.CAPTURES.items() if (folder / "inductor").is_dir()]


@pytest.mark.parametrize("name", CAPTURES)
def test_the_bytes_of_a_call_are_the_addresses_that_it_touches(name: str) -> None:
    rows, uncounted = audit(captures.read(name))
    assert [row for row in rows if row.touched is not None and row.said != row.touched] == []
    assert set(uncounted.values()) <= {"xnumel is not known", "arg_Q is not known"}  # a size; a template


def test_a_wrong_count_is_found() -> None:
    recording = captures.read("plans/softmax/real")
    assert [row.said == row.touched for row in audit(recording)[0]] == [True, True]
    calls = tuple(
        replace(call, reads=tuple(replace(access, bytes=(access.bytes or 0) * 2) for access in call.reads or ()))
        for call in recording.calls
    )
    assert [row.said == row.touched for row in audit(replace(recording, calls=calls))[0]] == [False, True]


PADDED = """
@triton.jit
def padded(in_ptr0, in_ptr1, in_out_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    xnumel = 40
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    x0 = (xindex % 10)
    x1 = xindex // 10
    x2 = xindex
    tmp0 = x0
    tmp1 = tl.full([1], 1, tl.int64)
    tmp2 = tmp0 >= tmp1
    tmp3 = tl.full([1], 9, tl.int64)
    tmp4 = tmp0 < tmp3
    tmp5 = tmp2 & tmp4
    tmp6 = tl.load(in_ptr0 + ((-1) + x0 + 8*x1), tmp5 & xmask, other=0.0)
    tmp7 = tl.load(in_ptr1 + (triton_helpers.minimum(x0.to(tl.float32) * 0.5, 3).to(tl.int32)), xmask)
    tl.store(in_out_ptr0 + (x2), tmp6 + tmp7, xmask)
    tmp8 = tl.load(in_out_ptr0 + (x2), xmask)
    tl.store(out_ptr0 + (tmp8.to(tl.int32)), tmp6, xmask)
"""


def test_masks_and_computed_indices_count() -> None:
    found = touched(PADDED, {})
    reads, writes = (
        {name: None if flags is None else int(flags.sum()) for name, flags in side.items()}
        for side in (found.reads, found.writes)
    )
    # What it wrote itself is no read; where an address was loaded, nothing is known.
    assert reads == {"in_ptr0": 32, "in_ptr1": 4, "in_out_ptr0": 0}
    assert writes == {"in_out_ptr0": 40, "out_ptr0": None}


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
    assert sizes["tables", "reads"] == [10 * 64 * 4, 20 * 64 * 4]  # what is added to, and the table
