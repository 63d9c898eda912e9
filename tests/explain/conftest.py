"""Real recordings, read once."""

import pytest

from tests import captures


@pytest.fixture
def read():
    return captures.read
