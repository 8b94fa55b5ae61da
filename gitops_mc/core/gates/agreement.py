"""Whether a pool has rendered what its live configs say, and what teaches a cluster's merge order.

This compares what is live with what was rendered from it, so it holds after a crash, for changes by other hands, and
for an update that only removes something. The names in `spec.configuration.source` prove nothing and are not used.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any

from gitops_mc.core.gates.membership import selected_configs
from gitops_mc.core.gates.readings import Agreement
from gitops_mc.core.ignition import (
    Effective,
    EntryKind,
    MergeOrder,
    Mismatch,
    compare,
    effective_of,
    fitting_orders,
    merge,
)
from gitops_mc.core.live import LiveCluster, Objects
from gitops_mc.core.model import JsonObject, Unknown, digest_of, name_of
from gitops_mc.core.pools import rendered_name, status_name
from gitops_mc.core.raw import condition, lag
from gitops_mc.core.remembered import Remembered


@dataclass(frozen=True, slots=True)
class Comparison:
    """The live merge of one pool beside its rendered config."""

    agreement: Agreement
    mismatch: tuple[Mismatch, ...] = ()
    digest: str = ""
    """Identity of the mismatch, values of both sides included: another content is another mismatch."""
    why: str = ""
    """Why it is not known."""


class OrderDoubt(Enum):
    """Why no merge order could be learnt."""

    EITHER_FITS = "both orders explain every pool"
    NOTHING_TO_LEARN_FROM = "no settled pool with its rendered config was read"
    CONTRADICTION = "pools of this cluster fit different orders, or none"


def rendered_body(live: LiveCluster, name: str) -> JsonObject | None:
    """A rendered config that was read, or None."""
    return None if isinstance(live.rendered, Unknown) else live.rendered.value.get(name)


def compare_pool(
    live: LiveCluster, pool: JsonObject, order: MergeOrder | None, operator_files: tuple[str, ...]
) -> Comparison:
    """Compare one live pool. Without an order the answer is known only where both orders give the same merge."""
    if isinstance(live.configs, Unknown):
        return Comparison(Agreement.NOT_KNOWN, why=f"MachineConfigs were not read: {live.configs.reason}")
    wanted = rendered_name(pool)
    body = rendered_body(live, wanted)
    if not wanted:
        return Comparison(Agreement.NOT_KNOWN, why="nothing is rendered yet")
    if body is None:
        return Comparison(Agreement.NOT_KNOWN, why=f"rendered config {wanted} was not read")
    configs = selected_configs(live, name_of(pool))
    rendered = effective_of(body)
    merges = [merge(configs, one) for one in ((order,) if order else tuple(MergeOrder))]
    found = [compare(merged, rendered, operator_files=operator_files) for merged in merges]
    if len(merges) > 1 and compare(merges[0], merges[1]):
        return Comparison(
            Agreement.NOT_KNOWN,
            why="the merge depends on the order of the configs, which was not learnt on this cluster",
        )
    if not found[0]:
        return Comparison(Agreement.AGREES)
    return Comparison(Agreement.DIFFERS, found[0], _digest(merges[0], rendered, found[0]))


def learn_order(live: LiveCluster, operator_files: tuple[str, ...] = ()) -> MergeOrder | OrderDoubt:
    """The cluster's merge order, from settled pools that only one order explains.

    To be learnt before a write and remembered: while the operator lags behind a write, a stale rendered config may fit
    the wrong order.
    """
    if isinstance(live.pools, Unknown) or isinstance(live.configs, Unknown):
        return OrderDoubt.NOTHING_TO_LEARN_FROM
    rendered = None if isinstance(live.rendered, Unknown) else live.rendered.value
    return _LEARNT.get(
        (live.pools.value, live.configs.value, rendered),
        (operator_files,),
        partial(_learn_order, live, live.pools.value, operator_files),
    )


_LEARNT: Remembered[MergeOrder | OrderDoubt] = Remembered(512)


def _learn_order(
    live: LiveCluster, pools: Objects, operator_files: tuple[str, ...]
) -> MergeOrder | OrderDoubt:
    fits = []
    for name, pool in pools.items():
        body = rendered_body(live, rendered_name(pool))
        configs = selected_configs(live, name)
        if body is None or not configs or not _at_rest(pool):
            continue
        fits.append(fitting_orders(configs, effective_of(body), operator_files=operator_files))
    if not fits:
        return OrderDoubt.NOTHING_TO_LEARN_FROM
    telling = {order for fit in fits if len(fit) == 1 for order in fit}
    if len(telling) == 1:
        return telling.pop()
    if telling or not all(fits):
        return OrderDoubt.CONTRADICTION
    return OrderDoubt.EITHER_FITS


def _at_rest(pool: JsonObject) -> bool:
    updated, updating = condition(pool, "Updated"), condition(pool, "Updating")
    return (
        not lag(pool)
        and rendered_name(pool) == status_name(pool)
        and updated is not None
        and updated.holds
        and not (updating is not None and updating.holds)
    )


def _digest(merged: Effective, rendered: Effective, mismatch: tuple[Mismatch, ...]) -> str:
    told: list[Any] = []
    for item in mismatch:
        entry = item.entry
        told.append([item.kind.value, entry.kind.value, entry.name, entry.part])
        told += [_value(side, item) for side in (merged, rendered)]
    return digest_of(told)


def _value(side: Effective, item: Mismatch) -> Any:
    if item.entry.kind is EntryKind.KERNEL_ARGUMENT:
        return [argument.value for argument in side.kernel_arguments]
    found = side.entries.get(item.entry)
    return None if found is None else [[list(path), value] for path, value in sorted(found.fields.items())]
