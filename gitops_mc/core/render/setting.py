"""Which places get another version, for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gitops_mc.core.authoring.versions import VersionPlace
from gitops_mc.core.model import DOWNGRADE_ANNOTATION, count
from gitops_mc.core.render.lines import Line, Tone, one_line


def versions_text(
    places: Sequence[VersionPlace], standing: Sequence[VersionPlace], version: str, tense: str
) -> Iterator[Line]:
    """`tense` is what becomes of them: `changed`, `to change`."""
    for place in places:
        users = f"{', '.join(place.clusters)}"
        yield Line(one_line(f"{place.place}: {place.version} -> {version} ({users})"), Tone.ADDED)
        if place.lowers_to(version):
            told = f'a lower version, which is not rolled out until the manifest says {DOWNGRADE_ANNOTATION}: "{version}"'
            yield Line(one_line(f"    {told}"), Tone.WARN)
    for place in standing:
        yield Line(one_line(f"{place.place}: {version} already ({', '.join(place.clusters)})"), Tone.DIM)
    files = count(len({place.place.file for place in places}), "file")
    yield Line(f"{files} {tense}" if places else "nothing to change", Tone.GOOD)
