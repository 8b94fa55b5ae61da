"""Forges on loopback, as strict as their documentation: what they are not asked in just this way they refuse, and tell the test.

Written from the public references (GitHub REST, "Commit statuses" and "Apps"; GitLab, "Commits API" and how its jobs change their
state; Gitea's swagger), not from our adapters.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from gitops_mc.app.ports import Response
from gitops_mc.core.model import Commit
from tests.adapters.kube_peers import TLS, Peer, Seen, serving

CA = TLS / "ca.crt"
COMMIT = Commit("0123456789abcdef0123456789abcdef01234567")
OTHER = Commit("89abcdef0123456789abcdef0123456789abcdef")
TOKEN = "s3cr3t-t0k3n-0f-th3-f0rg3"
PROJECT = "acme/fleet"
JSON_TYPE = {"content-type": "application/json; charset=utf-8"}


class AskedWronglyError(Exception):
    """Something that the forge's documentation does not have."""


def answer(status: int, body: Any = None, **headers: str) -> Response:
    """One in JSON; header names with _ for -."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(status, b"" if body is None else json.dumps(body).encode(), {**JSON_TYPE, **named})


@dataclass
class ForgeServer:
    """What all have in common: a project, commits, statuses; and answers that come first, whatever is asked."""

    project: str = PROJECT
    commits: set[str] = field(default_factory=lambda: {COMMIT, OTHER})
    statuses: list[dict[str, Any]] = field(default_factory=list)
    """Oldest first."""
    taken: list[tuple[str, str, str]] = field(default_factory=list)
    """Commit, state and description of all that was taken, in the order in which it came."""
    first: deque[Response] = field(default_factory=deque)
    wrong: list[str] = field(default_factory=list)
    peer: Peer = field(default_factory=Peer)
    prefix: str = ""

    @property
    def api(self) -> str:
        return f"{self.peer.url}{self.prefix}"

    def calls(self) -> list[str]:
        """`POST 0123…`: what was asked of which commit."""
        found = (re.search(r"[0-9a-f]{40}", seen.target) for seen in self.peer.seen)
        return [
            f"{seen.method} {match[0]}" if match else f"{seen.method} {seen.target}"
            for seen, match in zip(self.peer.seen, found, strict=True)
        ]

    def handle(self, seen: Seen) -> Response:
        try:
            self.authorised(seen)
            if self.first:
                return self.first.popleft()
            return self.asked(seen)
        except AskedWronglyError as error:
            self.wrong.append(f"{seen.method} {seen.target}: {error}")
            return answer(418, {"message": str(error)})

    def authorised(self, seen: Seen) -> None:
        raise NotImplementedError

    def asked(self, seen: Seen) -> Response:
        raise NotImplementedError

    def of(self, commit: str) -> list[dict[str, Any]]:
        return [s for s in self.statuses if s["sha"] == commit]

    def told(self, commit: str) -> list[tuple[str, str]]:
        """State and description of all that was set of a commit, in the order in which it came."""
        return [(state, text) for of, state, text in self.taken if of == commit]

    def shown(self, commit: str = COMMIT) -> list[tuple[str, str]]:
        """State and description of every status of a commit, oldest first."""
        return [(s["state"], s["description"]) for s in self.of(commit)]


def members(seen: Seen, needs: set[str], may: set[str]) -> dict[str, Any]:
    """The body of a request, an object of texts with these members and no other."""
    if not seen.headers.get("content-type", "").startswith("application/json"):
        raise AskedWronglyError("not in JSON")
    body = json.loads(seen.body)
    if not needs <= body.keys() <= needs | may:
        raise AskedWronglyError(f"members {sorted(body)}")
    if not all(isinstance(value, str) for value in body.values()):
        raise AskedWronglyError("a member that is no text")
    return dict(body)


@dataclass
class GithubServer(ForgeServer):
    """github.com's API, or an Enterprise Server's below /api/v3."""

    app: App | None = None
    limit: int = 1000
    """Statuses of a commit and context."""

    def authorised(self, seen: Seen) -> None:
        if self.app is not None and seen.target.endswith("/access_tokens"):
            return
        token = TOKEN if self.app is None else self.app.token
        if seen.headers.get("authorization") not in {f"token {token}", f"Bearer {token}"}:
            raise AskedWronglyError("no such token")
        if not seen.headers.get("user-agent", "").startswith("gitops-mc/"):
            raise AskedWronglyError("who asks?")

    def asked(self, seen: Seen) -> Response:
        path = urlsplit(seen.target).path.removeprefix(self.prefix)
        if self.app is not None and path == f"/app/installations/{self.app.installation}/access_tokens":
            return self.app.signed_in(seen)
        if match := re.fullmatch(rf"/repos/{self.project}/statuses/(\w+)", path):
            return self._create(seen, match[1])
        if match := re.fullmatch(rf"/repos/{self.project}/commits/(\w+)/status", path):
            return self._combined(seen, match[1])
        return answer(404, {"message": "Not Found", "status": "404"})

    def _create(self, seen: Seen, commit: str) -> Response:
        if seen.method != "POST":
            raise AskedWronglyError("statuses are created by POST")
        body = members(seen, {"state", "context", "description"}, {"target_url"})
        if body["state"] not in {"error", "failure", "pending", "success"}:
            return self._invalid("state is not included in the list")
        if len(body["description"]) > 140:
            return self._invalid("description is too long (maximum is 140 characters)")
        if commit not in self.commits:
            return answer(422, {"message": f"No commit found for SHA: {commit}", "status": "422"})
        if sum(1 for s in self.of(commit) if s["context"] == body["context"]) >= self.limit:
            return self._invalid("This SHA and context has reached the maximum number of statuses.")
        self.taken.append((commit, body["state"], body["description"]))
        self.statuses.append({"id": len(self.statuses) + 1, "sha": commit, **body})
        return answer(201, self._shown(self.statuses[-1]))

    def _combined(self, seen: Seen, commit: str) -> Response:
        if seen.method != "GET" or not parse_qs(urlsplit(seen.target).query).keys() <= {
            "per_page",
            "page",
            "limit",
        }:
            raise AskedWronglyError("not how a combined status is read")
        if commit not in self.commits:
            return self._no_commit(commit)
        latest = {s["context"]: s for s in self.of(commit)}
        every = [self._shown(s) for s in latest.values()]
        asked = {name: int(said[0]) for name, said in parse_qs(urlsplit(seen.target).query).items()}
        size = min(asked.get("limit", 30), asked.get("per_page", 30), 50)
        first = size * (asked.get("page", 1) - 1)
        told = self._all(commit, every)
        if told.get("statuses"):
            told["statuses"] = every[first : first + size] or None
        return answer(200, told)

    def _all(self, commit: str, found: list[dict[str, Any]]) -> dict[str, Any]:
        return {"state": "pending", "sha": commit, "total_count": len(found), "statuses": found}

    def _shown(self, status: dict[str, Any]) -> dict[str, Any]:
        return {
            "id": status["id"],
            "state": status["state"],
            "context": status["context"],
            "description": status["description"],
        }

    def _no_commit(self, commit: str) -> Response:
        return answer(422, {"message": f"No commit found for SHA: {commit}"})

    def _invalid(self, message: str) -> Response:
        errors = [{"resource": "Status", "code": "custom", "message": message}]
        return answer(422, {"message": "Validation Failed", "errors": errors, "status": "422"})


@dataclass
class App:
    """A GitHub App that is installed, and the token that its key gets."""

    number: int = 17
    installation: int = 4711
    token: str = "ghs_0fTheAppAndForAnHour0000"
    expires: str = "2099-01-01T00:00:00Z"

    def __post_init__(self) -> None:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        plain = serialization.NoEncryption()
        form = serialization.PrivateFormat.TraditionalOpenSSL
        self.key = key.private_bytes(serialization.Encoding.PEM, form, plain).decode()
        self._public = key.public_key()

    def signed_in(self, seen: Seen) -> Response:
        if seen.method != "POST" or not seen.headers.get("authorization", "").startswith("Bearer "):
            raise AskedWronglyError("an App signs in by POST with its JWT")
        claims = jwt.decode(seen.token, self._public, algorithms=["RS256"])
        if str(claims["iss"]) != str(self.number) or claims["exp"] - claims["iat"] > 600:
            raise AskedWronglyError(f"claims {claims}")
        return answer(
            201, {"token": self.token, "expires_at": self.expires, "permissions": {"statuses": "write"}}
        )


@dataclass
class GiteaServer(GithubServer):
    """Gitea and Forgejo: what differs from GitHub."""

    prefix: str = "/api/v1"

    def _shown(self, status: dict[str, Any]) -> dict[str, Any]:
        shown = super()._shown(status)
        return {"status": shown.pop("state"), "target_url": status.get("target_url", ""), **shown}

    def _all(self, commit: str, found: list[dict[str, Any]]) -> dict[str, Any]:
        return super()._all(commit, found) | {"statuses": found or None}

    def _no_commit(self, commit: str) -> Response:
        return answer(404, {"message": f"object does not exist [id: {commit}, rel_path: ]"})


_WAYS = {"pending": {"created"}, "running": {"created", "pending"}}
"""From where GitLab lets a job become so; every end can be reached from all of them, and left for none."""
_EVENTS = {"pending": "enqueue", "running": "run"}
_OPEN = ("created", "pending", "running")


@dataclass
class GitlabServer(ForgeServer):
    """GitLab: a status is a job of a pipeline."""

    prefix: str = "/api/v4"

    def authorised(self, seen: Seen) -> None:
        if seen.headers.get("private-token") != TOKEN:
            raise AskedWronglyError("no such token")

    def asked(self, seen: Seen) -> Response:
        path = urlsplit(seen.target).path.removeprefix(f"{self.prefix}/projects/")
        project, _, rest = path.partition("/")
        if "/" in project or unquote(project) != self.project:
            return answer(404, {"message": "404 Project Not Found"})
        if match := re.fullmatch(r"statuses/(\w+)", rest):
            return self._set(seen, match[1])
        if match := re.fullmatch(r"repository/commits/(\w+)/statuses", rest):
            return self._list(seen, match[1])
        return answer(404, {"error": "404 Not Found"})

    def _set(self, seen: Seen, commit: str) -> Response:
        if seen.method != "POST":
            raise AskedWronglyError("statuses are set by POST")
        body = members(seen, {"state", "name", "description"}, {"target_url"})
        if body["state"] not in {"pending", "running", "success", "failed", "canceled", "skipped"}:
            return answer(400, {"error": "state does not have a valid value"})
        if len(body["description"]) > 255:
            return answer(400, {"message": {"description": ["is too long (maximum is 255 characters)"]}})
        if commit not in self.commits:
            return answer(404, {"message": "404 Commit Not Found"})
        job = next((s for s in self.of(commit) if s["name"] == body["name"] and s["state"] in _OPEN), None)
        before = "created" if job is None else job["state"]
        if before not in _WAYS.get(body["state"], set(_OPEN)):
            event = _EVENTS[body["state"]]
            told = f'Cannot transition status via :{event} from :{before} (Reason(s): Status cannot transition via "{event}")'
            return answer(400, {"message": told})
        if job is None:
            job = {"id": len(self.statuses) + 1, "sha": commit}
            self.statuses.append(job)
        self.taken.append((commit, body["state"], body["description"]))
        job |= body
        return answer(201, self._shown(job))

    def _list(self, seen: Seen, commit: str) -> Response:
        query = parse_qs(urlsplit(seen.target).query)
        if seen.method != "GET" or not query.keys() <= {"name", "ref", "stage", "all", "page", "per_page"}:
            raise AskedWronglyError(f"not how statuses are listed: {query}")
        if commit not in self.commits:
            return answer(404, {"message": "404 Commit Not Found"})
        named = [s for s in self.of(commit) if [s["name"]] == query.get("name", [s["name"]])]
        latest = {s["name"]: s for s in named}
        return answer(200, [self._shown(s) for s in latest.values()])

    def _shown(self, job: dict[str, Any]) -> dict[str, Any]:
        return {
            "id": job["id"],
            "status": job["state"],
            **{k: job.get(k) for k in ("sha", "name", "description", "target_url")},
        }


@contextmanager
def running(server: ForgeServer) -> Iterator[ForgeServer]:
    """The forge, behind TLS; in the end nothing has been asked of it that it does not have."""
    server.peer.answer = server.handle
    with serving(server.peer, "here.pem"):
        yield server
    assert server.wrong == []
