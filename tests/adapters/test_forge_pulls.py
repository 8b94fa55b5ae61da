"""Pull requests over the three protocols, each against a server that takes nothing but what is documented."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from gitops_mc.adapters.forge_github import App, Token
from gitops_mc.adapters.forge_github_pulls import GiteaPulls, GithubPulls
from gitops_mc.adapters.forge_gitlab_pulls import GitlabPulls
from gitops_mc.adapters.forge_wire import LONGEST_ANSWER
from gitops_mc.app.ports import Response
from gitops_mc.app.pull_ports import MOST_PULLS, PullComment, PullRequests
from gitops_mc.core.custom.forge_spec import Place
from gitops_mc.core.custom.pull_comment import marker
from gitops_mc.core.custom.pull_request import PullRequest, Standing
from gitops_mc.core.errors import (
    ForbiddenError,
    GitopsMcError,
    InvalidError,
    NotFoundError,
    ServerError,
    ThrottledError,
    UnauthorizedError,
)
from tests.adapters import forge_servers as servers
from tests.adapters.forge_pull_servers import (
    ME,
    SERVERS,
    GiteaPullServer,
    GithubPullServer,
    GitlabPullServer,
    Pull,
    PullServer,
)
from tests.adapters.forge_servers import CA, COMMIT, OTHER, PROJECT, TOKEN, answer, running
from tests.adapters.kube_peers import Peer, serving

OURS = f"{marker('prod')}\nhello\n"
MAKE: dict[str, Callable[[str], PullRequests]] = {
    "github": lambda api: GithubPulls(Place(api, PROJECT), Token(TOKEN), CA, 5),
    "gitlab": lambda api: GitlabPulls(Place(api, PROJECT), TOKEN, CA, 5),
    "gitea": lambda api: GiteaPulls(Place(api, PROJECT), Token(TOKEN), CA, 5),
}


@dataclass
class Case:
    """A forge, and how it is reached."""

    kind: str
    server: PullServer
    forge: PullRequests

    def only(self) -> PullRequest:
        (pull,) = self.forge.open_pulls("main").pulls
        return pull

    def refused(self, first: Response, call: Callable[[], object]) -> GitopsMcError:
        self.server.first.append(first)
        with pytest.raises(GitopsMcError) as caught:
            call()
        assert TOKEN not in f"{caught.value} {caught.value.hint}"
        return caught.value


@pytest.fixture(params=SERVERS)
def case(request: pytest.FixtureRequest) -> Iterator[Case]:
    with running(SERVERS[request.param]()) as server:
        assert isinstance(server, GithubPullServer | GitlabPullServer)
        forge = MAKE[request.param](server.api)
        yield Case(request.param, server, forge)
        forge.close()


def test_an_open_pull_request_is_told_with_all_that_is_asked_of_it(case: Case) -> None:
    case.server.put(Pull(7, COMMIT, "mei", "More time servers", "feature", draft=True))
    found = case.only()
    assert found == PullRequest(
        7,
        "More time servers",
        "mei",
        1,
        COMMIT,
        "feature",
        "main",
        fork=False,
        draft=True,
        updated="2026-01-01T00:00:01Z",
    )
    assert case.forge.pull(7) == found


def test_one_from_another_repository_is_a_fork(case: Case) -> None:
    case.server.put(Pull(8, COMMIT, "eve", fork=True))
    assert case.only().fork


def test_one_whose_repository_or_author_is_gone_is_a_fork_of_nobody(case: Case) -> None:
    case.server.put(Pull(8, COMMIT, None, fork=True))
    told = case.server
    if isinstance(told, GithubPullServer):
        shown = told._pull(told.pulls[8])
        shown["head"]["repo"] = None
        told.first.append(answer(200, [shown]))
    found = case.only()
    assert found.fork
    assert found.author == ""
    assert case.forge.standing(found) is Standing.OUTSIDE


def test_closed_ones_and_those_for_other_branches_are_not_told(case: Case) -> None:
    case.server.put(Pull(1, COMMIT, open=False))
    case.server.put(Pull(2, COMMIT, onto="release"))
    assert case.forge.open_pulls("main").pulls == ()
    assert case.forge.pull(1) is None


def test_a_branch_that_the_forge_lists_although_it_was_not_asked_for_is_left_out(case: Case) -> None:
    case.server.put(Pull(2, COMMIT, onto="release"))
    body = json.dumps(
        [
            case.server._pull(case.server.pulls[2])
            if isinstance(case.server, GithubPullServer)
            else case.server._mr(case.server.pulls[2])
        ]
    )
    case.server.first.append(Response(200, body.encode(), servers.JSON_TYPE))
    assert case.forge.open_pulls("main").pulls == ()


@pytest.mark.parametrize("count", [199, 200, 201, 470])
def test_lists_are_read_to_their_end_or_to_what_is_looked_at_and_more_is_said(case: Case, count: int) -> None:
    for number in range(1, count + 1):
        case.server.put(Pull(number, COMMIT))
    found = case.forge.open_pulls("main")
    newest_first = list(range(count, 0, -1))
    assert [pull.number for pull in found.pulls] == newest_first[:MOST_PULLS]
    assert found.more is (count > MOST_PULLS)


def test_a_forge_that_gives_smaller_pages_than_it_was_asked_for_is_read_to_the_end() -> None:
    with running(GiteaPullServer(largest_page=10)) as server:
        assert isinstance(server, GiteaPullServer)
        for number in range(1, 36):
            server.put(Pull(number, COMMIT))
        assert len(MAKE["gitea"](server.api).open_pulls("main").pulls) == 35


def test_one_that_moves_up_while_the_list_is_read_is_told_once(case: Case) -> None:
    for number in range(1, 151):
        case.server.put(Pull(number, COMMIT))
    handle = case.server.handle

    def moving(seen: Any) -> Response:
        found = handle(seen)
        case.server.touch(case.server.pulls[1])
        case.server.touch(case.server.pulls[120])
        return found

    case.server.peer.answer = moving
    found = [pull.number for pull in case.forge.open_pulls("main").pulls]
    assert len(found) == len(set(found))


def test_what_has_not_changed_costs_github_nothing() -> None:
    with running(GithubPullServer()) as server:
        assert isinstance(server, GithubPullServer)
        forge = MAKE["github"](server.api)
        server.put(Pull(7, COMMIT))
        before = forge.open_pulls("main")
        assert forge.open_pulls("main") == before
        assert server.etags == 1
        server.pulls[7].head = OTHER
        assert forge.open_pulls("main").pulls[0].head == OTHER
        assert server.etags == 1


@pytest.mark.parametrize(
    ("author", "standing"),
    [
        ("ann", Standing.ADMINISTERS),
        ("mei", Standing.WRITES),
        ("bob", Standing.OUTSIDE),
        ("eve", Standing.OUTSIDE),
        ("nobody", Standing.OUTSIDE),
    ],
)
def test_what_an_author_may_do_is_asked_of_the_forge(case: Case, author: str, standing: Standing) -> None:
    case.server.put(Pull(7, COMMIT, author))
    assert case.forge.standing(case.only()) is standing


@pytest.mark.parametrize("author", ["renovate[bot]", "..", "a/../../user", "é", "-x"])
def test_a_name_that_has_no_place_in_a_path_may_nothing_and_is_not_asked_for(author: str) -> None:
    with running(GithubPullServer()) as server:
        forge = MAKE["github"](server.api)
        pull = PullRequest(1, "", author, 1, COMMIT, "x", "main", fork=False)
        assert forge.standing(pull) is Standing.OUTSIDE
        assert server.peer.seen == []


def test_who_may_not_ask_for_rights_does_not_know_them() -> None:
    with running(GiteaPullServer(asked_by_admin=False)) as server:
        assert isinstance(server, GiteaPullServer)
        server.put(Pull(7, COMMIT))
        forge = MAKE["gitea"](server.api)
        assert forge.standing(forge.open_pulls("main").pulls[0]) is Standing.NOT_KNOWN


# ------------------------------------------------------------------------------------------------------------- comments


def test_a_comment_is_made_found_and_edited_in_place(case: Case) -> None:
    case.server.put(Pull(7, COMMIT))
    assert case.forge.comment(7, "prod") is None
    case.forge.add_comment(7, OURS)
    found = case.forge.comment(7, "prod")
    assert found is not None
    assert found.body == OURS
    case.forge.edit_comment(7, found, f"{OURS}again\n")
    assert [c.body for c in case.server.of_pull(7)] == [f"{OURS}again\n"]


def test_a_comment_of_somebody_else_with_our_marker_is_not_ours(case: Case) -> None:
    case.server.put(Pull(7, COMMIT))
    case.server.said_by("eve", 7, OURS)
    assert case.forge.comment(7, "prod") is None


def test_a_comment_of_ours_for_another_fleet_or_that_quotes_the_marker_is_not_the_one(case: Case) -> None:
    case.server.put(Pull(7, COMMIT))
    case.server.said_by(ME, 7, f"{marker('staging')}\nhello")
    case.server.said_by(ME, 7, f"see {marker('prod')}")
    case.server.said_by(ME, 7, f"hello\n{marker('prod')}\n")
    assert case.forge.comment(7, "prod") is None


def test_of_several_of_ours_the_oldest_is_the_one(case: Case) -> None:
    case.server.put(Pull(7, COMMIT))
    first = case.server.said_by(ME, 7, OURS.replace("\n", "\r\n"))
    case.server.said_by(ME, 7, OURS)
    found = case.forge.comment(7, "prod")
    assert found is not None
    assert found.number == first.number


def test_ours_is_found_behind_many_others(case: Case) -> None:
    case.server.put(Pull(7, COMMIT))
    for _ in range(230):
        case.server.said_by("eve", 7, "first!")
    case.forge.add_comment(7, OURS)
    assert case.forge.comment(7, "prod") is not None


def test_where_there_are_more_than_are_looked_through_nobody_says_that_there_is_none(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("forge_github_pulls", "forge_gitlab_pulls"):
        monkeypatch.setattr(f"gitops_mc.adapters.{module}.COMMENTS", 200)
    case.server.put(Pull(7, COMMIT))
    for _ in range(350):
        case.server.said_by("eve", 7, "x")
    if case.kind == "gitea":  # gives them all at once
        assert case.forge.comment(7, "prod") is None
        return
    with pytest.raises(GitopsMcError, match="more comments on pull request 7"):
        case.forge.comment(7, "prod")


def test_a_comment_as_long_as_the_forge_takes_is_taken(case: Case) -> None:
    case.server.put(Pull(7, COMMIT))
    case.forge.add_comment(7, "x" * case.forge.longest_comment)
    with pytest.raises(InvalidError):
        case.forge.add_comment(7, "x" * (case.server.longest + 1))


def test_a_comment_that_is_gone_is_not_found(case: Case) -> None:
    case.server.put(Pull(7, COMMIT))
    with pytest.raises(NotFoundError):
        case.forge.edit_comment(7, PullComment(5, ""), OURS)


def test_a_conversation_that_is_locked_is_forbidden(case: Case) -> None:
    case.server.put(Pull(7, COMMIT))
    case.server.locked.add(7)
    with pytest.raises(ForbiddenError) as caught:
        case.forge.add_comment(7, OURS)
    assert "comment on the pull requests" in caught.value.hint


def test_an_app_of_github_knows_its_own_comments() -> None:
    app = servers.App()
    with running(GithubPullServer(app=app)) as server:
        assert isinstance(server, GithubPullServer)
        forge = GithubPulls(Place(server.api, PROJECT), App(17, 4711, app.key), CA, 5)
        server.put(Pull(7, COMMIT))
        server.said_by("eve", 7, OURS)
        forge.add_comment(7, OURS)
        found = forge.comment(7, "prod")
        assert found is not None
        assert [c.author for c in server.comments if c.number == found.number] == ["gitops[bot]"]
        forge.close()


# ------------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("first", "kind"),
    [
        (answer(401, {"message": "Bad credentials"}), UnauthorizedError),
        (answer(403, {"message": "no"}), ForbiddenError),
        (answer(404, {"message": "Not Found"}), NotFoundError),
        (answer(429, {"message": "slow down"}, retry_after="9"), ThrottledError),
        (answer(500, {"message": "oops"}), ServerError),
        (answer(307, {}, location="/elsewhere"), InvalidError),
        (Response(304, b"", {}), InvalidError),
        (Response(200, b"<html>Sign in</html>", {"content-type": "text/html"}), InvalidError),
    ],
    ids=lambda value: str(getattr(value, "status", "")),
)
def test_every_refusal_of_a_list_is_told_apart_and_asked_for_once(
    case: Case, first: Response, kind: type[GitopsMcError]
) -> None:
    assert type(case.refused(first, lambda: case.forge.open_pulls("main"))) is kind
    assert len(case.server.peer.seen) == 1


def test_a_token_follows_no_redirection(case: Case) -> None:
    case.server.put(Pull(7, COMMIT))
    calls: list[Callable[[], object]] = [
        lambda: case.forge.open_pulls("main"),
        lambda: case.forge.pull(7),
        lambda: case.forge.comment(7, "prod"),
        lambda: case.forge.add_comment(7, OURS),
        lambda: case.forge.edit_comment(7, PullComment(5, ""), OURS),
    ]
    with serving(Peer(), "here.pem") as elsewhere:
        for call in calls:
            error = case.refused(answer(302, {}, location=f"{elsewhere.url}/x"), call)
            assert "no token is sent there" in error.message
        assert elsewhere.seen == []


def test_an_answer_without_an_end_is_not_read_to_it(case: Case) -> None:
    endless = Response(200, b"[" + b" " * LONGEST_ANSWER + b"]", servers.JSON_TYPE)
    error = case.refused(endless, lambda: case.forge.open_pulls("main"))
    assert "more than 32 MiB" in error.message


LIES: list[dict[str, Any]] = [
    {"number": "7", "iid": "7"},
    {"number": True, "iid": True},
    {"number": -1, "iid": -1},
    {"title": None},
    {"title": ["x"]},
    {"user": "mei", "author": "mei"},
    {"draft": "yes"},
    {"updated_at": 5},
    {"head": None, "sha": 5},
    {"head": {"ref": "x", "sha": "../../etc", "repo": {"id": 7}}, "sha": "../../etc"},
    {"head": {"ref": "x", "sha": "A" * 40, "repo": {"id": 7}}, "sha": "--upload-pack=x"},
    {"head": {"ref": "x", "sha": COMMIT, "repo": {"id": "7"}}, "source_project_id": "7"},
    {"base": {"ref": 5, "repo": {"id": 7}}, "target_branch": 5},
    {"base": {"ref": "main", "repo": None}, "target_project_id": None},
]


@pytest.mark.parametrize("lie", LIES, ids=str)
def test_a_list_that_lies_is_no_answer_of_a_forge(case: Case, lie: dict[str, Any]) -> None:
    pull = case.server.put(Pull(7, COMMIT))
    good = case.server._pull(pull) if isinstance(case.server, GithubPullServer) else case.server._mr(pull)
    error = case.refused(answer(200, [{**good, **lie}]), lambda: case.forge.open_pulls("main"))
    assert isinstance(error, InvalidError)
    assert "is not the API of the forge" in error.message


@pytest.mark.parametrize("body", [{"pulls": []}, "none", 7, [7], [None], [[]]], ids=str)
def test_what_is_no_list_of_objects_is_no_answer_either(case: Case, body: Any) -> None:
    assert isinstance(case.refused(answer(200, body), lambda: case.forge.open_pulls("main")), InvalidError)


@pytest.mark.parametrize(
    "lie",
    [{"id": "5"}, {"id": None}, {"body": 5}, {"user": 5, "author": 5}, {"user": {}, "author": {}}],
    ids=str,
)
def test_a_list_of_comments_that_lies_is_no_answer_of_a_forge(case: Case, lie: dict[str, Any]) -> None:
    case.server.put(Pull(7, COMMIT))
    case.forge.add_comment(7, OURS)
    case.forge.comment(7, "prod")  # who asks is known from now on
    (comment,) = case.server.comments
    good = (
        case.server._comment(comment)
        if isinstance(case.server, GithubPullServer)
        else case.server._note(comment)
    )
    error = case.refused(answer(200, [{**good, **lie}]), lambda: case.forge.comment(7, "prod"))
    assert "is not the API of the forge" in error.message


def test_a_title_that_is_a_trap_is_data_and_nothing_else(case: Case) -> None:
    title = "\x1b]0;x\x07 <img src=x onerror=alert(1)> ${{ secrets.TOKEN }} `id` $(id)\n::set-output"
    case.server.put(Pull(7, COMMIT, title=title, branch="a`id`b<b>"))
    assert case.only().title == title
    assert case.only().head_branch == "a`id`b<b>"
