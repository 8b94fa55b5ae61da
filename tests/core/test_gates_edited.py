"""Whose trouble it is that rendering fails where somebody has edited a config of ours."""

from __future__ import annotations

import pytest

from gitops_mc.core.gates import Attribution, Unsettled, read_pool
from gitops_mc.core.ignition import MergeOrder
from gitops_mc.core.model import JsonObject
from gitops_mc.core.policy import PoolGatePolicy
from tests.core.gate_worlds import cluster, conditions, pool, rendered_of
from tests.core.machine_configs import file, machine_config

MINE = "50-worker-app"
BASE = machine_config("00-worker")
OURS = machine_config(MINE, files=[file("/etc/app.conf", "data:,one")])
OTHER = machine_config("60-worker-more", files=[file("/etc/more.conf", "data:,one")])


def blame(rendered: JsonObject, *configs: JsonObject, ours: set[str], edited: set[str]) -> Attribution:
    body = pool(found=conditions(Updated=True, Updating=False, RenderDegraded=True))
    live = cluster([body], configs=configs, rendered=[rendered])
    found = read_pool(
        live,
        "worker",
        order=MergeOrder.ALPHABETICAL,
        policy=PoolGatePolicy(),
        ours=frozenset(ours),
        edited=frozenset(edited),
    )
    assert isinstance(found, Unsettled)
    assert found.terminal is not None
    return found.terminal.attribution


@pytest.mark.parametrize(
    ("edited", "whose"),
    [({MINE}, Attribution.FOREIGN), (set[str](), Attribution.NOT_KNOWN)],
    ids=["edited", "as we wrote it"],
)
def test_where_all_of_ours_is_rendered_it_is_the_edited_one_that_fails(
    edited: set[str], whose: Attribution
) -> None:
    whole = rendered_of("rendered-1", BASE, OURS)
    assert blame(whole, BASE, OURS, ours={MINE} - edited, edited=edited) is whose


def test_an_edited_config_of_another_pool_says_nothing() -> None:
    whole = rendered_of("rendered-1", BASE, OURS)
    assert blame(whole, BASE, OURS, ours={MINE}, edited={"50-master-app"}) is Attribution.NOT_KNOWN


def test_what_of_ours_is_still_to_be_rendered_is_ours_beside_an_edited_one() -> None:
    lacking = rendered_of("rendered-1", BASE, OURS)
    configs = (BASE, OURS, OTHER)
    assert blame(lacking, *configs, ours={"60-worker-more"}, edited={MINE}) is Attribution.OURS


def test_what_only_an_edit_has_put_there_is_not_ours() -> None:
    lacking = rendered_of("rendered-1", BASE, OURS)
    assert blame(lacking, BASE, OURS, OTHER, ours={MINE}, edited={"60-worker-more"}) is Attribution.FOREIGN
