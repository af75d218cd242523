"""Text of others in our output: a name or a value must not command a terminal, turn a line around or end a cell."""

import html
import json
import re
from typing import Final

_UNSEEN: Final = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Control characters but the line feed, marks of direction, what has no width, and surrogates."""

_MARKUP: Final = re.compile(r"[\\`*\[\]|~]|(?<![^\W_])_|_(?![^\W_])|^[-+#=]+(?=\s|$)")


def visible(text: str) -> str:
    r"""Return text with `\x1b` for the character of that code, and likewise for all that a reader can't see.

    Line feeds stay, and so do joiners, which words of several scripts need.

    Examples
    --------
    >>> visible("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    return _UNSEEN.sub(lambda found: repr(found[0])[1:-1], text)


def visible_line(text: str) -> str:
    r"""Return `visible` text whose line feeds are `\n`, so that no value begins a line of its own."""
    return visible(text).replace("\n", "\\n")


def visible_json(text: str) -> str:
    """Return a JSON document with escapes for what a reader can't see; it says the same."""
    return _UNSEEN.sub(lambda found: json.dumps(found[0])[1:-1], text)


def for_markdown(text: str) -> str:
    r"""Return text on one line that Markdown shows as it stands: no cell ends, and no markup or tag begins.

    Examples
    --------
    >>> for_markdown("a|b *c* snake_case <i>")
    'a\\\\|b \\\\*c\\\\* snake_case &lt;i&gt;'
    """
    return _MARKUP.sub(r"\\\g<0>", html.escape(visible(" ".join(text.split())), quote=False))


def code_span(text: str) -> str:
    """Return a name as code in Markdown, or as text where it holds what would end the code or its cell."""
    return for_markdown(text) if set(text) & set("`|\n") else f"`{visible(text)}`"
