"""Clusters as they grow in years, drawn from a number: made with many tools, in many spellings, on a real (embedded) server."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from urllib.parse import quote

from gitops_mc.core.authoring.choosing import Choice, choose
from gitops_mc.core.authoring.drafts import Draft
from gitops_mc.core.authoring.faithful import Checked, check_drafts
from gitops_mc.core.authoring.importing import Import, Secrets, bring
from gitops_mc.core.authoring.picking import Picked
from gitops_mc.core.authoring.writing import Style
from gitops_mc.core.desired import DesiredState, SourceFile, load
from gitops_mc.core.live import LiveCluster, objects
from gitops_mc.core.model import JsonObject, Kind, Known, ResourceKey
from gitops_mc.sandbox.operator.components import initial_objects
from tests.core.diff_world import CLUSTER, NOW, World, module, pool
from tests.core.machine_configs import machine_config

OPERATOR = "machine-config-controller"

TEXTS = (
    "",
    "x",
    "yes",
    "0644",
    "~",
    "a: b\n",
    "server ntp-1.example.com iburst\ndriftfile /var/lib/chrony/drift\n",
    "no line end",
    "two\nlines",
    "\nbegins empty\n",
    "  begins indented\nand goes on\n",
    "ends with empty lines\n\n\n",
    "trailing blanks  \n\tand a tab\n",
    "---\n# looks like YAML\n...\n",
    "dos\r\nlines\r\n",
    "é~?> ünïcødé 日本語\n",
    "a byte order mark \ufeff, a line separator \u2028\n",
    "bell \x07 and escape \x1b\n",
    "\"quotes\" and 'others' and \\ and %\n",
    "version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
    "".join(f"line {number} of a long file\n" for number in range(80)),
    "w" * 3000,
)
BYTES = (b"\x00\x01\x02\xff", b"\x89PNG\r\n\x1a\n\x00", b"latin-1: \xe9\r\n", bytes(range(256)) * 8)
UNIT = "[Unit]\nDescription=x\n[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"
PATHS = (
    "/etc/chrony.conf",
    "/etc/sysctl.d/90 spaces.conf",
    "/etc/Upper.conf",
    "/etc/upper.conf",
    "/etc/.gitignore",
    "/opt/é/ünï.conf",
    "/var/lib/tool/x.bin",
    "/etc/a/b/c/d",
    "/usr/local/bin/run.sh",
    "/etc/registry/token",
    "/etc/long/" + "n" * 200,
)
MANAGERS = ("kubectl-create", "kubectl-client-side-apply", "ansible", "argocd-controller", "gitops-mc")


def spelled(data: bytes, random: Random) -> JsonObject:
    """Contents of a file as somebody's tool may have written them."""
    match random.randrange(9):
        case 0:
            return {"source": f"data:,{quote(data)}"}
        case 1:
            return {"source": f"data:;base64,{base64.urlsafe_b64encode(data).decode().rstrip('=')}"}
        case 2:
            packed = gzip.compress(data, random.choice([1, 9]), mtime=random.choice([0, 1_700_000_000]))
            return {"source": f"data:;base64,{base64.b64encode(packed).decode()}", "compression": "gzip"}
        case 3:
            return {"source": f"data:text/plain;charset=utf-8;base64,{base64.b64encode(data).decode()}"}
        case 4:
            return {"source": f"DATA:,{quote(data, safe='')}", "compression": random.choice(["", None])}
        case 5:
            digest = hashlib.sha512(data).hexdigest()
            encoded = f"data:;base64,{base64.b64encode(data).decode()}"
            return {"source": encoded, "verification": {"hash": f"sha512-{digest}"}}
        case _:
            return {"source": f"data:;base64,{base64.b64encode(data).decode()}" if data else "data:,"}


def drawn_file(path: str, random: Random) -> JsonObject:
    data = random.choice(TEXTS).encode() if random.random() < 0.8 else random.choice(BYTES)
    found: JsonObject = {"path": path, "contents": spelled(data, random)}
    if random.random() < 0.9:
        found["mode"] = random.choice([0o644, 0o600, 0o755, 0o444, None])
    if random.random() < 0.2:
        found["overwrite"] = random.choice([True, False, None])
    if random.random() < 0.2:
        found["user"] = random.choice([{"id": 0}, {"name": "root"}, {}])
    return found


