"""The reference is what the code says."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitops_mc.core.custom.requests import Verb
from gitops_mc.core.fleetfile import read_fleet_file
from tests.docs.reference.annotations import VERBS
from tests.docs.reference.asked import fields_of_fleet_yaml
from tests.docs.reference.fleet_yaml import DEFAULTS
from tests.docs.reference.pages import FOLDER, pages

PAGES = pages()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_of_the_reference_is_as_the_code_has_it(page: Path) -> None:
    assert page.read_text(encoding="utf-8") == PAGES[page], "make reference writes it anew"


def test_nothing_else_stands_in_the_folder_of_the_reference() -> None:
    assert set(FOLDER.iterdir()) == set(PAGES)


def test_every_verb_is_told() -> None:
    assert VERBS.keys() == set(Verb)


def test_every_default_is_one_of_a_field_that_there_is() -> None:
    assert DEFAULTS.keys() <= {field.path for field in fields_of_fleet_yaml()}


def test_fields_are_found_that_are_deep_and_that_stand_below_a_required_one() -> None:
    found = {field.path: (field.takes, field.required) for field in fields_of_fleet_yaml()}
    assert found["spec.shared[].clusters"] == ("selector", True)
    assert found["spec.windows[].freeze.duration"] == ("duration, from 1m to 365d", True)
    assert found["spec.rollout.waves[].maxConcurrent"] == ("number or percentage, from 1", False)
    assert found["spec.clusters[].labels"] == ("mapping of text to text", False)


@pytest.mark.parametrize(
    ("written", "flaws"),
    [("spec: {gates: {pool: {settle: 0s}}}", 0), ("spec: {gates: {pool: {stall: 0s}}}", 1)],
)
def test_a_limit_that_the_reference_gives_is_the_one_that_holds(written: str, flaws: int) -> None:
    head = "apiVersion: gitops-mc.io/v1alpha1\nkind: FleetConfig\n"
    assert len(read_fleet_file(f"{head}{written}\n".encode()).flaws) == flaws
