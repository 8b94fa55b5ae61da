"""The platform's module controller on the global cluster: what happens to a ModuleInfo after somebody created it.

It takes an object over under its final name, fills in what the platform adds, installs, upgrades and removes modules
on their clusters, and reports in status. All it must remember stands in status and finalizers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from gitops_mc.core.model import MODULE_LABEL, JsonObject, labels_of, metadata, name_of
from gitops_mc.sandbox.client import ApiClient, Cache, Touch
from gitops_mc.sandbox.faults import FOREVER, FaultBoard, FaultId
from gitops_mc.sandbox.moduleinfo import (
    FINALIZER,
    ReleaseState,
    adopted_body,
    available_versions,
    cluster_of,
    defects,
    final_name,
    release,
    spec_hash,
)
from gitops_mc.sandbox.operator.pools import stamp


class Site(Protocol):
    """What the platform can do on one cluster."""

    def reachable(self, now: datetime) -> bool: ...

    def deploy(self, module: str, version: str, now: datetime) -> None:
        """Install a module, or bring it to a version."""
        ...

    def release(self, module: str, version: str, state: ReleaseState, now: datetime) -> None:
        """Say on the cluster itself, in its AppRelease, how far a module is."""
        ...

    def remove(self, module: str) -> None: ...


@dataclass(frozen=True, slots=True)
class PlatformOptions:
    """How long the platform takes."""

    adopt: timedelta = timedelta(seconds=2)
    """From creation to the object under its final name."""
    take_up: timedelta = timedelta(seconds=3)
    """From a changed spec to a status that speaks of it; until then the old status stands."""
    transit: timedelta = timedelta(seconds=20)
    """An installation or upgrade."""
    removal: timedelta = timedelta(seconds=10)
    poll: timedelta = timedelta(seconds=10)
    """How often it looks again at what it waits for: a dark cluster, a stuck release."""


class ModuleController:
    """The actor."""

    name = "platform/modules"
    interests = frozenset({("moduleinfoes", "*"), ("moduleconfigs", "*"), ("clusters", "*")})

    def __init__(
        self, client: ApiClient, sites: Mapping[str, Site], faults: FaultBoard, options: PlatformOptions
    ) -> None:
        self._client = client
        self._sites = sites
        self._faults = faults
        self._options = options
        self._infos = Cache(client, "moduleinfoes")
        self._configs = Cache(client, "moduleconfigs")
        self._clusters = Cache(client, "clusters")
        self._seen: dict[tuple[str, str], datetime] = {}
        """When a spec (object and hash) was first seen."""

    def notice(self, touch: Touch) -> None:
        caches = {
            "moduleinfoes": self._infos,
            "moduleconfigs": self._configs,
            "clusters": self._clusters,
        }
        caches[touch.resource].touch(touch.name)

    def step(self, now: datetime) -> datetime:
        return min((self._handle(info, now) for info in self._infos.objects()), default=FOREVER)

    def _handle(self, info: JsonObject, now: datetime) -> datetime:
        meta = metadata(info)
        if "deletionTimestamp" in meta:
            return self._remove(info, now)
        problem = defects(info, {name_of(c) for c in self._clusters.objects()})
        if problem:
            self._report(info, {"phase": "Failed", "version": "", "blockReasons": [problem]})
            return FOREVER
        if FINALIZER not in (meta.get("finalizers") or ()):
            return self._adopt(info, now)
        status = info.get("status") or {}
        if status.get("transitTimestamp"):
            return self._transit(info, now)
        if status.get("specHash") != spec_hash(info):
            return self._take_up(info, now)
        self._refresh_versions(info)
        return FOREVER

    # ----------------------------------------------------------------------------------------------- adoption

    def _adopt(self, info: JsonObject, now: datetime) -> datetime:
        """Bring the object under its final name, with what the platform adds."""
        due = self._since(info, now) + self._options.adopt
        if now < due:
            return due
        name, module = final_name(info), labels_of(info)[MODULE_LABEL]
        bare = self._faults.find(FaultId.MODULE_RECREATED_WITHOUT_LABELS, "global", now, module=module)
        owner = self._clusters.get(cluster_of(info))
        body = adopted_body(info, owner or {}, self._defaults(module, now), keep=() if bare else None)
        if name_of(info) == name and not bare:
            self._infos.keep(self._client.replace("moduleinfoes", body))
            return now + self._options.take_up
        if name_of(info) == name:
            self._client.delete("moduleinfoes", name)
            self._infos.keep(self._client.create("moduleinfoes", body))
            return now + self._options.take_up
        if self._infos.get(name) is None:
            self._infos.keep(self._client.create("moduleinfoes", body))
        self._client.delete("moduleinfoes", name_of(info))
        self._infos.touch(name_of(info))
        return now + self._options.take_up

    def _defaults(self, module: str, now: datetime) -> JsonObject:
        """Values the platform writes into spec.config where the user gave none."""
        faults = self._faults.active(FaultId.MODULE_DEFAULTS, "global", now)
        return {f.text("key"): f.parameters["value"] for f in faults if f.matches("module", module)}

    # ------------------------------------------------------------------------------------------ life of a module

    def _take_up(self, info: JsonObject, now: datetime) -> datetime:
        due = self._since(info, now) + self._options.take_up
        if now < due:
            return due
        module, version = labels_of(info)[MODULE_LABEL], str(info["spec"]["version"])
        status = info.get("status") or {}
        standing = {"version": status.get("version", ""), "phase": "Processing"}
        reason = self._blocked(info, now)
        if reason:
            self._report(info, {**standing, "blockReasons": [reason]})
            return now + self._options.poll
        self._site(info).deploy(module, version, now)
        self._site(info).release(module, version, "progressing", now)
        self._report(
            info,
            {
                **standing,
                "phase": self._phase(info, now, now),
                "specHash": spec_hash(info),
                "transitVersion": version,
                "transitTimestamp": stamp(now),
                "blockReasons": None,
                "appReleases": [release(module, version, "progressing")],
            },
        )
        return now + min(self._options.transit, timedelta(seconds=5))

    def _transit(self, info: JsonObject, now: datetime) -> datetime:
        status, module = info["status"], labels_of(info)[MODULE_LABEL]
        begun = datetime.fromisoformat(status["transitTimestamp"])
        stuck = self._faults.find(FaultId.MODULE_STUCK, "global", now, module=module)
        due = begun + self._options.transit
        if now < due or stuck or not self._site(info).reachable(now):
            self._report(info, {"phase": self._phase(info, begun, now), "version": status["version"]})
            return max(due, now + timedelta(seconds=5)) if now >= due else now + timedelta(seconds=5)
        version = status["transitVersion"]
        self._site(info).release(module, version, "ready", now)
        self._report(
            info,
            {
                "phase": "Running",
                "version": version,
                "transitVersion": None,
                "transitTimestamp": None,
                "appReleases": [release(module, version, "ready")],
                "availableVersions": available_versions(module, version, self._configs.objects()),
            },
        )
        return now + self._options.take_up

    def _phase(self, info: JsonObject, begun: datetime, now: datetime) -> str:
        module = labels_of(info)[MODULE_LABEL]
        lag = self._faults.find(FaultId.PHASE_LAG, "global", now, module=module)
        return "Running" if lag and now < begun + lag.delay() else "Processing"

    def _refresh_versions(self, info: JsonObject) -> None:
        status, module = info["status"], labels_of(info)[MODULE_LABEL]
        offered = available_versions(module, status["version"], self._configs.objects())
        self._report(
            info, {"phase": status["phase"], "version": status["version"], "availableVersions": offered}
        )

    def _remove(self, info: JsonObject, now: datetime) -> datetime:
        """Uninstall, then let the object go; hangs while the cluster is dark."""
        due = datetime.fromisoformat(metadata(info)["deletionTimestamp"]) + self._options.removal
        if now < due:
            return due
        site = self._sites.get(cluster_of(info))
        if site is not None:
            if not site.reachable(now):
                return now + self._options.poll
            site.remove(labels_of(info).get(MODULE_LABEL, ""))
        left = [f for f in metadata(info).get("finalizers") or () if f != FINALIZER]
        self._client.merge("moduleinfoes", name_of(info), {"metadata": {"finalizers": left}})
        self._infos.touch(name_of(info))
        return FOREVER

    # -------------------------------------------------------------------------------------------------- calls

    def _blocked(self, info: JsonObject, now: datetime) -> str:
        """Why a spec cannot be taken up yet, or `""`."""
        module, version = labels_of(info)[MODULE_LABEL], str(info["spec"]["version"])
        config = self._published(module, version)
        if config is None:
            return f"version {version} of module {module} is not published"
        here = [m for m in self._infos.objects() if cluster_of(m) == cluster_of(info)]
        running = {labels_of(m).get(MODULE_LABEL) for m in here if _is_running(m)}
        missing = [
            d["moduleName"]
            for d in config["spec"].get("dependencies") or ()
            if d["moduleName"] not in running
        ]
        if missing:
            return f"module {missing[0]}, which {module} depends on, is not running"
        if not self._site(info).reachable(now):
            return f"cluster {cluster_of(info)} is unreachable"
        return ""

    def _published(self, module: str, version: str) -> JsonObject | None:
        """The ModuleConfig of a version that is ready to deploy."""
        for config in self._configs.objects():
            mine = labels_of(config).get(MODULE_LABEL) == module and config["spec"].get("version") == version
            if mine and (config.get("status") or {}).get("readyForDeploy"):
                return config
        return None

    def _site(self, info: JsonObject) -> Site:
        return self._sites[cluster_of(info)]

    def _since(self, info: JsonObject, now: datetime) -> datetime:
        return self._seen.setdefault((str(metadata(info).get("uid")), spec_hash(info)), now)

    def _report(self, info: JsonObject, status: JsonObject) -> None:
        standing = info.get("status") or {}
        if any(standing.get(k) != v for k, v in status.items()):
            self._infos.keep(self._client.merge_status("moduleinfoes", name_of(info), status))


def _is_running(info: JsonObject) -> bool:
    return bool((info.get("status") or {}).get("phase") == "Running")
