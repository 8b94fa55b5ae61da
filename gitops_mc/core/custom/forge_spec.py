"""Which forge a Fleet tells of its commits: `spec.forge`, and what follows from the address of the repository."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from gitops_mc.core.custom.refs import FleetSpecError, Ref, ref_of

_GITHUB_API: Final = "https://api.github.com"
_SCP_LIKE: Final = re.compile(r"(?:[^@/]+@)?(?P<host>[^:/]+):(?P<path>.+)", re.DOTALL)
_API: Final[Mapping[str, str]] = {"github": "/api/v3", "gitlab": "/api/v4", "gitea": "/api/v1"}
"""Where the API begins, below the address that people open."""


class ForgeKind(StrEnum):
    """Whose API it speaks."""

    GITHUB = "github"
    """GitHub, GitHub Enterprise."""
    GITLAB = "gitlab"
    GITEA = "gitea"
    """Gitea, Forgejo."""


@dataclass(frozen=True, slots=True)
class AppRef:
    """A GitHub App as which the forge is asked: its tokens last an hour, and nobody has to renew them."""

    app: int
    installation: int
    key: Ref
    """A Secret's key with the App's private key (PEM)."""


@dataclass(frozen=True, slots=True)
class ForgeSpec:
    """What `spec.forge` says; what it leaves out follows from the source."""

    kind: ForgeKind
    url: str = ""
    project: str = ""
    token: Ref | None = None
    app: AppRef | None = None
    ca: Ref | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """A project, and where the API of its forge is."""

    api: str
    """Without a slash at its end."""
    project: str
    """`owner/name`; on GitLab `group/.../name`."""


def forge_spec(said: Mapping[str, Any] | None) -> ForgeSpec | None:
    """The shape has been checked by the API server; None: there is none. Raises FleetSpecError."""
    if said is None:
        return None
    try:
        kind = ForgeKind(str(said.get("type") or ""))
    except ValueError:
        known = ", ".join(kind.value for kind in ForgeKind)
        raise FleetSpecError(
            f"spec.forge.type is {str(said.get('type') or '')!r}", hint=f"one of {known}"
        ) from None
    return ForgeSpec(
        kind,
        url=str(said.get("url") or "").rstrip("/"),
        project=str(said.get("project") or "").strip("/"),
        token=ref_of(said.get("tokenRef")),
        app=_app(said.get("appRef")),
        ca=ref_of(said.get("caRef")),
    )


def _app(said: Mapping[str, Any] | None) -> AppRef | None:
    if said is None:
        return None
    key = ref_of(said.get("privateKeyRef"))
    if key is None:
        raise FleetSpecError("spec.forge.appRef names no privateKeyRef", hint="{name: SECRET, key: KEY}")
    return AppRef(int(said.get("appId") or 0), int(said.get("installationId") or 0), key)


def place_of(forge: ForgeSpec, source: str) -> Place:
    """Where the project of a forge is. `source`: the address that is pulled from. Raises FleetSpecError."""
    named = bool(forge.url and forge.project)
    host, path = ("", "") if named else _host_and_path(source)
    project = forge.project or path
    parts = project.split("/")
    deep_enough = len(parts) >= 2 if forge.kind is ForgeKind.GITLAB else len(parts) == 2
    if not deep_enough or not all(parts):
        shape = "group/name" if forge.kind is ForgeKind.GITLAB else "owner/name"
        told = (
            f"spec.forge.project is {project!r}"
            if forge.project
            else "the project does not follow from spec.source.url"
        )
        raise FleetSpecError(told, hint=f"name it in spec.forge.project: {shape}")
    if not forge.url and not host:
        raise FleetSpecError(
            "the forge's address does not follow from spec.source.url",
            hint="name it in spec.forge.url: https://HOST",
        )
    return Place(_api(forge, host), project)


def _api(forge: ForgeSpec, host: str) -> str:
    base = forge.url or f"https://{host}"
    parts = _split(base, FleetSpecError("spec.forge.url is no address", hint="https://HOST"))
    if parts.scheme != "https":
        raise FleetSpecError(
            f"spec.forge.url is {base!r}", hint="https://HOST: a token goes nowhere without TLS"
        )
    if forge.kind is ForgeKind.GITHUB:
        name = parts.hostname or ""
        if name in {"github.com", "www.github.com", "ssh.github.com"}:
            return _GITHUB_API
        if name.startswith("api."):
            return base
    api = _API[forge.kind.value]
    return base if base.endswith(api) else f"{base}{api}"


def _split(address: str, otherwise: FleetSpecError) -> SplitResult:
    """Its parts, the port among them, can be asked for. Raises `otherwise`; it does not quote what may hold a password."""
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        raise otherwise from None
    if parts.scheme == "https" and not parts.hostname:
        raise otherwise
    return parts


def _host_and_path(source: str) -> tuple[str, str]:
    """Of an address that git takes; empty where it names no host."""
    if "://" in source:
        hint = "https://HOST/PATH or ssh://USER@HOST/PATH; or name spec.forge.url and spec.forge.project"
        parts = _split(source, FleetSpecError("spec.source.url is no address", hint=hint))
        host, path = (parts.hostname or "", parts.path) if parts.scheme in {"https", "ssh"} else ("", "")
        if parts.scheme == "https" and parts.port not in {None, 443}:
            host = f"{host}:{parts.port}"
    elif (found := _SCP_LIKE.fullmatch(source)) is not None:
        host, path = found["host"], found["path"]
    else:
        host, path = "", ""
    return host, path.strip("/").removesuffix(".git")
