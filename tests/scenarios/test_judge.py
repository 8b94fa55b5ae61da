"""The judge of the simulations: it lets pass what may be, and bites where something is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from gitops_mc.core.rollout import cluster
from gitops_mc.sandbox.fleet import simple_fleet
from gitops_mc.sandbox.moduleinfo import Publication
from tests.scenarios.commits import Push
from tests.scenarios.deeds import CUSTOM_LABEL
from tests.scenarios.drawn import Approval, Aside, Deed, Event, HandAct, Script
from tests.scenarios.invariants import BrokenError, Checks
from tests.scenarios.invariants.evidence import kind_of
from tests.scenarios.repository import MARKER, OTHER_MODULE
from tests.scenarios.rollout_world import machine_config, manifest, module
from tests.scenarios.simulation import Simulation
from tests.simulation.mutants import MUTANTS

FLEET = """\
apiVersion: gitops-mc.io/v1alpha1
kind: FleetConfig
metadata: {name: test}
spec:
  rollout:
    waves:
      - {name: all, clusters: {}}
"""
ROLE = "machineconfiguration.alauda.io/role"
LOST = Event(600, Aside.MEMORY_LOST)
REVERTED = 75
"""In the middle of the step that brings what is to be taken back."""


def files(*clusters: str, **texts: str) -> Mapping[str, str]:
    """A repository in which every cluster has these configs, by role and topic, each with one file."""
    return {"fleet.yaml": FLEET} | {
        f"clusters/{c}/{name}.yaml": machine_config(
            f"50-{name.replace('_', '-')}", name.partition("_")[0], {f"/etc/{name}": text}
        )
        for c in clusters
        for name, text in texts.items()
    }


def script(*pushes: Push, clusters: tuple[str, ...] = ("edge-1",)) -> Script:
    return Script(0, simple_fleet(*clusters), (), pushes, approval=Approval.ASKED)


def judged(one: Script) -> Simulation:
    """Played to its end. Raises BrokenError where the judge finds something."""
    simulation = Simulation(one).play()
    Checks(simulation).everything()
    return simulation


def found_in(one: Script) -> str:
    """What the judge finds."""
    with pytest.raises(BrokenError) as broken:
        judged(one)
    return str(broken.value).partition("\n")[0]


# --------------------------------------------------------------------------------------------------------- lost memory


def a_commit_after_the_loss(seconds: float) -> Script:
    first, second = (files("edge-1", worker_app=text) for text in ("one\n", "two\n"))
    pushes = (Push(0, first, "one"), Push(LOST.at + seconds, second, "two"))
    return replace(script(*pushes), events=(LOST,))


def test_what_has_been_found_standing_there_is_known_again_however_soon_the_next_commit_comes() -> None:
    played = judged(a_commit_after_the_loss(70))
    (loss,) = played.losses
    assert any(one.look >= loss.passes for one in played.ours), "the second commit was to be written"


def test_a_change_before_anything_was_found_there_needs_a_human() -> None:
    judged(a_commit_after_the_loss(5))
    with MUTANTS["first-contact-unasked"].on():
        assert "and nobody approved it" in found_in(a_commit_after_the_loss(5))


# ---------------------------------------------------------------------------------------- places that nobody remembers


def two_steps(at: float) -> Script:
    """The memory is lost while edge-1 is under way; edge-2 is next."""
    both = files("edge-1", "edge-2", worker_app="one\n", worker_more="one\n", master_app="one\n")
    return replace(
        script(Push(0, both, "one"), clusters=("edge-1", "edge-2")), events=(replace(LOST, at=at),)
    )


def starts(played: Simulation) -> set[str]:
    return {one.cluster for one in played.ours}


def test_nobody_starts_beside_a_step_that_stands_open_although_it_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert starts(judged(two_steps(60))) == {"edge-1"}
    monkeypatch.setattr(cluster, "left_open", lambda _case: ())
    assert "beside edge-1: more than 1 at once" in found_in(two_steps(60))


def test_a_pool_that_somebody_has_paused_when_its_nodes_had_everything_is_beside_nobody() -> None:
    pause = HandAct(110, Deed.PAUSE, "edge-1", "worker")
    played = judged(replace(two_steps(300), hands=(pause,)))
    assert starts(played) == {"edge-1", "edge-2"}


# ---------------------------------------------------------------------------------------------------- pools of our own


def test_a_pool_that_we_have_made_is_one_that_we_have_touched() -> None:
    """What broke it is taken back at once: nodes moved into it as soon as it was there."""
    roles = {"key": ROLE, "operator": "In", "values": ["worker", "gpu"]}
    gpu = manifest(
        "MachineConfigPool",
        "gpu",
        {
            "machineConfigSelector": {"matchExpressions": [roles]},
            "nodeSelector": {"matchLabels": {CUSTOM_LABEL: ""}},
        },
    )
    good = {**files("edge-1", worker_app="one\n"), "clusters/edge-1/gpu.yaml": gpu}
    bad = {**files("edge-1", worker_app="one\n", worker_bad=f"{MARKER}\n"), "clusters/edge-1/gpu.yaml": gpu}
    made = script(Push(0, bad, "bad"), Push(REVERTED, good, "revert"))
    played = judged(replace(made, labelled=(("edge-1", "edge-1-w1"),)))
    (taken,) = (one for one in played.ours if one.write.verb == "delete")
    assert kind_of(taken) == "machineconfigs"
    assert played.looks[taken.look].memory.cluster("edge-1").failure is None


# ----------------------------------------------------------------------------------------------------------- deletions


def test_a_module_that_has_not_passed_is_taken_back_by_its_revert_without_prune() -> None:
    """The memory knows it by the module's name, the server by another one."""
    with_module = {"clusters/edge-1/other.yaml": module("edge-1", "v4.2.0", OTHER_MODULE)}
    app = files("edge-1", worker_app="one\n", master_app="one\n")
    one = script(Push(0, {**app, **with_module}, "one"), Push(90, app, "revert"))
    published = Publication(OTHER_MODULE, "v4.2.0")
    spec = replace(one.spec, publications=(*one.spec.publications, published))
    played = judged(replace(one, spec=spec))
    (taken,) = (w for w in played.ours if w.write.verb == "delete")
    assert kind_of(taken) == "moduleinfoes"
    assert not played.looks[taken.look].memory.cluster("edge-1").out
