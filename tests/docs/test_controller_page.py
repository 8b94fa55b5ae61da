"""The page on working with the controller: every verb has a row that names where it is put."""

from __future__ import annotations

import re

from gitops_mc.core.custom.requests import FORMS, On, Verb
from tests.docs.readme import ROOT

PAGE = (ROOT / "docs" / "controller.md").read_text(encoding="utf-8")
ROWS = re.findall(
    r"^\| (`[a-z`, -]+) \| (Fleet|ClusterRollout|both) \| (.*?) \| (.*?) \|$", PAGE, flags=re.MULTILINE
)
PLACES = {"Fleet": {On.FLEET}, "ClusterRollout": {On.ROLLOUT}, "both": {On.FLEET, On.ROLLOUT}}


def test_every_verb_stands_there_with_the_objects_that_it_is_put_on() -> None:
    found: dict[str, set[On]] = {}
    for verbs, place, _, _ in ROWS:
        for verb in re.findall(r"`([a-z-]+)`", verbs):
            found[verb] = found.get(verb, set()) | PLACES[place]
    assert found == {verb.value: set(FORMS[verb].on) for verb in Verb}


def test_every_member_that_a_verb_needs_or_may_have_is_shown() -> None:
    for verb, form in FORMS.items():
        shown = " ".join(value for verbs, _, value, _ in ROWS if f"`{verb.value}`" in verbs)
        assert all(f"{member}:" in shown for member in (*form.needs, *form.may)), verb
