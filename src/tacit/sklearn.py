"""An interface for scikit-learn: an estimator that spends privacy when it is fitted.

It is :func:`tacit.linear_regression` of a table in memory in which every row is another person; the
proof, the noise and the intervals are those.  The class is made when it is first asked for, so that
this module can be imported without scikit-learn.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.budget import epsilon as pure
from tacit.accounting.budget import rho as concentrated
from tacit.accounting.open_ledger import in_memory
from tacit.arithmetic.exact import Number
from tacit.errors import UsageError, need
from tacit.tables.privacy_unit import one_row_each
from tacit.tables.session import Session
from tacit.tables.statistics.covariance_and_regression import linear_regression

__all__ = ["LinearRegression"]  # noqa: F822  (made by __getattr__)

_Pair = tuple[Number, Number]


class _LinearRegression:
    """Least squares with differential privacy, as a regressor of scikit-learn.

    Every row is another person.  Each call of ``fit`` spends the privacy loss once more, also those
    that cross-validation makes: over all of them the losses add up.  ``predict`` spends nothing.
    ``score`` compares with data as it is, without privacy: give it public or held-out data only.

    Args:
        bounds_X: public bounds of the features: a pair for each, or one pair for all.
        bounds_y: public bounds of the outcome.
        epsilon: what ``fit`` may spend in pure differential privacy.
        rho: instead of it, in zero-concentrated differential privacy.

    Attributes:
        coef_: the coefficients, one per feature.
        intercept_: the intercept.
        coef_interval_: their intervals, shape (features, 2): they hold the coefficients without
            noise in 95 of 100 fits; NaN for a coefficient that is lost in the noise.
        intercept_interval_: that of the intercept.
        certificate_: what was released, under which proof.

    Raises:
        UsageError: by ``fit``, bounds that do not fit, no loss given, or arrays of other shapes.

    >>> from tacit.sklearn import LinearRegression  # doctest: +SKIP
    >>> model = LinearRegression(bounds_X=(0, 1), bounds_y=(0, 10), epsilon=1)  # doctest: +SKIP
    """

    def __init__(
        self,
        *,
        bounds_X: Any,  # noqa: N803
        bounds_y: _Pair,
        epsilon: Number | None = None,
        rho: Number | None = None,
    ) -> None:
        self.bounds_X = bounds_X
        self.bounds_y = bounds_y
        self.epsilon = epsilon
        self.rho = rho

    def fit(self, X: Any, y: Any) -> _LinearRegression:  # noqa: N803
        """Fit to a table of features, shape (rows, features), and an outcome, shape (rows,)."""
        features, outcome = _numbers(X, 2, "X"), _numbers(y, 1, "y")
        if len(features) != len(outcome):
            raise UsageError("X and y have different numbers of rows")
        names = [f"x{i}" for i in range(features.shape[1])]
        pairs = _pairs(self.bounds_X, len(names))
        bounds = {**dict(zip(names, pairs, strict=True)), "y": _pair(self.bounds_y, "bounds_y")}
        if (self.epsilon is None) == (self.rho is None):
            raise UsageError("say what a fit may spend: epsilon=..., or rho=...")
        loss: dict[str, Any] = {"epsilon": self.epsilon, "rho": self.rho}
        budget = pure(self.epsilon) if self.epsilon is not None else concentrated(self.rho or 0)
        columns = {**dict(zip(names, features.T, strict=True)), "y": outcome}
        table = need("pyarrow", "sklearn").table(columns)
        with Session(
            table, unit=one_row_each, budget=budget, ledger=in_memory, name="rows to fit"
        ) as session:
            aggregate = linear_regression("y", names, bounds)
            answer = session.agg(fit=aggregate).release(**{k: v for k, v in loss.items() if v})
        fit = answer.column("fit")
        value = np.array(fit["value"][0], dtype=np.float64)
        ends = np.array([fit["low"][0], fit["high"][0]], dtype=np.float64).T
        self.intercept_, self.coef_ = float(value[0]), value[1:]
        self.intercept_interval_, self.coef_interval_ = ends[0], ends[1:]
        self.certificate_ = answer.certificate
        self.n_features_in_ = len(names)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return the outcome that the coefficients give for each row of features."""
        need("sklearn.utils.validation", "sklearn").check_is_fitted(self)
        features = _numbers(X, 2, "X")
        if features.shape[1] != self.n_features_in_:
            raise UsageError(
                f"X has {features.shape[1]} features, and the model was fitted with "
                f"{self.n_features_in_}"
            )
        return np.asarray(features @ self.coef_ + self.intercept_)


def _numbers(given: Any, dimensions: int, name: str) -> NDArray[np.float64]:
    """Return an array of numbers: refused by its type and shape, never by a value."""
    numbers = np.asarray(given)
    if numbers.dtype.kind not in "biuf" or numbers.ndim != dimensions:
        shape = "a table of numbers (rows, features)" if dimensions == 2 else "one number a row"
        raise UsageError(
            f"{name} must be {shape}, not of type {numbers.dtype} and {numbers.ndim} axes"
        )
    return numbers.astype(np.float64)


def _pair(given: Any, name: str) -> _Pair:
    if isinstance(given, (str, bytes)) or np.shape(given) != (2,):
        raise UsageError(f"{name} is a lower and an upper bound, such as (0, 100)")
    low, high = np.asarray(given, dtype=object).tolist()
    return low, high


def _pairs(given: Any, features: int) -> Sequence[_Pair]:
    """Return the bounds of each feature."""
    if np.shape(given) == (2,):
        return [_pair(given, "bounds_X")] * features
    if np.shape(given) != (features, 2):
        raise UsageError(f"bounds_X is one pair, or a pair for each of the {features} features")
    return [_pair(each, "bounds_X") for each in given]


@cache
def _estimator() -> Any:
    """Return the class, a regressor of scikit-learn."""
    base = need("sklearn.base", "sklearn")
    inner = {k: v for k, v in vars(_LinearRegression).items() if k in ("__doc__", "__init__")}
    parents = (_LinearRegression, base.RegressorMixin, base.BaseEstimator)
    return type("LinearRegression", parents, {**inner, "__module__": __name__})


def __getattr__(name: str) -> Any:
    if name == "LinearRegression":
        return _estimator()
    raise AttributeError(f"tacit.sklearn has no name {name!r}")
