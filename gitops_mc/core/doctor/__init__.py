"""The platform's prerequisites of one cluster, as a table of checks: what is so, what is not, and what could not be asked.

What the page on installing Machine Configuration asks for and verifies (ACP docs), and the rights this product needs.
A fact that was not obtained is "not checked", never "ok".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from gitops_mc.core.doctor import nodes, operator, plugin, reaching
from gitops_mc.core.doctor.finding import Examined, Finding, Health, Reach, Right, RightAnswer, Role
from gitops_mc.core.doctor.plugin import versions_apart

__all__ = [
    "CHECKS",
    "Examined",
    "Finding",
    "Health",
    "Reach",
    "Right",
    "RightAnswer",
    "Role",
    "examine",
    "versions_apart",
]

Check: TypeAlias = Callable[[Examined], Iterator[Finding]]

CHECKS: tuple[Check, ...] = (
    reaching.reachable,
    reaching.registered,
    reaching.rights,
    nodes.nodes,
    plugin.published,
    plugin.installed,
    operator.components,
    operator.initial_objects,
    nodes.membership,
    operator.pools_settled,
)


PLATFORM_CHECKS: tuple[Check, ...] = (
    reaching.reachable,
    reaching.registered,
    reaching.rights,
    plugin.published,
)
"""What global has to be for the others."""


def examine(x: Examined) -> tuple[Finding, ...]:
    """Every check of one cluster, in the order in which one would mend what they find."""
    checks = CHECKS if x.role is Role.MANAGED else PLATFORM_CHECKS
    return tuple(finding for check in checks for finding in check(x))
