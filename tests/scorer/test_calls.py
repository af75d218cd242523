"""What a program that guesses gets: the names at the top of the package, and the right call for a wrong one."""

import dataclasses
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import scoring_model
from scoring_model import Scorer, train


def test_the_top_of_the_package_names_what_it_has() -> None:
    """`dir` lists every name, each can be loaded, and the version is that of the installed package."""
    assert {name for name in dir(scoring_model) if not name.startswith("_")} == {*scoring_model.__all__}
    assert "__version__" in dir(scoring_model)
    assert {"compare", "evaluate"} <= set(scoring_model.__all__)
    assert all(callable(getattr(scoring_model, name)) for name in scoring_model.__all__)
    assert scoring_model.__version__ == metadata.version("scoring-model")


def untyped(one: object) -> Any:
    """What a program without types calls."""
    return one


def test_a_wrong_call_is_answered_with_the_right_one(scorer: Scorer, sealed: Path, frame: pa.Table) -> None:
    """Five calls that people guess are one line each, which names the call to make."""
    records, kind, fit = frame.slice(0, 3).to_pandas(), untyped(Scorer), untyped(train)
    calls: dict[str, Callable[[], object]] = {
        r"Scorer\.load\(path\)": lambda: kind(str(sealed)),
        r"score\(data, history=\.\.\., as_of=\.\.\.\)": lambda: kind.score(scorer, records, reasons=True),
        r"train\(frame, load_configuration\(path\)\)": lambda: fit(records, records["label"]),
        r"explain\(record, history=\.\.\.\)": lambda: scorer.contributions(records.iloc[0]),
        r"contributions\(frame, history=\.\.\.\)": lambda: scorer.explain(records),
    }
    for right, call in calls.items():
        with pytest.raises(TypeError, match=right) as caught:
            call()
        assert "\n" not in str(caught.value)


def test_one_record_is_explained_by_the_names_that_score_takes(scorer: Scorer, frame: pa.Table) -> None:
    """A Series and a dict with the names of the file are explained as the request, with frames as history."""
    schema = dataclasses.replace(
        scorer.contents.schema, columns={"eventTime": "Zeit", "firstName": "Vorname"}
    )
    company = Scorer(scorer.manifest, dataclasses.replace(scorer.contents, schema=schema))
    plain = {"eventTime": "2026-01-01T00:00:00Z", "firstName": "Anna", "signals": {"vpn": True}}
    own = {"Zeit": "2026-01-01T00:00:00Z", "Vorname": "Anna", "vpn": True}
    expected = scorer.explain(plain)
    for record in (own, pd.Series(own)):
        assert company.explain(record) == expected
    past = frame.slice(200, 1).to_pandas()
    row = past.iloc[0].copy()
    past = past.assign(recordId="earlier", eventTime=past["eventTime"] - pd.Timedelta("1h"))
    found = scorer.explain(row, history=past)
    assert found.decision == scorer.score(row, history=past)
    assert found != scorer.explain(row)


def test_contributions_of_a_frame_are_those_of_its_features(scorer: Scorer, frame: pa.Table) -> None:
    """A frame with the names of a file gives the columns of `features`, bit for bit, without the features."""
    records, past = frame.slice(200, 30), frame.slice(0, 200)
    whole = scorer.features(records, history=past, contributions=True)
    found = scorer.contributions(records, history=past)
    assert found.equals(whole.drop_columns(list(scorer.matrix.names)))
    data = records.to_pandas().set_axis(range(5, 35), axis=0)
    shown = scorer.contributions(data, history=past)
    assert shown.index.tolist() == data.index.tolist()
    sums = shown.filter(like="contribution.").sum(axis=1) + shown["base"]
    np.testing.assert_allclose(sums, scorer.score(data, history=past)["margin"], rtol=0, atol=1e-9)


def test_a_row_of_a_frame_is_one_record_as_series_and_as_dict(scorer: Scorer, frame: pa.Table) -> None:
    """Labels, arrays and NaN for missing values make a dict the row of a frame."""
    records = frame.slice(0, 40).to_pandas().astype(object)
    records = records.where(records.notna(), np.nan)
    for _, row in records.iterrows():
        bare = {name: value for name, value in row.items() if not str(name).startswith("label")}
        assert scorer.score(row.to_dict()) == scorer.score(bare) == scorer.score(row)
