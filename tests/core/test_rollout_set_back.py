"""The machine's clock is set back between two processes: nothing waits until the old time comes round again."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import datetime, timedelta

from gitops_mc.core.model import Commit, Content
from gitops_mc.core.rollout.memory import (
    Act,
    Excuse,
    Failure,
    FailureCause,
    FleetMemory,
    Halt,
    Rollback,
    WaveMemory,
    from_json,
)
from gitops_mc.core.rollout.set_back import not_in_the_future
from tests.scenarios.rollout_world import RolloutWorld, machine_config

HOURS = timedelta(hours=6)
FILE = machine_config("50-worker-a", files={"/etc/a": "1\n"})


def rolling() -> RolloutWorld:
    """Somewhere on the way through the first cluster."""
    world = RolloutWorld()
    world.files |= {f"clusters/edge-{n}/a.yaml": FILE for n in (1, 2, 3)}
    world.run(until=lambda look: look.memory.cluster("edge-1").begun and len(world.looks) > 8)
    return world


def times(value: object) -> Iterator[datetime]:
    match value:
        case datetime():
            yield value
        case dict():
            for item in value.values():
                yield from times(item)
        case tuple():
            for item in value:
                yield from times(item)
        case _ if dataclasses.is_dataclass(value):
            for field in dataclasses.fields(value):
                yield from times(getattr(value, field.name))


def set_back(memory: FleetMemory, now: datetime) -> tuple[datetime, ...]:
    return tuple(times(not_in_the_future(memory, now)))


def test_no_time_of_the_memory_lies_in_the_future_whatever_it_is_of() -> None:
    world = rolling()
    at = world.clock.now()
    failure = Failure(Content("b"), FailureCause.CONFIG, "x", at, {})
    back = Rollback(failure, Commit("b"), Content("a"), Commit("a"), at)
    edge = dataclasses.replace(world.cluster_memory("edge-1"), failure=failure, rollback=back)
    memory = dataclasses.replace(
        world.memory().with_cluster("edge-1", edge),
        halt=Halt("x", world.clock.now(), ("edge-1",)),
        waves={"canary": WaveMemory("x", soak_since=world.clock.now())},
    )
    now = world.start - HOURS
    assert len(tuple(times(memory))) > 5
    assert set(set_back(memory, now)) == {now}


def test_what_lies_in_the_past_and_what_humans_set_stays() -> None:
    world = rolling()
    now = world.clock.now()
    assert not_in_the_future(world.memory(), now) == world.memory()
    excuse, act = Excuse("n1", "bench", now + HOURS), Act(now, "me", "excuse n1")
    edge = dataclasses.replace(world.cluster_memory("edge-1"), excused=(excuse,))
    memory = dataclasses.replace(world.memory().with_cluster("edge-1", edge), acts=(act,))
    after = not_in_the_future(memory, now - HOURS)
    assert after.cluster("edge-1").excused == (excuse,)
    assert after.acts == (act,)


def test_a_process_that_starts_hours_before_the_last_one_ended_takes_no_longer() -> None:
    def took(back: timedelta) -> float:
        world = rolling()
        state = world.store.load()
        assert state is not None
        ahead = _later(from_json(state), back)
        world.remember(lambda _: ahead)
        begun = world.clock.now()
        world.run()
        assert all(world.memory().cluster(f"edge-{n}").out for n in (1, 2, 3))
        return (world.clock.now() - begun).total_seconds()

    assert took(HOURS) <= took(timedelta(0)) + 60


def _later(memory: FleetMemory, by: timedelta) -> FleetMemory:
    """What a clock that is ahead would have remembered."""

    def shifted(value: object) -> object:
        match value:
            case datetime():
                return value + by
            case dict():
                return {key: shifted(item) for key, item in value.items()}
            case tuple():
                return tuple(shifted(item) for item in value)
            case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
                mapped = {f.name: shifted(getattr(value, f.name)) for f in dataclasses.fields(value)}
                return dataclasses.replace(value, **mapped)
        return value

    found = shifted(memory)
    assert isinstance(found, FleetMemory)
    return found
