"""Pull requests of all kinds, as frozen previews: the ground of the golden files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cache
from types import MappingProxyType

from gitops_mc.core.disruption import Action, ActionType
from gitops_mc.core.forecast.model import Basis, ClusterForecast, FleetForecast, RestsOn, Spread, WaveForecast
from gitops_mc.core.ignition import Entry, EntryKind
from gitops_mc.core.model import (
    ClusterScope,
    Commit,
    FleetScope,
    Place,
    Problem,
    Severity,
    SharedScope,
)
from gitops_mc.core.plan import Refusal
from gitops_mc.core.policy import ObjectPattern, Sensitive
from gitops_mc.core.preview.changed import (
    ChangeOf,
    ClusterChange,
    Inert,
    ModuleChange,
    Origin,
    PullChanges,
    SettingChange,
    WithoutEffect,
)
from gitops_mc.core.preview.hindrances import (
    Drains,
    DrainsNotRead,
    Hindrance,
    HindranceKind,
    NodeNote,
    UpgradePath,
)
from gitops_mc.core.preview.model import (
    Advice,
    AdviceKind,
    Conflict,
    LivePreview,
    NoLive,
    Preview,
    Revisions,
    SoakingWave,
    State,
    UnderWay,
    UnreadCluster,
    Verdict,
)
from gitops_mc.core.redact import Redactor
from gitops_mc.core.rollout.moves import Standing
from gitops_mc.core.rollout.paces import Work
from tests.core.machine_configs import machine_config
from tests.core.preview_builder import (
    AT,
    CHRONY_POLICY,
    UNIT,
    Side,
    Told,
    Written,
    chrony,
    cluster_change,
    fleet,
    live_cluster,
    module,
    no_change,
    text_file,
)

BASE, HEAD, FORK = (Commit(letter * 40) for letter in "abc")
ON_BASE = Revisions(BASE, HEAD, BASE)
MOVED = Revisions(BASE, HEAD, FORK, behind=4)
CHRONY_FILE = "shared/base/chrony.yaml"
PASTE = """\
spec:
  nodeDisruptionPolicy:
    files:
      - path: /etc/chrony.conf
        actions:
          - type: Restart
            restart: {serviceName: chronyd.service}
