"""Exports as systems write them: titles, names that repeat, code pages, labels that are there only for frauds."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from scoring_model.batch.scan import read_sheets, scan_file
from scoring_model.configuration import load_configuration
from scoring_model.configuration.profiles import Kind
from scoring_model.configuration.proposal import Proposal, propose
from scoring_model.configuration.proposal.text import proposal_text
from scoring_model.records.reading import read_part, read_records
from scoring_model.records.stored import StoredFile
from scoring_model.records.text_files import distinct_names, guess_encoding

N = 300
FRAUD = np.arange(N) % 10 == 3
EVENTS = pd.date_range("2024-01-01", periods=N, freq="D") + pd.Timedelta(hours=9)
DEVICES = [f"d{place % 40:03}" for place in range(N)]


def table(**columns: Sequence[object]) -> pd.DataFrame:
    """Events with a device, beside other columns."""
    return pd.DataFrame({"created_at": EVENTS.strftime("%Y-%m-%d %H:%M:%S"), "device": DEVICES} | columns)


def words(fraud: str, other: str) -> list[str]:
    """A word for each record."""
    return [fraud if is_fraud else other for is_fraud in FRAUD]


def proposed(path: Path) -> Proposal:
    """Propose a configuration, load it, and read the file with it."""
    found = propose(path)
    config = path.with_suffix(".yaml")
    config.write_text(proposal_text(found, name="use", source=path.name), encoding="utf-8")
    schema = load_configuration(config).schema
    whole = read_records(path, schema, labelled=True)
    assert int((whole.table.labels == 1).sum()) == int(FRAUD.sum())
    scanned = scan_file(StoredFile(str(path)), schema, part_rows=70)
    parts = [
        read_part(sheet, schema, dates=scanned.dates, has_ids=scanned.id_column is not None)
        for unit in scanned.units
        for sheet in read_sheets(scanned, unit, schema, part_rows=70)
    ]
    np.testing.assert_array_equal(
        np.concatenate([part.table.event_times for part in parts]), whole.table.event_times
    )
    return found


def written(path: Path, frame: pd.DataFrame, **options: object) -> Proposal:
    """Propose a configuration for a frame as CSV."""
    frame.to_csv(path, index=False, **options)  # type: ignore[call-overload]
    return proposed(path)


def propose_frame(folder: Path, frame: pd.DataFrame) -> Proposal:
    """Propose a configuration for a frame as CSV, which need not hold labels."""
    path = folder / "b.csv"
    frame.to_csv(path, index=False)
    return propose(path)


def test_titles_blank_rows_and_names_that_repeat_are_read(tmp_path: Path) -> None:
    """Whole and in parts; a mapping names which of the columns it means, and what was done is said."""
    lines = ["Report of payments", "Made:,2024-12-31", "", "created_at,device,state,state,fraud,,"]
    lines += [f"{time:%Y-%m-%d %H:%M:%S},{device},open,\"a\nb\",{word},," for time, device, word in zip(EVENTS, DEVICES, words("yes", "no"), strict=True)]  # fmt: skip # noqa: E501
    path = tmp_path / "report.csv"
    path.write_text("\n".join([*lines, ",,,,,,", ",,,,,,"]) + "\n")
    found = proposed(path)
    assert "the header is row 3: 2 rows before it are skipped" in found.guesses
    assert {"state (1)", "state (2)", "column 6", "column 7"} <= found.left_out.keys()
    assert (found.fields["label"], found.fields["eventTime"]) == ("fraud", "created_at")


def test_headers_of_joined_months_are_no_rows(tmp_path: Path) -> None:
    """Files with a header each that somebody joined, a mark of Unicode before each, are proposed as one file."""
    whole, joined = tmp_path / "a.csv", tmp_path / "b.csv"
    table(fraud=words("yes", "no"), state=words("open", "closed")).to_csv(whole, index=False)
    header, *rows = whole.read_text().splitlines(keepends=True)
    months = [header, *rows[:100], f"\ufeff{header}", *rows[100:300], header, *rows[300:]]
    joined.write_text("\ufeff" + "".join(months), encoding="utf-8")
    found, expected = proposed(joined), proposed(whole)
    assert "rows that repeat the header are left out and not numbered: 2" in found.guesses
    assert found.decisions == expected.decisions
    assert (found.fields, found.targets().tolist()) == (expected.fields, expected.targets().tolist())
    read = read_records(joined, load_configuration(tmp_path / "b.yaml").schema, labelled=True)
    assert (read.rows, read.violations) == (len(rows), ())


@pytest.mark.parametrize("padded", [False, True])
def test_what_tools_of_databases_print_is_read(tmp_path: Path, *, padded: bool) -> None:
    """A line below the header, a count below the last row, and blanks that fill the columns are no values."""
    frame = table(fraud=words("yes", "no"), state=words("open", ""), review=words("", "ended"))
    whole, printed = tmp_path / "a.csv", tmp_path / "b.csv"
    frame.to_csv(whole, index=False)
    rows = [[*frame.columns], *frame.astype(str).to_numpy().tolist()]
    wide = [max(map(len, cells)) if padded else 0 for cells in zip(*rows, strict=True)]
    filled = [[cell.ljust(width) for cell, width in zip(row, wide, strict=True)] for row in rows]
    filled[1:1] = [["-" * (width or 4) for width in wide]]
    lines = [*map(",".join, filled), "", f"({len(frame)} rows affected)"]
    printed.write_text("\r\n".join(lines) + "\r\n")
    found, expected = proposed(printed), proposed(whole)
    assert ("blanks around cells fill their columns, and are left out" in found.guesses) == padded
    assert found.decisions == expected.decisions
    assert found.fields == expected.fields
    assert found.targets()[: len(frame)].tolist() == expected.targets().tolist()
    schema = load_configuration(tmp_path / "b.yaml").schema
    read, plain = (read_records(path, schema, labelled=True) for path in (printed, whole))
    assert [found.code for _, found in read.violations] == ["malformed_row"]
    for name, column in plain.table.columns.items():
        other = read.table.columns[name]
        assert (other.values, other.codes.tolist()) == (column.values, column.codes.tolist())


def test_names_that_do_not_repeat_stay(tmp_path: Path) -> None:
    """One column without a name keeps it, and a file whose first row is full has no titles."""
    assert distinct_names(["", "a", "b"]) == ["", "a", "b"]
    found = written(tmp_path / "a.csv", table(fraud=words("yes", "no")))
    assert not any("header" in guess for guess in found.guesses)


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1250", "Příjmení Šťastný Žák řeka město"),
        ("cp1250", "Győr Erdős Pető Szűcs Zsófia Ágnes"),
        ("cp1250", "Łódź Wrocław książka"),
        ("cp1252", "Conceição opções limões João São"),
        ("cp1252", "Ærø Søren Blåbær fødselsdato"),
        ("cp1252", "été août où naïve cœur Müller Straße città perché"),
        ("cp1253", "Παπαδόπουλος Γεωργίου Θεσσαλονίκη"),
        ("cp1251", "Москва Иванов Сергей улица Ленина"),
        ("cp1253", "ΟΝΟΜΑ ΕΠΩΝΥΜΟ ΝΑΙ ΟΧΙ"),
        ("cp1254", "Sipariş Tarihi, İstanbul, kırmızı çiçek, Ağrı"),
        ("cp1255", "תאריך פרסום, דירה ₪1, בית ₪2, חדר ₪3"),
        ("cp1256", "رقم الطلب, الرياض, المبلغ"),
        ("cp1257", "Paraiškos numeris, Sukčiavimo požymis, Gatvė, Šiauliai, Pajamos per mėn."),
        ("cp1257", "Pieteikuma numurs, Krāpšana, Bērziņš Kārlis, Jūrmala, dzimšanas gads"),
        ("cp1250", "Đorđe Đurić, Šibenik, Požega, rođen"),
        ("cp932", "受付番号 申込日時 カテゴリ ﾌﾘｶﾞﾅ"),
        ("gb18030", "订单号 下单时间 是否欺诈"),
        ("cp949", "주문번호 금액 서울"),
        ("cp1250", "Ondřej ze Dvora, Dvůr Králové, město Brno"),
        ("cp1252", "più perché così Où été à Forlì"),
        ("cp1252", "Þór Guðmundsdóttir Ísafjörður á ð ý"),
    ],
)
def test_code_pages_are_told_by_their_letters(tmp_path: Path, encoding: str, text: str) -> None:
    """Whatever stands around them."""
    path = tmp_path / "a.csv"
    path.write_bytes(f"a,b\n{text},1\n".encode(encoding))
    assert guess_encoding(path) == encoding


def test_a_chargeback_that_only_frauds_have_is_the_label(tmp_path: Path) -> None:
    """An amount; its date is when it became known, and what copies it is no signal, though no row says genuine."""
    later = (EVENTS + pd.Timedelta(days=5)).strftime("%m/%d/%Y")
    frame = table(
        ChargebackAmt=words("$12.50", ""),
        ChargebackDate=[*np.where(FRAUD, later, "")],
        refunded=words("12.50", "0.00"),
        items=[place % 7 for place in range(N)],
    )
    found = written(tmp_path / "a.csv", frame)
    assert (found.fields["label"], found.words["fraud"]) == ("ChargebackAmt", ["*"])
    assert found.fields["labelKnownAt"] == "ChargebackDate"
    assert [signal.column for signal in found.signals] == ["device", "items"]
    assert "a row with a value is fraud" in " ".join(found.decisions)


def test_a_date_alone_is_the_label_and_when_it_became_known(tmp_path: Path) -> None:
    """One column for two fields, which nothing else may do."""
    later = (EVENTS + pd.Timedelta(days=5)).strftime("%Y-%m-%d")
    found = written(tmp_path / "a.csv", table(chargeback_date=[*np.where(FRAUD, later, "")]))
    assert found.fields["label"] == found.fields["labelKnownAt"] == "chargeback_date"


def test_an_amount_of_zero_is_genuine(tmp_path: Path) -> None:
    """Where every row has the amount."""
    found = written(tmp_path / "a.csv", table(fraud_amount=words("99.10", "0.00")))
    assert (found.words["fraud"], found.words["genuine"]) == (["*"], ["0"])


def test_labels_without_a_time_column_do_not_stop_the_proposal(tmp_path: Path) -> None:
    """A time named as that of labels is none where no column holds labels."""
    frame = table(known_at=words("2025-01-01", ""))
    path = tmp_path / "a.csv"
    frame.to_csv(path, index=False)
    assert "labelKnownAt" not in propose(path).fields


@pytest.mark.parametrize(
    ("header", "cells", "format_"),
    [
        ("created", [f"{time.timestamp():.0f}" for time in EVENTS], ("unix",)),
        ("event_ts", [f"{time.timestamp():.0f}000000" for time in EVENTS], ("unix_us",)),
        ("Datum", [f"{45_300 + place}.375" for place in range(N)], ("excel",)),
        ("Időpont", [f"{time:%Y.%m.%d. %H:%M}" for time in EVENTS], ("%Y.%m.%d. %H:%M",)),
        ("fecha", [f"{time.day} de marzo de {time.year}" for time in EVENTS], ("%d de %b de %Y",)),
        (
            "Дата заявки",
            [f"{min(time.day, 28)} Июня {time.year} г. {time:%H:%M}" for time in EVENTS],
            ("%d %b %Y г. %H:%M",),
        ),
        (
            "Tilausaika",
            [f"{min(time.day, 28)}.6.{time.year} klo {time:%H.%M}" for time in EVENTS],
            ("%d.%m.%Y klo %H.%M",),
        ),
        ("Datum sklapanja", [f"{time:%d.%m.%Y. %H:%M}" for time in EVENTS], ("%d.%m.%Y. %H:%M",)),
        (
            "Data comenzii",
            [f"{min(time.day, 28)} iun. {time.year}, {time:%H:%M}" for time in EVENTS],
            ("%d %b %Y, %H:%M",),
        ),
        (
            "申込日時",
            [f"{time.year}年{time.month}月{time.day}日 {time:%H:%M:%S}" for time in EVENTS],
            ("%Y年%m月%d日 %H:%M:%S",),
        ),
        (
            "发布时间",
            [f"{time.year}/{time.month}/{time.day} {time.hour}:00" for time in EVENTS],
            ("%Y/%m/%d %H:%M",),
        ),
        (
            "Ημερομηνία",
            [f"{time.day}/{time.month}/{time.year} 9:00 πμ" for time in EVENTS],
            ("%d/%m/%Y %I:%M %p",),
        ),
        ("sent", [f"{time:%a, %d %b %Y %H:%M:%S} GMT" for time in EVENTS], ("%a, %d %b %Y %H:%M:%S %z",)),
        (
            "CREATED",
            [f"{time:%d-%b-%y %I.%M.%S.000000 %p}".upper() for time in EVENTS],
            ("%d-%b-%y %I.%M.%S.%f %p",),
        ),
        ("trx_dttm", [f"{time:%Y%m%d%H%M%S}" for time in EVENTS], ("%Y%m%d%H%M%S",)),
        ("AANVR_DT", [f"{time:%Y-%m-%d-%H.%M.%S.000000}" for time in EVENTS], ("%Y-%m-%d-%H.%M.%S.%f",)),
        ("evento.inserido", [f"{time.timestamp():.0f}000" for time in EVENTS], ("unix_ms",)),
        ("sent", [f"{time:%a %b %d %H:%M:%S +0000 %Y}" for time in EVENTS], ("%a %b %d %H:%M:%S %z %Y",)),
        ("Paid at", [f"{time:%Y-%m-%d %H:%M:%S} -0500" for time in EVENTS], ()),
        ("ts", [f"{time:%Y-%m-%d %H:%M:%S} UTC" for time in EVENTS], ()),
        ("ts", [f"{time:%Y-%m-%d %H:%M:%S.000001}+00" for time in EVENTS], ()),
    ],
)
def test_times_of_systems_are_read(
    tmp_path: Path, header: str, cells: list[str], format_: tuple[str, ...]
) -> None:
    """Counts since 1970, days of spreadsheets, blanks before the zone, months in another language."""
    frame = table(fraud=words("yes", "no")).drop(columns="created_at").assign(**{header: cells})
    found = written(tmp_path / "a.csv", frame)
    assert (found.fields["eventTime"], found.dates) == (header, format_)
    is_zoned = "unix" in str(format_) or "%z" in str(format_) or cells[0].endswith((" -0500", " UTC", "+00"))
    assert ("has no time zone" in " ".join(found.decisions)) is not is_zoned


@pytest.mark.parametrize(
    ("header", "cells", "kind"),
    [
        ("Valor", [f"R$ 1.{place:03},50" for place in range(N)], Kind.NUMBER),
        ("Částka", [f"1 {place:03},50 Kč" for place in range(N)], Kind.NUMBER),
        ("Дохід", [f"1 {place:03},50 грн" for place in range(N)], Kind.NUMBER),
        (
            "Balance",
            [f"({place + 1},234.50)" if place % 3 else f"{place + 1},234.50" for place in range(N)],
            Kind.NUMBER,
        ),
        ("Rate", [f"{place / 10}%" for place in range(N)], Kind.NUMBER),
        ("Share", ["5%", "0.05"] * (N // 2), Kind.CATEGORY),
        ("CLIENT", [f"10.0.{place % 40}.7:{40_000 + place}" for place in range(N)], Kind.IP),
        ("端末ID", [f"a{place % 50}x" for place in range(N)], Kind.IDENTIFIER),
        ("branch", [f"{place % 20:05}" for place in range(N)], Kind.CATEGORY),
        ("CreatedById", [f"0053000000{place % 2:04}AAAQ" for place in range(N)], Kind.CATEGORY),
        ("Tổng tiền", [f"1.{place:03}.000 ₫" for place in range(N)], Kind.NUMBER),
        ("DNI", [f"20.{place % 40:03}.123" for place in range(N)], Kind.IDENTIFIER),
        ("MCC_CD", [str(5_400 + place % 7) for place in range(N)], Kind.CATEGORY),
        ("PHN_NBR", [str(2_025_550_100 + place) for place in range(N)], Kind.PHONE),
        ("Số điện thoại", [f"09{place:08}" for place in range(N)], Kind.PHONE),
        ("TELF1", [f"0561/{2_345_678 + place}" for place in range(N)], Kind.PHONE),
        ("party_b_till", [str(10_000 + place % 60 * 7) for place in range(N)], Kind.IDENTIFIER),
        ("pays carte", [chr(65 + place % 13) * 2 for place in range(N)], Kind.CATEGORY),
        ("note client", [str(place % 20) for place in range(N)], Kind.NUMBER),
        ("sender account", [str(1_000 + place % 60 * 7) for place in range(N)], Kind.IDENTIFIER),
        ("compte", [str(place % 60) for place in range(N)], Kind.IDENTIFIER),
        ("ip_int", [str(3_000_000_000 + place % 50) for place in range(N)], Kind.IDENTIFIER),
        (
            "plastic",
            [str((5_018, 30_304, 4_992_346)[place % 3] * 10**9 + place % 50) for place in range(N)],
            Kind.IDENTIFIER,
        ),
    ],
)
def test_kinds_of_columns(tmp_path: Path, header: str, cells: list[str], kind: Kind) -> None:
    """Currencies, codes with zeros before them, few codes, addresses as numbers."""
    found = written(tmp_path / "a.csv", table(fraud=words("yes", "no"), **{header: cells}))
    assert found.profiles[header].kind is kind


@pytest.mark.parametrize(("copies", "accepted"), [(3, True), (9, False)])
def test_ids_that_repeat_are_counted(tmp_path: Path, copies: int, accepted: bool) -> None:
    """Their rows are refused; more than a hundredth of them would refuse the file."""
    frame = table(fraud=words("yes", "no"), **{"ID Richiesta": [f"R{place:05}" for place in range(N)]})
    pd.concat([frame, frame[:copies]]).to_csv(tmp_path / "a.csv", index=False)
    found = propose(tmp_path / "a.csv")
    assert found.fields["recordId"] == "ID Richiesta"
    (said,) = (line for line in found.decisions if f"ID Richiesta repeats in {copies} rows" in line)
    assert ("larger records.max_bad_share" not in said) == accepted


@pytest.mark.parametrize(
    ("header", "kind"), [("Categoria merceologica", Kind.CATEGORY), ("Articolo", Kind.IDENTIFIER)]
)
def test_a_header_of_categories_has_any_number_of_them(tmp_path: Path, header: str, kind: Kind) -> None:
    """Six hundred words that recur connect records as merchants do, unless their header says category."""
    frame = pd.concat([table(fraud=words("yes", "no"))] * 12, ignore_index=True)
    frame[header] = [f"C{place % 600}" for place in range(len(frame))]
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert propose(tmp_path / "a.csv").profiles[header].kind is kind


@pytest.mark.parametrize(
    ("header", "cells", "decimal"),
    [
        ("Income", [f"6,{50 + place % 50},000.00" for place in range(N)], "."),
        (
            "Monto",
            [f"$ {place % 90 + 1}.500" if place % 3 else f"$ {place + 500}" for place in range(N)],
            ",",
        ),
        (
            "Capital",
            [f"1.{place + 100}.500" if place % 3 else f"{place + 100}.000" for place in range(N)],
            ",",
        ),
        ("Ratio", [f"{place % 9 + 1}.125" for place in range(N)], None),
    ],
)
def test_groups_of_digits_name_the_decimal_mark(
    tmp_path: Path, header: str, cells: list[str], decimal: str | None
) -> None:
    """Lakhs, and points before three digits beside a currency or twice in a number; three digits alone do not."""
    found = written(tmp_path / "a.csv", table(fraud=words("yes", "no"), **{header: cells}))
    assert (found.decimal, found.profiles[header].kind) == (decimal, Kind.NUMBER)
    both = table(fraud=words("yes", "no"), **{header: cells, "z": [f"{place}.25" for place in range(N)]})
    assert propose_frame(tmp_path, both).decimal == ("." if decimal == "." else None)


def test_numbers_that_a_spreadsheet_rounded_are_left_out(tmp_path: Path) -> None:
    """4,91E+12 is the same for many phones."""
    cells = [f"4.9{place:03}E+12" for place in range(N)]
    found = written(tmp_path / "a.csv", table(fraud=words("yes", "no"), Telefon=cells))
    assert "a spreadsheet rounded its numbers" in found.left_out["Telefon"]


HEADERS = {
    "firstName": [
        "Nome do cliente",
        "FirstName__c",
        "Keresztnév",
        "Όνομα",
        "CUST_FIRST_NM",
        "Member First",
        "Tên",
        "CLMT_FRST_NM",
    ],
    "lastName": ["Efternavn", "Příjmení", "billing last name", "Pavardė", "Nom de naissance", "ap_paterno"],
    "address.line1": [
        "Ulica i nr",
        "Strasse/Nr.",
        "Адреса доставки",
        "ADDR_LN_1",
        "STRAS",
        "详细地址",
        "상세주소",
    ],
    "address.city": ["shipTo.city", "RES_CITY", "Município", "ADDR_CITY_NM", "Kota", "Thành phố"],
    "address.postalCode": [
        "MailingPostalCode",
        "PSČ",
        "Irányítószám",
        "ShipZip",
        "ADDR_ZIP_CD",
        "kode_pos",
        "Irsz.",
        "P/Code",
    ],
}


@pytest.mark.parametrize(
    ("field", "header"), [(field, header) for field, headers in HEADERS.items() for header in headers]
)
def test_headers_of_identities_may_say_whose_they_are(tmp_path: Path, field: str, header: str) -> None:
    """In any language of the synonyms, with the words of a customer or an order around them."""
    cells = [f"w{'abcdefg'[place % 7]}" for place in range(N)]
    found = written(tmp_path / "a.csv", table(fraud=words("ano", "ne"), **{header: cells}))
    assert found.fields[field] == header


def test_a_cut_header_counts_where_the_street_has_one_of_its_words(tmp_path: Path) -> None:
    """The words around a street are left out of the headers of other parts only where that helps."""
    codes = [10_000 + place % 50 for place in range(N)]
    streets = [f"Ilica {place}" for place in range(N)]
    frame = table(fraud=words("ano", "ne"), **{"Ulica i kućni broj": streets})
    found = written(tmp_path / "a.csv", frame.assign(**{"Pošt. broj": codes}))
    assert found.fields["address.postalCode"] == "Pošt. broj"


def test_streets_are_told_by_one_word_of_their_header_and_their_cells(tmp_path: Path) -> None:
    """Whatever else the header says; the kind of an address is no street."""
    streets = [f"Husova {place % 70}" for place in range(N)]
    kinds = [("home", "work")[place % 2] for place in range(N)]
    for header in ("Ulice a č.p.", "Dirección de entrega habitual"):
        found = written(
            tmp_path / "a.csv", table(fraud=words("yes", "no"), Address_kind=kinds, **{header: streets})
        )
        assert found.fields["address.line1"] == header


@pytest.mark.parametrize(("other", "name"), [("Vorname", "lastName"), ("Surname", "firstName")])
def test_a_column_of_names_beside_another_holds_what_is_not_in_it(
    tmp_path: Path, other: str, name: str
) -> None:
    """Name beside Vorname are last names; the whole name beside it is none."""
    first, last = ([f"{letter}{'abcdefg'[place % 7]}" for place in range(N)] for letter in "xy")
    whole = [f"{one} {two}" for one, two in zip(first, last, strict=True)]
    frame = table(fraud=words("yes", "no"), **{other: first, "Name": last})
    assert written(tmp_path / "a.csv", frame).fields[name] == "Name"
    assert name not in written(tmp_path / "a.csv", frame.assign(Name=whole)).fields


@pytest.mark.parametrize("name", ["row_hash", "blocked", "lost", "end_of_case"])
def test_what_most_frauds_alone_have_and_what_numbers_records_are_no_signals(
    tmp_path: Path, name: str
) -> None:
    """A block after a finding, though not all frauds are found; a loss, the end of a case, a digest of the row."""
    cells = {
        "row_hash": [f"{place * 7919:08x}" for place in range(N)],
        "lost": [f"{place % 7 + 1}.50" if fraud and place % 3 else "" for place, fraud in enumerate(FRAUD)],
        "end_of_case": [
            ("won", "lost", "open")[place % 3] if fraud and place % 3 else ""
            for place, fraud in enumerate(FRAUD)
        ],
        "blocked": ["yes" if fraud and place % 3 else "no" for place, fraud in enumerate(FRAUD)],
    }
    frame = table(fraud=words("yes", "no"), order_id=[f"R{place:05}" for place in range(N)])
    assert name in written(tmp_path / "a.csv", frame.assign(**{name: cells[name]})).left_out


def test_a_second_column_that_names_fraud_is_no_signal(tmp_path: Path) -> None:
    """It may follow from the label; what happened before the event is a signal."""
    other = ["yes" if place % 7 == 1 else "no" for place in range(N)]
    frame = table(is_fraud=words("yes", "no"), fraud_external=other, previous_fraud=other)
    found = written(tmp_path / "a.csv", frame)
    assert "its header names fraud" in found.left_out["fraud_external"]
    assert "previous_fraud" in {signal.column for signal in found.signals}


@pytest.mark.parametrize(
    ("header", "fraud", "other"),
    [
        ("Мошенничество", "Да", "Нет"),
        ("Результат перевірки", "шахрайство", "підтверджено"),
        ("Sahtecilik", "Evet", "Hayır"),
        ("Prijevara", "Da", "Ne"),
        ("判定", "不正", "正常"),
        ("是否欺诈", "是", "否"),
        ("احتيال", "نعم", "لا"),
        ("fraud_review.status", "CONFIRMED", "CLEARED"),
        ("is_fraud", "1.0", "0.0"),
        ("BETR_KZ", "J", "N"),
        ("penipuan", "ya", "tidak"),
        ("Trạng thái", "Gian lận", "Hoàn thành"),
        ("Sukčiavimas", "taip", "ne"),
        ("Krāpšana", "jā", "nē"),
        ("Pettus", "jah", "ei"),
        ("Financial Status", "charged_back", "paid"),
        ("review.verdict", "abusive", "benign"),
        ("Abklärung", "frode accertata", "nessuna frode"),
        ("사기판매 여부", "Y", "N"),
    ],
)
def test_labels_of_more_languages_are_found(tmp_path: Path, header: str, fraud: str, other: str) -> None:
    """By their words or by their header, in scripts without blanks too."""
    found = written(tmp_path / "a.csv", table(**{header: words(fraud, other)}))
    assert found.fields["label"] == header


def test_kinds_of_fraud_beside_the_word_itself_are_fraud(tmp_path: Path) -> None:
    """Usurped identities and stolen cards are no other ends of a case."""
    kinds = ["IMPAYE FRAUDULEUX", "USURPATION D'IDENTITE", "Stolen card"]
    cells = [
        kinds[place // 10 % 3] if fraud else ("FIN NORMALE", "EN COURS")[place % 2]
        for place, fraud in enumerate(FRAUD)
    ]
    found = written(tmp_path / "a.csv", table(MOTIF_CLOTURE=cells))
    assert sorted(found.words["fraud"]) == sorted(word.lower() for word in kinds)


def test_codes_that_alone_have_a_time_are_the_label(tmp_path: Path) -> None:
    """Whatever the codes are; the time says when they became known, and it is said."""
    days = np.where(FRAUD, (EVENTS + pd.Timedelta(days=4)).strftime("%Y%m%d"), "00000000")
    cells = [
        ("FR01", "ZX9")[place // 10 % 2] if fraud else ("", "KD02")[place % 2]
        for place, fraud in enumerate(FRAUD)
    ]
    found = written(tmp_path / "a.csv", table(SPERRGRUND=cells, SPERRTAG=[*days]))
    assert (found.fields["label"], sorted(found.words["fraud"])) == ("SPERRGRUND", ["fr01", "zx9"])
    assert found.fields["labelKnownAt"] == "SPERRTAG"
    assert "SPERRTAG has times for nearly all of these rows" in " ".join(found.decisions)
    found = propose_frame(tmp_path, table(SPERRGRUND=cells, closed_at=[*days]))
    assert "label" not in found.fields
    assert "Labels of another file must first be joined" in " ".join(found.decisions)


def test_a_count_of_creation_is_a_time_beside_that_of_a_change(tmp_path: Path) -> None:
    """The one was a number, so that the other was the event."""
    created = [int(time.timestamp()) * 1000 for time in EVENTS]
    frame = pd.DataFrame({"gmtCreate": created, "gmtModified": [time + 10**9 for time in created]})
    found = written(tmp_path / "a.csv", frame.assign(device=DEVICES, fraud=words("yes", "no")))
    assert found.fields["eventTime"] == "gmtCreate"


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_count_of_0_seconds_is_no_time(tmp_path: Path, ending: str) -> None:
    """Nobody was born in 1970 nor banned then: the codes that alone have another time are the label."""
    seconds = [int(time.timestamp()) for time in EVENTS]
    bans = [time + 86_400 * 5 if fraud else 0 for time, fraud in zip(seconds, FRAUD, strict=True)]
    states = [3 if fraud else place % 2 for place, fraud in enumerate(FRAUD)]
    frame = pd.DataFrame({"reg_ts": seconds, "device": DEVICES, "state": states, "ban_ts": bans})
    path = tmp_path / f"a.{ending}"
    if ending == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_json(path, orient="records", lines=True)
    found = proposed(path)
    assert {"eventTime": "reg_ts", "label": "state", "labelKnownAt": "ban_ts"}.items() <= found.fields.items()
    assert "dob" not in found.fields


def test_levels_above_the_lowest_are_fraud_where_nothing_says_which(tmp_path: Path) -> None:
    """A severity is no yes and no; a score is a measure and no label."""
    levels = [1 + place // 10 % 3 if fraud else 0 for place, fraud in enumerate(FRAUD)]
    found = written(tmp_path / "a.csv", table(fraud_severity=levels))
    assert (sorted(found.words["fraud"]), found.words["genuine"]) == (["1", "2", "3"], ["0"])
    assert "1, 2, 3 of fraud_severity are taken for fraud" in " ".join(found.decisions)
    for code in (9, -1):
        cells = [1 if fraud else (0, code)[place % 7 == 0] for place, fraud in enumerate(FRAUD)]
        found = written(tmp_path / "a.csv", table(fraud_flag=cells))
        assert found.words == {"fraud": ["1"], "genuine": ["0"], "ignored": [str(code)]}


def test_of_findings_with_a_time_the_confirmed_ones_are_fraud(tmp_path: Path) -> None:
    """The others were refuted, and what has no time is not decided, whatever its word."""
    found_at = [
        EVENTS[place].strftime("%Y-%m-%d") if place % 10 == 3 or place % 20 == 4 else "" for place in range(N)
    ]
    cells = ["Bekræftet" if fraud else ("Zz", "Xy")[place % 20 == 4] for place, fraud in enumerate(FRAUD)]
    found = written(tmp_path / "a.csv", table(Sag=cells, Lukket=found_at))
    assert found.words == {"fraud": ["bekræftet"], "genuine": ["xy"], "ignored": ["zz"]}


def test_the_event_is_the_time_that_every_record_has(tmp_path: Path) -> None:
    """Of two tables that pandas merged, the second lacks some records; the count of rows is no number of theirs."""
    frame = table(fraud=words("yes", "no")).rename(columns={"created_at": "created_at_x"})
    later = [text if place % 5 else "" for place, text in enumerate(frame["created_at_x"])]
    rows = np.random.default_rng(1).permutation(N)
    frame = pd.DataFrame(
        {"Unnamed: 0": rows, "created_at_y": later, "zz_code": [f"k{row:05}" for row in rows]} | dict(frame)
    )
    found = written(tmp_path / "a.csv", frame)
    assert (found.fields["eventTime"], found.fields["recordId"]) == ("created_at_x", "zz_code")


def test_what_follows_from_the_town_beside_it_is_its_region(tmp_path: Path) -> None:
    """In any language, though its words are few; the door stands between street and town, whoever lives there."""
    frame = table(
        fraud=words("yes", "no"),
        biz_street=[f"{place % 90} Main St" for place in range(N)],
        biz_suite=[f"Ste {place % 30 + 1}" for place in range(N)],
        biz_city=[f"t{'abcdefghij'[place % 10]}" for place in range(N)],
        biz_xyz=[f"r{'abcab'[place % 5]}" for place in range(N)],
    )
    fields = written(tmp_path / "a.csv", frame).fields
    assert {"address.line2": "biz_suite", "address.region": "biz_xyz"}.items() <= fields.items()


@pytest.mark.parametrize(
    ("header", "kind"), [("Feld9", Kind.PHONE), ("phone_price_cents", Kind.NUMBER)], ids=["area", "price"]
)
def test_phones_are_told_by_their_area_and_are_no_measures(tmp_path: Path, header: str, kind: Kind) -> None:
    """(514) 555-0134 is one under any header; what a phone costs is none."""
    cells = [
        f"(514) 555-{place:04}" if kind is Kind.PHONE else str(100_000 + place * 997) for place in range(N)
    ]
    found = written(tmp_path / "a.csv", table(fraud=words("yes", "no"), **{header: cells}))
    assert found.profiles[header].kind is kind


def test_capitalised_words_under_the_word_for_a_customer_are_names(tmp_path: Path) -> None:
    """Whole names are no signals, and customers have kinds too."""
    names = [f"A{'abcdefghijklmnopqrst'[place % 20]} B{'abcdefghijklmno'[place // 20]}" for place in range(N)]
    found = written(tmp_path / "a.csv", table(fraud=words("yes", "no"), Najemca=names, Klient=DEVICES))
    assert found.left_out["Najemca"] == "names are no signals"
    assert "Klient" not in found.left_out


def test_counts_like_those_of_the_event_are_times_too(tmp_path: Path) -> None:
    """Days of a spreadsheet under a header that names no time; numbers of other years are no times."""
    cells = [f"{45_300 + place}.375" for place in range(N)]
    closed = [f"{45_305 + place}" if fraud else "" for place, fraud in enumerate(FRAUD)]
    rent = [str(45_000 + place * 997 % 9_000) for place in range(N)]
    frame = table(Datum=cells, End=closed, rent=rent, fraud=words("X", "")).drop(columns="created_at")
    found = written(tmp_path / "a.csv", frame)
    assert found.fields["labelKnownAt"] == "End"
    assert found.profiles["rent"].kind is Kind.NUMBER


def test_lists_are_no_signals(tmp_path: Path) -> None:
    """Every row of such a signal would be refused."""
    path = tmp_path / "a.parquet"
    table(tags=[["new"][: place % 2] for place in range(N)], fraud=words("yes", "no")).to_parquet(path)
    found = proposed(path)
    assert found.left_out["tags"] == "it holds lists or objects, and a signal is one value"


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_several_files_are_read_as_one(tmp_path: Path, ending: str) -> None:
    """A proposal for monthly files suits all of them: a column that some lack is left out, and it is said."""
    frame = table(fraud=words("yes", "no")).assign(created_at=EVENTS)
    for name, rows, more in (("a", slice(0, 150), {}), ("b", slice(150, N), {"points": 5})):
        part = frame[rows].assign(**more)
        path = tmp_path / f"{name}.{ending}"
        part.to_csv(path, index=False) if ending == "csv" else part.to_parquet(path)
    paths = [tmp_path / f"{name}.{ending}" for name in "ab"]
    found = propose(paths)
    assert found.left_out["points"] == "1 of 2 files lack it"
    config = tmp_path / "use.yaml"
    config.write_text(proposal_text(found, name="use", source="a and b"), encoding="utf-8")
    reading = read_records(paths, load_configuration(config).schema, labelled=True)
    assert (len(reading.table.labels), reading.violations) == (N, ())
    assert propose(tmp_path / f"*.{ending}").fields == found.fields


def test_a_column_without_a_name_is_no_field_that_is_not_found(tmp_path: Path) -> None:
    """The index that pandas writes, and the column behind the last separator of a row."""
    reference = [f"ONB{place * 48271 % 99991:05}" for place in range(N)]
    frame = table(ref=reference, fraud=words("yes", "no"))
    frame.to_csv(tmp_path / "index.csv", index=True)
    assert proposed(tmp_path / "index.csv").fields["recordId"] == "ref"
    frame.assign(**{"": ""}).to_csv(tmp_path / "behind.csv", index=False)
    assert proposed(tmp_path / "behind.csv").fields["recordId"] == "ref"


def test_codes_that_pandas_wrote_as_floats_are_asked_about(tmp_path: Path) -> None:
    """A number of a phone would be another one in a file without gaps; an amount is the same."""
    phones = [None if place % 50 == 1 else 9_876_500_000 + place % 40 for place in range(N)]
    found = written(
        tmp_path / "a.csv",
        table(mobile=phones, amount=[f"{place % 90}.0" for place in range(N)], fraud=words("yes", "no")),
    )
    assert [text.split(":")[0] for text in found.decisions if ".0 behind" in text] == ["mobile"]
