"""The digest of what a preview promises moves with what is done and with what nodes go through, and with nothing else."""

from __future__ import annotations

from dataclasses import replace

from gitops_mc.core.preview.promised import promise_digest
from gitops_mc.core.rollout.preview import ClusterPreview
from tests.core.preview_builder import UNIT, fleet, live_cluster
from tests.core.preview_worlds import chrony_change


def _digest(*clusters: ClusterPreview) -> str:
    return promise_digest(fleet("head", clusters))


def test_how_many_nodes_there_are_and_how_long_it_takes_has_no_part_in_it() -> None:
    change = chrony_change("edge-01", "canary")
    assert _digest(live_cluster(change)) == _digest(live_cluster(change, nodes=9))


def test_another_action_and_a_cluster_of_which_nothing_is_known_are_others() -> None:
    rebooting = live_cluster(chrony_change("edge-01", "canary", unit=UNIT))
    quiet = live_cluster(chrony_change("edge-01", "canary", unit=""))
    unknown = replace(rebooting, plan=None, unknown="no answer")
    assert len({_digest(rebooting), _digest(quiet), _digest(unknown), _digest()}) == 4