"""


def chrony_change(name: str, wave: str, unit: str = UNIT) -> ClusterChange:
    """A third time server, and the unit with it."""
    before = Side((Written(chrony("ntp-1.example.com", "ntp-2.example.com"), CHRONY_FILE, 12),))
    after = Side(
        (
            Written(
                chrony("ntp-1.example.com", "ntp-2.example.com", "ntp-3.example.com", unit=unit),
                CHRONY_FILE,
                12,
            ),
        )
    )
    return cluster_change(name, before, after, Told(wave))


def nothing() -> Preview:
    """A README alone."""
    changes = PullChanges((), untouched=3)
    verdict = Verdict(State.OK, "Changes nothing on any cluster.")
    return Preview("edge", ON_BASE, changes, NoLive("no access to the clusters was given"), verdict)


def reboot() -> Preview:
    """One cluster, whose nodes reboot because a unit has no policy."""
    change = chrony_change("edge-01", "canary")
    live = LivePreview(
        AT,
        fleet(HEAD, (live_cluster(change), no_change("edge-02", "rest"))),
        fleet(BASE, (no_change("edge-01", "canary"), no_change("edge-02", "rest"))),
        drains=MappingProxyType(
            {
                "edge-01": Drains(
                    AT,
                    (
                        Hindrance(
                            "edge-01-w2",
                            HindranceKind.BUDGET,
                            "shop/cart",
                            "allows 0 disruptions, 2 of 2 pods healthy are required: scale shop/cart up before the merge",
                        ),
                        Hindrance(
                            "edge-01-w3", HindranceKind.SINGLE, "shop/db", "its only replica runs here"
                        ),
                    ),
                    (NodeNote(("edge-01-m1", "edge-01-m2", "edge-01-m3"), "control plane, not touched"),),
                )
            }
        ),
        advice=(Advice(AdviceKind.NOTE, ("edge-01",), "first contact: the plan waits for approval"),),
    )
    live = replace(live, forecast=_forecast((change.name,), lanes=1))
    verdict = Verdict(
        State.OK,
        "Reboots 3 nodes in 1 cluster: unit chronyd.service is added and no policy covers it",
        (
            "Takes about 1 h, starts with edge-01.",
            "The drain of edge-01-w2 would wait: budget shop/cart allows none.",
        ),
    )
    return Preview("edge", ON_BASE, PullChanges((change,), untouched=1), live, verdict)


def _forecast(names: Sequence[str], lanes: int) -> FleetForecast:
    """The first one alone, then the others side by side, each an hour; of the last one nobody knows."""
    first = ClusterForecast(
        names[0],
        "canary",
        Standing.READY,
        _spread(0, 0),
        _spread(60, 74),
        _spread(60, 74),
        windows=_spread(0, 20),
    )
    rest = tuple(
        ClusterForecast(
            name,
            "rest",
            Standing.READY,
            _spread(at, at * 1.2),
            _spread(at + 60, at * 1.2 + 74),
            _spread(60, 74),
            after="wave rest is approved",
            windows=_spread(30, 45),
            untimed=("logcenter",),
        )
        for at, name in ((60 * (position // lanes), name) for position, name in enumerate(names[1:]))
    )
    waves = [
        WaveForecast(
            "canary", (first,), _spread(0, 0), _spread(90, 104), _spread(90, 104), timedelta(minutes=30)
        )
    ]
    if rest:
        last = rest[-1].end
        lost = replace(rest[-1], start=None, end=None, takes=None, no_time="no answer within 20 seconds")
        approve = "gitops-mc apply --approve rest"
        clusters = (*rest[:-1], lost)
        after = "wave rest is approved"
        waves.append(WaveForecast("rest", clusters, _spread(0, 0), last, last, approval=approve, after=after))
    resting = RestsOn(Work.REBOOT, Basis.HISTORY, 12, "nodes that reboot: 12 earlier steps")
    return FleetForecast(
        tuple(waves),
        (),
        _spread(90 + 60 * -(-len(rest) // lanes), 104 + 72 * -(-len(rest) // lanes)),
        tuple(wave.approval for wave in waves if wave.approval),
        (names[0],),
        f"{names[-1]}: no answer within 20 seconds" if rest else "",
        (resting,),
        samples=200,
        seed=1,
    )


def _spread(p50: float, p95: float) -> Spread:
    return Spread(timedelta(minutes=p50 * 0.9), timedelta(minutes=p50), timedelta(minutes=p95))


def five_hundred() -> Preview:
    """A change of a shared set: five hundred clusters, all alike."""
    names = [f"edge-{number:03}" for number in range(1, 501)]
    changes = tuple(chrony_change(n, "canary" if n == "edge-001" else "rest") for n in names)
    live = LivePreview(
        AT,
        fleet(HEAD, (live_cluster(change) for change in changes), at_once=25),
        fleet(BASE, (no_change(change.name, change.wave) for change in changes), at_once=25),
        forecast=_forecast(names, lanes=25),
        unasked=12,
    )
    verdict = Verdict(
        State.OK, "Reboots 1500 nodes in 500 clusters: unit chronyd.service is added and no policy covers it"
    )
    return Preview("edge", ON_BASE, PullChanges(changes, untouched=0), live, verdict)


def no_access() -> Preview:
    """Part (a) alone; and with a policy, so that nothing reboots."""
    before = Side((Written(chrony("ntp-1.example.com"), CHRONY_FILE, 12),), policy=CHRONY_POLICY)
    after = Side(
        (Written(chrony("ntp-1.example.com", "ntp-2.example.com"), CHRONY_FILE, 12),), policy=CHRONY_POLICY
    )
    changes = tuple(cluster_change(n, before, after, Told("rest")) for n in ("dc-1", "dc-2", "edge-7"))
    verdict = Verdict(
        State.UNKNOWN,
        "Restarts chronyd.service on the nodes of 3 clusters; what is live there was not read",
        ("no access to the clusters was given",),
    )
    return Preview(
        "",
        MOVED,
        PullChanges(changes, untouched=12),
        NoLive("no access to the clusters was given", AT),
        verdict,
    )


def blocked() -> Preview:
    """fleet.yaml has an error, and a cluster too: nothing goes anywhere."""
    problems = (
        Problem(
            Place("clusters/edge-01/chrony.yaml", 7, 5),
            "mc-ignition-version",
            "spec.config.ignition.version",
            '"3.5.0" is not supported: Ignition must be 3.4.0',
            "write version: 3.4.0",
            ClusterScope("edge-01"),
        ),
        Problem(
            Place("fleet.yaml", 9, 11),
            "fleet-unknown-key",
            "spec.rollout.maxFailure",
            "unknown key",
            "did you mean maxFailures?",
            FleetScope(),
        ),
        Problem(
            Place("shared/base/motd.yaml", 3, 1),
            "mc-no-pool",
            "metadata.labels",
            "no pool selects it",
            "",
            SharedScope("shared/base"),
            Severity.WARNING,
        ),
    )
    change = replace(chrony_change("edge-01", "canary"), blocked=problems[:1])
    changes = PullChanges(
        (change,),
        untouched=2,
        settings=(
            SettingChange("spec.rollout.waves[rest].maxConcurrent", "1", "25%"),
            SettingChange("spec.prune.enabled", "", "true"),
        ),
        new_problems=problems,
        old_problems=problems[2:],
        solved=problems[2:],
        fleet_blocked=True,
    )
    verdict = Verdict(
        State.PROBLEMS,
        "Blocks the whole fleet: fleet.yaml:9:11 has an error",
        ("edge-01 is blocked by an error of its own", "Nothing is rolled out before both are mended."),
    )
    return Preview("edge", ON_BASE, changes, NoLive("head has errors"), verdict)


def conflict() -> Preview:
    verdict = Verdict(State.PROBLEMS, "Cannot be merged: 2 files are changed by base and head")
    live = Conflict(("clusters/edge-01/chrony.yaml", "fleet.yaml"))
    return Preview(
        "edge", MOVED, PullChanges((chrony_change("edge-01", "canary"),), untouched=2), live, verdict
    )


def unknown_cluster() -> Preview:
    """One of three does not answer; another rolls; a third is refused."""
    changes = tuple(
        chrony_change(n, w) for n, w in (("edge-01", "canary"), ("edge-02", "rest"), ("prod-2", "rest"))
    )
    refusal = Refusal(
        "conflict", "MachineConfig 50-worker-chrony: kubectl-edit owns spec.config.storage.files"
    )
    refused = live_cluster(
        changes[2], nodes=5, reason="pool worker is degraded: node prod-2-w4 since 09:12 UTC"
    )
    assert refused.plan is not None
    live = LivePreview(
        AT,
        fleet(
            HEAD,
            (
                live_cluster(changes[0]),
                replace(live_cluster(changes[1]), plan=None, unknown="no answer within 20 seconds"),
                replace(refused, standing=Standing.BLOCKED, plan=replace(refused.plan, refusals=(refusal,))),
            ),
        ),
        fleet(
            BASE,
            (
                live_cluster(changes[0]),
                no_change("edge-02", "rest", plan=None, unknown="no answer within 20 seconds"),
                no_change("prod-2", "rest"),
            ),
        ),
        under_way=(
            UnderWay(
                "edge-01", Standing.IN_FLIGHT, "pool worker: 1 of 3 nodes updated", AT - timedelta(minutes=9)
            ),
            UnderWay("prod-2", Standing.BLOCKED, "pool worker is degraded: node prod-2-w4 since 09:12 UTC"),
        ),
        unread=(UnreadCluster("edge-02", "no answer within 20 seconds", AT - timedelta(minutes=31)),),
        drains=MappingProxyType({"prod-2": DrainsNotRead("pods may not be read: 403 Forbidden", AT)}),
        advice=(
            Advice(AdviceKind.ROLLING, ("edge-01",), "pool worker rolls: 1 of 3 nodes updated"),
            Advice(AdviceKind.CANNOT_START, ("prod-2",), "pool worker is degraded: node prod-2-w4"),
            Advice(
                AdviceKind.BASE_MOVED,
                (),
                "base has 4 commits that this was not made on: rebase, and look again",
            ),
        ),
        halted="prod-2 has failed; only its repair is begun",
    )
    verdict = Verdict(
        State.UNKNOWN,
        "Reboots 8 nodes in 2 clusters; of edge-02 nothing is known since 10:11 UTC",
        ("On prod-2 it cannot start: pool worker is degraded.",),
    )
    return Preview("edge", MOVED, PullChanges(changes, untouched=0), live, verdict)


def modules_only() -> Preview:
    """A module is upgraded on two clusters, in one step on one of them, and there is no way on the other."""
    changes = tuple(
        cluster_change(
            name,
            Side(
                modules=(
                    Written(
                        module("logcenter", "v4.0.3", name, {"retention": "7d"}),
                        f"clusters/{name}/log.yaml",
                        1,
                    ),
                )
            ),
            Side(
                modules=(
                    Written(
                        module("logcenter", "v4.2.0", name, {"retention": "30d"}),
                        f"clusters/{name}/log.yaml",
                        1,
                    ),
                )
            ),
            Told("rest"),
        )
        for name in ("dc-1", "dc-2")
    )
    live = LivePreview(
        AT,
        fleet(HEAD, (live_cluster(change) for change in changes), at_once=2),
        fleet(BASE, (no_change(change.name, "rest") for change in changes), at_once=2),
        upgrades=MappingProxyType(
            {
                "dc-1": (
                    UpgradePath("logcenter", "v4.0.3", "v4.2.0", ("v4.1.5", "v4.2.0"), ("risk level: low",)),
                ),
                "dc-2": (
                    UpgradePath(
                        "logcenter",
                        "v3.18.0",
                        "v4.2.0",
                        (),
                        ("v4.2.0 admits upgrades from v4.0 on: upgrade to v4.0.3 first",),
                        blocked=True,
                    ),
                ),
            }
        ),
    )
    verdict = Verdict(
        State.PROBLEMS, "Upgrades logcenter on 2 clusters; on dc-2 there is no way from v3.18.0"
    )
    return Preview("edge", ON_BASE, PullChanges(changes, untouched=5), live, verdict)


def without_policy() -> Preview:
    """A file that nothing on the node takes up, with the policy to paste; one config overridden, another a no-op."""
    before = Side(
        (
            Written(chrony("ntp-1.example.com", name="40-worker-chrony"), "shared/base/chrony.yaml", 3),
            Written(chrony("ntp-1.example.com"), "clusters/edge-01/chrony.yaml", 1),
        )
    )
    after = Side(
        (
            Written(chrony("ntp-9.example.com", name="40-worker-chrony"), "shared/base/chrony.yaml", 3),
            Written(chrony("ntp-1.example.com", "ntp-2.example.com"), "clusters/edge-01/chrony.yaml", 1),
        )
    )
    overridden = Origin("40-worker-chrony", Place("shared/base/chrony.yaml", 3, 1))
    pool = {
        "without_effect": (WithoutEffect(overridden, "50-worker-chrony declares all of it after it"),),
        "inert": (
            Inert(
                Entry(EntryKind.FILE, "/etc/chrony.conf"),
                Place("clusters/edge-01/chrony.yaml", 1, 1),
                "files without a policy restart nothing (shipped default None), and chronyd.service reads it at its start",
                PASTE,
            ),
        ),
        "order_matters": True,
    }
    change = cluster_change("edge-01", before, after, Told("canary", pool=pool))
    verdict = Verdict(
        State.OK,
        "Writes /etc/chrony.conf on the nodes of edge-01; nothing there takes it up before a restart",
    )
    return Preview("edge", ON_BASE, PullChanges((change,), untouched=3), NoLive("this is a fork"), verdict)


def membership() -> Preview:
    """A cluster comes, another goes, a third is moved to another wave."""
    new = replace(chrony_change("edge-09", "rest"), membership=ChangeOf.ADDED)
    gone = replace(
        cluster_change(
            "edge-03", Side((Written(chrony("a"), "clusters/edge-03/chrony.yaml", 1),)), Side(), Told("")
        ),
        membership=ChangeOf.REMOVED,
        pools=(),
    )
    moved = ClusterChange("edge-05", "rest", ChangeOf.CHANGED, moved_from="canary")
    homeless = replace(
        chrony_change("lab-1", ""),
        modules=(ModuleChange("logcenter", ChangeOf.REMOVED, "v4.0.3", "", config=False),),
    )
    verdict = Verdict(State.PROBLEMS, "Adds edge-09, drops edge-03; no wave takes lab-1")
    changes = PullChanges((new, moved, gone, homeless), untouched=1)
    return Preview("edge", ON_BASE, changes, NoLive("no access to the clusters was given"), verdict)


SECRET = "correct-horse-battery-9"
SENSITIVE = Sensitive(
    paths=("/etc/registry/**",), modules=(ObjectPattern("logcenter", "/auth"),), kernel_arguments=True
)


def secret() -> Preview:
    """What is sensitive changes, and shows in places that nobody has marked."""

    def side(value: str, note: str) -> Side:
        body = machine_config(
            "60-worker-registry",
            files=[
                text_file("/etc/registry/auth", f"token={value}\n"),
                text_file("/etc/motd", f"the token was {note}\n"),
            ],
            kernel_arguments=[f"registry.key={value}"],
        )
        log = module("logcenter", "v4.0.3", "edge-01", {"auth": {"password": value}})
        return Side(
            (Written(body, "clusters/edge-01/registry.yaml", 1),),
            (Written(log, "clusters/edge-01/log.yaml", 1),),
        )

    change = cluster_change("edge-01", side("old-" + SECRET, "secret"), side(SECRET, SECRET))
    problem = Problem(
        Place("clusters/edge-01/registry.yaml", 5, 3),
        "mc-mode",
        "spec.config.storage.files[0]",
        f"cannot read token={SECRET}",
        "",
        ClusterScope("edge-01"),
        Severity.WARNING,
    )
    changes = PullChanges((change,), untouched=0, new_problems=(problem,))
    verdict = Verdict(State.OK, f"Reboots the nodes of edge-01: {SECRET}")
    return Preview("edge", ON_BASE, changes, NoLive(f"401: token={SECRET}"), verdict)


def drain() -> Preview:
    """Services restarted, drained, reloaded: each action in its words."""
    change = chrony_change("edge-01", "canary", unit="")
    pool = change.pools[0]
    actions = (
        Action(ActionType.DRAIN),
        Action(ActionType.DAEMON_RELOAD),
        Action(ActionType.RELOAD, "nginx.service"),
    )
    pool = replace(
        pool,
        disruption=replace(pool.disruption, actions=actions),
        entries=tuple(replace(entry, actions=actions, rule="policy for /etc") for entry in pool.entries),
    )
    change = replace(change, pools=(pool,))
    live = LivePreview(
        AT, fleet(HEAD, (live_cluster(change, nodes=1),)), fleet(BASE, (no_change("edge-01", "canary"),))
    )
    verdict = Verdict(State.OK, "Drains 1 node in 1 cluster: file /etc/chrony.conf changes")
    return Preview("edge", ON_BASE, PullChanges((change,), untouched=0), live, verdict)


def of_everything() -> Preview:
    """Something of every section, as a large fleet may have it: two waves, a file that nothing takes up, a module, a budget."""
    names = [f"edge-{number:02}" for number in range(1, 13)]
    before = Side((Written(chrony("ntp-1.example.com", "ntp-2.example.com"), CHRONY_FILE, 12),))
    body = chrony("ntp-1.example.com", "ntp-2.example.com", "ntp-3.example.com", unit=UNIT)
    after = Side((Written(body, CHRONY_FILE, 12),))
    inert = tuple(
        replace(i, place=Place(CHRONY_FILE, 12, 1))
        for i in without_policy().changes.clusters[0].pools[0].inert
    )
    changes = tuple(
        cluster_change(name, before, after, Told("rest" if number else "canary", pool={"inert": inert}))
        for number, name in enumerate(names)
    )
    modules = modules_only()
    reading, rebooting = unknown_cluster().live, reboot().live
    assert isinstance(modules.live, LivePreview)
    assert isinstance(reading, LivePreview)
    assert isinstance(rebooting, LivePreview)
    live = LivePreview(
        AT,
        fleet(HEAD, (*(live_cluster(c) for c in changes), *modules.live.outcome.clusters), at_once=4),
        fleet(BASE, (no_change(c.name, c.wave) for c in changes), at_once=4),
        under_way=(
            UnderWay(
                "edge-03", Standing.IN_FLIGHT, "pool worker: 1 of 3 nodes updated", AT - timedelta(minutes=9)
            ),
        ),
        soaking=(SoakingWave("canary", AT - timedelta(minutes=12), timedelta(minutes=30)),),
        drains=rebooting.drains,
        upgrades=modules.live.upgrades,
        advice=(
            Advice(
                AdviceKind.CANNOT_START,
                ("edge-07",),
                "pool worker is degraded: node edge-07-w2 NotReady since 09:12 UTC",
            ),
            Advice(AdviceKind.ROLLING, ("edge-03",), "pool worker rolls: 1 of 3 nodes updated"),
        ),
        forecast=_forecast(names[:-1], lanes=4),
    )
    verdict = Verdict(
        State.PROBLEMS,
        "refused on dc-2: v4.2.0 of logcenter admits upgrades from v4.0 on, and v3.18.0 runs there",
        (
            "reboots 36 nodes in 12 clusters because unit chronyd.service is added and no policy covers it; 4 h 30 min, within 5 h 20 min",
            "on edge-07 it cannot start: pool worker is degraded",
        ),
    )
    pull = PullChanges(
        (*changes, *modules.changes.clusters),
        untouched=3,
        settings=(SettingChange("spec.rollout.waves[rest].maxConcurrent", "2", "4"),),
        new_problems=blocked().changes.new_problems[2:],
    )
    return Preview("edge", ON_BASE, pull, live, verdict)


WORLDS: Mapping[str, Callable[[], Preview]] = MappingProxyType(
    {
        "nothing": nothing,
        "everything": of_everything,
        "reboot": reboot,
        "five-hundred": five_hundred,
        "no-access": no_access,
        "blocked": blocked,
        "conflict": conflict,
        "unknown-cluster": unknown_cluster,
        "modules": modules_only,
        "without-policy": without_policy,
        "membership": membership,
        "secret": secret,
        "drain": drain,
    }
)


@cache
def world(name: str) -> Preview:
    return WORLDS[name]()


def redactor(preview: Preview) -> Redactor:
    bodies = [
        manifest.body
        for cluster in preview.changes.clusters
        for change in cluster.objects
        for manifest in (change.before, change.after)
        if manifest is not None
    ]
    return Redactor.of(SENSITIVE, bodies)
