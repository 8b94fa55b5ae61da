"""The rollouts in which processes die: small enough that all their calls can be killed, and together everything we write."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from gitops_mc.core.rollout.inputs import Abort, Acts
from gitops_mc.core.rollout.moves import Halted, Hold, Wait
from gitops_mc.sandbox.faults import FaultId
from gitops_mc.sandbox.fleet import MACHINE_CONFIG_VERSION, FleetSpec
from gitops_mc.sandbox.moduleinfo import Publication
from gitops_mc.sandbox.site import ClusterSpec
from tests.scenarios import test_groups as groups
from tests.scenarios.crash_rollout import Case, Stage
from tests.scenarios.drawn import QUICK
from tests.scenarios.rollout_world import UNIT, RolloutWorld, machine_config, module, policy
from tests.scenarios.simulation import Simulation

STEADY = replace(QUICK, jitter=0.0)
CHRONY, SYSCTL = "/etc/chrony.conf", "/etc/sysctl.d/90-net.conf"
NEWER = "v4.4.0"


def fleet_file(waves: str = "", *, prune: str = "", back: str = "") -> str:
    """A fleet.yaml; all that these worlds vary in it. `back`: onFailure rollback."""
    lines = ["apiVersion: gitops-mc.io/v1alpha1", "kind: FleetConfig", "metadata: {name: test}", "spec:"]
    lines += [f"  prune: {{enabled: {'true' if prune else 'false'}, maxDeletes: {prune or 5}}}"]
    failure = "onFailure: rollback, " if back else ""
    return "\n".join([*lines, *([f"  rollout: {{{failure}waves: [{waves}]}}"] if waves else [])]) + "\n"


def spec(*names: str, workers: int = 1, installed: str | None = MACHINE_CONFIG_VERSION) -> FleetSpec:
    clusters = (
        ClusterSpec(n, masters=1, workers=workers, machine_config=installed, nodes=STEADY) for n in names
    )
    modules = (("machine-config", MACHINE_CONFIG_VERSION), ("machine-config", NEWER))
    others = (("logcenter", "v1.0.0"), ("logcenter", "v1.1.0"))
    return FleetSpec(tuple(clusters), tuple(Publication(m, v) for m, v in (*modules, *others)))


def app(text: str, name: str = "60-worker-app") -> str:
    """A config that reboots the workers: it brings a unit."""
    return machine_config(name, files={"/etc/app.conf": f"{text}\n"}, app_service=f"{UNIT}# {text}\n")


def one(fleet: str, **manifests: str) -> dict[str, str]:
    """A repository with the cluster edge-1."""
    files = {f"clusters/edge-1/{name}.yaml": text for name, text in manifests.items()}
    return {"fleet.yaml": fleet, "clusters/edge-1/.keep.yaml": "", **files}


def annotated(text: str, **annotations: str) -> str:
    body = json.loads(text)
    body["metadata"]["annotations"] = {
        f"gitops-mc.io/{k.replace('_', '-')}": v for k, v in annotations.items()
    }
    return json.dumps(body)


# ------------------------------------------------------------------------------------------------------- installation


def _labels_lost(simulation: Simulation) -> None:
    simulation.world.faults.set(FaultId.MODULE_RECREATED_WITHOUT_LABELS)
    simulation.world.faults.set(FaultId.PHASE_LAG, seconds=15.0)


INSTALLATION = Case(
    "machine-config is installed, with policy, pool and configs",
    spec("edge-1", installed=None),
    (
        Stage(
            "the first commit",
            one(
                fleet_file(),
                module=module("edge-1"),
                pool=groups.pool("gpu"),
                policy=policy({CHRONY: "chronyd.service"}),
                chrony=machine_config("50-worker-chrony", files={CHRONY: "one\n"}),
                app=app("one"),
            ),
        ),
    ),
    prepare=_labels_lost,
)

# --------------------------------------------------------------------------------------------------------------- waves

_WAVES = (
    "{name: canary, clusters: {names: [edge-1]}, soak: 2m}, "
    "{name: rest, clusters: {}, maxConcurrent: 2, approval: manual}"
)


def _fleet_of_three(text: str) -> dict[str, str]:
    files = {f"clusters/edge-{n}/app.yaml": app(text) for n in (1, 2, 3)}
    return {"fleet.yaml": fleet_file(_WAVES), **files}


WAVES = Case(
    "an update: canary, soak, approval, the rest",
    spec("edge-1", "edge-2", "edge-3"),
    (
        Stage("the first commit, the canary", _fleet_of_three("one"), ends=Hold, counted=False),
        Stage("the first commit, the rest", _fleet_of_three("one"), approved=("rest",), counted=False),
        Stage("the update, the canary", _fleet_of_three("two"), ends=Hold),
        Stage("the update, the rest", _fleet_of_three("two"), approved=("rest",)),
    ),
)

# ------------------------------------------------------------------------------------------------------------- bracket


def _two_custom_pools(simulation: Simulation) -> None:
    person = simulation.world.fleet.person("edge-1")
    person.label_node("edge-1-w1", **{"node-role.kubernetes.io/gpu": ""})
    person.label_node("edge-1-w2", **{"node-role.kubernetes.io/infra": ""})
    simulation.world.clock.wait_for(120)


BRACKET = Case(
    "configs, a pool and a deletion in one commit, two custom pools",
    spec("edge-1", workers=3),
    (Stage("the first commit", groups.FIRST, counted=False), Stage("the second", groups.second())),
    prepare=_two_custom_pools,
)


def _two_pools_that_render_only_when_they_run(simulation: Simulation) -> None:
    _two_custom_pools(simulation)
    simulation.world.faults.set(FaultId.PAUSED_DOES_NOT_RENDER)
    simulation.world.faults.set(FaultId.LATE_RENDER, seconds=20.0)


UNKIND = replace(
    BRACKET,
    name="the same where paused pools do not render, and others late",
    prepare=_two_pools_that_render_only_when_they_run,
)


def _overtaken(a: str, more: Mapping[str, str]) -> dict[str, str]:
    kept = machine_config("55-worker-kept", files={"/etc/kept": "1\n"})
    return one(fleet_file(prune="5"), a=app(a), kept=kept, **more)


OVERTAKEN = Case(
    "the next commit arrives while nobody runs, and takes back half of the one that was begun",
    spec("edge-1"),
    (
        Stage("the first commit", _overtaken("one", {}), counted=False),
        Stage(
            "the second",
            _overtaken("two", {"b": machine_config("70-worker-b", files={"/etc/b": "1\n"}, b_service=UNIT)}),
            overtaken=True,
        ),
        Stage("the third", _overtaken("two", {"c": machine_config("71-worker-c", files={"/etc/c": "1\n"})})),
    ),
)

TAKEN_BACK = Case(
    "the commit that makes an object is taken back while nobody runs",
    spec("edge-1"),
    (
        Stage("the first commit", one(fleet_file(prune="5"), a=app("one")), counted=False),
        Stage(
            "an object more",
            one(
                fleet_file(prune="5"), a=app("one"), b=machine_config("70-worker-b", files={"/etc/b": "1\n"})
            ),
            overtaken=True,
        ),
        Stage("another one instead", one(fleet_file(prune="5"), a=app("two"))),
    ),
)

# ------------------------------------------------------------------------------------------------------------- modules


def _logcenter(version: str, replicas: int) -> str:
    return module("edge-1", version, "logcenter", {"replicas": replicas})


def _upgrade_rolls_pools(simulation: Simulation) -> None:
    simulation.world.faults.set(FaultId.UPGRADE_ROLLS_POOLS)
    simulation.world.faults.set(FaultId.PHASE_LAG, seconds=15.0)


UPGRADE = Case(
    "machine-config and another module are upgraded",
    spec("edge-1", installed=None),
    (
        Stage(
            "installed",
            one(fleet_file(), m=module("edge-1"), log=_logcenter("v1.0.0", 1), app=app("one")),
            counted=False,
        ),
        Stage(
            "upgraded",
            one(fleet_file(), m=module("edge-1", NEWER), log=_logcenter("v1.1.0", 3), app=app("two")),
        ),
    ),
    prepare=_upgrade_rolls_pools,
)

_CONFIRMED = annotated(module("edge-1"), prune="confirmed")
UNINSTALL = Case(
    "another module and then machine-config are uninstalled",
    spec("edge-1", installed=None),
    (
        Stage(
            "installed",
            one(fleet_file(prune="5"), m=module("edge-1"), log=_logcenter("v1.0.0", 1), app=app("one")),
            counted=False,
        ),
        Stage("without logcenter", one(fleet_file(prune="5"), m=_CONFIRMED, app=app("one"))),
        Stage("without machine-config", one(fleet_file(prune="5"), app=app("one"))),
    ),
)

# ------------------------------------------------------------------------------------------------------------ deletion


def _numbered(numbers: tuple[int, ...], prune: str = "", remark: str = "") -> dict[str, str]:
    configs = {
        f"f{n}": machine_config(f"5{n}-worker-f", files={f"/etc/f{n}.conf": "1\n"}, **_unit_of(n))
        for n in numbers
    }
    return {**one(fleet_file(prune=prune), **configs), "README.md": remark}


def _unit_of(number: int) -> dict[str, str]:
    return {f"f{number}_service": UNIT}


PRUNING = Case(
    "orphans are pruned after prune was enabled, and what is gone from Git",
    spec("edge-1"),
    (
        Stage("six configs", _numbered((0, 1, 2, 3, 4, 5)), counted=False),
        Stage("one is an orphan", _numbered((1, 2, 3, 4, 5))),
        Stage("prune is enabled", _numbered((1, 2, 3, 4, 5), "2")),
        Stage("the next commit", _numbered((1, 2, 3, 4, 5), "2", "remark")),
        Stage("one is gone", _numbered((2, 3, 4, 5), "2", "remark")),
    ),
)

LAST_CONFIG = Case(
    "the last config of ours leaves its pool",
    spec("edge-1", "edge-2"),
    (
        Stage(
            "with it",
            {
                "fleet.yaml": fleet_file(prune="5"),
                **{f"clusters/edge-{n}/app.yaml": app("one") for n in (1, 2)},
                **{f"clusters/edge-{n}/policy.yaml": policy({SYSCTL: "a.service"}) for n in (1, 2)},
            },
            counted=False,
        ),
        Stage(
            "without it",
            {
                "fleet.yaml": fleet_file(prune="5"),
                **{f"clusters/edge-{n}/policy.yaml": policy({SYSCTL: "a.service"}) for n in (1, 2)},
            },
        ),
    ),
)

# ------------------------------------------------------------------------------------------------------------ adoption


def _made_by_hand(simulation: Simulation) -> None:
    person = simulation.world.fleet.person("edge-1")
    for manifest in (app("one"), app("one", "61-worker-same")):
        body = json.loads(manifest)
        for file in body["spec"]["config"]["storage"]["files"]:
            text = base64.b64encode(file["contents"]["inline"].encode()).decode()
            file["contents"] = {"source": f"data:;base64,{text}"}
        person.apply("machineconfigs", body)
    simulation.world.clock.wait_for(1200)


_FROM_KUBECTL: Mapping[str, str] = {"adopt_from": "kubectl-client-side-apply"}
ADOPTION = Case(
    "objects made with kubectl are taken over, with equal and with other values",
    spec("edge-1"),
    (
        Stage(
            "asked first",
            one(fleet_file(), app=annotated(app("two"), **_FROM_KUBECTL), same=app("one", "61-worker-same")),
            ends=Hold,
        ),
        Stage(
            "approved",
            one(fleet_file(), app=annotated(app("two"), **_FROM_KUBECTL), same=app("one", "61-worker-same")),
            approved=("edge-1",),
        ),
        Stage(
            "changed",
            one(
                fleet_file(), app=annotated(app("three"), **_FROM_KUBECTL), same=app("one", "61-worker-same")
            ),
        ),
    ),
    prepare=_made_by_hand,
)

# ------------------------------------------------------------------------------------------------------------- failure


def _with_canary(**manifests: str) -> dict[str, str]:
    files = {f"clusters/edge-{n}/{name}.yaml": text for n in (1, 2) for name, text in manifests.items()}
    return {
        "fleet.yaml": fleet_file("{name: canary, clusters: {names: [edge-1]}}, {name: rest, clusters: {}}"),
        **files,
    }


_BAD = machine_config("70-worker-new", files={"/etc/new.conf": "BROKEN\n"}, new_service=UNIT)
REPAIR = Case(
    "a bad commit halts the canary, its repair goes through, another bad one is reverted",
    spec("edge-1", "edge-2"),
    (
        Stage("good", _with_canary(app=app("one")), counted=False),
        Stage(
            "bad",
            _with_canary(
                app=app("BROKEN"), more=machine_config("71-worker-more", files={"/etc/more": "1\n"})
            ),
            ends=Halted,
        ),
        Stage(
            "repaired",
            _with_canary(app=app("two"), more=machine_config("71-worker-more", files={"/etc/more": "1\n"})),
        ),
        Stage(
            "bad again",
            _with_canary(
                app=app("two"), more=machine_config("71-worker-more", files={"/etc/more": "1\n"}), new=_BAD
            ),
            ends=Halted,
        ),
        Stage(
            "reverted",
            _with_canary(app=app("two"), more=machine_config("71-worker-more", files={"/etc/more": "1\n"})),
        ),
    ),
)

# -------------------------------------------------------------------------------------------------------------- policy

POLICY = Case(
    "entries of the policy go: first the union, the final list after the configs",
    spec("edge-1"),
    (
        Stage(
            "with chrony",
            one(
                fleet_file(),
                policy=policy({CHRONY: "chronyd.service"}),
                time=machine_config("50-worker-time", files={CHRONY: "one\n"}),
            ),
            counted=False,
        ),
        Stage(
            "with sysctl instead",
            one(
                fleet_file(),
                policy=policy({SYSCTL: "systemd-sysctl.service"}),
                time=machine_config("50-worker-time", files={SYSCTL: "net.a = 1\n"}),
            ),
        ),
    ),
)

# --------------------------------------------------------------------------------------------------- what humans order

_ABORTED = Acts(aborted=Abort("alarms in the shop", by="mei"))


def _the_second_drain_is_stuck(simulation: Simulation) -> None:
    """However long a process is away, the rollout stands where it stood, until well after the resume."""
    now = simulation.world.clock.now()
    begin, end = now + timedelta(minutes=5), now + timedelta(minutes=25)
    simulation.world.faults.set(FaultId.DRAIN_STUCK, cluster="edge-1", node="edge-1-w2", start=begin, end=end)


def _the_first_is_done(world: RolloutWorld) -> bool:
    return world.reboots("edge-1").get("edge-1-w1") == 2 and world.clock.now() > world.start + timedelta(
        minutes=10
    )


def _is_paused(world: RolloutWorld) -> bool:
    pool = world.fleet.person("edge-1").get("machineconfigpools", "worker")
    return pool is not None and bool(pool["spec"].get("paused"))


ABORT = Case(
    "aborted in mid-roll, and resumed with newer content",
    spec("edge-1", workers=3),
    (
        Stage("one", one(fleet_file(), app=app("one")), counted=False),
        Stage("rolls", one(fleet_file(), app=app("two")), ends=Wait, until=_the_first_is_done, counted=False),
        Stage("aborted", one(fleet_file(), app=app("two")), ends=Hold, acts=_ABORTED),
        Stage(
            "resumed",
            one(
                fleet_file(), app=app("three"), more=machine_config("71-worker-more", files={"/etc/m": "1\n"})
            ),
        ),
    ),
    prepare=_the_second_drain_is_stuck,
)

ABORT_IN_BRACKET = Case(
    "aborted while a bracket is open, and resumed",
    spec("edge-1", workers=4),
    (
        Stage("one", groups.FIRST, counted=False),
        Stage("opens", groups.second(), ends=Wait, until=_is_paused),
        Stage("aborted", groups.second(), ends=Hold, acts=_ABORTED),
        Stage("resumed", groups.second()),
    ),
    prepare=_two_custom_pools,
)

_BACK = "{name: canary, clusters: {names: [edge-1]}}, {name: rest, clusters: {}}"


def _going_back(replicas: int, text: str, **more: str) -> dict[str, str]:
    apps = {f"clusters/edge-{n}/app.yaml": app(text) for n in (1, 2)}
    extra = {f"clusters/edge-{n}/{name}.yaml": body for n in (1, 2) for name, body in more.items()}
    return {
        "fleet.yaml": fleet_file(_BACK, back="yes"),
        "clusters/edge-1/log.yaml": _logcenter("v1.0.0", replicas),
        **apps,
        **extra,
    }


ROLLBACK = Case(
    "bad content with a module is rolled back, its repair goes in",
    spec("edge-1", "edge-2"),
    (
        Stage("good", _going_back(1, "one"), counted=False),
        Stage(
            "bad",
            _going_back(3, "BROKEN", more=machine_config("71-worker-more", files={"/etc/more": "1\n"})),
            ends=Halted,
        ),
        Stage("repaired", _going_back(3, "two")),
    ),
)

CASES = (
    INSTALLATION,
    WAVES,
    BRACKET,
    UNKIND,
    OVERTAKEN,
    TAKEN_BACK,
    UPGRADE,
    UNINSTALL,
    PRUNING,
    LAST_CONFIG,
    ADOPTION,
    REPAIR,
    POLICY,
    ABORT,
    ABORT_IN_BRACKET,
    ROLLBACK,
)
