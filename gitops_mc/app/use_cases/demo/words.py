"""What is said while a scene is played: only what changed since it was said last."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from gitops_mc.app.act import Written
from gitops_mc.app.looks import Look
from gitops_mc.app.use_cases.demo.notes import Deed, NodeNote
from gitops_mc.core.model import Failed, Open, Waiting
from gitops_mc.core.render.lines import Line, Tone
from gitops_mc.core.render.plan_words import duration
from gitops_mc.core.rollout.moves import ClusterView, GateView, Standing, WaveState, WaveView

_MOST = 110
"""Characters of a reason; the whole of it is what `status` and `why` are for."""
_CLAUSES = 3
_QUIET = (Standing.READY, Standing.NOT_KNOWN)
_TONES = {Standing.PASSED: Tone.GOOD, Standing.FAILED: Tone.BAD, Standing.BLOCKED: Tone.BAD}
_RENDERED = re.compile(r"\b(rendered-[a-z0-9-]{1,253}?-[0-9a-f]{6})[0-9a-f]{10,}\b")


@dataclass(slots=True)
class Teller:
    """Tells looks and notes as lines with the fleet's time since the beginning."""

    began: datetime
    _standings: dict[str, Standing] = field(default_factory=dict)
    _waves: dict[str, WaveState] = field(default_factory=dict)
    _awaited: dict[str, set[str]] = field(default_factory=dict)
    """By cluster: the gates behind what was written, until they open."""
    _gates: dict[tuple[str, str], str] = field(default_factory=dict)
    _held: list[NodeNote] = field(default_factory=list)
    """Notes from after the pass that is told."""

    def turn_the_page(self) -> None:
        """Another commit: where clusters stand with it is news."""
        for told in (self._standings, self._waves, self._awaited, self._gates):
            told.clear()

    def look(self, look: Look, notes: Sequence[NodeNote]) -> Iterator[Line]:
        """What happened on nodes until this pass of the engine; and what it saw, wrote and decided."""
        known = [*self._held, *notes]
        self._held = [note for note in known if note.at > look.at]
        yield from self.notes([note for note in known if note.at <= look.at])
        for cluster in sorted({w.cluster for w in look.written}):
            told = writes_words([w for w in look.written if w.cluster == cluster])
            yield self.line(look.at, cluster, f"wrote    {told}")
        for view in look.decision.clusters:
            yield from self._gate_lines(look.at, view)
        opening = [w for w in look.decision.waves if w.state is WaveState.OPEN]
        ended = [w for w in look.decision.waves if w.state in {WaveState.SOAKING, WaveState.DONE}]
        yield from (line for view in look.decision.clusters for line in self._ends(look.at, view))
        yield from (line for wave in (*ended, *opening) for line in self._wave(look.at, wave))
        yield from (line for view in look.decision.clusters for line in self._begins(look.at, view))
        for move in look.decision.moves:
            self._awaited.setdefault(move.cluster, set()).update(_subjects(move.step))

    def rest(self) -> Iterator[Line]:
        """What is still to be told of nodes."""
        held, self._held = self._held, []
        yield from self.notes(held)

    def notes(self, notes: Sequence[NodeNote]) -> Iterator[Line]:
        """What the nodes' own log says."""
        for note in notes:
            match note.deed:
                case Deed.REBOOTED:
                    why = "; ".join(r for r in note.why.split("; ") if "reboot" in r.lower())
                    yield self.line(note.at, note.cluster, f"node     {note.node} reboots: {why}", Tone.WARN)
                case Deed.ACTED:
                    yield self.line(note.at, note.cluster, f"node     {note.node}: {note.action}, no reboot")
                case Deed.DEGRADED:
                    told = f"node     {note.node} is Degraded: {note.action}"
                    yield self.line(note.at, note.cluster, told, Tone.BAD)

    def line(self, at: datetime, subject: str, text: str, tone: Tone = Tone.PLAIN) -> Line:
        """One line with its time."""
        seconds = max(0, int((at - self.began).total_seconds()))
        return Line(f"  {seconds // 60:02d}:{seconds % 60:02d}  {subject:<8} {text}", tone)

    def _wave(self, at: datetime, wave: WaveView) -> Iterator[Line]:
        before = self._waves.get(wave.wave)
        self._waves[wave.wave] = wave.state
        if before is wave.state or (wave.state is WaveState.DONE and before is None):
            return
        told = {
            WaveState.OPEN: f"opens: {', '.join(wave.members)}",
            WaveState.SOAKING: f"soaks for {duration(wave.soak_left)}: every gate has to stay open",
            WaveState.DONE: "is done",
        }
        yield self.line(at, "", f"wave {wave.wave} {told[wave.state]}", Tone.HEAD)

    def _begins(self, at: datetime, view: ClusterView) -> Iterator[Line]:
        if view.standing is Standing.IN_FLIGHT:
            yield from self._standing(at, view)

    def _ends(self, at: datetime, view: ClusterView) -> Iterator[Line]:
        if view.standing is not Standing.IN_FLIGHT:
            yield from self._standing(at, view)

    def _standing(self, at: datetime, view: ClusterView) -> Iterator[Line]:
        before = self._standings.get(view.cluster)
        self._standings[view.cluster] = view.standing
        if before is view.standing or view.standing in _QUIET:
            return
        plain = view.standing in {Standing.IN_FLIGHT, Standing.PASSED, Standing.FAILED}
        told = view.standing.value if plain else f"{view.standing.value}: {shortened(view.reason)}"
        yield self.line(at, view.cluster, told, _TONES.get(view.standing, Tone.PLAIN))

    def _gate_lines(self, at: datetime, view: ClusterView) -> Iterator[Line]:
        """Of the gates behind what was written: each turn once."""
        awaited = self._awaited.get(view.cluster, set())
        for gate in view.gates:
            state = type(gate.verdict).__name__
            if gate.subject not in awaited or self._gates.get((view.cluster, gate.subject)) == state:
                continue
            self._gates[view.cluster, gate.subject] = state
            yield from self._gate(at, view, gate)
            if isinstance(gate.verdict, Open):
                awaited.discard(gate.subject)
                self._gates.pop((view.cluster, gate.subject))

    def _gate(self, at: datetime, view: ClusterView, gate: GateView) -> Iterator[Line]:
        match gate.verdict:
            case Open():
                yield self.line(at, view.cluster, f"gate     {gate.subject} is open", Tone.GOOD)
            case Waiting(reason=reason):
                told = f"gate     {gate.subject} waits: {shortened(_clauses(reason, gate, view)[0])}"
                yield self.line(at, view.cluster, told, Tone.DIM)
            case Failed(reason=reason):
                yield self.line(at, view.cluster, f"gate     {gate.subject} failed:", Tone.BAD)
                for clause in _clauses(reason, gate, view)[:_CLAUSES]:
                    yield Line(f"                            {clause}", Tone.BAD)
            case _:
                pass


