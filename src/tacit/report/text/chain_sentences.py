"""The chain of a release, one sentence a step, for a reader who does not write code.

The steps that every chain may have are stated here, and all others where they are defined.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacit.arithmetic.exact import as_fraction, show
from tacit.core.chain.explain import show_distance
from tacit.expressions.expression import from_json
from tacit.report.text.vocabulary import StepWords, rows_in_all, so_many, words_of_step
from tacit.report.text.words import condition_words, join_words

__all__ = ["distance_words", "recipe", "step_words"]


def step_words(step: Mapping[str, Any]) -> str:
    """Say what a step of a certificate does; an unknown one keeps its name.

    >>> step_words({"step": "bound_contributions", "rows": 5, "groups": 1})
    'Bound contributions: at most 5 rows per person count'
    >>> step_words({"step": "laplace", "scale": "40"})
    'Add random noise: discrete Laplace of scale 40'
    """
    said = _said(step)
    return str(step["step"]) if said is None else said.does(step)


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
    said = _said(step)
    told = (rows_in_all if said is None else said.moves)(step, shown)
    return told if step.get("norm", "L1") == "L1" else f"{told} (L2)"


def _said(step: Mapping[str, Any]) -> StepWords | None:
    name = str(step["step"])
    return _SHARED.get(name) or words_of_step(name)


def recipe(step: Mapping[str, Any]) -> str:
    """Write a step as the code would; nothing where the words say it all.

    >>> recipe({"step": "laplace", "scale": "40", "distance": "1/8"})
    'laplace(scale=40)'
    """
    if step["step"] in ("filter", "derive", "join"):
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


def _join(step: Mapping[str, Any]) -> str:
    named = [here for here, _, _ in step["columns"]]
    told = f"Join {join_words(step)}"
    return f"{told}; this adds {', '.join(named)}" if named else told


def _bound(step: Mapping[str, Any]) -> str:
    rows = "1 row" if step["rows"] == 1 else f"{step['rows']} rows"
    return f"Bound contributions: at most {rows} per person count"


def _keys(step: Mapping[str, Any]) -> str:
    return (
        f"Add random noise to the number of people of each group, discrete Laplace of scale "
        f"{step['scale']}, and show the groups that reach the threshold {step['threshold']}"
    )


def _select_keys(step: Mapping[str, Any]) -> str:
    return (
        f"Add truncated random noise to the number of people of each group (epsilon "
        f"{step['epsilon']}, delta {step['delta']} a group), and show the groups above its reach"
    )


def _gaussian_keys(step: Mapping[str, Any]) -> str:
    return (
        f"Add random noise to the number of people of each group, discrete Gaussian of scale "
        f"{step['scale']}, and show the groups that reach the threshold {step['threshold']}"
    )


def _keys_in_rounds(step: Mapping[str, Any]) -> str:
    rounds = " and then ".join(
        f"of scale {scale} and the threshold {threshold}"
        for scale, threshold in zip(step["scales"], step["thresholds"], strict=True)
    )
    return (
        "Add random noise to the number of people of each group not shown yet, discrete Gaussian "
        f"{rounds}, and show the groups that reach it"
    )


def _people(step: Mapping[str, Any], shown: str) -> str:
    return so_many(shown, "person", "people")


def _rows(step: Mapping[str, Any], shown: str) -> str:
    return so_many(shown, "row", "rows")


_SHARED: dict[str, StepWords] = {
    "filter": StepWords(_filter, _people),
    "derive": StepWords(_derive, _people),
    "join": StepWords(_join, _people),
    "bound_contributions": StepWords(_bound, _rows),
    "release_keys": StepWords(_keys),
    "gaussian_keys": StepWords(_gaussian_keys),
    "gaussian_keys_in_rounds": StepWords(_keys_in_rounds),
    "select_keys": StepWords(_select_keys),
    "laplace": StepWords(
        lambda step: f"Add random noise: discrete Laplace of scale {step['scale']}"
    ),
    "gaussian": StepWords(
        lambda step: f"Add random noise: discrete Gaussian of scale {step['scale']}"
    ),
}
