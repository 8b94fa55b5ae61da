"""Makes the script of a failing seed small: what can be taken away while the same invariant still breaks, is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from tests.scenarios.commits import Push
from tests.scenarios.controller_simulation_drawn import Plot
from tests.scenarios.drawn import Script
from tests.scenarios.drawn_windows import per_node, with_windows

T = TypeVar("T")
_OF_PLOTS = ("freezes", "cuts", "dumb", "asks")
_LISTS = ("kills", "orders", "events", "troubles", "hands")


def shrunk(script: Script, breaks: Callable[[Script], bool]) -> Script:
    """The smallest script on the way down: no single thing more can be taken away. `breaks` says whether a script still
    breaks what the first one broke; the same script always gives the same answer.
    """
    return _descended(script, _smaller, breaks)


def shrunk_plot(plot: Plot, breaks: Callable[[Plot], bool]) -> Plot:
    """The same for two processes of the controller."""
    return _descended(plot, _smaller_plots, breaks)


def _descended(whole: T, smaller: Callable[[T], Iterator[T]], breaks: Callable[[T], bool]) -> T:
    while True:
        less = next((s for s in smaller(whole) if breaks(s)), None)
        if less is None:
            return whole
        whole = less


def _smaller_plots(plot: Plot) -> Iterator[Plot]:
    """What happens to the controller goes first, all of a kind and then one by one, between that what happens to its fleet."""
    yield from (_with_plot(plot, field, ()) for field in _OF_PLOTS if getattr(plot, field))
    for script in _smaller(plot.script):
        names = {c.name for c in script.spec.clusters}
        yield replace(plot, script=script, asks=tuple(a for a in plot.asks if a.cluster in {"", *names}))
    for field in _OF_PLOTS:
        yield from (_with_plot(plot, field, rest) for rest in _without_one(getattr(plot, field)))


def _with_plot(plot: Plot, field: str, items: tuple[Any, ...]) -> Plot:
    changes: dict[str, Any] = {field: items}
    return replace(plot, **changes)


def _smaller(script: Script) -> Iterator[Script]:
    """Scripts with one thing less, big things first."""
    yield from (_with(script, field, ()) for field in _LISTS if getattr(script, field))
    yield from _fewer_clusters(script)
    yield from _fewer_windows(script)
    for pushes in _without_one(script.pushes[1:]):
        yield replace(script, pushes=(script.pushes[0], *pushes))
    for field in _LISTS:
        yield from (_with(script, field, rest) for rest in _without_one(getattr(script, field)))
    if script.labelled:
        for rest in _without_one(script.labelled):
            yield replace(script, labelled=rest)
    if script.order is not None:
        yield replace(script, order=None)
    for number, push in enumerate(script.pushes):
        for path in sorted(push.files):
            if path.startswith(("clusters/", "shared/")) and not path.endswith(".keep.yaml"):
                yield _without_file(script, number, path)


def _with(script: Script, field: str, items: tuple[Any, ...]) -> Script:
    changes: dict[str, Any] = {field: items}
    return replace(script, **changes)


def _without_one(items: tuple[T, ...]) -> Iterator[tuple[T, ...]]:
    for i in range(len(items)):
        yield items[:i] + items[i + 1 :]


def _fewer_clusters(script: Script) -> Iterator[Script]:
    names = [c.name for c in script.spec.clusters]
    for name in reversed(names if len(names) > 1 else []):
        yield replace(
            script,
            spec=replace(script.spec, clusters=tuple(c for c in script.spec.clusters if c.name != name)),
            labelled=tuple(x for x in script.labelled if x[0] != name),
            hands=tuple(x for x in script.hands if x.cluster != name),
            troubles=tuple(x for x in script.troubles if x.cluster != name),
            events=tuple(x for x in script.events if x.cluster != name),
            orders=tuple(x for x in script.orders if x.cluster != name),
            pushes=tuple(_without_folder(p, name) for p in script.pushes),
        )


def _fewer_windows(script: Script) -> Iterator[Script]:
    """Without all of them, without one, and without the clusters that one is for: it is for all then. In every commit."""
    lists = [(), *_without_one(script.windows)] if script.windows else []
    for number, window in enumerate(script.windows):
        if window.clusters:
            wider = replace(window, clusters=())
            lists.append((*script.windows[:number], wider, *script.windows[number + 1 :]))
    for windows in dict.fromkeys(lists):
        each = per_node(script.seed)
        pushes = tuple(replace(p, files=with_windows(p.files, windows, each)) for p in script.pushes)
        yield replace(script, windows=windows, pushes=pushes)


def _without_folder(push: Push, cluster: str) -> Push:
    kept = {path: text for path, text in push.files.items() if not path.startswith(f"clusters/{cluster}/")}
    return replace(push, files=kept)


def _without_file(script: Script, number: int, path: str) -> Script:
    """Without a manifest in one commit, and in those after it that still have it as it was."""
    pushes = list(script.pushes)
    text = pushes[number].files[path]
    for i in range(number, len(pushes)):
        if pushes[i].files.get(path) != text:
            break
        kept = {p: t for p, t in pushes[i].files.items() if p != path}
        pushes[i] = replace(pushes[i], files=kept)
    return replace(script, pushes=tuple(pushes))
