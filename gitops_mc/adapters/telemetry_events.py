"""Happenings as Kubernetes Events on the Fleet or ClusterRollout they are about: `kubectl describe`, `kubectl get events`.

They are taken up in memory, and written by `flush`, which a job of its own calls. The same happening to the same object within
an hour is one Event that counts up. An object gets BURST writes at once and then one every EACH seconds, so that a cluster
that flaps floods nobody. What cannot be written waits for some minutes, and is dropped then: the log has it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum

from gitops_mc.adapters.telemetry_metrics import Metrics
from gitops_mc.app.api import RESOURCES, ClusterApi
from gitops_mc.app.log_events import EventsNotWritten
from gitops_mc.app.rate_limit import Bucket, Granted, Rate, take
from gitops_mc.app.telemetry_ports import EventLog
from gitops_mc.core.custom.conditions import stamp
from gitops_mc.core.errors import (
    AlreadyExistsError,
    GitopsMcError,
    InvalidError,
    NotFoundError,
    StaleError,
)
from gitops_mc.core.model import GLOBAL_CLUSTER, JsonObject, digest_of, metadata, name_of
from gitops_mc.core.redact.credentials import without_credentials
from gitops_mc.core.render.happening import Happening
from gitops_mc.core.render.lines import one_line

COMPONENT = "gitops-mc"
BURST, EACH = 25, 300.0
"""As the client of Kubernetes' own components limits them."""
SAME_WITHIN = timedelta(hours=1)
"""How long the same thing counts up one Event; API servers keep Events for as long, if not told otherwise."""
WAITS = timedelta(minutes=10)
"""For how long one is kept that cannot be written."""
WAITING_AT_MOST = 1000
LONGEST_MESSAGE = 1024
"""Bytes; what the API takes as a note (events.k8s.io), and clients of core/v1 keep to."""
_REMEMBERED_AT_MOST = 4096
_EVENT = RESOURCES["Event"]
_RATE = Rate(BURST, EACH)
_NOT_THIS_ONE = (InvalidError, NotFoundError, AlreadyExistsError, StaleError)
"""The server answered, and does not want this one; others may go through."""


class _Outcome(Enum):
    GO_ON = "go on"
    NO_OBJECT = "there is no object yet that it could be about"
    LATER = "the server takes none now"


@dataclass(frozen=True, slots=True)
class _Waiting:
    fleet: str
    happening: Happening
    at: datetime


@dataclass(frozen=True, slots=True)
class _Written:
    """An Event that stands on the server."""

    name: str
    count: int
    at: datetime


@dataclass(frozen=True, slots=True)
class _Note:
    """What is to be written: about which object, and what."""

    about: JsonObject
    happening: Happening
    message: str
    at: datetime

    @property
    def key(self) -> str:
        return digest_of([self.about, self.happening.reason.word, self.message])


def reference(body: JsonObject) -> JsonObject:
    """How an Event names the object it is about."""
    about = {key: str(metadata(body).get(key, "")) for key in ("namespace", "name", "uid")}
    return {"apiVersion": str(body.get("apiVersion", "")), "kind": str(body.get("kind", "")), **about}


