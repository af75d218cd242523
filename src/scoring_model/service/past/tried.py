"""What rules and lists that are not active yet would have made of past verifications: their price before the switch."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from scoring_model.contract.outcome import OUTCOMES, Outcome
from scoring_model.contract.resolution import Result
from scoring_model.history import LinkKey
from scoring_model.records.observation import STOPPED, UNKNOWN, observed_until
from scoring_model.records.schema import StepUps
from scoring_model.records.table import NEVER
from scoring_model.rules import RuleEvaluator, Rules
from scoring_model.service.core.rows import ClientRow, OperatorListRow, VerificationRow
from scoring_model.service.keys.link_hashes import split_hashes
from scoring_model.service.keys.secrets import Secrets
from scoring_model.service.operator_lists.files import FileList, keys_of
from scoring_model.service.operator_lists.values import ValueHasher
from scoring_model.service.past.pages import OpenedValues, PastPage
from scoring_model.service.scoring.listbook import in_order
from scoring_model.service.scoring.overrides import Override, override_of
from scoring_model.service.scoring.rulebook import ActiveRules
from scoring_model.service.scoring.score import Score

_NO_NUMBER: Final = 0
_OUTCOMES: Final = {outcome.value: code for code, outcome in enumerate(OUTCOMES)}
_RESULTS: Final = {result.value: code for code, result in enumerate(Result)}  # as in `observation`


@dataclass(frozen=True, slots=True)
class Hits:
    """Past verifications that one rule or list would have hit.

    Parameters
    ----------
    kind : str
        ``rule`` or ``list``.
    then : str
        What it decides: an outcome, or OBSERVE.
    hits : int
        Those it holds for.
    frauds, genuine : int
        Those of them with such a label.
    observed : int
        Those without a label that were let pass: genuine, unless it becomes known later that they are frauds.
    not_observed : int
        Those without a label that were stopped: nobody knows what they were.
    decided : int
        Those about which it decides, since nothing before it holds.
    changed : int
        Those of them that would have got another outcome than by score and thresholds.
    """

    kind: str
    name: str
    then: str
    hits: int
    frauds: int
    genuine: int
    observed: int
    not_observed: int
    decided: int
    changed: int


class Tried:
    """Rules and lists of files, for past verifications.

    Parameters
    ----------
    columns : sequence of str
        Features of the rows of the bundle that decides again.
    link_keys : sequence of LinkKey
        Those of the history.
    step_ups : str
        Whether those who were stepped up without a resolution are observed.

    Raises
    ------
    Invalid
        If the history has not the link key of a list.
    """

    def __init__(
        self,
        rules: Rules | None,
        lists: Sequence[FileList],
        *,
        columns: Sequence[str],
        link_keys: Sequence[LinkKey],
        secrets: Secrets,
        step_ups: StepUps,
    ) -> None:
        self._rules = None if rules is None else ActiveRules(_NO_NUMBER, RuleEvaluator(rules, columns))
        self._keys = keys_of(lists, link_keys)
        self._secrets = secrets
        self._step_ups = step_ups
        self._lists = [
            (one, OperatorListRow(place, "", one.name, one.key, one.outcome.value, 0))
            for place, one in enumerate(lists)
        ]
        self._hashes: dict[tuple[str, int], Mapping[bytes, object]] = {}
        self._counts: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)

    def decide(self, page: PastPage, scores: Mapping[bytes, Score]) -> dict[bytes, Override]:
        """Decide about the replayed verifications of a page, by id, and count the hits."""
        rows = [row for row in page.rows if row.id in scores]
        observed = self._observed(page, rows)
        found = {}
        for row, is_observed in zip(rows, observed, strict=True):
            new, opened = scores[row.id], page.opened[row.id]
            verdict = None
            if self._rules is not None and isinstance(opened, OpenedValues):
                verdict = self._rules.decide(
                    opened.identity,
                    opened.signals,
                    score=new.score,
                    outcome=new.outcome,
                    features=new.features,
                    event_time=new.instant,
                )
            held = self._held(page.client, row)
            found[row.id] = override_of(new.outcome, held, verdict, rules=None, lists=None)
            label = str(page.labels[row.id].get("label") or ("observed" if is_observed else "not_observed"))
            self._count(found[row.id], label, new.outcome)
        return found

    def result(self) -> tuple[Hits, ...]:
        """Return the hits of each list and rule, in the order in which they decide."""
        lists = in_order([row for _, row in self._lists])
        named = [("list", row.name, row.outcome) for row in lists]
        if self._rules is not None:
            named += [("rule", one.code, one.then.value) for one in self._rules.evaluator.rules.rules]
        return tuple(
            Hits(
                kind=kind,
                name=name,
                then=then,
                hits=counts["hits"],
                frauds=counts["fraud"],
                genuine=counts["genuine"],
                observed=counts["observed"],
                not_observed=counts["not_observed"],
                decided=counts["decided"],
                changed=counts["changed"],
            )
            for kind, name, then in named
            for counts in [self._counts[kind, name]]
        )

    def _count(self, override: Override, label: str, outcome: Outcome) -> None:
        hits = [("list", name) for name in (override.list_hits or "").split(",") if name]
        hits += [("rule", code) for code in (override.rule_hits or "").split(",") if code]
        for hit in hits:
            self._counts[hit].update(("hits", label))
        if override.code is not None:
            of = self._counts[override.decided_by.value, override.code]
            of["decided"] += 1
            of["changed"] += override.outcome is not outcome

    def _held(self, client: ClientRow, row: VerificationRow) -> tuple[OperatorListRow, ...]:
        at, hashes = row.completed_at or 0, split_hashes(row.links)
        return in_order(
            of
            for one, of in self._lists
            if (one.until is None or at < one.until)
            and not self._values(client, one).keys().isdisjoint(hashes)
        )

    def _values(self, client: ClientRow, one: FileList) -> Mapping[bytes, object]:
        """Return the values of a list by their hashes for the verifications of a client."""
        place = (one.name, client.client)
        if place not in self._hashes:
            hasher = ValueHasher(self._secrets, self._keys[one.key], client.pool, client.client)
            self._hashes[place] = one.hashed(hasher)
        return self._hashes[place]

    def _observed(self, page: PastPage, rows: Sequence[VerificationRow]) -> list[bool]:
        """Return whether each could become a known fraud, by its final outcome and resolution."""
        resolutions = [page.resolutions.get(row.id) for row in rows]
        until = observed_until(
            np.array([_OUTCOMES.get(row.outcome or "", UNKNOWN) for row in rows], dtype=np.int8),
            np.array(
                [UNKNOWN if one is None else _RESULTS[one.result] for one in resolutions], dtype=np.int8
            ),
            np.full(len(rows), NEVER),
            step_ups=self._step_ups,
        )
        return [bool(one) for one in until != STOPPED]
