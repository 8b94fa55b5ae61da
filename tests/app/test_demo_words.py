"""What the demo says of writes, nodes and forecasts."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

from gitops_mc.app.act import Written
from gitops_mc.app.use_cases.demo.notes import Deed, NodeNote
from gitops_mc.app.use_cases.demo.tally import forecast_tally, happened_tally, tally_words
from gitops_mc.app.use_cases.demo.words import Teller, shortened, writes_words
from gitops_mc.core.disruption import NONE, REBOOT, Action, ActionType, Disruption
from gitops_mc.core.plan import NodeImpact, PoolImpact

BEGAN = datetime(2026, 1, 5, 8, tzinfo=UTC)
CHRONY = Action(ActionType.RESTART, "chronyd.service")


def note(deed: Deed, action: str = "", why: str = "", minutes: float = 0) -> NodeNote:
    return NodeNote(BEGAN + timedelta(minutes=minutes), "edge-1", "edge-1-w1", deed, action, why)


def impact(*nodes: tuple[int, tuple[Action, ...]]) -> PoolImpact:
    impacts = tuple(NodeImpact((), count, Disruption(actions, ())) for count, actions in nodes)
    return PoolImpact("worker", (), impacts, 1, timedelta(0))


def test_writes_with_the_same_deed_are_told_together_and_stay_in_order() -> None:
    written = [
        Written("edge-1", "MachineConfig b created"),
        Written("edge-1", "MachineConfig a created"),
        Written("edge-1", "MachineConfigPool infra created"),
        Written("edge-1", "MachineConfig c updated"),
        Written("edge-1", "pool worker running again"),
    ]
    assert writes_words(written) == (
        "MachineConfig b, a created; MachineConfigPool infra created; MachineConfig c updated; "
        "pool worker running again"
    )


def test_forecast_and_log_count_in_the_same_words() -> None:
    forecast = forecast_tally([impact((2, (REBOOT,)), (3, (CHRONY,))), impact((4, (NONE,)))])
    log = [note(Deed.REBOOTED)] * 2 + [note(Deed.ACTED, "Restart chronyd.service")] * 3
    assert forecast == happened_tally(log) == Counter({"Reboot": 2, "Restart chronyd.service": 3})


def test_a_degraded_node_is_no_action() -> None:
    assert happened_tally([note(Deed.DEGRADED, "failed to write")]) == Counter()
    assert tally_words(Counter()) == "nothing ran on any node"


def test_a_reboot_is_told_with_the_entries_that_asked_for_it_and_no_others() -> None:
    why = "file /etc/a: None (policy /etc/a); unit b.service: Reboot (default for units)"
    [line] = Teller(BEGAN).notes([note(Deed.REBOOTED, why=why, minutes=61.5)])
    assert (
        line.text
        == "  61:30  edge-1   node     edge-1-w1 reboots: unit b.service: Reboot (default for units)"
    )


def test_a_long_reason_is_cut_and_shows_it() -> None:
    assert shortened("short") == "short"
    assert shortened("x" * 200).endswith("x…")
    assert len(shortened("x" * 200)) == 110
