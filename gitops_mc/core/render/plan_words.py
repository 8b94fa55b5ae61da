"""The sentences of a plan, shared by all its formats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import assert_never

from gitops_mc.core.diff import Adopt, Change, Create, Delete, Update
from gitops_mc.core.disruption import describe
from gitops_mc.core.model import MACHINE_CONFIG_MODULE, Commit, ResourceKey, Unknown, count, named
from gitops_mc.core.plan import NodeImpact, Step, StepKind
from gitops_mc.core.rollout.moves import Standing
from gitops_mc.core.rollout.preview import Answer, ClusterPreview, FleetPreview, ServerCheck, WavePreview

_GATES: Mapping[StepKind, str] = {
    StepKind.MODULE: "the module runs that version, all its releases ready and synced",
    StepKind.POLICY: "the policy shows in the status of MachineConfiguration cluster",
    StepKind.POOLS: "{pools} rendered exactly the merge of its configs, every node runs it, and it stays so",
    StepKind.POLICY_FINAL: "the policy shows in the status of MachineConfiguration cluster",
    StepKind.POOL_REMOVAL: "the pool is gone",
    StepKind.MODULE_REMOVAL: "the module is gone",
}
_COMPONENTS = "its controller and daemon are up, and then every pool is settled"
_STOPPED = (
    Standing.FAILED,
    Standing.BLOCKED,
    Standing.UNPUBLISHED,
    Standing.UNREGISTERED,
    Standing.SKIPPED,
    Standing.HELD,
    Standing.IN_FLIGHT,
)


def duration(span: timedelta) -> str:
    """`1h 20m`, `40m`, `30s`."""
    seconds = int(span.total_seconds())
    hours, minutes, rest = seconds // 3600, seconds % 3600 // 60, seconds % 60
    parts = [f"{n}{unit}" for n, unit in ((hours, "h"), (minutes, "m"), (rest, "s")) if n]
    return " ".join(parts[:2]) or "0s"


def source(commit: Commit) -> str:
    return f"commit {commit[:12]}" if commit else "the folder as it lies there"


def sign(write: Change) -> str:
    """A write in one letter, as diffs have it."""
    match write:
        case Create():
            return "+"
        case Delete():
            return "-"
        case Update():
            return "~"
        case Adopt():
            return "="
        case _:
            assert_never(write)


def deed(write: Change) -> str:
    match write:
        case Create():
            return "create"
        case Delete():
            return "delete"
        case Update():
            return "update"
        case Adopt():
            return "adopt" if write.sent else "remember"
        case _:
            assert_never(write)


def step_title(step: Step) -> str:
    match step.kind:
        case StepKind.MODULE:
            return f"module {step.subject}"
        case StepKind.POLICY:
            return "node-disruption policy: what comes and changes"
        case StepKind.POOLS:
            if not step.pools:
                return "machine configs of pools that are not there yet"
            return named("pool", step.pools)
        case StepKind.POLICY_FINAL:
            return "node-disruption policy: what goes"
        case StepKind.POOL_REMOVAL:
            return f"remove pool {step.subject}"
        case StepKind.MODULE_REMOVAL:
            return f"remove module {step.subject}"
        case _:
            assert_never(step.kind)


def step_gate(step: Step) -> str:
    """What has to come true after the step, before the next one."""
    if step.kind is StepKind.POOLS and not step.pools:
        return "each pool that takes them rendered exactly the merge of its configs, every node runs it, and it stays so"
    text = _GATES[step.kind].format(pools=f"each of {', '.join(step.pools)}" if len(step.pools) > 1 else "it")
    if step.kind is StepKind.MODULE and step.subject == MACHINE_CONFIG_MODULE:
        text = f"{text}; {_COMPONENTS}"
    return text


def step_bracket(step: Step) -> str:
    """How several writes reach the nodes as one; empty for a single write."""
    if not step.bracketed:
        return ""
    return f"paused while its {len(step.writes)} writes are made, so that no node starts on half of them"


def check_words(check: ServerCheck | None) -> str:
    """Empty where the server accepts it, or nobody was to be asked."""
    if check is None or check.answer is Answer.ACCEPTED:
        return ""
    return f"{check.answer.value}: {check.reason}"


def node_words(impact: NodeImpact) -> str:
    names = ", ".join(impact.nodes) if impact.nodes else count(impact.count, "node")
    return f"{names}: {describe(impact.disruption)}"


def headline(cluster: ClusterPreview) -> str:
    """One sentence on a cluster; "no change" only where everything was read."""
    plan = cluster.plan
    if cluster.desired.blocked:
        return "blocked: its part of the repository has problems"
    if plan is None:
        return f"unknown: {cluster.unknown}"
    if cluster.unknown:
        known = f"; known so far: {changes_words(cluster)}" if plan.writes else ""
        return f"unknown: {cluster.unknown}{known}"
    if not plan.writes:
        return "refused" if plan.refusals else "no change"
    return ("refused: " if cluster.refused else "") + changes_words(cluster)


def changes_words(cluster: ClusterPreview) -> str:
    assert cluster.plan is not None
    plan = cluster.plan
    told = [f"{count(len(plan.writes), 'change')} in {count(len(plan.steps), 'step')}", *disturbed(cluster)]
    return ", ".join([*told, *filter(None, [time_words(cluster)])])


def time_words(cluster: ClusterPreview) -> str:
    """How long it takes: an estimate for what its nodes do, and the bound for modules, of which there is none."""
    told = [f"about {duration(cluster.estimate)}"] if cluster.estimate else []
    if modules := cluster.untimed:
        each = "" if len(modules) == 1 else " each"
        told.append(f"at most {duration(cluster.module_limit)}{each} for {named('module', modules)}")
    return " and ".join(told)


def disturbed(cluster: ClusterPreview) -> Iterator[str]:
    """How many nodes reboot, are drained, or go on."""
    total = sum(n.count for impact in cluster.impacts for n in impact.nodes)
    quiet = total - cluster.rebooting - cluster.draining
    if cluster.rebooting:
        yield f"{count(cluster.rebooting, 'node')} {'reboots' if cluster.rebooting == 1 else 'reboot'}"
    if cluster.draining:
        yield f"{count(cluster.draining, 'node')} drained"
    if quiet:
        yield f"{count(quiet, 'node')} changed without a drain"
    if cluster.plan is not None and cluster.plan.unforeseen:
        yield cluster.plan.unforeseen
    elif not total:
        yield "no node is touched"


def standing_words(cluster: ClusterPreview) -> str:
    """Why it could not start right now; empty when it could, or when something else says so already."""
    if cluster.standing not in _STOPPED or (cluster.plan is not None and cluster.plan.refusals):
        return ""
    return f"{cluster.standing.value}: {cluster.reason}"


def remarks(cluster: ClusterPreview) -> Iterator[tuple[str, str]]:
    """What a reader has to know beside the steps: a word for it, and the sentence."""
    plan = cluster.plan
    if cluster.approve:
        yield "needs approval", f"{cluster.approve}: gitops-mc apply --approve {cluster.name}"
    if not cluster.wave:
        yield (
            "blocked",
            "no wave in fleet.yaml takes it: name it in one, or add a last wave with `clusters: {}`",
        )
    if standing := standing_words(cluster):
        yield "now", standing
    if plan is None:
        return
    for refusal in plan.refusals:
        yield "refused", f"{refusal.reason} [{refusal.rule}]"
    yield from (("refused", misfit) for misfit in cluster.misfits)
    yield from (("window", told) for told in (cluster.opens_in,) if told)
    for not_read in plan.not_read:
        yield "not read", f"{not_read.kind.value}: {not_read.reason}"
    if isinstance(cluster.live.nodes, Unknown) and plan.impacts:
        yield "nodes not read", f"{cluster.live.nodes.reason}; counted by the pools' status"
    for drift in plan.drifts:
        yield "drift", f"{drift.key.kind.value} {drift.key.name}: {drift.reason}"
    for newer in plan.newer:
        yield (
            "newer live",
            f"module {newer.key.name} runs {newer.live_version}, Git says {newer.desired_version}; left as it is",
        )
    for orphan in plan.kept:
        yield "orphan", f"{orphan.key.kind.value} {orphan.key.name} stays in the cluster: {orphan.reason}"
    for note in plan.notes:
        yield "note", note


def wave_words(wave: WavePreview) -> str:
    """Its clusters and its rules in one line."""
    rules = [f"at most {wave.at_once} at a time"]
    if wave.line.wave.soak:
        rules.append(f"then a soak of {duration(wave.line.wave.soak)}")
    if wave.approve:
        rules.append(f"waits for approval: gitops-mc apply --approve {wave.line.wave.name}")
    if not wave.clusters:
        return "no cluster falls into it"
    untimed = any(c.untimed for c in wave.clusters)
    if wave.estimate:
        rules.append(f"about {duration(wave.estimate)}{' and the time that modules take' if untimed else ''}")
    elif untimed:
        rules.append("as long as modules take")
    return f"{', '.join(c.name for c in wave.clusters)} ({'; '.join(rules)})"


def totals(found: FleetPreview) -> str:
    clusters = found.clusters
    changing = [c for c in clusters if c.changes]
    parts = [
        f"{len(changing)} of {count(len(clusters), 'cluster')} {'changes' if len(changing) == 1 else 'change'}"
    ]
    for number, what in (
        (sum(1 for c in clusters if c.unknown), "unknown"),
        (sum(1 for c in clusters if c.desired.blocked), "blocked by problems"),
        (sum(1 for c in clusters if c.refused), "refused"),
    ):
        if number:
            parts.append(f"{number} {what}")
    nodes = f"{count(sum(c.rebooting for c in clusters), 'node')} to reboot, {sum(c.draining for c in clusters)} to drain"
    unforeseen = sum(1 for c in clusters if c.plan is not None and c.plan.unforeseen)
    more = f"; not known on {count(unforeseen, 'cluster')}" if unforeseen else ""
    halted = f"; halted by {', '.join(found.halted)}: only what repairs that is begun" if found.halted else ""
    return f"{', '.join(parts)}; {nodes}{more}{halted}"


def refusals(cluster: ClusterPreview, told: frozenset[ResourceKey]) -> Iterator[str]:
    """Refusals of the plan beside those of the objects in `told`: limits, merge order, missing APIs."""
    if cluster.plan is not None:
        yield from (f"{r.reason} [{r.rule}]" for r in cluster.plan.refusals if r.key not in told)
