"""The site of the documentation is built strictly, is whole, and asks nobody outside for anything."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.docs.readme import ROOT

_LOADED_BY_LINK = {
    "stylesheet",
    "icon",
    "preload",
    "prefetch",
    "preconnect",
    "dns-prefetch",
    "modulepreload",
    "manifest",
}
_OUTSIDE = re.compile(r"(?:https?:)?//")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_of_docs_is_a_page_of_the_site(site: Path) -> None:
    docs = ROOT / "docs"
    wanted = {page.relative_to(docs).with_suffix(".html") for page in docs.rglob("*.md")}
    named = {page.with_name("index.html") if page.stem == "README" else page for page in wanted}
    assert named - {page.relative_to(site) for page in site.rglob("*.html")} == set()


def test_no_page_loads_anything_from_outside(site: Path) -> None:
    found = [
        f"{page.relative_to(site)}: {address}"
        for page in site.rglob("*.html")
        for address in loaded(page.read_text(encoding="utf-8"))
        if _OUTSIDE.match(address)
    ]
    assert found == []


def test_no_style_sheet_loads_anything_from_outside(site: Path) -> None:
    found = [
        address
        for sheet in site.rglob("*.css")
        for address in re.findall(
            r"""(?:url\(|@import )\s*["']?([^"')\s;]+)""", sheet.read_text(encoding="utf-8")
        )
        if _OUTSIDE.match(address)
    ]
    assert found == []


def test_what_is_loaded_is_seen() -> None:
    page = (
        '<link rel="stylesheet" href="https://fonts.example.com/a.css"><link rel="canonical" href="https://a">'
        '<script src="//cdn.example.com/a.js"></script><img src="assets/a.png"><a href="https://example.com">a</a>'
        '<p style="background: url(https://example.com/b.png)">a</p>'
    )
    assert list(loaded(page)) == [
        "https://fonts.example.com/a.css",
        "//cdn.example.com/a.js",
        "assets/a.png",
        "https://example.com/b.png",
    ]


def loaded(page: str) -> Iterator[str]:
    """What a browser fetches because of a page, links that a reader follows left out."""
    seen = _Seen()
    seen.feed(page)
    yield from seen.addresses


class _Seen(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attrs}
        if tag == "link" and _LOADED_BY_LINK & set(said.get("rel", "").split()):
            self.addresses.append(said.get("href", ""))
        self.addresses += [
            said[name] for name in ("src", "srcset", "poster", "data") if name in said and tag != "a"
        ]
        self.addresses += re.findall(r"url\(\s*[\"']?([^\"')]+)", said.get("style", ""))
