"""What the page on telling people says is what the code does."""

from __future__ import annotations

import re

from gitops_mc.adapters.post import LOCAL
from gitops_mc.app.notifying import AT_MOST_EVERY, FIRST_AGAIN, GATHERED, GIVEN_UP_AFTER, LAST_AGAIN
from gitops_mc.core.custom.fleet_spec import Topic
from gitops_mc.core.render.notices import SENT
from tests.docs.readme import ROOT

PAGE = (ROOT / "docs" / "notifications.md").read_text(encoding="utf-8")


def test_the_topics_are_told_of_as_the_table_says() -> None:
    rows = dict(re.findall(r"^\| `([a-z]+)` \| ([A-Z][A-Za-z, ]+) \|$", PAGE, flags=re.MULTILINE))
    told = {topic.value: [r.word for r, (of, _) in SENT.items() if of is topic] for topic in Topic}
    assert {topic: words.split(", ") for topic, words in rows.items()} == told


def test_the_times_are_those_that_hold() -> None:
    flat = " ".join(PAGE.split())
    assert f"happens within {GATHERED.seconds} seconds comes in one message" in flat
    assert f"a message every {AT_MOST_EVERY.seconds} seconds at most" in flat
    again = (
        f"after {FIRST_AGAIN.seconds} seconds at first and every {LAST_AGAIN.seconds // 60} minutes at last"
    )
    assert again in flat
    assert f"after {GIVEN_UP_AFTER.seconds // 3600} hours it is given up" in flat


def test_the_schemes_that_are_refused_are_refused() -> None:
    named = re.findall(r"`([a-z]+)://`", PAGE)
    assert named
    assert set(named) <= LOCAL
