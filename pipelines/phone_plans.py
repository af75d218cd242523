"""Phone plans: write the numbering plans of the package from the metadata of the library `phonenumbers`.

New plans change features and link keys: read `scoring_model.records.phone` before you run this.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import phonenumbers

from scoring_model.records.phone import KINDS, PLANS

PATH: Final = Path(__file__).parents[1] / "src" / "scoring_model" / "records" / PLANS
_NO_COUNTRY: Final = "001"


def plans() -> dict[str, dict[str, Any]]:
    """Return the plans by country, or by calling code where numbers belong to no country."""
    found = {}
    for code, countries in phonenumbers.COUNTRY_CODE_TO_REGION_CODE.items():
        for country in countries:
            if country == _NO_COUNTRY:
                found[str(code)] = _plan(phonenumbers.PhoneMetadata.metadata_for_nongeo_region(code))
            else:
                found[country] = _plan(phonenumbers.PhoneMetadata.metadata_for_region(country))
    return found


def _plan(metadata: phonenumbers.PhoneMetadata | None) -> dict[str, Any]:
    if metadata is None or metadata.general_desc is None:
        raise ValueError("the library has no plan of a country that it lists")
    kinds = {kind: getattr(metadata, kind, None) for kind in KINDS}
    patterns = {kind: desc.national_number_pattern for kind, desc in kinds.items() if desc is not None}
    parts = {
        "code": metadata.country_code,
        "abroad": metadata.international_prefix,
        "trunk": metadata.national_prefix_for_parsing,
        "becomes": metadata.national_prefix_transform_rule,
        "lead": metadata.leading_digits,
        "lengths": metadata.general_desc.possible_length,
        "numbers": metadata.general_desc.national_number_pattern,
        "kinds": {kind: pattern for kind, pattern in patterns.items() if pattern},
    }
    return {name: part for name, part in parts.items() if part}


def plans_text(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the file, with one line for each plan."""
    source = {
        "source": f"libphonenumber metadata in phonenumbers {phonenumbers.__version__}",
        "license": "Apache-2.0",
    }
    head = json.dumps(source)[1:-1]
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(plan)}" for name, plan in found.items())
    return f'{{{head}, "plans": {{\n{lines}\n}}}}\n'


if __name__ == "__main__":
    PATH.write_text(plans_text(plans()), encoding="utf-8")
