"""What humans have asked for, carried out on the memory: request after request, each once, each kept in the history."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

from gitops_mc.core.custom.approvable import no_first_contact, nothing_to_approve
from gitops_mc.core.custom.requests import Misunderstood, Request, Unknown, Verb, refusal
from gitops_mc.core.model import Content, JsonObject
from gitops_mc.core.policy import Approval
from gitops_mc.core.render.fleet_commands import FleetCommands
from gitops_mc.core.rollout import acts
from gitops_mc.core.rollout.acts import ActResult, By, Changed, Unchanged
from gitops_mc.core.rollout.memory import Act, FleetMemory
from gitops_mc.core.rollout.seen import as_shown, not_as_seen
from gitops_mc.core.spans import LONGEST, span_of

_LONGEST_REASON: Final = 1_024
"""Characters that spec.suspendReason can hold."""
_ABOUT_CONTENT: Final = {Verb.APPROVE, Verb.SKIP, Verb.NOW, Verb.OVERRIDE_WINDOW, Verb.FORGET}


@dataclass(frozen=True, slots=True)
class Desk:
    """What requests are judged by, and what they have come to so far."""

    memory: FleetMemory
    newest: Mapping[str, Content]
    """By cluster: what Git says now."""
    identity: str
    """Of this installation, for a takeover."""
    commands: FleetCommands
    """How what helps is typed here."""
    waves: Mapping[str, str] = field(default_factory=dict)
    """That there are now, each with the digest of its clusters and their contents."""
    asking: frozenset[str] = frozenset()
    """Of them: those that fleet.yaml wants to be approved."""
    shown: Mapping[str, JsonObject] = field(default_factory=dict)
    """Status of every object as it stands, by cluster, `""` of the Fleet."""
    fleet_spec: Mapping[str, Any] = field(default_factory=dict)
    """Members of the Fleet's spec that change; None: taken out."""
    rollout_specs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    approved: frozenset[str] = frozenset()
    """Waves; they are bound to their contents by the pass that comes."""
    said: tuple[str, ...] = ()
    sync: bool = False
    forgotten: Mapping[str, By] = field(default_factory=dict)
    """Clusters that are to be forgotten, and who says so."""
    undone: Mapping[str, str] = field(default_factory=dict)
    """Clusters that could not be forgotten yet, and why; the request stays, to be tried again."""


def is_about_content(asked: Request | Misunderstood) -> bool:
    """Whether it is about what Git says, and has no meaning where that is not known."""
    return isinstance(asked, Request) and asked.verb in _ABOUT_CONTENT


def carried_out(desk: Desk, cluster: str, asked: Request | Misunderstood, now: datetime) -> Desk:
    """The desk after one request on the object of a cluster (`""`: the Fleet's)."""
    if isinstance(asked, Misunderstood):
        return _refused(desk, cluster, asked.reason, asked, now)
    by = By(asked.by, acts.moment(desk.memory, now), asked.reason)
    standing = _STANDING.get(asked.verb)
    if standing is not None:
        return standing(desk, cluster, asked, by)
    match _act(desk, cluster, asked, by):
        case Changed(memory, said):
            return replace(desk, memory=memory, said=(*desk.said, *said))
        case Unchanged(reason, hint):
            return _refused(desk, cluster, f"{reason}{f'; {hint}' if hint else ''}", asked, now)


def came_to_nothing(desk: Desk, cluster: str, asked: Request | Misunderstood, now: datetime) -> Desk:
    """The desk after a request that this program has a fault with: it is taken off and told, for it would meet the same fault again
    and again, and everything else would wait behind it.
    """
    told = "a fault of gitops-mc, which its log tells of; the request is taken off, so that others are heard"
    return _refused(desk, cluster, told, asked, now)


def _refused(desk: Desk, cluster: str, reason: str, asked: Request | Misunderstood, now: datetime) -> Desk:
    """In the name of whoever asked: the history tells who wanted what, and why nothing came of it."""
    told = refusal(asked.annotation, cluster)
    act = Act(acts.moment(desk.memory, now), asked.by, told, desk.commands.said(reason))
    return replace(desk, memory=desk.memory.with_act(act), said=(*desk.said, f"{told}: {reason}"))


def not_a_verb(desk: Desk, cluster: str, found: Unknown, now: datetime) -> Desk:
    """The desk after an annotation that nobody carries out. What the history tells of already is not told again: a process that
    begins anew meets it once more.
    """
    told = refusal(found.annotation, cluster)
    if any((act.what, act.why) == (told, found.reason) for act in desk.memory.acts):
        return desk
    act = Act(acts.moment(desk.memory, now), found.by, told, found.reason)
    return replace(desk, memory=desk.memory.with_act(act), said=(*desk.said, f"{told}: {found.reason}"))


