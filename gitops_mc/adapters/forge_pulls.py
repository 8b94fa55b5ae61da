"""Reading what forges say of pull requests, whoever's forge it is. Nothing of it is believed: a type that is not the documented one
is no answer of a forge.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from gitops_mc.adapters.forge_errors import not_the_api
from gitops_mc.app.pull_ports import PullComment
from gitops_mc.core.custom.pull_comment import has_marker
from gitops_mc.core.errors import GitopsMcError
from gitops_mc.core.model import Commit

COMMENTS: Final = 3_000
"""Comments of one pull request that are looked through; GitHub takes 2,500."""
NOT_MODIFIED: Final = 304
PULL_RIGHTS: Final = "give it a token that may read and comment on the pull requests of this project"
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_LOGIN: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}")
_LONGEST_TITLE: Final = 500
_LONGEST_BRANCH: Final = 1_000


class Said:
    """One object of a forge's answer, asked for its members one by one. Raises InvalidError for one that is of another type."""

    def __init__(self, host: str, said: Any, what: str) -> None:
        if not isinstance(said, Mapping):
            raise not_the_api(host, 200, f"{what} is no object")
        self._host, self._said, self._what = host, said, what

    def wrong(self, name: str) -> Exception:
        """To be raised for a member."""
        return not_the_api(self._host, 200, f"{name} of {self._what}")

    def number(self, name: str) -> int:
        """At least 1."""
        found = self._said.get(name)
        if not isinstance(found, int) or isinstance(found, bool) or found < 1:
            raise self.wrong(name)
        return found

    def number_or_none(self, name: str) -> int | None:
        """None: it says null, or nothing."""
        return None if self._said.get(name) is None else self.number(name)

    def text(self, name: str, longest: int = _LONGEST_TITLE) -> str:
        """Cut to a length."""
        found = self._said.get(name)
        if not isinstance(found, str):
            raise self.wrong(name)
        return found[:longest]

    def whole_text(self, name: str) -> str:
        """All of it; empty where there is none."""
        found = self._said.get(name)
        if found is not None and not isinstance(found, str):
            raise self.wrong(name)
        return found or ""

    def branch(self, name: str) -> str:
        return self.text(name, _LONGEST_BRANCH)

    def flag(self, *names: str) -> bool:
        """The first that is there; none is no."""
        found = next((self._said[n] for n in names if self._said.get(n) is not None), False)
        if not isinstance(found, bool):
            raise self.wrong(names[0])
        return found

    def commit(self, name: str) -> Commit:
        found = self._said.get(name)
        if not isinstance(found, str) or not _COMMIT.fullmatch(found):
            raise self.wrong(name)
        return Commit(found)

    def inner(self, name: str) -> Said:
        return Said(self._host, self._said.get(name), f"{name} of {self._what}")

    def inner_or_none(self, name: str) -> Said | None:
        """None: it says null, or nothing."""
        return None if self._said.get(name) is None else self.inner(name)


def many(host: str, said: Any) -> list[Any]:
    """A list of an answer; a forge that says null has none. Raises InvalidError."""
    if said is None:
        return []
    if not isinstance(said, list):
        raise not_the_api(host, 200, "no list")
    return said


def comment_of(host: str, told: Any) -> PullComment:
    """One of an answer. Raises InvalidError."""
    said = Said(host, told, "a comment")
    return PullComment(said.number("id"), said.whole_text("body"))


def login(name: str) -> str:
    """Somebody's name, where it can stand in a path; empty for one that cannot: apps (`renovate[bot]`) may nothing as themselves."""
    return name if _LOGIN.fullmatch(name) else ""


def ours(found: list[tuple[bool, PullComment]], fleet: str) -> PullComment | None:
    """The oldest comment that is by us and begins as ours for a Fleet do."""
    mine = [comment for by_us, comment in found if by_us and has_marker(comment.body, fleet)]
    return min(mine, key=lambda comment: comment.number, default=None)


def too_many_comments(host: str, number: int) -> GitopsMcError:
    """Ours may be among them: another one would be one too many."""
    return GitopsMcError(
        f"{host} shows more comments on pull request {number} than are looked through ({COMMENTS})",
        hint="close it, and open another one",
    )
