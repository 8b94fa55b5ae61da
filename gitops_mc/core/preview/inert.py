"""Files that change on a node while nothing there takes them up, and the policy entry that would change that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from gitops_mc.core.disruption import Action, ActionType, Policy, is_inert
from gitops_mc.core.ignition import Effective, EntryKind
from gitops_mc.core.model import MACHINE_GROUP_VERSION, POLICY_NAME, JsonObject, Kind, Manifest
from gitops_mc.core.preview.changed import Inert, PoolEntry
from gitops_mc.core.preview.services import taken_up
from gitops_mc.core.raw import section
from gitops_mc.core.render.yaml_text import yaml_lines

PLACEHOLDER: Final = "<unit that reads it>"
"""Not the name of any unit, so that validation refuses a policy in which it still stands."""

_SERVICE: Final = {ActionType.RESTART: "restart", ActionType.RELOAD: "reload"}


def inert_entries(
    entries: Sequence[PoolEntry], policy: Policy, effective: Effective, manifest: Manifest | None
) -> tuple[Inert, ...]:
    """Those of the changed entries after which nothing happens, with a policy entry that can be pasted into the manifest of
    the MachineConfiguration, or that makes a new one.
    """
    return tuple(_inert(entries, policy, effective, manifest))


def _inert(
    entries: Sequence[PoolEntry], policy: Policy, effective: Effective, manifest: Manifest | None
) -> Iterator[Inert]:
    for found in entries:
        entry = found.change.entry
        if entry.kind is not EntryKind.FILE or not is_inert(entry.name, policy):
            continue
        taken = taken_up(entry.name, effective)
        known = taken.told or (
            f"which unit reads it is not known here: write its name for {PLACEHOLDER}, or `type: None` alone if nothing need happen"
        )
        actions = taken.actions or (Action(ActionType.RESTART, PLACEHOLDER),)
        where, pasted = _paste(entry.name, actions, manifest)
        reason = f"it is {_deed(found)}, and nothing restarts or reloads: {found.rule}; {known}; {where}"
        yield Inert(entry, found.decides.place, reason, "".join(f"{line}\n" for line in yaml_lines(pasted)))


def _deed(found: PoolEntry) -> str:
    return "removed" if found.change.change.value == "removed" else "written"


def _paste(path: str, actions: Sequence[Action], manifest: Manifest | None) -> tuple[str, Any]:
    """Where it goes, and as much as is not there yet: the list's item, the list, the policy, or the whole manifest."""
    item = {"path": path, "actions": [_action(action) for action in actions]}
    if manifest is None:
        return "as a manifest of its own, since there is none of MachineConfiguration cluster", {
            "apiVersion": MACHINE_GROUP_VERSION,
            "kind": Kind.MACHINE_CONFIGURATION.value,
            "metadata": {"name": POLICY_NAME},
            "spec": {"nodeDisruptionPolicy": {"files": [item]}},
        }
    place = f"{manifest.place.file}:{manifest.place.line}"
    spec = section(manifest.body, "spec")
    if not spec:
        return f"into {place}", {"spec": {"nodeDisruptionPolicy": {"files": [item]}}}
    policy = section(spec, "nodeDisruptionPolicy")
    if not policy:
        return f"below `spec` of {place}", {"nodeDisruptionPolicy": {"files": [item]}}
    if not isinstance(policy.get("files"), list):
        return f"below `spec.nodeDisruptionPolicy` of {place}", {"files": [item]}
    return f"into `spec.nodeDisruptionPolicy.files` of {place}", [item]


def _action(action: Action) -> JsonObject:
    written: JsonObject = {"type": action.type.value}
    if field := _SERVICE.get(action.type):
        written[field] = {"serviceName": action.service}
    return written
