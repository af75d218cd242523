"""A page and a Markdown text as values: sections, cards with their tone, tables by caption, row and head, drawings."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser

TONES = ("good", "bad", "open", "none")


@dataclass(frozen=True, kw_only=True)
class Card:
    """A verdict: its tone is a class of the page, which chooses its colour and its mark."""

    under: str
    tone: str
    head: str
    title: str
    texts: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A table: heads, and rows of cells of which the first names the row.

    Parameters
    ----------
    keys, tones : tuple
        Of each cell of a row; none for Markdown, and for a row that says that there are none.
    """

    under: str
    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    keys: tuple[tuple[str, ...], ...] = ()
    tones: tuple[tuple[str, ...], ...] = ()

    def cell(self, row: str, head: str) -> str:
        """The text under a head in the row of this name."""
        return self.by_name[row][self.heads.index(head)]

    @property
    def by_name(self) -> dict[str, tuple[str, ...]]:
        """The rows by their first cells."""
        return {row[0]: row for row in self.rows}


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A drawing: its label for people who do not see it, the words in it, and its caption."""

    under: str
    title: str
    label: str
    words: tuple[str, ...]


@dataclass(kw_only=True)
class _Node:
    tag: str
    classes: tuple[str, ...]
    attributes: Mapping[str, str]
    children: list["_Node | str"] = field(default_factory=list)

    def find(self, *tags: str) -> Iterator["_Node"]:
        """The nodes of these tags inside, in the order of the page."""
        for child in self.children:
            if isinstance(child, _Node):
                if child.tag in tags:
                    yield child
                yield from child.find(*tags)

    @property
    def text(self) -> str:
        """The words inside, one blank apart."""
        return " ".join("".join(self._words()).split())

    def _words(self) -> Iterator[str]:
        for child in self.children:
            if isinstance(child, str):
                yield child
            else:
                yield from child._words()
        if self.tag in ("p", "h1", "h2", "h3", "td", "th", "li", "text", "caption", "summary"):
            yield " "


class _Reader(HTMLParser):
    _EMPTY = frozenset({"meta", "link", "br", "path", "use", "image", "rect", "line", "circle"})

    def __init__(self) -> None:
        super().__init__()
        self.root = _Node(tag="", classes=(), attributes={})
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        node = _Node(tag=tag, classes=tuple(found.get("class", "").split()), attributes=found)
        self._open[-1].children.append(node)
        if tag not in self._EMPTY:
            self._open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self._EMPTY:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in self._EMPTY:
            while self._open.pop().tag != tag:
                pass

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)


@dataclass(frozen=True, kw_only=True)
class PageText:
    """Everything that a page says, in its order; `under` is its section and the heading above it.

    Parameters
    ----------
    parts : tuple
        Cards, grids, drawings, and paragraphs as pairs of place and text.
    """

    parts: tuple[Card | Grid | Drawing | tuple[str, str], ...]

    @classmethod
    def of(cls, html: str) -> "PageText":
        """Read a page."""
        reader = _Reader()
        reader.feed(html)
        (body,) = reader.root.find("body")
        return cls(parts=tuple(_parts(body, [""])))

    @property
    def cards(self) -> list[Card]:
        """All verdicts."""
        return [one for one in self.parts if isinstance(one, Card)]

    @property
    def drawings(self) -> list[Drawing]:
        """All drawings."""
        return [one for one in self.parts if isinstance(one, Drawing)]

    @property
    def texts(self) -> list[str]:
        """All paragraphs."""
        return [one[1] for one in self.parts if isinstance(one, tuple)]

    def grid(self, caption: str) -> Grid:
        """The one table whose caption begins so."""
        (found,) = (one for one in self.grids if one.caption.startswith(caption))
        return found

    @property
    def grids(self) -> list[Grid]:
        """All tables."""
        return [one for one in self.parts if isinstance(one, Grid)]

    def lines(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield (section, row, figure, text) of everything."""
        for one in self.parts:
            if isinstance(one, Card):
                yield one.under, one.title, "card", f"[{one.tone}] {one.head}: {' '.join(one.texts)}"
            elif isinstance(one, Drawing):
                yield one.under, one.title, "drawing", one.label
                yield one.under, one.title, "drawing: words", " | ".join(one.words)
            elif isinstance(one, Grid):
                for row in one.rows:
                    for head, cell in zip(one.heads[1:], row[1:], strict=False):
                        yield f"{one.under} / {one.caption}", row[0], head, cell
            else:
                yield one[0], "", "text", one[1]

    def markdown(self) -> str:
        """Write the page as text that people can read in a difference."""
        found: list[str] = []
        under = None
        for one in self.parts:
            place = one[0] if isinstance(one, tuple) else one.under
            if place != under:
                found.append(f"## {place}")
                under = place
            found.append(_markdown(one))
        return "\n\n".join(found) + "\n"


