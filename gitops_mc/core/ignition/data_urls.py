"""File contents as Ignition carries them: data URLs (RFC 2397), perhaps gzip-compressed, to bytes and back."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import zlib
from enum import StrEnum
from functools import lru_cache
from urllib.parse import unquote_to_bytes

from gitops_mc.core.errors import GitopsMcError

MAX_DECODED_BYTES = 16 * 1024 * 1024
"""More than any rendered config can carry (the API takes 1.5 MiB of it), less than a gzip bomb needs to do harm."""

_GZIP = 16 + zlib.MAX_WBITS
_GZIP_CHUNK = 8 * 1024
_CACHED_SOURCE_CHARS = 64 * 1024
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_URL_SAFE = str.maketrans("-_", "+/")


class DecodeFault(StrEnum):
    """Why a source cannot be decoded. The text is all that is ever said of it: no content."""

    NOT_DATA = "the source is not a data URL"
    NO_COMMA = "the data URL has no comma"
    BAD_ESCAPE = "the data URL has a % that two hexadecimal digits do not follow"
    BAD_BASE64 = "the data URL is not valid base64"
    BAD_COMPRESSION = "the compression is neither gzip nor empty"
    BAD_GZIP = "the contents are not valid gzip"
    TOO_LARGE = "the contents are larger than the limit when decoded"


class SourceDecodeError(GitopsMcError):
    """A source that cannot be decoded. Neither message nor cause quotes what it holds."""

    def __init__(self, fault: DecodeFault) -> None:
        super().__init__(
            fault.value, hint="write contents.inline or contents.local, or a `data:;base64,` URL"
        )
        self.fault = fault


def decode_source(
    source: str | None, compression: str | None = None, *, limit: int = MAX_DECODED_BYTES
) -> bytes:
    """The bytes that a node writes. A missing or empty source is an empty file.

    Read leniently, since live objects come from anywhere: base64 in the standard or the url-safe alphabet, with or
    without padding, line breaks and percent escapes inside; any media type and parameters.
    Raises SourceDecodeError; a gzip bomb is unpacked no further than `limit` bytes.
    """
    data = _payload(source, limit) if source else b""
    match compression:
        case None | "":
            return data
        case "gzip":
            return _gunzip(data, limit) if source else data
        case _:
            raise SourceDecodeError(DecodeFault.BAD_COMPRESSION)


def encode_source(data: bytes) -> str:
    """The one encoding this product emits, frozen by golden files: `data:;base64,` and standard base64 with padding,
    and `data:,` for an empty file.

    Operators compare entries as they are written, so another spelling of the same bytes counts as a change of the file
    on every node. Butane takes the shorter of percent-encoding and base64, and gzip when that is shorter still: then
    one more character may change the form, and a new zlib the bytes. This form depends on the content alone; both
    spellings are ones that Butane itself emits, so every Ignition reader knows them.
    """
    return f"data:;base64,{base64.b64encode(data).decode('ascii')}" if data else "data:,"


def content_digest(source: str, compression: str | None) -> bytes | None:
    """sha256 of the decoded contents, or None where they cannot be decoded. Remembered for sources of common size."""
    if len(source) > _CACHED_SOURCE_CHARS:
        return _digest(source, compression)
    return _cached_digest(source, compression)


def _digest(source: str, compression: str | None) -> bytes | None:
    try:
        return hashlib.sha256(decode_source(source, compression)).digest()
    except SourceDecodeError:
        return None


_cached_digest = lru_cache(maxsize=1024)(_digest)


def _payload(source: str, limit: int) -> bytes:
    if source[:5].lower() != "data:":
        raise SourceDecodeError(DecodeFault.NOT_DATA)
    header, comma, data = source[5:].partition(",")
    if not comma:
        raise SourceDecodeError(DecodeFault.NO_COMMA)
    if _BAD_ESCAPE.search(data):
        raise SourceDecodeError(DecodeFault.BAD_ESCAPE)
    try:
        plain = unquote_to_bytes(data)
    except UnicodeEncodeError:  # a lone surrogate
        raise SourceDecodeError(DecodeFault.BAD_ESCAPE) from None
    decoded = _from_base64(plain) if header.lower().split(";")[-1].strip() == "base64" else plain
    if len(decoded) > limit:
        raise SourceDecodeError(DecodeFault.TOO_LARGE)
    return decoded


def _from_base64(text: bytes) -> bytes:
    try:
        letters = text.decode("ascii").translate(_URL_SAFE).replace("\n", "").replace("\r", "").rstrip("=")
        return base64.b64decode(letters + "=" * (-len(letters) % 4), validate=True)
    except (binascii.Error, UnicodeDecodeError):
        raise SourceDecodeError(DecodeFault.BAD_BASE64) from None


def _gunzip(data: bytes, limit: int) -> bytes:
    """All members of a gzip file. Output is asked for piece by piece, so a bomb is stopped at `limit`; input is fed in
    chunks, so a file of countless tiny members costs no more than its length.
    """
    decoded = bytearray()
    member = zlib.decompressobj(wbits=_GZIP)
    position = 0
    while position < len(data):
        if member.eof:
            member = zlib.decompressobj(wbits=_GZIP)
        chunk = data[position : position + _GZIP_CHUNK]
        try:
            decoded += member.decompress(chunk, limit + 1 - len(decoded))
        except zlib.error:
            raise SourceDecodeError(DecodeFault.BAD_GZIP) from None
        if len(decoded) > limit:
            raise SourceDecodeError(DecodeFault.TOO_LARGE)
        position += len(chunk) - len(member.unused_data) - len(member.unconsumed_tail)
    if not member.eof:
        raise SourceDecodeError(DecodeFault.BAD_GZIP)
    return bytes(decoded)
