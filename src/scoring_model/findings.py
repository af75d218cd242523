"""Findings: what automated checks say about records, models and evaluations.

Each check has a stable code. Its finding says that the check found something, found nothing, or could not run, and why.
`docs/findings.md` is made of the catalogue below.

Decision record: docs/adr/0020-findings.md.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, Self


class Severity(StrEnum):
    """How much a finding limits what a model or an evaluation may be used for."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    @property
    def rank(self) -> int:
        """Return 0 for the mildest."""
        return list(Severity).index(self)


class State(StrEnum):
    """The result of a check."""

    FOUND = "found"
    CLEAR = "clear"
    NOT_APPLICABLE = "not applicable"


class Code(StrEnum):
    """The code of a check. Codes are never given to another check."""

    SHUFFLED_LABELS = "SM001"
    SINGLE_FEATURES = "SM002"
    FUTURE = "SM003"
    PERSONS = "SM004"
    USELESS_FEATURES = "SM005"
    BLIND_WINDOWS = "SM006"
    TRAINING_PERIOD = "SM007"
    TRAINING_RECORDS = "SM008"
    SMALL_GROUPS = "SM009"
    EXTRAPOLATED_SCORES = "SM010"
    SEARCH_EDGE = "SM011"
    MIXED_MATURITY = "SM012"
    STOPPED = "SM013"
    UNSEEN_KINDS = "SM014"
    LATE_FRAUDS = "SM015"
    STEP_UPS = "SM016"
    CONTROL_GROUP = "SM017"
    ONE_CODE = "SM018"
    TELLING_COLUMNS = "SM019"
    OUTSIDE_RANGE = "SM020"
    BROKEN_PROMISES = "SM021"
    PREVALENCE = "SM022"


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """What a check is about.

    Parameters
    ----------
    title : str
        What is checked, as a phrase.
    of_training : bool
        Whether a training makes the check; otherwise an evaluation does, or a command on the database of a service.
    why : str
        Why it matters, one or more sentences.
    action : str
        What to do if something is found.
    of_service : bool
        Whether only a command on the database of a service makes it, so that no gate on a severity waits for it.
    """

    title: str
    severity: Severity
    of_training: bool
    why: str
    action: str
    of_service: bool = False


