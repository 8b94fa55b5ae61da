"""Merge requests of GitLab: the `PullRequests` port over python-gitlab."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from gitops_mc.adapters.forge_errors import TIMEOUT, needing, translated
from gitops_mc.adapters.forge_gitlab import GitlabForge
from gitops_mc.adapters.forge_pulls import (
    COMMENTS,
    PULL_RIGHTS,
    Said,
    comment_of,
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
_PULLS: Final = 20
"""On a page: a stranger decides how long each of them is, a megabyte at most."""
_PAGES_AT_MOST: Final = 40
_DEVELOPER, _MAINTAINER = 30, 40
"""Access levels (GitLab's Members API)."""


class GitlabPulls(GitlabForge):
    """GitLab's."""

    longest_comment = 1_000_000
    """GitLab says characters; bytes are never fewer."""

    def __init__(self, place: Place, token: str, ca: Path | None, timeout: int = TIMEOUT) -> None:
        """As of a GitlabForge."""
        super().__init__(place, token, ca, timeout)
        self._path = f"/projects/{quote(place.project, safe='')}"
        self._me = 0

    def open_pulls(self, onto: str) -> OpenPulls:
        """As the port promises."""
        asked = {"state": "opened", "target_branch": onto, "order_by": "updated_at", "sort": "desc"}
        found: dict[int, PullRequest] = {}
        more = True
        for page in range(1, _PAGES_AT_MOST + 1):
            entries = self._page(f"{self._path}/merge_requests", page, asked, _PULLS)
            for pull in (self._pull(told) for told in entries if self._has_commits(told)):
                if pull.base_branch == onto:  # one that moves up meanwhile stands on two pages
                    found.setdefault(pull.number, pull)
            more = len(entries) >= _PULLS
            if not more or len(found) > MOST_PULLS:
                break
        pulls = tuple(found.values())
        return OpenPulls(pulls[:MOST_PULLS], more=more or len(pulls) > MOST_PULLS)

    def _has_commits(self, told: Any) -> bool:
        """A merge request of an empty branch has no head."""
        return not isinstance(told, dict) or told.get("sha", "") is not None

    def _pull(self, told: Any) -> PullRequest:
        said = Said(self._host, told, "a merge request")
        author = said.inner_or_none("author")
        return PullRequest(
            number=said.number("iid"),
            title=said.text("title"),
            author="" if author is None else author.text("username"),
            author_id=0 if author is None else author.number("id"),
            head=said.commit("sha"),
            head_branch=said.branch("source_branch"),
            base_branch=said.branch("target_branch"),
            fork=said.number_or_none("source_project_id") != said.number("target_project_id"),
            draft=said.flag("draft", "work_in_progress"),
            updated=said.text("updated_at"),
        )

    def pull(self, number: int) -> PullRequest | None:
        """As the port promises."""
        try:
            told = self._get(f"{self._path}/merge_requests/{number}", {})
        except NotFoundError:
            return None
        opened = Said(self._host, told, "a merge request").text("state") == "opened"
        return self._pull(told) if opened and self._has_commits(told) else None

    def standing(self, pull: PullRequest) -> Standing:
        """As the port promises. Who may not ask for that does not know it."""
        if not pull.author_id:
            return Standing.OUTSIDE
        try:
            told = self._get(f"{self._path}/members/all/{pull.author_id}", {})
        except NotFoundError:
            return Standing.OUTSIDE
        except ForbiddenError:
            return Standing.NOT_KNOWN
        said = Said(self._host, told, "a member")
        level = said.number_or_none("access_level") or 0
        if said.text("state") != "active" or level < _DEVELOPER:
            return Standing.OUTSIDE
        return Standing.ADMINISTERS if level >= _MAINTAINER else Standing.WRITES

    def comment(self, number: int, fleet: str) -> PullComment | None:
        """As the port promises."""
        me = self._myself()
        found = []
        for told in self._notes(number):
            said = Said(self._host, told, "a note")
            author = said.inner_or_none("author")
            by_us = author is not None and author.number("id") == me and not said.flag("system")
            found.append((by_us, comment_of(self._host, told)))
        return ours(found, fleet)

    def _notes(self, number: int) -> Iterator[Any]:
        asked = {"order_by": "created_at", "sort": "asc"}
        for page in range(1, COMMENTS // _PAGE + 1):
            entries = self._page(f"{self._path}/merge_requests/{number}/notes", page, asked, _PAGE)
            yield from entries
            if len(entries) < _PAGE:
                return
        raise too_many_comments(self._host, number)

    def add_comment(self, number: int, body: str) -> PullComment:
        """As the port promises."""
        with needing(PULL_RIGHTS), translated(self._host):
            path = f"{self._path}/merge_requests/{number}/notes"
            told = self._gitlab.http_post(path, post_data={"body": body})
        return comment_of(self._host, told)

    def edit_comment(self, number: int, comment: PullComment, body: str) -> PullComment:
        """As the port promises."""
        with needing(PULL_RIGHTS), translated(self._host):
            path = f"{self._path}/merge_requests/{number}/notes/{comment.number}"
            told = self._gitlab.http_put(path, post_data={"body": body})
        return comment_of(self._host, told)

    def _myself(self) -> int:
        if not self._me:
            self._me = Said(self._host, self._get("/user", {}), "a user").number("id")
        return self._me

    def _page(self, path: str, page: int, asked: dict[str, str], size: int) -> list[Any]:
        return many(self._host, self._get(path, {**asked, "per_page": str(size), "page": str(page)}))

    def _get(self, path: str, asked: dict[str, str]) -> Any:
        with needing(PULL_RIGHTS), translated(self._host):
            return self._gitlab.http_get(path, query_data=asked)
