"""Where a followed branch or tag stands on a server, by what the server advertises: nothing is fetched for that."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from gitops_mc.adapters.git_client import GitClient
from gitops_mc.core.errors import SourceError

_HEADS: Final = "refs/heads/"
_TAGS: Final = "refs/tags/"
_PEELED: Final = "^{}"
COMMIT_ID: Final = re.compile(r"[0-9a-f]{40}")
_NAME: Final = re.compile(r"(?!-|/|.*(?:\.\.|//|@\{|/\.|\.lock(?:/|$)))[^\x00-\x20\x7f~^:?*\[\\]+(?<![/.])")


@dataclass(frozen=True, slots=True)
class Standing:
    """Where the followed name stands on the server."""

    name: str
    target: str


def checked_name(ref: str) -> str:
    """A name that can be followed, or none for the default branch. Raises SourceError for any other."""
    if COMMIT_ID.fullmatch(ref):
        raise SourceError("a commit cannot be followed, it never moves", hint="name a branch or a tag")
    if ref and not _NAME.fullmatch(ref):
        raise SourceError(
            f"{ref[:80]!r} is no name of a branch or a tag", hint="write it as git branch shows it"
        )
    return ref


def look(git: GitClient, ref: str) -> Standing:
    """Where the followed name stands now, by what the server advertises; nothing is fetched."""
    names: tuple[str, ...] = ("HEAD",)
    if not ref:
        found = git.advertised(*names)
    elif ref.startswith("refs/"):
        only = ("--heads",) if ref.startswith(_HEADS) else ("--tags",) if ref.startswith(_TAGS) else ()
        found = git.advertised(ref, only=only)
        names = (ref,)
    else:
        names = (_HEADS + ref, _TAGS + ref)
        found = git.advertised(*names, only=("--heads", "--tags"))
    there = [name for name in names if name in found.refs]
    if len(there) > 1:
        raise SourceError(
            f"{git.address.url}: {ref} is a branch and a tag", hint=f"write {' or '.join(there)}"
        )
    if not there:
        raise _missing(git, ref)
    target = found.refs[there[0]]
    if not COMMIT_ID.fullmatch(target):
        raise SourceError(
            f"{git.address.url}: the repository uses SHA-256 object names, which are not supported",
            hint="use a repository with SHA-1 names, as forges make by default",
        )
    return Standing(found.head or there[0], target)


def _missing(git: GitClient, ref: str) -> SourceError:
    there = git.advertised(only=("--heads", "--tags")).refs
    short = sorted(
        name.removeprefix(_HEADS).removeprefix(_TAGS) for name in there if not name.endswith(_PEELED)
    )
    if not short:
        return SourceError(
            f"{git.address.url}: the repository has no commits yet", hint="push something to it"
        )
    close = get_close_matches(ref, short, n=3)
    hint = f"did you mean {', '.join(close)}?" if close else f"there are {', '.join(short[:10])}"
    shown = f"no branch or tag {ref}; it was deleted or renamed" if ref else "no default branch"
    return SourceError(f"{git.address.url}: there is {shown}", hint=hint)
