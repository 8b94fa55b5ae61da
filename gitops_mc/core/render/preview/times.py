"""How long it takes, wave by wave and cluster by cluster, and what that rests on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta

from gitops_mc.core.forecast.model import ClusterForecast, FleetForecast, Spread, WaveForecast
from gitops_mc.core.model import count
from gitops_mc.core.preview.model import LivePreview, Preview
from gitops_mc.core.preview.words import about
from gitops_mc.core.render.preview.document import (
    Bar,
    Basis,
    Block,
    Bullets,
    Code,
    Paragraph,
    Section,
    Stretch,
    StretchKind,
    Strong,
    Timeline,
    Words,
    words,
)
from gitops_mc.core.render.preview.groups import names_told, sorted_by

_SHARE = 0.1
_MOST_BARS = 8
"""Of one wave; of further clusters one bar says when they begin and end."""
_MINUTE = timedelta(minutes=1)
_ZERO = timedelta(0)


def times(preview: Preview) -> Section:
    """The timeline, and under which conditions it holds."""
    blocks: tuple[Block, ...] = ()
    if isinstance(preview.live, LivePreview) and preview.live.forecast is not None:
        blocks = tuple(_blocks(preview.live.forecast))
    return Section("How long it takes", Basis.MERGED, blocks, _SHARE)


def starts_told(clusters: Sequence[ClusterForecast]) -> str:
    """When the first of them begins, and the last."""
    first = clusters[0]
    if first.no_time:
        return f"not known: {first.no_time}"
    found = sorted(c.start.p50 for c in clusters if c.start is not None)
    if not found:
        return ""
    last = f", the last one after {about(found[-1])}" if found[-1] - found[0] >= _MINUTE else ""
    if found[0] >= _MINUTE:
        return f"{about(found[0])} after {first.after or 'the merge'}{last}"
    return (f"as soon as {first.after}" if first.after else "at once") + last


def takes_told(clusters: Iterable[ClusterForecast]) -> str:
    """What one of them takes: by the quickest half, and by the slowest 19 of 20."""
    found = [c.takes for c in clusters if c.takes is not None]
    if not found:
        return ""
    return _span_told(min(s.p50 for s in found), max(s.p95 for s in found))


def _blocks(found: FleetForecast) -> Iterator[Block]:
    if found.takes is not None:
        total = Strong(f"{about(found.takes.p50)}, 19 times of 20 within {about(found.takes.p95)}")
        yield Paragraph(
            words(total, f", when nothing fails ({count(found.samples, 'simulated rollout')} of this fleet).")
        )
    if found.no_time:
        yield Paragraph(words(Strong("Not all of it has a time"), f": {found.no_time}."))
    bars = tuple(_bars(found))
    if any(bar.stretches for bar in bars):
        last = max((s.end for bar in bars for s in bar.stretches), default=0.0)
        yield Timeline(bars, last)
    rests = (*(words(f"rests on: {r.told}") for r in found.rests_on), *_waits(found))
    if rests:
        yield Bullets(rests, "note")


def _waits(found: FleetForecast) -> Iterator[Words]:
    for command in dict.fromkeys(found.approvals):
        yield words("waits for ", Code(command), ", counted as given at once")


def _bars(found: FleetForecast) -> Iterator[Bar]:
    """Waves that wait for an approval begin, in the picture, when what is before them is done."""
    offset = done = _ZERO
    after = ""
    for wave in found.waves:
        if wave.after != after:
            offset, after = done, wave.after
        yield _wave(wave, offset)
        yield from _clusters(wave.clusters, offset)
        if wave.end is not None:
            done = max(done, offset + wave.end.p50)
    yield from _clusters(found.homeless, _ZERO)


def _wave(wave: WaveForecast, offset: timedelta) -> Bar:
    name = f"wave {wave.name}"
    if wave.start is None or wave.end is None:
        return Bar(name, f"no time: {wave.no_time}" if wave.no_time else "nothing to do", ())
    start, end, late = (_minutes(offset + s) for s in (wave.start.p50, wave.end.p50, wave.end.p95))
    soaked = max(start, end - _minutes(wave.soak))
    stretches = (
        Stretch(StretchKind.LATE, end, late),
        Stretch(StretchKind.LIKELY, start, soaked),
        Stretch(StretchKind.SOAK, soaked, end),
    )
    soak = f", {about(wave.soak)} of it soak" if wave.soak else ""
    approval = f", from when {wave.after}" if wave.after else ""
    takes = _spread_told(wave.takes) if wave.takes is not None else ""
    return Bar(name, f"{takes}{soak}{approval}", tuple(s for s in stretches if s.end > s.start))


def _clusters(clusters: Sequence[ClusterForecast], offset: timedelta) -> Iterator[Bar]:
    """Those that begin and end alike have one bar."""
    working = [c for c in clusters if c.works or c.no_time]
    alike = sorted_by((c.name, _cluster(c, offset)) for c in working)
    for bar, names in alike[:_MOST_BARS]:
        yield Bar(names_told(names), bar.told, bar.stretches, level=1)
    rest = alike[_MOST_BARS:]
    if rest:
        more = sum(len(names) for _, names in rest)
        spans = [s for bar, _ in rest for s in bar.stretches]
        first, last = min((s.start for s in spans), default=0.0), max((s.end for s in spans), default=0.0)
        stretches = (Stretch(StretchKind.LATE, first, last),) if last > first else ()
        yield Bar(f"{more} more", "one after the other as places become free", stretches, level=1)


def _cluster(cluster: ClusterForecast, offset: timedelta) -> Bar:
    """Without its name."""
    if cluster.start is None or cluster.end is None:
        return Bar("", f"no time: {cluster.no_time}", (), level=1)
    start, end, late = (_minutes(offset + s) for s in (cluster.start.p50, cluster.end.p50, cluster.end.p95))
    waits = cluster.windows.p50 if cluster.windows is not None else _ZERO
    stretches = (
        Stretch(StretchKind.SHUT, max(0.0, start - _minutes(waits)), start),
        Stretch(StretchKind.LATE, end, late),
        Stretch(StretchKind.LIKELY, start, end),
    )
    told = _spread_told(cluster.takes) if cluster.takes is not None else ""
    window = f", waits {about(waits)} for its window" if waits >= _MINUTE else ""
    return Bar("", told + window, tuple(s for s in stretches if s.end > s.start), level=1)


def _spread_told(spread: Spread) -> str:
    return _span_told(spread.p50, spread.p95)


def _span_told(likely: timedelta, late: timedelta) -> str:
    low, high = about(likely), about(late)
    return low if low == high else f"{low}, within {high}"


def _minutes(span: timedelta) -> float:
    """Whole ones: a picture of letters has no finer ones, and the page shows the same."""
    return float(round(span / _MINUTE))
