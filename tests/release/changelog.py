"""The changelog as sections, and what is wrong with it for a release."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from tests.release.versions import order

UNRELEASED = "Unreleased"
_HEADING = re.compile(r"^## (?P<name>\S+)(?: - (?P<date>\S+))?$", re.MULTILINE)
_KINDS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")


@dataclass(frozen=True, slots=True)
class Section:
    """What is told of a version; `day` is as it is written, empty where none is."""

    name: str
    day: str
    text: str

    @property
    def entries(self) -> tuple[str, ...]:
        return tuple(re.findall(r"^- .+", self.text, flags=re.MULTILINE))


def sections(text: str) -> tuple[Section, ...]:
    """Newest first, as they stand."""
    found = list(_HEADING.finditer(text))
    ends = [*(match.start() for match in found[1:]), len(text)]
    return tuple(
        Section(match["name"], match["date"] or "", text[match.end() : end].strip())
        for match, end in zip(found, ends, strict=True)
    )


def written_wrongly(text: str) -> Iterator[str]:
    """What is wrong at any time: shape, order, dates."""
    found = sections(text)
    if len(found) != len(re.findall(r"^## ", text, flags=re.MULTILINE)):
        yield "a heading is neither `## Unreleased` nor `## 1.2.3 - 2026-01-31`"
    if not found or found[0].name != UNRELEASED:
        yield f"the first section is not {UNRELEASED}"
    released = [section for section in found if section.name != UNRELEASED]
    for section in released:
        if _day(section) is None:
            yield f"{section.name} has no date: `## {section.name} - 2026-01-31`"
    try:
        numbers = [order(section.name) for section in released]
    except ValueError as error:
        yield str(error)
    else:
        if numbers != sorted(set(numbers), reverse=True):
            yield "versions do not stand in order, the newest first"
    for section in found:
        kinds = re.findall(r"^### (.+)$", section.text, flags=re.MULTILINE)
        if strange := set(kinds) - set(_KINDS):
            yield f"{section.name}: {', '.join(sorted(strange))}: known headings are {', '.join(_KINDS)}"
        if len(kinds) != len(set(kinds)):
            yield f"{section.name}: a heading stands twice"
        if section.name != UNRELEASED and not section.entries:
            yield f"{section.name} tells nothing"


def not_ready(text: str, version: str, today: date) -> Iterator[str]:
    """What keeps this version from being released today."""
    yield from written_wrongly(text)
    by_name = {section.name: section for section in sections(text)}
    wanted = by_name.get(version)
    if wanted is None:
        yield f"there is no section {version}: `## {version} - {today}` below an empty {UNRELEASED}"
    elif (day := _day(wanted)) is not None and day > today:
        yield f"{version} is dated {day}, which is yet to come"
    released = [name for name in by_name if name != UNRELEASED]
    if wanted is not None and released[0] != version:
        yield f"{released[0]} is newer than {version}"
    if UNRELEASED in by_name and by_name[UNRELEASED].text:
        count = len(by_name[UNRELEASED].entries)
        yield f"{UNRELEASED} is not empty ({count} entries): they belong to {version}, or to the next one"


def _day(section: Section) -> date | None:
    try:
        return date.fromisoformat(section.day)
    except ValueError:
        return None
