"""The comparison behind the README's tests: it forgives times and digests, and nothing else."""

from __future__ import annotations

import pytest

from tests.docs.readme import Command, console_blocks, first_difference

REAL = "08:10:47 edge-1: passed\nabout 40m\ndigest 0123456789abcdef\n3 of 3 passed\n"


@pytest.mark.parametrize(
    "shown",
    [
        ("08:10:47 edge-1: passed", "about 40m", "digest 0123456789abcdef", "3 of 3 passed"),
        ("09:59:01 edge-1: passed", "about 1h 20m", "digest fedcba9876543210", "3 of 3 passed"),
        ("...", "3 of 3 passed"),
        ("08:10:47 edge-1: passed", "..."),
        ("...",),
    ],
)
def test_an_excerpt_is_faithful(shown: tuple[str, ...]) -> None:
    assert first_difference(shown, REAL) == ""


@pytest.mark.parametrize(
    "shown",
    [
        ("08:10:47 edge-2: passed", "..."),
        ("...", "2 of 3 passed"),
        ("3 of 3 passed",),
        ("08:10:47 edge-1: passed",),
        ("08:10:47 edge-1: passed", "digest 0123456789abcdef", "..."),
        ("...", "3 of 3 passed", "one line more"),
        ("...", "3 of 3 passed", "...", "about 40m"),
        (),
    ],
)
def test_an_excerpt_that_says_something_else_or_leaves_something_out_is_not(shown: tuple[str, ...]) -> None:
    assert first_difference(shown, REAL) != ""


def test_a_block_is_its_commands_with_what_each_says() -> None:
    text = "```console\n$ one\nsays\n$ two\n```\ntext\n```yaml\n$ no\n```\n```console\n$ three\n```\n"
    assert console_blocks(text) == [[Command("one", ("says",)), Command("two", ())], [Command("three", ())]]
