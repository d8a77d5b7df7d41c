"""Progress in a notebook: a line under the cell while something takes longer than a second."""

from __future__ import annotations

import html
import importlib
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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
