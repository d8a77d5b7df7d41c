"""A certificate on paper: nothing is cut off, and no heading is parted from its chart."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import tacit as tc
from support.servers.left_out import reason
from tacit.data import health_insurance

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PDFTOTEXT = shutil.which("pdftotext")
SITES = [1, 2, 3, 4, 5, 6]
ANSWERS = ("first", "second", "third", "fourth", "fifth", "sixth")

pytestmark = [
    pytest.mark.full,
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(CHROMIUM is None, reason=reason("chromium", "apt-get install chromium")),
    pytest.mark.skipif(
        PDFTOTEXT is None, reason=reason("pdftotext", "apt-get install poppler-utils")
    ),
]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    ledger = tmp_path_factory.mktemp("paper") / "ledger"
    unit = tc.unit("person", rows=5, groups=1)
    session = tc.Session(health_insurance(), unit=unit, budget=tc.epsilon(1), ledger=ledger)
    asked = {name: tc.mean("visits", 0, 20 + i) for i, name in enumerate(ANSWERS)}
    answer = session.group_by("site", keys=SITES).agg(**asked).release(epsilon=1)
    return answer.certificate.to_html()


def printed(page: str, folder: Path) -> list[list[str]]:
    """Return the lines of every page of paper."""
    (folder / "page.html").write_text(page, encoding="utf-8")
    assert CHROMIUM is not None
    assert PDFTOTEXT is not None
    flags = (
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
        *("--no-pdf-header-footer", f"--user-data-dir={folder / 'profile'}"),
    )
    paper, source = folder / "page.pdf", (folder / "page.html").as_uri()
    done = [CHROMIUM, *flags, f"--print-to-pdf={paper}", source]
    subprocess.run(done, check=True, capture_output=True, timeout=120)
    text = subprocess.run(
        [PDFTOTEXT, "-layout", str(paper), "-"], check=True, capture_output=True, text=True
    ).stdout
    pages = [
        [line.strip() for line in one.splitlines() if line.strip()] for one in text.split("\f")
    ]
    return [lines for lines in pages if lines]


@pytest.mark.parametrize("lines", [0, 3, 6, 9, 12, 15])
def test_a_heading_stays_with_its_chart(page: str, lines: int, tmp_path: Path) -> None:
    """Wherever on the paper it comes to stand: what is above it is made longer."""
    pushed = page.replace("<h2>The answers</h2>", "<p>more</p>" * lines + "<h2>The answers</h2>")
    assert (pushed == page) == (lines == 0)
    pages = printed(pushed, tmp_path)
    for one in pages:
        assert one[-1] not in ANSWERS
        assert not one[-1].startswith("the mean of visits")
        if "All values" in one:
            assert one.index("All values") < len(one) - 2


def test_all_values_of_many_answers_are_on_the_paper(page: str, tmp_path: Path) -> None:
    words = [line.split() for lines in printed(page, tmp_path) for line in lines]
    rows = [line for line in words if len(line) >= 5 and line[1:2] and line[1] in ANSWERS]
    assert len(rows) == len(SITES) * len(ANSWERS)
    assert all(line[-2] == "to" for line in rows)
