"""What differs between Git and the clusters, for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gitops_mc.core.model import Severity, count
from gitops_mc.core.render.differences import ClusterDifference, ObjectDifference
from gitops_mc.core.render.lines import Line, Tone, one_line
from gitops_mc.core.render.parts import Part
from gitops_mc.core.render.problems import problems_text

_TONES = {"+": Tone.ADDED, "-": Tone.REMOVED, "~": Tone.WARN, "!": Tone.WARN, "x": Tone.BAD}
_DIFF_TONES = {"+": Tone.ADDED, "-": Tone.REMOVED, "@": Tone.DIM}


def diff_text(clusters: Iterable[ClusterDifference]) -> Iterator[Line]:
    """Cluster by cluster, in the order in which they would be rolled."""
    shown = tuple(clusters)
    for cluster in shown:
        yield from _cluster(cluster)
        yield Line("")
    differing = sum(1 for cluster in shown if cluster.changes)
    unknown = sum(1 for cluster in shown if cluster.preview.unknown)
    told = f", {unknown} unknown" if unknown else ""
    yield Line(f"{differing} of {count(len(shown), 'cluster')} with changes{told}", Tone.HEAD)


def diff_headline(cluster: ClusterDifference) -> str:
    """One sentence; "no difference" only where everything was read."""
    found = cluster.preview
    if found.desired.blocked:
        return "blocked: its part of the repository has problems"
    parts = [
        told
        for number, told in (
            (len(cluster.changes), count(len(cluster.changes), "change")),
            (len(cluster.drifts), f"{len(cluster.drifts)} drifted"),
            (len(cluster.refused), f"{len(cluster.refused)} refused"),
            (len(cluster.orphans), count(len(cluster.orphans), "orphan")),
            (len(cluster.newer), f"{len(cluster.newer)} newer live"),
        )
        if number
    ]
    if found.unknown:
        return "; ".join(
            (f"unknown: {found.unknown}", *([f"known so far: {', '.join(parts)}"] if parts else []))
        )
    return ", ".join(parts) or "no difference"


def _cluster(cluster: ClusterDifference) -> Iterator[Line]:
    found = cluster.preview
    bad = found.desired.blocked or found.unknown or cluster.refused
    tone = Tone.BAD if bad else Tone.WARN if cluster.changes else Tone.GOOD
    yield Line(one_line(f"{found.name}: {diff_headline(cluster)}"), tone)
    if found.desired.blocked:
        errors = [p for p in found.desired.problems if p.severity is Severity.ERROR]
        for line in problems_text(errors):
            yield Line(f"  {line.text}", line.tone)
    for difference in (*cluster.changes, *cluster.drifts, *cluster.refused):
        yield from _object(difference)
    for orphan in cluster.orphans:
        told = f"  orphan: {orphan.key.kind.value} {orphan.key.name} stays in the cluster: {orphan.reason}"
        yield Line(one_line(told), Tone.WARN)
    for newer in cluster.newer:
        told = f"  newer live: module {newer.key.name} runs {newer.live_version}, Git says {newer.desired_version}"
        yield Line(one_line(told), Tone.WARN)
    for not_read in cluster.not_read:
        yield Line(one_line(f"  not read: {not_read.kind.value}: {not_read.reason}"), Tone.BAD)
    for refusal in cluster.other_refusals:
        yield Line(one_line(f"  refused: {refusal}"), Tone.BAD)


def _object(difference: ObjectDifference) -> Iterator[Line]:
    key = difference.key
    head = f"  {difference.sign} {difference.what} {key.kind.value} {key.name}"
    yield Line(one_line(head), _TONES.get(difference.sign, Tone.PLAIN))
    for note in difference.notes:
        yield Line(one_line(f"      {note}"), Tone.DIM)
    for part in difference.parts:
        yield from _part(part)


def _part(part: Part) -> Iterator[Line]:
    if len(part.details) == 1 and not part.diff:
        yield Line(one_line(f"      {part.name} {_verb(part)}{part.details[0]}"))
        return
    yield Line(one_line(f"      {part.name} {part.change.value}"))
    for detail in part.details:
        yield Line(one_line(f"        {detail}"))
    for line in part.diff:
        yield Line(f"        {line}", _DIFF_TONES.get(line[:1], Tone.PLAIN))


def _verb(part: Part) -> str:
    """What is sensitive says by itself that it changed."""
    return "" if part.sensitive else f"{part.change.value}: "
