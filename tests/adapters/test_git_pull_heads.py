"""Commits of pull requests, seen from a real Git server over HTTPS that keeps them as forges do."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_mc.adapters import git_pull_heads
from gitops_mc.adapters.git import GitSource
from gitops_mc.adapters.git_access import Access, Basic
from gitops_mc.adapters.git_pull_heads import GITHUB_HEADS, GITLAB_HEADS, PullHeads, PullLimits
from gitops_mc.app.ports import Tree
from gitops_mc.app.pull_ports import Fork, NoFork, OutdatedError
from gitops_mc.core.custom.pull_request import PullRequest
from gitops_mc.core.errors import SourceError
from gitops_mc.core.model import Commit
from tests.adapters.git_servers import CA, SECRET, Answer, Asked, GitServer, Origin, origin, serving, texts


@pytest.fixture
def fleet(tmp_path: Path) -> Origin:
    return origin(tmp_path)


@pytest.fixture
def server(fleet: Origin) -> Iterator[GitServer]:
    with serving(GitServer(), fleet.root) as found:
        yield found


def tree(found: PullHeads, commit: Commit) -> Tree:
    return GitSource(str(found.repository)).tree(commit)


def pull(head: str, number: int = 7, *, onto: str = "main") -> PullRequest:
    return PullRequest(number, "t", "eve", 4, Commit(head), "feature", onto, fork=True)


def commits(
    server: GitServer, cache: Path, heads: str = GITHUB_HEADS, limits: PullLimits | None = None
) -> PullHeads:
    access = Access(Basic("bot", SECRET), CA)
    return PullHeads(server.url, cache, heads, lambda: access, limits=limits or PullLimits())


def opened(fleet: Origin, number: int = 7, ref: str = GITHUB_HEADS) -> Commit:
    """What is checked out becomes the head of a pull request that came from a fork: no branch here leads to it."""
    head = Commit(fleet.head())
    fleet.git("update-ref", ref.format(number), head)
    fleet.git("checkout", "-q", "main")
    return head


def a_pull_request(fleet: Origin, *, behind: int = 0, ahead: int = 1) -> tuple[Commit, Commit, Commit]:
    """Where it parts from main, where main stands, and its head."""
    fork = Commit(fleet.commit("0"))
    fleet.git("checkout", "-q", "--detach")
    for n in range(ahead):
        fleet.commit(f"theirs {n}", name="b")
    head = opened(fleet)
    for n in range(behind):
        fleet.commit(f"ours {n}")
    return fork, Commit(fleet.head()), head


@pytest.mark.parametrize("heads", [GITHUB_HEADS, GITLAB_HEADS])
def test_the_head_of_a_fork_is_fetched_from_the_repository_that_it_is_for(
    fleet: Origin, server: GitServer, tmp_path: Path, heads: str
) -> None:
    fork = Commit(fleet.commit("0"))
    fleet.git("checkout", "-q", "--detach")
    fleet.commit("theirs", name="b")
    head = opened(fleet, ref=heads)
    base = Commit(fleet.commit("ours"))
    found = commits(server, tmp_path / "cache", heads)
    assert found.bring(pull(head), base) == Fork(fork, behind=1)
    assert texts(tree(found, head)) == {"a": "0", "b": "theirs"}
    assert texts(tree(found, base)) == {"a": "ours"}
    assert texts(tree(found, fork)) == {"a": "0"}


def test_a_head_that_has_moved_is_not_taken_for_the_one_that_was_asked_for(
    fleet: Origin, server: GitServer, tmp_path: Path
) -> None:
    _, base, head = a_pull_request(fleet)
    fleet.git("checkout", "-q", head)
    fleet.commit("pushed", name="b")
    opened(fleet)
    with pytest.raises(OutdatedError):
        commits(server, tmp_path / "cache").bring(pull(head), base)


def test_history_is_fetched_as_deep_as_it_takes_and_no_deeper(
    fleet: Origin, server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_pull_heads, "_DEPTHS", (2, 6, 40))
    for n in range(30):
        fleet.commit(f"old {n}")
    fork, base, head = a_pull_request(fleet, behind=4, ahead=3)
    found = commits(server, tmp_path / "cache")
    assert found.bring(pull(head), base) == Fork(fork, behind=4)
    with pytest.raises(SourceError):
        tree(found, Commit(fleet.git("rev-parse", f"{fork}~20")))


def test_where_they_part_too_long_ago_it_is_said_and_not_guessed(
    fleet: Origin, server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_pull_heads, "_DEPTHS", (2, 4))
    _, base, head = a_pull_request(fleet, behind=9, ahead=9)
    found = commits(server, tmp_path / "cache")
    assert found.bring(pull(head), base) == NoFork("where they part is not within the last 4 commits")
    assert texts(tree(found, head))["b"] == "theirs 8"


def test_commits_that_have_nothing_in_common_are_told_apart(
    fleet: Origin, server: GitServer, tmp_path: Path
) -> None:
    base = Commit(fleet.commit("0"))
    fleet.git("checkout", "-q", "--orphan", "other")
    fleet.commit("theirs", name="b")
    head = opened(fleet)
    found = commits(server, tmp_path / "cache").bring(pull(head), base)
    assert found == NoFork("they have no commit in common")


def test_what_is_cut_off_hides_no_nearer_place_where_they_part(
    fleet: Origin, server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both sides have merged the old place directly, so that it is near, while the newer one lies deep."""
    monkeypatch.setattr(git_pull_heads, "_DEPTHS", (4, 40))
    old = fleet.commit("old")
    fork = Commit(fleet.commit("fork"))
    fleet.git("checkout", "-q", "--detach")

    def a_side(name: str) -> None:
        for n in range(8):
            fleet.commit(f"{name} {n}", name=name)
        tree = fleet.git("rev-parse", "HEAD^{tree}")
        merge = fleet.git("commit-tree", tree, "-p", "HEAD", "-p", old, "-m", "merge")
        fleet.git("reset", "-q", "--hard", merge)

    a_side("b")
    head = opened(fleet)
    a_side("a")
    base = Commit(fleet.head())
    found = commits(server, tmp_path / "cache").bring(pull(head), base)
    assert isinstance(found, Fork)
    assert found.commit == fork
    assert fleet.git("merge-base", base, head) == fork


