"""Resolutions: how step-ups and reviews end, who may say so, and what is known from it."""

import asyncio
import base64
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from program import Captured, run
from scoring_model.contract.outcome import Outcome
from scoring_model.contract.resolution import Resolution
from scoring_model.contract.texts import to_text
from scoring_model.contract.units import DAY
from scoring_model.findings import State
from scoring_model.records import NEVER, rfc3339
from scoring_model.records.reading import read_records
from scoring_model.scorer import Scorer
from scoring_model.service.clients.clients import Caller
from scoring_model.service.core.errors import Erased, Invalid, NotCompleted, NotFound, TooManyResolutions
from scoring_model.service.core.ids import new_id
from scoring_model.service.core.row_files import RowsRefused
from scoring_model.service.core.rows import ControlDayRow, LabelRow, ResolutionRow, VerificationRow
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.labels.imports import LabelLine, import_labels
from scoring_model.service.labels.report import Coverage, label_delays
from scoring_model.service.labels.step_ups import StepUps, _effectiveness, check_step_ups, measure_step_ups
from scoring_model.service.past.export import export_file
from scoring_model.service.past.records import read_past
from scoring_model.service.requests.lists import ListFilter
from scoring_model.service.resolutions.imports import check_resolutions, import_resolutions, resolution_file
from scoring_model.service.resolutions.rows import LONGEST_CHAIN, MOST_KEPT
from service_use import HOUR, MASTERS, START, World, request_of, run_story, signals_of, table

APPROVED = {"result": "APPROVED", "method": "documentCheck"}
DECLINED = {"result": "DECLINED", "method": "manualReview"}


async def resolve(
    world: World, caller: Caller, about: bytes, body: dict[str, Any], key: str | None = None
) -> tuple[Resolution, bool]:
    """Resolve a verification; also whether that is new."""
    request = None if key is None else request_of(key, body, f"POST /{about.hex()}/resolutions")
    found = (await world.service.resolutions.create(caller, about, body, request)).resource
    return found.resolution, found.is_new


async def results(world: World, caller: Caller, about: bytes) -> list[tuple[str, str]]:
    """Result and method of all resolutions."""
    listed = (await world.service.resolutions.list(caller, about)).resolutions
    return [(one.result, one.method) for one in listed]


async def stepped_up(world: World, caller: Caller, subject: str) -> bytes:
    """A verification that asks for more."""
    signals = {**signals_of(world.bundle, Outcome.STEPPED_UP)[0], "deviceId": f"of {subject}"}
    found = (await world.verify(caller, signals=signals, subject=subject)).resource
    row = await world.row(found.id)
    if found.outcome is Outcome.STEPPED_UP:
        return found.id
    # A device of one's own may change the score: what was decided counts here, not why.
    return await copied(world, row, outcome=Outcome.STEPPED_UP.value)


async def copied(world: World, row: VerificationRow, **changes: Any) -> bytes:
    """A verification like another one, of the same person."""
    about = new_id(START)
    place = {"table": "verifications", "column": "payload"}
    async with world.store.reading() as reader:
        key = await world.persons.key_of(reader, row.key_id)
    assert key is not None
    assert row.payload is not None
    sealed = key.seal(key.open(row.payload, row=row.id, **place), row=about, **place)
    async with world.store.writing([]) as transaction:
        await transaction.insert([row._replace(id=about, payload=sealed, **changes)])
    return about


