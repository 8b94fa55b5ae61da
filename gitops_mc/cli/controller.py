"""`gitops-mc controller`: follow the Fleets of a namespace, until somebody ends it."""

from __future__ import annotations

import os
import re
import socket
import sys
from datetime import timedelta
from pathlib import Path

import click

from gitops_mc.app.controller.lease import DURATION, Terms
from gitops_mc.app.log_events import Level
from gitops_mc.bootstrap import Access
from gitops_mc.cli import connecting
from gitops_mc.cli.explaining import Explained
from gitops_mc.cli.folders import working_folder
from gitops_mc.cli.stopping import stop_on_signals
from gitops_mc.core.errors import EXIT_DONE, UsageError

_ADDRESS = re.compile(r"(?:\[?(?P<host>[0-9A-Fa-f.:]*?)\]?:)?(?P<port>[0-9]{1,5})")


@click.command("controller", cls=Explained)
@click.option(
    "--namespace",
    default="gitops-mc",
    show_default=True,
    metavar="NAMESPACE",
    envvar="GITOPS_MC_NAMESPACE",
    help="Where the Fleets are, on the global cluster.",
)
@click.option(
    "--identity",
    metavar="NAME",
    envvar="GITOPS_MC_IDENTITY",
    help="Who holds the lease: the pod's name. [default: host and process]",
)
@click.option(
    "--cache",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    envvar="GITOPS_MC_CACHE",
    help="Where what is fetched of repositories is kept; of this process alone. [default: a temporary folder]",
)
@click.option("--probes", metavar="[ADDRESS:]PORT", help="Serve /healthz, /readyz and /metrics there.")
@click.option("--webhook", metavar="[ADDRESS:]PORT", help="Serve /webhook/NAMESPACE/FLEET there.")
@click.option(
    "--lease-duration",
    type=click.FloatRange(5, 600),
    default=DURATION.total_seconds(),
    show_default=True,
    metavar="SECONDS",
    help="After so long without a sign of life another process takes over; the same for all of them.",
)
@click.option(
    "--allow-unprotected-git",
    is_flag=True,
    help="Follow file:// and http:// on this machine, too: for trying it out.",
)
@click.option(
    "--log-level",
    type=click.Choice([level.value for level in Level]),
    default=Level.INFO.value,
    show_default=True,
    help="Write this and what is graver; debug tells every poll and every pass.",
)
@connecting.maybe_connection
def command(
    *,
    namespace: str,
    identity: str | None,
    cache: Path | None,
    probes: str | None,
    webhook: str | None,
    lease_duration: float,
    allow_unprotected_git: bool,
    log_level: str,
    access: Access | None,
) -> int:
    """Follow the Fleets of a namespace of the global cluster: poll their repositories, and roll out what changes, wave by wave,
    gate by gate. Of several processes one acts; the others wait for its lease.

    Without --gateway or --kubeconfig it is the cluster it runs in that is global. Logs go to stderr, one JSON object a line.

    Exit 0 when it is ended by a signal; 1 when it lost the lease: then it is to be started again.
    """
    from gitops_mc.bootstrap.controller import InCluster, Options, run_controller  # noqa: PLC0415 - slow to load

    with stop_on_signals() as stop, working_folder(cache, "cache", "--cache") as folder:
        options = Options(
            home=InCluster() if access is None else access,
            namespace=namespace,
            identity=identity or f"{socket.gethostname()}-{os.getpid()}",
            cache=folder,
            terms=Terms(timedelta(seconds=lease_duration)),
            probes=None if probes is None else _address("--probes", probes),
            webhook=None if webhook is None else _address("--webhook", webhook),
            unprotected=frozenset({"file", "http"}) if allow_unprotected_git else frozenset(),
            level=Level(log_level),
        )
        run_controller(options, sys.stderr, stop)
    return EXIT_DONE


def _address(option: str, text: str) -> tuple[str, int]:
    """Raises UsageError."""
    match = _ADDRESS.fullmatch(text)
    if match is None or int(match["port"]) > 65535:
        raise UsageError(
            f"{option} {text}: no address and port", hint="write 8080, 127.0.0.1:8080 or [::]:8080"
        )
    return match["host"] or "0.0.0.0", int(match["port"])  # noqa: S104 - the kubelet comes from outside the pod
