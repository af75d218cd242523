"""Another policy for a sealed bundle, without a training: the model, its version and its scores stay."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scoring_model.bundle import (
    CARD,
    CONFIGURATION,
    EVALUATION,
    SCORE_COUNTS,
    Contents,
    ScoreCounts,
    SealedFiles,
    Use,
    json_bytes,
    read_bundle,
)
from scoring_model.bundle.codec import read_json
from scoring_model.bundle.seal import sha256_hex
from scoring_model.bundle.writer import write_bundle
from scoring_model.configuration import (
    Configuration,
    ConfigurationError,
    PolicySettings,
    SplitSettings,
    load_configuration,
    read_settings,
)
from scoring_model.configuration.reading import read_yaml
from scoring_model.decision.rules import Policy
from scoring_model.evaluation.bounds import tested_scores
from scoring_model.records import RecordTable
from scoring_model.records.quarantine import accept
from scoring_model.records.reading import read_records
from scoring_model.records.schema import Names
from scoring_model.scorer import Scorer
from scoring_model.scorer.frames import read_histories
from scoring_model.training.alternatives import Alternatives
from scoring_model.training.cards import Sample, policy_section, revised
from scoring_model.training.certification import (
    Certification,
    InfeasiblePolicy,
    certify,
    certify_limits,
    delta_of,
)
from scoring_model.training.choice import Thresholds, choose
from scoring_model.training.fresh_records import count_fresh
from scoring_model.training.ladder import certify_on_ladder, possible_now

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_STALE: Final = (
    "What depends on thresholds or costs was measured under the policy named here, not under that of this bundle: "
    "figures of outcomes and errors (false_reject, step_up, missed_fraud), cost, applicants, "
    "stability and groups. The other measures depend on the model alone."
)


class PolicyUnchanged(ValueError):
    """The chosen policy is the one that the bundle has."""


class Evidence(StrEnum):
    """Which records certify a policy, and by which tests."""

    SAME_BOUNDS = "same bounds"
    LADDER = "ladder"
    FRESH_RECORDS = "fresh records"


@dataclass(frozen=True, kw_only=True)
class PolicyChange:
    """A bundle under another policy, not yet sealed.

    Parameters
    ----------
    sealed : SealedFiles
        The former bundle.
    contents : Contents
        Those of the new one.
    evidence : Evidence
    asked : mapping of str to float
        The bounds of the settings; on the ladder they are rounded up, so the policy promises others.
    alternatives : Alternatives
        Results of other pairs under the same bounds.
    """

    sealed: SealedFiles
    contents: Contents
    evidence: Evidence
    asked: Mapping[str, float]
    alternatives: Alternatives
    described: Mapping[str, bytes]
    data: Mapping[str, object]

    @property
    def policy(self) -> Policy:
        """Return the new policy."""
        return self.contents.rules.policy

    @cached_property
    def rounded(self) -> Mapping[str, tuple[float, float]]:
        """Return the bounds that were rounded up: what was asked for and what is promised."""
        promised = {promise.bound: promise.limit for promise in self.policy.promises}
        return {
            bound: (limit, promised[bound]) for bound, limit in self.asked.items() if promised[bound] != limit
        }

    def save(
        self, path: str | Path, *, signing_key: "Ed25519PrivateKey | None" = None, replace: bool = False
    ) -> Path:
        """Seal the new bundle into a directory, atomically; see `write_bundle`.

        Raises
        ------
        BundleExists
            If `path` exists and `replace` is False.
        """
        files = {**self.sealed.files, **self.contents.policy_files(), **self.described}
        manifest = dataclasses.replace(
            self.sealed.manifest,
            policy_version=self.contents.policy_version,
            data=self.data,
            configuration_sha256=sha256_hex(self.described[CONFIGURATION]),
        )
        return write_bundle(Path(path), files, manifest, signing_key=signing_key, replace=replace)


def change_policy(
    bundle: SealedFiles | str | Path,
    configuration: Configuration | PolicySettings | str | Path | None = None,
    data: Any = None,
    *,
    thresholds: Thresholds | None = None,
    history: Sequence[Any] = (),
    as_of: int | None = None,
    max_bad_share: float = 0.01,
    names: Names | None = None,
    threads: int = 2,
) -> PolicyChange:
    """Choose another policy for a sealed bundle; its model, scale and probability stay as they are.

    Without `data` the records that certified the bundle's policy serve again, by their counts of scores:

    - bounds and confidence as they were set before these records were scored, or fewer of these bounds, keep their
      certificates: costs and thresholds may be chosen freely among the certified ones;
    - other bounds are rounded up to a fixed ladder of values, which are certified together (`training.ladder`).

    With `data` the bounds are certified on these records, which must be labelled and later than those.

    Parameters
    ----------
    configuration : Configuration, PolicySettings, or path of a configuration, optional
        Of a configuration only the policy is used. None: the policy settings of the bundle.
    data : pandas DataFrame, Arrow-speaking frame, or path of a Parquet, CSV or JSON Lines file, optional
    thresholds : Thresholds, optional
        The pair to take. None: the cheapest or the lowest certified pair.
    history : sequence of frames or paths
        Earlier records than those of `data`, which are not counted.
    as_of : int, optional
        Instant, microseconds since 1970-01-01 UTC, before which labels of `data` count.
    max_bad_share : float
        Share of rows of `data`, in [0, 1], that may break the contract.
    names : {"contract", "own"}, optional
        Whose names count in a file that has the columns of both.

    Raises
    ------
    NotFresh, TooManyBadRows
        If `data` cannot certify anything.
    AboveLadder, InfeasiblePolicy, NotCertified, PolicyUnchanged
        If the bounds cannot be certified, the pair is not certified, or nothing would change.
    """
    sealed = bundle if isinstance(bundle, SealedFiles) else read_bundle(Path(bundle))
    scorer = Scorer.of(sealed, threads=threads)
    plain = read_json(sealed.files[CONFIGURATION])
    settings = _settings(configuration, sealed, plain)
    if data is None:
        basis = _former_records(sealed, settings)
    else:
        reader = scorer.with_names(names)
        reading = read_records(data, reader.contents.schema, labelled=True)
        accept(reading, max_share=max_bad_share)
        past = read_histories(reader, history, scored=reading, recent=False)
        basis = _fresh_records(sealed, scorer, settings, reading.table, past, as_of)
    return _changed(sealed, scorer, settings, plain, basis, thresholds)


def _changed(
    sealed: SealedFiles,
    scorer: Scorer,
    settings: PolicySettings,
    plain: Mapping[str, Any],
    basis: "_Basis",
    thresholds: Thresholds | None,
) -> PolicyChange:
    """Choose thresholds that the basis certifies, and describe the bundle under them."""
    policy, alternatives = _choose(basis, settings, thresholds)
    policy = replace(policy, control=settings.control_group)
    contents = scorer.contents.under(policy, reason_share=settings.reason_share)
    if contents.policy_version == sealed.manifest.policy_version:
        raise PolicyUnchanged(f"{sealed.path}: has this policy already: {contents.policy_version}")
    origin = {**sealed.manifest.data, **basis.origin}
    section = policy_section(
        policy,
        alternatives,
        Use(**plain.get("use", {})).event,
        sample=_sample(basis, origin),
        is_picked=thresholds is not None,
    )
    return PolicyChange(
        sealed=sealed,
        contents=contents,
        evidence=basis.evidence,
        asked=settings.limits(),
        alternatives=alternatives,
        described={
            CONFIGURATION: json_bytes({**plain, "policy": _promised(settings, policy).to_json()}),
            EVALUATION: _stale_evaluation(sealed),
            SCORE_COUNTS: basis.counts.to_bytes(),
            CARD: revised(sealed, section, contents.policy_version).encode(),
        },
        data=origin,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Basis:
    """The sample that certifies the thresholds."""

    evidence: Evidence
    counts: ScoreCounts
    certification: Certification
    origin: Mapping[str, object]


def read_policy(path: Path, sealed: SealedFiles) -> tuple[PolicySettings, Thresholds | None]:
    """Read a file with another policy for a bundle.

    Parameters
    ----------
    path : Path
        YAML with keys of the section `policy` of a configuration, those left out being the bundle's, and perhaps
        `thresholds` with `step_up_from` and `fail_from`.

    Raises
    ------
    ConfigurationError
        With everything that is wrong.
    """
    plain = read_yaml(path)
    if not isinstance(plain, dict):
        raise ConfigurationError([f"{path.name}: must hold keys of a policy"])
    pair = plain.pop("thresholds", None)
    settings = read_settings(PolicySettings, {**read_json(sealed.files[CONFIGURATION])["policy"], **plain})
    return settings, None if pair is None else read_settings(Thresholds, pair)


def _settings(
    configuration: Configuration | PolicySettings | str | Path | None,
    sealed: SealedFiles,
    plain: Mapping[str, Any],
) -> PolicySettings:
    if configuration is None:
        return read_settings(PolicySettings, plain["policy"])
    if isinstance(configuration, PolicySettings):
        return configuration
    if not isinstance(configuration, Configuration):
        configuration = load_configuration(configuration)
    name = sealed.manifest.name
    if configuration.name != name:
        raise ConfigurationError([f"it is of the use {configuration.name}, the bundle of {name}"])
    return configuration.policy


def _former_records(sealed: SealedFiles, settings: PolicySettings) -> _Basis:
    """Certify on the records that certified the bundle's policy."""
    counts = ScoreCounts.of(sealed)
    limits, scores = settings.limits(), tested_scores(counts)
    if limits.items() <= counts.limits.items() and settings.confidence == counts.confidence:
        # The certificates were given before anyone saw the scores: without a bound, those of the others stay.
        delta = delta_of(counts.confidence) / max(len(counts.limits), 1)
        certification = certify_limits(*scores, limits=limits, delta=delta)
        evidence = Evidence.SAME_BOUNDS
    else:
        certification = certify_on_ladder(*scores, limits=limits, confidence=settings.confidence)
        evidence = Evidence.LADDER
    return _Basis(evidence=evidence, counts=counts, certification=certification, origin={})


