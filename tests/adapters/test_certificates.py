"""What counts as certificates, whatever bytes somebody has put there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_mc.adapters.certificates import are_certificates
from tests.adapters.kube_peers import TLS

GOOD = (TLS / "ca.crt").read_bytes()


@pytest.mark.parametrize(
    "pem",
    [
        GOOD,
        GOOD + GOOD,
        "# F\u0151tan\u00fas\u00edtv\u00e1ny\n".encode() + GOOD,
        GOOD.replace(b"\n", b"\r\n"),
    ],
)
def test_certificates_are_taken_with_remarks_in_any_language(pem: bytes) -> None:
    assert are_certificates(pem)


@pytest.mark.parametrize(
    "pem",
    [
        b"",
        b"\0",
        b"\xff\xfe",
        b"\x80" * 9,
        GOOD[:-40],
        GOOD.replace(b"MII", b"\xff\xfe\xfd"),
        b"-----BEGIN CERTIFICATE-----\n",
    ],
)
def test_what_is_damaged_is_none(pem: bytes) -> None:
    assert not are_certificates(pem)


@given(st.binary(max_size=40))
def test_no_bytes_are_more_than_no_certificates(pem: bytes) -> None:
    assert not are_certificates(pem)
