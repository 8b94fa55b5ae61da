"""A crash at every step of a whole rollout: each in a copy of the process, played to its end and compared.

A rollout is played once undisturbed and once more with a fork at every moment. The copy dies there; a fresh process, with
the clusters and the state file as they were left, types the same command again. What comes after a death depends on
what it leaves behind alone (clusters, files, time), so of deaths that leave the same only the first is played; the others
are counted. `test_deaths_that_leave_the_same_are_followed_by_the_same` plays them.
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

from gitops_mc.app.ports import Request
from gitops_mc.core.model import JsonObject, digest_of
from tests.scenarios.crash_fork import Copies, Verdict, snapshots
from tests.scenarios.crash_rollout import AWAY, Case, Ending, Fate, Moment, Rollout, Sort, Step
from tests.scenarios.crashes import Killed
from tests.scenarios.invariants import Checks

Rule = Callable[[Step], bool]
"""At which steps processes die."""


def every_step(step: Step) -> bool:
    return bool(step.number)


def no_step(step: Step) -> bool:
    return step.number < 0


@dataclass(frozen=True, slots=True)
class Chosen:
    """One in so many writes and saves, drawn by a fixed seed: they leave what no other death leaves."""

    of: int
    seed: int = 0

    def __call__(self, step: Step) -> bool:
        if step.sort not in {Sort.WRITE, Sort.SAVE}:
            return False
        return random.Random(f"{self.seed}/{step.number}").randrange(self.of) == 0


@dataclass
class Tally:
    """One case's row of the table."""

    case: str
    steps: Counter[Sort] = field(default_factory=Counter)
    deaths: int = 0
    """Moments at which the process was ended, those that leave the same as another included."""
    verdicts: list[Verdict] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def failures(self) -> list[Verdict]:
        return [v for v in self.verdicts if v.failure]


@dataclass
class Reaper(Fate):
    """Forks a copy at each moment of each step that the rule names, and lets it die there."""

    rule: Rule
    copies: Copies
    folders: Path
    again: Rule = no_step
    """The steps after whose deaths the next process, too, dies at its every step."""
    merge: bool = True
    """Whether deaths that leave the same are played once."""
    steps: Counter[Sort] = field(default_factory=Counter)
    deaths: int = 0
    listening: bool = True
    rollout: Rollout | None = None
    now: Step = field(default_factory=lambda: Step(0, Sort.READ, ""))
    seen: set[str] = field(default_factory=set)
    leaves: str = ""
    """In a copy: what its death left behind."""
    names: count[int] = field(default_factory=count)

    def step(self, sort: Sort, what: str) -> None:
        assert self.rollout is not None
        if self.rollout.stage.counted:
            self.steps[sort] += 1
            self.now = Step(self.now.number + 1, sort, what)

    def at(self, moment: Moment, late: tuple[str, Request] | None = None) -> None:
        rollout = self.rollout
        assert rollout is not None
        if not (self.listening and rollout.stage.counted and self.rule(self.now)):
            return
        self.deaths += 1
        away = AWAY.get(moment, 1.0)
        key = digest_of(repr((away, late, rollout.stands())))
        if self.merge and key in self.seen:
            return
        self.seen.add(key)
        label = f"killed {moment} at {self.now.sort} {self.now.number} ({self.now.what})"
        folder = self.folders / f"{os.getpid()}-{next(self.names)}"
        rollout.disk.copy(folder)
        if not self.copies.fork(f"{rollout.dead}, then {label}" if rollout.dead else label):
            return
        self.leaves = key
        self._die(rollout, folder, label, away, late)

    def _die(
        self, rollout: Rollout, folder: Path, label: str, away: float, late: tuple[str, Request] | None
    ) -> None:
        rollout.dead = f"{rollout.dead}, then {label}" if rollout.dead else label
        rollout.away, rollout.late = away, late
        rollout.disk.move(folder)
        self.listening = not self.is_second and self.again(self.now)
        self.rule, self.again, self.deaths = every_step, no_step, 0
        self.is_second, self.now, self.seen = True, replace(self.now, number=0), set()
        raise Killed

    is_second: bool = False


