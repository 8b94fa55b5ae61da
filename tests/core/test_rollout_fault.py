"""When it is the gateway, and when it is only that some clusters are not ours to write for."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from gitops_mc.core.live import Dark, LiveCluster, objects, unread
from gitops_mc.core.model import Commit, Content, DesiredCluster, Known, Outage
from gitops_mc.core.policy import DEFAULT_POLICY
from gitops_mc.core.rollout.fault import fleet_fault
from gitops_mc.core.rollout.inputs import Fleet, Observed

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
REGISTERED = Known(objects({"x": {"status": {"phase": "Running"}}}), NOW)


def seen(*kinds: Outage | None) -> tuple[Fleet, Observed]:
    live: dict[str, LiveCluster] = {}
    for position, kind in enumerate(kinds):
        name = f"edge-{position}"
        dark = None if kind is None else Dark(f"{kind.value} it is", kind, NOW)
        live[name] = replace(unread(name, NOW), inventory=REGISTERED, dark=dark)
    fleet = Fleet(DEFAULT_POLICY, tuple(DesiredCluster(n, (), Content(n)) for n in live), Commit("c"))
    return fleet, Observed(live)


def test_clusters_that_are_barred_are_no_sign_of_the_gateway() -> None:
    assert fleet_fault(*seen(Outage.BARRED, Outage.BARRED, Outage.BARRED)) == ""
    assert fleet_fault(*seen(Outage.BARRED, Outage.BARRED, Outage.UNREACHABLE)) == ""


def test_most_of_the_others_dark_is_the_gateway_all_the_same() -> None:
    dark = Outage.UNREACHABLE
    told = fleet_fault(*seen(Outage.BARRED, Outage.BARRED, Outage.BARRED, dark, dark, None))
    assert told == "2 of 3 clusters do not answer, so it is the gateway: unreachable it is"
    refused = fleet_fault(*seen(Outage.BARRED, Outage.DENIED, Outage.DENIED))
    assert refused == "credentials are refused on 2 of 2 clusters: denied it is"
