"""Change windows of a simulation, drawn apart: the seeds from WINDOWED on have them, all others are as they ever were.

Said as arithmetic, so that whether one holds can be told without cron, calendars and zones.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

WINDOWED = 10_000_000
"""Seeds from here on have change windows: this ten million of them, and every second one after it."""
ZONES: Mapping[str, int] = {"UTC": 0, "Asia/Shanghai": 8, "Asia/Kathmandu": 0}
"""Hours ahead of UTC, of zones that never change their clocks; Kathmandu has 45 minutes more than 5 hours."""
_DAY = 24 * 60


@dataclass(frozen=True, slots=True)
class DrawnWindow:
    """It begins every `every` hours of the local day, from `first` on, at `minute`, and lasts `lasts` minutes."""

    kind: str
    first: int
    every: int
    minute: int
    lasts: int
    zone: str = "UTC"
    clusters: tuple[str, ...] = ()
    """Empty: all."""

    def concerns(self, cluster: str) -> bool:
        return not self.clusters or cluster in self.clusters

    def holds(self, at: datetime) -> bool:
        ahead = 345 if self.zone == "Asia/Kathmandu" else ZONES[self.zone] * 60
        midnight = datetime(2026, 1, 1, tzinfo=UTC) - timedelta(minutes=ahead)
        now = (at - midnight).total_seconds() / 60 % _DAY
        begins = (hour * 60 + self.minute for hour in range(self.first, 24, self.every))
        return any((now - begin) % _DAY < self.lasts for begin in begins)

    def written(self) -> dict[str, object]:
        """As in fleet.yaml."""
        said: dict[str, object] = {
            "cron": f"{self.minute} {self.first}-23/{self.every} * * *",
            "duration": f"{self.lasts}m",
            "timeZone": self.zone,
        }
        if self.clusters:
            said["clusters"] = {"names": list(self.clusters)}
        return {self.kind: said}


def allowed(windows: Sequence[DrawnWindow], cluster: str, at: datetime) -> bool:
    """Whether a step may begin, however short."""
    mine = [w for w in windows if w.concerns(cluster)]
    if any(w.kind == "freeze" and w.holds(at) for w in mine):
        return False
    allows = [w for w in mine if w.kind == "allow"]
    return not allows or any(w.holds(at) for w in allows)


def room(windows: Sequence[DrawnWindow], cluster: str, at: datetime, needed: timedelta) -> bool:
    """Whether every moment from `at` until `needed` later is allowed; windows begin and end on whole minutes."""
    end = at + needed
    while at < end:
        if not allowed(windows, cluster, at):
            return False
        at = at.replace(second=0, microsecond=0) + timedelta(minutes=1)
    return True


def windowed(seed: int) -> bool:
    return seed // WINDOWED % 2 == 1


def draw_windows(seed: int, edges: list[str]) -> tuple[DrawnWindow, ...]:
    draw = random.Random(f"windows/{seed}")
    found = []
    for _ in range(draw.choice([1, 1, 2])):
        every = draw.choice([2, 3])
        found.append(
            DrawnWindow(
                "allow",
                draw.randrange(every),
                every,
                draw.choice([0, 7, 30]),
                draw.choice([20, 45, 70, 100]),
                draw.choice(list(ZONES)),
                tuple(draw.sample(edges, draw.randint(1, len(edges)))) if draw.random() < 0.4 else (),
            )
        )
    if draw.random() < 0.6:
        every = draw.choice([3, 4, 6])
        first, lasts = draw.randrange(every), draw.choice([20, 50, 90])
        found.append(DrawnWindow("freeze", first, every, draw.choice([0, 20]), lasts))
    return tuple(found) if draw.random() < 0.85 else tuple(w for w in found if w.kind == "freeze")


def per_node(seed: int) -> timedelta:
    """What one node is reckoned with."""
    return timedelta(minutes=random.Random(f"per node/{seed}").choice([1, 5, 10]))


def with_windows(files: Mapping[str, str], windows: Sequence[DrawnWindow], each: timedelta) -> dict[str, str]:
    """A commit's files with these windows in fleet.yaml."""
    fleet = json.loads(files["fleet.yaml"])
    fleet["spec"]["windows"] = [w.written() for w in windows]
    fleet["spec"]["gates"] = {"pool": {"perNode": f"{int(each.total_seconds()) // 60}m"}}
    return {**files, "fleet.yaml": json.dumps(fleet)}
