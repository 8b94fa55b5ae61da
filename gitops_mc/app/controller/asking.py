"""What humans ask for, pass by pass: requests on the objects, orders that stand in spec, and what of it is over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from gitops_mc.app.controller.objects import FleetObjects
from gitops_mc.app.controller.orders import Desk, came_to_nothing, carried_out, is_about_content, not_a_verb
from gitops_mc.core.custom.fleet_spec import FleetSpec, fleet_spec, hold_told
from gitops_mc.core.custom.requests import On, requests_on, unknown_on
from gitops_mc.core.model import JsonObject, annotations_of
from gitops_mc.core.policy import Approval
from gitops_mc.core.render.fleet_commands import FleetCommands
from gitops_mc.core.rollout.inputs import Acts, Fleet
from gitops_mc.core.rollout.memory import FleetMemory
from gitops_mc.core.rollout.waves import contents_digest, lines

STRANGE_AT_MOST: Final = 3
"""Annotations of one object that are no verbs and are told of: a flood of them leaves room in the history for what people did."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the requests of this pass have come to, and which are to be taken off which object (`""`: the Fleet)."""

    desk: Desk
    done: Mapping[str, Mapping[str, str]]
    faults: tuple[Exception, ...] = ()
    """Of this program, met by requests that came to nothing."""


