"""Which addresses are reached, which credentials a Secret holds; nothing here goes to a network."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from gitops_mc.adapters.git_access import Access, Basic, Bearer, Credentials, credentials_of
from gitops_mc.adapters.git_address import address_of
from gitops_mc.adapters.git_errors import fetch_error
from gitops_mc.adapters.git_private import private
from gitops_mc.core.errors import SourceError


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://git.example.com/team/fleet.git", "https://git.example.com:443/"),
        ("https://Git.Example.com:8443/fleet", "https://git.example.com:8443/"),
        ("https://[2001:db8::1]:8443/fleet", "https://[2001:db8::1]:8443/"),
        ("ssh://git@git.example.com/team/fleet.git", "ssh://git.example.com:22/"),
        ("ssh://git@git.example.com:2222/~/fleet.git", "ssh://git.example.com:2222/"),
        ("git@git.example.com:team/fleet.git", "ssh://git.example.com:22/"),
        ("git.example.com:/srv/fleet.git", "ssh://git.example.com:22/"),
    ],
)
def test_addresses_of_https_and_ssh_are_taken(url: str, origin: str) -> None:
    assert address_of(url).origin == origin


@pytest.mark.parametrize(
    "url",
    [
        "",
        "fleet",
        "/srv/fleet.git",
        "./fleet:x",
        "../fleet",
        "file:///srv/fleet.git",
        "http://git.example.com/fleet.git",
        "git://git.example.com/fleet.git",
        "ftp://git.example.com/fleet.git",
        "ext::sh -c touch% /tmp/x",
        "ext::sh",
        "fd::17/foo",
        "https::https://git.example.com/fleet",
        "ssh://-oProxyCommand=touch/x",
        "-oProxyCommand=touch:x",
        "ssh://git@-oProxyCommand=touch/x",
        "git@-oProxyCommand=x:y",
        "git@git.example.com:-x",
        "git@git.example.com::x",
        "--upload-pack=touch:x",
        "https:///fleet.git",
        "https://git.example.com",
        "https://git.example.com/",
        "https://git.example.com/fleet?x=y",
        "https://git.example.com/fleet#x",
        "https://git.example.com:port/fleet",
        "https://git.example.com/a b",
        "https://git.example.com/\nx",
        "https://gít.example.com/fleet",
        "HTTPS://git.example.com/fleet",
    ],
)
def test_everything_else_is_refused(url: str) -> None:
    with pytest.raises(SourceError) as caught:
        address_of(url)
    assert caught.value.hint


@pytest.mark.parametrize(
    "url",
    ["https://user:s3cr3t@git.example.com/x", "https://s3cr3t@git.example.com/x", "ssh://git:s3cr3t@h/x"],
)
def test_an_address_with_a_password_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(SourceError, match="user or a password") as caught:
        address_of(url)
    assert "s3cr3t" not in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize(
    ("secret", "credentials"),
    [
        ({}, None),
        ({"ca.crt": b"x", "known_hosts": b"y"}, None),
        ({"username": b"robot", "password": b"p:w\n"}, Basic("robot", "p:w")),
        ({"token": b"token"}, Basic("x-access-token", "token")),
        ({"username": b"oauth2", "token": b"token"}, Basic("oauth2", "token")),
        ({"bearerToken": b"token\r\n"}, Bearer("token")),
    ],
)
def test_a_secret_is_read_by_the_names_of_its_keys(
    secret: dict[str, bytes], credentials: Credentials | None
) -> None:
    assert credentials_of(secret) == credentials


@pytest.mark.parametrize(
    "secret",
    [
        {"username": b"robot"},
        {"Token": b"s3cr3t"},
        {"password": b"s3cr3t", "bearerToken": b"s3cr3t"},
        {"password": b"s3cr3t", "token": b"s3cr3t"},
        {"password": b""},
        {"password": b"s3cr3t\nX-Header: y"},
        {"bearerToken": b"\xff\xfe"},
        {"identity": b"ssh-ed25519 AAAA s3cr3t"},
        {"username": b"with:colon", "password": b"s3cr3t"},
    ],
)
def test_a_secret_that_is_not_clear_is_refused_without_showing_it(secret: dict[str, bytes]) -> None:
    with pytest.raises(SourceError) as caught:
        credentials_of(secret)
    assert caught.value.hint
    assert "s3cr3t" not in f"{caught.value} {caught.value.hint} {caught.value.__cause__!r}"


def test_credentials_do_not_show_themselves() -> None:
    for given in (Basic("robot", "s3cr3t"), Bearer("s3cr3t"), Access(Bearer("s3cr3t"))):
        assert "s3cr3t" not in repr(given)


@pytest.mark.parametrize("said", ["", "\n\n", "\x1b[31mred\x07", "x" * 100_000, "remote: \u202e evil"])
def test_what_a_server_says_is_shown_as_one_bounded_line(said: str) -> None:
    error = fetch_error("https://git.example.com/x", said)
    assert len(error.message) < 400
    assert error.message.isprintable()


def test_paths_with_spaces_and_quotes_reach_git_and_ssh_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = tmp_path / 'a "quoted" % name'
    odd.mkdir()
    monkeypatch.setattr("gitops_mc.adapters.git_private._IN_MEMORY", odd)
    with private(address_of("https://git.example.com/x"), Access(Bearer('a"b\\c'))) as held:
        config = (held.folder / "gitconfig").read_text()
        assert odd in held.folder.parents
        assert shlex.split(held.environment["GIT_SSH_COMMAND"])[2] == str(held.folder / "ssh_config")
    assert re.search(r'extraHeader = "Authorization: Bearer a\\"b\\\\c"', config)
    assert list(odd.iterdir()) == []
