"""Text in our output: what others wrote must not command a terminal or end a cell, and 1 has no plural behind it."""

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

_ONE: Final = re.compile(
    r"(?P<quoted>(?<!\w)(?:'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`)(?!\w))|(?<![\w.,/:-])(?<!of )(?<!its )1 "
    r"((?:(?:completed|evaluated|genuine|known|labelled|link|matured|more|other|such) )?)(applicant"
    r"|block|bundle|column|condition|day|deliver|draw|edge|entr|event|feature|file|finding|fold|fraud|gate|group|hit"
    r"|identit|key|label|line|link|list|month|pair|part|person|process|promise|record|request|resolution|ring|row|rule|score"
    r"|share|signal|step-up|subject|time|tree|trial|value|verification|webhook|week)(s|es|ies)\b"
    r"( are| were| have| lie| serve| differ)?(?! [0-9])"
)
"""A 1 before a plural noun, perhaps with an adjective between them and a verb behind it; what is quoted is skipped."""
_VERBS: Final = {" are": " is", " were": " was", " have": " has"}


def singular(text: str) -> str:
    """Return a sentence whose nouns behind a 1 have no plural; what it quotes stays.

    Examples
    --------
    >>> singular("1 known frauds, 21 frauds; 1 rows are refused, 1 entries in 0.1 days")
    '1 known fraud, 21 frauds; 1 row is refused, 1 entry in 0.1 days'
    """

    def of_one(found: re.Match[str]) -> str:
        quoted, word, noun, end, verb = found.groups(default="")
        if quoted:
            return quoted
        return f"1 {word}{noun}{'y' if end == 'ies' else ''}{_VERBS.get(verb, verb and verb + 's')}"

    return _ONE.sub(of_one, text)


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
    'a\\|b \\*c\\* snake_case &lt;i&gt;'
    """
    return _MARKUP.sub(r"\\\g<0>", html.escape(visible(" ".join(text.split())), quote=False))


def sentence_for_markdown(text: str) -> str:
    """Return a sentence of ours on one line that Markdown shows as it stands; see `singular`."""
    return for_markdown(singular(text))


def code_span(text: str) -> str:
    """Return a name as code in Markdown, or as text where it holds what would end the code or its cell."""
    return for_markdown(text) if set(text) & set("`|\n") else f"`{visible(text)}`"
