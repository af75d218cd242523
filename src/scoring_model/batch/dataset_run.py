"""Runs the stages of a scored dataset, and completes or refuses its output.

Decision record: docs/adr/0026-datasets.md.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np
from pyarrow.fs import FileSelector, FileType

from scoring_model.batch.outputs import read_output, remove_output, write_output
from scoring_model.batch.plan import STAGES, Content, Limits, Plan, Request, Stage, Work, scan_source
from scoring_model.batch.sources import absolute_location
from scoring_model.batch.stages import (
    equal_records,
    list_violations,
    merged,
    records_of,
    repeated_rows,
    run_task,
)
from scoring_model.contract.outcome import OUTCOMES
from scoring_model.contract.rules import Rule
from scoring_model.parallel import Workers
from scoring_model.parallel.progress import Progress, Report
from scoring_model.records.atomic import json_text
from scoring_model.records.quarantine import QUARANTINE_COLUMNS, accept_counts, quarantine_lines
from scoring_model.records.reading import field_columns
from scoring_model.records.stored import StoredFile, file_system
from scoring_model.rules import Rules, parse_rules
from scoring_model.scorer import Scorer
from scoring_model.scorer.frames import AbsentColumns, EqualRecords, RepeatedRecords, absent_signals

MANIFEST: Final = "_manifest.json"
SUMMARY: Final = "summary.json"
QUARANTINE: Final = "quarantine.csv"
WORK: Final = "_work"
_SHARD: Final = re.compile(r"([1-9]\d{0,5})/([1-9]\d{0,5})")


class StageIncomplete(ValueError):
    """A stage needs another one that is not done as a whole."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Shard:
    """One of several equal shares of the tasks of a stage: `number` of 1 to `of`."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Read `3/16`.

        Raises
        ------
        ValueError
            If it is not of this form, or there are not so many shards.
        """
        match = _SHARD.fullmatch(text)
        if match is None or int(match[1]) > int(match[2]):
            raise ValueError(f"a shard must be like 3/16, its number from 1 on, got {text!r}")
        return cls(number=int(match[1]), of=int(match[2]))


@dataclass(frozen=True, kw_only=True, slots=True)
class DatasetRun:
    """The result of scoring a dataset.

    Parameters
    ----------
    complete : bool
        Whether the dataset is complete; if not, other stages or shards are missing and the counts are 0.
    refused : int
        Rows that break the contract.
    quarantine : str or None
        Path of the list of the refused rows, if any.
    later_labels : int or None
        Labels that became known at the as-of instant or later, which did not count; None without such an instant.
    """

    complete: bool
    records: int = 0
    refused: int = 0
    outcomes: Mapping[str, int]
    quarantine: str | None = None
    later_labels: int | None = None


