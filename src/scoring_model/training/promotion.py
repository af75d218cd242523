"""Promotion: moves the alias of the champion when every gate holds, and keeps the evidence with the version."""

import hashlib
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scoring_model.bundle import Manifest
from scoring_model.bundle.reader import read_manifest
from scoring_model.configuration import GateSettings
from scoring_model.evaluation import (
    EvaluationError,
    GateReport,
    check_gates,
    compare,
    evaluate,
    trained_records,
)
from scoring_model.evaluation.report import Report, comparison_report, evaluation_report, html
from scoring_model.evaluation.sequential import Answer, Look, Looks, read_looks
from scoring_model.records import Names
from scoring_model.records.atomic import json_text, write_whole
from scoring_model.scorer import Scorer
from scoring_model.training.mlflow_runs import client_of, pages
from scoring_model.training.registry import (
    CHAMPION,
    NO_CHAMPION,
    REPLACED_TAG,
    SEAL_TAG,
    download,
    find_champion,
)
from scoring_model.training.tracking import TrackingError, call_within

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

EVIDENCE_TAG: Final = "promotion.evidence"
"""Tag of a promoted version: the artifact of its run that holds the comparison and the gates."""

_SECONDS: Final = 600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Promotion:
    """The result of a promotion.

    Parameters
    ----------
    name, version : str
        Of the registered model.
    champion : str or None
        Version that had the alias before; None: no version had it.
    promoted : bool
        Whether the alias moved.
    report : GateReport
    evidence : mapping
        JSON document of the comparison (of the evaluation for a first champion), with the gates.
    artifact : str or None
        Artifact of the version's run that holds the evidence; None without a promotion.
    look : Look or None
        The look that decided; None for a promotion that is decided at once.
    """

    name: str
    version: str
    champion: str | None
    promoted: bool
    report: GateReport
    evidence: Mapping[str, Any]
    artifact: str | None
    look: Look | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Registered:
    """The version of a bundle, and that of the champion with its bundle; None without a champion."""

    name: str
    version: str
    run_id: str
    champion: str | None
    champion_bundle: Path | None


def promote(
    bundle: Path,
    records: object,
    *,
    gates: GateSettings,
    uri: str,
    first: bool = False,
    looks: Path | None = None,
    options: Mapping[str, Any] | None = None,
    names: Names | None = None,
    public_key: "Ed25519PublicKey | None" = None,
    threads: int = 2,
    report: Callable[[str], None] = lambda text: None,
) -> Promotion:
    """Compare a registered bundle with the champion and move the alias if every gate holds and something is better.

    Parameters
    ----------
    bundle : Path
        Bundle whose version is registered; the champion is fetched from the registry.
    records : path, list of paths, DataFrame or Arrow stream
        Labelled records on which both are compared.
    first : bool
        Whether there is no champion: then the gates about one model decide.
    looks : Path, optional
        File of looks at this challenger, which is made by the first. Then one figure decides, on all records that
        matured so far, and the answer may be to wait for more.
    options : mapping, optional
        Further keyword arguments of `compare`.
    names : {"contract", "own"}, optional
        As for `Scorer.with_names`.
    public_key : Ed25519PublicKey, optional
        Key that must verify the signatures of both bundles.

    Raises
    ------
    TrackingError
        If the bundle is not registered, is the champion already, or if the registry cannot be read or changed.
    EvaluationError, NothingToEvaluate
        As `compare`; also if the file holds looks at other bundles or more records, or looks need a champion.
    """
    if first and looks is not None:
        raise EvaluationError("looks compare with a champion: decide about the first one without them")

    def load(path: Path) -> Scorer:
        return Scorer.load(path, public_key=public_key, threads=threads).with_names(names)

    challenger = load(bundle)
    with tempfile.TemporaryDirectory() as folder:
        found = call_within(_SECONDS, partial(_fetch, uri, challenger.manifest, Path(folder)))
        _refuse_other_champion(found, first=first)
        champion = None if found.champion_bundle is None else load(found.champion_bundle)
    report(f"version {found.version} of {found.name} against {found.champion or 'no champion'}")
    judged = _judge(champion, challenger, records, gates, looks, options or {})
    named = {"name": found.name, "version": found.version, "champion": found.champion}
    evidence = {**judged.evidence, "promotion": named}
    artifact = None
    if judged.promotes:
        artifact = call_within(_SECONDS, partial(_move, uri, found, evidence, html(judged.page())))
    return Promotion(
        name=found.name,
        version=found.version,
        champion=found.champion,
        promoted=judged.promotes,
        report=judged.report,
        evidence=evidence,
        artifact=artifact,
        look=judged.look,
    )


