"""The contract's sections Identity, Verification and Webhooks: representations."""

from fake_service import HOOK, NOW, PERSON, SECRET, Client
from scoring_model.contract.fields import REQUIRED_FIELDS, field_pointer
from scoring_model.contract.identity import IdentityInput
from scoring_model.contract.texts import from_text
from scoring_model.records import rfc3339
from scoring_model.service.identities.assessment import TOO_YOUNG
from scoring_model.service.identities.persons import StoredIdentity, shown
from stored_rows import identity_row

TIME = rfc3339(NOW)


def test_identity_is_shown_with_every_field() -> None:
    """Creation answers 201 with the identity and its `Location`; GET returns the same."""
    client = Client()
    answer = client.ask("POST", "/scoring/v1/identities", json={**PERSON, "citizenship": "gb"})
    body = answer.json()
    assert answer.status_code == 201
    assert answer.headers["location"] == f"/scoring/v1/identities/{body['id']}"
    parts = dict.fromkeys(("line1", "line2", "city", "region", "postalCode", "country"))
    assert body == {
        **dict.fromkeys(str(field.alias) for field in IdentityInput.model_fields.values()),
        **PERSON,
        "id": body["id"],
        "address": {**parts, "line1": "12 Example Street", "country": "GB"},
        "validated": True,
        "status": "VALIDATED",
        "missingFields": [],
        "validationErrors": [],
        "createdAt": TIME,
        "updatedAt": TIME,
    }
    assert client.ask("GET", answer.headers["location"]).json() == body


def test_identity_of_nothing_is_all_null() -> None:
    """Without fields, everything is null and the status INCOMPLETE; null equals missing."""
    client = Client()
    for sent in ({}, dict.fromkeys(PERSON), {"address": {"city": None}}):
        body = client.ask("POST", "/scoring/v1/identities", json=sent).json()
        shown = {name: body[name] for name in (*PERSON, "externalId")}
        assert shown == dict.fromkeys(shown)
        assert (body["status"], body["validated"]) == ("INCOMPLETE", False)
        assert body["missingFields"] == [field_pointer(name) for name in REQUIRED_FIELDS]
        answer = client.ask("POST", "/scoring/v1/verifications", json={"identityId": body["id"]})
        problem = answer.json()
        assert (answer.status_code, problem["code"]) == (409, "identity_not_validated")
        assert problem["missingFields"] == body["missingFields"]


def test_identity_that_is_implausible() -> None:
    """`validationErrors` lists pointers and codes."""
    row = identity_row(status="INVALID", created_at=0, updated_at=1)
    body = shown(row, StoredIdentity({"dob": "2020-01-01"}, (TOO_YOUNG,))).model_dump(mode="json")
    assert body["validationErrors"] == [{"pointer": "/dob", "code": "too_young"}]
    assert body["validated"] is False
    assert (body["createdAt"], body["updatedAt"]) == (rfc3339(0), rfc3339(1))


def test_identity_that_is_erased() -> None:
    """DELETE answers 200 with the redacted identity, also when repeated."""
    client = Client()
    path = f"/scoring/v1/identities/{client.new_identity()['id']}"
    first, second = client.ask("DELETE", path), client.ask("DELETE", path)
    assert first.status_code == second.status_code == 200
    assert first.json() == second.json() == client.ask("GET", path).json()
    assert {first.json()[name] for name in PERSON if name != "imageUrls"} == {None}
    assert (first.json()["status"], first.json()["validated"]) == ("REDACTED", False)


def test_verification_is_shown_with_every_field() -> None:
    """Creation answers 201 with the verdict and its `Location`; GET returns the same."""
    client = Client()
    identity = client.new_identity()["id"]
    sent = {"identityId": identity.upper(), "subjectId": "s"}
    answer = client.ask("POST", "/scoring/v1/verifications", json=sent)
    body = answer.json()
    assert answer.status_code == 201
    assert answer.headers["location"] == f"/scoring/v1/verifications/{body['id']}"
    assert "retry-after" not in answer.headers
    assert body == {
        "id": body["id"],
        "identityId": identity,
        "subjectId": "s",
        "status": "COMPLETED",
        "scoringOutcome": "STEPPED_UP",
        "scoringScore": 531,
        "reasonCodes": [{"code": "ADDRESS_FORM", "description": "The address has an unusual form."}],
        "modelVersion": "m1",
        "policyVersion": "p1",
        "previousVerificationId": None,
        "createdAt": TIME,
        "completedAt": rfc3339(NOW + 1),
    }
    assert client.ask("GET", answer.headers["location"]).json() == body


def test_verification_that_is_pending() -> None:
    """202 has no outcome, no score and no reasons, but `Location` and `Retry-After`."""
    client = Client()
    client.service.pending = True
    answer = client.ask("POST", "/scoring/v1/verifications", json={"signals": {"n": 2**60}})
    body = answer.json()
    assert (answer.status_code, answer.headers["retry-after"]) == (202, "1")
    assert answer.headers["location"].endswith(body["id"])
    absent = ("scoringOutcome", "scoringScore", "modelVersion", "policyVersion", "completedAt")
    assert [body[name] for name in absent] == [None] * 5
    assert body["reasonCodes"] == []


def test_verification_whose_signals_are_erased() -> None:
    """DELETE of the signals answers 200 with the verification, without its subject."""
    client = Client()
    path = f"/scoring/v1/verifications/{client.new_verification()['id']}"
    answer = client.ask("DELETE", path + "/signals")
    assert answer.status_code == 200
    assert answer.json() == {**client.ask("GET", path).json(), "subjectId": None}
    assert answer.json()["scoringScore"] == 531


def test_webhook_is_shown_with_every_field() -> None:
    """All operations answer 200; only creation and rotation show the secret."""
    client = Client()
    answer = client.ask("POST", "/scoring/v1/webhooks", json={**HOOK, "description": "Büro"})
    body = answer.json()
    assert answer.status_code == 200
    assert "location" not in answer.headers
    assert body == {
        **HOOK,
        "id": body["id"],
        "eventTypes": ["*"],
        "description": "Büro",
        "secret": SECRET,
        "disabledReason": None,
        "createdAt": TIME,
        "updatedAt": TIME,
    }
    path = f"/scoring/v1/webhooks/{body['id']}"
    hidden = {**body, "secret": None}
    assert client.ask("GET", path).json() == hidden
    assert client.ask("GET", "/scoring/v1/webhooks").json() == [hidden]
    assert client.ask("POST", path + "/test").json() == hidden
    assert client.ask("POST", path + "/rotate-secret").json() == body
    changed = client.ask("PUT", path, json={**HOOK, "active": False})
    assert (changed.status_code, changed.json()) == (200, {**hidden, "active": False})
    deleted = client.ask("DELETE", path)
    assert (deleted.status_code, deleted.json()) == (200, {**hidden, "active": False})
    assert client.ask("GET", path).status_code == 404


def test_ids_are_written_as_uuids() -> None:
    """A returned id is found, also in upper case."""
    client = Client()
    identity = client.new_identity()["id"]
    assert (from_text(identity) or b"")[6] >> 4 == 7
    assert client.ask("GET", f"/scoring/v1/identities/{identity.upper()}").status_code == 200
