"""The browser's client in node and in a real headless Chromium, against the Python decoder."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit
from support.servers.left_out import reason
from tacit.errors import UsageError
from tacit.local import (
    Collector,
    DirectEncoding,
    FrequencyOracle,
    HadamardResponse,
    Items,
    OptimizedLocalHashing,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
    Wire,
    client_config,
    write_page,
)

HERE = Path(__file__).parent
VECTORS = HERE / "vectors" / "reports.json"
SCRIPT = HERE.parents[1] / "src" / "tacit" / "local" / "js" / "tacit-local.js"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
NODE = shutil.which("node")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--virtual-time-budget=20000",
]  # fmt: skip

pytestmark = [pytest.mark.full, pytest.mark.xdist_group("browser")]
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason=reason("chromium", "apt-get install chromium")
)
needs_node = pytest.mark.skipif(NODE is None, reason=reason("node", "apt-get install nodejs"))


class Site(ThreadingHTTPServer):
    """A folder served on the loopback, and what was posted to it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
        self.folder = folder
        self.posted: list[bytes] = []
        self.asked: list[str] = []
        self.replies = [204]

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(SimpleHTTPRequestHandler):
    server: Site

    def do_POST(self) -> None:
        self.server.posted.append(self.rfile.read(int(self.headers["Content-Length"])))
        code = self.server.replies[min(len(self.server.posted), len(self.server.replies)) - 1]
        if code:
            self.send_response(code)
            self.end_headers()  # else the connection ends without a reply, as if it were lost

    def log_message(self, format: str, *args: Any) -> None:
        self.server.asked.append(self.requestline)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    folder = tmp_path / "site"
    folder.mkdir()
    shutil.copy(SCRIPT, folder)
    shutil.copy(VECTORS, folder / "vectors.json")
    with Site(folder) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield served
        served.shutdown()


