"""What a report says about drift, a function for each sentence."""

from scoring_model.monitoring.drift import Drift

_NAMED = 5


def drift_sentence(drift: Drift) -> str:
    """Say what drifted, what is suspected, and what could have been seen."""
    if not drift.limits:
        return "Nothing decides here whether anything drifted: there is no limit."
    return " ".join((_found(drift), *_suspected(drift), *_visible(drift)))


def comparison_sentence(drift: Drift) -> str:
    """Say what was compared, and what counts as drift."""
    unit = "days" if drift.block_days == 1 else f"blocks of {drift.block_days} days"
    limits = ", ".join(f"{limit:.1f} for {family}" for family, limit in drift.limits.items())
    judged = (
        f" A difference counts as drift at the latest from so many standard errors on: {limits}. Where nothing drifts, "
        "one report in twenty finds some all the same."
    )
    return (
        f"{len(drift.subjects):,} subjects are compared on the same weekdays: {drift.window_records:,} records on "
        f"{drift.window_blocks:,} {unit} of the window, with {drift.reference_records:,} on "
        f"{drift.reference_blocks:,} of the reference.{judged if limits else ''}"
    )


def traffic_sentence(drift: Drift) -> str:
    """Say how many records a day has on each weekday, in window and reference."""
    days = (
        f"{one.weekday} {_count(one.window)} (reference {_count(one.reference)})"
        for one in drift.traffic
        if one.window is not None
    )
    return f"Records a day: {', '.join(days)}."


def _found(drift: Drift) -> str:
    if not drift.found:
        return "No drift found."
    subjects = f"{len(drift.subjects):,} subjects (features, score and outcome)"
    return f"Drift in {len(drift.found):,} of {subjects}: {_names(drift.found)}."


def _suspected(drift: Drift) -> tuple[str, ...]:
    if not drift.suspects:
        return ()
    return (f"Suspects: {_names(drift.suspects)}. About one suspect is expected even where nothing drifts.",)


def _visible(drift: Drift) -> tuple[str, ...]:
    seen = []
    if drift.smallest_share is not None:
        seen.append(f"a change of a share by {100 * drift.smallest_share:.1f} points")
    if drift.smallest_shift is not None:
        seen.append(f"a shift of a number by {drift.smallest_shift:.2f} standard deviations")
    if not seen:
        return ()
    return (f"In half of the features {' and '.join(seen)} would have been seen with a probability of 80 %.",)


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names[:_NAMED]) + (" and others" if len(names) > _NAMED else "")


def _count(value: float | None) -> str:
    return "none" if value is None else f"{value:,.0f}"
