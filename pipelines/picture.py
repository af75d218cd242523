"""Picture of the README: the first page of the report of `make run`, as a browser draws it.

Needs Chromium or Chrome on the PATH. The report is about invented records.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

REPORT = Path("runs/first.training/report.html")
PICTURE = Path("docs/report.png")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
WIDTH, HEIGHT, COLOURS = 1100, 910, 32


def draw(report: Path, picture: Path) -> None:
    """Draw the first page of a report with few colours, so that the file is small."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise SystemExit("Chromium or Chrome is needed: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder:
        shot = Path(folder) / "shot.png"
        words = ["--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={WIDTH},{HEIGHT}"]
        call = [browser, *words, f"--screenshot={shot}", report.resolve().as_uri()]
        subprocess.run(call, check=True, stderr=subprocess.DEVNULL)
        with Image.open(shot) as image:
            image.convert("RGB").quantize(COLOURS).save(picture, optimize=True)


if __name__ == "__main__":
    if not REPORT.exists():
        sys.exit(f"{REPORT}: there is no such file; run `make run` first")
    draw(REPORT, PICTURE)
