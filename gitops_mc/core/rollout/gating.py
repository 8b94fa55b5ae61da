"""All gates of one cluster on one pass: readings, verdicts, and the clocks to remember."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum

from gitops_mc.core.gates import (
    Counting,
    ModuleClocks,
    PoolClocks,
    PoolReading,
    Unsettled,
    judge,
    judge_gate,
    judge_module,
    judge_publication,
    learn_order,
    read_components,
    read_module,
    read_policy,
    read_pool,
    read_publication,
)
from gitops_mc.core.gates.waiting import GateReading
from gitops_mc.core.ignition import MergeOrder
from gitops_mc.core.live import Fact, LiveCluster
from gitops_mc.core.model import (
    MACHINE_CONFIG_MODULE,
    DesiredCluster,
    Kind,
    Known,
    NotKnown,
    Open,
    Unknown,
    Verdict,
    labels_of,
    matches_selector,
)
from gitops_mc.core.policy import Gates
from gitops_mc.core.rollout.due import (
    asks_for,
    installed,
    module_is_due,
    policy_is_asked_for,
    pool_is_due,
    wanted_policy,
    wanted_version,
)
from gitops_mc.core.rollout.edited import edited_configs
from gitops_mc.core.rollout.memory import ClusterMemory
from gitops_mc.core.rollout.moves import GateView

POLICY = "policy"
COMPONENTS = "components"
GATE_TIMEOUT = timedelta(minutes=30)
"""For the policy and component gates, which fleet.yaml has no setting for: the operator needs seconds to minutes."""


@dataclass(frozen=True, slots=True)
class GateBook:
    """Every gate of a cluster as it stands now. `memory` is the cluster's memory with the clocks moved on."""

    pools: Mapping[str, Verdict]
    readings: Mapping[str, PoolReading]
    modules: Mapping[str, Verdict]
    unpublished: frozenset[str]
    """Modules whose wanted version the platform cannot install yet; their gate says why."""
    policy: Verdict
    components: Verdict
    rolling: bool
    """A pool is not settled: what runs on its nodes may be down with them, so components and an installed machine-config
    that are not all up neither fail nor keep a repair out; the pools' own gates do the waiting."""
    memory: ClusterMemory

    def views(self) -> tuple[GateView, ...]:
        return (
            *(GateView(f"module {name}", verdict) for name, verdict in self.modules.items()),
            GateView(COMPONENTS, self.components),
            GateView(POLICY, self.policy),
            *(GateView(f"pool {name}", verdict, self._facts(name)) for name, verdict in self.pools.items()),
        )

    def _facts(self, pool: str) -> tuple[str, ...]:
        reading = self.readings.get(pool)
        return reading.blockers if isinstance(reading, Unsettled) else ()

    def not_open(self, pools: Iterable[str]) -> tuple[tuple[str, Verdict], ...]:
        """Those of `pools` whose gate is not open, with its verdict."""
        return tuple((p, v) for p in pools if not isinstance(v := self.pools.get(p, _UNREAD), Open))


_UNREAD = NotKnown("the pool was not read")


def managed_pools(desired: DesiredCluster, live: LiveCluster, touched: Iterable[str] = ()) -> tuple[str, ...]:
    """Pools with a manifest, and live pools that select one of our configs; those gate the cluster, changed or not.

    And the `touched` ones that are there: pools that writes of the content have touched, though nothing of ours may be
    left in them. A deletion rolls the nodes like any other change.
    """
    named = {m.key.name for m in desired.of_kind(Kind.MACHINE_CONFIG_POOL)}
    configs = [labels_of(m.body) for m in desired.of_kind(Kind.MACHINE_CONFIG)]
    if not isinstance(live.pools, Unknown):
        named |= {p for p in touched if p in live.pools.value}
        for name, pool in live.pools.value.items():
            selector = (pool.get("spec") or {}).get("machineConfigSelector")
            if any(matches_selector(selector, labels) for labels in configs):
                named.add(name)
    return tuple(sorted(named))


def watched_pools(desired: DesiredCluster, live: LiveCluster, touched: Iterable[str] = ()) -> tuple[str, ...]:
    """Pools whose gates a cluster has to pass: the managed ones, and all of them where Git manages machine-config."""
    managed = managed_pools(desired, live, touched)
    if isinstance(live.pools, Unknown) or not _has_machine_config(desired):
        return managed
    return tuple(sorted({*managed, *live.pools.value}))


def learnt_order(live: LiveCluster, memory: ClusterMemory, policy: Gates) -> ClusterMemory:
    """Remember the merge order as soon as a settled pool tells it; what was learnt once is kept."""
    if memory.merge_order is not None:
        return memory
    found = learn_order(live, policy.pool.operator_files)
    return replace(memory, merge_order=found.value) if isinstance(found, MergeOrder) else memory


def order_of(memory: ClusterMemory) -> MergeOrder | None:
    return None if memory.merge_order is None else MergeOrder(memory.merge_order)


def our_configs(memory: ClusterMemory) -> frozenset[str]:
    """Names of MachineConfigs that are ours, those under way included; for attribution."""
    kept = {e.name for e in memory.inventory if e.kind is Kind.MACHINE_CONFIG}
    return frozenset(kept | {c.name for c in memory.created if c.kind is Kind.MACHINE_CONFIG})


@dataclass(frozen=True, slots=True)
class Looking:
    """One look at one cluster: what was read, what is remembered, and when."""

    desired: DesiredCluster
    live: LiveCluster
    memory: ClusterMemory
    policy: Gates
    now: datetime
    counting: Counting


