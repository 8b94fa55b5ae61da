from __future__ import annotations

from typing import Any

import pytest

from gitops_mc.core.ignition import Entry, EntryKind, Section, effective_of, read
from gitops_mc.core.model import JsonObject
from tests.core.machine_configs import file, machine_config


def test_a_config_reads_as_files_units_keys_and_arguments_in_the_order_written() -> None:
    chrony = file(
        "/etc/chrony.conf", "data:,x", mode=0o644, user={"id": 0}, group={"name": "root"}, overwrite=False
    )
    unit = {
        "name": "a.service",
        "enabled": True,
        "mask": False,
        "contents": "[Unit]",
        "dropins": [{"name": "10.conf"}],
    }
    found = read(
        machine_config(
            "50-worker-x",
            files=[file("/b", compression="gzip"), chrony],
            units=[unit],
            ssh_keys={"boot": ["k2", "k1"], "core": ["k3"]},
            kernel_arguments=["b", "a", "b"],
        )
    )
    assert (found.name, found.role) == ("50-worker-x", "worker")
    assert [(f.path, f.position, f.mode, f.source, f.compression) for f in found.files] == [
        ("/b", 0, None, None, "gzip"),
        ("/etc/chrony.conf", 1, 0o644, "data:,x", None),
    ]
    read_chrony = found.files[1]
    assert (read_chrony.owner, read_chrony.group) == ({"id": 0}, {"name": "root"})
    assert [(u.name, u.enabled, u.contents) for u in found.units] == [("a.service", True, "[Unit]")]
    assert [(d.name, d.contents) for d in found.units[0].dropins] == [("10.conf", None)]
    assert [(u.name, u.ssh_keys) for u in found.users] == [("boot", ("k2", "k1")), ("core", ("k3",))]
    assert found.kernel_arguments == ("b", "a", "b")
    assert found.other == ()


@pytest.mark.parametrize(
    ("section", "value", "expected"),
    [
        ("storage", {"directories": [{"path": "/d"}]}, [Section("storage.directories", [{"path": "/d"}])]),
        ("storage", {"files": [{"mode": 1}, "x"]}, [Section("storage.files[0]", {"mode": 1}), Section("storage.files[1]", "x")]),
        ("storage", {"files": {"path": "/x"}}, [Section("storage.files", {"path": "/x"})]),
        ("storage", ["x"], [Section("storage", ["x"])]),
        ("systemd", {"units": [{"name": "u", "dropins": [3]}]}, [Section("systemd.units[u].dropins[0]", 3)]),
        ("passwd", {"groups": [{"name": "g"}]}, [Section("passwd.groups", [{"name": "g"}])]),
        (
            "passwd",
            {"users": [{"name": "boot", "sshAuthorizedKeys": ["k", 7]}]},
            [Section("passwd.users[boot].sshAuthorizedKeys[1]", 7)],
        ),
        ("ignition", {"version": "3.4.0", "proxy": {"httpProxy": "p"}}, [Section("ignition.proxy", {"httpProxy": "p"})]),
        ("kernelArguments", {"shouldExist": ["x"]}, [Section("kernelArguments", {"shouldExist": ["x"]})]),
        ("storage", {"directories": [], "links": None, "luks": {}}, []),
        ("ignition", {"config": {"replace": {"verification": {}}}, "security": {"tls": {}}}, []),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_kept_and_what_is_empty_is_nothing(
    section: str, value: Any, expected: list[Section]
) -> None:
    assert list(read(machine_config(**{section: value})).other) == expected


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"metadata": None, "spec": None},
        {"spec": {"config": None, "kernelArguments": None}},
        {"spec": {"config": {"storage": None, "systemd": {"units": None}, "passwd": {"users": None}}}},
    ],
)
def test_a_body_with_nothing_in_it_reads_as_nothing(body: JsonObject) -> None:
    found = read(body)
    assert (found.files, found.units, found.users, found.kernel_arguments, found.other) == (
        (),
        (),
        (),
        (),
        (),
    )
    assert not effective_of(body).entries


@pytest.mark.parametrize(
    "body",
    [{"spec": "x"}, {"spec": {"config": "x"}}, {"spec": {"config": {}, "kernelArguments": "x"}}, {"spec": {"fips": True, "config": {}}}],
)  # fmt: skip
def test_a_malformed_spec_is_kept_rather_than_lost(body: JsonObject) -> None:
    assert read(body).other


def test_a_mode_of_another_type_is_no_mode() -> None:
    found = read(machine_config(files=[file("/a", mode="0644"), file("/b", mode=True), file("/c", mode=0)]))
    assert [f.mode for f in found.files] == [None, None, 0]


def test_names_of_entries_show_no_key_and_no_value() -> None:
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl ops"
    assert str(Entry(EntryKind.SSH_KEY, "boot", key)) == (
        "SSH key SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU of user boot"
    )
    assert str(Entry(EntryKind.KERNEL_ARGUMENT, "password=hunter2")) == "kernel argument password"
    assert str(Entry(EntryKind.DROPIN, "a.service", "10.conf")) == "drop-in 10.conf of unit a.service"
    assert str(Entry(EntryKind.FILE, "/etc/x")) == "file /etc/x"
    assert "no key" not in str(Entry(EntryKind.SSH_KEY, "boot", "no key at all"))
