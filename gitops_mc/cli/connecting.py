"""How live commands reach the clusters: the options, their environment variables, and what they mean together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from gitops_mc.bootstrap import STATE_FILE, Access, GatewayAccess, KubeconfigAccess
from gitops_mc.core.errors import UsageError
from gitops_mc.core.render.commands import Typed

F = TypeVar("F", bound=Callable[..., Any])

_FILE = click.Path(dir_okay=False, path_type=Path)

STATE = click.option(
    "--state",
    type=_FILE,
    metavar="FILE",
    help=f"Where the rollout is remembered. [default: {STATE_FILE} in the folder REPO; keep it out of Git]",
)

_OPTIONS = (
    click.option(
        "--gateway",
        metavar="URL",
        envvar="GITOPS_MC_GATEWAY",
        show_envvar=True,
        help="The platform's address; clusters are below /kubernetes/<cluster>.",
    ),
    click.option(
        "--token-file",
        type=_FILE,
        metavar="FILE",
        envvar="GITOPS_MC_TOKEN_FILE",
        show_envvar=True,
        help="The API token for the gateway; read again when it changes.",
    ),
    click.option(
        "--ca-file",
        type=_FILE,
        metavar="FILE",
        envvar="GITOPS_MC_CA_FILE",
        show_envvar=True,
        help="CA certificates of the gateway; else the system's.",
    ),
    click.option(
        "--kubeconfig",
        type=_FILE,
        metavar="FILE",
        help="Reach each cluster by a context of this file instead.",
    ),
    click.option(
        "--context",
        "contexts",
        metavar="CLUSTER=CONTEXT",
        multiple=True,
        help="The context of a cluster, where it is not named like it; may be repeated.",
    ),
)


def connection(command: F) -> F:
    """The connection options; the command gets `access`, an Access that makes sense, in their place."""
    return _connected(command, _access)


def maybe_connection(command: F) -> F:
    """The same for a command that says less without a connection: `access` is None where none is given."""
    return _connected(command, lambda ways: _access(ways) if ways.gateway or ways.kubeconfig else None)


def later_connection(command: F) -> F:
    """The same for a command that needs one in some of its uses: `access` is a Later."""
    return _connected(command, Later)


@dataclass(frozen=True, slots=True)
class _Ways:
    gateway: str | None
    token_file: Path | None
    ca_file: Path | None
    kubeconfig: Path | None
    contexts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Later:
    """A connection that is made sense of when it is asked for."""

    ways: _Ways

    def __call__(self) -> Access:
        """Raises UsageError where none is given, or what is given makes no sense."""
        return _access(self.ways)

    def maybe(self) -> Access | None:
        """None where none is given."""
        return _access(self.ways) if self.ways.gateway or self.ways.kubeconfig else None


def _access(ways: _Ways) -> Access:
    if ways.kubeconfig is not None:
        if ways.gateway is not None and _given("gateway"):
            raise UsageError(
                "--gateway and --kubeconfig are two ways; give one",
                hint="--gateway URL --token-file FILE for the platform, --kubeconfig FILE for a context of each cluster",
            )
        return KubeconfigAccess(ways.kubeconfig, _contexts(ways.contexts))
    return _gateway(ways.gateway, ways.token_file, ways.ca_file, ways.contexts)


def _connected(command: F, access_of: Callable[[_Ways], object]) -> F:
    @wraps(command)
    def with_access(
        *arguments: Any,
        gateway: str | None,
        token_file: Path | None,
        ca_file: Path | None,
        kubeconfig: Path | None,
        contexts: tuple[str, ...],
        **options: Any,
    ) -> Any:
        ways = _Ways(gateway, token_file, ca_file, kubeconfig, contexts)
        return command(*arguments, access=access_of(ways), **options)

    decorated: Any = with_access
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    found: F = decorated
    return found


def state_file(state: Path | None, repo: str) -> Path:
    """Where the rollout of this repository is remembered."""
    return state if state is not None else Path(repo) / STATE_FILE


def typed(repo: str, state: Path | None, revision: str | None) -> Typed:
    """How the commands that are told have to be typed here."""
    return Typed(repo, "" if state is None else str(state), revision or "")


def _given(option: str) -> bool:
    """Whether the command line says it; what comes from the environment is a default."""
    return click.get_current_context().get_parameter_source(option) is ParameterSource.COMMANDLINE


def _gateway(
    gateway: str | None, token_file: Path | None, ca_file: Path | None, contexts: tuple[str, ...]
) -> GatewayAccess:
    if gateway is None:
        raise UsageError(
            "no way to the clusters is given",
            hint="--gateway URL --token-file FILE (or GITOPS_MC_GATEWAY and GITOPS_MC_TOKEN_FILE), or --kubeconfig FILE",
        )
    if token_file is None:
        raise UsageError(
            "the gateway needs a token", hint="--token-file FILE, or GITOPS_MC_TOKEN_FILE in the environment"
        )
    if contexts:
        raise UsageError(
            "--context belongs to --kubeconfig", hint="give --kubeconfig FILE, or leave --context out"
        )
    return GatewayAccess(gateway, token_file, ca_file)


def _contexts(pairs: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in pairs:
        cluster, equals, context = pair.partition("=")
        if not (cluster and equals and context):
            raise UsageError(
                f"--context {pair}: write CLUSTER=CONTEXT",
                hint="the contexts of a file: kubectl --kubeconfig FILE config get-contexts",
            )
        if found.setdefault(cluster, context) != context:
            raise UsageError(
                f"--context names two contexts for cluster {cluster}",
                hint="give one --context for each cluster",
            )
    return found
