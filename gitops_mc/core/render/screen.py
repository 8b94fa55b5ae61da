"""A rollout on one screen, at one moment."""

from __future__ import annotations

from collections.abc import Iterator

from gitops_mc.core.model import Open
from gitops_mc.core.plan import title_of
from gitops_mc.core.render.lines import Line, Tone, one_line
from gitops_mc.core.render.progress import (
    NO_NEWS,
    STANDING_TONES,
    WAVE_TONES,
    ClusterProgress,
    Progress,
    gate_tone,
    pools_of_step,
)
from gitops_mc.core.rollout.moves import Standing, WaveState


def screen(now: Progress, rows: int) -> tuple[Line, ...]:
    """The state of things on one screen of so many rows: what is open or moving; the rest is counted."""
    found: list[Line] = []
    for wave in now.waves:
        members = now.of_wave(wave)
        tone = WAVE_TONES.get(wave.state, Tone.HEAD)
        found.append(
            Line(f"wave {wave.wave}: {wave.state.value}, {now.passed(wave)} of {len(members)} passed", tone)
        )
        if wave.state is WaveState.DONE:
            continue
        shown = [c for c in members if c.busy or c.view.standing not in {Standing.PASSED, *NO_NEWS}]
        for cluster in shown:
            found += _rows(cluster)
    if len(found) > rows:
        hidden = len(found) - rows + 1
        found = [*found[: rows - 1], Line(f"... and {hidden} more lines", Tone.DIM)]
    return tuple(Line(one_line(line.text), line.tone) for line in found)


def _rows(cluster: ClusterProgress) -> Iterator[Line]:
    view = cluster.view
    step = f", at {title}" if (title := title_of(view.step)) else ""
    yield Line(
        f"  {view.cluster}: {view.standing.value}{step}", STANDING_TONES.get(view.standing, Tone.PLAIN)
    )
    if not cluster.busy:
        yield Line(f"      {view.reason}", Tone.DIM)
        return
    for gate in cluster.gates:
        if not isinstance(gate.verdict, Open):
            yield Line(f"      {gate.subject}: {gate.verdict.reason}", gate_tone(gate.verdict))
    concerned = pools_of_step(view.step)
    for pool in cluster.pools:
        if not isinstance(pool.gate.verdict, Open) and (not pool.quiet or pool.name in concerned):
            yield Line(f"      pool {pool.name}: {pool.words()}", gate_tone(pool.gate.verdict))
            reason = pool.gate.verdict.reason.removeprefix(f"pool {pool.name} of {view.cluster}: ")
            yield Line(f"          {reason}", Tone.DIM)
