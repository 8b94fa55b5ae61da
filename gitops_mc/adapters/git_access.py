"""What a poll needs to be let in, and to know whom it talks to. All of it may change between two polls."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias, assert_never

from gitops_mc.core.errors import SourceError


@dataclass(frozen=True, slots=True)
class Basic:
    """User and password; most forges take a token as the password."""

    user: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Bearer:
    """A token in a header of its own, for forges that want that."""

    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class SshKey:
    """A private key without a passphrase, as ssh-keygen writes it."""

    private: bytes = field(repr=False)


Credentials: TypeAlias = Basic | Bearer | SshKey


def token_of(credentials: Credentials | None) -> str:
    """The token or password, for whoever has to keep it out of messages, or to look when it expires; empty where there is none."""
    match credentials:
        case Basic(_, password):
            return password
        case Bearer(token):
            return token
        case SshKey() | None:
            return ""
        case _:
            assert_never(credentials)


@dataclass(frozen=True, slots=True)
class Trust:
    """Whose signature a commit needs: one of these keys, of either kind."""

    gpg: bytes = b""
    """Public keys, armored (`gpg --armor --export`), one after the other."""
    ssh: bytes = b""
    """Lines of an allowed signers file (ssh-keygen(1))."""
    held_by: str = ""
    """The object that they stand in, for messages."""

    def __post_init__(self) -> None:
        if not self.gpg.strip() and not self.ssh.strip():
            where = f" in {self.held_by}" if self.held_by else ""
            raise SourceError(
                f"signatures are asked for, but nobody is trusted: there are no keys{where}",
                hint="give armored GPG public keys, or lines of SSH allowed signers",
            )


@dataclass(frozen=True, slots=True)
class Called:
    """What messages call what is given: the object and the key that hold it, where somebody else has put it there."""

    credentials: str = "the credentials"
    key: str = "the key"
    """The private one, of SSH."""
    ca: str = "the given CA certificates"
    known_hosts: str = "known_hosts"
    trust: str = "the keys to trust"


@dataclass(frozen=True, slots=True)
class Access:
    """`trust` None: commits are not asked for a signature."""

    credentials: Credentials | None = None
    ca: bytes = b""
    """Certificates in PEM that replace the system's."""
    known_hosts: bytes = b""
    """Lines of a known_hosts file; SSH does not go without."""
    trust: Trust | None = None
    called: Called = Called()


ANYBODY: Final = Access()
ANY_USER: Final = "x-access-token"
"""GitHub's word for the user of a token; other forges take any."""
_KEY_BEGINS: Final = b"-----BEGIN "
_OPENSSH: Final = b"openssh-key-v1\0"
_NO_CIPHER: Final = b"\0\0\0\4none"


def key_of(secret: Mapping[str, bytes]) -> str:
    """The key that holds what is secret; empty where none does."""
    return next((key for key in _KINDS if key in secret), "")


def credentials_of(secret: Mapping[str, bytes], called: str = "the Secret") -> Credentials | None:
    """Of the data of a Secret: `identity` (or `ssh-privatekey`), a private SSH key; `token`, or `password`, with `username` for
    forges that want a certain one; or `bearerToken`, for those that want it in a header. None of an empty one. Raises
    SourceError, which names the Secret and keys and never shows a value.
    """
    given = [key for key in _KINDS if key in secret]
    if len(given) > 1:
        raise SourceError(
            f"{called} holds {' and '.join(given)}",
            hint="keep one of them: which one is meant cannot be told",
        )
    if given:
        return _KINDS[given[0]](secret, given[0], called)
    if secret.keys() - _NOT_SECRET:
        raise SourceError(
            f"{called} holds no credentials that are known",
            hint="its keys are identity; token; username and password; or bearerToken",
        )
    return None


def _basic(secret: Mapping[str, bytes], key: str, called: str) -> Basic:
    user = _text(secret, "username", called) if "username" in secret else ANY_USER
    if ":" in user:
        raise SourceError(
            f"username in {called} holds a colon, which basic auth has no place for", hint="check it"
        )
    return Basic(user, _text(secret, key, called))


def _bearer(secret: Mapping[str, bytes], key: str, called: str) -> Bearer:
    return Bearer(_text(secret, key, called))


def _identity(secret: Mapping[str, bytes], key: str, called: str) -> SshKey:
    return ssh_key(secret[key], f"{key} in {called}")


_KINDS: Final[Mapping[str, Callable[[Mapping[str, bytes], str, str], Credentials]]] = {
    "identity": _identity,
    "ssh-privatekey": _identity,
    "token": _basic,
    "password": _basic,
    "bearerToken": _bearer,
}
_NOT_SECRET: Final = frozenset({"known_hosts", "ca.crt", "identity.pub"})


def _text(secret: Mapping[str, bytes], key: str, called: str) -> str:
    """A value without the line end that editors and `echo` leave behind it."""
    try:
        text = secret[key].decode().strip("\r\n")
    except UnicodeDecodeError:
        text = ""
    if not text or not text.isprintable():
        raise SourceError(
            f"{key} in {called} is empty, or no text of one line", hint=f"write {key} anew, as one line"
        )
    return text


def ssh_key(data: bytes, called: str = "what is given") -> SshKey:
    """A private key out of a file. Raises SourceError for one that cannot be used without a human, and for what is none."""
    key = data.replace(b"\r\n", b"\n").strip() + b"\n"
    if not key.startswith(_KEY_BEGINS) or b"PRIVATE KEY-----" not in key:
        raise SourceError(
            f"{called} is no private SSH key",
            hint="it is the file that ssh-keygen wrote, not the one that ends in .pub",
        )
    if _locked(key):
        raise SourceError(
            f"{called} is a private SSH key that is locked with a passphrase",
            hint="give a key of its own, without one: ssh-keygen -t ed25519 -N ''",
        )
    return SshKey(key)


def _locked(key: bytes) -> bool:
    """By the PEM header or, in OpenSSH's own format (PROTOCOL.key), by the name of the cipher that comes first."""
    header, *body = key.splitlines()
    if b"OPENSSH" not in header:
        return b"ENCRYPTED" in key
    try:
        data = base64.b64decode(b"".join(body[:-1]))
    except binascii.Error:
        return False
    return data.startswith(_OPENSSH) and not data.removeprefix(_OPENSSH).startswith(_NO_CIPHER)
