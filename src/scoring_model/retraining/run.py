"""The steps of a retraining, each skipped when an earlier run that was killed has done it."""

import shutil
import tempfile
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scoring_model.bundle.manifest import MANIFEST
from scoring_model.configuration import load_configuration, load_gates
from scoring_model.configuration.rules import keep_features
from scoring_model.contract.fields import signal_field
from scoring_model.evaluation import NothingToEvaluate
from scoring_model.evaluation.holdout import group_columns, maturity_of, read_labelled, training_folder
from scoring_model.evaluation.sequential import Answer, Look, needed_text
from scoring_model.evaluation.trained_records import trained_until
from scoring_model.locks import locked
from scoring_model.records import RecordSchema, rfc3339
from scoring_model.records.atomic import write_json
from scoring_model.records.files import file_ending
from scoring_model.retraining.challenger import Challenger
from scoring_model.retraining.records import Records, collect_records, cut, forget_records
from scoring_model.retraining.settings import Report, Retraining, RetrainingError
from scoring_model.rules import InvalidRules
from scoring_model.scorer import Scorer
from scoring_model.service.activation.activating import ActivationRefused, activate
from scoring_model.service.activation.activations import (
    Versions,
    fetch,
    living,
    read_activations,
    serving_versions,
)
from scoring_model.service.activation.rules import read_active_rules
from scoring_model.service.activation.shelf import (
    BundleShelf,
    BundlesMissing,
    is_intact,
    read_bundle_directory,
)
from scoring_model.service.store import with_store
from scoring_model.training.boundaries import SplitError
from scoring_model.training.job import Job, run_job
from scoring_model.training.mlflow_runs import log_run
from scoring_model.training.promotion import Promotion, promote
from scoring_model.training.registry import (
    CHAMPION,
    Registered,
    Registry,
    fetch_bundle,
    make_champion,
    read_registry,
)
from scoring_model.training.run_description import describe_bundle
from scoring_model.training.tracking import call_within

if TYPE_CHECKING:
    from scoring_model.service.core.clock import Clock
    from scoring_model.service.store import Store

_BY: Final = "retraining"
_REGISTER_SECONDS: Final = 600.0
_HALF_WRITTEN: Final = ".*" + 16 * "[0-9a-f]" + "*"
"""Names of files and folders until they are whole: see `atomic_file` and `bundle.durable.sibling`."""

_FINISHED: Final = "promote: an earlier run decided; its bundle serves now"


@dataclass(frozen=True, kw_only=True, slots=True)
class Retrained:
    """The answer of a retraining.

    Parameters
    ----------
    answer : Answer
    text : str
        The answer in words, such as ``wait: 312 more matured frauds, about 40 days``.
    champion : str or None
        Model version that served before; None if it is no longer registered.
    challenger : str
        Model version that was compared with it. After `promote` it serves.
    trained : bool
        Whether this run trained the challenger; else an earlier one did.
    exported : int or None
        Exported records; None if only the activation of an earlier run was finished.
    look : Look or None
        None if nothing had matured, or if only an activation was finished.
    processes : int or None
        Processes that serve the new bundle; None without a promotion.
    """

    answer: Answer
    text: str
    champion: str | None
    challenger: str
    trained: bool
    exported: int | None
    look: Look | None
    processes: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the answer as a JSON document."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return plain | {"look": None if self.look is None else self.look.to_json()}


def retrain(given: Retraining, *, clock: "Clock", report: Report = lambda text: None) -> Retrained:
    """Export, train, compare, decide, and activate what was promoted.

    A challenger that waits is compared again by the next run, on all records that matured until then. Another one is
    trained once it was promoted or given up. A run can be killed at any point and started again: what it writes
    appears whole or not at all.

    Raises
    ------
    RetrainingError
        If another run works in the folder, the champion of the registry is not the bundle that serves, or the
        challenger would lack what the active rules read.
    MissingColumns, UnreadableSource, TooManyBadRows
        If a file of the past cannot be read. Nothing was exported or changed.
    ActivationRefused
        If the service refuses the promoted bundle. The one that serves is the champion again.
    ActivationUnanswered
        If processes did not answer in time. The next run goes on with the activation.
    TrackingError, EvaluationError, SplitError, LeakageError, InfeasiblePolicy
        As `promote` and `train`. The champion serves on.
    """
    for path in given.past:
        file_ending(path)
    given.work.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(given.work, busy=RetrainingError(f"{given.work}: another run is at work")):
        _tidy(given.work)
        return _Run(given, clock, report).answer()


