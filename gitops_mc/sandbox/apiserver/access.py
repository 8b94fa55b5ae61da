"""Who may do what: bearer tokens, users, and a table of verbs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gitops_mc.sandbox.apiserver.answers import StatusError, details_of


@dataclass(frozen=True, slots=True)
class Rule:
    """What RBAC calls a policy rule; `*` stands for all. A subresource is written `machineconfigpools/status`."""

    verbs: tuple[str, ...]
    groups: tuple[str, ...] = ("*",)
    resources: tuple[str, ...] = ("*",)

    def allows(self, verb: str, group: str, resource: str) -> bool:
        return all(
            "*" in allowed or asked in allowed
            for allowed, asked in ((self.verbs, verb), (self.groups, group), (self.resources, resource))
        )


EVERYTHING = (Rule(verbs=("*",)),)


@dataclass(frozen=True, slots=True)
class User:
    """The owner of a token."""

    name: str
    rules: tuple[Rule, ...] = EVERYTHING

    def may(self, verb: str, group: str, resource: str) -> bool:
        return any(rule.allows(verb, group, resource) for rule in self.rules)


def forbidden(user: User, verb: str, *, group: str, resource: str, namespace: str, name: str) -> StatusError:
    """403 in the words of the RBAC authorizer."""
    where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
    qualified = f"{resource}.{group}" if group else resource
    quoted = f' "{name}"' if name else ""
    return StatusError(
        403,
        "Forbidden",
        f'{qualified}{quoted} is forbidden: User "{user.name}" cannot {verb} resource "{resource}" '
        f'in API group "{group}" {where}',
        details=details_of(name, group, resource.partition("/")[0]),
    )


def review(user: User, body: dict[str, Any]) -> dict[str, Any]:
    """The answer to a SelfSubjectAccessReview."""
    spec = body.get("spec") or {}
    asked = spec.get("resourceAttributes")
    if asked is None:
        allowed = True  # non-resource URLs: discovery and version are open to every known user
    else:
        resource, subresource = str(asked.get("resource", "")), str(asked.get("subresource", ""))
        full = f"{resource}/{subresource}" if subresource else resource
        allowed = user.may(str(asked.get("verb", "")), str(asked.get("group", "")), full)
    return {
        "kind": "SelfSubjectAccessReview",
        "apiVersion": "authorization.k8s.io/v1",
        "metadata": {},
        "spec": spec,
        "status": {"allowed": allowed} | ({"reason": "table of verbs"} if allowed else {}),
    }
