"""The picture of the choice of an epsilon."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.accounting.choose_epsilon import choose_epsilon


@pytest.mark.full
@pytest.mark.parametrize("statistic", ["median", "std"])
def test_the_picture_is_drawn(statistic: str, tmp_path: Path) -> None:
    choice = choose_epsilon(statistic, [1, 2, 3, 10, 11], 3, "1/4")
    figure = choice.plot()
    left, right = figure.axes
    assert left.get_xlabel() == "epsilon"
    assert len(right.get_legend().get_texts()) == min(8, len(choice.values))
    for kind in ("png", "svg"):
        figure.savefig(tmp_path / f"choice.{kind}")
        assert (tmp_path / f"choice.{kind}").stat().st_size > 5_000
