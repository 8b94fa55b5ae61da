"""What a node does to get from one rendered config to another. Pure; written from the public operator's rules:
entries are compared as they are written, kernel arguments reboot, the closest policy path wins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from posixpath import normpath

from gitops_mc.core.model import JsonObject

REBOOT = "Reboot"
DRAIN = "Drain"
NONE = "None"


@dataclass(frozen=True, slots=True)
class Action:
    """One action of a policy. `service` is set for Restart and Reload."""

    kind: str
    service: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.service}".rstrip()


@dataclass(frozen=True, slots=True)
class Disruption:
    """Actions in the order in which they run, and per changed entry the reason."""

    actions: tuple[Action, ...]
    reasons: tuple[str, ...]

    @property
    def reboots(self) -> bool:
        return any(a.kind == REBOOT for a in self.actions)

    @property
    def drains(self) -> bool:
        return any(a.kind in {REBOOT, DRAIN} for a in self.actions)


def disruption(current: JsonObject, desired: JsonObject, machine_configuration: JsonObject) -> Disruption:
    """The disruption between two rendered specs under the policy as it shows in the MachineConfiguration's status."""
    before, after = current.get("config") or {}, desired.get("config") or {}
    if (current.get("kernelArguments") or []) != (desired.get("kernelArguments") or []):
        return Disruption((Action(REBOOT),), ("kernelArguments changed: reboot",))
    status = (machine_configuration.get("status") or {}).get("nodeDisruptionPolicyStatus") or {}
    policies = status.get("clusterPolicies") or {}
    defaults = (machine_configuration.get("spec") or {}).get("defaultNodeDisruptionPolicySpecAction") or {}
    actions: list[Action] = []
    reasons: list[str] = []

    def note(entry: str, rule: str, found: Sequence[Action]) -> None:
        actions.extend(found)
        reasons.append(f"{entry}: {', '.join(map(str, found))} ({rule})")

    for path in _changed(_files(before), _files(after)):
        rule, found = _file_actions(path, policies.get("files") or (), defaults.get("files"))
        note(f"file {path}", rule, found)
    for name in _changed(_units(before), _units(after)):
        rule, found = _unit_actions(name, policies.get("units") or (), defaults.get("units"))
        note(f"unit {name}", rule, found)
    if ssh_keys(before) != ssh_keys(after):
        policy = policies.get("sshkey") or {}
        note("SSH keys", "policy sshkey", _actions(policy.get("actions") or [{"type": NONE}]))
    return Disruption(_boiled_down(actions), tuple(reasons))


def _boiled_down(actions: Sequence[Action]) -> tuple[Action, ...]:
    """A reboot stands alone; None says nothing beside others; repeats stay."""
    if any(a.kind == REBOOT for a in actions):
        return (Action(REBOOT),)
    return tuple(a for a in actions if a.kind != NONE)


def _file_actions(
    path: str, policies: Iterable[JsonObject], default: list[JsonObject] | None
) -> tuple[str, tuple[Action, ...]]:
    """By the policy whose path is the file or its closest parent directory."""
    best = max(
        (p for p in policies if _is_below(path, str(p.get("path", "")))),
        key=lambda p: len(str(p["path"])),
        default=None,
    )
    if best is None:
        return "default for files", _default(default)
    return f"policy {best['path']}", _actions(best.get("actions") or ())


def _is_below(path: str, policy: str) -> bool:
    """The file itself, or a directory above it. The root directory is above nothing, as in the public operator."""
    return path == policy or (policy != "/" and path.startswith(normpath(policy) + "/"))


def _unit_actions(
    name: str, policies: Iterable[JsonObject], default: list[JsonObject] | None
) -> tuple[str, tuple[Action, ...]]:
    for policy in policies:
        if policy.get("name") == name:
            return f"policy {name}", _actions(policy.get("actions") or ())
    return "default for units", _default(default)


def _default(actions: list[JsonObject] | None) -> tuple[Action, ...]:
    """The installation's default; a cluster without one reboots, as the public operator does."""
    return _actions(actions) if actions else (Action(REBOOT),)


def _actions(raw: Iterable[JsonObject]) -> tuple[Action, ...]:
    return tuple(
        Action(str(a["type"]), str((a.get("restart") or a.get("reload") or {}).get("serviceName", "")))
        for a in raw
    )


def _changed(before: Mapping[str, JsonObject], after: Mapping[str, JsonObject]) -> list[str]:
    """Names of entries added, removed, or written in another way."""
    return sorted(n for n in before.keys() | after.keys() if before.get(n) != after.get(n))


def _files(config: JsonObject) -> dict[str, JsonObject]:
    return {f["path"]: f for f in (config.get("storage") or {}).get("files") or ()}


def _units(config: JsonObject) -> dict[str, JsonObject]:
    return {u["name"]: u for u in (config.get("systemd") or {}).get("units") or ()}


def ssh_keys(config: JsonObject) -> tuple[str, ...]:
    """The keys of all users, in their order: there is one user that may have any."""
    users = (config.get("passwd") or {}).get("users") or ()
    return tuple(key for user in users for key in user.get("sshAuthorizedKeys") or ())
