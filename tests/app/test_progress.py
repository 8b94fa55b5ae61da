"""What apply says while it goes, held against golden files: lines for people, JSON lines for programs.

After a change that is meant: UPDATE_GOLDEN=1 pytest -n0 tests/app/test_progress.py, and read the difference.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitops_mc.app.looks import Look
from gitops_mc.core.render.events import Event, changes
from gitops_mc.core.render.lines import text_of
from gitops_mc.core.render.progress import Progress, progress_of
from gitops_mc.core.render.screen import screen
from gitops_mc.core.rollout.moves import Done, Halted, Hold
from gitops_mc.sandbox.faults import FaultId
from gitops_mc.sandbox.fleet import simple_fleet
from tests.scenarios.rollout_world import FLEET, UNIT, RolloutWorld, machine_config, module

GOLDEN = Path("tests/data/progress")
GOOD = machine_config("50-worker-app", files={"/etc/app.conf": "one\n"}, app_service=UNIT)
MORE = machine_config("60-worker-more", files={"/etc/more.conf": "two\n"}, more_service=UNIT)
BAD = machine_config("50-worker-app", files={"/etc/app.conf": "BROKEN\n"}, app_service=UNIT)
NAMES = ("edge-1", "edge-2", "edge-3")


def events(looks: list[Look]) -> Iterator[Event]:
    before: Progress | None = None
    for look in looks:
        now = progress_of(look.at, look.decision, look.live)
        yield from (
            Event(look.at, "write", {"cluster": w.cluster, "what": w.what}, f"{w.cluster}: {w.what}")
            for w in look.written
        )
        yield from changes(before, now)
        before = now


def two_configs_reach_every_cluster() -> RolloutWorld:
    world = RolloutWorld()
    world.files |= {f"clusters/{n}/app.yaml": GOOD for n in NAMES}
    world.files |= {f"clusters/{n}/more.yaml": MORE for n in NAMES}
    assert isinstance(world.run(), Done)
    return world


def a_degraded_canary_halts() -> RolloutWorld:
    world = RolloutWorld()
    world.files |= {f"clusters/{n}/app.yaml": BAD for n in NAMES}
    world.faults.set(FaultId.NODE_DEGRADED)
    assert isinstance(world.run(), Halted)
    return world


def a_module_is_installed_and_a_wave_waits_for_approval() -> RolloutWorld:
    world = RolloutWorld(spec=simple_fleet("edge-1", "edge-2", machine_config=None))
    world.files["fleet.yaml"] = FLEET.replace("maxConcurrent: 10", "approval: manual")
    world.files |= {f"clusters/{n}/module.yaml": module(n) for n in ("edge-1", "edge-2")}
    world.files |= {f"clusters/{n}/app.yaml": GOOD for n in ("edge-1", "edge-2")}
    assert isinstance(world.run(), Hold)
    return world


STORIES: dict[str, Callable[[], RolloutWorld]] = {
    made.__name__.replace("_", "-"): made
    for made in (
        two_configs_reach_every_cluster,
        a_degraded_canary_halts,
        a_module_is_installed_and_a_wave_waits_for_approval,
    )
}


@pytest.mark.parametrize("story", STORIES)
def test_what_is_said_is_the_golden_file(story: str) -> None:
    looks = STORIES[story]().looks
    said = tuple(events(looks))
    shown = {
        "txt": text_of(e.line() for e in said),
        "jsonl": "".join(json.dumps(e.json(), ensure_ascii=False) + "\n" for e in said),
    }
    for ending, text in shown.items():
        file = GOLDEN / f"{story}.{ending}"
        if os.environ.get("UPDATE_GOLDEN"):
            file.write_text(text, encoding="utf-8")
        assert text == file.read_text(encoding="utf-8")


def test_the_screen_shows_what_moves_and_fits_the_rows_there_are() -> None:
    looks = two_configs_reach_every_cluster().looks
    shown = [screen(progress_of(x.at, x.decision, x.live), 40) for x in looks]
    rolling = next(s for s in shown if "1 unavailable" in text_of(s))
    assert [line.text for line in rolling][:3] == [
        "wave canary: open, 0 of 1 passed",
        "  edge-1: in flight, at pool worker",
        "      pool worker: 0 of 2 nodes updated, 1 unavailable",
    ]
    assert [line.text for line in shown[-1]] == [
        "wave canary: done, 1 of 1 passed",
        "wave rest: done, 2 of 2 passed",
    ]
    both = next(x for x in looks if sum(bool(c.step) for c in x.decision.clusters) == 2)
    short = screen(progress_of(both.at, both.decision, both.live), 3)
    assert len(short) == 3
    assert "more lines" in short[-1].text


def test_nothing_is_said_twice_while_nothing_changes() -> None:
    looks = two_configs_reach_every_cluster().looks
    last = progress_of(looks[-1].at, looks[-1].decision, looks[-1].live)
    assert list(changes(last, last)) == []
