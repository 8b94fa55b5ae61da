"""The machine under a node: its disk, its boots, and the log of what was done to it, which tests read."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from fnmatch import fnmatchcase

from gitops_mc.core.model import JsonObject
from gitops_mc.sandbox.nodes.disruption import ssh_keys
from gitops_mc.sandbox.payload import decode_contents


class What(StrEnum):
    """What happened on a node."""

    PROVISIONED = "provisioned"
    STARTED = "update started"
    CORDONED = "cordoned"
    DRAINED = "drained"
    WROTE = "wrote"
    REBOOTED = "rebooted"
    ACTED = "acted"
    UNCORDONED = "uncordoned"
    DONE = "update done"
    DEGRADED = "degraded"
    RECOVERED = "recovered"


@dataclass(frozen=True, slots=True)
class NodeEvent:
    """One line of a node's log. `detail` is the action, or the reason."""

    at: datetime
    what: What
    from_config: str
    to_config: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class NodeLog:
    """All that was done to a node, oldest first."""

    events: tuple[NodeEvent, ...]

    def of(self, what: What) -> tuple[NodeEvent, ...]:
        return tuple(e for e in self.events if e.what is what)

    @property
    def reboots(self) -> int:
        return len(self.of(What.REBOOTED))

    @property
    def updates(self) -> tuple[tuple[str, str], ...]:
        """The finished updates: from which rendered config to which."""
        return tuple((e.from_config, e.to_config) for e in self.of(What.DONE))

    @property
    def actions(self) -> tuple[str, ...]:
        """What ran instead of a reboot, as `Restart chronyd.service`."""
        return tuple(e.detail for e in self.of(What.ACTED))


class Machine:
    """Disk and boots of one node. It survives its daemon."""

    def __init__(self, cluster: str, node: str) -> None:
        self._identity = f"{cluster}/{node}"
        self._boots = 1
        self._events: list[NodeEvent] = []
        self.files: dict[str, bytes] = {}
        self.units: dict[str, JsonObject] = {}
        self.ssh_keys: tuple[str, ...] = ()
        self.kernel_arguments: tuple[str, ...] = ()

    @property
    def boot_id(self) -> str:
        return hashlib.sha256(f"{self._identity}#{self._boots}".encode()).hexdigest()[:32]

    @property
    def log(self) -> NodeLog:
        return NodeLog(tuple(self._events))

    def record(self, event: NodeEvent) -> None:
        self._events.append(event)

    def boot(self) -> None:
        self._boots += 1

    def write(self, rendered: JsonObject) -> None:
        """Make the disk what a rendered spec says. Files and units that it lacks are removed: the config owns them."""
        config = rendered.get("config") or {}
        files = (config.get("storage") or {}).get("files") or ()
        self.files = {f["path"]: decode_contents(f.get("contents") or {}) for f in files}
        self.units = {u["name"]: u for u in (config.get("systemd") or {}).get("units") or ()}
        self.ssh_keys = ssh_keys(config)
        self.kernel_arguments = tuple(rendered.get("kernelArguments") or ())

    def owned_file(self, glob: str) -> str | None:
        """The first path on the disk that a config owns and that matches."""
        return next((p for p in sorted(self.files) if fnmatchcase(p, glob)), None)
