"""Gates are read once into frozen types; the schema of editors and the page follow from these."""

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest
import yaml
from jsonschema_rs import Draft202012Validator, meta

from scoring_model.configuration import (
    ConfigurationError,
    FindingSettings,
    Gate,
    GateSettings,
    LookSettings,
    load_gates,
    read_settings,
)
from scoring_model.configuration.schema import gates_schema
from scoring_model.figures import FLIP_RATES, GROUP_RATES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "gates.md").read_text(encoding="utf-8")


def described() -> dict[str, str]:
    """The keys of the page, with their meaning."""
    return dict(re.findall(r"^\| `([^`]+)` \| .+? \| .+? \| (.+) \|$", PAGE, re.MULTILINE))


def test_the_committed_gates_are_read() -> None:
    """The file names the schema, keeps it, and is read."""
    path = ROOT / "configs" / "gates.yaml"
    assert path.read_text(encoding="utf-8").startswith("# yaml-language-server: $schema=gates.schema.json\n")
    assert (load_gates(path).columns(pair=True), load_gates(path).columns(pair=False)) == (
        ("documentType",),
        (),
    )
    schema = json.loads((ROOT / "configs" / "gates.schema.json").read_text(encoding="utf-8"))
    assert meta.is_valid(schema)
    assert Draft202012Validator(schema).is_valid(yaml.safe_load(path.read_text(encoding="utf-8")))
    assert schema == gates_schema({re.sub(r"<\w+>", "*", key): text for key, text in described().items()})


def test_every_key_is_described() -> None:
    """The page names exactly the keys of the file, and every choice of rates."""
    parts = {"findings": (FindingSettings,), "looks": (LookSettings,), "gates.<name>": get_args(Gate)}
    nested = {
        f"{name}.{field.name}" for name, kinds in parts.items() for kind in kinds for field in fields(kind)
    }
    keys = [field.name for field in fields(GateSettings) if field.name not in ("gates", "findings", "looks")]
    assert sorted(described()) == sorted([*keys, *nested])
    assert all(f"`{name}`" in PAGE for name in (*FLIP_RATES, *GROUP_RATES))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{gates: {}}", "at least one gate"),
        ("{gates: {a: {above: 1}}}", "gates.a: must have exactly one of figure, difference"),
        ("{gates: {a: {figure: ks, difference: ks, above: 1}}}", "gates.a: must have exactly one of"),
        ("{gates: {a: {figure: ks}}}", "above, below or both"),
        ("{gates: {a: {promise: all, below: 1}}}", "not with promise"),
        ("{gates: {a: {findings: error, below: 1}}}", "not with promise, findings, drift or early"),
        (
            "{gates: {a: {findings: SM03}}}",
            "gates.a.findings: there is no finding 'SM03'; did you mean SM013?",
        ),
        ("{gates: {a: {findings: eror}}}", "did you mean error?"),
        (
            "{gates: {a: {findings: error}}, findings: {mute: [SM001, XY]}}",
            "findings.mute.1: there is no finding 'XY'",
        ),
        ("{gates: {a: {findings: SM001}}, findings: {mute: [SM001]}}", "no gate on a muted finding: a"),
        ("{gates: {a: {group_gap: sex, below: 0.1}}}", "rate with group_gap and group_change"),
        ("{gates: {a: {figure: ks, rate: failed, below: 0.1}}}", "rate with group_gap and group_change"),
        ("{gates: {a: {figure: ks, min_group: 5, below: 0.1}}}", "min_group only with group_gap"),
        ("{gates: {a: {figure: ks, above: .nan}}}", "gates.a.above: must be finite"),
        ("{gates: {a: {flips: none, below: 0.1}}}", "gates.a.flips"),
        ("{gates: {a: {figure: ks, abov: 1}}}", "did you mean above?"),
        (
            "{gates: {a: {figure: ks, above: 1}}, looks: {figure: missed_fraud}}",
            "looks.figure: must be one of roc_auc, average_precision, ks, recall_at_fpr_0.001, ",
        ),
        (
            "{gates: {a: {figure: ks, above: 1}}, looks: {figure: recal_at_fpr_0.01}}",
            "(did you mean recall_at_fpr_0.01?)",
        ),
        ("{gates: {a: {figure: ks, above: 1}}, min_days: 9}", "min_days: must be at least 10"),
    ],
)
def test_wrong_gates_are_refused(text: str, problem: str) -> None:
    """The error names the gate and the rule."""
    with pytest.raises(ConfigurationError) as refused:
        read_settings(GateSettings, yaml.safe_load(text))
    assert problem in str(refused.value)
