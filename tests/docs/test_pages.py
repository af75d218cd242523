"""All pages: what they point to exists, what is generated is up to date, and they speak of the project alone."""

import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

import scoring_model
from scoring_model.bundle import reason_factors
from scoring_model.configuration import load_configuration
from scoring_model.contract.fields import EVENT_FIELDS, IDENTITY_FIELDS
from scoring_model.contract.rules import Rule
from scoring_model.features import FeatureMatrix, FittedState
from scoring_model.features.reference import reference

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("data/*.md")],
    key=lambda path: path.as_posix(),
)
ABSOLUTE: Final = re.compile(r"(?<![\w.:/])/(?:home|root|tmp|work|usr|mnt|Users)/")


def text_of(page: Path) -> str:
    """The text of a page."""
    return page.read_text(encoding="utf-8")


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site make them."""
    headings = re.findall(r"^#+ (.*)$", text_of(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def is_dead(page: Path, link: str) -> bool:
    """Whether a relative link names no file, or no heading of a page."""
    name, _, anchor = link.partition("#")
    target = page.parent / name if name else page
    return not target.exists() or (bool(anchor) and target.suffix == ".md" and anchor not in anchors(target))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_and_paths_lead_somewhere(page: Path) -> None:
    """Relative links, and paths of the repository in backticks, name what is there, headings included."""
    text = text_of(page)
    links = re.findall(r"\]\((?!https?:)([^)\s]+)\)", text)
    paths = re.findall(r"`((?:tests|src|docs|configs|data|pipelines|notebooks)/[\w./-]+)`", text)
    assert [link for link in links if is_dead(page, link)] == []
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_index_lists_every_page_once() -> None:
    """A page that nobody finds does not exist."""
    listed = re.findall(r"\]\(([\w-]+\.md)\)", text_of(ROOT / "docs" / "index.md"))
    assert sorted([*listed, "index.md"]) == sorted(page.name for page in ROOT.glob("docs/*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_page_names_a_machine(page: Path) -> None:
    """No page holds an absolute path."""
    assert ABSOLUTE.search(text_of(page)) is None


def pipeline(name: str = "docs") -> ModuleType:
    """The pipeline that writes pages, or another one."""
    path = ROOT / "pipelines" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"{name}_pipeline", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_metrics_page_is_up_to_date() -> None:
    """The committed page has every metric that is shown."""
    assert text_of(ROOT / "docs" / "metrics.md") == pipeline().metrics_page()


def test_the_features_page_is_up_to_date() -> None:
    """The committed page is what the catalogue of the default use gives."""
    assert text_of(ROOT / "docs" / "features.md") == pipeline().features_page()


def test_the_figures_page_is_up_to_date() -> None:
    """The committed page is what the registry gives: every figure that anything measures, in two sentences."""
    assert text_of(ROOT / "docs" / "figures.md") == pipeline().figures_page()


def test_the_page_of_python_is_up_to_date() -> None:
    """The committed page is what signatures and docstrings give, and has every name of the package."""
    made = pipeline("api_page")
    page = made.api_page()
    assert text_of(ROOT / "docs" / "api.md") == page
    assert set(scoring_model.__all__) <= set(re.findall(r"^### (\w+)$", page, re.MULTILINE))
    assert 30 <= sum(len(names.split()) for one in made.NAMES.values() for names in one.values()) <= 40


def test_the_site_has_every_page_in_the_order_of_the_index() -> None:
    """The site's files are all pages with what they link to; its navigation has the index's sections."""
    site = pipeline("site")
    files = site.files_of_site(ROOT / "README.md", set())
    assert set(PAGES) <= files
    titles = [title for entry in site.navigation() for title in entry]
    assert titles == ["scoring-model", "All pages", "Tutorial", "How to", "Reference", "Explanation"]
    assert tomllib.loads(site.SETTINGS.format(nav=site.toml(list(site.navigation()))))["project"]["nav"]


def test_the_findings_page_is_up_to_date() -> None:
    """The committed page is what the catalogue of checks gives: severity, reason and advice of every code."""
    assert text_of(ROOT / "docs" / "findings.md") == pipeline().findings_page()


def test_the_schema_of_configurations_is_up_to_date() -> None:
    """The committed schema is what the types give, with the sentences of the page."""
    assert text_of(ROOT / "configs" / "schema.json") == pipeline().schema_text()


@pytest.mark.parametrize("name", ["identity", "signup", "transactions", "duplicates", "names"])
def test_the_reference_names_every_feature_once(name: str) -> None:
    """Each feature of the catalogue has one row, in use or off, and each reason code has one."""
    configuration = load_configuration(ROOT / "configs" / f"{name}.yaml")
    matrix = FeatureMatrix(configuration.feature_settings, FittedState())
    sentences = reason_factors(matrix, use=configuration.use, share=0.1).sentences
    page = reference(matrix, sentences)
    rows = re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE)
    assert sorted(rows) == sorted([*(feature.name for feature in matrix.catalogue), *sentences])
    assert [row for row in rows if row in matrix.names] == list(matrix.names)
    off = page[page.index("## Off") : page.index("## Reason codes")] if "## Off" in page else ""
    assert not any(f"`{used}`" in off for used in matrix.names)


def test_every_law_names_a_test() -> None:
    """Each law names a test that proves it."""
    sections = re.split(r"^## ", text_of(ROOT / "docs" / "laws.md"), flags=re.MULTILINE)[1:]
    assert sections
    assert all("`tests/" in section for section in sections)


def test_the_contract_of_the_data_is_whole() -> None:
    """The page of the data names every field and every rule."""
    page = text_of(ROOT / "data" / "README.md")
    reported = set(re.findall(r"`([A-Za-z0-9_.]+)`", page))
    assert {*IDENTITY_FIELDS, *EVENT_FIELDS, *(str(rule) for rule in Rule)} <= reported