@dataclass(slots=True)
class Asking:
    """What has been carried out and could not be kept yet, because somebody else was writing the same object, is not carried out
    twice: it waits to be kept, and told, with the passes that follow. A process that dies meanwhile leaves the request.
    """

    objects: FleetObjects
    identity: str
    commands: FleetCommands
    _unkept: dict[str, dict[str, str]] = field(default_factory=dict)
    """By object: requests that have been carried out, and stand on it still."""
    _strange: dict[tuple[str, str], str] = field(default_factory=dict)
    """By object and annotation: values of what is no verb, and has been told of."""
    _unsaid: tuple[str, ...] = ()
    """What requests have come to, and nobody has been told yet."""
    _approved: frozenset[str] = frozenset()
    """Waves whose approval is not kept yet."""
    _specs: tuple[Mapping[str, Any], Mapping[str, Mapping[str, Any]]] = ({}, {})
    """Members of spec that were ordered, and are not kept yet: the Fleet's, and by cluster."""

    def asked(self, memory: FleetMemory, fleet: Fleet | None, shut: AbstractSet[str], now: datetime) -> Asked:
        """What humans have asked for since, carried out on the memory. `shut`: clusters whose object cannot be written; what is
        asked for on it waits. So does what is about a content where nobody knows what Git says (no `fleet`).
        """
        clusters = () if fleet is None else fleet.clusters
        holds = {n: {"hold": _spec(b).get("hold")} for n, b in self.objects.rollouts.items()}
        standing = {n: h for n, h in holds.items() if h["hold"] is not None}
        desk = Desk(
            memory,
            {c.name: c.content for c in clusters},
            self.identity,
            self.commands,
            fleet_spec=self._specs[0],
            rollout_specs=standing | dict(self._specs[1]),
            approved=self._approved,
            said=self._unsaid,
        )
        carriers = [("", self.objects.fleet, On.FLEET)]
        carriers += [(n, body, On.ROLLOUT) for n, body in self.objects.rollouts.items() if n not in shut]
        found = [
            (name, asked)
            for name, body, on in carriers
            for asked in requests_on(body, on)
            if fleet is not None or not is_about_content(asked)
        ]
        if found and fleet is not None:
            desk = replace(desk, waves=_waves(fleet), asking=_asking_waves(fleet), shown=self._shown())
        faults: list[Exception] = []
        for name, asked in found:
            if self._unkept.get(name, {}).get(asked.annotation) == asked.value:
                continue
            try:
                desk = carried_out(desk, name, asked, now)
            except Exception as error:  # noqa: BLE001 - whatever one request meets, an abort must not wait behind it
                desk = came_to_nothing(desk, name, asked, now)
                faults.append(error)
            self._unkept.setdefault(name, {})[asked.annotation] = asked.value
        if fleet is not None:
            desk = self._unknown(desk, carriers, now)
        self._unsaid, self._approved = desk.said, desk.approved
        ordered = {
            n: s for n, s in desk.rollout_specs.items() if n in self._unkept and s is not standing.get(n)
        }
        self._specs = (desk.fleet_spec, ordered)
        return Asked(desk, {name: dict(taken) for name, taken in self._unkept.items()}, tuple(faults))

    def _unknown(self, desk: Desk, carriers: Sequence[tuple[str, JsonObject, On]], now: datetime) -> Desk:
        """What is no verb, told once for as long as it stands there."""
        found = {
            (name, each.annotation): each
            for name, body, on in carriers
            for each in unknown_on(body, on)[:STRANGE_AT_MOST]
        }
        for (name, annotation), each in found.items():
            if self._strange.get((name, annotation)) != each.value:
                desk = not_a_verb(desk, name, each, now)
        self._strange = {place: each.value for place, each in found.items()}
        return desk

    def _shown(self) -> dict[str, JsonObject]:
        bodies = {"": self.objects.fleet, **self.objects.rollouts}
        return {name: body.get("status") or {} for name, body in bodies.items()}

    def without(self, asked: Asked, clusters: AbstractSet[str]) -> Asked:
        """Requests of clusters that are to be forgotten went with their objects; or stay, to be carried out by a later pass."""
        self._unkept = {name: taken for name, taken in self._unkept.items() if name not in clusters}
        self._unsaid = asked.desk.said
        return replace(asked, done=dict(self._unkept))

    def acts(self, spec: FleetSpec, desk: Desk) -> Acts:
        """All that stands, what was just ordered included."""
        ordered = desk.fleet_spec
        suspended = spec.suspended
        if "suspend" in ordered:
            suspended = str(ordered.get("suspendReason") or "") if ordered["suspend"] else ""
        abort = spec.abort
        if "abort" in ordered:
            body = self.objects.fleet
            abort = fleet_spec({**body, "spec": {**body["spec"], **ordered}}).abort
        held = {n: hold_told(s["hold"]) for n, s in desk.rollout_specs.items() if s.get("hold") is not None}
        return Acts(
            approved_waves=desk.approved,
            suspended=suspended,
            held=held,
            aborted=abort,
        )

    def kept(self, but: AbstractSet[str]) -> None:
        """All of the pass is kept, `but` for some clusters. What stands on its object yet has not been taken off."""
        bodies = {"": self.objects.fleet, **self.objects.rollouts}
        self._unkept = {
            name: left
            for name, taken in self._unkept.items()
            if (left := _standing_on(bodies.get(name, {}), taken))
        }
        self._unsaid, self._approved = (), frozenset()
        self._specs = ({}, {name: spec for name, spec in self._specs[1].items() if name in but})


def specs_to_keep(asked: Asked) -> dict[str, Mapping[str, Any]]:
    """Members of spec that have been ordered, by object."""
    desk = asked.desk
    specs: dict[str, Mapping[str, Any]] = {n: s for n, s in desk.rollout_specs.items() if n in asked.done}
    if desk.fleet_spec:
        specs[""] = desk.fleet_spec
    return specs


def _waves(fleet: Fleet) -> dict[str, str]:
    clusters = {c.name: c for c in fleet.clusters}
    ordered, _ = lines(fleet.policy, fleet.clusters)
    return {line.wave.name: contents_digest(line, clusters) for line in ordered}


def _asking_waves(fleet: Fleet) -> frozenset[str]:
    """Waves that are to be approved."""
    waves = fleet.policy.rollout.waves or ()
    return frozenset(wave.name for wave in waves if wave.approval is Approval.MANUAL)


def _standing_on(body: JsonObject, taken: Mapping[str, str]) -> dict[str, str]:
    carried = annotations_of(body)
    return {annotation: value for annotation, value in taken.items() if carried.get(annotation) == value}


def _spec(body: JsonObject) -> Mapping[str, Any]:
    found: Mapping[str, Any] = body.get("spec") or {}
    return found
