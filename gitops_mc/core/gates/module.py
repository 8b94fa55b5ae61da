"""The module gate: one live ModuleInfo, at the wanted version, Running, with all its releases up.

A ModuleInfo is found by its labels, never by name: the platform re-creates it under another one (ACP docs). Its phase
lags behind the truth, so it has to hold for a while; its status has no observedGeneration, so a change of config alone
is known to be taken up only when status.specHash has left the value it had before the write.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from gitops_mc.core.gates.catalog import module_config
from gitops_mc.core.gates.clocks import Counting
from gitops_mc.core.gates.waiting import (
    GateHopeless,
    GateNotKnown,
    GateReading,
    GateReady,
    GateUnready,
    gate_reading,
    judge_gate,
)
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import (
    CLUSTER_LABEL,
    GLOBAL_CLUSTER,
    MODULE_LABEL,
    JsonObject,
    Unknown,
    Verdict,
    Waiting,
    being_deleted,
    labels_of,
    name_of,
)
from gitops_mc.core.modules import cluster_of
from gitops_mc.core.policy import ModuleGatePolicy
from gitops_mc.core.raw import conditions, items, section, text
from gitops_mc.core.versions import newer

HOLD = timedelta(seconds=20)
"""How long a module has to look ready: a few polls, because its phase lags."""

RUNNING = "Running"
_EXPLAINING = ("Sync", "Health")


@dataclass(frozen=True, slots=True)
class ModuleClocks:
    """What the verdicts on one module have to remember. Begin with `ModuleClocks()`, at each write anew.

    Plain data: msgspec writes and reads it as part of the memory.
    """

    ready_since: datetime | None = None
    waiting_since: datetime | None = None
    """Since when the module has been waited for, less the time that did not count."""
    unpublished_since: datetime | None = None
    judged_at: datetime | None = None

    def shifted(self, by: timedelta) -> ModuleClocks:
        """As if what is waited for had begun later: time during which nothing counts."""
        return replace(
            self,
            waiting_since=self.waiting_since and self.waiting_since + by,
            unpublished_since=self.unpublished_since and self.unpublished_since + by,
        )


def live_modules(live: LiveCluster, module: str) -> tuple[JsonObject, ...]:
    """The ModuleInfos of one module on this cluster that are not being deleted, by name; one is right."""
    if isinstance(live.modules, Unknown):
        return ()
    return tuple(
        info
        for _, info in sorted(live.modules.value.items())
        if labels_of(info).get(MODULE_LABEL) == module
        and cluster_of(info) == live.name
        and not being_deleted(info)
    )


def read_module(
    live: LiveCluster, module: str, *, wanted: str, spec_hash_before: str | None = None
) -> GateReading:
    """Read one module. `spec_hash_before`: status.specHash before a write that changed its config, else None."""
    what = f"module {module} of {live.name}"
    see = f"kubectl get moduleinfoes -l {MODULE_LABEL}={module},{CLUSTER_LABEL}={live.name} -o yaml on {GLOBAL_CLUSTER}"
    if isinstance(live.modules, Unknown):
        return gate_reading(what, (), (f"ModuleInfos were not read: {live.modules.reason}",), see)
    found = live_modules(live, module)
    if not found:
        return gate_reading(what, ("there is no ModuleInfo that is not being deleted",), (), see)
    if len(found) > 1:
        names = ", ".join(name_of(info) for info in found)
        return gate_reading(
            what, (f"there are {len(found)} ModuleInfos ({names}) where one is right",), (), see
        )
    info = found[0]
    blockers = (*_version(info, wanted), *_phase(info), *_taken_up(info, spec_hash_before), *_releases(info))
    lacking = []
    if not items(info, "status", "appReleases"):
        absent, unknown = _without_releases(live, module, text(section(info, "spec"), "version"))
        blockers, lacking = (*blockers, *absent), [*unknown]
    if blockers:
        blockers = (*blockers, *_explanations(live, info))
    running = text(section(info, "spec"), "version")
    return gate_reading(f"{what} at {running or 'no version'}", blockers, tuple(lacking), see)


def judge_module(
    reading: GateReading,
    clocks: ModuleClocks,
    policy: ModuleGatePolicy,
    now: datetime,
    *,
    counting: Counting = Counting.RUNNING,
) -> tuple[Verdict, ModuleClocks]:
    """The verdict on a module that was written or is managed, and the clocks to remember. `now` never runs back."""
    now = max(now, clocks.judged_at or now)
    clocks = _ticked(clocks, reading, now, counting)
    since = clocks.waiting_since or now
    clocks = replace(clocks, waiting_since=since)
    if not isinstance(reading, GateReady):
        clocks = replace(clocks, ready_since=None)
        return _judged(reading, since, policy.timeout, now, counting), clocks
    ready = clocks.ready_since or now
    clocks = replace(clocks, ready_since=ready)
    if now - ready < HOLD:
        told = f"{reading.reason}; ready since {ready.isoformat(timespec='seconds')}, must hold {HOLD}"
        return Waiting(told), clocks
    return judge_gate(reading, since, policy.timeout, now), replace(clocks, waiting_since=None)


def judge_publication(
    reading: GateReading,
    clocks: ModuleClocks,
    policy: ModuleGatePolicy,
    now: datetime,
    *,
    counting: Counting = Counting.RUNNING,
) -> tuple[Verdict, ModuleClocks]:
    """The verdict on a version that is to be installed: the platform takes its time to publish an upload."""
    now = max(now, clocks.judged_at or now)
    clocks = _ticked(clocks, reading, now, counting)
    if isinstance(reading, GateReady):
        return judge_gate(reading, now, policy.publish_timeout, now), replace(clocks, unpublished_since=None)
    since = clocks.unpublished_since or now
    return (
        _judged(reading, since, policy.publish_timeout, now, counting),
        replace(clocks, unpublished_since=since),
    )


def _judged(
    reading: GateReading, since: datetime, timeout: timedelta, now: datetime, counting: Counting
) -> Verdict:
    if counting is Counting.STOPPED and isinstance(reading, GateUnready | GateHopeless):
        return Waiting(reading.reason)
    return judge_gate(reading, since, timeout, now)


def _ticked(clocks: ModuleClocks, reading: GateReading, now: datetime, counting: Counting) -> ModuleClocks:
    """Time in which nothing was known, or nothing counts, moves the deadlines on."""
    elapsed = now - (clocks.judged_at or now)
    idle = counting is Counting.STOPPED or isinstance(reading, GateNotKnown)
    return replace(clocks.shifted(elapsed if idle else timedelta(0)), judged_at=now)


def _version(info: JsonObject, wanted: str) -> Iterator[str]:
    spec, status = (text(section(info, part), "version") for part in ("spec", "status"))
    if spec != wanted and newer(spec, wanted) is not True:
        yield f"spec.version is {spec or 'empty'}, wanted is {wanted}"
    if status != spec or not status:
        yield f"status.version is {status or 'empty'}, spec.version is {spec or 'empty'}"


def _phase(info: JsonObject) -> Iterator[str]:
    phase = text(section(info, "status"), "phase")
    if phase != RUNNING:
        yield f"phase is {phase or 'not said'}"


def _taken_up(info: JsonObject, before: str | None) -> Iterator[str]:
    found = text(section(info, "status"), "specHash")
    if before is not None and found in ("", before):
        yield f"the changed spec was not taken up: status.specHash is still {found or 'empty'}"


def _releases(info: JsonObject) -> Iterator[str]:
    for release in items(info, "status", "appReleases"):
        wrong = [word for word in ("ready", "synced") if release.get(word) is not True]
        told = [f"not {word}" for word in wrong] + (
            ["failed"] if release.get("failed") not in (None, False) else []
        )
        if told:
            message = text(release, "message") or text(release, "reason")
            because = f" ({message})" if message else ""
            yield f"release {text(release, 'name') or '?'} is {', '.join(told)}{because}"


def _without_releases(
    live: LiveCluster, module: str, version: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """No release at all: (what blocks, what is not known). Fine only if the catalog lists none for this version."""
    if isinstance(live.catalog, Unknown):
        return (), (f"it shows no releases, and the catalog was not read: {live.catalog.reason}",)
    config = module_config(live, module, version)
    if config is None:
        return (f"it shows no releases, and the catalog has no version {version} to say there are none",), ()
    if items(config, "spec", "appReleases"):
        return ("it shows none of the releases that its version consists of",), ()
    return (), ()


def _explanations(live: LiveCluster, info: JsonObject) -> Iterator[str]:
    """What the platform says about it; never a reason by itself."""
    blocked = section(info, "status").get("blockReasons")
    for reason in blocked if isinstance(blocked, list) else ():
        yield f"the platform says: {reason if isinstance(reason, str) else text(section(reason), 'message') or reason}"
    if isinstance(live.releases, Unknown):
        return
    for item in items(info, "status", "appReleases"):
        release = live.releases.value.get(text(item, "name"))
        for found in conditions(release) if release else ():
            if found.type in _EXPLAINING and not found.holds:
                yield f"AppRelease {text(item, 'name')}: {found}"
