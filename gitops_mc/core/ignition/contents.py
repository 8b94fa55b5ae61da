"""Butane's words for file contents, resolved into what Ignition knows: `inline`, `local`, `contents_local`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from gitops_mc.core.ignition.data_urls import SourceDecodeError, decode_source, encode_source
from gitops_mc.core.model import BodyPath, Finding, JsonObject

ReadFile: TypeAlias = Callable[[str], bytes | None]
"""Bytes of a file by the path written in the manifest, or None when there is none that may be read."""

CONTENTS_RULE = "ignition-contents"
LOCAL_RULE = "ignition-local-file"
COMPRESSION_RULE = "ignition-compression"
MODE_RULE = "ignition-mode"
_OCTAL = re.compile(r"[0-7]{1,18}")


def resolve_contents(body: JsonObject, read_file: ReadFile) -> tuple[JsonObject, tuple[Finding, ...]]:
    """A copy of a MachineConfig in which `contents.inline` and `contents.local` of files have become
    `contents.source`, and `contents_local` of units and drop-ins has become `contents`; and all that was wrong.

    `compression: gzip` is not carried out, since another zlib would make other bytes of the same file and so a change
    on every node. As in Butane it says that the local file *is* gzip already, which is checked. A part with a finding
    stays as it was written.
    """
    resolver = _Resolver(read_file, [])
    resolved = resolver.body(body)
    return resolved, tuple(resolver.findings)


@dataclass(frozen=True, slots=True)
class _Resolver:
    read_file: ReadFile
    findings: list[Finding]

    def body(self, body: JsonObject) -> JsonObject:
        spec = body.get("spec")
        config = spec.get("config") if isinstance(spec, dict) else None
        if not isinstance(spec, dict) or not isinstance(config, dict):
            return body
        path: BodyPath = ("spec", "config")
        resolved = self._list_in(config, path, "storage", "files", self._file)
        resolved = self._list_in(resolved, path, "systemd", "units", self._unit)
        return {**body, "spec": {**spec, "config": resolved}}

    def _list_in(
        self,
        config: JsonObject,
        path: BodyPath,
        section: str,
        name: str,
        each: Callable[[JsonObject, BodyPath], JsonObject],
    ) -> JsonObject:
        part = config.get(section)
        if not isinstance(part, dict):
            return config
        return {**config, section: self._items(part, (*path, section), name, each)}

    def _items(
        self,
        part: JsonObject,
        path: BodyPath,
        name: str,
        each: Callable[[JsonObject, BodyPath], JsonObject],
    ) -> JsonObject:
        items = part.get(name)
        if not isinstance(items, list):
            return part
        resolved = [
            each(item, (*path, name, position)) if isinstance(item, dict) else item
            for position, item in enumerate(items)
        ]
        return {**part, name: resolved}

    def _file(self, file: JsonObject, path: BodyPath) -> JsonObject:
        self._check_mode(file.get("mode"), (*path, "mode"))
        contents = file.get("contents")
        if not isinstance(contents, dict):
            return file
        words = [word for word in ("inline", "local", "source") if word in contents]
        if words in ([], ["source"]):
            return file
        where: BodyPath = (*path, "contents")
        if len(words) > 1:
            self._conflict((*where, words[1]), words)
            return file
        data = self._inline(contents, where) if words == ["inline"] else self._local(contents, where, "local")
        if data is None or not self._compression_fits(data, contents.get("compression"), where, words[0]):
            return file
        rest = {key: value for key, value in contents.items() if key != words[0]}
        return {**file, "contents": {**rest, "source": encode_source(data)}}

    def _unit(self, unit: JsonObject, path: BodyPath) -> JsonObject:
        return self._items(self._text_from_file(unit, path), path, "dropins", self._text_from_file)

    def _text_from_file(self, holder: JsonObject, path: BodyPath) -> JsonObject:
        if "contents_local" not in holder:
            return holder
        if "contents" in holder:
            self._conflict((*path, "contents_local"), ["contents", "contents_local"])
            return holder
        data = self._local(holder, path, "contents_local")
        if data is None:
            return holder
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            self._find(
                LOCAL_RULE,
                (*path, "contents_local"),
                "the file is not UTF-8 text",
                "a unit is text; save it as UTF-8",
            )
            return holder
        rest = {key: value for key, value in holder.items() if key != "contents_local"}
        return {**rest, "contents": text}

    def _inline(self, contents: JsonObject, path: BodyPath) -> bytes | None:
        text = contents["inline"]
        if isinstance(text, str):
            return text.encode("utf-8", "surrogatepass")
        self._find(
            CONTENTS_RULE,
            (*path, "inline"),
            f"inline is {_json_type(text)}, not a string",
            'quote it, or write a block with `inline: |`; an empty file is `inline: ""`',
        )
        return None

    def _local(self, holder: JsonObject, path: BodyPath, word: str) -> bytes | None:
        name = holder[word]
        where = (*path, word)
        if not isinstance(name, str) or not name:
            self._find(
                LOCAL_RULE,
                where,
                f"{word} is no file name",
                "write a path relative to the folder of this manifest",
            )
            return None
        data = self.read_file(name)
        if data is None:
            self._find(
                LOCAL_RULE,
                where,
                f"there is no file {name} that may be read",
                "the path is relative to the folder of this manifest and stays inside the repository",
            )
        return data

    def _compression_fits(self, data: bytes, compression: Any, path: BodyPath, word: str) -> bool:
        if compression in (None, ""):
            return True
        where = (*path, "compression")
        if compression != "gzip":
            self._find(COMPRESSION_RULE, where, "compression is neither gzip nor empty", "leave it out")
            return False
        try:
            decode_source(encode_source(data), "gzip")
        except SourceDecodeError as error:
            self._find(
                COMPRESSION_RULE,
                where,
                f"compression says that {word} is gzip already: {error.message}",
                "leave compression out; contents are not compressed here, because another zlib would make other bytes",
            )
            return False
        return True

    def _check_mode(self, mode: Any, path: BodyPath) -> None:
        if not isinstance(mode, str):
            return
        digits = mode.strip().lower().removeprefix("0o")
        octal = _OCTAL.fullmatch(digits) is not None
        hint = (
            f"write `mode: 0{int(digits, 8):o}` without quotes ({int(digits, 8)})"
            if octal
            else "write `mode: 0644`"
        )
        self._find(MODE_RULE, path, "the mode is a string", hint)

    def _conflict(self, path: BodyPath, words: list[str]) -> None:
        self._find(CONTENTS_RULE, path, f"{' and '.join(words)} stand side by side", "keep one of them")

    def _find(self, rule: str, path: BodyPath, message: str, hint: str) -> None:
        self.findings.append(Finding(path, rule, message, hint))


def _json_type(value: Any) -> str:
    names = {type(None): "empty", bool: "a boolean", int: "a number", float: "a number", list: "a list"}
    return names.get(type(value), "an object")