CHECKS: Final[Mapping[Code, Check]] = MappingProxyType(
    {
        Code.SHUFFLED_LABELS: Check(
            title="Labels shuffled before the features are computed",
            severity=Severity.ERROR,
            of_training=True,
            why="A model can learn shuffled labels only if a feature reads the label of its own record. Such a model "
            "is excellent in its evaluation and worthless when it decides.",
            action="Fix the feature, or leave it out with `features.exclude`.",
        ),
        Code.SINGLE_FEATURES: Check(
            title="Each feature alone",
            severity=Severity.ERROR,
            of_training=True,
            why="A feature that separates frauds nearly perfectly on its own was usually filled in after the decision. "
            "Only this check can find a leak in columns that users supply.",
            action="Find out whether the value exists before the decision. If not, leave it out with "
            "`features.exclude`; if it does, raise `training.leakage_checks.max_auc`.",
        ),
        Code.FUTURE: Check(
            title="Later records and labels removed",
            severity=Severity.ERROR,
            of_training=True,
            why="A feature that changes when later records and labels are removed reads what is unknown at the time of "
            "the decision.",
            action="Fix the feature, or leave it out with `features.exclude`.",
        ),
        Code.PERSONS: Check(
            title="Persons on both sides of the split",
            severity=Severity.ERROR,
            of_training=True,
            why="A model recognises the persons that it was fitted on, so the evaluation of their other records is too "
            "good.",
            action="Report it: the split of this package leaves no such person.",
        ),
        Code.USELESS_FEATURES: Check(
            title="Features that are constant, always missing or copies of another",
            severity=Severity.INFO,
            of_training=True,
            why="They teach the model nothing. A column that is always missing may be misnamed in `records.columns`.",
            action="Check the columns that should have values. The training leaves these features out by itself.",
        ),
        Code.BLIND_WINDOWS: Check(
            title="Windows against the delay of labels",
            severity=Severity.WARNING,
            of_training=True,
            why="A window that is no longer than the delay of labels never holds a known fraud, so its features of "
            "known frauds are always 0 or missing.",
            action="Give `links.delayed_windows`, which end at the delay, or longer `links.windows`.",
        ),
        Code.TRAINING_PERIOD: Check(
            title="Evaluated records from the time of the training",
            severity=Severity.WARNING,
            of_training=False,
            why="The model or its thresholds may have been fitted on records from before the end of the validation "
            "period, so that results on them are too good.",
            action="Evaluate later records. For a training: keep a test part (`training.split.test`).",
        ),
        Code.TRAINING_RECORDS: Check(
            title="Evaluated records that the model was trained on",
            severity=Severity.ERROR,
            of_training=False,
            why="The model was fitted on these very records, or its thresholds were chosen on them. Results on them "
            "are too good.",
            action="Leave them out of the evaluated file.",
        ),
        Code.SMALL_GROUPS: Check(
            title="Groups with too few records",
            severity=Severity.INFO,
            of_training=False,
            why="A group with few records or days has no interval for its gap to the others: unfair decisions could "
            "not be seen.",
            action="Evaluate a longer time, or merge the values into larger groups.",
        ),
        Code.EXTRAPOLATED_SCORES: Check(
            title="Scores beyond the genuine records of the validation part",
            severity=Severity.INFO,
            of_training=False,
            why="The upper end of the scale is extrapolated from few genuine records, so the share of genuine records "
            "that such a score promises is uncertain. The order of scores and the outcomes are not affected.",
            action="Train with more genuine records in the validation part before you use such scores as shares.",
        ),
        Code.SEARCH_EDGE: Check(
            title="Parameters or trees at an end of the search",
            severity=Severity.INFO,
            of_training=True,
            why="The best value may lie beyond the range that was searched, or beyond the most trees of a trial: then "
            "fewer than `training.tuning.patience` trees were grown after the best one.",
            action="Compare with a training whose parameters lie further out (`training.tuned`, or `--params`), or "
            "search with a higher `training.tuning.max_rounds`.",
        ),
        Code.MIXED_MATURITY: Check(
            title="Records of different label maturity",
            severity=Severity.WARNING,
            of_training=False,
            why="A young record counts only if its label is known early, which depends on the label: the share of "
            "frauds among such records is not that of their period.",
            action="Evaluate matured records only (`--matured-only`, `matured_only=True`), or as of a later instant.",
        ),
        Code.STOPPED: Check(
            title="Stopped applicants whose class is not known",
            severity=Severity.WARNING,
            of_training=False,
            why="A stopped applicant can never become a known fraud. Figures of the ranking, of frauds and of costs "
            "are those of the applicants who were observed; a model that lets stopped ones pass looks no worse for it.",
            action="Let a share of them pass (`policy.control`): records with propensities stand for all applicants.",
        ),
        Code.UNSEEN_KINDS: Check(
            title="Released applicants of a kind that nobody observed",
            severity=Severity.WARNING,
            of_training=False,
            why="A challenger lets applicants pass whom its champion stops, and nearly all who are like them in a "
            "feature were stopped. So no label says what they are: the challenger may have forgotten what its "
            "predecessor knew. Only a comparison of two models can find this; gates are not decided then.",
            action="Let a share of the stopped applicants pass (`policy.control`), and train on their labels.",
        ),
        Code.LATE_FRAUDS: Check(
            title="Frauds that become known after the label maturity",
            severity=Severity.WARNING,
            of_training=True,
            why="A record without a label counts as genuine once it is as old as the label maturity. Frauds that "
            "become known later count as genuine until then: the newest mature records show too few frauds, too low a "
            "cost and too low a precision. The share that is known at maturity is estimated from the delays of known "
            "frauds, which are truncated by their age, and says nothing of frauds later than the largest age that is "
            "seen. Where no column says when a label became known, no delay is seen, and the check does not run. "
            "Recalls stay as they are where delays do not depend on the score. `check`, `backtest` and "
            "`monitor` make this check too.",
            action="Raise `training.split.label_maturity` until nearly all frauds are known by then. Compare numbers "
            "of the newest mature records with those of older ones only after dividing by the share.",
        ),
        Code.STEP_UPS: Check(
            title="Effectiveness of step-ups",
            severity=Severity.WARNING,
            of_training=False,
            why="Costs choose thresholds by how many frauds a step-up stops (`policy.costs.step_up_effectiveness`). "
            "Where that differs from what resolutions and the control group show, the policy steps up too many "
            "applicants or too few. `labels report --bundle` makes this check.",
            action="Set `policy.costs.step_up_effectiveness` to what was measured, and choose the policy anew.",
            of_service=True,
        ),
        Code.CONTROL_GROUP: Check(
            title="Size of the control group",
            severity=Severity.WARNING,
            of_training=False,
            why="A control group says what stopped applicants are. With few records it says little: a training with "
            "fewer than 30 genuine ones in its validation part counts each stopped applicant as genuine, as without a "
            "control group, and promises on missed fraud are then about those who passed. An evaluation with fewer "
            "than 10 known frauds in it cannot say which share of frauds a policy misses.",
            action="Wait for more records, or let a larger share pass (`policy.control`).",
        ),
        Code.ONE_CODE: Check(
            title="Categories with one code",
            severity=Severity.ERROR,
            of_training=True,
            why="A category has a code of its own if five persons or more have it before the validation part; all "
            "others share one. Where no value is that common, all have the same code, and the model learns nothing of "
            "the column. A column with one value alone is no such case: SM005 finds it.",
            action="Give the signal the type `identifier` if its values name single persons or things, merge its "
            "values into larger groups, or leave the feature out with `features.exclude`.",
        ),
        Code.TELLING_COLUMNS: Check(
            title="Columns that may be known only after the decision",
            severity=Severity.WARNING,
            of_training=True,
            why="A status that is set afterwards, an amount that is known later, or a gap that is filled for one class "
            "alone separates frauds well in the records, and says nothing when the model decides. Asked for is each "
            "column that features read, links aside, with an AUC of .90 alone, or with a value, a gap or a tail that "
            "has ten times the odds of fraud of all records and holds a fifth of all frauds. `check` and `init` "
            "ask too.",
            action="Answer the question for each column. If its value is known only later, leave its features out "
            "with `features.exclude`; if all are known in time, mute SM019.",
        ),
        Code.OUTSIDE_RANGE: Check(
            title="Numbers outside their training range",
            severity=Severity.WARNING,
            of_training=True,
            why="A year or a running number has values in the validation part, and later ones when the model decides, "
            "that no training record had. Trees read each of them like the nearest value that they know, so what they "
            "learnt of the feature is about a time that is over. Found is a number that lies beyond the smallest or "
            "largest value of the train part for most of the validation records that have it, where each part has 20.",
            action="Leave the feature out with `features.exclude`, or give the difference to something that moves with "
            "it, such as the age of an account instead of the year in which it was opened.",
        ),
        Code.BROKEN_PROMISES: Check(
            title="Promises of the policy",
            severity=Severity.WARNING,
            of_training=False,
            why="The whole interval of an error of the policy lies above what the policy promises: it was certified on "
            "other applicants than these, or these are not independent of each other.",
            action="Choose the policy anew on recent records (`policy BUNDLE FILE`), or train again. Look at the "
            "months and the worst window first: one ring or one week may be the cause.",
        ),
        Code.PREVALENCE: Check(
            title="Share of frauds by month",
            severity=Severity.WARNING,
            of_training=False,
            why="Promises were certified on records with some share of frauds. In a month whose share is at least half "
            "as large again, or at most two thirds, with an interval that does not meet that of the certificate, "
            "other applicants or other frauds came, and promises, probabilities and costs are not about them. A "
            "smaller share may also mean that frauds are not known yet: SM015 of the training says how many become "
            "known after the label maturity.",
            action="Compare the months of the report, a smaller share again when its frauds are known. If the change "
            "lasts, choose the policy anew on recent records (`policy BUNDLE FILE`), or train again.",
        ),
    }
)

