"""The three protocols, each against a server that takes nothing but what is documented."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from gitops_mc.adapters.forge_github import Access, App, GithubForge, Token
from gitops_mc.adapters.forge_gitlab import GitlabForge
from gitops_mc.app.forge_ports import Forge
from gitops_mc.app.ports import Response
from gitops_mc.core.custom.commit_status import CommitState, CommitStatus
from gitops_mc.core.custom.forge_spec import Place
from gitops_mc.core.errors import (
    ApiError,
    ForbiddenError,
    GitopsMcError,
    InvalidError,
    NotFoundError,
    ServerError,
    StaleError,
    ThrottledError,
    UnauthorizedError,
    UnreachableError,
    UsageError,
)
from gitops_mc.core.model import Commit
from tests.adapters import forge_servers as servers
from tests.adapters.forge_servers import (
    CA,
    COMMIT,
    PROJECT,
    TOKEN,
    ForgeServer,
    GiteaServer,
    GithubServer,
    GitlabServer,
    answer,
    running,
)
from tests.adapters.kube_peers import TLS, Peer, raw, serving

CONTEXT = "gitops-mc/prod"
LASTING = "on its way"
MADE: TypeAlias = Callable[..., Forge]


def status(state: CommitState, text: str = "1 of 3 clusters have it", url: str = "") -> CommitStatus:
    return CommitStatus(state, CONTEXT, text, LASTING, url)


PENDING, SUCCESS = status(CommitState.PENDING), status(CommitState.SUCCESS, "3 of 3 clusters have it")


def github(api: str, access: Access | None = None, ca: Path | None = CA, timeout: int = 5) -> Forge:
    return GithubForge(Place(api, PROJECT), access or Token(TOKEN), ca, timeout)


def gitlab(api: str, token: str = TOKEN, ca: Path | None = CA, timeout: int = 5) -> Forge:
    return GitlabForge(Place(api, PROJECT), token, ca, timeout)


@dataclass
class Case:
    """A forge, and how it is reached."""

    server: ForgeServer
    make: MADE
    forge: Forge

    def fails(self, *first: Response) -> GitopsMcError:
        """What setting a status comes to where these answers come first; no credential is in it."""
        self.server.first.extend(first)
        with pytest.raises(GitopsMcError) as caught:
            self.forge.set_status(COMMIT, PENDING)
        assert TOKEN not in f"{caught.value} {caught.value.hint}"
        return caught.value


KINDS: dict[str, tuple[type[ForgeServer], MADE]] = {
    "github": (GithubServer, github),
    "gitlab": (GitlabServer, gitlab),
    "gitea": (GiteaServer, github),
}


@pytest.fixture(params=KINDS)
def case(request: pytest.FixtureRequest) -> Iterator[Case]:
    server_type, make = KINDS[request.param]
    with running(server_type()) as server:
        forge = make(server.api)
        yield Case(server, make, forge)
        forge.close()


def test_what_is_set_can_be_read(case: Case) -> None:
    assert case.forge.status(COMMIT, CONTEXT) is None
    case.forge.set_status(COMMIT, SUCCESS)
    found = case.forge.status(COMMIT, CONTEXT)
    assert found is not None
    assert found.says(SUCCESS)


@pytest.mark.parametrize("state", CommitState)
def test_every_state_comes_back_as_it_was_set(case: Case, state: CommitState) -> None:
    case.forge.set_status(COMMIT, status(state))
    found = case.forge.status(COMMIT, CONTEXT)
    assert found is not None
    assert found.state is state


def test_the_newest_one_counts_and_those_of_others_do_not(case: Case) -> None:
    case.forge.set_status(COMMIT, PENDING)
    case.forge.set_status(COMMIT, CommitStatus(CommitState.FAILURE, "ci/lint", "no"))
    case.forge.set_status(COMMIT, SUCCESS)
    case.forge.set_status(COMMIT, status(CommitState.FAILURE, "halted"))
    found = case.forge.status(COMMIT, CONTEXT)
    assert found is not None
    assert (found.state, found.description) == (CommitState.FAILURE, "halted")
    assert case.forge.status(servers.OTHER, CONTEXT) is None


def test_what_is_pending_gets_other_words_where_the_forge_takes_them_and_lasting_ones_elsewhere(
    case: Case,
) -> None:
    case.forge.set_status(COMMIT, PENDING)
    case.forge.set_status(COMMIT, status(CommitState.PENDING, "2 of 3 clusters have it"))
    _, last = case.server.shown()[-1]
    assert last == ("2 of 3 clusters have it" if case.forge.rewords else LASTING)


def test_an_address_for_those_who_want_to_know_more_goes_along(case: Case) -> None:
    case.forge.set_status(COMMIT, status(CommitState.SUCCESS, url="https://fleet.example.com"))
    assert case.server.statuses[-1]["target_url"] == "https://fleet.example.com"


def test_every_call_is_one_request(case: Case) -> None:
    case.forge.status(COMMIT, CONTEXT)
    case.forge.set_status(COMMIT, PENDING)
    assert case.server.calls() == [f"GET {COMMIT}", f"POST {COMMIT}"]


# ------------------------------------------------------------------------------------------------------------- refusals

MESSAGE = {"message": "no"}
REFUSALS: list[tuple[Response, type[ApiError]]] = [
    (answer(401, {"message": "Bad credentials"}), UnauthorizedError),
    (answer(403, {"message": "Resource not accessible by personal access token"}), ForbiddenError),
    (answer(404, {"message": "Not Found"}), NotFoundError),
    (answer(404, {"error": "404 Not Found"}), NotFoundError),
    (answer(409, {"message": "Another update to this commit status is in progress"}), StaleError),
    (answer(400, {"message": {"description": ["is too long"]}}), InvalidError),
    (answer(422, {"message": "Validation Failed", "errors": [{"code": "custom"}]}), InvalidError),
    (answer(429, MESSAGE), ThrottledError),
    (answer(500, MESSAGE), ServerError),
    (Response(502, b"<html>Bad Gateway</html>", {"content-type": "text/html"}), ServerError),
    (answer(503, MESSAGE, retry_after="7"), ServerError),
    (answer(202, MESSAGE), ServerError),
    (answer(307, MESSAGE, location="/elsewhere"), InvalidError),
    (answer(301, MESSAGE, location="https://other.example.com/api"), InvalidError),
    (Response(200, b"<html>Sign in</html>", {"content-type": "text/html"}), InvalidError),
    (Response(201, b'{"context": "gito', {"content-type": "application/json"}), InvalidError),
]


@pytest.mark.parametrize(("first", "kind"), REFUSALS, ids=lambda value: str(getattr(value, "status", "")))
def test_every_refusal_is_told_apart_and_asked_for_once(
    case: Case, first: Response, kind: type[ApiError]
) -> None:
    error = case.fails(first)
    assert type(error) is kind
    assert len(case.server.peer.seen) == 1
    case.forge.set_status(COMMIT, PENDING)  # the next one is taken
    assert len(case.server.shown()) == 1


def test_what_a_refusal_says_is_told_with_whom_it_came_from(case: Case) -> None:
    error = case.fails(answer(401, {"message": "Bad credentials"}))
    host = case.server.peer.url.removeprefix("https://")
    assert error.message == f"{host} answered 401: Bad credentials"
    assert error.hint == "give it a token that may set commit statuses on this project"


def test_a_token_that_an_answer_repeats_is_not_told(case: Case) -> None:
    error = case.fails(answer(401, {"message": "no such token: token=ghp_0123456789abcdef0123 sent"}))
    assert "ghp_" not in error.message


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "41"}, 41.0),
        ({"x_ratelimit_remaining": "0", "x_ratelimit_reset": "IN 500 S"}, 500.0),
        ({"ratelimit_remaining": "0", "ratelimit_reset": "IN 500 S"}, 500.0),
        ({"retry_after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry_after": "999999999"}, 86_400.0),
        ({"retry_after": "soon"}, None),
        ({}, None),
    ],
)
def test_how_long_a_forge_asks_to_wait_is_known(
    case: Case, headers: dict[str, str], seconds: float | None
) -> None:
    reset = str(int(time.time()) + 500)
    said = {name: value.replace("IN 500 S", reset) for name, value in headers.items()}
    error = case.fails(answer(429, MESSAGE, **said))
    assert isinstance(error, ThrottledError)
    assert error.retry_after == (None if seconds is None else pytest.approx(seconds, abs=30))


@pytest.mark.parametrize(
    "first",
    [
        answer(403, {"message": "API rate limit exceeded for user ID 1."}),
        answer(403, {"message": "You have exceeded a secondary rate limit."}, retry_after="60"),
        answer(403, {"message": "no"}, x_ratelimit_remaining="0"),
    ],
)
def test_a_limit_that_is_told_with_403_is_a_limit(case: Case, first: Response) -> None:
    assert isinstance(case.fails(first), ThrottledError)


def test_a_token_follows_no_redirection(case: Case) -> None:
    with serving(Peer(), "here.pem") as elsewhere:
        for code in (301, 302, 303, 307, 308):
            error = case.fails(answer(code, MESSAGE, location=f"{elsewhere.url}/api"))
            assert "no token is sent there" in error.message
        assert elsewhere.seen == []


def test_a_project_or_a_commit_that_is_not_there_is_not_found_or_refused(case: Case) -> None:
    with pytest.raises((NotFoundError, InvalidError)):
        case.forge.status(Commit("f" * 40), CONTEXT)
    with pytest.raises((NotFoundError, InvalidError)):
        case.forge.set_status(Commit("f" * 40), PENDING)


def test_a_wrong_token_is_told_apart_by_a_server_that_knows_tokens() -> None:
    def asked(seen: Any) -> Response:
        tokens = {seen.headers.get("authorization"), seen.headers.get("private-token")}
        return answer(401, MESSAGE) if tokens & {"token wrong", "wrong"} else answer(200, [])

    with serving(Peer(asked), "here.pem") as peer:
        for forge in (github(peer.url, Token("wrong")), gitlab(peer.url, "wrong")):
            with pytest.raises(UnauthorizedError):
                forge.status(COMMIT, CONTEXT)


@pytest.mark.parametrize("kind", [GithubServer, GiteaServer])
def test_a_status_that_stands_behind_a_hundred_others_is_found(kind: type[GithubServer]) -> None:
    with running(kind()) as server:
        forge = github(server.api)
        forge.set_status(COMMIT, SUCCESS)
        for number in range(130):
            server.statuses.insert(
                0,
                {
                    "id": 1000 + number,
                    "sha": COMMIT,
                    "state": "pending",
                    "context": f"ci/{number}",
                    "description": "x",
                },
            )
        shown = forge.status(COMMIT, CONTEXT)
        assert shown is not None
        assert (shown.state, shown.description) == (SUCCESS.state, SUCCESS.description)
        assert forge.status(COMMIT, "gitops-mc/another") is None
        forge.close()


def test_github_takes_only_so_many_statuses_of_a_commit_and_says_so() -> None:
    with running(GithubServer(limit=2)) as server:
        forge = github(server.api)
        forge.set_status(COMMIT, PENDING)
        forge.set_status(COMMIT, SUCCESS)
        with pytest.raises(InvalidError, match="has reached the maximum number of statuses") as caught:
            forge.set_status(COMMIT, PENDING)
        assert caught.value.status == 422


def test_a_description_is_as_long_as_github_takes_and_no_longer() -> None:
    with running(GithubServer()) as server:
        github(server.api).set_status(COMMIT, status(CommitState.SUCCESS, "é" * 140))
    with pytest.raises(ValueError, match="140"):
        status(CommitState.SUCCESS, "x" * 141)


def test_an_enterprise_server_has_its_api_below_a_path() -> None:
    with running(GithubServer(prefix="/api/v3")) as server:
        github(server.api).set_status(COMMIT, SUCCESS)
        assert server.peer.seen[0].target == f"/api/v3/repos/{PROJECT}/statuses/{COMMIT}"


# ----------------------------------------------------------------------------------------------------------- GitHub Apps


def test_an_app_signs_in_once_and_sets_statuses_with_the_token_that_it_got() -> None:
    app = servers.App()
    with running(GithubServer(app=app)) as server:
        forge = github(server.api, App(app.number, app.installation, app.key))
        forge.set_status(COMMIT, PENDING)
        forge.set_status(COMMIT, SUCCESS)
        path = f"/app/installations/{app.installation}/access_tokens"
        assert server.calls() == [f"POST {path}", f"POST {COMMIT}", f"POST {COMMIT}"]


def test_an_app_whose_token_ends_signs_in_again() -> None:
    app = servers.App(expires="2020-01-01T00:00:00Z")
    with running(GithubServer(app=app)) as server:
        forge = github(server.api, App(app.number, app.installation, app.key))
        forge.set_status(COMMIT, PENDING)
        forge.set_status(COMMIT, SUCCESS)
        assert len(server.peer.seen) == 4


@pytest.mark.parametrize(
    "key", ["geheim", "-----BEGIN RSA PRIVATE KEY-----\ngeheim\n-----END RSA PRIVATE KEY-----\n"]
)
def test_what_is_no_key_of_an_app_is_told_without_showing_it(key: str) -> None:
    with pytest.raises(UsageError) as caught:
        github("https://127.0.0.1:1", App(1, 2, key))
    assert "geheim" not in f"{caught.value} {caught.value.hint} {caught.value.__cause__}"


def test_an_answer_to_an_app_that_is_none_is_translated() -> None:
    app = servers.App()
    with running(GithubServer(app=app)) as server:
        server.first.append(answer(201, {"token": 7}))
        with pytest.raises(InvalidError, match="not the API of the forge"):
            github(server.api, App(app.number, app.installation, app.key)).set_status(COMMIT, PENDING)


# --------------------------------------------------------------------------------------------------------------- sockets


@pytest.mark.parametrize("make", [github, gitlab])
def test_a_certificate_that_nobody_trusted_signed_says_which_field_to_set(make: MADE) -> None:
    with serving(Peer(), "here.pem") as peer:
        for ca in (None, TLS / "other-ca.crt"):
            with pytest.raises(UnreachableError, match="not signed by") as caught:
                make(peer.url, ca=ca).status(COMMIT, CONTEXT)
            assert caught.value.hint.endswith("spec.forge.caRef")
        assert peer.seen == []


@pytest.mark.parametrize("make", [github, gitlab])
def test_a_forge_that_never_answers_is_given_up(make: MADE) -> None:
    with (
        raw(_hang) as url,
        pytest.raises(UnreachableError, match=r"no answer within 1 s"),
    ):
        make(url, timeout=1).set_status(COMMIT, PENDING)


@pytest.mark.parametrize("make", [github, gitlab])
def test_a_forge_that_drips_is_given_up(make: MADE) -> None:
    with raw(_drip) as url, pytest.raises(UnreachableError):
        make(url, timeout=1).set_status(COMMIT, PENDING)


@pytest.mark.parametrize("make", [github, gitlab])
def test_nobody_there_and_an_answer_that_breaks_off_are_not_reached(make: MADE) -> None:
    with pytest.raises(UnreachableError, match="connection refused"):
        make(f"http://127.0.0.1:{_free()}").status(COMMIT, CONTEXT)
    for cut in (b"", b"HTTP/1.1 201 Created\r\nContent-Length: 900\r\n\r\n{"):
        with raw(lambda c, cut=cut: _cut(c, cut)) as url, pytest.raises(UnreachableError):  # type: ignore[misc]
            make(url).set_status(COMMIT, PENDING)


def _hang(connection: socket.socket) -> None:
    while connection.recv(4096):
        pass


def _drip(connection: socket.socket) -> None:
    connection.recv(4096)
    connection.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 900\r\n\r\n")
    connection.settimeout(0.1)
    while True:
        connection.sendall(b" ")
        try:
            if not connection.recv(4096):
                return
        except TimeoutError:
            continue


def _cut(connection: socket.socket, answer: bytes) -> None:
    connection.recv(65536)
    connection.sendall(answer)


def _free() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def test_nothing_is_asked_of_netrc(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login mei password geheim\n")
    monkeypatch.setenv("NETRC", str(netrc))
    case.forge.set_status(COMMIT, SUCCESS)
    assert json.loads(case.server.peer.seen[0].body)["description"] == SUCCESS.description
    assert "Basic" not in case.server.peer.seen[0].headers.get("authorization", "")
