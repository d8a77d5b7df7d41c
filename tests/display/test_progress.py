"""Progress outside of notebooks: nothing is shown, and no thread is begun."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit as tc
from support.page_reader import Page
from support.servers.left_out import if_installed, needs
from tacit import framework as fw
from tacit.display import card as progress
from tacit.display.card import (
    Card,
    CardTable,
    Pictures,
    Plain,
    Share,
    Shares,
    Shown,
    _templates,
    drawing,
    in_notebook,
    working,
)
from tacit.display.svg_chart import PHONE_WIDTH, Mark, budget_bar, chart, ticks
from tacit.errors import LedgerError, UsageError


def ipython(shell: Any) -> types.ModuleType:
    made = types.ModuleType("IPython")
    vars(made)["get_ipython"] = lambda: shell
    return made


@pytest.mark.parametrize(
    ("shell", "found"),
    [(None, False), (types.SimpleNamespace(), False), (types.SimpleNamespace(kernel=1), True)],
)
def test_only_a_shell_with_a_kernel_is_a_notebook(
    monkeypatch: pytest.MonkeyPatch, shell: Any, found: bool
) -> None:
    monkeypatch.setitem(sys.modules, "IPython", ipython(shell))
    assert in_notebook() is found


def test_outside_of_a_notebook_nothing_is_begun(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    before = threading.active_count()
    with working("reading"):
        assert threading.active_count() == before
    assert capsys.readouterr() == ("", "")


class Line:
    """Remembers what a notebook would show."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def update(self, bundle: dict[str, str], raw: bool) -> None:
        assert raw
        self.told.append(bundle["text/plain"])


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> Line:
    made = Line()

    def display(bundle: dict[str, str], raw: bool, display_id: bool) -> Line:
        made.update(bundle, raw)
        assert display_id
        return made

    shown = types.ModuleType("IPython.display")
    vars(shown)["display"] = display
    monkeypatch.setitem(sys.modules, "IPython", ipython(types.SimpleNamespace(kernel=1)))
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    return made


def seen(line: Line, work: Callable[[], None]) -> list[str]:
    with working("reading"):
        work()
    return line.told


def test_what_is_soon_over_says_nothing(line: Line) -> None:
    assert seen(line, lambda: None) == []


def test_the_line_is_emptied_whatever_happens(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_SOON", 0.0)
    begun = threading.Event()
    update = Line.update

    def told(self: Line, bundle: dict[str, str], raw: bool) -> None:
        update(self, bundle, raw)
        begun.set()

    monkeypatch.setattr(Line, "update", told)

    def interrupted() -> None:
        begun.wait(10)
        raise KeyboardInterrupt

    before = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt):
        seen(line, interrupted)
    assert line.told == ["reading: 1 s", ""]
    assert set(threading.enumerate()) <= before


# Cards: text and HTML say the same, escaped, scoped, of valid form, and accessible.


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
            CardTable([text, "n"], [[text, "5 [2, 8]"]], names=1, caption=text),
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
    table = CardTable(["k"], [[str(i)] for i in range(1_100)])
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


# Every object that a user meets shows itself in a notebook, and says the same in text.


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
    return fw.Space(fw.Vector(float), fw.SymmetricDistance()) >> fw.clamp(0, 12) >> tc.sum()


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
    "measurement": (lambda: chain() >> fw.laplace(scale=25), ("0.48", "Pure DP")),
    "unfinished": (lambda: chain() >> fw.laplace, ("laplace", "calibrate")),
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
    result = opened.history()
    assert [entry.state for entry in result] == ["answered"] * 2
    assert result.to_pandas()["charge"].tolist() == [1, 2]
    assert repr(result).splitlines()[0].split()[:2] == ["charge", "when"]


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
    result = opened.agg(m=tc.median("x", 0, 80, method="smooth")).release(epsilon=1)
    assert "[" not in repr(result).splitlines()[2]
    assert np.isfinite(result.value("m"))
    with pytest.raises(UsageError):
        result.value("n")