def _subjects(step: str) -> frozenset[str]:
    """The gates behind a step: `pools:infra,worker` -> `pool infra`, `pool worker`."""
    kind, _, subject = step.partition(":")
    match kind:
        case "pools":
            return frozenset(f"pool {name}" for name in subject.split(","))
        case "module":
            return frozenset({f"module {subject}", "components"})
        case _:
            return frozenset({"policy"})


def _clauses(reason: str, gate: GateView, view: ClusterView) -> list[str]:
    """A gate's reason in pieces, without the place that the line names already, and with short hashes."""
    bare = reason.removeprefix(f"{gate.subject} of {view.cluster}: ")
    bare = bare.removeprefix(f"MachineConfiguration cluster of {view.cluster}: ")
    return _RENDERED.sub(r"\1", bare).split("; ")


def writes_words(written: Sequence[Written]) -> str:
    """Writes in their order, those with the same deed told together: `MachineConfig a, b created`."""
    told: list[tuple[str, str, list[str]]] = []
    for write in written:
        kind, name, deed = write.what.split(" ", 2)
        if not told or told[-1][:2] != (kind, deed):
            told.append((kind, deed, []))
        told[-1][2].append(name)
    return "; ".join(f"{kind} {', '.join(names)} {deed}" for kind, deed, names in told)


def shortened(reason: str) -> str:
    """At most so long that it fits a line."""
    return reason if len(reason) <= _MOST else f"{reason[: _MOST - 1]}…"
