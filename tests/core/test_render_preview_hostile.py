"""No word of others breaks out of a preview, whoever chose it, and however little room there is."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from gitops_mc.core.render.lines import text_of
from gitops_mc.core.render.markdown_text import code, fence_for, in_html, inline, led
from gitops_mc.core.render.preview.fitting import by_share, evenly, usefully
from gitops_mc.core.render.preview.markdown import GITHUB, _block, _blocks, preview_markdown
from gitops_mc.core.render.preview.page import preview_html
from gitops_mc.core.render.preview.structure import preview_json
from gitops_mc.core.render.preview.text import preview_text
from gitops_mc.core.render.preview.whole import document_of
from tests.core.preview_strangers import TRICKS, broken_html, broken_markdown, hostile
from tests.core.preview_worlds import WORLDS, redactor, world

SMALL = tuple(name for name in WORLDS if name != "five-hundred")
some_tricks = st.lists(st.sampled_from(TRICKS), min_size=1, max_size=6).map(tuple)
limits = st.one_of(st.integers(0, 3_000), st.integers(3_000, 20_000), st.just(GITHUB))
patiently = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


def _fits(text: str, limit: int) -> bool:
    return len(text) <= limit and len(text.encode()) <= limit and len(text.encode("utf-16-le")) // 2 <= limit


@given(st.sampled_from(SMALL), some_tricks, limits)
@patiently
def test_a_comment_keeps_to_its_limit_and_is_markdown_of_ours_alone(
    name: str, tricks: tuple[str, ...], limit: int
) -> None:
    preview = hostile(world(name), tricks)
    shown = preview_markdown(preview, redactor(preview), limit)
    assert _fits(shown, limit)
    assert broken_markdown(shown) == []


@pytest.mark.parametrize("name", ["everything", "secret", "unknown-cluster"])
@pytest.mark.parametrize("trick", TRICKS, ids=range(len(TRICKS)))
def test_each_trick_alone_changes_nothing_in_any_format(trick: str, name: str) -> None:
    preview = hostile(world(name), (trick,))
    knows = redactor(preview)
    assert broken_markdown(preview_markdown(preview, knows, 1_000_000)) == []
    assert broken_html(preview_html(preview, knows)) == []
    for line in preview_text(preview, knows):
        assert not re.search(
            "[\x00-\x08\x0a-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\ud800-\udfff]", line.text
        )
    text_of(preview_text(preview, knows)).encode()
    json.dumps(preview_json(preview, knows), ensure_ascii=False).encode()


@given(st.sampled_from(SMALL), some_tricks)
@patiently
def test_a_page_has_our_elements_alone_and_asks_nobody(name: str, tricks: tuple[str, ...]) -> None:
    preview = hostile(world(name), tricks)
    assert broken_html(preview_html(preview, redactor(preview))) == []


@pytest.mark.parametrize("limit", range(0, 6_000, 83))
def test_whatever_the_limit_what_is_most_important_comes_first(limit: int) -> None:
    preview = world("unknown-cluster")
    shown = preview_markdown(preview, redactor(preview), limit)
    assert _fits(shown, limit)
    assert broken_markdown(shown) == []
    if limit > 400:
        assert shown.startswith(
            "## ❔ Reboots 8 nodes in 2 clusters; of edge-02 nothing is known since 10:11 UTC\n"
        )


@given(st.sampled_from(SMALL), some_tricks, st.integers(-50, 6_000))
@patiently
def test_no_block_takes_more_than_its_room(name: str, tricks: tuple[str, ...], room: int) -> None:
    preview = hostile(world(name), tricks)
    blocks = [b for s in document_of(preview, redactor(preview)).sections for b in s.blocks]
    for block in blocks:
        assert len(_block(block, room).text.encode()) <= max(0, room)
    assert len(_blocks(blocks, room).text.encode()) <= max(0, room)


def test_what_is_cut_is_counted_and_said_with_what_shows_all_of_it() -> None:
    preview = world("blocked")
    whole = preview_markdown(preview, redactor(preview))
    assert "Cut to fit" not in whole
    cut = preview_markdown(preview, redactor(preview), 3_000)
    told = re.search(r"\*\*Cut to fit 3000 bytes; not shown: (.+)\.\*\* All of it: `(.+)`\n\Z", cut)
    assert told is not None
    assert re.fullmatch(r"\d+ [a-z ]+(, \d+ [a-z ]+)*", told[1])
    assert told[2] == "gitops-mc preview --base aaaaaaaaaaaa --head bbbbbbbbbbbb -o html"


@given(st.text(alphabet=st.sampled_from("".join(TRICKS[:60])), max_size=60))
@settings(deadline=None)
def test_a_text_by_itself_is_one_line_of_text(text: str) -> None:
    assert broken_markdown(f"- {led(inline(text))}\n") == []
    assert broken_markdown(f"- {code(text)}\n") == []
    assert broken_markdown(f"{led(inline(text))}\n") == []
    assert broken_markdown(f"<details><summary>{in_html(text)}</summary>\n\n</details>\n") == []
    fence = fence_for(text)
    assert fence not in text


def test_what_a_reader_sees_is_what_was_written() -> None:
    for text in (
        "a_b*c*d",
        "x [y](z) <b> & c",
        "50% of #cluster-1 | 3",
        "getty@tty1.service",
        "1. one",
        "- two",
    ):
        shown = MarkdownIt("commonmark").parse(f"- {led(inline(text))}\n")
        seen = "".join(t.content for token in shown for t in token.children or ())
        assert seen.replace("\u200b", "") == text


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=12), st.integers(-5, 50_000))
def test_nobody_gets_more_than_there_is_or_than_wanted(wanted: list[int], room: int) -> None:
    shares = [1.0] * len(wanted)
    for rooms in (evenly(wanted, room), usefully(wanted, room, 300), by_share(wanted, shares, room)):
        assert sum(rooms) <= max(0, room)
        assert all(0 <= got <= want for got, want in zip(rooms, wanted, strict=True))
        if sum(wanted) <= room:
            assert rooms == wanted
