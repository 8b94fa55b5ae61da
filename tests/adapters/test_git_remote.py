"""What a remote repository goes through in its life, seen from a real Git server over HTTPS."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_mc.adapters import git_remote, git_store
from gitops_mc.adapters.git_access import Access, Trust
from gitops_mc.adapters.git_remote import Limits, RemoteSource
from gitops_mc.app.ports import NotAccepted
from gitops_mc.core.errors import SourceError
from tests.adapters.git_servers import (
    CA,
    Answer,
    Asked,
    GitServer,
    Origin,
    beside,
    origin,
    polled,
    serving,
    source,
    static,
    texts,
)


@pytest.fixture
def fleet(tmp_path: Path) -> Origin:
    return origin(tmp_path)


@pytest.fixture
def server(fleet: Origin) -> Iterator[GitServer]:
    with serving(GitServer(), fleet.root) as found:
        yield found


def refused(of: RemoteSource, *wanted: str) -> SourceError:
    with pytest.raises(SourceError) as caught:
        polled(of, *wanted)
    assert caught.value.hint
    return caught.value


def test_a_poll_brings_the_default_branch_and_only_its_newest_commit(
    fleet: Origin, server: GitServer, tmp_path: Path
) -> None:
    first = fleet.commit("1")
    fleet.git("branch", "-m", "trunk")
    head = fleet.commit("2")
    followed = source(server, tmp_path / "cache")
    assert followed.standing() is None
    found = polled(followed)
    assert (found.commit, found.ref, found.subject, found.rewritten) == (head, "refs/heads/trunk", "2", False)
    assert followed.standing() == head
    assert texts(followed.tree()) == {"a": "2"}
    assert texts(followed.tree(head)) == {"a": "2"}
    with pytest.raises(SourceError, match="is not kept"):
        followed.tree(first)


def test_a_cache_that_is_named_from_where_the_process_stands_is_as_good_as_any(
    fleet: Origin, server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    commit = fleet.commit("1")
    followed = source(server, Path("cache"))
    assert polled(followed).commit == commit
    assert texts(followed.tree()) == {"a": "1"}
    assert (tmp_path / "cache").is_dir()


def test_reading_never_goes_to_the_server(fleet: Origin, server: GitServer, tmp_path: Path) -> None:
    fleet.commit("1")
    followed = source(server, tmp_path / "cache")
    with pytest.raises(SourceError, match="no commit has been fetched"):
        followed.tree()
    assert server.asked == []
    polled(followed)
    asked = len(server.asked)
    fleet.commit("2")
    assert texts(followed.tree()) == {"a": "1"}
    assert len(server.asked) == asked


def test_a_poll_where_nothing_has_moved_fetches_nothing(
    fleet: Origin, server: GitServer, tmp_path: Path
) -> None:
    fleet.commit("1")
    followed = source(server, tmp_path / "cache", ref="main")
    polled(followed)
    assert server.fetches() == 1
    asked = len(server.asked)
    polled(followed)
    assert server.fetches() == 1
    assert len(server.asked) - asked == 2  # greeting, and one list of references


@pytest.mark.parametrize("name", ["side", "light", "annotated", "refs/tags/annotated", "refs/changes/01/1/1"])
def test_a_branch_a_tag_and_any_other_reference_are_followed(
    name: str, fleet: Origin, server: GitServer, tmp_path: Path
) -> None:
    head = fleet.commit("1")
    fleet.git("branch", "side")
    fleet.git("tag", "light")
    fleet.git("tag", "-a", "annotated", "-m", "x")
    fleet.git("update-ref", "refs/changes/01/1/1", "HEAD")
    fleet.commit("2")
    followed = source(server, tmp_path / "cache", ref=name)
    assert polled(followed).commit == head
    assert polled(followed).commit == head
    assert server.fetches() == 1
    assert texts(followed.tree(name)) == {"a": "1"}


def test_a_folder_of_the_repository_can_be_the_root_of_what_is_read(
    fleet: Origin, server: GitServer, tmp_path: Path
) -> None:
    (fleet.work / "fleets" / "prod").mkdir(parents=True)
    fleet.commit("1", name="fleets/prod/a")
    followed = source(server, tmp_path / "cache", folder="fleets/prod")
    polled(followed)
    assert texts(followed.tree()) == {"a": "1"}
    absent = source(server, tmp_path / "other", folder="fleets/test")
    polled(absent)
    with pytest.raises(SourceError, match="no folder fleets/test"):
        absent.tree()


def test_pushes_are_no_rewriting_however_many_commits_they_have(
    fleet: Origin, server: GitServer, tmp_path: Path
) -> None:
    fleet.commit("start")
    followed = source(server, tmp_path / "cache")
    polled(followed)
    for count in (1, 3, 30):
        for number in range(count):
            fleet.git("commit", "-q", "--allow-empty", "-m", str(number))
        assert not polled(followed).rewritten
        assert followed.standing() == fleet.head()


def test_a_merge_of_a_long_branch_is_no_rewriting(fleet: Origin, server: GitServer, tmp_path: Path) -> None:
    fleet.commit("start")
    fleet.git("checkout", "-q", "-b", "side")
    for number in range(12):
        fleet.git("commit", "-q", "--allow-empty", "-m", str(number))
    fleet.git("checkout", "-q", "main")
    fleet.commit("meanwhile")
    followed = source(server, tmp_path / "cache", ref="main")
    polled(followed)
    fleet.git("merge", "-q", "-m", "merge", "side")
    assert not polled(followed).rewritten


def test_rewritten_history_is_followed_and_told_once(
    fleet: Origin, server: GitServer, tmp_path: Path
) -> None:
    base = fleet.commit("base")
    fleet.commit("bad")
    followed = source(server, tmp_path / "cache")
    polled(followed)
    fleet.rewrite(base)
    fleet.forget()
    head = fleet.commit("good")
    found = polled(followed)
    assert (found.commit, found.rewritten) == (head, True)
    assert not polled(followed).rewritten
    fleet.rewrite(base)
    assert polled(followed).rewritten  # back to an older commit is one, too
    assert texts(followed.tree()) == {"a": "base"}


def test_a_history_that_has_nothing_to_do_with_the_one_before_is_told(
    fleet: Origin, server: GitServer, tmp_path: Path
) -> None:
    fleet.commit("base")
    followed = source(server, tmp_path / "cache", ref="main")
    polled(followed)
    fleet.git("checkout", "-q", "--orphan", "anew")
    head = fleet.commit("anew")
    fleet.git("branch", "-f", "main", head)
    assert polled(followed).rewritten


def test_a_deleted_branch_is_an_error_that_names_others_and_what_was_read_stays(
    fleet: Origin, server: GitServer, tmp_path: Path
) -> None:
    fleet.commit("1")
    fleet.git("branch", "release-1")
    followed = source(server, tmp_path / "cache", ref="release-1")
    polled(followed)
    fleet.git("branch", "-m", "release-1", "release-2")
    error = refused(followed)
    assert "no branch or tag release-1" in error.message
    assert "release-2" in error.hint
    assert not error.transient
    assert texts(followed.tree()) == {"a": "1"}


def test_a_branch_that_comes_back_is_followed_again(fleet: Origin, server: GitServer, tmp_path: Path) -> None:
    fleet.commit("1")
    fleet.git("branch", "live")
    followed = source(server, tmp_path / "cache", ref="live")
    polled(followed)
    fleet.git("branch", "-D", "live")
    refused(followed)
    head = fleet.commit("2")
    fleet.git("branch", "live")
    assert polled(followed).commit == head


def test_an_empty_repository_is_an_error_and_never_an_empty_tree(
    fleet: Origin, server: GitServer, tmp_path: Path
) -> None:
    for ref in ("", "main", "refs/heads/main"):
        followed = source(server, tmp_path / f"cache-{len(ref)}", ref=ref)
        assert "no commits yet" in refused(followed).message
        with pytest.raises(SourceError):
            followed.tree()


def test_a_name_that_is_a_branch_and_a_tag_is_refused(
    fleet: Origin, server: GitServer, tmp_path: Path
) -> None:
    fleet.commit("1")
    fleet.git("branch", "v1")
    fleet.git("tag", "v1")
    assert "refs/heads/v1" in refused(source(server, tmp_path / "cache", ref="v1")).hint


def test_a_tag_of_a_file_is_no_revision(fleet: Origin, server: GitServer, tmp_path: Path) -> None:
    fleet.commit("1")
    fleet.git("tag", "blob", fleet.git("rev-parse", "HEAD:a"))
    assert "does not lead to a commit" in refused(source(server, tmp_path / "cache", ref="blob")).message


@pytest.mark.parametrize(
    "ref", ["-x", "a..b", "a b", "a:b", "main^", "a*", "x.lock", "0" * 40, "@{0}", "a/", "a\n"]
)
def test_what_is_no_name_is_refused_before_anything_is_sent(ref: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        RemoteSource("https://git.example.com/fleet.git", tmp_path, ref=ref)


def test_a_server_that_sends_no_part_of_a_history_sends_all_of_it(
    fleet: Origin, server: GitServer, tmp_path: Path
) -> None:
    first = fleet.commit("1")
    fleet.commit("2")
    fleet.git("update-server-info")
    server.answer = static(fleet.root)
    followed = source(server, tmp_path / "cache", ref="main")
    assert polled(followed, first).commit == fleet.head()
    assert texts(followed.tree(first)) == {"a": "1"}
    fleet.commit("3")
    fleet.git("update-server-info")
    found = polled(followed)
    assert (found.commit, found.rewritten) == (fleet.head(), False)


def test_a_wanted_commit_is_brought_though_the_branch_has_moved_on(
    fleet: Origin, server: GitServer, tmp_path: Path
) -> None:
    first = fleet.commit("1")
    for number in range(5):
        fleet.commit(f"{number} more")
    followed = source(server, tmp_path / "cache")
    assert polled(followed, first).gone == frozenset()
    assert texts(followed.tree(first)) == {"a": "1"}
    fetches = server.fetches()
    polled(followed, first)
    assert server.fetches() == fetches


def test_a_wanted_commit_that_came_with_the_history_is_readable_while_the_server_is_down(
    fleet: Origin, tmp_path: Path
) -> None:
    fleet.commit("1")
    followed = beside(fleet, tmp_path / "cache")
    polled(followed)
    passed_by = fleet.commit("2")
    fleet.commit("3")
    polled(followed)
    with pytest.raises(SourceError, match="is not kept"):
        followed.tree(passed_by)
    (fleet.root / "fleet.git").rename(tmp_path / "away")
    refused(followed, passed_by)
    assert texts(followed.tree(passed_by)) == {"a": "2"}


def test_a_server_that_gives_out_no_commit_by_its_id_is_asked_for_the_history(
    fleet: Origin, server: GitServer, tmp_path: Path
) -> None:
    first = fleet.commit("1")
    fleet.commit("2")
    fleet.commit("3")

    def old(asked: Asked) -> Answer:
        asked.headers.pop("git-protocol", None)
        return asked.backend()

    server.answer = old
    followed = source(server, tmp_path / "cache")
    assert polled(followed, first).gone == frozenset()
    assert texts(followed.tree(first)) == {"a": "1"}


def test_a_wanted_commit_that_is_gone_is_named_and_asked_for_once(
    fleet: Origin, server: GitServer, tmp_path: Path
) -> None:
    base = fleet.commit("base")
    lost = fleet.commit("lost")
    fleet.rewrite(base)
    fleet.forget()
    followed = source(server, tmp_path / "cache")
    assert polled(followed, lost).gone == {lost}
    asked = len(server.asked)
    assert polled(followed, lost).gone == {lost}
    assert len(server.asked) - asked == 2
    with pytest.raises(SourceError, match="is not kept"):
        followed.tree(lost)


def test_many_wanted_commits_are_brought_at_once_and_one_that_is_gone_keeps_no_other_back(
    fleet: Origin, server: GitServer, tmp_path: Path
) -> None:
    base = fleet.commit("base")
    lost = fleet.commit("lost")
    fleet.rewrite(base)
    fleet.forget()
    stood = [fleet.commit(str(number)) for number in range(6)]
    for number in range(10):
        fleet.commit(f"{number} more")
    followed = source(server, tmp_path / "cache")
    assert polled(followed, *stood).gone == frozenset()
    assert server.fetches() <= 3  # one for the branch, and one for all of them, in a round or two
    other = source(server, tmp_path / "other")
    assert polled(other, *stood, lost).gone == {lost}
    for number, commit in enumerate(stood):
        assert texts(followed.tree(commit)) == texts(other.tree(commit)) == {"a": str(number)}


def test_a_wanted_commit_stays_readable_when_the_server_has_lost_it(fleet: Origin, tmp_path: Path) -> None:
    base = fleet.commit("base")
    stood = fleet.commit("stood at")
    followed = beside(fleet, tmp_path / "cache")
    polled(followed)
    fleet.rewrite(base)
    fleet.forget()
    for number in range(16):
        fleet.commit(f"{number}")
        assert polled(followed, stood).gone == frozenset()
    assert texts(followed.tree(stood)) == {"a": "stood at"}


def test_much_pushing_does_not_fill_the_disk_and_drops_nothing_that_is_read(
    fleet: Origin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_store, "_KEPT", 3)
    monkeypatch.setattr(git_remote, "_MANY_PACKS", 3)
    with Path("/dev/urandom").open("rb") as random:

        def push() -> str:
            return fleet.commit(random.read(20_000).hex(), name="big")

        stood = push()
        followed = beside(fleet, tmp_path / "cache")
        polled(followed)
        reading = followed.tree()
        one = size(tmp_path / "cache")
        for _ in range(26):
            push()
            polled(followed, stood)
    assert size(tmp_path / "cache") < 18 * one  # 3 kept, 4 packs, 8 of the history, and some room
    assert set(texts(followed.tree(stood))) == {"big"}
    assert set(texts(reading)) == {"big"}


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_a_repository_that_is_too_large_is_refused_and_leaves_nothing_behind(
    fleet: Origin, server: GitServer, tmp_path: Path
) -> None:
    fleet.commit("1")
    followed = source(server, tmp_path / "cache", limits=Limits(seconds=60, fetched=1 << 20))
    polled(followed)
    with Path("/dev/urandom").open("rb") as random:
        (fleet.work / "huge").write_bytes(random.read(4 << 20))
    fleet.commit("2")
    error = refused(followed)
    assert "larger than is allowed" in error.message
    assert not error.transient
    assert size(tmp_path / "cache") < 1 << 20
    assert texts(followed.tree()) == {"a": "1"}


def test_what_a_file_is_called_or_contains_runs_nothing(
    fleet: Origin, server: GitServer, tmp_path: Path
) -> None:
    (fleet.work / ".gitattributes").write_text("* filter=evil\n")
    (fleet.work / ".gitmodules").write_text(
        '[submodule "x"]\n\tpath = x\n\turl = ext::sh -c touch% /tmp/evil\n'
    )
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
    fleet.commit(pointer)
    followed = source(server, tmp_path / "cache")
    polled(followed)
    assert texts(followed.tree())["a"] == pointer
    assert {asked.path.split("/")[1] for asked in server.asked} == {"fleet.git"}


def test_another_reference_or_address_does_not_inherit_what_was_good_for_the_one_before(
    fleet: Origin, server: GitServer, tmp_path: Path
) -> None:
    fleet.commit("1")
    fleet.git("branch", "other")
    first = source(server, tmp_path / "cache", ref="main")
    polled(first)
    first.leave()
    second = source(server, tmp_path / "cache", ref="other")
    assert second.standing() is None
    with pytest.raises(SourceError, match="no commit has been fetched"):
        second.tree()
    assert polled(second).commit == fleet.head()


def test_two_sources_never_share_a_cache(fleet: Origin, server: GitServer, tmp_path: Path) -> None:
    fleet.commit("1")
    first = source(server, tmp_path / "cache")
    polled(first)
    assert "in use" in refused(source(server, tmp_path / "cache")).message
    first.leave()
    polled(source(server, tmp_path / "cache"))


def test_who_leaves_while_a_poll_runs_lets_the_cache_go_when_that_is_over_and_takes_it_never_again(
    fleet: Origin, server: GitServer, tmp_path: Path
) -> None:
    fleet.commit("1")
    asked, go_on = threading.Event(), threading.Event()

    def access() -> Access:
        asked.set()
        assert go_on.wait(30)
        return Access(ca=CA)

    first = RemoteSource(server.url, tmp_path / "cache", access, limits=Limits(seconds=60))
    go_on.set()
    polled(first)
    go_on.clear()
    asked.clear()
    poll = threading.Thread(target=polled, args=(first,))
    poll.start()
    assert asked.wait(30)
    first.leave()
    assert "in use" in refused(source(server, tmp_path / "cache")).message
    go_on.set()
    poll.join(30)
    polled(source(server, tmp_path / "cache"))
    for ask in (first.poll, first.tree, first.standing):
        with pytest.raises(SourceError, match="used for another source"):
            ask()


def test_a_new_process_reads_what_the_last_one_fetched_without_the_server(
    fleet: Origin, server: GitServer, tmp_path: Path
) -> None:
    head = fleet.commit("1")
    first = source(server, tmp_path / "cache")
    polled(first)
    first.leave()
    asked = len(server.asked)
    second = source(server, tmp_path / "cache", Access(ca=CA))
    assert second.standing() == head
    assert texts(second.tree()) == {"a": "1"}
    assert len(server.asked) == asked


def test_a_commit_may_say_of_itself_whatever_it_likes(fleet: Origin, tmp_path: Path) -> None:
    fleet.commit("1")
    tree = fleet.git("rev-parse", "HEAD^{tree}")
    odd = (
        f"tree {tree}\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 99999999999999999 +9999\n"
        f"encoding no-such-encoding\n\n\x1b[31m{'x' * 1000}\n"
    )
    (fleet.work / "odd").write_text(odd)
    fleet.git(
        "update-ref", "refs/heads/main", fleet.git("hash-object", "-t", "commit", "-w", "--literally", "odd")
    )
    found = polled(beside(fleet, tmp_path / "cache"))
    assert found.subject.isprintable()
    assert len(found.subject) == 200
    assert found.at.tzinfo is not None


def test_pushes_that_are_all_refused_do_not_fill_the_disk_either(fleet: Origin, tmp_path: Path) -> None:
    fleet.commit("1")
    trusting = Access(trust=Trust(gpg=b"nobody's"))
    address = (fleet.root / "fleet.git").as_uri()
    followed = RemoteSource(address, tmp_path / "cache", lambda: trusting, unprotected=frozenset({"file"}))
    with Path("/dev/urandom").open("rb") as random:
        for _ in range(16):
            fleet.commit(random.read(20_000).hex(), name="big")
            assert isinstance(followed.poll(), NotAccepted)
    assert size(tmp_path / "cache") < 12 * 30_000
