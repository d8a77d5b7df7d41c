"""YAML that is written: read back it is the same, whatever the texts hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.report.registry import yaml_text

NAMES = st.from_regex("[a-z][a-z_]{0,9}", fullmatch=True)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ODD = st.sampled_from(
    ["no", "1e5", "- a", "a: b", "#x", "a\n b", " a\nb", "a\nb\n", "|", "'", '"', "~"]
)
PLAIN = st.one_of(TEXTS, ODD, st.integers(), st.floats(allow_nan=False, allow_infinity=False))
LEAVES = st.one_of(PLAIN, st.lists(PLAIN, max_size=3))
TREES = st.dictionaries(
    NAMES, st.one_of(LEAVES, st.dictionaries(NAMES, LEAVES, max_size=2)), min_size=1, max_size=3
)


@pytest.mark.full
@given(TREES)
def test_what_is_written_is_read_back(tree: dict) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML reads it back; pip install pyyaml")
    assert yaml.safe_load(yaml_text(tree)) == tree


def test_a_small_delta_stays_a_number_for_every_reader() -> None:
    # YAML 1.1 takes 1e-06, without a point, for text
    assert yaml_text({"delta": 1e-06, "rho": 0.5}) == "delta: 1.0e-06\nrho: 0.5\n"