@dataclass(frozen=True, kw_only=True)
class Run:
    """A call of `score_dataset`."""

    out: str
    work: Work
    workers: Workers
    max_bad_share: float
    report: Report

    def finished(
        self, scorer: Scorer, content: Content, rules: Rules | None, *, resume: bool
    ) -> DatasetRun | None:
        """Return the result of a dataset that is complete already; remove what its run left."""
        text = read_output(self.out, SUMMARY) if read_output(self.out, MANIFEST) is not None else None
        if text is None:
            return None
        summary = json.loads(text)
        given = (scorer.manifest.model_version, scorer.manifest.policy_version)
        if (summary["modelVersion"], summary["policyVersion"]) != given:
            raise ValueError(f"{self.out}: holds a dataset that another bundle scored")
        if summary.get("rulesVersion") != (None if rules is None else rules.version):
            raise ValueError(f"{self.out}: holds a dataset that was scored with other rules")
        if summary.get("content", "decisions") != content:
            raise ValueError(f"{self.out}: holds a dataset of {summary.get('content', 'decisions')}")
        if not resume:
            raise ValueError(f"{self.out}: holds a scored dataset already; name another folder, or remove it")
        if self.work.plan_path.exists() and self.work.plan().request.out == absolute_location(self.out):
            self.work.remove()  # the run ended between its manifest and this
        return self._result(summary)

    def plan(
        self, request: Request, given: Sequence[Sequence[StoredFile]], scorer: Scorer, limits: Limits
    ) -> Plan:
        """Return the plan of the work folder, which must be of this request, or make it."""

        def make() -> Plan:
            sources = [scan_source(self.workers, files, scorer.contents.schema, limits) for files in given]
            return Plan.of(request, sources, limits, scorer.matrix, processes=self.workers.processes)

        plan = self.work.create(make)
        if different := ", ".join(plan.request.differences(request)):
            raise ValueError(f"{self.work.folder}: holds the work of another run; what differs: {different}")
        self._warn_of_absent(plan, scorer)
        system, path = file_system(self.out)
        system.create_dir(path, recursive=True)
        return plan

    def _warn_of_absent(self, plan: Plan, scorer: Scorer) -> None:
        """Warn of signals that the model reads and some files lack, once for all files that lack the same ones."""
        lacking: dict[tuple[str, ...], list[str]] = {}
        for scanned in plan.sources[0].files:
            schema = scanned.schema_of(scorer.contents.schema)
            present = field_columns(scanned.columns, schema, labelled=False)
            lacking.setdefault(tuple(absent_signals(scorer, present)), []).append(scanned.file.name)
        for absent, (first, *others) in lacking.items():
            if absent:
                more = f" and {len(others):,} more" if others else ""
                self.report(f"warning: {first}{more}: {AbsentColumns(absent)}")

    def _result(self, summary: Mapping[str, Any]) -> DatasetRun:
        return DatasetRun(
            complete=True,
            records=summary["records"],
            refused=summary["refused"],
            outcomes=summary["outcomes"],
            quarantine=f"{self.out.rstrip('/')}/{QUARANTINE}" if summary["refused"] else None,
            later_labels=summary.get("laterLabels"),
        )

    def check_folder(self, *, resume: bool) -> None:
        """Refuse a folder with files, unless a run is resumed."""
        system, path = file_system(self.out)
        if system.get_file_info(path).type == FileType.File:
            raise ValueError(f"{self.out}: must be a folder")
        held = [info.base_name for info in system.get_file_info(FileSelector(path, allow_not_found=True))]
        if self.work.plan_path.exists():
            if resume:
                return
            raise ValueError(
                f"{self.out}: a run was begun here and is not complete; continue it with --resume, or remove "
                f"{self.out} and {self.work.folder}"
            )
        # A refused run leaves the one, a failed start the other.
        if others := sorted({*held} - {QUARANTINE, WORK}):
            raise ValueError(f"{self.out}: must be empty, it holds {', '.join(others[:3])}")

    def stages(self, plan: Plan, stage: Stage | None, shard: Shard | None) -> DatasetRun:
        """Run the stages that were asked for; complete the dataset if nothing is missing."""
        for name in STAGES if stage is None else [stage]:
            self._check_before(plan, name)
            if name == "links":
                self._accept_early(plan)
            whole = name != "score" and stage is None  # without stages only scores are shared out
            self._run_stage(plan, name, None if whole else shard)
        if missing := plan.tasks("score") - len(self.work.done("score")):
            self.report(f"{missing} of {plan.tasks('score')} units are not scored yet")
            return DatasetRun(complete=False, outcomes={})
        return self._complete(plan)

    def _check_before(self, plan: Plan, stage: Stage) -> None:
        for name in STAGES[: STAGES.index(stage)]:
            missing = set(range(plan.tasks(name))) - self.work.done(name)
            if missing:
                raise StageIncomplete(
                    f"stage {stage} needs the whole stage {name}: {len(missing)} of {plan.tasks(name)} tasks are "
                    f"missing (the first is {min(missing)}); run its other shards, or those that failed again"
                )

    def _run_stage(self, plan: Plan, stage: Stage, shard: Shard | None) -> None:
        done = self.work.done(stage)
        every = range(plan.tasks(stage))
        mine = every if shard is None else every[shard.number - 1 :: shard.of]
        tasks = [(str(self.work.folder), stage, task) for task in mine if task not in done]
        sizes = {task: records_of(plan, stage, task) for task in mine}
        progress = Progress(
            name=stage,
            total=sum(sizes.values()),
            done=sum(sizes[task] for task in mine if task in done),
            report=self.report,
        )
        for _, records in self.workers.run(run_task, tasks):
            progress.add(records)

    def _manifests(self, plan: Plan, stage: Stage) -> list[dict[str, Any]]:
        return [json.loads(self.work.manifest(stage, task).read_bytes()) for task in range(plan.tasks(stage))]

    def _accept_early(self, plan: Plan) -> None:
        """Refuse too many bad rows, and scored records in the history, before anything is scored."""
        scored = self._manifests(plan, "partition")[: plan.scored_units]
        repeated, copies = repeated_rows(self.work, plan)
        if len(copies) and not plan.request.allow_repeats:
            self._give_up()
            raise RepeatedRecords(
                len(copies), f"the first is row {copies['row'][0] - plan.sources[0].rows} there"
            )
        if equal := equal_records(self.work, plan):
            self.report(f"warning: {EqualRecords(equal)}")
        repeated = repeated[repeated["row"] < plan.sources[0].rows]
        refused = sum(one.get("refused", 0) for one in scored) + int(np.count_nonzero(~repeated["refused"]))
        if refused > self.max_bad_share * plan.sources[0].rows:
            counts = Counter(merged(one for one in scored if one))
            counts["recordId", str(Rule.DUPLICATE)] += len(repeated)
            tasks = [(str(self.work.folder), task) for task in range(plan.scored_units)]
            list(self.workers.run(list_violations, tasks))
            self._refuse(plan, refused, dict(counts.most_common()))

    def _give_up(self) -> None:
        """Leave nothing, so that the same command can be run again."""
        self.work.remove()
        if "://" not in self.out and not any(Path(self.out).iterdir()):
            Path(self.out).rmdir()

    def _refuse(self, plan: Plan, refused: int, counts: Mapping[tuple[str, str], int]) -> None:
        """Leave the quarantine alone, and raise."""
        counts = {rule: count for rule, count in counts.items() if count}
        self._write_quarantine(plan)
        for manifest in self.work.folder.glob("score/[0-9]*.json"):
            for part in json.loads(manifest.read_bytes())["parts"]:
                remove_output(self.out, part["name"])
        self.work.remove()
        accept_counts(
            plan.sources[0].rows,
            refused,
            counts,
            max_share=self.max_bad_share,
            more=f"; {self.out.rstrip('/')}/{QUARANTINE} lists them: repair the source and run the same command again",
        )

    def _write_quarantine(self, plan: Plan) -> None:
        listed = (self.work.quarantine_file(task).read_bytes() for task in range(plan.scored_units))
        blocks = chain([quarantine_lines([QUARANTINE_COLUMNS]).encode()], listed)
        write_output(self.out, QUARANTINE, blocks, private=True)

    def _complete(self, plan: Plan) -> DatasetRun:
        """Write what describes the whole dataset, its manifest last."""
        units = self._manifests(plan, "score")
        refused = sum(unit["refused"] for unit in units)
        if refused > self.max_bad_share * plan.sources[0].rows:
            self._refuse(plan, refused, merged(iter(units)))
        if refused:
            self._write_quarantine(plan)
        else:
            remove_output(self.out, QUARANTINE)
        outcomes: Counter[str] = Counter()
        for unit in units:
            outcomes.update(unit["outcomes"])
        summary: dict[str, Any] = {
            "records": sum(unit["records"] for unit in units),
            "refused": refused,
            "outcomes": {str(outcome): outcomes[str(outcome)] for outcome in OUTCOMES},
            "violations": [
                {"field": field, "rule": rule, "rows": count}
                for (field, rule), count in merged(iter(units)).items()
            ],
            "modelVersion": plan.request.model_version,
            "policyVersion": plan.request.policy_version,
        }
        if plan.request.content != "decisions":
            summary["content"] = plan.request.content
        if plan.request.rules is not None:
            summary["rulesVersion"] = parse_rules(json.loads(plan.request.rules)).version
        if plan.request.as_of is not None:
            summary["laterLabels"] = self._later_labels(plan)
        parts = [part for unit in units for part in unit["parts"]]
        self._remove_partial_files()
        _write_json(self.out, SUMMARY, summary)
        _write_json(self.out, MANIFEST, {"parts": parts, "records": summary["records"]})
        self.work.remove()
        return self._result(summary)

    def _remove_partial_files(self) -> None:
        """Remove what processes left that were killed while they wrote a part."""
        if "://" not in self.out:
            for path in Path(self.out).glob(".*.part-*"):
                path.unlink(missing_ok=True)

    def _later_labels(self, plan: Plan) -> int:
        late = sum(one["late"] for one in self._manifests(plan, "partition"))
        return int(late - sum(np.count_nonzero(rows["late"]) for rows in repeated_rows(self.work, plan)))


def _write_json(out: str, name: str, document: Mapping[str, Any]) -> None:
    write_output(out, name, [json_text(document).encode()])
