"""Whether a text is certificates, before anybody connects with them: a handshake says only that it failed."""

from __future__ import annotations

import ssl


def are_certificates(pem: bytes) -> bool:
    """Whether a connection could trust what stands there in PEM; remarks between certificates may be in any language."""
    text = pem.decode("latin-1").encode("ascii", "replace").decode()
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=text)
    except (ssl.SSLError, ValueError):
        return False
    return True
