"""Desired x live -> Create | Adopt | Update | Delete, and what is only shown: drift, orphans, refusals."""

from gitops_mc.core.diff.changes import (
    ABSENT,
    Absent,
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
    Ownership,
    RefusalCause,
    Refused,
    Touch,
    Update,
    Written,
)
from gitops_mc.core.diff.cluster import diff_cluster
from gitops_mc.core.diff.versions import compare_versions

__all__ = [
    "ABSENT",
    "Absent",
    "Adopt",
    "Change",
    "ClusterDiff",
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
    "compare_versions",
    "diff_cluster",
]
