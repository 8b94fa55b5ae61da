"""What the definition of a Fleet refuses is refused in words that say what to write."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gitops_mc.app.ports import JSON, Request
from gitops_mc.core.model import GLOBAL_CLUSTER
from gitops_mc.sandbox.apiserver import ADMIN_TOKEN
from tests.scenarios.controller_world import API, FLEETS, ControllerWorld

GOOD = {"url": "https://git.example.com/f.git"}
TOKEN = {"tokenRef": {"name": "forge", "key": "token"}}
APP = {"appRef": {"appId": 1, "installationId": 2, "privateKeyRef": {"name": "forge", "key": "key"}}}
FORGE = "forge.url is written https://host or https://host/path, without user, password or query"
FORGED = {"type": "gitea", **TOKEN}
GATEWAY = {"url": "https://gateway", "tokenRef": {"name": "t", "key": "token"}}
NO_USER = "no user or password in source.url; use source.secretRef"
OPS = {"name": "ops", "secretRef": {"name": "notify", "key": "ops"}}
TOPICS = "topics of notifications names one at least; left out, it is all of them"
ADDRESS = "source.url is written https://host/path, ssh://user@host/path or user@host:path"


def answered(spec: dict[str, Any]) -> tuple[int, str]:
    world = ControllerWorld()
    body = {"apiVersion": API, "kind": "Fleet", "metadata": {"name": "lab"}, "spec": spec}
    request = Request("POST", FLEETS, body=json.dumps(body).encode(), content_type=JSON, token=ADMIN_TOKEN)
    response = world.rollout.fleet.servers[GLOBAL_CLUSTER].handle(request)
    return response.status, str(json.loads(response.body).get("message") or "")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"source": {"url": "https://mei:geheim@git.example.com/f.git"}}, NO_USER),
        ({"source": {"url": "https://token@git.example.com/f.git"}}, NO_USER),
        ({"source": {"url": "ssh://git:geheim@host/f.git", "knownHosts": "host ssh-rsa A"}}, NO_USER),
        ({"source": {"url": "git.example.com/f.git"}}, ADDRESS),
        ({"source": {"url": "http://git.example.com/f.git"}}, ADDRESS),
        ({"source": GOOD | {"interval": "soon"}}, "source.interval is written like 60s, 5m or 1h30m"),
        (
            {"source": GOOD, "clusters": {"gateway": GATEWAY | {"url": "https://u:p@gateway"}}},
            "no user or password in clusters.gateway.url; use clusters.gateway.tokenRef",
        ),
        ({"source": GOOD, "forge": {"type": "gitlab"}}, "forge needs one of tokenRef and appRef"),
        (
            {"source": GOOD, "forge": {"type": "github", **TOKEN, **APP}},
            "forge needs one of tokenRef and appRef",
        ),
        (
            {"source": GOOD, "forge": {"type": "gitea", **APP}},
            "forge.appRef is for type github; use forge.tokenRef",
        ),
        ({"source": GOOD, "forge": {"type": "gitea", **TOKEN, "url": "http://forge"}}, FORGE),
        ({"source": GOOD, "forge": {"type": "gitea", **TOKEN, "url": "https://u:p@forge"}}, FORGE),
        ({"source": GOOD, "forge": {"type": "gitea", **TOKEN, "url": "https://forge?token=x"}}, FORGE),
        ({"source": GOOD, "notifications": [OPS, OPS | {"name": "b", "topics": []}]}, TOPICS),
        (
            {"source": GOOD, "forge": {"type": "gitea", **TOKEN, "project": "fleet"}},
            "forge.project is written owner/name",
        ),
        (
            {"source": GOOD, "previews": {"enabled": True}},
            "previews need forge, which says whose pull requests they are",
        ),
        (
            {"source": GOOD, "forge": FORGED, "previews": {"enabled": True, "interval": "often"}},
            "previews.interval is written like 60s, 5m or 1h30m",
        ),
        ({"source": GOOD, "forge": FORGED, "previews": {}}, "spec.previews.enabled: Required value"),
        (
            {"source": GOOD, "forge": FORGED, "previews": {"enabled": True, "trusted": {"access": "all"}}},
            "spec.previews.trusted.access: Unsupported value",
        ),
    ],
)
def test_what_is_refused_says_what_to_write_and_shows_no_pattern(spec: dict[str, Any], message: str) -> None:
    status, told = answered(spec)
    assert status == 422
    assert message in told
    assert "should match" not in told


@pytest.mark.parametrize(
    "spec",
    [
        {"source": GOOD},
        {"source": GOOD | {"interval": "1h30m"}, "clusters": {"gateway": GATEWAY}},
        {"source": {"url": "ssh://git@host/f.git", "knownHosts": "host ssh-rsa A"}},
        {"source": {"url": "git@host:f.git", "knownHosts": "host ssh-rsa A"}},
        {"source": {"url": "file:///tmp/f.git"}},
        {"source": GOOD, "notifications": [OPS, OPS | {"name": "b", "topics": ["halted"]}]},
        {"source": GOOD, "forge": {"type": "github", **APP}},
        {"source": GOOD, "previews": {"enabled": False}},
        {"source": GOOD, "forge": FORGED, "previews": {"enabled": True}},
        {
            "source": GOOD,
            "forge": FORGED,
            "previews": {"enabled": True, "interval": "2m", "trusted": {"access": "named", "users": ["mei"]}},
        },
        {
            "source": GOOD,
            "forge": {
                "type": "gitlab",
                **TOKEN,
                "url": "https://f:8443/x",
                "project": "a/b/c.d",
                "caRef": {"name": "ca"},
            },
        },
    ],
)
def test_what_is_good_is_taken(spec: dict[str, Any]) -> None:
    assert answered(spec)[0] == 201