def test_the_latest_resolution_counts(store_url: str, sealed: Path) -> None:
    """An equal one changes nothing; A, B, A are three; the verification stays as it is, and events say each."""

    async def story(world: World) -> None:
        caller = await world.client()
        about = await stepped_up(world, caller, "s")
        before = await world.service.verifications.get(caller, about)
        first, is_new = await resolve(world, caller, about, APPROVED)
        assert is_new
        assert (first.verification_id, first.resolved_at, first.note) == (
            to_text(about),
            first.created_at,
            None,
        )
        world.clock.advance(60)
        assert await resolve(world, caller, about, APPROVED) == (first, False)
        assert (await resolve(world, caller, about, DECLINED))[1]
        again, is_new = await resolve(world, caller, about, APPROVED)
        assert (again.id != first.id, is_new) == (True, True)
        words = {**APPROVED, "note": "hotel key \u00e9", "resolvedBy": "ann"}
        told, is_new = await resolve(world, caller, about, words)
        assert (told.note, told.resolved_by, is_new) == ("hotel key \u00e9", "ann", True)
        assert not (await resolve(world, caller, about, words))[1]
        earlier = {**words, "resolvedAt": rfc3339(START)}
        assert (await resolve(world, caller, about, earlier))[1]
        assert len(await results(world, caller, about)) == 5
        assert await world.service.verifications.get(caller, about) == before
        types = await world.event_types(caller, about)
        assert types == ["verification.completed", "verification.stepped_up", *["verification.resolved"] * 5]
        for event in (await world.events(caller))[2:]:
            assert "hotel" not in event.data
            assert "ann" not in event.data

    run_story(store_url, sealed, story)


def test_a_repeated_request_has_one_answer(store_url: str, sealed: Path) -> None:
    """With its key it is the first answer again, also after another resolution."""

    async def story(world: World) -> None:
        caller = await world.client()
        about = await stepped_up(world, caller, "s")
        first = await resolve(world, caller, about, APPROVED, "k")
        await resolve(world, caller, about, DECLINED)
        assert await resolve(world, caller, about, APPROVED, "k") == first
        assert len(await results(world, caller, about)) == 2

    run_story(store_url, sealed, story)


def test_whom_and_what_cannot_be_resolved(store_url: str, sealed: Path) -> None:
    """Another client's, unknown, unfinished and erased ones; words that are no result; a future time; too many."""

    async def story(world: World) -> None:
        caller, other = await world.client(), await world.client()
        about = await stepped_up(world, caller, "s")
        for who, which in ((other, about), (caller, new_id(START))):
            with pytest.raises(NotFound):
                await resolve(world, who, which, APPROVED)
            with pytest.raises(NotFound):
                await world.service.resolutions.list(who, which)
        late = rfc3339(world.clock.now() + HOUR)
        with pytest.raises(Invalid) as caught:
            await resolve(
                world,
                caller,
                about,
                {"result": "maybe", "method": "followUp", "resolvedAt": late, "note": "x" * 1_001},
            )
        assert [(one.pointer, one.code) for one in caught.value.errors] == [
            ("/result", "not_listed"),
            ("/method", "not_listed"),
            ("/note", "too_long"),
            ("/resolvedAt", "in_future"),
        ]
        row = await world.row(about)
        waiting = row._replace(id=new_id(START), status="PENDING", outcome=None, completed_at=None)
        async with world.store.writing([]) as transaction:
            await transaction.insert([waiting])
            made = ResolutionRow(new_id(START), row.client, about, "DECLINED", "other", None, START, START)
            await transaction.insert([made._replace(id=new_id(START)) for _ in range(MOST_KEPT - 1)])
        with pytest.raises(NotCompleted):
            await resolve(world, caller, waiting.id, APPROVED)
        assert (await resolve(world, caller, about, APPROVED))[1]
        with pytest.raises(TooManyResolutions):
            await resolve(world, caller, about, DECLINED)
        assert not (await resolve(world, caller, about, APPROVED))[1]
        await world.erase_signals(caller, about)
        with pytest.raises(Erased):
            await resolve(world, caller, about, DECLINED)

    run_story(store_url, sealed, story)


def test_erasure_takes_the_words_and_leaves_the_result(store_url: str, sealed: Path) -> None:
    """Note and name go with the person; result and method stay, and no sealed byte is left."""

    async def story(world: World) -> None:
        caller = await world.client()
        about = await stepped_up(world, caller, "s")
        await resolve(world, caller, about, {**DECLINED, "note": "no face", "resolvedBy": "bob"})
        (stored,) = await table(world.url, ResolutionRow)
        assert stored.payload is not None
        assert b"no face" not in stored.payload
        await world.erase_signals(caller, about)
        (left,) = await table(world.url, ResolutionRow)
        assert left == stored._replace(payload=None)
        (shown,) = (await world.service.resolutions.list(caller, about)).resolutions
        assert (shown.result, shown.note, shown.resolved_by) == ("DECLINED", None, None)

    run_story(store_url, sealed, story)


