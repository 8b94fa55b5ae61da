"""Previews in which every word of others is what somebody chose who means no good, and readers that know nothing of how they are written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from html import unescape
from html.parser import HTMLParser
from types import MappingProxyType
from typing import Any, TypeVar

from markdown_it import MarkdownIt
from markdown_it.token import Token

from gitops_mc.core.preview.model import Preview

T = TypeVar("T")
TRICKS = (
    "`", "```", "````\n", "~~~~", "</details>", "</summary>", "<details>", "<script>alert(1)</script>", "<!--", "-->", "<![CDATA[",
    "<img src=x onerror=alert(1)>", "&lt;script&gt;", "&#64;team", "@octocat", "@org/team", "#123", "!45", "GH-12", "fixes #1",
    "Closes org/repo#7", "https://github.com/o/r/issues/1", "www.example.com", "mailto:a@example.com", "<https://e.example>",
    "\n/close\n", "/merge", "\n# head\n", "\n===\n", "\n---\n", "\n- item\n", "\n> said\n", "1. one", "    code", "\tcode", "|", "\\|", "\\",
    "![x](https://e.example/x.png)", "[x](javascript:alert(1))", "[x]: https://e.example", "*", "**", "_", "~~", "$x$", "$$", ":smile:",
    "\u202eevil", "\u2066", "\u200b", "\u200f", "\x00", "\x1b[31m", "\x07", "\x85", "\u2028", "\ufeff", "\ud800", "\udfff", "\r\n", "\r",
    "\U000e0041", "𝔘", "é", "'", '"', "'><b>", "x" * 700, "𝔘" * 500, "y" * 100_000, "{{7*7}}", "%2F", "~label", "^alert", "&12", "[vulnerability:1]",
)  # fmt: skip
"""What has broken out of somebody's comment, terminal or page before."""


def mapped(value: T, change: Callable[[str], str]) -> T:
    """The same value with every text in it changed, those in objects of the API included; what is no text stays."""
    found: Any = _mapped(value, change)
    return found  # type: ignore[no-any-return]


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    match value:
        case Enum():
            return value
        case str():
            return change(value)
        case tuple():
            return tuple(_mapped(inner, change) for inner in value)
        case list():
            return [_mapped(inner, change) for inner in value]
        case dict():
            return {key: _mapped(inner, change) for key, inner in value.items()}
        case Mapping():
            return MappingProxyType({_mapped(k, change): _mapped(v, change) for k, v in value.items()})
    if is_dataclass(value) and not isinstance(value, type):
        return replace(
            value, **{f.name: _mapped(getattr(value, f.name), change) for f in fields(value) if f.init}
        )
    return value


def hostile(preview: Preview, tricks: tuple[str, ...]) -> Preview:
    """Every text is followed, or begun, by one of the tricks; equal texts by the same one."""

    def change(text: str) -> str:
        trick = tricks[sum(map(ord, text)) % len(tricks)]
        return f"{trick}{text}" if len(text) % 2 else f"{text}{trick}"

    return mapped(preview, change)


_OURS = re.compile(r"<details><summary>([^<>]*)</summary>\n|</details>\n")
_CALLS = re.compile(r"[@#!~^&$%][\w\"']|(?i:\bgh)-\d|://|\bwww\.\w", re.ASCII)
_NEVER = {
    "html_inline",
    "link_open",
    "image",
    "lheading_open",
    "blockquote_open",
    "ordered_list_open",
    "code_block",
    "hr",
}


def broken_markdown(text: str) -> list[str]:
    """What is not as it has to be: markup that is not ours, what a forge would act upon, and fences or folds left open."""
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    tokens = parser.parse(text)
    lines = text.split("\n")
    return [*_tokens(tokens, lines), *_folds(tokens), *_raw(tokens, lines)]


def _tokens(tokens: list[Token], lines: list[str]) -> Iterator[str]:
    for token in tokens:
        if token.type in _NEVER:
            yield f"{token.type} at {token.map}"
        if token.type == "fence":
            assert token.map is not None
            if lines[token.map[1] - 1] != token.markup:
                yield f"a fence is open from line {token.map[0]}"
        if token.type == "html_block" and _OURS.sub("", token.content).strip():
            yield f"markup that is not ours: {token.content[:80]!r}"
        if token.type == "html_block":
            yield from (
                f"called in a summary: {s[:80]!r}" for s in _OURS.findall(token.content) if _called(s)
            )
        for inner in token.children or ():
            if inner.type in _NEVER or inner.type == "softbreak":
                yield f"{inner.type}: {token.content[:80]!r}"
            if inner.type == "text" and _CALLS.search(inner.content):
                yield f"called: {inner.content[:80]!r}"


def _called(summary: str) -> bool:
    return _CALLS.search(unescape(summary)) is not None


def _folds(tokens: list[Token]) -> Iterator[str]:
    blocks = "".join(token.content for token in tokens if token.type == "html_block")
    if blocks.count("<details>") != blocks.count("</details>"):
        yield f"{blocks.count('<details>')} folds are opened, {blocks.count('</details>')} closed"


def _raw(tokens: list[Token], lines: list[str]) -> Iterator[str]:
    """Outside of fences: no line begins like a command, every row of a table has its cells, no letter is one that nobody sees."""
    fenced = {n for t in tokens if t.type == "fence" and t.map for n in range(*t.map)}
    cells = 0
    for number, line in enumerate(lines):
        if re.search(
            "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ud800-\udfff]", line
        ):
            yield f"line {number} has a letter that nobody sees: {line[:80]!r}"
        if number in fenced:
            continue
        if line.startswith("/"):
            yield f"line {number} is a command: {line[:80]!r}"
        if line.startswith("|"):
            own = len(re.findall(r"(?<!\\)\|", line)) - 1
            cells = cells or own
            if own != cells:
                yield f"line {number} has {own} cells of {cells}: {line[:80]!r}"
        else:
            cells = 0


_EMPTY = {"meta", "rect"}
_TAGS = {
    "html", "head", "meta", "title", "style", "body", "header", "main", "section", "h1", "h2", "p", "b", "ul", "li", "code", "strong",
    "pre", "span", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "div", "svg", "rect",
}  # fmt: skip
_ATTRIBUTES = {
    "lang", "charset", "http-equiv", "content", "name", "class", "role", "scope", "data-head", "viewbox", "preserveaspectratio",
    "aria-hidden", "width", "height", "x", "y",
}  # fmt: skip


class Page(HTMLParser):
    """What stands in a page: whether each element is closed, and whether any is one that we do not write."""

    def __init__(self) -> None:
        super().__init__()
        self.wrong: list[str] = []
        self.text: list[str] = []
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _TAGS:
            self.wrong.append(f"<{tag}>")
        self.wrong += [f"{tag} {name}={value}" for name, value in attrs if name not in _ATTRIBUTES]
        if tag not in _EMPTY:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _EMPTY:
            self.wrong.append(f"<{tag}/>")

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.wrong.append(f"</{tag}>")

    def handle_comment(self, data: str) -> None:
        self.wrong.append("a comment")

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def broken(self) -> list[str]:
        return [*self.wrong, *(f"<{tag}> is open" for tag in self._open)]


def broken_html(text: str) -> list[str]:
    page = Page()
    page.feed(text)
    page.close()
    return page.broken()
