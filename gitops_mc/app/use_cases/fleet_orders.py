"""Asking the controller of a Fleet: a request is put on its object, waited for, and what became of it is told.

The request is the annotation that kubectl would put there, so rights and audit are those of the API server. Every write tests the
resourceVersion that it was decided on; a request of the same kind that is still pending is waited for, and never written over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, Final

from gitops_mc.app.api import RESOURCES
from gitops_mc.app.use_cases.fleet_objects import FLEET, ROLLOUT, FleetPlace
from gitops_mc.app.use_cases.installation import INSTALLATION, INSTALLATION_NAMESPACE, identity_of
from gitops_mc.core.custom.requests import undone
from gitops_mc.core.custom.wishes import Answer, Wish, acts_since, answer_to
from gitops_mc.core.errors import ForbiddenError, GitopsMcError, NotFoundError, RefusedError, StaleError
from gitops_mc.core.model import GLOBAL_CLUSTER, JsonObject, annotations_of, resource_version

_EVERY: Final = timedelta(seconds=1)
_LEASE: Final = RESOURCES["Lease"]


class UnansweredError(GitopsMcError):
    """A request stands, and nobody has looked at it within the time."""


@dataclass(frozen=True, slots=True)
class _Placed:
    wish: Wish
    value: str
    history: tuple[JsonObject, ...]
    """As it was before."""


def ask(
    place: FleetPlace, wishes: Sequence[Wish], within: timedelta, lease: str
) -> tuple[tuple[Wish, Answer], ...]:
    """What became of each wish. Raises RefusedError where the Fleet is active elsewhere, UnansweredError where the time is over,
    and what the API raises. What stands by then is carried out later, unless somebody takes it off.
    """
    refuse_elsewhere(place)
    until = place.clock.now() + within
    watch = _Watch.begun(place, lease)
    placed = [one for group in _by_object(wishes) for one in _placed(place, group, until, watch)]
    return _answered(place, placed, until, watch)


def refuse_elsewhere(place: FleetPlace) -> None:
    """Raises RefusedError where another installation acts for the Fleet: here nobody would carry anything out. A caller who may not
    read which installation this is may ask all the same.
    """
    active = str((place.fleet().get("spec") or {}).get("activeOn") or "")
    if not active:
        return
    try:
        here = identity_of(place.api)
    except ForbiddenError:
        return
    if active != here:
        raise RefusedError(
            f"Fleet {place.title} is active on installation {active}; this one is {here or 'not known yet'}, and only reads",
            hint=f"gitops-mc takeover {place.commands.options} lets this one act, where the other one is down for good",
        )


# --------------------------------------------------------------------------------------------------------------- putting


def _by_object(wishes: Sequence[Wish]) -> Iterator[tuple[Wish, ...]]:
    for _, group in groupby(wishes, key=lambda wish: wish.cluster):
        yield tuple(group)


def _placed(place: FleetPlace, wishes: tuple[Wish, ...], until: datetime, watch: _Watch) -> Iterator[_Placed]:
    """The wishes for one object, in one patch."""
    while True:
        body = _carrier(place, wishes[0].cluster)
        history = history_of(place.fleet())  # after the object: what an earlier request has come to is in it
        pending = [w for w in wishes if w.annotation in annotations_of(body)]
        if pending:
            value = annotations_of(body)[pending[0].annotation]
            _wait(place, until, f"an earlier request is still pending: {pending[0].title}, {value}", watch)
            continue
        try:
            patch(place, wishes[0].cluster, body, (), wishes)
        except StaleError:
            _wait(place, until, "the object changes all the time", watch)
            continue
        yield from (_Placed(wish, wish.value, history) for wish in wishes)
        return


def patch(
    place: FleetPlace, cluster: str, body: JsonObject, changes: Sequence[JsonObject], wishes: Sequence[Wish]
) -> JsonObject:
    """Put wishes on the object that was read, with changes beside them; requests that wait there and that these undo are taken off.
    Raises StaleError where it has changed since.
    """
    void = frozenset[str]().union(*(undone(wish.verb) for wish in wishes))
    kept = {name: value for name, value in annotations_of(body).items() if name not in void}
    notes = {**kept, **{wish.annotation: wish.value for wish in wishes}}
    operations = [
        {"op": "test", "path": "/metadata/resourceVersion", "value": resource_version(body)},
        *changes,
        {"op": "add", "path": "/metadata/annotations", "value": notes},
    ]
    what, name = (ROLLOUT, cluster) if cluster else (FLEET, place.name)
    return place.api.json_patch(GLOBAL_CLUSTER, what, name, operations, namespace=place.namespace)


def _carrier(place: FleetPlace, cluster: str) -> JsonObject:
    return place.rollout(cluster) if cluster else place.fleet()


def history_of(fleet: JsonObject) -> tuple[JsonObject, ...]:
    """What was asked for, and what became of it."""
    return tuple((fleet.get("status") or {}).get("history") or ())


# --------------------------------------------------------------------------------------------------------------- waiting


def _answered(
    place: FleetPlace, placed: Sequence[_Placed], until: datetime, watch: _Watch
) -> tuple[tuple[Wish, Answer], ...]:
    while left := [one for one in placed if _stands(place, one)]:
        told = ", ".join(one.wish.title for one in left)
        what, name = (
            ("clusterrollout", left[0].wish.cluster) if left[0].wish.cluster else ("fleet", place.name)
        )
        take_off = f"kubectl -n {place.namespace} annotate {what} {name} {left[0].wish.annotation}-"
        standing = f"{told} is carried out once one looks at it, or taken back with: {take_off}"
        _wait(place, until, standing, watch)
    history = history_of(place.fleet())
    return tuple((one.wish, answer_to(one.wish, acts_since(one.history, history))) for one in placed)


def _stands(place: FleetPlace, one: _Placed) -> bool:
    what, name = (ROLLOUT, one.wish.cluster) if one.wish.cluster else (FLEET, place.name)
    try:
        body = place.api.get(GLOBAL_CLUSTER, what, name, namespace=place.namespace)
    except NotFoundError:
        return False  # a cluster that was forgotten takes its object, and the request on it, along
    return annotations_of(body).get(one.wish.annotation) == one.value


def _wait(place: FleetPlace, until: datetime, what: str, watch: _Watch) -> None:
    """A moment. Raises UnansweredError where the time is over."""
    now = place.clock.now()
    if now >= until:
        reason, hint = watch.told(place)
        raise UnansweredError(f"{reason}; {what}", hint=hint)
    place.clock.wait(min(now + _EVERY, until))


@dataclass(frozen=True, slots=True)
class _Watch:
    """The lease when the waiting began: a leader renews it every few seconds."""

    name: str
    begun_at: datetime
    lease: Mapping[str, Any] | None
    """None: the caller may not read it."""

    @classmethod
    def begun(cls, place: FleetPlace, lease: str) -> _Watch:
        return cls(lease, place.clock.now(), _lease(place, lease))

    def told(self, place: FleetPlace) -> tuple[str, str]:
        """Why nothing came of it, and what to look at."""
        spec = _lease(place, self.name)
        waited = place.clock.now() - self.begun_at
        if spec is None:
            told = f"nobody has looked at it for {waited.total_seconds():.0f} s, and this token may not read who leads"
            return (
                told,
                f"grant get on leases in namespace {place.namespace}; {_stalled(place.fleet()) or 'or ask whoever may'}",
            )
        pods = f"kubectl -n {place.namespace} get pods; without a leader nothing is written for the Fleet, and nodes on their way go on"
        holder = str(spec.get("holderIdentity") or "")
        if not holder:
            return f"nobody leads: no process holds the lease {place.namespace}/{self.name}", pods
        if spec == self.lease and waited >= timedelta(seconds=int(spec.get("leaseDurationSeconds") or 0)):
            told = f"nobody leads: {holder} has not renewed the lease {place.namespace}/{self.name}"
            return f"{told} for {waited.total_seconds():.0f} s", pods
        reason = _stalled(place.fleet())
        if reason:
            return (
                f"{holder} leads and cannot follow the Fleet: {reason}",
                f"kubectl -n {place.namespace} describe fleet {place.name}",
            )
        log = f"its log: kubectl -n {place.namespace} logs {holder}; --wait gives it more time"
        return f"{holder} leads and has not looked at it for {waited.total_seconds():.0f} s", log


def _lease(place: FleetPlace, name: str) -> Mapping[str, Any] | None:
    """Empty where there is none; None where the caller may not read it."""
    try:
        found = place.api.get(GLOBAL_CLUSTER, _LEASE, name, namespace=place.namespace)
    except NotFoundError:
        return {}
    except ForbiddenError:
        return None
    return found.get("spec") or {}


def _stalled(fleet: JsonObject) -> str:
    """Why a Fleet cannot be followed at all; empty where it is."""
    status = fleet.get("status") or {}
    if status.get("outlook") != "unknown":
        return ""
    said: Mapping[str, Any] = next(
        (c for c in status.get("conditions") or () if c.get("type") == "Ready"), {}
    )
    return str(said.get("message") or "")


# -------------------------------------------------------------------------------------------------------------- takeover


def take_over(place: FleetPlace, wish: Wish) -> str:
    """Name this installation in the Fleet, suspended. The controller of an installation that is not named only reads, so it is
    written here, with the request beside it, which the controller carries out (the same again) and notes in the history. Gives
    the identity that acts now. Raises RefusedError where there is nothing to take over, StaleError, and what the API raises.
    """
    body, here = place.fleet(), identity_of(place.api)
    if not here:
        raise RefusedError(
            f"ConfigMap {INSTALLATION} in {INSTALLATION_NAMESPACE} is not there: no controller has begun on this installation",
            hint="start the controller here; it makes it, and only reads until it is named",
        )
    if (body.get("spec") or {}).get("activeOn") == here:
        raise RefusedError(
            f"Fleet {place.title} is active on this installation ({here}) already",
            hint=f"gitops-mc suspend {place.commands.options} --reason TEXT stops it",
        )
    told = f"taken over by {wish.by}: {wish.reason}" if wish.reason else f"taken over by {wish.by}"
    values = {"activeOn": here, "suspend": True, "suspendReason": told[:1024]}
    changes: list[JsonObject] = [
        {"op": "add", "path": f"/spec/{name}", "value": value} for name, value in values.items()
    ]
    patch(place, "", body, changes, (wish,))
    return here


def awaited(place: FleetPlace, wish: Wish, within: timedelta, lease: str) -> bool:
    """Whether the controller takes a wish that was put there off, within the time."""
    until, watch = place.clock.now() + within, _Watch.begun(place, lease)
    placed = _Placed(wish, wish.value, ())
    try:
        while _stands(place, placed):
            _wait(place, until, "", watch)
    except UnansweredError:
        return False
    return True
