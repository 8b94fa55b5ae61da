"""The README as something that can be run: its console blocks, and a comparison that knows what may differ."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])

GAP = "..."
"""A line of a block that stands for any lines."""
_CHANGING = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\+00:00|Z)"), "TIME"),
    (re.compile(r"^(?:  )?\d\d:\d\d(?::\d\d)?\b"), "TIME"),
    (re.compile(r"\b(?:\d+[hms] )*\d+ ?[hms]\b( ago)?"), "SPAN"),
    (re.compile(r"\b(?=[0-9a-f]*[0-9])[0-9a-f]{7,64}\b"), "HEX"),
    (re.compile(r"127\.0\.0\.1:\d+"), "ADDRESS"),
    (re.compile(r"\d+ seconds of real time"), "SECONDS"),
)


@dataclass(frozen=True)
class Command:
    """A command of a console block, and the output that is shown for it."""

    line: str
    shown: tuple[str, ...]


def section(title: str) -> str:
    """The text below `## title`, up to the next heading of that rank."""
    text = README.read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(title)}$\n(.*?)(?=^## |\Z)", text, flags=re.MULTILINE | re.DOTALL)
    assert found is not None, f"README.md has no section {title}"
    return found.group(1)


def console_blocks(text: str) -> list[list[Command]]:
    """The console blocks, each as its commands in order."""
    blocks = re.findall(r"^```console\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return [_commands(block.splitlines()) for block in blocks]


def _commands(lines: list[str]) -> list[Command]:
    commands: list[Command] = []
    for line in lines:
        if line.startswith("$ "):
            commands.append(Command(line[2:], ()))
        else:
            last = commands.pop()
            commands.append(Command(last.line, (*last.shown, line)))
    return commands


def alike(line: str) -> str:
    """A line without what differs from run to run: times, spans, digests, addresses."""
    for pattern, word in _CHANGING:
        line = pattern.sub(word, line)
    return line.rstrip()


def first_difference(shown: tuple[str, ...], real: str) -> str:
    """Why `shown` is no faithful excerpt of `real`; empty when it is. A gap skips lines, nothing else does."""
    lines = [alike(line) for line in real.splitlines()]
    position, may_skip = 0, False
    for line in shown:
        if line.strip() == GAP:
            may_skip = True
            continue
        wanted = alike(line)
        if may_skip and wanted in lines[position:]:
            position = lines.index(wanted, position)
        if position >= len(lines) or lines[position] != wanted:
            seen = lines[position] if position < len(lines) else "(the end)"
            return f"README shows {line!r}, the program says {seen!r}"
        position, may_skip = position + 1, False
    return "" if may_skip or position == len(lines) else f"README leaves out {lines[position]!r}"
