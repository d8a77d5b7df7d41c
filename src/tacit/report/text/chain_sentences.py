"""The chain of a release, one sentence a step, for a reader who does not write code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacit.arithmetic.exact import as_fraction, show
from tacit.core.chain.explain import show_distance
from tacit.expressions.expression import from_json
from tacit.report.text.words import condition_words

__all__ = ["distance_words", "recipe", "step_words"]


def step_words(step: Mapping[str, Any]) -> str:
    """Say what a step of a certificate does; an unknown one keeps its name.

    >>> step_words({"step": "bound_contributions", "rows": 5, "groups": 1})
    'Let nobody weigh more than 5 rows'
    >>> step_words({"step": "laplace", "scale": "40"})
    'Add random noise: discrete Laplace of scale 40'
    """
    said = _WORDS.get(str(step["step"]))
    return str(step["step"]) if said is None else said(step)


def distance_words(step: Mapping[str, Any], measure: str, last: bool) -> str:
    """Say how far one person can move what comes out of a step.

    Args:
        step: the step, with its ``distance``.
        measure: the name of the measure that the chain ends in.
        last: whether it is the noise, whose distance is a privacy loss.

    >>> distance_words({"step": "laplace", "distance": "1/8"}, "PureDP", True)
    'epsilon 0.125'
    """
    claimed = step["distance"]
    shown = (
        show_distance(tuple(as_fraction(part) for part in claimed))
        if isinstance(claimed, list)
        else show(as_fraction(claimed))
    )
    if last:
        named = {"ZeroConcentratedDP": "rho", "ApproximateDP": "(epsilon, delta)"}
        return f"{named.get(measure, 'epsilon')} {shown}"
    if step["step"] in ("filter", "derive"):
        return f"{shown} {'person' if shown == '1' else 'people'}"
    if step["step"] == "quantile_costs":  # a rank is counted in parts of a row
        return f"{show(as_fraction(claimed) / as_fraction(step['one']))} rows in rank"
    if step["step"] in ("bound_contributions", "records"):
        return f"{shown} {'row' if shown == '1' else 'rows'}"
    if step["step"] == "people_in_bins":
        return f"{shown} {'bin' if shown == '1' else 'bins'}"
    told = _statistic(step, shown)
    return told if step.get("norm", "L1") == "L1" else f"{told} (L2)"


def _statistic(step: Mapping[str, Any], shown: str) -> str:
    """Say a distance in the units of what is asked, whatever the values were rescaled to.

    A row adds one to a count, and to a sum at most the bound that is farther from zero; a vector of
    moments that moves by d (of rows whose shares make up one each) moves them by d times as much.
    """
    if step["step"] == "count_people":
        return f"{shown} {'person' if shown == '1' else 'people'} in all"
    if step["step"] == "sum_by_group":
        return f"{shown} in the sum of {step['column']}, in all"
    rows = f"{shown} {'row' if shown == '1' else 'rows'} in all"
    if step["step"] != "moments":
        return rows
    moved = as_fraction(step["distance"])
    low, high = as_fraction(step["lower"]), as_fraction(step["upper"])
    told = f"{rows}, and the sum of {step['column']} by {show(moved * max(abs(low), abs(high)))}"
    if step["degree"] == 1:
        return told
    return f"{told}, that of squares above {show(low)} by {show(moved * (high - low) ** 2)}"


def recipe(step: Mapping[str, Any]) -> str:
    """Write a step as the code would; nothing where the words say it all.

    >>> recipe({"step": "laplace", "scale": "40", "distance": "1/8"})
    'laplace(scale=40)'
    """
    if step["step"] in ("filter", "derive"):
        return ""
    given = [(k, v) for k, v in step.items() if k not in ("step", "distance") and v is not None]
    shown = ", ".join(f"{k}={_short(v)}" for k, v in given)
    return f"{step['step']}({shown})"


def _short(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_short(v) for v in value)}]"
    return str(value)


def _filter(step: Mapping[str, Any]) -> str:
    return f"Keep the rows where {condition_words(from_json(step['expression']))}"


def _derive(step: Mapping[str, Any]) -> str:
    return (
        f"Compute {step['column']} from each row: {condition_words(from_json(step['expression']))}"
    )


def _bound(step: Mapping[str, Any]) -> str:
    rows = "1 row" if step["rows"] == 1 else f"{step['rows']} rows"
    return f"Let nobody weigh more than {rows}"


def _grouped(step: Mapping[str, Any]) -> str:
    by = step.get("by") or []
    return f", for each {' and '.join(str(name) for name in by)}" if by else ""


def _bounds(step: Mapping[str, Any]) -> str:
    return f"{step['column']}, held between {step['lower']} and {step['upper']}"


def _rows(step: Mapping[str, Any]) -> str:
    return f"Count the rows{_grouped(step)}"


def _people(step: Mapping[str, Any]) -> str:
    return f"Count the people{_grouped(step)}, each in {step['groups']} of the groups at most"


def _histogram(step: Mapping[str, Any]) -> str:
    bins = len(step["edges"]) - 1
    return f"Count the values of {step['column']} in {bins} bins{_grouped(step)}"


def _moments(step: Mapping[str, Any]) -> str:
    return f"Add up {_bounds(step)}, from below and from above{_grouped(step)}"


def _sum(step: Mapping[str, Any]) -> str:
    return f"Add up {_bounds(step)}{_grouped(step)}"


def _costs(step: Mapping[str, Any]) -> str:
    return f"Say how far off in rank each possible value of {_bounds(step)}, is{_grouped(step)}"


def _choose(step: Mapping[str, Any]) -> str:
    aim = "the rank asked for" if not step.get("target") else "the rank where the interval ends"
    return f"Draw a value by chance, the likelier the nearer it is to {aim}"


def _keys(step: Mapping[str, Any]) -> str:
    return (
        f"Add random noise to the people of each key, discrete Laplace of scale {step['scale']}, "
        f"and show the keys that reach {step['threshold']}"
    )


def _blocks(step: Mapping[str, Any]) -> str:
    first = "" if step["rows"] == 1 else f"{step['rows']} "
    return (
        f"Count the rows in each of {step['periods']} periods of {step['column']}, and in blocks "
        f"of {step['branching']}, and of {step['branching']} of those, and so on; of each person "
        f"the first {first}{'row' if step['rows'] == 1 else 'rows'} by time"
    )


def _records(step: Mapping[str, Any]) -> str:
    return f"Count the records of {_bounds(step)}, value by value{_grouped(step)}"


def _people_in_bins(step: Mapping[str, Any]) -> str:
    return (
        f"Put the people in {step['bins']} bins at random, each with their rows, and count the "
        f"records of {_bounds(step)}, value by value in each bin{_grouped(step)}"
    )


def _each_group(step: Mapping[str, Any]) -> str:
    inner = step["inner"]
    told = _MECHANISMS.get(str(inner["step"]), _other)(inner)
    return f"In each group by itself, of its records: {told}"


def _other(inner: Mapping[str, Any]) -> str:
    return str(inner["step"])


def _smooth(inner: Mapping[str, Any]) -> str:
    noise = str(inner.get("distribution", "laplace")).replace("_", " ")
    return (
        f"add {noise} noise to the {inner['statistic']}, in proportion to how far these data and "
        "data near them could move it; by how much is as private as the data"
    )


def _proposed(inner: Mapping[str, Any]) -> str:
    return (
        f"test with noise that a person moves the {inner['statistic']} by at most "
        f"{inner['bound']}, and by how many people the data are away from more; then add noise of "
        "that size, or refuse to answer"
    )


def _searched(inner: Mapping[str, Any]) -> str:
    return (
        f"find with noise a bound on how far a person moves the {inner['statistic']}, and add "
        "noise of that size"
    )


def _sampled(inner: Mapping[str, Any]) -> str:
    return (
        f"put the records in {inner['bins']} bins at random, work out the {inner['statistic']} of "
        "each, and add random noise to the mean of these"
    )


_MECHANISMS: dict[str, Any] = {
    "smooth_noise": _smooth,
    "propose_test_release": _proposed,
    "bound_search": _searched,
    "sample_mean": _sampled,
}

_WORDS: dict[str, Any] = {
    "filter": _filter,
    "derive": _derive,
    "bound_contributions": _bound,
    "count_rows": _rows,
    "count_people": _people,
    "histogram": _histogram,
    "moments": _moments,
    "sum_by_group": _sum,
    "quantile_costs": _costs,
    "records": _records,
    "people_in_bins": _people_in_bins,
    "each_group": _each_group,
    "mean_of_people": lambda step: (
        f"Work out the {step['statistic']} in each bin, and add random noise to the mean of these"
    ),
    "counts_over_time": _blocks,
    "choose_quantile": _choose,
    "release_keys": _keys,
    "laplace": lambda step: f"Add random noise: discrete Laplace of scale {step['scale']}",
    "gaussian": lambda step: f"Add random noise: discrete Gaussian of scale {step['scale']}",
}
