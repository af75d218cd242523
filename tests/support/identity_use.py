"""A minimal configuration of identity records with device signals, shared by several tests."""

import fcntl
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from scoring_model.bundle import Bundle
from scoring_model.configuration import Configuration, load_configuration
from scoring_model.records.reading import read_records
from scoring_model.training.run import run_training

YAML = """\
name: identity

signals:
  channel: {type: category}
  deviceId: {type: identifier}
  emailAgeDays: {type: number, trend: decreasing}
  emailDomain: {type: category}
  formSeconds: {type: number}
  ipCountry: {type: category, differs_from: address.country}
  sex: {type: category, protected: sex}
  vpn: {type: boolean}

links:
  keys:
    person: []
    address: [address.line1, address.city, address.country]
    device: [signals.deviceId]
    image: [imageUrls]
  windows: [24h, 30d]

features:
  drop_useless: false # tests read features that such a history leaves constant

records:
  max_bad_share: 0.01
  labels: {fraud: [fraud], genuine: [genuine]}

training:
  seed: 7
  leakage_checks: {max_records: 2000} # every check, on few records
  split: {label_maturity: 30d, gap: 30d, train: 0.6, validation: 0.2, min_frauds: 3}
  tuning: {trials: 2, folds: 1, max_rounds: 8, patience: 4}
  tuned:
    params: {learning_rate: 0.15, num_leaves: 15, min_data_in_leaf: 20, bagging_fraction: 0.8, bagging_freq: 1}
    rounds: 30

policy:
  max_false_reject: 0.01
  max_step_up: 0.08
"""
"""The configuration: parameters given, bounds that a few thousand records can certify."""

RELAXED_POLICY = "policy:\n  max_false_reject: 0.04\n  max_step_up: 0.2\n"
"""Bounds that a thousand records can certify."""


def write_configuration(folder: Path, text: str = YAML, *, name: str = "identity.yaml") -> Path:
    """Write a configuration file."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def configuration_of(folder: Path, text: str = YAML) -> Configuration:
    """Read a configuration from its text."""
    return load_configuration(write_configuration(folder, text))


def relaxed(text: str = YAML) -> str:
    """The same configuration with bounds for a small history, and without leakage checks."""
    text = text.replace("{max_records: 2000} # every check, on few records", "{run: false}")
    return text[: text.index("policy:")] + RELAXED_POLICY


def shared(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A file or folder shared by all test processes of a run: the first creates it, the others wait."""
    base = factory.getbasetemp()
    folder = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    path = folder / name
    with path.with_name(f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            make(path)
    return path


def checked(text: str) -> str:
    """The same configuration with leakage checks, on few records."""
    return text.replace("leakage_checks: {run: false}", "leakage_checks: {max_records: 2000}")


def train_bundle(records: Path, text: str, out: Path) -> None:
    """Train on a file of records and save the bundle."""
    configuration = load_configuration(write_configuration(out.parent, text, name=f"{out.name}.yaml"))
    table = read_records(records, configuration.schema, labelled=True).table
    run_training(table, configuration, threads=1).bundle.save(out)


def with_thresholds(bundle: Bundle, *, step_up_from: int, fail_from: int) -> Bundle:
    """The same model with other thresholds."""
    contents = bundle.contents
    policy = replace(contents.rules.policy, step_up_from=step_up_from, fail_from=fail_from)
    rules = replace(contents.rules, policy=policy)
    golden = replace(contents.golden, decisions=rules.decide(contents.golden.decisions.margins))
    return replace(bundle, contents=replace(contents, rules=rules, golden=golden))


def bodies(table: pa.Table, *, labels: bool = False) -> list[dict[str, Any]]:
    """The rows of a flat table, each shaped like the body of a request."""
    return [_body(row, labels=labels) for row in table.to_pylist()]


def _body(row: Mapping[str, Any], *, labels: bool) -> dict[str, Any]:
    body: dict[str, Any] = {}
    for name, value in row.items():
        if value is None or (name.startswith("label") and not labels):
            continue
        part, _, leaf = name.rpartition(".")
        (body.setdefault(part, {}) if part else body)[leaf] = value
    return body


def personal_texts(rows: Sequence[Mapping[str, Any]]) -> set[str]:
    """All personal texts of a flat row: names, address, ids and images."""
    kinds = ("firstName", "lastName", "address.line1", "address.line2", "externalId", "subjectId", "recordId")
    texts = {str(row[kind]) for row in rows for kind in (*kinds, "signals.deviceId") if row.get(kind)}
    return texts | {url for row in rows for url in row.get("imageUrls") or ()}
