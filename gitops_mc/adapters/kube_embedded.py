"""Kubeconfigs that others than this machine's user wrote, out of Secrets: what they hold is used, what they point to is not.

A kubeconfig may name programs to run and files to read. On one's own machine that is one's own doing; in the controller's pod it
would hand the pod to whoever may write a Secret, and its files to the server that the kubeconfig names.
"""

from __future__ import annotations

import json
from base64 import b64decode
from binascii import Error as Base64Error
from typing import TYPE_CHECKING, Any, Final

from gitops_mc.adapters.certificates import are_certificates
from gitops_mc.adapters.kube_config_file import chosen, document_of
from gitops_mc.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_RUNS: Final = "runs a program here"
_READS: Final = "reads a file here"
_CLUSTER: Final = ("server", "certificate-authority-data", "tls-server-name", "proxy-url")
_USER: Final = ("token", "client-certificate-data", "client-key-data")
_DATA: Final[Mapping[str, str]] = {
    "certificate-authority-data": "certificate",
    "client-certificate-data": "certificate",
    "client-key-data": "private key",
}
_SAYS_NOTHING: Final = ("extensions", "disable-compression")
"""Of no use here, and of no harm."""
_WHY: Final[Mapping[str, str]] = {
    "exec": _RUNS,
    "auth-provider": _RUNS,
    "tokenFile": _READS,
    "client-certificate": _READS,
    "client-key": _READS,
    "certificate-authority": _READS,
    "insecure-skip-tls-verify": "lets anybody pose as the server",
}
HINT: Final = (
    "put into the Secret what `kubectl config view --raw --flatten --minify` writes for a ServiceAccount's token or a client "
    "certificate"
)


def embedded(content: bytes, called: str) -> bytes:
    """A kubeconfig of one context, the current one, and of nothing but addresses, names and credentials that stand in it. `called`
    names it in messages. Raises UsageError, with every field that would lead elsewhere, and shows no value.
    """
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = "\0"  # no YAML either
    document = document_of(text, called, HINT)
    found = chosen(document, called, HINT)
    refused = [*_refused(found.cluster, "cluster", _CLUSTER), *_refused(found.user, "user", _USER)]
    if refused:
        raise UsageError(
            f"{called} is not used: {'; '.join(refused)}. It may hold {', '.join(_CLUSTER)}; {', '.join(_USER)}",
            hint=HINT,
        )
    cluster = {key: found.cluster[key] for key in _CLUSTER if found.cluster.get(key)}
    user = {key: found.user[key] for key in _USER if found.user.get(key)}
    name = found.name
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": name,
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "clusters": [{"name": name, "cluster": cluster}],
            "users": [{"name": name, "user": user}],
        }
    ).encode()


def _refused(part: dict[str, Any], named: str, known: tuple[str, ...]) -> Iterator[str]:
    for field in sorted(part, key=str):
        value = part[field]
        if value in (None, "", False) or field in _SAYS_NOTHING:
            continue
        if field not in known:
            why = _WHY.get(str(field), "is not known here")
            yield f"{named}.{str(field)[:60]} {why}"
        elif not isinstance(value, str):
            yield f"{named}.{field} is no text"
        elif field in _DATA and not _holds(field, value):
            yield f"{named}.{field} is no {_DATA[field]} in base64 of PEM"
        elif field == "token" and not (value.strip().isascii() and value.strip().isprintable()):
            yield f"{named}.token holds characters that no bearer token has"


def _holds(field: str, value: str) -> bool:
    try:
        data = b64decode("".join(value.split()), validate=True)
    except (Base64Error, ValueError):
        return False
    return b"PRIVATE KEY-----" in data if field == "client-key-data" else are_certificates(data)
