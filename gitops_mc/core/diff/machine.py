"""The three machine kinds, which are written by server-side apply: one desired object against the live one."""

from __future__ import annotations

import json
from typing import TypeAlias

from gitops_mc.core.diff.case import Case, Fleet, Unchanged, gone_by_hand
from gitops_mc.core.diff.changes import (
    ABSENT,
    Adopt,
    Create,
    Drift,
    FieldChange,
    Ownership,
    RefusalCause,
    Refused,
    Update,
)
from gitops_mc.core.diff.comparison import compare_object, turned
from gitops_mc.core.diff.digests import applied_digest
from gitops_mc.core.diff.paths import PAUSED, Path, said_only, shown, value_at, with_value
from gitops_mc.core.ignition import keep_live_encoding
from gitops_mc.core.model import (
    ABORT_ANNOTATION,
    ADOPT_ANNOTATION,
    APPLIED_ANNOTATION,
    BRACKET_ANNOTATION,
    FLEET_LABEL,
    JsonObject,
    Kind,
    Manifest,
    annotations_of,
    being_deleted,
    is_protected_config,
    labels_of,
    metadata,
    resource_version,
    uid_of,
)
from gitops_mc.core.remembered import Remembered

Found: TypeAlias = Create | Adopt | Update | Drift | Refused | Unchanged


def marked_body(manifest: Manifest, digest: str, fleet: str, live: JsonObject | None) -> JsonObject:
    """What is applied: the manifest with our marks, without `paused`, and with what the write was decided on.

    What says nothing in a manifest is left out of what is sent (`said_only`).
    """
    body = manifest.body if live is None else _kept(manifest, live)
    meta = metadata(body)
    marked = {
        **meta,
        "labels": {**(meta.get("labels") or {}), FLEET_LABEL: fleet},
        "annotations": {**(meta.get("annotations") or {}), APPLIED_ANNOTATION: digest},
    }
    if live is not None:
        marked |= {"uid": uid_of(live), "resourceVersion": resource_version(live)}
    spec = said_only(manifest.key.kind, body.get("spec") or {})
    if manifest.key.kind is Kind.MACHINE_CONFIG_POOL:
        spec = {field: value for field, value in spec.items() if field != "paused"}
    return {**body, "metadata": marked, "spec": spec}


def diff_machine_object(manifest: Manifest, live: JsonObject | None, fleet: Fleet) -> Found:
    """What is to be done, or said, about one manifest of a machine kind. `live` is None where there is no object."""
    key = manifest.key
    return _FOUND.get(
        (manifest, live, fleet.inventory.get(key)),
        (fleet.name, key in fleet.git_wins, key in fleet.proven),
        lambda: _diff(manifest, live, fleet),
    )


_FOUND: Remembered[Found] = Remembered()


def _diff(manifest: Manifest, live: JsonObject | None, fleet: Fleet) -> Found:
    key = manifest.key
    digest = applied_digest(key.kind, key.name, manifest.body)
    if key.kind is Kind.MACHINE_CONFIG and is_protected_config(key.name):
        return Refused(
            key,
            RefusalCause.PROTECTED,
            "the name belongs to the operator and is never written; choose a name such as 50-worker-<topic>",
        )
    if live is None:
        return _missing(manifest, digest, fleet)
    body = marked_body(manifest, digest, fleet.name, live)
    case = Case(fleet, manifest, live, compare_object(key.kind, body, live), digest)
    if being_deleted(live):
        return Refused(
            key,
            RefusalCause.BEING_DELETED,
            "it is being deleted; wait until it is gone, or remove its manifest",
        )
    stands = case.compared.equal and not case.drifted  # then there is nothing left that Git could win
    if (case.last == digest or case.set_back) and (stands or not case.git_wins):
        return _as_written(case)
    return _changed(case)


def _missing(manifest: Manifest, digest: str, fleet: Fleet) -> Create | Drift | Refused:
    if gone := gone_by_hand(manifest.key, digest, fleet):
        return gone
    key = manifest.key
    return Create(key, marked_body(manifest, digest, fleet.name, None), digest)


