"""Site: build the pages of the repository as a site whose search works without a network.

The pages keep their places and stay plain Markdown, so that relative links hold and another generator can take over.
The order of the navigation is that of docs/index.md.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
INDEX: Final = ROOT / "docs" / "index.md"
BUILD: Final = ROOT / "build"
PAGES: Final = BUILD / "pages"
LINK: Final = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
SETTINGS: Final = """[project]
site_name = "scoring-model"
site_description = "Identity risk scoring: from labelled records to decisions"
docs_dir = "pages"
site_dir = "site"
use_directory_urls = false
nav = {nav}

[project.theme]
font = false
features = ["navigation.indexes", "navigation.sections", "navigation.top", "search.highlight", "content.code.copy"]
"""


def files_of_site(page: Path, found: set[Path]) -> set[Path]:
    """Add a page, and all files of the repository that lead on from it, to those that were found."""
    if page not in found and page.is_file():
        found.add(page)
        if page.suffix == ".md":
            for link in LINK.findall(page.read_text(encoding="utf-8")):
                files_of_site((page.parent / link).resolve(), found)
    return found


def navigation() -> Iterator[dict[str, object]]:
    """Yield the README and the sections of the index with their pages, as the site wants them."""
    yield {"scoring-model": "README.md"}
    yield {"All pages": "docs/index.md"}
    for section in INDEX.read_text(encoding="utf-8").split("\n## ")[1:]:
        title, _, text = section.partition("\n")
        links = re.findall(r"\[([^\]]+)\]\(([^)]+\.md)\)", text)
        pages = {name: (INDEX.parent / link).resolve().relative_to(ROOT).as_posix() for name, link in links}
        yield {title: [{name: page} for name, page in pages.items()]}


def toml(value: object) -> str:
    """Write texts, lists and tables in one line of TOML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def prepare() -> Path:
    """Copy the pages and what they link to, write the settings, and return the path of these."""
    shutil.rmtree(PAGES, ignore_errors=True)
    for file in files_of_site(ROOT / "README.md", set()):
        copy = PAGES / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
    settings = BUILD / "zensical.toml"
    settings.write_text(SETTINGS.format(nav=toml(list(navigation()))), encoding="utf-8")
    return settings


if __name__ == "__main__":
    code = subprocess.call([sys.argv[1], "build", "--strict", "--clean", "--config-file", str(prepare())])
    print("to read and search it: python -m http.server --directory build/site 8080")
    sys.exit(code)
