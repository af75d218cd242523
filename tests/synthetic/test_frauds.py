import pandas as pd
import pyarrow as pa
import pytest
from sklearn.metrics import roc_auc_score

KINDS = {"ring", "invented", "stolen", "burst"}
SHARED = ("signals.deviceId", "address", "image")


@pytest.fixture(scope="module")
def frame(history: pa.Table) -> pd.DataFrame:
    """Add link values to the history, and counts of other records that share them."""
    frame: pd.DataFrame = history.to_pandas()
    frame["fraud"] = frame["truth.kind"] != "genuine"
    frame["address"] = (frame["address.line1"] + "/" + frame["address.postalCode"]).str.lower()
    frame["image"] = frame["imageUrls"].str[0]
    frame["name"] = (frame["firstName"] + "/" + frame["lastName"]).str.lower()
    for key in (*SHARED, "name"):
        frame[f"n.{key}"] = frame.groupby(key)[key].transform("size")
    return frame


def test_every_kind_is_there(frame: pd.DataFrame) -> None:
    """Each kind of fraud is at least 5 % of all frauds."""
    shares = frame.loc[frame["fraud"], "truth.kind"].value_counts(normalize=True)
    assert set(shares.index) == KINDS
    assert shares.min() > 0.04


def test_the_mix_drifts(frame: pd.DataFrame) -> None:
    """Between the first and the last third, stolen identities become more frequent and invented ones less."""
    frauds = frame.loc[frame["fraud"], "truth.kind"]
    third = len(frauds) // 3
    first = frauds.iloc[:third].value_counts(normalize=True)
    last = frauds.iloc[-third:].value_counts(normalize=True)
    assert last["stolen"] > first["stolen"]
    assert last["invented"] < first["invented"]


@pytest.mark.parametrize("key", SHARED)
def test_rings_and_genuine_persons_share_values(frame: pd.DataFrame, key: str) -> None:
    """In rings, three persons share a value within days more often, but more genuine records do."""
    days = frame["eventTime"].dt.floor("14D")
    shared = frame.groupby([key, days])["truth.person"].transform("nunique") >= 3
    ring = frame["truth.kind"] == "ring"
    assert shared[ring].mean() > 2 * shared[~frame["fraud"]].mean()
    assert (shared & ~frame["fraud"]).sum() > (shared & ring).sum()


def test_victims_have_earlier_genuine_records(frame: pd.DataFrame) -> None:
    """Most victims have an earlier record of their own, and it is genuine."""
    stolen = frame[frame["truth.kind"] == "stolen"]
    genuine = frame[~frame["fraud"]].groupby("truth.person")["eventTime"].min()
    assert (stolen["truth.person"].map(genuine) < stolen["eventTime"]).mean() > 0.99


def test_bursts_come_within_hours(frame: pd.DataFrame) -> None:
    """Half of the records of bursts have at least ten more in the two hours around them."""
    times = frame.loc[frame["truth.kind"] == "burst", "eventTime"].reset_index(drop=True)
    hour = pd.Timedelta(hours=1)
    near = pd.Series([((times - time).abs() <= hour).sum() - 1 for time in times])
    assert near.median() >= 9


def test_no_single_column_separates_fraud(frame: pd.DataFrame) -> None:
    """No single simple column separates fraud with an AUC of 0.9, in either direction."""
    simple = {
        "formSeconds": frame["signals.formSeconds"],
        "emailAgeDays": frame["signals.emailAgeDays"],
        "vpn": frame["signals.vpn"].astype(float),
        "network": frame["signals.ipCountry"] != frame["address.country"],
        "citizenship": frame["citizenship"] != frame["address.country"],
        "mail": frame["signals.emailDomain"] == "temporary.example",
        "birth year": frame["dob"].str[:4].astype(float),
        "new year": frame["dob"].str[5:] == "01-01",
        "name length": frame["lastName"].str.len(),
        "missing": frame.isna().sum(axis=1),
        "images": frame["imageUrls"].str.len(),
        **{key: frame[f"n.{key}"] for key in (*SHARED, "name")},
    }
    areas = {name: roc_auc_score(frame["fraud"], values.fillna(-1)) for name, values in simple.items()}
    assert max(max(area, 1 - area) for area in areas.values()) < 0.8
    assert max(areas["vpn"], areas["network"]) > 0.55


@pytest.mark.parametrize(
    "column", ["address.country", "citizenship", "signals.channel", "signals.emailDomain"]
)
def test_every_category_has_genuine_records(frame: pd.DataFrame, column: str) -> None:
    """No category has frauds only."""
    assert set(frame.loc[frame["fraud"], column].dropna()) <= set(frame.loc[~frame["fraud"], column].dropna())


def test_fraud_is_independent_of_sex(frame: pd.DataFrame) -> None:
    """The protected attribute is independent of fraud."""
    known = frame.dropna(subset="signals.sex")
    rates = known[known["signals.sex"] != "X"].groupby("signals.sex")["fraud"].mean()
    assert rates["F"] == pytest.approx(rates["M"], rel=0.25)
