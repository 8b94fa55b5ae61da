"""Whatever is remembered, the objects hold it: the definitions, the memory and fleet.yaml agree on how much that is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitops_mc.core.custom.kept import LONGEST_REASON, cluster_memory, cluster_part, fleet_memory, fleet_part
from gitops_mc.core.custom.requests import FORMS, ORDER, On, Verb, requests_on
from gitops_mc.core.custom.shown import MOST_WAVES as SHOWN_WAVES
from gitops_mc.core.errors import MemoryStoreError
from gitops_mc.core.fleetfile.sections import LONGEST_NAME, MOST_WAVES
from gitops_mc.core.gates import PoolClocks
from gitops_mc.core.model import Commit, Content
from gitops_mc.core.rollout.acting import By, Changed, Unchanged
from gitops_mc.core.rollout.acts import MOST_ACCEPTED, MOST_EXCUSED, accept, excuse
from gitops_mc.core.rollout.memory import (
    ClusterMemory,
    Failure,
    FailureCause,
    FleetMemory,
    Halt,
    Leave,
    Rollback,
    WaveMemory,
)
from gitops_mc.core.rollout.paces import Pace, Roll, Work, with_pace

CRDS = Path(__file__).parents[2] / "deploy" / "crds"
NOW = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
MEI = By("m" * 253, NOW, "x" * 1_024)
CONTENT, COMMIT = Content("c" * 64), Commit("a" * 40)
FAILURE = Failure(CONTENT, FailureCause.CONFIG, "a long story " * 20_000, NOW, {"pool:worker": "d" * 64})


def spec_of(name: str) -> Mapping[str, Any]:
    definition = yaml.safe_load((CRDS / name).read_text(encoding="utf-8"))
    (version,) = definition["spec"]["versions"]
    found: Mapping[str, Any] = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return found


def too_much(value: Any, schema: Mapping[str, Any], place: str) -> Iterator[str]:
    """Where a value has more, or less, than a schema takes."""
    match value:
        case str():
            if (
                not schema.get("minLength", 0) <= len(value) <= schema["maxLength"]
                if "maxLength" in schema
                else False
            ):
                yield f"{place}: {len(value)} characters"
        case list():
            if len(value) > schema["maxItems"]:
                yield f"{place}: {len(value)} items"
            for each in value:
                yield from too_much(each, schema["items"], f"{place}[]")
        case dict():
            for name, each in value.items():
                known = schema.get("properties", {}).get(name) or schema["additionalProperties"]
                yield from too_much(each, known, f"{place}.{name}")


def most_of_all() -> ClusterMemory:
    """What a cluster's object has to hold at most, as humans and failures bring it about."""
    memory = FleetMemory(clusters={"edge-1": ClusterMemory(started=CONTENT)})
    for n in range(MOST_EXCUSED):
        done = excuse(memory, "edge-1", f"n{n}-".ljust(253, "n"), NOW + timedelta(days=1), MEI)
        assert isinstance(done, Changed), done
        memory = done.memory
    leave = Leave(CONTENT, MEI.who, NOW, MEI.why)
    return replace(
        memory.cluster("edge-1"),
        failure=FAILURE,
        rollback=Rollback(FAILURE, COMMIT, CONTENT, COMMIT, NOW, MEI.who),
        approved=CONTENT,
        skipped=CONTENT,
        accepted=tuple(f"{n:03}".ljust(512, "x") for n in range(MOST_ACCEPTED)),
        hurried=leave,
        overridden=leave,
    )


def test_a_cluster_of_which_there_is_most_to_remember_fits_its_object() -> None:
    part = cluster_part(most_of_all())
    assert list(too_much(part.spec, spec_of("clusterrollouts.yaml"), "spec")) == []
    again = cluster_memory(part.spec, {"memory": part.memory})
    assert again.failure is not None
    assert len(again.failure.reason) == LONGEST_REASON


def test_a_fleet_of_which_there_is_most_to_remember_fits_its_object() -> None:
    waves = {f"{n}".ljust(LONGEST_NAME, "w"): WaveMemory("c" * 64, approved=True) for n in range(MOST_WAVES)}
    halt = Halt("a long story " * 20_000, NOW, tuple(f"edge-{n}" for n in range(5_000)))
    part = fleet_part(FleetMemory(waves=waves, halt=halt))
    assert list(too_much(part.spec, spec_of("fleets.yaml"), "spec")) == []
    again = fleet_memory(part.spec, {"memory": part.memory}, {})
    assert again.waves == waves
    assert again.halt is not None
    assert again.halt.clusters == halt.clusters