def test_a_follow_up_ends_a_chain_of_step_ups(store_url: str, sealed: Path) -> None:
    """One that asks for more again leaves it open; the last one ends all that have room for a resolution."""

    async def story(world: World) -> None:
        caller = await world.client()
        chain = [await stepped_up(world, caller, "s")]
        for _ in range(LONGEST_CHAIN):
            chain.append(await copied(world, await world.row(chain[-1]), previous_id=chain[-1]))
        assert await table(world.url, ResolutionRow) == []
        full, client = chain[5], (await world.row(chain[5])).client
        made = ResolutionRow(full, client, full, "ABANDONED", "other", None, START, START)
        async with world.store.writing([]) as transaction:
            await transaction.insert([made._replace(id=new_id(START)) for _ in range(MOST_KEPT)])
        passing = signals_of(sealed, Outcome.PASSED)[0]
        last = (await world.verify(caller, signals=passing, subject="s", previous=chain[-1])).resource
        assert last.outcome is not None
        ended = {Outcome.PASSED: "APPROVED", Outcome.FAILED: "DECLINED"}[last.outcome]
        assert await results(world, caller, last.id) == []
        assert await results(world, caller, chain[0]) == []  # beyond the longest chain
        for one in chain[1:]:
            expected = [("ABANDONED", "other")] * MOST_KEPT if one == full else [(ended, "followUp")]
            assert await results(world, caller, one) == expected
        assert (await world.event_types(caller, chain[1]))[-1] == "verification.resolved"

    run_story(store_url, sealed, story)


def test_lists_have_those_with_a_result_or_with_none(store_url: str, sealed: Path) -> None:
    """The latest resolution decides."""

    async def story(world: World) -> None:
        caller = await world.client()
        made = [await stepped_up(world, caller, f"s{number}") for number in range(4)]
        await resolve(world, caller, made[0], APPROVED)
        await resolve(world, caller, made[1], APPROVED)
        await resolve(world, caller, made[1], DECLINED)
        await resolve(world, caller, made[2], {"result": "ABANDONED", "method": "other"})

        async def listed(resolution: str) -> list[str]:
            wanted = ListFilter(outcome="STEPPED_UP", resolution=resolution)
            found, _ = await world.service.verifications.page(caller, wanted, after=None, limit=10)
            return [one.id for one in found]

        for resolution, place in (("APPROVED", 0), ("DECLINED", 1), ("ABANDONED", 2), ("NONE", 3)):
            assert await listed(resolution) == [to_text(made[place])]

    run_story(store_url, sealed, story)


def test_who_was_observed_follows_from_the_resolution(store_url: str, sealed: Path, tmp_path: Path) -> None:
    """Of stepped-up applicants those who were approved can become known frauds, in an export and in what reads it."""

    async def story(world: World) -> None:
        caller = await world.client()
        made = [await stepped_up(world, caller, f"s{number}") for number in range(4)]
        await resolve(world, caller, made[0], {**APPROVED, "note": "secret words"})
        await resolve(world, caller, made[1], DECLINED)
        await resolve(world, caller, made[2], {"result": "ABANDONED", "method": "other"})
        async with world.store.reading() as reader:
            clients = await reader.clients()
        out = tmp_path / "export.parquet"
        schema = Scorer.load(world.bundle).contents.schema
        period: dict[str, Any] = {"signals": schema.signals, "since": START - HOUR, "before": START + HOUR}
        await export_file(world.store, Vault(MASTERS), clients, out, **period)
        assert b"secret words" not in out.read_bytes()
        rows = {row["recordId"]: row for row in pq.read_table(out).to_pylist()}
        told = [rows[to_text(one)] for one in made]
        assert [row["resolution"] for row in told] == ["APPROVED", "DECLINED", "ABANDONED", None]
        assert [row["resolutionMethod"] for row in told] == ["documentCheck", "manualReview", "other", None]
        table_of = read_records(out, schema, labelled=False).table
        assert table_of.observed_until is not None
        seen = dict(zip(table_of.record_ids, (table_of.observed_until > 0).tolist(), strict=True))
        assert [seen[to_text(one)] for one in made] == [True, False, False, False]

    run_story(store_url, sealed, story)


