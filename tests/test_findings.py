"""Findings: a type with stable codes, and the page that explains them."""

import json
import re
from pathlib import Path

import pytest

from scoring_model.configuration import Configuration, ConfigurationError, read_settings
from scoring_model.findings import CHECKS, Code, Finding, Severity, State, arranged, not_applicable

PAGE = (Path(__file__).parents[1] / "docs" / "findings.md").read_text(encoding="utf-8")


def test_codes_are_stable() -> None:
    """A code keeps its meaning for ever: files of gates and configurations name it."""
    assert {code.value: code.name for code in Code} == {
        "SM001": "SHUFFLED_LABELS",
        "SM002": "SINGLE_FEATURES",
        "SM003": "FUTURE",
        "SM004": "PERSONS",
        "SM005": "USELESS_FEATURES",
        "SM006": "BLIND_WINDOWS",
        "SM007": "TRAINING_PERIOD",
        "SM008": "TRAINING_RECORDS",
        "SM009": "SMALL_GROUPS",
        "SM010": "EXTRAPOLATED_SCORES",
        "SM011": "SEARCH_EDGE",
        "SM012": "MIXED_MATURITY",
        "SM013": "STOPPED",
        "SM014": "UNSEEN_KINDS",
        "SM015": "LATE_FRAUDS",
        "SM016": "STEP_UPS",
        "SM017": "CONTROL_GROUP",
        "SM018": "ONE_CODE",
        "SM019": "TELLING_COLUMNS",
        "SM020": "OUTSIDE_RANGE",
        "SM021": "BROKEN_PROMISES",
        "SM022": "PREVALENCE",
    }
    assert list(CHECKS) == list(Code)


def test_every_code_has_a_place_in_the_documentation() -> None:
    """The anchor of a finding is a heading of the page, which has no other."""
    finding = not_applicable(Code.FUTURE, "no reason")
    page, _, anchor = finding.page.partition("#")
    assert (page, anchor) == ("docs/findings.md", "sm003")
    assert re.findall(r"^## (.+)$", PAGE, re.MULTILINE) == [code.value for code in Code]


def test_muting_keeps_state_and_count() -> None:
    """A muted finding is shown with its count, and is no longer open; others stay as they are."""
    found = Finding(code=Code.SMALL_GROUPS, state=State.FOUND, sentence="3 groups are small", count=3)
    other = Finding(code=Code.FUTURE, state=State.FOUND, sentence="1 changed", count=1)
    first, muted = arranged([found, other], mute=["SM009"])
    assert first == other
    assert (muted.state, muted.count, muted.is_open, first.is_open) == (State.FOUND, 3, False, True)
    assert (str(muted), muted.verdict) == ("SM009 muted (3)", "found (3), muted")
    assert str(first) == "error SM003: 1 changed (docs/findings.md#sm003)"


def test_a_finding_survives_its_document() -> None:
    """What a bundle holds gives the same finding, with all that a reader needs."""
    found = Finding(
        code=Code.SINGLE_FEATURES,
        state=State.FOUND,
        sentence="x has an AUC of 1",
        count=1,
        records=10,
        names=("x",),
        figures={"x": 1.0},
        muted=True,
    )
    document = json.loads(json.dumps(found.to_json()))
    assert Finding.of(document) == found
    assert (document["severity"], document["page"]) == ("error", "docs/findings.md#sm002")
    assert document["why"]
    assert document["action"]


def test_severities_are_ordered() -> None:
    """A gate on a severity includes the graver ones."""
    assert [severity.rank for severity in (Severity.INFO, Severity.WARNING, Severity.ERROR)] == [0, 1, 2]


def test_an_unknown_code_is_named_with_the_nearest() -> None:
    """A configuration that mutes what does not exist is refused."""
    with pytest.raises(ConfigurationError, match=r"findings\.mute\.1: .*'sm005'; did you mean SM005\?"):
        read_settings(Configuration, {"name": "x", "findings": {"mute": ["SM001", "sm005"]}})