def _markdown(one: Card | Grid | Drawing | tuple[str, str]) -> str:
    if isinstance(one, Card):
        return "\n".join(
            [f"- [{one.tone}] **{one.head}**: {one.title}", *(f"  {text}" for text in one.texts)]
        )
    if isinstance(one, Drawing):
        return f"![{one.title}: {one.label}]\n\nWords of the drawing: {' | '.join(one.words)}"
    if isinstance(one, Grid):
        lines = [one.heads, ("---",) * len(one.heads), *one.rows]
        return f"Table: {one.caption}\n\n" + "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    return one[1]


def _parts(node: _Node, under: list[str]) -> Iterator[Card | Grid | Drawing | tuple[str, str]]:
    """Walk over a page; `under` holds the latest heading."""
    for child in node.children:
        if not isinstance(child, _Node) or child.tag in ("style", "nav") or "caption" in child.classes:
            continue
        if child.tag == "h1":
            yield "page", child.text
        elif child.tag == "h2":
            under[0] = child.text
        elif "card" in child.classes:
            yield _card(child, under[0])
        elif child.tag == "table":
            yield _grid(child, under[0])
        elif child.tag == "figure":
            yield from _figure(child, under[0])
        elif child.tag in ("p", "li", "a"):
            if child.attributes.get("aria-hidden") != "true":
                yield under[0] or "page", child.text
        else:
            yield from _parts(child, under)


def _card(node: _Node, under: str) -> Card:
    (tone,) = set(node.classes) & set(TONES)
    (head,) = node.find("h3")
    title, *texts = (one.text for one in node.find("p"))
    return Card(
        under=under, tone=tone, head=head.text.removesuffix(":").strip(), title=title, texts=tuple(texts)
    )


def _grid(node: _Node, under: str) -> Grid:
    (caption,) = node.find("caption")
    heads, *rows = (tuple(row.find("th", "td")) for row in node.find("tr"))
    keyed = [row for row in rows if "data-key" in row[0].attributes]
    return Grid(
        under=under,
        caption=caption.text,
        heads=tuple(cell.text for cell in heads),
        rows=tuple(tuple(cell.text for cell in row) for row in rows),
        keys=tuple(tuple(cell.attributes["data-key"] for cell in row) for row in keyed),
        tones=tuple(tuple(" ".join(set(cell.classes) - {"words"}) for cell in row) for row in keyed),
    )


def _figure(node: _Node, under: str) -> Iterator[Grid | Drawing | tuple[str, str]]:
    (title,) = node.find("h3")
    for drawn in node.find("svg"):
        yield Drawing(
            under=under,
            title=title.text,
            label=drawn.attributes["aria-label"],
            words=tuple(one.text for one in drawn.find("text")),
        )
    for caption in node.find("figcaption"):
        yield under, caption.text
    for missing in node.find("p"):
        if "missing" in missing.classes:
            yield under, f"{title.text}: {missing.text}"
    for table in node.find("table"):
        yield _grid(table, under)


def markdown_grids(text: str) -> list[Grid]:
    """The tables of a Markdown text, with the heading above each as `under`, and its caption."""
    found, under, caption = [], "", ""
    for block in text.split("\n\n"):
        if block.startswith("#"):
            under = block.lstrip("# ")
        elif block.startswith("*") and not block.startswith("**"):
            caption = block.strip("*")
        elif block.startswith("| "):
            heads, _, *rows = (
                tuple(cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1])
                for line in block.splitlines()
            )
            found.append(Grid(under=under, caption=caption, heads=heads, rows=tuple(rows)))
    return found


def said(found: PageText, under: str) -> tuple[tuple[str, str, str], ...]:
    """Tone, head and title of the cards under a heading."""
    return tuple((one.tone, one.head, one.title) for one in found.cards if one.under.startswith(under))


def bare(text: str) -> str:
    """The words of Markdown without its escapes."""
    return " ".join(unescape(re.sub(r"\\(.)", r"\1", text)).split())
