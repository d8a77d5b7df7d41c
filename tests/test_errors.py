"""The tree of exceptions: what they are, what they say, what they carry."""

import inspect
import pickle

import pytest

from tacit import errors


def kinds():
    return [
        kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, Exception) and kind.__module__ == errors.__name__
    ]


def test_the_tree_is_the_one_that_is_drawn():
    assert {kind.__name__ for kind in kinds()} == set(errors.__all__)
    drawn = errors.__doc__ or ""
    for kind in kinds():
        assert kind.__name__ in drawn
        assert issubclass(kind, Warning) is not issubclass(kind, errors.TacitError)
        assert kind.__doc__
    assert issubclass(errors.UsageError, ValueError)
    assert issubclass(errors.MissingExtraError, ImportError)
    assert not issubclass(errors.RefusedError, errors.UsageError)


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
def test_an_error_survives_a_pickle_with_its_words(kind):
    again = pickle.loads(pickle.dumps(kind("what to do")))
    assert type(again) is kind
    assert str(again) == "what to do"


def test_a_mismatch_carries_both_sides():
    error = errors.MismatchError("no", 1, 2)
    assert (error.left, error.right) == (1, 2)


def test_suggestions_are_short():
    assert errors.did_you_mean("agee", ["age", "sex"]) == "did you mean 'age'?"
    listed = errors.did_you_mean("zzz", [f"column {i}" for i in range(500)])
    assert "and 480 more" in listed
    assert errors.did_you_mean("x", []) == "there are none"


def test_a_missing_extra_names_its_install():
    with pytest.raises(errors.MissingExtraError, match=r"pip install 'tacit-dp\[moon\]'"):
        errors.need("no_such_module_at_all.part", "moon")
