"""An order stops what is under way before its next call, its second tries included."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from gitops_mc.app.act import carry_out
from gitops_mc.app.api import RESOURCES, ClusterApi
from gitops_mc.app.permit import Permits
from gitops_mc.app.ports import Request, Response, Transport
from gitops_mc.core.diff import Create
from gitops_mc.core.model import Content, Kind, ResourceKey, name_of
from gitops_mc.core.rollout.moves import Apply
from gitops_mc.sandbox.apiserver import ADMIN_TOKEN, ApiServer
from gitops_mc.sandbox.transport import DirectTransport
from gitops_mc.sandbox.virtual import VirtualClock


def config(name: str) -> Create:
    kind = Kind.MACHINE_CONFIG
    body = {
        "apiVersion": kind.api_version,
        "kind": "MachineConfig",
        "metadata": {"name": name},
        "spec": {"config": {}},
    }
    return Create(ResourceKey("edge", kind, name), body, "d")


STEP = Apply("edge", "pools:worker", tuple(config(f"5{n}-worker-app") for n in range(5)))


@dataclass
class Watched:
    """A way to the server, on which something happens after a number of real writes."""

    inner: Transport
    after: int
    then: Callable[[], None]
    answers: int = 0
    """What is answered once that has happened: 0, what the server says."""
    seen: list[str] = field(default_factory=list)

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        real = request.method != "GET" and ("dryRun", "All") not in request.query
        if real:
            self.seen.append(request.path)
        if real and len(self.seen) == self.after:
            self.then()
            if self.answers:
                return Response(self.answers, b"busy", {"retry-after": "1"})
        return self.inner.send(cluster, request, timeout=timeout)


@pytest.mark.parametrize("answers", [0, 429, 503])
def test_no_call_is_sent_after_an_order_neither_the_next_nor_the_same_again(answers: int) -> None:
    clock, permits = VirtualClock(datetime(2026, 1, 1, tzinfo=UTC)), Permits()
    server = ApiServer("edge", now=clock.now)
    server.install_machine_apis()
    direct = DirectTransport({"edge": server, "global": ApiServer("global", now=clock.now)}, ADMIN_TOKEN)
    watched = Watched(direct, 2, permits.revoke, answers)
    api = ClusterApi(watched, clock, jitter=lambda: 0.0)
    outcome = carry_out(api.under(permits.current), clock, STEP, Content("c"))
    assert len(watched.seen) == 2
    assert ("an order came in between" in outcome.trouble) is (answers != 503), outcome.trouble
    assert outcome.trouble
    assert outcome.fault is None
    made = [name_of(c) for c in api.list("edge", RESOURCES["MachineConfig"])]
    assert made == ["50-worker-app", "51-worker-app"][: 1 if answers else 2]
    assert [w.what for w in outcome.written] == [f"MachineConfig {name} created" for name in made]
    again = carry_out(api.under(permits.current), clock, STEP, Content("c"))
    assert again.written, "what begins later may write"
    assert "an order came in between" not in again.trouble
