"""What comes onto open pull requests, and when: a job looks at all of them, and does what is due."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from gitops_mc.app.controller.forge_patience import AGAIN_FIRST, AGAIN_LAST, MENDED_WITHIN
from gitops_mc.app.controller.previews_shown import PreviewsShown
from gitops_mc.app.controller.previews_told import MADE_AT_ONCE, PreviewsTold
from gitops_mc.app.controller.pull_notes import LIVE_EVERY, LOOKED_EVERY, UNKNOWN_EVERY
from gitops_mc.app.forge_ports import ForgeWell, NoForge
from gitops_mc.app.pull_ports import OpenPulls, OutdatedError, PreviewWanted, PullComment, PullDesk
from gitops_mc.core.custom.commit_status import CommitState, CommitStatus
from gitops_mc.core.custom.pull_comment import PreviewText, has_marker, marker
from gitops_mc.core.custom.pull_request import PreviewScope, PreviewSpec, PullRequest, Standing
from gitops_mc.core.custom.shown import Pulled
from gitops_mc.core.errors import (
    ForbiddenError,
    GitopsMcError,
    InvalidError,
    NotFoundError,
    ServerError,
    SourceError,
    ThrottledError,
    UnauthorizedError,
    UnreachableError,
)
from gitops_mc.core.model import Commit, Content
from gitops_mc.core.plan.promise import Promise
from gitops_mc.core.preview.model import State
from gitops_mc.core.rollout.memory import ClusterMemory, FleetMemory
from gitops_mc.core.rollout.showing import KEPT_SHOWN, Shown, with_shown

FLEET = "gitops-mc/prod"
A, B, C, BASE, LATER = (Commit(letter * 40) for letter in "abcde")
WELL = PreviewText("all is well", "2 clusters change, no reboot", State.OK)
MINUTE = timedelta(minutes=1)
SEVEN = PullRequest(7, "More time servers", "mei", 1, A, "feature", "main", fork=False, updated="1")


@dataclass
class MemoryPulls:
    """A forge in memory; what it is asked stands in `calls`."""

    rewords: bool = True
    longest_comment: int = 65_536
    open: dict[int, PullRequest] = field(default_factory=lambda: {7: SEVEN})
    comments: dict[int, tuple[int, str, str]] = field(default_factory=dict)
    """By number: of which pull request, by whom, and what it says."""
    held: dict[Commit, CommitStatus] = field(default_factory=dict)
    standings: dict[str, Standing] = field(default_factory=lambda: {"mei": Standing.WRITES})
    more: bool = False
    calls: list[str] = field(default_factory=list)
    errors: dict[str, GitopsMcError] = field(default_factory=dict)
    """By the beginning of a call; the forge says so instead of doing it."""
    meanwhile: dict[str, Callable[[], object]] = field(default_factory=dict)
    """What happens before a call is answered."""

    def _asked(self, call: str) -> None:
        for begin, happens in self.meanwhile.items():
            if call.startswith(begin):
                happens()
        self.calls.append(call)
        for begin, error in self.errors.items():
            if call.startswith(begin):
                raise error

    def open_pulls(self, onto: str) -> OpenPulls:
        self._asked("list")
        return OpenPulls(tuple(p for p in self.open.values() if p.base_branch == onto), self.more)

    def pull(self, number: int) -> PullRequest | None:
        self._asked(f"read {number}")
        return self.open.get(number)

    def standing(self, pull: PullRequest) -> Standing:
        self._asked(f"may {pull.author}")
        return self.standings.get(pull.author, Standing.OUTSIDE)

    def comment(self, number: int, fleet: str) -> PullComment | None:
        self._asked(f"find {number}")
        for name, (pull, author, body) in sorted(self.comments.items()):
            if pull == number and author == "us" and has_marker(body, fleet):
                return PullComment(name, body)
        return None

    def add_comment(self, number: int, body: str) -> PullComment:
        self._asked(f"add {number}")
        name = 100 + len(self.comments)
        self.comments[name] = (number, "us", body.rstrip("\n"))  # as forges do
        self._touch(number)
        return PullComment(name, body.rstrip("\n"))

    def edit_comment(self, number: int, comment: PullComment, body: str) -> PullComment:
        self._asked(f"edit {number}")
        assert self.comments[comment.number][:2] == (number, "us")
        self.comments[comment.number] = (number, "us", body.rstrip("\n"))
        self._touch(number)
        return PullComment(comment.number, body.rstrip("\n"))

    def status(self, commit: Commit, context: str) -> CommitStatus | None:
        assert context == "gitops-mc/preview/prod"
        self._asked(f"status? {commit[0]}")
        return self.held.get(commit)

    def set_status(self, commit: Commit, status: CommitStatus) -> None:
        self._asked(f"{status.state} {commit[0]}")
        self.held[commit] = status

    def close(self) -> None:
        pass

    def _touch(self, number: int) -> None:
        if number in self.open:
            pull = self.open[number]
            self.open[number] = replace(pull, updated=str(int(pull.updated) + 1))

    def push(self, number: int, head: Commit) -> None:
        self.open[number] = replace(self.open[number], head=head)
        self._touch(number)

    def body(self, number: int = 7) -> str:
        (found,) = [body for pull, author, body in self.comments.values() if (pull, author) == (number, "us")]
        return found


@dataclass
class World:
    """A process, a forge, a clock, and somebody who makes previews."""

    forge: MemoryPulls = field(default_factory=MemoryPulls)
    spec: PreviewSpec | None = field(default_factory=PreviewSpec)
    known: bool = True
    leads: bool = True
    gone: int = 0
    now: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    heard: list[str] = field(default_factory=list)
    faults: list[Exception] = field(default_factory=list)
    live: str = "l1"
    kept: list[Mapping[str, Shown]] = field(default_factory=list)
    """What the Fleet is to remember of what was shown."""
    made: list[PreviewWanted] = field(default_factory=list)
    text: PreviewText = WELL
    fails: Exception | None = None
    """Of making one."""
    making: Callable[[], object] = lambda: None
    """What happens meanwhile."""

    def __post_init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """A process begins; whatever another one knew is lost."""
        self.board = PreviewsTold(
            self,
            self._make,
            lambda _: self.live,
            lambda _, shown: self.kept.append(shown),
            lambda: self.leads,
            lambda _, told: self.heard.append(getattr(told, "message", "") or str(getattr(told, "name", ""))),
            lambda _, error: self.faults.append(error),
            lambda text: text.replace("hunter2", "[hidden]"),
            lambda: self.now,
            lambda: 0.5,
        )
        self.poll()

    def __call__(self, fleet: str) -> PullDesk | NoForge:
        assert fleet == FLEET
        if not self.known:
            return NoForge.NOT_KNOWN
        return NoForge.NONE_NAMED if self.spec is None else PullDesk(self.forge, self.spec)

    def leave(self, fleet: str) -> None:
        assert fleet == FLEET
        self.gone += 1

    def _make(self, wanted: PreviewWanted) -> PreviewText:
        self.made.append(wanted)
        self.making()
        if self.fails is not None:
            raise self.fails
        return self.text

    def poll(self, base: Commit = BASE, ref: str = "refs/heads/main") -> None:
        @dataclass
        class Asked:
            pulled: Pulled
            before: Commit = Commit("")  # noqa: RUF009 - a text

        self.board.polled(FLEET, Asked(Pulled(base, ref=ref)))

    def work(self, after: timedelta = timedelta()) -> list[str]:
        """What the forge is asked once this time has gone by."""
        self.now += after
        self.forge.calls.clear()
        for job in self.board.jobs().values():
            job()
        return list(self.forge.calls)

    def shown(self, head: Commit = A) -> str:
        status = self.forge.held[head]
        return f"{status.state}: {status.description}"


@pytest.fixture
def world() -> World:
    return World()


FIRST = ["list", "may mei", "status? a", "pending a", "read 7", "find 7", "add 7", "success a"]


def test_a_pull_request_gets_a_comment_and_a_status_and_is_pending_meanwhile(world: World) -> None:
    assert world.work() == FIRST
    assert world.shown() == "success: 2 clusters change, no reboot"
    body = world.forge.body()
    assert body.startswith(f"{marker('prod')}\n")
    assert "all is well" in body
    assert A[:12] in body
    assert BASE[:12] in body


def test_what_makes_it_is_told_all_that_it_may_use(world: World) -> None:
    world.work()
    (wanted,) = world.made
    assert (wanted.fleet, wanted.pull.number, wanted.base) == (FLEET, 7, BASE)
    assert wanted.scope is PreviewScope.LIVE
    assert 60_000 < wanted.longest < world.forge.longest_comment


def test_where_nothing_has_changed_one_list_is_all_that_is_asked(world: World) -> None:
    world.work()
    assert world.work(MINUTE) == ["list", "find 7"]  # our own comment has changed it
    for _ in range(5):
        assert world.work(MINUTE) == ["list"]
    assert len(world.made) == 1


def test_nothing_is_asked_before_the_interval_is_over(world: World) -> None:
    world.work()
    assert world.work(timedelta(seconds=59)) == []
    assert world.work(timedelta(seconds=1)) != []


def test_a_push_has_the_comment_edited_in_place_and_a_status_on_the_new_head(world: World) -> None:
    world.work()
    world.forge.push(7, B)
    world.text = PreviewText("less well", "1 problem", State.PROBLEMS)
    assert world.work(MINUTE) == [
        "list",
        "may mei",
        "status? b",
        "pending b",
        "read 7",
        "find 7",
        "edit 7",
        "failure b",
    ]
    assert "less well" in world.forge.body()
    assert "all is well" not in world.forge.body()
    assert B[:12] in world.forge.body()
    assert world.shown(B) == "failure: 1 problem"


def test_another_base_has_it_made_again_and_the_comment_names_it(world: World) -> None:
    world.work()
    world.poll(LATER)
    calls = world.work()  # at once: whoever merged waits for it
    assert "pending a" not in calls
    assert "edit 7" in calls
    assert LATER[:12] in world.forge.body()
    assert world.made[-1].base == LATER


def test_clusters_that_changed_have_it_made_again_but_not_with_every_breath(world: World) -> None:
    world.work()
    world.live = "l2"
    world.work(MINUTE)
    assert len(world.made) == 1
    world.work(LIVE_EVERY)
    assert len(world.made) == 2


def test_what_says_the_same_again_edits_nothing(world: World) -> None:
    world.work()
    world.live = "l2"
    calls = world.work(LIVE_EVERY)
    assert len(world.made) == 2
    assert calls == ["list", "may mei", "read 7", "find 7"]


def test_of_a_stranger_the_clusters_are_nobodys_business(world: World) -> None:
    world.forge.open[7] = replace(SEVEN, author="eve")
    world.work()
    assert world.made[0].scope is PreviewScope.OFFLINE
    world.live = "l2"
    world.work(LIVE_EVERY)
    assert len(world.made) == 1


def test_a_fork_is_not_trusted_whoever_opened_it(world: World) -> None:
    world.spec = PreviewSpec(users=frozenset({"mei"}))
    world.forge.open[7] = replace(SEVEN, fork=True)
    assert "may mei" not in world.work()
    assert world.made[0].scope is PreviewScope.OFFLINE


def test_who_is_named_is_trusted_unasked(world: World) -> None:
    world.spec = PreviewSpec(users=frozenset({"eve"}))
    world.forge.open[7] = replace(SEVEN, author="Eve")
    assert "may Eve" not in world.work()
    assert world.made[0].scope is PreviewScope.LIVE


@pytest.mark.parametrize("standing", [Standing.NOT_KNOWN, Standing.OUTSIDE])
def test_who_is_not_known_to_write_is_not_trusted(world: World, standing: Standing) -> None:
    world.forge.standings["mei"] = standing
    world.work()
    assert world.made[0].scope is PreviewScope.OFFLINE


# -------------------------------------------------------------------------------------------------------- what is stale


def test_what_was_made_of_a_head_that_moved_meanwhile_is_dropped(world: World) -> None:
    world.making = lambda: world.forge.push(7, B) if len(world.made) == 1 else None
    calls = world.work()
    assert calls[-1] == "read 7"
    assert world.forge.comments == {}
    assert world.shown() == "pending: the preview is being made"
    world.work(MINUTE)
    assert world.made[-1].pull.head == B
    assert B[:12] in world.forge.body()
    assert A not in {c for c, s in world.forge.held.items() if s.state is CommitState.SUCCESS}


def test_an_old_comment_stays_as_it_is_while_the_new_head_is_not_made_yet(world: World) -> None:
    world.work()
    world.forge.push(7, B)
    world.fails = OutdatedError("moved")
    world.work(MINUTE)
    assert A[:12] in world.forge.body()
    assert world.shown(B) == "pending: the preview is being made"
    world.fails = None
    world.work(MINUTE)
    assert B[:12] in world.forge.body()


def test_one_that_is_closed_meanwhile_gets_nothing(world: World) -> None:
    world.making = world.forge.open.clear
    assert world.work()[-1] == "read 7"
    assert world.forge.comments == {}


def test_one_that_now_goes_to_another_branch_gets_nothing(world: World) -> None:
    world.making = lambda: world.forge.open.update({7: replace(SEVEN, base_branch="release")})
    world.work()
    assert world.forge.comments == {}
    assert world.work(MINUTE) == ["list"]


def test_one_that_is_closed_is_forgotten_and_begins_anew_when_it_is_opened_again(world: World) -> None:
    world.work()
    pull = world.forge.open.pop(7)
    assert world.work(MINUTE) == ["list"]
    world.forge.open[7] = pull
    calls = world.work(MINUTE)
    assert len(world.made) == 2
    assert "add 7" not in calls
    assert "edit 7" not in calls


# ------------------------------------------------------------------------------------------------ comments and restarts


def test_a_process_that_begins_finds_what_stands_and_touches_nothing(world: World) -> None:
    world.work()
    world.begin()
    calls = world.work(MINUTE)
    assert calls == ["list", "may mei", "status? a", "read 7", "find 7"]
    assert len(world.forge.comments) == 1


def test_that_the_clusters_were_read_later_edits_nothing(world: World) -> None:
    world.text = replace(WELL, markdown="all is well, clusters read 01:18 UTC")
    world.work()
    world.begin()
    world.text = replace(WELL, markdown="all is well, clusters read 09:59 UTC")
    calls = world.work(MINUTE)
    assert len(world.made) == 2
    assert "edit 7" not in calls


def test_a_process_that_begins_after_one_died_while_it_made_it_ends_what_is_pending(world: World) -> None:
    world.forge.errors["read"] = UnreachableError("away")
    world.work()
    assert world.shown() == "pending: the preview is being made"
    world.forge.errors.clear()
    world.begin()
    world.work(MINUTE)
    assert world.shown() == "success: 2 clusters change, no reboot"


def test_a_comment_of_somebody_else_with_our_marker_is_left_alone(world: World) -> None:
    theirs = f"{marker('prod')}\nnothing to see here"
    world.forge.comments[50] = (7, "eve", theirs)
    world.work()
    world.forge.push(7, B)
    world.work(MINUTE)
    assert world.forge.comments[50] == (7, "eve", theirs)
    assert B[:12] in world.forge.body()


def test_a_comment_that_a_human_deleted_is_made_anew(world: World) -> None:
    world.work()
    world.work(MINUTE)
    world.forge.comments.clear()
    world.forge._touch(7)
    assert world.work(MINUTE) == ["list", "find 7", "add 7"]
    assert len(world.made) == 1


def test_one_that_was_deleted_without_a_word_of_the_forge_is_made_anew_within_half_an_hour(
    world: World,
) -> None:
    world.work()
    world.work(MINUTE)
    world.forge.comments.clear()
    assert "add 7" in world.work(LOOKED_EVERY)


def test_one_that_a_human_edited_is_set_right(world: World) -> None:
    world.work()
    world.work(MINUTE)
    (name,) = world.forge.comments
    wanted = world.forge.body()
    world.forge.comments[name] = (7, "us", wanted.replace("all is well", "do not look"))
    world.forge._touch(7)
    assert world.work(MINUTE) == ["list", "find 7", "edit 7"]
    assert world.forge.body() == wanted


def test_two_fleets_of_one_repository_have_a_comment_each(world: World) -> None:
    world.forge.comments[50] = (7, "us", f"{marker('staging')}\nhello")
    world.work()
    assert world.forge.comments[50][2] == f"{marker('staging')}\nhello"
    assert len(world.forge.comments) == 2


def test_what_is_sensitive_is_in_neither_comment_nor_status(world: World) -> None:
    world.text = PreviewText("the password is hunter2", "hunter2 changes", State.OK)
    world.work()
    assert "hunter2" not in world.forge.body()
    assert world.shown() == "success: [hidden] changes"


def test_markdown_that_is_too_long_is_cut_and_says_so(world: World) -> None:
    world.text = PreviewText("<details>\n```text\n" + "é" * 200 + ("\nline" * 50_000), "long", State.OK)
    world.work()
    body = world.forge.body()
    assert len(body.encode()) <= world.forge.longest_comment
    assert body.count("```") % 2 == 0
    assert body.count("<details>") == body.count("</details>")
    assert "left out" in body


def test_a_summary_that_is_too_long_or_has_more_than_one_line_is_one_line_that_fits(world: World) -> None:
    world.text = replace(world.text, summary="a\nb" + "c" * 500)
    world.work()
    assert len(world.shown()) < 160
    assert "\n" not in world.shown()


# ------------------------------------------------------------------------------------------------------ what goes wrong


@pytest.mark.parametrize(
    ("state", "shown"), [(State.OK, "success"), (State.PROBLEMS, "failure"), (State.UNKNOWN, "error")]
)
def test_not_knowing_is_neither_good_nor_bad(world: World, state: State, shown: str) -> None:
    world.text = replace(world.text, state=state)
    world.work()
    assert world.forge.held[A].state == shown


def test_what_ended_in_not_knowing_is_made_again_after_a_while(world: World) -> None:
    world.text = replace(world.text, state=State.UNKNOWN)
    world.work()
    world.work(MINUTE)
    assert len(world.made) == 1
    world.text = replace(world.text, state=State.OK)
    world.work(UNKNOWN_EVERY)
    assert world.shown() == "success: 2 clusters change, no reboot"


def test_one_that_cannot_be_made_shows_why_with_nothing_in_it_that_is_markup(world: World) -> None:
    world.fails = SourceError("no `file` <img src=x> @everyone [x](y) hunter2", hint="look")
    world.work()
    body = world.forge.body()
    assert "No preview could be made" in body
    assert "<img" not in body
    assert "@everyone" not in body
    assert "[x](y)" not in body
    assert "hunter2" not in body
    assert world.forge.held[A].state is CommitState.ERROR


def test_what_may_pass_by_itself_is_tried_twice_before_anybody_is_told(world: World) -> None:
    world.fails = UnreachableError("git.example.com: no answer")
    world.work()
    assert world.forge.comments == {}
    assert world.shown() == "pending: the preview is being made"
    world.work(AGAIN_LAST)
    assert world.forge.comments == {}
    world.work(AGAIN_LAST)
    assert "no answer" in world.forge.body()
    assert world.forge.held[A].state is CommitState.ERROR


def test_a_fault_of_ours_in_one_stops_no_other(world: World) -> None:
    world.forge.open[8] = replace(SEVEN, number=8, head=C)

    def burst() -> None:
        world.fails = ZeroDivisionError("x") if world.made[-1].pull.number == 7 else None

    world.making = burst
    world.work()
    assert "a fault of gitops-mc" in world.forge.body(7)
    assert "all is well" in world.forge.body(8)
    assert [type(fault) for fault in world.faults] == [ZeroDivisionError]
    assert world.heard == []


@pytest.mark.parametrize(
    "error",
    [
        UnauthorizedError("401", status=401),
        ForbiddenError("403", status=403),
        NotFoundError("404", status=404),
        ServerError("500", status=500),
        UnreachableError("away"),
    ],
    ids=lambda e: type(e).__name__,
)
def test_a_forge_that_cannot_be_asked_is_told_once_and_so_is_its_end(
    world: World, error: GitopsMcError
) -> None:
    world.forge.errors["list"] = error
    for _ in range(4):
        world.work(AGAIN_LAST)
    assert world.heard == [error.message]
    world.forge.errors.clear()
    world.work(AGAIN_LAST)
    world.work(MINUTE)
    assert world.heard == [error.message, "TAKES_AGAIN"]
    assert "all is well" in world.forge.body()


def test_who_corrects_the_fleet_or_its_secret_is_not_kept_waiting_and_the_forge_is_not_asked_for_that(
    world: World,
) -> None:
    world.forge.errors["list"] = UnauthorizedError("401", status=401)
    world.work()
    for _ in range(3):
        assert world.work(MENDED_WITHIN) == []
    world.forge = MemoryPulls()  # another token leads to another one
    assert world.work(MENDED_WITHIN) == FIRST
    assert world.heard == ["401", "TAKES_AGAIN"]


def test_a_forge_that_asks_to_wait_is_left_alone_for_so_long(world: World) -> None:
    world.forge.errors["list"] = ThrottledError("slow", status=429, retry_after=3600.0)
    world.work()
    world.forge.errors.clear()
    assert world.work(timedelta(minutes=59)) == []
    assert world.work(MINUTE) != []


def test_a_limit_that_is_met_in_the_middle_stops_all_of_it(world: World) -> None:
    world.forge.open[8] = replace(SEVEN, number=8, head=C)
    world.forge.errors["add 7"] = ThrottledError("slow", status=429, retry_after=600.0)
    assert world.work()[-1] == "add 7"
    world.forge.errors.clear()
    assert world.work(timedelta(minutes=5)) == []
    world.work(timedelta(minutes=5))
    assert "all is well" in world.forge.body(7)
    assert "all is well" in world.forge.body(8)


def test_a_write_whose_answer_was_lost_is_not_made_twice(world: World) -> None:
    def lost() -> None:
        world.forge.comments[100] = (7, "us", f"{marker('prod')}\nsomething")

    world.forge.meanwhile["add 7"] = lost
    world.forge.errors["add 7"] = ServerError("502", status=502)
    world.work()
    world.forge.errors.clear()
    world.forge.meanwhile.clear()
    assert "edit 7" in world.work(AGAIN_FIRST)
    assert "all is well" in world.forge.body()


@pytest.mark.parametrize("error", [ForbiddenError("locked", status=403), InvalidError("422", status=422)])
def test_a_pull_request_that_takes_no_comment_gets_its_status_and_stops_no_other(
    world: World, error: GitopsMcError
) -> None:
    world.forge.open[8] = replace(SEVEN, number=8, head=C)
    world.forge.errors["add 7"] = error
    world.work()
    assert world.shown(A) == "success: 2 clusters change, no reboot"
    assert "all is well" in world.forge.body(8)
    for _ in range(9):
        assert "add 7" not in world.work(MINUTE)
    assert world.heard == [error.message]
    world.forge.errors.clear()
    world.work(AGAIN_LAST)
    assert "all is well" in world.forge.body(7)
    assert world.heard == [error.message, "TAKES_AGAIN"]


def test_a_head_that_takes_no_status_gets_its_comment(world: World) -> None:
    world.forge.errors["success a"] = InvalidError("a thousand statuses", status=422)
    world.work()
    assert "all is well" in world.forge.body()
    assert world.heard == ["a thousand statuses"]


def test_of_more_than_are_looked_at_the_newest_are_shown_and_it_is_told_once(world: World) -> None:
    world.forge.more = True
    world.work()
    world.work(MINUTE)
    assert "all is well" in world.forge.body()
    assert len(world.heard) == 1
    assert "more than 200 open pull requests" in world.heard[0]


def test_many_are_made_some_at_a_time_so_that_other_fleets_have_their_turn(world: World) -> None:
    world.forge.open = {n: replace(SEVEN, number=n, head=Commit(f"{n:040x}")) for n in range(1, 13)}
    world.work()
    assert len(world.made) == MADE_AT_ONCE
    world.work()
    world.work()
    assert len(world.made) == 12
    assert sorted({wanted.pull.number for wanted in world.made}) == list(range(1, 13))


# ---------------------------------------------------------------------------------------------- who speaks, and of what


def test_who_does_not_lead_says_nothing(world: World) -> None:
    world.leads = False
    assert world.work() == []


@pytest.mark.parametrize("when", ["status? a", "read 7", "find 7", "list"])
def test_who_loses_the_lead_meanwhile_writes_nothing_any_more(world: World, when: str) -> None:
    world.forge.meanwhile[when] = lambda: setattr(world, "leads", False)
    calls = world.work()
    writes = [c for c in calls[calls.index(when) :] if re.match(r"add|edit|pending|success", c)]
    assert writes == []
    assert world.heard == []


def test_a_fleet_that_wants_none_has_nothing_asked(world: World) -> None:
    world.spec = None
    assert world.work() == []
    world.spec = PreviewSpec()
    assert world.work(timedelta(seconds=30)) == FIRST


def test_a_fleet_that_follows_a_tag_or_has_not_read_anything_has_nothing_asked(world: World) -> None:
    world.poll(ref="refs/tags/v1")
    assert world.work() == []
    world.poll(Commit(""), ref="")
    assert world.work() == []


def test_trouble_with_a_forge_that_is_not_wanted_any_more_is_over(world: World) -> None:
    world.forge.errors["list"] = UnreachableError("away")
    world.work()
    world.spec = None
    world.work(AGAIN_LAST)
    assert world.heard == ["away", ForgeWell.NONE_NAMED.name]


def test_a_fleet_that_is_gone_has_nothing_kept(world: World) -> None:
    world.work()
    world.board.left(FLEET)
    assert world.gone == 1
    assert world.work(MINUTE) == []


def test_one_that_goes_while_it_is_asked_is_left_by_whoever_asks(world: World) -> None:
    world.making = lambda: world.board.left(FLEET)
    world.work()
    assert world.gone == 1


# ------------------------------------------------------------------------------------------------- what is held to it


def promise(content: str, by: int = 12) -> Shown:
    return Shown(
        Content(content),
        Promise("digest", (), ()),
        f"the preview of pull request {by}",
        datetime(2026, 1, 1, tzinfo=UTC),
    )


def test_what_stands_on_a_pull_request_is_handed_on_and_what_does_not_is_not(world: World) -> None:
    shown = {"edge-1": promise("c1")}
    world.text = replace(WELL, shown=shown)
    world.forge.errors["add 7"] = ForbiddenError("locked", status=403)
    world.work()
    assert world.kept == []
    world.forge.errors.clear()
    world.forge.push(7, B)
    world.work(AGAIN_LAST)
    assert world.kept == [shown]


def test_what_was_dropped_is_not_handed_on(world: World) -> None:
    world.text = replace(WELL, shown={"edge-1": promise("c1")})
    world.making = lambda: world.forge.push(7, B) if len(world.made) == 1 else None
    world.work()
    assert world.kept == []


def test_it_waits_until_it_stands_in_the_memory_one_thing_of_a_cluster_after_the_other() -> None:
    board, memory = PreviewsShown(), FleetMemory()
    first, second = promise("c1", 12), promise("c2", 13)
    board.add(FLEET, {"edge-1": first})
    board.add(FLEET, {"edge-1": second})
    assert board(FLEET, memory, {"edge-1"}) == board(FLEET, memory, {"edge-1"}) == {"edge-1": first}
    memory = with_shown(memory, board(FLEET, memory, {"edge-1"}))
    assert board(FLEET, memory, {"edge-1"}) == {"edge-1": second}
    memory = with_shown(memory, board(FLEET, memory, {"edge-1"}))
    assert board(FLEET, memory, {"edge-1"}) == {}
    assert memory.cluster("edge-1").shown == (first, second)


def test_of_a_cluster_that_is_not_in_the_fleet_yet_it_is_kept_until_it_is() -> None:
    board = PreviewsShown()
    board.add(FLEET, {"new": promise("c1")})
    assert board(FLEET, FleetMemory(), {"edge-1"}) == {}
    assert board(FLEET, FleetMemory(), {"edge-1", "new"}) == {"new": promise("c1")}


def test_of_one_content_the_last_word_counts_and_the_oldest_contents_go() -> None:
    board = PreviewsShown()
    for n in range(KEPT_SHOWN + 2):
        board.add(FLEET, {"edge-1": promise(f"c{n}", by=10 + n)})
    board.add(FLEET, {"edge-1": promise("c2", by=99)})
    memory, told = FleetMemory(), []
    while found := board(FLEET, memory, {"edge-1"}):
        told.append((found["edge-1"].content, found["edge-1"].by[-2:]))
        memory = with_shown(memory, found)
    kept = [(f"c{n}", str(10 + n)) for n in range(KEPT_SHOWN + 2) if n != 2]
    assert told == [*kept, ("c2", "99")][-KEPT_SHOWN:]


def test_of_a_fleet_that_is_gone_nothing_waits() -> None:
    board = PreviewsShown()
    board.add(FLEET, {"edge-1": promise("c1")})
    board.left(FLEET)
    assert board(FLEET, FleetMemory(clusters={"edge-1": ClusterMemory()}), {"edge-1"}) == {}
