"""The node disruption policy as the operator publishes it in status, for the node daemons to obey."""

from __future__ import annotations

from gitops_mc.core.model import JsonObject, metadata

NONE_ACTION: JsonObject = {"type": "None"}
REBOOT_ACTION: JsonObject = {"type": "Reboot"}

SHIPPED_SPEC: JsonObject = {
    "defaultNodeDisruptionPolicySpecAction": {"files": [NONE_ACTION], "units": [REBOOT_ACTION]},
    "nodeDisruptionPolicy": {"sshkey": {"actions": [NONE_ACTION]}},
}
"""Spec of MachineConfiguration `cluster` as the operator creates it (ACP docs)."""


def cluster_policies(spec: JsonObject) -> JsonObject:
    """`status.nodeDisruptionPolicyStatus.clusterPolicies` of a MachineConfiguration spec."""
    policy = spec.get("nodeDisruptionPolicy") or {}
    return {
        "files": [{"path": f["path"], "actions": f["actions"]} for f in policy.get("files") or ()],
        "units": [{"name": u["name"], "actions": u["actions"]} for u in policy.get("units") or ()],
        "sshkey": policy.get("sshkey") or {"actions": [NONE_ACTION]},
    }


def policy_status(machine_configuration: JsonObject) -> JsonObject:
    """The status the operator writes for the generation it has read."""
    return {
        "observedGeneration": metadata(machine_configuration).get("generation"),
        "nodeDisruptionPolicyStatus": {
            "clusterPolicies": cluster_policies(machine_configuration.get("spec") or {})
        },
    }
