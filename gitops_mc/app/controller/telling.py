"""What is sensitive in a fleet, so that no status, event or log shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gitops_mc.core.desired import DesiredState
from gitops_mc.core.live import LiveCluster, Objects
from gitops_mc.core.model import Commit, JsonObject
from gitops_mc.core.policy import Sensitive
from gitops_mc.core.redact import Redactor, secrets_of


@dataclass(slots=True)
class Discretion:
    """A redactor that learns what Git and the clusters hold. Begins anew with every commit: what is in neither any more need not
    be known for ever.
    """

    _sensitive: Sensitive = field(default_factory=Sensitive)
    _secrets: frozenset[bytes] = frozenset()
    _redactor: Redactor = field(default_factory=lambda: Redactor(Sensitive()))
    _seen: dict[tuple[str, str], Objects] = field(default_factory=dict)
    """Objects that were looked through last, by cluster and kind of fact; what has not moved is the same value."""
    _commit: Commit | None = None

    def learn(self, state: DesiredState, commit: Commit, live: Mapping[str, LiveCluster]) -> None:
        """Call before anything is said about what was just read."""
        fresh: list[JsonObject] = []
        if commit != self._commit:
            self._commit, self._sensitive, self._secrets = commit, state.sensitive, frozenset()
            self._seen.clear()
            fresh += [m.body for c in state.clusters for m in c.manifests]
        fresh += self._fresh(live)
        found = secrets_of(self._sensitive, fresh) - self._secrets if fresh else frozenset()
        if found:
            self._secrets |= found
            self._redactor = Redactor(self._sensitive, self._secrets)

    def redact(self, text: str) -> str:
        """The text without what is known to be sensitive."""
        return self._redactor.redact(text)

    def _fresh(self, live: Mapping[str, LiveCluster]) -> Iterator[JsonObject]:
        for cluster in live.values():
            for fact, found in cluster.revealing():
                if self._seen.get((cluster.name, fact)) is not found:
                    self._seen[cluster.name, fact] = found
                    yield from found.values()
