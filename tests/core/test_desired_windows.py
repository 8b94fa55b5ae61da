"""What is said of change windows before anything is rolled out."""

from __future__ import annotations

import pytest

from gitops_mc.core.model import Severity
from tests.core.desired_repositories import FLEET, config, desired

REPOSITORY = {f"clusters/edge-{n}/a.yaml": config() for n in (1, 2, 3, 4, 5)}


def window(kind: str, cron: str, lasts: str, clusters: str = "{}") -> str:
    return f'    - {kind}: {{cron: "{cron}", duration: {lasts}, timeZone: UTC, clusters: {clusters}}}\n'


def told(*windows: str, more: str = "") -> list[tuple[str, str, str]]:
    texts = {"fleet.yaml": f"{FLEET}{more}  windows:\n{''.join(windows)}", **REPOSITORY}
    state = desired(texts)
    assert not state.fleet_blocked
    found = [p for p in state.problems if p.rule.startswith("fleet-window")]
    assert {p.severity for p in found} <= {Severity.WARNING}
    return [(str(p.place), p.rule, p.message) for p in found]


NIGHT = window("allow", "0 22 * * *", "8h")


@pytest.mark.parametrize(
    "windows",
    [
        (NIGHT,),
        (NIGHT, window("freeze", "0 0 24 12 *", "10d")),
        (window("freeze", "0 0 24 12 *", "10d"),),
        (window("allow", "0 0 29 2 *", "1h"),),
        (window("allow", "0 1 * * *", "15m"), window("allow", "15 1 * * *", "10m")),
    ],
)
def test_of_windows_that_open_and_have_room_nothing_is_said(windows: tuple[str, ...]) -> None:
    assert told(*windows) == []


def test_a_window_that_is_for_no_cluster_is_told_at_its_place() -> None:
    assert told(NIGHT, window("freeze", "0 0 * * *", "1h", "{names: [edge-7]}")) == [
        ("fleet.yaml:6:7", "fleet-window-unused", "no cluster is selected for this freeze window")
    ]


def test_windows_that_are_always_frozen_are_told_for_their_clusters() -> None:
    freeze = window("freeze", "0 0 * * *", "1d", "{names: [edge-2]}")
    ((place, rule, message),) = told(NIGHT, freeze)
    assert (place, rule) == ("fleet.yaml:5:7", "fleet-window-never")
    assert message == "no window ever opens for edge-2: what is allowed is always frozen"


def test_a_window_without_room_for_one_node_is_told_with_both_numbers() -> None:
    ((_, rule, message),) = told(window("allow", "0 22 * * *", "15m"))
    assert rule == "fleet-window-short"
    assert "of edge-1, edge-2, edge-3 and 2 more lasts 15m, and one node is reckoned with 20m" in message
    assert told(window("allow", "0 22 * * *", "15m"), more="  gates: {pool: {perNode: 10m}}\n") == []


def test_what_a_freeze_leaves_of_a_window_is_what_counts() -> None:
    found = told(NIGHT, window("freeze", "10 22 * * *", "23h"))
    assert [rule for _, rule, _ in found] == ["fleet-window-short"]
