"""Whether the people that a Fleet tells are reached."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gitops_mc.app.notifying import Post, addresses_of, deliver
from gitops_mc.app.use_cases.fleet_objects import FleetPlace
from gitops_mc.core.custom.fleet_spec import Notification, Ref, notifications
from gitops_mc.core.errors import GitopsMcError, UsageError
from gitops_mc.core.render.notices import trial


@dataclass(frozen=True, slots=True)
class Tried:
    """One destination, and why it took no message; empty: it did."""

    name: str
    problem: str
    hint: str = ""


def wanted(place: FleetPlace, name: str | None) -> tuple[Notification, ...]:
    """The destination of this name, or all of them. Raises UsageError where there is none, and what the API raises."""
    every = tuple(notifications(place.fleet()))
    if not every:
        hint = "docs/notifications.md says how people are told"
        raise UsageError(f"Fleet {place.title} has no spec.notifications", hint=hint)
    found = tuple(n for n in every if name in {None, n.name})
    if not found:
        raise UsageError(
            f"Fleet {place.title} has no notification {name}",
            hint=f"there are: {', '.join(n.name for n in every)}",
        )
    return found


def tried(
    place: FleetPlace, found: tuple[Notification, ...], secret: Callable[[Ref], bytes], post: Post
) -> Iterator[Tried]:
    """Send a message that says it is a test to each."""
    for each in found:
        try:
            addresses = addresses_of(each.address, secret(each.address))
            failed = deliver(post, addresses, trial(place.title, each.name))
        except GitopsMcError as error:
            yield Tried(each.name, error.message, error.hint)
        else:
            told = "; ".join(error.message for error in failed)
            yield Tried(each.name, f"not to all: {told}" if told else "", failed[0].hint if failed else "")
