"""What a Session does by default, as a way that is compared."""

import math

import numpy as np
import pytest

import tacit as tc
from tacit.audit.compare import compare

AGES = np.random.default_rng(7).gamma(8, 5, 600).clip(0, 100).round()


VALUE = "global sensitivity of the value"


@pytest.mark.full
@pytest.mark.parametrize("statistic", ["mean", "var", "std", "median", "percentile(90)", "max"])
def test_the_best_global_way_is_what_a_session_does(statistic):
    """Predicted errors beside those of a Session's own releases, drawn on the same rows."""
    ages = AGES.astype(int)
    found = compare(statistic, (0, 100), 1, like=ages, bins=[], runs=300)
    wanted = [row for row in found.rows if row.method in ("noisy moments", "exponential mechanism")]
    assert wanted
    assert found.best("global") in wanted
    assert found.best("global").predicted < found.best(VALUE).predicted / 2
    like_session = wanted[-1]
    answers = session_answers(statistic, ages, 20)
    errors = np.abs(np.array(answers) - found.truth)
    # 20 releases know their mean size to 16 percent (of a choice that is often right, less well)
    spread = 5 * max(errors.std(), like_session.errors.std()) / math.sqrt(20)
    assert errors.mean() == pytest.approx(like_session.predicted, abs=spread)
    within = 5 * like_session.standard_error + 0.03 * like_session.predicted
    assert like_session.measured == pytest.approx(like_session.predicted, abs=within)


def session_answers(statistic, ages, times):
    """So many releases of one question to a table, each from a budget of its own."""
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"age": ages})
    named = statistic.startswith("percentile")
    aggregate = tc.percentile("age", 90, 0, 100) if named else getattr(tc, statistic)("age", 0, 100)
    session = tc.Session(table, unit=tc.one_row_each, budget=tc.epsilon(times))
    return [
        float(session.agg(x=aggregate).release(epsilon=1, tag=str(i)).value("x"))
        for i in range(times)
    ]
