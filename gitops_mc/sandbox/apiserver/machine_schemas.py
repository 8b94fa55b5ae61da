"""Shapes and validation rules of the machine kinds (group machineconfiguration.alauda.io).

The facts are those of the CRDs that the machine-config plugin installs: which fields there are, which lists are maps
and by what key, limits, and the rules with the messages a user gets to read. Left out is one rule on the history of a
value: that a pool synchronizer's observedGeneration must not move backwards.
"""

from __future__ import annotations

import re
from typing import Any

from gitops_mc.sandbox.apiserver.schema import (
    BOOLEAN,
    COUNT,
    FREE,
    INTEGER,
    NUMBER_OR_PERCENT,
    STRING,
    STRING_MAP,
    Check,
    Schema,
    atomic_struct,
    checked,
    custom,
    list_map,
    list_of,
    struct,
    told,
)

_UNIT_SUFFIX = re.compile(
    r"\.(service|socket|device|mount|automount|swap|target|path|timer|snapshot|slice|scope)\Z"
)
_UNIT_NAME = re.compile(r"^[a-zA-Z0-9:._\\-]+\..")
_UNIT_CHECKS = (
    Check(
        "Invalid ${SERVICETYPE} in service name. Expected format is ${NAME}${SERVICETYPE}, where ${SERVICETYPE} must "
        'be one of ".service", ".socket", ".device", ".mount", ".automount", ".swap", ".target", ".path", '
        '".timer",".snapshot", ".slice" or ".scope".',
        lambda name: _UNIT_SUFFIX.search(name) is not None,
    ),
    Check(
        "Invalid ${NAME} in service name. Expected format is ${NAME}${SERVICETYPE}, where {NAME} must be atleast 1 "
        'character long and can only consist of alphabets, digits, ":", "-", "_", ".", and "\\"',
        lambda name: _UNIT_NAME.search(name) is not None,
    ),
)
_UNIT = Schema(type="string", max_length=255, checks=_UNIT_CHECKS)
_SERVICE = struct("serviceName", serviceName=_UNIT)


def _alone(action: str) -> Check:
    def holds(actions: list[dict[str, Any]]) -> bool:
        return len(actions) == 1 or all(a.get("type") != action for a in actions)

    return Check(
        f"{action} action can only be specified standalone, as it will override any other actions", holds
    )


def _goes_with(action: str, member: str) -> Check:
    def holds(value: dict[str, Any]) -> bool:
        return (member in value) is (value.get("type") == action)

    return Check(f"{member} is required when type is {action}, and forbidden otherwise", holds)


_SPEC_ACTIONS = ("Reboot", "Drain", "Reload", "Restart", "DaemonReload", "None")
_STATUS_ACTIONS = (*_SPEC_ACTIONS, "Special")


def _actions(types: tuple[str, ...]) -> Schema:
    action = checked(
        struct("type", type=Schema(type="string", enum=types), reload=_SERVICE, restart=_SERVICE),
        _goes_with("Reload", "reload"),
        _goes_with("Restart", "restart"),
    )
    return Schema(type="array", items=action, max_items=10, checks=(_alone("Reboot"), _alone("None")))


def _policy(types: tuple[str, ...], most: int) -> Schema:
    actions = _actions(types)
    return struct(
        files=list_map("path", struct("actions path", path=STRING, actions=actions), max_items=most),
        units=list_map("name", struct("actions name", name=_UNIT, actions=actions), max_items=most),
        sshkey=struct("actions", actions=actions),
    )


_CONDITION_TYPE = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
CONDITION = struct(
    "lastTransitionTime message reason status type",
    type=Schema(type="string", max_length=316, pattern=_CONDITION_TYPE),
    status=Schema(type="string", enum=("True", "False", "Unknown")),
    reason=Schema(
        type="string", max_length=1024, min_length=1, pattern="^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
    ),
    message=Schema(type="string", max_length=32768),
    lastTransitionTime=STRING,
    observedGeneration=COUNT,
)