def _trained_until(*scorers: Scorer) -> int:
    """Return the instant from which on none of some models was trained."""
    ends = [end for scorer in scorers if (end := trained_until(scorer)) is not None]
    if len(ends) < len(scorers):
        raise RetrainingError("a bundle does not hold its split: the records of its training are not known")
    return max(ends)


def nothing_matured(since: int, maturity: int, *, as_of: int) -> str:
    """Say that no record from an instant on has matured, and when the first one can have; it may not have come.

    >>> from scoring_model.records.times import DAY
    >>> nothing_matured(20_000 * DAY, 60 * DAY, as_of=20_010 * DAY)
    'wait: no record from after both trainings has matured yet; one of 2024-10-04 matures on 2024-12-03'
    >>> nothing_matured(20_000 * DAY, 60 * DAY, as_of=20_099 * DAY)
    'wait: no record of 2024-10-04 to 2024-11-12, after both trainings, was observed, or none came'
    """
    first, matured, last = (rfc3339(instant)[:10] for instant in (since, since + maturity, as_of - maturity))
    if since + maturity < as_of:
        return f"wait: no record of {first} to {last}, after both trainings, was observed, or none came"
    return f"wait: no record from after both trainings has matured yet; one of {first} matures on {matured}"


def _tidy(work: Path) -> None:
    """Remove what a killed run had half written or half removed: records of persons, and bundles that none can read."""
    for half_written in [*work.rglob(_HALF_WRITTEN)]:
        shutil.rmtree(half_written) if half_written.is_dir() else half_written.unlink(missing_ok=True)
    for one in Challenger.all_in(work):
        if one.bundle.is_dir() and not (one.bundle / MANIFEST).is_file():
            shutil.rmtree(one.folder)


