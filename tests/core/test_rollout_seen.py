"""What was looked at, named by the beginning of a digest."""

from __future__ import annotations

import pytest

from gitops_mc.core.rollout.seen import as_shown, not_as_seen

DIGEST = "a74b22fdba63" + "0" * 52


@pytest.mark.parametrize("seen", [as_shown(DIGEST), DIGEST, DIGEST[:8]])
def test_its_beginning_names_it(seen: str) -> None:
    assert not not_as_seen("wave rest", seen, DIGEST)


@pytest.mark.parametrize("seen", ["a74b22fdba64", "a74b22fd" + "1" * 56, "00000000"])
def test_another_one_is_told_with_both(seen: str) -> None:
    told = not_as_seen("wave rest", seen, DIGEST)
    assert (
        told == f"wave rest was looked at with {seen[:12]}, and has a74b22fdba63 now, so nothing is approved"
    )


@pytest.mark.parametrize("seen", ["", "a74b22f", DIGEST + "0", "A74B22FDBA63", "a74b22fdba6*"])
def test_what_is_none_is_told_as_such(seen: str) -> None:
    assert "beginning of a digest" in not_as_seen("wave rest", seen, DIGEST)
