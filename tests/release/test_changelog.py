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
        (("0.1.0", "0.2.0-rc.1 - 2026-12-01\n\n- A try.\n\n## 0.2.0-rc.2"), "newest first"),
        (("0.1.0", "0.2.0-rc1 - 2026-12-01\n\n- A try.\n\n## 0.2.0-rc.1"), "newest first"),
        (("0.1.0", "first"), "'first' is no version"),
        (("0.1.0", "0.2.0rc1"), "'0.2.0rc1' is no version"),
    ],
)
def test_what_is_missing_is_told(change: tuple[str, str], told: str) -> None:
    text = GOOD.replace(*change)
    assert text != GOOD
    assert any(told in sentence for sentence in not_ready(text, "0.2.0", TODAY))


def test_a_candidate_stands_below_what_it_was_a_candidate_of() -> None:
    tried = (
        "## 0.2.0-rc.10 - 2026-12-02\n\n- Once more.\n\n## 0.2.0-rc.2 - 2026-12-01\n\n- A try.\n\n## 0.1.0"
    )
    assert list(not_ready(GOOD.replace("## 0.1.0", tried), "0.2.0", TODAY)) == []


def test_a_version_without_a_section_is_not_ready_and_neither_is_an_older_one() -> None:
    assert any("no section 0.3.0" in told for told in not_ready(GOOD, "0.3.0", TODAY))
    assert any("0.2.0 is newer" in told for told in not_ready(GOOD, "0.1.0", TODAY))
