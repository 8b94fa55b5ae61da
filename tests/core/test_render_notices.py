"""What people are told, and what counts as the same thing."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gitops_mc.core.custom.fleet_spec import Topic, notifications
from gitops_mc.core.render.happening import About, Happening, Reason
from gitops_mc.core.render.notices import (
    LONGEST_LINE,
    LONGEST_TITLE,
    MOST_LINES,
    SENT,
    Mood,
    Notice,
    ends,
    message,
    notice,
    subject,
)

NOW = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)


def failed(cluster: str, text: str = "failed, at pool worker") -> Happening:
    return Happening(Reason.CLUSTER_FAILED, f"{cluster} {text}", cluster)


def sent(*found: Happening) -> list[Notice]:
    return [made for each in found if (made := notice(each, NOW)) is not None]


def test_every_topic_has_something_that_is_sent() -> None:
    assert {topic for topic, _ in SENT.values()} == set(Topic)


def test_what_wants_nobody_is_not_sent() -> None:
    quiet = [
        Happening(r, "x", cluster="edge-1" if r.about is About.CLUSTER else "")
        for r in Reason
        if r not in SENT
    ]
    assert quiet
    assert [notice(h, NOW) for h in quiet] == [None] * len(quiet)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Happening(Reason.HALTED, "a"), Happening(Reason.HALT_LIFTED, "b")),
        (Happening(Reason.POLL_FAILED, "a"), Happening(Reason.POLL_RECOVERED, "b")),
        (Happening(Reason.FAULT, "a"), Happening(Reason.FAULT_OVER, "b")),
        (failed("edge-1"), Happening(Reason.CLUSTER_PASSED, "b", "edge-1")),
        (
            Happening(Reason.WAVE_NEEDS_APPROVAL, "a", wave="rest"),
            Happening(Reason.WAVE_OPENED, "b", wave="rest"),
        ),
    ],
)
def test_the_end_of_something_is_about_the_same_as_its_beginning(first: Happening, second: Happening) -> None:
    assert subject(first) == subject(second)


def test_what_hung_on_the_standing_of_a_cluster_ends_with_it_and_a_start_ends_that_all_is_done() -> None:
    hands = Happening(Reason.NEEDS_HANDS, "node n2", "edge-1")
    started = Happening(Reason.CLUSTER_STARTED, "edge-1 is in flight", "edge-1")
    assert subject(hands) in ends(started)
    assert subject(failed("edge-1")) in ends(started)
    assert subject(failed("edge-2")) not in ends(started)
    assert subject(Happening(Reason.ROLLOUT_DONE, "x")) in ends(started)
    assert subject(failed("edge-1")) not in ends(hands)


def test_different_clusters_waves_and_kinds_of_trouble_are_different_subjects() -> None:
    found = [
        failed("edge-1"),
        failed("edge-2"),
        Happening(Reason.NEEDS_HANDS, "a", "edge-1"),
        Happening(Reason.HALTED, "a"),
        Happening(Reason.FAULT, "a"),
        Happening(Reason.WAVE_NEEDS_APPROVAL, "a", wave="rest"),
        Happening(Reason.WAVE_NEEDS_APPROVAL, "a", wave="more"),
        Happening(Reason.CREDENTIAL_EXPIRES, "x", subject="git"),
        Happening(Reason.CREDENTIAL_EXPIRES, "x", subject="gateway"),
    ]
    assert len({subject(each) for each in found}) == len(found)


def test_the_worst_stands_first_and_the_rest_is_counted() -> None:
    many = [failed(f"edge-{n}") for n in range(50)]
    found = sent(Happening(Reason.WAVE_NEEDS_APPROVAL, "waits", wave="rest"), *many)
    told = message("gitops-mc/prod", found, dropped=3)
    lines = told.body.splitlines()
    assert lines[0] == "- edge-0 failed, at pool worker"
    assert lines[-2:] == [f"and {51 - MOST_LINES + 3} more", "look: gitops-mc status --fleet prod"]
    assert told.title == "prod: edge-0 failed, at pool worker (and 50 more)"
    assert told.mood is Mood.FAILURE


def test_nothing_is_longer_than_a_chat_service_takes() -> None:
    found = sent(*(failed(f"edge-{n}", "x\n" * 5_000) for n in range(30)))
    told = message("gitops-mc/prod", found)
    assert len(told.title) <= LONGEST_TITLE
    assert all(len(line) <= LONGEST_LINE + 2 for line in told.body.splitlines())
    assert len(told.body.splitlines()) == MOST_LINES + 2


def test_a_text_that_does_not_name_its_cluster_gets_the_name() -> None:
    found = sent(Happening(Reason.NEEDS_HANDS, "node n2 needs hands", "edge-1"))
    assert found[0].text == "edge-1: node n2 needs hands"


def test_a_destination_gets_all_topics_or_those_it_names_and_one_that_is_not_known_is_passed_by() -> None:
    def said(**more: object) -> dict[str, object]:
        return {"name": "ops", "secretRef": {"name": "s", "key": "k"}, **more}

    body = {"spec": {"notifications": [said(), said(topics=["halted", "what a later version knows"])]}}
    every, one = notifications(body)
    assert every.topics == frozenset(Topic)
    assert one.topics == {Topic.HALTED}
