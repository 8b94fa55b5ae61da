"""`gitops-mc demo`: the whole product on an embedded fleet, in less than a minute."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

import click

from gitops_mc.app.use_cases.demo.play import Performance
from gitops_mc.app.use_cases.demo.push import Pushing, asked_first, epilogue
from gitops_mc.app.use_cases.demo.stage import Stage
from gitops_mc.app.use_cases.demo.story import LIBERTIES, STORY, first_files
from gitops_mc.bootstrap import example_files
from gitops_mc.bootstrap.demo_stage import demo_stage
from gitops_mc.cli.explaining import Explained
from gitops_mc.cli.folders import working_folder
from gitops_mc.cli.terminal import Terminal
from gitops_mc.core.errors import EXIT_DONE, EXIT_ERROR, UsageError
from gitops_mc.core.model import count
from gitops_mc.core.render.lines import Line, Tone

SPEED = 80.0


@click.command("demo", cls=Explained)
@click.option(
    "--speed",
    type=click.FloatRange(1, 200),
    default=SPEED,
    show_default=True,
    metavar="N",
    help="How many times as fast as real time the fleet lives.",
)
@click.option(
    "--keep",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Leave the Git repository and the remembered state there; the folder must be new or empty.",
)
@click.option(
    "--controller",
    "pushed",
    is_flag=True,
    help="Show the controller instead: pushes, an approval, a leader that is killed, a bad commit. Takes a minute.",
)
@click.pass_obj
def command(terminal: Terminal, *, speed: float, keep: Path | None, pushed: bool) -> int:
    """Start an embedded fleet of four clusters, commit to a real Git repository, and roll: an installation, a change
    through a canary, a bad commit that the gate stops, and its repair. No cluster, container or network is used.

    Every line comes from the engine or from the fleet's own logs. What was forecast is held against what happened; exit
    1 when something that was promised did not come true.
    """
    if pushed:
        return _pushed(terminal, speed, keep)
    began = monotonic()
    with _folder(keep) as folder, demo_stage(folder, speed) as stage:
        terminal.lines(_prologue(stage, speed))
        show = Performance(stage, first_files(example_files()))
        for line in show.lines(STORY):
            terminal.lines([line])
        terminal.lines(_epilogue(show, monotonic() - began, keep))
    return EXIT_ERROR if show.missed else EXIT_DONE


def _pushed(terminal: Terminal, speed: float, keep: Path | None) -> int:
    from gitops_mc.bootstrap.push_stage import push_stage  # noqa: PLC0415 - brings a web server along

    began = monotonic()
    with _folder(keep) as folder, push_stage(folder, speed) as stage:
        terminal.lines(
            [
                Line(
                    "An embedded fleet of four clusters, a Git repository, and two processes of the controller",
                    Tone.HEAD,
                ),
                Line(f"   Time runs {speed:g} times as fast; times below are the fleet's."),
            ]
        )
        show = Pushing(stage, asked_first(first_files(example_files())))
        for line in show.lines():
            terminal.lines([line])
        terminal.lines(epilogue(show, monotonic() - began))
    if keep is not None:
        terminal.say(
            Line(f"   kept: git -C {keep / 'fleet.git'} log --stat; the controllers' logs in {keep}")
        )
    return EXIT_ERROR if show.missed else EXIT_DONE


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    """One of its own: what lies there already would be taken for what was committed and remembered."""
    with working_folder(keep, "demo", "--keep") as folder:
        if any(folder.iterdir()):
            raise UsageError(f"{folder} is not empty", hint="name a new folder")
        yield folder


def _prologue(stage: Stage, speed: float) -> tuple[Line, ...]:
    nodes = ", ".join(f"{cluster} {number}" for cluster, number in sorted(stage.nodes.items()))
    return (
        Line(f"An embedded fleet of {count(sum(stage.nodes.values()), 'node')}: {nodes}", Tone.HEAD),
        Line(f"   Time runs {speed:g} times as fast; times below are the fleet's, as mm:ss."),
        *(Line(f"   {told}") for told in LIBERTIES),
    )


def _epilogue(show: Performance, seconds: float, keep: Path | None) -> Iterator[Line]:
    yield Line("")
    yield Line("Summary", Tone.HEAD)
    yield from (Line(f"   {number}. {told}") for number, told in enumerate(show.told, 1))
    if show.missed:
        yield Line(f"{count(len(show.missed), 'thing')} did not come true:", Tone.BAD)
        yield from (Line(f"   {told}", Tone.BAD) for told in show.missed)
    else:
        told = f"{count(show.reboots, 'reboot')}, each forecast; production was never written to by the bad commit"
        yield Line(f"Everything came true: {told}.", Tone.GOOD)
    yield Line(f"   {seconds:.0f} seconds of real time")
    if keep is not None:
        yield Line(f"   kept: git -C {keep / 'fleet.git'} log --stat; {keep / 'state.json'}")
