"""Lines on the screen of apply, where the terminal is narrower than they are."""

from __future__ import annotations

from io import StringIO

import pytest

from gitops_mc.cli.terminal import Terminal
from gitops_mc.core.render.lines import Line

REASON = "      node edge-1-w2: NotReady since 2026-11-30T09:08:49Z, cordoned, state Working"


def shown(width: int | None) -> list[str]:
    return Terminal(StringIO(), StringIO(), {}).styled([Line(REASON)], width).plain.split("\n")


def test_a_long_line_goes_on_below_its_own_beginning() -> None:
    assert shown(50) == [
        "      node edge-1-w2: NotReady since",
        "      2026-11-30T09:08:49Z, cordoned, state",
        "      Working",
    ]


@pytest.mark.parametrize("width", [None, len(REASON), 20])
def test_a_line_stays_whole_where_it_fits_or_nothing_sensible_can_be_done(width: int | None) -> None:
    assert shown(width) == [REASON]
