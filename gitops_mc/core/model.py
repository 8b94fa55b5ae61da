"""The words of the product as types: keys, places, problems, desired and live state.

Values are frozen; collections inside them are tuples or read-only mappings, ordered once, at construction.
Objects of the API stay raw JSON dicts (`JsonObject`); whoever needs another version makes a copy.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, StrEnum
from types import MappingProxyType
from typing import Any, Generic, NewType, TypeAlias, TypeVar

JsonObject: TypeAlias = dict[str, Any]
"""A JSON object as `json.loads` gives it. Treated as immutable once it stands in a value of this module."""

Content = NewType("Content", str)
"""Digest of a cluster's resolved desired objects (64 hex digits). The identity of what is rolled out."""

Commit = NewType("Commit", str)
"""A Git commit id, shown and kept to fetch a content again; never an identity."""

GLOBAL_CLUSTER = "global"
MACHINE_GROUP_VERSION = "machineconfiguration.alauda.io/v1alpha1"
MODULE_GROUP_VERSION = "cluster.alauda.io/v1alpha1"
PLATFORM_GROUP_VERSION = "platform.tkestack.io/v1"
FIELD_MANAGER = "gitops-mc"
MACHINE_CONFIG_MODULE = "machine-config"

ROLE_LABEL = "machineconfiguration.alauda.io/role"
CLUSTER_LABEL = "cpaas.io/cluster-name"
MODULE_LABEL = "cpaas.io/module-name"
MODULE_TYPE_LABEL = "cpaas.io/module-type"
FLEET_LABEL = "gitops-mc.io/fleet"
APPLIED_ANNOTATION = "gitops-mc.io/applied"
BRACKET_ANNOTATION = "gitops-mc.io/bracket"
PAUSED_ANNOTATION = "gitops-mc.io/paused-by-git"
"""On a pool that is paused because its manifest says so: only then may we let it run when the manifest says no more."""
PRUNE_ANNOTATION = "gitops-mc.io/prune"
ADOPT_ANNOTATION = "gitops-mc.io/adopt-from"
DOWNGRADE_ANNOTATION = "gitops-mc.io/allow-downgrade"


class Kind(StrEnum):
    """The managed kinds, in the order in which lists of objects show them."""

    MODULE_INFO = "ModuleInfo"
    MACHINE_CONFIGURATION = "MachineConfiguration"
    MACHINE_CONFIG_POOL = "MachineConfigPool"
    MACHINE_CONFIG = "MachineConfig"

    @property
    def api_version(self) -> str:
        return MODULE_GROUP_VERSION if self is Kind.MODULE_INFO else MACHINE_GROUP_VERSION

    @property
    def plural(self) -> str:
        return _PLURALS[self]

    @property
    def order(self) -> int:
        return _KIND_ORDER[self]


_PLURALS = {
    Kind.MODULE_INFO: "moduleinfoes",
    Kind.MACHINE_CONFIGURATION: "machineconfigurations",
    Kind.MACHINE_CONFIG_POOL: "machineconfigpools",
    Kind.MACHINE_CONFIG: "machineconfigs",
}
_KIND_ORDER = {kind: position for position, kind in enumerate(Kind)}


@dataclass(frozen=True, slots=True)
class ResourceKey:
    """Identity of a managed object. For a ModuleInfo `name` is the module's name: its metadata.name is not stable."""

    cluster: str
    kind: Kind
    name: str

    def sort_key(self) -> tuple[str, int, str]:
        return (self.cluster, self.kind.order, self.name)

    def __lt__(self, other: ResourceKey) -> bool:
        return self.sort_key() < other.sort_key()

    def __str__(self) -> str:
        return f"{self.cluster}/{self.kind.value}/{self.name}"


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where something stands: a path inside the repository, and line and column from 1 (0: the file as a whole)."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return self.file if not self.line else f"{self.file}:{self.line}:{self.column}"


class Severity(StrEnum):
    """ERROR blocks its scope; WARNING is shown and blocks nothing."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class FleetScope:
    """The whole fleet: fleet.yaml, or the source itself."""

    def __str__(self) -> str:
        return "fleet"


@dataclass(frozen=True, slots=True)
class SharedScope:
    """The clusters that use a shared set; `path` as in `shared/base`."""

    path: str

    def __str__(self) -> str:
        return self.path


@dataclass(frozen=True, slots=True)
class ClusterScope:
    """One cluster."""

    cluster: str

    def __str__(self) -> str:
        return f"cluster {self.cluster}"


Scope: TypeAlias = FleetScope | SharedScope | ClusterScope


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong in the input: where, which field, what, and what to do about it."""

    place: Place
    rule: str
    """Id of the rule in the table of `gitops_mc.core.rules`, for instance `yaml-duplicate-key`."""
    field: str
    """Dotted path inside the manifest, `""` for the document as a whole."""
    message: str
    hint: str
    scope: Scope
    severity: Severity = Severity.ERROR

    def sort_key(self) -> tuple[Place, str, str, str, str]:
        return (self.place, self.rule, self.field, self.message, str(self.scope))


