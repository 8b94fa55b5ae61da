"""What a Fleet asks for, read from its spec. The API server has checked the shape; here is what it means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final

from gitops_mc.core.custom.forge_spec import ForgeSpec, forge_spec
from gitops_mc.core.custom.pull_request import PreviewSpec, preview_spec
from gitops_mc.core.custom.refs import FleetSpecError, Ref, ref_of
from gitops_mc.core.model import JsonObject, metadata, name_of
from gitops_mc.core.rollout.inputs import Abort
from gitops_mc.core.spans import LONGEST, span_of

__all__ = [
    "Clusters",
    "FleetSpec",
    "FleetSpecError",
    "GatewayRef",
    "GitSource",
    "Notification",
    "Ref",
    "Topic",
    "fleet_spec",
    "hold_told",
    "notifications",
]

DEFAULT_INTERVAL: Final = timedelta(seconds=60)
SHORTEST_INTERVAL: Final = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class GitSource:
    """Where to pull from."""

    url: str
    ref: str = ""
    """Branch, tag or full ref; empty: what the server calls its default branch."""
    path: str = ""
    """Folder inside the repository that holds fleet.yaml and clusters/."""
    interval: timedelta = DEFAULT_INTERVAL
    credentials: Ref | None = None
    """Secret: `token`; `username` and `password`; or `identity` (a private SSH key)."""
    ca: Ref | None = None
    known_hosts: str = ""
    """Lines of a known_hosts file; SSH goes nowhere without them."""
    signers: Ref | None = None
    """ConfigMap: `gpg` (armored public keys) or `ssh` (allowed signers); a commit that nobody of them signed is refused."""


@dataclass(frozen=True, slots=True)
class GatewayRef:
    """Every cluster through the platform's gateway."""

    url: str
    token: Ref
    ca: Ref | None = None


@dataclass(frozen=True, slots=True)
class Clusters:
    """How clusters are reached; with neither, the way the controller reaches global."""

    gateway: GatewayRef | None = None
    kubeconfigs: Mapping[str, Ref] | None = None
    """By cluster: a Secret's key with a kubeconfig."""


class Topic(StrEnum):
    """What people are told of."""

    HALTED = "halted"
    """No new write anywhere, or nothing that goes on before a named act of a human; and its end."""
    DEGRADED = "degraded"
    """A cluster failed, is blocked or dark; the clusters or Git cannot be read; a commit is refused."""
    APPROVAL = "approval"
    FINISHED = "finished"
    EXPIRING = "expiring"
    """A token expires soon."""


@dataclass(frozen=True, slots=True)
class Notification:
    """Where people are told."""

    name: str
    address: Ref
    """Key of a Secret: addresses as Apprise writes them, one a line."""
    topics: frozenset[Topic] = frozenset(Topic)


@dataclass(frozen=True, slots=True)
class FleetSpec:
    """One Fleet."""

    namespace: str
    name: str
    source: GitSource
    clusters: Clusters = Clusters()
    suspended: str = ""
    """Why nothing may be written; empty: it is not suspended."""
    active_on: str = ""
    """The identity of the installation that may act; empty: nobody has claimed it yet."""
    abort: Abort | None = None
    webhook: Ref | None = None
    """Secret: `secret`, and `next` while it is being changed; a push that knows one of them wakes the poll."""
    forge: ForgeSpec | None = None
    """Who is told of commits; None: nobody."""
    previews: PreviewSpec | None = None
    """How previews are shown on pull requests; None: not at all."""
    notifications: tuple[Notification, ...] = ()

    @property
    def title(self) -> str:
        """`<namespace>/<name>`."""
        return f"{self.namespace}/{self.name}"


def hold_told(hold: Mapping[str, Any]) -> str:
    """Who holds a cluster, and why: `mei: its storage is being moved`."""
    by, reason = str(hold.get("by") or ""), str(hold.get("reason") or "held by hand")
    return f"{by}: {reason}" if by else reason


def fleet_spec(body: JsonObject) -> FleetSpec:
    """Raises FleetSpecError."""
    spec = body.get("spec") or {}
    said = spec.get("source") or {}
    url = str(said.get("url") or "")
    if not url:
        raise FleetSpecError("spec.source.url is empty", hint="https://..., ssh://... or git@host:path")
    return FleetSpec(
        namespace=str(metadata(body).get("namespace") or ""),
        name=name_of(body),
        source=GitSource(
            url=url,
            ref=str(said.get("ref") or ""),
            path=str(said.get("path") or "").strip("/"),
            interval=_interval(str(said.get("interval") or "")),
            credentials=ref_of(said.get("secretRef")),
            ca=ref_of(said.get("caRef")),
            known_hosts=str(said.get("knownHosts") or ""),
            signers=ref_of((said.get("verify") or {}).get("signersRef")),
        ),
        clusters=_clusters(spec.get("clusters") or {}),
        suspended=_suspended(spec),
        active_on=str(spec.get("activeOn") or ""),
        abort=_abort(spec.get("abort")),
        webhook=ref_of((spec.get("webhook") or {}).get("secretRef")),
        forge=forge_spec(spec.get("forge")),
        previews=preview_spec(spec.get("previews")),
        notifications=tuple(notifications(body)),
    )


def notifications(body: JsonObject) -> Iterator[Notification]:
    """Whom a Fleet tells, also where it cannot be followed. A topic that this version does not know is passed by;
    of no topics nobody is told anything, which the definition refuses.
    """
    known = {topic.value: topic for topic in Topic}
    for said in (body.get("spec") or {}).get("notifications") or ():
        listed = said.get("topics")
        topics = frozenset(known[t] for t in (known if listed is None else listed) if t in known)
        if (ref := ref_of(said.get("secretRef"))) is not None:
            yield Notification(str(said.get("name") or ""), ref, topics)


def _suspended(spec: Mapping[str, Any]) -> str:
    return str(spec.get("suspendReason") or "suspended by hand") if spec.get("suspend") else ""


def _abort(said: Mapping[str, Any] | None) -> Abort | None:
    if said is None:
        return None
    return Abort(
        str(said.get("reason") or "aborted by hand"),
        by=str(said.get("by") or ""),
        let_finish=said.get("letFinish") is True,
    )


def _clusters(said: Mapping[str, Any]) -> Clusters:
    gateway = said.get("gateway")
    kubeconfigs = {str(k["cluster"]): _must(k.get("secretRef")) for k in said.get("kubeconfigs") or ()}
    found = None
    if gateway is not None:
        found = GatewayRef(str(gateway["url"]), _must(gateway.get("tokenRef")), ref_of(gateway.get("caRef")))
    return Clusters(found, kubeconfigs or None)


def _must(said: Mapping[str, Any] | None) -> Ref:
    found = ref_of(said)
    if found is None or not found.name:
        raise FleetSpecError("a secretRef of spec.clusters names no Secret")
    return found


def _interval(text: str) -> timedelta:
    if not text:
        return DEFAULT_INTERVAL
    found = span_of(text)
    if found is None or found > LONGEST:
        raise FleetSpecError(f"spec.source.interval is {text!r}", hint="write 60s, 5m or 1h; a year at most")
    return max(SHORTEST_INTERVAL, found)
