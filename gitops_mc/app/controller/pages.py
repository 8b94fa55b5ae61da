"""What the objects of a Fleet are to say after a pass, as one page: what was decided, or what stands while nothing can be."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from gitops_mc.app.controller.asking import Asked, specs_to_keep
from gitops_mc.app.controller.keeping import Page
from gitops_mc.app.controller.objects import FleetObjects
from gitops_mc.app.looks import Look
from gitops_mc.core.custom.shown import Pulled, Told, fleet_status, rollout_status
from gitops_mc.core.model import Commit, JsonObject
from gitops_mc.core.rollout.memory import FleetMemory
from gitops_mc.core.rollout.moves import ClusterView


@dataclass(frozen=True, slots=True)
class Pages:
    """Writes pages for the objects as they stand."""

    objects: FleetObjects
    told: Told
    shut: frozenset[str]
    """Clusters whose object is not ours to write."""
    beside: JsonObject
    """Members of the Fleet's status that stand beside the rollout."""

    def decided(self, look: Look, asked: Asked, pulled: Pulled) -> Page:
        """After a decision."""
        shown: dict[str, JsonObject] = {
            view.cluster: rollout_status(
                view,
                _commit_of(view, look.memory, pulled),
                self.objects.rollouts.get(view.cluster, {}),
                look.at,
                self.told,
            )
            for view in look.decision.clusters
        }
        shown[""] = {
            **fleet_status(look.decision, pulled, self.objects.fleet, look.at, self.told),
            **self.beside,
        }
        return Page(
            at=look.at,
            memory=look.memory,
            shown=shown,
            moving=frozenset(move.cluster for move in look.decision.moves),
            attention=look.decision.attention,
            specs=specs_to_keep(asked),
            done=asked.done,
            shut=self.shut,
        )

    def standing(
        self, memory: FleetMemory, asked: Asked, status: JsonObject, at: datetime, moving: frozenset[str]
    ) -> Page:
        """Where nothing could be decided: `status` is what the Fleet says, and of the clusters stands what was said last."""
        said = {
            name: {k: v for k, v in (body.get("status") or {}).items() if k != "memory"}
            for name, body in self.objects.rollouts.items()
        }
        told = {k: v for k, v in status.items() if k not in ("memory", "history")}
        return Page(
            at=at,
            memory=memory,
            shown={**said, "": told},
            moving=moving,
            specs=specs_to_keep(asked),
            done=asked.done,
            shut=self.shut,
        )


def _commit_of(view: ClusterView, memory: FleetMemory, pulled: Pulled) -> Commit:
    m = memory.cluster(view.cluster)
    return m.started_commit if m.started == view.content else pulled.commit
