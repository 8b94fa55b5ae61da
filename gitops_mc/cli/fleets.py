"""Asking the controller of a Fleet from the command line: the options, the request, and what is told of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import wraps
from typing import Any, Final, TypeVar, assert_never

import click
from click.core import ParameterSource

from gitops_mc.app.use_cases.fleet_objects import FleetPlace, memory_of
from gitops_mc.app.use_cases.fleet_orders import ask
from gitops_mc.bootstrap.fleets import fleet_place
from gitops_mc.cli import connecting
from gitops_mc.cli.asking import whoami
from gitops_mc.cli.connecting import Later
from gitops_mc.cli.spans import span_of
from gitops_mc.cli.terminal import Terminal
from gitops_mc.core.custom.requests import Verb
from gitops_mc.core.custom.wishes import Answer, CarriedOut, Refused, TakenBack, Wish
from gitops_mc.core.errors import EXIT_DONE, EXIT_ERROR, EXIT_REFUSED, RefusedError, UsageError
from gitops_mc.core.model import JsonObject
from gitops_mc.core.render.fleet_commands import DEFAULT_NAMESPACE
from gitops_mc.core.render.lines import Line, Tone, one_line
from gitops_mc.core.rollout import acts

F = TypeVar("F", bound=Callable[..., Any])
WishesOf = Callable[[FleetPlace], Sequence[Wish]]

LEASE: Final = "gitops-mc"
_OF_A_FILE: Final = ("state", "repo", "revision")
"""Parameters that mean something without a Fleet only."""
_OF_A_FLEET: Final = ("namespace", "wait", "impatient", "overriding")
"""Parameters that mean something with a Fleet only."""

_NEEDED = click.option("--fleet", metavar="NAME", required=True, help="Which Fleet.")
_MAYBE = click.option("--fleet", metavar="NAME", help="Ask the controller of this Fleet, not a state file.")
_SEEN = click.option(
    "--fleet", metavar="NAME", help="Look at this Fleet's objects on global, not at a state file."
)
_NAMESPACE = click.option(
    "--namespace",
    default=DEFAULT_NAMESPACE,
    show_default=True,
    metavar="NAMESPACE",
    envvar="GITOPS_MC_NAMESPACE",
    help="Where the Fleet is, on global.",
)
_WAIT = click.option(
    "--wait",
    default="60s",
    show_default=True,
    metavar="TIME",
    help="How long to wait until the controller has carried it out.",
)
_NOW = click.option(
    "--now",
    "impatient",
    is_flag=True,
    help="Newer content of the cluster need not wait until what rolls healthily has settled. With --fleet.",
)
_OVERRIDE = click.option(
    "--override-window",
    "overriding",
    is_flag=True,
    help="Change windows and freezes do not count, until the newest content has passed. With --fleet; needs --reason.",
)


@dataclass(frozen=True, slots=True)
class FleetAsked:
    """A Fleet that the command line names."""

    name: str
    namespace: str
    access: Later
    within: timedelta = timedelta(0)
    more: tuple[Verb, ...] = field(default=())
    """What is asked for beside the command's own verb."""


def maybe_fleet(command: F) -> F:
    """`--fleet` and what belongs to it; the command gets `fleet`, a FleetAsked, or None where it is about a state file."""
    return _decorated(_without_access(command), (_MAYBE, _NAMESPACE, _WAIT))


def maybe_fleet_with_more(command: F) -> F:
    """The same, with --now and --override-window."""
    return _decorated(_without_access(command), (_MAYBE, _NAMESPACE, _WAIT, _NOW, _OVERRIDE))


def maybe_fleet_or_connection(command: F) -> F:
    """As `maybe_fleet`, for a command that uses a connection without a Fleet, too: it gets it as `access`, a Later."""
    return _decorated(command, (_MAYBE, _NAMESPACE, _WAIT))


def of_fleet(command: F) -> F:
    """The same for what only a controller can be asked for: `fleet` is always there."""
    return _decorated(_without_access(command), (_NEEDED, _NAMESPACE, _WAIT))


def of_fleet_with_more(command: F) -> F:
    """The same, with --now and --override-window."""
    return _decorated(_without_access(command), (_NEEDED, _NAMESPACE, _WAIT, _NOW, _OVERRIDE))


def looked_at(command: F) -> F:
    """For a command that only looks: `fleet` is None where it is about a state file; `access` is a Later."""
    return _decorated(command, (_SEEN, _NAMESPACE))


def looked_at_fleet(command: F) -> F:
    """For a command that only looks at Fleets."""
    return _decorated(_without_access(command), (_NEEDED, _NAMESPACE))


def _without_access(command: F) -> F:
    @wraps(command)
    def asked(*arguments: Any, access: Later, **options: Any) -> Any:  # noqa: ARG001 - `fleet` has it
        return command(*arguments, **options)

    found: Any = asked
    decorated: F = found
    return decorated


