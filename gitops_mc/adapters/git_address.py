"""Addresses of remote repositories: which are reached at all, and what of them may be shown."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final, Literal, TypeAlias
from urllib.parse import urlsplit

from gitops_mc.core.errors import SourceError

Scheme: TypeAlias = Literal["https", "ssh", "http", "file"]
Unprotected: TypeAlias = Literal["http", "file"]
"""Transports that prove nothing about the other side: for tests and the sandbox, where the caller asks for them."""

_WANTED: Final = "write https://host/path, ssh://git@host/path or git@host:path"
_HOST: Final = r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])"
_USER: Final = r"[A-Za-z0-9_][A-Za-z0-9._-]*"
_SHORT: Final = re.compile(rf"(?:(?P<user>{_USER})@)?(?P<host>{_HOST}):(?P<path>[^-:]\S*)")
_AUTHORITY: Final = re.compile(rf"(?:(?P<user>{_USER})@)?(?P<host>{_HOST})(?::(?P<port>[0-9]{{1,5}}))?")
_DEFAULT_PORTS: Final = {"https": "443", "http": "80", "ssh": "22"}


@dataclass(frozen=True, slots=True)
class Address:
    """Where a repository is. No part of it is secret: an address that holds a password is refused."""

    url: str
    """As git takes it."""
    scheme: Scheme
    host: str = ""
    port: str = ""
    """Never empty for https, http and ssh."""

    @property
    def origin(self) -> str:
        """What credentials are bound to: `https://host:port/`."""
        return f"{self.scheme}://{self.host}:{self.port}/"

    @property
    def loopback(self) -> bool:
        """Whether it cannot leave this machine."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False


def address_of(url: str, unprotected: frozenset[Unprotected] = frozenset()) -> Address:
    """Raises SourceError, which never quotes a part that could be a password."""
    if not url.isprintable() or " " in url or not url.isascii():
        raise SourceError("the address of the repository holds characters that no address has", hint=_WANTED)
    if "://" not in url:
        return _short(url)
    scheme, _, rest = url.partition("://")
    authority, _, path = rest.partition("/")
    match scheme:
        case "https" | "http" | "ssh":
            found = _of_authority(scheme, authority, path)
        case "file" if not authority:
            found = Address(url, "file")
        case _:
            raise SourceError(f"repositories are not fetched by {scheme[:20]!r}", hint=_WANTED)
    if found.scheme in ("http", "file") and found.scheme not in unprotected:
        raise SourceError(
            f"{found.scheme} is refused: nothing proves who answers, and credentials would be readable",
            hint=f"{_WANTED}; to try it out on this machine: gitops-mc controller --allow-unprotected-git",
        )
    return found


def _short(url: str) -> Address:
    """`git@host:path`, as git and ssh write it."""
    found = _SHORT.fullmatch(url)
    if found is None:
        raise SourceError("the address of the repository is none that is known", hint=_WANTED)
    return Address(url, "ssh", found["host"], "22")


def _of_authority(scheme: Literal["https", "http", "ssh"], authority: str, path: str) -> Address:
    if "@" in authority and (scheme != "ssh" or ":" in authority.rpartition("@")[0]):
        raise SourceError(
            "the address of the repository holds a user or a password",
            hint="credentials belong in the Secret, never in the address",
        )
    found = _AUTHORITY.fullmatch(authority)
    if found is None or not path.strip("/") or urlsplit(f"x://x/{path}").query or "#" in path:
        raise SourceError(f"the {scheme} address of the repository has no good host and path", hint=_WANTED)
    port = found["port"] or _DEFAULT_PORTS[scheme]
    user = f"{found['user']}@" if found["user"] else ""
    shown_port = f":{found['port']}" if found["port"] else ""
    return Address(
        f"{scheme}://{user}{found['host'].lower()}{shown_port}/{path}", scheme, found["host"].lower(), port
    )
