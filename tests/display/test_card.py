"""Cards: text and HTML say the same, escaped, scoped, of valid form, and accessible."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.display.card import (
    Card,
    Pictures,
    Plain,
    Share,
    Shares,
    Shown,
    Table,
    _templates,
    drawing,
)
from tacit.display.svg_chart import Mark, chart
from tacit.errors import LedgerError

VOID = {"rect", "line", "path", "circle"}


class Fragment(HTMLParser):
    """The tags of a fragment, each closed where it was opened, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.style = ""
        self.feed(html)
        self.close()
        assert not self.opened

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.opened.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.opened.pop() == tag

    def handle_data(self, data):
        if self.opened and self.opened[-1] == "style":
            self.style += data
        else:
            self.words.append(data)


def example(text: str = "a < b") -> Card:
    marks = [Mark(text, 3.0, 2.0, 4.0, "3"), Mark("b", None, None, None, "-")]
    return Card(
        f"Answer {text}",
        f"protects {text}",
        [
            Table([text, "n"], [[text, "5 [2, 8]"]], names=1, caption=text),
            Shares(
                "epsilon 1", [Share("before", text, "0.25", 0.25), Share("left", "l", "1", 0.75)]
            ),
            Plain([text, "x"]),
            Pictures(lambda: [(text, drawing(chart(marks, True, text)))]),
        ],
        [f"note {text}"],
    )


@pytest.mark.full
@given(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=12)
)
def test_no_text_is_markup(text: str) -> None:
    fragment = Fragment(example(text).html())
    known = {tag for tag, _ in Fragment(example("plain").html()).tags}
    assert {tag for tag, _ in fragment.tags} == known
    assert f"note {text}" in "".join(fragment.words)


def test_a_fragment_is_no_page_and_its_style_holds_for_it_alone() -> None:
    fragment = Fragment(example().html())
    tags = {tag for tag, _ in fragment.tags}
    assert fragment.tags[0][0] == "section"
    assert not tags & {"html", "head", "body", "script", "link", "img", "iframe", "h1", "h2"}
    flat = re.sub(r"@media[^{]*\{(.*)\}", r"\1", fragment.style.strip(), flags=re.DOTALL)
    selectors = [s for rule in re.findall(r"([^{}]+)\{", flat) for s in rule.split(",")]
    assert len(selectors) > 20
    assert all(s.strip().startswith(".tacit-card.tacit-card") for s in selectors)
    assert "url(" not in fragment.style
    assert not re.search(r"(?<![-\w])color:(?! inherit)", fragment.style)  # the page's own, on any


def test_the_text_says_what_the_fragment_says() -> None:
    card = example("here")
    fragment = Fragment(card.html())
    shown = " ".join(" ".join(fragment.words).split())
    for word in re.findall(r"[\w.]+", card.text()):
        assert word in shown
    assert card.text().splitlines()[0] == "protects here"
    assert "here  n" in card.text()


def test_what_has_no_text_of_its_own_has_a_name_for_a_screen_reader() -> None:
    tags = Fragment(example().html()).tags
    for tag, given_ in tags:
        if tag == "svg":
            assert given_.get("aria-label") or given_.get("aria-hidden") == "true"
        if tag == "th":
            assert given_["scope"] in ("row", "col")
        if tag == "div" and given_["class"] == "wide":
            assert given_["tabindex"] == "0"
            assert given_["aria-label"]


def test_rows_that_are_left_out_are_counted_in_both() -> None:
    table = Table(["k"], [[str(i)] for i in range(1_100)])
    card = Card("Answer", parts=[table])
    assert len(card.text().splitlines()) == 62
    for text in (card.text(), card.html()):
        assert "and 1,040 more: to_pandas()" in text


class Closed(Shown):
    """What cannot be asked any more."""

    def card(self) -> Card:
        raise LedgerError("closed")


class Told(Shown):
    """What shows its text."""

    def __str__(self) -> str:
        return "first\n  second"


def test_a_notebook_shows_the_text_where_there_is_no_fragment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert Closed()._repr_html_() is None
    assert "<pre>first\n  second</pre>" in str(Told()._repr_html_())
    _templates.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert Told()._repr_html_() is None
