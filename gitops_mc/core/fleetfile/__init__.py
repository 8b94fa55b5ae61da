"""fleet.yaml -> FleetPolicy, with everything that is wrong in it at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from difflib import get_close_matches
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
from gitops_mc.core.policy import DEFAULT_POLICY, EVERYTHING, FleetPolicy

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


UNREAD: Final = FleetPolicy(sensitive=EVERYTHING)
"""Where nothing of the file can be read: until it is mended, all is hidden."""


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
        return FleetFile(UNREAD, (Flaw(0, 0, "file-lfs-pointer", (), "the file is a Git LFS pointer", hint),))
    read = read_documents(data)
    flaws = list(read.flaws)
    if len(read.documents) != 1:
        if not flaws:
            message = f"the file has {len(read.documents)} documents, not one"
            hint = f"write one {KIND}, or remove the file to have the defaults"
            flaws.append(Flaw(0, 0, "fleet-document", (), message, hint))
        return FleetFile(UNREAD, tuple(flaws))
    document = read.documents[0]
    root = Field(document.value)
    policy = _policy(root)
    flaws.extend(flaw_at(document.chunk, (), finding) for finding in root.findings)
    if _hides_what_nobody_can_tell(document.value):
        policy = replace(policy, sensitive=EVERYTHING)
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


def _hides_what_nobody_can_tell(value: Any) -> bool:
    """Whether the file may say what is sensitive, and it cannot be read: a section of another shape, a key misspelt."""
    if not isinstance(value, dict):
        return True
    spec = value.get("spec")
    if not isinstance(spec, dict):
        return spec is not None or bool(get_close_matches("spec", [key for key in value if key != "spec"]))
    if "sensitive" in spec:
        return not isinstance(spec["sensitive"], list | None)
    return bool(get_close_matches("sensitive", list(spec)))


def _name(metadata: Field) -> str | None:
    fields = metadata.mapping("name", "labels", "annotations")
    name = fields["name"].text() if "name" in fields else None
    if name is not None and not is_dns_label(name):
        fields["name"].note(f"{name!r} is no fleet name", "lower-case letters, digits and `-`, at most 63")
    return name
