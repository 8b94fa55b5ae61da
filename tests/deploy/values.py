"""Values of the chart that have the right shape: those that cannot work, where that is told, and by whom; and those that do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from gitops_mc.core.model import JsonObject


class Else(Enum):
    """What would happen, were it not refused by the chart."""

    REFUSED = auto()
    """The API server refuses the object: tests/apiserver asks one."""
    BREAKS = auto()
    """The object is taken, and there is no pod, or it does not do its work."""


@dataclass(frozen=True, slots=True)
class Spoilt:
    values: JsonObject
    named: str
    """The value that is told, by its dotted path."""
    otherwise: Else


def _policy(**values: Any) -> JsonObject:
    return {"networkPolicy": {"enabled": True, **values}}


def _from(peer: JsonObject) -> JsonObject:
    return _policy(webhookFrom=[peer])


def _to(port: JsonObject) -> JsonObject:
    return _policy(egress=[{"ports": [port]}])


def _mounted(source: JsonObject, path: str = "/etc/ours", **mount: Any) -> JsonObject:
    return {
        "volumes": [{"name": "ours", **source}],
        "volumeMounts": [{"name": "ours", "mountPath": path, **mount}],
    }


def _limited(**resources: Any) -> JsonObject:
    return {"resources": resources}


_CA: JsonObject = {"configMap": {"name": "our-ca"}}
_SECRET = {"secretKeyRef": {"name": "proxy", "key": "url"}}
_BLOCK = "networkPolicy.webhookFrom.0.ipBlock"
_PORT = "networkPolicy.egress.0.ports.0"
R, B = Else.REFUSED, Else.BREAKS

BY_THE_SCHEMA: dict[str, Spoilt] = {
    "a registry without a name": Spoilt(
        {"image": {"repository": "r.example.com:5000"}}, "image.repository", B
    ),
    "a port that is none": Spoilt({"image": {"repository": "r.example.com:99999/x"}}, "image.repository", B),
    "a name that ends in a dash": Spoilt(
        {"image": {"repository": "platform/gitops-mc-"}}, "image.repository", B
    ),
    "a pull secret in capitals": Spoilt(
        {"imagePullSecrets": [{"name": "Registry"}]}, "imagePullSecrets.0.name", B
    ),
    "a pull secret twice": Spoilt(
        {"imagePullSecrets": [{"name": "a"}, {"name": "a"}]}, "imagePullSecrets", R
    ),
    "a value from nothing": Spoilt({"env": [{"name": "A", "valueFrom": {}}]}, "env.0.valueFrom", R),
    "a value from an unknown place": Spoilt(
        {"env": [{"name": "A", "valueFrom": {"banana": {"name": "x"}}}]}, "env.0.valueFrom", R
    ),
    "a key without its Secret": Spoilt(
        {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"key": "url"}}}]},
        "env.0.valueFrom.secretKeyRef",
        R,
    ),
    "a value said and fetched": Spoilt(
        {"env": [{"name": "A", "value": "x", "valueFrom": _SECRET}]}, "env.0.value", R
    ),
    "a field that pods do not have": Spoilt(
        {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.banana"}}}]},
        "env.0.valueFrom.fieldRef.fieldPath",
        R,
    ),
    "a volume of an unknown kind": Spoilt(_mounted({"banana": {}}), "volumes.0", R),
    "a volume of two kinds": Spoilt(_mounted({**_CA, "emptyDir": {}}), "volumes.0", R),
    "a volume that the standard does not let in": Spoilt(
        _mounted({"hostPath": {"path": "/etc"}}), "volumes.0", B
    ),
    "a volume in capitals": Spoilt({"volumes": [{"name": "Ours", **_CA}]}, "volumes.0.name", R),
    "a ConfigMap without a name": Spoilt(_mounted({"configMap": {}}), "volumes.0.configMap", R),
    "a Secret by the name of a ConfigMap": Spoilt(_mounted({"secret": {"name": "x"}}), "volumes.0.secret", R),
    "a mode of four digits in decimal": Spoilt(
        _mounted({"configMap": {"name": "x", "defaultMode": 644}}), "volumes.0.configMap.defaultMode", R
    ),
    "a size that is no amount": Spoilt(
        _mounted({"emptyDir": {"sizeLimit": "big"}}), "volumes.0.emptyDir.sizeLimit", R
    ),
    "a path out of the volume": Spoilt(_mounted(_CA, subPath="../x"), "volumeMounts.0.subPath", R),
    "a path with a colon": Spoilt(_mounted(_CA, "/etc/a:b"), "volumeMounts.0.mountPath", B),
    "a resource that is none": Spoilt(_limited(limits={"banana": 1}), "resources.limits", R),
    "cores in bytes": Spoilt(_limited(requests={"cpu": "250Mi"}), "resources.requests.cpu", B),
    "an amount without a number": Spoilt(_limited(limits={"memory": "Gi"}), "resources.limits.memory", B),
    "an amount in words": Spoilt(_limited(limits={"memory": "1 GiB"}), "resources.limits.memory", R),
    "a class in capitals": Spoilt({"priorityClassName": "System"}, "priorityClassName", R),
    "a selector that is no label": Spoilt({"nodeSelector": {"a b": "x"}}, "nodeSelector", R),
    "a selector with a value of blanks": Spoilt({"nodeSelector": {"infra": "a b"}}, "nodeSelector.infra", R),
    "a toleration of every key, with Equal": Spoilt({"tolerations": [{"value": "x"}]}, "tolerations.0", R),
    "a toleration that asks and compares": Spoilt(
        {"tolerations": [{"key": "a", "operator": "Exists", "value": "x"}]}, "tolerations.0.value", R
    ),
    "seconds where nothing is evicted": Spoilt(
        {"tolerations": [{"key": "a", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 5}]},
        "tolerations.0.effect",
        R,
    ),
    "a time that is none": Spoilt(
        {"monitoring": {"enabled": True, "interval": "banana"}}, "monitoring.interval", R
    ),
    "more time than the alerts look back": Spoilt(
        {"monitoring": {"enabled": True, "interval": "10m"}}, "monitoring.interval", B
    ),
    "a label of blanks": Spoilt(
        {"monitoring": {"enabled": True, "labels": {"release": "a b"}}}, "monitoring.labels.release", R
    ),
    "runbooks nowhere": Spoilt({"monitoring": {"runbooks": "banana/"}}, "monitoring.runbooks", B),
    "an annotation without a name": Spoilt(
        {"dashboard": {"enabled": True, "annotations": {"a/": "x"}}}, "dashboard.annotations", R
    ),
    "a label whose name is too long": Spoilt(
        {"dashboard": {"enabled": True, "labels": {"a" * 64: "x"}}}, "dashboard.labels", R
    ),
    "an address and a selector at once": Spoilt(
        _from({"ipBlock": {"cidr": "10.0.0.0/8"}, "podSelector": {}}), "networkPolicy.webhookFrom.0", R
    ),
    "a block without its CIDR": Spoilt(_from({"ipBlock": {}}), _BLOCK, R),
    "a selector by an unknown name": Spoilt(
        _from({"podSelector": {"labels": {"app": "x"}}}), "networkPolicy.webhookFrom.0.podSelector", R
    ),
    "an operator that is none": Spoilt(
        _from({"podSelector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}}),
        "networkPolicy.webhookFrom.0.podSelector.matchExpressions.0.operator",
        R,
    ),
    "one of no values": Spoilt(
        _from({"podSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}),
        "networkPolicy.webhookFrom.0.podSelector.matchExpressions.0",
        R,
    ),
    "values of what only has to be there": Spoilt(
        _from({"podSelector": {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]}}),
        "networkPolicy.webhookFrom.0.podSelector.matchExpressions.0.values",
        R,
    ),
    "port 0": Spoilt(_to({"port": 0}), f"{_PORT}.port", R),
    "a port out of range": Spoilt(_to({"port": 65536}), f"{_PORT}.port", R),
    "a number as a name": Spoilt(_to({"port": "443"}), f"{_PORT}.port", R),
    "a protocol that is none": Spoilt(_to({"port": 443, "protocol": "HTTPS"}), f"{_PORT}.protocol", R),
    "ports up to one, from a name": Spoilt(_to({"port": "web", "endPort": 90}), f"{_PORT}.port", R),
    "a port by an unknown name": Spoilt(_to({"number": 443}), _PORT, R),
}
"""What helm says at the value, by its schema."""

BY_THE_TEMPLATES: dict[str, Spoilt] = {
    "the pod's own name": Spoilt({"env": [{"name": "GITOPS_MC_IDENTITY", "value": "me"}]}, "env.0.name", R),
    "a variable twice": Spoilt({"env": [{"name": "A"}, {"name": "A"}]}, "env.1.name", R),
    "a volume of the chart's name": Spoilt(
        {"volumes": [{"name": "cache", "emptyDir": {}}]}, "volumes.0.name", R
    ),
    "two volumes of one name": Spoilt({"volumes": [{"name": "a", **_CA}] * 2}, "volumes.1.name", R),
    "a mount without its volume": Spoilt(
        {"volumeMounts": [{"name": "ours", "mountPath": "/etc/ours"}]}, "volumeMounts.0.name", R
    ),
    "a volume over the cache": Spoilt(_mounted(_CA, "/cache"), "volumeMounts.0.mountPath", R),
    "the same, with a slash more": Spoilt(_mounted(_CA, "/tmp/"), "volumeMounts.0.mountPath", B),
    "two volumes at one place": Spoilt(
        {"volumes": [{"name": "a", **_CA}], "volumeMounts": [{"name": "a", "mountPath": "/etc/a"}] * 2},
        "volumeMounts.1.mountPath",
        R,
    ),
    "a volume over everything": Spoilt(_mounted(_CA, "/"), "volumeMounts.0.mountPath", B),
    "a volume over the program": Spoilt(_mounted(_CA, "/opt"), "volumeMounts.0.mountPath", B),
    "a volume in /proc": Spoilt(_mounted(_CA, "/proc/sys"), "volumeMounts.0.mountPath", B),
    "a volume over the pod's token": Spoilt(_mounted(_CA, "/var/run"), "volumeMounts.0.mountPath", B),
    "more asked for than allowed": Spoilt(
        _limited(requests={"cpu": "600m"}, limits={"cpu": 0.5}), "resources.requests.cpu", R
    ),
    "memory without its unit": Spoilt(_limited(limits={"memory": 512}), "resources.limits.memory", B),
    "a cache larger than its limit": Spoilt({"cacheSize": "50Gi"}, "cacheSize", B),
    "a cache as large as a limit that is given": Spoilt(
        {"cacheSize": "4Gi", **_limited(limits={"ephemeral-storage": 4294967296})}, "cacheSize", B
    ),
    "a cache without its unit": Spoilt({"cacheSize": "2"}, "cacheSize", B),
    "a CIDR that is none": Spoilt(_from({"ipBlock": {"cidr": "banana"}}), f"{_BLOCK}.cidr", R),
    "an address without its bits": Spoilt(_from({"ipBlock": {"cidr": "10.0.0.1"}}), f"{_BLOCK}.cidr", R),
    "a number beyond 255": Spoilt(_from({"ipBlock": {"cidr": "10.0.0.256/32"}}), f"{_BLOCK}.cidr", R),
    "more bits than an address has": Spoilt(_from({"ipBlock": {"cidr": "10.0.0.0/33"}}), f"{_BLOCK}.cidr", R),
    "an address of nine groups": Spoilt(
        _from({"ipBlock": {"cidr": "1:2:3:4:5:6:7:8:9/128"}}), f"{_BLOCK}.cidr", R
    ),
    "two gaps in one address": Spoilt(_from({"ipBlock": {"cidr": "fd00::1::/64"}}), f"{_BLOCK}.cidr", R),
    "an exception that is none": Spoilt(
        _from({"ipBlock": {"cidr": "10.0.0.0/8", "except": ["banana"]}}), f"{_BLOCK}.except.0", R
    ),
    "an exception from elsewhere": Spoilt(
        _from({"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16", "192.0.2.0/24"]}}),
        f"{_BLOCK}.except.1",
        R,
    ),
    "an exception of all": Spoilt(
        _from({"ipBlock": {"cidr": "fd00:1::/32", "except": ["fd00:1::/32"]}}), f"{_BLOCK}.except.0", R
    ),
    "an exception of the other family": Spoilt(
        _from({"ipBlock": {"cidr": "0.0.0.0/0", "except": ["fd00::/8"]}}), f"{_BLOCK}.except.0", R
    ),
    "a host where a network belongs": Spoilt(_from({"ipBlock": {"cidr": "10.0.0.1/8"}}), f"{_BLOCK}.cidr", R),
    "ports that end before they begin": Spoilt(_to({"port": 90, "endPort": 80}), f"{_PORT}.endPort", R),
}
"""What our templates say, all of it at once: what a schema cannot, or not in words."""

LET_IN: dict[str, JsonObject] = {
    "registries": {"image": {"repository": "Registry.example.com:65535/a__b/c-d.e/gitops-mc", "tag": "v1_2"}},
    "a registry on this machine": {"image": {"repository": "localhost:5000/gitops-mc"}},
    "variables": {
        "env": [
            {"name": "A"},
            {"name": "HTTPS_PROXY", "valueFrom": _SECRET},
            {
                "name": "B",
                "value": "",
                "valueFrom": {"configMapKeyRef": {"name": "x", "key": "a.b", "optional": True}},
            },
            {"name": "HOST", "valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}},
            {
                "name": "ROLE",
                "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['app.kubernetes.io/name']"}},
            },
        ]
    },
    "volumes": {
        "volumes": [
            {
                "name": "ca",
                "configMap": {
                    "name": "our-ca",
                    "defaultMode": 292,
                    "items": [{"key": "ca.crt", "path": "a/ca.crt"}],
                },
            },
            {"name": "keys", "secret": {"secretName": "keys", "optional": True}},
            {"name": "room", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}},
            {"name": "disk", "persistentVolumeClaim": {"claimName": "disk"}},
            {
                "name": "vault",
                "csi": {
                    "driver": "secrets-store.csi.k8s.io",
                    "readOnly": True,
                    "volumeAttributes": {"a": "b"},
                },
            },
            {
                "name": "all",
                "projected": {
                    "sources": [
                        {"configMap": {"name": "a"}},
                        {"secret": {"name": "b"}},
                        {"serviceAccountToken": {"path": "token", "audience": "vault"}},
                    ]
                },
            },
        ],
        "volumeMounts": [
            {"name": "ca", "mountPath": "/etc/ssl/certs/ours.pem", "subPath": "a/ca.crt", "readOnly": True},
            {"name": "keys", "mountPath": "/etc/keys"},
            {"name": "room", "mountPath": "/tmp/room"},
            {"name": "disk", "mountPath": "/opt/disk"},
            {"name": "cache", "mountPath": "/home/cache"},
            {"name": "vault", "mountPath": "/var/run/secrets/vault"},
            {"name": "all", "mountPath": "/all"},
        ],
    },
    "resources": {
        "cacheSize": "9.5Gi",
        "resources": {
            "requests": {"cpu": 0.5, "memory": "512Mi", "ephemeral-storage": "1Gi"},
            "limits": {"cpu": 1, "memory": 1073741824, "ephemeral-storage": "10Gi"},
        },
    },
    "no limit of what the disk takes": {"cacheSize": "50Gi", "resources": {"limits": {"memory": "1Gi"}}},
    "a cache just below its limit": {"cacheSize": "2.9Gi"},
    "where pods go": {
        "nodeSelector": {"node-role.kubernetes.io/infra": "", "zone": "a.b_c-1"},
        "tolerations": [
            {"operator": "Exists"},
            {"key": "example.com/infra", "value": "yes", "effect": "NoExecute", "tolerationSeconds": 60},
            {"key": "a", "operator": "Equal", "value": "", "effect": "PreferNoSchedule"},
        ],
    },
    "monitoring": {
        "monitoring": {
            "enabled": True,
            "interval": "2m",
            "labels": {"release": "kps"},
            "runbooks": "http://wiki/",
        },
        "dashboard": {
            "enabled": True,
            "labels": {},
            "annotations": {"grafana_folder": "A folder/with blanks"},
        },
    },
    "networks": _policy(
        probesFrom=[
            {"ipBlock": {"cidr": "0.0.0.0/0", "except": ["169.254.169.254/32", "10.0.0.0/9"]}},
            {"ipBlock": {"cidr": "fd00::/8", "except": ["fd01:2:3::/48", "fdff:2:3:4:5:6:7:8/128"]}},
            {"ipBlock": {"cidr": "::/0"}},
        ],
        webhookFrom=[
            {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ingress"}},
                "podSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["x", ""]}]},
            },
            {"podSelector": {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}},
        ],
        egress=[
            {
                "ports": [
                    {"port": 1, "endPort": 65535, "protocol": "TCP"},
                    {"port": "dns-tcp"},
                    {"protocol": "UDP"},
                ]
            },
            {"to": [{"ipBlock": {"cidr": "192.0.2.1/32"}}]},
            {},
        ],
    ),
}
"""What people have in their values, and what is just inside of a bound: it renders, and an API server takes it."""
