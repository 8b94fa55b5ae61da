"""A memory into its objects: what has to be durable at once, what may wait, and in which order.

| what has changed | written |
|---|---|
| anything but clocks, or a move depends on it | at once, before the move |
| clocks, and what is shown, of a cluster that decides what comes next | every SOON |
| what is shown of the others | every SOON; clocks alone: not at all, they begin anew after a restart |
| what is shown of the Fleet, when Git was asked last | every SOON; that time alone: SELDOM |

The Fleet is written first, so that a halt is known before the failure that made it; but an object that carries a request that has been
carried out is written last, so that a death in between carries the request out again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

from gitops_mc.app.controller.lease import LeadershipLostError
from gitops_mc.app.controller.objects import FleetObjects, Wanted
from gitops_mc.core.custom.kept import SPEC_OF_FLEET, SPEC_OF_ROLLOUT, Part, cluster_part, fleet_part
from gitops_mc.core.custom.requests import SPREAD
from gitops_mc.core.errors import GitopsMcError, StaleError
from gitops_mc.core.model import JsonObject
from gitops_mc.core.rollout.memory import ClusterMemory, FleetMemory

SOON: Final = timedelta(seconds=10)
SELDOM: Final = timedelta(seconds=60)
"""How often the Fleet is written where nothing happens: its clock tells how long nobody looked."""


@dataclass(frozen=True, slots=True)
class Page:
    """All that is to be kept and shown after one pass. Names are clusters, `""` is the Fleet."""

    at: datetime
    memory: FleetMemory
    shown: Mapping[str, JsonObject]
    """Status of each object, without memory and history."""
    moving: frozenset[str] = frozenset()
    """Clusters that a write is about to be made for."""
    attention: frozenset[str] = frozenset()
    specs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Members of spec that a human has ordered, by object."""
    done: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Requests that have been carried out, by object."""
    shut: frozenset[str] = frozenset()
    """Clusters whose object cannot be read: nothing is written over it."""


@dataclass(slots=True)
class Keeping:
    """What was kept last, and when."""

    objects: FleetObjects
    _kept: dict[str, ClusterMemory] = field(default_factory=dict)
    _fleet: FleetMemory | None = None
    _at: dict[str, datetime] = field(default_factory=dict)

    def keep(self, page: Page) -> Mapping[str, str]:
        """Clusters whose memory is not durable now, and why: nothing may be written for them. Raises StaleError when
        somebody else has changed an object meanwhile, and the error of the Fleet itself: then nothing may be written at all.
        """
        failed: dict[str, str] = {}
        for name in _in_order(page):
            if not name:
                spread = any(self._stands_otherwise(n, page) for n in failed)
                self._keep_fleet(_with_what_is_spread(page) if spread else page)
                continue
            try:
                self._keep_cluster(name, page)
            except (StaleError, LeadershipLostError):
                raise
            except GitopsMcError as error:
                failed[name] = error.message
        self._kept = {name: m for name, m in self._kept.items() if name in page.memory.clusters}
        return failed

    def _stands_otherwise(self, name: str, page: Page) -> bool:
        """Whether what orders have made of a cluster is not what its object holds."""
        stands = (self.objects.rollouts.get(name) or {}).get("spec") or {}
        wanted = cluster_part(page.memory.clusters[name]).spec
        return any(stands.get(member) != wanted.get(member) for member in SPEC_OF_ROLLOUT)

    def doubt(self, names: Iterable[str]) -> None:
        """Somebody else has changed these objects (`""`: the Fleet): what they are to say is written again where they say something
        else, before a restart believes it.
        """
        for name in names:
            self._kept.pop(name, None)
            if not name:
                self._fleet = None

    def forget(self, cluster: str) -> None:
        """Its object is gone, and is made anew where the cluster is met again."""
        self._kept.pop(cluster, None)
        self._at.pop(cluster, None)

    def _keep_fleet(self, page: Page) -> None:
        urgent = self._fleet is None or _settled(self._fleet) != _settled(page.memory)
        pressing = bool(page.moving) or "" in page.done or "" in page.specs
        lively = bool(page.attention) or self._tells_something_else(page)
        due = self._due("", SOON if lively else SELDOM, page.at)
        if not (urgent or pressing or due):
            return
        part = fleet_part(page.memory)
        status = {**page.shown.get("", {}), "memory": part.memory}
        if part.history:
            status["history"] = list(part.history)
        self.objects.keep_fleet(_wanted(SPEC_OF_FLEET, part, status, page, ""))
        self._fleet, self._at[""] = page.memory, page.at

    def _keep_cluster(self, name: str, page: Page) -> None:
        memory, before = page.memory.clusters[name], self._kept.get(name)
        urgent = name in page.moving or name in page.done or name in page.specs or before is None
        if not urgent and before is not memory:
            assert before is not None
            urgent = _steady(before) != _steady(memory)
        if not urgent and not (self._due(name, SOON, page.at) and self._moved(name, page)):
            return
        part = cluster_part(memory)
        status = {**page.shown.get(name, {}), "memory": part.memory}
        self.objects.keep_rollout(name, _wanted(SPEC_OF_ROLLOUT, part, status, page, name))
        self._kept[name], self._at[name] = memory, page.at

    def _moved(self, name: str, page: Page) -> bool:
        if name in page.attention and self._kept.get(name) != page.memory.clusters[name]:
            return True
        stands = (self.objects.rollouts.get(name) or {}).get("status") or {}
        return {k: v for k, v in stands.items() if k != "memory"} != page.shown.get(name, {})

    def _tells_something_else(self, page: Page) -> bool:
        """Whether the Fleet's object shows what is not so any more; but for when Git was asked last."""
        stands = self.objects.fleet.get("status") or {}
        return _told(stands) != _told(page.shown.get("", {}))

    def _due(self, name: str, every: timedelta, now: datetime) -> bool:
        return name not in self._at or now - self._at[name] >= every


def _with_what_is_spread(page: Page) -> Page:
    """The page while the memory of a cluster is not kept: what was asked for all of them is not over yet."""
    done = {n: {a: v for a, v in taken.items() if n or a not in SPREAD} for n, taken in page.done.items()}
    return replace(page, done=done)


def _told(status: Mapping[str, Any]) -> Mapping[str, Any]:
    source = {k: v for k, v in (status.get("source") or {}).items() if k != "polled"}
    return {**{k: v for k, v in status.items() if k not in ("memory", "history")}, "source": source}


def _in_order(page: Page) -> Iterable[str]:
    names = ["", *(name for name in page.memory.clusters if name not in page.shut)]
    return [*(n for n in names if n not in page.done), *(n for n in reversed(names) if n in page.done)]


def _wanted(members: tuple[str, ...], part: Part, status: JsonObject, page: Page, name: str) -> Wanted:
    spec = {member: part.spec.get(member) for member in members}
    return Wanted({**spec, **page.specs.get(name, {})}, status, page.done.get(name, {}))


def _settled(memory: FleetMemory) -> FleetMemory:
    """Of the fleet's own part: what has to be durable at once."""
    return replace(memory, clusters={}, clock=None)


def _steady(memory: ClusterMemory) -> ClusterMemory:
    """What has to be durable at once."""
    return replace(memory, pool_clocks={}, module_clocks={}, gate_since={})