def test_no_reports_are_an_estimate_too() -> None:
    oracle = tc.local.UnaryEncoding(["a", "b"], epsilon=1)
    assert "0 reports" in str(oracle.estimate([])._repr_html_())


# The pictures of a page: marks where their values are, ticks that enclose, odd values.


def test_marks_lie_where_their_values_are() -> None:
    drawn = chart(
        [Mark("a", 50.0, 40.0, 60.0, "50"), Mark("b", 100.0, 100.0, 100.0, "100")], True, "t"
    )
    bars = [float(x) for x in re.findall(r'class="bar".*?width="([\d.]+)"', drawn)]
    assert bars[0] == pytest.approx(bars[1] / 2, abs=0.2)
    start, end = map(float, re.findall(r"M([\d.]+) [\d.]+v8M([\d.]+)", drawn)[0])
    left = float(re.findall(r'class="bar" x="([\d.]+)"', drawn)[0])
    assert (start + end) / 2 == pytest.approx(left + bars[0], abs=0.2)


@pytest.mark.parametrize(
    "mark",
    [
        Mark("x", None, None, None, "–"),
        Mark("x", 0.0, 0.0, 0.0, "0"),
        Mark("x", -5.0, -9.0, 0.0, "−5"),
        Mark("x" * 200, 1e300, -1e300, 1e300, "1"),
        Mark("x", 1e-300, 0.0, 2e-300, "0"),
    ],
)
@pytest.mark.parametrize("bars", [True, False])
def test_odd_values_are_drawn(mark: Mark, bars: bool) -> None:
    Page(chart([mark], bars, "odd"))


def test_ticks_enclose_what_is_shown() -> None:
    for low, high in [(0, 1), (-3, 17), (0, 4583), (2.51, 2.52), (7, 7), (0, 0), (-1e9, -1)]:
        result = ticks(low, high)
        assert result[0] <= low
        assert result[-1] >= high
        assert 2 <= len(result) <= 12


def test_the_budget_bar_is_whole() -> None:
    drawn = budget_bar(0.25, 0.5, 0.25)
    widths = [float(x) for x in re.findall(r'class="\w+" x="[\d.]+" y="1" width="([\d.]+)"', drawn)]
    assert sum(widths) == pytest.approx(718, abs=0.2)
    assert 'class="before"' not in budget_bar(0, 1, 0)


@pytest.mark.parametrize("width", [720, PHONE_WIDTH])
@pytest.mark.parametrize("ends", [(0.0, 1.7e9), (-1.9e9, -2.0), (485_000.0, 510_000.0), (0.0, 4.0)])
def test_the_labels_of_ticks_do_not_touch_and_are_not_cut(
    width: int, ends: tuple[float, float]
) -> None:
    low, high = ends
    drawn = chart([Mark("a" * 20, high, low, high, f"{high:,.0f}")], False, "t", width)
    result = re.findall(r'class="tick" x="([-\d.]+)"[^>]*>([^<]*)<', drawn)
    parts = [(float(x) - 3 * len(text), float(x) + 3 * len(text)) for x, text in result]
    assert len(parts) >= 2
    assert all(a[1] < b[0] for a, b in itertools.pairwise(parts))
    assert parts[0][0] >= 0
    assert parts[-1][1] <= width


# In real kernels: a session works, with and without ipywidgets, and each object shows itself once.
#
# Jupyter, JupyterLab, VS Code and Colab all speak to an ipykernel; the last two are known to
# libraries by marks that they leave, which the tests leave too.  marimo runs cells on its own.


manager = if_installed("jupyter_client.manager")
needs_kernel = needs("ipykernel", "pip install ipykernel ipywidgets")

