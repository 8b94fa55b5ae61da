"""Everything a git program is told, in a private folder that lasts as long as one poll.

Credentials reach git, ssh and gpg in files of mode 0600 in a folder of mode 0700, in memory where the system has such a
place, never on a command line, in an environment or in an address. git reads no configuration but the one written here:
no user's, no system's, no hooks, no helpers, no submodules, no filters; and no transport but the one that is wanted.
"""

from __future__ import annotations

import base64
import os
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, assert_never

from gitops_mc.adapters.certificates import are_certificates
from gitops_mc.adapters.git_access import Access, Basic, Bearer, Called, SshKey, token_of
from gitops_mc.adapters.git_address import Address
from gitops_mc.adapters.own_folder import own_folder, sweep
from gitops_mc.adapters.private_files import write_privately
from gitops_mc.core.errors import SourceError

_IN_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - the folders made in it are private
_PURPOSE: Final = "git"
_PASSED_ON: Final = ("PATH", "TMPDIR", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY")
_CONNECT_SECONDS: Final = 15
_STALLED_SECONDS: Final = 30

_FIXED: Final = f"""\
[core]
	askPass =
	hooksPath = /dev/null
	attributesFile = /dev/null
	bigFileThreshold = 16m
	fsync = all
[credential]
	helper =
	interactive = never
[fetch]
	unpackLimit = 1
	recurseSubmodules = false
	writeCommitGraph = false
[gc]
	auto = 0
[maintenance]
	auto = false
[pack]
	threads = 1
[protocol]
	version = 2
	allow = never
[submodule]
	recurse = false
[transfer]
	bundleURI = false
[http]
	followRedirects = false
	sslVerify = true
	lowSpeedLimit = 1
	lowSpeedTime = {_STALLED_SECONDS}
"""

_SSH: Final = f"""\
BatchMode yes
StrictHostKeyChecking yes
GlobalKnownHostsFile /dev/null
UpdateHostKeys no
IdentitiesOnly yes
IdentityAgent none
PreferredAuthentications publickey
User git
ForwardAgent no
ClearAllForwardings yes
PermitLocalCommand no
ProxyCommand none
ControlMaster no
ControlPath none
ConnectTimeout {_CONNECT_SECONDS}
ServerAliveInterval {_STALLED_SECONDS // 2}
ServerAliveCountMax 2
"""


@dataclass(frozen=True, slots=True)
class Private:
    """The folder, the environment of every program that is run, and the strings that no message may hold."""

    folder: Path
    environment: Mapping[str, str]
    secrets: tuple[str, ...]
    called: Called = field(default_factory=Called)

    def write(self, name: str, data: bytes) -> Path:
        """A private file."""
        path = self.folder / name
        write_privately(path, data)
        return path

    def hide(self, text: str) -> str:
        """The text without any of the secrets, and with what files of the folder hold in place of their names."""
        files = {
            "identity": self.called.key,
            "known_hosts": self.called.known_hosts,
            "ca.pem": self.called.ca,
            "trusted.asc": self.called.trust,
            "allowed_signers": self.called.trust,
        }
        for name, called in files.items():
            text = text.replace(str(self.folder / name), called)
        for secret in self.secrets:
            text = text.replace(secret, "[hidden]")
        return text


@contextmanager
def private(address: Address, access: Access) -> Iterator[Private]:
    """Raises SourceError where what is given cannot work: then nothing was sent to anybody."""
    _check(address, access)
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(own_folder(_PURPOSE, _place()))
        except OSError as error:
            raise SourceError(
                f"no private folder can be made: {error.strerror}",
                hint="is there room in /dev/shm, or in the folder that TMPDIR names?",
            ) from error
        yield _filled(folder, address, access)


def sweep_private() -> None:
    """Remove what killed processes left behind, whatever they followed. Raises OSError where there is no place for it at all."""
    sweep(_PURPOSE, _place())


def _place() -> Path:
    return _IN_MEMORY if os.access(_IN_MEMORY, os.W_OK) else Path(tempfile.gettempdir())


def _check(address: Address, access: Access) -> None:
    if access.ca.strip() and not are_certificates(access.ca):
        raise SourceError(
            f"{access.called.ca} cannot be read", hint="give them in PEM: -----BEGIN CERTIFICATE-----"
        )
    credentials = access.credentials
    match address.scheme:
        case "ssh":
            if not isinstance(credentials, SshKey):
                raise SourceError(
                    "an SSH address needs a private key", hint="put it into the Secret as identity"
                )
            if not access.known_hosts.strip():
                raise SourceError(
                    f"no host keys are known, so nobody can tell whether {address.host} is the right one",
                    hint="give known_hosts: ssh-keyscan, and compare the fingerprint with the one that the forge publishes",
                )
        case "https" | "http":
            if isinstance(credentials, SshKey):
                raise SourceError(
                    f"{access.called.key} is a private one, which does not open an {address.scheme} address",
                    hint="give a user and password, or a bearer token; or write the address of SSH",
                )
            if credentials is not None and address.scheme == "http" and not address.loopback:
                raise SourceError(
                    f"{access.called.credentials} are not sent over http", hint="write the https address"
                )
        case "file":
            if credentials is not None:
                raise SourceError("a local path needs no credentials", hint="leave them out")
        case _:
            assert_never(address.scheme)


def _filled(folder: Path, address: Address, access: Access) -> Private:
    environment = {
        **{name: os.environ[name] for name in _PASSED_ON if name in os.environ},
        "HOME": str(folder),
        "LC_ALL": "C",
        "GIT_CEILING_DIRECTORIES": str(folder.parent),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": str(folder / "gitconfig"),
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": address.scheme,
        "GIT_SSH_COMMAND": f"ssh -F {shlex.quote(str(folder / 'ssh_config'))}",
        "GIT_SSH_VARIANT": "ssh",
    }
    header = _header(access)
    if not header.isprintable() or not header.isascii():
        raise SourceError(
            f"{access.called.credentials} hold characters that no header can", hint="write the Secret anew"
        )
    held = Private(folder, environment, _secrets(access, header), access.called)
    config = _FIXED
    if access.ca.strip():
        ca = held.write("ca.pem", access.ca)
        (folder / "no-other-cas").mkdir(mode=0o700)
        config += f"\tsslCAInfo = {_quoted(str(ca))}\n\tsslCAPath = {_quoted(str(folder / 'no-other-cas'))}\n"
    if header:
        config += f"[http {_quoted(address.origin)}]\n\textraHeader = {_quoted(header)}\n"
    held.write("gitconfig", config.encode())
    if isinstance(access.credentials, SshKey):
        _write_ssh(held, access.credentials, access.known_hosts)
    return held


def _write_ssh(held: Private, key: SshKey, known_hosts: bytes) -> None:
    files = {
        "UserKnownHostsFile": held.write("known_hosts", known_hosts),
        "IdentityFile": held.write("identity", key.private),
    }
    lines = "".join(f'{word} "{str(path).replace("%", "%%")}"\n' for word, path in files.items())
    held.write("ssh_config", f"{lines}{_SSH}".encode())


def _header(access: Access) -> str:
    match access.credentials:
        case Basic(user, password):
            return f"Authorization: Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"
        case Bearer(token):
            return f"Authorization: Bearer {token}"
        case SshKey() | None:
            return ""
        case _:
            assert_never(access.credentials)


def _secrets(access: Access, header: str) -> tuple[str, ...]:
    found = {header.rpartition(" ")[2], token_of(access.credentials)} - {""}
    return tuple(sorted(found, key=len, reverse=True))


def _quoted(value: str) -> str:
    """A value, or the name of a subsection, of git's configuration."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
