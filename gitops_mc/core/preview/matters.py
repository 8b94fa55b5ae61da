"""What of the live fleet a preview rests on, as one digest: where it is another one, previews are made again.

What moves by itself while a cluster rolls (which node is at work, how many are done) is not in it: a comment that is edited every
minute is read by nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from gitops_mc.core.live import Fact, LiveCluster
from gitops_mc.core.model import JsonObject, Known, digest_of, metadata
from gitops_mc.core.raw import conditions, section
from gitops_mc.core.rollout.moves import Decision

_BAD: Final = ("Degraded", "NodeDegraded", "RenderDegraded")


def live_digest(decision: Decision, live: Mapping[str, LiveCluster]) -> str:
    """Of one look at the fleet: how clusters stand, what their objects are to be, and what is wrong with their pools."""
    clusters = {view.cluster: [view.standing.value, view.content, view.begun] for view in decision.clusters}
    read = {name: _cluster(each) for name, each in sorted(live.items())}
    return digest_of([type(decision.outlook).__name__, clusters, read])


def _cluster(live: LiveCluster) -> list[Any]:
    return [
        live.dark is not None,
        _each(live.configs, _wanted),
        _each(live.policies, _wanted),
        _each(live.pools, _pool),
        _each(live.modules, _module),
    ]


def _each(fact: Fact, told: Callable[[JsonObject], list[Any]]) -> dict[str, list[Any]] | None:
    return {name: told(body) for name, body in fact.value.items()} if isinstance(fact, Known) else None


def _wanted(body: JsonObject) -> list[Any]:
    return [metadata(body).get("uid"), metadata(body).get("generation")]


def _pool(body: JsonObject) -> list[Any]:
    spec, status = section(body, "spec"), section(body, "status")
    bad = [c.type for c in conditions(body) if c.type in _BAD and c.holds]
    selects = [spec.get("machineConfigSelector"), spec.get("nodeSelector")]
    return [spec.get("paused"), spec.get("maxUnavailable"), selects, status.get("machineCount"), bad]


def _module(body: JsonObject) -> list[Any]:
    status = section(body, "status")
    return [section(body, "spec"), status.get("version"), status.get("phase")]
