"""The memory of a fleet, cut into objects: a part for the Fleet, one for each ClusterRollout, and put together again.

No object outgrows the store: what belongs to a cluster stands in its own. The parts are written one after the other, and
every moment between two of them is a memory that goes on safely (the Fleet first: a halt is known before its failure is).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from gitops_mc.core.errors import MemoryStoreError
from gitops_mc.core.model import JsonObject
from gitops_mc.core.rollout.memory import MEMORY_VERSION, ClusterMemory, FleetMemory, nonsense

KEPT_HISTORY: Final = 60
"""Acts of humans that an object shows; older ones are in the audit log of the API server."""
LONGEST_WORDS: Final = 400
"""Characters of a reason that somebody gave."""
LONGEST_REASON: Final = 4_000
"""Characters of why something failed, or halts; a fleet of which a hundred clusters fail at once has more to say."""

_COMMIT: Final = re.compile(r"([0-9a-f]{40})?")
"""Git's ids; none where a content was seen without one."""

_CLUSTER_SPEC: Final = {
    "failure": "held",
    "rollback": "rolledBack",
    "approved": "approved",
    "skipped": "skipped",
    "excused": "excused",
    "accepted": "accepted",
    "hurried": "hurried",
    "overridden": "overridden",
}
"""Members of ClusterMemory that stand in spec, and under which name."""


@dataclass(frozen=True, slots=True)
class Part:
    """What one object keeps: members of its spec, of its status.memory, and the acts that are shown in status.history."""

    spec: JsonObject
    memory: JsonObject
    history: tuple[JsonObject, ...] = ()


SPEC_OF_FLEET: Final = ("halt", "approvals")
SPEC_OF_ROLLOUT: Final = tuple(_CLUSTER_SPEC.values())
"""Members of spec that we write; every other one is a human's alone."""


def fleet_part(memory: FleetMemory) -> Part:
    """What the Fleet keeps."""
    plain = _plain(memory)
    waves = plain["waves"]
    approvals = [
        {"wave": name, "contents": wave["contents"]} for name, wave in waves.items() if wave["approved"]
    ]
    kept = {
        "version": plain["version"],
        "waves": {name: {k: v for k, v in w.items() if k != "approved"} for name, w in waves.items()},
        "prune": plain["prune"],
        "previews": plain["previews"],
        "clock": plain["clock"],
    }
    history = tuple({**act, "why": act["why"][:LONGEST_WORDS]} for act in plain["acts"][-KEPT_HISTORY:])
    halt = _shortened(plain["halt"])
    return Part(_present({"halt": halt, "approvals": approvals}), _present(kept), history)


def cluster_part(memory: ClusterMemory) -> Part:
    """What a ClusterRollout keeps."""
    plain = _plain(memory)
    spec = {name: plain.pop(member) for member, name in _CLUSTER_SPEC.items()}
    spec["held"] = _shortened(spec["held"])
    if spec["rolledBack"] is not None:
        spec["rolledBack"] = {**spec["rolledBack"], "failed": _shortened(spec["rolledBack"]["failed"])}
    return Part(_present(spec), {"version": MEMORY_VERSION, **_present(plain)})


def fleet_memory(
    spec: Mapping[str, Any], status: Mapping[str, Any], clusters: Mapping[str, ClusterMemory]
) -> FleetMemory:
    """The memory of the fleet from its object and those of its clusters. Raises MemoryStoreError."""
    kept = _kept(status)
    waves = _mapping(kept.get("waves"), "status.memory.waves")
    for name, contents in _approvals(spec).items():
        wave = _mapping(waves.get(name), f"status.memory.waves.{name}") or {"contents": contents}
        if wave.get("contents") == contents:
            waves[name] = {**wave, "approved": True}
    found: FleetMemory = _converted(
        {
            **kept,
            "waves": waves,
            "halt": spec.get("halt"),
            "acts": list(status.get("history") or ()),
        },
        FleetMemory,
        "spec.halt, spec.approvals, status.history or status.memory",
    )
    return replace(found, clusters=dict(sorted(clusters.items())))


