"""What the API reference says before it comes to single operations."""

from typing import Final

OVERVIEW: Final = """\
Create an identity, read whether it is `validated`, have it verified, and decide by `scoringOutcome` and
`scoringScore`. A client with an identity provider of its own sends that provider's `signals` and uses verifications
alone. Webhooks tell of results as they come.

**Credentials.** Every request below `/scoring` carries `x-client-id` and `x-api-key`. A pair that is missing, unknown,
expired, revoked or mixed up is answered with 401, always with the same body. A header that comes twice counts as
missing. An address (of IPv6, a /64) with more than 60 failures a minute is answered with 429; a good pair is never
refused for its neighbours. A key has scopes; without the right one the answer is 403. What belongs to another client
is not found.

**Rate limit.** 6,000 requests a minute for each client, unless agreed otherwise, from a bucket that refills
continuously. Every authenticated answer tells what is left in `RateLimit` and `RateLimit-Policy`. On 429 wait as long
as `Retry-After` says.

**Bodies** are JSON as in RFC 7493: UTF-8, no byte order mark, no name twice in an object, numbers that a double can
hold, no lone surrogates and no noncharacters; nested at most 64 deep and at most 256 KiB long. In requests null equals
missing, and unknown fields and query parameters are refused; answers show every field, null when absent, and may have
more fields some day. Times are RFC 3339 in UTC with six digits of a second.

**Checks** come in this order: 401, 429, 404 or 405 of the path, 403, 413, 415, 400, the idempotency key, 422, and then
404 or 409 of the state. A malformed id in a path is treated as one that is unknown.

**Methods.** HEAD answers wherever GET does, with the same headers and no body. Any other method that a path does not
list is answered with 405 and `Allow`, OPTIONS among them.

**Errors** are `application/problem+json` (RFC 9457). Compare `code`. With 422, `errors` lists all that is wrong, each
with a JSON Pointer into the body; what is wrong beside the body, such as with a query parameter, has the pointer of
the whole body. At most 100 errors are listed; `errorsOmitted` is the number of the others, if there are any. Of a list
or of `signals` with too many items only as many as are allowed are looked at. Values that were sent are never repeated.

**Idempotency.** Any POST may carry an `Idempotency-Key` of 1 to 255 printable ASCII characters. For 24 hours the same
key on the same path with the same bytes gets the first successful answer again, with `Idempotency-Replayed: true`. With
other bytes it is refused with 422, while the first is under way with 409. Other methods ignore the header. A key that
is empty, too long, or comes twice is refused with 422, `idempotency_key_invalid`.

**Caching.** GET of one identity or webhook may be kept for 60 s, of one completed verification for 300 s, privately;
`If-None-Match` with an `ETag` gives 304. Everything else is `no-store`.

`X-Request-Id` stands on every answer and is the last part of `instance` in errors. It is made by the service; one that
a client sends is ignored.
"""

TAGS: Final = {
    "Verifications": "Risk scorings of identities, of signals, or of both.",
    "Webhooks": "Where events go.",
    "Identities": "Persons, with what they say of themselves.",
}

EVENTS: Final = """\
Sent to `destinationUrl`, signed as in Standard Webhooks: HMAC-SHA256 of `{webhook-id}.{webhook-timestamp}.{body}` under
the secret. Check it, refuse old timestamps, answer 2xx within 15 s, and do the work afterwards. An event may come more
than once, always under the same `webhook-id`, and out of order: `sequence` tells the order. A failed attempt is
repeated after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h.
"""
