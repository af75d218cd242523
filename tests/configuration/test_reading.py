"""Reading of configurations: all violations are reported together, by name."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from scoring_model.configuration import ConfigurationError, load_configuration
from scoring_model.configuration.reading import MOST_VIOLATIONS
from scoring_model.contract.fields import REQUIRED_FIELDS
from scoring_model.history import Amount
from scoring_model.records import SignalType

CONFIGS = Path(__file__).parents[2] / "configs"
DAY = 86_400_000_000


def written(folder: Path, text: str) -> Path:
    """A configuration file."""
    path = folder / "use.yaml"
    path.write_text(text, encoding="utf-8")
    return path


OTHERS = {CONFIGS / "service.yaml", CONFIGS / "gates.yaml"}  # of the service, and of gates
USES = sorted(set(CONFIGS.glob("*.yaml")) - OTHERS)


@pytest.mark.parametrize("path", USES, ids=lambda path: path.stem)
def test_committed_configurations_are_read(path: Path) -> None:
    """Every configuration of the project parses, and is named after its file."""
    assert load_configuration(path).name == path.stem


def test_durations_are_text(tmp_path: Path) -> None:
    """Windows and lengths of the split become microseconds."""
    text = "name: x\nlinks: {windows: [1h, 2d]}\ntraining: {split: {label_maturity: 30d}}"
    configuration = load_configuration(written(tmp_path, text))
    assert configuration.links.windows == (DAY // 24, 2 * DAY)
    assert configuration.training.split.label_maturity == 30 * DAY


def test_what_an_identity_needs_is_a_list_of_its_fields(tmp_path: Path) -> None:
    """All seven where nothing is said; any order is one list; an unknown name is refused where it stands."""
    assert load_configuration(written(tmp_path, "name: x")).use.identity_requires == REQUIRED_FIELDS
    text = "name: x\nuse: {identity_requires: [%s]}"
    found = load_configuration(written(tmp_path, text % "address.country, dob, firstName, dob"))
    assert found.use.identity_requires == ("firstName", "dob", "address.country")
    assert load_configuration(written(tmp_path, text % "")).use.identity_requires == ()
    with pytest.raises(ConfigurationError, match=r"use\.identity_requires\.1: .*'address\.country'"):
        load_configuration(written(tmp_path, text % "dob, country"))


def test_burn_in_is_as_long_as_the_longest_window_and_a_tenth_of_the_time_at_most(tmp_path: Path) -> None:
    """Unless given. A tenth is in whole days, or hours below a day."""
    text = "name: x\nlinks: {windows: [1h, 2d]}\n"
    configuration = load_configuration(written(tmp_path, text))
    for span, burn_in in {500 * DAY: 2 * DAY, 19 * DAY: DAY, 5 * DAY: DAY // 2, DAY // 24: 0}.items():
        assert configuration.split_over(span).burn_in == burn_in
    text += "training: {split: {burn_in: 5d}}"
    assert load_configuration(written(tmp_path, text)).split_over(19 * DAY).burn_in == 5 * DAY


def test_the_gap_is_half_of_the_label_maturity_unless_given(tmp_path: Path) -> None:
    """Resolved, so that a bundle says it."""
    text = "name: x\ntraining: {split: {label_maturity: 30d%s}}"
    assert load_configuration(written(tmp_path, text % "")).split_over(500 * DAY).gap == 15 * DAY
    assert load_configuration(written(tmp_path, text % ", gap: 0s")).split_over(500 * DAY).gap == 0


def test_delayed_windows_begin_at_the_delay_of_the_labels(tmp_path: Path) -> None:
    """Unless `links.delay` says otherwise; the burn-in is as long as the windows look back."""
    text = (
        "name: x\nrecords: {labels: {delay: 7d}}\nlinks: {windows: [1d, 9d], delayed_windows: [1d, 30d]%s}\n"
    )
    configuration = load_configuration(written(tmp_path, text % ""))
    assert configuration.feature_settings.links.specs["person"].delay == 7 * DAY
    assert configuration.split_over(500 * DAY).burn_in == 37 * DAY
    configuration = load_configuration(written(tmp_path, text % ", delay: 2d"))
    assert configuration.feature_settings.links.specs["person"].delay == 2 * DAY


def test_an_amount_is_a_signal_and_a_unit(tmp_path: Path) -> None:
    """The committed use of payments sums their amount in cents; without the key nothing is summed."""
    configuration = load_configuration(CONFIGS / "transactions.yaml")
    assert configuration.feature_settings.links.every_amount == (Amount(signal="amount", decimals=2),)
    assert load_configuration(written(tmp_path, "name: x")).links.every_amount == ()


def test_signals_are_typed(tmp_path: Path) -> None:
    """A signal's type reaches the schema of the records."""
    configuration = load_configuration(written(tmp_path, "name: x\nsignals: {a: {type: identifier}}"))
    assert configuration.schema.signals == {"a": SignalType.IDENTIFIER}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("naem: x", ["naem: unknown key; did you mean name?", "name: Field required"]),
        ("name: x\npolicy: {max_stepup: 0.1}", ["policy.max_stepup: unknown key; did you mean max_step_up?"]),
        (
            "name: x\nsignals: {a: {typ: number}}",
            ["signals.a.typ: unknown key", "signals.a.type: Field required"],
        ),
        ("name: x\nlinks: {windows: [1 hour]}", ["links.windows.0", "such as 90d"]),
        (
            "name: x\nlinks: {windows: [24, 3600]}\ntraining: {split: {label_maturity: 90, validation: 14}}",
            [
                "links.windows.0: a duration is text such as 90d, 24h, 30m or 10s, got 24",
                "links.windows.1: a duration is text such as 90d, 24h, 30m or 10s, got 3600",
                "training.split.label_maturity: a duration is text such as 90d, 24h, 30m or 10s, got 90",
                "training.split.validation: a part of time is a share such as 0.2 or a duration",
            ],
        ),
        ("name: x\nlinks: {windows: [2d, 1h]}", ["links.windows: must be strictly ascending"]),
        ("name: x\nlinks: {keys: {address: []}}", ["links.keys.address: no fields"]),
        (
            "name: x\nlinks: {keys: {a: [], person: [dob], b: [dob, dob]}, windows: [1h, 1h], cap: 0}",
            [
                "links.keys.a: no fields",
                "links.keys.person: the person is built in",
                "links.keys.b: dob stands twice",
                "links.windows: must be strictly ascending",
                "links.cap: must be at least 1, got 0",
            ],
        ),
        (
            "name: x\nlinks: {keys: {a: [adress.line1], b: [eventTime]}}",
            ["links.keys.a", "adress.line1", "did you mean address.line1?", "links.keys.b", "eventTime"],
        ),
        (
            "name: x\nsignals: {deviceId: {type: identifier}}\nlinks: {keys: {a: [signals.device_id], b: [signals.x]}}",
            [
                "links.keys.a: there is no signal of the field signals.device_id; did you mean signals.deviceId?",
                "links.keys.b: there is no signal of the field signals.x",
            ],
        ),
        ("name: x\nlinks: {amount: {signal: paid}}", ["links.amount.decimals: Field required"]),
        (
            "name: x\nlinks: {amount: {signal: paid, decimals: 7}}",
            ["links.amount.decimals: must be 0 to 6, got 7"],
        ),
        (
            "name: x\nlinks: {amount: {signal: paid, decimals: -1}}",
            ["links.amount.decimals: must be 0 to 6, got -1"],
        ),
        (
            "name: x\nrecords: {columns: {a: b}}\nlinks: {amount: {signal: paid, decimals: 2}}",
            ["links.amount.signal: there is no signal paid", "records.columns.a: unknown field"],
        ),
        (
            "name: x\nsignals: {paid: {type: identifier}}\nlinks: {amount: {signal: paid, decimals: 2}}",
            ["links.amount.signal: must be of type number, paid is of type identifier"],
        ),
        (
            "name: x\nsignals: {paid: {type: number}}\nlinks: {delayed_windows: [2d, 1d], above: 0, statistics: [zz], "
            "amounts: [{signal: paid, decimals: 2, unit: cent}], by_key: {person: {window: [1h]}}}",
            [
                "links.amounts.0.unit: unknown key",
                "links.by_key.person.window: unknown key; did you mean windows?",
                "links.statistics.0",
            ],
        ),
        (
            "name: x\nsignals: {paid: {type: number}}\nlinks: {delayed_windows: [2d, 1d], above: 0, "
            "amounts: [{signal: paid, decimals: 2}, {signal: paid, decimals: 1}], "
            "by_key: {persn: {windows: [1h]}, person: {windows: [1h, 1h], amounts: [sum]}}}",
            [
                "links.amounts: paid stands twice",
                "links.by_key.persn: there is no link key persn; did you mean person?",
                "links.by_key.person.amounts: sum is none of the amounts",
            ],
        ),
        (
            "name: x\nlinks: {delayed_windows: [2d, 1d], above: 0, by_key: {person: {windows: [1h, 1h]}}}",
            [
                "links.delayed_windows: must be strictly ascending",
                "links.above: must be 1 to 1000, got 0",
                "links.by_key.person.windows: must be strictly ascending",
            ],
        ),
        (
            "name: x\nlinks: {delayed_windows: [1d]}",
            ["links.delayed_windows: delayed windows need links.delay or records.labels.delay"],
        ),
        (
            "name: x\nlinks: {amount: {signal: a, decimals: 2}, amounts: [{signal: b, decimals: 0}]}",
            ["links.amounts: amount is there too"],
        ),
        (
            "name: x\npolicy: {max_step_up: 2, confidence: 1}",
            ["policy.max_step_up: must be in (0, 1), got 2.0", "policy.confidence: must be in (0, 1)"],
        ),
        (
            "name: x\nfeatures: {time_zone: Europe/Pariss}",
            ["features.time_zone: must be an IANA time zone; did you mean Europe/Paris?"],
        ),
        ("name: x\nfeatures: {families: [nams]}", ["features.families.0", "'names', 'dates'"]),
        ("name: x\nname: y", ["duplicate keys: name"]),
        (
            "name: x\nsignals: {deviceId: {type: identifier}}\n"
            "records: {columns: {fistName: a, signals.deviceid: b}, format: {values: {documenttype: {a: b}}}}",
            [
                "records.columns.fistName: unknown field; did you mean firstName?",
                "records.columns.signals.deviceid: unknown field; did you mean signals.deviceId?",
                "records.format.values.documenttype: unknown field; did you mean documentType?",
            ],
        ),
        (
            "name: x\nrecords: {format: {timezone: europe/berln}}",
            ["records.format.timezone: must be an IANA name", "did you mean Europe/Berlin?"],
        ),
        (
            "name: x\ntraining: {tuned: {rounds: 5, params: {learning_rte: 0.1, objective: 1}}}",
            [
                "training.tuned.params.learning_rte: may not be set; did you mean learning_rate?",
                "training.tuned.params.objective: may not be set",
            ],
        ),
        (
            "name: x\nsignals: {price: {type: number}, cost: {type: number}}\nlinks: "
            "{amounts: [{signal: price, decimals: 2}, {signal: cost, decimals: 2}], "
            "by_key: {person: {amounts: [csot]}}}",
            ["links.by_key.person.amounts: csot is none of the amounts; did you mean cost?"],
        ),
        (
            "name: x\nsignals: {price: {type: number}}\nlinks: {amounts: [{signal: Price, decimals: 2}]}",
            ["links.amounts.0.signal: there is no signal Price; did you mean price?"],
        ),
        ("name: [x", ["use.yaml"]),
        ("", ["name: Field required"]),
        (
            "name: x\ntraining: {attacks: {run: false}, leakage_checks: {max_auc: 2}}",
            ["training.attacks: unknown", "training.leakage_checks.max_auc: must be in (0.5, 1], got 2.0"],
        ),
        (
            f"name: {'[' * 100_000}{']' * 100_000}",
            ["configuration is refused: ", ".yaml: is nested deeper than 100 levels"],
        ),
        (
            "name: x\nrecords: {columns: {labelToldAt: a, labelReportedAt: b}}",
            ["records.columns.labelToldAt: unknown field"],
        ),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, words: list[str]) -> None:
    """The error names the key, the rule and the nearest known name; all problems at once."""
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(written(tmp_path, text))
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("text", "first", "omitted"),
    [
        (lambda n: "name: x\n" + "".join(f"key{i}: 1\n" for i in range(n)), "key0: unknown key", 29_900),
        (
            lambda n: "name: x\nsignals:\n" + "".join(f"  key{i}: 5\n" for i in range(n)),
            "signals.key0",
            29_900,
        ),
        (lambda n: "".join(f"key{i // 2}: 1\n" for i in range(n)), "duplicate keys: key0, key1, ", 0),
    ],
    ids=["unknown", "malformed", "repeated"],
)
def test_thirty_thousand_problems_are_counted_in_a_second(
    tmp_path: Path, text: Callable[[int], str], first: str, omitted: int
) -> None:
    """A hundred problems are described and the others counted, at a cost that does not grow with the square."""
    path = written(tmp_path, text(30_000))
    begun = time.thread_time()
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(path)
    assert time.thread_time() - begun < 3  # a third of it on a quiet machine, and minutes without the bounds
    assert first in str(caught.value)
    assert caught.value.omitted == omitted
    assert len(caught.value.violations) <= MOST_VIOLATIONS
    assert not omitted or str(caught.value).endswith(f"- and {omitted} more")


