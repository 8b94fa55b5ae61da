"""What a script decides and what came of it, line by line, for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from tests.scenarios.drawn import Script
from tests.scenarios.recording import OurWrite


def begins(script: Script) -> Iterator[str]:
    """The seed, how to see it alone, and what it begins with."""
    yield f"seed {script.seed}: .venv/bin/python -m tests.simulation one {script.seed}"
    clusters = ", ".join(f"{c.name}({c.workers}w)" for c in script.spec.clusters)
    yield f"clusters: {clusters}; labelled {script.labelled}"
    yield script.pushes[0].files["fleet.yaml"]
    yield f"kills: {script.kills}"


def happenings(script: Script, start: datetime, ours: Sequence[OurWrite]) -> Iterator[tuple[datetime, str]]:
    """When, and what: commits, people, faults, and our writes."""

    def time(seconds: float) -> datetime:
        return start + timedelta(seconds=seconds)

    yield from ((time(p.at), f"commit {n}: {p.note}") for n, p in enumerate(script.pushes))
    yield from ((time(a.at), f"{a.deed} {a.cluster} {a.subject}") for a in script.hands)
    for e in script.events:
        yield time(e.at), f"{e.what} {e.cluster} {e.subject} {e.seconds or ''}".rstrip()
    for o in script.orders:
        yield time(o.at), f"{o.what} {o.cluster or 'the fleet'}"
        if o.end is not None:
            yield time(o.end), f"end of {o.what} {o.cluster or 'the fleet'}"
    for t in script.troubles:
        told = f"{t.kind} on {t.cluster} {dict(t.parameters)}"
        yield from ((time(t.at), told), (time(t.end), f"end of {told}"))
    for w in ours:
        kind = w.write.resource.partition(".")[0]
        yield w.write.time, f"    {w.cluster} {w.write.verb} {kind} {w.write.name}"
