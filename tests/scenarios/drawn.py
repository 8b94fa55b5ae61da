"""A fleet, its repository and all that happens to it, drawn from one seed. Data only; the simulation plays it."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum

from gitops_mc.core.model import GLOBAL_CLUSTER, MACHINE_CONFIG_MODULE, JsonObject
from gitops_mc.sandbox.fleet import MACHINE_CONFIG_VERSION, FleetSpec
from gitops_mc.sandbox.moduleinfo import Publication
from gitops_mc.sandbox.nodes.daemon import NodeOptions
from gitops_mc.sandbox.operator.controller import OperatorOptions
from gitops_mc.sandbox.operator.merging import MergeOrder
from gitops_mc.sandbox.site import ClusterSpec
from tests.scenarios.commits import NEWER_VERSION, OTHER_VERSIONS, Push, begin, manually, prune, pushes_of
from tests.scenarios.crashes import Moment
from tests.scenarios.drawn_orders import Ordered, draw_orders, ordered, with_forgets, with_ways_back
from tests.scenarios.drawn_windows import DrawnWindow, draw_windows, per_node, windowed, with_windows
from tests.scenarios.repository import OTHER_MODULE, Repository
from tests.scenarios.troubles import Trouble, troubles_of

TROUBLED = timedelta(minutes=50)
"""Commits, faults and people come in this time; then everything that can end has ended."""
QUICK = NodeOptions(
    drain=timedelta(seconds=10), reboot=timedelta(seconds=30), poll=timedelta(seconds=10), jitter=0.3
)


class Deed(StrEnum):
    CORDON = "cordon"
    UNCORDON = "uncordon"
    PAUSE = "pause"
    UNPAUSE = "unpause"
    EDIT = "edit"
    LABEL = "label"
    UNLABEL = "unlabel"


@dataclass(frozen=True, slots=True)
class HandAct:
    """Somebody with kubectl. `subject`: a node, a pool or a MachineConfig."""

    at: float
    deed: Deed
    cluster: str
    subject: str


class Aside(StrEnum):
    """What happens to the rollout itself, beside Git and the clusters."""

    FORCE_PUSH = "force-push"
    """The history is rewritten: no earlier content can be had any more."""
    CLOCK = "clock"
    """The clock of the machine we run on jumps."""
    MEMORY_LOST = "memory lost"
    APPROVE = "approve"
    """`apply --approve` of everything that can be approved, for what Git says then."""
    RELEASE = "release --all"
    SKIP = "skip"
    EXCUSE = "excuse"


@dataclass(frozen=True, slots=True)
class Event:
    """One of those. `subject`: a cluster to skip, a node to excuse; `seconds`: how far the clock jumps, how long the
    excuse holds.
    """

    at: float
    what: Aside
    cluster: str = ""
    subject: str = ""
    seconds: float = 0


@dataclass(frozen=True, slots=True)
class Kill:
    """The process dies so many calls after it was started."""

    calls: int
    moment: Moment
    away: float
    """Seconds until the next one starts."""


class Approval(StrEnum):
    """Whether first contacts and waves are approved before anybody asks."""

    GIVEN = "given"
    ASKED = "asked for"


@dataclass(frozen=True, slots=True)
class Script:
    """Everything a seed decides."""

    seed: int
    spec: FleetSpec
    labelled: tuple[tuple[str, str], ...]
    """Nodes that carry the label of the custom pool from the beginning."""
    pushes: tuple[Push, ...]
    hands: tuple[HandAct, ...] = ()
    troubles: tuple[Trouble, ...] = ()
    kills: tuple[Kill, ...] = ()
    events: tuple[Event, ...] = ()
    order: int | None = None
    """Seed of the order in which the clusters are looked at; None: by name."""
    approval: Approval = Approval.GIVEN
    windows: tuple[DrawnWindow, ...] = ()
    orders: tuple[Ordered, ...] = ()


# ----------------------------------------------------------------------------------------------------------- drawing


def draw_script(seed: int) -> Script:
    """The script of a seed: the same in every process."""
    draw = random.Random(f"script/{seed}")
    spec = _fleet(draw)
    names = tuple(c.name for c in spec.clusters)
    edges = [n for n in names if n != GLOBAL_CLUSTER]
    workers = {c.name: c.workers for c in spec.clusters}
    labelled = tuple((n, f"{n}-w1") for n in edges if workers[n] > 1 and draw.random() < 0.5)
    repository = Repository(names, tuple(c for c, _ in labelled), _rollout(draw, edges), prune(draw))
    begin(repository, draw)
    spec = _not_installed(spec, repository, draw)
    pushes = pushes_of(repository, draw, edges, TROUBLED.total_seconds())
    kinds = draw.sample(["hands", "troubles", "kills"], draw.choice([0, 1, 1, 2, 3]))
    script = Script(
        seed,
        spec,
        labelled,
        pushes,
        hands=_hands(draw, edges, workers) if "hands" in kinds else (),
        troubles=troubles_of(draw, names, TROUBLED.total_seconds()) if "troubles" in kinds else (),
        kills=_kills(draw) if "kills" in kinds else (),
    )
    script = _with_asides(script, random.Random(f"asides/{seed}"), edges, workers)
    if ordered(seed):
        script = _with_orders(script, edges)
    return _in_windows(script, edges) if windowed(seed) else script


def _with_orders(script: Script, edges: list[str]) -> Script:
    """Where a cluster is forgotten, nothing has been approved before somebody asks, and mostly somebody approves later."""
    span = TROUBLED.total_seconds()
    pushes = with_ways_back(script.seed, script.pushes, span)
    script = replace(script, pushes=pushes, orders=draw_orders(script.seed, edges, pushes, span))
    if not with_forgets(script.orders):
        return script
    draw = random.Random(f"approved later/{script.seed}")
    more = [Event(draw.uniform(span / 2, span), Aside.APPROVE)] if draw.random() < 0.6 else []
    events = sorted((*script.events, *more), key=lambda e: e.at)
    return replace(script, events=tuple(events), approval=Approval.ASKED)


def _in_windows(script: Script, edges: list[str]) -> Script:
    windows, each = draw_windows(script.seed, edges), per_node(script.seed)
    pushes = (replace(p, files=with_windows(p.files, windows, each)) for p in script.pushes)
    return replace(script, pushes=tuple(pushes), windows=windows)


def _with_asides(script: Script, draw: random.Random, edges: list[str], workers: Mapping[str, int]) -> Script:
    """The same with what happens to the rollout itself: drawn apart, so that the rest of a seed stays as it is."""
    span = TROUBLED.total_seconds()
    chosen = draw.sample(list(Aside), draw.choice([0, 0, 1, 1, 2, 3]))
    events: list[Event] = []
    for what in chosen:
        for _ in range(draw.choice([1, 1, 2])):
            at, cluster = draw.uniform(60, span), draw.choice(edges)
            node = f"{cluster}-w{draw.randint(1, workers[cluster])}"
            jump = draw.choice([-7200.0, -600.0, -45.0, 45.0, 600.0, 7200.0])
            match what:
                case Aside.CLOCK:
                    events.append(Event(at, what, seconds=jump))
                case Aside.SKIP:
                    events.append(Event(at, what, cluster))
                case Aside.EXCUSE:
                    events.append(Event(at, what, cluster, node, seconds=draw.choice([300.0, 1800.0])))
                case _:
                    events.append(Event(at, what))
    order = draw.choice([None, draw.randrange(1000)])
    asked = Aside.APPROVE in chosen or Aside.MEMORY_LOST in chosen
    return replace(
        script,
        events=tuple(sorted(events, key=lambda e: e.at)),
        order=order,
        approval=Approval.ASKED if asked else Approval.GIVEN,
        pushes=tuple(manually(p) for p in script.pushes) if Aside.APPROVE in chosen else script.pushes,
    )


def _fleet(draw: random.Random) -> FleetSpec:
    count = draw.choices([2, 3, 4, 5, 8], [10, 9, 3, 1, 1])[0]
    order = draw.choice([MergeOrder.ALPHABETICAL, MergeOrder.ROLE_FIRST])
    slow = timedelta(seconds=draw.choice([5, 5, 5, 20, 90]))
    late = timedelta(seconds=draw.choice([3, 3, 3, 40]))
    made = [
        ClusterSpec(
            f"edge-{n}",
            masters=1,
            workers=draw.randint(1, 3 if count < 5 else 2),
            machine_config=MACHINE_CONFIG_VERSION,
            operator=OperatorOptions(render_delay=slow, policy_delay=late, merge_order=order),
            nodes=QUICK,
        )
        for n in range(1, count + 1)
    ]
    if draw.random() < 0.1:
        made.append(
            ClusterSpec(
                GLOBAL_CLUSTER, masters=1, workers=1, machine_config=MACHINE_CONFIG_VERSION, nodes=QUICK
            )
        )
    published = [Publication(MACHINE_CONFIG_MODULE, v) for v in (MACHINE_CONFIG_VERSION, NEWER_VERSION)]
    published += [Publication(OTHER_MODULE, v) for v in OTHER_VERSIONS]
    return FleetSpec(tuple(made), publications=tuple(published))


def _not_installed(spec: FleetSpec, repository: Repository, draw: random.Random) -> FleetSpec:
    """Where Git has machine-config from the beginning, it may be that some clusters have to get it first."""
    bare = {c.name for c in spec.clusters if c.name in repository.modules and draw.random() < 0.3}
    clusters = tuple(replace(c, machine_config=None) if c.name in bare else c for c in spec.clusters)
    return replace(spec, clusters=clusters)


def _rollout(draw: random.Random, edges: list[str]) -> JsonObject:
    limits: JsonObject = {
        "maxFailures": draw.choice([0, 0, 0, 1, 2]),
        "maxUnreachable": draw.choice([0, 1, "10%", "50%"]),
    }
    if draw.random() < 0.15:
        return limits
    cut = draw.randint(1, max(1, len(edges) - 1))
    waves: list[JsonObject] = [
        {"name": "first", "clusters": {"names": edges[:cut]}},
        {"name": "rest", "clusters": {}},
    ]
    for wave in waves:
        wave["maxConcurrent"] = draw.choice([1, 1, 2, 3, "50%"])
        wave["soak"] = draw.choice(["0s", "0s", "1m", "5m"])
    return {**limits, "waves": waves}


def _hands(draw: random.Random, edges: list[str], workers: Mapping[str, int]) -> tuple[HandAct, ...]:
    acts: list[HandAct] = []
    span = TROUBLED.total_seconds()
    for _ in range(draw.randint(1, 3)):
        cluster, at = draw.choice(edges), draw.uniform(0, span)
        node = f"{cluster}-w{draw.randint(1, workers[cluster])}"
        ends = draw.random() < 0.7
        later = draw.uniform(at, span)
        match draw.choice(["cordon", "pause", "edit", "label"]):
            case "cordon":
                acts.append(HandAct(at, Deed.CORDON, cluster, node))
                acts += [HandAct(later, Deed.UNCORDON, cluster, node)] if ends else []
            case "pause":
                pool = draw.choice(["worker", "master", "gpu"])
                acts.append(HandAct(at, Deed.PAUSE, cluster, pool))
                acts += [HandAct(later, Deed.UNPAUSE, cluster, pool)] if ends else []
            case "edit":
                acts.append(HandAct(at, Deed.EDIT, cluster, ""))
            case _:
                acts.append(HandAct(at, draw.choice([Deed.LABEL, Deed.UNLABEL]), cluster, node))
    return tuple(sorted(acts, key=lambda a: a.at))


def _kills(draw: random.Random) -> tuple[Kill, ...]:
    return tuple(
        Kill(draw.choice([draw.randint(1, 60), draw.randint(1, 600)]), draw.choice(list(Moment)), away)
        for away in [draw.choice([1.0, 20.0, 200.0]) for _ in range(draw.randint(1, 6))]
    )
