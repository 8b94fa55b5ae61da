"""The whole document of a preview, in the order in which it is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gitops_mc.core.model import Commit, FleetScope, Problem, Severity, count
from gitops_mc.core.preview.model import Conflict, LivePreview, Preview
from gitops_mc.core.preview.promised import promise_digest
from gitops_mc.core.redact import Redactor
from gitops_mc.core.render.preview.document import (
    Basis,
    Block,
    Bullets,
    Code,
    Document,
    Fold,
    Paragraph,
    Section,
    Strong,
    Table,
    Words,
    redacted,
    words,
)
from gitops_mc.core.render.preview.groups import names_told, sorted_by
from gitops_mc.core.render.preview.live import already, merged_sections, read_told, under_way
from gitops_mc.core.render.preview.nodes import nodes
from gitops_mc.core.render.preview.objects import diffs, modules, settings
from gitops_mc.core.render.preview.overview import overview
from gitops_mc.core.render.preview.pools import effective, going_back, place_told, why
from gitops_mc.core.render.preview.times import times

_PROBLEMS, _FOOT = 0.12, 0.03
_SHORT = 12
_CLUSTER = "cluster "


def document_of(preview: Preview, redactor: Redactor) -> Document:
    """With nothing sensitive in it any more; sections that have nothing to say are left out."""
    sections = (
        *_conflict(preview),
        overview(preview),
        nodes(preview),
        why(preview),
        effective(preview),
        *merged_sections(preview),
        modules(preview),
        settings(preview),
        going_back(preview),
        times(preview),
        diffs(preview, redactor.sensitive),
        _problems(preview),
        already(preview),
        under_way(preview),
        _foot(preview),
    )
    revisions = preview.revisions
    return redacted(
        Document(
            name=preview.fleet,
            state=preview.verdict.state,
            line=preview.verdict.line,
            reasons=preview.verdict.reasons,
            sections=tuple(section for section in sections if section.blocks),
            read=read_told(preview),
            command=f"gitops-mc preview --base {_short(revisions.base)} --head {_short(revisions.head)} -o html",
        ),
        redactor.redact,
    )


def _conflict(preview: Preview) -> tuple[Section, ...]:
    if not isinstance(preview.live, Conflict):
        return ()
    told = Paragraph(
        words("Base and head cannot be merged; what merging comes to nobody can say. Both change:")
    )
    paths = Bullets(tuple(words(Code(path)) for path in preview.live.paths), "path")
    return (Section("Conflict", Basis.GIT, (told, paths), _FOOT),)


def _problems(preview: Preview) -> Section:
    changes = preview.changes
    blocks: list[Block] = []
    if changes.fleet_blocked:
        told = "fleet.yaml has an error: the whole fleet stays where it is."
        blocks.append(Paragraph(words(Strong(told))))
    if changes.base_blocked:
        told = "fleet.yaml of the merge base has an error: what changes on which cluster cannot be told."
        blocks.append(Paragraph(words(Strong(told))))
    if preview.only_merged:
        told = "Neither base nor head has these; merging them does:"
        blocks += [Paragraph(words(Strong(told))), _listed(preview.only_merged)]
    if changes.new_problems:
        blocks.append(_listed(changes.new_problems))
    for summary, found in (
        (f"{count(len(changes.old_problems), 'problem')} that base has already", changes.old_problems),
        (f"{count(len(changes.solved), 'problem')} solved", changes.solved),
    ):
        if found:
            blocks.append(Fold(summary, (_listed(found),), "fold"))
    errors = sum(1 for p in changes.new_problems if p.severity is Severity.ERROR)
    title = (
        f"Problems: {count(errors, 'new error')}, {count(len(changes.new_problems) - errors, 'new warning')}"
    )
    return Section(title, Basis.GIT, tuple(blocks), _PROBLEMS)


def _listed(problems: Sequence[Problem]) -> Bullets:
    """What is the same for several clusters stands there once, with whom it blocks or concerns."""
    found = sorted_by((str(p.scope), replace(p, scope=FleetScope())) for p in problems)
    return Bullets(tuple(_problem(problem, scopes) for problem, scopes in found), "problem")


def _problem(problem: Problem, scopes: Sequence[str]) -> Words:
    field = f"{problem.field}: " if problem.field else ""
    hint = f"; {problem.hint}" if problem.hint else ""
    place = place_told(problem.place) if problem.place.file else ""
    return words(
        Strong(problem.severity.value),
        " " if place else "",
        place,
        f": {field}{problem.message}{hint} ",
        Code(problem.rule),
        f" ({_scopes(scopes)})",
    )


def _scopes(scopes: Sequence[str]) -> str:
    clusters = [scope.removeprefix(_CLUSTER) for scope in scopes if scope.startswith(_CLUSTER)]
    others = [scope for scope in scopes if not scope.startswith(_CLUSTER)]
    noun = "cluster" if len(clusters) == 1 else "clusters"
    return ", ".join([*others, *([f"{noun} {names_told(clusters)}"] if clusters else [])])


def _foot(preview: Preview) -> Section:
    revisions = preview.revisions
    behind = f", {count(revisions.behind, 'commit')} behind base" if revisions.moved else ", which is base"
    rows: list[tuple[Words, ...]] = [
        (words("base"), words(Code(_short(revisions.base)))),
        (words("head"), words(Code(_short(revisions.head)))),
        (words("merge base"), words(Code(_short(revisions.merge_base)), behind)),
        (words("clusters"), words(_read_in_full(preview))),
    ]
    if isinstance(preview.live, LivePreview):
        rows.append((words("plan digest"), words(Code(preview.live.outcome.digest))))
        rows.append((words("promise digest"), words(Code(promise_digest(preview.live.outcome)))))
    table = Table(("", ""), tuple(rows), "fact")
    return Section("What this rests on", Basis.FOOT, (table,), _FOOT)


def _read_in_full(preview: Preview) -> str:
    if isinstance(preview.live, LivePreview):
        return f"read {preview.live.at.isoformat(timespec='seconds')}"
    return read_told(preview)


def _short(commit: Commit) -> str:
    return commit[:_SHORT] or "the folder as it lies there"
