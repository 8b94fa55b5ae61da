"""A controller that tells a forge on loopback of its commits, over the product's own adapters, as bootstrap connects them."""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from gitops_mc.adapters.telemetry_log import Log
from gitops_mc.adapters.telemetry_metrics import Metrics
from gitops_mc.app.controller.commits_told import CommitsTold
from gitops_mc.app.controller.fleet_loop import FleetLoop
from gitops_mc.app.controller.running import Attendant
from gitops_mc.app.controller.seams import Watcher
from gitops_mc.app.telemetry import Telemetry
from gitops_mc.bootstrap.forges import Forges
from gitops_mc.bootstrap.means import Data
from gitops_mc.core.model import Commit, JsonObject
from tests.adapters.forge_servers import CA, TOKEN, ForgeServer, GiteaServer, GithubServer, GitlabServer
from tests.scenarios.controller_world import NAMESPACE, ControllerWorld, Replica

SERVERS: Mapping[str, Callable[[], ForgeServer]] = {
    "github": partial(GithubServer, prefix="/api/v3"),
    "gitlab": GitlabServer,
    "gitea": GiteaServer,
}
"""github is an Enterprise Server here: github.com's API is at an address of its own."""
_CORE = f"/api/v1/namespaces/{NAMESPACE}"


@dataclass
class ForgeWorld:
    """A world whose Fleet names a forge that runs."""

    server: ForgeServer
    kind: str
    folder: Path
    fleet_yaml: str
    world: ControllerWorld = field(init=False)
    stream: io.StringIO = field(default_factory=io.StringIO)
    """The log."""

    def __post_init__(self) -> None:
        self.server.commits.clear()
        self.world = ControllerWorld(spec={"forge": self.spec()})
        token, ca = b64encode(TOKEN.encode() + b"\n").decode(), CA.read_text()
        self.world.kubectl(
            "POST",
            f"{_CORE}/secrets",
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "forge"}, "data": {"token": token}},
        )
        self.world.kubectl(
            "POST",
            f"{_CORE}/configmaps",
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "forge-ca"},
                "data": {"ca.crt": ca},
            },
        )

    def spec(self) -> JsonObject:
        return {
            "type": self.kind,
            "url": self.server.peer.url,
            "project": self.server.project,
            "tokenRef": {"name": "forge", "key": "token"},
            "caRef": {"name": "forge-ca"},
        }

    def push(self, files: Mapping[str, str]) -> Commit:
        commit = Commit(self.world.push({"fleet.yaml": self.fleet_yaml, **files}))
        self.server.commits.add(commit)
        return commit

    def process(self) -> Replica:
        """A fresh process of the controller, reporting as the real one does; what is due to forges is brought at each beat."""
        replica = self.world.process()
        controller, clock = replica.controller, self.world.machine

        def redact(text: str) -> str:
            for loop in controller.loops.values():
                text = loop.redact(text)
            return text

        log = Log(self.stream, clock.now, redact=redact)
        forges = Forges(
            Data(controller.api, NAMESPACE),
            self.folder,
            lambda fleet: controller.loops[fleet.partition("/")[2]].objects.fleet,
        )

        def beat() -> None:
            for job in board.jobs().values():
                job()

        telemetry = Telemetry(log, Metrics("1", clock.now), clock.now, beat, "one", NAMESPACE)
        may = controller.leadership.may_write
        board = CommitsTold(forges, may, telemetry.forged, redact, clock.now)
        telemetry.board = board
        watcher: Watcher = telemetry
        attendant: Attendant = telemetry
        made = controller.open_loop

        def open_loop(name: str) -> FleetLoop:
            loop = made(name)
            loop.watcher = watcher
            return loop

        controller.open_loop, controller.attendant = open_loop, attendant
        return replica

    def run(self, replica: Replica, until: str, commit: Commit | None = None) -> None:
        """Until the fleet's outlook is so, with this commit; and a little longer, so that the forge hears of it."""

        def so(world: ControllerWorld) -> bool:
            source = (world.fleet().get("status") or {}).get("source") or {}
            return world.outlook() == until and commit in {None, source.get("commit")}

        self.world.run(replica, until=so)
        self.world.run(replica, hours=0.02)

    def states(self, commit: Commit) -> list[str]:
        """Of a commit's statuses, in the order in which they were set; what is said twice in a row is said once."""
        found: list[str] = []
        for state, _ in self.server.told(commit):
            if not found or found[-1] != state:
                found.append(state)
        return found
