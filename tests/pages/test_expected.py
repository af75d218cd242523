"""Pages, Markdown texts, frames and drawings of made results are those that stand beside this file, to be read there.

`WRITE_PAGES=1 python -m pytest tests/pages` writes them anew: read the difference before you commit it.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import made_results as made
from drawing_text import drawing_text
from made_pages import FRAMES, REPORTS, page, report
from scoring_model.bundle import CARD
from scoring_model.configuration import load_configuration
from scoring_model.decision.control import Control, ControlArm
from scoring_model.decision.rules import NEVER_REACHED, Policy, Promise
from scoring_model.evaluation import comparison_summary, gates_summary, summary
from scoring_model.evaluation.bounds import exact_share
from scoring_model.evaluation.report import NothingToDraw
from scoring_model.evaluation.report.markdown import draw_table
from scoring_model.evaluation.report.section import made as made_drawing
from scoring_model.figures import MEASURED
from scoring_model.figures import Figure as Entry
from scoring_model.monitoring import monitoring_summary
from scoring_model.training.alternatives import Alternative, Alternatives
from scoring_model.training.backtest.report import backtest_summary
from scoring_model.training.calibration import CalibrationChoice
from scoring_model.training.cards import Sample, describe, policy_section, revised

EXPECTED: Final = Path(__file__).parent / "expected"


MARKDOWN: Final[dict[str, Callable[[], str]]] = {
    "evaluation": lambda: summary(made.made_evaluation()),
    "evaluation-measured": lambda: summary(made.measured_evaluation()),
    "evaluation-bare": lambda: summary(made.bare_evaluation()),
    "comparison": lambda: comparison_summary(made.made_comparison()),
    "comparison-measured": lambda: comparison_summary(made.measured_comparison()),
    "comparison-gates-measured": lambda: gates_summary(made.measured_gates()),
    "comparison-bare": lambda: comparison_summary(made.bare_comparison()),
    "comparison-small": lambda: comparison_summary(made.small_comparison()),
    "comparison-gates": lambda: gates_summary(made.comparison_gates()),
    "comparison-gates-passing": lambda: gates_summary(made.passing_gates()),
    "evaluation-gates": lambda: gates_summary(made.evaluation_gates()),
    "monitoring": lambda: monitoring_summary(made.made_monitoring()),
    "monitoring-bare": lambda: monitoring_summary(made.bare_monitoring()),
    "monitoring-gates": lambda: gates_summary(made.window_gates()),
    "monitoring-gates-bare": lambda: gates_summary(made.bare_window_gates()),
    "backtest": lambda: backtest_summary(made.made_backtest()),
    "backtest-bare": lambda: backtest_summary(made.bare_backtest()),
}


def expect(name: str, found: str) -> None:
    """Compare a text with the file of this name, or write the file."""
    path = EXPECTED / name
    if "WRITE_PAGES" in os.environ:
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", MARKDOWN)
def test_markdown(name: str) -> None:
    """The Markdown of a made result is the text beside this file."""
    expect(f"{name}.md", MARKDOWN[name]())


@pytest.mark.parametrize("name", FRAMES)
def test_frames(name: str) -> None:
    """Every figure of a made result stands in its frame, row by row."""
    expect(f"{name}.csv", FRAMES[name]().to_csv(index=False, float_format="%.6g", lineterminator="\n"))


@pytest.mark.parametrize("name", REPORTS)
def test_pages(name: str) -> None:
    """The page of a made result says what the text beside this file says, with tones and the words of drawings."""
    expect(f"{name}.page.md", page(name).markdown())


def test_keys() -> None:
    """Names of parts, drawings, grids and columns, by which programs find what is shown, are those beside this file."""
    lines = []
    for name in REPORTS:
        found = report(name)
        for section in (*found.first, *found.sections):
            drawn_ones = [made_drawing(one) for one in section.drawings]
            grids = [one.grid for one in drawn_ones if one.grid is not None] + [*section.grids]
            lines.append(f"- {name}/{section.name}: {section.title}")
            lines += [f"- {name}/{section.name}: drawing {one.name}" for one in drawn_ones]
            for grid in grids:
                columns = [cell.key.rpartition("/")[2] for cell in (grid.rows or ((),))[0]]
                lines.append(f"- {name}/{section.name}: grid {grid.name}: {', '.join(columns)}")
    expect("keys.md", "\n".join(lines) + "\n")


ESTIMATE: Final = made.estimate(0.5, 0.4, 0.6).to_json().keys()


def members(document: Any, path: str = "") -> Iterator[str]:
    """Every path to a value of a document, with its kind; items of a list are one, and an estimate is one value."""
    if isinstance(document, dict) and document.keys() >= ESTIMATE:
        yield f"- {path}: estimate"
        document = {name: value for name, value in document.items() if name not in ESTIMATE}
    if isinstance(document, dict) and document:
        for name, value in document.items():
            yield from members(value, f"{path}/{name}")
    elif isinstance(document, list) and document:
        for value in document:
            yield from members(value, f"{path}/*")
    elif document != {}:
        yield f"- {path}: {'null' if document is None else type(document).__name__}"


def test_documents() -> None:
    """Names of all values of the JSON documents, by which programs find them, are those beside this file."""
    results = (made.made_evaluation, made.made_comparison, made.made_monitoring, made.made_backtest)
    found = {f"{line}\n": None for result in results for line in members(result().to_json(), result.__name__)}
    expect("documents.md", "".join(sorted(found)))


def test_registry() -> None:
    """Every figure with all that the registry says of it, as a table to be read."""
    heads = [*(field.name for field in fields(Entry)), "metric"]
    rows = [[str(getattr(figure, head)) for head in heads] for figure in MEASURED.values()]
    expect("figures.md", draw_table(heads, rows) + "\n")


def drawings() -> dict[str, Callable[[Axes], Any]]:
    """Every drawing of made results, by the call that gives it."""
    evaluation, bare = made.made_evaluation().plot, made.bare_evaluation().plot
    comparison, same = made.made_comparison().plot, made.bare_comparison().plot
    window, blind = made.made_monitoring().plot, made.bare_monitoring().plot
    backtest, little = made.made_backtest().plot, made.bare_backtest().plot
    every, errors = tuple(made.made_comparison().differences), made.RATES[3:]
    return {
        "evaluation.threshold_map()": evaluation.threshold_map,
        "evaluation.score_distribution()": evaluation.score_distribution,
        "evaluation.roc()": evaluation.roc,
        "evaluation.precision_recall()": evaluation.precision_recall,
        "evaluation.capacity()": evaluation.capacity,
        "evaluation.reliability()": evaluation.reliability,
        **{f"evaluation.weeks({one})": partial(evaluation.weeks, one) for one in errors},
        **{f"evaluation.groups({one})": partial(evaluation.groups, "country", one) for one in made.RATES},
        "evaluation.families()": evaluation.families,
        "evaluation.features()": evaluation.features,
        "evaluation.beeswarm()": evaluation.beeswarm,
        "evaluation.dependence()": partial(evaluation.dependence, "email_age"),
        "uncertified.threshold_map()": made.uncertified_evaluation().plot.threshold_map,
        "bare.threshold_map()": bare.threshold_map,
        "bare.roc()": bare.roc,
        "bare.precision_recall()": bare.precision_recall,
        "bare.capacity()": bare.capacity,
        "bare.families()": bare.families,
        "comparison.differences()": partial(comparison.differences, ()),
        "comparison.differences(all)": partial(comparison.differences, every),
        "comparison.differences(errors)": partial(comparison.differences, errors),
        **{f"comparison.changes({one})": partial(comparison.changes, "country", one) for one in made.RATES},
        "comparison.changes(top)": partial(comparison.changes, "country", "step_up", top=2),
        "comparison.changes(sex)": partial(comparison.changes, "sex", "step_up"),
        "comparison.flips()": partial(comparison.flips, False),
        "comparison.flips(fraud)": partial(comparison.flips, True),
        "comparison.roc()": comparison.roc,
        "comparison.scores()": comparison.scores,
        "same.flips()": partial(same.flips, False),
        "same.differences()": partial(same.differences, ()),
        "monitoring.drift()": window.drift,
        "monitoring.drift(top)": partial(window.drift, top=2),
        "monitoring.contributors()": window.contributors,
        **{f"monitoring.estimated({one})": partial(window.estimated, one) for one in errors},
        "blind.drift()": blind.drift,
        "blind.contributors()": blind.contributors,
        "blind.estimated()": partial(blind.estimated, "step_up"),
        "backtest.promise(1m, step_up)": partial(backtest.promise, "1m", "max_step_up"),
        "backtest.promise(1m, missed_fraud)": partial(backtest.promise, "1m", "max_missed_fraud"),
        **{f"backtest.cadences({one})": partial(backtest.cadences, one) for one in made.BACKTEST_FIGURES},
        "backtest.models()": partial(backtest.models, made.BACKTEST_FIGURES[3]),
        "backtest.ageing()": partial(backtest.ageing, made.BACKTEST_FIGURES[3]),
        "backtest.learning()": partial(backtest.learning, made.BACKTEST_FIGURES[3]),
        "backtest.families()": backtest.families,
        "little.promise()": partial(little.promise, "1m", "max_step_up"),
        "little.cadences()": partial(little.cadences, "cost"),
        "little.models()": partial(little.models, made.BACKTEST_FIGURES[3]),
        "little.ageing()": partial(little.ageing, made.BACKTEST_FIGURES[3]),
        "little.learning()": partial(little.learning, made.BACKTEST_FIGURES[3]),
        "little.families()": little.families,
    }


def drawn(draw: Callable[[Axes], Any]) -> str:
    """The text of a drawing, or why there is nothing to draw."""
    try:
        return drawing_text(draw(ax=Figure().subplots()))  # type: ignore[call-arg]
    except NothingToDraw as error:
        return f"nothing: {error}"


def test_drawings() -> None:
    """Each drawing shows the values, ends, names and colours of the text beside this file."""
    expect(
        "drawings.md", "\n\n".join(f"## {name}\n\n{drawn(draw)}" for name, draw in drawings().items()) + "\n"
    )


def alternatives(cost: float | None, *, chosen: bool = True) -> Alternatives:
    """One pair of thresholds."""
    share = exact_share(3, 100)
    pair = Alternative(
        step_up_from=563, fail_from=700, chosen=chosen, certified=True, false_reject=share, step_up=share,
        missed_fraud=share, fraud_stepped_up=share, caught_by_step_up=None, expected_cost=cost,
    )  # fmt: skip
    return Alternatives(rows=(pair,), confidence=0.95, prevalence=None if cost is None else 0.02)


def card() -> str:
    """The card of a made bundle, and its section of the policy in every case."""
    promises = (
        Promise(bound="max_step_up", limit=0.1, delta=0.025, observed=0.08, records=900, p_value=0.01),
    )
    control = Control(
        failed=ControlArm(share=0.01, most_per_day=5), stepped_up=ControlArm(share=0.05, most_per_day=20)
    )
    policy = Policy(step_up_from=563, fail_from=700, promises=promises, control=control)
    never = Policy(step_up_from=563, fail_from=NEVER_REACHED)
    configuration = load_configuration(Path(__file__).parents[2] / "configs" / "identity.yaml")
    split = SimpleNamespace(
        summaries=made.made_backtest().folds[0].parts,
        evaluated=SimpleNamespace(name="test"),
        validation_targets=np.repeat([0, 1], [2500, 40]),
    )
    feature = SimpleNamespace(
        name="email_age", sentence="Age | of the address.", direction=-1, reason="EMAIL_AGE"
    )
    features = [
        SimpleNamespace(**vars(feature) | {"name": name, "direction": direction})
        for name, direction in (("email_age", -1), ("ip", 0), ("vpn", 1))
    ]
    thinning = SimpleNamespace(read=1_000_000, sentence="One in ten genuine ones")
    prepared = SimpleNamespace(split=split, matrix=SimpleNamespace(features=features), thinning=thinning)
    contents = SimpleNamespace(
        rules=SimpleNamespace(policy=policy, scale=made.rules().scale),
        to_files=lambda: defaultdict(bytes),
        policy_version="p1",
    )
    whole = describe(
        cast(Any, prepared),
        cast(Any, contents),
        made.made_evaluation(),
        configuration,
        alternatives=alternatives(1.25),
        calibration=CalibrationChoice(calibration=made.rules().calibration, platt_loss=0.1, beta_loss=None),
        data={"records": 9000, "from": "2025-01-01", "to": "2026-04-01", "sha256": "abc"},
    )
    sections = (
        policy_section(policy, alternatives(None), "application", sample=Sample(is_seen=True)),
        policy_section(policy, alternatives(1.25), "application", is_picked=True),
        policy_section(never, alternatives(1.25, chosen=False), "application"),
        policy_section(policy, alternatives(1.25), "application", sample=Sample(stopped=612)),
    )
    return "\n\n".join((whole, *sections)) + "\n"


def test_card() -> None:
    """The card of a bundle says what the text beside this file says."""
    expect("card.md", card())


def test_a_card_under_another_policy_marks_its_metrics_once() -> None:
    """They stay those of the policy that they were measured under, however often it changes."""

    def under(text: str, old: str, new: str) -> str:
        manifest = SimpleNamespace(policy_version=old)
        return revised(cast(Any, SimpleNamespace(manifest=manifest, files={CARD: text.encode()})), "", new)

    text = under(under(card(), "p1", "p2"), "p2", "p3")
    assert "policy `p3`" in text
    assert "policy `p2`" not in text
    assert text.count("were measured under the policy `p1`, not under that of this bundle") == 1
