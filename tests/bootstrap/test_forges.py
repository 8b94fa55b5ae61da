"""What `spec.forge` leads to, with Secrets of the embedded API server; and that a forge that hangs holds up nobody."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import threading
import time
import weakref
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitops_mc.adapters.forge_github import GithubForge
from gitops_mc.adapters.forge_github_pulls import GiteaPulls, GithubPulls
from gitops_mc.adapters.forge_gitlab_pulls import GitlabPulls
from gitops_mc.app.api import ClusterApi
from gitops_mc.app.controller.commits_told import CommitsTold
from gitops_mc.app.forge_ports import Forge, NoForge
from gitops_mc.app.ports import Request
from gitops_mc.bootstrap.forges import AT_ONCE, ForgeJobs, Forges
from gitops_mc.bootstrap.means import Data
from gitops_mc.core.custom.commit_status import CommitState, CommitStatus
from gitops_mc.core.custom.shown import Pulled, RefusedCommit
from gitops_mc.core.errors import GitopsMcError
from gitops_mc.core.model import GLOBAL_CLUSTER, Commit, JsonObject
from gitops_mc.sandbox.apiserver import ADMIN_TOKEN, ApiServer
from gitops_mc.sandbox.transport import DirectTransport
from gitops_mc.sandbox.virtual import VirtualClock
from tests.adapters.forge_servers import CA, COMMIT, TOKEN, App, GithubServer, running

NAMESPACE = "gitops-mc"
FLEET = f"{NAMESPACE}/prod"
SOURCE = "https://git.example.com/acme/fleet.git"
REF = {"name": "forge", "key": "token"}
STATUS = CommitStatus(CommitState.SUCCESS, "gitops-mc/prod", "3 of 3 clusters have it")


class Site:
    """Global with Secrets, and a Fleet whose `spec.forge` can be edited."""

    def __init__(self, folder: Path) -> None:
        clock = VirtualClock()
        self.server = ApiServer(GLOBAL_CLUSTER, now=clock.now)
        transport = DirectTransport({GLOBAL_CLUSTER: self.server}, ADMIN_TOKEN)
        api = ClusterApi(transport, clock, jitter=lambda: 0.0)
        self.forge: JsonObject | None = None
        self.known = True
        """The Fleet has been read."""
        self.put("Namespace", "", {"metadata": {"name": NAMESPACE}})
        self.put(
            "ConfigMap",
            f"namespaces/{NAMESPACE}/",
            {"metadata": {"name": "ca"}, "data": {"ca.crt": CA.read_text()}},
        )
        self.forges = Forges(Data(api, NAMESPACE), folder, self._body)

    def _body(self, fleet: str) -> JsonObject:
        assert fleet == FLEET
        if not self.known:
            return {}
        spec = {"source": {"url": SOURCE}, "forge": self.forge}
        return {"metadata": {"name": "prod", "namespace": NAMESPACE}, "spec": spec}

    def put(self, kind: str, folder: str, body: JsonObject) -> None:
        path = f"/api/v1/{folder}{kind.lower()}s"
        self._call("POST", path, {"apiVersion": "v1", "kind": kind, **body})

    def secret(self, **held: str) -> None:
        """The Secret `forge`, anew."""
        path = f"/api/v1/namespaces/{NAMESPACE}/secrets"
        coded = {key: b64encode(value.encode()).decode() for key, value in held.items()}
        self._call("DELETE", f"{path}/forge", None)
        self._call(
            "POST", path, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "forge"}, "data": coded}
        )

    def _call(self, method: str, path: str, body: JsonObject | None) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        answered = self.server.handle(
            Request(method, path, body=data, content_type="application/json", token=ADMIN_TOKEN)
        )
        assert answered.status < 300 or method == "DELETE", answered.body

    def fails(self) -> str:
        with pytest.raises(GitopsMcError) as caught:
            self.forges(FLEET)
        return f"{caught.value.message}; {caught.value.hint}"


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_each_kind_leads_to_its_adapter(site: Site) -> None:
    site.secret(token=TOKEN)
    for kind, adapter in (("github", GithubPulls), ("gitlab", GitlabPulls), ("gitea", GiteaPulls)):
        site.forge = {"type": kind, "tokenRef": REF}
        assert type(site.forges(FLEET)) is adapter


def test_a_fleet_without_a_forge_has_none(site: Site) -> None:
    assert site.forges(FLEET) is NoForge.NONE_NAMED


def test_a_fleet_that_has_not_been_read_may_have_one(site: Site) -> None:
    site.secret(token=TOKEN)
    site.forge = {"type": "gitea", "tokenRef": REF}
    made = site.forges(FLEET)
    site.known = False
    assert site.forges(FLEET) is NoForge.NOT_KNOWN
    site.known = True
    assert site.forges(FLEET) is made


@pytest.mark.parametrize("way", ["left", "names none"])
def test_of_a_fleet_that_is_left_or_names_no_forge_nothing_is_kept(
    site: Site, tmp_path: Path, way: str
) -> None:
    site.secret(token=TOKEN)
    with running(GithubServer(prefix="/api/v3")) as server:
        said = {"type": "github", "url": server.peer.url, "tokenRef": REF, "caRef": {"name": "ca"}}
        site.forge = said
        forge = site.forges(FLEET)
        assert isinstance(forge, GithubForge)
        forge.set_status(COMMIT, STATUS)
        if way == "left":
            site.forges.leave(FLEET)
            site.forges.leave(FLEET)
        else:
            site.forge = None
            assert site.forges(FLEET) is NoForge.NONE_NAMED
        assert list(tmp_path.iterdir()) == []
        held = weakref.ref(forge)
        del forge
        gc.collect()
        assert held() is None  # nor its token
        site.forge = said
        again = site.forges(FLEET)
        assert not isinstance(again, NoForge)
        again.set_status(COMMIT, STATUS)


def test_certificates_that_others_replaced_are_not_kept(site: Site, tmp_path: Path) -> None:
    site.secret(token=TOKEN)
    site.forge = {"type": "gitea", "tokenRef": REF, "caRef": {"name": "ca"}}
    site.forges(FLEET)
    two = {"ca.crt": CA.read_text() + CA.read_text()}
    site.put(
        "ConfigMap",
        f"namespaces/{NAMESPACE}/",
        {"metadata": {"name": "two", "namespace": NAMESPACE}, "data": two},
    )
    site.forge = {**site.forge, "caRef": {"name": "two"}}
    site.forges(FLEET)
    (found,) = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert found.read_text() == two["ca.crt"]


def test_a_token_with_the_line_end_of_its_file_and_a_ca_of_ones_own_reach_a_real_server(site: Site) -> None:
    site.secret(token=f"{TOKEN}\n")
    with running(GithubServer(prefix="/api/v3")) as server:
        site.forge = {"type": "github", "url": server.peer.url, "tokenRef": REF, "caRef": {"name": "ca"}}
        forge = site.forges(FLEET)
        assert not isinstance(forge, NoForge)
        forge.set_status(COMMIT, STATUS)
        assert server.shown() == [("success", "3 of 3 clusters have it")]


def test_an_app_signs_in_with_the_key_of_its_secret(site: Site) -> None:
    app = App()
    site.secret(pem=app.key)
    ref = {"name": "forge", "key": "pem"}
    with running(GithubServer(prefix="/api/v3", app=app)) as server:
        said = {"appId": app.number, "installationId": app.installation, "privateKeyRef": ref}
        site.forge = {"type": "github", "url": server.peer.url, "appRef": said, "caRef": {"name": "ca"}}
        for _ in range(2):  # the same one: its token is good for an hour
            forge = site.forges(FLEET)
            assert not isinstance(forge, NoForge)
            forge.set_status(COMMIT, STATUS)
        assert [c.split("/")[-1] for c in server.calls()] == [
            "access_tokens",
            f"POST {COMMIT}",
            f"POST {COMMIT}",
        ]


def test_a_forge_stays_the_same_until_its_credentials_or_its_spec_change(site: Site) -> None:
    site.secret(token="one")
    site.forge = {"type": "gitea", "tokenRef": REF}
    first = site.forges(FLEET)
    assert site.forges(FLEET) is first
    site.secret(token="two")
    second = site.forges(FLEET)
    assert second is not first
    site.forge = {"type": "gitea", "tokenRef": REF, "project": "acme/other"}
    assert site.forges(FLEET) is not second


@pytest.mark.parametrize("held", ["", " \n", "two words", "line\nline", "schlüssel"])
def test_what_is_no_token_is_told_and_not_shown(site: Site, held: str) -> None:
    site.secret(token=held)
    site.forge = {"type": "gitlab", "tokenRef": REF}
    told = site.fails()
    assert told == "Secret forge holds no token under token; one word, as the forge has shown it once"


def test_everything_that_is_missing_is_named(site: Site) -> None:
    site.forge = {"type": "gitlab", "tokenRef": REF}
    assert site.fails().startswith(f"Secret forge is not in namespace {NAMESPACE}; kubectl")
    site.secret(other="x")
    assert site.fails() == "Secret forge has no key token; its keys: other"
    site.forge = {"type": "gitlab"}
    assert site.fails() == "spec.forge names no credentials; tokenRef: {name: SECRET, key: KEY}"
    site.secret(token=TOKEN)
    site.forge = {"type": "gitlab", "tokenRef": REF, "caRef": {"name": "gone"}}
    assert site.fails().startswith(f"ConfigMap gone is not in namespace {NAMESPACE}; kubectl")


def test_an_address_that_is_none_is_trouble_with_the_fleet_and_no_fault_of_ours(site: Site) -> None:
    site.secret(token=TOKEN)
    site.forge = {"type": "gitlab", "url": "https://[x", "tokenRef": REF}
    assert site.fails() == "spec.forge.url is no address; https://HOST"


def test_certificates_stand_where_only_this_process_reads(site: Site, tmp_path: Path) -> None:
    site.secret(token=TOKEN)
    site.forge = {"type": "gitea", "tokenRef": REF, "caRef": {"name": "ca"}}
    site.forges(FLEET)
    (found,) = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert found.read_bytes() == CA.read_bytes()
    assert found.stat().st_mode & 0o077 == 0


# ---------------------------------------------------------------------------------------------------------- threads


class Hanging:
    """A forge that answers when it is let go."""

    rewords = True

    def __init__(self) -> None:
        self.asked, self.go, self.answered = threading.Event(), threading.Event(), threading.Event()
        self.calls = 0

    def status(self, _commit: str, _context: str) -> CommitStatus | None:
        self.calls += 1
        self.asked.set()
        self.go.wait(30)
        self.answered.set()
        return STATUS

    def set_status(self, _commit: str, _status: CommitStatus) -> None:
        """Taken."""

    def close(self) -> None:
        pass


@dataclass
class Refused:
    """A poll that brought a commit which is not followed: the shortest way to a status that is wanted."""

    pulled: Pulled = field(default_factory=lambda: Pulled(refused=RefusedCommit(COMMIT, "is not accepted")))
    before: Commit = Commit("")  # noqa: RUF009 - a text


@dataclass
class Doors:
    """Fleets with a forge each."""

    forges: Mapping[str, Hanging]

    def __call__(self, fleet: str) -> Forge | NoForge:
        return self.forges[fleet]

    def leave(self, fleet: str) -> None:
        """Nothing was made for it."""


class Broken(Doors):
    """With a fault of ours in making any."""

    def __call__(self, fleet: str) -> Forge | NoForge:
        raise ZeroDivisionError


def told_of(doors: Doors) -> CommitsTold:
    """Each Fleet has one status to be brought to its forge."""

    def now() -> datetime:
        return datetime.now(UTC)

    board = CommitsTold(doors, lambda: True, lambda _fleet, _error: None, str, now)
    for fleet in doors.forges:
        board.polled(fleet, Refused())
    return board


def wait_for(so: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not so():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_forges_that_hang_hold_up_neither_the_loop_nor_others_and_are_not_asked_twice() -> None:
    hanging = [Hanging() for _ in range(AT_ONCE - 1)]
    good = Hanging()
    good.go.set()
    fleets = {f"{NAMESPACE}/hangs-{n}": forge for n, forge in enumerate(hanging)} | {
        f"{NAMESPACE}/well": good
    }
    jobs = ForgeJobs(told_of(Doors(fleets)), _crashed)
    for _ in range(50):
        jobs.run()
    assert not any(forge.answered.is_set() for forge in hanging)  # it waited for none of them
    wait_for(lambda: good.asked.is_set() and all(forge.asked.is_set() for forge in hanging))
    for _ in range(50):
        jobs.run()
    assert [forge.calls for forge in hanging] == [1] * len(hanging)
    jobs.close()
    for forge in hanging:
        forge.go.set()


def test_a_fault_of_ours_in_a_job_is_told_as_one_and_ends_nothing() -> None:
    crashed: list[str] = []
    jobs = ForgeJobs(
        told_of(Broken({FLEET: Hanging()})), lambda where, error: crashed.append(f"{where}: {error!r}")
    )

    def told() -> bool:
        jobs.run()
        return bool(crashed)

    wait_for(told)
    assert crashed[0] == f"the forge of {FLEET}: ZeroDivisionError()"
    jobs.close()


def _crashed(where: str, error: BaseException) -> None:
    raise AssertionError(where) from error


def test_who_has_no_forge_does_not_wait_for_the_forges_libraries() -> None:
    script = "import sys, gitops_mc.bootstrap.controller; print({'github', 'gitlab', 'requests', 'jwt'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
