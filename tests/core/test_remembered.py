"""What is kept of pure functions: whose arguments are the same objects, and not more than was asked for lately."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from weakref import WeakSet

import pytest

from gitops_mc.core import remembered
from gitops_mc.core.remembered import KEPT, Remembered, another_pass


@pytest.fixture(autouse=True)
def only_what_is_made_here(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No fleet of another test is waited for, and a collection looks at nothing that they have left: it would take a second each time."""
    monkeypatch.setattr(remembered, "_PASSES", remembered._Passes())
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


class Body(dict[str, str]):
    """A JSON body of which one can tell whether it is still there."""

    __hash__ = object.__hash__  # type: ignore[assignment]


class Counted:
    def __init__(self, room: int = 4096) -> None:
        self.memory: Remembered[str] = Remembered(room)
        self.made = 0

    def get(self, body: Body, value: str = "") -> str:
        def make() -> str:
            self.made += 1
            return f"{body['name']}{value}"

        return self.memory.get((body,), (value,), make)


def test_the_same_object_and_value_are_worked_out_once() -> None:
    counted, body = Counted(), Body(name="a")
    assert [counted.get(body), counted.get(body), counted.get(body, "!")] == ["a", "a", "a!"]
    assert counted.made == 2


def test_an_equal_object_is_another_one() -> None:
    counted = Counted()
    assert [counted.get(Body(name="a")), counted.get(Body(name="a"))] == ["a", "a"]
    assert counted.made == 2


def test_what_every_pass_asks_for_stays_however_many_there_are() -> None:
    counted, body = Counted(), Body(name="a")
    for _ in range(10 * KEPT):
        another_pass("prod")
        counted.get(body)
    assert counted.made == 1


def test_a_fleet_that_needs_more_room_than_there_is_gets_it_after_one_pass() -> None:
    """Rooms were of one size: a fleet one cluster larger than they had every pass make everything anew."""
    counted = Counted(room=10)
    bodies = [Body(name=str(number)) for number in range(100)]
    for _ in range(10):
        another_pass("prod")
        for body in bodies:
            counted.get(body)
    before = counted.made
    another_pass("prod")
    for body in bodies:
        counted.get(body)
    assert counted.made == before


def test_many_fleets_do_not_push_each_other_out() -> None:
    counted = Counted()
    bodies = {f"fleet-{number}": Body(name=str(number)) for number in range(5 * KEPT)}
    for turn in range(10 * KEPT):
        for fleet, body in bodies.items():
            if fleet != "fleet-7" or turn % 10 == 0:  # one of them looks seldom
                another_pass(fleet)
                counted.get(body)
    assert counted.made == len(bodies)


def test_a_fleet_that_is_gone_is_not_waited_for_for_ever() -> None:
    another_pass("gone")
    counted, alive = Counted(), WeakSet[Body]()
    for number in range(40 * KEPT):
        another_pass("prod")
        version = Body(name=str(number))
        alive.add(version)
        counted.get(version)
        del version
    gc.collect()
    assert len(alive) <= 2 * KEPT


@pytest.mark.parametrize("asked_every", [1, 3])
def test_of_a_body_that_keeps_changing_only_the_last_passes_versions_stay(asked_every: int) -> None:
    """So the room taken is that of the clusters as they are, in bytes too: a large config is not kept thousands of times."""
    counted, alive = Counted(), WeakSet[Body]()
    most = 0
    for number in range(40 * KEPT):
        another_pass("prod")
        if number % asked_every == 0:
            version = Body(name=str(number))
            alive.add(version)
            counted.get(version)
            del version
        gc.collect()
        most = max(most, len(alive))
    assert most <= 2 * KEPT


def test_it_never_has_more_entries_than_room() -> None:
    counted, alive = Counted(room=10), WeakSet[Body]()
    for number in range(100):
        body = Body(name=str(number))
        alive.add(body)
        counted.get(body)
        del body
        gc.collect()
        assert len(alive) <= 10


def test_what_is_asked_for_all_the_time_outlives_a_flood_of_what_is_not() -> None:
    counted, body = Counted(room=10), Body(name="a")
    flood = [Body(name=str(number)) for number in range(100)]
    for other in flood:
        counted.get(body)
        counted.get(other)
    assert counted.made == 1 + len(flood)
