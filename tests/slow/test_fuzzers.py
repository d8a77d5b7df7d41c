"""Every parser of what others wrote, on texts that are nearly right."""

from __future__ import annotations

import os

import pytest

from support.fuzzing.mutate import corpus, fall_over, fuzz
from support.fuzzing.parsers import PARSERS, parser

TIMES = int(os.environ.get("TACIT_FUZZ", "100"))
"""How often the texts of the short form; 100 takes about half an hour."""


@pytest.mark.full
@pytest.mark.parametrize("name", [n for n in PARSERS if n not in ("csv", "http")])
def test_the_corpus_is_read_and_some_changes_are_refused(name, tmp_path):
    with parser(name, tmp_path) as parse:
        for text in corpus(name):
            assert fall_over(parse, text) is None
        assert fuzz(name, parse, max(4, PARSERS[name][1] // 10), seed=1) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", PARSERS)
def test_no_text_makes_a_parser_fall_over(name, tmp_path):
    with parser(name, tmp_path) as parse:
        assert fuzz(name, parse, PARSERS[name][1] * TIMES) == []


def test_a_parser_that_falls_over_is_found(tmp_path):
    def parse(text):
        return int(text)

    assert {kind for kind, _ in fuzz("sql", parse, 60, seed=1)} >= {"ValueError"}


@pytest.mark.full
@pytest.mark.parametrize("name", ["declarations", "sql", "certificates", "plans"])
def test_the_corpus_holds_what_is_right(name, tmp_path):
    with parser(name, tmp_path) as parse:
        for text in corpus(name)[:1]:
            parse(text)
