"""What can go wrong in the sandbox, by name: a table of kinds, and a board of the faults that are set.

Actors and transports ask the board; nothing here acts by itself. A fault holds for clusters (a glob over names) and
for a window of time. Of several that hold at once, the one set last is the one that counts.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import TypeAlias

from gitops_mc.core.errors import UsageError

ParameterValue: TypeAlias = str | int | float

ALWAYS = datetime.min.replace(tzinfo=UTC)
FOREVER = datetime.max.replace(tzinfo=UTC)


class FaultId(StrEnum):
    """Every fault the sandbox knows."""

    LATE_RENDER = "late-render"
    STALE_TRUE = "stale-true"
    PAUSED_DOES_NOT_RENDER = "paused-does-not-render"
    MERGE_ROLE_FIRST = "merge-role-first"
    POLICY_LATE = "policy-late"
    DEGRADED_NOT_RETARGETED = "degraded-not-retargeted"
    UNLABELLED_WORKERS = "unlabelled-workers"
    DRAIN_STUCK = "drain-stuck"
    NODE_NEVER_RETURNS = "node-never-returns"
    NODE_DEGRADED = "node-degraded"
    DEGRADED_FLAP = "degraded-flap"
    DRIFT = "drift"
    MODULE_RECREATED_WITHOUT_LABELS = "module-recreated-without-labels"
    MODULE_DEFAULTS = "module-defaults"
    PHASE_LAG = "phase-lag"
    MODULE_STUCK = "module-stuck"
    UPGRADE_ROLLS_POOLS = "upgrade-rolls-pools"
    DRY_RUN_REFUSED = "dry-run-refused"
    HTTP_ERROR = "http-error"
    TIMEOUT_BEFORE = "timeout-before"
    TIMEOUT_AFTER = "timeout-after"
    GATEWAY_GONE = "gateway-gone"
    GATEWAY_DROPS_ON_REBOOT = "gateway-drops-on-reboot"
    LATENCY = "latency"


@dataclass(frozen=True, slots=True)
class FaultKind:
    """One row of the table. The type of a parameter is the type of its default."""

    id: FaultId
    sentence: str
    parameters: Mapping[str, ParameterValue]


def _kind(fault: FaultId, sentence: str, **parameters: ParameterValue) -> FaultKind:
    return FaultKind(fault, sentence, MappingProxyType(parameters))


_NTH_CALL: dict[str, ParameterValue] = {"method": "*", "path": "*", "nth": 1, "times": 1}
"""Which calls a transport fault hits: globs over method and path; from the nth matching call on, so many times."""

FAULTS: Mapping[FaultId, FaultKind] = MappingProxyType(
    {
        kind.id: kind
        for kind in (
            _kind(FaultId.LATE_RENDER, "a pool is rendered so many seconds after the change", seconds=60.0),
            _kind(
                FaultId.STALE_TRUE,
                "a pool's status is not touched, and stays Updated, for so many seconds after the change",
                seconds=60.0,
            ),
            _kind(FaultId.PAUSED_DOES_NOT_RENDER, "a paused pool is not rendered until it is unpaused"),
            _kind(
                FaultId.MERGE_ROLE_FIRST,
                "configs of role worker are merged before those of a custom role, each by name",
            ),
            _kind(
                FaultId.POLICY_LATE,
                "the policy shows in status so many seconds after the change",
                seconds=60.0,
            ),
            _kind(FaultId.DEGRADED_NOT_RETARGETED, "a Degraded node gets no newer config until it is mended"),
            _kind(FaultId.UNLABELLED_WORKERS, "workers carry no role label and stand in no pool"),
            _kind(
                FaultId.DRAIN_STUCK,
                "the drain of matching nodes is blocked by a disruption budget; Degraded after an hour",
                node="*",
            ),
            _kind(FaultId.NODE_NEVER_RETURNS, "a matching node that reboots stays NotReady", node="*"),
            _kind(
                FaultId.NODE_DEGRADED,
                "a matching node fails to write a config that has the marker in a file or unit, before or after its drain",
                node="*",
                marker="BROKEN",
                when="before-drain",
            ),
            _kind(
                FaultId.DEGRADED_FLAP,
                "a matching node is Degraded for so many seconds, so many times, in each update",
                node="*",
                seconds=10.0,
                times=2,
            ),
            _kind(
                FaultId.DRIFT,
                "a file that the config of a matching node owns was changed on the node by hand",
                node="*",
                path="*",
            ),
            _kind(
                FaultId.MODULE_RECREATED_WITHOUT_LABELS,
                "the platform re-creates a ModuleInfo under its final name without foreign labels and managedFields",
                module="*",
            ),
            _kind(
                FaultId.MODULE_DEFAULTS,
                "the platform writes this default into spec.config of a matching module",
                module="*",
                key="replicas",
                value=1,
            ),
            _kind(
                FaultId.PHASE_LAG,
                "phase says Running for so many seconds after a changed spec was taken up",
                module="*",
                seconds=30.0,
            ),
            _kind(
                FaultId.MODULE_STUCK,
                "an installation or upgrade of a matching module never gets ready",
                module="*",
            ),
            _kind(
                FaultId.UPGRADE_ROLLS_POOLS,
                "an upgrade of machine-config renders every pool anew; with a path it adds that file",
                path="",
            ),
            _kind(FaultId.DRY_RUN_REFUSED, "every dry run is refused with this status", status=400),
            _kind(FaultId.HTTP_ERROR, "matching calls answer this status", status=500, **_NTH_CALL),
            _kind(FaultId.TIMEOUT_BEFORE, "matching calls time out and take no effect", **_NTH_CALL),
            _kind(FaultId.TIMEOUT_AFTER, "matching calls take effect and time out", **_NTH_CALL),
            _kind(
                FaultId.GATEWAY_GONE,
                "the cluster's path is dark: calls time out, are refused at once, or the gateway answers 502 (how: timeout, refused, bad-gateway)",
                how="timeout",
            ),
            _kind(
                FaultId.GATEWAY_DROPS_ON_REBOOT,
                "the reboot of a control-plane node drops the gateway path for as long as it takes (how: as for gateway-gone)",
                how="timeout",
            ),
            _kind(
                FaultId.LATENCY,
                "every call takes so many seconds, and up to jitter more",
                seconds=0.2,
                jitter=0.0,
            ),
        )
    }
)


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that is set: for clusters that match the glob, from `start` until before `end`."""

    serial: int
    kind: FaultKind
    cluster: str
    start: datetime
    end: datetime
    parameters: Mapping[str, ParameterValue]

    def holds(self, cluster: str, now: datetime) -> bool:
        return self.start <= now < self.end and fnmatchcase(cluster, self.cluster)

    def text(self, name: str) -> str:
        return str(self.parameters[name])

    def number(self, name: str) -> int:
        return int(self.parameters[name])

    def delay(self) -> timedelta:
        """The parameter `seconds`."""
        return timedelta(seconds=float(self.parameters["seconds"]))

    def matches(self, name: str, value: str) -> bool:
        """Whether a value falls under the glob in the parameter `name`."""
        return fnmatchcase(value, self.text(name))


