"""A pull request from its preview to its merge, by the controller: what is shown is what happens, and strangers see no cluster."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gitops_mc.adapters.git_pull_heads import GITHUB_HEADS, PullHeads
from gitops_mc.app.api import ClusterApi
from gitops_mc.app.controller.fleet_loop import FleetLoop
from gitops_mc.app.controller.previews_shown import PreviewsShown
from gitops_mc.app.executor import Executor
from gitops_mc.app.ports import Request, Response
from gitops_mc.app.pull_ports import PreviewWanted
from gitops_mc.app.use_cases.planning import Session
from gitops_mc.bootstrap.preview_making import PreviewMaker, Watched
from gitops_mc.bootstrap.pulls import Held
from gitops_mc.core.custom.fleet_spec import FleetSpec, fleet_spec
from gitops_mc.core.custom.forge_spec import ForgeKind
from gitops_mc.core.custom.pull_comment import PreviewText
from gitops_mc.core.custom.pull_request import PreviewScope, PullRequest
from gitops_mc.core.model import Commit
from gitops_mc.core.preview.model import State
from gitops_mc.sandbox.faults import FaultId
from gitops_mc.sandbox.fleet import simple_fleet
from gitops_mc.sandbox.virtual import VirtualWorkers
from tests.scenarios.controller_world import ControllerWorld, Replica
from tests.scenarios.rollout_world import UNIT, RolloutWorld, machine_config

FLEET = """\
apiVersion: gitops-mc.io/v1alpha1
kind: FleetConfig
spec:
  rollout: {requirePreview: true}
  sensitive: ["/etc/registry/**"]
