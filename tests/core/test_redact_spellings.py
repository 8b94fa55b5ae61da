"""Each way of writing a secret is recognised whole, and leaves nothing of it behind."""

from __future__ import annotations

import base64
import html
import json
import re
from urllib.parse import quote, quote_plus

import pytest
import yaml

from gitops_mc.core.policy import Sensitive
from gitops_mc.core.redact import Redactor, marker

SECRET = "Pa'ss<&>\"wö\trd\\/?>~\n+ second ÿline ☃ of it"
RAW = SECRET.encode()
BASE64 = base64.b64encode(RAW).decode()
BINARY = bytes([0x80, 0x41, 0xFB, 0xEF, 0xBE, 0xFF, 0xFF, 0xFE, 0x00, 0x9C, 0x27, 0x5C, 0x81])
"""Whose base64 has `/` wherever a group of three bytes begins, and padding."""
LONG = bytes(range(33, 127)) * 3


def lower(text: str) -> str:
    return re.sub(r"%[0-9A-F]{2}", lambda match: match.group().lower(), text)


def go(text: str) -> str:
    """As Go's encoding/json writes it: HTML letters escaped, other text as it is."""
    written = json.dumps(text, ensure_ascii=False)[1:-1]
    for letter in "<>&":
        written = written.replace(letter, f"\\u{ord(letter):04x}")
    return written


SPELLINGS = {
    "plain": SECRET,
    "crlf": SECRET.replace("\n", "\r\n"),
    "json": json.dumps(SECRET)[1:-1],
    "json-utf8": json.dumps(SECRET, ensure_ascii=False)[1:-1],
    "json-slash": json.dumps(SECRET)[1:-1].replace("/", "\\/"),
    "json-in-json": json.dumps(json.dumps(SECRET)[1:-1])[1:-1],
    "go": go(SECRET),
    "go-in-go": go(go(SECRET)),
    "yaml-double": yaml.safe_dump(SECRET, default_style='"', width=1000).strip()[1:-1],
    "html": html.escape(SECRET),
    "html-text": html.escape(SECRET, quote=False),
    "html-decimal": html.escape(SECRET).replace("&#x27;", "&#39;").replace("&quot;", "&#34;"),
    "python": repr(SECRET)[1:-1],
    "python-bytes": repr(RAW)[2:-1],
    "percent": quote(RAW, safe=""),
    "percent-path": quote(RAW),
    "percent-form": quote_plus(RAW),
    "percent-lower": lower(quote(RAW, safe="")),
    "percent-path-lower": lower(quote(RAW)),
    "percent-every": "".join(f"%{byte:02X}" for byte in RAW),
    "percent-every-lower": "".join(f"%{byte:02x}" for byte in RAW),
    "hex": RAW.hex(),
    "hex-upper": RAW.hex().upper(),
    "base64": BASE64,
    "base64-url-safe": base64.urlsafe_b64encode(RAW).decode(),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_secret_is_recognised_whole(spelling: str) -> None:
    redactor = Redactor(Sensitive(), [RAW])
    assert redactor.redact(f"({SPELLINGS[spelling]})") == f"({marker(len(RAW))})"


def test_a_single_quoted_yaml_scalar_is_recognised_whole() -> None:
    secret = "it's ours: hands off"
    written = yaml.safe_dump(secret, default_style="'", width=1000).strip()
    assert Redactor(Sensitive(), [secret.encode()]).redact(written) == f"'{marker(len(secret))}'"


BINARY_SPELLINGS = {
    "replaced": BINARY.decode("utf-8", "replace"),
    "backslashes": BINARY.decode("utf-8", "backslashreplace"),
    "latin-1": BINARY.decode("latin-1"),
    "python": repr(BINARY)[2:-1],
    "base64": base64.b64encode(BINARY).decode(),
    "base64-url-safe": base64.urlsafe_b64encode(BINARY).decode(),
    "hex": BINARY.hex(),
}


@pytest.mark.parametrize("spelling", BINARY_SPELLINGS)
def test_a_secret_that_is_no_text_is_recognised_whole(spelling: str) -> None:
    redactor = Redactor(Sensitive(), [BINARY])
    assert redactor.redact(f"({BINARY_SPELLINGS[spelling]})") == f"({marker(len(BINARY))})"


@pytest.mark.parametrize("before", [b"", b"a", b"ab"])
@pytest.mark.parametrize("after", [b"", b"z", b"zz"])
@pytest.mark.parametrize(
    "write",
    [
        lambda blob: base64.b64encode(blob).decode(),
        lambda blob: base64.urlsafe_b64encode(blob).decode(),
        lambda blob: base64.b64encode(blob).decode().replace("/", "\\/"),
        lambda blob: quote(base64.b64encode(blob), safe=""),
    ],
    ids=["standard", "url-safe", "json-slash", "percent"],
)
def test_within_a_larger_base64_text_no_more_than_the_letters_at_the_borders_are_left(
    before: bytes, after: bytes, write: object
) -> None:
    assert callable(write)
    redactor = Redactor(Sensitive(), [BINARY])
    output = redactor.redact(write(before + BINARY + after))
    left, _, right = output.partition(marker(len(BINARY)))
    assert output != write(before + BINARY + after)
    assert len(left) <= 4
    assert len(right) <= 6 + 6  # a group of four, its padding percent-encoded


@pytest.mark.parametrize("columns", [64, 76])
def test_base64_in_lines_is_recognised_line_by_line(columns: int) -> None:
    letters = base64.b64encode(LONG).decode()
    lines = [letters[at : at + columns] for at in range(0, len(letters), columns)]
    output = Redactor(Sensitive(), [LONG]).redact("\n    ".join(lines))
    assert [line for line in lines if len(line) >= 6 and line in output] == []


def test_a_secret_is_known_without_the_line_break_at_its_end() -> None:
    secret = b'  \n{"auths": {}}\nx\n\n'
    redactor = Redactor(Sensitive(), [secret])
    stripped = secret.strip().decode()
    assert redactor.redact(f"<{stripped}>") == f"<{marker(len(stripped))}>"


def test_of_a_large_secret_lines_are_known_as_text() -> None:
    lines = [f"line-{number}-of-a-large-secret" for number in range(4000)]
    redactor = Redactor(Sensitive(), ["\n".join(lines).encode()])
    assert redactor.redact(f"+{lines[77]}") == f"+{marker(len(lines[77]))}"
    assert redactor.redact(f'"{lines[3999]}"') == f'"{marker(len(lines[3999]))}"'
