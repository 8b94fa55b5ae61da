"""What the clusters have to say: what merging comes to there, what differs already, and what is under way."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from gitops_mc.core.model import count
from gitops_mc.core.preview.hindrances import Drains, DrainsNotRead, UpgradePath
from gitops_mc.core.preview.model import AdviceKind, Conflict, LivePreview, NoLive, Preview
from gitops_mc.core.preview.words import moment
from gitops_mc.core.render.plan_words import headline
from gitops_mc.core.render.preview.document import (
    Basis,
    Block,
    Bullets,
    Code,
    Paragraph,
    Section,
    Strong,
    Table,
    Words,
    at_words,
    words,
)
from gitops_mc.core.render.preview.groups import names_told, sorted_by
from gitops_mc.core.rollout.preview import ClusterPreview
from gitops_mc.core.rollout.windows import told_span

_DRAINS, _UPGRADES, _ADVICE, _ALREADY, _UNDER_WAY = 0.08, 0.05, 0.08, 0.05, 0.05
_IN_ORDER = {kind: position for position, kind in enumerate(AdviceKind)}


def merged_sections(preview: Preview) -> Iterator[Section]:
    """What merging comes to on the clusters: what hinders a drain, how modules get there, what to know before."""
    if not isinstance(preview.live, LivePreview):
        return
    live = preview.live
    yield Section("In the way of drains", Basis.MERGED, _drains(live), _DRAINS)
    yield Section("How modules get there", Basis.MERGED, _upgrades(live), _UPGRADES)
    yield Section("Before it is merged", Basis.MERGED, _advice(live), _ADVICE)


def already(preview: Preview) -> Section:
    """Part (b)."""
    blocks = _already(preview.live) if isinstance(preview.live, LivePreview) else _nothing()
    return Section("(b) What the clusters differ by already", Basis.ALREADY, blocks, _ALREADY)


def under_way(preview: Preview) -> Section:
    """Part (c)."""
    blocks = _under_way(preview.live) if isinstance(preview.live, LivePreview) else _nothing()
    return Section("(c) What is under way", Basis.UNDER_WAY, blocks, _UNDER_WAY)


def read_told(preview: Preview) -> str:
    """When the clusters were read, or why they were not."""
    match preview.live:
        case LivePreview(at=at):
            return f"read {at_words(at)}"
        case NoLive(reason, since):
            return f"not read{f', unknown since {at_words(since)}' if since else ''}: {reason}"
        case Conflict():
            return "not read: base and head cannot be merged"


def headline_since(found: ClusterPreview, live: LivePreview) -> str:
    """Its headline; of one that is not known, since when."""
    since = next((moment(u.since, live.at) for u in live.unread if u.cluster == found.name), "")
    told = headline(found)
    return told.replace("unknown: ", f"unknown since {since}: ", 1) if found.unknown and since else told


def _nothing() -> tuple[Block, ...]:
    return (Paragraph(words("Unknown.")),)


def _drains(live: LivePreview) -> tuple[Block, ...]:
    found = [(c, d) for c, d in live.drains.items() if isinstance(d, Drains)]
    alike = sorted_by(
        ((cluster, h.node), (h.kind.value, h.subject, h.told)) for cluster, d in found for h in d.hindrances
    )
    rows = tuple(
        (
            words(names_told(tuple(dict.fromkeys(cluster for cluster, _ in nodes)))),
            words(names_told(tuple(node for _, node in nodes), "node")),
            words(kind),
            words(Code(subject)),
            words(told),
        )
        for (kind, subject, told), nodes in alike
    )
    table = Table(("clusters", "nodes", "what", "which", "told"), rows, "hindrance")
    notes = _notes(live)
    return (*((table,) if rows else ()), *((Bullets(notes, "note"),) if notes else ()))


def _notes(live: LivePreview) -> tuple[Words, ...]:
    """What is said of nodes besides, and what was not read or left out; of clusters alike once."""
    told = sorted_by(
        (cluster, note) for cluster, found in live.drains.items() for note in _notes_of(found, live.at)
    )
    return tuple(words(Strong(names_told(names)), f": {note}") for note, names in told)


def _notes_of(found: Drains | DrainsNotRead, now: datetime) -> Iterator[str]:
    if isinstance(found, DrainsNotRead):
        yield f"what hinders is unknown since {moment(found.since, now)}: {found.reason}"
    elif found.left_out:
        yield f"{count(found.left_out, 'more hindrance')} of the kind"
    yield from (f"{names_told(note.nodes, 'node')}: {note.told}" for note in found.notes)


def _upgrades(live: LivePreview) -> tuple[Block, ...]:
    found = sorted_by((cluster, path) for cluster, paths in live.upgrades.items() for path in paths)
    items = tuple(_path(path, names) for path, names in found)
    return (Bullets(items, "upgrade path"),) if items else ()


def _path(path: UpgradePath, clusters: tuple[str, ...]) -> Words:
    steps = (
        " -> ".join((path.live or "not installed", *path.steps))
        if path.steps
        else f"{path.live or 'not installed'}, no way to {path.wanted} is known"
    )
    state = "blocked: " if path.blocked else f"unknown ({path.unknown}): " if path.unknown else ""
    told = f"; {'; '.join(path.told)}" if path.told else ""
    return words(state, Strong(f"module {path.module}"), f" of {names_told(clusters)}: {steps}{told}")


def _advice(live: LivePreview) -> tuple[Block, ...]:
    found = sorted(live.advice, key=lambda advice: _IN_ORDER[advice.kind])
    items = (
        [words(Strong("halted"), f": nothing new is written anywhere: {live.halted}")] if live.halted else []
    )
    for advice in found:
        where = f" {names_told(advice.clusters)}" if advice.clusters else ""
        items.append(words(Strong(advice.kind.value), f"{where}: {advice.told}"))
    return (Bullets(tuple(items), "remark"),) if items else ()


def _already(live: LivePreview) -> tuple[Block, ...]:
    differing = [c for c in live.already.clusters if headline(c) != "no change"]
    rows = tuple(
        (words(wave), words(names_told(names)), words(told))
        for (wave, told), names in sorted_by((c.name, (c.wave, headline_since(c, live))) for c in differing)
    )
    blocks: list[Block] = []
    if rows:
        blocks.append(Table(("wave", "clusters", "without this pull request"), rows, "row"))
    if live.unasked:
        told = f"{count(live.unasked, 'cluster')} that nothing changes on {'was' if live.unasked == 1 else 'were'} not looked at."
        blocks.append(Paragraph(words(told)))
    same = len(live.already.clusters) - len(differing)
    if same:
        blocks.append(
            Paragraph(words(f"{count(same, 'cluster')} {'stands' if same == 1 else 'stand'} as Git says."))
        )
    drifts = _drifts(live.already.clusters)
    if drifts:
        blocks.append(Bullets(drifts, "drifted object"))
    return tuple(blocks) or (Paragraph(words("No cluster is there.")),)


def _drifts(clusters: tuple[ClusterPreview, ...]) -> tuple[Words, ...]:
    found = sorted_by(
        (c.name, (d.key.kind.value, d.key.name, d.reason)) for c in clusters if c.plan for d in c.plan.drifts
    )
    return tuple(
        words("drift: ", Code(f"{kind} {name}"), f" of {names_told(names)}: {reason}")
        for (kind, name, reason), names in found
    )


def _under_way(live: LivePreview) -> tuple[Block, ...]:
    rows = tuple(
        (words(names_told(names)), words(standing), words(since), words(reason))
        for (standing, since, reason), names in sorted_by(
            (u.cluster, (u.standing.value, moment(u.since, live.at) if u.since else "", u.reason))
            for u in live.under_way
        )
    )
    blocks: list[Block] = []
    if live.halted:
        blocks.append(Paragraph(words(Strong("Halted"), f": {live.halted}")))
    if rows:
        blocks.append(Table(("clusters", "stands", "since", "why"), rows, "row"))
    soaks = tuple(
        words(Strong(f"wave {w.wave}"), f" soaks since {moment(w.since, live.at)}, for {told_span(w.soak)}")
        for w in live.soaking
    )
    if soaks:
        blocks.append(Bullets(soaks, "wave"))
    items = tuple(
        words(Strong("unknown"), f": {names_told(names)}, since {since}: {reason}")
        for (since, reason), names in sorted_by(
            (u.cluster, (moment(u.since, live.at), u.reason)) for u in live.unread
        )
    )
    if items:
        blocks.append(Bullets(items, "cluster"))
    if live.unasked:
        others = count(live.unasked, "other cluster")
        told = (
            f"Of {others} nobody was asked."
            if blocks
            else f"Nothing on the clusters that were looked at; of {others} nobody was asked."
        )
        return (*blocks, Paragraph(words(told)))
    return tuple(blocks) or (Paragraph(words("Nothing: no cluster is rolling, held, waiting or failed.")),)