WITHOUT = "import sys; sys.modules['ipywidgets'] = None"
COLAB = """
import sys, types
google, colab = types.ModuleType("google"), types.ModuleType("google.colab")
google.colab = colab
sys.modules |= {"google": google, "google.colab": colab}
"""
KERNELS: dict[str, tuple[str, dict[str, str]]] = {
    "jupyter": ("", {}),
    "jupyter without ipywidgets": (WITHOUT, {}),
    "vscode": ("__vsc_ipynb_file__ = 'a.ipynb'", {"VSCODE_PID": "1", "VSCODE_CWD": "."}),
    "vscode without ipywidgets": (WITHOUT, {"VSCODE_PID": "1"}),
    "colab": (COLAB, {"COLAB_RELEASE_TAG": "release", "COLAB_JUPYTER_IP": "127.0.0.1"}),
}

OPEN = """
import duckdb, pyarrow, tacit as tc
from tacit.tables.engines.duckdb.engine import DuckEngine
rows = pyarrow.table({"g": ["a", "b"] * 50_000, "x": [1, 2] * 50_000, "p": list(range(100_000))})
session = tc.Session(rows, unit=tc.unit("p", rows=2), budget=tc.epsilon(9), name="t")
own = duckdb.connect()
own.execute("create table t as select i as p, i % 7 as x from range(300000) t(i)")
borrowed = tc.Session(own, unit=tc.unit("p", rows=1), budget=tc.epsilon(9), table="t")
question = session.group_by("g", keys=["a", "b"]).agg(n=tc.count(), x=tc.median("x", 0, 5))
"""
BARS = """
sql = "select current_setting('enable_progress_bar')"
engines = [DuckEngine(), DuckEngine(threads=1), DuckEngine(alone=False), DuckEngine(connection=own)]
bars = [engine.rows(sql)[0][0] for engine in engines]
assert bars == [False] * 4, bars
"""

Run = Callable[[str], list[dict[str, Any]]]


@contextmanager
def kernel(env: dict[str, str]) -> Iterator[Run]:
    """A real kernel of this interpreter; what is run returns the messages that came back."""
    assert manager is not None
    folder = tempfile.mkdtemp()  # its sockets are named after this file: no other kernel has them
    made = manager.KernelManager(transport="ipc", connection_file=f"{folder}/kernel.json")
    made.start_kernel(env={**os.environ, "MPLBACKEND": "", **env})
    client = made.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=300)

        def run(code: str) -> list[dict[str, Any]]:
            told: list[dict[str, Any]] = []
            reply = client.execute_interactive(code, timeout=240, output_hook=told.append)
            assert reply["content"]["status"] == "ok", "\n".join(reply["content"]["traceback"])
            return told

        yield run
    finally:
        client.stop_channels()
        made.shutdown_kernel(now=True)
        shutil.rmtree(folder)


