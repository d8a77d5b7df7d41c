"""A chain in words: each step with its distance, aligned as text, escaped as HTML."""

from fractions import Fraction

import tacit as tc
from tacit.core.space import Link, chain_card, chain_text, distances, show_distance

LINKS = [
    Link("double <b>", None, "numbers & more", lambda d: 2 * d),
    Link("noise", None, "Approximate DP", lambda d: (d / 4, Fraction(1, 100))),
]


def test_each_distance_follows_from_the_one_before():
    assert distances(LINKS, Fraction(3)) == [6, (Fraction(3, 2), Fraction(1, 100))]


def test_the_text_is_aligned():
    lines = chain_text("start", LINKS, Fraction(3)).splitlines()
    assert [line.split()[0] for line in lines] == ["data", "double", "noise"]
    assert (
        len(
            {
                line.index(last)
                for line, last in zip(lines, ["start", "numbers", "Approx"], strict=True)
            }
        )
        == 1
    )
    assert "(1.5, 0.01)" in lines[2]


def test_the_html_is_escaped():
    page = chain_card("<Chain>", "<start>", LINKS, Fraction(1)).html()
    assert "<b>" not in page
    assert "double &lt;b&gt;" in page
    assert "numbers &amp; more" in page
    assert page.count("<tr>") == 4


def test_a_step_is_titled_as_one_writes_it():
    chain = tc.Space(tc.Vector(float), tc.SymmetricDistance()) >> tc.clamp(0, 1) >> tc.sum()
    assert "clamp(lower=0, upper=1)" in chain.explain()
    assert show_distance((Fraction(1, 2), Fraction(0))) == "(0.5, 0)"
