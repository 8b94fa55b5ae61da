"""What a change of configuration does to a node, the rule that decides it, and how long it takes.

A node goes from the config it runs straight to the newest one, whatever was rendered in between: always compare the
node's current rendered config with the new one. Rules as in OpenShift's machine-config-operator; defaults as in ACP's
docs. A forecast, not a gate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any

from gitops_mc.core.ignition import (
    KERNEL_ARGUMENTS,
    ChangeKind,
    Effective,
    Entry,
    EntryChange,
    EntryKind,
    entries_changed,
)
from gitops_mc.core.model import JsonObject

QUIET_NODE = timedelta(minutes=1)
"""What a node takes that neither reboots nor drains: files written, services touched, the pool told."""


class ActionType(StrEnum):
    """Actions of a node-disruption policy, as the API spells them."""

    REBOOT = "Reboot"
    DRAIN = "Drain"
    RELOAD = "Reload"
    RESTART = "Restart"
    DAEMON_RELOAD = "DaemonReload"
    NONE = "None"
    SPECIAL = "Special"
    """Stands in the status only, for files that the operator handles by a rule of its own."""


_WORDS = {
    ActionType.REBOOT: "reboot, drain",
    ActionType.DRAIN: "drain",
    ActionType.RELOAD: "reload",
    ActionType.RESTART: "restart",
    ActionType.DAEMON_RELOAD: "daemon-reload",
    ActionType.NONE: "nothing restarts",
    ActionType.SPECIAL: "the operator's own rule",
}
_TYPES = {kind.value: kind for kind in ActionType}


@dataclass(frozen=True, slots=True)
class Action:
    type: ActionType
    service: str = ""
    """The service to reload or restart."""

    def __str__(self) -> str:
        return f"{_WORDS[self.type]} {self.service}".rstrip()


REBOOT = Action(ActionType.REBOOT)
NONE = Action(ActionType.NONE)


@dataclass(frozen=True, slots=True)
class Default:
    """What happens where no policy matches, and where that is written."""

    actions: tuple[Action, ...]
    source: str


SHIPPED_FILES = Default((NONE,), "shipped default")
SHIPPED_UNITS = Default((REBOOT,), "shipped default")
SHIPPED_SSH_KEYS = Default((NONE,), "shipped default")


@dataclass(frozen=True, slots=True)
class Policy:
    """The node-disruption policy of a cluster."""

    files: tuple[tuple[str, tuple[Action, ...]], ...] = ()
    units: tuple[tuple[str, tuple[Action, ...]], ...] = ()
    ssh_keys: tuple[Action, ...] | None = None
    default_files: Default = SHIPPED_FILES
    default_units: Default = SHIPPED_UNITS


@dataclass(frozen=True, slots=True)
class Cause:
    """One change and what it asks for. All SSH keys, and all kernel arguments, are one change."""

    entry: Entry
    change: ChangeKind
    rule: str
    """What decided, for instance `policy for /etc/chrony.conf` or `no policy, default Reboot`."""
    actions: tuple[Action, ...]

    def __str__(self) -> str:
        return f"{self.entry} {self.change.value}: {self.rule}"


@dataclass(frozen=True, slots=True)
class Disruption:
    """What a node goes through. No causes: nothing changes on it."""

    actions: tuple[Action, ...]
    """In the order in which they run, repeats kept. A reboot stands alone; None stands only by itself."""
    causes: tuple[Cause, ...]

    @property
    def reboot(self) -> bool:
        return REBOOT in self.actions

    @property
    def drain(self) -> bool:
        """Whether pods are evicted: for Reboot and Drain only."""
        return any(action.type in (ActionType.REBOOT, ActionType.DRAIN) for action in self.actions)


def read_policy(cluster_policies: JsonObject | None, default_action: JsonObject | None = None) -> Policy:
    """A policy from `status.nodeDisruptionPolicyStatus.clusterPolicies` (or, of the same shape,
    `spec.nodeDisruptionPolicy`) and `spec.defaultNodeDisruptionPolicySpecAction`; what is absent is as ACP ships it.
    """
    policies, defaults = cluster_policies or {}, default_action or {}
    ssh_keys = (policies.get("sshkey") or {}).get("actions")
    return Policy(
        files=_entries(policies.get("files"), "path"),
        units=_entries(policies.get("units"), "name"),
        ssh_keys=None if ssh_keys is None else _actions(ssh_keys),
        default_files=_default(defaults.get("files"), SHIPPED_FILES),
        default_units=_default(defaults.get("units"), SHIPPED_UNITS),
    )


def policy_of(live: JsonObject | None, desired: JsonObject | None = None) -> Policy:
    """The policy that holds by a live MachineConfiguration, and after a desired one has been applied onto it.

    Entries go by path or name and are never fewer than before: a policy is widened before the configs that rely on it,
    and narrowed after them.
    """
    live_spec, desired_spec = (live or {}).get("spec") or {}, (desired or {}).get("spec") or {}
    status = ((live or {}).get("status") or {}).get("nodeDisruptionPolicyStatus") or {}
    before = read_policy(status.get("clusterPolicies"))
    wanted = read_policy(desired_spec.get("nodeDisruptionPolicy"))
    defaults = {
        **(live_spec.get("defaultNodeDisruptionPolicySpecAction") or {}),
        **(desired_spec.get("defaultNodeDisruptionPolicySpecAction") or {}),
    }
    declared = read_policy(None, defaults)
    return Policy(
        files=tuple({**dict(before.files), **dict(wanted.files)}.items()),
        units=tuple({**dict(before.units), **dict(wanted.units)}.items()),
        ssh_keys=before.ssh_keys if wanted.ssh_keys is None else wanted.ssh_keys,
        default_files=declared.default_files,
        default_units=declared.default_units,
    )


def disruption_of(before: Effective, after: Effective, policy: Policy) -> Disruption:
    """What a node that runs `before` goes through when it is moved to `after`."""
    causes = tuple(_causes(entries_changed(before, after), policy))
    asked = [action for cause in causes for action in cause.actions]
    if REBOOT in asked:
        return Disruption((REBOOT,), causes)
    running = tuple(action for action in asked if action != NONE)
    return Disruption(running or ((NONE,) if causes else ()), causes)


def describe(disruption: Disruption, *, most: int = 3) -> str:
    """A short text for people: what happens, each action told once, and the causes that decide it (at most `most`, then
    the number of the others).
    """
    if not disruption.causes:
        return "no change"
    what = ", ".join(str(action) for action in dict.fromkeys(disruption.actions))
    deciding = [c for c in disruption.causes if set(c.actions) & set(disruption.actions)]
    shown = "; ".join(str(cause) for cause in deciding[:most])
    more = f"; and {len(deciding) - most} more" if len(deciding) > most else ""
    return f"{what} ({shown}{more})"


def estimate(nodes: int, at_once: int, per_node: timedelta, disruption: Disruption) -> timedelta:
    """How long a pool takes: rounds of `at_once` nodes (at least 1), `per_node` each.

    Where nodes neither reboot nor drain they still go in rounds, but a round takes QUIET_NODE (or `per_node`, if that
    is shorter). Zero when nothing changes.
    """
    if not disruption.causes or nodes <= 0:
        return timedelta(0)
    rounds = -(-nodes // at_once)
    return rounds * (per_node if disruption.drain else min(per_node, QUIET_NODE))


def _causes(changes: Sequence[EntryChange], policy: Policy) -> Iterator[Cause]:
    """In the order in which the daemon looks: kernel arguments, files, units, SSH keys; then what it cannot do."""
    by_kind = {kind: [c for c in changes if c.entry.kind is kind] for kind in EntryKind}
    if arguments := [*by_kind[EntryKind.KERNEL_ARGUMENT], *by_kind[EntryKind.KERNEL_ARGUMENTS]]:
        yield Cause(KERNEL_ARGUMENTS, _joint(arguments), "kernel arguments always reboot", (REBOOT,))
    for change in by_kind[EntryKind.FILE]:
        yield Cause(change.entry, change.change, *_file_rule(change.entry.name, policy))
    units = [*by_kind[EntryKind.UNIT], *by_kind[EntryKind.DROPIN]]
    for name in sorted({change.entry.name for change in units}):
        unit = Entry(EntryKind.UNIT, name)
        own = [change.change for change in units if change.entry == unit]
        yield Cause(unit, own[0] if own else ChangeKind.CHANGED, *_unit_rule(name, policy))
    if keys := [*by_kind[EntryKind.SSH_KEY], *by_kind[EntryKind.SSH_KEYS]]:
        users = ", ".join(sorted({change.entry.name for change in keys}))
        yield Cause(Entry(EntryKind.SSH_KEYS, users), ChangeKind.CHANGED, *_ssh_rule(policy))
    for change in (*by_kind[EntryKind.USER], *by_kind[EntryKind.OTHER]):
        rule = "cannot be changed in place, expect a Degraded node; counted as a reboot"
        yield Cause(change.entry, change.change, rule, (REBOOT,))


def _joint(changes: Sequence[EntryChange]) -> ChangeKind:
    kinds = {change.change for change in changes}
    return kinds.pop() if len(kinds) == 1 else ChangeKind.CHANGED


def closest_policy(path: str, covered: Iterable[str]) -> str:
    """Which of the paths of a policy decides for a file: its own, or the longest of the folders above it; empty: none.
    The root folder counts for nothing, as in the public operator.
    """
    fitting = (
        one for one in covered if one.strip("/") and (path == one or path.startswith(one.rstrip("/") + "/"))
    )
    return max(fitting, key=len, default="")


def is_inert(path: str, policy: Policy) -> bool:
    """Whether a change of this file is written and nothing happens after it, and nobody has said that nothing need: no entry
    covers it, and the default for files is None alone.
    """
    return policy.default_files.actions == (NONE,) and not closest_policy(path, (p for p, _ in policy.files))


def _file_rule(path: str, policy: Policy) -> tuple[str, tuple[Action, ...]]:
    closest = closest_policy(path, (covered for covered, _ in policy.files))
    if not closest:
        return _default_rule(policy.default_files)
    return f"policy for {closest}", next(actions for covered, actions in policy.files if covered == closest)


def _unit_rule(name: str, policy: Policy) -> tuple[str, tuple[Action, ...]]:
    found = dict(policy.units).get(name)
    return _default_rule(policy.default_units) if found is None else (f"policy for {name}", found)


def _ssh_rule(policy: Policy) -> tuple[str, tuple[Action, ...]]:
    if policy.ssh_keys is None:
        return _default_rule(SHIPPED_SSH_KEYS)
    return "policy for sshkey", policy.ssh_keys


def _default_rule(default: Default) -> tuple[str, tuple[Action, ...]]:
    return f"no policy, {default.source} {_api_words(default.actions)}", default.actions


def _api_words(actions: Iterable[Action]) -> str:
    return ", ".join(f"{action.type.value} {action.service}".rstrip() for action in actions)


def _default(raw: Any, shipped: Default) -> Default:
    return Default(_actions(raw), "default") if raw else shipped


def _entries(raw: Any, identity: str) -> tuple[tuple[str, tuple[Action, ...]], ...]:
    items = raw if isinstance(raw, list) else []
    return tuple((str(item.get(identity, "")), _actions(item.get("actions"))) for item in items)


def _actions(raw: Any) -> tuple[Action, ...]:
    """Actions as the API has them. No action at all does nothing; one of an unknown type is taken for a reboot."""
    return tuple(_action(item) for item in raw or ()) or (NONE,)


def _action(raw: JsonObject) -> Action:
    kind = _TYPES.get(str(raw.get("type")))
    if kind is None:
        return REBOOT
    named = raw.get("reload") or raw.get("restart") or {}
    return Action(kind, str(named.get("serviceName", "")))
