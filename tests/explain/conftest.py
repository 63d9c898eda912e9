"""Real recordings, read once."""

import pytest

from tests import captures


@pytest.fixture
def read():
    """Return the recording of one of the H200's captures."""
    return captures.read
