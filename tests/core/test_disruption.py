from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_mc.core.disruption import (
    NONE,
    REBOOT,
    Action,
    ActionType,
    Disruption,
    Policy,
    describe,
    disruption_of,
    estimate,
    policy_of,
    read_policy,
)
from gitops_mc.core.ignition import Effective, effective_of
from gitops_mc.core.model import JsonObject
from tests.core.machine_configs import file, machine_config

NOTHING = effective_of({})
SHIPPED = Policy()
DRAIN = Action(ActionType.DRAIN)
DAEMON_RELOAD = Action(ActionType.DAEMON_RELOAD)


def effective(**parts: Any) -> Effective:
    return effective_of(machine_config(**parts))


def restart(service: str) -> JsonObject:
    return {"type": "Restart", "restart": {"serviceName": service}}


def reload(service: str) -> JsonObject:
    return {"type": "Reload", "reload": {"serviceName": service}}


CHRONY = Action(ActionType.RESTART, "chronyd.service")
CLUSTER_POLICIES: JsonObject = {
    "files": [
        {"path": "/etc/chrony.conf", "actions": [restart("chronyd.service")]},
        {"path": "/etc", "actions": [{"type": "Drain"}, reload("etc.service")]},
        {"path": "/etc/sysctl.d/", "actions": [{"type": "None"}]},
        {"path": "/etc/motd", "actions": []},
        {"path": "/boot/x", "actions": [{"type": "Reboot"}]},
    ],
    "units": [
        {"name": "firewall.service", "actions": [{"type": "DaemonReload"}, restart("firewall.service")]}
    ],
    "sshkey": {"actions": [{"type": "Drain"}]},
}
POLICY = read_policy(CLUSTER_POLICIES, {"files": [{"type": "DaemonReload"}], "units": [{"type": "None"}]})


def of_files(*paths: str, policy: Policy = POLICY) -> Disruption:
    return disruption_of(NOTHING, effective(files=[file(path) for path in paths]), policy)


# ------------------------------------------------------------------------------------------------------ which rule decides


@pytest.mark.parametrize(
    ("path", "rule", "actions"),
    [
        ("/etc/chrony.conf", "policy for /etc/chrony.conf", (CHRONY,)),
        ("/etc/chrony.conf.d/x", "policy for /etc", (DRAIN, Action(ActionType.RELOAD, "etc.service"))),
        ("/etc/a/b/c", "policy for /etc", (DRAIN, Action(ActionType.RELOAD, "etc.service"))),
        ("/etc/sysctl.d/99.conf", "policy for /etc/sysctl.d/", (NONE,)),
        ("/etc/motd", "policy for /etc/motd", (NONE,)),
        ("/etcetera", "no policy, default DaemonReload", (DAEMON_RELOAD,)),
        ("/var/x", "no policy, default DaemonReload", (DAEMON_RELOAD,)),
        ("/boot/x", "policy for /boot/x", (REBOOT,)),
    ],
)
def test_the_closest_policy_decides_for_a_file_and_the_default_where_there_is_none(
    path: str, rule: str, actions: tuple[Action, ...]
) -> None:
    found = of_files(path)
    assert [(str(c.entry), c.change.value, c.rule) for c in found.causes] == [(f"file {path}", "added", rule)]
    assert found.actions == actions


def test_a_policy_for_the_root_folder_decides_nothing_as_in_the_public_operator() -> None:
    root = read_policy({"files": [{"path": "/", "actions": [{"type": "Reboot"}]}]})
    assert of_files("/var/x", policy=root).actions == (NONE,)


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ({}, {"files": [file("/etc/chrony.conf")]}, "added"),
        ({"files": [file("/etc/chrony.conf")]}, {}, "removed"),
        (
            {"files": [file("/etc/chrony.conf", mode=1)]},
            {"files": [file("/etc/chrony.conf", mode=2)]},
            "changed",
        ),
        (
            {"files": [file("/etc/chrony.conf", "data:,a")]},
            {"files": [file("/etc/chrony.conf", "data:;base64,YQ==")]},
            "changed",
        ),
    ],
)
def test_added_changed_removed_and_re_encoded_files_are_all_changes(
    before: Any, after: Any, change: str
) -> None:
    found = disruption_of(effective(**before), effective(**after), POLICY)
    assert found.actions == (CHRONY,)
    assert [c.change.value for c in found.causes] == [change]


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ([], [{"name": "firewall.service"}], "added"),
        ([{"name": "firewall.service"}], [], "removed"),
        ([{"name": "firewall.service", "dropins": [{"name": "d", "contents": "1"}]}], [], "removed"),
        ([{"name": "firewall.service"}], [{"name": "firewall.service", "enabled": True}], "changed"),
        ([{"name": "firewall.service"}], [{"name": "firewall.service", "dropins": [{"name": "d"}, {"name": "e"}]}], "changed"),
    ],
)  # fmt: skip
def test_a_unit_and_its_drop_ins_are_one_change_under_the_policy_of_that_very_name(
    before: list[JsonObject], after: list[JsonObject], change: str
) -> None:
    found = disruption_of(effective(units=before), effective(units=after), POLICY)
    assert [(str(c.entry), c.change.value) for c in found.causes] == [("unit firewall.service", change)]
    assert found.actions == (DAEMON_RELOAD, Action(ActionType.RESTART, "firewall.service"))