MACHINE_CONFIGURATION = custom(
    "spec",
    spec=struct(
        defaultNodeDisruptionPolicySpecAction=told(
            "What a change of a file or unit does to a node where no entry of nodeDisruptionPolicy fits.",
            struct("files units", files=_actions(_SPEC_ACTIONS), units=_actions(_SPEC_ACTIONS)),
        ),
        nodeDisruptionPolicy=told(
            "What a change does to a node, by file path, by unit name, and for SSH keys.",
            _policy(_SPEC_ACTIONS, 50),
        ),
    ),
    status=struct(
        conditions=list_map("type", CONDITION),
        nodeDisruptionPolicyStatus=struct(clusterPolicies=_policy(_STATUS_ACTIONS, 100)),
        observedGeneration=INTEGER,
    ),
)

MACHINE_CONFIG = custom(
    spec=struct(
        config=told("An Ignition config, version 3.4.0.", FREE),
        kernelArguments=Schema(
            type="array",
            items=STRING,
            nullable=True,
            description="Arguments added to the kernel's command line.",
        ),
    ),
)

_SELECTOR = atomic_struct(
    matchLabels=STRING_MAP,
    matchExpressions=list_of(struct("key operator", key=STRING, operator=STRING, values=list_of(STRING))),
)
_REFERENCE = {
    "apiVersion": STRING,
    "fieldPath": STRING,
    "kind": STRING,
    "name": STRING,
    "namespace": STRING,
    "resourceVersion": STRING,
    "uid": STRING,
}
_RENDERED = atomic_struct(**_REFERENCE, source=list_of(atomic_struct(**_REFERENCE)))


def _at_least(more: str, less: str) -> Check:
    return Check(f"{more} must be greater than or equal to {less}", lambda value: value[more] >= value[less])


_SYNCHRONIZER_COUNTS = (
    "availableMachineCount",
    "machineCount",
    "readyMachineCount",
    "unavailableMachineCount",
    "updatedMachineCount",
)
_SYNCHRONIZER = checked(
    struct(
        f"poolSynchronizerType {' '.join(_SYNCHRONIZER_COUNTS)}",
        poolSynchronizerType=Schema(type="string", enum=("PinnedImageSets",), max_length=256),
        observedGeneration=COUNT,
        **dict.fromkeys(_SYNCHRONIZER_COUNTS, COUNT),
    ),
    _at_least("machineCount", "updatedMachineCount"),
    _at_least("machineCount", "availableMachineCount"),
    _at_least("machineCount", "unavailableMachineCount"),
    _at_least("machineCount", "readyMachineCount"),
    _at_least("availableMachineCount", "readyMachineCount"),
)

MACHINE_CONFIG_POOL = custom(
    "spec",
    spec=struct(
        configuration=told(
            "The rendered config that the pool's nodes are to have; the operator sets it.", _RENDERED
        ),
        machineConfigSelector=told(
            "Which MachineConfigs are merged for this pool, by their labels.", _SELECTOR
        ),
        maxUnavailable=told(
            "How many nodes, or what percentage of them, may be unavailable at once while the pool updates; "
            "1 if it is not set.",
            NUMBER_OR_PERCENT,
        ),
        nodeSelector=told("Which nodes are in the pool, by their labels.", _SELECTOR),
        paused=told("While true, no node of the pool is given another config.", BOOLEAN),
    ),
    status=struct(
        conditions=list_of(
            struct(
                type=STRING,
                status=STRING,
                reason=STRING,
                message=STRING,
                lastTransitionTime=Schema(type="string", nullable=True),
            )
        ),
        configuration=told("The rendered config that all nodes of the pool have.", _RENDERED),
        poolSynchronizersStatus=list_map("poolSynchronizerType", _SYNCHRONIZER),
        degradedMachineCount=told("Nodes whose update has failed.", INTEGER),
        machineCount=told("Nodes in the pool.", INTEGER),
        observedGeneration=told("The generation that this status is about.", INTEGER),
        readyMachineCount=told("Nodes that are updated and ready.", INTEGER),
        unavailableMachineCount=told("Nodes that cannot be used, for whatever reason.", INTEGER),
        updatedMachineCount=told("Nodes that have the config.", INTEGER),
    ),
)
