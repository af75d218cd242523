"""A real bundle's scorer: a record alone is decided as in any table, in any order, with any history."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pytest
from numpy.testing import assert_array_equal

from identity_use import bodies
from scoring_model import synthetic
from scoring_model.arrays import FloatArray
from scoring_model.bundle import DecisionPart, read_bundle
from scoring_model.bundle.errors import GoldenMismatch
from scoring_model.configuration import Configuration
from scoring_model.contract.outcome import OUTCOMES
from scoring_model.decision.factors import Rule
from scoring_model.decision.reasons import FactualReasons
from scoring_model.records import FileFormat, InvalidRecord, RecordTable
from scoring_model.records.reading import read_records
from scoring_model.scorer import Decision, Scorer
from scoring_model.scorer.decider import Decider
from scoring_model.scorer.frames import Scored, score_table
from scoring_model.training.averaging import fix_leaves
from scoring_model.training.fitting import fit
from scoring_model.training.preparation import Prepared
from scoring_model.training.run import Training


@pytest.fixture(scope="module")
def dense() -> pa.Table:
    """Three hundred records of one month, many of them linked."""
    return pa.Table.from_batches(synthetic.generate(records=300, seed=3, months=1))


@pytest.fixture(scope="module")
def records(dense: pa.Table, identity: Configuration) -> RecordTable:
    """The same records, parsed."""
    return read_records(dense, identity.schema, labelled=True).table


@pytest.fixture(scope="module")
def scored(scorer: Scorer, records: RecordTable) -> Scored:
    """Decisions on the records as one table."""
    return score_table(scorer, records)


def decision_at(scored: Scored, row: int) -> tuple[Any, ...]:
    """The decision on one record of a table."""
    d = scored.decisions
    outcome = OUTCOMES[int(d.outcomes[row])]
    margin, probability = float(d.margins[row]).hex(), float(d.probabilities[row]).hex()
    return int(d.scores[row]), outcome, probability, margin, scored.reasons[row]


def decided(decision: Decision) -> tuple[Any, ...]:
    """The same of a decision about one record."""
    bits = decision.probability.hex(), decision.margin.hex()
    return decision.score, decision.outcome, *bits, decision.reasons


def test_a_record_alone_is_decided_as_in_its_table(scorer: Scorer, dense: pa.Table, scored: Scored) -> None:
    """A body with the table as history gets the score, outcome, probability, margin and reasons of its row."""
    alone = [
        decided(scorer.score(body, history=dense, allow_repeats=True))
        for body in bodies(dense.take(list(range(0, 300, 4))))
    ]
    assert alone == [decision_at(scored, row) for row in range(0, 300, 4)]


def test_links_matter_to_the_records_of_that_test(scorer: Scorer, dense: pa.Table, scored: Scored) -> None:
    """Without its history many a record is decided otherwise: the law above is about something."""
    alone = [scorer.score(body).margin for body in bodies(dense)]
    assert np.count_nonzero(np.array(alone) != scored.decisions.margins) > 50
    assert set(scored.decisions.outcomes.tolist()) >= {0, 1}


@pytest.mark.parametrize("order", [range(299, -1, -1), np.random.default_rng(1).permutation(300).tolist()])
def test_order_does_not_matter(
    scorer: Scorer, records: RecordTable, scored: Scored, order: Sequence[int]
) -> None:
    """A table in another order gets the same decisions, row by row."""
    shuffled = score_table(scorer, records.take(np.array(order)))
    assert [decision_at(shuffled, place) for place in range(300)] == [decision_at(scored, r) for r in order]


@pytest.mark.parametrize("cut", [0, 1, 150, 299, 300])
def test_the_earlier_part_may_be_history(
    scorer: Scorer, records: RecordTable, scored: Scored, cut: int
) -> None:
    """Cut anywhere in time, the later part with the earlier one as history is decided as in one table."""
    order = np.argsort(records.event_times, kind="stable")
    later = score_table(scorer, records.take(order[cut:]), history=records.take(order[:cut]))
    assert [decision_at(later, i) for i in range(300 - cut)] == [decision_at(scored, r) for r in order[cut:]]


@pytest.mark.parametrize("threads", [2, 5])
def test_threads_do_not_matter(
    sealed: Path, scorer: Scorer, history: RecordTable, training: Training, threads: int
) -> None:
    """Any number of threads gives the same bits."""
    rows = scorer.matrix.rows(history.take(training.split.test))
    expected, found = scorer.decide(rows), Scorer.load(sealed, threads=threads).decide(rows)
    for name in ("margins", "scores", "outcomes", "probabilities"):
        assert getattr(found, name).tobytes() == getattr(expected, name).tobytes()


def as_file(ending: str) -> Callable[[pa.Table, Path], Any]:
    """A way to write a table as a file as our own writers do."""

    def write(table: pa.Table, folder: Path) -> Path:
        path = folder / f"records{ending}"
        synthetic.write(path, records=300, seed=3, months=1)
        return path

    return write


def plain_csv(table: pa.Table, folder: Path) -> Path:
    """Write as Arrow writes by itself, columns the other way round."""
    images = pc.binary_join(table.column("imageUrls"), " ")
    place = table.schema.get_field_index("imageUrls")
    flat = table.set_column(place, "imageUrls", images)
    pyarrow.csv.write_csv(flat.select(flat.column_names[::-1]), folder / "plain.csv")
    return folder / "plain.csv"


SOURCES: dict[str, Callable[[pa.Table, Path], Any]] = {
    "parquet": as_file(".parquet"),
    "csv": as_file(".csv"),
    "json lines": as_file(".jsonl"),
    "csv of arrow": plain_csv,
    "arrow": lambda table, folder: table,
    "arrow batches": lambda table, folder: pa.RecordBatchReader.from_batches(
        table.schema, table.to_batches(max_chunksize=7)
    ),
    "pandas": lambda table, folder: table.to_pandas(),
    "pandas of objects": lambda table, folder: table.to_pandas().astype(object),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_the_form_of_the_source_does_not_matter(
    kind: str, scorer: Scorer, dense: pa.Table, scored: Scored, tmp_path: Path
) -> None:
    """The same records as a file of any format, or as any frame, get the same result."""
    found = scorer.score(SOURCES[kind](dense, tmp_path))
    if isinstance(found, pd.DataFrame):
        found = pa.Table.from_pandas(found, preserve_index=False)
    expected = scored.to_arrow()
    for name in ("recordId", "scoringScore", "scoringOutcome", "probability", "margin", "reasonCodes"):
        assert found.column(name).to_pylist() == expected.column(name).to_pylist(), name
    assert found.column("problems").null_count == 300


def test_margins_are_those_of_the_fixed_booster(
    training: Training, scorer: Scorer, prepared: Prepared
) -> None:
    """The bundle gives the bits of LightGBM's raw score, and so its outcomes, for every record."""
    margins = refitted(training, prepared).predict(prepared.rows, raw_score=True)
    found, policy = scorer.decide(prepared.rows), scorer.contents.rules.policy
    assert found.margins.tobytes() == margins.tobytes()
    scores = np.sum(scorer.contents.rules.scale.cuts[None, :] <= margins[:, None], axis=1)
    assert_array_equal(found.scores, scores)
    wanted = np.where(scores >= policy.fail_from, 2, np.where(scores >= policy.step_up_from, 1, 0))
    assert_array_equal(found.outcomes, wanted)
    assert len(np.unique(wanted)) == 3


