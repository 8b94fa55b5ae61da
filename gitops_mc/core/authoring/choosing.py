"""What of a live cluster belongs into its folder: what somebody set. Not what the operator, the platform or the API server
makes by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gitops_mc.core.authoring.modules import chosen_module
from gitops_mc.core.authoring.picking import LeftOut, Picked, may_be_taken
from gitops_mc.core.diff.digests import OUR_MARKS
from gitops_mc.core.diff.identity import module_of
from gitops_mc.core.diff.owners import Owners, owners_of
from gitops_mc.core.diff.paths import ANNOTATIONS, LABELS, Path, leaves_of, same, with_value
from gitops_mc.core.live import Fact, LiveCluster
from gitops_mc.core.model import (
    ABORT_ANNOTATION,
    BRACKET_ANNOTATION,
    PAUSED_ANNOTATION,
    POLICY_NAME,
    JsonObject,
    Kind,
    Known,
    ResourceKey,
    annotations_of,
    is_protected_config,
    metadata,
)
from gitops_mc.core.pools import BUILT_IN_POOLS
from gitops_mc.core.raw import section

_OPERATOR: Final = re.compile(r"machine-?config(uration)?-?(controller|daemon|operator|server)?")
_TOOLS_OWN: Final = re.compile(
    r"(kubectl\.kubernetes\.io|argocd\.argoproj\.io|meta\.helm\.sh|([a-z]+\.)?toolkit\.fluxcd\.io)/.*"
)
"""Labels and annotations by which other tools find what they made."""
_NOT_OURS: Final[frozenset[Path]] = frozenset(
    {
        *OUR_MARKS,
        *((*ANNOTATIONS, mark) for mark in (BRACKET_ANNOTATION, ABORT_ANNOTATION, PAUSED_ANNOTATION)),
    }
)
_OPERATORS_SPEC: Final = frozenset({"configuration", "paused"})
"""Of a pool: the operator writes one, and the other is a moment's, not a configuration's."""
_SHIPPED_SELECTORS: Final = frozenset({"machineConfigSelector", "nodeSelector"})
_SHIPPED: Final[Mapping[Path, Any]] = {
    ("spec", "maxUnavailable"): 1,
    ("spec", "defaultNodeDisruptionPolicySpecAction", "files"): [{"type": "None"}],
    ("spec", "defaultNodeDisruptionPolicySpecAction", "units"): [{"type": "Reboot"}],
    ("spec", "nodeDisruptionPolicy", "sshkey", "actions"): [{"type": "None"}],
}
"""As pools master and worker and MachineConfiguration `cluster` are shipped (ACP docs)."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What is to be written, and what is not, each in the order of keys."""

    picked: tuple[Picked, ...]
    left_out: tuple[LeftOut, ...]


def choose(live: LiveCluster, held: frozenset[ResourceKey], fleet: str) -> Choice:
    """Sort out a cluster of which every kind was read. `held` are the objects that the repository has already; `fleet` is
    the value of our label.
    """
    found: list[Picked | LeftOut] = []
    operators = _operators(live)
    for key, body in _machine_objects(live):
        refusal = _held(key) if key in held else may_be_taken(key, body, fleet)
        found.append(refusal or _machine_object(key, body, operators))
    for key, bodies in _modules(live).items():
        found.append(_held(key) if key in held else chosen_module(key, bodies, live.catalog, fleet))
    ordered = sorted(found, key=lambda one: one.key)
    return Choice(
        tuple(one for one in ordered if isinstance(one, Picked)),
        tuple(one for one in ordered if isinstance(one, LeftOut) and one.reason),
    )


def _held(key: ResourceKey) -> LeftOut:
    return LeftOut(key, "the repository has it already")


def _machine_objects(live: LiveCluster) -> Iterator[tuple[ResourceKey, JsonObject]]:
    facts = (
        (Kind.MACHINE_CONFIGURATION, live.policies),
        (Kind.MACHINE_CONFIG_POOL, live.pools),
        (Kind.MACHINE_CONFIG, live.configs),
    )
    for kind, fact in facts:
        for name, body in _objects(fact).items():
            yield ResourceKey(live.name, kind, name), body


def _modules(live: LiveCluster) -> dict[ResourceKey, tuple[JsonObject, ...]]:
    found: dict[ResourceKey, tuple[JsonObject, ...]] = {}
    for body in _objects(live.modules).values():
        module = module_of(body, live.name, {})
        if module is not None:
            key = ResourceKey(live.name, Kind.MODULE_INFO, module)
            found[key] = (*found.get(key, ()), body)
    return found


def _objects(fact: Fact) -> Mapping[str, JsonObject]:
    return fact.value if isinstance(fact, Known) else {}


def _operators(live: LiveCluster) -> frozenset[str]:
    """Field managers that are the operator: whoever writes the status of its kinds."""
    return frozenset(
        str(entry.get("manager", ""))
        for fact in (live.pools, live.policies)
        for body in _objects(fact).values()
        for entry in metadata(body).get("managedFields") or ()
        if entry.get("subresource") == "status"
    )


