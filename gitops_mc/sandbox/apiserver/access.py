"""Who may do what: bearer tokens, users, and a table of verbs."""

from __future__ import annotations

from dataclasses import dataclass

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


def forbidden_path(user: User, path: str, verb: str) -> StatusError:
    """403 for a path that names no resource."""
    text = f'forbidden: User "{user.name}" cannot {verb} path "{path}"'
    return StatusError(403, "Forbidden", text, details={})
