"""Which caches of repositories go, and which stay: those of Fleets on the embedded API server, fetched by real polls."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gitops_mc.adapters.git_remote import Limits, RemoteSource
from gitops_mc.adapters.git_shelf import Shelf
from gitops_mc.app.api import ClusterApi, Patience
from gitops_mc.bootstrap.attic import EVERY, Attic
from gitops_mc.core.model import JsonObject
from tests.adapters.git_servers import Origin, origin
from tests.bootstrap.test_hooks import NAMESPACE, Site

PROD = frozenset({"prod"})
FLEET = f"/apis/gitops-mc.io/v1alpha1/namespaces/{NAMESPACE}/fleets/prod"


class House:
    """A shelf, and Fleet prod, which follows `main` of a repository."""

    def __init__(self, folder: Path) -> None:
        self.repository: Origin = origin(folder)
        self.repository.commit("1")
        self.url = (self.repository.root / "fleet.git").as_uri()
        self.site = Site()
        self.edit({"url": self.url, "ref": "main"})
        self.shelf = Shelf(folder / "cache", NAMESPACE)
        self.leads = True
        self.followed: Path | None = None
        self.seconds = 0.0
        api = ClusterApi(self.site, self.site.clock, jitter=lambda: 0.0, patience=Patience(attempts=1))
        self.attic = Attic(
            self.shelf,
            api,
            frozenset({"file"}),
            lambda: self.leads,
            lambda name: self.followed if name == "prod" else None,
            lambda: self.seconds,
        )

    def edit(self, source: JsonObject) -> None:
        named = {"apiVersion": "gitops-mc.io/v1alpha1", "kind": "Fleet"}
        self.site.call("PATCH", FLEET, {**named, "spec": {"source": source}})

    def source(self, fleet: str, ref: str, shelf: Shelf | None = None) -> RemoteSource:
        place = (shelf or self.shelf).place(fleet, self.url, ref)
        return RemoteSource(
            self.url, place, ref=ref, limits=Limits(seconds=60), unprotected=frozenset({"file"})
        )

    def fetched(self, fleet: str, ref: str, shelf: Shelf | None = None) -> Path:
        """A cache that was filled, and that nobody uses now."""
        made = self.source(fleet, ref, shelf)
        made.poll()
        assert made.brought
        made.leave()
        return made.cache

    def sweep(self, names: frozenset[str] = PROD) -> None:
        self.seconds += EVERY
        self.attic.sweep(names)


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def test_a_source_that_was_followed_before_goes_once_the_new_one_has_been_read(house: House) -> None:
    house.repository.git("branch", "old")
    house.repository.git("push", "-q", str(house.repository.root / "fleet.git"), "old")
    before, now = house.fetched("prod", "old"), house.fetched("prod", "main")
    house.sweep()
    assert before.is_dir(), "nothing has been read yet"
    house.followed = now
    house.attic.sweep(PROD)
    assert before.is_dir(), "not every ten seconds"
    house.sweep()
    assert list(house.shelf.folder.iterdir()) == [now]


def test_what_a_fleet_had_goes_with_it(house: House) -> None:
    gone, now = house.fetched("staging", "main"), house.fetched("prod", "main")
    house.sweep(PROD | {"staging"})
    assert gone.is_dir(), "its loop has not opened yet"
    house.sweep()
    assert list(house.shelf.folder.iterdir()) == [now]


def on_standby(house: House) -> None:
    house.leads = False


def unread(house: House) -> None:
    house.site.away = "fleets"


def not_understood(house: House) -> None:
    house.edit({"url": "https://git.example/f.git?x"})


def edited_back(house: House) -> None:
    house.edit({"ref": ""})


def nothing_fetched(house: House) -> None:
    house.followed = None


@pytest.mark.parametrize("why", [on_standby, unread, not_understood, edited_back, nothing_fetched])
def test_whatever_may_be_wanted_yet_stays(why: Callable[[House], None], house: House) -> None:
    kept = [house.fetched("prod", ""), house.fetched("prod", "main")]
    house.followed = kept[1]
    why(house)
    house.sweep()
    assert sorted(house.shelf.folder.iterdir()) == sorted(kept)
    house.leads, house.site.away, house.followed = True, "nothing", kept[1]
    house.edit({"url": house.url, "ref": "main"})
    house.sweep()
    assert list(house.shelf.folder.iterdir()) == kept[1:]


def test_what_is_in_use_stays_until_it_is_left(house: House) -> None:
    using = house.source("staging", "main")
    using.poll()
    house.sweep()
    assert using.cache.is_dir()
    using.poll()
    using.leave()
    house.sweep()
    assert not using.cache.exists()


def test_nothing_else_that_stands_there_is_touched(house: House) -> None:
    folder = house.shelf.folder
    house.fetched("prod", "main", Shelf(folder, "another-namespace"))
    named = folder / f"staging-{'0' * 16}"
    for path in (named, folder / "mine"):
        path.mkdir()
        (path / "source").write_text(f"{house.url}\nmain\n")
        (path / "precious").write_text("x")
    (folder / f"staging-{'1' * 16}").write_text("x")
    elsewhere = house.fetched("staging", "main", Shelf(folder.parent / "elsewhere", NAMESPACE))
    (folder / elsewhere.name).symlink_to(elsewhere)
    before = sorted(folder.rglob("*")) + sorted(elsewhere.rglob("*"))
    house.sweep()
    assert sorted(folder.rglob("*")) + sorted(elsewhere.rglob("*")) == before


def test_what_somebody_has_put_into_a_cache_is_not_removed_with_it(house: House) -> None:
    gone = house.fetched("staging", "main")
    (gone / "precious").write_text("x")
    house.sweep()
    assert list(gone.iterdir()) == [gone / "precious"]
