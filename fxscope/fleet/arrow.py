"""Digests as an Arrow table and as Parquet: a row a rank, the steps as a list of records, and the whole digest beside them."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import msgspec

from fxscope.errors import FxscopeError
from fxscope.fleet.model import RankStep
from fxscope.fleet.run import decode

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fxscope.fleet.model import Digest


def library() -> Any:
    """Pyarrow. Raises FxscopeError where it is not installed."""
    try:
        import pyarrow  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise FxscopeError("Arrow tables need pyarrow: pip install 'fxscope[fleet]'.") from None
    return pyarrow


def schema() -> Any:
    pa = library()
    kinds = {int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    steps = pa.struct([(field.name, kinds[field.type]) for field in msgspec.structs.fields(RankStep)])
    return pa.schema(
        [
            ("file", pa.string()),
            ("rank", pa.int32()),
            ("world", pa.int32()),
            ("host", pa.string()),
            ("device", pa.string()),
            ("plan", pa.string()),  # its signature
            ("num_events", pa.int64()),
            ("num_collectives", pa.int64()),
            ("steps", pa.list_(steps)),
            ("digest", pa.binary()),  # JSON, fxscope-digest/1
        ]
    )


def table(digests: Sequence[Digest]) -> Any:
    rows: list[dict[str, Any]] = []
    for item in digests:
        coverage = item.coverage
        rows.append(
            {
                "file": item.file,
                "rank": item.rank,
                "world": item.world,
                "host": item.host,
                "device": item.device,
                "plan": item.plan.signature,
                "num_events": coverage.num_events if coverage else None,
                "num_collectives": coverage.num_collectives if coverage else None,
                "steps": msgspec.to_builtins(item.steps),
                "digest": msgspec.json.encode(item),
            }
        )
    return library().Table.from_pylist(rows, schema=schema())


def digests_of(found: Any, where: str) -> list[Digest]:
    """The digests in a table. Raises FxscopeError where it holds none."""
    if "digest" not in found.column_names:
        raise FxscopeError(f"{where} holds no digests. `fxscope fleet FOLDER -o fleet.parquet` writes such a file.")
    return [decode(data, where) for data in found.column("digest").to_pylist()]


def parquet(digests: Sequence[Digest]) -> bytes:
    library()
    from pyarrow import parquet as files  # pyright: ignore[reportMissingImports]

    buffer = io.BytesIO()
    files.write_table(table(digests), buffer, compression="zstd")
    return buffer.getvalue()


def read(path: Path) -> list[Digest]:
    """Read the digests of a Parquet file. Raises FxscopeError."""
    pa = library()
    from pyarrow import parquet as files  # pyright: ignore[reportMissingImports]

    try:
        found = files.read_table(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise FxscopeError(f"cannot read {path}: {str(error).splitlines()[0]}.") from None
    return digests_of(found, str(path))
