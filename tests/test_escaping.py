"""Text of others in our output."""

import html
import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from scoring_model.cli import console
from scoring_model.escaping import (
    code_span,
    for_markdown,
    sentence_for_markdown,
    singular,
    visible,
    visible_json,
    visible_line,
)

HOSTILE = "\x1b]0;a\x07\r\u202egnp.exe\u2066\x9b2J\u200b\ufeff\ud800"
ODD = st.text(st.sampled_from("ab_*`|\\\\[]()<>&~#-+=.! \n\x1b\u202eä\U0001f600"), max_size=20)
RENDERER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("on 1 days, of 21 days", "on 1 day, of 21 days"),
        ("1 known frauds, 0.1 frauds, 1,001 frauds", "1 known fraud, 0.1 frauds, 1,001 frauds"),
        ("1 blocks of 7 days", "1 block of 7 days"),
        (
            "1 rows were refused; 1 verifications have a label",
            "1 row was refused; 1 verification has a label",
        ),
        ("1 processes serve bundle a", "1 process serves bundle a"),
        ("1 resolutions imported", "1 resolution imported"),
        ("1 identities, 1 deliveries", "1 identity, 1 delivery"),
        (
            "1 of 2 rows, 0 to 1 of records, 1 to 20 records, 1 of 1 folds",
            "1 of 2 rows, 0 to 1 of records, 1 to 20 records, 1 of 1 folds",
        ),
        ("the applicant's 1 days, not 'up to 1 days'", "the applicant's 1 day, not 'up to 1 days'"),
        ('"1 days" and `1 rows` on 1 rows', '"1 days" and `1 rows` on 1 row'),
    ],
)
def test_what_people_read_has_no_plural_behind_a_one(
    written: str, read: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """In what commands print and in reports, whoever wrote the sentence; all other numbers keep theirs."""
    console.say(written)
    console.warn(written)
    said = capsys.readouterr()
    assert said.out == f"{read}\n"
    assert said.err == f"warning: {read}\n"
    assert sentence_for_markdown(written) == for_markdown(read)
    assert singular(read) == read


def test_nothing_hidden_reaches_a_terminal() -> None:
    """Codes, marks of direction, what has no width and half characters become codes; names of people stay."""
    assert visible(HOSTILE) == (r"\x1b]0;a\x07\r\u202egnp.exe\u2066\x9b2J\u200b\ufeff\ud800")
    assert visible_line("a\nerror: b") == r"a\nerror: b"
    people = "Zoë Ω 北京 محمد नेहा\u200dक \U0001f469\u200d\U0001f4bb\n"
    assert visible(people) == people
    assert visible(visible(HOSTILE)) == visible(HOSTILE)


@given(
    st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
)
@example(HOSTILE)
def test_json_says_the_same(value: object) -> None:
    """A document for programs is read as before, and holds nothing hidden."""
    text = visible_json(json.dumps(value, ensure_ascii=False))
    assert json.loads(text) == value
    assert visible(text) == text


@given(ODD)
@example("**a** [b](http://c) ![d](e) `f` <script> ~~g~~ &amp; h_i_ _j_")
def test_a_cell_shows_its_text_as_it_stands(text: str) -> None:
    """Rendered by another reader of Markdown, a cell has no markup, and the next cell is the next."""
    given = f"x{text}x"
    page = RENDERER.render(f"| a | b |\n| --- | --- |\n| {for_markdown(given)} | second |\n")
    found = re.findall(r"<td>(.*?)</td>", page, re.DOTALL)
    assert found == [html.escape(visible(" ".join(given.split())), quote=False), "second"]


@given(ODD)
@example("# a")
@example("- a")
@example("---")
@example("`a|b")
def test_an_item_of_a_list_stays_one(text: str) -> None:
    """Nothing in a text or a name begins a heading, a list or a line."""
    for markdown in (for_markdown(f"{text}x"), code_span(f"{text}x")):
        page = RENDERER.render(f"- {markdown}\n- second\n")
        assert set(re.findall(r"<(\w+)", page)) <= {"ul", "li", "code"}
        assert page.count("<li>") == 2


def test_no_name_in_an_error_looks_like_a_line_of_ours(capsys: pytest.CaptureFixture[str]) -> None:
    """Further lines of an error are indented, and a result is one line, whatever names they hold."""
    console.fail("the column 'a\nerror: \x1b[31mnothing' is unknown")
    console.say("used: a\nfindings: none")
    said = capsys.readouterr()
    assert said.err == "error: the column 'a\n  error: \\x1b[31mnothing' is unknown\n"
    assert said.out == "used: a\\nfindings: none\n"
