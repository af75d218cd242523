"""The API reference: it is complete, its examples hold, and the application does what it says."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from fake_service import HOOK, PERSON, Client
from scoring_model.service.http.application import OPERATIONS
from scoring_model.service.http.errors import STATUSES
from scoring_model.service.http.openapi import ERRORS, openapi

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
    """The committed copy is what the service serves, to be written anew as `openapi.py` says."""
    served = Client().ask("GET", "/openapi.json", credentials=None).json()
    assert served == DOCUMENT
    assert COMMITTED.read_text() == json.dumps(DOCUMENT, indent=2, ensure_ascii=False) + "\n"


def test_reference_knows_every_operation() -> None:
    """Paths and methods are those of the application, each with a name of its own and one of the three tags."""
    described = {
        (method.upper(), path)
        for path, item in DOCUMENT["paths"].items()
        for method in item
        if path.startswith("/scoring")
    }
    assert described == {(operation.method, operation.path) for operation in OPERATIONS}
    assert [tag["name"] for tag in DOCUMENT["tags"]] == ["Verifications", "Webhooks", "Identities"]
    operations = [operation for item in DOCUMENT["paths"].values() for operation in item.values()]
    names = [operation["operationId"] for operation in operations]
    assert len(set(names)) == len(names)
    tagged = {operation["tags"][0] for operation in operations if "tags" in operation}
    assert tagged == {"Verifications", "Webhooks", "Identities"}
    assert DOCUMENT["security"] == [{"clientId": [], "apiKey": []}]
    headers = {scheme["name"] for scheme in DOCUMENT["components"]["securitySchemes"].values()}
    assert headers == {"x-client-id", "x-api-key"}


def test_reference_refers_to_what_is_there() -> None:
    """Every reference resolves, and every component is referred to, but the error of methods that are not there."""
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
    for name, shape in DOCUMENT["components"]["schemas"].items():
        if name in sent:
            assert shape["additionalProperties"] is False
        elif name != "EventData":
            optional = {"errorsOmitted"} if name == "ValidationProblem" else set()
            assert set(shape["properties"]) - set(shape["required"]) == optional
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
        ("PUT", "webhooks"): HOOK,
    }
    kind = operation.path.split("/")[3]
    path = operation.path
    if "{id}" in path:
        return client.ask(
            operation.method,
            path.replace("{id}", made[kind]()["id"]),
            json={} if path.endswith(("test", "rotate-secret")) else bodies.get((operation.method, kind)),
        )
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


@EVERY
def test_reference_describes_errors(operation: Any) -> None:
    """Errors of each operation fulfil the described schema and have the described headers."""
    client = Client()
    path = operation.path.replace("{id}", "00000000-0000-0000-0000-000000000001")
    described = DOCUMENT["paths"][operation.path][operation.method.lower()]["responses"]
    answers = [
        client.ask(operation.method, path, credentials=None),
        client.ask(operation.method, path + "?nothing=1", json={}),
        client.ask(operation.method, path, json={str(place): 1 for place in range(101)}),
        client.ask(operation.method, path, content=b" " * 300_000),
        client.ask(operation.method, path, json=HOOK if operation.method == "PUT" else {}),
    ]
    for answer in answers:
        if answer.status_code < 400:
            continue
        response = _resolved(described[str(answer.status_code)])
        _check(answer.json(), response["content"]["application/problem+json"]["schema"])
        assert {name.lower() for name in response["headers"]} <= {*answer.headers}


def test_reference_says_what_is_sent() -> None:
    """What the schema of a request allows is taken, what it forbids is refused, on cases of every rule."""
    cases: list[tuple[str, dict[str, Any]]] = [
        ("/scoring/v1/identities", {"firstName": "x" * 100}),
        ("/scoring/v1/identities", {"firstName": "x" * 101}),
        ("/scoring/v1/identities", {"firstName": " "}),
        ("/scoring/v1/identities", {"firstName": None}),
        ("/scoring/v1/identities", {"dob": "1985-02-30"}),
        ("/scoring/v1/identities", {"citizenship": "XX"}),
        ("/scoring/v1/identities", {"documentType": "LICENCE"}),
        ("/scoring/v1/identities", {"imageUrls": ["http://a.example"]}),
        ("/scoring/v1/identities", {"imageUrls": ["https://a.example"] * 11}),
        ("/scoring/v1/identities", {"imageUrls": ["HTTPS://a.example/" + "x" * 2030]}),
        ("/scoring/v1/identities", {"imageUrls": ["https://a.example/" + "x" * 2031]}),
        ("/scoring/v1/identities", {"address": {"line1": "x" * 200}}),
        ("/scoring/v1/identities", {"address": {"line1": "x" * 201}}),
        ("/scoring/v1/identities", {"address": {"line3": "x"}}),
        ("/scoring/v1/identities", {"address": []}),
        ("/scoring/v1/identities", {"externalId": "x" * 129}),
        ("/scoring/v1/identities", {"id": "x"}),
        ("/scoring/v1/verifications", {}),
        ("/scoring/v1/verifications", {"identityId": None, "signals": None}),
        ("/scoring/v1/verifications", {"identityId": "x"}),
        ("/scoring/v1/verifications", {"signals": {}}),
        ("/scoring/v1/verifications", {"signals": {"a": {}}}),
        ("/scoring/v1/verifications", {"signals": {"a": None, "b": 1.5, "c": True, "d": "x" * 256}}),
        ("/scoring/v1/verifications", {"signals": {"d": "x" * 257}}),
        ("/scoring/v1/verifications", {"signals": {"x" * 129: 1}}),
        ("/scoring/v1/verifications", {"signals": {"": 1}}),
        ("/scoring/v1/verifications", {"signals": {str(place): place for place in range(201)}}),
        ("/scoring/v1/verifications", {"signals": {}, "subjectId": "x" * 129}),
        ("/scoring/v1/webhooks", HOOK),
        ("/scoring/v1/webhooks", {"active": True}),
        ("/scoring/v1/webhooks", {**HOOK, "active": None}),
        ("/scoring/v1/webhooks", {**HOOK, "active": "yes"}),
        ("/scoring/v1/webhooks", {**HOOK, "destinationUrl": "ftp://a.example"}),
        ("/scoring/v1/webhooks", {**HOOK, "destinationUrl": "https://a@b.example"}),
        ("/scoring/v1/webhooks", {**HOOK, "destinationUrl": "https://b.example/#a"}),
        ("/scoring/v1/webhooks", {**HOOK, "eventTypes": []}),
        ("/scoring/v1/webhooks", {**HOOK, "eventTypes": ["*", "verification.*", "webhook.test"]}),
        ("/scoring/v1/webhooks", {**HOOK, "eventTypes": ["verification.done"]}),
        ("/scoring/v1/webhooks", {**HOOK, "description": "x" * 201}),
        ("/scoring/v1/webhooks", {**HOOK, "secret": "whsec_"}),
    ]
    for path, body in cases:
        request = DOCUMENT["paths"][path]["post"]["requestBody"]["content"]["application/json"]
        try:
            _check(body, request["schema"])
            allowed = True
        except jsonschema.ValidationError:
            allowed = False
        answer = Client().ask("POST", path, json=body)
        assert (answer.status_code < 400) == allowed, (path, body, answer.text)


def test_reference_states_numbers_of_the_code() -> None:
    """Numbers in the prose are those of the code."""
    from scoring_model.service.http.bodies import DEPTH
    from scoring_model.service.http.operation import KEY_LENGTH
    from scoring_model.service.http.settings import MAX_BODY

    text = re.sub(r"\s+", " ", DOCUMENT["info"]["description"])
    assert f"nested at most {DEPTH} deep and at most {MAX_BODY // 1024} KiB long" in text
    assert f"1 to {KEY_LENGTH} printable ASCII characters" in text
