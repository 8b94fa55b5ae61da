"""The configuration repository as commands see it."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from gitops_mc.app.ports import Tree, TreeEntry
from gitops_mc.app.use_cases.repository import Repository, chosen, past_contents, usable
from gitops_mc.core.errors import InputProblemsError, SourceError, UsageError
from gitops_mc.core.model import Commit, Content
from gitops_mc.core.policy import DEFAULT_POLICY
from tests.core.desired_repositories import FLEET, config, files


@dataclass
class History:
    """A source in memory, with its commits."""

    commits: dict[str, dict[str, str]] = field(default_factory=dict)
    head: str = "c2"

    def tree(self, revision: str | None = None) -> Tree:
        commit = revision or self.head
        if commit not in self.commits:
            raise SourceError(f"no commit {commit}")
        contents = {f.path: f for f in files(self.commits[commit])}

        def read(entry: TreeEntry) -> bytes:
            data = contents[entry.path].data
            assert data is not None
            return data

        entries = (TreeEntry(f.path, f.blob, len(f.data or b""), f.mode) for f in contents.values())
        return Tree(commit, tuple(sorted(entries, key=lambda e: e.path)), read)


def history() -> History:
    first = {"clusters/a/x.yaml": config("50-worker-a"), "clusters/b/x.yaml": config("50-worker-b")}
    return History({"c1": first, "c2": {**first, "clusters/a/x.yaml": config("50-worker-new")}})


def test_clusters_are_chosen_by_name_and_a_slip_is_answered_with_the_nearest() -> None:
    state, commit = Repository(history()).read()
    assert commit == "c2"
    assert [c.name for c in chosen(state, ())] == ["a", "b"]
    assert [c.name for c in chosen(state, ("b", "b"))] == ["b"]
    with pytest.raises(UsageError) as error:
        chosen(state, ("bb",))
    assert error.value.hint == "did you mean b?"


def test_a_broken_fleet_file_makes_the_whole_unusable_and_uncovers_no_secret() -> None:
    broken = FLEET + '  sensitive: ["/etc/a"]\n  rolout: {}\n'
    state, _ = Repository(History({"c2": {"fleet.yaml": broken, "clusters/a/x.yaml": config()}})).read()
    assert state.policy == DEFAULT_POLICY
    assert state.sensitive.paths == ("/etc/a",)
    with pytest.raises(InputProblemsError) as error:
        usable(state)
    assert error.value.problems == state.problems


def test_an_earlier_content_is_fetched_by_its_commit_while_it_says_the_same() -> None:
    source = history()
    old = chosen(Repository(History(source.commits, "c1")).read()[0], ("a",))[0]
    fetch = past_contents(source)
    assert fetch("a", Commit("c1"), old.content) == old
    assert fetch("a", Commit("c2"), old.content) is None
    assert fetch("a", Commit("c1"), Content("other")) is None
    assert fetch("z", Commit("c1"), old.content) is None
    assert fetch("a", Commit("gone"), old.content) is None
    assert fetch("a", Commit(""), old.content) is None
