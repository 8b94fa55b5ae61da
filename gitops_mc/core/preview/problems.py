"""Which problems a pull request brings, which were there before, and which it solves."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from gitops_mc.core.model import Problem, Severity

_INDEX: Final = re.compile(r"\[\d+\]")
_LINE: Final = re.compile(r"(\.ya?ml):\d+(:\d+)?")


@dataclass(frozen=True, slots=True)
class Compared:
    """Each by place. Of one that both sides have, head's."""

    new: tuple[Problem, ...]
    old: tuple[Problem, ...]
    solved: tuple[Problem, ...]


def compare_problems(before: Sequence[Problem], after: Sequence[Problem]) -> Compared:
    """By rule, file, field and message. Lines shift, and so do positions in lists: where two are the same but for these, they are
    one.
    """
    left, coming, old = list(before), list(after), []
    for identity in (_exactly, _but_for_positions):
        left, coming, matched = _matched(left, coming, identity)
        old += matched
    return Compared(_by_place(coming), _by_place(old), _by_place(left))


def only_merged(
    base: Sequence[Problem], head: Sequence[Problem], merged: Sequence[Problem]
) -> tuple[Problem, ...]:
    """Errors that only merging brings: each side is fine, and both together are not."""
    errors = [p for p in merged if p.severity is Severity.ERROR]
    return compare_problems(base, compare_problems(head, errors).new).new


def _matched(
    before: Sequence[Problem], after: Sequence[Problem], identity: Callable[[Problem], tuple[str, ...]]
) -> tuple[list[Problem], list[Problem], list[Problem]]:
    """Those of before and of after that have no partner, and those of after that have one."""
    waiting: dict[tuple[str, ...], list[Problem]] = defaultdict(list)
    for problem in before:
        waiting[identity(problem)].append(problem)
    unmatched, matched = [], []
    for problem in after:
        partners = waiting[identity(problem)]
        if partners:
            partners.pop(0)
            matched.append(problem)
        else:
            unmatched.append(problem)
    return [p for partners in waiting.values() for p in partners], unmatched, matched


def _exactly(problem: Problem) -> tuple[str, ...]:
    message = _LINE.sub(r"\1", problem.message)
    place = problem.place.file
    return (problem.rule, place, problem.field, message, str(problem.scope), problem.severity.value)


def _but_for_positions(problem: Problem) -> tuple[str, ...]:
    rule, place, field, message, *rest = _exactly(problem)
    return (rule, place, _INDEX.sub("[]", field), _INDEX.sub("[]", message), *rest)


def _by_place(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted(problems, key=Problem.sort_key))
