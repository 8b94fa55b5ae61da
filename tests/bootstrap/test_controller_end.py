"""The end of a controller that was asked for: what is still to be told is written, and only then the lease is given up."""

from __future__ import annotations

import io
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from gitops_mc.adapters.git_remote import RemoteSource
from gitops_mc.adapters.git_shelf import Shelf
from gitops_mc.bootstrap import GatewayAccess, clock_of
from gitops_mc.bootstrap.controller import Options, controller
from gitops_mc.bootstrap.observing import Observing
from gitops_mc.core.render.happening import Happening, Reason
from tests.e2e.fleet_site import Site, site

pytestmark = pytest.mark.slow
TOLD = "told at the last moment"


def events(place: Site) -> list[Any]:
    found = place.call("GET", "/api/v1/namespaces/gitops-mc/events")["items"]
    return [event for event in found if event["message"] == TOLD]


def holder(place: Site) -> str:
    path = "/apis/coordination.k8s.io/v1/namespaces/gitops-mc/leases/gitops-mc"
    return str(place.call("GET", path)["spec"].get("holderIdentity") or "")


def test_events_that_wait_when_the_end_is_asked_for_are_written_before_the_lease_is_given_up(
    tmp_path: Path,
) -> None:
    with site(tmp_path) as place:
        home = GatewayAccess(place.gateway, place.folder / "sandbox" / "token", None)
        stop = threading.Event()
        clock = clock_of(home, stop)
        observing = Observing(io.StringIO(), clock, "gitops-mc", "one")
        options = Options(home, "gitops-mc", "one", tmp_path / "cache", unprotected=frozenset({"file"}))
        with controller(options, clock, observing, stop) as made:
            made.tick()
            assert made.leadership.leads
            assert holder(place) == "one"
            assert observing.telemetry.herald is not None
            happening = Happening(Reason.WEBHOOK_HEARS, TOLD)
            observing.telemetry.herald.offer("gitops-mc/prod", (happening,), clock.now())
            stop.set()
            begun = time.monotonic()
            made.run(stop.is_set)
            assert time.monotonic() - begun < 8
            assert [event["involvedObject"]["name"] for event in events(place)] == ["prod"]
            assert holder(place) == ""
    assert "events_not_written" not in str(observing.stream.getvalue())  # type: ignore[attr-defined]


def test_a_controller_that_leads_removes_what_no_fleet_follows(tmp_path: Path) -> None:
    with site(tmp_path) as place:
        home = GatewayAccess(place.gateway, place.folder / "sandbox" / "token", None)
        stop = threading.Event()
        clock = clock_of(home, stop)
        observing = Observing(io.StringIO(), clock, "gitops-mc", "one")
        options = Options(home, "gitops-mc", "one", tmp_path / "cache", unprotected=frozenset({"file"}))
        url = f"file://{tmp_path}/fleet.git"
        gone = Shelf(options.cache, "gitops-mc").place("staging", url, "main")
        source = RemoteSource(url, gone, ref="main", unprotected=options.unprotected)
        source.poll()
        source.leave()
        with controller(options, clock, observing, stop) as made:
            made.tick()
            assert not gone.exists()