def _machine_object(key: ResourceKey, live: JsonObject, operators: frozenset[str]) -> Picked | LeftOut:
    match key.kind:
        case Kind.MACHINE_CONFIG:
            if is_protected_config(key.name):
                return LeftOut(key, "")  # the operator's own: nobody expects it
            return _whole(key, live, operators)
        case Kind.MACHINE_CONFIG_POOL if key.name not in BUILT_IN_POOLS:
            return _whole(key, live, operators)
        case Kind.MACHINE_CONFIGURATION if key.name != POLICY_NAME:
            return LeftOut(key, f"the operator reads only the one that is named {POLICY_NAME}")
        case _:
            return _customized(key, live, operators)


def _whole(key: ResourceKey, live: JsonObject, operators: frozenset[str]) -> Picked:
    """An object that somebody made: all of it."""
    owners = owners_of(live)
    spec = section(live, "spec")
    if key.kind is Kind.MACHINE_CONFIG_POOL:
        spec = {field: value for field, value in spec.items() if field not in _OPERATORS_SPEC}
    body = {**_head(key, _marks(key, live, owners, operators)), "spec": spec}
    return Picked(key, body, live, _managers(owners, operators), notes=_notes(key, live))


def _customized(key: ResourceKey, live: JsonObject, operators: frozenset[str]) -> Picked | LeftOut:
    """An object that the operator made: the fields that somebody else has set, and to something else than is shipped."""
    owners = owners_of(live)
    body: JsonObject = _head(key, _marks(key, live, owners, operators))
    chosen = {
        path: value
        for path, value in leaves_of(key.kind, live).items()
        if path[0] == "spec" and _is_customized(key.kind, path, value, owners, operators)
    }
    for path, value in chosen.items():
        body = with_value(body, path, value)
    notes = _notes(key, live)
    if not chosen and len(metadata(body)) == 1:
        return LeftOut(key, "; ".join(notes))
    body.setdefault("spec", {})
    return Picked(key, body, live, _managers(owners, operators), partial=True, notes=notes)


def _is_customized(kind: Kind, path: Path, value: Any, owners: Owners, operators: frozenset[str]) -> bool:
    if kind is Kind.MACHINE_CONFIG_POOL and path[1] in _OPERATORS_SPEC:
        return False
    if owners.we_own(path):
        return True
    if kind is Kind.MACHINE_CONFIG_POOL and path[1] in _SHIPPED_SELECTORS:
        return False
    return _set_by_somebody(path, owners, operators) and not (
        path in _SHIPPED and same(_SHIPPED[path], value)
    )


def _set_by_somebody(path: Path, owners: Owners, operators: frozenset[str]) -> bool:
    """Whether an owner of the field is not the operator. Where nothing says who owns what, everything may be."""
    if owners.we_own(path):
        return True
    managers = _among(path, owners)
    if not managers:
        return not owners.others and owners.ours is None
    return any(not _is_operator(manager, operators) for manager in managers)


def _among(path: Path, owners: Owners) -> tuple[str, ...]:
    """Owners of a field; where a whole map or list around it is owned at once, the owners of that."""
    for length in range(len(path), 1, -1):
        if found := owners.of(path[:length]):
            return found
    return ()


def _is_operator(manager: str, operators: frozenset[str]) -> bool:
    return manager in operators or _OPERATOR.fullmatch(manager) is not None


def _managers(owners: Owners, operators: frozenset[str]) -> tuple[str, ...]:
    """Who owns something of it beside us and the operator."""
    return tuple(name for name in owners.others if name and not _is_operator(name, operators))


def _head(key: ResourceKey, marks: Mapping[str, Mapping[str, str]]) -> JsonObject:
    meta = {"name": key.name, **marks}
    return {"apiVersion": key.kind.api_version, "kind": key.kind.value, "metadata": meta}


def _marks(
    key: ResourceKey, live: JsonObject, owners: Owners, operators: frozenset[str]
) -> dict[str, dict[str, str]]:
    """Labels and annotations that somebody set for a reason of his own."""
    found: dict[str, dict[str, str]] = {}
    for path, value in leaves_of(key.kind, live).items():
        if path[:-1] not in (LABELS, ANNOTATIONS) or path in _NOT_OURS or not isinstance(value, str):
            continue
        group, name = str(path[1]), str(path[-1])
        tools = _TOOLS_OWN.fullmatch(name) is not None and not owners.we_own(path)
        if not tools and _set_by_somebody(path, owners, operators):
            found.setdefault(group, {})[name] = value
    return found


def _notes(key: ResourceKey, live: JsonObject) -> tuple[str, ...]:
    if key.kind is not Kind.MACHINE_CONFIG_POOL or section(live, "spec").get("paused") is not True:
        return ()
    by = " by gitops-mc" if {BRACKET_ANNOTATION, ABORT_ANNOTATION} & annotations_of(live).keys() else ""
    return (f"the pool is paused{by}, which was not imported: let it run again before the first rollout",)