def test_what_is_followed_may_be_older_than_the_branch(
    fleet: Origin, server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_pull_heads, "_DEPTHS", (2, 20))
    fork, followed, head = a_pull_request(fleet, behind=1)
    for n in range(5):
        fleet.commit(f"refused {n}")
    found = commits(server, tmp_path / "cache")
    assert found.bring(pull(head), followed) == Fork(fork, behind=1)
    assert texts(tree(found, followed)) == {"a": "ours 0"}


def test_what_is_followed_and_is_gone_is_said(fleet: Origin, server: GitServer, tmp_path: Path) -> None:
    _, _, head = a_pull_request(fleet)
    with pytest.raises(SourceError, match="is not given out any more"):
        commits(server, tmp_path / "cache").bring(pull(head), Commit("1" * 40))


def test_a_pull_request_that_is_not_there_is_said(fleet: Origin, server: GitServer, tmp_path: Path) -> None:
    _, base, head = a_pull_request(fleet)
    with pytest.raises(SourceError):
        commits(server, tmp_path / "cache").bring(pull(head, 8), base)


@pytest.mark.parametrize("branch", ["--upload-pack=x", "a:refs/heads/main", "a b", "*", "../x", "a\n"])
def test_a_branch_that_is_a_trap_is_refused_before_anybody_is_asked(
    fleet: Origin, server: GitServer, tmp_path: Path, branch: str
) -> None:
    _, base, head = a_pull_request(fleet)
    with pytest.raises(SourceError):
        commits(server, tmp_path / "cache").bring(pull(head, onto=branch), base)
    assert server.asked == []


def test_one_pull_request_after_another_and_the_next_push_of_the_first(
    fleet: Origin, server: GitServer, tmp_path: Path
) -> None:
    fork, base, head = a_pull_request(fleet, behind=1)
    fleet.git("checkout", "-q", "--detach")
    fleet.commit("another", name="c")
    other = opened(fleet, 8)
    found = commits(server, tmp_path / "cache")
    assert found.bring(pull(head), base) == Fork(fork, 1)
    assert found.bring(pull(other, 8), base) == Fork(base, 0)
    fleet.git("checkout", "-q", head)
    fleet.commit("pushed", name="b")
    pushed = opened(fleet)
    assert found.bring(pull(pushed), base) == Fork(fork, 1)
    assert texts(tree(found, pushed)) == {"a": "0", "b": "pushed"}