def test_a_file_of_resolutions_is_imported_once(store_url: str, sealed: Path, tmp_path: Path) -> None:
    """All bad rows are named before anything is stored; a good file stores each row once, and names what is refused."""

    async def story(world: World) -> None:
        caller = await world.client()
        about, nobody = await stepped_up(world, caller, "s"), new_id(START)
        bad = tmp_path / "bad.csv"
        bad.write_text(f"verificationId,result,method\nx,APPROVED,other\n{to_text(about)},yes,\n")
        now = world.clock.now()
        with pytest.raises(RowsRefused) as caught:
            check_resolutions(bad, at=now)
        assert "row 0: verificationId: not_a_uuid" in str(caught.value)
        assert "row 1: result: not_listed" in str(caught.value)
        assert "row 1: method: missing" in str(caught.value)
        good = tmp_path / "good.jsonl"
        good.write_text(
            f'{{"verificationId": "{to_text(about)}", "result": "APPROVED", "method": "liveness"}}\n'
            f'{{"verificationId": "{to_text(nobody)}", "result": "APPROVED", "method": "liveness"}}\n'
        )
        check_resolutions(good, at=now)
        for counts in ((1, 0), (0, 1)):
            lines = resolution_file(now).read(good)
            found = await import_resolutions(world.store, world.persons, lines, world.clock)
            assert (found.imported, found.repeated, found.refused) == (*counts, {nobody: "unknown"})
        assert await results(world, caller, about) == [("APPROVED", "liveness")]

    run_story(store_url, sealed, story)


def test_step_ups_are_counted_by_how_they_ended(store_url: str, sealed: Path) -> None:
    """By method and result, with the known frauds among the approved; each verification by its latest resolution."""

    async def story(world: World) -> None:
        caller = await world.client()
        made = [await stepped_up(world, caller, f"s{number}") for number in range(5)]
        for one in made[:3]:
            await resolve(world, caller, one, DECLINED)
            await resolve(world, caller, one, APPROVED)
        await resolve(world, caller, made[3], {"result": "ABANDONED", "method": "other"})
        async with world.store.reading() as reader:
            clients = await reader.clients()
        await import_labels(world.store, clients, [LabelLine(made[0], None, "fraud", START)], world.clock)
        found = await measure_step_ups(world.store, await label_delays(world.store, world.clock))
        assert (found.stepped_up, found.unresolved) == (5, 1)
        assert found.by_method == {"documentCheck": {"APPROVED": 3}, "other": {"ABANDONED": 1}}
        assert (found.frauds.count, found.frauds.records) == (1, 3)
        assert (found.effectiveness.value, found.effectiveness.absence) == (None, "not enough data")

    run_story(store_url, sealed, story)


def test_step_ups_of_rules_and_lists_do_not_measure_those_of_the_policy(store_url: str, sealed: Path) -> None:
    """Only whom the control group might have let pass is compared with it: the others hold more frauds, or fewer."""

    async def story(world: World) -> None:
        caller = await world.client()
        made = [await stepped_up(world, caller, f"s{number}") for number in range(4)]  # nobody could be drawn
        rows = [await world.row(one) for one in made[:2]]
        drawable = [await copied(world, row, outcome="STEPPED_UP", control_share=0.5) for row in rows]
        for one in (*made, *drawable):
            await resolve(world, caller, one, APPROVED)
        async with world.store.reading() as reader:
            clients = await reader.clients()
        labels = [LabelLine(one, None, "fraud", START) for one in (*made[:3], drawable[0])]
        await import_labels(world.store, clients, labels, world.clock)
        half = Coverage(verifications=20, fraud=10, genuine=0)
        delays = await label_delays(world.store, world.clock)
        found = await measure_step_ups(world.store, replace(delays, control={"STEPPED_UP": half}))
        assert (found.frauds.count, found.frauds.records) == (4, 6)
        measured = found.effectiveness
        assert (measured.count, measured.records, measured.value) == (1, 2, 0.0)

    run_story(store_url, sealed, story)


