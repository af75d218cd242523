"""The sentences of reason codes, as the bundle that decided has them: a verdict reads the same for ever."""

import json
from collections.abc import Iterable

from scoring_model.service.core.rows import BundleRow, VerificationRow
from scoring_model.service.core.store import Reader


class Sentences:
    """Sentences by bundle and reason code.

    Parameters
    ----------
    bundles : iterable of BundleRow
        Every bundle that ever served, as far as is known.
    """

    def __init__(self, bundles: Iterable[BundleRow]) -> None:
        self._by_versions: dict[tuple[str | None, str | None], dict[str, str]] = {}
        self._add(bundles)

    def of(self, row: VerificationRow) -> tuple[tuple[str, str], ...]:
        """Code and sentence of each reason of a verdict, strongest first.

        Raises
        ------
        KeyError
            When its bundle is not known; see `learn`.
        """
        if not row.reasons:
            return ()
        sentences = self._by_versions[row.model_version, row.policy_version]
        return tuple((code, sentences[code]) for code in row.reasons.split(","))

    async def learn(self, reader: Reader, row: VerificationRow) -> None:
        """Get to know the bundle of a verdict, which another process may have begun to serve since."""
        if row.reasons and (row.model_version, row.policy_version) not in self._by_versions:
            self._add(await reader.bundles())

    def _add(self, bundles: Iterable[BundleRow]) -> None:
        for row in bundles:
            self._by_versions[row.model_version, row.policy_version] = json.loads(row.reasons)
