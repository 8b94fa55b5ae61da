"""Who acts, and what comes of an act on the memory: it has changed, or there was nothing to change."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from typing import TypeAlias

from gitops_mc.core.rollout.memory import Act, FleetMemory


@dataclass(frozen=True, slots=True)
class By:
    """Who acts, when, and why."""

    who: str
    at: datetime
    why: str = ""

    def act(self, what: str) -> Act:
        return Act(self.at, self.who, what, self.why)


@dataclass(frozen=True, slots=True)
class Changed:
    """The memory after the act, and what that changes, sentence by sentence."""

    memory: FleetMemory
    said: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The act would change nothing, and why."""

    reason: str
    hint: str = ""


ActResult: TypeAlias = Changed | Unchanged


def moment(memory: FleetMemory, now: datetime) -> datetime:
    """The time of an act: never before what is remembered, on whatever clock the rollout ran."""
    return now if memory.clock is None else max(now, memory.clock)


def no_such_cluster(memory: FleetMemory, cluster: str) -> Unchanged:
    """For a name that is not remembered, with the one that may be meant."""
    close = get_close_matches(cluster, memory.clusters, n=1)
    known = (
        f"did you mean {close[0]}?" if close else f"remembered are: {', '.join(memory.clusters) or 'none'}"
    )
    return Unchanged(f"nothing is remembered of a cluster {cluster}", known)


def short(content: str) -> str:
    """A content for people."""
    return content[:12]