def drawn_unit(name: str, random: Random) -> JsonObject:
    found: JsonObject = {"name": name}
    if random.random() < 0.8:
        found["contents"] = random.choice(
            [UNIT, UNIT.replace("\n", "\r\n"), UNIT + "# x\n" * 30, f"  {UNIT}", ""]
        )
    if random.random() < 0.7:
        found["enabled"] = random.choice([True, False, None])
    if random.random() < 0.4:
        dropins = random.sample(["10-a.conf", "20-b.conf"], random.randint(1, 2))
        found["dropins"] = [
            {
                "name": dropin,
                "contents": random.choice(
                    ["[Service]\nNice=5\n", "", "[Service]\nEnvironment=PASSWORD=hunter22\n"]
                ),
            }
            for dropin in dropins
        ]
    return found


def drawn_config(name: str, random: Random) -> JsonObject:
    role = name.split("-")[1]
    files = [drawn_file(path, random) for path in random.sample(PATHS, random.randint(0, 4))]
    units = [
        drawn_unit(unit, random)
        for unit in random.sample(["a.service", "b.timer", "c@.service"], random.randint(0, 2))
    ]
    body = machine_config(
        name,
        role,
        files=files,
        units=units,
        ssh_keys={
            "boot": ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFakeKeyForTestsOnlyAAAAAAAAAAAAAAAAAAAA x@y"]
        }
        if random.random() < 0.2
        else {},
        kernel_arguments=random.sample(
            ["nosmt", "quiet", "console=ttyS0,115200", "hugepages=64"], random.randint(0, 3)
        ),
    )
    if random.random() < 0.2:
        body["spec"].pop("kernelArguments", None)
    if random.random() < 0.3:
        body["metadata"]["annotations"] = {
            "owner": random.choice(["platform", "yes", "0644", "a\nb", "", "é: #"]),
            "argocd.argoproj.io/tracking-id": "x:y/z",
        }
    if random.random() < 0.1:
        body["spec"]["config"]["ignition"]["version"] = "3.2.0"  # breaks a rule of ours, and lives
    if random.random() < 0.1 and files:
        body["spec"]["config"]["storage"]["files"].append(dict(files[0]))  # so does a path that stands twice
    if random.random() < 0.1 and files:
        files[0]["contents"] = {"source": "data:;base64,@@@"}
    return body


def create(world: World, body: JsonObject, manager: str) -> None:
    """As one tool or another creates an object."""
    if manager == "kubectl-client-side-apply":
        noted = json.dumps(body)
        meta = body["metadata"]
        notes = {**meta.get("annotations", {}), "kubectl.kubernetes.io/last-applied-configuration": noted}
        world.create({**body, "metadata": {**meta, "annotations": notes}}, manager=manager)
    elif manager in ("ansible", "argocd-controller", "gitops-mc"):
        world.apply(body, manager=manager)
    else:
        world.create(body, manager=manager)


def started(world: World, random: Random) -> None:
    """The operator's first start, and what it has written since."""
    for _, body in initial_objects():
        world.create(body, manager=OPERATOR)
    status = {
        "status": {"observedGeneration": 1, "machineCount": 2},
        "spec": {"configuration": {"name": "rendered-worker-1"}},
    }
    for name in ("master", "worker"):
        world.merge_patch(Kind.MACHINE_CONFIG_POOL, name, {"spec": status["spec"]}, manager=OPERATOR)
    rendered = machine_config("rendered-worker-1", "worker", files=[])
    world.create(rendered, manager=OPERATOR)
    if random.random() < 0.5:
        world.merge_patch(
            Kind.MACHINE_CONFIG_POOL, "worker", {"spec": {"maxUnavailable": random.choice([2, "25%", 0])}}
        )
    if random.random() < 0.2:
        world.merge_patch(Kind.MACHINE_CONFIG_POOL, "worker", {"spec": {"paused": True}})
    if random.random() < 0.2:
        world.merge_patch(Kind.MACHINE_CONFIG_POOL, "worker", {"metadata": {"labels": {"team": "on"}}})


