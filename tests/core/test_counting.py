"""How numbers, names and steps are told in a sentence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import gitops_mc
from gitops_mc.core.model import count, named
from gitops_mc.core.plan import StepKind, title_of


@pytest.mark.parametrize(("number", "told"), [(0, "0 clusters"), (1, "1 cluster"), (2, "2 clusters")])
def test_a_number_has_its_noun_in_the_right_number(number: int, told: str) -> None:
    assert count(number, "cluster") == told


def test_a_plural_that_is_not_made_by_an_s_is_spelled_out() -> None:
    assert count(2, "entry", "entries") == "2 entries"


def test_names_have_their_noun_in_the_right_number() -> None:
    assert named("pool", ["worker"]) == "pool worker"
    assert named("pool", ["infra", "worker"]) == "pools infra, worker"


def test_no_text_leaves_it_to_the_reader_whether_it_is_one_or_several() -> None:
    files = sorted(Path(gitops_mc.__file__).parent.rglob("*.py"))
    assert files
    spelled = re.compile(r"[a-z]\(s\)")
    found = [
        f"{file.name}:{number}: {line.strip()}"
        for file in files
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if re.search(r"[\"'].*" + spelled.pattern + r".*[\"']", line)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ("pools:worker", "pool worker"),
        ("pools:infra,worker", "pools infra, worker"),
        ("pools", "configs of new pools"),
        ("module:machine-config", "module machine-config"),
        ("pool-removal:old", "the removal of pool old"),
        ("refused", ""),
        ("", ""),
    ],
)
def test_a_step_is_told_in_words(step: str, told: str) -> None:
    assert title_of(step) == told


@pytest.mark.parametrize("kind", StepKind)
def test_every_kind_of_step_has_words(kind: StepKind) -> None:
    assert title_of(f"{kind.value}:x")
