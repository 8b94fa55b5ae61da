"""Servers that note what each caller asks of them, and what it was answered."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gitops_mc.app.ports import Request, Response
from gitops_mc.sandbox.behind import Server, WatchLines
from tests.deploy.rights import Right, needed


@dataclass(frozen=True, slots=True)
class Refused:
    """What a caller was not allowed to do."""

    cluster: str
    request: Request
    answer: str


@dataclass
class Recording(Mapping[str, Server]):
    """The same servers; requests under `tokens` are noted."""

    servers: Mapping[str, Server]
    tokens: Mapping[str, str]
    """Whose requests are noted: token -> a name for its owner."""
    used: dict[tuple[str, str], set[Right]] = field(default_factory=dict)
    """By owner and cluster."""
    refused: list[Refused] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __getitem__(self, cluster: str) -> Server:
        return _Noted(self, cluster, self.servers[cluster])

    def __iter__(self) -> Iterator[str]:
        return iter(self.servers)

    def __len__(self) -> int:
        return len(self.servers)

    def of(self, owner: str) -> frozenset[Right]:
        """All that this owner has used, on any cluster."""
        with self._lock:
            return frozenset(r for (who, _), rights in self.used.items() if who == owner for r in rights)

    def clusters_of(self, owner: str) -> frozenset[str]:
        with self._lock:
            return frozenset(cluster for who, cluster in self.used if who == owner)

    def note(self, cluster: str, request: Request, answer: Response) -> None:
        owner = self.tokens.get(request.token)
        if owner is None:
            return
        with self._lock:
            self.used.setdefault((owner, cluster), set()).update(needed(request, answer.status))
            if answer.status in (401, 403):
                self.refused.append(Refused(cluster, request, answer.body.decode()))


@dataclass(frozen=True, slots=True)
class _Noted:
    recording: Recording
    cluster: str
    server: Server

    def handle(self, request: Request) -> Response:
        answer = self.server.handle(request)
        self.recording.note(self.cluster, request, answer)
        return answer

    def open_watch(self, request: Request) -> Response | WatchLines:
        return self.server.open_watch(request)
