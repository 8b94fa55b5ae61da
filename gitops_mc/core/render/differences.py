"""Git against live: everything that differs on one cluster, and what is only to be known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import assert_never

from gitops_mc.core.diff import (
    ABSENT,
    Adopt,
    Change,
    ClusterDiff,
    Create,
    Delete,
    Drift,
    FieldChange,
    NewerLive,
    NotRead,
    Orphan,
    Refused,
    Update,
)
from gitops_mc.core.diff.paths import leaves_of, shown
from gitops_mc.core.ignition import Effective, MergeOrder, effective_of, merge
from gitops_mc.core.live import Fact
from gitops_mc.core.model import (
    APPLIED_ANNOTATION,
    FLEET_LABEL,
    JsonObject,
    Kind,
    Known,
    ResourceKey,
)
from gitops_mc.core.plan import applied, diff_of
from gitops_mc.core.policy import FleetPolicy, Sensitive
from gitops_mc.core.render.parts import Part, entry_parts, field_parts
from gitops_mc.core.render.plan_words import deed, refusals, sign
from gitops_mc.core.rollout.preview import ClusterPreview

_ENTRIES = ("spec.config", "spec.kernelArguments")
_OURS = (f"metadata.labels.{FLEET_LABEL}", f"metadata.annotations.{APPLIED_ANNOTATION}")


@dataclass(frozen=True, slots=True)
class ObjectDifference:
    """One object: what is to be done to it, or what was found, and every part that differs."""

    key: ResourceKey
    sign: str
    what: str
    """`create`, `update`, `adopt`, `remember`, `delete`, `drift` or `refused`."""
    parts: tuple[Part, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterDifference:
    """Everything that differs on one cluster; each tuple in the order of the keys."""

    preview: ClusterPreview
    changes: tuple[ObjectDifference, ...] = ()
    drifts: tuple[ObjectDifference, ...] = ()
    """Parts go from what Git says to what is live."""
    refused: tuple[ObjectDifference, ...] = ()
    orphans: tuple[Orphan, ...] = ()
    newer: tuple[NewerLive, ...] = ()
    not_read: tuple[NotRead, ...] = ()

    @property
    def other_refusals(self) -> tuple[str, ...]:
        """What is refused and belongs to no object in `refused`."""
        return tuple(refusals(self.preview, frozenset(d.key for d in self.refused)))


def differences(cluster: ClusterPreview, policy: FleetPolicy) -> ClusterDifference:
    """Of a cluster that has no plan nothing is told but why."""
    plan = cluster.plan
    if plan is None:
        return ClusterDifference(cluster)
    found = diff_of(cluster.desired, cluster.live, policy, cluster.past)
    planned = {write.key for write in plan.writes}
    scene = _Scene(cluster, found, policy.sensitive)
    return ClusterDifference(
        cluster,
        changes=tuple(
            scene.change(c) for c in found.changes if not isinstance(c, Delete) or c.key in planned
        ),
        drifts=tuple(scene.drift(d) for d in found.drifts),
        refused=tuple(scene.refusal(r) for r in found.refusals),
        orphans=plan.kept,
        newer=found.newer,
        not_read=found.not_read,
    )


@dataclass(frozen=True, slots=True)
class _Scene:
    cluster: ClusterPreview
    found: ClusterDiff
    sensitive: Sensitive

    def change(self, change: Change) -> ObjectDifference:
        match change:
            case Create():
                parts = self._parts(change.key, None, change.body, _all_fields(change.key.kind, change.body))
                notes: tuple[str, ...] = ()
            case Update():
                parts = self._parts(change.key, self._live(change.key), change.body, change.fields)
                notes = change.notes
            case Adopt():
                parts = iter(())
                owners = f"no value changes; owned by {', '.join(change.managers)}" if change.managers else ""
                notes = (*((owners,) if owners else ()), *change.notes)
            case Delete():
                parts = self._parts(change.key, change.live, None, ())
                notes = ()
            case _:
                assert_never(change)
        return ObjectDifference(change.key, sign(change), deed(change), tuple(parts), notes)

    def drift(self, drift: Drift) -> ObjectDifference:
        """From what Git says to what is live. An object that is gone has no parts."""
        owners = (f"by {', '.join(drift.managers)}",) if drift.managers else ()
        wanted, live = self._desired(drift.key), self._live(drift.key)
        parts: Iterator[Part] = iter(())
        if live is not None and drift.fields:
            said = None if wanted is None else applied(live, wanted)
            parts = self._parts(drift.key, said, live, drift.fields)
        return ObjectDifference(drift.key, "!", "drift", tuple(parts), (drift.reason, *owners))

    def refusal(self, refused: Refused) -> ObjectDifference:
        wanted, live = self._desired(refused.key), self._live(refused.key)
        parts: Iterator[Part] = iter(())
        if refused.fields and wanted is not None:
            parts = self._parts(refused.key, live, wanted, refused.fields)
        return ObjectDifference(refused.key, "x", "refused", tuple(parts), (refused.reason,))

    def _parts(
        self,
        key: ResourceKey,
        before: JsonObject | None,
        after: JsonObject | None,
        fields: tuple[FieldChange, ...],
    ) -> Iterator[Part]:
        """The entries of a MachineConfig, and the fields of everything else."""
        if key.kind is Kind.MACHINE_CONFIG:
            then = after if before is None or after is None else applied(before, after)
            yield from entry_parts(_effective(before), _effective(then), self.sensitive)
            fields = tuple(f for f in fields if not f.path.startswith(_ENTRIES))
        module = key.name if key.kind is Kind.MODULE_INFO else None
        yield from field_parts(fields, self.sensitive, module=module)

    def _desired(self, key: ResourceKey) -> JsonObject | None:
        manifest = self.cluster.desired.get(key)
        return None if manifest is None else manifest.body

    def _live(self, key: ResourceKey) -> JsonObject | None:
        """The live object of a machine kind. A ModuleInfo's fields tell all there is to show of it."""
        live = self.cluster.live
        facts: Mapping[Kind, Fact] = {
            Kind.MACHINE_CONFIGURATION: live.policies,
            Kind.MACHINE_CONFIG_POOL: live.pools,
            Kind.MACHINE_CONFIG: live.configs,
        }
        fact = facts.get(key.kind)
        if key.kind is Kind.MODULE_INFO:
            return {}
        return fact.value.get(key.name) if isinstance(fact, Known) else None


def _effective(body: JsonObject | None) -> Effective:
    return merge((), MergeOrder.ALPHABETICAL) if body is None else effective_of(body)


def _all_fields(kind: Kind, body: JsonObject) -> tuple[FieldChange, ...]:
    """Every field of a new object, but our own marks."""
    leaves = ((shown(path), value) for path, value in leaves_of(kind, body).items())
    return tuple(FieldChange(path, ABSENT, value) for path, value in leaves if path not in _OURS)
