"""The pages of docs/reference, each made from the code that it tells of."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.docs.readme import ROOT
from tests.docs.reference.annotations import annotations_page
from tests.docs.reference.commands import commands_page
from tests.docs.reference.conditions import conditions_page
from tests.docs.reference.custom_resources import custom_resources_page
from tests.docs.reference.fleet_yaml import fleet_yaml_page

FOLDER = ROOT / "docs" / "reference"


def pages() -> Mapping[Path, str]:
    """Each page with its text."""
    return {
        FOLDER / "commands.md": commands_page(),
        FOLDER / "fleet-yaml.md": fleet_yaml_page(),
        FOLDER / "custom-resources.md": custom_resources_page(),
        FOLDER / "annotations.md": annotations_page(),
        FOLDER / "conditions.md": conditions_page(),
    }
