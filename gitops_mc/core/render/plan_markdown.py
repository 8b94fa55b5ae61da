"""A plan as a comment on a pull request: the fleet in one table, each cluster folded away below it.

Forges refuse a comment of more than 65,536 characters. What does not fit is cut, from the end, and that is said; totals
and digest always stand. Everything is redacted before it is cut: half a secret is not recognised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from gitops_mc.core.render.lines import text_of
from gitops_mc.core.render.markdown_text import fence_for, in_html, inline, led, shortened
from gitops_mc.core.render.plan_text import cluster_text
from gitops_mc.core.render.plan_words import headline, source, time_words, totals, wave_words
from gitops_mc.core.rollout.preview import ClusterPreview, FleetPreview

LIMIT = 65_536
"""Bytes in UTF-8, and so characters, too."""
_ROOM = 2_000
"""For the end: totals, digest, and the note of what was cut."""
_SHARE_OF_TABLE = LIMIT // 2


def plan_markdown(found: FleetPreview, redact: Callable[[str], str]) -> str:
    """At most LIMIT bytes, whatever the fleet."""
    head = f"## gitops-mc plan\n\n{_cell(redact, totals(found))}\n\nFor {source(found.commit)}.\n"
    waves = [f"\n- wave {_cell(redact, f'{w.line.wave.name}: {wave_words(w)}')}" for w in found.waves]
    rows = [_row(cluster, redact) for cluster in found.clusters]
    details = [_details(cluster, redact) for cluster in found.clusters if _worth_details(cluster)]
    end = f"\nplan digest: `{found.digest}`\n"
    room = LIMIT - _ROOM - _size(head)
    shown_waves = _fitting(waves, min(room, _SHARE_OF_TABLE // 2))
    room -= _size("".join(shown_waves))
    table = "\n\n| cluster | wave | plan | time |\n|---|---|---|---|\n"
    shown_rows = _fitting(rows, min(room, _SHARE_OF_TABLE) - _size(table))
    room -= _size(table) + _size("".join(shown_rows))
    shown_details = _fitting(details, room)
    cut = _cut(
        ("wave", "waves", len(waves) - len(shown_waves)),
        ("row of the table", "rows of the table", len(rows) - len(shown_rows)),
        ("cluster's details", "clusters' details", len(details) - len(shown_details)),
    )
    return "".join([head, *shown_waves, table, *shown_rows, *shown_details, cut, end])


def _row(cluster: ClusterPreview, redact: Callable[[str], str]) -> str:
    cells = (
        _cell(redact, text) for text in (cluster.name, cluster.wave, headline(cluster), time_words(cluster))
    )
    return f"| {' | '.join(cells)} |\n"


def _worth_details(cluster: ClusterPreview) -> bool:
    return headline(cluster) != "no change" or len(tuple(cluster_text(cluster))) > len(("", "headline"))


def _details(cluster: ClusterPreview, redact: Callable[[str], str]) -> str:
    text = redact(text_of(cluster_text(cluster))).strip("\n")
    fence = fence_for(text)
    summary = in_html(shortened(redact(f"{cluster.name}: {headline(cluster)}")))
    body = f"{fence}text\n{text}\n{fence}"
    return f"\n<details><summary>{summary}</summary>\n\n{body}\n\n</details>\n"


def _cell(redact: Callable[[str], str], text: str) -> str:
    """Text in which nothing is markup, on one line, and not too long."""
    return led(inline(shortened(redact(text))))


def _fitting(parts: Sequence[str], room: int) -> Sequence[str]:
    """The parts, in order, that fit; one that does not fit is left out, smaller ones behind it are not."""
    shown: list[str] = []
    for part in parts:
        if _size(part) <= room:
            shown.append(part)
            room -= _size(part)
    return shown


def _cut(*left: tuple[str, str, int]) -> str:
    told = [f"{n} {one if n == 1 else many}" for one, many, n in left if n]
    if not told:
        return ""
    return f"\n**Cut to fit: {', '.join(told)}.** The whole plan: `gitops-mc plan`.\n"


def _size(text: str | Iterable[str]) -> int:
    return len("".join(text).encode("utf-8", "backslashreplace"))