# ------------------------------------------------------------------------------------------- on the memory alone


def _act(desk: Desk, cluster: str, asked: Request, by: By) -> ActResult:
    memory = desk.memory
    match asked.verb:
        case Verb.RELEASE:
            return acts.release(memory, cluster, by) if cluster else acts.release_all(memory, by)
        case Verb.SKIP:
            content = desk.newest.get(cluster)
            if content is None:
                return Unchanged(f"Git has no cluster {cluster}")
            return acts.skip(memory, cluster, content, by)
        case Verb.UNSKIP:
            return acts.unskip(memory, cluster, by)
        case Verb.EXCUSE:
            return _excuse(memory, cluster, asked, by)
        case Verb.UNEXCUSE:
            return acts.unexcuse(memory, cluster, asked.members["node"], by)
        case Verb.RETRY:
            return acts.retry(memory, cluster, by)
        case Verb.ROLLBACK:
            return acts.rollback(memory, cluster, by) if cluster else acts.rollback_all(memory, by)
        case Verb.ACCEPT:
            return acts.accept(memory, asked.members["id"], cluster, by)
        case Verb.NOW:
            return acts.hurry(memory, cluster, desk.newest.get(cluster), by)
        case Verb.OVERRIDE_WINDOW:
            return _override(desk, cluster, by)
        case _:
            return Unchanged(f"{asked.verb.value} is not known here")


def _override(desk: Desk, cluster: str, by: By) -> ActResult:
    if not cluster:
        return acts.override_all(desk.memory, desk.newest, by)
    return acts.override(desk.memory, cluster, desk.newest.get(cluster), by)


def _excuse(memory: FleetMemory, cluster: str, asked: Request, by: By) -> ActResult:
    span = _span(asked.members["for"])
    if span is None:
        return Unchanged(f"for: {asked.members['for']!r} is no time", "write 2h, 90m or 1d, at most a year")
    if not asked.reason:
        return Unchanged("an excuse needs a reason")
    return acts.excuse(memory, cluster, asked.members["node"], by.at + span, by)


def _span(text: str) -> timedelta | None:
    found = span_of(text.strip())
    return found if found is not None and timedelta(0) < found <= LONGEST else None


# ------------------------------------------------------------------------------------------------ what stands, in spec


def _noted(desk: Desk, what: str, by: By, said: str) -> Desk:
    return replace(desk, memory=desk.memory.with_act(by.act(what)), said=(*desk.said, said))


def _told(by: By) -> str:
    return f"{by.who}: {by.why}" if by.why else by.who


def _approve(desk: Desk, cluster: str, asked: Request, by: By) -> Desk:
    """What is named as seen is compared with what the same pass decides on."""
    seen = asked.members.get("seen", "")
    if not cluster:
        return _approve_wave(desk, asked, seen, by)
    content = desk.newest.get(cluster)
    if content is None:
        return _refused(desk, cluster, f"Git has no cluster {cluster}", asked, by.at)
    if other := not_as_seen(cluster, seen, content) if seen else "":
        look = f"look at it (gitops-mc plan --cluster {cluster}), then: gitops-mc apply --approve {cluster}"
        told = f"{other}; {look}, or with kubectl {{seen: {as_shown(content)}}}"
        return _refused(desk, cluster, told, asked, by.at)
    status = desk.shown.get(cluster) or {}
    wave = _shown_wave(desk, str(status.get("wave") or ""))
    if why := no_first_contact(cluster, content, desk.memory.cluster(cluster), status, wave):
        return _refused(desk, cluster, why, asked, by.at)
    m = replace(desk.memory.cluster(cluster), approved=content)
    after = replace(desk, memory=desk.memory.with_cluster(cluster, m))
    said = f"first contact with {cluster} is approved, with content {as_shown(content)}"
    return _noted(after, _approved(cluster, content if seen else ""), by, said)


def _approve_wave(desk: Desk, asked: Request, seen: str, by: By) -> Desk:
    wave = asked.members.get("wave", "")
    if not wave:
        return _refused(desk, "", "name the wave: {wave: NAME}", asked, by.at)
    contents = desk.waves.get(wave)
    if contents is None:
        told = f"there is no wave {wave}; waves: {', '.join(desk.waves) or 'none'}"
        return _refused(desk, "", told, asked, by.at)
    if other := not_as_seen(f"wave {wave}", seen, contents) if seen else "":
        look = f"look at what Git has now (gitops-mc status), then: gitops-mc apply --approve {wave}"
        told = f"{other}; {look}, or with kubectl {{wave: {wave}, seen: {as_shown(contents)}}}"
        return _refused(desk, "", told, asked, by.at)
    approval = Approval.MANUAL if wave in desk.asking else Approval.AUTOMATIC
    known, shown = desk.memory.waves.get(wave), _shown_wave(desk, wave)
    if why := nothing_to_approve(wave, approval, contents, known, shown):
        return _refused(desk, "", why, asked, by.at)
    after = replace(desk, approved=desk.approved | {wave})
    said = f"wave {wave} is approved, for the contents it has now ({as_shown(contents)})"
    return _noted(after, _approved(wave, contents if seen else ""), by, said)


