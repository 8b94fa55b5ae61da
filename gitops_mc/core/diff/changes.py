"""What a diff says: changes that may be written, and findings that are only shown.

Every value is complete: a writer needs nothing but the change itself, a renderer nothing but the finding.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum, StrEnum
from typing import Any, TypeAlias

from gitops_mc.core.model import JsonObject, Kind, ResourceKey


class Absent(Enum):
    """The value of a field that is not there; `None` would be a JSON null."""

    ABSENT = "absent"


ABSENT = Absent.ABSENT

FieldValue: TypeAlias = "Any | Absent"


class Ownership(StrEnum):
    """How an object is written by server-side apply."""

    KEEP = "keep"
    """Not forced: a conflict with another field manager is an error."""
    TAKE = "take"
    """Forced, once: every conflicting manager is named by `adopt-from` and we have never owned the object."""


class Touch(StrEnum):
    """What a change does to values that stand in the cluster already; decides the approval at first contact."""

    PURE_ADDITION = "pure addition"
    CHANGES_EXISTING = "changes existing"
    """A value somebody set, we included, is changed, taken over (co-owned) or deleted."""


@dataclass(frozen=True, slots=True)
class Written:
    """What the rollout remembers of an object it wrote."""

    digest: str
    """`applied_digest` of the manifest that was written last."""
    uid: str
    name: str
    """metadata.name: for a ModuleInfo it is not the name of its key."""
    leaves: tuple[tuple[str, str], ...] = ()
    """For a ModuleInfo, digest of each field that was written, by dotted path: tells drift from a change in Git."""


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field that differs. Entries of keyed lists are named by their key: `spec.config.storage.files[/etc/a]`."""

    path: str
    before: FieldValue
    after: FieldValue


@dataclass(frozen=True, slots=True)
class Create:
    """The object is not there. A ModuleInfo is POSTed with `body`, the machine kinds are applied."""

    key: ResourceKey
    body: JsonObject
    digest: str
    """To be remembered as `Written.digest` once the write is done."""
    leaves: tuple[tuple[str, str], ...] = ()
    """To be remembered as `Written.leaves`."""

    @property
    def touch(self) -> Touch:
        return Touch.PURE_ADDITION


@dataclass(frozen=True, slots=True)
class Adopt:
    """The values are equal; ownership, or our mark, is missing. Writing it changes no value.

    A ModuleInfo is only remembered: nothing is sent, and `body` is the live object.
    """

    key: ResourceKey
    body: JsonObject
    digest: str
    uid: str
    resource_version: str
    managers: tuple[str, ...]
    """Who owns the values today, by name of field manager; they stay co-owners unless `ownership` is TAKE."""
    ownership: Ownership = Ownership.KEEP
    notes: tuple[str, ...] = ()
    """What a reader of the plan must know, for instance that a co-owner keeps fields alive that we drop later."""
    leaves: tuple[tuple[str, str], ...] = ()

    @property
    def sent(self) -> bool:
        return self.key.kind is not Kind.MODULE_INFO

    @property
    def touch(self) -> Touch:
        return Touch.CHANGES_EXISTING


@dataclass(frozen=True, slots=True)
class Update:
    """The object is there and its values differ. `body` carries the uid and resourceVersion it was decided on.

    For a ModuleInfo `patch` (JSON Patch, with a `test` on what was read) is sent, and `body` is the object after it.
    """

    key: ResourceKey
    body: JsonObject
    digest: str
    uid: str
    resource_version: str
    fields: tuple[FieldChange, ...]
    touch: Touch
    ownership: Ownership = Ownership.KEEP
    managers: tuple[str, ...] = ()
    """Other field managers that own values we take over or share."""
    patch: tuple[JsonObject, ...] = ()
    union_body: JsonObject | None = None
    """MachineConfiguration whose new lists drop entries of ours: desired plus the entries that go, applied first."""
    notes: tuple[str, ...] = ()
    """What will not happen, for instance a field we drop that another manager keeps."""
    leaves: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Delete:
    """A candidate: in the inventory, labelled as ours (a ModuleInfo: inventory alone), gone from Git, not protected.

    Whether it is deleted is decided by the prune policy and its limits. DELETE carries uid and resourceVersion.
    """

    key: ResourceKey
    name: str
    """metadata.name."""
    uid: str
    resource_version: str
    live: JsonObject
    prune: str = ""
    """The live object's `gitops-mc.io/prune` annotation (`disabled`, `confirmed`), or empty."""

    @property
    def touch(self) -> Touch:
        return Touch.CHANGES_EXISTING


