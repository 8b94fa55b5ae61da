"""The changelog can be released from, and what keeps it from that is told."""

from __future__ import annotations

from datetime import date

import pytest

from gitops_mc import __version__
from tests.release.changelog import UNRELEASED, not_ready, sections, written_wrongly
from tests.release.versions import ROOT

TODAY = date(2027, 3, 1)
GOOD = """\
# Changelog

## Unreleased

## 0.2.0 - 2027-03-01

### Fixed

- A thing.

## 0.1.0 - 2026-11-30

- The first version.
"""


def test_our_changelog_is_written_as_it_should_be() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert list(written_wrongly(text)) == []
    newest, *others = sections(text)
    assert (newest.name, others[0].name) == (UNRELEASED, __version__)


def test_one_that_is_ready_has_nothing_against_it() -> None:
    assert list(not_ready(GOOD, "0.2.0", TODAY)) == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ((" - 2027-03-01", ""), "0.2.0 has no date"),
        ((" - 2027-03-01", " - soon"), "0.2.0 has no date"),
        ((" - 2027-03-01", " - 2027-03-02"), "yet to come"),
        (("## 0.2.0 - 2027-03-01\n", "## 0.2.0 of March\n"), "neither"),
        (("## Unreleased\n", "## Unreleased\n\n### Added\n\n- Left over.\n"), "not empty (1 entries)"),
        (("## Unreleased\n", "## Unreleased\n\nA sentence.\n"), "not empty"),
        (("## Unreleased\n\n", ""), "the first section is not Unreleased"),
        (("### Fixed", "### Fixes"), "known headings"),
        (("- A thing.", "- A thing.\n\n### Fixed\n\n- Another."), "stands twice"),
        (("- The first version.", ""), "0.1.0 tells nothing"),
        (("0.1.0", "0.3.0"), "newest first"),
    ],
)
def test_what_is_missing_is_told(change: tuple[str, str], told: str) -> None:
    text = GOOD.replace(*change)
    assert text != GOOD
    assert any(told in sentence for sentence in not_ready(text, "0.2.0", TODAY))


def test_a_version_without_a_section_is_not_ready_and_neither_is_an_older_one() -> None:
    assert any("no section 0.3.0" in told for told in not_ready(GOOD, "0.3.0", TODAY))
    assert any("0.2.0 is newer" in told for told in not_ready(GOOD, "0.1.0", TODAY))
