"""Every object that a user meets shows itself in a notebook, and says the same in text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from display.test_card import Fragment
from tacit.errors import UsageError


def session() -> tc.Session:
    rows = pa.table({"g": ["a", "<b>"] * 40, "x": list(range(80))})
    return tc.Session(rows, tc.one_row_each, tc.epsilon(4), tc.in_memory, name="t")


def question(asked: tc.Session) -> Any:
    grouped = asked.group_by("g", keys=["a", "<b>"])
    return grouped.agg(n=tc.count(), x=tc.mean("x", 0, 80), h=tc.histogram("x", [0, 40, 80]))


def released(make: Callable[[Any, Any], Any]) -> Callable[[], Any]:
    def made() -> Any:
        opened = session()
        return make(opened, question(opened).release(epsilon=1))

    return made


def chain() -> Any:
    return tc.Space(tc.Vector(float), tc.SymmetricDistance()) >> tc.clamp(0, 12) >> tc.sum()


POPULATION = tc.Records([1, 2, 2, 5, 9], size=3)


def estimate() -> Any:
    oracle = tc.local.UnaryEncoding(["<a>", "b"], epsilon=1)
    return oracle.estimate(oracle.perturb_many(["<a>", "b"] * 50))


OBJECTS: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "session": (session, ("'t'", "each row", "epsilon 4", "integer", "in memory")),
    "question": (lambda: question(session()), ("number of rows", "mean of x", "[0, 80]")),
    "preview": (lambda: question(session()).preview(epsilon=1), ("1000 rows", "epsilon(1)")),
    "answer": (released(lambda _, a: a), ("<b>", "[0, 40)", "cost epsilon(1)", "95%")),
    "certificate": (released(lambda _, a: a.certificate), ("epsilon 3", "digest", "verify()")),
    "history": (released(lambda s, _: s.history()), ("answered", "epsilon 1", "number of rows")),
    "ledger": (released(lambda s, _: s.ledger), ("epsilon 3", "answered")),
    "sensitivity": (lambda: tc.sensitivity("mean", over=POPULATION), ("unbounded", "within 1")),
    "profile": (lambda: tc.sensitivity_profile("mean", over=POPULATION), ("bounded", "11/3")),
    "table": (lambda: tc.sensitivity_table("mean", over=POPULATION), ("2, 5, 9", "global")),
    "estimate": (estimate, ("<a>", "100 reports", "95% interval")),
    "transformation": (chain, ("clamp(lower=0, upper=12)", "12")),
    "measurement": (lambda: chain() >> tc.laplace(scale=25), ("0.48", "Pure DP")),
    "unfinished": (lambda: chain() >> tc.laplace, ("laplace", "calibrate")),
    "choice": (
        lambda: tc.choose_epsilon("median", [1, 2, 3, 10], size=3, risk="1/3"),
        ("epsilon",),
    ),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_it_shows_itself(name: str) -> None:
    make, said = OBJECTS[name]
    made = make()
    fragment = Fragment(made._repr_html_())
    shown = " ".join(" ".join(fragment.words).split())
    for words in said:
        assert words in shown
    assert fragment.style.startswith("\n.tacit-card") or fragment.style.startswith(".tacit-card")
    text = made.card().text()
    for word in re.findall(r"[\w.<>]+", text):
        assert word in shown


def test_numbers_with_intervals_stand_in_the_text_of_an_answer() -> None:
    opened = session()
    answer = opened.agg(n=tc.count()).release(epsilon=1)
    low, high = answer.interval("n")
    assert f"{answer.value('n')} [{low}, {high}]" in repr(answer)
    assert "1 group;" in repr(answer)
    assert "replayed" in repr(opened.agg(n=tc.count()).release(epsilon=1))


def test_charts_are_drawn_where_there_are_several_marks() -> None:
    opened = session()
    several = question(opened).release(epsilon=1)
    one = opened.agg(n=tc.count()).release(epsilon=1)
    assert str(several._repr_html_()).count("<figure") == 4  # n, x, and a panel of bins a group
    assert "<figure" not in str(one._repr_html_())


def test_the_history_is_a_list_and_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    opened = session()
    assert opened.history() == []
    assert repr(opened.history()) == "nothing was released yet"
    question(opened).release(epsilon=1)
    opened.agg(n=tc.count()).release(epsilon="1/2")
    found = opened.history()
    assert [entry.state for entry in found] == ["answered"] * 2
    assert found.to_pandas()["charge"].tolist() == [1, 2]
    assert repr(found).splitlines()[0].split()[:2] == ["charge", "when"]


def test_what_was_closed_or_is_broken_shows_itself_all_the_same(tmp_path: Any) -> None:
    opened = session()
    opened.close()
    assert opened._repr_html_() is None or "Session" in str(opened._repr_html_())
    assert repr(opened)
    broken = tc.Certificate({"format": "tacit certificate 2"})
    assert "not whole: .verify() says more" in str(broken._repr_html_())
    assert "Certificate" in str(broken)


def test_a_wide_answer_of_noise_that_has_no_error_shows_a_dash() -> None:
    opened = session()
    found = opened.agg(m=tc.median("x", 0, 80, method="smooth")).release(epsilon=1)
    assert "[" not in repr(found).splitlines()[2]
    assert np.isfinite(found.value("m"))
    with pytest.raises(UsageError):
        found.value("n")


def test_no_reports_are_an_estimate_too() -> None:
    oracle = tc.local.UnaryEncoding(["a", "b"], epsilon=1)
    assert "0 reports" in str(oracle.estimate([])._repr_html_())
