"""The status of our objects, as people and kubectl read it, made from what a pass came to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from gitops_mc.core.custom.conditions import Reason, State, Summary, conditions, of_cluster, of_fleet, stamp
from gitops_mc.core.model import Commit, JsonObject
from gitops_mc.core.rollout.memory import NO_COMMIT
from gitops_mc.core.rollout.moves import ClusterView, Decision, Standing, WaveState, WaveView
from gitops_mc.core.rollout.seen import as_shown

_LONGEST_REASON: Final = 1_000
_SHORT: Final = 12
_MOST_DRIFT: Final = 50
MOST_WAVES: Final = 500

BESIDE: Final = ("notifications", "webhook", "forge", "previews")
"""Members of a Fleet's status that come from elsewhere than the rollout."""

Told = Callable[[str], str]
"""A text as it is shown: without what is sensitive, and with commands as they are typed for this Fleet."""


@dataclass(frozen=True, slots=True)
class RefusedCommit:
    """The newest commit of the source, where it is not followed."""

    commit: Commit
    why: str
    """Goes on from what names the commit: `is not accepted: nobody has signed it`."""


@dataclass(frozen=True, slots=True)
class Pulled:
    """What is known of the repository: the commit that is followed, when it was asked for last, and what is wrong with it."""

    commit: Commit = NO_COMMIT
    polled: datetime | None = None
    problem: str = ""
    """Why the repository's newest content is not followed; what was read before still is."""
    refused: RefusedCommit | None = None
    ref: str = ""
    """The full name of what is followed, as the source said it last."""


def fleet_status(
    decision: Decision, pulled: Pulled, body: JsonObject, now: datetime, told: Told
) -> JsonObject:
    """Status of the Fleet, without memory and history."""
    summary = of_fleet(decision)
    if pulled.problem:
        summary = Summary(State.STUCK, Reason.REPOSITORY, f"{pulled.problem}; meanwhile: {summary.message}")
    here = [c for c in decision.clusters if c.standing is not Standing.GONE]
    passed = sum(1 for c in here if c.standing is Standing.PASSED)
    return {
        **_common(summary, body, now, told),
        "outlook": type(decision.outlook).__name__.lower(),
        "progress": f"{passed}/{len(here)}",
        "source": _source(pulled, told),
        "waves": [_wave(w, decision.clusters, told) for w in _shown_waves(decision.waves)],
    }


def fleet_trouble(
    summary: Summary, pulled: Pulled | None, body: JsonObject, now: datetime, told: Told
) -> JsonObject:
    """Status of a Fleet that cannot be followed at all: what was said before of clusters and waves stays as it was said."""
    said = {k: v for k, v in (body.get("status") or {}).items() if k not in BESIDE}
    return {
        **said,
        **_common(summary, body, now, told),
        "outlook": "unknown",
        **({} if pulled is None else {"source": {**_sourced(body), **_source(pulled, told)}}),
    }


def _shown_waves(waves: Sequence[WaveView]) -> Sequence[WaveView]:
    """As many as the object holds (deploy/crds), those first that are not done: without `waves` each cluster is one."""
    if len(waves) <= MOST_WAVES:
        return waves
    done = [w for w in waves if w.state is WaveState.DONE]
    left_out = {w.wave for w in [*(w for w in waves if w.state is not WaveState.DONE), *done][MOST_WAVES:]}
    return [w for w in waves if w.wave not in left_out]


def _sourced(body: JsonObject) -> JsonObject:
    """What the process before this one followed: it has to be found again after a restart."""
    found: JsonObject = (body.get("status") or {}).get("source") or {}
    return {k: v for k, v in found.items() if k != "problem"}


def rollout_status(
    view: ClusterView, commit: Commit, body: JsonObject, now: datetime, told: Told
) -> JsonObject:
    """Status of a ClusterRollout, without memory. `commit`: where its content was seen first."""
    drifts = () if view.plan is None else view.plan.drifts
    return {
        **_common(of_cluster(view), body, now, told),
        **_present(
            {
                "standing": view.standing.value,
                "reason": told(view.reason)[:_LONGEST_REASON],
                "wave": view.wave,
                "content": view.content or "",
                "shortContent": as_shown(view.content or ""),
                "commit": commit,
                "step": view.step,
                "drift": sorted(f"{d.key.kind.value}/{d.key.name}" for d in drifts)[:_MOST_DRIFT],
                "hands": told(view.hands)[:_LONGEST_REASON],
            }
        ),
    }


def rollout_trouble(summary: Summary, body: JsonObject, now: datetime, told: Told) -> JsonObject:
    """Status of a ClusterRollout that takes no part, with why."""
    return {**(body.get("status") or {}), **_common(summary, body, now, told)}


def _common(summary: Summary, body: JsonObject, now: datetime, told: Told) -> JsonObject:
    before: Sequence[Mapping[str, Any]] = (body.get("status") or {}).get("conditions") or ()
    generation = int((body.get("metadata") or {}).get("generation") or 0)
    safe = Summary(summary.state, summary.reason, told(summary.message))
    return {
        "observedGeneration": generation,
        "conditions": conditions(before, safe, generation, now),
    }


def _source(pulled: Pulled, told: Told) -> JsonObject:
    return _present(
        {
            "commit": pulled.commit,
            "shortCommit": pulled.commit[:_SHORT],
            "polled": stamp(pulled.polled) if pulled.polled is not None else "",
            "problem": told(pulled.problem)[:_LONGEST_REASON],
        }
    )


def _wave(wave: WaveView, clusters: Sequence[ClusterView], told: Told) -> JsonObject:
    members = frozenset(wave.members)
    passed = sum(1 for c in clusters if c.cluster in members and c.standing is Standing.PASSED)
    return _present(
        {
            "name": wave.wave,
            "state": wave.state.value,
            "reason": told(wave.reason)[:_LONGEST_REASON],
            "passed": f"{passed}/{len(members)}",
            "contents": as_shown(wave.contents),
        }
    )


def _present(members: Mapping[str, Any]) -> JsonObject:
    return {name: value for name, value in members.items() if value not in ("", [])}
