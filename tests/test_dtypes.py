"""One table of dtypes, and it agrees with torch's own."""

import pytest

from fxscope import dtypes


def test_names_and_sizes_are_those_of_torch() -> None:
    torch = pytest.importorskip("torch")
    from torch._inductor.utils import _type_of
    from torch.utils._dtype_abbrs import dtype_abbrs

    for name, size in dtypes.ITEM_BYTES.items():
        dtype = getattr(torch, name)
        assert dtype.itemsize == size, name
        assert f"{dtype_abbrs[dtype]}[]" == dtypes.short_tensor((), name), name
        assert dtypes.long_dtype(dtype_abbrs[dtype]) == name
        if not dtype.is_complex and not name.startswith(("float4", "float8_e8m0")):  # Triton has bytes for these
            assert dtypes.long_dtype(_type_of(dtype).lstrip("*")) == name


def test_what_is_not_known_stays_as_it_was_written() -> None:
    assert dtypes.short_tensor((2,), "int4") == "int4[2]" and dtypes.long_dtype("x9") == "x9"
    assert dtypes.short_tensor((64, "s0"), "bfloat16") == "bf16[64,s0]" and dtypes.short_tensor(None, None) == "?[]"