def test_the_status_shows_no_more_waves_than_it_holds() -> None:
    definition = yaml.safe_load((CRDS / "fleets.yaml").read_text(encoding="utf-8"))
    (version,) = definition["spec"]["versions"]
    status = version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
    assert status["waves"]["maxItems"] == SHOWN_WAVES


def test_one_node_more_than_an_object_holds_is_not_excused_and_one_finding_more_takes_the_place_of_the_oldest() -> (
    None
):
    memory = FleetMemory(clusters={"edge-1": most_of_all()})
    refused = excuse(memory, "edge-1", "one-more", NOW + timedelta(days=1), MEI)
    assert isinstance(refused, Unchanged)
    assert f"{MOST_EXCUSED} nodes" in refused.reason
    later = replace(MEI, at=NOW + timedelta(days=2))
    assert isinstance(excuse(memory, "edge-1", "one-more", NOW + timedelta(days=3), later), Changed)
    shown = replace(most_of_all(), pool_clocks={"worker": PoolClocks(mismatch="mismatch:worker:1")})
    accepted = accept(FleetMemory(clusters={"edge-1": shown}), "mismatch:worker:1", "edge-1", MEI)
    assert isinstance(accepted, Changed)
    assert accepted.memory.cluster("edge-1").accepted == (*shown.accepted[1:], "mismatch:worker:1")


@pytest.mark.parametrize(
    "kept",
    [
        "nonsense",
        [],
        {"version": 99},
        {"version": 1, "clock": "2026-01-05T08:00:00"},
        {"version": 1, "waves": ["canary"]},
        {"version": 1, "waves": {"canary": "done"}},
        {"version": 1, "waves": {"canary": {"contents": "x", "soak_since": "2026-01-05T08:00:00"}}},
        {"version": 1, "prune": {"commit": 3}},
    ],
    ids=str,
)
def test_what_a_fleet_remembers_and_means_nothing_is_an_error_and_never_nothing(kept: object) -> None:
    approvals = [{"wave": "canary", "contents": "x"}]
    with pytest.raises(MemoryStoreError):
        fleet_memory({"approvals": approvals}, {"memory": kept or ["x"]}, {})


@pytest.mark.parametrize(
    "kept",
    [
        {"version": 1, "admitted_at": "2026-01-05T08:00:00"},
        {"version": 1, "gate_since": {"policy": "2026-01-05T08:00:00"}},
        {"version": 1, "pool_clocks": {"worker": {"settled_since": "2026-01-05T08:00:00"}}},
        {"version": 1, "merge_order": "sideways"},
        ["started"],
    ],
    ids=str,
)
def test_what_a_cluster_remembers_and_means_nothing_is_an_error_and_never_nothing(kept: object) -> None:
    with pytest.raises(MemoryStoreError):
        cluster_memory({}, {"memory": kept})


UNDO = (
    (Verb.RESUME, Verb.ABORT),
    (Verb.RESUME, Verb.SUSPEND),
    (Verb.RESUME, Verb.TAKEOVER),
    (Verb.RELEASE, Verb.HOLD),
    (Verb.RETRY, Verb.ROLLBACK),
    (Verb.SKIP, Verb.UNSKIP),
    (Verb.EXCUSE, Verb.UNEXCUSE),
)


def test_of_two_requests_that_undo_each_other_the_one_that_stops_comes_last() -> None:
    assert sorted(ORDER) == sorted(FORMS)
    for lifts, stops in UNDO:
        assert ORDER.index(lifts) < ORDER.index(stops)
    body = {"metadata": {"annotations": {f"gitops-mc.io/{v.value}": "x" for v in (Verb.ABORT, Verb.RESUME)}}}
    assert [r.annotation for r in requests_on(body, On.FLEET)] == [
        "gitops-mc.io/resume",
        "gitops-mc.io/abort",
    ]


def test_what_rollouts_have_taught_takes_little_of_the_object_however_many_there_were() -> None:
    paces: tuple[Pace, ...] = ()
    for number in range(10_000):
        work = list(Work)[number % len(Work)]
        paces = with_pace(paces, Pace(work, 5_000, 500, 10_000_000, f"{number % 99}".ljust(253, "m")))
    rolls = {f"pool/{n}".ljust(258, "p"): Roll(Work.REBOOT, 5_000, 500, NOW) for n in range(100)}
    taught = replace(most_of_all(), paces=paces, rolls=rolls)
    part = cluster_part(taught)
    assert cluster_memory(part.spec, {"memory": part.memory}).paces == paces
    assert len(json.dumps(part.memory)) < 128 * 1024
