"""What the server makes of the object in a request: identity, times, generation, ownership."""

from __future__ import annotations

import hashlib
from typing import Any

from gitops_mc.sandbox.apiserver import managed
from gitops_mc.sandbox.apiserver.equality import same
from gitops_mc.sandbox.apiserver.resources import Generation, Resource
from gitops_mc.sandbox.apiserver.writing import Writing

SERVER_MADE = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "resourceVersion",
    "selfLink",
)


def new_object(writing: Writing, body: dict[str, Any]) -> dict[str, Any]:
    """As it begins, of a body that has been pruned: no status where that has its own endpoint, generation 1, an uid made from name and counter."""
    resource, target = writing.resource, writing.target
    obj = body
    if resource.has_status and not resource.built_in:
        obj = with_member(obj, "status", None)
    metadata = _sent_metadata(obj)
    metadata["name"] = target.name
    if target.namespace:
        metadata["namespace"] = target.namespace
    seed = f"{writing.cluster}/{resource.id}/{target.namespace}/{target.name}/{writing.store.version}"
    metadata["uid"] = _uid(seed)
    metadata["creationTimestamp"] = writing.stamp
    if resource.generation is not Generation.NEVER:
        metadata["generation"] = 1
    if resource.id == "namespaces":
        metadata["labels"] = {**(metadata.get("labels") or {}), "kubernetes.io/metadata.name": target.name}
    return _ordered(obj, metadata)


def active(resource: Resource, obj: dict[str, Any]) -> dict[str, Any]:
    """With what a server adds to a new namespace on its own, so that nobody owns it."""
    return {**obj, "status": {"phase": "Active"}} if resource.id == "namespaces" else obj


def _uid(seed: str) -> str:
    digest = hashlib.sha256(seed.encode()).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-a{digest[17:20]}-{digest[20:32]}"


def suffix(seed: str) -> str:
    """Five letters as generateName adds them; here from a counter, not from chance."""
    alphabet = "bcdfghjklmnpqrstvwxz2456789"
    return "".join(alphabet[byte % len(alphabet)] for byte in hashlib.sha256(seed.encode()).digest()[:5])


def changed_object(writing: Writing, old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """What of `new` a write may change: all but status, or status alone; server-made metadata never."""
    resource, before = writing.resource, old["metadata"]
    if writing.target.subresource == "status":
        return {**old, "status": new["status"]} if "status" in new else with_member(old, "status", None)
    if resource.has_status:
        new = with_member(new, "status", old.get("status"))
    metadata = _sent_metadata(new)
    metadata |= {key: before[key] for key in SERVER_MADE if key in before}
    metadata["name"] = before["name"]
    if "namespace" in before:
        metadata["namespace"] = before["namespace"]
    if _generation_moves(resource, old, new):
        metadata["generation"] = before.get("generation", 0) + 1
    return _ordered(new, metadata)


def _sent_metadata(obj: dict[str, Any]) -> dict[str, Any]:
    """What the sender has to say in metadata. Members without content are as good as left out."""
    sent = obj.get("metadata") or {}
    return {k: v for k, v in sent.items() if k not in SERVER_MADE and v not in (None, "", {}, [])}


def _ordered(obj: dict[str, Any], metadata: dict[str, Any]) -> dict[str, Any]:
    head = {"apiVersion": obj.get("apiVersion"), "kind": obj.get("kind"), "metadata": metadata}
    return head | {key: value for key, value in obj.items() if key not in head}


def with_member(obj: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    """A copy with another value of one member; without it, if the value is None."""
    if value is None:
        return {k: v for k, v in obj.items() if k != key}
    return {**obj, key: value}


def with_owners(obj: dict[str, Any], owners: managed.Managers) -> dict[str, Any]:
    """A copy, its metadata as well, that says who owns what."""
    return {**obj, "metadata": with_member(obj["metadata"], "managedFields", managed.write(owners) or None)}


def _generation_moves(resource: Resource, old: dict[str, Any], new: dict[str, Any]) -> bool:
    if resource.generation is Generation.NEVER:
        return False
    if resource.generation is Generation.SPEC:
        return not same(old.get("spec"), new.get("spec"))
    skipped = ("metadata", "status") if resource.has_status else ("metadata",)
    return not all(same(old.get(key), new.get(key)) for key in {*old, *new}.difference(skipped))