def test_reports_on_past_records_say_what_else_decided(
    store_url: str, sealed: Path, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whom lists and rules stopped, and how step-ups ended, is said where commands read the records of a service."""
    monkeypatch.setenv("MASTERS", base64.b64encode(bytes(range(32))).decode())

    async def story(world: World) -> None:
        caller = await world.client()
        scorers = [Scorer.load(world.bundle)]

        async def told() -> tuple[str, ...]:
            period: dict[str, Any] = {"since": START - HOUR, "before": START + HOUR}
            return (await read_past(world.store, Vault(MASTERS), world.secrets, scorers, **period)).describe()

        made = [await stepped_up(world, caller, f"s{number}") for number in range(3)]
        assert await told() == ()
        row = await world.row(made[0])
        for decider, outcome in (("list", "FAILED"), ("list", "PASSED"), ("rule", "STEPPED_UP")):
            await copied(world, row, decided_by=decider, outcome=outcome)
        await resolve(world, caller, made[0], APPROVED)
        await resolve(world, caller, made[1], APPROVED)
        await resolve(world, caller, made[2], DECLINED)
        async with world.store.reading() as reader:
            clients = await reader.clients()
        await import_labels(world.store, clients, [LabelLine(made[0], None, "fraud", START)], world.clock)
        found = await told()
        assert found == (
            "Applicants stopped by lists: 1, by rules: 1; nobody stands for them",
            "Step-ups: 4, of them 2 approved (documentCheck 2), 1 declined (manualReview 1), 0 abandoned, 1 without a "
            "resolution. Of the approved 1 are known frauds so far (50.0%, 95 %: 1.3% to 98.7%)",
        )
        words = ("--database", world.url, "--master-key", "env:MASTERS", "--bundle", sealed)
        out = tmp_path / "export.parquet"
        code, said, error = await asyncio.to_thread(run, capsys, "data", "export", *words, "--out", out)
        assert (code, [line for line in said.splitlines() if line in found]) == (0, [*found]), error
        for command in (("evaluate", sealed), ("compare", sealed, sealed), ("monitor", sealed)):
            code, said, error = await asyncio.to_thread(run, capsys, *command, out)
            assert all(f"{sentence}." in said for sentence in found), (command, said, error)

    run_story(store_url, sealed, story)


def test_the_command_says_how_step_ups_ended(sealed: Path, tmp_path: Path, capsys: Captured) -> None:
    """In words and as JSON, with what can't be known."""
    url = f"sqlite:///{tmp_path}/scoring.db"
    assert run(capsys, "database", "migrate", "--database", url)[0] == 0
    code, said, _ = run(capsys, "labels", "report", "--database", url, "--bundle", sealed)
    assert code == 0
    assert "0 step-ups: 0 approved, 0 declined, 0 abandoned, 0 without a resolution" in said
    assert (
        "how many frauds step-ups stop can't be known: the control group of step-ups has 0 known frauds"
        in said
    )
    assert "SM016 not applicable: the policy has no costs" in said


def test_effectiveness_compares_with_whom_nothing_was_asked() -> None:
    """Half as many frauds per applicant got through a step-up as in the control group: it stops half of them."""
    found = _effectiveness(missed=50, resolved=1_000, control_frauds=100, control=1_000)
    assert found.value == pytest.approx(0.5)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.36
    assert 0.6 < found.high < 0.68
    none = _effectiveness(missed=0, resolved=1_000, control_frauds=100, control=1_000)
    assert (none.value, none.high) == (1.0, 1.0)
    assert none.low is not None
    assert 0.9 < none.low < 1
    assert _effectiveness(missed=5, resolved=100, control_frauds=9, control=100).value is None


@pytest.mark.parametrize(
    ("assumed", "state"), [(0.5, State.CLEAR), (0.9, State.FOUND), (None, State.NOT_APPLICABLE)]
)
def test_an_assumption_that_was_measured_otherwise_is_found(assumed: float | None, state: State) -> None:
    """What the costs assume is compared with the measured interval."""
    made = StepUps(
        stepped_up=1_000,
        by_method={},
        frauds=_effectiveness(50, 1_000, 100, 1_000),
        effectiveness=_effectiveness(50, 1_000, 100, 1_000),
    )
    finding = check_step_ups(made, assumed)
    assert finding.state is state
    assert assumed is None or finding.sentence.startswith("step-ups stop 50% of frauds (95 %: ")


DECIDERS = ("policy", "control", "list", "rule")
ENDS = (None, "APPROVED", "DECLINED", "ABANDONED")
OBSERVED = {  # final outcome and resolution: whether a label could become known
    ("PASSED", None): True, ("PASSED", "APPROVED"): True, ("PASSED", "DECLINED"): False, ("PASSED", "ABANDONED"): False,
    ("STEPPED_UP", None): False, ("STEPPED_UP", "APPROVED"): True, ("STEPPED_UP", "DECLINED"): False,
    ("STEPPED_UP", "ABANDONED"): False,
    ("FAILED", None): False, ("FAILED", "APPROVED"): True, ("FAILED", "DECLINED"): False,
    ("FAILED", "ABANDONED"): False,
}  # fmt: skip
PASSES = {"policy": 1.0, "control": 0.25, "list": 1.0, "rule": 1.0}
"""Probability with which one passed whom each of them let pass; who was stopped has none."""


def test_every_decider_outcome_resolution_and_label(store_url: str, sealed: Path, tmp_path: Path) -> None:
    """The final outcome and the resolution decide who was observed, whoever decided and whatever the label says.

    One that is still PENDING is not exported, nor is one whose person was erased.
    """

    async def story(world: World) -> None:
        caller = await world.client()
        row = await world.row(await stepped_up(world, caller, "s"))
        expected: dict[str, tuple[bool, float | None, str | None]] = {}
        labels, told = [], []
        for decider, outcome, end, label in product(DECIDERS, Outcome, ENDS, (None, "fraud", "genuine")):
            if decider == "control" and outcome is not Outcome.PASSED:
                continue  # whom it draws passes
            drawn = (
                {"control_share": 0.5, "control_drawn": 1, "control_repeat": 0}
                if decider == "control"
                else {}
            )
            policys = Outcome.STEPPED_UP if decider != "policy" else outcome
            made = await copied(
                world, row, decided_by=decider, outcome=outcome.value, policy_outcome=policys.value, **drawn
            )
            if label is not None:
                labels.append(LabelRow(row.client, made, label, START, START))
            if end is not None:
                told.append(ResolutionRow(new_id(START), row.client, made, end, "other", None, START, START))
            share = PASSES[decider] if outcome is Outcome.PASSED else None
            expected[to_text(made)] = (OBSERVED[outcome.value, end], share, label)
        day = ControlDayRow(START // DAY, caller.history_scope, "STEPPED_UP", 4, 0, 2, 0.0)
        pending = row._replace(id=new_id(START), status="PENDING", outcome=None, completed_at=None)
        async with world.store.writing([]) as transaction:
            for rows in (labels, told, [day], [pending]):
                await transaction.insert(rows)
            clients = await transaction.clients()
        gone = await stepped_up(world, caller, "another")
        await world.erase_signals(caller, gone)
        out = tmp_path / "export.parquet"
        schema = Scorer.load(world.bundle).contents.schema
        period: dict[str, Any] = {"signals": schema.signals, "since": START - HOUR, "before": START + HOUR}
        await export_file(world.store, Vault(MASTERS), clients, out, **period)
        exported = {one["recordId"]: one for one in pq.read_table(out).to_pylist()}
        assert expected.keys() <= exported.keys()
        assert not {to_text(pending.id), to_text(gone)} & exported.keys()
        reading = read_records(out, schema, labelled=False).table
        assert reading.observed_until is not None
        seen = dict(zip(reading.record_ids, (reading.observed_until == NEVER).tolist(), strict=True))
        found = {id_: (seen[id_], exported[id_]["propensity"], exported[id_]["label"]) for id_ in expected}
        assert found == expected

    run_story(store_url, sealed, story)
