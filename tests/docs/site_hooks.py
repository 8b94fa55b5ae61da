"""What mkdocs is told beside mkdocs.yml: stars in the navigation, and what pages link to outside of docs/."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
CHANGELOG = "changelog.md"
_LINK = re.compile(r"(\[[^\]\n]*\]\()([^)\s]+)(\))")
_BLOCK = re.compile(r"(```.*?```)", re.DOTALL)
_FOLDER = "repository"
"""Where files of the repository stand in the site that pages link to."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The navigation with its stars carried out."""
    docs = Path(config.docs_dir)
    absent = {page for page in config.extra["may_be_absent"] if not (docs / page).exists()}
    config.nav = _without(_expanded(config.nav or [], docs, set(_named(config.nav or []))), absent)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The changelog as a page, and files of the repository that pages link to."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").replace("](docs/", "](")
    files.append(File.generated(config, CHANGELOG, content=text))
    wanted = {target for page in Path(config.docs_dir).rglob("*.md") for target in _outside(page)}
    for target in sorted(wanted):
        if target.is_file() and _published(target) != CHANGELOG:
            files.append(File.generated(config, _published(target), content=target.read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links out of docs/ lead to the copies; where they lead to a folder, its name stands there."""
    here = Path(config.docs_dir) / page.file.src_uri

    def led(match: re.Match[str]) -> str:
        target = _target(here, match[2])
        if target is None:
            return match[0]
        if target.is_dir():
            return match[1][1:-2]
        way = os.path.relpath(_published(target), Path(page.file.src_uri).parent)
        return f"{match[1]}{way}{match[3]}"

    parts = _BLOCK.split(markdown)
    return "".join(part if n % 2 else _LINK.sub(led, part) for n, part in enumerate(parts))


def _outside(page: Path) -> Iterator[Path]:
    text = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    for match in _LINK.finditer(text):
        if (target := _target(page, match[2])) is not None:
            yield target


def _target(page: Path, link: str) -> Path | None:
    """The file of the repository, outside of docs/, that a link leads to."""
    if "://" in link or link.startswith(("#", "mailto:")):
        return None
    target = (page.parent / link.partition("#")[0]).resolve()
    inside = target.is_relative_to(ROOT / "docs")
    return target if target.exists() and not inside else None


def _published(target: Path) -> str:
    if target == ROOT / "CHANGELOG.md":
        return CHANGELOG
    return f"{_FOLDER}/{target.relative_to(ROOT).as_posix()}.txt"


def _expanded(nav: list[Any], docs: Path, named: set[str]) -> list[Any]:
    found: list[Any] = []
    for entry in nav:
        if isinstance(entry, dict):
            found += [
                {title: _expanded(inside, docs, named) if isinstance(inside, list) else inside}
                for title, inside in entry.items()
            ]
        elif "*" in entry:
            pages = sorted(path.relative_to(docs).as_posix() for path in docs.glob(entry))
            found += [page for page in pages if page not in named]
        else:
            found.append(entry)
    return found


def _without(nav: list[Any], absent: set[str]) -> list[Any]:
    """A page that is not there leads nowhere."""
    found: list[Any] = []
    for entry in nav:
        if isinstance(entry, dict):
            ((title, inside),) = entry.items()
            if isinstance(inside, list) or inside not in absent:
                found.append({title: _without(inside, absent) if isinstance(inside, list) else inside})
        else:
            found.append(entry)
    return found


def _named(nav: list[Any]) -> Iterator[str]:
    for entry in nav:
        if isinstance(entry, dict):
            for inside in entry.values():
                yield from _named(inside if isinstance(inside, list) else [inside])
        else:
            yield entry
