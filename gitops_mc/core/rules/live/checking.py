"""Running the rules that need facts about the live cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import DesiredCluster, Problem, Unknown, sorted_problems
from gitops_mc.core.policy import FleetPolicy
from gitops_mc.core.rules.checking import problem_of
from gitops_mc.core.rules.live.table import LIVE_RULES
from gitops_mc.core.rules.row import LiveFacts, LiveRule


@dataclass(frozen=True, slots=True)
class NotChecked:
    """A rule that could not be decided for want of a fact. Neither a problem nor the absence of one."""

    rule: str
    cluster: str
    reason: str


def check_with_facts(
    cluster: DesiredCluster, policy: FleetPolicy, live: LiveCluster
) -> tuple[Problem | NotChecked, ...]:
    """What the rules that need facts about the live cluster say: problems by place, then what was not checked.

    The rules of `check` are not run again.
    """
    facts = LiveFacts(cluster, policy, live)
    problems: list[Problem] = []
    undecided: list[NotChecked] = []
    for rule in LIVE_RULES:
        missing = tuple(_missing(rule, live))
        if missing:
            undecided.append(NotChecked(rule.id, cluster.name, f"not checked: {'; '.join(missing)}"))
        else:
            problems.extend(problem_of(rule, hit, cluster.name) for hit in rule.check(facts))
    return (*sorted_problems(problems), *undecided)


def _missing(rule: LiveRule, live: LiveCluster) -> Iterator[str]:
    for fact in rule.needs:
        value = getattr(live, fact.value)
        if isinstance(value, Unknown):
            yield f"{fact.value} of cluster {live.name} not known: {value.reason}"
