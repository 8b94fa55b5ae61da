from __future__ import annotations

from typing import Any

import pytest

from gitops_mc.core.model import JsonObject
from gitops_mc.sandbox.nodes.disruption import disruption
from tests.sandbox.platform_world import config


def restart(service: str) -> dict[str, Any]:
    return {"type": "Restart", "restart": {"serviceName": service}}


NONE, REBOOT, DRAIN = {"type": "None"}, {"type": "Reboot"}, {"type": "Drain"}
DEFAULTS = {"files": [NONE], "units": [REBOOT]}


def policy(
    files: dict[str, list[Any]] | None = None,
    units: dict[str, list[Any]] | None = None,
    sshkey: list[Any] | None = None,
    defaults: dict[str, Any] | None = None,
) -> JsonObject:
    policies = {
        "files": [{"path": p, "actions": a} for p, a in (files or {}).items()],
        "units": [{"name": n, "actions": a} for n, a in (units or {}).items()],
        "sshkey": {"actions": sshkey or [NONE]},
    }
    return {
        "spec": {"defaultNodeDisruptionPolicySpecAction": DEFAULTS if defaults is None else defaults},
        "status": {"nodeDisruptionPolicyStatus": {"clusterPolicies": policies}},
    }


def actions(before: JsonObject, after: JsonObject, machine_configuration: JsonObject) -> list[str]:
    found = disruption(before["spec"], after["spec"], machine_configuration)
    return [str(action) for action in found.actions]


def of(**parts: Any) -> JsonObject:
    return config("rendered", **parts)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (of(), of(), []),
        (of(), of(files={"/a": "x"}), []),
        (of(), of(units={"u.service": "x"}), ["Reboot"]),
        (of(units={"u.service": "x"}), of(), ["Reboot"]),
        (of(), of(keys=("k",)), []),
        (of(), of(arguments=("x=1",)), ["Reboot"]),
        (of(arguments=("a", "b")), of(arguments=("b", "a")), ["Reboot"]),
    ],
)
def test_the_shipped_defaults(before: JsonObject, after: JsonObject, expected: list[str]) -> None:
    assert actions(before, after, policy()) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/etc/chrony.conf", ["Restart file.service"]),
        ("/etc/chrony.d/a", ["Restart directory.service"]),
        ("/etc/chrony.d2", ["Restart parent.service"]),
        ("/var/x", ["Reload var.service"]),
        ("/opt/x", []),
    ],
)
def test_the_closest_policy_path_decides_for_a_file(path: str, expected: list[str]) -> None:
    files = {
        "/etc": [restart("parent.service")],
        "/etc/chrony.d/": [restart("directory.service")],
        "/etc/chrony.conf": [restart("file.service")],
        "/var/": [{"type": "Reload", "reload": {"serviceName": "var.service"}}],
        "/": [REBOOT],
    }
    assert actions(of(), of(files={path: "x"}), policy(files)) == expected


def test_a_unit_is_matched_by_its_exact_name() -> None:
    units = {"a.service": [restart("a.service")]}
    assert actions(of(), of(units={"a.service": "x"}), policy(units=units)) == ["Restart a.service"]
    assert actions(of(), of(units={"a.service.d": "x"}), policy(units=units)) == ["Reboot"]


def test_actions_run_in_order_and_repeats_stay_while_none_is_dropped() -> None:
    files = {"/a": [DRAIN, restart("s.service")], "/b": [restart("s.service")], "/c": [NONE]}
    found = actions(of(), of(files={"/c": "1", "/b": "1", "/a": "1"}), policy(files))
    assert found == ["Drain", "Restart s.service", "Restart s.service"]


def test_a_reboot_stands_alone() -> None:
    files = {"/a": [restart("s.service")], "/b": [REBOOT]}
    assert actions(of(), of(files={"/a": "1", "/b": "1"}), policy(files)) == ["Reboot"]


def test_another_encoding_of_the_same_bytes_is_a_change() -> None:
    files = {"/a": [restart("s.service")]}
    assert actions(of(files={"/a": "x"}), of(files={"/a": "%78"}), policy(files)) == ["Restart s.service"]


def test_another_order_of_the_keys_is_a_change_by_the_policy_for_keys() -> None:
    assert actions(of(keys=("a", "b")), of(keys=("b", "a")), policy(sshkey=[restart("sshd.service")])) == [
        "Restart sshd.service"
    ]


def test_without_a_default_everything_reboots() -> None:
    assert actions(of(), of(files={"/a": "1"}), policy(defaults={})) == ["Reboot"]


def test_every_reason_names_the_entry_and_the_rule() -> None:
    found = disruption(
        of()["spec"],
        of(files={"/etc/a": "1"}, units={"u.service": "1"}, keys=("k",))["spec"],
        policy({"/etc": [restart("s.service")]}),
    )
    assert found.reasons == (
        "file /etc/a: Restart s.service (policy /etc)",
        "unit u.service: Reboot (default for units)",
        "SSH keys: None (policy sshkey)",
    )
