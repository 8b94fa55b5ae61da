from __future__ import annotations

import base64
import gzip
import json
import traceback
from pathlib import Path
from urllib.parse import quote_from_bytes

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_mc.core.ignition import DecodeFault, SourceDecodeError, decode_source, encode_source

GOLDEN = json.loads((Path(__file__).parents[1] / "data/ignition/encodings.json").read_text())


@pytest.mark.parametrize("case", GOLDEN, ids=[case["what"] for case in GOLDEN])
def test_the_encoding_we_emit_is_frozen(case: dict[str, str]) -> None:
    assert encode_source(bytes.fromhex(case["hex"])) == case["source"]
    assert decode_source(case["source"]) == bytes.fromhex(case["hex"])


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (None, b""),
        ("", b""),
        ("data:,", b""),
        ("data:;base64,", b""),
        ("data:,hello%20world%0A", b"hello world\n"),
        ("data:,a+b,c;base64", b"a+b,c;base64"),
        ("data:text/plain;charset=utf-8,%C3%A9", "é".encode()),
        ("data:,é", "é".encode()),
        ("data:text/plain;charset=utf-8;base64,aGk=", b"hi"),
        ("DATA:;BASE64,aGk=", b"hi"),
        ("data:;base64,aGk", b"hi"),
        ("data:;base64,aGk%3D", b"hi"),
        ("data:;base64,aG\r\nk=\n", b"hi"),
        ("data:;base64,+/+/", b"\xfb\xff\xbf"),
        ("data:;base64,%2B%2F-_", b"\xfb\xff\xbf"),
        ("data:;base64,-_-_", b"\xfb\xff\xbf"),
    ],
)
def test_every_spelling_of_a_data_url_decodes(source: str | None, expected: bytes) -> None:
    assert decode_source(source) == expected


@settings(max_examples=200, derandomize=True, deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_come_back_whatever_the_spelling(data: bytes) -> None:
    compressed = gzip.compress(data[:100], mtime=0) + gzip.compress(data[100:], mtime=0)
    assert decode_source(encode_source(data)) == data
    assert decode_source("data:," + quote_from_bytes(data)) == data
    assert decode_source("data:;base64," + base64.urlsafe_b64encode(data).decode().rstrip("=")) == data
    assert decode_source(encode_source(compressed), "gzip") == data
    assert decode_source(encode_source(data), "") == data


@pytest.mark.parametrize(
    ("source", "compression", "fault"),
    [
        ("https://example.com/secret", None, DecodeFault.NOT_DATA),
        ("data:secret", None, DecodeFault.NO_COMMA),
        ("data:,secret%2", None, DecodeFault.BAD_ESCAPE),
        ("data:,secret%zz", None, DecodeFault.BAD_ESCAPE),
        ("data:,secret\ud800", None, DecodeFault.BAD_ESCAPE),
        ("data:;base64,secret!!", None, DecodeFault.BAD_BASE64),
        ("data:;base64,secre", None, DecodeFault.BAD_BASE64),
        ("data:;base64,sécret", None, DecodeFault.BAD_BASE64),
        ("data:,secret", "xz", DecodeFault.BAD_COMPRESSION),
        ("data:,secret", "gzip", DecodeFault.BAD_GZIP),
        ("data:,", "gzip", DecodeFault.BAD_GZIP),
        (encode_source(gzip.compress(b"secret", mtime=0)[:-1]), "gzip", DecodeFault.BAD_GZIP),
        (encode_source(gzip.compress(b"secret", mtime=0) + b"secret"), "gzip", DecodeFault.BAD_GZIP),
    ],
)
def test_a_bad_source_is_named_and_never_quoted(
    source: str, compression: str | None, fault: DecodeFault
) -> None:
    with pytest.raises(SourceDecodeError) as caught:
        decode_source(source, compression)
    assert caught.value.fault is fault
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    printed = "".join(traceback.format_exception_only(caught.value)) + repr(caught.value) + caught.value.hint
    assert "secret" not in printed


def test_contents_above_the_limit_are_refused_at_the_limit_exactly() -> None:
    ten = encode_source(b"0123456789")
    zipped = encode_source(gzip.compress(bytes(1000)))
    assert decode_source(ten, limit=10) == b"0123456789"
    assert decode_source(zipped, "gzip", limit=1000) == bytes(1000)
    with pytest.raises(SourceDecodeError) as caught:
        decode_source(zipped, "gzip", limit=999)
    assert caught.value.fault is DecodeFault.TOO_LARGE
    for source, compression in ((ten, None), ("data:,0123456789", None)):
        with pytest.raises(SourceDecodeError) as caught:
            decode_source(source, compression, limit=9)
        assert caught.value.fault is DecodeFault.TOO_LARGE


def test_a_gzip_bomb_is_stopped_without_being_unpacked() -> None:
    bomb = gzip.compress(gzip.compress(bytes(50_000_000)) * 20)
    with pytest.raises(SourceDecodeError) as caught:
        decode_source(encode_source(gzip.compress(bytes(50_000_000))), "gzip")
    assert caught.value.fault is DecodeFault.TOO_LARGE
    with pytest.raises(SourceDecodeError) as caught:
        decode_source(encode_source(bomb), "gzip", limit=100_000)
    assert caught.value.fault is DecodeFault.TOO_LARGE


def test_a_gzip_file_of_countless_empty_members_costs_no_more_than_its_length() -> None:
    members = gzip.compress(b"", mtime=0) * 50_000 + gzip.compress(b"end", mtime=0)
    assert decode_source(encode_source(members), "gzip") == b"end"
