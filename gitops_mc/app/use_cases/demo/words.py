"""What is said while a scene is played: only what changed since it was said last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from gitops_mc.app.act import Written
from gitops_mc.app.executor import Look
from gitops_mc.app.use_cases.demo.notes import Deed, NodeNote
from gitops_mc.core.model import Failed, Open, Waiting
from gitops_mc.core.render.lines import Line, Tone
from gitops_mc.core.rollout.moves import ClusterView, Standing, WaveState, WaveView

_MOST = 150
"""Characters of a reason; the whole of it is what `status` and `why` are for."""
_QUIET = (Standing.READY, Standing.NOT_KNOWN)
_TONES = {Standing.PASSED: Tone.GOOD, Standing.FAILED: Tone.BAD, Standing.BLOCKED: Tone.BAD}


@dataclass(slots=True)
class Teller:
    """Tells looks and notes as lines with the fleet's time since the beginning."""

    began: datetime
    _standings: dict[str, Standing] = field(default_factory=dict)
    _gates: dict[tuple[str, str], str] = field(default_factory=dict)
    _waves: dict[str, WaveState] = field(default_factory=dict)

    def forget_standings(self) -> None:
        """Another commit: where clusters stand with it is news."""
        self._standings.clear()
        self._waves.clear()
        self._gates.clear()

    def look(self, look: Look) -> Iterator[Line]:
        """What one pass of the engine decided, wrote and saw."""
        for wave in look.decision.waves:
            yield from self._wave(look.at, wave)
        for cluster in sorted({w.cluster for w in look.written}):
            told = writes_words([w for w in look.written if w.cluster == cluster])
            yield self.line(look.at, cluster, f"wrote    {told}")
        for view in look.decision.clusters:
            yield from self._cluster(look.at, view)

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
                    yield self.line(
                        note.at, note.cluster, f"node     {note.node} is Degraded: {note.action}", Tone.BAD
                    )

    def line(self, at: datetime, subject: str, text: str, tone: Tone = Tone.PLAIN) -> Line:
        seconds = max(0, int((at - self.began).total_seconds()))
        return Line(f"  {seconds // 60:02d}:{seconds % 60:02d}  {subject:<8} {text}", tone)

    def _wave(self, at: datetime, wave: WaveView) -> Iterator[Line]:
        before = self._waves.get(wave.wave)
        self._waves[wave.wave] = wave.state
        if before is wave.state or (wave.state is WaveState.CLOSED and before is None):
            return
        if wave.state is WaveState.DONE and before is None:
            return
        if wave.state is WaveState.OPEN:
            yield self.line(at, "", f"wave {wave.wave} opens: {', '.join(wave.members)}", Tone.HEAD)
        elif wave.state is WaveState.SOAKING:
            yield self.line(at, "", f"wave {wave.wave} soaks: every gate has to stay open", Tone.HEAD)
        elif wave.state is WaveState.DONE:
            yield self.line(at, "", f"wave {wave.wave} is done", Tone.HEAD)

    def _cluster(self, at: datetime, view: ClusterView) -> Iterator[Line]:
        before = self._standings.get(view.cluster)
        self._standings[view.cluster] = view.standing
        if view.standing is Standing.IN_FLIGHT or before is Standing.IN_FLIGHT:
            yield from self._gate_lines(at, view)
        if before is view.standing or view.standing in _QUIET:
            return
        told = "" if view.standing in {Standing.IN_FLIGHT, Standing.PASSED} else f": {shortened(view.reason)}"
        tone = _TONES.get(view.standing, Tone.PLAIN)
        yield self.line(at, view.cluster, f"{view.standing.value}{told}", tone)

    def _gate_lines(self, at: datetime, view: ClusterView) -> Iterator[Line]:
        for gate in view.gates:
            state = type(gate.verdict).__name__
            before = self._gates.get((view.cluster, gate.subject))
            self._gates[view.cluster, gate.subject] = state
            if before == state or (before is None and isinstance(gate.verdict, Open)):
                continue
            match gate.verdict:
                case Open():
                    yield self.line(at, view.cluster, f"gate     {gate.subject} is open", Tone.GOOD)
                case Waiting(reason=reason):
                    yield self.line(
                        at, view.cluster, f"gate     {gate.subject} waits: {shortened(reason)}", Tone.DIM
                    )
                case Failed(reason=reason):
                    yield self.line(at, view.cluster, f"gate     {gate.subject} failed: {reason}", Tone.BAD)
                case _:
                    pass


def writes_words(written: Sequence[Written]) -> str:
    """Writes in their order, those with the same deed told together: `created MachineConfig a, b`."""
    told: list[tuple[str, str, list[str]]] = []
    for write in written:
        kind, name, deed = write.what.split(" ", 2)
        if not told or told[-1][:2] != (kind, deed):
            told.append((kind, deed, []))
        told[-1][2].append(name)
    return "; ".join(f"{kind} {', '.join(names)} {deed}" for kind, deed, names in told)


def shortened(reason: str) -> str:
    return reason if len(reason) <= _MOST else f"{reason[: _MOST - 1]}…"
