"""Who takes up a file that has changed: services that are known to read it, and files that are read anew every time.

A table of what the documents of these programs say. What is not in it nobody here knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gitops_mc.core.disruption import NONE, Action, ActionType
from gitops_mc.core.ignition import Effective, EntryKind

_UNITS: Final = "/etc/systemd/system/"
_DAEMON_RELOAD: Final = Action(ActionType.DAEMON_RELOAD)
_MOST: Final = 8
"""Units that are restarted; a policy entry has at most 10 actions."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads the files at and below these paths, and what makes the change count."""

    paths: tuple[str, ...]
    actions: tuple[Action, ...]
    source: str


def _restart(unit: str) -> tuple[Action, ...]:
    return (Action(ActionType.RESTART, unit),)


def _reload(unit: str) -> tuple[Action, ...]:
    return (Action(ActionType.RELOAD, unit),)


# fmt: off
READERS: Final = (
    Reader(("/etc/chrony.conf", "/etc/chrony.d", "/etc/chrony"), _restart("chronyd.service"), "chronyd(8)"),
    Reader(("/etc/sysctl.conf", "/etc/sysctl.d"), _restart("systemd-sysctl.service"),
           "ACP docs, Tuning Node Kernel Parameters"),
    Reader(("/etc/ssh/sshd_config", "/etc/ssh/sshd_config.d"), _reload("sshd.service"), "sshd(8)"),
    Reader(("/etc/modules-load.d",), _restart("systemd-modules-load.service"), "modules-load.d(5)"),
    Reader(("/etc/systemd/journald.conf", "/etc/systemd/journald.conf.d"), _restart("systemd-journald.service"),
           "journald.conf(5)"),
    Reader(("/etc/systemd/timesyncd.conf", "/etc/systemd/timesyncd.conf.d"), _restart("systemd-timesyncd.service"),
           "timesyncd.conf(5)"),
    Reader(("/etc/rsyslog.conf", "/etc/rsyslog.d"), _restart("rsyslog.service"), "rsyslogd(8)"),
    Reader(("/etc/NetworkManager/NetworkManager.conf", "/etc/NetworkManager/conf.d"), _reload("NetworkManager.service"),
           "NetworkManager.conf(5)"),
    Reader(("/etc/containerd/config.toml",), _restart("containerd.service"), "containerd-config.toml(5)"),
    Reader(("/etc/kubernetes/kubelet.conf.d", "/var/lib/kubelet/config.yaml"), _restart("kubelet.service"),
           "ACP docs, kubelet configuration"),
    Reader(("/etc/containerd/certs.d",), (NONE,), "containerd docs, Registry Configuration"),
    Reader(("/etc/kubernetes/manifests",), (NONE,), "Kubernetes docs, Create static Pods"),
    Reader(("/etc/cron.d", "/etc/crontab"), (NONE,), "cron(8)"),
    Reader(("/etc/logrotate.d", "/etc/logrotate.conf"), (NONE,), "logrotate(8)"),
    Reader(("/etc/sudoers", "/etc/sudoers.d"), (NONE,), "sudoers(5)"),
    Reader(("/etc/profile", "/etc/profile.d", "/etc/motd", "/etc/motd.d"), (NONE,), "pam_motd(8), bash(1)"),
    Reader(("/etc/hosts",), (NONE,), "hosts(5)"),
    Reader(("/etc/security/limits.conf", "/etc/security/limits.d"), (NONE,), "pam_limits(8)"),
)
# fmt: on


@dataclass(frozen=True, slots=True)
class TakenUp:
    """What makes a change of a file count, and who says so. No actions: nobody knows."""

    actions: tuple[Action, ...]
    told: str


def taken_up(path: str, effective: Effective) -> TakenUp:
    """By the units of the same pool that name the file, then by the table."""
    if unit := _unit_file(path):
        return TakenUp((_DAEMON_RELOAD, *_restart(unit)), f"it belongs to unit {unit}")
    if units := tuple(dict.fromkeys(_naming(path, effective)))[:_MOST]:
        actions = tuple(action for unit in units for action in _restart(unit))
        return TakenUp(actions, f"{', '.join(units)} names it")
    for reader in READERS:
        if any(path == known or path.startswith(f"{known}/") for known in reader.paths):
            if reader.actions == (NONE,):
                return TakenUp(reader.actions, f"it is read anew whenever it is needed ({reader.source})")
            return TakenUp(reader.actions, f"{reader.actions[0].service} reads it ({reader.source})")
    return TakenUp((), "")


def _unit_file(path: str) -> str:
    """The unit that a file is, or is a drop-in of."""
    if not path.startswith(_UNITS):
        return ""
    name = path.removeprefix(_UNITS).split("/")[0]
    return name.removesuffix(".d") if name.endswith(".d") or "/" not in path.removeprefix(_UNITS) else ""


def _naming(path: str, effective: Effective) -> Iterator[str]:
    """Units whose file or drop-ins name the path, in the order of their names. A template is none that could be restarted, nor is
    a unit that is masked.
    """
    whole = re.compile(rf"(?<![\w./]){re.escape(path)}(?![\w/-]|\.\w)")
    units = effective.of_kind(EntryKind.UNIT)
    never = {u.entry.name for u in units if u.fields.get(("mask",)) is True or "@" in u.entry.name}
    for found in sorted((*units, *effective.of_kind(EntryKind.DROPIN)), key=lambda f: f.entry.name):
        contents = found.fields.get(("contents",))
        if found.entry.name not in never and isinstance(contents, str) and whole.search(_said(contents)):
            yield found.entry.name


def _said(contents: str) -> str:
    """Without comments."""
    return "\n".join(line for line in contents.splitlines() if not line.lstrip().startswith(("#", ";")))
