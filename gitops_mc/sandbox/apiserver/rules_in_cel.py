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


def _no_user_in_the_source(spec: Any) -> bool:
    return re.search(r"^(https?|file)://[^/]*@|^ssh://[^/@]*:[^/]*@", spec["source"]["url"]) is None


def _source_is_an_address(spec: Any) -> bool:
    form = r"^(https://[^/]+/|ssh://|file:///|[A-Za-z0-9._-]+@[^:/]+:)"
    return re.search(form, spec["source"]["url"]) is not None


def _interval_is_a_time(spec: Any) -> bool:
    said = spec["source"].get("interval")
    return said is None or re.search(r"^([0-9]+h)?([0-9]+m)?([0-9]+s)?\Z", said) is not None


def _no_user_in_the_gateway(spec: Any) -> bool:
    gateway = (spec.get("clusters") or {}).get("gateway")
    return gateway is None or "@" not in gateway["url"]


def _one_way_into_the_forge(spec: Any) -> bool:
    forge = spec.get("forge")
    return forge is None or ("tokenRef" in forge) != ("appRef" in forge)


def _apps_on_github(spec: Any) -> bool:
    forge = spec.get("forge") or {}
    return "appRef" not in forge or forge["type"] == "github"


def _forge_is_an_address(spec: Any) -> bool:
    said = (spec.get("forge") or {}).get("url")
    return said is None or re.search(r"^https://[^/@?#]+(/[^@?#]*)?\Z", said) is not None


def _project_is_a_path(spec: Any) -> bool:
    said = (spec.get("forge") or {}).get("project")
    return said is None or re.search(r"^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)+\Z", said) is not None


def _previews_on_a_forge(spec: Any) -> bool:
    return not (spec.get("previews") or {}).get("enabled") or "forge" in spec


def _previews_now_and_then(spec: Any) -> bool:
    said = (spec.get("previews") or {}).get("interval")
    return said is None or re.search(r"^([0-9]+h)?([0-9]+m)?([0-9]+s)?\Z", said) is not None


def _topics_name_one(spec: Any) -> bool:
    return all(n.get("topics") != [] for n in spec.get("notifications") or ())


RULES: Final[Mapping[str, Callable[[Any], bool]]] = MappingProxyType(
    {
        "self.spec.cluster == self.metadata.name": _named_like_its_cluster,
        "size(self.metadata.name) <= 63": _named_like_a_label,
        "!self.source.url.matches('^(ssh://|[^/]+@)') || (has(self.source.knownHosts) && size(self.source.knownHosts) > 0)": (
            _hosts_where_ssh
        ),
        "!self.source.url.matches('^(https?|file)://[^/]*@|^ssh://[^/@]*:[^/]*@')": _no_user_in_the_source,
        "self.source.url.matches('^(https://[^/]+/|ssh://|file:///|[A-Za-z0-9._-]+@[^:/]+:)')": (
            _source_is_an_address
        ),
        "!has(self.source.interval) || self.source.interval.matches('^([0-9]+h)?([0-9]+m)?([0-9]+s)?$')": (
            _interval_is_a_time
        ),
        "!has(self.clusters) || !has(self.clusters.gateway) || !self.clusters.gateway.url.contains('@')": (
            _no_user_in_the_gateway
        ),
        "!has(self.forge) || has(self.forge.tokenRef) != has(self.forge.appRef)": _one_way_into_the_forge,
        "!has(self.forge) || !has(self.forge.appRef) || self.forge.type == 'github'": _apps_on_github,
        "!has(self.notifications) || self.notifications.all(n, !has(n.topics) || size(n.topics) > 0)": _topics_name_one,
        "!has(self.forge) || !has(self.forge.url) || self.forge.url.matches('^https://[^/@?#]+(/[^@?#]*)?$')": (
            _forge_is_an_address
        ),
        "!has(self.forge) || !has(self.forge.project) || self.forge.project.matches('^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)+$')": (
            _project_is_a_path
        ),
        "!has(self.previews) || !self.previews.enabled || has(self.forge)": _previews_on_a_forge,
        "!has(self.previews) || !has(self.previews.interval) || self.previews.interval.matches('^([0-9]+h)?([0-9]+m)?([0-9]+s)?$')": (
            _previews_now_and_then
        ),
    }
)
