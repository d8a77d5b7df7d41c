"""The estimator for scikit-learn: a table's linear regression, at home in pipelines."""

import pickle

import numpy as np
import pytest

import tacit as tc
from support.servers.left_out import reason
from tacit.errors import UsageError

WITHOUT = reason("scikit-learn", "pip install 'tacit-dp[sklearn]'")
base = pytest.importorskip("sklearn.base", reason=WITHOUT)
pytestmark = pytest.mark.full


def rows(size=20_000, seed=1):
    source = np.random.default_rng(seed)
    features = source.uniform([0, -1], [10, 1], (size, 2))
    outcome = np.clip(
        2 + 0.5 * features[:, 0] - 3 * features[:, 1] + source.normal(size=size), -5, 15
    )
    return features, outcome


def model(**changed):
    from tacit.sklearn import LinearRegression

    given = {"bounds_X": [(0, 10), (-1, 1)], "bounds_y": (-5, 15), "epsilon": 2}
    return LinearRegression(**{**given, **changed})


@pytest.mark.parametrize("loss", [{"epsilon": 5}, {"epsilon": None, "rho": 2}])
def test_it_is_near_least_squares_and_has_a_proof(loss):
    features, outcome = rows()
    fitted = model(**loss).fit(features, outcome)
    design = np.column_stack([np.ones(len(features)), features])
    intercept, *slopes = np.linalg.lstsq(design, outcome, rcond=None)[0]
    assert fitted.coef_ == pytest.approx(slopes, abs=0.1)
    assert fitted.intercept_ == pytest.approx(intercept, abs=0.2)
    assert (fitted.coef_interval_[:, 0] < fitted.coef_interval_[:, 1]).all()
    assert fitted.intercept_interval_[0] < fitted.intercept_ < fitted.intercept_interval_[1]
    assert fitted.certificate_.verify()
    assert fitted.predict(features[:5]) == pytest.approx(
        features[:5] @ fitted.coef_ + fitted.intercept_
    )
    assert fitted.score(*rows(seed=2)) > 0.5


def test_it_goes_through_clones_pipelines_and_pickles():
    from sklearn.pipeline import make_pipeline

    first = model()
    twin = base.clone(first)
    assert twin.get_params() == first.get_params()
    assert base.is_regressor(first)
    features, outcome = rows()
    whole = make_pipeline(twin).fit(features, outcome)
    assert whole.predict(features).shape == outcome.shape
    again = pickle.loads(pickle.dumps(twin))
    assert (again.predict(features) == twin.predict(features)).all()


def test_no_value_of_the_data_makes_it_fail():
    features, outcome = rows(500)
    features[0, 0], features[1, 1], outcome[2] = np.nan, np.inf, -np.inf
    assert np.isfinite(model().fit(features, outcome).coef_).all()
    assert np.isnan(model().fit(features[:0], outcome[:0]).coef_interval_).all()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x, y: model(epsilon=None).fit(x, y),
        lambda x, y: model(rho=1).fit(x, y),
        lambda x, y: model(bounds_X=[(0, 1)] * 3).fit(x, y),
        lambda x, y: model(bounds_y=5).fit(x, y),
        lambda x, y: model().fit(x, y[:-1]),
        lambda x, y: model().fit(x.astype(str), y),
        lambda x, y: model().fit(x, y[:, None]),
        lambda x, y: model().fit(x, y).predict(x[:, :1]),
    ],
)
def test_what_does_not_fit_is_refused(wrong):
    with pytest.raises(UsageError):
        wrong(*rows(50))


def test_it_is_a_name_of_the_package():
    assert tc.sklearn.LinearRegression is type(model())
    with pytest.raises(AttributeError, match="has no name"):
        tc.sklearn.Ridge  # noqa: B018
