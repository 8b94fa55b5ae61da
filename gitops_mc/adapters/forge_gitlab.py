"""GitLab: the `Forge` port over python-gitlab.

A commit status of GitLab is a job of a pipeline, which knows states and the ways between them (app/models/commit_status.rb). From
pending there is no way to pending, so its description stays as it was; once it has ended the next one is a job of its own.
Pending is `running` here: GitLab calls a job pending that waits for a runner. What came to no end is `canceled`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from gitops_mc.adapters.forge_errors import TIMEOUT, number_of, translated
from gitops_mc.core.custom.commit_status import CommitState, CommitStatus
from gitops_mc.core.custom.forge_spec import Place
from gitops_mc.core.errors import InvalidError
from gitops_mc.core.model import Commit

if TYPE_CHECKING:
    from pathlib import Path

    from gitlab import Gitlab
    from gitlab.v4.objects import ProjectCommitStatusManager

_STATES: Final = {
    CommitState.PENDING: "running",
    CommitState.SUCCESS: "success",
    CommitState.FAILURE: "failed",
    CommitState.ERROR: "canceled",
}
_READ: Final = {theirs: ours for ours, theirs in _STATES.items()} | {
    "created": CommitState.PENDING,
    "pending": CommitState.PENDING,
}
_STANDS: Final = "Cannot transition status"
"""How GitLab says that a job is in a state already, among others."""


class GitlabForge:
    """The `Forge` port."""

    rewords = False

    def __init__(self, place: Place, token: str, ca: Path | None, timeout: int = TIMEOUT) -> None:
        """`ca`: the certificates that are trusted, in place of the system's."""
        self._host = urlsplit(place.api).netloc
        self._gitlab = _client(place.api, token, ca, timeout)
        self._project = self._gitlab.projects.get(place.project, lazy=True)

    def status(self, commit: Commit, context: str) -> CommitStatus | None:
        """As the port promises."""
        with translated(self._host):
            found = self._statuses(commit).list(name=context, per_page=100, get_all=False)
            ours = [s.attributes for s in found if s.attributes.get("name") == context]
        if not ours:
            return None
        newest = max(ours, key=number_of)
        state = _READ.get(str(newest.get("status")))
        return (
            None if state is None else CommitStatus.read(state, context, str(newest.get("description") or ""))
        )

    def set_status(self, commit: Commit, status: CommitStatus) -> None:
        """As the port promises."""
        pending = status.state is CommitState.PENDING
        body = {
            "state": _STATES[status.state],
            "name": status.context,
            "description": status.lasting if pending and status.lasting else status.description,
        }
        if status.target_url:
            body["target_url"] = status.target_url
        try:
            with translated(self._host):
                self._statuses(commit).create(body)
        except InvalidError as error:
            if not (pending and _STANDS in error.message):
                raise

    def close(self) -> None:
        """As the port promises."""
        self._gitlab.session.close()

    def _statuses(self, commit: Commit) -> ProjectCommitStatusManager:
        return self._project.commits.get(commit, lazy=True).statuses


def _client(api: str, token: str, ca: Path | None, timeout: int) -> Gitlab:
    """Imported late: most have no forge, and it takes half a second."""
    from gitlab import Gitlab  # noqa: PLC0415
    from requests import Session  # noqa: PLC0415

    from gitops_mc.adapters.forge_wire import USER_AGENT, Once  # noqa: PLC0415

    session = Session()
    session.mount("https://", Once(timeout))
    session.mount("http://", Once(timeout))
    return Gitlab(
        api.removesuffix("/api/v4"),
        private_token=token,
        ssl_verify=str(ca) if ca is not None else True,
        timeout=timeout,
        user_agent=USER_AGENT,
        session=session,
    )