def test_reasons_are_lightgbms_own_contributions(
    training: Training, scorer: Scorer, prepared: Prepared
) -> None:
    """Reasons are what factors say, by the sums of `pred_contrib`: those with a tenth of it all, unless PASSED."""
    rows = prepared.rows[prepared.split.test]
    outcomes = scorer.decide(rows).outcomes
    given = np.concatenate([np.flatnonzero(outcomes == code)[:40] for code in (1, 2)])
    contributions = refitted(training, prepared).predict(rows[given], pred_contrib=True)[:, :-1]
    for place, row in zip(contributions, rows[given], strict=True):
        sums = sums_of_what_is_said(scorer, row, place)
        found = [reason.code for reason in scorer.decide_row(row).reasons]
        positive = sorted((value for value in sums.values() if value > 0), reverse=True)
        best = [value for value in positive[:5] if value >= 0.1 * sum(positive)]
        assert 1 <= len(found) <= 5
        assert [sums[code] for code in found] == pytest.approx(best, abs=1e-9)
    for row in rows[outcomes == 0][:100]:
        assert scorer.decide_row(row).reasons == ()


def sums_of_what_is_said(scorer: Scorer, row: FloatArray, contributions: FloatArray) -> dict[str, float]:
    """Contributions by the code that the factor of each feature says of a row."""
    values = dict(zip(scorer.matrix.names, row.tolist(), strict=True))
    holds = {
        Rule.PRESENT: lambda name: not np.isnan(values[name]),
        Rule.POSITIVE: lambda name: values[name] > 0,
    }
    reasons = scorer.contents.reasons
    assert isinstance(reasons, FactualReasons)
    sums: dict[str, float] = {}
    for factor in reasons.factors.factors:
        code = next(
            statement.code
            for statement in factor.statements
            if all(any(map(holds[fact.rule], fact.columns)) for fact in statement.facts)
        )
        places = [scorer.matrix.names.index(name) for name in factor.features]
        sums[code] = sums.get(code, 0.0) + float(contributions[places].sum())
    return sums


def test_reasons_are_of_the_public_catalogue(scorer: Scorer, scored: Scored) -> None:
    """Every reason is an entry of the bundle's catalogue, sentence included."""
    given = [reason for row in scored.reasons for reason in row]
    assert given
    assert {(reason.code, reason.description) for reason in given} <= set(scorer.sentences.items())
    passed = scored.decisions.outcomes == 0
    assert all(bool(row) is not bool(p) for row, p in zip(scored.reasons, passed, strict=True))


