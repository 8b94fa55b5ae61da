"""The example fleet is good enough to copy: it validates, is sent as the golden files say, and rolls."""

from __future__ import annotations

import json
from datetime import timedelta
from functools import cache
from pathlib import Path

import pytest

from gitops_mc.app.executor import Pace
from gitops_mc.bootstrap import example_files, open_repository
from gitops_mc.core.desired import DesiredState
from gitops_mc.core.render.objects import desired_objects
from gitops_mc.core.render.yaml_text import yaml_documents
from gitops_mc.core.rollout.moves import Done, Hold, Outlook
from gitops_mc.sandbox.fleet import MACHINE_CONFIG_VERSION, FleetSpec
from gitops_mc.sandbox.site import WORKER_LABEL, ClusterSpec
from tests.scenarios.rollout_world import RolloutWorld

EXAMPLE = Path(__file__).parents[2] / "examples" / "fleet"
GOLDEN = Path(__file__).parents[1] / "data" / "examples"
CLUSTERS = ("dc-01", "edge-01", "edge-02", "global")


def example() -> DesiredState:
    return open_repository(str(EXAMPLE)).read()[0]


def world(installed: tuple[str, ...] = ()) -> RolloutWorld:
    """A fleet the example fits, machine-config being there by hand on some clusters."""
    clusters = tuple(
        ClusterSpec(
            name,
            masters=1,
            workers=0 if name == "global" else 2,
            machine_config=MACHINE_CONFIG_VERSION if name in installed else None,
        )
        for name in CLUSTERS
    )
    files = {path: data.decode() for path, data in example_files().items()}
    made = RolloutWorld(spec=FleetSpec(clusters), files=files, pace=Pace(every=timedelta(seconds=15)))
    labels = {WORKER_LABEL: "", "node-role.kubernetes.io/infra": ""}
    made.fleet.add_node("dc-01", "dc-01-i1", labels)
    return made


@cache
def rolled_out() -> tuple[RolloutWorld, Outlook]:
    """The example on an empty fleet, to its end."""
    made = world()
    return made, made.run()


def test_it_has_no_problem_and_no_warning() -> None:
    assert example().problems == ()


def test_every_cluster_has_something_of_its_own_and_something_shared() -> None:
    for cluster in example().clusters:
        sets = {manifest.shared_set for manifest in cluster.manifests}
        assert None in sets
        assert "shared/base" in sets


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_what_would_be_sent_is_frozen(cluster: str) -> None:
    """Another encoding of the same bytes is a change of that file on every node: these files must not change by
    themselves. After a change of the example: `python -m tests.e2e.test_examples`.
    """
    assert sent(example(), cluster) == (GOLDEN / f"{cluster}.yaml").read_text()


def sent(state: DesiredState, cluster: str) -> str:
    found = state.cluster(cluster)
    assert found is not None
    return yaml_documents(desired_objects(found, state.policy))


def test_on_an_empty_fleet_it_rolls_out_without_a_question_canary_first_global_last() -> None:
    made, outlook = rolled_out()
    assert isinstance(outlook, Done), outlook
    passed = {name: made.cluster_memory(name).passed_at for name in CLUSTERS}
    order = sorted(CLUSTERS, key=lambda name: str(passed[name]))
    assert order[0] == "edge-01"
    assert order[-1] == "global"
    assert set(made.fleet.reboots().values()) <= {0, 1}
    assert made.fleet.failures == ()


def test_what_stands_on_a_node_afterwards_is_what_the_repository_says() -> None:
    made, outlook = rolled_out()
    assert isinstance(outlook, Done), outlook
    infra = made.fleet.machine("dc-01", "dc-01-i1")
    assert infra.files["/etc/chrony.conf"] == example_files()["shared/base/files/chrony.conf"]
    assert b"SystemMaxUse=500M" in infra.files["/etc/systemd/journald.conf.d/60-infra.conf"]
    assert "auths" in json.loads(infra.files["/var/lib/kubelet/config.json"])
    assert "node-firewall.service" in infra.units
    assert made.fleet.machine("edge-02", "edge-02-w1").kernel_arguments == (
        "console=tty0",
        "console=ttyS0,115200",
    )
    assert made.fleet.machine("dc-01", "dc-01-w1").kernel_arguments == ()


def test_where_machine_config_was_installed_by_hand_a_human_is_asked_and_nothing_is_written() -> None:
    made = world(installed=CLUSTERS)
    outlook = made.run()
    assert isinstance(outlook, Hold), outlook
    assert "gitops-mc apply --approve edge-01" in " ".join(outlook.acts)
    assert all(made.writes(name) == () for name in CLUSTERS)


if __name__ == "__main__":
    for one in CLUSTERS:
        (GOLDEN / f"{one}.yaml").write_text(sent(example(), one))
