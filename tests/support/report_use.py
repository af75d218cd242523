"""Evaluations to draw, and a reader of the page that they become."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser

import numpy as np

from scoring_model.decision.probability import Platt
from scoring_model.decision.rules import DecisionRules, Policy, Promise
from scoring_model.decision.scale import ScoreScale
from scoring_model.evaluation.evaluated_records import EvaluatedRecords
from scoring_model.evaluation.evaluation import Evaluation, evaluate_records
from scoring_model.records import Column

DAY = 86_400_000_000
START = int(np.datetime64("2024-03-01", "us").astype(np.int64))


def rules(limits: Mapping[str, float]) -> DecisionRules:
    """Rules that step up from 500 and fail from 900, with promises."""
    return DecisionRules(
        scale=ScoreScale(cuts=np.linspace(-4, 4, 1000), extrapolated_from=801),
        calibration=Platt(slope=1.0, intercept=-2.0),
        policy=Policy(
            step_up_from=500,
            fail_from=900,
            promises=tuple(
                Promise(bound=bound, limit=limit, delta=0.05, observed=0.0, records=9, p_value=0.01)
                for bound, limit in limits.items()
            ),
        ),
    )


def evaluated(
    *,
    genuine: int = 1900,
    frauds: int = 100,
    days: int = 60,
    limits: Mapping[str, float] | None = None,
    groups: Sequence[str] = (),
    reference: str | None = None,
) -> Evaluation:
    """Evaluate drawn margins: those of frauds are higher; with values of the column `group` in turn."""
    generator = np.random.default_rng(3)
    margins = np.concatenate([generator.normal(-1.5, 1.2, genuine), generator.normal(1, 1.5, frauds)])
    decided = rules({} if limits is None else limits)
    return evaluate_records(
        EvaluatedRecords(
            decisions=decided.decide(margins),
            labels=np.repeat(np.array([0, 1], dtype=np.int8), [genuine, frauds]),
            event_times=START + generator.integers(0, days * DAY, genuine + frauds),
            columns={
                "group": Column(values=tuple(groups), codes=np.arange(genuine + frauds) % max(len(groups), 1))
            },
        ),
        rules=decided,
        by={"group": reference} if groups else {},
    )


@dataclass
class Page(HTMLParser):
    """What a page holds.

    Parameters
    ----------
    ids, links, drawings : list of str
        Identifiers, targets of links inside the page, and labels of drawings.
    addresses : list of str
        Whatever the page would load.
    tables : list of list of list of str
        Cells of the rows of each table.
    """

    ids: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    drawings: list[str] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    tables: list[list[list[str]]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self._in_cell = False

    @classmethod
    def of(cls, html: str) -> "Page":
        """Read a page."""
        page = cls()
        page.feed(html)
        return page

    def is_one_file(self) -> bool:
        """Whether it holds no script, loads nothing but its own data, and links only to its own parts."""
        own = {link.removeprefix("#") for link in self.links} <= set(self.ids)
        loads = [address for address in self.addresses if not address.startswith("data:")]
        return own and not loads and not {"script", "img", "iframe", "object"} & set(self.tags)

    @property
    def text(self) -> str:
        """What is read: all words, one blank apart."""
        return " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note identifiers, addresses and drawings."""
        found = {name: value or "" for name, value in attrs}
        self.tags.append(tag)
        self.ids += [found["id"]] if "id" in found else []
        self.drawings += [found.get("aria-label", "")] if tag == "svg" else []
        for name in ("href", "src", "xlink:href"):
            address = found.get(name, "")
            (self.links if address.startswith("#") else self.addresses).extend([address] if address else [])
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("th", "td"):
            self.tables[-1][-1].append("")
            self._in_cell = True

    def handle_endtag(self, tag: str) -> None:
        """Trim a cell that ends."""
        if tag in ("th", "td"):
            self.tables[-1][-1][-1] = " ".join(self.tables[-1][-1][-1].split())
            self._in_cell = False

    def handle_data(self, data: str) -> None:
        """Collect words, also those of the latest cell."""
        if self.tags[-1:] == ["style"]:
            return
        self.words.append(data)
        if self._in_cell:
            self.tables[-1][-1][-1] += data