def cluster_memory(spec: Mapping[str, Any], status: Mapping[str, Any]) -> ClusterMemory:
    """The memory of a cluster from its object; a backup that brought back no status leaves what spec holds. Raises
    MemoryStoreError: unreadable memory is never an empty one.
    """
    kept = _kept(status)
    kept.pop("version")
    said = {member: spec[name] for member, name in _CLUSTER_SPEC.items() if spec.get(name) is not None}
    found: ClusterMemory = _converted(
        {**kept, **said}, ClusterMemory, f"spec.{', spec.'.join(SPEC_OF_ROLLOUT)} or status.memory"
    )
    strange = sorted({commit for _, commit in found.stands_at if not _COMMIT.fullmatch(commit)})
    if strange:
        raise MemoryStoreError(f"status.memory names a commit {strange[0][:40]!r}, which is the id of none")
    return found


def with_fleet_spec(memory: FleetMemory, spec: Mapping[str, Any], base: Mapping[str, Any]) -> FleetMemory:
    """The memory, with what somebody else has changed in the Fleet's spec since it was `base`: lifted a halt, taken an approval
    back. What he has left alone is as the memory has it, be it written yet or not.
    """
    said, known = _approvals(spec), _approvals(base)
    waves = {
        name: replace(w, approved=said.get(name) == w.contents) if said.get(name) != known.get(name) else w
        for name, w in memory.waves.items()
    }
    if spec.get("halt") == base.get("halt"):
        return replace(memory, waves=waves)
    halt = _converted({"halt": spec.get("halt")}, FleetMemory, "spec.halt").halt
    return replace(memory, waves=waves, halt=halt)


def _approvals(spec: Mapping[str, Any]) -> dict[str, str]:
    return {a["wave"]: a["contents"] for a in spec.get("approvals") or ()}


def with_cluster_spec(
    memory: ClusterMemory, spec: Mapping[str, Any], base: Mapping[str, Any]
) -> ClusterMemory:
    """The memory, with what somebody else has changed in the ClusterRollout's spec since it was `base`."""
    changed = {m: name for m, name in _CLUSTER_SPEC.items() if spec.get(name) != base.get(name)}
    said = {member: spec[name] for member, name in changed.items() if spec.get(name) is not None}
    where = f"spec.{', spec.'.join(changed.values())}"
    found: ClusterMemory = _converted(said, ClusterMemory, where)
    return replace(memory, **{member: getattr(found, member) for member in changed})


def _converted(plain: JsonObject, into: Any, where: str) -> Any:
    try:
        found = msgspec.convert(plain, into)
    except msgspec.ValidationError as error:
        raise MemoryStoreError(
            f"{where} cannot be understood: {error}", hint="restore the object from a backup"
        ) from error
    if strange := nonsense(found):
        raise MemoryStoreError(
            f"{where} cannot be understood: {strange}", hint="restore the object from a backup"
        )
    return found


def _kept(status: Mapping[str, Any]) -> JsonObject:
    """Raises MemoryStoreError."""
    kept = _mapping(status.get("memory"), "status.memory") or {"version": MEMORY_VERSION}
    _known_version(kept, "status.memory")
    return kept


def _mapping(found: object, where: str) -> JsonObject:
    """A copy; empty where there is none. Raises MemoryStoreError."""
    if found is not None and not isinstance(found, dict):
        raise MemoryStoreError(
            f"{where} cannot be understood: it is no mapping", hint="restore the object from a backup"
        )
    return dict(found or {})


def _known_version(kept: Mapping[str, Any], where: str) -> None:
    version = kept.get("version")
    if version != MEMORY_VERSION:
        raise MemoryStoreError(
            f"{where} has version {version!r}, this gitops-mc reads version {MEMORY_VERSION}",
            hint="use the gitops-mc that wrote it, or a newer one",
        )


def _plain(value: FleetMemory | ClusterMemory) -> JsonObject:
    """As it comes back from an API server: a list where the memory has a tuple, so that what stands compares as equal."""
    plain: JsonObject = msgspec.json.decode(msgspec.json.encode(value, order="deterministic"))
    return plain


def _shortened(said: JsonObject | None) -> JsonObject | None:
    """With a reason that the object can hold."""
    if said is None or len(said["reason"]) <= LONGEST_REASON:
        return said
    return {**said, "reason": f"{said['reason'][: LONGEST_REASON - 3]}..."}


def _present(members: Mapping[str, Any]) -> JsonObject:
    """Without what is empty: an object shows what is there."""
    return {name: value for name, value in members.items() if value not in (None, [], {}, "", False)}