def _fresh_records(
    sealed: SealedFiles,
    scorer: Scorer,
    settings: PolicySettings,
    table: RecordTable,
    history: RecordTable | None,
    as_of: int | None,
) -> _Basis:
    """Certify on records that came after those that certified the bundle's policy."""
    split = SplitSettings(**read_json(sealed.files[CONFIGURATION])["training"]["split"])
    sample = count_fresh(
        scorer,
        table,
        settings=settings,
        after=ScoreCounts.of(sealed).until,
        maturity=split.label_maturity,
        history=history,
        as_of=as_of,
    )
    return _Basis(
        evidence=Evidence.FRESH_RECORDS,
        counts=sample.counts,
        certification=certify(*tested_scores(sample.counts), settings=settings),
        origin=sample.origin,
    )


def _choose(
    basis: _Basis, settings: PolicySettings, thresholds: Thresholds | None
) -> tuple[Policy, Alternatives]:
    policy, alternatives = choose(
        basis.counts,
        basis.certification,
        confidence=settings.confidence,
        costs=settings.costs,
        pair=thresholds,
    )
    if policy is None:
        shortfalls = basis.certification.shortfalls()
        if basis.evidence is not Evidence.FRESH_RECORDS:
            scores = tested_scores(basis.counts)
            shortfalls = possible_now(
                shortfalls, *scores, limits=settings.limits(), confidence=settings.confidence
            )
        raise InfeasiblePolicy(shortfalls, alternatives=alternatives)
    return policy, alternatives


def _sample(basis: _Basis, origin: Mapping[str, object]) -> Sample:
    """Name the records that certify the policy, for the card."""
    sample = Sample(is_seen=basis.evidence is Evidence.LADDER, stopped=basis.counts.stopped)
    if "policy_from" not in origin:
        return sample
    return replace(sample, of=f"the fresh records from {origin['policy_from']} to {origin['policy_to']}")


def _promised(settings: PolicySettings, policy: Policy) -> PolicySettings:
    """Return the settings with the bounds that are promised."""
    limits: dict[str, Any] = {promise.bound: promise.limit for promise in policy.promises}
    return replace(settings, **limits)


def _stale_evaluation(sealed: SealedFiles) -> bytes:
    """Return the evaluation with the policy that it was made under, the first one if there were several."""
    evaluation = read_json(sealed.files[EVALUATION])
    stale = {"policy_version": sealed.manifest.policy_version, "meaning": _STALE}
    return json_bytes({"stale": stale, **evaluation})
