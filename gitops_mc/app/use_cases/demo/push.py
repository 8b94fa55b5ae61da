"""The story of the controller: pushes to Git, an approval by annotation, a leader that is killed, a bad commit and its repair.

What is told is read from the controller's own objects, as anybody with kubectl would, and from the log of the nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from gitops_mc.app.ports import Clock
from gitops_mc.app.use_cases.demo.notes import Deed, NodeNote
from gitops_mc.app.use_cases.demo.story import BAD_LINE, CANARY, STORY, Edit
from gitops_mc.app.use_cases.demo.words import shortened
from gitops_mc.core.model import GLOBAL_CLUSTER, Commit, JsonObject, count
from gitops_mc.core.render.lines import Line, Tone
from gitops_mc.core.render.plan_words import duration
from gitops_mc.core.rollout.moves import WaveState

LONGEST = timedelta(hours=3)
"""Of the fleet's time: a scene that takes longer has failed."""
_LOOK_EVERY = timedelta(seconds=20)
NEEDS_APPROVAL = WaveState.NEEDS_APPROVAL.value
_TONES = {"passed": Tone.GOOD, "failed": Tone.BAD, "needs approval": Tone.WARN}


@dataclass(frozen=True, slots=True)
class PushStage:
    """A fleet, a repository, and two processes of the controller that nobody in here talks to but by objects."""

    clock: Clock
    commit: Callable[[Mapping[str, bytes], str], Commit]
    fleet: Callable[[], JsonObject]
    rollouts: Callable[[], Mapping[str, JsonObject]]
    """By cluster."""
    annotate: Callable[[str, str], None]
    """Ask something of the Fleet: a verb, and a value."""
    leader: Callable[[], str]
    """Who holds the lease; empty: nobody."""
    kill: Callable[[str], None]
    """End a process at once (SIGKILL), and start none in its place."""
    notes: Callable[[], tuple[NodeNote, ...]]
    writes: Callable[[], Mapping[str, int]]