Change: TypeAlias = Create | Adopt | Update | Delete


@dataclass(frozen=True, slots=True)
class Drift:
    """Live differs from what we last wrote, and Git has not changed since: listed, never corrected."""

    key: ResourceKey
    fields: tuple[FieldChange, ...]
    """From what Git says (`before`) to what is live (`after`); empty when the whole object is gone."""
    managers: tuple[str, ...]
    """Who owns the drifted fields today."""
    reason: str
    gone: bool = False
    """The whole object is not there any more."""


@dataclass(frozen=True, slots=True)
class Orphan:
    """A live object that is, or looks, ours, and is gone from Git. It stays in the effective config."""

    key: ResourceKey
    name: str
    uid: str
    reason: str
    """Why it is not a candidate for deletion; empty when it is one (it then stands in the changes, too)."""


class RefusalCause(StrEnum):
    """Why a write that Git asks for is not made."""

    DRIFTED = "drifted"
    CONFLICT = "conflict"
    PROTECTED = "protected"
    AMBIGUOUS = "ambiguous"
    """Two live objects of one identity."""
    PLATFORM_MADE = "platform-made"
    """A ClusterPluginInstance on the workload cluster makes the ModuleInfo."""
    BEING_DELETED = "being deleted"
    DOWNGRADE = "downgrade"
    FOREIGN_FLEET = "foreign fleet"
    """Another fleet's label stands on the object."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Fields that another manager owns with another value: what the server would answer to an apply of ours."""

    manager: str
    fields: tuple[str, ...]
    """Dotted, ordered, as the server names them, but keyed items as `files[/etc/a]`."""

    def __str__(self) -> str:
        return f'"{self.manager}" owns {", ".join(self.fields)}'


@dataclass(frozen=True, slots=True)
class Refused:
    """A write that Git asks for and that needs a human first; `reason` says what was found and the way out."""

    key: ResourceKey
    cause: RefusalCause
    reason: str
    managers: tuple[str, ...] = ()
    fields: tuple[FieldChange, ...] = ()
    conflicts: tuple[Conflict, ...] = ()


@dataclass(frozen=True, slots=True)
class NewerLive:
    """The live module is newer than Git: reported, written never, blocks nothing."""

    key: ResourceKey
    live_version: str
    desired_version: str


@dataclass(frozen=True, slots=True)
class NotRead:
    """Objects of this kind are not known, so nothing is said about them: not "no change"."""

    kind: Kind
    reason: str
    since: datetime


@dataclass(frozen=True, slots=True)
class ClusterDiff:
    """Everything that differs between Git and one cluster; each tuple is in the order of the keys."""

    cluster: str
    changes: tuple[Change, ...] = ()
    drifts: tuple[Drift, ...] = ()
    orphans: tuple[Orphan, ...] = ()
    refusals: tuple[Refused, ...] = ()
    newer: tuple[NewerLive, ...] = ()
    not_read: tuple[NotRead, ...] = ()
    unchanged: tuple[ResourceKey, ...] = ()
    """Manifests that stand in the cluster as Git says, ours and marked; where memory was lost it may learn them again."""

    @property
    def touch(self) -> Touch:
        """CHANGES_EXISTING as soon as one change does; deletions that the plan leaves out are counted here, too."""
        if all(change.touch is Touch.PURE_ADDITION for change in self.changes):
            return Touch.PURE_ADDITION
        return Touch.CHANGES_EXISTING
