"""Display of objects in notebooks, and of progress under a cell."""

from __future__ import annotations

import html
import importlib
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from tacit.display.svg_chart import budget_bar
from tacit.errors import TacitError, need


@cache
def _templates(package: str) -> Any:
    """Return the templates of a package, with escaping on and nothing undefined in silence."""
    jinja2 = need("jinja2", "page")
    return jinja2.Environment(
        loader=jinja2.PackageLoader(package),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )


def render(package: str, name: str, given: Mapping[str, Any]) -> str:
    """Return a template of the folder ``templates`` of a package, filled in."""
    return str(_templates(package).get_template(name).render(given))


def drawing(svg: str) -> Any:
    """Mark a drawing of ours, whose texts are escaped already, as one to be put in as it is."""
    return need("markupsafe", "page").Markup(svg)


# A card: what an object says of itself, in parts that become text and a fragment of HTML alike.
#
# The fragment brings a style of its own, which holds for it alone: its colours are the notebook's
# text colour, mixed, so that it reads on a light and on a dark page.  It has no script, and asks
# for nothing from outside.


_MAX_ROWS = 60  # how many rows of a table are shown
_BAR = 24  # the characters of a bar in text


@dataclass(frozen=True)
class CardTable:
    head: Sequence[str]  # the names of the columns
    # the cells; at most sixty rows are shown, and the others are counted
    rows: Sequence[Sequence[str]]
    names: int = 0  # how many columns, from the first, name the row
    caption: str = ""  # what stands above
    more: str = "to_pandas()"  # where the rows that are left out can be had

    @property
    def shown(self) -> Sequence[Sequence[str]]:
        return self.rows[:_MAX_ROWS]

    @property
    def left_out(self) -> str:
        """Return a note on the number of rows left out; empty if all are shown."""
        rest = len(self.rows) - _MAX_ROWS
        return f"and {rest:,} more: {self.more}" if rest > 0 else ""

    def text(self) -> list[str]:
        """Return its lines, aligned.

        >>> CardTable(["site", "n"], [["a", "5 [2, 8]"]], caption="rows").text()
        ['rows', 'site  n', 'a     5 [2, 8]']
        """
        rows = [self.head, *self.shown]
        widths = [max(len(row[i]) for row in rows) for i in range(len(self.head))]
        lines = [
            "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows
        ]
        above = [self.caption] if self.caption else []
        below = [self.left_out] if self.left_out else []
        return [*above, *lines, *below]


@dataclass(frozen=True)
class Share:
    """A share of a budget: ``before``, ``this`` or ``left``, in words, and from 0 to 1."""

    css: str
    name: str
    amount: str
    share: float


@dataclass(frozen=True)
class Shares:
    """A budget as a bar: what is spent of it, and what is left."""

    total: str
    parts: Sequence[Share]
    spoken: bool = True  # whether it is in the text too, where no note says the same

    @property
    def bar(self) -> object:
        known = {part.css: part.share for part in self.parts}
        return drawing(budget_bar(*(known.get(css, 0.0) for css in ("before", "this", "left"))))

    def text(self) -> list[str]:
        """Return its line.

        >>> Shares("epsilon 1", [Share("before", "spent", "0.5", 0.5)]).text()
        ['[############------------] spent: 0.5, of epsilon 1']
        """
        if not self.spoken:
            return []
        gone = sum(part.share for part in self.parts if part.css != "left")
        full = round(_BAR * gone)
        listed = ", ".join(f"{part.name}: {part.amount}" for part in self.parts)
        return [f"[{'#' * full}{'-' * (_BAR - full)}] {listed}, of {self.total}"]


@dataclass(frozen=True)
class Pictures:
    """Drawings, made when they are shown; a table of the card says the same in text."""

    draw: Callable[[], Sequence[tuple[str, object]]]  # returns each with its caption

    def text(self) -> list[str]:
        return []


@dataclass(frozen=True)
class Plain:
    """Lines that stand as they are."""

    lines: Sequence[str]

    def text(self) -> list[str]:
        return list(self.lines)


@dataclass(frozen=True)
class Card:
    """The displayed parts of an object.

    Attributes:
        title: what it is.
        lead: the most important, in a line.
        parts: tables, bars and drawings.
        notes: what else a reader should know, a line each.
    """

    title: str
    lead: str = ""
    parts: Sequence[CardTable | Shares | Pictures | Plain] = ()
    notes: Sequence[str] = ()

    def text(self) -> str:
        """Return all of it but the drawings as text.

        >>> print(Card("Answer", "protects each row", notes=["cost epsilon(1)"]).text())
        protects each row
        cost epsilon(1)
        """
        lines = [line for part in self.parts for line in part.text()]
        return "\n".join([*([self.lead] if self.lead else []), *lines, *self.notes])

    def html(self) -> str:
        """Return all of it as a fragment of HTML.

        Raises:
            MissingExtraError: jinja2 is not installed.
        """
        parts = [(type(part).__name__.lower(), part) for part in self.parts]
        return render("tacit.display", "card.html", {"card": self, "parts": parts})


class Shown:
    """Who has a card shows it in notebooks.

    Where jinja2 is missing, or the object cannot be asked any more (its file is closed), the
    notebook shows the text.
    """

    def card(self) -> Card:
        """Return what a notebook displays: by default its text."""
        return Card(type(self).__name__, parts=[Plain(str(self).splitlines())])

    def _repr_html_(self) -> str | None:
        try:
            return self.card().html()
        except TacitError:
            return None


_SOON = 1.0  # seconds: what takes less needs no word


@contextmanager
def working(text: str) -> Iterator[None]:
    """Show in a notebook that something is running, and for how long; elsewhere nothing.

    >>> with working("reading the table"):
    ...     pass
    """
    # The line is emptied at the end: how long a query took may depend on the rows, and a notebook
    # is saved with what it shows.
    if not in_notebook():
        yield
        return
    over = threading.Event()
    teller = threading.Thread(target=_tell, args=(text, over), daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook; a console of IPython is none."""
    known = sys.modules.get("IPython")
    shell = None if known is None else known.get_ipython()
    return getattr(shell, "kernel", None) is not None


def _tell(text: str, over: threading.Event) -> None:
    if over.wait(_SOON):
        return
    shown: Any = importlib.import_module("IPython.display")
    seconds = 1
    line = shown.display(_bundle(text, seconds), raw=True, display_id=True)
    while not over.wait(1.0):
        seconds += 1
        line.update(_bundle(text, seconds), raw=True)
    line.update({"text/plain": "", "text/html": ""}, raw=True)


def _bundle(text: str, seconds: int) -> dict[str, Any]:
    label = f"{text}: {seconds} s"
    bar = f'<progress aria-label="{html.escape(text, quote=True)}"></progress>'
    return {"text/plain": label, "text/html": f"{bar} {html.escape(label)}"}
