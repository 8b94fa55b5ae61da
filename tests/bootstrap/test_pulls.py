"""What `spec.previews` leads to: the forge of the Fleet, and a cache for the heads of its pull requests."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitops_mc.adapters.forge_github_pulls import GiteaPulls
from gitops_mc.adapters.git_shelf import Shelf
from gitops_mc.app.controller.previews_told import PreviewsTold
from gitops_mc.app.forge_ports import NoForge
from gitops_mc.app.looks import Look
from gitops_mc.app.pull_ports import Fork, PreviewWanted, PullDesk
from gitops_mc.bootstrap.forges import ForgeJobs
from gitops_mc.bootstrap.pulls import LiveDigests, PullCaches, PullDesks
from gitops_mc.core.custom.fleet_spec import FleetSpec, FleetSpecError, fleet_spec
from gitops_mc.core.custom.pull_comment import PreviewText
from gitops_mc.core.custom.pull_request import PreviewSpec, PullRequest
from gitops_mc.core.custom.shown import Pulled
from gitops_mc.core.model import Commit
from gitops_mc.core.policy import DEFAULT_POLICY
from gitops_mc.core.preview.model import State
from gitops_mc.core.rollout.inputs import Fleet
from gitops_mc.core.rollout.memory import FleetMemory
from gitops_mc.core.rollout.moves import ClusterView, Decision, Standing, Wait
from tests.adapters.forge_servers import TOKEN
from tests.adapters.git_servers import Origin, origin
from tests.app.test_previews_told import MemoryPulls
from tests.bootstrap.test_forges import FLEET, NAMESPACE, REF, Site

GITEA = {"type": "gitea", "url": "https://git.example.com", "project": "acme/fleet", "tokenRef": REF}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = Site(tmp_path / "forges")
    made.secret(token=TOKEN)
    made.forge = dict(GITEA)
    return made


@pytest.fixture
def fleet(tmp_path: Path) -> Origin:
    return origin(tmp_path)


def caches(site: Site, folder: Path) -> PullCaches:
    return PullCaches(Shelf(folder, NAMESPACE), site.forges.data, frozenset({"file"}))


def spec_of(fleet: Origin, kind: str = "gitea") -> FleetSpec:
    source = {"url": (fleet.root / "fleet.git").as_uri(), "ref": "main"}
    body = {"source": source, "forge": {**GITEA, "type": kind}, "previews": {"enabled": True}}
    return fleet_spec({"metadata": {"name": "prod", "namespace": NAMESPACE}, "spec": body})


def desks(site: Site, folder: Path, previews: Mapping[str, object] | None) -> PullDesks:
    body_of = site.forges.body_of

    def with_previews(title: str) -> dict[str, object]:
        body = body_of(title)
        return body and {**body, "spec": {**body["spec"], "previews": previews}}

    site.forges.body_of = with_previews
    return PullDesks(site.forges, caches(site, folder))


def test_a_fleet_that_wants_previews_has_its_forge_and_what_it_says_of_them(
    site: Site, tmp_path: Path
) -> None:
    found = desks(site, tmp_path / "cache", {"enabled": True})(FLEET)
    assert isinstance(found, PullDesk)
    assert type(found.pulls) is GiteaPulls
    assert found.spec == PreviewSpec()


@pytest.mark.parametrize("previews", [None, {"enabled": False}])
def test_a_fleet_that_wants_none_has_none(
    site: Site, tmp_path: Path, previews: Mapping[str, object] | None
) -> None:
    assert desks(site, tmp_path / "cache", previews)(FLEET) is NoForge.NONE_NAMED


def test_a_fleet_that_has_not_been_read_may_want_some(site: Site, tmp_path: Path) -> None:
    made = desks(site, tmp_path / "cache", {"enabled": True})
    site.known = False
    assert made(FLEET) is NoForge.NOT_KNOWN


def bring(made: PullCaches, spec: FleetSpec, fleet: Origin, ref: str = "refs/pull/7/head") -> Fork:
    head = Commit(fleet.head())
    fleet.git("update-ref", ref, head)
    pull = PullRequest(7, "", "mei", 1, head, "x", "main", fork=False)
    fork = made.of(spec).heads.bring(pull, head)
    assert isinstance(fork, Fork)
    return fork


def test_heads_are_fetched_as_the_forge_names_them_and_go_with_the_fleet(
    site: Site, fleet: Origin, tmp_path: Path
) -> None:
    fleet.commit("0")
    made = caches(site, tmp_path / "cache")
    bring(made, spec_of(fleet), fleet)
    assert len(list((tmp_path / "cache").iterdir())) == 1
    bring(made, spec_of(fleet, "gitlab"), fleet, "refs/merge-requests/7/head")
    made.leave(FLEET)
    made.leave(FLEET)
    assert list((tmp_path / "cache").iterdir()) == []


def test_another_source_gets_another_cache_and_the_one_before_goes(
    site: Site, fleet: Origin, tmp_path: Path
) -> None:
    fleet.commit("0")
    made = caches(site, tmp_path / "cache")
    spec = spec_of(fleet)
    bring(made, spec, fleet)
    (before,) = (tmp_path / "cache").iterdir()
    assert made.of(spec) is made.of(spec)
    other = replace(spec, source=replace(spec.source, ref=""))
    bring(made, other, fleet)
    (after,) = (tmp_path / "cache").iterdir()
    assert before != after


def test_what_a_process_before_has_left_is_swept_and_nothing_else(
    site: Site, fleet: Origin, tmp_path: Path
) -> None:
    fleet.commit("0")
    script = (
        "import sys; from pathlib import Path; from gitops_mc.adapters.git_store import GitStore;"
        "GitStore(Path(sys.argv[1])).hold(f'{sys.argv[2]}\\nmain\\n')"
    )
    url = (fleet.root / "fleet.git").as_uri()
    place = Shelf(tmp_path / "cache", NAMESPACE).place("prod", url, "main")
    subprocess.run([sys.executable, "-c", script, str(place), url], check=True)
    (tmp_path / "cache" / "notes").write_text("somebody's")
    caches(site, tmp_path / "cache").sweep()
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["notes"]
    caches(site, tmp_path / "nowhere").sweep()


def test_a_fleet_that_names_no_forge_is_told_what_is_missing(
    site: Site, fleet: Origin, tmp_path: Path
) -> None:
    with pytest.raises(FleetSpecError, match=r"spec.previews needs spec.forge"):
        caches(site, tmp_path).of(replace(spec_of(fleet), forge=None))


def look(*standings: Standing, reason: str = "") -> Look:
    views = tuple(
        ClusterView(f"edge-{n}", "rest", standing, reason, None, "", (), None, begun=False)
        for n, standing in enumerate(standings)
    )
    decision = Decision((), Wait("x"), views, (), frozenset())
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return Look(at, decision, FleetMemory(), (), (), Fleet(DEFAULT_POLICY, (), Commit("a" * 40)))


def test_the_digest_of_the_clusters_moves_with_how_they_stand_and_not_with_every_word() -> None:
    live = LiveDigests()
    assert live(FLEET) == ""
    live.looked(FLEET, look(Standing.READY))
    first = live(FLEET)
    live.looked(FLEET, look(Standing.READY, reason="for 5 minutes"))
    assert live(FLEET) == first != ""
    live.looked(FLEET, look(Standing.FAILED))
    assert live(FLEET) != first
    live.left(FLEET)
    assert live(FLEET) == ""


def test_a_forge_that_hangs_holds_up_no_other_fleet_and_nobody_who_asks_for_jobs(tmp_path: Path) -> None:
    go, done = threading.Event(), threading.Event()
    forges = {"gitops-mc/slow": MemoryPulls(), "gitops-mc/prod": MemoryPulls()}
    forges["gitops-mc/slow"].meanwhile["list"] = lambda: go.wait(30)
    forges["gitops-mc/prod"].meanwhile["success"] = done.set

    class Desks:
        def __call__(self, fleet: str) -> PullDesk:
            return PullDesk(forges[fleet], PreviewSpec())

        def leave(self, fleet: str) -> None:
            raise AssertionError(fleet)

    class Asked:
        pulled = Pulled(Commit("d" * 40), ref="refs/heads/main")
        before = Commit("")

    def make(_wanted: PreviewWanted) -> PreviewText:
        return PreviewText("x", "x", State.OK)

    def nothing(*_of: object) -> None:
        """Nobody listens."""

    board = PreviewsTold(
        Desks(),
        make,
        lambda _: "",
        nothing,
        lambda: True,
        nothing,
        nothing,
        str,
        lambda: datetime.now(UTC),
        lambda: 0.5,
    )
    jobs = ForgeJobs(board, nothing)
    for title in forges:
        board.polled(title, Asked())
    jobs.run()
    try:
        assert done.wait(30)
        jobs.run()
        assert forges["gitops-mc/slow"].comments == {}
    finally:
        go.set()
        jobs.close()
    assert list(tmp_path.iterdir()) == []
