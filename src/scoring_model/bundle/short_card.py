"""A card of ten lines about a bundle, for consoles and notebooks."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape

from scoring_model.bundle.contents import Contents
from scoring_model.escaping import visible_line
from scoring_model.records import format_duration


@dataclass(frozen=True, slots=True)
class ShortCard:
    """The main facts of a bundle, for people."""

    title: str
    facts: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return "\n".join([self.title, *(f"  {name}: {visible_line(text)}" for name, text in self.facts)])

    @property
    def html(self) -> str:
        """Return the card as a table."""
        rows = "".join(f"<tr><th>{name}</th><td>{escape(text)}</td></tr>" for name, text in self.facts)
        return f"<table><caption>{escape(self.title)}</caption>{rows}</table>"


def short_card(
    title: str, contents: Contents, *, data: Mapping[str, object], files: Iterable[str]
) -> ShortCard:
    """Describe a bundle by its contents, the origin of its model, and the names of its files."""
    policy, links = contents.rules.policy, contents.features.settings.links
    facts = (
        ("policy", contents.policy_version),
        ("STEPPED_UP from", str(policy.step_up_from)),
        ("FAILED from", str(policy.fail_from)),
        ("features", str(len(contents.features.names))),
        ("signals", ", ".join(sorted(contents.schema.signals)) or "none"),
        ("link keys", ", ".join(sorted(links.keys))),
        ("windows", ", ".join(map(format_duration, links.windows))),
        ("data", f"{data.get('from')} to {data.get('to')}"),
        ("files", ", ".join(sorted(files))),
    )
    return ShortCard(title, facts)
