"""Whose trouble a Degraded pool is, read from what its nodes are moving between.

A node is ours if its currentConfig is not its desiredConfig and the two differ in entries of configs we own. Degraded
with equal ones is drift on the node, whatever was written before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gitops_mc.core.gates.agreement import Comparison, rendered_body
from gitops_mc.core.gates.membership import selected_configs
from gitops_mc.core.gates.nodes import DEGRADED, NodeState
from gitops_mc.core.gates.readings import Agreement, Attribution, NodeFault, Terminal
from gitops_mc.core.ignition import (
    Effective,
    Entry,
    EntryKind,
    effective_of,
    entries_changed,
)
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import JsonObject, is_protected_config, name_of
from gitops_mc.core.pools import status_name
from gitops_mc.core.raw import Condition, conditions, items, section, text

RENDER_DEGRADED = "RenderDegraded"


@dataclass(frozen=True, slots=True)
class Whose:
    """Names of MachineConfigs, for attribution."""

    ours: frozenset[str]
    """We wrote them, those we have just removed included, and they say what we wrote."""
    edited: frozenset[str] = frozenset()
    """We wrote them, and somebody has edited them since: what they break is not ours."""


def degraded_conditions(pool: JsonObject) -> tuple[Condition, ...]:
    """Every condition of the pool whose type ends in `Degraded` and that is True."""
    return tuple(c for c in conditions(pool) if c.type.endswith(DEGRADED) and c.holds)


def terminal_of(
    live: LiveCluster,
    pool: JsonObject,
    comparison: Comparison,
    nodes: tuple[NodeState, ...] | None,
    whose: Whose,
) -> Terminal | None:
    """What is Degraded now and whose trouble it is. `nodes`: members that count, None where they were not read."""
    told = degraded_conditions(pool)
    if not told:
        return None
    degraded = [node for node in nodes or () if node.state == DEGRADED]
    declared = _declared(live, pool) if degraded else {}
    faults = tuple(_fault(live, pool, node, whose.ours, declared) for node in degraded)
    blame = [fault.attribution for fault in faults]
    if any(c.type == RENDER_DEGRADED for c in told):
        blame.append(_rendering(live, pool, comparison, whose))
    elif nodes is None:
        blame.append(Attribution.NOT_KNOWN)
    return Terminal(
        conditions=tuple(c.type for c in told),
        nodes=faults,
        attribution=_strongest(blame),
    )


_STRENGTH = (Attribution.OURS, Attribution.NOT_KNOWN, Attribution.FOREIGN, Attribution.DRIFT)


def _strongest(found: Iterable[Attribution]) -> Attribution:
    """OURS if anything is; else NOT_KNOWN if anything is not known. Nothing at all is not known either."""
    return min(found, key=_STRENGTH.index, default=Attribution.NOT_KNOWN)


def _rendering(live: LiveCluster, pool: JsonObject, comparison: Comparison, whose: Whose) -> Attribution:
    """Rendering fails on live configs that are not in the rendered config yet: are any of those ours? Where all that they
    say is in it, an edited one has broken it.
    """
    match comparison.agreement:
        case Agreement.DIFFERS:
            owners = {item.owner for item in comparison.mismatch if item.owner}
            if owners & whose.ours:
                return Attribution.OURS
            return Attribution.FOREIGN if owners else Attribution.NOT_KNOWN
        case Agreement.AGREES:
            edited = whose.edited & {name_of(config) for config in selected_configs(live, name_of(pool))}
            return Attribution.FOREIGN if edited else Attribution.NOT_KNOWN
        case Agreement.NOT_KNOWN:
            return Attribution.NOT_KNOWN


def _declared(live: LiveCluster, pool: JsonObject) -> Mapping[str, Effective]:
    """What each live selected config says by itself, by name."""
    return {name_of(config): effective_of(config) for config in selected_configs(live, name_of(pool))}


def _fault(
    live: LiveCluster,
    pool: JsonObject,
    node: NodeState,
    ours: frozenset[str],
    declared: Mapping[str, Effective],
) -> NodeFault:
    told = f": {node.reason}" if node.reason else ""
    if not node.current or not node.desired:
        return NodeFault(
            node.name, Attribution.NOT_KNOWN, (), f"node {node.name} Degraded{told}; its configs are not said"
        )
    if node.current == node.desired:
        return NodeFault(
            node.name,
            Attribution.DRIFT,
            (),
            f"node {node.name} Degraded{told}; it drifted from {node.current}, restore it by hand",
        )
    current, desired = (rendered_body(live, name) for name in (node.current, node.desired))
    moving = f"node {node.name} Degraded{told}; it is on its way from {node.current} to {node.desired}"
    if current is None or desired is None:
        lacking = node.current if current is None else node.desired
        return NodeFault(node.name, Attribution.NOT_KNOWN, (), f"{moving}; {lacking} was not read")
    changed = [change.entry for change in entries_changed(effective_of(current), effective_of(desired))]
    blame = _strongest(_owner(declared, _sources(pool, node.current), entry, ours) for entry in changed)
    names = tuple(dict.fromkeys(map(str, changed)))
    return NodeFault(node.name, blame, names, f"{moving}, which differ in {', '.join(names) or 'nothing'}")


def _owner(
    declared: Mapping[str, Effective], sources: frozenset[str], entry: Entry, ours: frozenset[str]
) -> Attribution:
    """Who changed an entry. One that left every live config is ours only if all configs it can have come from are."""
    holders = {name for name, effective in declared.items() if _declares(effective, entry)}
    if holders & ours:
        return Attribution.OURS
    gone = sources - holders
    if gone & ours:
        return Attribution.OURS if gone <= ours and not holders else Attribution.NOT_KNOWN
    return Attribution.FOREIGN if holders or gone else Attribution.NOT_KNOWN


def _sources(pool: JsonObject, rendered: str) -> frozenset[str]:
    """Names of the configs a rendered config was made of, where the pool's status still says so."""
    if status_name(pool) != rendered:
        return frozenset()
    found = (text(item, "name") for item in items(section(pool, "status"), "configuration", "source"))
    return frozenset(name for name in found if name and not is_protected_config(name))


def _declares(effective: Effective, entry: Entry) -> bool:
    if entry.kind is EntryKind.KERNEL_ARGUMENT:
        values = [argument.value for argument in effective.kernel_arguments]
        return entry.name in values if entry.name else bool(values)
    if entry.kind is EntryKind.SSH_KEY and not entry.part:
        return any(key.name == entry.name for key in effective.ssh_keys)
    return entry in effective.entries
