"""The site: it is built without a warning, has every name and command, and reads well in a browser.

A page, a link or a docstring that Sphinx finds wrong fails the build.  What Sphinx does not look at
is read from the pages that it wrote: anchors, and that nothing comes from elsewhere.
"""

from __future__ import annotations

import functools
import http.server
import importlib
import json
import re
import shutil
import subprocess
import sys
import threading
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

import tacit
from house.project import script
from support.servers.left_out import needs, reason
from tacit import framework, learn

ROOT = Path(__file__).parents[2]
BROWSER = ROOT / "tests" / "support" / "browser"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
NODE = shutil.which("node")
THERE = (BROWSER / "node_modules" / "puppeteer-core").is_dir()


def groups() -> Any:
    """The module that says on which page a public name stands; it needs nothing."""
    return script("tools/docsite/groups.py")


def test_every_public_name_has_one_place_in_the_reference() -> None:
    told = groups()
    names = [name for group in told.GROUPS for name in group.names.split()]
    of_tacit = [name for name in names if "." not in name]
    assert sorted([*of_tacit, *told.PACKAGES, *told.SPREAD]) == sorted(tacit.__all__)
    assert len(set(names)) == len(names)
    shared = {name for name in framework.__all__ if name in tacit.__all__}
    placed = {name.removeprefix("framework.") for name in names if name.startswith("framework.")}
    assert placed == set(framework.__all__) - shared
    for name in names:
        room, _, inner = name.rpartition(".")
        assert not room or inner in getattr(tacit, room).__all__


class Page(HTMLParser):
    """What a page of the site links to, what it loads, and where one can link to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        self.anchors |= {said[name] or "" for name in ("id", "name") if said.get(name)}
        target = said.get("href") or said.get("src") or ""
        if tag == "a" and target:
            self.links.append(target)
        elif target and (tag != "link" or said.get("rel") in ("stylesheet", "icon", "preload")):
            self.loaded.append(target)


class Site:
    """The folder that was built."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pages = {p.relative_to(folder).as_posix(): Page(p) for p in folder.rglob("*.html")}

    def dead(self) -> list[str]:
        """The links and the files that lead nowhere."""
        wrong = []
        for name, page in self.pages.items():
            for link in (*page.links, *page.loaded):
                parts = urlsplit(link)
                if parts.scheme or parts.netloc:
                    continue
                path = unquote(parts.path)
                target = (self.folder / name).parent / path if path else self.folder / name
                place = target.resolve().relative_to(self.folder.resolve()).as_posix()
                there = target.exists() and (
                    not parts.fragment
                    or place not in self.pages
                    or unquote(parts.fragment) in self.pages[place].anchors
                )
                if not there:
                    wrong.append(f"{name}: {link}")
        return wrong


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    out = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "make_docs.py"), "--out", str(out)],
        capture_output=True,
        text=True,
        timeout=500,
        env=None,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return Site(out / "html")


of_the_site = [
    pytest.mark.full,
    pytest.mark.xdist_group("site"),
    needs("sphinx", "pip install 'tacit-dp[docs]'"),
]


def marked(test: Any) -> Any:
    """Mark a test that reads what was built."""
    return functools.reduce(lambda made, mark: mark(made), of_the_site, test)


@marked
def test_every_public_name_and_command_stands_on_a_page(site: Site) -> None:
    anchors = {anchor for page in site.pages.values() for anchor in page.anchors}
    rooms = groups().PACKAGES
    spread = groups().SPREAD
    wanted = {f"tacit.{name}" for name in tacit.__all__ if name not in (*rooms, *spread)}
    wanted |= {f"tacit.framework.{name}" for name in framework.__all__ if name not in tacit.__all__}
    for room in rooms:
        module = importlib.import_module(f"tacit.{room}")
        wanted |= {f"tacit.{room}.{name}" for name in module.__all__}
    assert wanted - anchors == set()
    from cli.test_audit import DOCUMENTED_COMMANDS as COMMANDS

    commands = site.pages["reference/commands.html"].anchors
    assert {name for name in COMMANDS if name.replace(" ", "-") not in commands} == set()


@marked
def test_no_link_leads_nowhere_and_nothing_comes_from_elsewhere(site: Site) -> None:
    assert site.dead() == []
    loaded = {target for page in site.pages.values() for target in page.loaded}
    assert {target for target in loaded if re.match(r"(https?:)?//", target)} == set()


@marked
def test_the_gallery_and_the_benchmarks_show_their_pictures(site: Site) -> None:
    calls = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8").count('.svg")')
    shown = [image for image in site.pages["gallery.html"].loaded if image.endswith(".svg")]
    assert len(set(shown) - {"_static/mark.svg"}) == calls > 10
    drawn = [image for image in site.pages["benchmarks.html"].loaded if image.endswith(".svg")]
    assert {Path(image).name for image in drawn} >= {"ten-tasks.svg", "plans.svg"}
    assert "drawn:" not in (site.folder / "benchmarks.html").read_text(encoding="utf-8")


