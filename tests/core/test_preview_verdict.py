"""The first line of a preview: precise, in numbers and in grammar, and never better than what was read."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_mc.core.disruption import Action, ActionType, Cause, Disruption
from gitops_mc.core.ignition import KERNEL_ARGUMENTS, ChangeKind, Entry, EntryKind
from gitops_mc.core.model import ClusterScope, Place, Problem, Severity
from gitops_mc.core.plan import ClusterPlan, Refusal
from gitops_mc.core.preview.changed import ChangeOf, ClusterChange, PoolChange, PullChanges, SettingChange
from gitops_mc.core.preview.hindrances import UpgradePath
from gitops_mc.core.preview.model import (
    Advice,
    AdviceKind,
    Conflict,
    LivePart,
    LivePreview,
    NoLive,
    State,
    UnreadCluster,
    Verdict,
)
from gitops_mc.core.preview.verdict import LONGEST, verdict_of
from gitops_mc.core.rollout.preview import ClusterPreview
from tests.core.preview_builder import AT, fleet, live_cluster, no_change
from tests.core.preview_worlds import BASE, HEAD, chrony_change

OFFLINE = NoLive("no way to them was given")
CHRONYD = Entry(EntryKind.UNIT, "chronyd.service")
NO_POLICY = "no policy, shipped default Reboot"
REBOOT = Action(ActionType.REBOOT)


def cause(
    entry: Entry = CHRONYD, change: ChangeKind = ChangeKind.CHANGED, rule: str = NO_POLICY, *actions: Action
) -> Cause:
    return Cause(entry, change, rule, actions or (REBOOT,))


def touched(name: str, *causes: Cause, wave: str = "canary", pool: str = "worker") -> ClusterChange:
    found = Disruption(tuple(a for c in causes for a in c.actions), causes)
    pools = (PoolChange(pool, (), found, found),) if causes else ()
    return ClusterChange(name, wave, ChangeOf.CHANGED, pools=pools)


def offline(*clusters: ClusterChange) -> PullChanges:
    return PullChanges(clusters, untouched=1)


def problem(cluster: str, file: str = "a.yaml", message: str = "no such field") -> Problem:
    return Problem(
        Place(f"clusters/{cluster}/{file}", 3, 5), "rule", "spec", message, "", ClusterScope(cluster)
    )


def said(changes: PullChanges, live: LivePart = OFFLINE) -> Verdict:
    return verdict_of(changes, live, str)


def rolled(change: ClusterChange, nodes: int = 3) -> ClusterPreview:
    """A live cluster where something is written for it."""
    found = live_cluster(change, nodes)
    like = live_cluster(chrony_change(change.name, change.wave), nodes)
    assert found.plan is not None
    assert like.plan is not None
    return replace(found, plan=replace(found.plan, steps=like.plan.steps))


def on_fleet(*clusters: ClusterPreview, already: tuple[ClusterPreview, ...] = ()) -> LivePreview:
    return LivePreview(AT, fleet(HEAD, clusters), fleet(BASE, already))


RESTART = Action(ActionType.RESTART, "chronyd.service")
RELOAD = Action(ActionType.RELOAD, "nftables.service")
DRAIN = Action(ActionType.DRAIN)
NONE = Action(ActionType.NONE)
CONF = Entry(EntryKind.FILE, "/etc/chrony.conf")

BY_GIT = {
    "no change": offline(),
    "changes rollout.maxFailures in fleet.yaml, and nothing on any node": PullChanges(
        (), 3, (SettingChange("rollout.maxFailures", "0", "1"),)
    ),
    "changes 2 settings of fleet.yaml, and nothing on any node": PullChanges(
        (), 3, (SettingChange("a", "0", "1"), SettingChange("b", "", "1"))
    ),
    "reboots every node of pool worker in edge-01 because unit chronyd.service changes and no policy covers it": offline(
        touched("edge-01", cause())
    ),
    "reboots every node of pools infra, worker in 2 clusters because unit chronyd.service changes and no policy covers it": offline(
        touched("edge-01", cause()), touched("edge-02", cause(), pool="infra")
    ),
    "reboots every node of pool worker in edge-01 because unit chronyd.service is added and no policy covers it": offline(
        touched("edge-01", cause(CHRONYD, ChangeKind.ADDED))
    ),
    "reboots every node of pool worker in edge-01 because kernel arguments change": offline(
        touched("edge-01", cause(KERNEL_ARGUMENTS, ChangeKind.CHANGED, "kernel arguments always reboot"))
    ),
    "reboots every node of pool worker in edge-01 because kernel arguments are removed, and for 1 more entry": offline(
        touched(
            "edge-01",
            cause(KERNEL_ARGUMENTS, ChangeKind.REMOVED, "kernel arguments always reboot"),
            cause(Entry(EntryKind.UNIT, "zzz.service"), ChangeKind.REMOVED),
        )
    ),
    "drains every node of pool worker in edge-01 because file /etc/chrony.conf changes and the policy for /etc says so": offline(
        touched("edge-01", cause(CONF, ChangeKind.CHANGED, "policy for /etc", DRAIN))
    ),
    "restarts chronyd.service on every node of pool worker in edge-01; no reboot": offline(
        touched("edge-01", cause(CONF, ChangeKind.CHANGED, "policy for /etc", RESTART))
    ),
    "restarts or reloads chronyd.service and nftables.service on every node of pool worker in edge-01; no reboot": offline(
        touched("edge-01", cause(CONF, ChangeKind.CHANGED, "policy for /etc", RESTART, RELOAD))
    ),
    "changes every node of pool worker in edge-01 and restarts nothing there": offline(
        touched("edge-01", cause(CONF, ChangeKind.CHANGED, "no policy, shipped default None", NONE))
    ),
    "takes edge-01 out of the fleet (nothing is deleted there); changes nothing on any node": offline(
        ClusterChange("edge-01", "", ChangeOf.REMOVED)
    ),
}


@pytest.mark.parametrize(("line", "changes"), BY_GIT.items(), ids=range(len(BY_GIT)))
def test_by_git_alone_the_line_says_what_becomes_of_a_node(line: str, changes: PullChanges) -> None:
    found = said(changes)
    assert found.line == line
    assert found.state is State.OK
    assert found.reasons[-1] == "the clusters were not looked at: no way to them was given"


def test_on_the_fleet_the_line_has_the_number_of_nodes_the_time_the_start_and_what_is_in_the_way() -> None:
    one, two = touched("edge-01", cause()), touched("prod-2", cause(), wave="rest")
    live = replace(
        on_fleet(rolled(one, 2), rolled(two, 12)),
        advice=(Advice(AdviceKind.CANNOT_START, ("prod-2",), "pool worker is degraded"),),
    )
    found = said(offline(one, two), live)
    assert found.line == (
        "reboots 14 nodes in 2 clusters because unit chronyd.service changes and no policy covers it; "
        "about 5 h 40 min, starts with edge-01; on prod-2 it cannot start: pool worker is degraded"
    )
    assert found.state is State.OK


def test_one_node_of_one_cluster_is_told_in_the_singular() -> None:
    one = touched("edge-01", cause())
    assert said(offline(one), on_fleet(rolled(one, 1))).line.startswith("reboots 1 node in edge-01 because ")


def test_what_reboots_anyway_is_not_laid_at_the_door_of_the_pull_request() -> None:
    conf = cause(CONF, ChangeKind.CHANGED, "policy for /etc", RESTART)
    both, pending = touched("edge-01", cause(), conf), touched("edge-01", cause())
    found = said(offline(touched("edge-01", conf)), on_fleet(rolled(both), already=(rolled(pending),)))
    assert found.line.startswith("restarts chronyd.service on 3 nodes in edge-01; no reboot")
    assert found.reasons[0] == "3 nodes reboot there without it, for what base has and the clusters have not"


def test_nodes_for_which_both_do_something_count_for_both() -> None:
    both = touched("edge-01", cause())
    found = said(offline(both), on_fleet(rolled(both), already=(rolled(both),)))
    assert found.line.startswith("reboots 3 nodes in edge-01 because unit chronyd.service changes")
    assert found.reasons[0].startswith("3 nodes reboot there without it")


def test_problems_come_first_with_their_number_their_files_and_the_first_place() -> None:
    bad = replace(touched("edge-01"), blocked=(problem("edge-01"), problem("edge-01", "b.yaml")))
    third = problem("edge-01", "b.yaml", "another one")
    found = said(PullChanges((bad,), 2, new_problems=(*bad.blocked, third)))
    assert found.state is State.PROBLEMS
    assert found.line == "blocked: 3 problems in 2 files; nothing is carried out on edge-01"
    assert found.reasons[0] == "clusters/edge-01/a.yaml:3:5: no such field"


def test_problems_that_base_has_elsewhere_are_not_the_fault_of_this_pull_request() -> None:
    one = touched("edge-01", cause())
    assert said(PullChanges((one,), 2, old_problems=(problem("dc-01"),))).state is State.OK
    warning = replace(problem("edge-01"), severity=Severity.WARNING)
    assert said(PullChanges((one,), 2, new_problems=(warning,))).state is State.OK


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        (SettingChange("spec.sensitive", "/etc/registry/**", ""), "no longer sensitive, and shown from the merge on: /etc/registry/**"),
        (SettingChange("metadata.name", "prod", "default"), "the fleet is called another name, with which all that it owns is marked: prod becomes default"),
        (SettingChange("spec.rollout.requirePreview", "true", "false"), "what no preview has shown waits for nobody any more (rollout.requirePreview)"),
    ],
)  # fmt: skip
def test_a_setting_that_no_node_notices_and_somebody_should_is_told_first(
    setting: SettingChange, told: str
) -> None:
    found = said(PullChanges((), 3, settings=(setting,)))
    assert found.state is State.OK
    assert found.reasons[0] == told
    back = replace(setting, before=setting.after, after=setting.before)
    assert told not in said(PullChanges((), 3, settings=(back,))).reasons


def test_a_conflict_names_its_files() -> None:
    found = said(offline(touched("edge-01", cause())), Conflict(("a.yaml", "b.yaml", "c.yaml")))
    assert found.state is State.PROBLEMS
    assert found.line == "cannot be merged: it conflicts with base in a.yaml, b.yaml and 1 more"


def test_a_refusal_is_a_problem_and_says_where_and_why() -> None:
    one = touched("edge-01", cause())
    refused = rolled(one)
    assert refused.plan is not None
    plan = replace(refused.plan, refusals=(Refusal("drifted", "it was changed by hand"), Refusal("x", "y")))
    found = said(offline(one), on_fleet(replace(refused, plan=plan)))
    assert found.state is State.PROBLEMS
    assert found.line == "refused on edge-01: it was changed by hand (and 1 more refusal)"


def test_a_cluster_that_was_not_read_makes_it_unknown_since_when() -> None:
    one, two = touched("edge-01", cause()), touched("prod-2", cause(), wave="rest")
    live = replace(
        on_fleet(rolled(one)), unread=(UnreadCluster("prod-2", "no answer", AT - timedelta(minutes=42)),)
    )
    found = said(offline(one, two), live)
    assert found.state is State.UNKNOWN
    since = f"{AT - timedelta(minutes=42):%H:%M} UTC"
    assert found.line == f"unknown: prod-2 has not been read since {since}: no answer"
    assert found.reasons[0].startswith("as far as it was read: reboots 3 nodes in edge-01 because ")


def test_what_was_asked_and_could_not_be_had_at_all_is_unknown_too() -> None:
    found = said(offline(touched("edge-01", cause())), NoLive("connection refused", AT))
    assert found.state is State.UNKNOWN
    assert found.line == f"unknown: the clusters could not be asked at {AT:%H:%M} UTC: connection refused"


def test_an_upgrade_without_a_way_is_a_problem_and_one_that_nobody_could_look_up_is_unknown() -> None:
    one = touched("edge-01")
    blocked = UpgradePath("logcenter", "v1", "v3", (), ("v3 admits upgrades from v2 on",), blocked=True)
    live = replace(on_fleet(rolled(one)), upgrades=MappingProxyType({"edge-01": (blocked,)}))
    found = said(offline(one), live)
    assert found.state is State.PROBLEMS
    assert found.line == "refused on edge-01: module logcenter v3: v3 admits upgrades from v2 on"
    missing = UpgradePath("logcenter", "v1", "v3", (), unknown="the catalog was not read")
    live = replace(live, upgrades=MappingProxyType({"edge-01": (missing,)}))
    assert said(offline(one), live).state is State.UNKNOWN


def test_secrets_are_taken_out_before_a_reason_is_shortened() -> None:
    secret = "correct-horse-battery-staple"
    reason = "x" * 95 + " " + secret
    one = touched("edge-01", cause())
    refused = rolled(one)
    assert isinstance(refused.plan, ClusterPlan)
    plan = replace(refused.plan, refusals=(Refusal("drifted", reason),))
    live = on_fleet(replace(refused, plan=plan))
    found = verdict_of(offline(one), live, lambda text: text.replace(secret, "[sensitive, 28 bytes]"))
    assert "correct" not in found.line


NAMES = st.text("abcdefghijklmnopqrstuvwxyz-0123456789.", min_size=1, max_size=253)
ENTRIES = st.builds(Entry, st.sampled_from([EntryKind.FILE, EntryKind.UNIT, EntryKind.SSH_KEYS]), NAMES)
CAUSES = st.builds(
    Cause,
    ENTRIES,
    st.sampled_from(ChangeKind),
    st.one_of(st.just(NO_POLICY), NAMES.map(lambda n: f"policy for /{n}")),
    st.tuples(st.builds(Action, st.sampled_from(ActionType), NAMES)),
)
CLUSTERS = st.builds(
    lambda name, causes, blocked: replace(
        touched(name, *causes), blocked=(problem(name),) if blocked else ()
    ),
    NAMES,
    st.lists(CAUSES, max_size=3),
    st.booleans(),
)


@given(
    st.lists(CLUSTERS, max_size=4, unique_by=lambda c: c.name),
    st.sets(st.integers(0, 3)),
    st.sets(st.integers(0, 3)),
    st.text(max_size=400),
)
def test_it_is_never_good_with_something_unread_or_refused_and_always_fits_in_a_line(
    clusters: list[ClusterChange], unread: set[int], refused: set[int], reason: str
) -> None:
    changes = PullChanges(tuple(clusters), 0)
    rows = [rolled(cluster) for cluster in clusters]
    for position in refused & set(range(len(rows))):
        plan = rows[position].plan
        assert plan is not None
        rows[position] = replace(rows[position], plan=replace(plan, refusals=(Refusal("x", reason),)))
    missing = [clusters[p].name for p in sorted(unread) if p < len(clusters)]
    live = replace(on_fleet(*rows), unread=tuple(UnreadCluster(name, reason, AT) for name in missing))
    found = said(changes, live)
    trouble = any(c.blocked for c in clusters) or any(r.refused for r in rows)
    wanted = State.PROBLEMS if trouble else State.UNKNOWN if missing else State.OK
    assert found.state is wanted
    assert 0 < len(found.line) < LONGEST
    assert all(0 < len(line) < LONGEST for line in found.reasons)
    assert len(found.reasons) <= 2


def test_a_cluster_that_changes_its_wave_alone_is_told_as_that() -> None:
    one = replace(touched("edge-01"), moved_from="rest")
    assert said(offline(one), on_fleet(no_change("edge-01", "canary"))).line == (
        "rearranges 1 cluster; changes nothing on any node"
    )
