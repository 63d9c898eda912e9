"""The article's claims on the H200 captures: which hold is pinned, and the page that says so is up to date."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import make_article  # noqa: E402

from fxscope.analysis import check  # noqa: E402
from fxscope.commands import common  # noqa: E402

# The claims of the article, of second-hand reports and of nobody in particular that an H200 refutes.
REFUTED = (
    "Nothing else runs on the GPU",
    "A GEMM asks for the occupancy",
    "gate and up take a tile of 128x128",
    "down takes a tile of 128x256",
    "The three Linears are merged",
    "Inductor's kernel is faster than Liger's",
)


@pytest.fixture(scope="module")
def report():
    recordings = common.named(make_article.inputs())
    data = check.parse(make_article.CLAIMS.read_text(), make_article.CLAIMS.name)
    return check.check(recordings, data)


def test_about_thirty_claims_and_more_can_each_be_told(report) -> None:
    assert len({outcome.claim for outcome in report.outcomes}) >= 35
    assert [outcome.claim for outcome in report.outcomes if outcome.status == "cannot_tell"] == []


def test_which_claims_hold_on_hopper(report) -> None:
    missed = {outcome.claim for outcome in report.outcomes if outcome.status == "not_met"}
    assert {claim for claim in missed if not claim.startswith(REFUTED)} == set()
    assert len(missed) == len(REFUTED)


def test_the_page_is_up_to_date() -> None:
    for path, content in make_article.pages().items():
        assert path.read_text(encoding="utf-8") == content, f"run python tools/make_article.py ({path.name})"
