"""The rate limit in headers."""

import math

from scoring_model.service.core.resources import Caller
from scoring_model.service.core.store import Bucket


def quota_headers(caller: Caller, bucket: Bucket) -> list[tuple[bytes, bytes]]:
    """Report a client's quota and what is left of it.

    Parameters
    ----------
    caller : Caller
    bucket : Bucket

    Returns
    -------
    list of (bytes, bytes)
        `RateLimit-Policy` with quota and window, `RateLimit` with what is left and the seconds until all is.

    References
    ----------
    draft-ietf-httpapi-ratelimit-headers, sections 3 and 4.
    """
    policy = f'"default";q={caller.quota};w={caller.quota_seconds}'
    limit = f'"default";r={max(0, bucket.left)};t={math.ceil(bucket.full_in)}'
    return [(b"ratelimit-policy", policy.encode()), (b"ratelimit", limit.encode())]


def seconds_to_wait(bucket: Bucket) -> int:
    """Whole seconds until there is a token, at least 1 (RFC 9110, section 10.2.3)."""
    return max(1, math.ceil(bucket.next_in))
