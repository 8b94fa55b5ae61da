"""The policy gate: what MachineConfiguration says of disruption is in force.

A policy must show in `status.nodeDisruptionPolicyStatus.clusterPolicies` before the config that relies on it is
applied, else the file is written and nothing restarts (ACP docs).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from gitops_mc.core.gates.waiting import GateReading, gate_reading
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import POLICY_NAME, JsonObject, Unknown, digest_of
from gitops_mc.core.raw import items, lag, section, text

_LISTS = (("files", "path"), ("units", "name"))

PolicyEntries: TypeAlias = Mapping[tuple[str, str], str]
"""Digest of an entry's actions by section (`files`, `units`, `sshkey`) and path or name (empty for `sshkey`)."""

_NOTHING: JsonObject = {}


def policy_entries(policy: JsonObject) -> PolicyEntries:
    """The entries of a `spec.nodeDisruptionPolicy`, or of `clusterPolicies` in the status."""
    found = {
        (name, text(entry, key)): digest_of(entry.get("actions") or [])
        for name, key in _LISTS
        for entry in items(policy, name)
    }
    if sshkey := section(policy, "sshkey"):
        found["sshkey", ""] = digest_of(sshkey.get("actions") or [])
    return found


def read_policy(live: LiveCluster, wanted: JsonObject, *, gone: JsonObject = _NOTHING) -> GateReading:
    """Read the policy gate. `wanted` and `gone` have the shape of `spec.nodeDisruptionPolicy`: entries that must be in
    force, and entries as they were before we removed them. One that another manager still asks for, or that the
    operator's own default of the same key has taken the place of, counts as gone.
    """
    what = f"MachineConfiguration {POLICY_NAME} of {live.name}"
    see = f"kubectl get machineconfiguration {POLICY_NAME} -o yaml on {live.name}"
    if isinstance(live.policies, Unknown):
        return gate_reading(what, (), (f"it was not read: {live.policies.reason}",), see)
    body = live.policies.value.get(POLICY_NAME)
    if body is None:
        return gate_reading(what, ("it does not exist",), (), see)
    behind = lag(body)
    blockers = [f"its status is older than its spec: {behind}"] if behind else []
    blockers += _differences(body, policy_entries(wanted), policy_entries(gone))
    return gate_reading(what, tuple(blockers), (), see)


def _differences(body: JsonObject, wanted: PolicyEntries, gone: PolicyEntries) -> Iterator[str]:
    in_force = policy_entries(section(body, "status", "nodeDisruptionPolicyStatus", "clusterPolicies"))
    asked = policy_entries(section(body, "spec", "nodeDisruptionPolicy"))
    for entry, actions in sorted(wanted.items()):
        if entry not in in_force:
            yield f"the policy for {_name(entry)} does not show in clusterPolicies yet"
        elif in_force[entry] != actions:
            yield f"the policy for {_name(entry)} shows with other actions in clusterPolicies"
    for entry, actions in sorted(gone.items()):
        if entry not in wanted and entry not in asked and in_force.get(entry) == actions:
            yield f"the removed policy for {_name(entry)} still shows in clusterPolicies"


def _name(entry: tuple[str, str]) -> str:
    kind, name = entry
    return f"{kind} {name}" if name else kind
