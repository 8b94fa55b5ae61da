"""Desired x live -> Create | Adopt | Update | Delete, and what is only shown: drift, orphans, refusals."""

from gitops_mc.core.diff.changes import (
    ABSENT,
    Absent,
    Adopt,
    Change,
    ClusterDiff,
    Conflict,
    Create,
    Delete,
    Drift,
    FieldChange,
    NewerLive,
    NotRead,
    Orphan,
    Ownership,
    RefusalCause,
    Refused,
    Touch,
    Update,
    Written,
)
from gitops_mc.core.diff.cluster import diff_cluster
from gitops_mc.core.diff.digests import applied_digest
from gitops_mc.core.diff.gone import never_deleted
from gitops_mc.core.diff.identity import final_name

__all__ = [
    "ABSENT",
    "Absent",
    "Adopt",
    "Change",
    "ClusterDiff",
    "Conflict",
    "Create",
    "Delete",
    "Drift",
    "FieldChange",
    "NewerLive",
    "NotRead",
    "Orphan",
    "Ownership",
    "RefusalCause",
    "Refused",
    "Touch",
    "Update",
    "Written",
    "applied_digest",
    "diff_cluster",
    "final_name",
    "never_deleted",
]
