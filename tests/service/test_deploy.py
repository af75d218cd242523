"""The files of `deploy`: what they run exists, what they ask for is shown, and they fit each other."""

import configparser
import json
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import promql_parser
import pytest
import yaml

from command_lines import problem
from scoring_model.contract.units import SECOND
from scoring_model.records.times import parse_duration
from scoring_model.service.core import metrics
from scoring_model.service.core.clock import SystemClock
from scoring_model.service.core.metrics import Metric, Slots
from scoring_model.service.core.rows import ServingProcessRow
from scoring_model.service.settings import DEFAULT_GRACE, SETTINGS
from scoring_model.service.store import open_store
from scraping import PREFIX, Samples, page_of

ROOT: Final = Path(__file__).parents[2]
DEPLOY: Final = ROOT / "deploy"
CONTAINERFILE: Final = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
UNIT: Final = configparser.RawConfigParser(strict=False, comment_prefixes="#")
UNIT.optionxform = str  # type: ignore[assignment,method-assign]
UNIT.read(DEPLOY / "scoring-model.service")
PROXY: Final = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["configs"]["caddy"]["content"]
OF_PROMETHEUS: Final = "up"
OF_TARGETS: Final = {"job", "instance"}
KILLED_AFTER: Final = 5
"""Seconds beyond its grace after which the supervisor kills a worker."""


@cache
def documents(name: str) -> list[Any]:
    """The documents of a YAML file."""
    return list(yaml.safe_load_all((DEPLOY / name).read_text(encoding="utf-8")))


def rules() -> list[dict[str, Any]]:
    """All alerts."""
    (document,) = documents("alerts.yaml")
    return [rule for group in document["groups"] for rule in group["rules"]]


def dashboard() -> list[str]:
    """The expressions of the dashboard."""
    panels = json.loads((DEPLOY / "dashboard.json").read_text(encoding="utf-8"))["panels"]
    return [target["expr"] for panel in panels for target in panel["targets"]]


EXPRESSIONS: Final = [*(rule["expr"] for rule in rules()), *dashboard()]


def asked(expression: str) -> Iterator[tuple[str, str, str | None]]:
    """Yield each metric of an expression with its labels, and with the values that they are compared with."""
    nodes = parts(promql_parser.parse(expression.replace("$__rate_interval", "5m")))
    for node in nodes:
        if isinstance(node, promql_parser.VectorSelector):
            yield str(node.name), "", None
            for matcher in node.matchers.matchers:
                yield from ((str(node.name), matcher.name, value) for value in matcher.value.split("|"))
        elif isinstance(node, promql_parser.AggregateExpr) and node.modifier is not None:
            inner = [str(one.name) for one in parts(node) if isinstance(one, promql_parser.VectorSelector)]
            yield from ((name, label, None) for name in inner for label in node.modifier.labels)


def parts(expression: Any) -> list[Any]:
    """An expression with all its parts."""
    nodes: list[Any] = []
    promql_parser.walk(expression, lambda node: nodes.append(node))
    return nodes


def is_shown(page: Samples, name: str, label: str, value: str | None) -> bool:
    """Whether a page has a metric, a label of it, and a value of that."""
    if name == OF_PROMETHEUS or label in OF_TARGETS:
        return True
    samples = page.get(name.removeprefix(PREFIX), [])
    if not label:
        return bool(samples)
    return any(label in one.labels and value in (None, one.labels[label]) for one in samples)


@pytest.mark.anyio
async def test_alerts_and_dashboard_ask_for_what_is_shown(sqlite_url: str) -> None:
    """Each metric, label and value of a label in an expression is on a page of a process that counted everything."""
    before, slots = metrics._here, Slots(1)
    metrics.enter_slot(slots.descriptor, 0)
    for place in range(Metric.size):
        metrics._here[place] = 1.0
    store = await open_store(sqlite_url)
    try:
        async with store.writing([]) as transaction:
            now = SystemClock().now()
            await transaction.report_process(
                ServingProcessRow(b"p" * 16, "h", 1, "m1", "p1", 1, 0, None, now)
            )
        page = await page_of(store, slots, SystemClock())
    finally:
        await store.close()
        metrics._here = before
    missing = [one for text in EXPRESSIONS for one in asked(text) if not is_shown(page, *one)]
    assert missing == []
    assert len(EXPRESSIONS) > 30


def test_each_alert_has_a_section_on_incidents() -> None:
    """The runbook of an alert is a heading of the page."""
    text = (ROOT / "docs" / "incidents.md").read_text(encoding="utf-8")
    headings = {re.sub(r"\W+", "-", title.lower()) for title in re.findall(r"^## (.+)$", text, re.MULTILINE)}
    assert {rule["annotations"]["runbook"].partition("#")[2] for rule in rules()} <= headings


def containers() -> list[dict[str, Any]]:
    """The containers of Kubernetes."""
    specs = [
        one["spec"]["template"]["spec"]
        for one in documents("kubernetes.yaml")
        if "template" in one.get("spec", {})
    ]
    assert all(
        spec["enableServiceLinks"] is False and spec["securityContext"]["runAsNonRoot"] for spec in specs
    )
    return [container for spec in specs for container in spec["containers"]]


