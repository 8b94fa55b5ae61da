"""The example fleet is good enough to copy: it validates, is sent as the golden files say, and rolls."""

from __future__ import annotations

import json
from datetime import timedelta
from functools import cache
from pathlib import Path

import pytest

from gitops_mc.app.looks import Pace
from gitops_mc.app.use_cases.planning import Session, ask_servers, plan_fleet
from gitops_mc.bootstrap import example_files, open_repository
from gitops_mc.core.desired import DesiredState
from gitops_mc.core.render.objects import desired_objects
from gitops_mc.core.render.yaml_text import yaml_documents
from gitops_mc.core.rollout.moves import Done, Hold, Outlook
from gitops_mc.core.rollout.preview import Answer
from gitops_mc.sandbox.fleet import MACHINE_CONFIG_VERSION, FleetSpec
from gitops_mc.sandbox.site import WORKER_LABEL, ClusterSpec
from tests.scenarios.rollout_world import RolloutWorld

EXAMPLES = Path(__file__).parents[2] / "examples"
GOLDEN = Path(__file__).parents[1] / "data" / "examples"
FROZEN = {
    "fleet": ("dc-01", "edge-01", "edge-02", "global"),
    "first-steps": ("edge-1", "edge-2", "edge-3"),
}
"""The clusters of each example."""
CLUSTERS = FROZEN["fleet"]


def example(name: str = "fleet") -> DesiredState:
    return open_repository(str(EXAMPLES / name)).read()[0]


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


@pytest.mark.parametrize("name", FROZEN)
def test_it_has_no_problem_and_no_warning(name: str) -> None:
    assert example(name).problems == ()
    assert tuple(c.name for c in example(name).clusters) == FROZEN[name]


def test_there_is_no_example_that_no_test_knows() -> None:
    pipelines = {"ci"}  # tests/docs/test_ci_examples.py
    assert {path.name for path in EXAMPLES.iterdir() if path.is_dir()} - pipelines == set(FROZEN)


def test_every_cluster_has_something_of_its_own_and_something_shared() -> None:
    for cluster in example().clusters:
        sets = {manifest.shared_set for manifest in cluster.manifests}
        assert None in sets
        assert "shared/base" in sets


@pytest.mark.parametrize(("name", "cluster"), [(n, c) for n, clusters in FROZEN.items() for c in clusters])
def test_what_would_be_sent_is_frozen(name: str, cluster: str) -> None:
    """Another encoding of the same bytes is a change of that file on every node: these files must not change by
    themselves. After a change of an example: `python -m tests.e2e.test_examples`.
    """
    assert sent(example(name), cluster) == golden(name, cluster).read_text()


def golden(name: str, cluster: str) -> Path:
    return GOLDEN / name / f"{cluster}.yaml"


def sent(state: DesiredState, cluster: str) -> str:
    found = state.cluster(cluster)
    assert found is not None
    return yaml_documents(desired_objects(found, state.policy))


def test_the_plan_names_every_node_that_reboots_and_refuses_nothing() -> None:
    made = world(installed=("edge-01", "dc-01", "global"))
    for name in ("edge-01", "dc-01", "global"):
        del made.files[f"clusters/{name}/machine-config.yaml"]
        made.files[f"clusters/{name}/.gitkeep"] = ""
    executor = made.executor()
    session = Session(executor.api, executor.clock, executor.workers, executor)
    found = {c.name: c for c in plan_fleet(session, made.git(), None, ask_servers).preview.clusters}
    assert not any(c.refused or c.unknown or c.approve for c in found.values())
    rebooting = {
        n for c in found.values() for i in c.impacts for x in i.nodes if x.disruption.reboot for n in x.nodes
    }
    assert rebooting == {"edge-01-w1", "edge-01-w2", "dc-01-w1", "dc-01-w2", "dc-01-i1"}
    assert {answer.answer for c in ("edge-01", "dc-01") for answer in found[c].checks.values()} == {
        Answer.ACCEPTED
    }


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
    for example_name, cluster_name in [(n, c) for n, found in FROZEN.items() for c in found]:
        golden(example_name, cluster_name).write_text(sent(example(example_name), cluster_name))
