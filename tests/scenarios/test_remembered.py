"""Results kept for as long as their arguments are the same objects change no decision, only how long it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

from gitops_mc.core.remembered import Remembered
from tests.scenarios.drawn import draw_script
from tests.scenarios.simulation import Simulation

T = TypeVar("T")


def _made_anew(
    _memory: Remembered[T], _arguments: tuple[object, ...], _value: tuple[object, ...], make: Callable[[], T]
) -> T:
    return make()


@pytest.mark.parametrize("seed", [pytest.param(3, marks=pytest.mark.slow), 12])
def test_a_whole_rollout_goes_the_same_when_nothing_is_kept(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Simulation(draw_script(seed)).play()
    monkeypatch.setattr(Remembered, "get", _made_anew)
    anew = Simulation(draw_script(seed)).play()
    assert anew.story() == kept.story()
    assert [look.decision for look in anew.looks] == [look.decision for look in kept.looks]
