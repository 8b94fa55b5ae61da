"""What a preview promises of one cluster, and what a later plan does beyond that.

In it are the writes that change a value, what is refused, and what happens to the nodes of each pool. Out of it stay how many
nodes there are, their names, times, and versions of objects: they move by themselves, and nobody approved them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, assert_never

from gitops_mc.core.diff import ABSENT, Adopt, Change, Create, Delete, Update
from gitops_mc.core.model import ResourceKey, count, digest_of
from gitops_mc.core.plan.steps import ClusterPlan, PoolImpact, Refusal

MOST_MARKS: Final = 200
"""Lines of a promise that are kept one by one; of more, only whether they are the same."""
MOST_REFUSALS: Final = 10
LONGEST_REFUSAL: Final = 150
_MARK: Final = 8
_VALUE: Final = 12
_DIGEST: Final = re.compile(rf" \([0-9a-f]{{{_VALUE}}}\)")
"""What tells values apart is not told: a short secret could be guessed from it."""
_SHOWN: Final = 6


@dataclass(frozen=True, slots=True)
class Promise:
    """What was shown, small enough to be remembered."""

    whole: str
    """Digest of all its lines."""
    marks: tuple[str, ...] = ()
    """The beginning of each line's digest, ordered; none where there are more than MOST_MARKS."""
    refusals: tuple[str, ...] = ()
    """What was refused, in words: it tells what is no longer."""


NOTHING: Final = Promise(digest_of([]))
"""That nothing changes."""


def promise_of(plan: ClusterPlan) -> Promise:
    """What a plan promises whoever looks at it."""
    lines = tuple(_lines(plan))
    marks = tuple(sorted({_mark(line) for line in lines}))
    refusals = tuple(_refusal(r)[:LONGEST_REFUSAL] for r in plan.refusals[:MOST_REFUSALS])
    return Promise(digest_of(sorted(set(lines))), marks if len(marks) <= MOST_MARKS else (), refusals)


def beyond(promised: Promise, plan: ClusterPlan) -> tuple[str, ...]:
    """What a plan does that was not promised, a sentence each; empty: nothing. To do less than was promised is to keep it: an
    object that is as wanted by now is not written, and a node that has the config already does not move. A refusal that is gone lets
    through what nobody expected, and counts.
    """
    lines = tuple(dict.fromkeys(_lines(plan)))
    if digest_of(sorted(lines)) == promised.whole:
        return ()
    if not promised.marks and promised.whole != NOTHING.whole:
        other = (
            f"{count(len(lines), 'change')}, and not those that were shown; there are too many to name them"
        )
        return (other,) if lines else ()
    known = set(promised.marks)
    more = [line for line in lines if _mark(line) not in known]
    here = {_refusal(r)[:LONGEST_REFUSAL] for r in plan.refusals}
    more += [f"no longer refused: {r}" for r in promised.refusals if r not in here]
    rest = [f"and {len(more) - _SHOWN} more"] if len(more) > _SHOWN else []
    return (*(_DIGEST.sub("", line) for line in more[:_SHOWN]), *rest)


def _lines(plan: ClusterPlan) -> Iterator[str]:
    for write in plan.writes:
        yield from _write(write)
    for refusal in plan.refusals:
        yield _refusal(refusal)
    if plan.unforeseen:
        yield f"what happens to nodes is not known: {plan.unforeseen}"
    for impact in plan.impacts:
        yield from _pool(impact)


def _write(write: Change) -> Iterator[str]:
    named = _named(write.key)
    match write:
        case Adopt():
            return  # no value changes
        case Create():
            yield f"{named} is created ({write.digest[:_VALUE]})"
        case Update():
            for field in write.fields:
                after = "removed" if field.after is ABSENT else f"set ({digest_of(field.after)[:_VALUE]})"
                yield f"{named}: {field.path} is {after}"
        case Delete():
            yield f"{named} is deleted"
        case _:
            assert_never(write)


def _pool(impact: PoolImpact) -> Iterator[str]:
    yield from (f"pool {impact.pool}: {change}" for change in impact.changes)
    actions = {str(action) for node in impact.nodes for action in node.disruption.actions}
    yield from (f"pool {impact.pool}: nodes go through: {action}" for action in sorted(actions))
    causes = {
        f"{cause.entry} {cause.change.value} asks for {', '.join(map(str, cause.actions))}"
        for node in impact.nodes
        for cause in node.disruption.causes
    }
    yield from (f"pool {impact.pool}: {cause}" for cause in sorted(causes))


def _refusal(refusal: Refusal) -> str:
    of = "" if refusal.key is None else f" of {_named(refusal.key)}"
    return f"{refusal.rule}{of}"


def _named(key: ResourceKey) -> str:
    return f"{key.kind.value} {key.name}"


def _mark(line: str) -> str:
    return digest_of(line)[:_MARK]