def _as_written(case: Case) -> Drift | Unchanged:
    """Git says what we wrote last: nothing is written, whatever has become of it."""
    if not case.drifted and case.compared.equal:
        return _paused_otherwise(case) or _mark_lost(case) or Unchanged(case.key)
    fields = turned(case.compared.fields())
    lost = [path for path in case.compared.wanted if not case.compared.owners.we_own(path)]
    managers = case.compared.owners.among([*lost, *case.compared.differing])
    return Drift(case.key, fields, managers, _drift_reason(case, managers, lost))


def _mark_lost(case: Case) -> Drift | None:
    """Our label or annotation is gone: told, since nothing of ours is deleted without them; the next write sets them."""
    label = labels_of(case.live).get(FLEET_LABEL)
    lost = [] if label is not None and case.fleet.is_ours(label) else [f"label {FLEET_LABEL}"]
    lost += [] if APPLIED_ANNOTATION in annotations_of(case.live) else [f"annotation {APPLIED_ANNOTATION}"]
    if not lost:
        return None
    reason = (
        f"values are as in Git, but our {' and '.join(lost)} was removed or changed since we wrote it; without it the "
        "object is never deleted; the next change of it in Git sets it again"
    )
    return Drift(case.key, (), (), reason)


def _paused_otherwise(case: Case) -> Drift | None:
    """A pool whose manifest sets `paused`, which no apply carries: told while it differs and nobody is rolling it."""
    wanted, standing = value_at(case.manifest.body, PAUSED), value_at(case.live, PAUSED)
    unset = case.key.kind is not Kind.MACHINE_CONFIG_POOL or wanted in (ABSENT, None)
    ours = {BRACKET_ANNOTATION, ABORT_ANNOTATION} & annotations_of(case.live).keys()
    if unset or ours or (wanted is True) == (standing is True):
        return None
    reason = (
        f"Git says paused: {json.dumps(wanted)}, the cluster does not; "
        "it takes effect at the end of the next step that pauses and releases the pool"
    )
    return Drift(
        case.key, (FieldChange(shown(PAUSED), wanted, standing),), case.compared.owners.of(PAUSED), reason
    )


def _drift_reason(case: Case, managers: tuple[str, ...], lost: list[Path]) -> str:
    by = f" by {', '.join(managers)}" if managers else ""
    if case.set_back and not case.drifted:
        return "it was set back to an earlier state since we wrote it (a restored backup?), or another gitops-mc wrote it"
    if case.compared.differing or case.compared.going:
        return f"it was changed{by} since we wrote it"
    if case.compared.reordered:
        return "our entries were moved to another order since we wrote them; it has no effect"
    taken = ", ".join(shown(path) for path in lost) or "the mark of what was applied"
    return f"values are as in Git, but {taken} was taken over{by} since we wrote it"


def _changed(case: Case) -> Adopt | Update | Drift | Refused:
    """Git says something else than what we wrote last, or we never wrote it."""
    if refusal := _foreign(case) or _drift_refusal(case):
        return refusal
    ownership = Ownership.KEEP
    if case.compared.conflicts:
        if not _may_take(case):
            return _conflict_refusal(case)
        ownership = Ownership.TAKE
    return _adopt(case, ownership) if case.compared.equal else _update(case, ownership)


def _foreign(case: Case) -> Refused | None:
    label = labels_of(case.live).get(FLEET_LABEL)
    if label is None or case.fleet.is_ours(label) or case.written is not None:
        return None
    return Refused(
        case.key,
        RefusalCause.FOREIGN_FLEET,
        f"it carries the label {FLEET_LABEL}={label}: another fleet governs it; "
        f"take it out of one of the two repositories and remove the label",
    )


def _drift_refusal(case: Case) -> Refused | None:
    """Drifted, and Git changes it too. Where Git agrees with live in all that somebody touched, a side has been
    taken already: what we still own has the value we wrote.
    """
    if case.git_wins or case.compared.equal or not case.drifted:
        return None
    if not case.remade and not case.compared.contested:
        return None
    managers = case.compared.owners.among(case.compared.contested)
    by = f" by {', '.join(managers)}" if managers else ""
    what = "deleted and made again" if case.remade else "changed"
    return Refused(
        case.key,
        RefusalCause.DRIFTED,
        f"it was {what}{by} since we wrote it, and Git changes it too; a human says which side wins: put the "
        "live values into Git, or undo the change in the cluster, or accept it for Git",
        managers,
        case.compared.fields(),
    )


