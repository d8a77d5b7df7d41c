"""The mechanism of least variance for a question."""

import pytest

from tacit.errors import UsageError
from tacit.local import (
    OptimizedLocalHashing,
    choose,
)


def test_choosing_ranks_by_exact_variance():
    choice = choose(1024, n=1000, epsilon=1)
    variances = [o.variance for o in choice.options]
    assert variances == sorted(variances)
    assert len(choice.options) == 9
    assert isinstance(choice.best, OptimizedLocalHashing)
    by_name = {o.name: o for o in choice.options}
    poisoned = {"direct encoding (GRR)": 596, "optimised local hashing": 3.3,
               "unary encoding, optimised": 3.2, "Hadamard response": 2.2}  # fmt: skip
    for name, people in poisoned.items():
        assert float(by_name[name].influence) == pytest.approx(people, abs=0.5)
    assert "error of a count" in str(choice)
    with pytest.raises(UsageError):
        choose(1024, n=1000, epsilon=-1)
