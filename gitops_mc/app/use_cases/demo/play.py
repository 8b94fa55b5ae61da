"""Plays the story: commit, plan, roll, and hold what happened against what was forecast. Nothing is said beforehand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from gitops_mc.app.looks import Look
from gitops_mc.app.use_cases.demo.notes import NodeNote
from gitops_mc.app.use_cases.demo.stage import Stage
from gitops_mc.app.use_cases.demo.story import CANARY, Ending, Scene
from gitops_mc.app.use_cases.demo.tally import REBOOT, forecast_tally, happened_tally, tally_words
from gitops_mc.app.use_cases.demo.words import Teller
from gitops_mc.app.use_cases.planning import ask_servers, plan_fleet
from gitops_mc.app.use_cases.repository import usable
from gitops_mc.core.disruption import describe
from gitops_mc.core.model import Kind, Known, count
from gitops_mc.core.render.lines import Line, Tone
from gitops_mc.core.render.plan_words import duration, headline
from gitops_mc.core.rollout.inputs import Fleet
from gitops_mc.core.rollout.moves import Done, Halted, Hold, Outlook, Standing, Wait
from gitops_mc.core.rollout.preview import FleetPreview

LONGEST = timedelta(hours=2)
"""Of the fleet's time: a scene that takes longer has failed."""


@dataclass(slots=True)
class _Course:
    """What became of one scene."""

    outlook: Outlook = field(default_factory=lambda: Wait("not begun"))
    look: Look | None = None
    notes: list[NodeNote] = field(default_factory=list)
    forecast: dict[str, Counter[str]] = field(default_factory=dict)
    began: datetime | None = None

    def of(self, cluster: str) -> list[NodeNote]:
        return [note for note in self.notes if note.cluster == cluster]


@dataclass(slots=True)
class Performance:
    """The story on a stage. `missed` are the expectations that did not come true."""

    stage: Stage
    files: dict[str, bytes]
    missed: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    """A sentence for each scene."""
    reboots: int = 0
    _teller: Teller = field(init=False)

    def __post_init__(self) -> None:
        self._teller = Teller(self.stage.session.clock.now())

    def lines(self, story: Sequence[Scene]) -> Iterator[Line]:
        """Everything, as it happens."""
        self.stage.notes()
        for number, scene in enumerate(story, 1):
            yield Line("")
            yield Line(f"{number}. {scene.title}", Tone.HEAD)
            yield from self._scene(scene)

    def _scene(self, scene: Scene) -> Iterator[Line]:
        for edit in scene.edits:
            self.files[edit.path] = edit.apply(self.files)
        commit = self.stage.commit(self.files, scene.message)
        yield Line(f"   commit {commit[:7]}  {scene.message}")
        for edit in scene.edits:
            yield from _diff(edit.before, edit.after)
        state, commit = self.stage.repository.read()
        fleet = Fleet(usable(state).policy, state.clusters, commit)
        planned = plan_fleet(self.stage.session, fleet, None, ask_servers)
        yield from _forecast(planned.preview)
        course = _Course(began=self.stage.session.clock.now())
        for cluster in planned.preview.clusters:
            apis = cluster.live.machine_apis
            if isinstance(apis, Known) and apis.value.served:
                course.forecast[cluster.name] = forecast_tally(cluster.impacts)
        before = self.stage.writes()
        self._teller.turn_the_page()
        yield from self._rollout(fleet, course)
        yield from self._judged(scene, fleet, course, before)

    def _rollout(self, fleet: Fleet, course: _Course) -> Iterator[Line]:
        late = _Late(frozenset(c.name for c in fleet.clusters) - course.forecast.keys())
        for look in self.stage.session.executor.rollout(fleet):
            course.look, course.outlook = look, look.decision.outlook
            fresh = self.stage.notes()
            course.notes += fresh
            yield from self._teller.look(look, fresh)
            yield from late.learn(look)
            if isinstance(course.outlook, Done | Hold | Halted):
                break
            if course.began is not None and look.at - course.began > LONGEST:
                break
        yield from self._teller.rest()
        course.forecast |= late.forecast

    def _judged(
        self, scene: Scene, fleet: Fleet, course: _Course, before: Mapping[str, int]
    ) -> Iterator[Line]:
        """Hold what was promised against what the witnesses say."""
        took = course.look.at - course.began if course.look and course.began else timedelta(0)
        tally = happened_tally(course.notes)
        self.reboots += tally[REBOOT]
        told = f"{_outlook(course.outlook)}; {duration(took)} of the fleet's time; {tally_words(tally)}"
        self.told.append(f"{scene.title}: {told}")
        yield Line(f"   {told}")
        if scene.ending is Ending.STOPPED:
            yield from self._stopped(fleet, course, before)
            return
        yield self._check(isinstance(course.outlook, Done), "every gate of every cluster opened")
        standings = (
            {} if course.look is None else {v.cluster: v.standing for v in course.look.decision.clusters}
        )
        passed = [name for name, standing in standings.items() if standing is Standing.PASSED]
        yield self._check(
            len(passed) == len(fleet.clusters), f"passed: {', '.join(sorted(passed)) or 'none'}"
        )
        yield from self._as_forecast(course)
        again = plan_fleet(self.stage.session, fleet, None, ask_servers).preview
        left = [c.name for c in again.clusters if c.changes or c.unknown or c.refused]
        yield self._check(not left, f"a plan made now has nothing left to do{_but(left)}")

    def _as_forecast(self, course: _Course) -> Iterator[Line]:
        for cluster, forecast in sorted(course.forecast.items()):
            happened = happened_tally(course.of(cluster))
            told = f"{cluster}: as forecast, {tally_words(happened)}"
            if happened != forecast:
                told = f"{cluster}: forecast {tally_words(forecast)}; happened {tally_words(happened)}"
            yield self._check(happened == forecast, told)

    def _stopped(self, fleet: Fleet, course: _Course, before: Mapping[str, int]) -> Iterator[Line]:
        after = self.stage.writes()
        others = sorted({c.name for c in fleet.clusters} - {CANARY})
        written = [name for name in others if after.get(name) != before.get(name)]
        yield self._check(isinstance(course.outlook, Halted), "the gate stopped it")
        yield self._check(after.get(CANARY) != before.get(CANARY), f"{CANARY}, the canary, was written to")
        yield self._check(
            not written, f"no write reached {', '.join(others)} (their API servers' own logs){_but(written)}"
        )
        disturbed = sorted({note.node for note in course.notes if note.cluster != CANARY})
        yield self._check(not disturbed, f"nothing happened on any of their nodes{_but(disturbed)}")

    def _check(self, came_true: bool, told: str) -> Line:  # noqa: FBT001 - what is checked is the verdict
        if came_true:
            return Line(f"   ok   {told}", Tone.GOOD)
        self.missed.append(told)
        return Line(f"   NOT  {told}", Tone.BAD)


