"""A server whose watches are read, event by event."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from gitops_mc.app.ports import JSON, Request, Response
from gitops_mc.sandbox.behind import Server, WatchLines
from tests.contracts.api import path_of

WITHIN = 10.0
Event = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Watched:
    """A server whose watches can be opened, and a token for it; `forget` makes it forget its oldest versions."""

    server: Server
    token: str
    forget: Callable[[], None]

    def open(self, accept: str = JSON, **query: str) -> Response | WatchLines:
        asked = tuple({"watch": "true", **query}.items())
        path = path_of("machineconfigs")
        return self.server.open_watch(Request("GET", path, asked, accept=accept, token=self.token))

    def events(self, count: int, accept: str = JSON, **query: str) -> Iterator[Event]:
        """The next so many events, one by one; fails when they do not come."""
        watch = self.open(accept, **query)
        assert not isinstance(watch, Response), watch
        end, rest = time.monotonic() + WITHIN, b""
        try:
            while count:
                assert time.monotonic() < end, f"{count} more events were to come"
                rest += b"".join(watch.poll())
                *lines, rest = rest.split(b"\n")
                for line in lines[:count]:
                    event = json.loads(line)
                    yield event["type"], event["object"]
                count -= min(count, len(lines))
                time.sleep(0.01)
        finally:
            watch.close()
