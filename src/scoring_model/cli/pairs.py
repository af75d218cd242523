"""The command that lists pairs of records which link keys join."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from scoring_model.cli import console, shared
from scoring_model.cli.groups import Group, in_group

if TYPE_CHECKING:
    from scoring_model.records.record import Record


@in_group(Group.DATA)
def pairs(
    paths: shared.Files,
    config: shared.Config,
    limit: shared.Limit = 50,
    names: shared.Names = None,
    as_json: shared.Json = False,
) -> None:
    """List pairs of records that link keys join, with the keys, for a person to judge whether they belong together.

    Pairs are drawn from each key in turn, at random among all that it links, the same at each call. Prints the values
    of both records, which are personal data. See docs/links.md#choosing-keys.
    """
    from scoring_model.configuration import load_configuration
    from scoring_model.history.linked import key_uses, linked_pairs
    from scoring_model.records.quarantine import accept
    from scoring_model.records.reading import read_records

    configuration = load_configuration(config).with_names(names)
    reading = read_records(paths, configuration.schema, labelled=False)
    accept(reading, max_share=configuration.records.max_bad_share)
    table, keys = reading.table, configuration.links.link_keys
    uses, found = key_uses(table, keys), linked_pairs(table, keys, most=limit)
    if as_json:
        listed = [
            {"keys": pair.keys, "records": [_plain(table.record(row)) for row in pair.rows]} for pair in found
        ]
        console.say_json({"linkKeys": [use.to_json() for use in uses], "pairs": listed})
        return
    for use in uses:
        console.say(f"{use}, {use.pairs:,} pairs")
    for number, pair in enumerate(found, 1):
        first, second = (_plain(table.record(row)) for row in pair.rows)
        console.say(f"pair {number} of {len(found)}: {', '.join(pair.keys)}")
        for line in _compared(first, second):
            console.say(f"  {line}")


def _plain(record: "Record") -> dict[str, object]:
    return {"recordId": record.record_id, **record.values}


def _compared(first: Mapping[str, object], second: Mapping[str, object]) -> Iterator[str]:
    """Write each field once where both records have the same value, else both values."""
    for name in dict.fromkeys([*first, *second]):
        values = [str(record.get(name, "(none)")) for record in (first, second)]
        yield f"{name}: {' | '.join(dict.fromkeys(values))}"
