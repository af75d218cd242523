"""Codes for categories, fitted on a burn-in and carried in the bundle."""

from collections.abc import Iterable, Sequence

from scoring_model.features.catalogue import MISSING

MIN_PERSONS = 5
"""A category of fewer persons is dropped: what remains names nobody."""

MAX_LEVELS = 200


class Vocabulary:
    """Categories in order of their codes, 0 upwards; whatever is not among them shares one further code.

    Parameters
    ----------
    values : sequence of str
        At most `MAX_LEVELS`.
    """

    def __init__(self, values: Sequence[str]) -> None:
        self.values = tuple(values)
        self._codes = {value: float(code) for code, value in enumerate(self.values)}
        self._unseen = float(len(self.values))

    @classmethod
    def fit(cls, persons_by_value: Iterable[tuple[str, int]]) -> "Vocabulary":
        """Number the categories that enough persons have, the most frequent first.

        Parameters
        ----------
        persons_by_value : iterable of (str, int)
            Distinct values, each with its number of persons.
        """
        common = [(-persons, value) for value, persons in persons_by_value if persons >= MIN_PERSONS]
        return cls([value for _, value in sorted(common)[:MAX_LEVELS]])

    def code(self, value: str | None) -> float:
        """The code of a value: an integer, or NaN where there is none."""
        return MISSING if value is None else self._codes.get(value, self._unseen)
