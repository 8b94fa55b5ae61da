"""Why a cluster of a Fleet stands where it stands, from its objects on global: from Git down to the cluster, and what to type."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from gitops_mc.core.model import JsonObject
from gitops_mc.core.plan import title_of
from gitops_mc.core.render.fleet_commands import FleetCommands
from gitops_mc.core.render.fleet_status import orders, source_line, unseen
from gitops_mc.core.render.lines import Line, Tone, one_line
from gitops_mc.core.rollout.moves import Standing, WaveState
from gitops_mc.core.why.cluster import commands_of
from gitops_mc.core.why.link import Link

_OPEN: Final = (WaveState.OPEN.value, WaveState.SOAKING.value, WaveState.DONE.value)
_GOOD: Final = (Standing.PASSED.value, Standing.READY.value, Standing.IN_FLIGHT.value)


@dataclass(frozen=True, slots=True)
class FleetLink:
    """What is so, whether it holds the cluster up, and what to type about it."""

    subject: str
    told: str
    blocks: bool = False
    commands: tuple[str, ...] = ()


def fleet_why(told: JsonObject, name: str, now: datetime, commands: FleetCommands) -> tuple[FleetLink, ...]:
    """`told` is what `fleet_json` gave; `name` is one of its clusters."""
    cluster = next(c for c in told["clusters"] if c["cluster"] == name)
    links = (*_of_fleet(told, name, now, commands), *_of_wave(told, cluster), *_of_cluster(cluster))
    return tuple(
        FleetLink(n.subject, commands.said(n.told), n.blocks, tuple(map(commands.said, n.commands)))
        for n in links
    )


def with_pools(
    links: tuple[FleetLink, ...], found: Iterable[Link], commands: FleetCommands
) -> tuple[FleetLink, ...]:
    """The chain with what one look at the cluster itself has shown of its pools and nodes, at its end."""
    more = (
        FleetLink(n.subject.value, commands.said(n.told), n.blocks, tuple(map(commands.said, n.commands)))
        for n in found
    )
    return (*links, *more)


def _of_fleet(told: JsonObject, name: str, now: datetime, commands: FleetCommands) -> Iterator[FleetLink]:
    fleet = told["fleet"]
    yield FleetLink("git", source_line(fleet["source"]).text, blocks=bool(fleet["source"]["problem"]))
    for line in unseen(told["remembered_at"], now, commands):
        yield FleetLink("driver", line.text, blocks=True)
    for line in orders(fleet):
        yield FleetLink("fleet", line.text, blocks=True, commands=("gitops-mc resume",))
    if halt := told["halt"]:
        whys = tuple(f"gitops-mc why {n}" for n in halt["clusters"] if n != name)
        yield FleetLink("halt", halt["reason"], blocks=True, commands=(*whys, "gitops-mc release --all"))


def _of_wave(told: JsonObject, cluster: Mapping[str, Any]) -> Iterator[FleetLink]:
    wave = next((w for w in told["waves"] if w["wave"] == cluster["wave"]), None)
    if wave is None or cluster["standing"] == Standing.PASSED.value:
        return
    said = f"{wave['wave']} is {wave['state']}" + (f": {wave['reason']}" if wave["reason"] else "")
    approval = wave["state"] == WaveState.NEEDS_APPROVAL.value
    acts = (f"gitops-mc apply --approve {wave['wave']}",) if approval else ()
    yield FleetLink("wave", said, blocks=wave["state"] not in _OPEN, commands=acts)


def _of_cluster(c: Mapping[str, Any]) -> Iterator[FleetLink]:
    name, standing = c["cluster"], c["standing"]
    failure = c["failure"]
    reason = "" if c["reason"] in {"", standing} else f": {c['reason']}"
    acts = _commands(standing, name, c["no_rollback"])
    release = (f"gitops-mc release {name}",) if c["hold"] is not None else ()
    yield FleetLink("cluster", f"{standing}{reason}", standing not in _GOOD, (*release, *acts))
    if c["hold"] is not None and c["hold"]["reason"] not in reason:
        by = f" by {c['hold']['by']}" if c["hold"]["by"] else ""
        yield FleetLink("cluster", f"held{by}: {c['hold']['reason']}", blocks=True)
    if failure is not None and failure["reason"] not in reason:
        yield FleetLink("failure", f"{failure['reason']}, since {failure['at']}", blocks=True)
    if c["step"] is not None:
        yield FleetLink("step", f"at {title_of(c['step']['step'])} since {c['step']['since']}")
    for excuse in c["excused"]:
        told = f"{excuse['node']} is excused until {excuse['until']}: {excuse['reason']}"
        undo = f"gitops-mc excuse {excuse['node']} --cluster {name} --undo"
        yield FleetLink("node", told, commands=(undo,))
    for finding in c["acceptable"]:
        undone = f"gitops-mc accept {finding} --cluster {name}"
        yield FleetLink("pool", f"shows the finding {finding}", blocks=True, commands=(undone,))
    if c["drift"]:
        told = f"not as Git says any more, and left alone: {', '.join(c['drift'])}"
        yield FleetLink("drift", told, commands=(f"gitops-mc diff --cluster {name}",))
    if c["hands"]:
        yield FleetLink("cluster", f"time alone brings it no further: {c['hands']}", blocks=True)


def _commands(standing: str, name: str, no_rollback: str) -> tuple[str, ...]:
    """Empty for a standing of a memory alone (`not started`), and where nothing has to be done."""
    known = {s.value: s for s in Standing}
    if standing not in known or standing in _GOOD:
        return ()
    return commands_of(known[standing], name, no_rollback)


def no_such_cluster(told: JsonObject, name: str) -> tuple[str, str]:
    """That a Fleet has no cluster of this name, or that nobody knows yet which it has; and what helps."""
    title = f"{told['fleet']['namespace']}/{told['fleet']['name']}"
    there = [c["cluster"] for c in told["clusters"]]
    trouble = _trouble(told)
    if there or not trouble:
        return f"Fleet {title} has no cluster {name}", _named(there, trouble)
    return (
        f"nobody knows yet whether Fleet {title} has a cluster {name}: {trouble}",
        "gitops-mc status shows more",
    )


def _named(there: list[str], trouble: str) -> str:
    names = f"there are: {', '.join(there) or 'none yet'}"
    return f"{names}; what Git has now is not followed: {trouble}" if trouble else names


def _trouble(told: JsonObject) -> str:
    """Why what Git has is not followed, or cannot be; empty where it is."""
    if problem := str(told["fleet"]["source"]["problem"]):
        return problem
    outlook = told["outlook"]
    return "; ".join(outlook["reasons"]) if outlook and outlook["state"] == "unknown" else ""


def fleet_why_json(told: JsonObject, name: str, links: tuple[FleetLink, ...]) -> JsonObject:
    """Every link in order; `commands` is what to type."""
    cluster = next(c for c in told["clusters"] if c["cluster"] == name)
    return {
        "fleet": told["fleet"]["name"],
        "namespace": told["fleet"]["namespace"],
        "cluster": name,
        "standing": cluster["standing"],
        "blocked": any(link.blocks for link in links),
        "chain": [
            {"subject": n.subject, "told": n.told, "blocks": n.blocks, "commands": list(n.commands)}
            for n in links
        ],
        "commands": list(_all_commands(links)),
    }


def fleet_why_text(told: JsonObject, name: str, links: tuple[FleetLink, ...]) -> Iterator[Line]:
    """From Git down to the cluster; what holds it up is marked with `>`. Then what to do."""
    cluster = next(c for c in told["clusters"] if c["cluster"] == name)
    blocked = any(link.blocks for link in links)
    head = f"{name}: {cluster['standing']}" + ("" if blocked else "; nothing holds it up")
    yield Line(one_line(head), Tone.BAD if blocked else Tone.GOOD)
    for link in links:
        mark = ">" if link.blocks else " "
        text = f"{mark} {link.subject:<9} {link.told}"
        yield Line(one_line(text), Tone.WARN if link.blocks else Tone.PLAIN)
    if what := _all_commands(links):
        yield Line("what to do:", Tone.HEAD)
        for command in what:
            yield Line(one_line(f"    {command}"))


def _all_commands(links: tuple[FleetLink, ...]) -> tuple[str, ...]:
    """Of what holds it up first, the nearest to the trouble first."""
    nearest = links[::-1]
    ordered = (*(n for n in nearest if n.blocks), *(n for n in nearest if not n.blocks))
    return tuple(dict.fromkeys(command for link in ordered for command in link.commands))