def _may_take(case: Case) -> bool:
    named = {name.strip() for name in case.manifest.annotations.get(ADOPT_ANNOTATION, "").split(",")}
    conflicting = {conflict.manager for conflict in case.compared.conflicts}
    return conflicting <= named and (case.git_wins or _nobody_has_edited(case))


def _nobody_has_edited(case: Case) -> bool:
    """We have never owned it; or all that we wrote last stands as we wrote it, so that another manager that owns it too has decided
    nothing since: what was adopted with equal values stays with two owners. A field that he alone owns he has set since.
    """
    if not case.owned_before:
        return True
    his_alone = any(case.compared.owners.of(path) for path in case.compared.contested)
    return case.last is not None and not case.drifted and not his_alone and not case.compared.doomed


def _conflict_refusal(case: Case) -> Refused:
    conflicts = case.compared.conflicts
    managers = tuple(conflict.manager for conflict in conflicts)
    if not _nobody_has_edited(case):
        way_out = (
            f"we have owned the object before, so {ADOPT_ANNOTATION} alone does not force it: put the live values "
            "into Git, or undo the other's change, or name the managers there and accept it for Git"
        )
    else:
        way_out = f"to take these fields over, set {ADOPT_ANNOTATION}: {','.join(managers)} on the manifest"
    return Refused(
        case.key,
        RefusalCause.CONFLICT,
        f"it conflicts with other field managers: {'; '.join(map(str, conflicts))}; {way_out}",
        managers,
        case.compared.fields(),
        conflicts,
    )


def _adopt(case: Case, ownership: Ownership) -> Adopt:
    return Adopt(
        case.key,
        case.compared.body,
        case.digest,
        uid_of(case.live),
        resource_version(case.live),
        case.compared.shared_with,
        ownership,
        _notes(case),
    )


def _update(case: Case, ownership: Ownership) -> Update:
    return Update(
        case.key,
        case.compared.body,
        case.digest,
        uid_of(case.live),
        resource_version(case.live),
        case.compared.fields(),
        case.compared.touch(),
        ownership,
        case.compared.shared_with,
        union_body=_union(case),
        notes=_notes(case),
    )


def _notes(case: Case) -> tuple[str, ...]:
    """What stays in spite of Git, now or later, because another manager owns it too."""
    notes = []
    conflicting = {
        (conflict.manager, field) for conflict in case.compared.conflicts for field in conflict.fields
    }
    for manager in case.compared.shared_with:
        owned = [shown(path) for path in case.compared.wanted if manager in case.compared.owners.of(path)]
        if kept := [field for field in owned if (manager, field) not in conflicting]:
            fields = ", ".join(kept)
            notes.append(f'"{manager}" owns {fields} too: dropping it from Git later does not remove it')
    for path in case.compared.staying:
        others = ", ".join(case.compared.owners.of(path))
        notes.append(f"{shown(path)} is dropped from Git but stays: {others} owns it too")
    return tuple(notes)


def _union(case: Case) -> JsonObject | None:
    """For a MachineConfiguration that drops policy of ours: the desired policy together with what goes."""
    going = case.compared.going
    if case.key.kind is not Kind.MACHINE_CONFIGURATION or not going:
        return None
    union: JsonObject = case.compared.body
    for path in going:
        union = with_value(union, path, case.compared.there[path])
    digest = applied_digest(case.key.kind, case.key.name, union)
    marked: JsonObject = with_value(union, ("metadata", "annotations", APPLIED_ANNOTATION), digest)
    return marked


def _kept(manifest: Manifest, live: JsonObject) -> JsonObject:
    if manifest.key.kind is not Kind.MACHINE_CONFIG:
        return manifest.body
    return keep_live_encoding(manifest.body, live)
