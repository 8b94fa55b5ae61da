"""Which secrets wake the poll of a Fleet, read from the objects of the embedded API server."""

from __future__ import annotations

import json
from base64 import b64encode

import pytest
import yaml

from gitops_mc.app.api import RESOURCES, ClusterApi, Patience
from gitops_mc.app.controller.objects import FLEET
from gitops_mc.app.ports import Request, Response
from gitops_mc.bootstrap.hooks import READ_EVERY, Hooks
from gitops_mc.bootstrap.means import Data
from gitops_mc.bootstrap.push_stage import definition_files
from gitops_mc.core.custom import GROUP_VERSION
from gitops_mc.core.errors import UnreachableError
from gitops_mc.core.model import GLOBAL_CLUSTER, JsonObject
from gitops_mc.sandbox.apiserver import ADMIN_TOKEN, ApiServer
from gitops_mc.sandbox.transport import DirectTransport
from gitops_mc.sandbox.virtual import VirtualClock

NAMESPACE = "gitops-mc"
SECRET = f"/api/v1/namespaces/{NAMESPACE}/secrets"


class Site:
    """Global with one Fleet, whose webhook has a secret; a part of it can be out of reach."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.server = ApiServer(GLOBAL_CLUSTER, now=self.clock.now)
        self._inner = DirectTransport({GLOBAL_CLUSTER: self.server}, ADMIN_TOKEN)
        self.away = "nothing"
        self.seconds = 0.0
        api = ClusterApi(self, self.clock, jitter=lambda: 0.0, patience=Patience(attempts=1))
        for file in definition_files():
            body = yaml.safe_load(file.read_text(encoding="utf-8"))
            api.create(GLOBAL_CLUSTER, RESOURCES["CustomResourceDefinition"], body)
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        api.create(GLOBAL_CLUSTER, RESOURCES["Namespace"], namespace)
        spec = {"source": {"url": "https://git.example/f.git"}, "webhook": {"secretRef": {"name": "hook"}}}
        body = {"apiVersion": GROUP_VERSION, "kind": FLEET.kind, "metadata": {"name": "prod"}, "spec": spec}
        api.create(GLOBAL_CLUSTER, FLEET, body, namespace=NAMESPACE)
        self.call("POST", SECRET, {"metadata": {"name": "hook"}, "data": coded(secret="one")})
        self.told: list[tuple[str, str]] = []
        self.hooks = Hooks(
            Data(api, NAMESPACE),
            api,
            lambda: self.seconds,
            lambda fleet, problem: self.told.append((fleet, problem)),
        )
        self.hooks.refresh()

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        if self.away in request.path:
            raise UnreachableError("nobody answers")
        return self._inner.send(cluster, request, timeout=timeout)

    def call(self, method: str, path: str, body: JsonObject | None = None) -> None:
        said = {"apiVersion": "v1", "kind": "Secret", **body} if body else None
        data = b"" if said is None else json.dumps(said).encode()
        form = "application/merge-patch+json" if method == "PATCH" else "application/json"
        answer = self.server.handle(Request(method, path, body=data, content_type=form, token=ADMIN_TOKEN))
        assert answer.status < 300, answer.body

    def after(self, seconds: float) -> tuple[bytes, ...]:
        self.seconds += seconds
        self.hooks.refresh()
        return self.hooks.of("prod")


def coded(**data: str) -> dict[str, str]:
    return {name: b64encode(value.encode()).decode() for name, value in data.items()}


@pytest.fixture
def site() -> Site:
    return Site()


def test_the_secret_and_the_next_one_are_good_and_another_fleet_has_none(site: Site) -> None:
    assert site.hooks.of("prod") == (b"one",)
    assert site.hooks.of("other") == ()
    site.call("PATCH", f"{SECRET}/hook", {"data": coded(next="two", unknown="three")})
    assert site.after(READ_EVERY - 1) == (b"one",)
    assert site.after(1) == (b"one", b"two")


@pytest.mark.parametrize("away", ["/secrets/", "/fleets"])
def test_while_it_cannot_be_read_what_was_good_stays(site: Site, away: str) -> None:
    site.away = away
    assert site.after(READ_EVERY) == (b"one",)


def test_a_secret_that_was_deleted_is_good_no_more(site: Site) -> None:
    site.call("DELETE", f"{SECRET}/hook")
    assert site.after(READ_EVERY) == ()
    fleet, problem = site.told[-1]
    assert fleet == "gitops-mc/prod"
    assert problem.startswith("Secret hook is not in namespace gitops-mc; kubectl -n gitops-mc create secret")
    site.call("POST", SECRET, {"metadata": {"name": "hook"}, "data": coded(secret="two")})
    assert site.after(READ_EVERY) == (b"two",)
    assert site.told[-1] == ("gitops-mc/prod", "")


def test_a_line_break_at_the_end_of_a_secret_does_not_count(site: Site) -> None:
    site.call("PATCH", f"{SECRET}/hook", {"data": coded(secret="one\n", next="two\r\n")})
    assert site.after(READ_EVERY) == (b"one", b"two")


@pytest.mark.parametrize("held", [{"secret": None, "token": "x"}, {"secret": "\n"}])
def test_a_secret_without_the_key_is_told_and_takes_nobody(site: Site, held: dict[str, str | None]) -> None:
    data = {name: None if value is None else coded(v=value)["v"] for name, value in held.items()}
    site.call("PATCH", f"{SECRET}/hook", {"data": data})
    assert site.after(READ_EVERY) == ()
    assert site.told[-1][1].startswith("Secret hook has nothing under secret; its keys: ")


def test_what_cannot_be_read_for_a_moment_is_no_trouble_of_the_secret(site: Site) -> None:
    site.away = "/secrets/"
    told = len(site.told)
    site.after(READ_EVERY)
    assert len(site.told) == told
