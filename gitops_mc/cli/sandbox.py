"""`gitops-mc sandbox`: an embedded fleet on this machine, with no cluster and no container."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import click

from gitops_mc.bootstrap import Sandbox, start_sandbox
from gitops_mc.cli.explaining import ExplainedGroup
from gitops_mc.cli.folders import working_folder
from gitops_mc.cli.stopping import stop_on_signals
from gitops_mc.cli.terminal import Terminal
from gitops_mc.core.errors import EXIT_DONE
from gitops_mc.core.model import count
from gitops_mc.core.render.lines import Line, Tone
from gitops_mc.sandbox.faults import FAULTS
from gitops_mc.sandbox.options import SandboxOptions

_LOOK = timedelta(minutes=1)


@click.group("sandbox", cls=ExplainedGroup)
def command() -> None:
    """A fleet on this machine: API servers, operators, nodes that reboot, and what goes wrong with them; no cluster needed."""


@command.command("start", short_help="Start the fleet and serve it until Ctrl-C.")
@click.option(
    "--clusters",
    metavar="N",
    type=click.IntRange(1, 200),
    default=3,
    show_default=True,
    help="Workload clusters, beside global.",
)
@click.option(
    "--nodes",
    metavar="N",
    type=click.IntRange(1, 500),
    default=3,
    show_default=True,
    help="Nodes of each; the first is a control plane.",
)
@click.option(
    "--speed",
    metavar="N",
    type=click.FloatRange(0.1, 600),
    default=1.0,
    show_default=True,
    help="How fast time runs in it. gitops-mc takes the same time from its gateway; time-outs of calls stay real seconds.",
)
@click.option(
    "--seed", metavar="N", type=int, default=0, show_default=True, help="The same seed, the same behaviour."
)
@click.option(
    "--install-on",
    metavar="NAMES",
    default="*",
    show_default=True,
    help="Clusters that have machine-config already, as globs joined by commas; empty: none.",
)
@click.option(
    "--fault",
    "faults",
    metavar="FAULT",
    multiple=True,
    help="NAME[:key=value,...][@CLUSTER]; see sandbox faults.",
)
@click.option(
    "--port",
    metavar="PORT",
    type=click.IntRange(0, 65535),
    default=0,
    help="Port of the gateway on 127.0.0.1; a free one without.",
)
@click.option(
    "--dir",
    "folder",
    metavar="FOLDER",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where token and kubeconfig are written, and stay; a temporary folder without.",
)
@click.pass_obj
def start(
    terminal: Terminal,
    *,
    clusters: int,
    nodes: int,
    speed: float,
    seed: int,
    install_on: str,
    faults: tuple[str, ...],
    port: int,
    folder: Path | None,
) -> int:
    """Start the fleet and serve it like the platform's gateway, until Ctrl-C. Prints how to reach it, and what to try."""
    options = SandboxOptions(
        clusters=clusters,
        nodes=nodes,
        seed=seed,
        install_on=tuple(name for name in install_on.split(",") if name),
        faults=faults,
        port=port,
    )
    with stop_on_signals() as stop, working_folder(folder, "sandbox", "--dir") as place:
        sandbox = start_sandbox(options, speed, place, stop)
        try:
            terminal.lines(_introduction(sandbox, options, speed))
            while not stop.is_set():
                sandbox.clock.wait(sandbox.clock.now() + _LOOK)
        finally:
            sandbox.serving.stop()
    for failure in sandbox.serving.fleet.failures:
        terminal.say(Line(f"error: the sandbox itself failed: {failure}", Tone.BAD))
    terminal.say(Line("the sandbox has ended", Tone.DIM))
    return EXIT_DONE


@command.command("faults", short_help="What can go wrong in it, by name.")
@click.pass_obj
def faults(terminal: Terminal) -> int:
    """What can go wrong in the sandbox: the name, what happens, and its parameters with their defaults."""
    for kind in FAULTS.values():
        terminal.lines([Line(kind.id.value, Tone.HEAD), Line(f"    {kind.sentence}")])
        if kind.parameters:
            terminal.lines(
                [Line("    " + ", ".join(f"{k}={v}" for k, v in kind.parameters.items()), Tone.DIM)]
            )
    everywhere = "and for all of them: cluster=GLOB, after=SECONDS, for=SECONDS"
    example = (
        "gitops-mc sandbox start --fault late-render:seconds=90@edge-1 --fault node-degraded:node=edge-2-w1"
    )
    terminal.lines([Line(everywhere, Tone.DIM), Line(example, Tone.DIM)])
    return EXIT_DONE


def _introduction(sandbox: Sandbox, options: SandboxOptions, speed: float) -> Iterator[Line]:
    serving = sandbox.serving
    connection = f"--gateway {serving.url} --token-file {serving.token_file}"
    told = f"{count(options.clusters, 'cluster')} of {count(options.nodes, 'node')}, and global"
    yield Line(f"a fleet of {told}; time runs {speed:g} times as fast", Tone.HEAD)
    for fault in options.faults:
        yield Line(f"  fault:      {fault}", Tone.WARN)
    yield Line(f"  gateway:    {serving.url}")
    yield Line(f"  token file: {serving.token_file}")
    yield Line(f"  kubeconfig: {serving.kubeconfig}")
    yield Line("try, in another terminal:")
    yield Line(f"  gitops-mc doctor {connection}")
    yield Line(f"  gitops-mc plan REPO {connection}")
    yield Line(f"  gitops-mc apply REPO {connection} --state sandbox-state.json")
    yield Line(f"  kubectl --kubeconfig {serving.kubeconfig} --context edge-1 get machineconfigpools,nodes")
    yield Line("Ctrl-C ends it; everything in it is gone then", Tone.DIM)
