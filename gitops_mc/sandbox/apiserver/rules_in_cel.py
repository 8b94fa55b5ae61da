"""Validation rules that a definition may bring along: their text in CEL, and what it means, in Python.

A definition with any other rule is refused: this server has no CEL, and a rule that is not asked proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final


def _named_like_its_cluster(obj: Any) -> bool:
    return bool(obj["spec"]["cluster"] == obj["metadata"]["name"])


def _named_like_a_label(obj: Any) -> bool:
    return len(obj["metadata"]["name"]) <= 63


def _hosts_where_ssh(spec: Any) -> bool:
    over_ssh = re.search(r"^(ssh://|[^/]+@)", spec["source"]["url"]) is not None
    return not over_ssh or bool(spec["source"].get("knownHosts"))


RULES: Final[Mapping[str, Callable[[Any], bool]]] = MappingProxyType(
    {
        "self.spec.cluster == self.metadata.name": _named_like_its_cluster,
        "size(self.metadata.name) <= 63": _named_like_a_label,
        "!self.source.url.matches('^(ssh://|[^/]+@)') || (has(self.source.knownHosts) && size(self.source.knownHosts) > 0)": (
            _hosts_where_ssh
        ),
    }
)
