"""A plan for people, in the order in which it would be carried out."""

from __future__ import annotations

from collections.abc import Iterator

from gitops_mc.core.model import Severity, count
from gitops_mc.core.plan import PoolImpact, Step
from gitops_mc.core.render.lines import Line, Tone, one_line
from gitops_mc.core.render.plan_words import (
    check_words,
    deed,
    duration,
    headline,
    node_words,
    remarks,
    sign,
    source,
    step_bracket,
    step_gate,
    step_title,
    totals,
    wave_words,
)
from gitops_mc.core.render.problems import problems_text
from gitops_mc.core.rollout.preview import Answer, ClusterPreview, FleetPreview

_SHOWN_ENTRIES = 20
_TONES = {"+": Tone.ADDED, "-": Tone.REMOVED, "~": Tone.WARN, "=": Tone.PLAIN}
_ALARMS = ("refused", "blocked", "not read")


def plan_text(found: FleetPreview) -> Iterator[Line]:
    """The whole plan; the digest stands in the last line."""
    yield Line(f"Plan for {source(found.commit)}", Tone.HEAD)
    for wave in found.waves:
        yield Line("")
        yield Line(f"Wave {wave.line.wave.name}: {wave_words(wave)}", Tone.HEAD)
        for cluster in wave.clusters:
            yield from cluster_text(cluster)
    for cluster in found.homeless:
        yield from cluster_text(cluster)
    yield Line("")
    yield Line(totals(found), Tone.HEAD)
    yield Line(f"plan digest: {found.digest}")


def cluster_text(cluster: ClusterPreview) -> Iterator[Line]:
    """One cluster: steps, nodes, remarks."""
    yield Line("")
    yield Line(one_line(f"{cluster.name}: {headline(cluster)}"), _tone(cluster))
    if cluster.desired.blocked:
        errors = [p for p in cluster.desired.problems if p.severity is Severity.ERROR]
        for line in problems_text(errors):
            yield Line(f"  {line.text}", line.tone)
        return
    if cluster.plan is not None:
        for number, step in enumerate(cluster.plan.steps, 1):
            yield from _step(number, step, cluster)
        for impact in cluster.plan.impacts:
            yield from _impact(impact)
    for word, sentence in remarks(cluster):
        yield Line(one_line(f"  {word}: {sentence}"), Tone.BAD if word in _ALARMS else Tone.WARN)


def _tone(cluster: ClusterPreview) -> Tone:
    if cluster.desired.blocked or cluster.unknown or cluster.refused:
        return Tone.BAD
    return Tone.WARN if cluster.changes else Tone.GOOD


def _step(number: int, step: Step, cluster: ClusterPreview) -> Iterator[Line]:
    yield Line(one_line(f"  {number}. {step_title(step)}"))
    if bracket := step_bracket(step):
        yield Line(f"       {bracket}", Tone.DIM)
    for write in step.writes:
        told = f"       {sign(write)} {deed(write)} {write.key.kind.value} {write.key.name}"
        yield Line(one_line(told), _TONES[sign(write)])
        check = cluster.checks.get((step.id, write.key))
        if words := check_words(check):
            refused = check is not None and check.answer is Answer.REFUSED
            yield Line(one_line(f"           {words}"), Tone.BAD if refused else Tone.DIM)
    yield Line(one_line(f"       then waits until {step_gate(step)}"), Tone.DIM)


def _impact(impact: PoolImpact) -> Iterator[Line]:
    nodes = sum(n.count for n in impact.nodes)
    rolling = f"{count(nodes, 'node')}, {impact.max_unavailable} at a time" if nodes else "no nodes"
    estimate = f", about {duration(impact.estimate)}" if impact.estimate else ""
    yield Line(one_line(f"  pool {impact.pool}: {rolling}{estimate}"))
    for change in impact.changes[:_SHOWN_ENTRIES]:
        yield Line(one_line(f"       {change}"), Tone.DIM)
    if len(impact.changes) > _SHOWN_ENTRIES:
        yield Line(f"       and {len(impact.changes) - _SHOWN_ENTRIES} more entries", Tone.DIM)
    for node in impact.nodes:
        loud = node.disruption.reboot or node.disruption.drain
        yield Line(one_line(f"       {node_words(node)}"), Tone.WARN if loud else Tone.PLAIN)
