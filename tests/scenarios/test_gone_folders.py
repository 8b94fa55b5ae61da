"""A cluster whose folder leaves Git: nothing is done there, nothing is deleted, and it is said."""

from __future__ import annotations

import pytest

from gitops_mc.core.rollout.moves import Done, Hold, Standing
from tests.scenarios.crashes import Counted, Killed, Moment
from tests.scenarios.rollout_world import RolloutWorld
from tests.scenarios.test_groups import second, world
from tests.scenarios.test_rollout import three


def test_a_folder_that_is_gone_deletes_nothing_and_is_named() -> None:
    w = RolloutWorld(files=three())
    assert isinstance(w.run(), Done)
    before = len(w.writes("edge-3"))
    del w.files["clusters/edge-3/app.yaml"]
    assert isinstance(w.run(), Done)
    assert len(w.writes("edge-3")) == before
    assert w.standing("edge-3") is Standing.GONE
    assert "1 object of ours stays" in w.view("edge-3").reason


def test_a_folder_that_goes_while_a_step_stands_open_is_held_for_a_human() -> None:
    w = world()
    assert isinstance(w.run(), Done)
    w.files = second()
    w.files["clusters/edge-9/README.md"] = "not empty"
    w.wrap = lambda transport: Counted(transport, 60, Moment.AFTER)
    with pytest.raises(Killed):
        w.run()
    step = w.cluster_memory("edge-1").step
    assert step is not None, "killed in the middle of the step"
    w.wrap = lambda transport: transport
    w.files = {k: v for k, v in w.files.items() if "edge-1" not in k}
    w.files["clusters/edge-9/app.yaml"] = three()["clusters/edge-1/app.yaml"]
    outlook = w.run(hours=1)
    assert isinstance(outlook, Hold)
    assert any("edge-1" in reason and "stands open" in reason for reason in outlook.reasons)
