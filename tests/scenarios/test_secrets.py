"""What is marked sensitive: in nothing that the engine hands out, once it has passed the redactor, and not in its memory."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from urllib.parse import quote

import pytest

from gitops_mc.app.ports import Request, Response, Transport
from gitops_mc.core.model import JsonObject, canonical_json
from gitops_mc.core.redact import Redactor
from gitops_mc.core.rollout.moves import Done
from gitops_mc.sandbox.fleet import FleetSpec, simple_fleet
from gitops_mc.sandbox.moduleinfo import Publication
from tests.scenarios.rollout_world import RolloutWorld, machine_config, module

FILE_SECRET = "hunter2-file-passphrase"
UNIT_SECRET = "s3cr3t-unit-token-value"
MODULE_SECRET = "logcenter-api-key-4711"
SECRETS = (FILE_SECRET, UNIT_SECRET, MODULE_SECRET)

FLEET = """\
apiVersion: gitops-mc.io/v1alpha1
kind: FleetConfig
metadata: {name: test}
spec:
  sensitive: ["**/*.key", "unit:login.service", "module:logcenter:/auth"]
"""
UNIT = "[Unit]\nDescription=login\n[Service]\nExecStart=/bin/login --token={}\n[Install]\nWantedBy=multi-user.target\n"


def spellings(secret: str) -> tuple[str, ...]:
    """The ways in which a value is likely to be written somewhere."""
    plain = secret.encode()
    b64 = base64.b64encode(plain).decode().rstrip("=")
    return (secret, b64[:-1], quote(secret), plain.hex(), json.dumps(secret)[1:-1])


def files(version: int) -> dict[str, str]:
    return {
        "fleet.yaml": FLEET,
        "clusters/edge-1/key.yaml": machine_config(
            "50-worker-key",
            files={"/etc/app/app.key": f"{FILE_SECRET}-{version}\n", "/etc/app.conf": f"{version}\n"},
            login_service=UNIT.format(f"{UNIT_SECRET}{version}"),
        ),
        "clusters/edge-1/logcenter.yaml": module(
            "edge-1",
            "v1.0.0",
            "logcenter",
            {"auth": {"key": f"{MODULE_SECRET}{version}"}, "replicas": version},
        ),
    }


def made() -> RolloutWorld:
    spec = simple_fleet("edge-1", workers=2)
    publications = (*spec.publications, Publication("logcenter", "v1.0.0"))
    return RolloutWorld(spec=FleetSpec(spec.clusters, publications), files=files(1))


def redactor(world: RolloutWorld) -> Redactor:
    """As every output has it: it knows what is sensitive in Git and in the clusters."""
    desired = world.desired()
    bodies: list[JsonObject] = [m.body for c in desired.clusters for m in c.manifests]
    bodies += [m.body for c in world.past.values() for m in c.manifests]
    bodies += world.fleet.person("edge-1").list_all("machineconfigs")
    bodies += world.fleet.person("global").list_all("moduleinfoes")
    return Redactor.of(desired.policy.sensitive, bodies)


def handed_out(world: RolloutWorld) -> list[str]:
    """Every text of every look: outlook, views, gates, waves, plans with their writes, troubles, in all their words."""
    found = []
    for look in world.looks:
        found += [str(look.decision), *(str(w) for w in look.written), *look.troubles]
    return found


def leaks(text: str) -> list[str]:
    return [s for secret in SECRETS for s in spellings(secret) if s in text]


@dataclass
class Refusing:
    """A server that says what it was sent when it refuses it, as webhooks do."""

    inner: Transport
    path: str
    status: int

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        if request.method == "GET" or self.path not in request.path:
            return self.inner.send(cluster, request, timeout=timeout)
        message = f"admission webhook denied the request: {request.body.decode()}"
        told = {
            "kind": "Status",
            "status": "Failure",
            "reason": "Invalid",
            "code": self.status,
            "message": message,
        }
        return Response(self.status, json.dumps(told).encode())


def test_nothing_that_is_handed_out_shows_a_secret_after_the_redactor_and_before_it_memory_has_none() -> None:
    world = made()
    assert isinstance(world.run(), Done)
    world.files = files(2)
    assert isinstance(world.run(), Done)
    texts = handed_out(world)
    assert leaks("".join(texts)), "unredacted, the plans have them: else this proves nothing"
    hide = redactor(world)
    for text in dict.fromkeys(texts):
        assert leaks(hide.redact(text)) == []
    assert world.store.state is not None
    assert leaks(world.store.state.decode()) == []


def test_no_reason_shows_a_secret_even_without_the_redactor() -> None:
    world = made()
    assert isinstance(world.run(), Done)
    world.files = files(2)
    assert isinstance(world.run(), Done)
    for look in world.looks:
        for view in look.decision.clusters:
            said = [view.reason, view.step, *(f"{g.subject} {g.verdict}" for g in view.gates)]
            assert leaks(" ".join(said)) == []
            notes = [] if view.plan is None else [*view.plan.notes, *(r.reason for r in view.plan.refusals)]
            drifts = [] if view.plan is None else [d.reason for d in view.plan.drifts]
            assert leaks(" ".join([*notes, *drifts])) == []
        assert leaks(str(look.decision.outlook)) == []


@pytest.mark.parametrize(
    ("path", "status"), [("machineconfigs", 422), ("machineconfigs", 500), ("moduleinfoes", 422)]
)
def test_an_error_that_repeats_what_was_sent_is_redacted_and_stays_out_of_the_memory(
    path: str, status: int
) -> None:
    world = made()
    world.wrap = lambda transport: Refusing(transport, path, status)
    world.run(hours=0.5)
    texts = handed_out(world)
    hide = redactor(world)
    for text in dict.fromkeys(texts):
        assert leaks(hide.redact(text)) == []
    assert world.store.state is not None
    assert leaks(world.store.state.decode()) == []
    assert "refused" in world.view("edge-1").reason or status == 500


def test_drift_in_a_secret_is_told_without_it() -> None:
    world = made()
    assert isinstance(world.run(), Done)
    config = json.loads(world.files["clusters/edge-1/key.yaml"])["spec"]["config"]
    config["storage"]["files"] = [
        {"path": "/etc/app/app.key", "mode": 420, "contents": {"source": f"data:,{FILE_SECRET}-by-hand"}}
    ]
    world.fleet.person("edge-1").edit("machineconfigs", "50-worker-key", {"spec": {"config": config}})
    world.clock.wait_for(1200)
    world.files = files(3)
    world.run(hours=1)
    assert "which side wins" in world.view("edge-1").reason
    assert leaks(world.view("edge-1").reason) == []
    hide = redactor(world)
    for text in dict.fromkeys(handed_out(world)):
        assert leaks(hide.redact(text)) == []
    assert world.store.state is not None
    assert leaks(world.store.state.decode()) == []


def test_the_memory_holds_digests_and_names_only() -> None:
    """No body, no content of a file: what stands there is known by its digest."""
    world = made()
    assert isinstance(world.run(), Done)
    state = world.store.load()
    assert state is not None
    text = canonical_json(state).decode()
    for value in ("data:", "ExecStart", "/etc/app", 'replicas":'):
        assert value not in text
