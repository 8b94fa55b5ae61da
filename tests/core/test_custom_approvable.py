"""Whom an approval of a first contact is refused to."""

from __future__ import annotations

import pytest

from gitops_mc.core.custom.approvable import no_first_contact
from gitops_mc.core.model import Content
from gitops_mc.core.rollout.memory import ClusterMemory

ONE, TWO = Content("1" * 64), Content("2" * 64)


@pytest.mark.parametrize(
    "memory", [ClusterMemory(), ClusterMemory(started=ONE)], ids=["nothing", "additions"]
)
def test_a_content_that_waits_may_be_approved_until_one_has_passed(memory: ClusterMemory) -> None:
    assert no_first_contact("edge-1", TWO, memory, {}, {}) == ""


@pytest.mark.parametrize(
    ("memory", "why"),
    [
        (ClusterMemory(started=TWO), "met for the first time no more"),
        (ClusterMemory(started=TWO, passed=ONE), "met for the first time no more"),
        (ClusterMemory(started=ONE, approved=TWO), "is approved already"),
    ],
)
def test_what_waits_for_nobody_is_not_approved(memory: ClusterMemory, why: str) -> None:
    assert why in no_first_contact("edge-1", TWO, memory, {}, {})
