"""Every rule has a section that says why and how to fix it, with a bad and a good example; the examples are run."""

from __future__ import annotations

import re

import pytest

from gitops_mc.core.desired.reading_rules import READING_RULES
from tests.docs.observing import with_tables
from tests.docs.rule_pages import (
    FOLDER,
    INDEX,
    KINDS,
    READING,
    READING_INDEX,
    ROWS,
    Example,
    ReadingExample,
    examples,
    facts,
    reading_examples,
    reading_page,
    rules_page,
    sections,
)

EXAMPLES = list(examples())
READING_EXAMPLES = list(reading_examples())
UNSHOWN = {
    *("file-unreadable", "layout-link", "layout-submodule", "source-unread"),  # modes, and what is not there
    *(
        "layout-empty",
        "yaml-encoding",
        "yaml-limit",
        "yaml-tab",
    ),  # no text, or one too large or not to be seen
}


def test_every_rule_has_one_section_and_every_section_a_rule() -> None:
    found = [rule for name in KINDS for rule in sections(FOLDER / name)]
    assert sorted(found) == sorted(row.id for row in ROWS)


@pytest.mark.parametrize("name", [*KINDS, READING.name])
def test_a_section_says_why_and_how_to_fix_it(name: str) -> None:
    for rule, text in sections(FOLDER / name).items():
        why, fix = re.split(r"^\*\*Fix:\*\* ", text.split(f"<!-- /{rule} -->\n")[1], flags=re.MULTILINE)
        assert len(why.split()) >= 8, rule
        assert fix[:1].isupper() or fix.startswith("`"), rule


def test_every_rule_has_a_bad_and_a_good_example() -> None:
    found = {(example.rule, example.good) for example in EXAMPLES}
    assert found == {(row.id, good) for row in ROWS for good in (True, False)}


@pytest.mark.parametrize("example", [e for e in EXAMPLES if not e.good], ids=lambda e: e.rule)
def test_a_bad_example_breaks_its_rule_and_no_other(example: Example) -> None:
    assert example.broken() == {example.rule, *example.also}


@pytest.mark.parametrize("example", [e for e in EXAMPLES if e.good], ids=lambda e: e.rule)
def test_a_good_example_breaks_none(example: Example) -> None:
    assert example.broken() == set()


@pytest.mark.parametrize("page", facts(), ids=lambda page: page.name)
def test_what_a_section_tells_of_its_rule_is_what_the_table_says(page: object) -> None:
    (path,) = [one for one in facts() if one == page]
    text = path.read_text(encoding="utf-8")
    assert text == with_tables(text, facts()[path]), "make reference writes it anew"


def test_every_problem_of_reading_has_a_section_and_examples_where_text_can_show_it() -> None:
    assert list(sections(READING)) == list(READING_RULES)
    found = {(example.rule, example.good) for example in READING_EXAMPLES}
    assert found == {(rule, good) for rule in READING_RULES.keys() - UNSHOWN for good in (True, False)}


@pytest.mark.parametrize("example", READING_EXAMPLES, ids=lambda e: f"{e.rule}-{'good' if e.good else 'bad'}")
def test_an_example_of_reading_is_the_problem_or_none(example: ReadingExample) -> None:
    assert example.broken() == (set() if example.good else {example.rule})


def test_the_page_of_reading_is_made_from_the_table() -> None:
    assert READING_INDEX.read_text(encoding="utf-8") == reading_page(), "make reference writes it anew"


def test_the_page_of_rules_is_made_from_the_tables() -> None:
    assert INDEX.read_text(encoding="utf-8") == rules_page(), "make reference writes it anew"
