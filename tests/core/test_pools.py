"""What one MachineConfigPool says."""

from __future__ import annotations

import pytest

from gitops_mc.core.pools import max_unavailable


@pytest.mark.parametrize(
    ("value", "nodes", "expected"),
    [
        (None, 10, 1), (0, 10, 1), (1, 10, 1), (3, 10, 3), ("3", 10, 3), ("0", 10, 1), ("0%", 10, 1), ("25%", 10, 2),
        ("25%", 3, 1), ("19%", 10, 1), ("20%", 10, 2), ("99%", 3, 2), ("100%", 7, 7), ("half", 10, 1), (-2, 10, 1), ("%", 9, 1), ("many%", 300, 1),
    ],
)  # fmt: skip
def test_max_unavailable_is_a_number_or_a_percentage_rounded_down_and_at_least_one(
    value: int | str | None, nodes: int, expected: int
) -> None:
    assert max_unavailable({"spec": {"maxUnavailable": value}}, nodes) == expected
