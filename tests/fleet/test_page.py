"""The page of a job in a real browser: ranks × steps, a click on a rank, small screens, accessibility."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from fxscope import cli

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))
from test_page import AXE, browser  # noqa: F401 - a fixture

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
    assert page.locator(".strip svg").bounding_box()["width"] >= 800  # 9 points
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
