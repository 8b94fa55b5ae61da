"""Who may act: one process at a time, by a Lease, which is asked before every write.

| moment | what holds |
|---|---|
| renewed less than `deadline` ago | this process may write |
| not renewed for `deadline` | this process sends nothing any more, and ends |
| seen unchanged for `duration` | another process may take it |

A call takes at most `call`, and deadline + call < duration: what a former leader has under way is over before the next
one begins. A process that was frozen in the middle of a call wakes after that; its write then meets an object that has changed
(every write tests what it was decided on), and its next look at the Lease is its end.

Ages are measured on this process's own clock, between two of its own looks: clocks that differ between machines do no harm.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from gitops_mc.app.api import RESOURCES, ClusterApi
from gitops_mc.app.ports import Clock, Request, Response, Transport
from gitops_mc.core.errors import AlreadyExistsError, GitopsMcError, NotFoundError, StaleError, UsageError
from gitops_mc.core.model import GLOBAL_CLUSTER, JsonObject, resource_version

LEASE: Final = RESOURCES["Lease"]
DURATION: Final = timedelta(seconds=45)
_PART: Final = 4 / 9
_RENEWALS: Final = 5.5
"""In one duration."""
_RETRIES: Final = 22
"""The same."""


@dataclass(frozen=True, slots=True)
class Terms:
    """How long a Lease holds, how often it is renewed, and how long one call of the leader may take. What is left of the
    duration after deadline and call is for the network.
    """

    duration: timedelta = DURATION

    @property
    def deadline(self) -> timedelta:
        """Without a renewal for so long, this process sends nothing any more."""
        return self.duration * _PART

    @property
    def call(self) -> float:
        """Seconds; what one call may take at most."""
        return (self.duration * _PART).total_seconds()

    @property
    def renew_every(self) -> timedelta:
        return self.duration / _RENEWALS

    @property
    def retry_every(self) -> timedelta:
        """How soon a renewal that did not get through is tried again: an API server that restarts ends no process."""
        return self.duration / _RETRIES


class LeadershipLostError(GitopsMcError):
    """A process that led may not write any more, and has to end: what it knows may be old."""


@dataclass(slots=True)
class Leadership:
    """The Lease, as this process has seen it. `tick` is called by one thread; `may_write` by all."""

    api: ClusterApi
    clock: Clock
    namespace: str
    name: str
    identity: str
    terms: Terms = field(default_factory=Terms)
    holder: str = ""
    """Who held it when it was looked at last; empty: nobody."""
    transitions: int = 0
    trouble: str = ""
    """Why it cannot be had as things stand, be it free or not: no such namespace, no right. Empty where it was read or written last,
    and while the API only does not answer.
    """
    _until: datetime | None = None
    """Until when this process may write; None: it does not lead."""
    _lost: str = ""
    """Why it was lost; empty: it was not."""
    _looked: datetime | None = None
    _seen: JsonObject = field(default_factory=dict)
    _unchanged_since: datetime | None = None

    @property
    def leads(self) -> bool:
        """Whether this process holds the Lease, as far as it knows."""
        return self._until is not None

    def may_write(self) -> bool:
        """Whether a write may be sent now."""
        return self._until is not None and self.clock.now() < self._until

    def tick(self) -> None:
        """Take the Lease, renew it, or see who has it; no more often than the terms say. Never raises for what the API does.

        Raises LeadershipLostError when it was held and is not any more.
        """
        now = self.clock.now()
        if self._lost:  # whoever has caught it: what this process knows is old for good
            raise LeadershipLostError(self._lost)
        if self._until is not None and now >= self._until:
            raise LeadershipLostError(
                f"the lease was not renewed for {self.terms.deadline.total_seconds():.0f} s"
            )
        if self._looked is not None and now - self._looked < self.terms.renew_every:
            return
        self._looked = now
        try:
            self._look(now)
            self.trouble = ""
        except LeadershipLostError:
            raise
        except GitopsMcError as error:
            self.trouble = "" if error.transient else error.message
            self._try_soon(
                now
            )  # while the API does not answer a leader goes on until its deadline, and nobody takes the lease

    def _try_soon(self, now: datetime) -> None:
        self._looked = now - self.terms.renew_every + self.terms.retry_every

    def give_up(self) -> None:
        """Let the next one in at once; for a graceful end. Never raises."""
        if self._until is None:
            return
        self._until = None
        try:
            self._write(self._seen, "", self.clock.now())
        except GitopsMcError:
            return

    def _look(self, now: datetime) -> None:
        try:
            found = self.api.get(GLOBAL_CLUSTER, LEASE, self.name, namespace=self.namespace)
        except NotFoundError:
            self._lost_unless(not self.leads, "the lease is gone")
            self._make(now)
            return
        if resource_version(found) != resource_version(self._seen):
            # since the answer, not since the question: who was frozen in between has watched nobody for that long
            self._seen, self._unchanged_since = found, self.clock.now()
        self.holder = _holder(found)
        if self.holder == self.identity:
            self._take(found, now)
            return
        self._lost_unless(not self.leads, f"{self.holder or 'nobody'} holds the lease")
        since = self._unchanged_since or now
        if not self.holder or now - since >= self.terms.duration:
            self._take(found, now)

    def _lost_unless(self, fine: object, why: str) -> None:
        if not fine:
            self._until, self._lost = None, why
            raise LeadershipLostError(why)

    def _take(self, found: JsonObject, now: datetime) -> None:
        try:
            self._seen = self._write(found, self.identity, now)
        except StaleError:
            self._try_soon(now)  # somebody else was faster; the next look shows who
            return
        self._led(now)

    def _make(self, now: datetime) -> None:
        body = {
            "apiVersion": LEASE.group_version,
            "kind": LEASE.kind,
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": self._spec(self.identity, now, 0),
        }
        try:
            self._seen = self.api.create(GLOBAL_CLUSTER, LEASE, body, namespace=self.namespace)
        except AlreadyExistsError:
            return
        except NotFoundError as error:
            raise UsageError(
                f"namespace {self.namespace} is not there, so nobody can lead, and no Fleet in it is followed; "
                f"kubectl create namespace {self.namespace}, or name another one: --namespace"
            ) from error
        self._led(now)

    def _led(self, now: datetime) -> None:
        """`now` is before the call: the time that the call took counts against this process."""
        self.holder, self._unchanged_since = self.identity, now
        self.transitions = int((self._seen.get("spec") or {}).get("leaseTransitions") or 0)
        self._until = now + self.terms.deadline

    def _write(self, found: JsonObject, holder: str, now: datetime) -> JsonObject:
        spec = found.get("spec") or {}
        moved = holder not in ("", _holder(found))
        transitions = int(spec.get("leaseTransitions") or 0) + moved
        patch: list[JsonObject] = [
            {"op": "test", "path": "/metadata/resourceVersion", "value": resource_version(found)},
            {"op": "add", "path": "/spec", "value": self._spec(holder, now, transitions, spec)},
        ]
        return self.api.json_patch(GLOBAL_CLUSTER, LEASE, self.name, patch, namespace=self.namespace)

    def _spec(
        self, holder: str, now: datetime, transitions: int, before: JsonObject | None = None
    ) -> JsonObject:
        at = _micro(now)
        same = before is not None and before.get("holderIdentity") == holder
        return {
            "holderIdentity": holder,
            "leaseDurationSeconds": int(self.terms.duration.total_seconds()),
            "acquireTime": (before or {}).get("acquireTime", at) if same else at,
            "renewTime": at,
            "leaseTransitions": transitions,
        }


def _holder(lease: JsonObject) -> str:
    return str((lease.get("spec") or {}).get("holderIdentity") or "")


def _micro(at: datetime) -> str:
    """MicroTime of the Kubernetes API."""
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@dataclass(frozen=True, slots=True)
class Renewing:
    """A transport for the thread that looks after the Lease: before each call it is renewed where that is due, so that a pass of
    many calls may take longer than the Lease lasts. For no other thread.
    """

    inner: Transport
    leadership: Leadership

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        """As the port promises. Raises LeadershipLostError where the Lease is lost."""
        if self.leadership.leads:
            self.leadership.tick()
        return self.inner.send(cluster, request, timeout=timeout)


@dataclass(frozen=True, slots=True)
class LeaderOnly:
    """A transport that carries writes of the leader alone. Once it does not lead, `lost` is called, which is to end the process
    at once: nothing that it would still do is wanted.
    """

    inner: Transport
    may_write: Callable[[], bool]
    lost: Callable[[], Any]
    call: float = Terms().call
    """Seconds that one call may take."""

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        """As the port promises. Raises LeadershipLostError where `lost` returns."""
        if request.method != "GET" and not self.may_write():
            self.lost()
            raise LeadershipLostError(
                f"{cluster}: {request.method} {request.path} was not sent: not the leader"
            )
        return self.inner.send(cluster, request, timeout=min(timeout, self.call))
