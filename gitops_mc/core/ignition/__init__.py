"""Ignition: what a MachineConfig says, how configs merge, and whether two of them say the same.

Bodies are raw JSON, desired or live. Platform facts are from ACP's docs and from OpenShift's machine-config-operator,
its public relative.
"""

from gitops_mc.core.ignition.comparing import (
    ChangeKind,
    EntryChange,
    Mismatch,
    MismatchKind,
    compare,
    decoded_fields,
    entries_changed,
    fitting_orders,
    with_operator_files,
)
from gitops_mc.core.ignition.contents import ReadFile, resolve_contents
from gitops_mc.core.ignition.data_urls import (
    MAX_DECODED_BYTES,
    DecodeFault,
    SourceDecodeError,
    decode_source,
    encode_source,
)
from gitops_mc.core.ignition.entries import KERNEL_ARGUMENTS, Entry, EntryKind, FieldPath
from gitops_mc.core.ignition.live_encoding import keep_live_encoding
from gitops_mc.core.ignition.merging import (
    MAX_SPEC_BYTES,
    Effective,
    EffectiveEntry,
    KernelArgument,
    MergeOrder,
    effective_of,
    effective_spec,
    merge,
    spec_size,
    wholly_overridden,
)
from gitops_mc.core.ignition.reading import Dropin, FileEntry, Reading, Section, Unit, User, read

__all__ = [
    "KERNEL_ARGUMENTS",
    "MAX_DECODED_BYTES",
    "MAX_SPEC_BYTES",
    "ChangeKind",
    "DecodeFault",
    "Dropin",
    "Effective",
    "EffectiveEntry",
    "Entry",
    "EntryChange",
    "EntryKind",
    "FieldPath",
    "FileEntry",
    "KernelArgument",
    "MergeOrder",
    "Mismatch",
    "MismatchKind",
    "ReadFile",
    "Reading",
    "Section",
    "SourceDecodeError",
    "Unit",
    "User",
    "compare",
    "decode_source",
    "decoded_fields",
    "effective_of",
    "effective_spec",
    "encode_source",
    "entries_changed",
    "fitting_orders",
    "keep_live_encoding",
    "merge",
    "read",
    "resolve_contents",
    "spec_size",
    "wholly_overridden",
    "with_operator_files",
]