LIMIT: Final = (
    "Columns that users supply were checked one by one: the records do not show whether their values existed before "
    "the decision."
)
"""What no check can find."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """The result of one check.

    Parameters
    ----------
    sentence : str
        What was found, or why the check could not run; true of these records, with numbers and without personal data.
    count : int
        How many records, features, groups or parameters were found.
    records : int
        Records that the check looked at.
    names : tuple of str
        Features, columns or parameters that were found, worst first.
    muted : bool
        Whether the configuration mutes the code. A muted finding is still listed, with its count.
    """

    code: Code
    state: State
    sentence: str
    count: int = 0
    records: int = 0
    names: tuple[str, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)
    muted: bool = False

    @property
    def check(self) -> Check:
        """Return what the check is about."""
        return CHECKS[self.code]

    @property
    def is_open(self) -> bool:
        """Whether something was found and is not muted."""
        return self.state is State.FOUND and not self.muted

    @property
    def page(self) -> str:
        """Return the place of the check in the documentation."""
        return f"docs/findings.md#{self.code.lower()}"

    @property
    def verdict(self) -> str:
        """Return the state in words, with the count."""
        counted = f" ({self.count:,})" if self.state is State.FOUND else ""
        return f"{self.state}{counted}{', muted' if self.muted else ''}"

    def __str__(self) -> str:
        if self.state is State.FOUND:
            return (
                f"{self.code} muted ({self.count:,})"
                if self.muted
                else f"{self.check.severity} {self.code}: {self.sentence} ({self.page})"
            )
        return f"{self.code} {self.state}" + ("" if self.state is State.CLEAR else f": {self.sentence}")

    def to_json(self) -> dict[str, Any]:
        """Give the finding as a JSON document."""
        return {
            "code": self.code.value,
            "severity": self.check.severity.value,
            "title": self.check.title,
            "state": self.state.value,
            "muted": self.muted,
            "count": self.count,
            "records": self.records,
            "sentence": self.sentence,
            "names": list(self.names),
            "figures": dict(self.figures),
            "why": self.check.why,
            "action": self.check.action,
            "page": self.page,
        }

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Self:
        """Read a finding that `to_json` wrote."""
        return cls(
            code=Code(plain["code"]),
            state=State(plain["state"]),
            sentence=plain["sentence"],
            count=plain["count"],
            records=plain["records"],
            names=tuple(plain["names"]),
            figures=plain["figures"],
            muted=plain["muted"],
        )


def checked(
    code: Code,
    sentence: str,
    *,
    count: int | None = None,
    records: int = 0,
    names: tuple[str, ...] = (),
    figures: Mapping[str, float] | None = None,
) -> Finding:
    """Make the finding of a check that ran: found if it counts anything, by default its names, and clear otherwise."""
    number = len(names) if count is None else count
    return Finding(
        code=code,
        state=State.FOUND if number else State.CLEAR,
        sentence=sentence,
        count=number,
        records=records,
        names=names,
        figures=figures or {},
    )


def not_applicable(code: Code, reason: str, *, records: int = 0) -> Finding:
    """Make the finding of a check that could not run."""
    return Finding(code=code, state=State.NOT_APPLICABLE, sentence=reason, records=records)


def arranged(findings: Iterable[Finding], *, mute: Collection[str] = ()) -> tuple[Finding, ...]:
    """Sort findings by code, and mute those with one of these codes."""
    ordered = sorted(findings, key=lambda finding: finding.code)
    return tuple(replace(one, muted=one.muted or one.code in mute) for one in ordered)
