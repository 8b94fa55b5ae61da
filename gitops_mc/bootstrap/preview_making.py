"""Makes the previews that the controller shows: heads from Git, and of whom it trusts one look at the clusters."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol

from gitops_mc.adapters.git_pulls import GitPulls
from gitops_mc.adapters.system import ThreadWorkers
from gitops_mc.app.api import ClusterApi
from gitops_mc.app.controller.objects import FleetObjects
from gitops_mc.app.executor import Executor
from gitops_mc.app.ports import Source
from gitops_mc.app.pull_ports import NoFork, PreviewWanted
from gitops_mc.app.use_cases.fleet_objects import SeenMemory, memory_of, orders_of
from gitops_mc.app.use_cases.planning import Session
from gitops_mc.app.use_cases.previewing import PullStates, preview_by_git, read_pull
from gitops_mc.app.use_cases.previewing_live import Look, preview_live
from gitops_mc.app.use_cases.repository import past_contents
from gitops_mc.bootstrap.means import ProcessMeans
from gitops_mc.bootstrap.pulls import Held
from gitops_mc.core.custom.fleet_spec import FleetSpec, fleet_spec
from gitops_mc.core.custom.pull_comment import PreviewText
from gitops_mc.core.custom.pull_request import PreviewScope
from gitops_mc.core.errors import ApiError, SourceError, UnreachableError
from gitops_mc.core.live import LiveCluster, revealed
from gitops_mc.core.model import Commit, Content, DesiredCluster, JsonObject
from gitops_mc.core.plan import promise_of
from gitops_mc.core.preview.model import LivePreview, Preview
from gitops_mc.core.redact import Redactor
from gitops_mc.core.render.preview.markdown import preview_markdown
from gitops_mc.core.rollout.showing import Shown

_STRANGE_FORK: Final = "it comes from a fork, for which no cluster is asked"
_STRANGE_AUTHOR: Final = "its author is not trusted with what the clusters say (spec.previews.trusted)"
_CALLS_AT_ONCE: Final = 8


@dataclass(frozen=True, slots=True)
class Watched:
    """A Fleet as its loop knows it."""

    objects: FleetObjects
    source: Source | None
    """What it follows; None: nothing has been opened yet."""

    def memory(self) -> SeenMemory:
        """What the controller remembers of it. Raises MemoryStoreError."""
        return SeenMemory(memory_of(self.objects.fleet, self.rollouts()))

    def past(self) -> Callable[[str, Commit, Content], DesiredCluster | None]:
        """What clusters still stand at, as the source has it."""
        return (
            (lambda _cluster, _commit, _content: None) if self.source is None else past_contents(self.source)
        )

    def rollouts(self) -> Mapping[str, JsonObject]:
        """By cluster. The loop goes on meanwhile, and may put another one in."""
        while True:
            try:
                return dict(self.objects.rollouts)
            except RuntimeError:
                continue


class Caches(Protocol):
    """Where the heads of pull requests are fetched to."""

    def of(self, spec: FleetSpec) -> Held:
        """Of one Fleet. Raises GitopsMcError."""
        ...


@dataclass(slots=True)
class _Secrets:
    """What may not be shown of a pull request: what Git has of it, and what the clusters that were read have."""

    pull: PullStates
    _said: list[LiveCluster] = field(default_factory=list)
    _known: Redactor | None = None

    def learn(self, live: Iterable[LiveCluster]) -> None:
        """Before anything is said of it."""
        self._said.extend(live)
        self._known = None

    @property
    def redactor(self) -> Redactor:
        if self._known is None:
            self._known = Redactor.of(self.pull.sensitive, (*self.pull.bodies(), *revealed(self._said)))
        return self._known

    def redact(self, text: str) -> str:
        """With all that is known by now."""
        return self.redactor.redact(text)


@dataclass(slots=True)
class PreviewMaker:
    """The `MakePreview` of the controller. Any thread; of one Fleet one at a time."""

    watched: Callable[[str], Watched | None]
    """A Fleet by `<namespace>/<name>`; None: its loop is not open."""
    caches: Caches
    session: Callable[[FleetSpec, Watched], AbstractContextManager[Session]]
    """Ways to the clusters of a Fleet, for reads, until the end of the `with`."""
    now: Callable[[], datetime]

    def __call__(self, wanted: PreviewWanted) -> PreviewText:
        """As the port promises."""
        watched = self.watched(wanted.fleet)
        if watched is None or not watched.objects.fleet:
            raise UnreachableError("the Fleet has not been read yet")
        spec = fleet_spec(watched.objects.fleet)
        pull = self._pull(spec, wanted)
        secrets = _Secrets(pull)
        found = self._preview(spec, watched, wanted, secrets)
        redactor = secrets.redactor
        return PreviewText(
            preview_markdown(found, redactor, wanted.longest),
            redactor.redact(found.verdict.line),
            found.verdict.state,
            _promises(found, f"the preview of pull request {wanted.pull.number}"),
        )

    def _pull(self, spec: FleetSpec, wanted: PreviewWanted) -> PullStates:
        held = self.caches.of(spec)
        fork = held.heads.bring(wanted.pull, wanted.base)
        if isinstance(fork, NoFork):
            raise SourceError(f"what it changes cannot be told: {fork.why}", hint="rebase it onto the branch")
        pulls = GitPulls(str(held.heads.repository), folder=spec.source.path)
        return read_pull(pulls, wanted.base, wanted.pull.head, held.parsed)

    def _preview(
        self,
        spec: FleetSpec,
        watched: Watched,
        wanted: PreviewWanted,
        secrets: _Secrets,
    ) -> Preview:
        pull, redact = secrets.pull, secrets.redact
        if wanted.scope is PreviewScope.OFFLINE:
            return preview_by_git(pull, redact, _STRANGE_FORK if wanted.pull.fork else _STRANGE_AUTHOR)
        try:
            acts = orders_of(watched.objects.fleet, watched.rollouts())
            with self.session(spec, watched) as session:
                look = Look(redact, acts=acts, learning=secrets.learn, named=spec.name)
                return preview_live(session, pull, look)
        except (ApiError, UnreachableError) as error:
            return preview_by_git(pull, redact, error.message, self.now())


@contextmanager
def looking(means: ProcessMeans, spec: FleetSpec, watched: Watched) -> Iterator[Session]:
    """One look at the clusters, over connections of its own: a preview holds up no rollout. Raises GitopsMcError."""
    workers = ThreadWorkers(_CALLS_AT_ONCE)
    jitter = random.Random().random  # noqa: S311 - spreads retries, guards nothing
    try:
        api = ClusterApi(means.looking(spec), means.clock, jitter=jitter)
        yield Session(
            api,
            means.clock,
            workers,
            Executor(api, means.clock, workers, watched.memory(), past=watched.past()),
        )
    finally:
        workers.close()
        means.close()


def _promises(found: Preview, by: str) -> Mapping[str, Shown]:
    """What it shows of the clusters that it changes, as far as all of it could be read."""
    if not isinstance(found.live, LivePreview):
        return {}
    touched = {cluster.name for cluster in found.changes.clusters}
    touched -= {cluster.cluster for cluster in found.live.unread}
    return {
        each.name: Shown(each.plan.content, promise_of(each.plan), by, found.live.at)
        for each in found.live.outcome.clusters
        if each.name in touched and each.plan is not None and not each.unknown
    }
