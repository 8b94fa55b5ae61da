"""ModuleInfo, which is not applied: created under its final name, changed by JSON Patch, owned by what we remember.

The platform re-creates the object, fills defaults into spec.config and may lose our labels (ACP docs), so it is told
by module and cluster, and compared as a subset of the fields that Git sets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from gitops_mc.core.diff.case import Fleet, Unchanged, gone_by_hand
from gitops_mc.core.diff.changes import (
    ABSENT,
    Adopt,
    Create,
    Drift,
    FieldChange,
    NewerLive,
    RefusalCause,
    Refused,
    Touch,
    Update,
    Written,
)
from gitops_mc.core.diff.digests import PRUNE_MARK, applied_digest, leaf_digests
from gitops_mc.core.diff.identity import final_name
from gitops_mc.core.diff.paths import Path, leaves_of, same, shown, value_at, with_value
from gitops_mc.core.model import (
    CLUSTER_LABEL,
    DOWNGRADE_ANNOTATION,
    FLEET_LABEL,
    MODULE_LABEL,
    JsonObject,
    Manifest,
    annotations_of,
    being_deleted,
    labels_of,
    metadata,
    name_of,
    resource_version,
    uid_of,
)
from gitops_mc.core.versions import compare_versions

_VERSION: Path = ("spec", "version")
_CREATED_BY = ("create-by", "cpaas.io/create-by")
_TRANSFORMER = "cluster-transformer"


class _Difference(NamedTuple):
    """A field of ours that differs, at the highest place where live has nothing to compare with."""

    path: Path
    before: Any
    after: Any


def diff_module(
    manifest: Manifest, instances: tuple[JsonObject, ...], fleet: Fleet
) -> tuple[Create | Adopt | Update | Drift | Refused | Unchanged | NewerLive, ...]:
    """What is to be done, or said, about one ModuleInfo, given all its live instances, those being deleted included."""
    key, standing = manifest.key, [i for i in instances if not being_deleted(i)]
    if len(standing) > 1:
        names = ", ".join(sorted(name_of(instance) for instance in standing))
        return (
            Refused(
                key,
                RefusalCause.AMBIGUOUS,
                f"it stands in the cluster {len(standing)} times ({names}); delete all but one",
            ),
        )
    if standing:
        return _ModuleCase(manifest, standing[0], fleet).decide()
    if instances:
        reason = f"{name_of(instances[0])} is being deleted; wait until it is gone, or remove its manifest"
        return (Refused(key, RefusalCause.BEING_DELETED, reason),)
    return (_missing(manifest, fleet),)


def _missing(manifest: Manifest, fleet: Fleet) -> Create | Drift | Refused:
    key, digest = manifest.key, _digest(manifest)
    if gone := gone_by_hand(key, digest, fleet):
        return gone
    labels = {CLUSTER_LABEL: key.cluster, MODULE_LABEL: key.name, **labels_of(manifest.body)}
    meta = {
        **metadata(manifest.body),
        "name": final_name(key.cluster, key.name),
        "labels": {**labels, FLEET_LABEL: fleet.name},
    }
    return Create(key, {**manifest.body, "metadata": meta}, digest, leaf_digests(key.kind, manifest.body))


def _digest(manifest: Manifest) -> str:
    return applied_digest(manifest.key.kind, manifest.key.name, manifest.body)


class _ModuleCase:
    """One manifest and its one live instance."""

    def __init__(self, manifest: Manifest, live: JsonObject, fleet: Fleet) -> None:
        self.manifest = manifest
        self.key = manifest.key
        self.live = live
        self.written = fleet.inventory.get(manifest.key)
        self.git_wins = manifest.key in fleet.git_wins
        self.digest = _digest(manifest)
        self.wanted = _version(manifest.body)
        self.standing = _version(live)
        self.order = compare_versions(self.standing, self.wanted) if self.standing and self.wanted else -1
        """Live version against the wanted one, as compare_versions gives it."""
        self.differences = tuple(_differences(manifest, live, self.written))

    def decide(
        self,
    ) -> tuple[Create | Adopt | Update | Drift | Refused | Unchanged | NewerLive, ...]:
        if refusal := self._platform_made() or self._downgrade():
            return (refusal,)
        newer = self._newer()
        due = tuple(d for d in self.differences if not (newer and d.path == _VERSION))
        unchanged_in_git = self.written is not None and self.written.digest == self.digest
        if unchanged_in_git and not (self.git_wins and due):
            return (*newer, self._drift(due) if due else self._unchanged())
        if not due:
            return (*newer, self._adopt())
        return (*newer, self._drift_refusal(due) or self._update(due))

    def _platform_made(self) -> Refused | None:
        marks = {**annotations_of(self.live), **labels_of(self.live)}
        if not any(marks.get(mark) == _TRANSFORMER for mark in _CREATED_BY):
            return None
        return Refused(
            self.key,
            RefusalCause.PLATFORM_MADE,
            f"it is made by the platform from a ClusterPluginInstance on {self.key.cluster} "
            f"(create-by: {_TRANSFORMER}); delete that one, or remove the manifest",
        )

    def _downgrade(self) -> Refused | None:
        if self.order in (-1, 0):
            return None
        allowed = annotations_of(self.manifest.body).get(DOWNGRADE_ANNOTATION)
        if allowed == self.wanted:
            return None
        if self.order == 1 and allowed is None and not self._lowered_in_git():
            return None
        what = "is newer than" if self.order == 1 else "cannot be ordered against"
        return Refused(
            self.key,
            RefusalCause.DOWNGRADE,
            f"live version {self.standing} {what} {self.wanted} in Git; to go there all the same, set "
            f'{DOWNGRADE_ANNOTATION}: "{self.wanted}" on the manifest',
        )

    def _lowered_in_git(self) -> bool:
        """The version that stands is the one we wrote, so Git went down."""
        if self.written is None or self.written.digest == self.digest:
            return False
        leaf = dict(leaf_digests(self.key.kind, {"spec": {"version": self.standing}}))
        return leaf.items() <= dict(self.written.leaves).items()

    def _newer(self) -> tuple[NewerLive, ...]:
        if self.order != 1 or annotations_of(self.manifest.body).get(DOWNGRADE_ANNOTATION) == self.wanted:
            return ()
        return (NewerLive(self.key, self.standing, self.wanted),)

    def _drift(self, due: tuple[_Difference, ...]) -> Drift:
        fields = tuple(FieldChange(shown(d.path), d.after, d.before) for d in due)
        return Drift(self.key, fields, (), "it was changed since we wrote it")

    def _unchanged(self) -> Unchanged:
        return Unchanged(self.key)

    def _adopt(self) -> Adopt:
        """Nothing is sent. Fields that left Git cannot be told from the platform's defaults, so they stay."""
        return Adopt(
            self.key,
            self.live,
            self.digest,
            uid_of(self.live),
            resource_version(self.live),
            (),
            notes=self._left_behind(),
            leaves=leaf_digests(self.key.kind, self.manifest.body),
        )

    def _left_behind(self) -> tuple[str, ...]:
        gone = self._written_fields() - set(dict(leaf_digests(self.key.kind, self.manifest.body)))
        there = {shown(path) for path in leaves_of(self.key.kind, self.live)}
        return tuple(
            f"{field} left Git and stays in the cluster: the platform may have taken it for its own"
            for field in sorted(gone & there)
        )

    def _written_fields(self) -> set[str]:
        return set() if self.written is None else {path for path, _ in self.written.leaves}

    def _drift_refusal(self, due: tuple[_Difference, ...]) -> Refused | None:
        """Somebody changed a field that we wrote, and Git does not agree with what stands there now."""
        if self.written is None or self.git_wins:
            return None
        known, live = dict(self.written.leaves), dict(leaf_digests(self.key.kind, self.live))
        ours = leaves_of(self.key.kind, self.manifest.body)
        touched = {path for path in known if live.get(path) != known[path]}
        touched -= {path for path in touched if path == shown(_VERSION) and self.order == 1}
        contested = tuple(
            d for d in due if any(shown(p) in touched for p in ours if p[: len(d.path)] == d.path)
        )
        if not contested:
            return None
        fields = tuple(FieldChange(shown(d.path), d.before, d.after) for d in due)
        return Refused(
            self.key,
            RefusalCause.DRIFTED,
            f"{', '.join(shown(d.path) for d in contested)} was changed since we wrote it, and Git says "
            "something else; a human says which side wins: put the live values into Git, or undo the change in the "
            "cluster, or accept it for Git",
            (),
            fields,
        )

    def _update(self, due: tuple[_Difference, ...]) -> Update:
        body: JsonObject = self.live
        for difference in due:
            body = with_value(body, difference.path, difference.after)
        return Update(
            self.key,
            body,
            self.digest,
            uid_of(self.live),
            resource_version(self.live),
            tuple(FieldChange(shown(d.path), d.before, d.after) for d in due),
            Touch.CHANGES_EXISTING,
            patch=_patch(self.live, due),
            notes=self._left_behind(),
            leaves=leaf_digests(self.key.kind, self.manifest.body),
        )