class FaultBoard:
    """The faults that are set. `version` moves with every change, so that actors can be woken."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []
        self._serial = 0
        self.version = 0

    def set(
        self,
        fault: FaultId | str,
        *,
        cluster: str = "*",
        start: datetime = ALWAYS,
        end: datetime = FOREVER,
        **parameters: ParameterValue,
    ) -> Fault:
        """Set a fault; what is not given has the table's default. Raises UsageError for an unknown name."""
        kind = FAULTS[_known_id(fault)]
        self._serial += 1
        made = Fault(self._serial, kind, cluster, start, end, _complete(kind, parameters))
        self._faults.append(made)
        self.version += 1
        return made

    def clear(self, fault: Fault) -> None:
        """Take a fault off the board; one that is not on it is no error."""
        self._faults = [f for f in self._faults if f.serial != fault.serial]
        self.version += 1

    def clear_all(self) -> None:
        self._faults = []
        self.version += 1

    def active(self, fault: FaultId, cluster: str, now: datetime) -> tuple[Fault, ...]:
        """All faults of a kind that hold for a cluster, the one set last first."""
        return tuple(f for f in reversed(self._faults) if f.kind.id is fault and f.holds(cluster, now))

    def find(self, fault: FaultId, cluster: str, now: datetime, **subject: str) -> Fault | None:
        """The fault set last that holds for a cluster and whose globs match the subject (`node="n1"`)."""
        for found in self.active(fault, cluster, now):
            if all(found.matches(name, value) for name, value in subject.items()):
                return found
        return None

    def next_change(self, now: datetime) -> datetime:
        """When a window next begins or ends; FOREVER if none does."""
        borders = (border for f in self._faults for border in (f.start, f.end) if border > now)
        return min(borders, default=FOREVER)


def parse_fault(board: FaultBoard, text: str, start: datetime) -> Fault:
    """Set a fault written as `late-render:cluster=edge-*,seconds=60,after=30,for=600` (`after`, `for`: seconds)."""
    name, _, rest = text.partition(":")
    kind = FAULTS[_known_id(name)]
    given = dict(_pair(item) for item in rest.split(",") if item)
    cluster = given.pop("cluster", "*")
    begin = start + timedelta(seconds=float(given.pop("after", "0")))
    lasting = given.pop("for", None)
    end = FOREVER if lasting is None else begin + timedelta(seconds=float(lasting))
    typed = {key: _typed(kind, key, value) for key, value in given.items()}
    return board.set(kind.id, cluster=cluster, start=begin, end=end, **typed)


def _pair(item: str) -> tuple[str, str]:
    key, separator, value = item.partition("=")
    if not separator:
        raise UsageError(f"fault parameter {item!r} has no value", hint="write it as name=value")
    return key, value


def _typed(kind: FaultKind, key: str, value: str) -> ParameterValue:
    default = kind.parameters.get(key)
    try:
        if isinstance(default, int):
            return int(value)
        return float(value) if isinstance(default, float) else value
    except ValueError as error:
        raise UsageError(f"fault {kind.id}: {key}={value!r} is not a number") from error


def _complete(kind: FaultKind, parameters: Mapping[str, ParameterValue]) -> Mapping[str, ParameterValue]:
    unknown = sorted(set(parameters) - set(kind.parameters))
    if unknown:
        known = ", ".join(kind.parameters) or "none"
        raise UsageError(f"fault {kind.id} has no parameter {unknown[0]}", hint=f"it knows: {known}")
    return MappingProxyType({**kind.parameters, **parameters})


def _known_id(name: str) -> FaultId:
    try:
        return FaultId(name)
    except ValueError:
        close = difflib.get_close_matches(name, [f.value for f in FaultId], n=1)
        hint = f"did you mean {close[0]}?" if close else "known: " + ", ".join(FaultId)
        raise UsageError(f"no fault is called {name!r}", hint=hint) from None
