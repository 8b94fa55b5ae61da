"""The site in a real browser, on a desktop and on a phone. Without Chromium this is skipped, and says how to get it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.docs.browser import GET_BROWSER, WIDTHS, Seen, find_browser, looked_at
from tests.docs.readme import ROOT

_BROWSER = find_browser()
pytestmark = [pytest.mark.slow, pytest.mark.skipif(_BROWSER is None, reason=GET_BROWSER)]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> tuple[Seen, ...]:
    folder = tmp_path_factory.mktemp("browser")
    site = folder / "site"
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(site)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (site / "wide.html").write_text(
        '<body><div style="width: 3000px">wide</div><img src="http://outside.example.com/a.png">'
    )
    assert _BROWSER is not None
    return looked_at(_BROWSER, site, folder / "profile")


def test_a_page_that_is_too_wide_and_one_that_asks_others_are_seen(seen: tuple[Seen, ...]) -> None:
    found = [page for page in seen if page.page == "wide.html"]
    assert [page.wide for page in found] == [("the page",)] * len(WIDTHS)
    assert all(page.outside == ("http://outside.example.com/a.png",) for page in found)


def test_no_page_is_wider_than_its_window(seen: tuple[Seen, ...]) -> None:
    assert [page for page in seen if page.wide and page.page != "wide.html"] == []


def test_no_page_asks_anybody_outside(seen: tuple[Seen, ...]) -> None:
    assert [page for page in seen if page.outside and page.page != "wide.html"] == []


def test_every_page_was_looked_at(seen: tuple[Seen, ...]) -> None:
    pages = len(list((ROOT / "docs").rglob("*.md")))
    assert len({page.page for page in seen}) > pages