# ---------------------------------------------------------------------------------------------- what a stranger may do


def test_nothing_of_it_runs_and_nobody_else_is_asked(
    fleet: Origin, server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = tmp_path / "ran"
    trap = f"#!/bin/sh\ntouch {ran}\n"
    elsewhere_root = tmp_path / "elsewhere"
    elsewhere_root.mkdir()
    with serving(GitServer(), elsewhere_root) as elsewhere:
        base = Commit(fleet.commit("0"))
        fleet.git("checkout", "-q", "--detach")
        files = {
            ".gitattributes": "* filter=trap diff=trap merge=trap text=auto eol=crlf\n",
            ".gitmodules": f'[submodule "s"]\n\tpath = s\n\turl = {elsewhere.base}/s.git\n\tupdate = !touch {ran}\n',
            ".lfsconfig": f"[lfs]\n\turl = {elsewhere.base}\n",
            "hooks/post-checkout": trap,
            ".githooks/reference-transaction": trap,
            "config": f"[core]\n\tfsmonitor = touch {ran}\n\thooksPath = .githooks\n",
            "plain": "one\ntwo\n",
        }
        for name, text in files.items():
            path = fleet.work / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)
        (fleet.work / "out").symlink_to("/etc/passwd")
        fleet.git("update-index", "--add", "--cacheinfo", f"160000,{base},s")
        fleet.git("add", "-A")
        fleet.git("update-index", "--add", "--cacheinfo", f"160000,{base},s")
        fleet.git("commit", "-q", "-m", "traps")
        head = opened(fleet)
        config = tmp_path / "home" / ".gitconfig"
        config.parent.mkdir()
        config.write_text(
            f'[filter "trap"]\n\tsmudge = touch {ran}\n[merge "trap"]\n\tdriver = touch {ran}\n'
            f"[core]\n\tfsmonitor = touch {ran}\n[submodule]\n\trecurse = true\n[fetch]\n\trecurseSubmodules = true\n"
        )
        monkeypatch.setenv("HOME", str(config.parent))
        found = commits(server, tmp_path / "cache")
        fork = found.bring(pull(head), base)
        assert isinstance(fork, Fork)
        seen = tree(found, head)
        held = {entry.path: (oct(entry.mode), entry) for entry in seen.entries}
        assert held["out"][0] == "0o120000"
        assert seen.read(held["out"][1]) == b"/etc/passwd"
        assert held["s"][0] == "0o160000"
        assert seen.read(held["plain"][1]) == b"one\ntwo\n"
        assert elsewhere.asked == []
    assert not ran.exists()
    assert not list((tmp_path / "cache").rglob("plain"))
    assert all("fleet.git" in asked.path for asked in server.asked)


def test_credentials_go_to_the_repository_and_no_redirection_is_followed(
    fleet: Origin, server: GitServer, tmp_path: Path
) -> None:
    _, base, head = a_pull_request(fleet)
    elsewhere_root = tmp_path / "elsewhere"
    elsewhere_root.mkdir()
    with serving(GitServer(), elsewhere_root) as elsewhere:

        def moved(asked: Asked) -> Answer:
            return Answer(302, (("Location", f"{elsewhere.base}{asked.path}?{asked.query}"),))

        server.answer = moved
        with pytest.raises(SourceError, match="another address") as caught:
            commits(server, tmp_path / "cache").bring(pull(head), base)
        assert elsewhere.asked == []
    assert SECRET not in f"{caught.value.message} {caught.value.hint}"


def test_a_pull_request_that_is_too_large_is_refused_and_the_next_one_is_not(
    fleet: Origin, server: GitServer, tmp_path: Path
) -> None:
    fork, base, head = a_pull_request(fleet)
    fleet.git("checkout", "-q", "--detach")
    (fleet.work / "big").write_bytes(os.urandom(3 << 20))
    fleet.git("add", "-A")
    fleet.git("commit", "-q", "-m", "big")
    big = opened(fleet, 8)
    found = commits(server, tmp_path / "cache", limits=PullLimits(fetched=1 << 20))
    with pytest.raises(SourceError, match="larger"):
        found.bring(pull(big, 8), base)
    assert found.bring(pull(head), base) == Fork(fork, 0)
    left = sum(p.stat().st_size for p in (tmp_path / "cache").rglob("*") if p.is_file())
    assert left < 1 << 20


