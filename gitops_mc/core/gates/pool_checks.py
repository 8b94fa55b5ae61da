"""What can stand between a pool and its gate, as tables of checks; a check yields what is wrong, in words.

FIRM holds whatever a human excuses. MACHINES is what the pool counts of its nodes; with excused nodes `node_by_node`
stands in its place. Absent facts are never taken for good ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gitops_mc.core.gates.attribution import RENDER_DEGRADED
from gitops_mc.core.gates.membership import (
    selected_configs,
    selector_text,
)
from gitops_mc.core.gates.nodes import DEGRADED, unfinished
from gitops_mc.core.gates.pool_view import PoolView
from gitops_mc.core.gates.readings import Agreement, Paused
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import (
    ABORT_ANNOTATION,
    BRACKET_ANNOTATION,
    PAUSED_ANNOTATION,
    JsonObject,
    Known,
    Unknown,
    annotations_of,
)
from gitops_mc.core.pools import WORKER_POOL, node_selector, rendered_name, status_name
from gitops_mc.core.raw import condition, conditions, count, lag

_NAMES_SHOWN = 5


def paused_by(pool: JsonObject) -> Paused:
    """Whether a pool is paused, and whether by us: by an open bracket, or an abort."""
    if (pool.get("spec") or {}).get("paused") in (None, False):
        return Paused.NO
    marks = annotations_of(pool)
    if BRACKET_ANNOTATION in marks:
        return Paused.BY_US
    return Paused.BY_ABORT if ABORT_ANNOTATION in marks else Paused.BY_ANOTHER


def _paused(view: PoolView) -> Iterator[str]:
    marked = BRACKET_ANNOTATION in annotations_of(view.body)
    match paused_by(view.body):
        case Paused.BY_US:
            yield "paused by us, in the middle of a step"
        case Paused.BY_ABORT:
            yield "paused by an abort; it runs again when somebody resumes it"
        case Paused.BY_ANOTHER if PAUSED_ANNOTATION in annotations_of(view.body):
            yield "paused, because its manifest says so"
        case Paused.BY_ANOTHER:
            yield "paused, and not by us: whoever paused it has to unpause it"
        case Paused.NO if marked:
            yield f"not paused, but still marked with {BRACKET_ANNOTATION}: a step of ours is not closed"
        case Paused.NO:
            pass


def _generation(view: PoolView) -> Iterator[str]:
    if behind := lag(view.body):
        yield f"its status is older than its spec: {behind}"


def _rendered(view: PoolView) -> Iterator[str]:
    if not rendered_name(view.body):
        yield "nothing is rendered yet (spec.configuration.name is empty)"


def _selects(view: PoolView) -> Iterator[str]:
    if isinstance(view.live.configs, Known) and not selected_configs(view.live, view.name):
        yield "its machineConfigSelector selects no MachineConfig, so there is nothing to render"


def _rendering(view: PoolView) -> Iterator[str]:
    yield from (str(c) for c in conditions(view.body) if c.type == RENDER_DEGRADED and c.status != "False")


def _no_nodes(view: PoolView) -> Iterator[str]:
    membership = view.membership
    if view.machines != 0 or membership is None:
        return
    if not membership.pools:
        yield "it has no nodes, and the cluster shows no node at all"
    if view.members:
        yield f"it counts no machines, but {_some(tuple(n.name for n in view.members))} belong to it"
    if membership.homeless:
        label = _label_of(view.live, view.name)
        advice = (
            f"; its nodes need a label: kubectl label node {membership.homeless[0]} {label}" if label else ""
        )
        yield (
            f"it has no nodes while {_some(membership.homeless)} of this cluster are in no pool; "
            f"it selects {selector_text(node_selector(view.body))}{advice}"
        )
    for node in membership.contested:
        yield (
            f"it has no nodes while node {node} is in {len(membership.pools[node])} custom pools "
            f"({', '.join(membership.pools[node])}), which the operator skips: take one of their labels away"
        )


FIRM: tuple[Callable[[PoolView], Iterator[str]], ...] = (
    _paused,
    _generation,
    _rendered,
    _selects,
    _rendering,
    _no_nodes,
)


def mismatches(view: PoolView) -> Iterator[str]:
    """The merge of the live selected configs against the rendered config, as one blocker."""
    found = view.comparison.mismatch
    if not found:
        return
    more = f" and {len(found) - _NAMES_SHOWN} more" if len(found) > _NAMES_SHOWN else ""
    told = ", ".join(map(str, found[:_NAMES_SHOWN]))
    yield f"{rendered_name(view.body)} is not the merge of the live configs: {told}{more}"


def _conditions(view: PoolView) -> Iterator[str]:
    for kind, wanted in (("Updated", "True"), ("Updating", "False")):
        found = condition(view.body, kind)
        if found is None:
            yield f"it has no condition {kind}"
        elif found.status != wanted:
            yield str(found)


def _degraded(view: PoolView) -> Iterator[str]:
    for found in conditions(view.body):
        if found.type.endswith(DEGRADED) and found.type != RENDER_DEGRADED and found.status != "False":
            yield str(found)


def _counts(view: PoolView) -> Iterator[str]:
    machines = view.machines
    for key, wanted in (
        ("machineCount", machines),
        ("updatedMachineCount", machines),
        ("readyMachineCount", machines),
        ("unavailableMachineCount", 0),
        ("degradedMachineCount", 0),
    ):
        found = count(view.status, key)
        if found is None:
            yield f"its status has no {key}"
        elif wanted is not None and found != wanted:
            yield f"{key} is {found}, not {wanted}"


def _one_config(view: PoolView) -> Iterator[str]:
    spec, status = rendered_name(view.body), status_name(view.body)
    if spec != status:
        yield f"its nodes are not all done with {spec or 'a rendered config'} (status: {status or 'none'})"


MACHINES: tuple[Callable[[PoolView], Iterator[str]], ...] = (_conditions, _degraded, _counts, _one_config)


def node_by_node(view: PoolView) -> Iterator[str]:
    """What stands in place of the pool's own counts when a human excused some of its nodes."""
    if view.machines != len(view.members):
        yield f"it counts {view.machines} machines, but {len(view.members)} nodes belong to it"
    for node in view.counted:
        if told := unfinished(node, rendered_name(view.body)):
            yield told


def lacking(view: PoolView) -> tuple[str, ...]:
    """Facts without which there is no open gate."""
    found = []
    if view.comparison.agreement is Agreement.NOT_KNOWN and rendered_name(view.body):
        found.append(view.comparison.why)
    if view.machines == 0 and view.membership is None:
        found.append("it has no nodes, and whether every node is in a pool was not read")
    return tuple(found)


def _label_of(live: LiveCluster, pool: str) -> str:
    """The labels a node needs to be selected by a pool, as kubectl wants them; the worker pool's for a custom one."""
    if isinstance(live.pools, Unknown):
        return ""
    for name in (pool, WORKER_POOL):
        selector = node_selector(live.pools.value.get(name) or {}) or {}
        if labels := selector.get("matchLabels"):
            return " ".join(f"{key}={value}" for key, value in sorted(labels.items()))
    return ""


def _some(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:_NAMES_SHOWN])
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return f"node {shown}" if len(names) == 1 else f"nodes {shown}{more}"
