"""A token bucket as a value. Pure: the time is an argument, in seconds on a clock that never runs back."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rate:
    """`burst` at once, and then one every `seconds_each`."""

    burst: int
    seconds_each: float

    def __post_init__(self) -> None:
        if self.burst < 1 or self.seconds_each <= 0:
            raise ValueError(f"nothing could ever pass: burst {self.burst}, one each {self.seconds_each} s")


@dataclass(frozen=True, slots=True)
class Bucket:
    """How many may pass at `at`. Begin with `full`."""

    tokens: float
    at: float

    @classmethod
    def full(cls, rate: Rate, now: float) -> Bucket:
        return cls(float(rate.burst), now)

    def filled(self, rate: Rate, now: float) -> Bucket:
        """What it holds at `now`; a clock that ran back gives and takes nothing."""
        gained = max(0.0, now - self.at) / rate.seconds_each
        return Bucket(min(float(rate.burst), self.tokens + gained), max(now, self.at))


@dataclass(frozen=True, slots=True)
class Granted:
    """It may pass; `bucket` is what is left."""

    bucket: Bucket


@dataclass(frozen=True, slots=True)
class Refused:
    """It may not; the next one may in `wait` seconds."""

    bucket: Bucket
    wait: float


def take(bucket: Bucket, rate: Rate, now: float) -> Granted | Refused:
    """Let one pass, if there is one to give."""
    filled = bucket.filled(rate, now)
    if filled.tokens >= 1.0:
        return Granted(Bucket(filled.tokens - 1.0, filled.at))
    return Refused(filled, (1.0 - filled.tokens) * rate.seconds_each)
