"""The step that counts cells and combines the counts: what it states, and what it refuses."""

import pytest

from tacit.core.space import step_from
from tacit.errors import UsageError
from tacit.tables.together.family import CellCounts


def test_what_is_no_sum_is_refused():
    step = CellCounts(6, "L1", ("g", "x"), (2, 3), sums=[[1, -2, 0], [1, 1, 0], [1, 1, 1]], along=1)
    assert step.stretch == 4
    assert step.shape == (2, 3)
    assert CellCounts(6, "L2", ("g", "x"), (2, 3), sums=step.sums, along=1).stretch ** 2 >= 6
    with pytest.raises(UsageError, match="a weight for each cell"):
        CellCounts(6, "L1", ("g", "x"), (2, 3), sums=[[1, 1], [1, 0], [0, 1]], along=1)


def test_sums_are_read_back_and_combined_exactly():
    import numpy as np

    step = CellCounts(6, "L2", ("g", "x"), (2, 3), sums=[[1, -2, 0], [1, 1, 0], [1, 1, 1]], along=1)
    assert step_from(step.describe()) == step
    counts = np.array([[2**70, 1, 5], [0, 3, 0]], dtype=object)
    assert step.combined(counts) == [2**70 - 2, 2**70 + 1, 2**70 + 6, -6, 3, 3]
