"""Pull requests of GitHub and GitHub Enterprise, Gitea and Forgejo: the `PullRequests` port over PyGithub.

The paths are the same. What differs: Gitea calls the sizes and orders of lists otherwise, gives all comments of a pull request at
once, and tells the rights of others to administrators of the repository only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from gitops_mc.adapters.forge_errors import TIMEOUT, needing, translated
from gitops_mc.adapters.forge_github import Access, App, GithubForge, app_auth, client
from gitops_mc.adapters.forge_pulls import (
    COMMENTS,
    NOT_MODIFIED,
    PULL_RIGHTS,
    Said,
    comment_of,
    login,
    many,
    ours,
    too_many_comments,
)
from gitops_mc.app.pull_ports import MOST_PULLS, OpenPulls, PullComment
from gitops_mc.core.custom.forge_spec import Place
from gitops_mc.core.custom.pull_request import PullRequest, Standing
from gitops_mc.core.errors import ForbiddenError, NotFoundError

if TYPE_CHECKING:
    from pathlib import Path

_PAGE: Final = 100
_PULLS: Final = 30
"""On a page: a stranger decides how long each of them is."""
_PAGES_AT_MOST: Final = 40
"""Of pull requests; a forge may give fewer on a page than it was asked for."""
_STANDINGS: Final = {
    "admin": Standing.ADMINISTERS,
    "owner": Standing.ADMINISTERS,
    "write": Standing.WRITES,
    "read": Standing.OUTSIDE,
    "none": Standing.OUTSIDE,
}


@dataclass(frozen=True, slots=True)
class _Listed:
    """One page of a list, as the forge says it."""

    entries: list[Any]
    more: bool = False
    mark: str = ""
    """The forge's word for this state of it."""
    same: bool = False
    """It is as it was."""


@dataclass(frozen=True, slots=True)
class _Page:
    """What was read of one."""

    pulls: tuple[PullRequest, ...]
    more: bool
    mark: str