def sorted_problems(
    problems: Mapping[Any, Problem] | list[Problem] | tuple[Problem, ...],
) -> tuple[Problem, ...]:
    """All problems, each once, by place."""
    values = problems.values() if isinstance(problems, Mapping) else problems
    unique = {(*p.sort_key(), p.severity): p for p in values}
    return tuple(sorted(unique.values(), key=Problem.sort_key))


@dataclass(frozen=True, slots=True)
class Manifest:
    """One desired object, resolved: the body is what would be sent (without our own label and annotation)."""

    key: ResourceKey
    body: JsonObject
    place: Place
    shared_set: str | None = None
    """Path of the shared set it came from, or None for the cluster's own folder."""
    places: Mapping[tuple[str | int, ...], Place] = field(
        default_factory=lambda: MappingProxyType({}), compare=False
    )
    """Place of each field by its path in the document as written, for messages."""

    @property
    def annotations(self) -> Mapping[str, str]:
        found: Mapping[str, str] = self.body.get("metadata", {}).get("annotations") or {}
        return found


@dataclass(frozen=True, slots=True)
class DesiredCluster:
    """What Git says about one cluster, resolved and ordered by key."""

    name: str
    manifests: tuple[Manifest, ...]
    content: Content
    problems: tuple[Problem, ...] = ()
    """The problems that touch this cluster, warnings included; any ERROR blocks it and it is never pruned."""
    labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def blocked(self) -> bool:
        return any(p.severity is Severity.ERROR for p in self.problems)

    def of_kind(self, kind: Kind) -> tuple[Manifest, ...]:
        return tuple(m for m in self.manifests if m.key.kind is kind)

    def get(self, key: ResourceKey) -> Manifest | None:
        return next((m for m in self.manifests if m.key == key), None)


def canonical_json(value: Any) -> bytes:
    """One spelling for one JSON value, whatever the order in which it was made."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def digest_of(value: Any) -> str:
    """sha256 of the canonical JSON, 64 hex digits."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def content_of(manifests: tuple[Manifest, ...]) -> Content:
    """The content of a cluster. Where a manifest stands and what commit it came from have no part in it."""
    return Content(
        digest_of([[m.key.kind.value, m.key.name, m.body] for m in sorted(manifests, key=lambda m: m.key)])
    )


# ----------------------------------------------------------------------------------------- facts about live clusters

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Known(Generic[T]):
    """A fact that was read, and when. `value` may well be "not there": a 404 is an answer."""

    value: T
    at: datetime


@dataclass(frozen=True, slots=True)
class Unknown:
    """A fact that was not obtained. Never to be read as absence."""

    reason: str
    since: datetime


class Outage(Enum):
    """What kind of not-knowing it is: decides who is counted for it."""

    UNREACHABLE = "unreachable"
    DENIED = "denied"
    """401 or 403."""
    OTHER = "other"


def metadata(obj: JsonObject) -> JsonObject:
    found: JsonObject = obj.get("metadata") or {}
    return found


def name_of(obj: JsonObject) -> str:
    return str(metadata(obj).get("name", ""))


def labels_of(obj: JsonObject) -> Mapping[str, str]:
    found: Mapping[str, str] = metadata(obj).get("labels") or {}
    return found


def annotations_of(obj: JsonObject) -> Mapping[str, str]:
    found: Mapping[str, str] = metadata(obj).get("annotations") or {}
    return found


def resource_version(obj: JsonObject) -> str:
    return str(metadata(obj).get("resourceVersion", ""))


def uid_of(obj: JsonObject) -> str:
    return str(metadata(obj).get("uid", ""))


def is_protected_config(name: str) -> bool:
    """Names that belong to the operator: never written, never pruned (ACP docs: base and rendered configs)."""
    return name.startswith(("00-", "rendered-", "render-"))


def matches_selector(selector: JsonObject | None, labels: Mapping[str, str]) -> bool:
    """Kubernetes label selector semantics: a missing selector matches nothing, an empty one everything."""
    if selector is None:
        return False
    for key, value in (selector.get("matchLabels") or {}).items():
        if labels.get(key) != value:
            return False
    return all(_matches_expression(e, labels) for e in selector.get("matchExpressions") or ())


def _matches_expression(expression: JsonObject, labels: Mapping[str, str]) -> bool:
    key = expression.get("key", "")
    values = expression.get("values") or []
    match expression.get("operator"):
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case _:
            return False


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem before it has a place: found in one manifest's body, at a path in it."""

    path: tuple[str | int, ...]
    rule: str
    message: str
    hint: str
    severity: Severity = Severity.ERROR


def dotted(path: tuple[str | int, ...]) -> str:
    """`("spec", "files", 0, "path")` as `spec.files[0].path`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else (f".{part}" if text else part)
    return text


# ------------------------------------------------------------------------------------------------------- verdicts


@dataclass(frozen=True, slots=True)
class Open:
    """The gate is open."""

    reason: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """Not yet; `reason` names what it waits for. `accept` is the id under which a human may accept it, or empty."""

    reason: str
    accept: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """It will not open by itself; `reason` names cluster, pool, node, condition, since when, and what to do."""

    reason: str


@dataclass(frozen=True, slots=True)
class NotKnown:
    """A fact is missing, so there is no verdict. Opens nothing, deletes nothing, fails nothing."""

    reason: str


Verdict: TypeAlias = Open | Waiting | Failed | NotKnown
