"""The right to list pods is a part of its own: who chooses it grants that and no more, and a preview uses all of it."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from gitops_mc.app.api import ClusterApi
from gitops_mc.app.observe_drains import observe_drains
from gitops_mc.core.preview.hindrances import Drains, DrainsNotRead
from gitops_mc.sandbox.apiserver import User
from gitops_mc.sandbox.transport import DirectTransport
from tests.app.drain_worlds import plan, world
from tests.core.pod_worlds import budget, pod
from tests.deploy.controller import ACCOUNT, GATEWAY_USER
from tests.deploy.recording import Recording
from tests.deploy.rendering import DEPLOY, rendered
from tests.deploy.rights import Right, granted, rules

WITHOUT = granted(rendered(DEPLOY / "workload"), GATEWAY_USER)
CHOSEN = granted(rendered(DEPLOY / "workload-pods"), GATEWAY_USER)
ON_GLOBAL = granted(rendered(DEPLOY / "overlays" / "preview-pods"), ACCOUNT)
TOKEN = "token-of-the-gateway"


def seen(rights: Iterable[Right], *drained: str, of: int = 3) -> tuple[Drains | DrainsNotRead, Recording]:
    """What a token with these rights finds of a plan that drains nodes, and what it asked."""
    there = world([pod("web-1", "n1"), pod("web-2", "n2")], [budget()])
    server = there.transport.server
    server.grant(TOKEN, User("gateway", rules(frozenset(rights))))
    recording = Recording({"edge-01": server}, {TOKEN: "gateway"})
    api = ClusterApi(DirectTransport(recording, TOKEN), there.clock, jitter=random.Random(0).random)
    found = observe_drains(api, there.clock, plan(*drained, of=of))
    assert found is not None
    return found, recording


def test_it_is_the_same_on_global_and_on_workload_clusters_and_in_neither_before() -> None:
    assert {str(right) for right in CHOSEN} == {"list pods.core", "list poddisruptionbudgets.policy"}
    assert ON_GLOBAL == CHOSEN
    base = granted(rendered(DEPLOY / "base"), ACCOUNT)
    assert not [r for r in base | WITHOUT if r.resource in ("pods", "poddisruptionbudgets")]


@pytest.mark.parametrize("of", [3, 40], ids=["all pods", "pods of a node"])
def test_the_right_to_list_pods_is_a_part_of_its_own_and_all_of_it_is_used(of: int) -> None:
    found, recording = seen(WITHOUT | CHOSEN, "n1", of=of)
    assert isinstance(found, Drains)
    assert found.hindrances
    assert recording.refused == []
    used = recording.of("gateway")
    assert not [r for r in used if not any(g.covers(r) for g in WITHOUT | CHOSEN)]
    assert not [g for g in CHOSEN if not any(g.covers(r) for r in used)]


@pytest.mark.parametrize("lacking", sorted(CHOSEN), ids=str)
def test_without_either_half_of_it_the_preview_says_what_it_may_not_read(lacking: Right) -> None:
    found, _ = seen((WITHOUT | CHOSEN) - {lacking}, "n1")
    assert isinstance(found, DrainsNotRead)
    assert lacking.resource in found.reason
