"""What one live ModuleInfo says of where it belongs."""

from __future__ import annotations

from gitops_mc.core.model import CLUSTER_LABEL, PLATFORM_GROUP_VERSION, JsonObject, labels_of
from gitops_mc.core.raw import items, text

_PLATFORM_GROUP = PLATFORM_GROUP_VERSION.partition("/")[0]


def cluster_of(info: JsonObject) -> str:
    """The cluster a ModuleInfo is for: its label; an instance for `global` may lack it, then its owner tells (ACP docs).
    Empty where neither says.
    """
    owners = (
        text(owner, "name")
        for owner in items(info, "metadata", "ownerReferences")
        if owner.get("kind") == "Cluster" and text(owner, "apiVersion").partition("/")[0] == _PLATFORM_GROUP
    )
    return labels_of(info).get(CLUSTER_LABEL) or next(owners, "")


LIFECYCLE_LABEL = "cpaas.io/lifecycle-type"
_CORE = "core"


def is_core(*bodies: JsonObject) -> bool:
    """Whether one of these (a ModuleInfo, its ModuleConfig or ModulePlugin) says life cycle Core: the module follows the
    version of the cluster and refuses an upgrade of its own (ACP docs). Written `Core` in the docs, and `core` on objects.
    """
    return any(labels_of(body).get(LIFECYCLE_LABEL, "").lower() == _CORE for body in bodies)
