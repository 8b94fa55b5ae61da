"""The page on reading a preview shows what is really shown, and names every key of its JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gitops_mc.core.preview.model import State
from gitops_mc.core.render.preview.markdown import MARKS, preview_markdown
from gitops_mc.core.render.preview.structure import SCHEMA, preview_json
from tests.core.preview_worlds import WORLDS, redactor, world
from tests.docs.readme import ROOT

PAGE = (ROOT / "docs" / "previews-reading.md").read_text(encoding="utf-8")
_TITLES = {"No effect before a restart"}
"""Not a section of its own: it stands below what each pool gets."""


def shown() -> str:
    preview = world("everything")
    return preview_markdown(preview, redactor(preview))


def test_every_line_of_its_examples_is_one_of_a_preview() -> None:
    lines = shown().split("\n")
    blocks = re.findall(r"```text\n(.*?)```", PAGE, flags=re.DOTALL)
    assert len(blocks) == 3
    assert [line for block in blocks for line in block.rstrip("\n").split("\n") if line not in lines] == []


def test_the_signs_are_those_of_the_states() -> None:
    assert {
        m[1]: m[0] for m in re.findall(r"^\| (.) \| (ok|problems|unknown) \|", PAGE, flags=re.MULTILINE)
    } == {state.value: MARKS[state] for state in State}


def test_every_section_is_named_and_no_other() -> None:
    told = PAGE.partition("## The sections")[2].partition("\n## ")[0]
    named = set(re.findall(r"^\| ([A-Z][^|]+?) \|", told, flags=re.MULTILINE)) - _TITLES
    own = {t.split(" · ")[0].split(": ")[0] for t in re.findall(r"^###+ (.+)$", shown(), flags=re.MULTILINE)}
    own -= {"Waves and clusters", "Modules", "Settings of fleet.yaml"}  # told of above, or by their names
    assert named == {title for title in own if not title.startswith("(")}


def _keys(value: Any) -> Iterator[str]:
    match value:
        case dict():
            for key, inner in value.items():
                yield key
                yield from _keys(inner)
        case list():
            for inner in value:
                yield from _keys(inner)


def test_every_key_of_the_json_is_named_and_the_version_too() -> None:
    told = PAGE.partition("## JSON")[2]
    named = {word for words in re.findall(r"`([^`]+)`", told) for word in words.split(".")}
    found = {key for name in WORLDS for key in _keys(preview_json(world(name), redactor(world(name))))}
    assert found - named - {"clusters"} == set()
    assert f"`{SCHEMA}`" in told
