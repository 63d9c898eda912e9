"""The page of a job in a real browser: ranks × steps, a click on a rank, small screens, accessibility."""

import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fxscope import cli
from fxscope.commands import common
from fxscope.fleet import findings
from fxscope.fleet.digest import digest
from fxscope.render import fleet as rendering, fleet_page
from fxscope.text import microseconds

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))
from test_page import AXE, FIGURE, SMALL, answers, browser, figures_of, violations  # noqa: F401 - a fixture

SLOW = str(Path(__file__).parent.parent / "data" / "fleet" / "ddp_slow_gpu")


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("fleet") / "fleet.html"
    assert cli.main(["fleet", SLOW, "-o", str(out)]) == 0
    return out


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_click_on_a_rank_shows_its_steps(browser: Any, page_file: Path, width: int, scheme: str) -> None:  # noqa: F811
    context = browser.new_context(bypass_csp=True, color_scheme=scheme, viewport={"width": width, "height": 900})
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(page_file.as_uri())
    assert "Rank 2 is late" in page.inner_text("h1")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(SMALL) == []
    page.click("button[data-sort=late]")
    assert page.inner_text("#table tbody tr:first-child td:first-child") == "rank 2"
    # The latest rank is the first row of the heat map now.
    page.locator("#heat").scroll_into_view_if_needed()
    box = page.locator("#heat").bounding_box()
    page.mouse.click(box["x"] + 70, box["y"] + 18 + 9)
    assert page.inner_text("#rank h2:first-child") == "Rank 2" and page.url.endswith("#rank-2")
    assert not AXE.exists() or violations(page) == []
    page.click(".strip [data-rank='1']")
    assert page.inner_text("#rank h2:first-child") == "Rank 1" and not errors
    said = "report of rank 0, which runs the same kernels\nits own report: fxscope view rank1.json.gz"
    assert said in page.inner_text("#rank").replace("\n\n", "\n")
    context.close()


def test_one_click_opens_the_report_of_a_rank_from_disk(browser: Any, page_file: Path) -> None:  # noqa: F811
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    first, complaints = context.new_page(), []
    context.on("console", lambda message: complaints.append(message.text))
    first.goto(page_file.as_uri())
    assert first.inner_text("main > p:has(a)").count("report of rank") == 2  # waits until the page is decoded
    links = first.locator("main > p a")
    for link, rank in zip(links.all(), (2, 0), strict=True):
        with context.expect_page() as opened:
            link.click()
        opened.value.wait_for_selector("html[data-ready=yes]")
        assert opened.value.inner_text("h1:visible") == f"rank{rank}"
        answers(opened.value, common.read(f"{SLOW}/rank{rank}.json.gz"))
    context.close()
    assert complaints == []


@pytest.mark.parametrize("job", ["ddp_slow_gpu", "ddp_other_plan"])
def test_every_number_of_the_page_is_the_terminals_or_of_its_record(browser: Any, tmp_path: Path, job: str) -> None:  # noqa: F811
    folder = Path(SLOW).parent / job
    digests = [digest(path) for path in sorted(folder.glob("rank*.json.gz"))]
    fleet = findings.examine(digests, title=job)
    (tmp_path / "fleet.html").write_text(fleet_page.render(fleet, digests), encoding="utf-8")
    said = rendering.text(fleet, width=200, every=True)
    page = browser.new_page()
    page.goto((tmp_path / "fleet.html").as_uri())
    texts = [page.inner_text("body"), *page.locator("svg text").all_text_contents()]
    for line in fleet.ranks:
        page.click(f"#table button:text-is('rank {line.rank}')")
        texts.append(page.inner_text("#rank"))
    table = page.locator("#table tbody tr").all_inner_texts()
    page.close()
    shown = [words for text in texts for words in FIGURE.findall(text)]
    assert sorted(set(shown) - figures_of([said, msgspec.to_builtins([fleet, digests])])) == [] and len(shown) > 100
    rows = [line for line in said.splitlines() if line.split()[:1] in ([str(rank.rank)] for rank in fleet.ranks)]
    assert [FIGURE.findall(row) for row in table] == [FIGURE.findall(row) for row in rows]
    late = next(line for line in fleet.ranks if line.rank == fleet.findings[0].ranks[0])
    assert fleet.findings[0].cost_us == late.late_us and microseconds(late.late_us) in said.splitlines()[1]
