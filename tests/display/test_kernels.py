"""In real kernels: a session works, with and without ipywidgets, and each object shows itself once.

Jupyter, JupyterLab, VS Code and Colab all speak to an ipykernel; the last two are known to
libraries by marks that they leave, which the tests leave too.  marimo runs cells on its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.servers.left_out import if_installed, needs

manager = if_installed("jupyter_client.manager")
pytestmark = pytest.mark.full
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


@needs_kernel
def test_what_takes_long_says_so_and_leaves_nothing_behind() -> None:
    with kernel({}) as run:
        run(
            "import time\n"
            "from tacit.display.progress import in_notebook, working\n"
            "assert in_notebook()"
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
