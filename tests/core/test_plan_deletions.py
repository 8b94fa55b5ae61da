"""Which candidates for deletion go."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitops_mc.core.diff import Delete
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import JsonObject, Kind, ResourceKey, Unknown
from gitops_mc.core.plan.deletions import sort_deletions
from gitops_mc.core.policy import Prune
from tests.core.gate_worlds import NOW, cluster, node, pool

GPU = ResourceKey("edge-01", Kind.MACHINE_CONFIG_POOL, "gpu")
WITH_A_NODE = cluster([pool("worker"), pool("gpu", label="gpu")], nodes=[node("n1", labels=["gpu"])])
EMPTY = cluster([pool("worker"), pool("gpu", label="gpu")], nodes=[node("n1")])


def nodes_unread(live: LiveCluster) -> LiveCluster:
    return replace(live, nodes=Unknown("HTTP 503", NOW))


@pytest.mark.parametrize(
    ("live", "status", "kept"),
    [
        (EMPTY, {"machineCount": 0}, ""),
        (EMPTY, {}, ""),
        (nodes_unread(EMPTY), {"machineCount": 0}, ""),
        (nodes_unread(EMPTY), {}, "its nodes are not known"),
        (nodes_unread(EMPTY), {"machineCount": 2}, "2 nodes still in it"),
        (EMPTY, {"machineCount": 2}, "2 nodes still in it"),
        (WITH_A_NODE, {"machineCount": 0}, "1 node still in it"),
        (WITH_A_NODE, {}, "1 node still in it"),
    ],
)
def test_a_pool_goes_only_when_it_is_known_to_have_no_nodes(
    live: LiveCluster, status: JsonObject, kept: str
) -> None:
    gone = Delete(GPU, "gpu", "uid", "7", {"status": status})
    found = sort_deletions(
        [gone], created=frozenset(), prune=Prune(enabled=True, max_deletes=5), owned=10, live=live
    )
    assert (found.changes == (gone,)) is (kept == "")
    assert all(kept in orphan.reason for orphan in found.kept)
    assert len(found.kept) == (kept != "")
