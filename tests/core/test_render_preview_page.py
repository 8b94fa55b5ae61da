"""The page of a preview: what it lets run, and whether its colours can be read."""

from __future__ import annotations

import base64
import hashlib
import re

import pytest

from gitops_mc.core.render.preview.page import preview_html
from gitops_mc.core.render.preview.page_style import STYLE
from tests.core.preview_strangers import broken_html
from tests.core.preview_worlds import WORLDS, redactor, world

LIGHT, DARK = (
    dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6})", part))
    for part in STYLE.partition("@media (prefers-color-scheme: dark)")[::2]
)
ENOUGH = 4.5
"""Of text (WCAG 2, level AA)."""


def _light(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, other: str) -> float:
    high, low = sorted((_light(one), _light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_every_text_can_be_read_on_what_is_behind_it(colours: dict[str, str]) -> None:
    texts = [(ink, "ground") for ink in ("ink", "soft", "good", "bad", "warn", "git", "live")]
    texts += [("ink", "raised"), ("ink", "added"), ("ink", "removed"), ("soft", "raised")]
    assert [(i, g) for i, g in texts if _contrast(colours[i], colours[g]) < ENOUGH] == []


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_what_is_likely_and_what_is_late_can_be_told_apart(colours: dict[str, str]) -> None:
    assert _contrast(colours["likely"], colours["late"]) > 1.8


def test_nothing_runs_and_nobody_is_asked_even_if_somebody_got_in() -> None:
    page = preview_html(world("reboot"), redactor(world("reboot")))
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    assert f"<style>{STYLE}</style>" in page
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    told = policy[1].replace("&#x27;", "'")
    assert told == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert "url(" not in STYLE
    assert "@import" not in STYLE


@pytest.mark.parametrize("name", WORLDS)
def test_a_page_is_whole_and_its_tables_have_heads(name: str) -> None:
    page = preview_html(world(name), redactor(world(name)))
    assert broken_html(page) == []
    for table in re.findall(r"<table.*?</table>", page, flags=re.DOTALL):
        assert '<th scope="col"' in table or 'data-head=""' in table
