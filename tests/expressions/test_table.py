"""The table of functions, the methods and the page say the same."""

import re

from house.project import ROOT
from tacit.expressions.expression import Expression
from tacit.expressions.functions import FUNCTIONS


def test_every_function_is_a_method_and_stands_on_the_page():
    page = (ROOT / "docs" / "expressions.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"`\.(\w+)\(", page))
    missing = [n for n in FUNCTIONS if n not in listed or not hasattr(Expression, n)]
    assert not missing
    assert all(hasattr(Expression, name) for name in listed)
