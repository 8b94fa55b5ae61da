"""The invariants hold for seeds with change windows, too, and the judge of windows is right by itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gitops_mc.core.policy import WindowKind
from gitops_mc.core.rollout.windows import Rule, WindowOpen, opening
from tests.scenarios.drawn import draw_script
from tests.scenarios.drawn_windows import WINDOWED, DrawnWindow, allowed, draw_windows, room
from tests.simulation.one import play_seed

SEEDS = 5


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(s, marks=() if s < WINDOWED + SEEDS else pytest.mark.slow)
        for s in range(WINDOWED, WINDOWED + 40)
    ],
)
def test_the_invariants_hold_in_change_windows(seed: int) -> None:
    outcome = play_seed(seed)
    assert not outcome.broken, f"{outcome.told}\n{outcome.story}"


def test_seeds_below_have_no_windows_and_stay_what_they_were() -> None:
    assert not draw_script(WINDOWED - 1).windows
    assert "windows" not in draw_script(7).pushes[0].files["fleet.yaml"]
    assert draw_script(WINDOWED).windows


def rules_of(windows: tuple[DrawnWindow, ...], cluster: str) -> tuple[Rule, ...]:
    return tuple(
        Rule(
            WindowKind(w.kind),
            f"{w.minute} {w.first}-23/{w.every} * * *",
            timedelta(minutes=w.lasts),
            w.zone,
        )
        for w in windows
        if w.concerns(cluster)
    )


@pytest.mark.parametrize("seed", range(6))
def test_judge_and_engine_agree_on_every_minute_of_a_day(seed: int) -> None:
    windows = draw_windows(seed, ["edge-1", "edge-2"])
    for minute in range(0, 24 * 60, 5):
        now = datetime(2026, 1, 5, 8, tzinfo=UTC) + timedelta(minutes=minute)
        for length in (timedelta(0), timedelta(minutes=20)):
            fits = isinstance(opening(rules_of(windows, "edge-1"), length, now), WindowOpen)
            assert fits is (allowed(windows, "edge-1", now) and room(windows, "edge-1", now, length))
