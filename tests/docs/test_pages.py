"""The pages hold together: links lead somewhere, every decision is listed, the changelog knows the version."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gitops_mc import __version__
from tests.docs.readme import PAGES, ROOT

DECISIONS = sorted((ROOT / "docs" / "adr").glob("[0-9]*.md"))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    found = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in found}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_inside_the_project_leads_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        assert found.exists(), f"{page.name} links to {target}"
        if anchor:
            assert anchor in anchors(found), f"{page.name} links to {target}"


def test_every_page_of_docs_can_be_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        links = re.findall(r"\]\(([^)\s#]+)", page.read_text(encoding="utf-8"))
        waiting += [(page.parent / link).resolve() for link in links if "://" not in link]
    assert set(PAGES) - reached == set()


def test_pages_that_start_a_sandbox_get_along_with_one_another() -> None:
    """Whoever goes through two of them finds neither the port taken nor a fleet that another sandbox has left."""
    told = "One sandbox at a time has this port and folder: end that of another page first, with Ctrl-C in its terminal."
    folders: dict[str, str] = {}
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for start in re.finditer(r"^\$ gitops-mc sandbox start (.*)$", text, flags=re.MULTILINE):
            assert "--port 18443 --dir my-sandbox" in start[1], page
            assert told in text[: start.start()], page
        if told in text:
            for folder in set(
                re.findall(
                    r"^\$ gitops-mc (?:apply|import|plan)[^\n]*? ([\w-]+)(?: --|$)", text, flags=re.MULTILINE
                )
            ):
                assert folders.setdefault(folder, page.name) == page.name, (
                    f"{folder} of {folders[folder]} is in the way"
                )
    assert len(folders) >= 3


def test_every_decision_stands_in_the_index_with_its_title() -> None:
    index = (ROOT / "docs" / "adr" / "README.md").read_text(encoding="utf-8")
    for page in DECISIONS:
        title = page.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
        assert f"[{title}]({page.name})" in index


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.stem)
def test_a_decision_says_what_it_answers_what_was_decided_and_what_it_costs(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)$", text, flags=re.MULTILINE) == ["Question", "Decision", "Why", "Price"]
    assert len(text.splitlines()) <= 60


def test_the_changelog_begins_with_this_version_or_with_what_is_newer() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest, *others = re.findall(r"^## (\S+)", text, flags=re.MULTILINE)
    assert (others[0] if newest == "Unreleased" else newest) == __version__


def test_decisions_are_numbered_without_gaps() -> None:
    assert [int(page.name[:4]) for page in DECISIONS] == list(range(1, len(DECISIONS) + 1))