def test_a_tree_of_trees_that_stands_for_billions_of_files_is_refused(
    fleet: Origin, server: GitServer, tmp_path: Path
) -> None:
    base = Commit(fleet.commit("0"))
    inner = fleet.git("hash-object", "-w", "a")
    mode = "100644 blob"
    for _ in range(10):
        rows = "".join(f"{mode} {inner}\tf{n}\n" for n in range(10))
        (fleet.work / "rows").write_text(rows)
        inner = fleet.git("-c", "alias.mk=!git mktree < rows", "mk")
        mode = "040000 tree"
    head = Commit(fleet.git("commit-tree", inner, "-p", base, "-m", "bomb"))
    fleet.git("update-ref", GITHUB_HEADS.format(7), head)
    with pytest.raises(SourceError, match="pull request 7 has more than 50000 files"):
        commits(server, tmp_path / "cache").bring(pull(head), base)


def test_a_head_that_brings_more_than_anybody_should_read_is_refused(
    fleet: Origin, server: GitServer, tmp_path: Path
) -> None:
    (fleet.work / "long").write_text("a" * 5_000)
    base = Commit(fleet.commit("0"))
    fleet.git("checkout", "-q", "--detach")
    fleet.commit("theirs", name="b")
    head = opened(fleet)
    fleet.git("checkout", "-q", "--detach")
    fleet.commit("b" * 3_000, name="b")
    large = opened(fleet, 8)
    found = commits(server, tmp_path / "cache", limits=PullLimits(changed=2_000))
    assert found.bring(pull(head), base) == Fork(base, 0)
    with pytest.raises(SourceError, match="pull request 8 changes more than"):
        found.bring(pull(large, 8), base)


def test_a_cache_that_has_grown_too_large_is_made_anew(
    fleet: Origin, server: GitServer, tmp_path: Path
) -> None:
    _, base, head = a_pull_request(fleet)
    (fleet.work / "big").write_bytes(os.urandom(1 << 20))
    fleet.git("checkout", "-q", "--detach")
    fleet.git("add", "-A")
    fleet.git("commit", "-q", "-m", "big")
    big = opened(fleet, 8)
    found = commits(server, tmp_path / "cache", limits=PullLimits(kept=1 << 19))
    found.bring(pull(big, 8), base)
    found.bring(pull(head), base)
    left = sum(p.stat().st_size for p in (tmp_path / "cache").rglob("*") if p.is_file())
    assert left < 1 << 19


def test_a_server_that_hangs_is_given_up(fleet: Origin, server: GitServer, tmp_path: Path) -> None:
    _, base, head = a_pull_request(fleet)
    until = threading.Event()
    server.answer = lambda _: Answer(sent=0, until=until)
    try:
        with pytest.raises(SourceError) as caught:
            commits(server, tmp_path / "cache", limits=PullLimits(seconds=1.0)).bring(pull(head), base)
    finally:
        until.set()
    assert caught.value.transient


def test_a_cache_that_is_damaged_is_made_anew(fleet: Origin, server: GitServer, tmp_path: Path) -> None:
    fork, base, head = a_pull_request(fleet)
    found = commits(server, tmp_path / "cache")
    found.bring(pull(head), base)
    for pack in (tmp_path / "cache").rglob("*.pack"):
        pack.chmod(0o600)
        pack.write_bytes(pack.read_bytes()[:-40])
    for broken in (tmp_path / "cache").rglob("objects/??/*"):
        broken.chmod(0o600)
        broken.write_bytes(b"x")
    fresh = tmp_path / "cache"
    found._store.leave()  # the process ends
    assert commits(server, fresh).bring(pull(head), base) == Fork(fork, 0)


def test_who_leaves_takes_along_what_was_fetched(fleet: Origin, server: GitServer, tmp_path: Path) -> None:
    _, base, head = a_pull_request(fleet)
    found = commits(server, tmp_path / "cache")
    found.bring(pull(head), base)
    found.leave()
    assert not (tmp_path / "cache").exists()
    with pytest.raises(SourceError):
        found.bring(pull(head), base)
