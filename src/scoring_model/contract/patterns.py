"""Regular expressions for text that JSON Schema (ECMA-262) and Python read the same.

They document the interface for authors of clients. The service validates with the rules of `contract`, which also name
the violation.
"""

from typing import Final

_BLANKS: Final = r"\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
"""The characters that trimming removes, for a character class; `\\s` differs between dialects."""

NOT_BLANK: Final = f"[^{_BLANKS}]"
"""Text that is not blank."""

NO_NUL: Final = r"^[^\x00]*$"
"""Text without NUL, which PostgreSQL does not store."""

BIRTH_DATE: Final = "^(?:19|20)[0-9]{2}-[0-9]{2}-[0-9]{2}$"
"""A day from 1900 on; a pattern can't exclude the future."""

KEY: Final = "^[!-~](?:[ -~]*[!-~])?$"
"""An idempotency key: printable ASCII. Outer blanks are none of a header's value."""

CURSOR: Final = "^[A-Za-z0-9_-]{21}[AQgw]$"
"""Unpadded base64url of 16 bytes (RFC 4648, section 5), whose last character has two bits only."""

_INNER: Final = rf"[^{_BLANKS}\x00-\x1f\x7f"
_HTTPS: Final = "[Hh][Tt][Tt][Pp][Ss]://"

IMAGE_URL: Final = (
    f"^[{_BLANKS}]*{_HTTPS}"
    rf"(?:{_INNER}/?#@\[\]]*@)?"
    rf"(?:\[[0-9A-Fa-f:.]+\]|{_INNER}/?#@:\[\]]+)"
    "(?::[0-9]{0,5})?"
    f"(?:/{_INNER}?#]*)?"
    rf"(?:[?#]{_INNER}]*)?[{_BLANKS}]*$"
)
"""An https URL with a host, in any script, between blanks that are trimmed (RFC 3986, section 3)."""

_OCTET: Final = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4: Final = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_GROUP: Final = "[0-9A-Fa-f]{1,4}"
_LAST: Final = f"(?:{_GROUP}:{_GROUP}|{_IPV4})"
_IPV6: Final = "|".join(
    [
        f"(?:{_GROUP}:){{6}}{_LAST}",
        f"::(?:{_GROUP}:){{5}}{_LAST}",
        *(
            f"(?:(?:{_GROUP}:){{0,{4 - left}}}{_GROUP})?::(?:{_GROUP}:){{{left}}}{_LAST}"
            for left in (4, 3, 2, 1, 0)
        ),
        f"(?:(?:{_GROUP}:){{0,5}}{_GROUP})?::{_GROUP}",
        f"(?:(?:{_GROUP}:){{0,6}}{_GROUP})?::",
    ]
)
_END: Final = r"(?=[:/?]|$)"
_LABEL: Final = "[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_NUMBER: Final = "(?:[0-9]+|0[Xx][0-9A-Fa-f]*)"
_NAME: Final = (
    rf"(?=[^:/?]{{1,253}}(?:[:/?]|$))(?!(?:[^:/?]*\.)?{_NUMBER}\.?{_END}){_LABEL}(?:\.{_LABEL})*\.?{_END}"
)
_PORT: Final = r"(?!0+(?:[/?]|$))(?:[0-5]?[0-9]{1,4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"

DESTINATION_URL: Final = (
    rf"^{_HTTPS}(?:\[(?:{_IPV6})\]|{_IPV4}|{_NAME})(?::{_PORT})?"
    r"(?:[/?](?:[A-Za-z0-9._~:/?\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)?$"
)
"""An https URL in the characters of RFC 3986, its host a name of DNS or an address, its port 1 to 65535."""