@dataclass(slots=True)
class Pushing:
    """The story on its stage. `missed` are the expectations that did not come true."""

    stage: PushStage
    files: dict[str, bytes]
    missed: list[str] = field(default_factory=list)
    _began: datetime = field(init=False)
    _said: dict[str, str] = field(default_factory=dict)
    _reboots: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._began = self.stage.clock.now()

    def lines(self) -> Iterator[Line]:
        """Everything, as it happens."""
        self.stage.notes()
        yield from self._scene("Somebody pushes: the canary first, and then an approval is asked for")
        commit = self._pushed("The example fleet")
        yield Line(f"   commit {commit[:7]}  The example fleet")
        yield from self._until(self._waits_for_approval)
        yield self._check(
            self._waits_for_approval(), "the canary has passed, and wave rest waits for somebody"
        )
        self.stage.annotate("approve", "{wave: rest, by: mei, reason: the canary looks good}")
        yield Line(
            "   kubectl annotate fleet prod gitops-mc.io/approve='{wave: rest, by: mei, reason: ...}'",
            Tone.HEAD,
        )
        yield from self._until(lambda: self._at(commit) and self._outlook() == "done")
        yield self._check(self._outlook() == "done", f"every cluster has it: {self._progress()}")

        yield from self._scene("Another push, and the leader is killed in the middle of it")
        commit = yield from self._edited(0)
        yield from self._until(lambda: self._at(commit) and self._standing(CANARY) == "in flight")
        leader = self.stage.leader()
        self.stage.kill(leader)
        yield Line(f"   kill -9 {leader}", Tone.BAD)
        yield from self._until(self._waits_for_approval)
        self.stage.annotate("approve", "{wave: rest, by: mei}")
        yield Line("   kubectl annotate fleet prod gitops-mc.io/approve='{wave: rest, by: mei}'", Tone.HEAD)
        yield from self._until(lambda: self._at(commit) and self._outlook() == "done")
        other = self.stage.leader()
        yield self._check(other not in {"", leader}, f"{other} has taken over and finished it")

        yield from self._scene("A bad push: a misspelt word that no validation of YAML can see")
        before = self.stage.writes()
        commit = yield from self._edited(1)
        yield from self._until(lambda: self._at(commit) and self._outlook() == "halted")
        after = self.stage.writes()
        written = [n for n in sorted(after) if n not in {CANARY, GLOBAL_CLUSTER} and after[n] != before[n]]
        yield self._check(self._outlook() == "halted", "the gate stopped it")
        yield self._check(
            not written, f"no write reached any other cluster{f', but {written}' if written else ''}"
        )

        yield from self._scene("A push that repairs it goes through the halt")
        commit = yield from self._edited(2)
        yield from self._until(self._waits_for_approval)
        self.stage.annotate("approve", "{wave: rest, by: mei}")
        yield Line("   kubectl annotate fleet prod gitops-mc.io/approve='{wave: rest, by: mei}'", Tone.HEAD)
        yield from self._until(lambda: self._at(commit) and self._outlook() == "done")
        yield self._check(self._outlook() == "done", f"every cluster has it: {self._progress()}")
        most = max(self._reboots.values(), default=0)
        yield self._check(most <= 1, "no node has rebooted more than once in all of this")

    # ------------------------------------------------------------------------------------------------------- scenes

    def _scene(self, title: str) -> Iterator[Line]:
        yield Line("")
        yield Line(title, Tone.HEAD)

    def _pushed(self, message: str) -> Commit:
        return self.stage.commit(self.files, message)

    def _edited(self, number: int) -> Generator[Line, None, Commit]:
        """Push the edits of a scene of the other demonstration. The commit."""
        scene = STORY[number + 1]
        for edit in scene.edits:
            self.files[edit.path] = edit.apply(self.files)
        commit = self._pushed(scene.message)
        yield Line(f"   commit {commit[:7]}  {scene.message}")
        for edit in scene.edits:
            yield from _diff(edit)
        return commit

    def _until(self, reached: Callable[[], bool]) -> Iterator[Line]:
        """Tell what changes until something is so, or for as long as a scene may take."""
        end = self.stage.clock.now() + LONGEST
        while self.stage.clock.now() < end:
            yield from self._news()
            if reached():
                return
            self.stage.clock.wait(self.stage.clock.now() + _LOOK_EVERY)

    def _news(self) -> Iterator[Line]:
        for note in self.stage.notes():
            match note.deed:
                case Deed.REBOOTED:
                    self._reboots[f"{note.cluster}/{note.node}"] += 1
                    yield self._line(note.cluster, f"node {note.node} reboots", Tone.WARN)
                case Deed.ACTED:
                    yield self._line(note.cluster, f"node {note.node}: {note.action}, no reboot")
                case Deed.DEGRADED:
                    yield self._line(note.cluster, f"node {note.node} is Degraded: {note.action}", Tone.BAD)
        fleet = self.stage.fleet().get("status") or {}
        for wave in fleet.get("waves") or ():
            state = wave["state"] if wave["state"] == NEEDS_APPROVAL else f"is {wave['state']}"
            yield from self._said_once(f"wave {wave['name']}", f"wave {wave['name']} {state}", Tone.HEAD)
        for cluster, body in self.stage.rollouts().items():
            standing = str((body.get("status") or {}).get("standing", ""))
            if standing not in {"", "ready", "not known"}:
                yield from self._said_once(cluster, standing, _TONES.get(standing, Tone.PLAIN))
        yield from self._said_once("leader", f"leader: {self.stage.leader() or 'nobody'}", Tone.DIM)

    def _said_once(self, subject: str, text: str, tone: Tone) -> Iterator[Line]:
        if self._said.get(subject) != text:
            self._said[subject] = text
            about = subject if subject in self.stage.rollouts() else ""
            yield self._line(about, shortened(text), tone)

    def _line(self, subject: str, text: str, tone: Tone = Tone.PLAIN) -> Line:
        passed = duration(self.stage.clock.now() - self._began)
        return Line(f"  {passed:>8}  {subject:<8} {text}", tone)

    def _check(self, came_true: bool, told: str) -> Line:  # noqa: FBT001 - what is checked is the verdict
        if came_true:
            return Line(f"   ok   {told}", Tone.GOOD)
        self.missed.append(told)
        return Line(f"   NOT  {told}", Tone.BAD)

    # -------------------------------------------------------------------------------------------------- what is seen

    def _status(self) -> JsonObject:
        found: JsonObject = self.stage.fleet().get("status") or {}
        return found

    def _outlook(self) -> str:
        return str(self._status().get("outlook", ""))

    def _progress(self) -> str:
        return f"{self._status().get('progress', '')} passed"

    def _at(self, commit: Commit) -> bool:
        return (self._status().get("source") or {}).get("commit") == commit

    def _standing(self, cluster: str) -> str:
        return str((self.stage.rollouts().get(cluster, {}).get("status") or {}).get("standing", ""))

    def _waits_for_approval(self) -> bool:
        waves = self._status().get("waves") or ()
        return any(w["name"] == "rest" and w["state"] == NEEDS_APPROVAL for w in waves)


def _diff(edit: Edit) -> Iterator[Line]:
    old, new = edit.before.splitlines(), edit.after.splitlines()
    yield from (Line(f"      - {line}", Tone.REMOVED) for line in old if line not in new)
    yield from (Line(f"      + {line}", Tone.ADDED) for line in new if line not in old)


def asked_first(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files of the other demonstration, with an approval before wave rest."""
    rest = "        clusters: {except: [global]}\n"
    return {**files, "fleet.yaml": Edit("fleet.yaml", rest, f"{rest}        approval: manual\n").apply(files)}


def epilogue(show: Pushing, seconds: float) -> Iterator[Line]:
    """How it came out."""
    yield Line("")
    if show.missed:
        yield Line(f"{count(len(show.missed), 'thing')} did not come true:", Tone.BAD)
        yield from (Line(f"   {told}", Tone.BAD) for told in show.missed)
    else:
        yield Line(f"Everything came true. {BAD_LINE.partition(' ')[0]!r} never left the canary.", Tone.GOOD)
    yield Line(f"   {seconds:.0f} seconds of real time")
