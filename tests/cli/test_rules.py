"""The commands that switch the rules of a database."""

import json
import shutil
from pathlib import Path

import pytest

from program import Captured, run

URL = "sqlite:///scoring.db"
RULES = """
rules:
  - code: FARM
    title: A farm of devices
    when: {signals.deviceId: {is: farm}}
    then: %s
"""


@pytest.fixture
def folder(tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with an empty database."""
    shutil.copy(migrated, tmp_path / "scoring.db")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_rules_are_activated_listed_and_rolled_back(capsys: Captured, sealed: Path, folder: Path) -> None:
    """`activate` advises to observe before a rule fails people; a rollback after the first leads to none."""
    file, base = folder / "rules.yaml", ("--database", URL)
    assert run(capsys, "rules", "rollback", *base)[0] == 1
    assert run(capsys, "rules", "list", *base)[1] == "no rules were ever active\n"
    file.write_text(RULES % "OBSERVE")
    code, said, _ = run(capsys, "rules", "activate", file, sealed, *base)
    assert (code, "let it OBSERVE first" in said) == (0, False)
    file.write_text(RULES % "FAILED")
    code, said, _ = run(capsys, "rules", "activate", file, sealed, *base)
    assert (code, "let it OBSERVE first" in said) == (0, True)
    code, _, complaint = run(capsys, "rules", "activate", file, sealed, *base)
    assert (code, "are active already" in complaint) == (1, True)
    assert run(capsys, "rules", "rollback", *base)[0] == 0
    listed = json.loads(run(capsys, "rules", "list", *base, "--json")[1])
    assert [(one["active"], one["rules"][0]["then"]) for one in listed] == [
        (True, "OBSERVE"),
        (False, "FAILED"),
        (False, "OBSERVE"),
    ]
    assert listed[0]["version"] == listed[2]["version"]
    assert "FARM  OBSERVE  0 hits  A farm of devices" in run(capsys, "rules", "list", *base)[1]
    file.write_text(RULES % "STOP")
    code, _, complaint = run(capsys, "rules", "activate", file, sealed, *base)
    assert (code, "rules.0.then" in complaint) == (1, True)


def test_a_rule_that_has_ended_is_named(capsys: Captured, sealed: Path, folder: Path) -> None:
    """A year that was mistyped: the rule is sound and holds for nobody, which check, activate and list say."""
    file, base = folder / "rules.yaml", ("--database", URL)
    file.write_text(RULES % "OBSERVE" + "    until: 2020-01-31\n")
    told = "rule FARM has ended (until: 2020-01-31): it holds for nobody any more"
    said = run(capsys, "rules", "check", file, sealed)[1]
    assert told in said
    assert "1 rule is sound, outcomes are changed by 0 of them" in said
    for words in (("activate", file, sealed), ("list",)):
        code, said, _ = run(capsys, "rules", *words, *base)
        assert (code, told in said) == (0, True)
    file.write_text(RULES % "OBSERVE" + "    until: 2120-01-31\n")
    assert "ended" not in run(capsys, "rules", "activate", file, sealed, *base)[1]


def test_a_training_keeps_what_rules_read_or_refuses(capsys: Captured, folder: Path) -> None:
    """`train --rules` names what its configuration leaves out, before it reads any record."""
    file, records = folder / "rules.yaml", folder / "records.csv"
    records.touch()
    (folder / "use.yaml").write_text("name: x\nfeatures: {exclude: [event_hour]}\n")
    file.write_text(RULES.replace("signals.deviceId: {is: farm}", "event_hour: {below: 6}") % "OBSERVE")
    words = ("train", records, "--config", folder / "use.yaml", "--out", folder / "b", "--rules", file)
    code, _, complaint = run(capsys, *words)
    assert (code, "rules.0.when.event_hour: nothing has this name" in complaint) == (1, True)
    assert not (folder / "b.training").exists()