def _shown_wave(desk: Desk, wave: str) -> Mapping[str, Any]:
    """What the Fleet's status says of a wave."""
    waves = (desk.shown.get("") or {}).get("waves") or ()
    return next((w for w in waves if w.get("name") == wave), {})


def _approved(name: str, seen: str) -> str:
    """The act: with the digest where somebody said what was looked at."""
    return f"approve {name} --seen {as_shown(seen)}" if seen else f"approve {name}"


def _hold(desk: Desk, cluster: str, _asked: Request, by: By) -> Desk:
    after = _with_spec(desk, cluster, {"hold": {"reason": by.why or "held by hand", "by": by.who}})
    return _noted(after, f"hold {cluster}", by, f"no step begins on {cluster} until it is released")


def _release(desk: Desk, cluster: str, asked: Request, by: By) -> Desk:
    """Of a cluster: the hold, the failure, or both."""
    held = cluster and desk.rollout_specs.get(cluster, {}).get("hold") is not None
    result = _act(desk, cluster, asked, by)
    if isinstance(result, Changed):
        desk = replace(desk, memory=result.memory, said=(*desk.said, *result.said))
    elif not held:
        return _refused(desk, cluster, f"{result.reason}; {result.hint}", asked, by.at)
    if held:
        desk = _with_spec(desk, cluster, {"hold": None})
        desk = _noted(desk, f"release {cluster}", by, f"{cluster} is no longer held")
    return desk


def _suspend(desk: Desk, _cluster: str, _asked: Request, by: By) -> Desk:
    after = _with_fleet_spec(desk, {"suspend": True, "suspendReason": _told(by)[:_LONGEST_REASON]})
    return _noted(after, "suspend", by, "suspended: nothing is written until somebody resumes")


def _resume(desk: Desk, _cluster: str, _asked: Request, by: By) -> Desk:
    after = _with_fleet_spec(desk, {"suspend": None, "suspendReason": None, "abort": None})
    return _noted(after, "resume", by, "resumed")


def _abort(desk: Desk, _cluster: str, asked: Request, by: By) -> Desk:
    stands: dict[str, Any] = {"reason": by.why or "aborted by hand", "by": by.who}
    if asked.members.get("letFinish") == "true":
        stands["letFinish"] = True
    after = _with_fleet_spec(desk, {"abort": stands})
    return _noted(
        after, "abort", by, "aborted: nothing begins, and what rolls is paused, until somebody resumes"
    )


def _takeover(desk: Desk, _cluster: str, _asked: Request, by: By) -> Desk:
    spec = {
        "activeOn": desk.identity,
        "suspend": True,
        "suspendReason": f"taken over by {_told(by)}"[:_LONGEST_REASON],
    }
    after = _with_fleet_spec(desk, spec)
    return _noted(after, f"takeover {desk.identity}", by, "taken over, and suspended: look, then resume")


def _sync(desk: Desk, _cluster: str, _asked: Request, _by: By) -> Desk:
    return replace(desk, sync=True)


def _forget(desk: Desk, cluster: str, _asked: Request, by: By) -> Desk:
    return replace(desk, forgotten={**desk.forgotten, cluster: by})


_STANDING: Final[Mapping[Verb, Callable[[Desk, str, Request, By], Desk]]] = {
    Verb.APPROVE: _approve,
    Verb.HOLD: _hold,
    Verb.RELEASE: _release,
    Verb.SUSPEND: _suspend,
    Verb.RESUME: _resume,
    Verb.ABORT: _abort,
    Verb.TAKEOVER: _takeover,
    Verb.SYNC: _sync,
    Verb.FORGET: _forget,
}


def _with_fleet_spec(desk: Desk, spec: Mapping[str, Any]) -> Desk:
    return replace(desk, fleet_spec={**desk.fleet_spec, **spec})


def _with_spec(desk: Desk, cluster: str, spec: Mapping[str, Any]) -> Desk:
    known = desk.rollout_specs.get(cluster, {})
    return replace(desk, rollout_specs={**desk.rollout_specs, cluster: {**known, **spec}})
