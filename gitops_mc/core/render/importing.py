"""What an import writes and leaves out, and what to do next: for people, and for programs."""

from __future__ import annotations

from collections.abc import Iterator

from gitops_mc.core.authoring.importing import Brought, Import
from gitops_mc.core.authoring.secrets import MARKED
from gitops_mc.core.authoring.writing import Style
from gitops_mc.core.diff import Adopt, Create, Delete, Update
from gitops_mc.core.diff.changes import Change, Refused
from gitops_mc.core.model import JsonObject, ResourceKey, count
from gitops_mc.core.render.commands import Typed
from gitops_mc.core.render.lines import Line, Tone, one_line
from gitops_mc.core.render.problems import problem_json, problems_text


def named_object(key: ResourceKey) -> str:
    return f"{key.kind.value} {key.name}"


def import_text(found: Import, tense: str, typed: Typed) -> Iterator[Line]:
    """`tense` is what becomes of the files: `written`, `to write`."""
    if not found.brought:
        yield Line(f"{found.cluster}: nothing to import", Tone.HEAD)
    else:
        objects, files = count(len(found.brought), "object"), count(len(found.files), "file")
        yield Line(f"{found.cluster}: {objects} in {files} {tense}", Tone.HEAD)
    for brought in found.brought:
        yield from _brought(brought)
    if found.left_out:
        yield Line("left out", Tone.HEAD)
    for left in found.left_out:
        yield Line(one_line(f"  - {named_object(left.key)}: {left.reason}"), Tone.DIM)
    if found.brought:
        yield from _outcome(found)
        yield from _next(found, typed)


def _brought(brought: Brought) -> Iterator[Line]:
    draft, picked = brought.draft, brought.picked
    beside = f", with {count(len(draft.payload), 'file')} beside it" if draft.payload else ""
    yield Line(one_line(f"  + {draft.manifest.path}: {named_object(picked.key)}{beside}"), Tone.ADDED)
    if brought.style is Style.VERBATIM:
        yield Line(one_line(f"      contents stay data URLs: {brought.why_verbatim}"), Tone.DIM)
    for note in picked.notes:
        yield Line(one_line(f"      {note}"), Tone.WARN)


def secrets_text(found: Import) -> Iterator[Line]:
    """What would stand readable in Git; nothing where there is nothing."""
    if not found.secrets:
        return
    places = count(len(found.secrets), "place")
    yield Line(
        f"warning: {places} may hold a secret, and Git shows it to everybody who reads the repository, for ever:",
        Tone.WARN,
    )
    for secret in found.secrets:
        yield Line(one_line(f"  {secret.place} of {named_object(secret.key)}: {secret.why}"), Tone.WARN)
    yield Line("hint: before you commit, change them, or import again with --secrets leave-out", Tone.DIM)
    unmarked = [secret.pattern for secret in found.secrets if secret.why != MARKED]
    if unmarked:
        patterns = ", ".join(f'"{pattern}"' for pattern in dict.fromkeys(unmarked))
        yield Line(
            one_line(f"hint: so that no output shows them, in fleet.yaml: sensitive: [{patterns}]"), Tone.DIM
        )


def _outcome(found: Import) -> Iterator[Line]:
    adopted = count(found.adopted, "object")
    beside = found.beside
    if found.adopted:
        told = f"a rollout adopts {adopted}, which writes nothing but our marks"
    else:
        told = "a rollout finds all of it as it is"
    rest = "; nothing else happens" if not beside and not found.problems else ""
    yield Line(f"{told}{rest}", Tone.GOOD if rest else Tone.PLAIN)
    if beside:
        yield Line(
            "but what the repository had for this cluster before differs from what stands there:", Tone.WARN
        )
        yield from (Line(one_line(f"  {_said(change)}"), Tone.WARN) for change in beside)
    if found.problems:
        yield Line(f"{found.cluster} is blocked until this is mended:", Tone.BAD)
        yield from problems_text(found.problems)


def _said(change: Change | Refused) -> str:
    words = {Create: "create", Update: "update", Adopt: "adopt", Delete: "delete", Refused: "refused"}
    reason = f": {change.reason}" if isinstance(change, Refused) else ""
    return f"{words[type(change)]} {named_object(change.key)}{reason}"


def _next(found: Import, typed: Typed) -> Iterator[Line]:
    managers = sorted({manager for brought in found.brought for manager in brought.picked.managers})
    yield Line("next", Tone.HEAD)
    plan, apply = f"gitops-mc plan --cluster {found.cluster}", f"gitops-mc apply --approve {found.cluster}"
    yield Line(one_line(f"  {typed.command(plan)}"))
    yield Line(one_line(f"  commit clusters/{found.cluster}, then {typed.command(apply)}"))
    if managers:
        own = f"{', '.join(managers)} {'owns' if len(managers) == 1 else 'own'} values of it, too"
        yield Line(
            one_line(f"  {own}: the first change of one in Git is refused, with what takes it over"), Tone.DIM
        )


def import_json(found: Import) -> JsonObject:
    return {
        "cluster": found.cluster,
        "objects": [_brought_json(brought) for brought in found.brought],
        "leftOut": [
            {"kind": left.key.kind.value, "name": left.key.name, "reason": left.reason}
            for left in found.left_out
        ],
        "secrets": [
            {
                "kind": secret.key.kind.value,
                "name": secret.key.name,
                "place": secret.place,
                "reason": secret.why,
                "pattern": secret.pattern,
            }
            for secret in found.secrets
        ],
        "adopted": found.adopted,
        "beside": [_said(change) for change in found.beside],
        "problems": [problem_json(problem) for problem in found.problems],
    }


def _brought_json(brought: Brought) -> JsonObject:
    key = brought.picked.key
    return {
        "kind": key.kind.value,
        "name": key.name,
        "manifest": brought.draft.manifest.path,
        "files": [file.path for file in brought.draft.payload],
        "contents": brought.style.value,
        "managers": list(brought.picked.managers),
        "notes": [*brought.picked.notes, *([brought.why_verbatim] if brought.why_verbatim else [])],
    }
