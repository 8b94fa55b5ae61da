"""An import: drafts that are tried out, and written in another way, or left out, until the rest leaves the cluster as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from gitops_mc.core.authoring.choosing import Choice
from gitops_mc.core.authoring.drafts import Draft, FreePaths, NewFile
from gitops_mc.core.authoring.faithful import Checked
from gitops_mc.core.authoring.picking import LeftOut, Picked
from gitops_mc.core.authoring.secrets import Secret, secrets_in
from gitops_mc.core.authoring.writing import Style, draft_of
from gitops_mc.core.diff import Adopt, ClusterDiff, Delete
from gitops_mc.core.diff.changes import Change, Refused
from gitops_mc.core.model import Problem, ResourceKey
from gitops_mc.core.policy import Sensitive


class Secrets(Enum):
    """What becomes of objects that hold what looks like a secret."""

    WRITE = "write"
    LEAVE_OUT = "leave-out"


@dataclass(frozen=True, slots=True)
class Brought:
    """One object that is written."""

    picked: Picked
    draft: Draft
    style: Style
    why_verbatim: str = ""
    """Why its contents are data URLs."""


@dataclass(frozen=True, slots=True)
class Import:
    """What an import writes, and what it leads to."""

    cluster: str
    brought: tuple[Brought, ...]
    left_out: tuple[LeftOut, ...]
    secrets: tuple[Secret, ...]
    """Of what is written."""
    problems: tuple[Problem, ...]
    """Errors that block the cluster afterwards, and are of no object that is written."""
    diff: ClusterDiff | None
    """What the rollout would do to the cluster then; None where nothing is written."""

    @property
    def files(self) -> tuple[NewFile, ...]:
        """Payload before the manifests that name it."""
        found = [file for brought in self.brought for file in brought.draft.files]
        manifests = {brought.draft.manifest.path for brought in self.brought}
        return tuple(sorted(found, key=lambda file: (file.path in manifests, file.path)))

    @property
    def keys(self) -> frozenset[ResourceKey]:
        return frozenset(brought.picked.key for brought in self.brought)

    @property
    def adopted(self) -> int:
        """Objects of it that the rollout takes note of; it changes nothing about them."""
        changes = self.diff.changes if self.diff is not None else ()
        return sum(1 for c in changes if isinstance(c, Adopt) and c.key in self.keys)

    @property
    def beside(self) -> tuple[Change | Refused, ...]:
        """What the rollout would do, or refuses to do, because of what the repository has for this cluster already."""
        if self.diff is None:
            return ()
        found: list[Change | Refused] = [c for c in self.diff.changes if not isinstance(c, Delete)]
        found += self.diff.refusals
        return tuple(one for one in found if one.key not in self.keys)


Trial = Callable[[tuple[Draft, ...], Mapping[ResourceKey, Picked]], Checked]
"""The repository with these drafts in it, read and held against the live cluster."""


def bring(
    cluster: str,
    choice: Choice,
    *,
    taken: Iterable[str],
    sensitive: Sensitive,
    secrets: Secrets,
    contents: Style,
    trial: Trial,
) -> Import:
    """Write the contents of each object as asked for; verbatim where that would change something; not at all where that would,
    too.
    """
    picked, left_out, found = _sort_out_secrets(choice, sensitive, secrets)
    why: dict[ResourceKey, str] = {}
    standing = tuple(taken)
    while True:
        brought = _drafted(picked, why, found, FreePaths(standing), contents)
        if not brought:
            return Import(cluster, (), _in_order(left_out), (), (), None)
        by_key = {one.key: one for one in picked}
        checked = trial(tuple(one.draft for one in brought), by_key)
        if not checked.wrong:
            break
        gone = [LeftOut(key, reason) for key, reason in checked.wrong.items() if key in why]
        why |= {key: reason for key, reason in checked.wrong.items() if key not in why}
        left_out += gone
        picked = [one for one in picked if one.key not in {left.key for left in gone}]
    kept = {one.picked.key for one in brought}
    told = tuple(secret for key, secret_list in found.items() if key in kept for secret in secret_list)
    return Import(cluster, brought, _in_order(left_out), told, checked.problems, checked.diff)


def _sort_out_secrets(
    choice: Choice, sensitive: Sensitive, secrets: Secrets
) -> tuple[list[Picked], list[LeftOut], dict[ResourceKey, tuple[Secret, ...]]]:
    found = {one.key: secrets_in(one.key, one.body, sensitive) for one in choice.picked}
    if secrets is Secrets.WRITE:
        return list(choice.picked), list(choice.left_out), found
    left = [
        LeftOut(key, f"it may hold a secret: {', '.join(secret.place for secret in said)}")
        for key, said in found.items()
        if said
    ]
    picked = [one for one in choice.picked if not found[one.key]]
    return picked, [*choice.left_out, *left], {one.key: () for one in picked}


def _drafted(
    picked: list[Picked],
    why: Mapping[ResourceKey, str],
    secrets: Mapping[ResourceKey, tuple[Secret, ...]],
    paths: FreePaths,
    contents: Style,
) -> tuple[Brought, ...]:
    found = []
    for one in picked:
        style = Style.VERBATIM if one.key in why else contents
        private = frozenset(secret.name for secret in secrets[one.key] if secret.name)
        found.append(Brought(one, draft_of(one, style, paths, private), style, why.get(one.key, "")))
    return tuple(found)


def _in_order(left_out: list[LeftOut]) -> tuple[LeftOut, ...]:
    return tuple(sorted(left_out, key=lambda left: left.key))
