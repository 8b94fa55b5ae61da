"""What the redactor has to know: sensitive values in Git, and in every live object as it is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gitops_mc.cli.terminal import Terminal
from gitops_mc.core.desired import DesiredState
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import JsonObject, Known, name_of, resource_version


class Learnt:
    """Teaches the terminal before anything is said; an object that has not changed is looked at once."""

    def __init__(self, terminal: Terminal, state: DesiredState) -> None:
        self._terminal = terminal
        self._sensitive = state.sensitive
        self._seen: set[tuple[str, str, str]] = set()
        terminal.learn(self._sensitive, (m.body for c in state.clusters for m in c.manifests))

    def look(self, live: Mapping[str, LiveCluster]) -> None:
        """Call before anything is said about what was just read."""
        fresh = list(self._fresh(live))
        if fresh:
            self._terminal.learn(self._sensitive, fresh)

    def _fresh(self, live: Mapping[str, LiveCluster]) -> Iterator[JsonObject]:
        for cluster in live.values():
            for fact in (cluster.configs, cluster.rendered, cluster.modules):
                for body in fact.value.values() if isinstance(fact, Known) else ():
                    seen = (cluster.name, name_of(body), resource_version(body))
                    if seen not in self._seen:
                        self._seen.add(seen)
                        yield body