def test_patterns_leave_out_every_feature_that_they_match(tmp_path: Path) -> None:
    """A pattern is replaced by the matching names; the feature settings contain only names."""
    text = "name: x\nlinks: {windows: [1h, 1d]}\nfeatures: {families: [dates], exclude: [event_hour, 'link_*_1h_*']}"
    exclude = load_configuration(written(tmp_path, text)).feature_settings.exclude
    assert exclude[0] == "event_hour"
    assert set(exclude[1:]) == {name for name in exclude if name.startswith("link_person_1h_")}
    assert len(exclude) > 3


def test_unknown_names_of_features_get_the_nearest_one(tmp_path: Path) -> None:
    """Names, patterns without a match and attributes are all reported at once."""
    text = "name: x\nfeatures: {exclude: [evnt_hour, 'zz*'], use_protected: [citizenshp]}"
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(written(tmp_path, text))
    assert [str(found) for found in caught.value.violations] == [
        "features.exclude: there is no 'evnt_hour'; did you mean event_hour?",
        "features.exclude: there is no 'zz*'",
        "features.use_protected: there is no 'citizenshp'; did you mean citizenship?",
    ]
    with pytest.raises(ConfigurationError, match=r"features\.keep: no feature in use is named 'event_hour'"):
        load_configuration(
            written(tmp_path, "name: x\nfeatures: {exclude: [event_hour], keep: [event_hour]}")
        )
