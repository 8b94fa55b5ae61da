"""Previews in a real browser, on a desktop and on a phone. Without Chromium this is skipped, and says how to get it."""

from __future__ import annotations

import pytest

from tests.core.preview_strangers import TRICKS, hostile
from tests.core.preview_worlds import WORLDS, world
from tests.docs.browser import GET_BROWSER, WIDTHS, Seen, find_browser, looked_at
from tests.docs.preview_pages import PICTURES, write_pages

_BROWSER = find_browser()
_SOME = {"quiet": TRICKS[:40], "long": ("x" * 700,), "marks": TRICKS[40:]}
in_browser = pytest.mark.skipif(_BROWSER is None, reason=GET_BROWSER)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> tuple[Seen, ...]:
    folder = tmp_path_factory.mktemp("browser")
    site = folder / "site"
    site.mkdir()
    for name in WORLDS:
        write_pages(world(name), site, name)
    for name, tricks in _SOME.items():
        write_pages(hostile(world("everything"), tricks), site, f"hostile-{name}")
    assert _BROWSER is not None
    return looked_at(_BROWSER, site, folder / "profile")


@pytest.mark.slow
@in_browser
def test_nothing_is_wider_than_its_window_whatever_stands_in_it(seen: tuple[Seen, ...]) -> None:
    assert [page for page in seen if page.wide] == []
    assert len(seen) == 2 * (len(WORLDS) + len(_SOME)) * len(WIDTHS)


@pytest.mark.slow
@in_browser
def test_no_page_asks_anybody_outside(seen: tuple[Seen, ...]) -> None:
    assert [page for page in seen if page.outside] == []


def test_the_pictures_are_small_enough_for_a_repository() -> None:
    found = sorted(PICTURES.glob("preview*.png"))
    assert len(found) == 2 * len(WIDTHS)
    assert [picture.name for picture in found if picture.stat().st_size > 150_000] == []
