"""The API reference is complete, its examples are valid, the application conforms, and a browser renders it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from playwright.async_api import Page, async_playwright

from browsing import browser_path, note_complaints
from fake_service import GOOD, HOOK, PERSON, Client
from http_server import Running, serve
from scoring_model.service.http.application import POLICY
from scoring_model.service.http.errors import STATUSES
from scoring_model.service.http.openapi import ERRORS, openapi
from scoring_model.service.http.operations import OPERATIONS

DOCUMENT = openapi()
COMMITTED = Path(__file__).parents[3] / "docs" / "openapi.json"
EVERY = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda op: f"{op.method} {op.path}")


def _walk(node: object) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from _walk(value)
    elif isinstance(node, list):
        for value in node:
            yield from _walk(value)


def _resolved(node: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in node:
        return node
    found: Any = DOCUMENT
    for name in node["$ref"].removeprefix("#/").split("/"):
        found = found[name]
    resolved: dict[str, Any] = found
    return resolved


def _check(value: object, shape: dict[str, Any]) -> None:
    schema = {**shape, "components": DOCUMENT["components"]}
    checker = jsonschema.FormatChecker(["uuid", "date", "ipv4"])
    jsonschema.Draft202012Validator(schema, format_checker=checker).validate(value)


def test_reference_is_committed_as_it_is_served() -> None:
    """The committed copy is what the service serves, regenerated as `openapi.py` describes."""
    served = Client().ask("GET", "/openapi.json", credentials=None).json()
    assert served == DOCUMENT
    assert COMMITTED.read_text() == json.dumps(DOCUMENT, indent=2, ensure_ascii=False) + "\n"


def test_reference_knows_every_operation() -> None:
    """Paths and methods are those of the application, each with a unique name and one of the tags."""
    described = {
        (method.upper(), path)
        for path, item in DOCUMENT["paths"].items()
        for method in item
        if path.startswith("/scoring")
    }
    assert described == {(operation.method, operation.path) for operation in OPERATIONS}
    assert [tag["name"] for tag in DOCUMENT["tags"]] == [
        *("Verifications", "Webhooks", "Identities", "Labels", "Resolutions", "Lists")
    ]
    operations = [operation for item in DOCUMENT["paths"].values() for operation in item.values()]
    names = [operation["operationId"] for operation in operations]
    assert len(set(names)) == len(names)
    tagged = {operation["tags"][0] for operation in operations if "tags" in operation}
    assert tagged == {"Verifications", "Webhooks", "Identities", "Labels", "Resolutions", "Lists"}
    assert DOCUMENT["security"] == [{"clientId": [], "apiKey": []}]
    headers = {scheme["name"] for scheme in DOCUMENT["components"]["securitySchemes"].values()}
    assert headers == {"x-client-id", "x-api-key"}


def test_reference_refers_to_what_is_there() -> None:
    """Every reference resolves, and every component is referred to, except the error of unsupported methods."""
    references = {node["$ref"] for node in _walk(DOCUMENT) if "$ref" in node}
    for target in references:
        assert _resolved({"$ref": target})
    components = {
        f"#/components/{kind}/{name}"
        for kind in ("schemas", "responses", "parameters", "headers")
        for name in DOCUMENT["components"][kind]
    }
    assert components - references == {"#/components/responses/MethodNotAllowed"}


def test_reference_has_valid_schemas_and_examples() -> None:
    """Schemas are of draft 2020-12, and every example fulfils its schema."""
    checked = 0
    for shape in DOCUMENT["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(shape)
        for example in shape.get("examples", ()):
            _check(example, shape)
            checked += 1
    for node in _walk(DOCUMENT):
        if "schema" in node and "example" in node:
            _check(node["example"], node["schema"])
            checked += 1
    assert checked >= 25


def test_reference_closes_what_is_sent_and_opens_what_is_shown() -> None:
    """Requests forbid unknown fields; answers require every field, but in events, and leave room for more."""
    sent = {"AddressInput", "IdentityInput", "VerificationInput", "WebhookInput", "WebhookUpdate", "Nothing"}
    sent |= {"LabelInput", "LabelsInput", "ResolutionInput", "ListEntriesInput", "ListRemovalInput"}
    optional = {
        "ConflictProblem": {"missingFields"},
        "ValidationProblem": {"errorsOmitted"},
        "Verification": {"decidedBy", "policyOutcome", "decidedByCode", "sandbox"},
    }
    for name in ("Identity", "Webhook", "Delivery", "Resolution", "Resolutions", "LabelReport"):
        optional[name] = {"sandbox"}
    for name, shape in DOCUMENT["components"]["schemas"].items():
        if name in sent:
            assert shape["additionalProperties"] is False
        elif name != "EventData":
            assert set(shape["properties"]) - set(shape["required"]) == optional.get(name, set())
            assert "additionalProperties" not in shape


def test_reference_has_no_sections_of_docstrings() -> None:
    """Descriptions of components are sentences for clients, not the sections of a docstring."""
    described = [shape.get("description", "") for shape in DOCUMENT["components"]["schemas"].values()]
    assert any(described)
    assert not [text for text in described if "-----" in text]


def test_reference_knows_every_status_of_an_error() -> None:
    """Each status that an error can have on a route is described."""
    assert {*STATUSES.values(), 500} == set(ERRORS)


def _asked(client: Client, operation: Any) -> Any:
    made = {
        "identities": client.new_identity,
        "verifications": client.new_verification,
        "webhooks": client.new_webhook,
    }
    bodies: dict[tuple[str, str], Any] = {
        ("POST", "identities"): PERSON,
        ("POST", "verifications"): {"signals": {"device": "d"}},
        ("POST", "webhooks"): HOOK,
        ("POST", "labels"): {"labels": [{}]},
        ("POST", "lists"): {
            "list": "a",
            "values": ["x"],
            **({"key": "device", "outcome": "FAILED"} if operation.path.endswith("entries") else {}),
        },
        ("PUT", "webhooks"): HOOK,
    }
    kind = operation.path.split("/")[3]
    path = operation.path
    if "{id}" in path:
        body = {} if path.endswith(("test", "rotate-secret")) else bodies.get((operation.method, kind))
        if path.endswith("resolutions"):
            body = {"result": "APPROVED", "method": "other"} if operation.method == "POST" else None
        return client.ask(operation.method, path.replace("{id}", made[kind]()["id"]), json=body)
    return client.ask(operation.method, path, json=bodies.get((operation.method, kind)))


@EVERY
def test_reference_describes_what_is_answered(operation: Any) -> None:
    """The answer of each operation has a described status, the described shape, and only described headers."""
    client = Client()
    answer = _asked(client, operation)
    described = DOCUMENT["paths"][operation.path][operation.method.lower()]
    response = described["responses"][str(answer.status_code)]
    _check(answer.json(), response["content"]["application/json"]["schema"])
    names = {name.lower() for name in response["headers"]}
    assert {*answer.headers} - names <= {"content-length", "content-type"}
    optional = {"idempotency-replayed", "link"}
    assert names - {*answer.headers} <= optional


def test_reference_states_numbers_of_the_code() -> None:
    """Numbers in the text equal those in the code."""
    from scoring_model.service.http.bodies import DEPTH
    from scoring_model.service.http.operation import KEY_LENGTH
    from scoring_model.service.http.settings import MAX_BODY

    text = re.sub(r"\s+", " ", DOCUMENT["info"]["description"])
    assert f"nested at most {DEPTH} deep and at most {MAX_BODY // 1024} KiB long" in text
    assert f"1 to {KEY_LENGTH} printable ASCII characters" in text


@pytest.mark.browser
def test_docs_show_every_operation_and_carry_one_out() -> None:
    """The page renders all operations from local files only, without errors, and can send requests."""
    heard: list[str] = []
    hosts: set[str] = set()

    async def use(server: Running) -> None:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
            page = await browser.new_page()
            note_complaints(page, heard)
            page.on("request", lambda request: hosts.add(request.url.split("/")[2]))
            await page.goto(f"http://127.0.0.1:{server.port}/docs")
            for operation in OPERATIONS:
                shown = page.locator(f".opblock-{operation.method.lower()}").filter(
                    has=page.locator(f'[data-path="{operation.path}"]')
                )
                await shown.wait_for()
            await page.locator(".models, .webhooks").first.wait_for()
            assert await _tried_out(page) == "200"
            await browser.close()
        assert hosts == {f"127.0.0.1:{server.port}"}
        assert heard == []

    serve(use)


async def _tried_out(page: Page) -> str:
    """Log in, list the webhooks, and give the status that the page shows."""
    await page.locator(".authorize").first.click()
    boxes = page.locator(".auth-container")
    for place, name in enumerate(("x-client-id", "x-api-key")):
        await boxes.nth(place).locator("input").fill(GOOD[name])
        await boxes.nth(place).locator("button.authorize").click()
    await page.locator(".btn-done").first.click()
    block = page.locator("#operations-Webhooks-listWebhooks")
    await block.locator(".opblock-summary-control").click()
    await block.locator(".try-out__btn").click()
    await block.locator(".execute").click()
    status = block.locator(".live-responses-table .response-col_status").last
    await status.wait_for()
    return (await status.inner_text()).strip()


def test_docs_forbid_whatever_is_not_theirs() -> None:
    """The content security policy allows only files of the page's host, and nothing inline."""
    answer = Client().ask("GET", "/docs", credentials=None)
    assert answer.headers["content-security-policy"] == POLICY
    assert "unsafe" not in POLICY
    assert "default-src 'none'" in POLICY
    assert "<style" not in answer.text
    assert "http" not in answer.text
    assert answer.text.count("<script src=") == answer.text.count("<script") == 2
    for name in ("swagger-ui.css", "swagger-ui-bundle.js", "start.js"):
        found = Client().ask("GET", f"/docs/{name}", credentials=None)
        assert found.status_code == 200
        assert found.headers["x-content-type-options"] == "nosniff"
    assert Client().ask("GET", "/docs/../pyproject.toml", credentials=None).status_code == 404
    assert Client().ask("POST", "/docs", credentials=None, json=HOOK).status_code == 405
