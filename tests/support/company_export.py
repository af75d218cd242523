"""A CSV file as a company exports it: semicolons, cp1252, mixed dates, words for gaps, a column that leaks."""

import csv
import random
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow.parquet as pq

from scoring_model import synthetic

RECORDS = 6_000
_BERLIN = ZoneInfo("Europe/Berlin")
_TIMES = ("%d.%m.%Y %H:%M:%S", "%Y-%m-%d %H:%M:%S", "%d.%m.%Y %H:%M")
_GAPS = ("NULL", "", "N/A")


def write_export(path: Path, *, seed: int = 3) -> None:
    """Write a year of invented applications, rings among them, as the export of a company.

    One row in 500 is torn in two.
    """
    source = path.with_suffix(".parquet")
    synthetic.write(source, records=RECORDS, seed=seed, months=12, truth=True)
    draw = random.Random(seed)
    with path.open("w", encoding="cp1252", errors="replace", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        for place, row in enumerate(pq.read_table(source).to_pylist()):
            cells = _cells(row, draw)
            if place == 0:
                writer.writerow(cells)
            writer.writerow(cells.values())
            if place % 500 == 99:
                file.write("Fortsetzung;\r\n")


def _cells(row: dict[str, object], draw: random.Random) -> dict[str, str]:
    time = row["eventTime"]
    assert isinstance(time, datetime)
    born = None if row["dob"] is None else datetime.fromisoformat(str(row["dob"])).strftime("%d/%m/%Y")
    fraud = row["truth.kind"] != "genuine"
    known = draw.random() < 0.9
    age, seconds = row["signals.emailAgeDays"], row["signals.formSeconds"]
    texts = {
        "Vorgang": row["recordId"],
        "Zeitpunkt": time.astimezone(_BERLIN).strftime(draw.choice(_TIMES)),
        "Vorname": row["firstName"],
        "Nachname": row["lastName"],
        "Geburtsdatum": born,
        "Straße": row["address.line1"],
        "PLZ": row["address.postalCode"],
        "Ort": row["address.city"],
        "Land": {"DE": "Germany", "FR": "fra", "GB": "gb"}.get(
            str(row["address.country"]), row["address.country"]
        ),
        "Gerät-Nr.": row["signals.deviceId"],
        "emailDomain": row["signals.emailDomain"],
        "Mail-Alter": None if age is None else f"{age:.1f}".replace(".", ","),
        "Formularzeit": None if seconds is None else f"{seconds:.1f}".replace(".", ","),
        "VPN": None if row["signals.vpn"] is None else str(row["signals.vpn"]).lower(),
        "IP-Land": row["signals.ipCountry"],
        "Kanal": row["signals.channel"],
        "Geschlecht": row["signals.sex"],
        "Mandant": "001",
        "Sperrgrund": draw.choice(["Rückläufer", "Anzeige"]) if fraud else None,
        "Betrug": ("ja" if fraud else "nein") if known else "offen",
    }
    return {name: draw.choice(_GAPS) if text is None else str(text) for name, text in texts.items()}
