"""What was asked of a cluster, and what a check finds in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import JsonObject, Unknown

_NAMES_SHOWN = 5


class Health(StrEnum):
    OK = "ok"
    FAILED = "failed"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True, slots=True)
class Finding:
    """One answer: of which check, what was found, and the command that shows or mends it."""

    check: str
    health: Health
    told: str
    command: str = ""


@dataclass(frozen=True, slots=True)
class Right:
    """Something the product asks a server for."""

    verb: str
    resource: str
    """As kubectl writes it: `machineconfigs.machineconfiguration.alauda.io`."""
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class RightAnswer:
    """What the server says of a right. `allowed` None: it could not be asked, for `reason`."""

    right: Right
    allowed: bool | None
    reason: str = ""


class Reach(StrEnum):
    """How far a call to the cluster comes."""

    ANSWERS = "answers"
    SILENT = "silent"
    REJECTS = "rejects the token"
    ODD = "answers oddly"


class Role(StrEnum):
    """What the cluster is to the one who asks."""

    MANAGED = "managed"
    PLATFORM = "platform"
    """Global where nobody manages its own nodes: it only has to serve the others."""


@dataclass(frozen=True, slots=True)
class Examined:
    """Everything that was asked of one cluster."""

    name: str
    reach: Reach
    reach_reason: str
    live: LiveCluster
    rights: tuple[RightAnswer, ...]
    """On the cluster itself, and for its modules on global."""
    wanted_version: str = ""
    """Version of machine-config that the repository has for it; empty: none, or there is no repository."""
    role: Role = Role.MANAGED


def ok(check: str, told: str) -> Finding:
    return Finding(check, Health.OK, told)


def failed(check: str, told: str, command: str) -> Finding:
    return Finding(check, Health.FAILED, told, command)


def not_checked(check: str, told: str, command: str = "") -> Finding:
    return Finding(check, Health.NOT_CHECKED, told, command)


def is_served(live: LiveCluster) -> bool:
    return not isinstance(live.machine_apis, Unknown) and live.machine_apis.value.served


def why_not_served(live: LiveCluster) -> str:
    if isinstance(live.machine_apis, Unknown):
        return f"not read: {live.machine_apis.reason}"
    return "the machine configuration APIs are not served: the plugin is not installed there"


def version_of(body: JsonObject) -> str:
    return str((body.get("spec") or {}).get("version", ""))


def some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return ", ".join(names[:_NAMES_SHOWN]) + more
