"""Globs of paths and names: what they mean, against two other readings of them, and how much they may cost."""

from __future__ import annotations

import re
import sys
from fnmatch import fnmatchcase

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitops_mc.core import globs
from gitops_mc.core.globs import name_matches, path_matches

PIECES = st.sampled_from(["a", "b", "*", "**", "**/", "?", "/", ".", "[a]", "*a", "\n"])
PATHS = st.text("ab/.\n[]", max_size=9)
NAMES = st.text("ab-z]!", max_size=7)
NAME_PIECES = st.sampled_from(
    [
        "a",
        "b",
        "*",
        "?",
        "-",
        "[ab]",
        "[!a]",
        "[a-z]",
        "[!b-y]",
        "[]a]",
        "[!]]",
        "[z-a]",
        "[!z-a]",
        "[a-]",
        "[-b]",
        "[",
        "]",
        "[!",
        "[a-b-z]",
    ]
)
REGEX = {"**/": r"(?:.*/)?", "**": r".*", "*": r"[^/]*", "?": r"[^/]"}


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("/etc/kubelet", "/etc/kubelet", True),
        ("/etc/kubelet", "/etc/kubelet.conf", False),
        ("/etc/*.conf", "/etc/a.conf", True),
        ("/etc/*.conf", "/etc/a/b.conf", False),
        ("/etc/**", "/etc/a/b.conf", True),
        ("/etc/**", "/etcetera", False),
        ("**/*.key", "/etc/pki/a.key", True),
        ("**/*.key", "a.key", True),
        ("/etc/**/a", "/etc/a", True),
        ("/etc/**/a", "/etc/b/c/a", True),
        ("/etc/?", "/etc/a", True),
        ("/etc/?", "/etc//", False),
        ("/etc/a.b", "/etc/aXb", False),
        ("/etc/[a]", "/etc/a", False),
        ("/etc/*", "/etc/a\nb", True),
    ],
)
def test_globs_cross_folders_with_two_stars_only(pattern: str, path: str, *, matches: bool) -> None:
    assert path_matches(path, ["/nothing", pattern]) is matches


@given(st.lists(PIECES, max_size=7).map("".join), PATHS)
@example("a**/b", "aab")
@example("**/**/b", "b")
def test_a_path_glob_means_what_its_regular_expression_means(pattern: str, path: str) -> None:
    tokens = re.findall(r"\*\*/|\*\*|\*|\?|[^*?]+", pattern)
    expression = "".join(REGEX.get(token) or re.escape(token) for token in tokens)
    assert path_matches(path, (pattern,)) is (re.fullmatch(expression, path, re.DOTALL) is not None)


@given(st.lists(NAME_PIECES, max_size=6).map("".join), NAMES)
def test_a_name_glob_means_what_a_shell_reads_in_it(pattern: str, name: str) -> None:
    assert name_matches(name, (pattern,)) is fnmatchcase(name, pattern)


@given(st.lists(st.lists(PIECES, max_size=5).map("".join), max_size=5), PATHS)
def test_a_list_matches_what_one_of_it_matches(patterns: list[str], path: str) -> None:
    assert path_matches(path, patterns) is any(path_matches(path, (pattern,)) for pattern in patterns)


HOSTILE = [
    ("**/*a" * 12 + "/b", "/".join(["a" * 20] * 10) + "/x.yaml/b-"),
    ("*a" * 100 + "b", "a" * 4000 + "bc"),
    ("**/" * 80 + "b", "a/" * 1500 + "b/c"),
    ("**/*" * 120 + "b", "a/" * 1500 + "bc"),
    ("?*" * 120 + "*b", "a" * 4000 + "bc"),
    ("**a" * 100 + "/b", "a" * 4000 + "/bc"),
    ("*[ab]" * 80 + "c", "a" * 4000 + "cd"),
    ("[" * 500 + "c", "[" * 3000 + "cd"),
]


@pytest.mark.parametrize(("pattern", "text"), HOSTILE)
@pytest.mark.parametrize("matches", [path_matches, name_matches])
def test_no_glob_costs_more_than_its_text_is_long(pattern: str, text: str, matches: object) -> None:
    """Counted in steps of the interpreter: twice the text takes no more than about twice the steps."""
    assert callable(matches)
    matches("", (pattern,))
    short, long = (_steps(lambda t=t: matches(t, (pattern,))) for t in (text, text[:-1] + text))
    assert short < 100 * len(text) + 10_000
    assert long < 2.5 * short + 10_000


def test_a_hundred_of_the_longest_globs_cost_no_more_than_one() -> None:
    many = tuple(f"{i:03}**/" + "*?a" * 160 + "b" for i in range(globs.MOST))
    one = tuple(many[:1])
    text = "000/" + "a" * 500 + "bc"
    path_matches(text, one), path_matches(text, many)
    assert _steps(lambda: path_matches(text, many)) < _steps(lambda: path_matches(text, one)) + 10 * len(many)


def _steps(work: object) -> int:
    """Lines of Python run, and regular expressions tried; what one of them does inside is not seen."""
    count = 0

    def trace(*_: object) -> object:
        nonlocal count
        count += 1
        return trace

    assert callable(work)
    before = sys.gettrace()
    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        work()
    finally:
        sys.settrace(before)
    return count
