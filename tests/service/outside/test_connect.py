"""The page on connectors: its examples run against a service with HTTP Basic."""

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Final, Generic, TypeVar

import httpx
import pytest

from outside_client import new_credentials, open_service, port_of

PAGE: Final = (Path(__file__).parents[3] / "docs" / "connect.md").read_text(encoding="utf-8")
ADAPTER, PLUGIN = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
(REQUEST,) = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
VERIFICATIONS: Final = "/scoring/v1/verifications"

A = TypeVar("A")
R = TypeVar("R")


class UDFBase(Generic[A, R]):
    """Stands in for the class of Osprey."""


def stand_ins() -> dict[str, ModuleType]:
    """What the plugin imports of Osprey."""
    named: dict[str, dict[str, Any]] = {
        "osprey.engine.executor.execution_context": {"ExecutionContext": object},
        "osprey.engine.udf.arguments": {"ArgumentsBase": SimpleNamespace},
        "osprey.engine.udf.base": {"UDFBase": UDFBase},
        "osprey.worker.adaptor.plugin_manager": {"hookimpl_osprey": lambda hook: hook},
    }
    found = {}
    for name, content in named.items():
        found[name] = ModuleType(name)
        vars(found[name]).update(content)
    return found


@pytest.fixture(scope="module")
def environment(
    sealed: Path, migrated: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """Address and credentials of a service that takes HTTP Basic."""
    folder = tmp_path_factory.mktemp("connect")
    (folder / "scoring.db").write_bytes(migrated.read_bytes())
    with open_service(folder, sealed, "--basic-auth") as service:
        made = new_credentials(folder)
        yield {
            "SCORING_URL": f"http://127.0.0.1:{port_of(service)}",
            "SCORING_CLIENT_ID": made["x-client-id"],
            "SCORING_API_KEY": made["x-api-key"],
        }


@pytest.fixture
def example(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs an example of the page, and returns its names."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    for name, module in stand_ins().items():
        monkeypatch.setitem(sys.modules, name, module)

    def run(text: str) -> dict[str, Any]:
        names: dict[str, Any] = {"__name__": "example"}
        exec(compile(text, "docs/connect.md", "exec", dont_inherit=True), names)
        return names

    return run


def test_the_request_is_answered(environment: dict[str, str]) -> None:
    """With the pair as user and password, and no header of the service's own."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", REQUEST],
        env=os.environ | environment,
        capture_output=True,
        check=True,
    )
    found = json.loads(done.stdout)
    assert (found["status"], found["subjectId"]) == ("COMPLETED", "u-1")


def test_the_adapter_gives_alloy_a_score(example: Any, environment: dict[str, str]) -> None:
    """In either spelling of attributes, and as text; it passes credentials on, and reports what went wrong."""
    (*scored, refused, failed), listed = asyncio.run(ask_the_adapter(example(ADAPTER), environment))
    answers = [answer.json() for answer in scored]
    assert [answer["modelScore"] for answer in answers] == [row["scoringScore"] for row in reversed(listed)]
    assert [(answer["modelSuccess"], type(answer["modelVersion"])) for answer in answers] == [(True, int)] * 2
    assert f"{answers[0]['modelVersion']:012x}" == listed[0]["modelVersion"].rsplit("-", 1)[-1]
    assert (refused.status_code, refused.json()) == (401, {"modelSuccess": False})
    assert (failed.status_code, failed.json()) == (503, {"modelSuccess": False})


async def ask_the_adapter(
    names: dict[str, Any], environment: dict[str, str]
) -> tuple[list[httpx.Response], list[dict[str, Any]]]:
    """Send what Alloy sends, twice right and twice wrong: the answers, and the verifications that the service lists."""
    good = (environment["SCORING_CLIENT_ID"], environment["SCORING_API_KEY"])
    device = [{"attributeName": "device_id", "attributeValue": "d-2"}]
    sent: dict[str, Any] = {
        "Alloy Data Supplied": device,
        "Email": [{"attribute_name": "email_age_days", "attribute_value": "12"}],
        "Network": [{"attribute_name": "vpn", "attribute_value": "true"}],
        "meta": {"customer_id": "c-7"},
    }
    wrong = {"a": [*device, {"attributeName": names["PERSON"], "attributeValue": 7}]}
    transport = httpx.ASGITransport(app=names["app"])
    async with httpx.AsyncClient(transport=transport, base_url="http://adapter") as alloy:
        answers = [await alloy.post("/", json=body, auth=good) for body in (sent, json.dumps(sent))]
        answers.append(await alloy.post("/", json=sent, auth=("cl_1", "wrong")))
        answers.append(await alloy.post("/", json=wrong, auth=good))
    async with httpx.AsyncClient(base_url=environment["SCORING_URL"], auth=good) as own:
        listed = (await own.get(VERIFICATIONS, params={"subjectId": "c-7"})).json()
    await names["scoring"].aclose()
    return answers, listed


def test_the_plugin_asks_once_for_each_action(example: Any) -> None:
    """The same action gets the same verification again; a missing argument is a missing signal."""
    names = example(PLUGIN)
    assert names["register_udfs"]() == [names["ScoringOutcome"]]
    udf, arguments = names["ScoringOutcome"](), names["ScoringArguments"](user_id="o-1", device_id="d-3")
    outcomes = [
        udf.execute(SimpleNamespace(get_action_id=lambda number=number: number), arguments)
        for number in (1, 1, 2)
    ]
    assert set(outcomes) <= {"PASSED", "STEPPED_UP", "FAILED"}
    listed = names["scoring"].get(VERIFICATIONS, params={"subjectId": "o-1"}).json()
    names["scoring"].close()
    assert [one["scoringOutcome"] for one in reversed(listed)] == outcomes[1:]