def test_versions_are_those_of_the_manifest(scorer: Scorer, dense: pa.Table) -> None:
    """A decision names the model and the policy that made it."""
    decision = scorer.score(bodies(dense)[0])
    assert decision.model_version == scorer.manifest.model_version
    assert decision.policy_version == scorer.manifest.policy_version


def test_a_broken_record_is_refused_with_all_problems(scorer: Scorer) -> None:
    """One record that breaks the contract is an error that names every field and no value."""
    body = {
        "firstName": "Canary" * 30,
        "dob": "31.12.1999",
        "eventTime": "yesterday",
        "address": {"zip": "1"},
    }
    with pytest.raises(InvalidRecord) as caught:
        scorer.score(body)
    assert {found.field for found in caught.value.violations} == {
        "firstName",
        "dob",
        "eventTime",
        "address.zip",
    }
    assert "Canary" not in str(caught.value)


def refitted(training: Training, prepared: Prepared) -> Any:
    """LightGBM's booster with fixed leaves, trained again as the bundle's was."""
    split = prepared.split
    booster = fit(
        prepared.rows[split.train],
        split.train_targets,
        params=training.tuned.params,
        rounds=training.tuned.rounds,
        seed=7,
        threads=1,
        **prepared.feature_options,
    )
    return fix_leaves(booster)


def test_a_scorer_shows_its_bundle(scorer: Scorer, training: Training) -> None:
    """The same ten lines, and the same table in a notebook, as the bundle before it was sealed."""
    (title, *facts), (_, *expected) = repr(scorer).splitlines(), repr(training.bundle).splitlines()
    assert title == f"Scorer {training.bundle.model_version}"
    assert facts == expected
    assert len(facts) == 9
    assert scorer._repr_html_() == training.bundle._repr_html_().replace("Bundle", "Scorer")


def test_a_row_of_a_frame_is_decided_as_in_its_frame(scorer: Scorer, dense: pa.Table, scored: Scored) -> None:
    """A Series, and a dict with the columns of the file, are one record; histories may be several."""
    frame = dense.to_pandas()
    half = [dense.slice(0, 150), frame.iloc[150:]]
    for row in range(0, 300, 60):
        alone = scorer.score(frame.iloc[row], history=half, allow_repeats=True)
        assert decided(alone) == decision_at(scored, row)
        own = {
            name.removeprefix("signals."): value for name, value in dense.slice(row, 1).to_pylist()[0].items()
        }
        own = {name: value for name, value in own.items() if not name.startswith("label")}
        assert decided(scorer.score(own, history=half, allow_repeats=True)) == decision_at(scored, row)


def test_a_dict_of_a_company_is_read_as_its_files_are(scorer: Scorer) -> None:
    """Names and spelling of the schema's files hold for a dict that uses them; what is missing is missing."""
    schema = dataclasses.replace(
        scorer.contents.schema,
        columns={"eventTime": "Zeit", "dob": "Geburt", "firstName": "Vorname", "recordId": "Id"},
        format=FileFormat(dates=("%d.%m.%Y",), timezone="Europe/Berlin"),
    )
    company = Scorer(scorer.manifest, dataclasses.replace(scorer.contents, schema=schema))
    plain = {"eventTime": "2025-12-31T23:00:00Z", "dob": "1990-05-01", "signals": {"vpn": True}}
    assert decided(
        company.score({"Zeit": "01.01.2026", "Geburt": "1.5.1990", "vpn": "true", "x": 1})
    ) == decided(scorer.score(plain))
    with pytest.raises(InvalidRecord) as caught:
        company.score({"Zeit": "31.31.2026", "Geburt": "soon", "lastName": "x"})
    assert [found.field for found in caught.value.violations] == ["eventTime", "dob"]


def test_many_rows_are_decided_like_few(scorer: Scorer, prepared: Prepared) -> None:
    """A large table gets from the forest the decisions that its rows get from the graph, bit for bit."""
    rows = prepared.rows[:5_000]
    many = scorer.decide(rows)
    for start in range(0, len(rows), 1_000):
        few = scorer.decide(rows[start : start + 1_000])
        for name in ("margins", "scores", "probabilities", "outcomes"):
            found = getattr(many, name)[start : start + 1_000]
            assert_array_equal(found, getattr(few, name), strict=True)


def test_a_forest_that_is_not_of_its_graph_decides_nothing(sealed: Path) -> None:
    """Trees that do not reproduce the golden rows are refused when they are first asked about many rows."""
    files = read_bundle(sealed)
    contents = DecisionPart.of(files)
    other = dataclasses.replace(contents.forest, leaf_value=contents.forest.leaf_value + 2.0**-10)
    decider = Decider(files.manifest, dataclasses.replace(contents, forest=other))
    rows = contents.golden.rows
    many = np.repeat(rows, 4_000 // len(rows) + 1, axis=0)
    assert len(decider.decide(rows[:10]).margins) == 10
    with pytest.raises(GoldenMismatch):
        decider.decide(many)
