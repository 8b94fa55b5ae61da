from __future__ import annotations

import pytest

from gitops_mc.core.render.commands import Typed

ACTS = "newer content, or: gitops-mc release edge-1, gitops-mc skip edge-1; gitops-mc apply --approve rest"


def test_where_everything_is_usual_a_command_stays_as_it_is() -> None:
    assert Typed().command(ACTS) == ACTS


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (
            Typed("fleet"),
            (
                "newer content, or: gitops-mc release --state fleet/.gitops-mc-state.json edge-1, gitops-mc skip edge-1 fleet; "
                "gitops-mc apply fleet --approve rest"
            ),
        ),
        (
            Typed("fleet", "s.json", "release/1"),
            (
                "newer content, or: gitops-mc release --state s.json edge-1, gitops-mc skip edge-1 fleet --revision release/1 "
                "--state s.json; gitops-mc apply fleet --revision release/1 --state s.json --approve rest"
            ),
        ),
        (
            Typed(".", "my state.json"),
            (
                "newer content, or: gitops-mc release --state 'my state.json' edge-1, gitops-mc skip edge-1 --state 'my state.json'; "
                "gitops-mc apply --state 'my state.json' --approve rest"
            ),
        ),
    ],
)
def test_another_repository_or_state_file_stands_in_every_command(typed: Typed, told: str) -> None:
    assert typed.command(ACTS) == told
