"""How a CSV file is written: options that do not fit are refused."""

from __future__ import annotations

import pytest

from tacit.errors import UsageError
from tacit.tables.engines.csv import csv_format


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ({"delimiter": ",,"}, "one character"),
        ({"delimiter": "\n"}, "one character"),
        ({"delimiter": "é"}, "one character"),
        ({"delimiter": '"'}, "the same character"),
        ({"encoding": "utf-16"}, "iconv"),
        ({"encoding": "shift-jis"}, "iconv"),
        ({"encoding": "utf-7"}, "iconv"),
        ({"encoding": "none such"}, "iconv"),
        ({"encoding": 8}, "iconv"),
        ({"types": {"a": "number"}}, "is not a kind"),
        ({"types": ["a"]}, "types="),
        ({"header": False}, "header=\\['id', 'age'\\]"),
        ({"header": []}, "a list of different names"),
        ({"header": ["a", "A"]}, "a list of different names"),
        ({"header": "ab"}, "a list of texts"),
        ({"null": 3}, "a list of texts"),
        ({"date_format": "dd.mm.yyyy"}, "is written like"),
        ({"date_format": "%d.%m.%Y %H"}, "is written like"),
        ({"time_format": 3}, "is written like"),
        ({"multiline": 0}, "multiline"),
        ({"multiline": 10**6}, "at most 1000 lines"),
        ({"multiline": 2, "quote": ""}, "no"),
        ({"delimeter": ";"}, "did you mean 'delimiter'"),
    ],
)
def test_an_option_that_does_not_fit_is_refused(option, says):
    with pytest.raises(UsageError, match=says):
        csv_format(**option)