def test_a_unit_with_no_policy_of_its_name_takes_the_default() -> None:
    found = disruption_of(NOTHING, effective(units=[{"name": "firewall"}]), POLICY)
    assert [(c.rule, c.actions) for c in found.causes] == [("no policy, default None", (NONE,))]


@pytest.mark.parametrize(
    ("before", "after"),
    [(["1"], ["1", "2"]), (["1", "2"], ["2"]), (["1", "2"], ["2", "1"]), (["1", "3"], ["2"])],
)
def test_any_change_of_ssh_keys_is_one_change(before: list[str], after: list[str]) -> None:
    one, two = effective(ssh_keys={"boot": before}), effective(ssh_keys={"boot": after})
    found = disruption_of(one, two, POLICY)
    assert [str(cause) for cause in found.causes] == ["SSH keys of user boot changed: policy for sshkey"]
    assert found.actions == (DRAIN,)
    shipped = disruption_of(one, two, SHIPPED)
    assert [c.rule for c in shipped.causes] == ["no policy, shipped default None"]
    assert shipped.actions == (NONE,)


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ([], ["a"], "added"),
        (["a"], [], "removed"),
        (["a", "b"], ["b", "a"], "changed"),
        (["a"], ["a", "a"], "added"),
    ],
)
def test_kernel_arguments_reboot_whatever_the_policy(
    before: list[str], after: list[str], change: str
) -> None:
    everything_quiet = read_policy(
        {"files": [], "units": [], "sshkey": {"actions": [{"type": "None"}]}},
        {"files": [{"type": "None"}], "units": [{"type": "None"}]},
    )
    found = disruption_of(
        effective(kernel_arguments=before), effective(kernel_arguments=after), everything_quiet
    )
    assert found.reboot
    assert [str(c) for c in found.causes] == [f"kernelArguments {change}: kernel arguments always reboot"]


def test_what_cannot_be_changed_in_place_is_said_and_counted_as_a_reboot() -> None:
    found = disruption_of(NOTHING, effective(storage={"links": [{"path": "/l"}]}), POLICY)
    assert found.reboot
    assert "Degraded" in found.causes[0].rule


@pytest.mark.parametrize("policies", [None, {}, {"files": None, "units": None, "sshkey": None}])
@pytest.mark.parametrize("default", [None, {}, {"files": [], "units": None}])
def test_without_a_policy_the_shipped_defaults_hold_and_are_called_that(
    policies: JsonObject | None, default: JsonObject | None
) -> None:
    policy = read_policy(policies, default)
    found = disruption_of(NOTHING, effective(files=[file("/x")], units=[{"name": "u"}]), policy)
    assert [(c.rule, c.actions) for c in found.causes] == [
        ("no policy, shipped default None", (NONE,)),
        ("no policy, shipped default Reboot", (REBOOT,)),
    ]


def test_an_action_of_an_unknown_type_is_taken_for_a_reboot() -> None:
    policy = read_policy({"files": [{"path": "/x", "actions": [{"type": "Kexec"}]}]})
    assert of_files("/x", policy=policy).actions == (REBOOT,)


# ----------------------------------------------------------------------------------------------------- what comes of it


def test_any_reboot_wins_alone() -> None:
    found = of_files("/boot/x", "/etc/chrony.conf", "/etc/other")
    assert found.actions == (REBOOT,)
    assert found.drain
    assert len(found.causes) == 3


