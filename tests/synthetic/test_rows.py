import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from scoring_model.records.times import DAY
from scoring_model.synthetic.rows import EXTRACT_AFTER


@pytest.fixture(scope="module")
def frame(history: pa.Table) -> pd.DataFrame:
    """Return labels and truth columns."""
    columns = ["eventTime", "label", "labelKnownAt", "truth.kind"]
    frame: pd.DataFrame = history.select(columns).to_pandas()
    frame["fraud"] = frame["truth.kind"] != "genuine"
    frame["days"] = (frame["labelKnownAt"] - frame["eventTime"]).dt.total_seconds() / 86_400
    return frame


def test_a_label_has_a_later_time(frame: pd.DataFrame) -> None:
    """A label and its time come together, and the time is never before the event."""
    assert (frame["label"].isna() == frame["labelKnownAt"].isna()).all()
    assert (frame["days"].dropna() > 0).all()


def test_fraud_is_known_late(frame: pd.DataFrame) -> None:
    """The median delay of fraud labels is about 25 days, and nine in ten come within 60."""
    days = frame.loc[frame["label"] == "fraud", "days"]
    assert days.median() == pytest.approx(25, abs=4)
    assert 0.88 < (days < 60).mean() < 0.97


def test_some_frauds_are_never_found(frame: pd.DataFrame) -> None:
    """5 to 8 % of the true frauds lack the label; a review labelled some of them genuine."""
    missed = frame[frame["fraud"] & (frame["label"] != "fraud")]
    assert 0.045 < len(missed) / frame["fraud"].sum() < 0.09
    assert missed["label"].isna().any()


def test_a_few_genuine_records_are_labelled_fraud(frame: pd.DataFrame) -> None:
    """0.05 to 0.1 % of the genuine are labelled fraud by mistake."""
    genuine = frame[~frame["fraud"]]
    assert 0.0004 < (genuine["label"] == "fraud").mean() < 0.0011


def test_most_genuine_have_no_label(frame: pd.DataFrame) -> None:
    """Reviews label some of the genuine, but not most."""
    genuine = frame[~frame["fraud"]]
    assert 0.03 < (genuine["label"] == "genuine").mean() < 0.15


def test_labels_end_with_the_extract(frame: pd.DataFrame) -> None:
    """No label is later than the extract; records whose label would be later have none."""
    end = pd.Timestamp("2026-01-01", tz="UTC")
    assert frame["labelKnownAt"].max() < end + pd.Timedelta(np.timedelta64(EXTRACT_AFTER // DAY, "D"))