def crash(case: Case, rule: Rule, *, again: Rule = no_step, merge: bool = True, at_once: int = 1) -> Tally:
    """Play a case with a death at each step that the rule names. Never raises for what becomes of the deaths."""
    began = time.monotonic()
    folders = Path(tempfile.mkdtemp(prefix="crashes-", dir=_memory_disk()))
    copies = Copies(at_once)
    reaper = Reaper(rule, copies, folders, again, merge)
    try:
        expected = Rollout(case, folders / "undisturbed", Fate()).play()
        Checks(expected).everything()
        ending = expected.ending()
        with snapshots():
            try:
                reaper.rollout = Rollout(case, folders / "mortal", reaper)
                reaper.rollout.play()
                if copies.home is not None:
                    copies.report(replace(_told(reaper.rollout, ending), leaves=reaper.leaves))
            except BaseException as error:  # in a copy everything that happens is its verdict
                if copies.home is None:
                    raise
                copies.report(Verdict(_label(reaper), f"{error!r}\n{traceback.format_exc(limit=-3)}"))
        verdicts = copies.gathered()
    finally:
        copies.abandon()
        shutil.rmtree(folders, ignore_errors=True)
    return Tally(case.name, reaper.steps, reaper.deaths, verdicts, time.monotonic() - began)


def _label(reaper: Reaper) -> str:
    return reaper.rollout.dead if reaper.rollout is not None else ""


def _told(rollout: Rollout, expected: Ending) -> Verdict:
    """Whether the invariants held, and it all stands as if nobody had died."""
    try:
        Checks(rollout).everything()
        compare(rollout.ending(), expected)
    except AssertionError as error:
        return Verdict(rollout.dead, f"{error}\n{rollout.story()}")
    return Verdict(rollout.dead, log=_log(rollout))


def compare(found: Ending, expected: Ending) -> None:
    """AssertionError with what differs."""
    _same("the clusters", found.state, expected.state)
    _same("the memory", _of_the_end(found.memory), _of_the_end(expected.memory))
    more = {n: (expected.reboots[n], r) for n, r in found.reboots.items() if r > expected.reboots[n]}
    assert not more, f"nodes rebooted more often: {more}"
    assert found.modules == expected.modules, f"we made {found.modules}, undisturbed {expected.modules}"


def _of_the_end(memory: JsonObject) -> JsonObject:
    """Without what was passed before the end: a content whose gates nobody saw open was not passed, though its nodes have it. Nor what
    forecasts have learnt: a process that dies takes with it how long something took.
    """
    clusters = {
        name: {k: v for k, v in cluster.items() if k not in {"before", "before_commit", "paces", "rolls"}}
        for name, cluster in memory["clusters"].items()
    }
    return {**memory, "clusters": clusters}


def _same(what: str, found: Mapping[str, object], expected: Mapping[str, object]) -> None:
    differs = "\n".join(_differences(found, expected, what))
    assert not differs, f"another end:\n{differs}"


def _differences(found: object, expected: object, where: str) -> list[str]:
    if isinstance(found, Mapping) and isinstance(expected, Mapping):
        keys = sorted({*found, *expected})
        return [d for k in keys for d in _differences(found.get(k), expected.get(k), f"{where}/{k}")]
    return [] if found == expected else [f"  {where}: {found!r}, undisturbed {expected!r}"]


def _log(rollout: Rollout) -> str:
    lines: JsonObject = {
        name: [(w.time.isoformat(), w.user, w.verb, w.resource, w.name) for w in server.writes]
        for name, server in sorted(rollout.world.fleet.servers.items())
    }
    return digest_of({k: [list(x) for x in v] for k, v in lines.items()})


def _memory_disk() -> str | None:
    """A file system in memory, where there is one: every save flushes to its disk."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
