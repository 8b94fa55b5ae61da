"""What Git says about one cluster, and its content: the identity of what is rolled out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NewType

from gitops_mc.core.model.names import Kind, ResourceKey
from gitops_mc.core.model.objects import JsonObject, digest_of
from gitops_mc.core.model.problems import BodyPath, Place, Problem, Severity

Content = NewType("Content", str)
"""Digest of a cluster's resolved desired objects (64 hex digits). The identity of what is rolled out."""

Commit = NewType("Commit", str)
"""A Git commit id, shown and kept to fetch a content again; never an identity."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """One desired object, resolved: the body is what would be sent (without our own label and annotation)."""

    key: ResourceKey
    body: JsonObject
    place: Place
    shared_set: str | None = None
    """Path of the shared set it came from, or None for the cluster's own folder."""
    places: Mapping[BodyPath, Place] = field(default_factory=lambda: MappingProxyType({}), compare=False)
    """Place of each field by its path in the document as written, for messages."""

    @property
    def annotations(self) -> Mapping[str, str]:
        found: Mapping[str, str] = self.body.get("metadata", {}).get("annotations") or {}
        return found


@dataclass(frozen=True, slots=True)
class DesiredCluster:
    """What Git says about one cluster, resolved and ordered by key."""

    name: str
    manifests: tuple[Manifest, ...]
    content: Content
    problems: tuple[Problem, ...] = ()
    """The problems that touch this cluster, warnings included; any ERROR blocks it and it is never pruned."""
    labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def blocked(self) -> bool:
        return any(p.severity is Severity.ERROR for p in self.problems)

    def of_kind(self, kind: Kind) -> tuple[Manifest, ...]:
        return tuple(m for m in self.manifests if m.key.kind is kind)

    def get(self, key: ResourceKey) -> Manifest | None:
        return next((m for m in self.manifests if m.key == key), None)


def content_of(manifests: tuple[Manifest, ...]) -> Content:
    """The content of a cluster. Where a manifest stands and what commit it came from have no part in it."""
    return Content(
        digest_of([[m.key.kind.value, m.key.name, m.body] for m in sorted(manifests, key=lambda m: m.key)])
    )