class _Run:
    """One retraining."""

    def __init__(self, given: Retraining, clock: "Clock", report: Report) -> None:
        self._given = given
        self._configuration = load_configuration(given.configuration).with_names(given.names)
        self._gates = load_gates(given.gates)
        self._clock = clock
        self._report = report

    def answer(self) -> Retrained:
        """Run the steps, from the first that is missing."""
        serving = with_store(self._given.database, _serving)
        registry = read_registry(self._configuration.name, uri=self._given.uri)
        challenger = self._waiting(registry)
        if challenger is not None and registry.champion == registry.of(*challenger.versions):
            self._report("an earlier run promoted the challenger: its activation goes on")
            return self._finished(challenger, registry)
        champion = self._agreed_champion(serving, registry)
        if challenger is not None and self._given.anew:
            self._decide(challenger, {"answer": "given up"})
            challenger = None
        try:
            found = self._compared(champion, challenger, is_champion=registry.champion == champion)
        except Exception:
            forget_records(self._given)
            raise
        forget_records(self._given)
        return found

    def _waiting(self, registry: Registry) -> Challenger | None:
        """Return the challenger that is registered and not decided."""
        for one in Challenger.all_in(self._given.work):
            if not one.is_decided and one.bundle.is_dir() and registry.of(*one.versions) is not None:
                return one
        return None

    def _agreed_champion(self, serving: Versions, registry: Registry) -> Registered:
        """Return the version that serves: the champion, or what becomes it.

        It becomes the champion where there is none, and where the champion is its model under another policy.
        """
        found, champion = registry.of(*serving), registry.champion
        if champion is not None and (champion.model_version, champion.policy_version) == serving:
            return champion
        if found is None:
            found = self._registered(serving, registry)
        if champion is not None and champion.model_version != serving.model:
            raise RetrainingError(
                f"{registry.name}: version {champion.number} is the {CHAMPION}, and version {found.number} serves: "
                "activate the champion, or give its alias to the version that serves"
            )
        return found

    def _registered(self, serving: Versions, registry: Registry) -> Registered:
        """Register the bundle that serves, as after `policy` and `bundles activate`."""
        with tempfile.TemporaryDirectory() as text:
            folder = Path(text)
            bundle = with_store(self._given.database, partial(_served_bundle, serving, folder / "bundles"))
            (folder / "scratch").mkdir()
            record = describe_bundle(bundle, scratch=folder / "scratch")
            if record.use != registry.name:
                raise RetrainingError(
                    f"bundle {serving} serves another use: {record.use}, not {registry.name}"
                )
            call_within(_REGISTER_SECONDS, partial(log_run, self._given.uri, record))
        found = read_registry(registry.name, uri=self._given.uri).of(*serving)
        if found is None:
            raise RetrainingError(
                f"{registry.name}: bundle {serving} serves, and its registered version was deleted"
            )
        self._report(f"bundle {serving} serves and was not registered: it is version {found.number} now")
        return found

    def _compared(self, champion: Registered, waiting: Challenger | None, *, is_champion: bool) -> Retrained:
        """Compare the challenger, a new one unless one waits, with the champion; activate it if it is promoted."""
        if waiting is None:
            self._keep_what_rules_read()
        with tempfile.TemporaryDirectory() as folder:
            old = self._fetched(champion.number, Path(folder))
        records = collect_records(
            self._given,
            _schema_of_both(old.contents.schema, self._configuration.schema),
            by=self._gates.columns(pair=True),
            max_bad_share=self._configuration.records.max_bad_share,
            now=self._clock.now(),
            report=self._report,
        )
        challenger = self._trained(records) if waiting is None else waiting
        since = _trained_until(old, Scorer.load(challenger.bundle, public_key=self._given.public_key))
        done = self._look(records, old, challenger, since, crowned=None if is_champion else champion)
        found = Retrained(
            answer=Answer.WAIT,
            text=nothing_matured(since, maturity_of(old), as_of=records.as_of),
            champion=champion.model_version,
            challenger=challenger.versions.model,
            trained=waiting is None,
            exported=records.exported,
            look=None,
        )
        if done is None or done.look is None:
            return found
        found = replace(found, answer=done.look.answer, text=str(done.look), look=done.look)
        write_json(challenger.folder / "comparison.json", done.evidence)
        if done.promoted:
            found = replace(found, processes=self._activate(challenger, done.version, done.champion))
        if found.answer is not Answer.WAIT:
            self._decide(challenger, found.to_json())
        return found

    def _keep_what_rules_read(self) -> None:
        """Let the training keep what the active rules read: a bundle without it would be refused."""
        document = with_store(self._given.database, _active_rules)
        if document is None:
            return
        try:
            self._configuration = keep_features(self._configuration, document)
        except InvalidRules as error:
            raise RetrainingError(
                "the challenger would not have all that the active rules read. Change "
                f"{self._given.configuration} or the rules: {'; '.join(map(str, error.violations))}"
            ) from None

    def _trained(self, records: Records) -> Challenger:
        """Train and register a challenger as of the instant of the records; a search goes on where it was killed."""
        given, challenger = self._given, Challenger.trained_as_of(self._given.work, records.as_of)
        for other in Challenger.all_in(given.work):
            if not other.is_decided and other != challenger:
                shutil.rmtree(other.folder)  # its training failed, or no registry has it
        challenger.folder.mkdir(exist_ok=True)
        self._report(needed_text(self._gates.looks))
        job = Job(
            source=records.file,
            configuration=self._configuration.trained_as_of(records.as_of),
            out=challenger.bundle,
            resume=True,
            replace=True,
            signing_key=given.signing_key,
            tracking_uri=given.uri,
            threads=given.threads,
        )
        try:
            run = run_job(job, report=self._report).tracked
        except SplitError as error:
            if given.past:
                raise
            few = f"{records.exported:,} records of the service are all there are: give earlier ones with --past"
            raise SplitError((*error.reasons, few)) from None
        if run is not None and run.not_logged is not None:
            raise RetrainingError(f"the registry does not have the challenger: {run.not_logged}")
        return challenger

    def _look(
        self, records: Records, old: Scorer, challenger: Challenger, since: int, *, crowned: Registered | None
    ) -> Promotion | None:
        """Compare both on matured records from `since` on, which neither was trained on; None without any.

        `crowned` becomes the champion, once the records can be compared.
        """
        given = self._given
        earlier, fresh = cut(records, since)
        self._report(
            f"{fresh.num_rows:,} records from {rfc3339(since)} on, which neither model was trained on"
        )
        by, share = dict.fromkeys(self._gates.columns(pair=True)), self._configuration.records.max_bad_share
        if crowned is not None:
            table = read_labelled(old, fresh, None, by=by, max_bad_share=share).table
            group_columns(table, by, old.contents.schema)
            name = self._configuration.name
            make_champion(name, crowned.number, uri=given.uri)
            self._report(f"version {crowned.number} of {name} serves: it is the {CHAMPION} now")
        folders = [training_folder(one.bundle) for one in Challenger.all_in(given.work)]
        if not fresh.num_rows:
            return None
        try:
            return promote(
                challenger.bundle,
                fresh,
                gates=self._gates,
                uri=given.uri,
                looks=challenger.looks,
                options={
                    "history": [earlier],
                    "as_of": records.as_of,
                    "matured_only": True,
                    "by": by,
                    "mute": self._gates.findings.mute,
                    "training": [*given.training, *folders],
                    "max_bad_share": share,
                },
                public_key=given.public_key,
                threads=given.threads,
                report=self._report,
            )
        except NothingToEvaluate:
            return None

    def _finished(self, challenger: Challenger, registry: Registry) -> Retrained:
        """Finish the activation that an earlier run began."""
        promoted = registry.of(*challenger.versions)
        if promoted is None:
            raise RetrainingError("the promoted version is not registered")
        before = next((one for one in registry.versions if one.number == promoted.replaced), None)
        found = Retrained(
            answer=Answer.PROMOTE,
            text=_FINISHED,
            champion=None if before is None else before.model_version,
            challenger=challenger.versions.model,
            trained=False,
            exported=None,
            look=None,
            processes=self._activate(challenger, promoted.number, promoted.replaced),
        )
        self._decide(challenger, found.to_json())
        forget_records(self._given)
        return found

    def _activate(self, challenger: Challenger, number: str, replaced: str | None) -> int:
        """Let the service switch to the promoted version. If it refuses, the earlier champion is that again."""
        given, name = self._given, self._configuration.name

        async def switch(store: "Store") -> int:
            active = (await read_activations(store)).active
            if active is not None and Versions.of(active) == challenger.versions:
                async with store.reading() as reader:
                    return len(await living(reader, self._clock.now()))
            done = await activate(
                store, fetched, public_key=given.public_key, by=_BY, clock=self._clock, timeout=given.wait
            )
            return done.processes

        self._report(f"version {number} of {name} is the {CHAMPION}: the service activates it")
        with tempfile.TemporaryDirectory() as folder:
            fetched = fetch_bundle(f"models:/{name}/{number}", uri=given.uri, folder=Path(folder))
            try:
                processes = with_store(given.database, switch)
            except ActivationRefused as error:
                if replaced is not None:
                    make_champion(name, replaced, uri=given.uri)
                self._decide(challenger, {"answer": "refused", "text": str(error)})
                raise
        self._report(f"version {number} of {name} serves in {processes} processes")
        return processes

    def _fetched(self, number: str, folder: Path) -> Scorer:
        """Fetch and load a registered bundle."""
        model = f"models:/{self._configuration.name}/{number}"
        found = fetch_bundle(model, uri=self._given.uri, folder=folder)
        return Scorer.load(found, public_key=self._given.public_key, threads=self._given.threads)

    def _decide(self, challenger: Challenger, document: dict[str, Any]) -> None:
        challenger.decide({**document, "at": rfc3339(self._clock.now())})


