"""What seeds with orders have found: each as the shortest story that shows it, and named."""

from __future__ import annotations

from gitops_mc.core.rollout.inputs import Abort, Acts
from gitops_mc.core.rollout.moves import Halted, Hold, Standing
from tests.scenarios import test_rollback as back
from tests.scenarios.rollout_world import RolloutWorld


def failed_then_aborted(failures: int) -> RolloutWorld:
    """edge-1 has failed with content that breaks its nodes; then it is aborted."""
    world = back.good(back.fleet("halt", failures=failures))
    world.files.update(back.repository("BROKEN", back.fleet("halt", failures=failures)))
    del world.files["clusters/edge-2/app.yaml"], world.files["clusters/edge-3/app.yaml"]
    world.run(until=lambda look: look.memory.cluster("edge-1").failure is not None)
    return world


ABORTED = Acts(aborted_clusters={"edge-1": Abort("alarms", "tom")})


def test_a_failed_cluster_that_is_aborted_is_not_waited_for_as_if_it_recovered() -> None:
    world = failed_then_aborted(failures=0)
    outlook = world.run(ABORTED, hours=2)
    assert isinstance(outlook, Halted), outlook
    assert world.standing("edge-1") is Standing.FAILED


def test_where_its_failure_is_tolerated_the_act_is_to_resume_it() -> None:
    world = failed_then_aborted(failures=1)
    outlook = world.run(ABORTED, hours=2)
    assert isinstance(outlook, Hold), outlook
    assert "resume edge-1" in outlook.acts


def test_what_somebody_edits_before_a_cluster_goes_back_needs_a_human_and_says_which_act() -> None:
    """What it goes back to was written and has not soaked, and is not what stands there any more: nothing comes of waiting."""
    world, _ = back.soaking()
    soaked = back.fleet(soak="100m", failures=1)
    world.files.update(back.repository("BROKEN", soaked, new=back.NEW))
    world.run(until=lambda look: look.memory.cluster("edge-1").begun)
    mended = {"path": "/etc/new.conf", "mode": 420, "contents": {"source": "data:,mended"}}
    edited = {"config": {"storage": {"files": [mended]}}}
    world.fleet.person("edge-1").edit("machineconfigs", "70-worker-new", {"spec": edited})
    outlook = world.run(hours=8)
    assert isinstance(outlook, Hold), outlook
    assert "gitops-mc accept drift:MachineConfig/70-worker-new" in world.view("edge-1").reason
