"""Rules about ModuleInfos."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gitops_mc.core.model import (
    CLUSTER_LABEL,
    MACHINE_CONFIG_MODULE,
    MODULE_LABEL,
    MODULE_TYPE_LABEL,
    JsonObject,
    Kind,
)
from gitops_mc.core.rules.row import DesiredFacts, Found, Hit
from gitops_mc.core.rules.shapes import at, filled, labels, text

_PLUGIN = "plugin"
_VERSION = re.compile(r"v[0-9]{1,18}\.[0-9]{1,18}\.[0-9]{1,18}([-+.][0-9A-Za-z.+-]+)?")


def three_labels(body: JsonObject) -> Found:
    found = labels(body)
    for label in (CLUSTER_LABEL, MODULE_LABEL):
        if not found.get(label):
            yield (
                ("metadata", "labels", label),
                f"the label {label} is missing: the labels decide what is installed, and where",
                f"add {label}",
            )
    if found.get(MODULE_TYPE_LABEL) != _PLUGIN:
        yield (
            ("metadata", "labels", MODULE_TYPE_LABEL),
            f"the label {MODULE_TYPE_LABEL} is not `{_PLUGIN}`: the installation fails without it",
            f"add {MODULE_TYPE_LABEL}: {_PLUGIN}",
        )


def own_cluster(facts: DesiredFacts) -> Iterator[Hit]:
    for manifest in facts.cluster.of_kind(Kind.MODULE_INFO):
        said = labels(manifest.body).get(CLUSTER_LABEL, "")
        if said and said != facts.cluster.name:
            yield Hit(
                manifest,
                ("metadata", "labels", CLUSTER_LABEL),
                f"the label says cluster {said}, but the folder is that of cluster {facts.cluster.name}",
                "move the manifest, or correct the label; in a shared set leave it out",
            )


def version_given(body: JsonObject) -> Found:
    if at(body, "spec", "version") in (None, ""):  # rule `field-type` speaks of a number
        yield (
            ("spec", "version"),
            "spec.version is missing",
            "write the spec.version of a published ModuleConfig, in quotes",
        )


def version_form(body: JsonObject) -> Found:
    version = text(at(body, "spec", "version"))
    if version and not _VERSION.fullmatch(version):
        yield (
            ("spec", "version"),
            f"version {version!r} does not look like vX.Y.Z, as published versions do",
            "compare with `kubectl get moduleconfigs` on the global cluster",
        )


def no_config(body: JsonObject) -> Found:
    if labels(body).get(MODULE_LABEL) == MACHINE_CONFIG_MODULE and filled(at(body, "spec", "config")):
        yield (
            ("spec", "config"),
            f"module {MACHINE_CONFIG_MODULE} takes no configuration",
            "write `config: {}`",
        )