def _schema_of_both(old: RecordSchema, new: RecordSchema) -> RecordSchema:
    """Return the schema of the challenger's records, with the signals that the champion alone reads."""
    others = {name: kind for name, kind in old.signals.items() if name not in new.signals}
    fields, taken = {*map(signal_field, others)}, new.columns.values()
    columns = {name: column for name, column in old.columns.items() if name in fields and column not in taken}
    return replace(new, signals=others | dict(new.signals), columns=columns | dict(new.columns))


async def _served_bundle(versions: Versions, folder: Path, store: "Store") -> Path:
    """Return the files of a bundle that served, from the directory of the service or from the database."""
    directory = await read_bundle_directory(store)
    found = None if directory is None else BundleShelf(directory).find(*versions)
    if found is not None and is_intact(found):
        return found
    try:
        return await fetch(store, BundleShelf(folder), versions)
    except BundlesMissing:
        raise RetrainingError(
            f"bundle {versions} serves and is not registered, and neither database nor this machine has its files: "
            "run this where the service runs, or activate it there (`scoring-model bundles activate`)"
        ) from None


async def _active_rules(store: "Store") -> object:
    async with store.reading() as reader:
        return await read_active_rules(reader)


async def _serving(store: "Store") -> Versions:
    """Return the bundle that serves, or that will once a process runs."""
    candidate = (await read_activations(store)).candidate
    found = await serving_versions(store) if candidate is None else Versions.of(candidate)
    if found is None:
        raise RetrainingError("no bundle has served this database yet")
    return found