def test_none_is_dropped_beside_others_and_stands_by_itself() -> None:
    assert of_files("/etc/motd", "/etc/chrony.conf").actions == (CHRONY,)
    assert of_files("/etc/motd", "/etc/sysctl.d/a").actions == (NONE,)


def test_actions_keep_their_order_and_repeats() -> None:
    found = of_files("/etc/a", "/etc/b", "/etc/chrony.conf")
    reload_etc = Action(ActionType.RELOAD, "etc.service")
    assert found.actions == (DRAIN, reload_etc, DRAIN, reload_etc, CHRONY)


def test_files_come_before_units_and_units_before_keys() -> None:
    after = effective(
        files=[file("/etc/chrony.conf")], units=[{"name": "firewall.service"}], ssh_keys={"boot": ["k"]}
    )
    assert [str(action) for action in disruption_of(NOTHING, after, POLICY).actions] == [
        "restart chronyd.service",
        "daemon-reload",
        "restart firewall.service",
        "drain",
    ]


@pytest.mark.parametrize(
    ("path", "drain"),
    [("/etc/x", True), ("/boot/x", True), ("/etc/chrony.conf", False), ("/etc/motd", False)],
)
def test_a_drain_happens_for_reboot_and_drain_only(path: str, *, drain: bool) -> None:
    assert of_files(path).drain is drain


def test_no_change_is_no_disruption() -> None:
    same = effective(files=[file("/x")], kernel_arguments=["a"])
    assert disruption_of(same, same, POLICY) == Disruption((), ())


def test_a_node_that_jumps_over_a_config_goes_through_the_sum_of_what_lies_between() -> None:
    running = effective(files=[file("/etc/chrony.conf", mode=1)])
    skipped = effective(files=[file("/etc/chrony.conf", mode=2)], kernel_arguments=["a"])
    newest = effective(
        files=[file("/etc/chrony.conf", mode=2)], kernel_arguments=["a"], ssh_keys={"boot": ["k"]}
    )
    assert not disruption_of(skipped, newest, POLICY).reboot
    assert disruption_of(running, newest, POLICY).reboot


# ------------------------------------------------------------------------------------------------------------- policies


def machine_configuration(spec: JsonObject, cluster_policies: JsonObject | None = None) -> JsonObject:
    status = {"nodeDisruptionPolicyStatus": {"clusterPolicies": cluster_policies}} if cluster_policies else {}
    return {"metadata": {"name": "cluster"}, "spec": spec, "status": status}


def test_the_policy_that_holds_is_read_from_the_status_and_the_defaults_from_the_spec() -> None:
    live = machine_configuration(
        {
            "nodeDisruptionPolicy": {
                "files": [{"path": "/not/yet/validated", "actions": [{"type": "Reboot"}]}]
            },
            "defaultNodeDisruptionPolicySpecAction": {"units": [{"type": "None"}]},
        },
        {"files": [{"path": "/a", "actions": [{"type": "Drain"}]}]},
    )
    policy = policy_of(live)
    assert [path for path, _ in policy.files] == ["/a"]
    assert policy.default_units.actions == (NONE,)
    assert policy.default_files.source == "shipped default"


def test_a_desired_policy_is_laid_over_the_live_one_entry_by_entry() -> None:
    live = machine_configuration(
        {
            "defaultNodeDisruptionPolicySpecAction": {
                "files": [{"type": "Reboot"}],
                "units": [{"type": "None"}],
            }
        },
        CLUSTER_POLICIES,
    )
    desired = machine_configuration(
        {
            "nodeDisruptionPolicy": {
                "files": [{"path": "/etc", "actions": [{"type": "None"}]}, {"path": "/new", "actions": [{"type": "Drain"}]}],
                "units": [{"name": "a.service", "actions": [{"type": "None"}]}],
                "sshkey": {"actions": [{"type": "Reboot"}]},
            },
            "defaultNodeDisruptionPolicySpecAction": {"files": [{"type": "Drain"}]},
        }
    )  # fmt: skip
    policy = policy_of(live, desired)
    assert dict(policy.files) == {**dict(POLICY.files), "/etc": (NONE,), "/new": (DRAIN,)}
    assert [name for name, _ in policy.units] == ["firewall.service", "a.service"]
    assert policy.ssh_keys == (REBOOT,)
    assert policy.default_files.actions == (DRAIN,)
    assert policy.default_units.actions == (NONE,)
    assert policy_of(live, machine_configuration({})) == policy_of(live)


