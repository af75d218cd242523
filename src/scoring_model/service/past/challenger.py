"""Decides arriving verifications by a champion and a challenger, out of the way of requests.

The verifications are read from the database some seconds after they were decided, each once, with links and labels as
known at the instant of each. Nothing is written to the database: how far it has come is in a state that a caller keeps.
"""

import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from scoring_model.contract.texts import rfc3339, to_text
from scoring_model.scorer.scorer import Scorer
from scoring_model.service.core.rows import ClientRow, VerificationRow
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.keys.secrets import Secrets
from scoring_model.service.past.pages import PastPage, past_pages
from scoring_model.service.past.replay import NOT_REPLAYED, Replayer
from scoring_model.service.scoring.score import Score
from scoring_model.service.store import Store


class OtherState(ValueError):
    """A state is not one of these two bundles, or no state at all."""


def _version(scorer: Scorer) -> str:
    return f"{scorer.manifest.model_version}.{scorer.manifest.policy_version}"


@dataclass(slots=True, kw_only=True)
class FollowState:
    """How far a comparison has come, and what it found so far.

    Parameters
    ----------
    bundles : (str, str)
        Model and policy version of champion and challenger.
    since : int
        Microseconds: first event time.
    until : int
        Event times before it have been compared.
    cursors : mapping of int to (int, bytes)
        By client, event time and id of the last verification.
    verifications : int
        All that were read, with those that can't be decided again.
    outcomes : mapping of (str, str) to int
        Compared verifications by the outcomes of champion and challenger.
    left_out : mapping of str to int
        By the reason.
    """

    bundles: tuple[str, str]
    since: int
    until: int
    cursors: dict[int, tuple[int, bytes]] = field(default_factory=dict)
    verifications: int = 0
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)

    @classmethod
    def new(cls, champion: Scorer, challenger: Scorer, *, since: int) -> Self:
        """Return the state before the first verification."""
        return cls(bundles=(_version(champion), _version(challenger)), since=since, until=since)

    def to_bytes(self) -> bytes:
        """Write the state as JSON. It holds no personal data."""
        plain = {
            "bundles": self.bundles,
            "since": self.since,
            "until": self.until,
            "cursors": [[client, at, value.hex()] for client, (at, value) in self.cursors.items()],
            "verifications": self.verifications,
            "outcomes": [[*pair, count] for pair, count in self.outcomes.items()],
            "leftOut": dict(self.left_out),
        }
        return json.dumps(plain, indent=1).encode()

    @classmethod
    def read(cls, content: bytes, champion: Scorer, challenger: Scorer) -> Self:
        """Read a state of the same two bundles.

        Raises
        ------
        OtherState
        """
        try:
            plain = json.loads(content)
            found = cls(
                bundles=(str(plain["bundles"][0]), str(plain["bundles"][1])),
                since=int(plain["since"]),
                until=int(plain["until"]),
                cursors={int(c): (int(at), bytes.fromhex(value)) for c, at, value in plain["cursors"]},
                verifications=int(plain["verifications"]),
                outcomes=Counter({(old, new): int(count) for old, new, count in plain["outcomes"]}),
                left_out=Counter({str(reason): int(count) for reason, count in plain["leftOut"].items()}),
            )
        except (ValueError, KeyError, TypeError, IndexError, AttributeError):
            raise OtherState("the file of the state holds something else; remove it to begin anew") from None
        wanted = cls.new(champion, challenger, since=0).bundles
        if found.bundles != wanted:
            raise OtherState(
                f"the state is of {' and '.join(found.bundles)}, the bundles are {' and '.join(wanted)}; "
                "name another file, or remove it to begin anew"
            )
        return found

    def summary(self, *, at: int) -> dict[str, Any]:
        """Return the numbers so far as a JSON document."""
        flips = sum(count for (old, new), count in self.outcomes.items() if old != new)
        return {
            "type": "summary",
            "at": rfc3339(at),
            "champion": self.bundles[0],
            "challenger": self.bundles[1],
            "from": rfc3339(self.since),
            "to": rfc3339(self.until),
            "verifications": self.verifications,
            "compared": sum(self.outcomes.values()),
            "flips": flips,
            "outcomes": [
                {"champion": old, "challenger": new, "verifications": count}
                for (old, new), count in sorted(self.outcomes.items())
            ],
            "notCompared": {reason: self.left_out.get(reason, 0) for reason in NOT_REPLAYED},
        }


async def follow(
    store: Store,
    vault: Vault,
    secrets: Secrets,
    scorers: tuple[Scorer, Scorer],
    state: FollowState,
    *,
    before: int,
) -> AsyncIterator[Sequence[Mapping[str, Any]]]:
    """Compare the verifications that arrived since, page by page, and advance the state with each page.

    Parameters
    ----------
    scorers : (Scorer, Scorer)
        Champion and challenger, with the link keys of the history.
    before : int
        Microseconds: event times before it. All of them must be committed.

    Yields
    ------
    sequence of mapping
        Those of a page whose outcomes differ, as JSON documents. The state has counted the page.
    """
    replayers = [Replayer(store, secrets, scorer) for scorer in scorers]
    async for page in past_pages(store, vault, since=state.since, before=before, cursors=state.cursors):
        (old, left_out), (new, also) = [await replayer.replay(page) for replayer in replayers]
        yield _counted(state, page, (old, new), {**left_out, **also})
    state.until = max(state.until, before)


def _counted(
    state: FollowState,
    page: PastPage,
    scores: tuple[Mapping[bytes, Score], Mapping[bytes, Score]],
    left_out: Mapping[bytes, str],
) -> list[dict[str, Any]]:
    state.verifications += len(page.rows)
    state.left_out.update(str(reason) for reason in left_out.values())
    flips = []
    for row in page.rows:
        if row.id in left_out:
            continue
        old, new = (found[row.id] for found in scores)
        state.outcomes[str(old.outcome), str(new.outcome)] += 1
        if old.outcome != new.outcome:
            flips.append(_flip(page.client, row, old, new))
    if page.rows:
        last = page.rows[-1]
        state.cursors[page.client.client] = (last.completed_at or 0, last.id)
    return flips


def _flip(client: ClientRow, row: VerificationRow, old: Score, new: Score) -> dict[str, Any]:
    return {
        "type": "flip",
        "verificationId": to_text(row.id),
        "clientId": client.client_id,
        "eventTime": rfc3339(row.completed_at or 0),
        "champion": _decision(old),
        "challenger": _decision(new),
    }


def _decision(score: Score) -> dict[str, Any]:
    return {
        "scoringScore": score.score,
        "scoringOutcome": str(score.outcome),
        "reasonCodes": score.reasons.split(",") if score.reasons else [],
    }
