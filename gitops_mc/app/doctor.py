"""Asking every cluster for what the checks need: whether it answers, what the token may do, and what stands on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from gitops_mc.app.api import RESOURCES, ClusterApi
from gitops_mc.app.api_paths import Resource
from gitops_mc.app.executor import ONE_LOOK
from gitops_mc.app.observe import (
    ClusterReader,
    Interest,
    NodeReading,
    Platform,
    joined,
    no_platform,
    read_platform,
)
from gitops_mc.app.ports import Clock, Workers
from gitops_mc.core.custom import GROUP_VERSION
from gitops_mc.core.doctor import Examined, Reach, Right, RightAnswer, Role
from gitops_mc.core.errors import ForbiddenError, GitopsMcError, UnauthorizedError
from gitops_mc.core.gates.components import COMPONENT_NAMESPACE
from gitops_mc.core.live import unread
from gitops_mc.core.model import GLOBAL_CLUSTER, name_of

_PLATFORM = "(platform)"

RIGHTS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("MachineConfig", ("get", "list", "create", "patch", "delete"), ""),
    ("MachineConfigPool", ("list", "create", "patch", "delete"), ""),
    ("MachineConfiguration", ("list", "create", "patch"), ""),
    ("Node", ("list",), ""),
    ("Deployment", ("get",), COMPONENT_NAMESPACE),
    ("DaemonSet", ("get",), COMPONENT_NAMESPACE),
    ("AppRelease", ("list",), COMPONENT_NAMESPACE),
)
"""What is asked of a cluster: kind, verbs, namespace. An apply that makes an object needs `patch` and `create`."""

GLOBAL_RIGHTS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("ModuleInfo", ("list", "create", "patch", "delete"), ""),
    ("ModulePlugin", ("list",), ""),
    ("ModuleConfig", ("list",), ""),
    ("Cluster", ("list",), ""),
)
"""What is asked of global beside that, once for the fleet."""

GOVERNED_RIGHTS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("ClusterRollout", ("get", "list"), ""),
    ("Fleet", ("get",), ""),
)
"""What is asked of global where Fleets can be there: whether a controller has a cluster has to be known before one is written to."""


@dataclass(frozen=True, slots=True)
class _Found:
    examined: Examined


def registered_clusters(api: ClusterApi) -> tuple[str, ...]:
    """The clusters that global knows, by name. Raises what the call raises."""
    return tuple(sorted(name_of(c) for c in api.list(GLOBAL_CLUSTER, RESOURCES["Cluster"])))


def examine_fleet(
    api: ClusterApi, clock: Clock, workers: Workers, clusters: Iterable[str], wanted: Mapping[str, str]
) -> tuple[Examined, ...]:
    """Ask these clusters and global, side by side; one that is too slow is silent. `wanted`: version of machine-config by
    cluster, from Git. Global, if it is not among them, only has to serve the others.
    """
    managed = frozenset(clusters)
    names = tuple(sorted({*managed, GLOBAL_CLUSTER}, key=lambda name: (name != GLOBAL_CLUSTER, name)))
    jobs: dict[str, Callable[[], _Found | Platform]] = {
        name: partial(_examine, api, clock, name, wanted.get(name, "")) for name in names
    }
    jobs[_PLATFORM] = partial(read_platform, api, clock, no_platform(clock.now()))
    answers = workers.map(jobs, within=ONE_LOOK.total_seconds())
    platform = answers.get(_PLATFORM)
    known = platform if isinstance(platform, Platform) else no_platform(clock.now())
    found = []
    for name in names:
        answer = answers.get(name)
        if isinstance(answer, BaseException):
            raise answer
        examined = (
            answer.examined if isinstance(answer, _Found) else _silent(clock, name, wanted.get(name, ""))
        )
        role = Role.MANAGED if name in managed else Role.PLATFORM
        found.append(replace(examined, live=joined(examined.live, known), role=role))
    return tuple(found)


def _silent(clock: Clock, name: str, wanted: str) -> Examined:
    told = f"no answer within {ONE_LOOK.total_seconds():.0f} seconds"
    return Examined(name, Reach.SILENT, told, unread(name, clock.now()), _unasked(name, told), wanted)


def _examine(api: ClusterApi, clock: Clock, name: str, wanted: str) -> _Found:
    reach, reason = _reach(api, name)
    if reach is not Reach.ANSWERS:
        live = unread(name, clock.now())
        return _Found(
            Examined(name, reach, reason, live, _unasked(name, "the cluster could not be asked"), wanted)
        )
    interest = Interest(nodes=NodeReading.ALWAYS, components=True, releases=False)
    live = ClusterReader(api, name, clock).read(None, interest)
    return _Found(Examined(name, reach, reason, live, tuple(_asked(api, name)), wanted))


def _reach(api: ClusterApi, name: str) -> tuple[Reach, str]:
    try:
        api.serves(name, "v1")
    except UnauthorizedError as error:
        return Reach.REJECTS, error.message
    except ForbiddenError:
        return Reach.ANSWERS, ""
    except GitopsMcError as error:
        return (Reach.SILENT if error.transient else Reach.ODD), error.message
    return Reach.ANSWERS, ""


def _asked(api: ClusterApi, name: str) -> Iterable[RightAnswer]:
    governed = name == GLOBAL_CLUSTER and _serves_fleets(api)
    for what, right in (*_rights(name), *(_each(GOVERNED_RIGHTS) if governed else ())):
        try:
            answer = api.can_i(name, right.verb, what, namespace=right.namespace)
        except GitopsMcError as error:
            yield RightAnswer(right, None, error.message)
        else:
            yield RightAnswer(right, answer.allowed, answer.reason)


def _unasked(name: str, reason: str) -> tuple[RightAnswer, ...]:
    return tuple(RightAnswer(right, None, reason) for _, right in _rights(name))


def _serves_fleets(api: ClusterApi) -> bool:
    try:
        return api.serves(GLOBAL_CLUSTER, GROUP_VERSION)
    except GitopsMcError:
        return True  # then it cannot be asked either, and says so


def _rights(name: str) -> Iterable[tuple[Resource, Right]]:
    return _each((*RIGHTS, *(GLOBAL_RIGHTS if name == GLOBAL_CLUSTER else ())))


def _each(rows: Iterable[tuple[str, tuple[str, ...], str]]) -> Iterable[tuple[Resource, Right]]:
    for kind, verbs, namespace in rows:
        what = RESOURCES[kind]
        qualified = f"{what.plural}.{what.group}" if what.group else what.plural
        for verb in verbs:
            yield what, Right(verb, qualified, namespace)
