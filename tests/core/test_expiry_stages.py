"""When it is told that a token is about to expire."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gitops_mc.core.expiry import Expiry, Lifetime

MET = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("lives", "passed", "stage"),
    [
        (90 * DAY, 0 * DAY, Expiry.FAR),
        (90 * DAY, 75.9 * DAY, Expiry.FAR),
        (90 * DAY, 76 * DAY, Expiry.WEEKS),
        (90 * DAY, 87 * DAY, Expiry.DAYS),
        (90 * DAY, 89 * DAY, Expiry.HOURS),
        (90 * DAY, 90 * DAY, Expiry.OVER),
        (10 * DAY, 0 * DAY, Expiry.WEEKS),
        (timedelta(hours=1), timedelta(minutes=48), Expiry.FAR),
        (timedelta(hours=1), timedelta(minutes=54), Expiry.HOURS),
        (timedelta(hours=1), timedelta(hours=1), Expiry.OVER),
        (timedelta(hours=-3), timedelta(0), Expiry.OVER),
    ],
)
def test_long_lived_tokens_are_told_in_stages_and_short_lived_ones_when_nobody_renews_them(
    lives: timedelta, passed: timedelta, stage: Expiry
) -> None:
    assert Lifetime(MET, MET + lives).stage(MET + passed) is stage
