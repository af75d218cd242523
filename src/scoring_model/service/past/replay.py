"""Decides past verifications again with a bundle: links and labels as known at the instant of each.

A link record holds the instant of its event, and a label the instant from which it counts. So the history that a
verification saw is read back exactly, as long as its link records are kept. The database is only read.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from scoring_model.contract.verification import VerificationContext, VerificationInput
from scoring_model.scorer.scorer import Scorer
from scoring_model.service.core.errors import Invalid, parsed
from scoring_model.service.core.rows import ClientRow, VerificationRow
from scoring_model.service.keys.link_hashes import Linker, Masks
from scoring_model.service.keys.secrets import Secrets
from scoring_model.service.past.pages import LEFT_OUT, LeftOut, OpenedValues, PastPage
from scoring_model.service.retention.kept import kept_since
from scoring_model.service.scoring.candidate import Candidate
from scoring_model.service.scoring.score import History, Placed, Score, score
from scoring_model.service.store import Store


class NotDecidedAgain(StrEnum):
    """Why a verification can't be decided again, besides `LeftOut`."""

    TOO_OLD = "tooOld"  # link records that the bundle's longest window reaches were deleted
    REFUSED = "refused"  # the bundle takes a signal of another type: the request would have got 422


NOT_REPLAYED: Final[Mapping[str, str]] = {
    **{reason: text for reason, text in LEFT_OUT.items() if reason != LeftOut.EMPTY},
    NotDecidedAgain.TOO_OLD: "whose history reaches further back than the link records that are kept",
    NotDecidedAgain.REFUSED: "with a signal of another type than the bundle takes",
}
"""Descriptions of verifications that can't be decided again, by the reason."""


class Replayer:
    """Decides pages of verifications again with one bundle, which has the link keys of the history."""

    def __init__(self, store: Store, secrets: Secrets, scorer: Scorer) -> None:
        self._store = store
        self._scorer = scorer
        self._linker = Linker(secrets, scorer.matrix.link_keys)
        self._masks = Masks(secrets)

    async def replay(
        self, page: PastPage
    ) -> tuple[dict[bytes, Score], dict[bytes, LeftOut | NotDecidedAgain]]:
        """Return the new decisions about a page by id, and why its other rows have none."""
        left_out: dict[bytes, LeftOut | NotDecidedAgain] = {}
        placed = []
        for row in page.rows:
            opened = page.opened[row.id]
            candidate = opened if isinstance(opened, LeftOut) else self._candidate(page.client, row, opened)
            if isinstance(candidate, Candidate):
                placed.append(Placed(candidate=candidate, instant=row.completed_at or 0, links=[]))
            else:
                left_out[row.id] = candidate
        async with self._store.reading() as reader:
            history = await History.of_past(reader, placed, matrix=self._scorer.matrix, masks=self._masks)
        # Read afterwards: a sweep raises it before it deletes.
        complete = await kept_since(self._store) + self._scorer.matrix.reach
        whole = [one for one in placed if one.instant >= complete]
        left_out |= {one.candidate.id: NotDecidedAgain.TOO_OLD for one in placed if one.instant < complete}
        return score(whole, history, scorer=self._scorer), left_out

    def _candidate(
        self, client: ClientRow, row: VerificationRow, opened: OpenedValues
    ) -> Candidate | NotDecidedAgain:
        body = {"signals": opened.signals, "subjectId": opened.subject}
        try:
            request = parsed(
                VerificationInput, body, VerificationContext(self._scorer.contents.schema.signals)
            )
        except Invalid:
            return NotDecidedAgain.REFUSED
        values = {**opened.identity, **request.values()}
        return Candidate(
            id=row.id,
            client=row.client,
            history_scope=client.pool,
            request=request,
            values=values,
            links=self._linker.link(client.pool, row.client, values),
            started=self._scorer.matrix.start(values),
            created_at=row.created_at,
            reference=None,
        )