def shown(told: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The bundles that a cell showed."""
    kinds = ("display_data", "execute_result")
    return [one["content"]["data"] for one in told if one["msg_type"] in kinds]


@pytest.mark.full
@needs_kernel
@pytest.mark.parametrize("name", KERNELS)
def test_a_session_works_and_shows_itself(name: str) -> None:
    before, env = KERNELS[name]
    with kernel(env) as run:
        run(before)
        run(OPEN)
        run(BARS)
        for line, said in {
            "session": "epsilon 9",
            "question": "median of x",
            "question.preview(epsilon=1)": "standard error",
            "question.release(epsilon=1)": "cost epsilon(1)",
            "borrowed.agg(n=tc.count()).release(epsilon=1)": "cost epsilon(1)",
            "session.history()": "answered",
            "session.ledger": "epsilon 8",
            "question.release(epsilon=1).certificate": "digest",
        }.items():
            (bundle,) = shown(run(line))
            assert bundle["text/html"].startswith('<section class="tacit-card"')
            assert said in bundle["text/html"]
            assert bundle["text/plain"]
        run("answer = question.release(epsilon=1)")
        for before_it in ("pass", "import matplotlib.pyplot"):
            run(before_it)
            told = shown(run("answer.plot()"))
            assert [set(bundle) >= {"image/png"} for bundle in told] == [True]
        assert not shown(run("figure = answer.plot()"))
        run("raise_if_wrong = tc.Session(rows, unit=tc.one_row_each, budget=tc.epsilon(1)).close()")


@pytest.mark.full
@needs_kernel
def test_what_takes_long_says_so_and_leaves_nothing_behind() -> None:
    with kernel({}) as run:
        run(
            "import time\nfrom tacit.display.card import in_notebook, working\nassert in_notebook()"
        )
        told = run("with working('reading <rows>'):\n    time.sleep(2.5)")
        (first,) = [one for one in told if one["msg_type"] == "display_data"]
        later = [one for one in told if one["msg_type"] == "update_display_data"]
        names = {one["content"]["transient"]["display_id"] for one in (first, *later)}
        assert len(names) == 1
        assert first["content"]["data"]["text/plain"] == "reading <rows>: 1 s"
        assert "reading &lt;rows&gt;" in first["content"]["data"]["text/html"]
        assert later[0]["content"]["data"]["text/plain"] == "reading <rows>: 2 s"
        assert set(later[-1]["content"]["data"].values()) == {""}
        assert not shown(run("with working('a'):\n    time.sleep(0.1)"))


@pytest.mark.full
@needs_kernel
def test_an_interrupted_cell_leaves_a_session_that_works() -> None:
    with kernel({}) as run:
        run(OPEN)
        run(
            # a function of its own: Python 3.11 loses the `try` of an interrupt that comes as the
            # loop jumps back to its first instruction
            "import _thread, threading\n"
            "def ask_on():\n"
            "    while True: question.release(epsilon=1, tag='t')\n"
            "threading.Timer(0.2, _thread.interrupt_main).start()\n"
            "try:\n"
            "    ask_on()\n"
            "except KeyboardInterrupt:\n"
            "    pass"
        )
        (bundle,) = shown(run("question.release(epsilon=1, tag='t')"))
        assert "epsilon(1)" in bundle["text/plain"] or "replayed" in bundle["text/plain"]


@pytest.mark.full
def test_a_plain_console_shows_the_text(tmp_path: Path) -> None:
    lines = f"{OPEN}\nsession\nquestion.release(epsilon=1)\nsession.history()\n"
    ran = subprocess.run(
        [sys.executable, "-i", "-q"],
        input=lines,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=240,
        check=True,
    )
    assert "<Session on 't', p, at most 2 rows" in ran.stdout
    assert "(n, x in 2 groups; cost epsilon(1); 95% intervals of the noise)" in ran.stdout
    assert "answered  The number of rows" in ran.stdout
    assert "Error" not in ran.stderr


MARIMO = """
import marimo
app = marimo.App()

@app.cell
def _():
{opened}
    return question, session

@app.cell
def _(session):
    session
    return

@app.cell
def _(question):
    question.release(epsilon=1)
    return

@app.cell
def _(question):
    question.release(epsilon=1).plot()
    return
"""


@pytest.mark.full
@needs("marimo", "pip install marimo")
def test_marimo_runs_and_shows_it(tmp_path: Path) -> None:
    notebook, page = tmp_path / "notebook.py", tmp_path / "page.html"
    opened = "\n".join(f"    {line}" for line in OPEN.strip().splitlines())
    notebook.write_text(MARIMO.format(opened=opened), encoding="utf-8")
    command = [sys.executable, "-m", "marimo", "-q", "export", "html", str(notebook)]
    ran = subprocess.run(
        [*command, "-o", str(page), "--no-include-code"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=240,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    text = page.read_text(encoding="utf-8")
    for said in ("epsilon 9", "cost epsilon(1)"):
        assert said in text
    assert "image/png" in text