def services() -> list[dict[str, Any]]:
    """The services of Compose that run the image `serve`."""
    (document,) = documents("compose.yaml")
    return [one for one in document["services"].values() if one["image"] == "scoring-model:serve"]


def test_commands_exist() -> None:
    """Images, Compose, Kubernetes and systemd run commands and options of the program."""
    commands = [json.loads(text) for text in re.findall(r"^CMD (.+)$", CONTAINERFILE, re.MULTILINE)]
    words = [command for command in commands if command != ["--help"]]
    words += [one["command"] for one in services() if "command" in one]
    words += [one["args"] for one in containers()]
    words.append(shlex.split(UNIT["Service"]["ExecStart"])[1:])
    assert len(words) == 5
    assert [found for command in words if (found := problem(command))] == []


def test_variables_are_settings() -> None:
    """Each variable with the prefix of settings is one."""
    text = "".join(path.read_text(encoding="utf-8") for path in DEPLOY.iterdir())
    named = set(re.findall(r"\bSCORING_MODEL_[A-Z_]+", text)) - {"SCORING_MODEL_PORT"}
    assert named <= {setting.variable for setting in SETTINGS.values()}
    assert len(named) > 5


def test_ports_agree() -> None:
    """The port of the service and that of its metrics are the same everywhere."""
    port = SETTINGS["port"].default
    measured = int(re.findall(r"SCORING_MODEL_METRICS_PORT=(\d+)", CONTAINERFILE)[0])
    assert re.findall(r"^EXPOSE (.+)$", CONTAINERFILE, re.MULTILINE) == [f"{port} {measured}"]
    assert f"127.0.0.1:{port}/health/ready" in CONTAINERFILE
    (served,) = [one for one in containers() if "ports" in one]
    assert [one["containerPort"] for one in served["ports"]] == [port, measured]
    assert {served[probe]["httpGet"]["port"] for probe in served if probe.endswith("Probe")} == {"http"}
    ((scraped,),) = [one["dns_sd_configs"] for one in documents("prometheus.yaml")[0]["scrape_configs"]]
    assert (scraped["names"], scraped["port"]) == (["serve"], measured)
    assert re.findall(r"name (\w+)\s+port (\d+)", PROXY) == [("serve", str(port))]
    assert f"--metrics-port {measured}" in UNIT["Service"]["ExecStart"]


def test_whoever_stops_it_waits_long_enough() -> None:
    """Notice, the grace of requests and that of deliveries pass before anybody kills it."""
    grace = 2 * DEFAULT_GRACE + KILLED_AFTER
    pod = documents("kubernetes.yaml")[2]["spec"]["template"]["spec"]
    notice = pod["containers"][0]["args"][-1]
    assert pod["terminationGracePeriodSeconds"] >= parse_duration(notice) / SECOND + grace
    (served,) = [one for one in services() if "stop_grace_period" in one]
    notice = served["environment"]["SCORING_MODEL_SHUTDOWN_NOTICE"]
    assert parse_duration(served["stop_grace_period"]) >= parse_duration(notice) + grace * SECOND
    assert int(UNIT["Service"]["TimeoutStopSec"]) >= grace


def test_a_unit_without_its_database_goes_on_trying() -> None:
    """Failed starts are too slow for the limit of systemd, five of them in ten seconds."""
    assert UNIT["Service"]["Restart"] == "on-failure"
    assert 5 * int(UNIT["Service"].get("RestartSec", "0")) > 10


def test_the_proxy_tries_another_replica_when_one_is_gone() -> None:
    """It waits for a second connection after the first one timed out, and forgets addresses before it gives up.

    Caddy closes the body of a request whose first connection failed, until version 2.11.2.
    """
    seconds = {name: int(text) for name, text in re.findall(r"(\w+) (\d+)s", PROXY)}
    assert seconds["lb_try_duration"] > 2 * seconds["dial_timeout"]
    assert seconds["refresh"] <= seconds["fail_duration"]
    image = documents("compose.yaml")[0]["services"]["proxy"]["image"]
    assert tuple(map(int, image.rpartition(":")[2].split("."))) >= (2, 11)


def test_nothing_can_write_where_it_need_not() -> None:
    """No container is root or writes to its image; what is compiled goes to memory, else each process would compile."""
    assert re.findall(r"^ENV NUMBA_CACHE_DIR=(/tmp/\w+)$", CONTAINERFILE, re.MULTILINE)
    assert re.findall(r"^USER (\w+)$", CONTAINERFILE, re.MULTILINE) == ["10001"] * 2
    for one in containers():
        assert one["securityContext"]["readOnlyRootFilesystem"]
        assert not one["securityContext"]["allowPrivilegeEscalation"]
    assert all(one["read_only"] and one["cap_drop"] == ["ALL"] for one in services())


def test_images_install_what_is_locked() -> None:
    """Each name of a list is in the lock, and the image that serves has neither compilers nor tables."""
    locked = set(re.findall(r"^([a-z0-9][^= ]*)==", (ROOT / "requirements.lock").read_text(), re.MULTILINE))
    served, trained = (set((DEPLOY / f"{image}.txt").read_text().split()) for image in ("serve", "train"))
    assert served | trained <= locked
    assert {"numba", "llvmlite", "pyarrow"} <= trained - served
    assert {"uvicorn", "asyncpg", "onnxruntime", "prometheus-client"} <= served
