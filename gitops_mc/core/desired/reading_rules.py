"""The ids of problems that are found while a repository is read, before any rule about content is asked."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

READING_RULES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "file-empty": "A manifest file has at least one document (a warning).",
        "file-lfs-pointer": "Manifests and fleet.yaml are content, not Git LFS pointers.",
        "file-unreadable": "A manifest, or the link that stands for it, leads to a file of the repository.",
        "fleet-cluster-missing": "A cluster listed in fleet.yaml has a folder (a warning: nothing is done for it).",
        "fleet-document": "fleet.yaml holds exactly one document.",
        "fleet-duplicate": "Names of clusters and waves in fleet.yaml are used once.",
        "fleet-missing-field": "Required fields of fleet.yaml are there; a selector is never implied.",
        "fleet-no-wave": "Every cluster is in a wave; one that is not blocks itself.",
        "fleet-shared-missing": "A shared set named in fleet.yaml has a folder.",
        "fleet-shared-unused": "A shared set is used by a cluster (a warning).",
        "fleet-unknown-field": "fleet.yaml has no fields but the known ones.",
        "fleet-value": "Values in fleet.yaml have the right form.",
        "fleet-window-never": "For every cluster that has windows one opens at some time (a warning).",
        "fleet-window-short": "Of the windows of a cluster one has room for a node (a warning).",
        "fleet-window-unused": "A window of fleet.yaml is one of a cluster (a warning).",
        "ignition-compression": "Contents in clear are not said to be compressed.",
        "ignition-contents": "Contents come from one of inline, local and source.",
        "ignition-local-file": "contents.local and contents_local name a file of the repository that may be read.",
        "ignition-mode": "A mode stands without quotes.",
        "layout-cluster-name": "A folder below clusters/ has a cluster's name: a DNS label, and not `files`.",
        "layout-empty": "There is at least one cluster folder and one manifest; an empty repository is a slip.",
        "layout-fleet-file": "The fleet file is a file and is called fleet.yaml.",
        "layout-link": "Folders of clusters and shared sets are folders, not links.",
        "layout-path": "Paths of manifests are printable UTF-8 and differ in more than case.",
        "layout-place": "Manifests stand in the folder of a cluster or of a shared set (a warning where they do not).",
        "layout-submodule": "There are no submodules below clusters/ and shared/.",
        "layout-suffix": "Manifests end in .yaml or .yml (a warning for files that almost do).",
        "manifest-api-version": "The apiVersion is the one of the kind.",
        "manifest-double": "An object has one manifest in a cluster, shared sets included.",
        "manifest-field": "A manifest has apiVersion, kind, metadata and spec, and nothing else.",
        "manifest-kind": "The kind is one of the managed ones.",
        "manifest-name": "metadata.name is there and is a name the API server accepts.",
        "manifest-namespace": "The managed kinds are cluster-scoped: no metadata.namespace.",
        "manifest-object": "A document is an object, or a list of objects.",
        "manifest-reserved": "Labels and annotations that gitops-mc writes itself do not stand in manifests.",
        "manifest-server-field": "What the API server or the operator makes is not sent (a warning).",
        "manifest-strings": "Values of labels and annotations are strings.",
        "module-name-label": "A ModuleInfo says in cpaas.io/module-name which module it installs.",
        "source-unread": "Everything that is needed has been read.",
        "yaml-alias": "An alias has an anchor before it in the same document, and does not contain itself.",
        "yaml-duplicate-key": "A key stands once in a mapping; kubectl would keep the last without a word.",
        "yaml-encoding": "A file is UTF-8 text (or UTF-16 with a byte order mark) without control characters.",
        "yaml-key": "Keys are strings; `yes`, `on` and numbers need quotes.",
        "yaml-limit": "Size, number of documents, depth, and what aliases stand for are within limits.",
        "yaml-merge": "A merge key takes mappings, and does not replace a key written before it (a warning).",
        "yaml-scalar": "A value has a meaning in JSON: no .inf, no .nan, no unknown tag.",
        "yaml-separator": "Documents begin after a line `---` that holds nothing else.",
        "yaml-syntax": "The file is YAML as kubectl reads it.",
        "yaml-tab": "Indentation is spaces.",
        "yaml-tag": "Mappings and lists carry no tags but !!map and !!seq.",
    }
)
