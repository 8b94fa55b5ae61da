"""Previews on a real Gitea, the whole way: pull requests listed, heads fetched, comments and statuses, a fork among them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from gitops_mc.adapters.forge_github import Token
from gitops_mc.adapters.forge_github_pulls import GiteaPulls
from gitops_mc.adapters.git import GitSource
from gitops_mc.adapters.git_access import Access, Basic
from gitops_mc.adapters.git_pull_heads import GITHUB_HEADS, PullHeads
from gitops_mc.app.controller.previews_told import PreviewsTold
from gitops_mc.app.forge_ports import NoForge
from gitops_mc.app.pull_ports import Fork, PreviewWanted, PullDesk
from gitops_mc.core.custom.forge_spec import Place
from gitops_mc.core.custom.pull_comment import PreviewText, marker
from gitops_mc.core.custom.pull_request import PreviewScope, PreviewSpec, Standing
from gitops_mc.core.custom.shown import Pulled
from gitops_mc.core.errors import ForbiddenError, GitopsMcError, NotFoundError
from gitops_mc.core.model import Commit
from gitops_mc.core.preview.model import State
from tests.adapters.gitea_server import GET_GITEA, Gitea, folder, gitea

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not folder().is_dir(), reason=GET_GITEA)]
FLEET = "gitops-mc/prod"
HERE = "/repos/mei/fleet"


@dataclass
class Site:
    """The Gitea, a process with its board, and who makes previews: from the trees that were fetched."""

    gitea: Gitea
    cache: Path
    now: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    heard: list[str] = field(default_factory=list)
    made: list[tuple[int, PreviewScope, Fork | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.forge = GiteaPulls(Place(f"{self.gitea.url}/api/v1", "mei/fleet"), Token(self.gitea.token), None)
        access = Access(Basic("mei", self.gitea.token))
        self.heads = PullHeads(
            f"{self.gitea.url}/mei/fleet.git",
            self.cache,
            GITHUB_HEADS,
            lambda: access,
            unprotected=frozenset({"http"}),
        )
        self.begin()

    def begin(self) -> None:
        """A process begins."""
        self.board = PreviewsTold(
            self,
            self._make,
            lambda _: "live",
            lambda _, shown: self.heard.append(str(shown)),
            lambda: True,
            lambda _, told: self.heard.append(str(told)),
            lambda _, error: self.heard.append(repr(error)),
            str,
            lambda: self.now,
            lambda: 0.5,
        )
        head = Commit(self.gitea.ask("GET", f"{HERE}/branches/main")["commit"]["id"])

        @dataclass
        class Asked:
            pulled: Pulled
            before: Commit = Commit("")  # noqa: RUF009 - a text

        self.board.polled(FLEET, Asked(Pulled(head, ref="refs/heads/main")))

    def __call__(self, fleet: str) -> PullDesk | NoForge:
        assert fleet == FLEET
        return PullDesk(self.forge, PreviewSpec())

    def leave(self, fleet: str) -> None:
        raise AssertionError(fleet)

    def _make(self, wanted: PreviewWanted) -> PreviewText:
        fork = self.heads.bring(wanted.pull, wanted.base)
        self.made.append((wanted.pull.number, wanted.scope, fork if isinstance(fork, Fork) else None))
        tree = GitSource(str(self.heads.repository)).tree(wanted.pull.head)
        files = ", ".join(f"`{entry.path}`" for entry in tree.entries)
        return PreviewText(f"It has {files}.", f"{len(tree.entries)} files", State.OK)

    def work(self) -> None:
        self.now += timedelta(minutes=1)
        for job in self.board.jobs().values():
            job()

    def comments(self, number: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.gitea.ask("GET", f"{HERE}/issues/{number}/comments")
        return found

    def status(self, commit: str) -> list[tuple[str, str]]:
        found = self.gitea.ask("GET", f"{HERE}/commits/{commit}/status")["statuses"] or []
        return [(s["status"], s["description"]) for s in found if s["context"] == "gitops-mc/preview/prod"]

    def write(self, repository: str, branch: str, path: str, text: str, token: str = "") -> str:
        """A commit on a branch, which is made of main where it is not there; gives its id."""
        there = [b["name"] for b in self.gitea.ask("GET", f"/repos/{repository}/branches", token=token)]
        where = {"branch": branch} if branch in there else {"branch": "main", "new_branch": branch}
        body = {"content": b64encode(text.encode()).decode(), "message": f"write {path}", **where}
        told = self.gitea.ask("POST", f"/repos/{repository}/contents/{path}", body, token)
        return str(told["commit"]["sha"])

    def open(self, head: str, title: str, token: str = "") -> int:
        body = {"head": head, "base": "main", "title": title}
        return int(self.gitea.ask("POST", f"{HERE}/pulls", body, token)["number"])


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gitea]:
    with gitea(tmp_path_factory.mktemp("gitea")) as found:
        yield found


def test_a_pull_request_and_one_from_a_fork_live_their_lives(real: Gitea, tmp_path: Path) -> None:
    site = Site(real, tmp_path / "cache")
    head = site.write("mei/fleet", "feature", "b", "hers")
    seven = site.open("feature", "<img src=x> `id` @eve ${{ secrets.X }}")
    real.ask("POST", f"{HERE}/forks", {}, real.eve)
    theirs = site.write("eve/fleet", "evil", "c", "a stranger's", real.eve)
    eight = site.open("eve:evil", "Trust me", real.eve)
    real.ask("POST", f"{HERE}/issues/{seven}/comments", {"body": f"{marker('prod')}\nall fine"}, real.eve)

    found = {pull.number: pull for pull in site.forge.open_pulls("main").pulls}
    assert {n: (p.author, p.fork, p.head, p.base_branch) for n, p in found.items()} == {
        seven: ("mei", False, head, "main"),
        eight: ("eve", True, theirs, "main"),
    }
    assert found[seven].title.startswith("<img")
    assert site.forge.standing(found[seven]) is Standing.ADMINISTERS
    assert site.forge.standing(found[eight]) is Standing.OUTSIDE
    assert site.forge.pull(seven) == found[seven]

    site.work()
    assert site.heard == []
    assert sorted(site.made) == [
        (seven, PreviewScope.LIVE, Fork(Commit(real.commit), 0)),
        (eight, PreviewScope.OFFLINE, Fork(Commit(real.commit), 0)),
    ]
    of_eve, ours = site.comments(seven)
    assert (of_eve["body"], of_eve["user"]["login"]) == (f"{marker('prod')}\nall fine", "eve")
    assert "It has `README.md`, `b`." in ours["body"]
    assert "<img" not in ours["body"]
    assert "It has `README.md`, `c`." in site.comments(eight)[0]["body"]
    assert site.status(head) == site.status(theirs) == [("success", "2 files")]

    for _ in range(3):
        site.work()
    assert len(site.made) == 2
    assert site.comments(seven)[1]["updated_at"] == ours["updated_at"]

    pushed = site.write("mei/fleet", "feature", "d", "more")
    site.work()
    again = site.comments(seven)
    assert [c["id"] for c in again] == [of_eve["id"], ours["id"]]
    assert "It has `README.md`, `b`, `d`." in again[1]["body"]
    assert pushed[:12] in again[1]["body"]
    assert site.status(pushed) == [("success", "3 files")]

    site.begin()  # a restart
    site.work()
    assert [c["id"] for c in site.comments(seven)] == [of_eve["id"], ours["id"]]
    assert site.comments(seven)[1]["updated_at"] == again[1]["updated_at"]

    real.ask("DELETE", f"{HERE}/issues/comments/{ours['id']}")
    for _ in range(31):
        site.work()
    assert [c["user"]["login"] for c in site.comments(seven)] == ["eve", "mei"]

    real.ask("PATCH", f"{HERE}/pulls/{eight}", {"state": "closed"})
    assert site.forge.pull(eight) is None
    assert [pull.number for pull in site.forge.open_pulls("main").pulls] == [seven]
    site.work()
    assert site.heard == []


def test_a_comment_as_long_as_we_write_them_is_kept_whole(real: Gitea, tmp_path: Path) -> None:
    site = Site(real, tmp_path / "cache")
    site.write("mei/fleet", "long", "long", "x")
    number = site.open("long", "Long")
    body = f"{marker('prod')}\n" + "é" * ((site.forge.longest_comment - 40) // 2)
    site.forge.add_comment(number, body)
    found = site.forge.comment(number, "prod")
    assert found is not None
    assert found.body == body


def test_of_many_pages_every_pull_request_is_told_once(real: Gitea, tmp_path: Path) -> None:
    site = Site(real, tmp_path / "cache")
    before = len(site.forge.open_pulls("main").pulls)
    for n in range(61):
        site.write("mei/fleet", f"many-{n}", f"f{n}", "x")
        site.open(f"many-{n}", f"Number {n}")
    found = site.forge.open_pulls("main")
    assert len({pull.number for pull in found.pulls}) == len(found.pulls) == before + 61
    assert not found.more
    for_release = site.forge.open_pulls("release")
    assert for_release.pulls == ()


@pytest.mark.parametrize(("token", "kind"), [("0" * 40, GitopsMcError), ("eve", ForbiddenError)])
def test_who_may_not_is_refused(real: Gitea, token: str, kind: type[GitopsMcError]) -> None:
    place = Place(f"{real.url}/api/v1", "mei/fleet")
    forge = GiteaPulls(place, Token(real.eve if token == "eve" else token), None)
    mine = GiteaPulls(place, Token(real.token), None)
    pulls = mine.open_pulls("main").pulls
    comment = mine.add_comment(pulls[0].number, f"{marker('lab')}\nhers")
    with pytest.raises(kind):
        forge.edit_comment(pulls[0].number, comment, "overwritten")
    assert (token == "eve") is (_standing(forge, pulls[0]) is Standing.NOT_KNOWN)


def _standing(forge: GiteaPulls, pull: Any) -> Standing | None:
    try:
        return forge.standing(pull)
    except GitopsMcError:
        return None


def test_what_is_not_there_is_not_found(real: Gitea) -> None:
    gone = GiteaPulls(Place(f"{real.url}/api/v1", "mei/gone"), Token(real.token), None)
    with pytest.raises(NotFoundError):
        gone.open_pulls("main")
    here = GiteaPulls(Place(f"{real.url}/api/v1", "mei/fleet"), Token(real.token), None)
    assert here.pull(999_999) is None