@pytest.mark.parametrize(
    "live", [None, {}, {"spec": None, "status": None}, {"status": {"nodeDisruptionPolicyStatus": None}}]
)
def test_no_machine_configuration_is_the_policy_as_shipped(live: JsonObject | None) -> None:
    assert policy_of(live) == SHIPPED


# ------------------------------------------------------------------------------------------------------------ for people


def test_a_reboot_is_described_with_what_decides_it() -> None:
    after = effective(files=[file("/etc/x")], units=[{"name": "kubelet.service"}])
    assert describe(disruption_of(NOTHING, after, SHIPPED)) == (
        "reboot, drain (unit kubelet.service added: no policy, shipped default Reboot)"
    )


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (Disruption((), ()), "no change"),
        (of_files("/etc/chrony.conf"), "restart chronyd.service (file /etc/chrony.conf added: policy for /etc/chrony.conf)"),
        (of_files("/etc/motd"), "nothing restarts (file /etc/motd added: policy for /etc/motd)"),
        (
            of_files(*(f"/etc/{n}" for n in "abcde")),
            (
                "drain, reload etc.service (file /etc/a added: policy for /etc; file /etc/b added: policy for /etc; "
                "file /etc/c added: policy for /etc; and 2 more)"
            ),
        ),
        (
            of_files("/etc/a", "/etc/b", "/etc/c"),
            (
                "drain, reload etc.service (file /etc/a added: policy for /etc; file /etc/b added: policy for /etc; "
                "file /etc/c added: policy for /etc)"
            ),
        ),
        (
            of_files("/etc/motd", "/etc/chrony.conf"),
            "restart chronyd.service (file /etc/chrony.conf added: policy for /etc/chrony.conf)",
        ),
    ],
)  # fmt: skip
def test_a_disruption_is_described_in_a_line(found: Disruption, text: str) -> None:
    assert describe(found) == text


def test_no_description_shows_the_value_of_a_kernel_argument_or_a_key() -> None:
    after = effective(kernel_arguments=["password=hunter2"], ssh_keys={"boot": ["hunter2"]})
    assert "hunter2" not in describe(disruption_of(NOTHING, after, POLICY))


# ------------------------------------------------------------------------------------------------------------- estimates


@pytest.mark.parametrize(
    ("nodes", "at_once", "path", "minutes"),
    [
        (6, 1, "/boot/x", 120),
        (6, 2, "/boot/x", 60),
        (7, 2, "/etc/x", 80),
        (7, 3, "/etc/x", 60),
        (1, 1, "/boot/x", 20),
        (6, 1, "/etc/chrony.conf", 6),
        (7, 3, "/etc/motd", 3),
        (0, 1, "/boot/x", 0),
    ],
)
def test_the_estimate_is_rounds_of_nodes_and_a_minute_each_where_nothing_drains(
    nodes: int, at_once: int, path: str, minutes: int
) -> None:
    found = estimate(nodes, at_once, timedelta(minutes=20), of_files(path))
    assert found == timedelta(minutes=minutes)


def test_no_change_takes_no_time_and_a_quiet_node_never_longer_than_one_that_reboots() -> None:
    assert estimate(9, 1, timedelta(minutes=20), Disruption((), ())) == timedelta(0)
    assert estimate(2, 1, timedelta(seconds=5), of_files("/etc/motd")) == timedelta(seconds=10)


# ------------------------------------------------------------------------------------------------------------ properties

paths = st.sampled_from(["/etc/chrony.conf", "/etc/x", "/etc/motd", "/boot/x", "/var/x"])
nodes = st.builds(
    machine_config,
    files=st.lists(
        st.builds(file, paths, mode=st.integers(1, 2)), max_size=4, unique_by=lambda f: str(f["path"])
    ),
    units=st.lists(st.fixed_dictionaries({"name": st.sampled_from(["firewall.service", "u"])}), max_size=1),
    kernel_arguments=st.lists(st.just("a"), max_size=1),
).map(effective_of)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(nodes, nodes, st.sampled_from([POLICY, SHIPPED]))
def test_reboot_and_none_stand_alone_and_going_back_disrupts_as_much(
    before: Effective, after: Effective, policy: Policy
) -> None:
    there, back = disruption_of(before, after, policy), disruption_of(after, before, policy)
    assert there.actions == back.actions
    assert bool(there.actions) == bool(there.causes)
    if REBOOT in there.actions or NONE in there.actions:
        assert len(there.actions) == 1
    assert there.reboot == any(REBOOT in cause.actions for cause in there.causes)
