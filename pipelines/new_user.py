"""The first hour as a new user has it: runs the commands of docs/first-hour.md as they stand, and writes their minutes.

They run in one shell, in a new clone of this tree's last commit and with an empty home; the first that fails ends all.
Those of docs/first-bundle.md follow, whose records are too many for a test: its minutes are printed. Needs what the
page says, and the index of packages.
"""

import os
import re
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Final

from scoring_model.records.atomic import write_whole

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "first-hour.md"
BUNDLE: Final = "A first bundle"
BEFORE: Final = """\
set -euo pipefail
trap 'kill $(jobs -p) 2> /dev/null || true' EXIT
began() { echo "$EPOCHREALTIME $1" >> "$HOME/times"; echo; echo "== $1"; }
demo() { # until there is something to look at; SIGTERM is Ctrl-C to it, which a shell without a terminal withholds
    PYTHONUNBUFFERED=1 "$@" > "$HOME/demo" &
    local process=$!
    until grep --quiet 'Ctrl-C stops' "$HOME/demo"; do kill -0 $process; sleep 1; done
    kill $process
    wait $process || true
    cat "$HOME/demo"
}
"""


def steps(page: str) -> dict[str, str]:
    """Return the commands below each heading of a page that has some."""
    found = {}
    for section in page.split("\n## ")[1:]:
        title, _, text = section.partition("\n")
        found[title] = "".join(re.findall(r"^```(?:ba)?sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    return {title: commands for title, commands in found.items() if commands}


def script(commands: dict[str, str]) -> str:
    """Return one script of all steps, which notes when each began."""
    text = "".join(f"began '{title}'\n{lines}" for title, lines in commands.items())
    return BEFORE + re.sub(r"^scoring-model demo", r"demo \g<0>", text, flags=re.MULTILINE) + "began end\n"


def minutes(folder: Path) -> dict[str, float]:
    """Run the page in a new clone, whose folder has the home too; return the minutes of each step."""
    home = folder / "home"
    home.mkdir()
    subprocess.run(["git", "clone", "--quiet", ROOT, folder / "checkout"], check=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SCORING_MODEL_")}
    bundle = steps(PAGE.with_name("first-bundle.md").read_text(encoding="utf-8"))["Commands"]
    words = ["bash", "-c", script({**steps(PAGE.read_text(encoding="utf-8")), BUNDLE: bundle})]
    done = subprocess.run(words, cwd=folder / "checkout", env={**kept, "HOME": str(home)}, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    times = [line.split(" ", 1) for line in (home / "times").read_text(encoding="utf-8").splitlines()]
    return {title: (float(end) - float(start)) / 60 for (start, title), (end, _) in pairwise(times)}


def main() -> None:
    """Write the minutes into the page."""
    with tempfile.TemporaryDirectory() as folder:
        found = minutes(Path(folder))
    print(f"{BUNDLE}: {found.pop(BUNDLE):.1f} minutes")
    rows = "".join(f"| {title} | {taken:.1f} |\n" for title, taken in found.items())
    total = f"| Together | {sum(found.values()):.1f} |\n"
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split("<!-- minutes -->\n")
    table = f"<!-- minutes -->\n| Step | Minutes |\n| --- | ---: |\n{rows}{total}<!-- end -->"
    write_whole(PAGE, before + table + rest.partition("<!-- end -->")[2])


if __name__ == "__main__":
    main()
