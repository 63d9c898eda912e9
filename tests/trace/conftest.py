"""What the tests of this folder share."""

import pytest

from fxscope.readers.trace import reader


@pytest.fixture(params=[True, False], ids=["native", "msgspec"])
def either_reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    if request.param and reader.native is None:
        pytest.skip("the native scanner was not built here")
    if not request.param:
        monkeypatch.setattr(reader, "native", None)
    return request.param
