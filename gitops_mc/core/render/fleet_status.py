"""How a Fleet stands, from its objects on global: what the controller showed there last, and what it remembers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from gitops_mc.core.custom.conditions import WHAT_HELPS
from gitops_mc.core.model import JsonObject, count, metadata, name_of
from gitops_mc.core.render.fleet_commands import FleetCommands
from gitops_mc.core.render.lines import Line, Tone, one_line
from gitops_mc.core.render.plan_words import duration
from gitops_mc.core.render.status_json import status_json
from gitops_mc.core.render.status_text import status_text
from gitops_mc.core.rollout.driver import Driver
from gitops_mc.core.rollout.memory import FleetMemory
from gitops_mc.core.rollout.moves import WaveState

UNSEEN_AFTER: Final = timedelta(minutes=5)
"""A controller that leads writes the Fleet once a minute."""
UNASKED_AFTER: Final = timedelta(minutes=10)
_OUTLOOKS: Final = {"wait": "waiting", "hold": "held"}
_TONES: Final = {"done": Tone.GOOD, "halted": Tone.BAD, "unknown": Tone.BAD}
_SHOWN_DRIFT: Final = 10


def fleet_json(
    fleet: JsonObject, rollouts: Mapping[str, JsonObject], memory: FleetMemory, now: datetime
) -> JsonObject:
    """As `status_json`, and beside it `fleet`: source, orders that stand, conditions. Waves and clusters are as the controller has
    shown them last, which `remembered_at` tells the time of.
    """
    status = fleet.get("status") or {}
    told = status_json(memory, now, None, Driver.CONTROLLER)
    kept = {w["wave"]: w for w in told["waves"]}
    known = {c["cluster"]: c for c in told["clusters"]}
    return {
        **told,
        "fleet": _fleet(fleet, now),
        "outlook": _outlook(status),
        "waves": [_wave(w, kept.get(str(w.get("name")))) for w in status.get("waves") or ()],
        "clusters": [_cluster(known[n], rollouts.get(n, {})) for n in sorted(known)],
    }


def _fleet(body: JsonObject, now: datetime) -> JsonObject:
    spec, status = body.get("spec") or {}, body.get("status") or {}
    said, seen = spec.get("source") or {}, status.get("source") or {}
    abort = spec.get("abort")
    polled = _moment(seen.get("polled"))
    return {
        "name": name_of(body),
        "namespace": str(metadata(body).get("namespace") or ""),
        "active_on": spec.get("activeOn"),
        "suspended": str(spec.get("suspendReason") or "by hand") if spec.get("suspend") else None,
        "aborted": None if abort is None else _by(abort),
        "progress": status.get("progress"),
        "source": {
            "url": said.get("url"),
            "ref": said.get("ref") or None,
            "commit": seen.get("commit"),
            "polled": seen.get("polled"),
            "age": None if polled is None else max(0.0, (now - polled).total_seconds()),
            "problem": seen.get("problem") or "",
        },
        "conditions": list(status.get("conditions") or ()),
    }


def _outlook(status: Mapping[str, Any]) -> JsonObject | None:
    state = status.get("outlook")
    if state is None:
        return None
    reasons, _, helps = _ready(status).partition(WHAT_HELPS)
    return {"state": _OUTLOOKS.get(state, state), "reasons": [reasons], "acts": [helps] if helps else []}


def _ready(status: Mapping[str, Any]) -> str:
    said = [c for c in status.get("conditions") or () if c.get("type") == "Ready"]
    return str(said[0].get("message") or "") if said else ""


def _wave(shown: Mapping[str, Any], kept: Mapping[str, Any] | None) -> JsonObject:
    return {
        "wave": shown.get("name"),
        "state": shown.get("state"),
        "reason": str(shown.get("reason") or ""),
        "passed": shown.get("passed"),
        "contents": str(shown.get("contents") or ""),
        "members": None,
        "approved": kept is not None and kept["approved"],
        "soak_since": None if kept is None else kept["soak_since"],
        "soak_left": None,
    }


def _cluster(kept: JsonObject, body: JsonObject) -> JsonObject:
    spec, status = body.get("spec") or {}, body.get("status") or {}
    hold = spec.get("hold")
    return {
        **kept,
        "wave": status.get("wave") or kept["wave"],
        "standing": status.get("standing") or kept["standing"],
        "reason": str(status.get("reason") or ""),
        "hold": None if hold is None else _by(hold),
        "drift": list(status.get("drift") or ()),
        "hands": str(status.get("hands") or ""),
        "conditions": list(status.get("conditions") or ()),
    }


def _by(order: Mapping[str, Any]) -> JsonObject:
    return {"reason": str(order.get("reason") or "by hand"), "by": order.get("by") or None}


def _moment(text: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(str(text)) if text else None
    except ValueError:
        return None


# ------------------------------------------------------------------------------------------------------------ for people


def fleet_text(told: JsonObject, now: datetime, commands: FleetCommands) -> Iterator[Line]:
    """`told` is what `fleet_json` gave."""
    for line in _lines(told, now, commands):
        yield Line(one_line(commands.said(line.text)), line.tone)


def _lines(told: JsonObject, now: datetime, commands: FleetCommands) -> Iterator[Line]:
    yield from _head(told["fleet"], now)
    if (
        told["remembered_at"] or not told["fleet"]["conditions"]
    ):  # who could not read the repository remembers nothing
        yield from unseen(told["remembered_at"], now, commands)
    waves = {str(w["wave"]): w for w in told["waves"]}
    counted = [{**w, "reason": _counted(w)} for w in waves.values()]
    carried_out = [act for act in told["acts"] if not _refused(act)]
    yield from status_text({**told, "waves": counted, "acts": carried_out}, now)
    if refused := len(told["acts"]) - len(carried_out):
        yield Line(
            f"{count(refused, 'request')} not carried out: gitops-mc history {commands.options}", Tone.DIM
        )
    said = " ".join((told["outlook"] or {}).get("acts", ()))
    for cluster in told["clusters"]:
        for text in _noted(cluster, said):
            yield Line(f"{cluster['cluster']}: {text}", Tone.WARN)


def _counted(wave: Mapping[str, Any]) -> str:
    passed = f"{wave['passed']} passed" if wave["passed"] and "passed" not in wave["reason"] else ""
    asks = wave["contents"] and wave["state"] == WaveState.NEEDS_APPROVAL
    contents = f"contents {wave['contents']}" if asks else ""
    return ", ".join(part for part in (passed, contents, wave["reason"]) if part)


def _head(fleet: Mapping[str, Any], now: datetime) -> Iterator[Line]:
    progress = f", {fleet['progress']} passed" if fleet["progress"] else ""
    yield Line(f"Fleet {fleet['namespace']}/{fleet['name']}{progress}", Tone.HEAD)
    yield source_line(fleet["source"])
    yield from orders(fleet)
    for condition in fleet["conditions"]:
        if condition.get("status") == "True":
            since = _moment(condition.get("lastTransitionTime"))
            ago = "" if since is None else f" for {duration(max(now - since, timedelta(0)))}"
            tone = {"Ready": Tone.GOOD, "Stalled": Tone.BAD}.get(str(condition.get("type")), Tone.WARN)
            yield Line(f"{condition.get('type')}{ago}: {condition.get('reason')}", tone)


def source_line(source: Mapping[str, Any]) -> Line:
    """Which commit is followed, when the repository was asked last, and what is wrong with it."""
    ref = f" ({source['ref']})" if source["ref"] else ""
    commit = f"commit {source['commit'][:12]}" if source["commit"] else "no commit yet"
    age = source["age"]
    asked = "never read" if age is None else f"asked {duration(timedelta(seconds=age))} ago"
    told = f"{source['url']}{ref}: {commit}, {asked}"
    if source["problem"]:
        return Line(f"{told}; {source['problem']}", Tone.BAD)
    old = age is None or timedelta(seconds=age) > UNASKED_AFTER
    return Line(told, Tone.WARN if old else Tone.DIM)


def orders(fleet: Mapping[str, Any]) -> Iterator[Line]:
    """What somebody has ordered that keeps the whole fleet from being written for."""
    if fleet["aborted"] is not None:
        by = f" by {fleet['aborted']['by']}" if fleet["aborted"]["by"] else ""
        yield Line(f"aborted{by}: {fleet['aborted']['reason']}", Tone.BAD)
    if fleet["suspended"] is not None:
        yield Line(f"suspended: {fleet['suspended']}", Tone.WARN)


def unseen(remembered: str | None, now: datetime, commands: FleetCommands) -> Iterator[Line]:
    """That nobody has looked for so long that what is shown may be old."""
    at = _moment(remembered)
    if at is not None and now - at <= UNSEEN_AFTER:
        return
    ago = (
        "no controller has looked at it yet; one looks at the Fleets of its own namespace"
        if at is None
        else f"no controller has looked for {duration(now - at)}"
    )
    yield Line(f"{ago}: kubectl -n {commands.namespace} get lease,pods", Tone.BAD)


def _noted(cluster: Mapping[str, Any], said: str) -> Iterator[str]:
    """What `status_text` does not say of a cluster; `said` is what is told of the whole fleet to help."""
    if cluster["hold"] is not None:
        by = f" by {cluster['hold']['by']}" if cluster["hold"]["by"] else ""
        yield f"held{by}: {cluster['hold']['reason']}"
    if drift := cluster["drift"]:
        more = f" and {len(drift) - _SHOWN_DRIFT} more" if len(drift) > _SHOWN_DRIFT else ""
        yield f"not as Git says any more, and left alone (drift): {', '.join(drift[:_SHOWN_DRIFT])}{more}"
    if cluster["hands"] and cluster["hands"] not in said:
        yield f"time alone brings it no further: {cluster['hands']}"


def _refused(act: Mapping[str, Any]) -> bool:
    return str(act.get("what") or "").startswith("not carried out")


def history_lines(acts: Sequence[Mapping[str, Any]], now: datetime) -> Iterator[Line]:
    """One line an act, the oldest first."""
    if not acts:
        yield Line("nothing has been asked for yet", Tone.DIM)
    for act in acts:
        at = _moment(act.get("at"))
        ago = "" if at is None else f" ({duration(max(now - at, timedelta(0)))} ago)"
        why = f": {act['why']}" if act.get("why") else ""
        refused = _refused(act)
        when = act.get("at") if at is None else at.isoformat(timespec="seconds")
        told = f"{when}{ago} {act.get('who')}: {act.get('what')}{why}"
        yield Line(one_line(told), Tone.BAD if refused else Tone.PLAIN)
