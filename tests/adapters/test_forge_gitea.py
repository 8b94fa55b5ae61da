"""The adapter against a real Gitea, and the strict server of the other tests beside it: both are to come to the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from gitops_mc.adapters.forge_github import GithubForge, Token
from gitops_mc.core.custom.commit_status import CommitState, CommitStatus
from gitops_mc.core.custom.forge_spec import Place
from gitops_mc.core.errors import ApiError, NotFoundError, ServerError
from gitops_mc.core.model import Commit
from tests.adapters.forge_servers import CA, TOKEN, GiteaServer, running
from tests.adapters.gitea_server import GET_GITEA, Gitea, folder, gitea

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not folder().is_dir(), reason=GET_GITEA)]
CONTEXT = "gitops-mc/prod"
GONE = Commit("1" * 40)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gitea]:
    with gitea(tmp_path_factory.mktemp("gitea")) as found:
        yield found


def came_to(forge: GithubForge, commit: Commit) -> list[str]:
    """What a life of statuses looks like from outside."""
    found = []

    def note(call: Callable[[], CommitStatus | None]) -> None:
        try:
            shown = call()
        except ApiError as error:
            found.append(type(error).__name__)
        else:
            found.append("nothing" if shown is None else f"{shown.state}: {shown.description}")

    note(lambda: forge.status(commit, CONTEXT))
    for state in CommitState:
        forge.set_status(
            commit, CommitStatus(state, CONTEXT, f"it is {state}", "", "https://fleet.example.com")
        )
        note(lambda: forge.status(commit, CONTEXT))
    forge.set_status(commit, CommitStatus(CommitState.PENDING, "ci/lint", "somebody else's"))
    forge.set_status(commit, CommitStatus(CommitState.PENDING, CONTEXT, "é" * 140))
    note(lambda: forge.status(commit, CONTEXT))
    note(lambda: forge.status(GONE, CONTEXT))
    return found


def test_a_real_gitea_and_ours_come_to_the_same(real: Gitea) -> None:
    there = GithubForge(Place(f"{real.url}/api/v1", "mei/fleet"), Token(real.token), None)
    seen = came_to(there, Commit(real.commit))
    with running(GiteaServer()) as server:
        commit = Commit(real.commit)
        server.commits.add(commit)
        ours = GithubForge(Place(server.api, "acme/fleet"), Token(TOKEN), CA)
        assert came_to(ours, commit) == seen
    assert seen == [
        "nothing",
        *(f"{state}: it is {state}" for state in CommitState),
        f"pending: {'é' * 140}",
        "NotFoundError",
    ]
    shown = real.ask("GET", f"/repos/mei/fleet/commits/{real.commit}/status")["statuses"]
    assert {s["context"]: s["status"] for s in shown} == {CONTEXT: "pending", "ci/lint": "pending"}


@pytest.mark.parametrize(
    ("project", "token", "kind"),
    [
        ("mei/fleet", "0" * 40, "UnauthorizedError"),
        ("mei/gone", "", "NotFoundError"),
        ("no/body", "", "NotFoundError"),
    ],
)
def test_what_a_real_gitea_refuses_is_told_apart(real: Gitea, project: str, token: str, kind: str) -> None:
    forge = GithubForge(Place(f"{real.url}/api/v1", project), Token(token or real.token), None)
    with pytest.raises(ApiError) as caught:
        forge.set_status(Commit(real.commit), CommitStatus(CommitState.PENDING, CONTEXT, "x"))
    assert type(caught.value).__name__ == kind


def test_a_commit_that_a_real_gitea_does_not_have_is_a_fault_of_the_server_to_set_and_not_found_to_read(
    real: Gitea,
) -> None:
    forge = GithubForge(Place(f"{real.url}/api/v1", "mei/fleet"), Token(real.token), None)
    with pytest.raises(ServerError, match="answered 500"):
        forge.set_status(GONE, CommitStatus(CommitState.PENDING, CONTEXT, "x"))
    with pytest.raises(NotFoundError):
        forge.status(GONE, CONTEXT)
