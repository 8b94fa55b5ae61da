"""Who is known to the real API servers, and what each may do: the static tokens and the RBAC objects behind them.

The product's own role is made of the table that `gitops-mc doctor` asks about, and of nothing else: a call that needs
more is refused here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gitops_mc.app.api import RESOURCES
from gitops_mc.app.doctor import GLOBAL_RIGHTS, GOVERNED_RIGHTS, RIGHTS
from gitops_mc.core.model import GLOBAL_CLUSTER, JsonObject

_RBAC = "rbac.authorization.k8s.io"
MASTERS = "system:masters"
"""The group that may do everything, also before there is any role."""


@dataclass(frozen=True, slots=True)
class Known:
    """One line of the token file."""

    token: str
    user: str
    groups: tuple[str, ...] = ()


ADMIN = Known("real-admin", "admin", (MASTERS,))
PRODUCT = Known("real-gitops-mc", "gitops-mc")
READER = Known("real-reader", "reader")
GATEWAY = Known("real-gateway", "gitops-mc-gateway")
"""Who has no rights but those that deploy/ gives to the gateway's user, once they are applied."""
EVERYBODY = (ADMIN, PRODUCT, READER, GATEWAY)
READERS = (READER.user, "gitops-mc-reader")
BOUND = (PRODUCT.user, *READERS)
"""Users who have a role."""


def token_lines() -> Iterator[str]:
    for one in EVERYBODY:
        yield ",".join(
            [one.token, one.user, one.user, *([f'"{",".join(one.groups)}"'] if one.groups else [])]
        )


def roles(cluster: str) -> Iterator[JsonObject]:
    """The roles of the product and of readers on one cluster, each with its binding."""
    asked = RIGHTS + (GLOBAL_RIGHTS + GOVERNED_RIGHTS if cluster == GLOBAL_CLUSTER else ())
    yield from _bound("gitops-mc", [_rule(kind, verbs) for kind, verbs, _ in asked], PRODUCT.user)
    reading = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}
    yield from _bound("reader", [reading], *READERS)


def _rule(kind: str, verbs: tuple[str, ...]) -> JsonObject:
    resource = RESOURCES[kind]
    return {"apiGroups": [resource.group], "resources": [resource.plural], "verbs": list(verbs)}


def _bound(name: str, rules: list[JsonObject], *users: str) -> Iterator[JsonObject]:
    yield {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": rules,
    }
    yield {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": _RBAC, "kind": "User", "name": user} for user in users],
    }
