"""Pull requests of the forges on loopback, as strict as their documentation; what is asked otherwise is told to the test.

Written from the public references (GitHub REST, "Pulls", "Issue comments", "Collaborators"; GitLab, "Merge requests API", "Notes API",
"Members API"; Gitea's swagger), not from our adapters.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from gitops_mc.app.ports import Response
from tests.adapters.forge_servers import (
    AskedWronglyError,
    GiteaServer,
    GithubServer,
    GitlabServer,
    answer,
    members,
)
from tests.adapters.kube_peers import Seen

ME = "gitops-bot"
IDS = {ME: 99, "mei": 1, "ann": 2, "bob": 3, "eve": 4}


@dataclass
class Pull:
    """One pull request."""

    number: int
    head: str
    author: str | None = "mei"
    title: str = "More time servers"
    branch: str = "feature"
    onto: str = "main"
    fork: bool = False
    draft: bool = False
    open: bool = True
    touched: int = 0
    """Grows with everything that happens to it."""

    @property
    def updated(self) -> str:
        return f"2026-01-01T{self.touched // 3600:02d}:{self.touched // 60 % 60:02d}:{self.touched % 60:02d}Z"


@dataclass
class Comment:
    number: int
    pull: int
    author: str
    body: str


@dataclass
class Pulls:
    """What all three have: pull requests, comments, and who may what."""

    pulls: dict[int, Pull] = field(default_factory=dict)
    comments: list[Comment] = field(default_factory=list)
    rights: dict[str, str] = field(default_factory=lambda: {"mei": "write", "ann": "admin", "bob": "read"})
    locked: set[int] = field(default_factory=set)
    edits: list[tuple[int, str]] = field(default_factory=list)
    longest: int = 65_536
    largest_page: int = 100
    next_comment: int = 1000

    def put(self, pull: Pull) -> Pull:
        self.pulls[pull.number] = pull
        return self.touch(pull)

    def touch(self, pull: Pull) -> Pull:
        pull.touched = 1 + max(p.touched for p in self.pulls.values())
        return pull

    def said_by(self, author: str, pull: int, body: str) -> Comment:
        """Somebody comments."""
        self.next_comment += 1
        comment = Comment(self.next_comment, pull, author, body)
        self.comments.append(comment)
        if pull in self.pulls:
            self.touch(self.pulls[pull])
        return comment

    def of_pull(self, number: int) -> list[Comment]:
        return [c for c in self.comments if c.pull == number]

    def newest_first(self, onto: str | None) -> list[Pull]:
        there = [p for p in self.pulls.values() if p.open and onto in {None, p.onto}]
        return sorted(there, key=lambda p: -p.touched)

    def edit(self, comment: Comment, body: str) -> Comment:
        comment.body = body
        self.edits.append((comment.number, body))
        self.touch(self.pulls[comment.pull])
        return comment


def queried(seen: Seen, known: set[str], needs: frozenset[str] | set[str] = frozenset()) -> dict[str, str]:
    """What the address asks for: each of it once, and nothing that the forge does not know."""
    found = parse_qs(urlsplit(seen.target).query, keep_blank_values=True)
    if not needs <= found.keys() <= known:
        raise AskedWronglyError(f"asked for {sorted(found)}")
    if any(len(values) != 1 for values in found.values()):
        raise AskedWronglyError("asked twice")
    return {name: values[0] for name, values in found.items()}


def must(seen: Seen, method: str) -> None:
    if seen.method != method:
        raise AskedWronglyError(f"{method} is what it takes")
    if method == "GET" and seen.body:
        raise AskedWronglyError("a body with GET")


def user(name: str | None) -> dict[str, Any] | None:
    return None if name is None else {"login": name, "id": IDS.get(name, 50 + len(name)), "type": "User"}


@dataclass
class GithubPullServer(Pulls, GithubServer):
    """GitHub's."""

    etags: int = 0
    """Answers that nothing had changed."""

    def asked(self, seen: Seen) -> Response:
        path = urlsplit(seen.target).path.removeprefix(self.prefix)
        root = f"/repos/{self.project}"
        if path == "/user":
            return self._user(seen)
        if path == "/app" and self.app is not None:
            return answer(200, {"id": self.app.number, "slug": "gitops"})
        if path == f"{root}/pulls":
            return self._list(seen)
        if match := re.fullmatch(rf"{root}/pulls/(\d+)", path):
            must(seen, "GET")
            queried(seen, set())
            pull = self.pulls.get(int(match[1]))
            return self._gone() if pull is None else answer(200, self._pull(pull))
        if match := re.fullmatch(rf"{root}/issues/(\d+)/comments", path):
            return self._of_issue(seen, int(match[1]))
        if match := re.fullmatch(rf"{root}/issues/comments/(\d+)", path):
            return self._edit(seen, int(match[1]))
        if match := re.fullmatch(rf"{root}/collaborators/([^/]+)/permission", path):
            return self._permission(seen, unquote(match[1]))
        return super().asked(seen)

    def authorised(self, seen: Seen) -> None:
        if self.app is not None and urlsplit(seen.target).path.removeprefix(self.prefix) == "/app":
            if not seen.token or seen.token == self.app.token:
                raise AskedWronglyError("an App says who it is by its own token")
            return
        super().authorised(seen)

    def _user(self, seen: Seen) -> Response:
        must(seen, "GET")
        queried(seen, set())
        if self.app is not None:
            return answer(403, {"message": "Resource not accessible by integration"})
        return answer(200, user(ME))

    def _gone(self) -> Response:
        return answer(404, {"message": "Not Found", "status": "404"})

    def _list_query(self, seen: Seen) -> tuple[int, int, str]:
        asked = queried(seen, {"state", "base", "sort", "direction", "per_page", "page"}, {"state", "base"})
        if (asked["state"], asked.get("sort"), asked.get("direction")) != ("open", "updated", "desc"):
            raise AskedWronglyError(f"which, and in which order? {asked}")
        return int(asked.get("page", "1")), int(asked.get("per_page", "30")), asked["base"]

    def _list(self, seen: Seen) -> Response:
        must(seen, "GET")
        page, size, onto = self._list_query(seen)
        return self._paged(seen, [self._pull(p) for p in self.newest_first(onto)], page, size)

    def _paged(self, seen: Seen, every: list[Any], page: int, size: int) -> Response:
        size = min(size, self.largest_page)
        shown = every[size * (page - 1) : size * page]
        headers = {}
        if size * page < len(every):
            headers["link"] = (
                f'<{self.api}/somewhere?page={page + 1}>; rel="next", <{self.api}/x>; rel="last"'
            )
        headers["etag"] = f'"{hashlib.sha256(json.dumps([shown, headers]).encode()).hexdigest()}"'
        if seen.headers.get("if-none-match") == headers["etag"]:
            self.etags += 1
            return Response(304, b"", {"etag": headers["etag"]})
        return answer(200, shown, **headers)

    def _of_issue(self, seen: Seen, number: int) -> Response:
        if number not in self.pulls:
            return self._gone()
        if seen.method == "POST":
            queried(seen, set())
            return self._create_comment(seen, number)
        must(seen, "GET")
        asked = queried(seen, {"per_page", "page", "since"})
        every = [self._comment(c) for c in self.of_pull(number)]
        return self._paged(seen, every, int(asked.get("page", "1")), int(asked.get("per_page", "30")))

    def _create_comment(self, seen: Seen, number: int) -> Response:
        body = members(seen, {"body"}, set())["body"]
        if number in self.locked:
            return answer(403, {"message": "Unable to create comment because issue is locked."})
        if len(body) > self.longest:
            return answer(422, {"message": "Validation Failed", "errors": [{"message": "body is too long"}]})
        return answer(201, self._comment(self.said_by(self.my_name(), number, body)))

    def _edit(self, seen: Seen, number: int) -> Response:
        must(seen, "PATCH")
        queried(seen, set())
        body = members(seen, {"body"}, set())["body"]
        comment = next((c for c in self.comments if c.number == number), None)
        if comment is None:
            return self._gone()
        if comment.author != self.my_name():
            raise AskedWronglyError("a comment of somebody else")
        if len(body) > self.longest:
            return answer(422, {"message": "Validation Failed"})
        return answer(200, self._comment(self.edit(comment, body)))

    def _permission(self, seen: Seen, name: str) -> Response:
        must(seen, "GET")
        queried(seen, set())
        if name not in IDS:
            return answer(404, {"message": f"{name} is not a user"})
        return answer(200, {"permission": self.rights.get(name, "none"), "user": user(name)})

    def my_name(self) -> str:
        return ME if self.app is None else "gitops[bot]"

    def _comment(self, comment: Comment) -> dict[str, Any]:
        return {"id": comment.number, "body": comment.body, "user": user(comment.author)}

    def _pull(self, pull: Pull) -> dict[str, Any]:
        here = {"id": 7, "full_name": self.project}
        there = {"id": 8, "full_name": f"{pull.author}/fleet"} if pull.fork else here
        return {
            "number": pull.number,
            "id": 10_000 + pull.number,
            "title": pull.title,
            "state": "open" if pull.open else "closed",
            "user": user(pull.author),
            "draft": pull.draft,
            "updated_at": pull.updated,
            "head": {"ref": pull.branch, "sha": pull.head, "repo": there},
            "base": {"ref": pull.onto, "sha": "b" * 40, "repo": here},
        }