def _version(body: JsonObject) -> str:
    found = value_at(body, _VERSION)
    return "" if found is ABSENT else str(found)


def _differences(manifest: Manifest, live: JsonObject, written: Written | None) -> Iterator[_Difference]:
    yield from _subset(manifest.body.get("spec"), live.get("spec"), ("spec",))
    wanted, standing = (value_at(body, PRUNE_MARK) for body in (manifest.body, live))
    ours = written is not None and any(path == shown(PRUNE_MARK) for path, _ in written.leaves)
    if not same(wanted, standing) and (wanted is not ABSENT or ours):
        yield _Difference(PRUNE_MARK, standing, wanted)


def _subset(wanted: Any, live: Any, path: Path) -> Iterator[_Difference]:
    """Maps by the keys that Git sets, everything else whole; a null says nothing."""
    if isinstance(wanted, dict) and isinstance(live, dict):
        for field in sorted(wanted):
            yield from _subset(wanted[field], live.get(field, ABSENT), (*path, field))
    elif wanted is not None and not (wanted == {} and live is ABSENT) and not same(wanted, live):
        yield _Difference(path, live, wanted)


def _patch(live: JsonObject, due: tuple[_Difference, ...]) -> tuple[JsonObject, ...]:
    """JSON Patch (RFC 6902) that fails where the object, or its spec, is no longer what was read."""
    operations: list[JsonObject] = [
        {"op": "test", "path": "/metadata/uid", "value": uid_of(live)},
        {"op": "test", "path": "/spec", "value": live.get("spec")},
    ]
    if any(d.path == PRUNE_MARK for d in due) and not isinstance(metadata(live).get("annotations"), dict):
        operations.append({"op": "add", "path": "/metadata/annotations", "value": {}})
    for difference in due:
        path = _pointer(difference.path)
        if difference.after is ABSENT:
            operations.append({"op": "remove", "path": path})
        else:
            action = "add" if difference.before is ABSENT else "replace"
            operations.append({"op": action, "path": path, "value": difference.after})
    return tuple(operations)


def _pointer(path: Path) -> str:
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)