class GithubPulls(GithubForge):
    """GitHub's."""

    longest_comment = 65_536
    """GitHub says characters; bytes are never fewer."""

    def __init__(self, place: Place, access: Access, ca: Path | None, timeout: int = TIMEOUT) -> None:
        """As of a GithubForge."""
        super().__init__(place, access, ca, timeout)
        self._place, self._access, self._ca, self._timeout = place, access, ca, timeout
        self._me = ""
        self._known: dict[tuple[str, int], _Page] = {}
        """Pages of pull requests as they were read last, by branch."""

    # ------------------------------------------------------------------------------------------------ pull requests

    def open_pulls(self, onto: str) -> OpenPulls:
        """As the port promises. What has not changed since it was asked for last costs none of GitHub's rate limit."""
        found: dict[int, PullRequest] = {}
        more, known = True, {}
        for page in range(1, _PAGES_AT_MOST + 1):
            asked = {"state": "open", **self._asked_for(onto), "page": str(page)}
            before = self._known.get((onto, page))
            listed = self._listed(f"{self._path}/pulls", asked, "" if before is None else before.mark)
            read = before if before is not None and listed.same else self._read(listed, onto)
            if read.mark:
                known[onto, page] = read
            for pull in read.pulls:  # one that moves up meanwhile stands on two pages
                found.setdefault(pull.number, pull)
            more = read.more
            if not more or len(found) > MOST_PULLS:
                break
        self._known = known
        pulls = tuple(found.values())
        return OpenPulls(pulls[:MOST_PULLS], more=more or len(pulls) > MOST_PULLS)

    def _asked_for(self, onto: str) -> dict[str, str]:
        return {"base": onto, "sort": "updated", "direction": "desc", "per_page": str(_PULLS)}

    def _read(self, listed: _Listed, onto: str) -> _Page:
        pulls = tuple(pull for pull in map(self._pull, listed.entries) if pull.base_branch == onto)
        return _Page(pulls, listed.more, listed.mark)

    def _listed(self, path: str, asked: dict[str, str], mark: str = "") -> _Listed:
        """One page of a list; `mark`: what the forge called the state of it that is known."""
        headers = {"If-None-Match": mark} if mark else {}
        with needing(PULL_RIGHTS), translated(self._host):
            status, said, text = self._github.requester.requestJson(
                "GET", path, parameters=asked, headers=headers
            )
            if mark and status == NOT_MODIFIED:
                return _Listed([], same=True)
            entries = many(self._host, json.loads(text) if text.strip() else None)
        more = 'rel="next"' in str(said.get("link") or "")
        return _Listed(entries, more=more, mark=str(said.get("etag") or ""))

    def _pull(self, told: Any) -> PullRequest:
        said = Said(self._host, told, "a pull request")
        head, base = said.inner("head"), said.inner("base")
        author = said.inner_or_none("user")
        from_, to = head.inner_or_none("repo"), base.inner("repo")
        return PullRequest(
            number=said.number("number"),
            title=said.text("title"),
            author="" if author is None else author.text("login"),
            author_id=0 if author is None else author.number("id"),
            head=head.commit("sha"),
            head_branch=head.branch("ref"),
            base_branch=base.branch("ref"),
            fork=from_ is None or from_.number("id") != to.number("id"),
            draft=said.flag("draft"),
            updated=said.text("updated_at"),
        )

    def pull(self, number: int) -> PullRequest | None:
        """As the port promises."""
        try:
            with needing(PULL_RIGHTS):
                told = self._ask("GET", f"{self._path}/pulls/{number}")
        except NotFoundError:
            return None
        if Said(self._host, told, "a pull request").text("state") != "open":
            return None
        return self._pull(told)

    def standing(self, pull: PullRequest) -> Standing:
        """As the port promises. Who may not ask for that does not know it."""
        if not (name := login(pull.author)):
            return Standing.OUTSIDE
        try:
            told = self._ask("GET", f"{self._path}/collaborators/{quote(name)}/permission")
        except ForbiddenError:
            return Standing.NOT_KNOWN
        except NotFoundError:
            return Standing.OUTSIDE
        said = Said(self._host, told, "a permission").text("permission")
        return _STANDINGS.get(said, Standing.OUTSIDE)

    # ----------------------------------------------------------------------------------------------------- comments

    def comment(self, number: int, fleet: str) -> PullComment | None:
        """As the port promises."""
        me = self._myself()
        found = []
        for told in self._comments(number):
            author = Said(self._host, told, "a comment").inner_or_none("user")
            by_us = author is not None and author.text("login") == me
            found.append((by_us, comment_of(self._host, told)))
        return ours(found, fleet)

    def _comments(self, number: int) -> Iterator[Any]:
        """Gitea gives all of them at once."""
        seen = 0
        for page in range(1, COMMENTS // _PAGE + 1):
            asked = {"per_page": str(_PAGE), "page": str(page)}
            listed = self._listed(f"{self._path}/issues/{number}/comments", asked)
            yield from listed.entries
            seen += len(listed.entries)
            if not listed.more:
                return
            if seen >= COMMENTS:
                break
        raise too_many_comments(self._host, number)

    def add_comment(self, number: int, body: str) -> PullComment:
        """As the port promises."""
        with needing(PULL_RIGHTS):
            told = self._ask("POST", f"{self._path}/issues/{number}/comments", input={"body": body})
        return comment_of(self._host, told)

    def edit_comment(self, number: int, comment: PullComment, body: str) -> PullComment:  # noqa: ARG002 - the port's signature
        """As the port promises."""
        with needing(PULL_RIGHTS):
            path = f"{self._path}/issues/comments/{comment.number}"
            told = self._ask("PATCH", path, input={"body": body})
        return comment_of(self._host, told)

    def _myself(self) -> str:
        """Whose the token is. The name of an App's is its own: it cannot ask for its user."""
        if not self._me:
            with needing(PULL_RIGHTS):
                self._me = self._app() if isinstance(self._access, App) else self._user()
        return self._me

    def _user(self) -> str:
        return Said(self._host, self._ask("GET", "/user"), "a user").text("login")

    def _app(self) -> str:
        assert isinstance(self._access, App)
        itself = app_auth(self._access.app, self._access.key)
        github = client(self._place.api, itself, self._ca, self._timeout)
        try:
            with translated(self._host):
                _, told = github.requester.requestJsonAndCheck("GET", "/app")
        finally:
            github.close()
        return f"{Said(self._host, told, 'an App').text('slug')}[bot]"


class GiteaPulls(GithubPulls):
    """Gitea's and Forgejo's."""

    longest_comment = 65_535
    """Neither has a limit of its own; databases that were made by old versions keep no more bytes."""

    def _asked_for(self, onto: str) -> dict[str, str]:
        return {"base_branch": onto, "sort": "recentupdate", "limit": str(_PULLS)}
