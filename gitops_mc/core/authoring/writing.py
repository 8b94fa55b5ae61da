"""A picked object as files: the manifest as people write it, with contents in words or in files beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from gitops_mc.core.authoring.drafts import Draft, FreePaths, NewFile
from gitops_mc.core.authoring.picking import Picked
from gitops_mc.core.ignition import SourceDecodeError, decode_source, encode_source
from gitops_mc.core.manifests import LFS_POINTER
from gitops_mc.core.model import POLICY_NAME, JsonObject, Kind
from gitops_mc.core.raw import items, section
from gitops_mc.core.render.yaml_text import Block, Octal, fits_block, yaml_lines

_MAX_PAYLOAD: Final = 4 * 1024 * 1024
_SHORT_BYTES, _SHORT_LINES = 800, 16
"""What is longer than that stands in a file of its own."""
_MAX_MODE: Final = 0o7777
_FILE_ORDER: Final = ("path", "mode", "user", "group", "overwrite", "contents")
_UNIT_ORDER: Final = ("name", "enabled", "mask", "contents", "contents_local", "dropins")
_NAMES: Final[Mapping[Kind, str]] = {
    Kind.MODULE_INFO: "module-",
    Kind.MACHINE_CONFIG_POOL: "pool-",
    Kind.MACHINE_CONFIG: "",
}
_PARTIAL: Final[Mapping[Kind, str]] = {
    Kind.MACHINE_CONFIG_POOL: "# Only what somebody set: everything else of this pool is the operator's.",
    Kind.MACHINE_CONFIGURATION: (
        "# Only what somebody set. This object has several owners: entries that do not stand here are left alone."
    ),
    Kind.MODULE_INFO: "# Only what is not a published default of this version.",
}


class Style(Enum):
    """How contents are written."""

    READABLE = "readable"
    """As text, or as files beside the manifest."""
    EXACT = "exact"
    """As text or files where the one encoding that this product has is the one in the cluster, else as its data URL."""
    VERBATIM = "verbatim"
    """As the data URLs that stand in the cluster."""


def draft_of(picked: Picked, style: Style, paths: FreePaths, private: frozenset[str]) -> Draft:
    """The files of one object. `private` are the paths (of nodes) and names of units of it whose contents may be secret:
    they always stand in files of their own.
    """
    folder = f"clusters/{picked.key.cluster}"
    writer = _Writer(paths, f"{folder}/files/{picked.key.name}", f"files/{picked.key.name}", private, style)
    body = picked.body
    if picked.key.kind is Kind.MACHINE_CONFIG and style is not Style.VERBATIM:
        body = writer.body(body)
    comment = _PARTIAL[picked.key.kind] if picked.partial and picked.key.kind in _PARTIAL else ""
    text = "".join(f"{line}\n" for line in ([comment] if comment else []) + list(yaml_lines(body)))
    secret = bool(private) and style is Style.VERBATIM
    manifest = NewFile(
        paths.manifest(folder, _name(picked)), text.encode("utf-8", "backslashreplace"), secret
    )
    return Draft(picked.key, manifest, tuple(writer.payload))


def _name(picked: Picked) -> str:
    if picked.key.kind is Kind.MACHINE_CONFIGURATION and picked.key.name == POLICY_NAME:
        return "node-disruption-policy"
    return f"{_NAMES.get(picked.key.kind, '')}{picked.key.name}"


@dataclass(slots=True)
class _Writer:
    """Writes one MachineConfig; payload gathers in `payload`."""

    paths: FreePaths
    folder: str
    """Of the payload, in the repository."""
    beside: str
    """The same, as the manifest names it."""
    private: frozenset[str]
    style: Style
    payload: list[NewFile] = field(default_factory=list)

    def body(self, body: JsonObject) -> JsonObject:
        config = section(body, "spec", "config")
        twice = _twice(items(config, "storage", "files"), "path") | _twice(
            items(config, "systemd", "units"), "name"
        )
        written = self._each(config, ("storage", "files"), lambda one: self._file(one, twice))
        written = self._each(written, ("systemd", "units"), lambda one: self._unit(one, twice))
        return {**body, "spec": {**section(body, "spec"), **({"config": written} if config else {})}}

    def _each(self, config: JsonObject, place: tuple[str, str], write: Any) -> JsonObject:
        found = section(config, place[0]).get(place[1])
        if not isinstance(found, list):
            return config
        inner = [write(one) if isinstance(one, dict) else one for one in found]
        return {**config, place[0]: {**config[place[0]], place[1]: inner}}

    def _file(self, file: JsonObject, twice: frozenset[str]) -> JsonObject:
        written = _ordered(file, _FILE_ORDER)
        mode, contents, path = file.get("mode"), file.get("contents"), file.get("path")
        if isinstance(mode, int) and not isinstance(mode, bool) and 0 <= mode <= _MAX_MODE:
            written["mode"] = Octal(mode)
        if isinstance(contents, dict) and isinstance(path, str) and path not in twice:
            written["contents"] = self._contents(contents, path)
        return written

    def _contents(self, contents: JsonObject, path: str) -> JsonObject:
        source, compression = contents.get("source"), contents.get("compression")
        if not isinstance(source, str) or not contents.keys() <= {"source", "compression"}:
            return contents
        try:
            data = decode_source(source, compression)
        except SourceDecodeError:
            return contents
        if self.style is Style.EXACT and contents != {"source": encode_source(data)}:
            return contents
        text = _text(data)
        if text is not None and _is_short(text) and path not in self.private:
            return {"inline": Block(text) if "\n" in text and fits_block(text) else text}
        if not _survives(data):
            return contents
        return {"local": self._put(path, data, path)}

    def _unit(self, unit: JsonObject, twice: frozenset[str]) -> JsonObject:
        name = unit.get("name")
        if not isinstance(name, str) or name in twice:
            return unit
        written = _ordered(self._unit_text(unit, name, name), _UNIT_ORDER)
        dropins = unit.get("dropins")
        if isinstance(dropins, list) and not _twice(items(unit, "dropins"), "name"):
            written["dropins"] = [self._dropin(one, name) for one in dropins]
        return written

    def _dropin(self, dropin: Any, unit: str) -> Any:
        if not isinstance(dropin, dict) or not isinstance(dropin.get("name"), str):
            return dropin
        return self._unit_text(dropin, f"{unit}.d/{dropin['name']}", unit)

    def _unit_text(self, holder: JsonObject, name: str, unit: str) -> JsonObject:
        text = holder.get("contents")
        if not isinstance(text, str) or not text:
            return dict(holder)
        if _is_short(text) and unit not in self.private:
            return {**holder, "contents": Block(text) if "\n" in text and fits_block(text) else text}
        try:
            data = text.encode()
        except UnicodeEncodeError:  # a lone surrogate
            return dict(holder)
        if not _survives(data):
            return dict(holder)
        rest = {field: value for field, value in holder.items() if field != "contents"}
        return {**rest, "contents_local": self._put(f"units/{name}", data, unit)}

    def _put(self, path: str, data: bytes, owner: str) -> str:
        """Give the payload a place; how the manifest names it. `owner` is the file or unit that it is of."""
        found = self.paths.payload(self.folder, path)
        self.payload.append(NewFile(found, data, owner in self.private))
        return f"{self.beside}{found.removeprefix(self.folder)}"


def _twice(entries: tuple[JsonObject, ...], name: str) -> frozenset[str]:
    """Names that more than one entry has: nothing can be said of either alone."""
    counted = Counter(entry.get(name) for entry in entries if isinstance(entry.get(name), str))
    return frozenset(str(found) for found, number in counted.items() if number > 1)


def _ordered(entry: JsonObject, order: tuple[str, ...]) -> JsonObject:
    known = {name: entry[name] for name in order if name in entry}
    return {**known, **{name: value for name, value in entry.items() if name not in known}}


def _text(data: bytes) -> str | None:
    """Text that can be read, or None."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return text if all(letter.isprintable() or letter in "\n\t\r" for letter in text) else None


def _is_short(text: str) -> bool:
    """Short, and a block where it has several lines, so that it reads well in the manifest."""
    if len(text) > _SHORT_BYTES or text.count("\n") > _SHORT_LINES:
        return False
    return "\n" not in text.removesuffix("\n") or fits_block(text) or "\r" in text


def _survives(data: bytes) -> bool:
    """Whether a file of the repository keeps these bytes: Git may rewrite the line ends of text, and what looks like a
    pointer of LFS is taken for one.
    """
    if len(data) > _MAX_PAYLOAD or data.startswith(LFS_POINTER):
        return False
    return b"\r" not in data or b"\0" in data[:8000]
