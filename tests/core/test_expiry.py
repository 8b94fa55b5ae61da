"""When a token expires: what it says itself, and nothing where it does not."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_mc.core.expiry import expiry_of

AT = datetime(2027, 3, 1, 12, 0, tzinfo=UTC)


def token(claims: Any) -> str:
    parts = ({"alg": "RS256"}, claims)
    encoded = [urlsafe_b64encode(json.dumps(p).encode()).rstrip(b"=").decode() for p in parts]
    return ".".join((*encoded, "c2lnbmF0dXJl"))


def test_a_json_web_token_says_when_it_expires_also_with_the_end_of_line_of_its_file() -> None:
    assert expiry_of(token({"sub": "system:serviceaccount:a:b", "exp": AT.timestamp()})) == AT
    assert expiry_of(token({"exp": int(AT.timestamp())}) + "\n") == AT


@pytest.mark.parametrize(
    "said",
    [
        "",
        "ghp_0123456789",
        "a.b",
        "a.b.c",
        "..",
        token({}),
        token([]),
        token({"exp": "soon"}),
        token({"exp": True}),
        token({"exp": 10**30}),
        token({"exp": 1e400}),
    ],
)
def test_a_token_that_does_not_say_or_is_of_another_kind_has_no_end(said: str) -> None:
    assert expiry_of(said) is None


@given(st.text())
def test_whatever_it_is_nothing_is_raised(text: str) -> None:
    expiry_of(text)
    expiry_of(f"a.{text}.c")
