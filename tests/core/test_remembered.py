"""What is kept of pure functions: whose arguments are the same objects, and not more than was asked for lately."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from weakref import WeakSet

import pytest

from gitops_mc.core.remembered import KEPT, Remembered, another_pass


@pytest.fixture(autouse=True)
def only_what_is_made_here() -> Iterator[None]:
    """A collection looks at nothing that other tests have left: it would take a second each time."""
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
        another_pass()
        counted.get(body)
    assert counted.made == 1


@pytest.mark.parametrize("asked_every", [1, 3])
def test_of_a_body_that_keeps_changing_only_the_last_passes_versions_stay(asked_every: int) -> None:
    """So the room taken is that of the clusters as they are, in bytes too: a large config is not kept thousands of times."""
    counted, alive = Counted(), WeakSet[Body]()
    most = 0
    for number in range(40 * KEPT):
        another_pass()
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
