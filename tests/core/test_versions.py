"""The order of module versions."""

from __future__ import annotations

from itertools import pairwise

import pytest

from gitops_mc.core.versions import compare_versions, newer

ASCENDING = [
    "v4.0.9",
    "v4.0.10",
    "v4.1.0-alpha",
    "v4.1.0-alpha.1",
    "v4.1.0-alpha.beta",
    "v4.1.0-beta.2",
    "v4.1.0-beta.11",
    "v4.1.0-rc.1",
    "v4.1.0",
    "v4.1.0.1",
    "v4.1.1",
    "v10.0",
    "v11",
]


@pytest.mark.parametrize(("older", "later"), list(pairwise(ASCENDING)))
def test_versions_are_ordered_as_semantic_versions(older: str, later: str) -> None:
    assert compare_versions(older, later) == -1
    assert compare_versions(later, older) == 1
    assert newer(later, older) is True
    assert newer(older, later) is False


@pytest.mark.parametrize(
    ("one", "other"), [("v4.1", "4.1.0"), ("v4.1.0.0", "v4.1"), ("v4.1.0+a", "v4.1.0+b"), ("odd", "odd")]
)
def test_some_spellings_are_the_same_version(one: str, other: str) -> None:
    assert compare_versions(one, other) == 0
    assert newer(one, other) is False


@pytest.mark.parametrize(("one", "other"), [("latest", "v4.1.0"), ("v4.1.0", ""), ("v4.x", "v4.1")])
def test_what_is_no_version_cannot_be_ordered(one: str, other: str) -> None:
    assert compare_versions(one, other) is None
    assert newer(one, other) is None
