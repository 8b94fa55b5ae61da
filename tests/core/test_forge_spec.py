"""Which forge a Fleet names, and what follows from the address that it pulls from."""

from __future__ import annotations

from typing import Any

import pytest

from gitops_mc.core.custom.fleet_spec import FleetSpecError, fleet_spec
from gitops_mc.core.custom.forge_spec import AppRef, ForgeKind, ForgeSpec, Place, place_of
from gitops_mc.core.custom.refs import Ref

HTTPS = "https://git.example.com/acme/fleet.git"
TOKEN = Ref("forge", "token")


def spec(forge: dict[str, Any] | None) -> ForgeSpec | None:
    body = {"metadata": {"name": "prod"}, "spec": {"source": {"url": HTTPS}, "forge": forge}}
    return fleet_spec(body).forge


@pytest.mark.parametrize(
    ("kind", "url", "project", "source", "place"),
    [
        (
            "github",
            "",
            "",
            "https://github.com/acme/fleet.git",
            Place("https://api.github.com", "acme/fleet"),
        ),
        ("github", "", "", "git@github.com:acme/fleet.git", Place("https://api.github.com", "acme/fleet")),
        (
            "github",
            "",
            "",
            "ssh://git@ssh.github.com:443/acme/fleet",
            Place("https://api.github.com", "acme/fleet"),
        ),
        ("github", "https://api.acme.ghe.com", "", HTTPS, Place("https://api.acme.ghe.com", "acme/fleet")),
        ("github", "", "", HTTPS, Place("https://git.example.com/api/v3", "acme/fleet")),
        ("github", "https://ghe/api/v3", "a/b", HTTPS, Place("https://ghe/api/v3", "a/b")),
        (
            "gitea",
            "",
            "",
            "ssh://git@git.example.com:2222/acme/fleet.git",
            Place("https://git.example.com/api/v1", "acme/fleet"),
        ),
        (
            "gitea",
            "",
            "",
            "https://git.example.com:3000/acme/fleet",
            Place("https://git.example.com:3000/api/v1", "acme/fleet"),
        ),
        (
            "gitea",
            "https://example.com/git/",
            "acme/fleet",
            HTTPS,
            Place("https://example.com/git/api/v1", "acme/fleet"),
        ),
        (
            "gitlab",
            "",
            "",
            "https://gitlab.com/acme/infra/fleet.git",
            Place("https://gitlab.com/api/v4", "acme/infra/fleet"),
        ),
        ("gitlab", "https://gl/api/v4/", "a/b/c", HTTPS, Place("https://gl/api/v4", "a/b/c")),
        ("gitlab", "https://gl", "a/b", "file:///srv/fleet.git", Place("https://gl/api/v4", "a/b")),
    ],
)
def test_what_is_left_out_follows_from_the_source(
    kind: str, url: str, project: str, source: str, place: Place
) -> None:
    said = {"type": kind, "url": url, "project": project, "tokenRef": {"name": "forge", "key": "token"}}
    found = spec(said)
    assert found is not None
    assert place_of(found, source) == place


@pytest.mark.parametrize(
    ("forge", "source", "hint"),
    [
        (ForgeSpec(ForgeKind.GITHUB), "https://host/a/b/c.git", "name it in spec.forge.project: owner/name"),
        (ForgeSpec(ForgeKind.GITLAB), "https://host/fleet.git", "name it in spec.forge.project: group/name"),
        (
            ForgeSpec(ForgeKind.GITEA, project="a/b"),
            "file:///srv/fleet.git",
            "name it in spec.forge.url: https://HOST",
        ),
        (ForgeSpec(ForgeKind.GITEA, "http://host"), HTTPS, "https://HOST: a token goes nowhere without TLS"),
    ],
)
def test_what_does_not_follow_says_which_field_to_set(forge: ForgeSpec, source: str, hint: str) -> None:
    with pytest.raises(FleetSpecError) as caught:
        place_of(forge, source)
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    "url", ["https://[x", "https://host:99999", "https://host:x", "https://", "https://:443/git"]
)
def test_an_address_that_is_none_says_so(url: str) -> None:
    with pytest.raises(FleetSpecError) as caught:
        place_of(ForgeSpec(ForgeKind.GITLAB, url, "a/b"), HTTPS)
    assert (caught.value.message, caught.value.hint) == ("spec.forge.url is no address", "https://HOST")


@pytest.mark.parametrize("source", ["https://[x/a/b", "https://host:99999/a/b.git", "ssh://[x/a/b"])
def test_a_source_whose_address_is_none_says_what_to_set(source: str) -> None:
    with pytest.raises(FleetSpecError) as caught:
        place_of(ForgeSpec(ForgeKind.GITEA), source)
    assert caught.value.message == "spec.source.url is no address"
    named = ForgeSpec(ForgeKind.GITEA, "https://host", "a/b")
    assert place_of(named, source) == Place("https://host/api/v1", "a/b")


def test_a_fleet_without_a_forge_has_none() -> None:
    assert spec(None) is None


def test_everything_that_is_said_is_read() -> None:
    key = {"name": "app", "key": "pem"}
    said = {
        "type": "github",
        "appRef": {"appId": 1, "installationId": 2, "privateKeyRef": key},
        "caRef": {"name": "ca"},
    }
    assert spec(said) == ForgeSpec(ForgeKind.GITHUB, app=AppRef(1, 2, Ref("app", "pem")), ca=Ref("ca"))
    said = {"type": "gitea", "tokenRef": {"name": "forge", "key": "token"}}
    assert spec(said) == ForgeSpec(ForgeKind.GITEA, token=TOKEN)


def test_a_kind_that_there_is_none_of_names_those_that_there_are() -> None:
    with pytest.raises(FleetSpecError, match=r"spec\.forge\.type is 'svn'") as caught:
        spec({"type": "svn"})
    assert caught.value.hint == "one of github, gitlab, gitea"
