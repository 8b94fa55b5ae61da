"""From a live cluster to files of the repository: read, choose, try out. Nothing is written here, neither there nor on disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from gitops_mc.app.api import ClusterApi
from gitops_mc.app.doctor import registered_clusters
from gitops_mc.app.observe import ClusterReader, Interest, joined, no_platform, read_platform
from gitops_mc.app.ports import Clock
from gitops_mc.app.use_cases.trial import Trial
from gitops_mc.core.authoring.choosing import choose
from gitops_mc.core.authoring.drafts import Draft
from gitops_mc.core.authoring.faithful import Checked, check_drafts
from gitops_mc.core.authoring.importing import Import, Secrets, bring
from gitops_mc.core.authoring.picking import Picked
from gitops_mc.core.authoring.writing import Style
from gitops_mc.core.desired import DesiredState
from gitops_mc.core.errors import InputProblemsError, UnreachableError, UsageError
from gitops_mc.core.live import Fact, LiveCluster
from gitops_mc.core.model import (
    GLOBAL_CLUSTER,
    FleetScope,
    JsonObject,
    Known,
    Problem,
    ResourceKey,
    Severity,
    Unknown,
)

_EMPTY = "layout-empty"

Learn = Callable[[DesiredState, tuple[JsonObject, ...]], object]
"""Hears of every object that was read, before anything is said of it."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which cluster, and how."""

    cluster: str
    secrets: Secrets = Secrets.WRITE
    contents: Style = Style.READABLE


def import_cluster(api: ClusterApi, clock: Clock, trial: Trial, wanted: Wanted, learn: Learn) -> Import:
    """What of a cluster would be written. Raises InputProblemsError where the repository has errors that touch the cluster,
    UnreachableError where any kind of object could not be read: half a cluster is never imported.
    """
    cluster, state = wanted.cluster, trial.state()
    if blocking := blocked_by(state, cluster):
        raise InputProblemsError(blocking)
    live = read_whole(api, clock, cluster)
    learn(state, _bodies(live))
    known = state.cluster(cluster)
    held = frozenset(m.key for m in known.manifests) if known is not None else frozenset[ResourceKey]()

    def tried(drafts: tuple[Draft, ...], picked: Mapping[ResourceKey, Picked]) -> Checked:
        files = {file.path: file.data for draft in drafts for file in draft.files}
        return check_drafts(trial.state(files), live, drafts, picked)

    return bring(
        cluster,
        choose(live, held, state.policy.name),
        taken=trial.paths,
        sensitive=state.sensitive,
        secrets=wanted.secrets,
        contents=wanted.contents,
        trial=tried,
    )


def blocked_by(state: DesiredState, cluster: str | None) -> tuple[Problem, ...]:
    """The errors that have to be mended before anything is added for a cluster: not that the repository is empty."""
    known = state.cluster(cluster) if cluster is not None else None
    own = known.problems if known is not None else ()
    fleet = tuple(problem for problem in state.problems if isinstance(problem.scope, FleetScope))
    found = {p: None for p in (*fleet, *own) if p.severity is Severity.ERROR and p.rule != _EMPTY}
    return tuple(found)


def read_whole(api: ClusterApi, clock: Clock, cluster: str) -> LiveCluster:
    """The cluster with its modules and what is published. Raises UnreachableError where a part could not be read, UsageError
    where the platform knows no such cluster.
    """
    platform = read_platform(api, clock, no_platform(clock.now()))
    if platform.dark is not None:
        raise UnreachableError(
            f"global could not be read: {platform.dark.reason}",
            hint="modules stand on the global cluster; nothing is imported without them",
        )
    _refuse_unknown(api, cluster, platform.inventory)
    live = ClusterReader(api, cluster, clock).read(None, Interest())
    if live.dark is not None:
        raise UnreachableError(f"{cluster} could not be read: {live.dark.reason}", hint="nothing was written")
    return joined(live, platform)


def _refuse_unknown(api: ClusterApi, cluster: str, inventory: Fact) -> None:
    if not isinstance(inventory, Known) or cluster in inventory.value or cluster == GLOBAL_CLUSTER:
        return
    known = registered_clusters(api)
    close = get_close_matches(cluster, known, n=1)
    told = f"did you mean {close[0]}?" if close else f"there are {', '.join(known) or 'none'}"
    raise UsageError(f"the platform knows no cluster {cluster}", hint=told)


def _bodies(live: LiveCluster) -> tuple[JsonObject, ...]:
    facts = (live.configs, live.pools, live.policies, live.rendered, live.modules)
    return tuple(body for fact in facts if not isinstance(fact, Unknown) for body in fact.value.values())