"""
SECRET = "correct-horse-battery"
APP = "clusters/edge-1/app.yaml"
ONE = machine_config("50-worker-app", files={"/etc/app.conf": "one\n"}, app_service=UNIT)
TWO = machine_config("50-worker-app", files={"/etc/app.conf": "one\n"}, app_service=UNIT + "# two\n")
START = {"fleet.yaml": FLEET, APP: ONE}


def git(folder: Path, *words: str) -> str:
    told = ["git", "-C", str(folder), "-c", "user.name=mei", "-c", "user.email=m@example.com", *words]
    return subprocess.run(told, check=True, capture_output=True, text=True).stdout.strip()


def waits(world: ControllerWorld) -> bool:
    return world.outlook() == "hold" and world.standing("edge-1") == "needs approval"


def done(world: ControllerWorld) -> bool:
    return world.outlook() == "done"


@dataclass
class Listening:
    """A Transport that notes whom it was sent to."""

    inner: object
    sent: list[str] = field(default_factory=list)

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        self.sent.append(f"{request.method} {cluster}")
        return self.inner.send(cluster, request, timeout=timeout)  # type: ignore[attr-defined, no-any-return]


class Forge:
    """The repository with its pull requests, beside the world whose controller follows what is merged."""

    def __init__(self, folder: Path, world: ControllerWorld, replica: Replica) -> None:
        self.world, self.replica, self.folder = world, replica, folder / "repository"
        self.folder.mkdir()
        git(self.folder, "init", "-q", "-b", "main")
        self.base = self.commit(START)
        heads = PullHeads(
            f"file://{self.folder}", folder / "cache", GITHUB_HEADS, unprotected=frozenset({"file"})
        )
        self.held = Held(fleet_spec(world.fleet()).source, ForgeKind.GITEA, heads)
        self.transport = Listening(world.rollout.fleet.transport(world.rollout.clock))
        self.promised = PreviewsShown()
        self.loop.previewed = self.promised
        self.maker = PreviewMaker(
            lambda _: Watched(self.loop.objects, None),
            self,
            self.session,
            world.rollout.clock.now,
        )

    def commit(self, files: Mapping[str, str]) -> Commit:
        for path, text in files.items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_text(text)
        git(self.folder, "add", "-A")
        git(self.folder, "commit", "-qm", "change")
        return Commit(git(self.folder, "rev-parse", "HEAD"))

    def opened(self, files: Mapping[str, str], *, fork: bool = False) -> PullRequest:
        """Pull request 7, with these files on top of main."""
        git(self.folder, "checkout", "-q", "-B", "feature", "main")
        head = self.commit(files)
        git(self.folder, "update-ref", "refs/pull/7/head", head)
        git(self.folder, "checkout", "-q", "main")
        return PullRequest(7, "More", "mei", 1, head, "feature", "main", fork=fork, updated="1")

    @property
    def loop(self) -> FleetLoop:
        return self.replica.controller.loops["prod"]

    def posted(self, text: PreviewText) -> None:
        """The forge has taken the comment."""
        self.promised.add("gitops-mc/prod", text.shown)
        self.world.run(self.replica, hours=0.05)

    def merge(self, files: Mapping[str, str], *, until: Callable[[ControllerWorld], bool] = done) -> None:
        commit = self.world.push({**START, **files})
        self.world.run(
            self.replica, until=lambda w: w.fleet()["status"]["source"]["commit"] == commit and until(w)
        )

    def reason(self) -> str:
        return str(self.world.of("edge-1")["status"]["reason"])

    # ------------------------------------------------------------------------------------ as the process connects it

    def of(self, spec: FleetSpec) -> Held:
        return self.held

    @contextmanager
    def session(self, _spec: FleetSpec, watched: Watched) -> Iterator[Session]:
        clock = self.world.rollout.clock
        api = ClusterApi(self.transport, clock, jitter=random.Random(0).random)
        workers = VirtualWorkers(clock)
        yield Session(api, clock, workers, Executor(api, clock, workers, watched.memory()))

    def preview(self, pull: PullRequest, scope: PreviewScope = PreviewScope.LIVE) -> PreviewText:
        return self.maker(PreviewWanted("gitops-mc/prod", pull, self.base, scope, 60_000))


@pytest.fixture
def world() -> ControllerWorld:
    return ControllerWorld(rollout=RolloutWorld(spec=simple_fleet("edge-1", workers=2)))


@pytest.fixture
def forge(tmp_path: Path, world: ControllerWorld) -> Forge:
    """The first commit is on the fleet, and a process goes on looking after it."""
    world.push(START)
    replica = world.run(until=waits)
    world.annotate("edge-1", "approve", "the first one")
    world.run(replica, until=done)
    return Forge(tmp_path, world, replica)


def reboots(world: ControllerWorld) -> int:
    return sum(world.rollout.fleet.reboots().values())


def test_what_the_comment_shows_is_rolled_out_when_it_is_merged_and_asks_nobody(forge: Forge) -> None:
    before = reboots(forge.world)
    text = forge.preview(forge.opened({APP: TWO}))
    assert text.state is State.OK
    assert text.summary.lower().startswith("reboots 2 nodes in edge-1 because unit app.service changes")
    forge.posted(text)
    forge.merge({APP: TWO})
    assert reboots(forge.world) == before + 2
    assert "gitops-mc.io/approve" not in str(forge.world.of("edge-1"))


def test_what_nobody_was_shown_waits(forge: Forge) -> None:
    forge.preview(forge.opened({APP: TWO}))  # and the forge did not take the comment
    forge.merge({APP: TWO}, until=waits)
    assert "no preview has shown what this content does here" in forge.reason()


def test_a_policy_that_is_taken_away_between_comment_and_merge_is_told(forge: Forge) -> None:
    restart = {
        "name": "app.service",
        "actions": [{"type": "Restart", "restart": {"serviceName": "app.service"}}],
    }
    person = forge.world.rollout.fleet.person("edge-1")
    person.edit("machineconfigurations", "cluster", {"spec": {"nodeDisruptionPolicy": {"units": [restart]}}})
    forge.world.run(forge.replica, hours=0.2)
    before = reboots(forge.world)
    text = forge.preview(forge.opened({APP: TWO}))
    assert "reboots" not in text.summary.lower()
    forge.posted(text)
    person.edit("machineconfigurations", "cluster", {"spec": {"nodeDisruptionPolicy": {"units": []}}})
    forge.world.run(forge.replica, hours=0.1)
    forge.merge({APP: TWO}, until=waits)
    assert (
        "the preview of pull request 7 did not show this: pool worker: nodes go through: reboot"
        in forge.reason()
    )
    assert reboots(forge.world) == before


def test_two_pull_requests_that_are_merged_at_once_were_never_seen_together(forge: Forge) -> None:
    forge.posted(forge.preview(forge.opened({APP: TWO})))
    more = {"clusters/edge-1/more.yaml": machine_config("60-worker-more", files={"/etc/more": "x"})}
    forge.posted(forge.preview(forge.opened(more)))
    forge.merge({APP: TWO, **more}, until=waits)
    assert "no preview has shown" in forge.reason()


def test_for_a_stranger_no_cluster_is_asked_and_nothing_of_them_is_shown(forge: Forge) -> None:
    text = forge.preview(forge.opened({APP: TWO}, fork=True), PreviewScope.OFFLINE)
    assert forge.transport.sent == []
    assert text.shown == {}
    assert "edge-1-w1" not in text.markdown
    assert "no cluster is asked" in text.markdown


def test_nothing_is_written_for_a_preview(forge: Forge) -> None:
    forge.preview(forge.opened({APP: TWO}))
    assert forge.transport.sent
    assert {sent.split()[0] for sent in forge.transport.sent} == {"GET"}


def test_a_cluster_that_does_not_answer_makes_it_unknown_and_promises_nothing(forge: Forge) -> None:
    forge.world.rollout.faults.set(FaultId.GATEWAY_GONE, cluster="edge-1")
    text = forge.preview(forge.opened({APP: TWO}))
    assert text.state is State.UNKNOWN
    assert text.shown == {}


def test_what_head_marks_as_sensitive_is_not_shown_and_cannot_be_uncovered_by_taking_the_mark_away(
    forge: Forge,
) -> None:
    secret = machine_config("60-worker-registry", files={"/etc/registry/auth": SECRET})
    files = {"clusters/edge-1/registry.yaml": secret, "fleet.yaml": FLEET.replace('"/etc/registry/**"', "")}
    text = forge.preview(forge.opened(files))
    assert SECRET not in text.markdown
    assert SECRET not in text.summary


def test_a_cluster_that_only_the_pull_request_has_is_shown_and_its_promise_waits_for_it(forge: Forge) -> None:
    """Nobody is asked about it again once it is there, but for its first contact."""
    new = {"clusters/edge-9/app.yaml": ONE}
    text = forge.preview(forge.opened(new))
    forge.posted(text)
    forge.world.run(forge.replica, hours=0.1)
    assert "edge-9" not in forge.loop.memory.clusters  # type: ignore[union-attr]
