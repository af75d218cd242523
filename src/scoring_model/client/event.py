"""An event as it is delivered to a webhook."""

from scoring_model.contract import event


class Event(event.Event):
    """An event that was delivered.

    Attributes
    ----------
    id : str
        The same whenever the delivery is repeated: keep it, to do things once.
    type : str
        Such as ``verification.passed``.
    timestamp : datetime
        When it happened. Aware.
    """

    id: str
