"""The rights that deploy/ grants, one by one, and the requests that need them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gitops_mc.app.ports import APPLY_PATCH, Request
from gitops_mc.core.model import JsonObject
from gitops_mc.sandbox.apiserver import Rule

_VERBS = {"GET": "get", "PATCH": "patch", "PUT": "update", "POST": "create", "DELETE": "delete"}
_ON_COLLECTIONS = {"get": "list", "delete": "deletecollection"}


@dataclass(frozen=True, slots=True, order=True)
class Right:
    """One verb on one resource. An empty namespace: in all of them, or the resource has none. An empty name: any."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""

    def covers(self, other: Right) -> bool:
        """Whether who has this one may do what `other` is."""
        same = (self.verb, self.group, self.resource) == (other.verb, other.group, other.resource)
        return same and self.namespace in ("", other.namespace) and self.name in ("", other.name)

    def __str__(self) -> str:
        where = f" in {self.namespace}" if self.namespace else ""
        return (
            f"{self.verb} {self.resource}.{self.group or 'core'}{where}{f' {self.name}' if self.name else ''}"
        )


def granted(bodies: Sequence[JsonObject], subject: str) -> frozenset[Right]:
    """What the bindings among these objects grant to a subject, by its name."""
    roles = {
        (b["kind"], b["metadata"].get("namespace", ""), b["metadata"]["name"]): b["rules"]
        for b in bodies
        if b["kind"] in ("Role", "ClusterRole")
    }
    found: set[Right] = set()
    for body in bodies:
        if body["kind"] not in ("RoleBinding", "ClusterRoleBinding"):
            continue
        if subject not in [s["name"] for s in body["subjects"]]:
            continue
        namespace = body["metadata"].get("namespace", "")
        ref = body["roleRef"]
        kept = namespace if ref["kind"] == "Role" else ""
        for rule in roles[ref["kind"], kept, ref["name"]]:
            found |= set(_rights(rule, namespace))
    return frozenset(found)


def _rights(rule: JsonObject, namespace: str) -> Iterator[Right]:
    assert set(rule) <= {"apiGroups", "resources", "resourceNames", "verbs"}
    for group in rule["apiGroups"]:
        for resource in rule["resources"]:
            for verb in rule["verbs"]:
                for name in rule.get("resourceNames", [""]):
                    yield Right(verb, group, resource, namespace, name)


def rules(rights: frozenset[Right]) -> tuple[Rule, ...]:
    """For the embedded server, whose rules know neither namespaces nor names."""
    return tuple(Rule((r.verb,), (r.group,), (r.resource,)) for r in sorted(rights))


def needed(request: Request, status: int) -> tuple[Right, ...]:
    """What a request needs; an apply that made its object was a create, too. Nothing for what is no resource (discovery)."""
    parts = [part for part in request.path.split("/") if part]
    group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1] if len(parts) > 1 else "", parts[3:])
    if not rest:
        return ()
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    name = rest[1] if len(rest) > 1 else ""
    resource = "/".join((rest[0], *rest[2:]))
    verb = _VERBS[request.method]
    if not name:
        verb = _ON_COLLECTIONS.get(verb, verb)
    right = Right(verb, group, resource, namespace, name)
    if request.content_type == APPLY_PATCH and request.method == "PATCH" and status == 201:
        return (right, Right("create", group, resource, namespace, ""))
    return (right,)
