"""Reads pages of metrics."""

import asyncio
import urllib.request
from collections.abc import Mapping
from typing import Final

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from running_service import SECONDS, Running, until
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.metrics import Slots
from scoring_model.service.exposition import Exposition
from scoring_model.service.run import base_url, listen
from scoring_model.service.store import Store

Samples = Mapping[str, list[Sample]]
"""Samples by their name without the prefix of the project."""

PREFIX: Final = "scoring_model_"


def scraped(url: str) -> Samples:
    """Read a page."""
    with urllib.request.urlopen(url, timeout=SECONDS) as answer:
        return parsed(answer.read().decode())


def parsed(text: str) -> Samples:
    """Read the text of a page."""
    found: dict[str, list[Sample]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name.removeprefix(PREFIX), []).append(sample)
    return found


def value(samples: Samples, name: str, **labels: str) -> float:
    """Sum of the samples of a name that have these labels."""
    return sum(one.value for one in samples[name] if labels.items() <= one.labels.items())


def metrics_url(service: Running) -> str:
    """The page of metrics that a service reports on standard error."""
    until(lambda: "metrics on http" in service.log.read_text(), "the page of metrics")
    return service.log.read_text().partition("metrics on ")[2].splitlines()[0]


async def page_of(store: Store, slots: Slots, clock: Clock) -> Samples:
    """A page as it is served, after the gauges were read once."""
    exposition = Exposition(slots, clock)
    with listen("127.0.0.1", 0) as listener, exposition.answering(listener):
        async with exposition.following(store):
            while not exposition._gauges:
                await asyncio.sleep(0.01)
            return await asyncio.to_thread(scraped, f"{base_url(listener)}/metrics")
