"""Which installation of the product this is: a random identity in a ConfigMap of the global cluster, which no mirror takes along."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from gitops_mc.app.api import RESOURCES, ClusterApi
from gitops_mc.core.errors import AlreadyExistsError, NotFoundError, UsageError
from gitops_mc.core.model import GLOBAL_CLUSTER, JsonObject

INSTALLATION: Final = "gitops-mc-installation"
INSTALLATION_NAMESPACE: Final = "cpaas-system"
"""Not mirrored to a standby (ACP docs, "Global cluster disaster recovery"), so each side has an identity of its own."""
_CONFIG_MAP: Final = RESOURCES["ConfigMap"]


def identity_of(api: ClusterApi) -> str:
    """Empty where no controller has begun here yet. Raises what the API raises."""
    try:
        return _identity(_read(api))
    except NotFoundError:
        return ""


def made_identity(api: ClusterApi, fresh: Callable[[], str]) -> str:
    """The identity, made on first use. Raises UsageError where its ConfigMap names none, and what the API raises."""
    try:
        found = _read(api)
    except NotFoundError:
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": INSTALLATION, "namespace": INSTALLATION_NAMESPACE},
            "data": {"identity": fresh()},
        }
        try:
            found = api.create(GLOBAL_CLUSTER, _CONFIG_MAP, body, namespace=INSTALLATION_NAMESPACE)
        except AlreadyExistsError:  # replicas begin together, and one of them is first
            found = _read(api)
    identity = _identity(found)
    if not identity:
        raise UsageError(
            f"ConfigMap {INSTALLATION} in {INSTALLATION_NAMESPACE} names no identity",
            hint="delete it; the controller makes it anew, and takeover names it in the Fleet",
        )
    return identity


def _read(api: ClusterApi) -> JsonObject:
    return api.get(GLOBAL_CLUSTER, _CONFIG_MAP, INSTALLATION, namespace=INSTALLATION_NAMESPACE)


def _identity(found: JsonObject) -> str:
    return str((found.get("data") or {}).get("identity") or "")
