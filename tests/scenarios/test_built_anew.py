"""Clusters that were built anew under their old names, while the memory knows what stood in those that are gone."""

from __future__ import annotations

from gitops_mc.core.rollout.moves import Done, Hold
from tests.scenarios.rollout_world import FLEET, UNIT, RolloutWorld, machine_config, policy

SOAKED = FLEET.replace("{names: [edge-1]}", "{names: [edge-1]}\n        soak: 5m")
FILES = {
    "fleet.yaml": SOAKED,
    **{
        f"clusters/edge-{n}/{name}.yaml": text
        for n in (1, 2, 3)
        for name, text in {
            "app": machine_config("50-worker-app", files={"/etc/app.conf": "one\n"}, app_service=UNIT),
            "policy": policy({"/etc/app.conf": "app.service"}),
        }.items()
    },
}


def built_anew(when: str) -> RolloutWorld:
    """The clusters of a finished rollout, or of one whose canary soaks, stand empty again, on a clock that begins anew."""
    before = RolloutWorld(files=dict(FILES))
    if when == "finished":
        assert isinstance(before.run(), Done)
    else:
        before.run(until=lambda look: look.memory.cluster("edge-1").out)
    after = RolloutWorld(files=dict(FILES))
    after.store.state = before.store.state
    return after


def test_amid_a_soak_it_is_a_hold_that_says_what_to_type_not_a_wait_for_ever() -> None:
    here = built_anew("soaking")
    outlook = here.run(hours=3)
    assert isinstance(outlook, Hold), outlook
    told = " ".join(outlook.acts)
    assert "gitops-mc accept drift:MachineConfig/50-worker-app --cluster edge-1" in told
    assert "gitops-mc accept drift:MachineConfiguration/cluster --cluster edge-1" in told
    assert not here.writes("edge-1")


def test_a_rollout_that_was_finished_stays_so_and_says_who_is_not_as_git_says() -> None:
    here = built_anew("finished")
    outlook = here.run(hours=3)
    assert isinstance(outlook, Done), outlook
    assert "edge-1, edge-2, edge-3 are not as Git says any more and left alone (drift)" in outlook.reason
    assert not any(here.writes(f"edge-{n}") for n in (1, 2, 3))


def test_where_no_gate_is_shut_it_is_done_and_says_who_is_not_as_git_says() -> None:
    here = RolloutWorld(files={k: v for k, v in FILES.items() if "policy" not in k})
    assert isinstance(here.run(), Done)
    here.fleet.person("edge-2").delete("machineconfigs", "50-worker-app")
    here.clock.wait_for(600)
    outlook = here.run()
    assert isinstance(outlook, Done), outlook
    assert (
        "edge-2 is not as Git says any more and left alone (drift): gitops-mc plan shows what"
        in outlook.reason
    )
