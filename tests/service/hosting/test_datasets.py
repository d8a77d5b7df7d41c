"""All data sets of a service: those of files, those of curators, and what comes while it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.service.declaring import FIELDS, declaring_clinic
from tacit.errors import UsageError
from tacit.service.database import Database, declarations
from tacit.service.hosting.datasets import Datasets
from tacit.service.hosting.declaring import Declared
from tacit.service.problem import Problem
from tacit.service.settings import Settings

STAYS = Declared("stays", FIELDS, {"refresh": "every 6 hours"}, "cleo", 0.0)


def opened(folder: Path) -> tuple[Datasets, Database]:
    settings = Settings.load(folder)
    database = Database(settings.database)
    database.create()
    return Datasets(declarations(settings), settings, database, lambda _: 0), database


def test_what_comes_while_it_runs_is_found_and_what_is_wrong_hides_nothing(tmp_path: Path) -> None:
    folder = declaring_clinic(tmp_path)
    (one, base), (other, also) = opened(folder), opened(folder)
    (folder / "wrong.toml").write_text("name = 3")
    assert one.declare(STAYS, None, lambda _: None).name == "stays"
    for datasets in (one, other):
        assert datasets.names == ["stays", "visits"]
        assert datasets.refreshed_when() == {"stays": "every 6 hours", "visits": None}
    with pytest.raises(Problem, match="another declaration"):
        other.declare(STAYS, 7, lambda _: None)
    twin = Declared("twin", FIELDS, {}, "cleo", 0.0)
    with pytest.raises(UsageError, match="same people"):
        other.declare(twin, None, lambda _: None)
    for datasets, database in ((one, base), (other, also)):
        datasets.close()
        database.close()


@pytest.mark.full
def test_a_name_of_a_file_and_of_a_curator_at_once_is_refused(tmp_path: Path) -> None:
    folder = declaring_clinic(tmp_path)
    datasets, database = opened(folder)
    datasets.declare(STAYS, None, lambda _: None)
    datasets.close()
    database.close()
    text = (folder / "visits.toml").read_text()
    (folder / "stays.toml").write_text(text.replace('name = "visits"', 'name = "stays"'))
    with pytest.raises(UsageError, match="by a curator"):
        opened(folder)