def grown(seed: int) -> World:
    """One cluster after some years."""
    random = Random(seed)
    world = World()
    started(world, random)
    for name in random.sample(
        ["50-worker-chrony", "60-worker-x", "70-worker-y", "50-master-z", "50-infra-i", "99-worker.dots"],
        random.randint(0, 5),
    ):
        create(world, drawn_config(name, random), random.choice(MANAGERS))
    if random.random() < 0.5:
        roles = {
            "key": "machineconfiguration.alauda.io/role",
            "operator": "In",
            "values": ["worker", "infra"],
        }
        create(
            world,
            pool(
                "infra",
                machineConfigSelector={"matchExpressions": [roles]},
                maxUnavailable=random.choice([1, 2, "10%"]),
            ),
            random.choice(MANAGERS),
        )
    if random.random() < 0.6:
        _grow_policy(world, random)
    for name in random.sample(["logcenter", "storage", "machine-config"], random.randint(0, 3)):
        config = {"size": "large", "nested": {"a": 1, "b": [1, {"c": None}]}, "empty": {}, "flag": "on"}
        chosen = (
            dict(random.sample(sorted(config.items()), random.randint(0, 4)))
            if name != "machine-config"
            else {}
        )
        if random.random() < 0.2 and chosen:
            chosen["auth"] = {"password": "hunter2hunter2"}
        world.create(module(name, random.choice(["v4.1.0", "v4.3.0"]), config=chosen))
    return world


def _grow_policy(world: World, random: Random) -> None:
    actions = random.choice(
        [[{"type": "None"}], [{"type": "Reboot"}], [{"type": "Drain"}, {"type": "DaemonReload"}]]
    )
    files = [
        {"path": path, "actions": actions}
        for path in random.sample(["/etc/a", "/etc/b", "/etc/c.d"], random.randint(1, 3))
    ]
    entries: JsonObject = {"files": files}
    if random.random() < 0.3:
        entries["sshkey"] = {"actions": random.choice([[{"type": "None"}], [{"type": "Reboot"}]])}
    if random.random() < 0.3:
        entries["units"] = [{"name": "a.service", "actions": actions}]
    patch = {"spec": {"nodeDisruptionPolicy": entries}}
    if random.random() < 0.5:
        world.merge_patch(Kind.MACHINE_CONFIGURATION, "cluster", patch)
        return
    body = {
        "apiVersion": Kind.MACHINE_CONFIGURATION.api_version,
        "kind": "MachineConfiguration",
        "metadata": {"name": "cluster"},
    }
    world.apply({**body, **patch}, manager=random.choice(["ansible", "gitops-mc"]), force="true")


def as_read(world: World) -> LiveCluster:
    """As the rollout reads it: without rendered configs, with what is published."""
    live = world.live()
    assert isinstance(live.configs, Known)
    configs = {name: body for name, body in live.configs.value.items() if not name.startswith("render")}
    published = {
        "ModuleConfig/logcenter-v4.1.0": {
            "metadata": {"name": "logcenter-v4.1.0", "labels": {"cpaas.io/module-name": "logcenter"}},
            "spec": {"version": "v4.1.0", "config": {"size": "large", "nested": {"a": 1}}},
        }
    }
    return replace(live, configs=Known(objects(configs), NOW), catalog=Known(objects(published), NOW))


@dataclass
class Site:
    """A repository in memory, and imports into it."""

    files: dict[str, bytes] = field(default_factory=dict)

    def state(self, more: Mapping[str, bytes] = {}) -> DesiredState:
        whole = {**self.files, **more}
        return load(
            [SourceFile(p, hashlib.sha1(d).hexdigest(), 0o100644, d) for p, d in sorted(whole.items())],
            cache={},
        )

    def bring(
        self, live: LiveCluster, secrets: Secrets = Secrets.WRITE, contents: Style = Style.READABLE
    ) -> tuple[Choice, Import]:
        before = self.state()
        known = before.cluster(live.name)
        held = frozenset(m.key for m in known.manifests) if known else frozenset[ResourceKey]()
        choice = choose(live, held, before.policy.name)

        def trial(drafts: tuple[Draft, ...], picked: Mapping[ResourceKey, Picked]) -> Checked:
            return check_drafts(self.state(_contents(drafts)), live, drafts, picked)

        found = bring(
            live.name,
            choice,
            taken=self.files,
            sensitive=before.sensitive,
            secrets=secrets,
            contents=contents,
            trial=trial,
        )
        return choice, found

    def keep(self, found: Import) -> None:
        for file in found.files:
            assert file.path not in self.files
            self.files[file.path] = file.data


def _contents(drafts: Iterable[Draft]) -> dict[str, bytes]:
    return {file.path: file.data for draft in drafts for file in draft.files}


__all__ = ["CLUSTER", "Site", "as_read", "grown"]