@marked
def test_what_scrolls_has_the_keyboard_and_a_dash_is_a_dash(site: Site) -> None:
    for name in ("gallery.html", "reference/tables.html", "explanations/theorems.html"):
        text = (site.folder / name).read_text(encoding="utf-8")
        scrolls = re.findall(r"<pre[^>]*>|<p[^>]*><img", text)
        scrolls += re.findall(r"<div[^>]*class=\"(?:math\"|table-wrapper)[^>]*>", text)
        assert scrolls, name
        assert [one for one in scrolls if "tabindex" not in one] == []
        assert "</strong> -- " not in text


@marked
def test_a_page_of_the_reference_says_what_it_is_and_says_it_once(site: Site) -> None:
    for name in groups().PACKAGES:
        text = (site.folder / f"reference/{name}.html").read_text(encoding="utf-8")
        assert "A <code" not in text.partition("Import it as")[0], name
    local = site.pages["reference/local.html"].anchors
    assert "tacit.local.Oracle.perturb" in local
    assert "tacit.local.UnaryEncoding.perturb" not in local  # that is said of Oracle
    text = (site.folder / "reference/local.html").read_text(encoding="utf-8")
    assert "Another name of" in text
    first = (site.folder / "reference/index.html").read_text(encoding="utf-8")
    assert re.search(
        r"Sessions and data sets.*Questions and answers.*Errors and warnings", first, re.S
    )


@marked
def test_every_page_of_the_docs_is_reached_from_the_first(site: Site) -> None:
    docs = ROOT / "docs"
    wanted = {p.relative_to(docs).with_suffix(".html").as_posix() for p in docs.rglob("*.md")}
    assert wanted <= set(site.pages)
    seen, open_ = {"index.html"}, ["index.html"]
    while open_:
        at = open_.pop()
        for link in site.pages[at].links:
            target = (site.folder / at).parent / unquote(urlsplit(link).path)
            inside = not urlsplit(link).scheme and target.resolve().is_relative_to(site.folder)
            place = target.resolve().relative_to(site.folder).as_posix() if inside else ""
            if place in site.pages and place not in seen:
                seen.add(place)
                open_.append(place)
    assert wanted <= seen


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    text = '<p id="a"><a href="#a"></a><a href="#b"></a><a href="x.html"></a><img src="y.png">'
    (tmp_path / "index.html").write_text(text)
    assert Site(tmp_path).dead() == ["index.html: #b", "index.html: x.html", "index.html: y.png"]


def answers() -> dict[str, list[tuple[str, str, str]]]:
    """By page what is typed into each box: the exercise, the text, and what the page must say."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for path in sorted((ROOT / "docs" / "tutorials").glob("[0-9]*.md")):
        typed = found.setdefault(f"tutorials/{path.stem}.html", [])
        for name in re.findall(r"Solution of ([\w-]+)<", path.read_text(encoding="utf-8")):
            exercise = learn.EXERCISES[name]
            truth = exercise.answer()
            given = [truth, *(mistake() for mistake in exercise.mistakes.values())]
            texts = [f"{each:.12f}" if isinstance(each, float) else str(each) for each in given]
            texts += [" -12345.5 ", "9/0", "ln 9", "yes", "No"]
            if not isinstance(truth, str):
                texts += [f"{float(truth) + 0.0009:.5f}", f"{float(truth) + 0.0011:.5f}"]
            typed += [(name, text, learn.check(name, text).text) for text in texts]
            typed.append((name, " ", "Not answered yet: type your answer."))
    return found


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves a folder and says nothing."""

    def log_message(self, *_: Any) -> None:
        return


@marked
@pytest.mark.skipif(CHROMIUM is None, reason=reason("chromium", "apt-get install chromium"))
@pytest.mark.skipif(
    NODE is None or not THERE, reason=reason("puppeteer-core", "npm ci in tests/support/browser")
)
def test_pages_read_well_in_a_browser(site: Site, tmp_path: Path) -> None:
    pages = [
        *("index.html", "first-statistics.html", "command-line.html", "project/security.html"),
        *("reference/index.html", "reference/tables.html", "reference/questions.html"),
        *("reference/commands.html", "reference/errors.html", "tutorials/2-local-sensitivity.html"),
        *("notebooks/2-local-sensitivity.html", "gallery.html", "benchmarks.html"),
        *("coming-from/opendp.html", "explanations/theorems.html"),
    ]
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=site.folder)
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    orders = {
        "chromium": CHROMIUM,
        "address": f"http://127.0.0.1:{server.server_port}",
        "pages": pages,
        "search": "smooth_noise",
        "exercises": {page: [one[:2] for one in typed] for page, typed in answers().items()},
    }
    (tmp_path / "orders.json").write_text(json.dumps(orders))
    try:
        done = subprocess.run(
            [str(NODE), str(BROWSER / "site.mjs"), str(tmp_path / "orders.json")],
            capture_output=True,
            text=True,
            timeout=300,
        )
    finally:
        server.shutdown()
        server.server_close()
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert len(found["pages"]) == 2 * len(pages)
    assert [p for p in found["pages"] if p["overflow"] or p["broken"] or p["violations"]] == []
    assert (found["wrong"], found["outside"]) == ([], [])
    assert found["hits"] >= 1
    wanted = [said for typed in answers().values() for _, _, said in typed]
    assert found["said"] == wanted
    # Without scripts there is no box, and the solution opens all the same.
    assert found["hidden"] == [[False, True] * 4] * 5
