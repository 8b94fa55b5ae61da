"""Kubeconfigs that others than this machine's user wrote, out of Secrets: what they hold is used, what they point to is not.

A kubeconfig may name programs to run and files to read. On one's own machine that is one's own doing; in the controller's pod it
would hand the pod to whoever may write a Secret, and its files to the server that the kubeconfig names.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from gitops_mc.adapters.kube_config_file import chosen, document_of
from gitops_mc.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_RUNS: Final = "runs a program here"
_READS: Final = "reads a file here"
_CLUSTER: Final = ("server", "certificate-authority-data", "tls-server-name", "proxy-url")
_USER: Final = ("token", "client-certificate-data", "client-key-data")
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
_HINT: Final = (
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
    document = document_of(text, called, _HINT)
    found = chosen(document, called, _HINT)
    refused = [*_refused(found.cluster, "cluster", _CLUSTER), *_refused(found.user, "user", _USER)]
    if refused:
        raise UsageError(
            f"{called} is not used: {'; '.join(refused)}. It may hold {', '.join(_CLUSTER)}; {', '.join(_USER)}",
            hint=_HINT,
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
