"""What looks like a credential is shown nowhere, whoever wrote it into a text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_mc.core.redact.credentials import without_credentials

SECRET = "hunter2-and-more"
TOLD = {
    "a header": (f"Authorization: Bearer {SECRET}", "Authorization: [hidden]"),
    "a header in a dict": (f"{{'authorization': 'Basic {SECRET}'}}", "{'authorization': '[hidden]'}"),
    "a header as a tuple of bytes": (f"(b'Authorization', b'{SECRET}')", "(b'Authorization', b'[hidden]')"),
    "a header in JSON in JSON": (
        f'"{{\\"Authorization\\": \\"Bearer {SECRET}\\"}}"',
        '"{\\"Authorization\\": \\"[hidden]\\"}"',
    ),
    "GitLab's header": (f"X-Gitlab-Token: {SECRET}\r\nHost: a", "X-Gitlab-Token: [hidden]\r\nHost: a"),
    "a bearer in prose": (f"sent bearer {SECRET}1 to it", "sent bearer [hidden] to it"),
    "a URL with a password": (f"https://me:{SECRET}@git.example/x", "https://[hidden]@git.example/x"),
    "a URL with a token": (
        f"cannot read https://{SECRET}@git.example",
        "cannot read https://[hidden]@git.example",
    ),
    "a password of SSH": (f"ssh://git:{SECRET}@git.example/x", "ssh://[hidden]@git.example/x"),
    "a user of SSH that may be a token": (f"ssh://{SECRET}@git.example/x", "ssh://[hidden]@git.example/x"),
    "a form": (f"client_secret={SECRET}&scope=all", "client_secret=[hidden]&scope=all"),
    "a field": (f'{{"access_token": "{SECRET}"}}', '{"access_token": "[hidden]"}'),
    "a line of YAML": (f"password: {SECRET}", "password: [hidden]"),
    "a private key": (
        f"-----BEGIN OPENSSH PRIVATE KEY-----\n{SECRET}\n-----END OPENSSH PRIVATE KEY-----.",
        "-----BEGIN OPENSSH PRIVATE KEY-----[hidden].",
    ),
    "a private key without its end": (
        f"-----BEGIN PRIVATE KEY-----\n{SECRET}",
        "-----BEGIN PRIVATE KEY-----[hidden]",
    ),
    "a service account's token": (
        "it said eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJr.c2ln, and",
        "it said [hidden], and",
    ),
    "GitHub's token": ("ghp_0123456789abcdefghij is no good", "[hidden] is no good"),
}


@pytest.mark.parametrize("kind", TOLD)
def test_a_credential_is_hidden_and_what_introduces_it_stays(kind: str) -> None:
    text, shown = TOLD[kind]
    assert without_credentials(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "the token is not accepted: it has expired",
        "git@github.com:org/fleet.git",
        "see kubectl get secret: nothing was found",
        "pool worker of edge-01: node n2 NotReady since 10:42, 1 of 3 unavailable",
        "basic checks failed",
        "bearer authentication is wanted",
    ],
)
def test_what_a_reader_needs_stays(text: str) -> None:
    assert without_credentials(text) == text


@given(st.text(max_size=200))
def test_hiding_twice_changes_nothing_more(text: str) -> None:
    once = without_credentials(text)
    assert without_credentials(once) == once


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "token ",
        "a-",
        "aaa_",
        "://",
        "a://",
        "eyJ",
        "eyJaaaaaaaa.",
        "basic ",
        "-----BEGIN PRIVATE KEY-----",
    ],
)
def test_a_long_text_of_any_kind_takes_no_time(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    begun = time.process_time()
    without_credentials(text)
    assert time.process_time() - begun < 1.0
