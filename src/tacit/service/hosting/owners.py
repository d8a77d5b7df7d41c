"""Whose budget a question spends: that of a data set, or of the people in several of them.

The budget belongs to people.  Data sets of the same people share one ledger, whatever they are
called and however many files they come in; two data sets that read one table are of the same
people, and must say so.  Where teams stand apart, each team has a ledger of its own.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any

from tacit.accounting.budgets.budget import Budget
from tacit.accounting.ledger.postgres.address import is_address
from tacit.errors import UsageError
from tacit.report.check.format import APART
from tacit.service.settings import DatasetSettings, Settings
from tacit.tables.dataset.declaration import Dataset
from tacit.tables.dataset.opening import identity, terms
from tacit.tables.dataset.table import TableDeclaration

__all__ = ["Owner", "assuming", "collusion_words", "owners_of"]

_PLAIN = re.compile(r"[a-z][a-z0-9_]{0,29}")


@dataclass(frozen=True)
class Owner:
    """Whom a budget belongs to.

    Attributes:
        name: of the data set, or of the people.
        people: whether several data sets may share it.
        dataset: what the ledger protects, as it says so itself.
        terms: what a charge means there.
        budget: the whole of it, as declared; None where only a ledger that stands says it.
        apart: whether each team has a ledger of its own.
        place: of the ledger, where all share one: a file or an address.
        settings: how the data sets are hosted: latency, caps.
    """

    name: str
    people: bool
    dataset: str
    terms: Mapping[str, Any]
    budget: Budget | None
    apart: bool
    place: str
    settings: DatasetSettings

    def key(self, team: str | None) -> str:
        """Return what the service calls the ledger of a team; of all, where they share one.

        >>> from tacit.service.settings import DatasetSettings
        >>> owner = Owner("visits", False, "d", {}, None, True, "v.ledger", DatasetSettings())
        >>> owner.key("oncology"), owner.place_of("oncology")
        ('dataset visits, team oncology', 'v.oncology.ledger')
        """
        kind = "people" if self.people else "dataset"
        whole = f"{kind} {self.name}"
        return f"{whole}, team {team}" if self.apart and team is not None else whole

    def place_of(self, team: str | None) -> str:
        """Return the file or the address of the ledger of a team."""
        if not self.apart or team is None:
            return self.place
        if is_address(self.place):
            address, _, options = self.place.partition("?")
            given = [part for part in options.split("&") if part]
            whole = next((p for p in given if p.startswith("ledger=")), "ledger=main")
            named = f"{whole.removeprefix('ledger=')} {team}"
            others = [part for part in given if part != whole]
            return f"{address}?{'&'.join([*others, f'ledger={_word(named)}'])}"
        place = Path(self.place)
        return str(place.with_name(f"{place.stem}.{_word(team)}{place.suffix}"))


def owners_of(declared: Mapping[str, Dataset], settings: Settings) -> dict[str, Owner]:
    """Return whose budget each data set spends, by its name.

    Raises:
        UsageError: data sets of the same people do not agree on their budget or their settings, or
            two data sets read one table and do not say that its people are the same.
    """
    _refuse_hidden_people(declared, settings)
    shared: dict[str, list[Dataset]] = {}
    found = {}
    for name, dataset in declared.items():
        people = settings.dataset(name).people
        if people is None:
            found[name] = _of_dataset(dataset, settings)
        else:
            shared.setdefault(people, []).append(dataset)
    for people, datasets in shared.items():
        owner = _of_people(people, datasets, settings)
        found |= dict.fromkeys((dataset.name for dataset in datasets), owner)
    return {name: found[name] for name in declared}


def assuming(said: Mapping[str, Any], apart: bool) -> dict[str, Any]:
    """Return the terms of a ledger with what they assume of analysts, which certificates state.

    >>> assuming({"neighbours": "unbounded"}, True)
    {'neighbours': 'unbounded', 'assumes': 'teams apart'}
    """
    return {**said, "assumes": APART} if apart else dict(said)


def collusion_words(owner: Owner) -> str:
    """Say what is assumed of analysts who compare what they were answered."""
    if owner.apart:
        return (
            "Each team has a budget of its own. The guarantee is for what one team is answered, "
            "and assumes that teams do not compare their answers: of those that do, the losses "
            "add up."
        )
    return (
        "All analysts together spend one budget, so the guarantee holds even if all of them "
        "compare their answers. Caps of teams and analysts only share the budget out."
    )


def _of_dataset(dataset: Dataset, settings: Settings) -> Owner:
    how = settings.dataset(dataset.name)
    said = dataset.ledger is not None or not is_address(settings.database)
    place = dataset.ledger_place if said else _beside(settings.database, dataset.name)
    return Owner(
        dataset.name,
        False,
        identity(dataset),
        assuming(terms(dataset), how.collusion == APART),
        dataset.whole_budget,
        how.collusion == APART,
        place,
        how,
    )


def _of_people(people: str, datasets: list[Dataset], settings: Settings) -> Owner:
    """Return the owner of a budget that data sets share."""
    names = ", ".join(repr(dataset.name) for dataset in datasets)
    for dataset in datasets:
        if dataset.unit == "row":
            raise UsageError(
                f"{dataset.name!r} belongs to people {people!r}, and its unit is a row: data "
                "sets that share people must name the person, unit = { person = 'person_id', "
                "rows = 5 }"
            )
        if dataset.ledger is not None:
            raise UsageError(
                f"{dataset.name!r} belongs to people {people!r}, whose data sets share one "
                "ledger: leave its own ledger out"
            )
    budgets = {dataset.whole_budget for dataset in datasets} - {None}
    if len(budgets) > 1:
        raise UsageError(
            f"{names} belong to people {people!r}, who have one budget: declare the same budget "
            "in each"
        )
    hosted = [settings.dataset(dataset.name) for dataset in datasets]
    if len({one.collusion for one in hosted}) > 1 or any(h.caps != hosted[0].caps for h in hosted):
        raise UsageError(
            f"{names} belong to people {people!r}: give them the same collusion and caps"
        )
    if is_address(settings.database):
        place = _beside(settings.database, people)
    else:
        place = str(settings.folder / f"people.{_word(people)}.ledger")
    return Owner(
        people,
        True,
        f"people: {people}",
        assuming({"people": people, "neighbours": "unbounded"}, hosted[0].collusion == APART),
        next(iter(budgets), None),
        hosted[0].collusion == APART,
        place,
        hosted[0],
    )


def _refuse_hidden_people(declared: Mapping[str, Dataset], settings: Settings) -> None:
    """Refuse two data sets of one table whose budgets would be apart, or of which one has it free.

    A table that one declares as public, and another one as of people, would be joined for nothing.
    """
    seen: dict[tuple[object, str | None], str] = {}
    for name, dataset in declared.items():
        people = settings.dataset(name).people
        for table in dataset.protected:
            for place in _places(dataset.tables[table], dataset.folder):
                other = seen.setdefault(place, name)
                if other != name and (people is None or people != settings.dataset(other).people):
                    raise UsageError(
                        f"{other!r} and {name!r} read the same table, so they hold the same "
                        "people, and each would spend a budget of its own: set people = '...' "
                        "for both in service.toml, or declare one data set"
                    )
    for name, dataset in declared.items():
        for table in dataset.tables.keys() - set(dataset.protected):
            if not seen.keys().isdisjoint(_places(dataset.tables[table], dataset.folder)):
                raise UsageError(
                    f"{table!r} of {name!r} is declared public, and a data set declares the same "
                    "table as one of people: it holds people, and is not public"
                )


def _places(table: TableDeclaration, folder: Path) -> set[tuple[object, str | None]]:
    """Return what a table is read from: each file that a pattern or a folder stands for now.

    A file is known by its number on its disk, whatever names it has.
    """
    source = str(table.source)
    if "://" in source:
        return {(source, table.table)}
    # realpath raises on no Python, Path.resolve() before 3.13 for links in a circle.
    files = [Path(os.path.realpath(folder / source))]
    if any(letter in source for letter in "*?["):
        found = glob(source, root_dir=folder, recursive=True, include_hidden=True)
        files += [Path(os.path.realpath(folder / name)) for name in found]
    files += [below for one in files if one.is_dir() for below in one.rglob("*")]
    return {(_known(file), table.table) for file in files}


def _known(file: Path) -> object:
    try:
        found = file.stat()
    except OSError:
        return str(file)
    return found.st_dev, found.st_ino


def _beside(database: str, name: str) -> str:
    """Return the address of a ledger in the database of the service."""
    joined = "&" if "?" in database else "?"
    return f"{database}{joined}ledger={_word(name)}"


def _word(name: str) -> str:
    """Return a name as one plain word; two names have two words.

    >>> _word("visits"), _word("Ward 7")
    ('visits', 'ward_7_7f0f2d')
    """
    if _PLAIN.fullmatch(name):
        return name
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:22] or "ledger"
    plain = plain if plain[0].isalpha() else f"l_{plain}"
    return f"{plain}_{hashlib.sha256(name.encode()).hexdigest()[:6]}"