def visit(site: Site, page: str, profile: Path, *more: str) -> str:
    """What the page has become once its scripts have run."""
    assert CHROMIUM is not None
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", *more, "--dump-dom"]
    done = subprocess.run(
        [*command, f"{site.address}/{page}"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def text_of(page: str, name: str) -> str:
    """The text of the element with this id."""
    found = re.search(rf'<(\w+)[^>]*\bid="{name}"[^>]*>(.*?)</\1>', page, re.DOTALL)
    assert found is not None, name
    return html.unescape(re.sub(r"<[^>]+>", "", found[2]))


def script_page(site: Site, name: str, code: str) -> str:
    """Write a page that runs a module and shows what it returns."""
    body = f"""<pre id="out"></pre><script type="module">
    import {{ Client }} from "./tacit-local.js";
    const run = async () => {{ {code} }};
    document.getElementById("out").textContent = await run().catch((error) => `failed: ${{error}}`);
    </script>"""
    (site.folder / name).write_text(body, encoding="utf-8")
    return name


def in_browsers() -> int:
    return sum(len(v["cases"]) for v in json.loads(VECTORS.read_text("utf-8")) if "client" in v)


@needs_node
def test_vectors_in_node() -> None:
    assert NODE is not None
    done = subprocess.run(
        [NODE, HERE / "vectors.mjs", SCRIPT, VECTORS], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == in_browsers() > 400


@needs_chromium
def test_vectors_in_chromium(site: Site, tmp_path: Path) -> None:
    code = """
      let same = 0;
      for (const { client: config, cases } of await (await fetch("vectors.json")).json()) {
        for (const wanted of config ? cases : []) {
          const random = Uint8Array.from(wanted.random.match(/../g), (h) => parseInt(h, 16));
          let used = 0;
          const source = (n) => random.subarray(used, (used += n));
          const made = new Client(config, source).report(wanted.answer);
          const hex = Array.from(made.bytes, (b) => b.toString(16).padStart(2, "0")).join("");
          same += hex === wanted.bytes && JSON.stringify(made.json) === JSON.stringify(wanted.json)
            && used === random.length;
        }
      }
      return same;
    """
    page = visit(site, script_page(site, "vectors.html", code), tmp_path / "profile")
    assert text_of(page, "out") == str(in_browsers())


QUESTIONS: dict[str, FrequencyOracle] = {
    "two coins": RandomizedResponse(["yes", "no"], p="3/4"),
    "direct": DirectEncoding(7, epsilon=1),
    "unary": UnaryEncoding(7, p="3/4", q="1/4"),
    "hashing": OptimizedLocalHashing(7, epsilon=1),
    "hadamard": HadamardResponse(7, epsilon=1),
}
PEOPLE = 4000


@needs_chromium
def test_thousands_of_secure_reports_of_chromium(site: Site, tmp_path: Path) -> None:
    """Real WebCrypto: the collector accepts all, and estimates hold the truth."""
    configs = {name: client_config(oracle) for name, oracle in QUESTIONS.items()}
    (site.folder / "configs.json").write_text(json.dumps(configs), encoding="utf-8")
    code = f"""
      const configs = await (await fetch("configs.json")).json();
      for (const [name, config] of Object.entries(configs)) {{
        const client = new Client(config), answers = client.answers, reports = [];
        for (let i = 0; i < {PEOPLE}; i++)
          reports.push(client.report(answers[i % 4 ? 1 : 0]).bytes);
        await fetch("/" + name, {{ method: "POST", body: new Blob(reports) }});
      }}
      return Object.keys(configs).length;
    """
    page = visit(site, script_page(site, "many.html", code), tmp_path / "profile")
    assert text_of(page, "out") == str(len(QUESTIONS))
    for oracle, body in zip(QUESTIONS.values(), site.posted, strict=True):
        size = Wire(oracle).report_bytes
        collector = Collector(oracle, replay="exact")
        for start in range(0, len(body), size):
            assert collector.add_report(body[start : start + size]), collector.refused
        assert collector.n == PEOPLE
        truth = np.array([PEOPLE / 4, 3 * PEOPLE / 4] + [0] * (len(oracle.domain) - 2))
        estimate = collector.estimate()
        # a sound client fails one of these 30 checks once in 60,000 runs
        assert (abs(estimate.counts - truth) < 5 * estimate.standard_error).all(), estimate


def clicking(place: int, send: bool) -> str:
    """A person: chooses, makes the report, and perhaps sends it."""
    return f"""<script type="module">
    await import("./tacit-local.js");
    await new Promise((done) => setTimeout(done, 100));
    document.querySelectorAll("input[name=answer]")[{place}].click();
    document.getElementById("make").click();
    if ({str(send).lower()}) document.getElementById("send").click();
    </script>"""


@needs_chromium
@pytest.mark.parametrize("name", ["two coins", "unary", "hashing"])
def test_the_page_sends_exactly_what_it_shows(name: str, site: Site, tmp_path: Path) -> None:
    oracle = QUESTIONS[name]
    path = write_page(site.folder, oracle, "Which <one> & why?", send_to="/report")
    path.write_text(path.read_text("utf-8") + clicking(1, send=True), encoding="utf-8")
    page = visit(site, "survey.html", tmp_path / "profile")
    assert text_of(page, "question") == "Which <one> & why?"
    assert text_of(page, "status").startswith("Sent.")
    (sent,) = site.posted
    assert sent.hex(" ") == text_of(page, "bytes")
    found = Wire(oracle).read_json(text_of(page, "json"))
    decoded = Wire(oracle).decode(sent)
    assert found[0] == decoded.id  # type: ignore[index]
    assert np.array_equal(found[1], decoded.report)  # type: ignore[arg-type]
    gets = {line.split()[1] for line in site.asked if line.startswith("GET")}
    assert gets <= {"/survey.html", "/tacit-local.js", "/favicon.ico"}  # nothing else was asked for


@needs_chromium
def test_a_second_visit_sends_the_same_report(site: Site, tmp_path: Path) -> None:
    """A person who comes back draws no second lie."""
    path = write_page(site.folder, QUESTIONS["two coins"], "Again?", send_to="/report")
    plain = path.read_text("utf-8")
    (site.folder / "first.html").write_text(plain + clicking(0, send=False), encoding="utf-8")
    profile = tmp_path / "profile"
    first = text_of(visit(site, "first.html", profile), "bytes")
    again = visit(site, "survey.html", profile)
    assert text_of(again, "bytes") == first != ""
    assert text_of(again, "truth") == "was not kept"


SEND = """<script type="module">
    await import("./tacit-local.js");
    await new Promise((done) => setTimeout(done, 100));
    document.getElementById("send").click();
    </script>"""


@needs_chromium
@pytest.mark.parametrize(
    ("replies", "first", "shown", "after"),
    [
        ([204], "Sent.", "Sent.", "Sent."),
        ([0, 400], "No reply came", "No reply came", "The collector did not take it this time"),
        ([0, 204], "No reply came", "No reply came", "Sent."),
        ([409], "Sent.", "Sent.", "Sent."),
        ([500, 204], "Not sent: the collector answered 500", "", "Sent."),
    ],
)
def test_who_comes_back_is_told_what_is_true(
    replies: list[int], first: str, shown: str, after: str, site: Site, tmp_path: Path
) -> None:
    """A report that counts was called "Not sent" after a reload, and where its reply was lost."""
    path = write_page(site.folder, QUESTIONS["two coins"], "Again?", send_to="/report")
    plain, profile = path.read_text("utf-8"), tmp_path / "profile"
    (site.folder / "first.html").write_text(plain + clicking(0, send=True), encoding="utf-8")
    (site.folder / "again.html").write_text(plain + SEND, encoding="utf-8")
    site.replies = replies
    assert text_of(visit(site, "first.html", profile), "status").startswith(first)
    assert text_of(visit(site, "survey.html", profile), "status").startswith(shown)
    assert text_of(visit(site, "again.html", profile), "status").startswith(after)
    assert len(set(site.posted)) == 1


@needs_chromium
def test_a_page_opened_from_disk_says_why_it_does_not_start(site: Site, tmp_path: Path) -> None:
    path = write_page(tmp_path, QUESTIONS["two coins"], "On disk?", send_to="/report")
    shown = _visited(path.as_uri(), tmp_path / "profile")
    assert "must come from a web server" in " ".join(text_of(shown, "notice").split())
    served = visit(site, write_page(site.folder, QUESTIONS["two coins"], "Served?").name, tmp_path)
    assert 'id="notice"' not in served


@needs_chromium
def test_the_client_refuses_what_the_device_must_refuse(site: Site, tmp_path: Path) -> None:
    closed = client_config(DirectEncoding(["a", "b"], epsilon=1))
    opened = client_config(
        DirectEncoding(Items(["a", "b"], other="other", missing="none"), epsilon=1)
    )
    code = f"""
      const tried = (config, answer) => {{
        try {{ return new Client(config).report(answer).json.mechanism; }}
        catch {{ return "refused"; }}
      }};
      const closed = {json.dumps(closed)}, opened = {json.dumps(opened)};
      const unknown = {{ ...closed, draw: {{ kind: "x" }} }};
      return [tried(closed, "a"), tried(closed, "c"), tried(closed, null), tried(opened, "c"),
        tried(opened, null), tried({{}}, "a"), tried(unknown, "a")].join();
    """
    page = visit(site, script_page(site, "refuse.html", code), tmp_path / "profile")
    right = "DirectEncoding"
    wanted = [right, "refused", "refused", right, right, "refused", "refused"]
    assert text_of(page, "out").split(",") == wanted


def test_the_script_is_small_and_needs_nothing() -> None:
    text = SCRIPT.read_text("utf-8")
    assert len(text) < 8_000
    assert not re.search(r"\bimport\b(?! \{ Client \})", re.sub(r"//.*", "", text))
    assert "Math.random" not in text


def test_mechanisms_that_the_browser_does_not_have() -> None:
    with pytest.raises(UsageError, match="SubsetSelection"):
        client_config(SubsetSelection(5, epsilon=1))


def test_a_page_shows_a_list_that_a_person_can_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="200"):
        write_page(tmp_path, DirectEncoding(201, epsilon=1), "?")
    path = write_page(tmp_path / "new", DirectEncoding(["</script>", "x"], epsilon=1), "?")
    assert path.read_text("utf-8").count("</script>") == 2


def tutorial() -> str:
    """The survey of the docs, as far as its server is running."""
    page = (HERE.parents[1] / "docs" / "tutorials" / "4-local-model.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(?!>>>)(.*?)```", page, re.DOTALL)
    chosen = [block for block in blocks if "write_page(" in block or "class Survey" in block]
    assert len(chosen) == 2
    return "\n".join(chosen)


@needs_chromium
def test_the_survey_of_the_tutorial_runs_in_a_browser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three people with browsers of their own, one of whom comes back, and a stranger's junk."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"tc": tacit}
    exec(tutorial(), names)
    server, collector = names["server"], names["collector"]
    try:
        page = tmp_path / "survey" / "survey.html"
        plain = page.read_text("utf-8")
        for person in range(3):
            page.write_text(plain + clicking(person, send=True), encoding="utf-8")
            shown = _visited(names["address"], tmp_path / str(person))
            assert text_of(shown, "status").startswith("Sent.")
        again = _visited(names["address"], tmp_path / "2")
        assert "paper clips" in text_of(again, "question")
        with pytest.raises(urllib.error.HTTPError, match="400"):
            urllib.request.urlopen(names["address"], data=b"junk")
    finally:
        server.shutdown()
        server.server_close()
    assert collector.n == 3
    assert collector.refused["not a report"] == 1
    assert set(collector.refused) <= {"not a report", "replay"}
    assert collector.estimate().n == 3


def _visited(address: str, profile: Path) -> str:
    assert CHROMIUM is not None
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "--dump-dom", address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@needs_chromium
@pytest.mark.parametrize("name", QUESTIONS)
def test_reports_of_chromium_have_the_law_of_python(name: str, site: Site, tmp_path: Path) -> None:
    """WebCrypto's own bits, 20,000 reports of one answer, against the listed distribution."""
    n, few = (
        20_000,
        {
            "hashing": OptimizedLocalHashing(7, epsilon=1, seed_bits=3),
            "unary": UnaryEncoding(4, p="3/4", q="1/4"),
        },
    )
    small = few.get(name, QUESTIONS[name])
    config = json.dumps(client_config(small))
    code = f"""
      const client = new Client({config}), answer = client.answers[1], reports = [];
      for (let i = 0; i < {n}; i++) reports.push(client.report(answer).bytes.slice(38));
      await fetch("/law", {{ method: "POST", body: new Blob(reports) }});
      return reports.length;
    """
    page = visit(site, script_page(site, "law.html", code), tmp_path / "profile")
    assert text_of(page, "out") == str(n)
    payloads = np.frombuffer(site.posted[0], np.uint8).reshape(n, -1)
    batch, good = Wire(small).unpack(payloads)
    assert good.all()
    law = small.distribution(small.domain.labels[1])
    seen = dict.fromkeys(law, 0)
    for report in batch.tolist():
        seen[tuple(report) if isinstance(report, list) else report] += 1
    expected = np.array([float(p) * n for p in law.values()])
    assert expected.min() > 5
    statistic = ((np.array(list(seen.values())) - expected) ** 2 / expected).sum()
    degrees = len(law) - 1
    assert statistic < degrees + 6 * (2 * degrees) ** 0.5 + 20, statistic  # once in millions
