"""What is brought to a forge, and when: passes and polls leave notes, jobs bring them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from gitops_mc.app.controller.commit_notes import KEPT_AT_MOST, REWORDED_EVERY
from gitops_mc.app.controller.commits_told import CommitsTold
from gitops_mc.app.controller.forge_patience import AGAIN_FIRST, AGAIN_LAST, MENDED_WITHIN
from gitops_mc.app.forge_ports import Forge, ForgeWell, NoForge
from gitops_mc.app.looks import Look
from gitops_mc.core.custom.commit_status import CommitState, CommitStatus, of_superseded
from gitops_mc.core.custom.shown import Pulled, RefusedCommit
from gitops_mc.core.errors import (
    GitopsMcError,
    InvalidError,
    NotFoundError,
    ThrottledError,
    UnauthorizedError,
    UnreachableError,
    UsageError,
)
from gitops_mc.core.model import Commit
from gitops_mc.core.policy import DEFAULT_POLICY
from gitops_mc.core.rollout.inputs import Fleet
from gitops_mc.core.rollout.memory import FleetMemory
from gitops_mc.core.rollout.moves import ClusterView, Decision, Done, Halted, Outlook, Standing, Wait

FLEET = "gitops-mc/prod"
A, B, C = (Commit(letter * 40) for letter in "abc")
STATES = {Wait: "pending", Done: "success", Halted: "failure"}


@dataclass
class MemoryForge:
    """A forge in memory; what it is asked stands in `calls`."""

    rewords: bool = True
    held: dict[Commit, CommitStatus] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    down: GitopsMcError | None = None
    unwanted: dict[Commit, GitopsMcError] = field(default_factory=dict)
    meanwhile: Callable[[], object] | None = None
    """What happens while it is asked."""

    def status(self, commit: Commit, context: str) -> CommitStatus | None:
        assert context == "gitops-mc/prod"
        self._asked(f"read {commit[0]}", commit)
        return self.held.get(commit)

    def set_status(self, commit: Commit, status: CommitStatus) -> None:
        self._asked(f"{status.state} {commit[0]}", commit)
        self.held[commit] = status

    def close(self) -> None:
        pass

    def _asked(self, call: str, commit: Commit) -> None:
        self.calls.append(call)
        if self.meanwhile is not None:
            self.meanwhile()
        if error := self.down or self.unwanted.get(commit):
            raise error


@dataclass
class World:
    """A process with its notes, a forge, and a clock."""

    forge: MemoryForge = field(default_factory=MemoryForge)
    leads: bool = True
    named: bool = True
    """The Fleet names a forge."""
    read: bool = True
    """The Fleet has been read."""
    gone: int = 0
    """How often its forge was left."""
    fault: Exception | None = None
    """Of ours, in making the forge."""
    now: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    heard: list[str] = field(default_factory=list)
    """What was told of the forge."""
    secret: str = "nothing"
    """What is sensitive in the fleet."""

    def __post_init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """A process begins; whatever another one knew is lost."""
        self.board = CommitsTold(self, lambda: self.leads, self._heard, self._redact, lambda: self.now)

    def __call__(self, fleet: str) -> Forge | NoForge:
        """The forges of Fleets are opened here."""
        assert fleet == FLEET
        if self.fault is not None:
            raise self.fault
        if not self.read:
            return NoForge.NOT_KNOWN
        return self.forge if self.named else NoForge.NONE_NAMED

    def leave(self, fleet: str) -> None:
        """And left."""
        assert fleet == FLEET
        self.gone += 1

    def _heard(self, fleet: str, told: GitopsMcError | ForgeWell) -> None:
        assert fleet == FLEET
        self.heard.append(told.message if isinstance(told, GitopsMcError) else told.name.lower())

    def _redact(self, text: str) -> str:
        return text.replace(self.secret, "[hidden]")

    def look(self, commit: Commit, outlook: Outlook, *, passed: int = 0, unread: int = 0) -> None:
        standings = [Standing.PASSED] * passed + [Standing.NOT_KNOWN] * unread
        standings += [Standing.READY] * (3 - len(standings))
        views = tuple(
            ClusterView(f"edge-{n}", "rest", standing, "", None, "", (), None, begun=False)
            for n, standing in enumerate(standings)
        )
        decision = Decision((), outlook, views, (), frozenset())
        self.board.looked(
            FLEET, Look(self.now, decision, FleetMemory(), (), (), Fleet(DEFAULT_POLICY, (), commit))
        )

    def poll(self, refused: RefusedCommit | None = None, before: Commit = Commit("")) -> None:  # noqa: B008 - a text
        @dataclass
        class Asked:
            pulled: Pulled
            before: Commit

        self.board.polled(FLEET, Asked(Pulled(refused=refused), before))

    def work(self, after: timedelta = timedelta()) -> list[str]:
        """What the forge is asked once this time has gone by."""
        self.now += after
        self.forge.calls.clear()
        for job in self.board.jobs().values():
            job()
        return list(self.forge.calls)


@pytest.fixture
def world() -> World:
    return World()


ROLLING, DONE, HALTED = Wait("rolls"), Done("done"), Halted("edge-0 failed")


def test_a_status_is_set_once_and_the_next_state_at_once(world: World) -> None:
    world.look(A, ROLLING)
    assert world.work() == ["read a", "pending a"]
    world.look(A, ROLLING)
    assert world.work() == []
    world.look(A, DONE, passed=3)
    assert world.work() == ["success a"]
    world.look(A, DONE, passed=3)
    assert world.work(timedelta(days=1)) == []


def test_other_words_for_the_same_state_wait(world: World) -> None:
    world.look(A, ROLLING)
    world.work()
    world.look(A, ROLLING, passed=1)
    assert world.work(REWORDED_EVERY / 2) == []
    world.look(A, ROLLING, passed=2)
    assert world.work(REWORDED_EVERY / 2) == ["pending a"]
    assert world.forge.held[A].description == "2 of 3 clusters have it"


def test_where_the_forge_takes_no_other_words_it_is_not_asked_to(world: World) -> None:
    world.forge.rewords = False
    world.look(A, ROLLING)
    world.work()
    for passed in (1, 2):
        world.look(A, ROLLING, passed=passed)
        assert world.work(REWORDED_EVERY) == []
    world.look(A, HALTED, passed=2)
    assert world.work() == ["failure a"]


def test_a_pass_that_has_not_read_all_clusters_does_not_say_how_far_it_is(world: World) -> None:
    world.look(A, ROLLING, passed=2)
    world.work()
    world.look(A, ROLLING, unread=3)
    assert world.work(REWORDED_EVERY) == []


def test_a_process_that_begins_reads_what_stands_and_does_not_repeat_it(world: World) -> None:
    world.look(A, DONE, passed=3)
    world.work()
    world.begin()
    world.look(A, DONE, passed=3)
    assert world.work() == ["read a"]
    assert world.work(timedelta(days=1)) == []


def test_a_success_is_taken_back_by_a_failure_and_by_nothing_else(world: World) -> None:
    world.look(A, DONE, passed=3)
    world.work()
    world.begin()
    world.look(A, ROLLING, passed=1, unread=2)
    assert world.work() == ["read a"]
    world.look(A, ROLLING, passed=2)
    assert world.work(timedelta(days=1)) == []
    world.look(A, HALTED, passed=2)
    assert world.work() == ["failure a"]
    world.look(A, ROLLING, passed=2)
    assert world.work() == ["pending a"]


# ---------------------------------------------------------------------------------------------------- another commit


def test_a_commit_that_another_one_overtakes_is_not_left_pending(world: World) -> None:
    world.look(A, ROLLING)
    world.work()
    world.look(B, ROLLING)
    assert world.work() == ["error a", "read b", "pending b"]
    assert world.forge.held[A].says(of_superseded(B, "prod"))
    assert world.work(timedelta(days=1)) == []


@pytest.mark.parametrize("end", [DONE, HALTED], ids=["done", "halted"])
def test_what_has_come_of_a_commit_stays_when_another_one_takes_over(world: World, end: Outlook) -> None:
    world.look(A, end, passed=3)
    world.look(B, ROLLING)
    assert world.work() == ["read a", f"{STATES[type(end)]} a", "read b", "pending b"]
    assert world.work(timedelta(days=1)) == []


@pytest.mark.parametrize(
    ("state", "calls"),
    [(CommitState.PENDING, ["read a", "error a"]), (CommitState.SUCCESS, ["read a"]), (None, ["read a"])],
)
def test_a_process_ends_what_the_one_before_left_pending(
    world: World, state: CommitState | None, calls: list[str]
) -> None:
    if state is not None:
        world.forge.held[A] = CommitStatus(state, "gitops-mc/prod", "x")
    world.poll(before=A)
    world.look(B, ROLLING)
    assert world.work() == [*calls, "read b", "pending b"]


def test_a_process_that_goes_on_with_the_commit_of_the_one_before_ends_nothing(world: World) -> None:
    world.poll(before=A)
    world.look(A, ROLLING)
    assert world.work() == ["read a", "pending a"]


def test_a_commit_that_comes_back_is_followed_again(world: World) -> None:
    for commit in (A, B, A):
        world.look(commit, ROLLING)
        world.work()
    assert {c: s.state.value for c, s in world.forge.held.items()} == {A: "pending", B: "error"}


def test_a_refused_commit_fails_while_the_one_before_goes_on(world: World) -> None:
    world.look(A, ROLLING)
    world.poll(RefusedCommit(B, "is not accepted: nobody has signed it"))
    assert world.work() == ["read a", "pending a", "read b", "failure b"]
    assert world.forge.held[B].description == "this commit is not accepted: nobody has signed it"
    for _ in range(3):  # every poll says so again
        world.poll(RefusedCommit(B, "is not accepted: nobody has signed it"))
    assert world.work(timedelta(days=1)) == []
    world.look(C, ROLLING)
    assert world.work() == ["error a", "read c", "pending c"]
    assert world.forge.held[B].state is CommitState.FAILURE


def test_a_refused_commit_that_is_accepted_after_all_is_followed(world: World) -> None:
    world.look(A, DONE, passed=3)
    world.poll(RefusedCommit(B, "is not accepted: nobody has signed it"))
    world.work()
    world.poll()
    world.look(B, ROLLING)
    assert world.work() == ["pending b"]


def test_a_commit_that_is_followed_and_then_refused_fails_once_and_stays_so(world: World) -> None:
    world.look(A, DONE, passed=3)
    world.work()
    asked: list[str] = []
    for _ in range(3):  # its signer is taken out: it stays what is followed, and is refused by every poll
        world.poll(RefusedCommit(A, "is not accepted: nobody who may has signed it"))
        asked += world.work(timedelta(minutes=1))
        world.look(A, DONE, passed=3)
        asked += world.work(timedelta(minutes=1))
    assert asked == ["failure a"]
    world.poll()  # and put in again
    world.look(A, DONE, passed=3)
    assert world.work() == ["success a"]


def test_a_commit_that_is_refused_where_it_is_followed_still_overtakes_the_one_before(world: World) -> None:
    world.poll(RefusedCommit(B, "is not accepted: nobody has signed it"), before=A)
    world.forge.held[A] = CommitStatus(CommitState.PENDING, "gitops-mc/prod", "x")
    world.look(B, ROLLING)
    assert world.work() == ["read b", "failure b", "read a", "error a"]


def test_only_so_many_commits_are_kept(world: World) -> None:
    for number in range(KEPT_AT_MOST * 3):
        world.look(Commit(f"{number:040x}"), ROLLING)
    assert len(world.board._fleets[FLEET].notes.commits) <= KEPT_AT_MOST + 1


# ---------------------------------------------------------------------------------------------------------- trouble


def test_a_forge_that_is_down_is_asked_ever_more_seldom_and_told_of_once(world: World) -> None:
    world.forge.down = UnreachableError("git.example.com: connection refused")
    world.look(A, ROLLING)
    assert world.work() == ["read a"]
    waits = []
    for _ in range(8):
        waited = timedelta()
        while not world.work(timedelta(seconds=10)):
            waited += timedelta(seconds=10)
        waits.append(waited + timedelta(seconds=10))
    assert waits[0] == AGAIN_FIRST
    assert waits[1] == AGAIN_FIRST * 2
    assert waits[-1] == AGAIN_LAST
    assert world.heard == ["git.example.com: connection refused"]
    world.forge.down = None
    assert world.work(AGAIN_LAST) == ["read a", "pending a"]
    assert world.heard[1:] == ["takes_again"]


def test_what_happened_meanwhile_is_told_when_it_is_back_and_nothing_in_between(world: World) -> None:
    world.forge.down = UnreachableError("down")
    for commit in (A, B, C):
        world.look(commit, ROLLING)
        world.work()
    world.forge.down = None
    world.look(C, DONE, passed=3)
    assert world.work(AGAIN_LAST) == ["read a", "read b", "read c", "success c"]


def test_a_forge_that_asks_for_patience_gets_it(world: World) -> None:
    world.forge.down = ThrottledError("slow down", status=429, retry_after=3600.0)
    world.look(A, ROLLING)
    world.work()
    world.forge.down = None
    assert world.work(timedelta(minutes=59)) == []
    assert world.work(timedelta(minutes=1)) == ["read a", "pending a"]


def test_a_fault_of_ours_is_told_and_shown_and_tried_ever_more_seldom(world: World) -> None:
    world.fault = ValueError("Invalid IPv6 URL")
    world.look(A, ROLLING)
    with pytest.raises(ValueError, match="Invalid IPv6 URL"):  # whoever runs the jobs reports it
        world.work()
    assert world.work(AGAIN_FIRST - timedelta(seconds=1)) == []
    with pytest.raises(ValueError, match="Invalid IPv6 URL"):
        world.work(timedelta(seconds=1))
    assert world.work(AGAIN_FIRST * 2 - timedelta(seconds=1)) == []
    assert world.heard == ["a fault of gitops-mc in asking its forge (ValueError), which its log tells of"]
    world.fault = None
    assert world.work(timedelta(seconds=1)) == ["read a", "pending a"]
    assert world.heard[1:] == ["takes_again"]


def test_whoever_mends_one_thing_of_a_fleet_reads_what_is_wrong_next(world: World) -> None:
    world.look(A, ROLLING)
    for told in ("Secret forge holds no token under token", "Secret forge is not in namespace gitops-mc"):
        world.fault = UsageError(told)
        world.work(AGAIN_LAST)
        world.work(AGAIN_LAST)
    assert world.heard == [
        "Secret forge holds no token under token",
        "Secret forge is not in namespace gitops-mc",
    ]


def test_what_needs_a_human_is_tried_again_after_ten_minutes(world: World) -> None:
    world.forge.down = UnauthorizedError("answered 401", status=401)
    world.look(A, ROLLING)
    world.work()
    world.forge.down = None
    assert world.work(AGAIN_LAST - timedelta(seconds=1)) == []
    assert world.work(timedelta(seconds=1)) == ["read a", "pending a"]
    assert world.heard == ["answered 401", "takes_again"]


@pytest.mark.parametrize(
    "trouble",
    [
        UnauthorizedError("answered 401", status=401),
        NotFoundError("answered 404: no such project", status=404),
        UnreachableError("the name is not found"),
    ],
    ids=["token", "project", "address"],
)
def test_what_somebody_corrects_is_tried_at_once(world: World, trouble: GitopsMcError) -> None:
    world.forge.down = trouble
    world.look(A, ROLLING)
    for _ in range(8):
        world.work(AGAIN_LAST)
    assert world.work(MENDED_WITHIN) == []
    world.forge = MemoryForge()  # another token, or another address
    assert world.work(MENDED_WITHIN) == ["read a", "pending a"]
    assert world.heard == [trouble.message, "takes_again"]


def test_a_secret_that_is_put_back_as_it_was_is_seen_at_once_and_what_is_wrong_next_is_told(
    world: World,
) -> None:
    world.look(A, ROLLING)
    world.work()
    world.look(A, DONE, passed=3)
    world.fault = UsageError("Secret forge is not in namespace gitops-mc")
    assert world.work() == []
    world.fault = UsageError("Secret forge has no key token")
    assert world.work(MENDED_WITHIN) == []
    world.fault = None
    assert world.work(MENDED_WITHIN) == ["read a", "success a"]
    assert world.heard == [
        "Secret forge is not in namespace gitops-mc",
        "Secret forge has no key token",
        "takes_again",
    ]


def test_to_look_whether_it_was_corrected_neither_asks_the_forge_nor_makes_it_wait_longer(
    world: World,
) -> None:
    world.forge.down = UnauthorizedError("answered 401", status=401)
    world.look(A, ROLLING)
    world.work()
    asked = [world.work(MENDED_WITHIN) for _ in range(80)]
    assert [bool(calls) for calls in asked].count(True) == 80 * MENDED_WITHIN // AGAIN_LAST
    assert world.heard == ["answered 401"]


def test_a_commit_that_the_forge_does_not_want_holds_up_no_other(world: World) -> None:
    world.poll(RefusedCommit(B, "is not followed: x"))
    world.forge.unwanted[B] = InvalidError("answered 422: the maximum number of statuses", status=422)
    world.look(A, ROLLING)
    assert world.work() == ["read b", "read a", "pending a"]
    world.look(A, DONE, passed=3)
    assert world.work() == ["success a"]
    assert world.heard == ["answered 422: the maximum number of statuses"]
    world.forge.unwanted.clear()
    assert world.work(AGAIN_LAST) == ["read b", "failure b"]
    assert world.heard[1:] == ["takes_again"]


def test_a_commit_of_before_that_is_not_there_any_more_is_no_trouble(world: World) -> None:
    world.forge.unwanted[A] = NotFoundError("answered 404", status=404)
    world.poll(before=A)
    world.look(B, ROLLING)
    assert world.work() == ["read a", "read b", "pending b"]
    assert world.heard == []
    assert world.work(timedelta(days=1)) == []


def test_who_does_not_lead_says_nothing(world: World) -> None:
    world.look(A, ROLLING)
    world.leads = False
    assert world.work() == []
    world.leads = True
    assert world.work() == ["read a", "pending a"]


def test_a_fleet_that_names_another_forge_tells_that_one_everything(world: World) -> None:
    world.look(A, DONE, passed=3)
    world.work()
    world.forge = MemoryForge()
    world.look(A, HALTED, passed=2)
    assert world.work() == ["read a", "failure a"]


def test_a_fleet_without_a_forge_asks_nobody_until_it_names_one(world: World) -> None:
    world.named = False
    world.look(A, ROLLING)
    assert world.work() == []
    world.named = True
    assert world.work(AGAIN_FIRST) == ["read a", "pending a"]
    assert world.heard == []


@pytest.mark.parametrize(
    "trouble",
    [InvalidError("answered 422", status=422), UnauthorizedError("answered 401", status=401)],
    ids=["of one commit", "of the forge"],
)
def test_trouble_with_a_forge_that_is_named_no_more_is_over_without_a_word_of_it_taking_any(
    world: World, trouble: GitopsMcError
) -> None:
    world.forge.unwanted[A] = trouble
    world.look(A, ROLLING)
    world.work()
    world.named = False
    world.look(A, DONE, passed=3)
    assert world.work(AGAIN_LAST) == []
    assert world.heard == [trouble.message, "none_named"]
    assert world.work(timedelta(days=1)) == []
    assert world.heard[2:] == []
    world.named = True
    world.forge.unwanted.clear()
    assert world.work(AGAIN_LAST) == ["read a", "success a"]
    assert world.heard[2:] == []


def test_of_a_fleet_that_has_not_been_read_nothing_is_concluded(world: World) -> None:
    world.forge.down = UnauthorizedError("answered 401", status=401)
    world.look(A, ROLLING)
    world.work()
    world.forge.down, world.read = None, False
    assert world.work(AGAIN_LAST) == []
    assert world.heard == ["answered 401"]
    world.read = True
    assert world.work(AGAIN_FIRST) == ["read a", "pending a"]
    assert world.heard[1:] == ["takes_again"]


@pytest.mark.parametrize("trouble", [None, UnreachableError("down")], ids=["answers", "is down"])
def test_who_leads_no_more_says_nothing_of_the_forge_either(
    world: World, trouble: GitopsMcError | None
) -> None:
    world.forge.down = UnauthorizedError("answered 401", status=401)
    world.look(A, ROLLING)
    world.work()
    world.forge.down = trouble
    world.forge.meanwhile = lambda: setattr(world, "leads", False)
    assert world.work(AGAIN_LAST) == ["read a"]
    assert world.heard == ["answered 401"]


def test_a_forge_is_left_with_its_fleet(world: World) -> None:
    world.board.left(FLEET)
    assert world.gone == 0
    world.look(A, ROLLING)
    world.work()
    for _ in range(3):  # every pass says so
        world.board.left(FLEET)
    assert world.gone == 1


def test_a_forge_whose_fleet_is_left_while_it_is_asked_is_told_of_no_more_and_left_when_it_has_answered(
    world: World,
) -> None:
    world.forge.down = UnauthorizedError("answered 401", status=401)
    seen: list[int] = []

    def leave() -> None:
        for _ in range(2):
            world.board.left(FLEET)
        seen.append(world.gone)

    world.forge.meanwhile = leave
    world.look(A, ROLLING)
    assert world.work() == ["read a"]
    assert seen == [0]
    assert world.gone == 1
    assert world.heard == []


def test_a_fleet_that_is_gone_or_active_elsewhere_is_spoken_of_no_more(world: World) -> None:
    world.look(A, ROLLING)
    world.board.left(FLEET)
    assert world.work() == []


def test_what_is_sensitive_is_taken_out_and_commands_are_as_they_are_typed_for_the_fleet(
    world: World,
) -> None:
    world.secret = "s3cr3t"
    world.look(A, Halted("s3cr3t; see gitops-mc why edge-0"))
    world.poll(RefusedCommit(B, "is not followed: s3cr3t"))
    world.secret = "nothing"
    world.work()
    assert world.forge.held[A].description == "halted, [hidden]; see gitops-mc why edge-0 --fleet prod"
    assert world.forge.held[B].description == "this commit is not followed: [hidden]"