def _refuse_other_champion(found: "_Registered", *, first: bool) -> None:
    """Refuse if there is a champion and none is expected, or the other way round."""
    if (found.champion_bundle is None) != first:
        held = found.champion
        raise TrackingError(
            f"no version of {found.name} has the alias {CHAMPION}; --first promotes without one"
            if held is None
            else f"version {held} of {found.name} is the {CHAMPION}; leave out --first to compare with it"
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Judged:
    """The gates, whether they promote, the evidence as a JSON document, and what renders the report as HTML."""

    report: GateReport
    promotes: bool
    evidence: Mapping[str, Any]
    page: Callable[[], Report]
    look: Look | None = None


def _judge(
    champion: Scorer | None,
    challenger: Scorer,
    records: object,
    gates: GateSettings,
    looks: Path | None,
    options: Mapping[str, Any],
) -> _Judged:
    """Check the gates on a comparison, or on an evaluation without a champion; look once more if there are looks."""
    if champion is None:
        evaluation = evaluate(challenger, records, **options)
        gated = check_gates(gates, evaluation, trained=trained_records(challenger, evaluation))
        return _Judged(
            report=gated,
            promotes=gated.exit_code == 0,
            evidence=evaluation.to_json() | {"gates": gated.to_json()},
            page=partial(evaluation_report, evaluation),
        )
    earlier = Looks(champion=champion.manifest.seal, challenger=challenger.manifest.seal, plan=gates.looks)
    if looks is not None and looks.exists():
        earlier = earlier.continued(read_looks(looks))
    comparison = compare(champion, challenger, records, **options)
    gated = check_gates(gates, comparison)
    evidence = comparison.to_json() | {"gates": gated.to_json()}
    page = partial(comparison_report, comparison, gates=gated)
    if looks is None:
        return _Judged(report=gated, promotes=gated.promotes, evidence=evidence, page=page)
    known = earlier.add(comparison, gates_pass=gated.passes)
    write_whole(looks, json_text(known.to_json()))
    look = known.looks[-1]
    return _Judged(
        report=gated,
        promotes=look.answer is Answer.PROMOTE,
        evidence=evidence | {"looks": known.to_json()},
        page=page,
        look=look,
    )


def _fetch(uri: str, manifest: Manifest, folder: Path) -> _Registered:
    """Find the version of a bundle, and fetch the champion's bundle."""
    client = client_of(uri)
    versions = [
        version
        for version in pages(client.search_model_versions, f"name='{manifest.name}'")
        if version.tags.get(SEAL_TAG) == manifest.seal
    ]
    if not versions:
        raise TrackingError(
            f"no registered version of {manifest.name} has the seal of the bundle: {manifest.seal}"
        )
    version = max(versions, key=lambda one: int(one.version))
    if read_manifest(download(client, version, folder / "challenger")) != manifest:
        raise TrackingError(f"the artifacts of version {version.version} are not those of the bundle")
    champion = find_champion(client, manifest.name)
    if champion is not None and str(champion.version) == str(version.version):
        raise TrackingError(f"version {version.version} of {manifest.name} is the {CHAMPION} already")
    return _Registered(
        name=manifest.name,
        version=str(version.version),
        run_id=str(version.run_id),
        champion=None if champion is None else str(champion.version),
        champion_bundle=None if champion is None else download(client, champion, folder / CHAMPION),
    )


def _move(uri: str, found: _Registered, evidence: Mapping[str, Any], page: str) -> str:
    """Store evidence and report, then move the alias, unless another version has become the champion meanwhile."""
    client = client_of(uri)
    text = json_text(evidence)
    digest = hashlib.sha256(text.encode()).hexdigest()
    artifact = f"promotion/{digest[:16]}.json"
    client.log_text(found.run_id, text, artifact)
    client.log_text(found.run_id, page, f"{artifact.removesuffix('.json')}.html")
    tags = {
        EVIDENCE_TAG: artifact,
        "promotion.evidence_sha256": digest,
        REPLACED_TAG: found.champion or NO_CHAMPION,
    }
    for name, value in tags.items():
        client.set_model_version_tag(found.name, found.version, name, value)
    champion = find_champion(client, found.name)
    if (None if champion is None else str(champion.version)) != found.champion:
        raise TrackingError(f"the {CHAMPION} of {found.name} changed during the comparison; compare again")
    client.set_registered_model_alias(found.name, CHAMPION, found.version)
    return artifact