@dataclass(slots=True)
class _Late:
    """Forecasts for clusters that had no pools when the plan was made: the last plan before their first config."""

    clusters: frozenset[str]
    forecast: dict[str, Counter[str]] = field(default_factory=dict)
    _closed: set[str] = field(default_factory=set)

    def learn(self, look: Look) -> Iterator[Line]:
        closed = {
            w.cluster for w in look.written if w.what.startswith((f"{Kind.MACHINE_CONFIG.value} ", "pool "))
        }
        for cluster in sorted((closed & self.clusters) - self._closed):
            told = tally_words(self.forecast.get(cluster, Counter()))
            yield Line(f"         {cluster:<8} forecast {told}", Tone.DIM)
        self._closed |= closed
        for view in look.decision.clusters:
            if view.cluster in self.clusters - self._closed and view.plan is not None and view.plan.impacts:
                self.forecast[view.cluster] = forecast_tally(view.plan.impacts)


def _forecast(preview: FleetPreview) -> Iterator[Line]:
    """Every cluster in a line, then what happens to nodes and why, each reason once."""
    reasons: dict[str, list[str]] = {}
    for cluster in preview.clusters:
        apis = cluster.live.machine_apis
        served = isinstance(apis, Known) and apis.value.served
        told = headline(cluster)
        if not served and cluster.plan is not None:
            told = f"{count(len(cluster.plan.writes), 'change')}, machine-config first; what its nodes do is not known before"
        yield Line(f"   plan {cluster.name}: {told}")
        for nodes in (nodes for impact in cluster.impacts for nodes in impact.nodes):
            reasons.setdefault(describe(nodes.disruption), []).extend(nodes.nodes)
    for reason, names in reasons.items():
        yield Line(f"      {reason}", Tone.WARN if reason.startswith("reboot") else Tone.DIM)
        yield Line(f"         {', '.join(names)}", Tone.DIM)


def _diff(before: str, after: str) -> Iterator[Line]:
    old, new = before.splitlines(), after.splitlines()
    yield from (Line(f"      - {line}", Tone.REMOVED) for line in old if line not in new)
    yield from (Line(f"      + {line}", Tone.ADDED) for line in new if line not in old)


def _outlook(outlook: Outlook) -> str:
    match outlook:
        case Done():
            return f"done: {outlook.reason}"
        case Halted():
            return "halted, no new write anywhere before a repair or a release"
        case Hold():
            return f"needs a human: {'; '.join(outlook.reasons)}"
        case Wait():
            return f"not finished: {outlook.reason}"


def _but(names: Sequence[str]) -> str:
    return f", but: {', '.join(names)}" if names else ""