@dataclass
class GiteaPullServer(GithubPullServer, GiteaServer):
    """Gitea's and Forgejo's: what differs from GitHub."""

    prefix: str = "/api/v1"
    largest_page: int = 50
    asked_by_admin: bool = True

    def _list_query(self, seen: Seen) -> tuple[int, int, str]:
        asked = queried(seen, {"state", "base_branch", "sort", "limit", "page"}, {"state", "base_branch"})
        if (asked["state"], asked.get("sort")) != ("open", "recentupdate"):
            raise AskedWronglyError(f"which, and in which order? {asked}")
        return int(asked.get("page", "1")), int(asked.get("limit", "30")), asked["base_branch"]

    def _paged(self, seen: Seen, every: list[Any], page: int, size: int) -> Response:
        """Without ETags; and all comments at once, whatever it is asked for."""
        if "/comments" in seen.target:
            return answer(200, every)
        found = super()._paged(seen, every, page, size)
        return Response(found.status, found.body, {k: v for k, v in found.headers.items() if k != "etag"})

    def _permission(self, seen: Seen, name: str) -> Response:
        if not self.asked_by_admin:
            return answer(403, {"message": "Only admins can query all permissions"})
        return super()._permission(seen, name)


@dataclass
class GitlabPullServer(Pulls, GitlabServer):
    """GitLab's."""

    longest: int = 1_000_000
    rights: dict[str, str] = field(default_factory=lambda: {"mei": "30", "ann": "40", "bob": "20"})

    def asked(self, seen: Seen) -> Response:
        below = urlsplit(seen.target).path.removeprefix(self.prefix)
        if below == "/user":
            must(seen, "GET")
            return answer(200, {"id": IDS[ME], "username": ME})
        project, _, rest = below.removeprefix("/projects/").partition("/")
        if "/" in project or unquote(project) != self.project:
            return answer(404, {"message": "404 Project Not Found"})
        if rest == "merge_requests":
            return self._merge_requests(seen)
        if match := re.fullmatch(r"merge_requests/(\d+)", rest):
            must(seen, "GET")
            pull = self.pulls.get(int(match[1]))
            return answer(404, {"message": "404 Not found"}) if pull is None else answer(200, self._mr(pull))
        if match := re.fullmatch(r"merge_requests/(\d+)/notes", rest):
            return self._notes(seen, int(match[1]))
        if match := re.fullmatch(r"merge_requests/(\d+)/notes/(\d+)", rest):
            return self._edit_note(seen, int(match[1]), int(match[2]))
        if match := re.fullmatch(r"members/all/(\d+)", rest):
            return self._member(seen, int(match[1]))
        return super().asked(seen)

    def _merge_requests(self, seen: Seen) -> Response:
        must(seen, "GET")
        known = {"state", "target_branch", "order_by", "sort", "per_page", "page"}
        asked = queried(seen, known, {"state", "target_branch"})
        if (asked["state"], asked.get("order_by"), asked.get("sort")) != ("opened", "updated_at", "desc"):
            raise AskedWronglyError(f"which, and in which order? {asked}")
        return self._page(asked, [self._mr(p) for p in self.newest_first(asked["target_branch"])])

    def _page(self, asked: dict[str, str], every: list[Any]) -> Response:
        size, page = min(100, int(asked.get("per_page", "20"))), int(asked.get("page", "1"))
        return answer(200, every[size * (page - 1) : size * page])

    def _notes(self, seen: Seen, number: int) -> Response:
        if number not in self.pulls:
            return answer(404, {"message": "404 Not found"})
        if seen.method == "POST":
            body = self._body(seen)
            if isinstance(body, Response):
                return body
            if number in self.locked:
                return answer(403, {"message": "403 Forbidden"})
            return answer(201, self._note(self.said_by(ME, number, body)))
        must(seen, "GET")
        asked = queried(seen, {"order_by", "sort", "per_page", "page"})
        every = [self._note(c) for c in self.of_pull(number)]
        return self._page(asked, every if asked.get("sort") == "asc" else every[::-1])

    def _edit_note(self, seen: Seen, number: int, note: int) -> Response:
        must(seen, "PUT")
        body = self._body(seen)
        if isinstance(body, Response):
            return body
        comment = next((c for c in self.of_pull(number) if c.number == note), None)
        if comment is None:
            return answer(404, {"message": "404 Note Not Found"})
        if comment.author != ME:
            raise AskedWronglyError("a note of somebody else")
        return answer(200, self._note(self.edit(comment, body)))

    def _body(self, seen: Seen) -> str | Response:
        queried(seen, set())
        body: str = members(seen, {"body"}, set())["body"]
        if len(body) > self.longest:
            return answer(400, {"message": {"note": ["is too long (maximum is 1000000 characters)"]}})
        return body

    def _member(self, seen: Seen, number: int) -> Response:
        must(seen, "GET")
        name = next((n for n, i in IDS.items() if i == number), "")
        if name not in self.rights:
            return answer(404, {"message": "404 Not found"})
        level = int(self.rights[name])
        return answer(200, {"id": number, "username": name, "state": "active", "access_level": level})

    def _note(self, comment: Comment) -> dict[str, Any]:
        author = {"id": IDS[comment.author], "username": comment.author}
        return {"id": comment.number, "body": comment.body, "author": author, "system": False}

    def _mr(self, pull: Pull) -> dict[str, Any]:
        author = {"id": IDS.get(pull.author or "", 77), "username": pull.author} if pull.author else None
        return {
            "id": 10_000 + pull.number,
            "iid": pull.number,
            "title": pull.title,
            "state": "opened" if pull.open else "merged",
            "author": author,
            "sha": pull.head or None,
            "source_branch": pull.branch,
            "target_branch": pull.onto,
            "source_project_id": 8 if pull.fork else 7,
            "target_project_id": 7,
            "draft": pull.draft,
            "updated_at": pull.updated,
        }


PullServer = GithubPullServer | GitlabPullServer
SERVERS: dict[str, type[GithubPullServer | GitlabPullServer]] = {
    "github": GithubPullServer,
    "gitlab": GitlabPullServer,
    "gitea": GiteaPullServer,
}
