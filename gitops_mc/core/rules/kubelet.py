"""Rules about the pieces of kubelet configuration below /etc/kubernetes/kubelet.conf.d (ACP docs, Configuring Kubelet)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gitops_mc.core.ignition import SourceDecodeError, decode_source
from gitops_mc.core.model import BodyPath, JsonObject
from gitops_mc.core.rules.row import Found
from gitops_mc.core.rules.shapes import at, entries, text

FOLDER = "/etc/kubernetes/kubelet.conf.d/"
_REQUIRED = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
_PLATFORMS = ("cgroupDriver", "clusterDomain", "staticPodPath", "clusterDNS")
_TOP_LEVEL = re.compile(r"^[\"']?([A-Za-z]+)[\"']?[ \t]*:", re.MULTILINE)


def _pieces(body: JsonObject) -> Iterator[tuple[BodyPath, str, str]]:
    """Every piece: the path of its entry, the path on the node, and its text."""
    for where, file in entries(body, "spec", "config", "storage", "files"):
        path, source = text(file.get("path")), at(file, "contents", "source")
        if path.startswith(FOLDER) and isinstance(source, str):
            try:
                data = decode_source(source, text(at(file, "contents", "compression")))
            except SourceDecodeError:
                continue  # rule `file-contents` speaks of it
            yield where, path, data.decode("utf-8", "replace")


def form(body: JsonObject) -> Found:
    for where, path, told in _pieces(body):
        keys = set(_TOP_LEVEL.findall(told))
        missing = [key for key in _REQUIRED if key not in keys]
        if not path.endswith(".conf"):
            yield (
                (*where, "path"),
                f"the kubelet reads files *.conf of {FOLDER} only, not {path}",
                "end its name in .conf",
            )
        elif missing and not told.lstrip().startswith("{"):
            yield (
                (*where, "contents"),
                f"{path} has no {' and no '.join(missing)}, which the kubelet asks of every piece",
                "; ".join(f"write `{key}: {_REQUIRED[key]}`" for key in missing),
            )


def platforms_setting(body: JsonObject) -> Found:
    for where, path, told in _pieces(body):
        for key in _PLATFORMS:
            if key in _TOP_LEVEL.findall(told):
                yield (
                    (*where, "contents"),
                    f"{path} sets {key}, which the platform decides: the node may not start, or leave the cluster",
                    f"remove {key}",
                )