def judge_gates(look: Looking, *, pools: Iterable[str]) -> GateBook:
    """Read and judge every gate of a cluster: the given pools, all desired modules, policy, components."""
    live, memory = look.live, look.memory
    readings, verdicts, clocks = _judge_pools(look, sorted(set(pools)))
    rolling = _any_rolling(live, readings)
    modules, unpublished, module_clocks = _judge_modules(look, Rolling.YES if rolling else Rolling.NO)
    since = dict(memory.gate_since)
    policy: Verdict = _NONE
    if _has_policy(look.desired):
        wanted = wanted_policy(look.desired)
        asked = look.counting if policy_is_asked_for(live, wanted) else Counting.STOPPED
        policy = _timed(POLICY, read_policy(live, wanted), since, look.now, asked)
    components: Verdict = _NONE
    if _has_machine_config(look.desired):
        up = installed(live, MACHINE_CONFIG_MODULE) and not rolling
        counting = look.counting if up else Counting.STOPPED
        components = _timed(COMPONENTS, read_components(live), since, look.now, counting)
    return GateBook(
        pools=verdicts,
        readings=readings,
        modules=modules,
        unpublished=unpublished,
        policy=policy,
        components=components,
        rolling=rolling,
        memory=replace(
            memory,
            pool_clocks={**memory.pool_clocks, **clocks},
            module_clocks=module_clocks,
            gate_since=since,
        ),
    )


def _judge_pools(
    look: Looking, pools: Iterable[str]
) -> tuple[dict[str, PoolReading], dict[str, Verdict], dict[str, PoolClocks]]:
    live, memory, gate = look.live, look.memory, look.policy.pool
    order, excused = order_of(memory), memory.excused_nodes(look.now)
    edited = edited_configs(live, memory)
    ours = our_configs(memory) - edited
    readings: dict[str, PoolReading] = {}
    verdicts: dict[str, Verdict] = {}
    clocks: dict[str, PoolClocks] = {}
    for pool in pools:
        readings[pool] = read_pool(
            live, pool, order=order, policy=gate, excused=excused, ours=ours, edited=edited
        )
        verdicts[pool], clocks[pool] = judge(
            readings[pool],
            memory.pool_clocks.get(pool, PoolClocks()),
            gate,
            _seen_at(live.pools, look),
            accepted=frozenset(memory.accepted),
            counting=look.counting if pool_is_due(live, memory, pool) else Counting.STOPPED,
        )
    return readings, verdicts, clocks


class Rolling(Enum):
    """Whether a pool of the cluster is not settled."""

    YES = "yes"
    NO = "no"


def _judge_modules(
    look: Looking, rolling: Rolling
) -> tuple[dict[str, Verdict], frozenset[str], dict[str, ModuleClocks]]:
    live, memory, gate = look.live, look.memory, look.policy.module
    at = _seen_at(live.modules, look)
    verdicts: dict[str, Verdict] = {}
    unpublished: set[str] = set()
    clocks = dict(memory.module_clocks)
    for manifest in look.desired.of_kind(Kind.MODULE_INFO):
        name, version = manifest.key.name, wanted_version(manifest)
        upload = publication(name, version)
        waited = clocks.pop(upload, ModuleClocks())
        if not asks_for(live, name, version):
            verdicts[name], waited = judge_publication(
                read_publication(live, name, version), waited, gate, at, counting=look.counting
            )
            if not isinstance(verdicts[name], Open):
                unpublished.add(name)
                clocks[upload] = waited
                continue
        reading = read_module(live, name, wanted=version, spec_hash_before=memory.spec_hashes.get(name))
        shaken = rolling is Rolling.YES and name == MACHINE_CONFIG_MODULE and installed(live, name)
        due = module_is_due(live, memory, manifest) and not shaken
        verdicts[name], clocks[name] = judge_module(
            reading,
            clocks.get(name, ModuleClocks()),
            gate,
            at,
            counting=look.counting if due else Counting.STOPPED,
        )
    return verdicts, frozenset(unpublished), clocks


def _seen_at(fact: Fact, look: Looking) -> datetime:
    """The time that counts for a gate is when its fact was read: what was true in between two looks is what two reads
    bracket, not what two passes do.
    """
    return fact.at if isinstance(fact, Known) and look.live.dark is None else look.now


_NONE: Verdict = Open("nothing of ours to wait for")


def _has_policy(desired: DesiredCluster) -> bool:
    return bool(desired.of_kind(Kind.MACHINE_CONFIGURATION))


def _has_machine_config(desired: DesiredCluster) -> bool:
    return any(m.key.name == MACHINE_CONFIG_MODULE for m in desired.of_kind(Kind.MODULE_INFO))


def publication(module: str, version: str) -> str:
    """Where the memory keeps the clock of a version that is waited for: a newer version gets its whole time."""
    return f"{module}@{version}"


def module_of_clock(key: str) -> str:
    """The module that a clock in the memory is for, be it installed or waited for."""
    return key.partition("@")[0]


def _any_rolling(live: LiveCluster, readings: Mapping[str, PoolReading]) -> bool:
    existing = () if isinstance(live.pools, Unknown) else live.pools.value
    return any(isinstance(readings.get(pool), Unsettled) for pool in existing)


def _timed(
    name: str, reading: GateReading, since: dict[str, datetime], now: datetime, counting: Counting
) -> Verdict:
    """A gate with a time-out. While nothing counts, or a fact is missing, the time begins anew."""
    begun = now if counting is Counting.STOPPED else since.get(name, now)
    verdict = judge_gate(reading, begun, GATE_TIMEOUT, now)
    if isinstance(verdict, Open | NotKnown) or counting is Counting.STOPPED:
        since.pop(name, None)
    else:
        since.setdefault(name, now)
    return verdict
