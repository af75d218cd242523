"""Invented records as a German company keeps them: own columns, words, dates and numbers; no citizenship, no photos."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

GAP: Final = "k.A."
ZONE: Final = "Europe/Berlin"
DOCUMENTS: Final = {
    "Reisepass": "PASSPORT",
    "Personalausweis": "NATIONAL_ID",
    "Führerschein": "DRIVERS_LICENSE",
    "Aufenthaltstitel": "RESIDENCE_PERMIT",
}
_MOMENT: Final = "%d.%m.%Y %H:%M:%S.%f"
_ZONE: Final = ZoneInfo(ZONE)
_INSTANT: Final = pa.timestamp("us", "UTC")


def write_german(path: Path, table: pa.Table, *, until: int) -> None:
    """Write records as CSV with semicolons, with the labels known before an instant, microseconds."""
    late = pc.greater_equal(table.column("labelKnownAt"), pa.scalar(until, _INSTANT))
    for name in ("label", "labelKnownAt"):
        kept = pc.if_else(pc.fill_null(late, False), None, table.column(name))
        table = table.set_column(table.column_names.index(name), name, kept)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer: csv.DictWriter[str] | None = None
        for row in table.to_pylist():
            cells = {name: GAP if text is None else text for name, text in _cells(row).items()}
            if writer is None:
                writer = csv.DictWriter(file, list(cells), delimiter=";")
                writer.writeheader()
            writer.writerow(cells)


def _cells(row: Mapping[str, Any]) -> dict[str, str | None]:
    known, age = row["labelKnownAt"], row["signals.emailAgeDays"]
    words = {value: word for word, value in DOCUMENTS.items()}
    return {
        "Vorgang": row["recordId"],
        "Eingang": row["eventTime"].astimezone(_ZONE).strftime(_MOMENT),
        "Vorname": row["firstName"],
        "Nachname": row["lastName"],
        "Geburtsdatum": None if row["dob"] is None else ".".join(reversed(str(row["dob"]).split("-"))),
        "Ausweis": words.get(row["documentType"]),
        "Straße": row["address.line1"],
        "PLZ": row["address.postalCode"],
        "Ort": row["address.city"],
        "Land": row["address.country"],
        "Gerät": row["signals.deviceId"],
        "Mailalter": None if age is None else str(age).replace(".", ","),
        "VPN": {True: "J", False: "N", None: None}[row["signals.vpn"]],
        "Kanal": row["signals.channel"],
        "Betrug": {"fraud": "ja", "genuine": "nein", None: None}[row["label"]],
        "bekannt am": None if known is None else known.astimezone(_ZONE).strftime(_MOMENT),
    }
