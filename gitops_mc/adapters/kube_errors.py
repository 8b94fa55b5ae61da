"""Why there was no answer, in plain words, and what to do about it."""

from __future__ import annotations

import errno
import http.client
import ssl
from typing import TYPE_CHECKING

from gitops_mc.core.errors import UnreachableError

if TYPE_CHECKING:
    from collections.abc import Iterator

_ERRNO = {
    errno.ECONNREFUSED: ("connection refused", "nothing listens at this address; check host and port"),
    errno.ECONNRESET: ("connection reset", "the other side hung up; a restarting control plane does that"),
    errno.EPIPE: ("connection closed while sending", "the other side hung up"),
    errno.EHOSTUNREACH: ("no route to host", "check the network between here and there"),
    errno.ENETUNREACH: ("network unreachable", "check the network between here and there"),
}

_VERIFY = {
    10: ("the certificate has expired", "renew the server's certificate, or check this machine's clock"),
    9: ("the certificate is not valid yet", "check this machine's clock"),
    62: ("the certificate is for another host", "use the host name that the certificate has"),
    64: ("the certificate is for another IP address", "use the host name that the certificate has"),
}
"""OpenSSL's X509_V_ERR_* numbers; all others mean that nobody we trust has signed it."""


def unreachable(error: BaseException, what: str, timeout: float, trusted: str) -> UnreachableError:
    """`what` is the call, `timeout` its seconds, `trusted` the CAs that the connection was checked against."""
    cause, hint = _plain(error, timeout, trusted)
    return UnreachableError(f"{what}: {cause}", hint=hint)


def _plain(error: BaseException, timeout: float, trusted: str) -> tuple[str, str]:
    from urllib3 import exceptions as url  # noqa: PLC0415 - comes with the client, imported as late

    chain = tuple(_causes(error))
    for cause in chain:
        match cause:
            case ssl.SSLCertVerificationError():
                return _certificate(cause, trusted)
            case url.NameResolutionError():
                return "the host's name is not known (DNS)", "check the address, and DNS on this machine"
            case url.NewConnectionError():
                continue  # a kind of ConnectTimeoutError to the library; what it really was is behind it
            case url.ConnectTimeoutError():
                return f"no connection within {timeout:g} s", "the host is down, or a firewall drops packets"
            case url.TimeoutError() | TimeoutError():
                return f"no answer within {timeout:g} s", ""
            case ssl.SSLError():
                reason = cause.reason or "handshake failed"
                return f"TLS failed: {reason}", "is the address https, and is it the gateway's?"
            case OSError(errno=number) if number in _ERRNO:
                return _ERRNO[number]
    if any(isinstance(c, http.client.IncompleteRead) for c in chain):
        return "the answer was cut short", ""
    if any(isinstance(c, url.DecodeError) for c in chain):
        return "the answer cannot be decompressed", ""
    if any(isinstance(c, url.ProtocolError) for c in chain):
        return "the connection was closed before an answer came", "a restarting control plane does that"
    return type(chain[-1]).__name__, ""


def _certificate(error: ssl.SSLCertVerificationError, trusted: str) -> tuple[str, str]:
    signer = (
        f"the certificate is not signed by {trusted} ({error.verify_message or 'verification failed'})",
        "pass the CA that signed the server's certificate: --ca-file FILE, certificate-authority in the kubeconfig, or caRef of the Fleet",
    )
    cause, hint = _VERIFY.get(error.verify_code or 0, signer)
    return f"TLS: {cause}", hint


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what is behind it, innermost last; urllib3 puts causes into arguments as well."""
    seen: set[int] = set()
    queue = [error]
    while queue:
        current = queue.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        queue += [e for e in (current.__cause__, current.__context__) if e is not None]
        queue += [a for a in current.args if isinstance(a, BaseException)]
        inner = getattr(current, "reason", None)
        if isinstance(inner, BaseException):
            queue.append(inner)
