"""The bodies and resources of the contract as JSON Schema (draft 2020-12), for the API reference."""

import re
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue, models_json_schema
from pydantic_core import core_schema

from scoring_model.contract.body import Nothing
from scoring_model.contract.event import Event
from scoring_model.contract.health import Health, Readiness
from scoring_model.contract.identity import Identity, IdentityInput
from scoring_model.contract.problem import Problem, ValidationProblem
from scoring_model.contract.verification import Verification, VerificationInput
from scoring_model.contract.webhook import Webhook, WebhookInput, WebhookUpdate

Schema = dict[str, Any]
_PLACE: Final = "#/components/schemas/{model}"


_SENT: Final = (IdentityInput, VerificationInput, WebhookInput, WebhookUpdate, Nothing)
_SHOWN: Final = (Identity, Verification, Webhook, Event, Health, Readiness, Problem, ValidationProblem)


class _Generator(GenerateJsonSchema):
    """Leaves out what says nothing: titles that repeat names, and that what may be null is null by default."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Set none."""
        return False

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """Write a default that is not null."""
        found = super().default_schema(schema)
        if found.get("default", "") in (None, (), []):
            del found["default"]
        return found

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        """Write null as one more type or value, which generators of clients read best."""
        inner = self.generate_inner(schema["schema"])
        if isinstance(inner.get("type"), str):
            return {**inner, "type": [inner["type"], "null"]}
        if "enum" in inner:
            return {**inner, "enum": [*inner["enum"], None]}
        return super().nullable_schema(schema)


def reference(name: str) -> Schema:
    """Refer to one of `schemas`."""
    return {"$ref": _PLACE.format(model=name)}


def example(kind: type[BaseModel]) -> Schema:
    """Give the first example of a model."""
    found: Any = kind.model_config["json_schema_extra"]
    return dict(found["examples"][0])


def schemas() -> dict[str, Schema]:
    """Describe everything that is sent or shown, by name."""
    models: list[tuple[type[BaseModel], JsonSchemaMode]] = [(kind, "validation") for kind in _SENT]
    models += [(kind, "serialization") for kind in _SHOWN]
    found: dict[str, Schema]
    found = models_json_schema(models, ref_template=_PLACE, schema_generator=_Generator)[1]["$defs"]
    for schema in found.values():
        schema.pop("title", None)
        if "description" in schema:
            # The sections of a docstring are for readers of the code.
            words = re.split(r"\n\n(?:Attributes|Parameters)\n", schema["description"])[0]
            schema["description"] = " ".join(words.split())
    return found
