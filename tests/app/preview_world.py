"""A fleet after one rollout, with a second commit waiting: the ground of the golden files."""

from __future__ import annotations

import json
import random
from functools import cache

from gitops_mc.app.api import ClusterApi
from gitops_mc.app.use_cases.planning import Asking, Planned, Session, ask_servers, plan_fleet
from gitops_mc.core.desired import DesiredState
from gitops_mc.core.model import JsonObject
from gitops_mc.core.redact import Redactor
from gitops_mc.core.rollout.moves import Done
from gitops_mc.sandbox.faults import FaultId
from gitops_mc.sandbox.fleet import MACHINE_CONFIG_VERSION, FleetSpec, simple_fleet
from gitops_mc.sandbox.moduleinfo import Publication
from tests.scenarios.rollout_world import UNIT, RolloutWorld, machine_config, module

SECRETS = ("correct-horse-battery", "hunter2-is-no-password", "tr0ub4dor", "abc12")
"""The last one is too short to be looked for in texts: it must be hidden where it stands."""

FLEET = """\
apiVersion: gitops-mc.io/v1alpha1
kind: FleetConfig
metadata: {name: test}
spec:
  rollout:
    waves:
      - name: canary
        clusters: {names: [edge-1]}
        soak: 30m
      - name: rest
        clusters: {}
        maxConcurrent: 2
        approval: manual
  sensitive: ["/etc/registry/**", "unit:registry-login.service", "module:logcenter:/auth", "kernelArguments"]
"""


def policy(**files: str) -> str:
    entries = [
        {"path": path, "actions": [{"type": "Restart", "restart": {"serviceName": service}}]}
        for path, service in files.items()
    ]
    return json.dumps(
        {
            "apiVersion": "machineconfiguration.alauda.io/v1alpha1",
            "kind": "MachineConfiguration",
            "metadata": {"name": "cluster"},
            "spec": {"nodeDisruptionPolicy": {"files": entries}},
        }
    )


def registry(secret: str, argument: str) -> str:
    body = json.loads(
        machine_config(
            "60-worker-registry",
            files={"/etc/registry/auth": f"token={secret}\n"},
            registry_login_service=secret,
        )
    )
    body["spec"]["config"]["systemd"]["units"][0] = {
        "name": "registry-login.service",
        "enabled": True,
        "contents": f"[Service]\nExecStart=/bin/login {secret}\n",
    }
    body["spec"]["kernelArguments"] = [f"registry.key={argument}"]
    return json.dumps(body)


def before() -> dict[str, str]:
    """The commit that has been rolled out."""
    files = {
        "fleet.yaml": FLEET.replace("approval: manual", "approval: automatic").replace(
            "soak: 30m", "soak: 1m"
        )
    }
    for cluster in ("edge-1", "edge-2", "edge-3"):
        folder = f"clusters/{cluster}"
        files[f"{folder}/chrony.yaml"] = machine_config(
            "50-worker-chrony",
            files={"/etc/chrony.conf": "pool a.example iburst\ndriftfile /var/lib/chrony/drift\n"},
        )
        files[f"{folder}/policy.yaml"] = policy(**{"/etc/chrony.conf": "chronyd.service"})
        files[f"{folder}/motd.yaml"] = machine_config(
            "70-worker-motd", files={"/etc/motd": f"this is {cluster}\n"}
        )
    files["clusters/edge-1/registry.yaml"] = registry(SECRETS[0], SECRETS[3])
    files["clusters/edge-1/old.yaml"] = machine_config("80-worker-old", files={"/etc/old.conf": "old\n"})
    files["clusters/edge-1/log.yaml"] = module(
        "edge-1", "v1.0.0", "logcenter", {"auth": {"password": SECRETS[3]}, "retention": "7d"}
    )
    return files


def after() -> dict[str, str]:
    """The commit that is looked at."""
    files = before()
    files["fleet.yaml"] = FLEET
    files["clusters/edge-1/chrony.yaml"] = machine_config(
        "50-worker-chrony",
        files={"/etc/chrony.conf": "pool b.example iburst\ndriftfile /var/lib/chrony/drift\nmakestep 1 3"},
        firewall_service=UNIT,
    )
    files["clusters/edge-1/policy.yaml"] = policy(
        **{"/etc/chrony.conf": "chronyd.service", "/etc/registry": "registry-login.service"}
    )
    files["clusters/edge-1/registry.yaml"] = registry(SECRETS[1], SECRETS[2])
    files["clusters/edge-1/log.yaml"] = module(
        "edge-1", "v1.1.0", "logcenter", {"auth": {"password": SECRETS[2]}, "retention": "30d"}
    )
    del files["clusters/edge-1/old.yaml"]
    files["clusters/edge-3/chrony.yaml"] = machine_config(
        "50-worker-chrony", files={"/etc/chrony.conf": "new\n"}
    )
    files["clusters/edge-4/bad.yaml"] = machine_config("00-worker-base")
    files["clusters/edge-5/first.yaml"] = machine_config("90-worker-hand", files={"/etc/hand": "by Git\n"})
    return files


class PreviewWorld:
    """The fleet, and what is needed to plan for it."""

    def __init__(self) -> None:
        names = [f"edge-{n}" for n in range(1, 6)]
        publications = tuple(
            Publication(name, version)
            for name, version in (
                ("machine-config", MACHINE_CONFIG_VERSION),
                ("logcenter", "v1.0.0"),
                ("logcenter", "v1.1.0"),
            )
        )
        spec = FleetSpec(simple_fleet(*names).clusters, publications)
        self.world = RolloutWorld(spec, files=before())
        outlook = self.world.run()
        assert isinstance(outlook, Done), outlook
        self.world.files = after()
        self.fleet = self.world.fleet
        hand = json.loads(machine_config("90-worker-hand", files={"/etc/hand": ""}))
        hand["spec"]["config"]["storage"]["files"][0]["contents"] = {"source": "data:,by%20hand%0A"}
        self.fleet.person("edge-5").apply("machineconfigs", hand)
        motd = {"path": "/etc/motd", "mode": 0o644, "contents": {"source": "data:,emergency%0A"}}
        emergency = {"spec": {"config": {"storage": {"files": [motd]}}}}
        self.fleet.person("edge-1").edit("machineconfigs", "70-worker-motd", emergency)
        self.world.faults.set(FaultId.GATEWAY_GONE, cluster="edge-3")
        self.world.clock.wait_for(3600)

    def plan(self, *only: str, token: str = "", asking: Asking = ask_servers) -> tuple[DesiredState, Planned]:
        return look(self.world, *only, token=token, asking=asking)


def look(
    world: RolloutWorld, *only: str, token: str = "", asking: Asking = ask_servers
) -> tuple[DesiredState, Planned]:
    """A look by a fresh process."""
    executor = world.executor()
    transport = world.fleet.transport(world.clock, token=token)
    executor.api = ClusterApi(transport, world.clock, jitter=random.Random(0).random)
    session = Session(executor.api, world.clock, executor.workers, executor)
    found = plan_fleet(session, world.git("c0ffee"), frozenset(only) or None, asking)
    return world.desired(), found


@cache
def planned() -> tuple[DesiredState, Planned]:
    """The plan of the whole fleet, made once."""
    return PreviewWorld().plan()


def redactor() -> Redactor:
    state, found = planned()
    bodies: list[JsonObject] = [m.body for c in state.clusters for m in c.manifests]
    for live in found.live.values():
        for fact in (live.configs, live.rendered, live.modules):
            bodies += list(getattr(fact, "value", {}).values())
    return Redactor.of(state.policy.sensitive, bodies)