def _decorated(command: F, given: Sequence[Callable[[Any], Any]]) -> F:
    @wraps(command)
    def with_fleet(
        *arguments: Any,
        fleet: str | None,
        namespace: str,
        access: Later,
        wait: str = "",
        impatient: bool = False,
        overriding: bool = False,
        **options: Any,
    ) -> Any:
        _fitting(fleet)
        more = (*([Verb.NOW] if impatient else ()), *([Verb.OVERRIDE_WINDOW] if overriding else ()))
        within = span_of(wait) if wait else timedelta(0)
        asked = None if fleet is None else FleetAsked(fleet, namespace, access, within, more)
        return command(*arguments, fleet=asked, access=access, **options)

    decorated: Any = connecting.later_connection(with_fleet)
    for option in reversed(given):
        decorated = option(decorated)
    found: F = decorated
    return found


def _fitting(fleet: str | None) -> None:
    """Raises UsageError for parameters of a state file with a Fleet, and the other way round."""
    context = click.get_current_context()
    wrong = _OF_A_FLEET if fleet is None else _OF_A_FILE
    for parameter in context.command.params:
        name = str(parameter.name)
        if name in wrong and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            shown = next((o for o in parameter.opts if o.startswith("--")), name.upper())
            if fleet is None:
                raise UsageError(f"{shown} belongs to --fleet", hint="--fleet NAME asks the controller")
            raise UsageError(
                f"{shown} does not go with --fleet: the controller has a repository and a memory of its own",
                hint=f"leave {shown} out",
            )


def needs_reason(verb: str, reason: str) -> None:
    """Raises UsageError where none is given."""
    if not reason.strip():
        raise UsageError(
            f"{verb} needs a reason", hint='--reason "why": it is shown as long as it stands, and kept'
        )


def wish(verb: Verb, reason: str, cluster: str = "", members: Mapping[str, str] | None = None) -> Wish:
    """A wish of whoever runs this."""
    return Wish(verb, whoami(), reason, cluster, members or {})


def beside(fleet: FleetAsked, reason: str, cluster: str) -> Iterator[Wish]:
    """What --now and --override-window ask for, on the same object. Raises UsageError."""
    for verb in fleet.more:
        if verb is Verb.OVERRIDE_WINDOW:
            needs_reason("--override-window", reason)
        elif not cluster:
            raise UsageError("--now is for one cluster", hint="name the cluster")
        yield wish(verb, reason, cluster)


def showing(place: FleetPlace, finding: str) -> str:
    """The cluster that shows a finding, or has it. Raises RefusedError where none does, or several do."""
    memory = memory_of(place.fleet(), place.rollouts())
    match acts.accept(memory, finding, None, acts.By(whoami(), place.clock.now())):
        case acts.Changed(after):
            return next(n for n, m in after.clusters.items() if m.accepted != memory.cluster(n).accepted)
        case acts.Unchanged(reason, hint):
            raise RefusedError(reason, hint=place.commands.said(hint))


def request(terminal: Terminal, fleet: FleetAsked, wishes_of: WishesOf) -> int:
    """Ask, wait, and tell what became of it."""
    with fleet_place(fleet.access(), fleet.namespace, fleet.name) as place:
        wishes = tuple(wishes_of(place))
        try:
            answers = ask(place, wishes, fleet.within, LEASE)
        except KeyboardInterrupt:
            terminal.say(
                Line(
                    "what was asked for stays, and is carried out once the controller looks at it", Tone.WARN
                )
            )
            raise
        for asked, answer in answers:
            terminal.lines([_line(asked, answer)])
        if remark := standing_still(place.fleet(), place):
            terminal.say(remark)
    return max((_code(answer) for _, answer in answers), default=EXIT_DONE)


def standing_still(body: JsonObject, place: FleetPlace) -> Line | None:
    """That nothing is written although the controller listens, where that is so."""
    spec = body.get("spec") or {}
    resume = f"until: gitops-mc resume {place.commands.options}"
    if spec.get("abort") is not None:
        why = one_line(str(spec["abort"].get("reason") or "by hand"))
        return Line(f"the Fleet is aborted ({why}): nothing begins {resume}", Tone.WARN)
    if spec.get("suspend"):
        why = one_line(str(spec.get("suspendReason") or "by hand"))
        return Line(f"the Fleet is suspended ({why}): nothing is written {resume}", Tone.WARN)
    return None


def _line(asked: Wish, answer: Answer) -> Line:
    match answer:
        case CarriedOut(noted):
            told = f"carried out: {', '.join(noted) or asked.title}"
            return Line(one_line(told), Tone.GOOD)
        case Refused(reason):
            told = reason.removeprefix(f"{asked.verb.value}: ")
            return Line(one_line(f"refused: {asked.title}: {told}"), Tone.BAD)
        case TakenBack():
            told = "somebody took the request off, or wrote over it, before the controller looked at it"
            return Line(one_line(f"not carried out: {asked.title}: {told}"), Tone.BAD)
        case _:
            assert_never(answer)


def _code(answer: Answer) -> int:
    match answer:
        case CarriedOut():
            return EXIT_DONE
        case Refused():
            return EXIT_REFUSED
        case TakenBack():
            return EXIT_ERROR
        case _:
            assert_never(answer)