class KubernetesEvents:
    """The `Herald` port. `offer` from any thread; `flush` from one at a time, as often as one likes."""

    def __init__(
        self,
        api: ClusterApi,
        references: Callable[[str, str], JsonObject | None],
        log: EventLog,
        metrics: Metrics,
        *,
        now: Callable[[], datetime],
        instance: str,
        redact: Callable[[str], str],
    ) -> None:
        """`references` gives the `reference` of a cluster's object, or of the Fleet's for the cluster `""`; None: there is
        none (yet). `instance` is this process. `api` should have little patience: nobody waits for an Event.
        """
        self._api = api
        self._references = references
        self._log = log
        self._metrics = metrics
        self._now = now
        self._instance = instance
        self._redact = redact
        self._lock = threading.Lock()
        self._waiting: deque[_Waiting] = deque()
        self._written: dict[str, _Written] = {}
        self._buckets: dict[str, Bucket] = {}
        self._told = False
        """That they cannot be written has been logged, and none was written since."""

    def offer(self, fleet: str, found: tuple[Happening, ...], at: datetime) -> None:
        """Take them up; beyond WAITING_AT_MOST they are dropped."""
        with self._lock:
            room = max(0, WAITING_AT_MOST - len(self._waiting))
            self._waiting.extend(_Waiting(fleet, h, at) for h in found[:room])
        if len(found) > room:
            self._metrics.events("dropped", len(found) - room)

    def flush(self) -> None:
        """Write what waits, until nothing waits or nothing goes through. What has no object yet waits, and holds up no other.
        Never raises.
        """
        left: list[_Waiting] = []
        while (waiting := self._next()) is not None:
            try:
                outcome = self._write(waiting)
            except _NOT_THIS_ONE as error:
                self._failed(error.message)
                continue
            except GitopsMcError as error:
                self._failed(error.message)
                outcome = _Outcome.LATER
            except Exception as error:  # noqa: BLE001 - whatever is wrong with one Event, nobody else is to hear of it
                self._metrics.events("failed")
                self._log.crashed("writing an Event", error)
                continue
            if outcome is not _Outcome.GO_ON:
                left.append(waiting)
            if outcome is _Outcome.LATER:
                break
        with self._lock:
            self._waiting.extendleft(reversed(left))

    def _next(self) -> _Waiting | None:
        now = self._now()
        with self._lock:
            while self._waiting:
                waiting = self._waiting.popleft()
                if now - waiting.at <= WAITS:
                    return waiting
                self._metrics.events("dropped")
        return None

    def _failed(self, reason: str) -> None:
        self._metrics.events("failed")
        if not self._told:
            self._told = True
            self._log.tell(EventsNotWritten(reason=reason, waiting=len(self._waiting)))

    # ------------------------------------------------------------------------------------------------------- writing

    def _write(self, waiting: _Waiting) -> _Outcome:
        cluster, text = waiting.happening.cluster, waiting.happening.text
        about = self._references(waiting.fleet, cluster)
        if about is None and cluster:  # a cluster that has no object of its own is told of on its Fleet
            about, text = self._references(waiting.fleet, ""), f"{cluster}: {text}"
        if about is None:
            return _Outcome.NO_OBJECT
        bucket = self._bucket(str(about["uid"]), waiting.at)
        if bucket is None:
            self._metrics.events("dropped")
            return _Outcome.GO_ON
        note = _Note(about, waiting.happening, self._message(text), waiting.at)
        known = self._written.get(note.key)
        if known is None or note.at - known.at > SAME_WITHIN or not self._count_up(note, known):
            self._create(note)
        self._spend(str(about["uid"]), bucket)
        self._told = False
        return _Outcome.GO_ON

    def _message(self, text: str) -> str:
        """Redacted before it is cut: half a secret is not recognised."""
        clean = one_line(without_credentials(self._redact(text))).encode()
        if len(clean) <= LONGEST_MESSAGE:
            return clean.decode()
        return clean[: LONGEST_MESSAGE - 3].decode(errors="ignore") + "..."

    def _bucket(self, uid: str, at: datetime) -> Bucket | None:
        """What is left of an object's once one more is written; None: no more for now."""
        now = at.timestamp()
        taken = take(self._buckets.get(uid, Bucket.full(_RATE, now)), _RATE, now)
        return taken.bucket if isinstance(taken, Granted) else None

    def _spend(self, uid: str, bucket: Bucket) -> None:
        """Only what was written costs; what is full again is forgotten."""
        kept = {k: b for k, b in self._buckets.items() if b.filled(_RATE, bucket.at).tokens < BURST}
        self._buckets = {**kept, uid: bucket}

    def _create(self, note: _Note) -> None:
        body = _body(note, self._instance)
        try:
            self._api.create(GLOBAL_CLUSTER, _EVENT, body, namespace=_namespace(note))
        except AlreadyExistsError:  # of this hour, by the process before this one, or by a first try of ours
            found = self._api.get(GLOBAL_CLUSTER, _EVENT, name_of(body), namespace=_namespace(note))
            said = found.get("count")
            self._count_up(note, _Written(name_of(body), said if isinstance(said, int) else 1, note.at))
            return
        self._remember(note, _Written(name_of(body), 1, note.at))
        self._metrics.events("created")

    def _count_up(self, note: _Note, known: _Written) -> bool:
        """False when the Event is not there any more."""
        after = replace(known, count=known.count + 1, at=note.at)
        changes: list[JsonObject] = [
            {"op": "add", "path": "/count", "value": after.count},
            {"op": "add", "path": "/lastTimestamp", "value": stamp(note.at)},
        ]
        try:
            self._api.json_patch(GLOBAL_CLUSTER, _EVENT, known.name, changes, namespace=_namespace(note))
        except NotFoundError:
            self._written.pop(note.key, None)
            return False
        self._remember(note, after)
        self._metrics.events("counted")
        return True

    def _remember(self, note: _Note, written: _Written) -> None:
        fresh = {k: w for k, w in self._written.items() if note.at - w.at <= SAME_WITHIN and k != note.key}
        if len(fresh) >= _REMEMBERED_AT_MOST:
            del fresh[min(fresh, key=lambda k: fresh[k].at)]
        self._written = {**fresh, note.key: written}


def _body(note: _Note, instance: str) -> JsonObject:
    """Its name is made of what it says and of the hour, so that a process that begins anew finds what the last one wrote."""
    hour = int(note.at.timestamp() // SAME_WITHIN.total_seconds())
    name = f"{str(note.about['name'])[:200]}.{digest_of([note.key, hour])[:16]}"
    return {
        "apiVersion": _EVENT.group_version,
        "kind": _EVENT.kind,
        "metadata": {"name": name, "namespace": _namespace(note)},
        "involvedObject": note.about,
        "type": note.happening.reason.weight.value,
        "reason": note.happening.reason.word,
        "message": note.message,
        "count": 1,
        "firstTimestamp": stamp(note.at),
        "lastTimestamp": stamp(note.at),
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "reportingInstance": instance,
    }


def _namespace(note: _Note) -> str:
    """The object's own: the API takes no other."""
    return str(note.about["namespace"])
