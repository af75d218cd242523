"""Everything that can be asked for with credentials, put together."""

from typing import Final

from scoring_model.service.http import identities, verifications, webhooks

# The first that fits is taken: those that are asked for most stand first.
OPERATIONS: Final = (*verifications.OPERATIONS, *identities.OPERATIONS, *webhooks.OPERATIONS)
"""Everything behind the gate."""
