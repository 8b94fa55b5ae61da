"""GitHub and GitHub Enterprise, Gitea and Forgejo: the `Forge` port over PyGithub.

Gitea and Forgejo speak GitHub's words for statuses at the same paths (POST /repos/OWNER/NAME/statuses/SHA, GET
/repos/OWNER/NAME/commits/SHA/status), below /api/v1; but the state of a status that is read they call `status`. The paths are
asked for directly: PyGithub's objects would ask for the commit first, which Gitea has elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import quote, urlsplit

from gitops_mc.adapters.forge_errors import TIMEOUT, not_the_api, number_of, translated
from gitops_mc.core.custom.commit_status import CommitState, CommitStatus
from gitops_mc.core.custom.forge_spec import Place
from gitops_mc.core.errors import GitopsMcError, UsageError
from gitops_mc.core.model import Commit

if TYPE_CHECKING:
    from pathlib import Path

    from github import Auth, Github

_STATES: Final = {state.value: state for state in CommitState}
_PAGE: Final = {"per_page": "100", "limit": "50"}
_PAGES_AT_MOST: Final = 20
"""In GitHub's word, and in Gitea's; what one does not know it ignores. Of each context a commit has one there."""


@dataclass(frozen=True, slots=True)
class Token:
    """One that somebody has made."""

    value: str


@dataclass(frozen=True, slots=True)
class App:
    """A GitHub App: its key signs for tokens that last an hour."""

    app: int
    installation: int
    key: str


Access: TypeAlias = Token | App


class GithubForge:
    """The `Forge` port. Raises UsageError where no client can be made with this access."""

    rewords = True

    def __init__(self, place: Place, access: Access, ca: Path | None, timeout: int = TIMEOUT) -> None:
        """`ca`: the certificates that are trusted, in place of the system's."""
        self._host = urlsplit(place.api).netloc
        self._path = f"/repos/{quote(place.project)}"
        self._github = client(place.api, _auth(access), ca, timeout)

    def status(self, commit: Commit, context: str) -> CommitStatus | None:
        """As the port promises."""
        seen = 0
        for page in range(1, _PAGES_AT_MOST + 1):
            found, total = self._page(commit, page)
            if ours := [s for s in found if _same(s.get("context"), context)]:
                return _status(max(ours, key=number_of), context)
            seen += len(found)
            if not found or (total is not None and seen >= total):
                return None
        raise GitopsMcError(
            f"{self._host} shows more statuses of {commit[:12]} than are looked through ({seen})",
            hint="let fewer programs set statuses on this repository",
        )

    def _page(self, commit: Commit, page: int) -> tuple[list[dict[str, Any]], int | None]:
        """The newest status of each context, and how many there are on all pages, where the forge says so."""
        asked = {**_PAGE, "page": str(page)}
        told = self._ask("GET", f"{self._path}/commits/{quote(commit)}/status", parameters=asked)
        found = told.get("statuses", []) if isinstance(told, dict) else told
        total = told.get("total_count") if isinstance(told, dict) else None
        if found is None:  # Gitea says so that there is none; its older versions send nothing at all
            return [], total
        if not isinstance(found, list) or not all(isinstance(s, dict) for s in found):
            raise not_the_api(self._host, 200)
        return found, total if isinstance(total, int) else None

    def set_status(self, commit: Commit, status: CommitStatus) -> None:
        """As the port promises."""
        body = {"state": status.state.value, "context": status.context, "description": status.description}
        if status.target_url:
            body["target_url"] = status.target_url
        told = self._ask("POST", f"{self._path}/statuses/{quote(commit)}", input=body)
        if not isinstance(told, dict) or not _same(told.get("context"), status.context):
            raise not_the_api(self._host, 201)

    def close(self) -> None:
        """As the port promises."""
        self._github.close()

    def _ask(self, method: str, path: str, **more: Any) -> Any:
        with translated(self._host):
            _, told = self._github.requester.requestJsonAndCheck(method, path, **more)
        return told


def client(api: str, auth: Auth.Auth, ca: Path | None, timeout: int) -> Github:
    """Imported late: most have no forge, and it takes a third of a second."""
    from github import Github  # noqa: PLC0415
    from github.Requester import Requester  # noqa: PLC0415

    from gitops_mc.adapters.forge_connections import Plain, Secure  # noqa: PLC0415
    from gitops_mc.adapters.forge_wire import USER_AGENT  # noqa: PLC0415

    Requester.injectConnectionClasses(Plain, Secure)
    return Github(
        auth=auth,
        base_url=api,
        timeout=timeout,
        user_agent=USER_AGENT,
        verify=str(ca) if ca is not None else True,
        retry=None,
        seconds_between_requests=None,
        seconds_between_writes=None,
    )


def _auth(access: Access) -> Auth.Auth:
    from github import Auth  # noqa: PLC0415 - as client

    match access:
        case Token(value):
            return Auth.Token(value)
        case App(app, installation, key):
            return app_auth(app, key).get_installation_auth(installation)


def app_auth(app: int, key: str) -> Auth.AppAuth:
    """The App itself, not its installation. Signs once, to see that it can. Raises UsageError."""
    from github import Auth  # noqa: PLC0415 - as client
    from jwt import PyJWTError  # noqa: PLC0415

    made = Auth.AppAuth(app, key)
    try:
        made.create_jwt()
    except (PyJWTError, ValueError, TypeError):
        raise UsageError(
            "what stands for the private key of the GitHub App is none",
            hint="GitHub gives it as a file: NAME.private-key.pem",
        ) from None  # what it says may quote the key
    return made


def _same(said: Any, context: str) -> bool:
    """GitHub's contexts have no case."""
    return isinstance(said, str) and said.lower() == context.lower()


def _status(said: dict[str, Any], context: str) -> CommitStatus | None:
    state = _STATES.get(str(said.get("state") or said.get("status") or ""))
    if state is None:
        return None
    return CommitStatus.read(state, context, str(said.get("description") or ""))
