"""fleet.yaml -> FleetPolicy, with everything that is wrong in it at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from gitops_mc.core.fleetfile.fields import Field, is_dns_label
from gitops_mc.core.fleetfile.sections import (
    check_drift,
    clusters_of,
    gates_of,
    prune_of,
    rollout_of,
    sensitive_of,
    shared_of,
    windows_of,
)
from gitops_mc.core.manifests import LFS_POINTER, flaw_at
from gitops_mc.core.manifests.documents import read_documents
from gitops_mc.core.manifests.flaws import Flaw
from gitops_mc.core.manifests.positions import Chunk, Places
from gitops_mc.core.model import Place, Severity
from gitops_mc.core.policy import DEFAULT_POLICY, FleetPolicy

FLEET_FILE: Final = "fleet.yaml"
API_VERSION: Final = "gitops-mc.io/v1alpha1"
KIND: Final = "FleetConfig"

_SECTIONS: Final[dict[str, tuple[str, Callable[[Field], Any]]]] = {
    "clusters": ("cluster_labels", clusters_of),
    "shared": ("shared", shared_of),
    "rollout": ("rollout", rollout_of),
    "gates": ("gates", gates_of),
    "windows": ("windows", windows_of),
    "prune": ("prune", prune_of),
    "sensitive": ("sensitive", sensitive_of),
    "ignore": ("ignore", Field.globs),
}


@dataclass(frozen=True, slots=True)
class FleetFile:
    """fleet.yaml as far as it could be read."""

    draft: FleetPolicy = DEFAULT_POLICY
    """What could be read, flaws or not: enough to find out what else is wrong in the repository."""
    flaws: tuple[Flaw, ...] = ()
    chunk: Chunk | None = None

    @property
    def policy(self) -> FleetPolicy:
        """The policy to go by. With an error in the file the defaults: half a policy governs nothing."""
        return DEFAULT_POLICY if any(f.severity is Severity.ERROR for f in self.flaws) else self.draft

    def place(self, *path: str | int) -> Place:
        return Place(FLEET_FILE) if self.chunk is None else Places(FLEET_FILE, self.chunk).nearest(path)


def read_fleet_file(data: bytes) -> FleetFile:
    """The policy, and all flaws. Never raises."""
    if data.startswith(LFS_POINTER):
        hint = "keep fleet.yaml out of Git LFS"
        return FleetFile(flaws=(Flaw(0, 0, "file-lfs-pointer", (), "the file is a Git LFS pointer", hint),))
    read = read_documents(data)
    flaws = list(read.flaws)
    if len(read.documents) != 1:
        if not flaws:
            message = f"the file has {len(read.documents)} documents, not one"
            hint = f"write one {KIND}, or remove the file to have the defaults"
            flaws.append(Flaw(0, 0, "fleet-document", (), message, hint))
        return FleetFile(flaws=tuple(flaws))
    document = read.documents[0]
    root = Field(document.value)
    policy = _policy(root)
    flaws.extend(flaw_at(document.chunk, (), finding) for finding in root.findings)
    return FleetFile(policy, tuple(flaws), document.chunk)


def _policy(root: Field) -> FleetPolicy:
    head = {"apiVersion": API_VERSION, "kind": KIND}
    fields = root.mapping(*head, "metadata", "spec", required=tuple(head), values=head)
    for key, wanted in head.items():
        if key in fields and fields[key].value != wanted:
            fields[key].note(f"{fields[key].value!r} stands here, not {wanted}", f"{key}: {wanted}")
    name = _name(fields["metadata"]) if "metadata" in fields else None
    spec = fields["spec"].mapping(*_SECTIONS, "drift") if "spec" in fields else {}
    if "drift" in spec:
        check_drift(spec["drift"])
    sections = {attribute: read(spec[key]) for key, (attribute, read) in _SECTIONS.items() if key in spec}
    return FleetPolicy(name=name or DEFAULT_POLICY.name, **sections)


def _name(metadata: Field) -> str | None:
    fields = metadata.mapping("name", "labels", "annotations")
    name = fields["name"].text() if "name" in fields else None
    if name is not None and not is_dns_label(name):
        fields["name"].note(f"{name!r} is no fleet name", "lower-case letters, digits and `-`, at most 63")
    return name
