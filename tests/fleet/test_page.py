"""The page of a job in a real browser: ranks × steps, a click on a rank, small screens, accessibility."""

import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fxscope import cli
from fxscope.fleet import findings
from fxscope.fleet.digest import digest
from fxscope.render import fleet as rendering
from fxscope.render import fleet_page
from fxscope.text import microseconds

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))
from test_page import AXE, FIGURE, SMALL, browser, figures_of  # noqa: F401 - a fixture

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
    if AXE.exists():
        page.evaluate(AXE.read_text(encoding="utf-8"))
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        assert [(item["id"], [node["html"] for node in item["nodes"]]) for item in found] == []
    assert page.inner_text("#rank code").startswith("fxscope view rank2.json.gz") and not errors
    page.click(".strip [data-rank='1']")
    assert page.inner_text("#rank h2:first-child") == "Rank 1"
    context.close()


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
