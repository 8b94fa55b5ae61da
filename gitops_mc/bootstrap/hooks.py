"""Secrets of webhooks, by Fleet."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final

from gitops_mc.app.api import ClusterApi
from gitops_mc.app.controller.objects import FLEET
from gitops_mc.bootstrap.means import Data
from gitops_mc.core.custom.fleet_spec import fleet_spec
from gitops_mc.core.errors import GitopsMcError, UsageError
from gitops_mc.core.model import GLOBAL_CLUSTER, JsonObject, name_of

READ_EVERY: Final = 60.0
"""Seconds."""
_KEYS: Final = ("secret", "next")


class Hooks:
    """Secrets of webhooks, read again now and then: the server of the webhook only looks."""

    def __init__(
        self,
        data: Data,
        api: ClusterApi,
        seconds: Callable[[], float],
        hooked: Callable[[str, str], object],
    ) -> None:
        """`seconds` is a clock that never jumps: `time.monotonic`. `hooked` hears of every Fleet (`<namespace>/<name>`) with a
        webhook, and why that hears nobody; empty: it does.
        """
        self._hooked = hooked
        self._data = data
        self._api = api
        self._seconds = seconds
        self._known: dict[str, tuple[bytes, ...]] = {}
        self._read_at = float("-inf")

    def of(self, fleet: str) -> tuple[bytes, ...]:
        """The good secrets of a Fleet; none where it has no webhook."""
        return self._known.get(fleet, ())

    def refresh(self) -> None:
        """Look again, where the last look is READ_EVERY old. What cannot be read stays as it was; a Secret that is gone is good
        no more.
        """
        now = self._seconds()
        if now - self._read_at < READ_EVERY:
            return
        with suppress(GitopsMcError):
            fleets = self._api.list(GLOBAL_CLUSTER, FLEET, namespace=self._data.namespace)
            self._known = {name_of(body): self._of(body) for body in fleets}
            self._read_at = now

    def _of(self, body: JsonObject) -> tuple[bytes, ...]:
        try:
            ref = fleet_spec(body).webhook
        except GitopsMcError:  # the Fleet's status says so
            return self._known.get(name_of(body), ())
        if ref is None:
            self._tell(body, "")
            return ()
        try:
            found = self._data.secret(ref)
        except UsageError as error:  # the Secret is not there: what it held once is good no more
            self._tell(body, f"{error.message}; {error.hint}" if error.hint else error.message)
            return ()
        except GitopsMcError as error:
            if not error.transient:
                self._tell(body, f"Secret {ref.name} cannot be read: {error.message}")
            return self._known.get(name_of(body), ())
        good = tuple(value for key in _KEYS if (value := found.get(key, b"").strip(b"\r\n")))
        there = ", ".join(sorted(found)) or "none"
        self._tell(body, "" if good else f"Secret {ref.name} has nothing under {_KEYS[0]}; its keys: {there}")
        return good

    def _tell(self, body: JsonObject, problem: str) -> None:
        self._hooked(f"{self._data.namespace}/{name_of(body)}", problem)
