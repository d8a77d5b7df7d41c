"""Make the pictures of the README: an answer, and the certificate of its release.

The release is real: the question of the README, asked of the bundled table with fresh noise. What a
notebook shows of the answer, and the page that ``tacit verify --html`` writes of the certificate,
are drawn by Chromium. Usage, with Chromium installed and Pillow, which matplotlib brings::

    python tools/make_pictures.py

What it prints is the output that stands in the README beside the pictures.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from PIL import Image, ImageChops

import tacit as tc
from tacit.cli import run
from tacit.data import health_insurance

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
CARD = '<!doctype html><meta charset="utf-8"><body style="margin: 12px; background: #fff">'
CERTIFICATE_ENDS = 1200  # pixels from its top: where the answers begin
COLOURS = 24  # a few greys and blues; keeps a picture below 80 kB


def release(folder: Path) -> tuple[Path, Path]:
    """Ask the question of the README; return the pages of its answer and of its certificate."""
    session = tc.Session(
        health_insurance(),
        unit=tc.unit("person", rows=5, groups=1),
        budget=tc.epsilon(1),
        ledger=str(folder / "visits.ledger"),
    )
    question = session.group_by("site", keys=[1, 2, 3, 4, 5, 6]).agg(
        n=tc.count(), visits=tc.mean("visits", 0, 20)
    )
    print(question.preview(epsilon="1/2"))
    answer = question.release(epsilon="1/2")
    print(answer)
    card, sealed, page = folder / "answer.html", folder / "visits.json", folder / "visits.html"
    card.write_text(CARD + (answer._repr_html_() or ""), encoding="utf-8")
    answer.certificate.save(str(sealed))
    if run(["verify", str(sealed), "--html", str(page)]):
        raise SystemExit("the certificate was refused")
    return card, page


def photograph(page: Path, width: int, height: int) -> Image.Image:
    """Draw a page as a browser window of this size shows it."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        raise SystemExit("Chromium is not installed: apt-get install chromium")
    shot = page.with_suffix(".png")
    flags = ["--headless", "--hide-scrollbars", f"--user-data-dir={page.parent / 'profile'}"]
    flags += ["--no-sandbox"] if os.geteuid() == 0 else []
    flags += [f"--window-size={width},{height}", f"--screenshot={shot}"]
    subprocess.run([browser, *flags, page.as_uri()], check=True, capture_output=True, timeout=120)
    with Image.open(shot) as picture:
        return picture.convert("RGB")


def without_margin(picture: Image.Image) -> Image.Image:
    """Cut off what has the colour of the lower right corner, below all else."""
    corner = picture.getpixel((picture.width - 1, picture.height - 1))
    plain = Image.new("RGB", picture.size, corner)
    box = ImageChops.difference(picture, plain).getbbox()
    bottom = picture.height if box is None else min(box[3] + 12, picture.height)
    return picture.crop((0, 0, picture.width, bottom))


def main() -> None:
    """Make both."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        card, page = release(Path(folder))
        drawn = {
            "answer": without_margin(photograph(card, 800, 1000)),
            "certificate": photograph(page, 900, CERTIFICATE_ENDS),
        }
    for name, picture in drawn.items():
        path = PICTURES / f"{name}.png"
        picture.quantize(COLOURS).save(path, optimize=True)
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
