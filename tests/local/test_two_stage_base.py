"""What mechanisms of two stages share: reports come of the permanent answer alone."""

import pytest

from tacit.local import DirectEncoding, Rappor, TwoStage, UnaryEncoding
from tacit.local.device import Staged

TWO = TwoStage(DirectEncoding(5, epsilon=2), UnaryEncoding(5, epsilon=1))


def test_nothing_stands_beside_the_answer_unless_a_mechanism_says_so() -> None:
    assert isinstance(TWO, Staged)
    assert TWO.standing() is None
    rappor = Rappor(bloom_bits=16, hashes=2, cohorts=4)
    assert rappor.standing() in range(4)


def test_a_report_is_drawn_from_what_was_kept() -> None:
    kept = TWO.keep(3, TWO.standing())
    assert TWO.kept.valid([kept]).all()
    assert TWO.layout.check([TWO.renew(kept)]).shape[0] == 1


def test_a_mechanism_without_its_stages_is_none() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Staged()  # type: ignore[abstract]
