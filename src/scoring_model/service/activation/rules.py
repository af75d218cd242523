"""What an operator does with the rules of a database: activate, roll back, list."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from scoring_model.contract.texts import rfc3339
from scoring_model.rules import InvalidRules, Rules, parse_rules
from scoring_model.scorer.scorer import Scorer
from scoring_model.service.activation.activations import Activations, Versions, living
from scoring_model.service.activation.shelf import BundleShelf, read_bundle_directory
from scoring_model.service.core.rows import RuleSetRow
from scoring_model.service.store import WHOLE_DATABASE, Reader, Store, Transaction


class RulesRefused(ValueError):
    """Rules can't become active, or a bundle can't, because of rules."""


async def activate_rules(
    store: Store, document: object, scorers: Sequence[Scorer], *, by: str, now: int
) -> RuleSetRow:
    """Make rules active, in every process at once.

    Parameters
    ----------
    document : object
        The content of a file.
    scorers : sequence of Scorer
        The bundles that serve, one that is to be activated and the one that a rollback leads to, at least. Rules are
        checked against each.

    Raises
    ------
    InvalidRules
        If they break their form, or read what a bundle does not have.
    RulesRefused
        If such a bundle is not among those given, or the rules are active already.
    """
    given = {Versions(one.manifest.model_version, one.manifest.policy_version) for one in scorers}
    if not scorers:
        raise RulesRefused("rules are checked against each bundle that may serve: give at least one")
    found = [parse_rules(document, one.rule_names) for one in scorers]
    if len({one.version for one in found}) != 1:
        raise RulesRefused("the bundles read a signal that rules name as different types")
    async with store.writing([WHOLE_DATABASE]) as transaction:
        # Under the lock that requests of bundles take: none comes in between.
        if missing := [str(one) for one in await _needed(transaction, now) if one not in given]:
            raise RulesRefused(
                f"rules are checked against each bundle that may serve: give {', '.join(missing)} too"
            )
        latest = await transaction.rule_set((await transaction.latest_overrides())[0])
        if latest is not None and latest.version == found[0].version:
            raise RulesRefused(f"rules {latest.version} are active already, since {rfc3339(latest.at)}")
        return await _append(
            transaction, latest, found[0].version, found[0].to_bytes().decode(), by=by, now=now
        )


async def bundles_that_may_serve(store: Store, now: int) -> list[Path]:
    """Return the paths of the bundles that rules are checked against, those that this machine lacks left out."""
    directory = await read_bundle_directory(store)
    if directory is None:
        return []
    async with store.reading() as reader:
        needed = list(await _needed(reader, now))
    paths = [BundleShelf(directory).find(*versions) for versions in needed]
    return [path for path in paths if path is not None]


async def roll_back_rules(store: Store, *, by: str, now: int) -> RuleSetRow:
    """Make the rules active again that were active before; none, if the active ones were the first.

    Raises
    ------
    RulesRefused
        If no rules were ever active.
    """
    async with store.writing([WHOLE_DATABASE]) as transaction:
        listed = await transaction.rule_sets()
        if not listed:
            raise RulesRefused("no rules were ever active")
        nothing = Rules(())
        earlier = (nothing.version, nothing.to_bytes().decode())
        if len(listed) > 1:
            earlier = (listed[1].version, listed[1].document)
        return await _append(transaction, listed[0], *earlier, by=by, now=now)


async def list_rules(store: Store) -> list[dict[str, Any]]:
    """Return the rules that were ever active, latest first, with the hits of each rule of the active ones."""
    async with store.reading() as reader:
        listed = await reader.rule_sets()
        hits = Counter[str]()
        if listed:
            for codes, count in await reader.rule_hits(listed[0].number):
                hits.update(dict.fromkeys(codes.split(","), count))
    return [_shown(row, hits if place == 0 else None) for place, row in enumerate(listed)]


async def read_active_rules(reader: Reader) -> object:
    """Return the content of the active rules, or None."""
    row = await reader.rule_set((await reader.latest_overrides())[0])
    return None if row is None else json.loads(row.document)


async def check_names(reader: Reader, scorer: Scorer) -> None:
    """Check that a bundle has all that the active rules read.

    Raises
    ------
    RulesRefused
        With all that it lacks.
    """
    document = await read_active_rules(reader)
    if document is None:
        return
    try:
        parse_rules(document, scorer.rule_names)
    except InvalidRules as error:
        details = "; ".join(map(str, error.violations))
        raise RulesRefused(f"it does not have all that the active rules read: {details}") from None


async def _needed(reader: Reader, now: int) -> Iterable[Versions]:
    """Return the bundles that serve, one that is to be activated, and the one that a rollback leads to."""
    activations = Activations(tuple(await reader.activations()))
    steps = (activations.active, activations.previous, activations.candidate)
    rows = [row for row in steps if row is not None]
    serving = [Versions.of(row) for row in await living(reader, now)]
    return dict.fromkeys([*serving, *map(Versions.of, rows)])


async def _append(
    transaction: Transaction, latest: RuleSetRow | None, version: str, document: str, *, by: str, now: int
) -> RuleSetRow:
    number = 1 if latest is None else latest.number + 1
    row = RuleSetRow(number=number, at=now, version=version, document=document, activated_by=by)
    await transaction.insert([row])
    return row


def _shown(row: RuleSetRow, hits: Counter[str] | None) -> dict[str, Any]:
    rules = json.loads(row.document)["rules"]
    shown = {
        "version": row.version,
        "at": rfc3339(row.at),
        "by": row.activated_by,
        "active": hits is not None,
    }
    listed = [
        {name: rule[name] for name in ("code", "title", "then", "until") if name in rule}
        | ({} if hits is None else {"hits": hits[rule["code"]]})
        for rule in rules
    ]
    return {**shown, "rules": listed}
