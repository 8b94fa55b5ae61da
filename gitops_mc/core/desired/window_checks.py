"""What can be said of change windows before anything is rolled out: windows for nobody, and those that nothing fits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Final

from gitops_mc.core.fleetfile import FleetFile
from gitops_mc.core.model import FleetScope, Problem, Severity
from gitops_mc.core.rollout.windows import Rule, calendar_of, concerning, told_span, with_time_to_begin

_ANY_DAY: Final = date(2024, 1, 1)
"""From when on windows are looked at: a repository says the same at every time. Eight years have every day in them."""
_NAMED: Final = 3


def window_checks(fleet: FleetFile, members: Sequence[str]) -> Iterator[Problem]:
    """Warnings only: what fits no window is refused cluster by cluster when it comes to it."""
    yield from _for_nobody(fleet, members)
    alike: dict[tuple[Rule, ...], list[str]] = {}
    for name in members:
        labels = fleet.draft.cluster_labels.get(name, {})
        rules = concerning(fleet.draft.windows, name, labels)
        if rules:
            alike.setdefault(rules, []).append(name)
    for rules, names in alike.items():
        yield from _too_short(fleet, rules, names)


def _for_nobody(fleet: FleetFile, members: Sequence[str]) -> Iterator[Problem]:
    labels = fleet.draft.cluster_labels
    for number, window in enumerate(fleet.draft.windows):
        if not any(window.clusters.matches(name, labels.get(name, {})) for name in members):
            message = f"no cluster is selected for this {window.kind.value} window"
            yield _warning(fleet, number, "fleet-window-unused", message, "mend its `clusters`")


def _too_short(fleet: FleetFile, rules: tuple[Rule, ...], names: list[str]) -> Iterator[Problem]:
    calendar = calendar_of(rules, _ANY_DAY)
    whose = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
    labels = fleet.draft.cluster_labels.get(names[0], {})
    number = next(n for n, w in enumerate(fleet.draft.windows) if w.clusters.matches(names[0], labels))
    if not calendar.allowed:
        message = f"no window ever opens for {whose}: what is allowed is always frozen"
        yield _warning(fleet, number, "fleet-window-never", message, "shorten the freeze, or allow more")
    elif not any(calendar.endless(span) for span in calendar.allowed):
        longest, needed = max(span.length for span in calendar.allowed), fleet.draft.gates.pool.per_node
        if longest < with_time_to_begin(needed):
            message = (
                f"the longest window of {whose} lasts {told_span(longest)}, and one node is reckoned with {told_span(needed)} "
                "(gates.pool.perNode) and some time to begin in: no step that drains a node ever begins"
            )
            hint = "lengthen the window, or lower perNode if a node takes less"
            yield _warning(fleet, number, "fleet-window-short", message, hint)


def _warning(fleet: FleetFile, number: int, rule: str, message: str, hint: str) -> Problem:
    place = fleet.place("spec", "windows", number)
    return Problem(place, rule, f"spec.windows[{number}]", message, hint, FleetScope(), Severity.WARNING)
