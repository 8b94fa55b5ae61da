"""How a Fleet's spec names Secrets and ConfigMaps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gitops_mc.core.errors import GitopsMcError


class FleetSpecError(GitopsMcError):
    """A Fleet that cannot be followed; the message names the field."""


@dataclass(frozen=True, slots=True)
class Ref:
    """A key of a Secret or ConfigMap in the Fleet's namespace."""

    name: str
    key: str = ""
    """Empty: the whole object, whose keys have the meaning that the field's documentation gives them."""


def ref_of(said: Mapping[str, Any] | None) -> Ref | None:
    """What a field says; None: it is not there."""
    return None if said is None else Ref(str(said.get("name") or ""), str(said.get("key") or ""))
