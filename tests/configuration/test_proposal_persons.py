"""Fields of persons under headers with words that only the file explains, cut words and hashes."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scoring_model.configuration.headers import links_records, words_of
from scoring_model.configuration.profiles import Kind
from scoring_model.configuration.proposal import Proposal, propose

N = 300
EVENTS = pd.date_range("2024-01-01", periods=N, freq="D")
DRAW = np.random.default_rng(5)
FIRST = [f"{letter}nna" for letter in DRAW.choice([*"ABCDEFGHIJKL"], N)]
LAST = [f"{letter}eyer" for letter in DRAW.choice([*"BDFGHKLMNPRST"], N)]


def proposed(folder: Path, **columns: Any) -> Proposal:
    """Propose a configuration for events with a label, beside other columns."""
    frame = pd.DataFrame(
        {"created_at": EVENTS, "fraud": np.where(np.arange(N) % 10 == 3, "yes", "no")} | columns
    )
    path = folder / "a.csv"
    frame.to_csv(path, index=False)
    return propose(path)


@pytest.mark.parametrize(
    ("first", "last"),
    [
        ("KD_VORNAME", "KD_NACHNAME"),
        ("vendedor.nome", "vendedor.sobrenome"),
        ("legal_first_name", "legal_last_name"),
        ("nombre_piloto", "apellidos_piloto"),
        ("a.cust_fst_nm", "a.cust_lst_nm"),
        ("t1.Vorname", "t1.Nachname"),
        ("Fornavn(e)", "Efternavn(e)"),
        ("VN Vorname", "VN Zuname"),
        ("voornaam", "familienaam"),
        ("Lead Passenger First Name", "Lead Passenger Surname"),
        ("Vorname Mieterin", "Name Mieterin"),
        ("氏名(名)", "氏名(姓)"),
    ],
)
def test_words_around_several_fields_of_a_person_count_for_nothing(
    tmp_path: Path, first: str, last: str
) -> None:
    """Whatever they say, before the fields or after them."""
    fields = proposed(tmp_path, **{first: FIRST, last: LAST}).fields
    assert (fields["firstName"], fields["lastName"]) == (first, last)


def test_words_around_a_place_are_not_those_of_a_person(tmp_path: Path) -> None:
    """The town of a shop is none of the applicant; a plain header comes before one with words around it."""
    towns = DRAW.choice(["Ulm", "Bonn", "Kiel"], N)
    columns = {"shop_city": towns, "shop_country": DRAW.choice(["DE", "FR"], N), "rider_first_name": LAST}
    fields = proposed(tmp_path, **columns, rider_last_name=FIRST, first_name=FIRST, last_name=LAST).fields
    assert (fields["firstName"], fields["lastName"]) == ("first_name", "last_name")
    assert not {"address.city", "address.country"} & fields.keys()


def test_the_beginning_of_a_word_is_a_header(tmp_path: Path) -> None:
    """Of four letters or more, if no other field has a word that begins so."""
    columns = {"VORN": FIRST, "NACHN": LAST, "STAATSANG": DRAW.choice(["DE", "FR", "PL"], N)}
    fields = proposed(tmp_path, **columns, stat=DRAW.choice(["a", "b", "c"], N)).fields
    assert (fields["firstName"], fields["lastName"]) == ("VORN", "NACHN")
    assert fields["citizenship"] == "STAATSANG"
    assert "address.region" not in fields


@pytest.mark.parametrize(
    ("field", "header"),
    [
        ("lastName", "SURNM"),
        ("address.postalCode", "RES_PSTCD"),
        ("address.line1", "RES_STRT_LN_1"),
        ("address.city", "ADR_COMMUNE"),
    ],
)
def test_headers_may_lack_vowels(tmp_path: Path, field: str, header: str) -> None:
    """As those of warehouses do."""
    assert proposed(tmp_path, **{header: LAST}).fields[field] == header


def test_a_compound_may_end_with_the_word_for_addresses(tmp_path: Path) -> None:
    """If its cells are streets; other addresses are none."""
    streets = [f"Storgata {place % 70}" for place in range(N)]
    assert proposed(tmp_path, Gateadresse=streets).fields["address.line1"] == "Gateadresse"
    assert "address.line1" not in proposed(tmp_path, Gateadresse=LAST).fields


def test_hashes_of_contacts_link_records(tmp_path: Path) -> None:
    """Also where nearly each occurs once."""
    hashes = [f"{place * 7919 % 100_003:016x}" for place in range(N)]
    found = proposed(tmp_path, email_sha256=[*hashes[:-5], *hashes[:5]], id=range(N))
    assert {signal.column: signal.type for signal in found.signals} == {"email_sha256": Kind.IDENTIFIER}
    assert "address.region" not in proposed(tmp_path, MAIL_HASH=hashes).fields


@pytest.mark.parametrize(
    ("header", "expected"), [("端末ID", True), ("顧客番号", True), ("口座開設番号", False)]
)
def test_the_last_word_before_a_number_counts_without_blanks_too(header: str, expected: bool) -> None:
    """The number of an opening of accounts is not that of an account."""
    assert links_records(words_of(header)) is expected


@pytest.mark.parametrize(
    ("field", "header"),
    [("address.line1", "Straatnaam"), ("address.city", "Ortname"), ("address.postalCode", "d.pin_cd")],
)
def test_parts_of_an_address_may_be_called_names(tmp_path: Path, field: str, header: str) -> None:
    """In one word; the alias of a table counts for nothing."""
    cells = DRAW.choice(["Aa", "Bb", "Cc"], N)
    assert proposed(tmp_path, **{header: cells}).fields[field] == header


def test_a_word_of_citizenship_is_enough_where_the_cells_are_countries(tmp_path: Path) -> None:
    """Whatever else the header says; other cells are a signal."""
    header, lands = "Aktuelle Staatsangehörigkeit", DRAW.choice(["DE", "FR", "PL"], N)
    assert proposed(tmp_path, **{header: lands}).fields["citizenship"] == header
    others = proposed(tmp_path, **{header: DRAW.choice(["eine", "mehrere"], N)})
    assert [signal.column for signal in others.signals] == [header]


@pytest.mark.parametrize(
    "header", ["NRO_SOLICITUD", "solicitud", "Id registrazione", "Nr rejestracji", "registration_id"]
)
def test_words_for_numbers_may_be_others_than_those_known(tmp_path: Path, header: str) -> None:
    """Of an application or a registration, whose numbers repeat in a few rows."""
    numbers = [f"x{place * 7919 % 100_003}" for place in range(N - 5)] * 2
    assert proposed(tmp_path, **{header: numbers[:N]}).fields["recordId"] == header


def test_names_of_a_warehouse_are_cut(tmp_path: Path) -> None:
    """In Spanish: `nom` is a first name beside `ape1`, and the word around both is that of a person."""
    columns = {"NOM_TOM": FIRST, "APE1_TOM": LAST, "APE2_TOM": LAST[::-1], "POB_TOM": LAST, "HOJA_TOM": LAST}
    found = proposed(tmp_path, **columns, CP_TOM=[f"{28001 + place % 50}" for place in range(N)])
    assert (found.fields["firstName"], found.fields["lastName"]) == ("NOM_TOM", "APE1_TOM")
    assert (found.fields["address.city"], found.fields["address.postalCode"]) == ("POB_TOM", "CP_TOM")
    assert found.left_out["APE2_TOM"] == "names are no signals"


def test_the_first_of_several_columns_may_have_a_number(tmp_path: Path) -> None:
    """And where the first line of an address has one, the second has the next."""
    streets = [f"{1 + place % 90} Elm Street" for place in range(N)]
    doors = [f"Flat {place % 7}" for place in range(N)]
    codes = [f"{10115 + place % 50}" for place in range(N)]
    found = proposed(tmp_path, CITY1=LAST, POST_CODE1=codes, voie_1=streets, voie_2=doors, adresse_1=streets)
    assert (found.fields["address.city"], found.fields["address.postalCode"]) == ("CITY1", "POST_CODE1")
    found = proposed(tmp_path, adresse_1=streets, adresse_2=doors)
    assert (found.fields["address.line1"], found.fields["address.line2"]) == ("adresse_1", "adresse_2")


@pytest.mark.parametrize("header", ["applicant.houseNumber", "HOUSE_NUM1", "Hausnr.", "numero", "altura"])
def test_a_house_number_is_a_part_of_the_address(tmp_path: Path, header: str) -> None:
    """Beside streets without numbers it is no number, but links; floors and doors are left out."""
    streets = [f"{word} Straße" for word in LAST]
    numbers = [f"{1 + place * 7 % 90}{'a' if place % 9 == 0 else ''}" for place in range(N)]
    columns = {"street": streets, header: numbers, "complemento": [f"apto {place % 9}" for place in range(N)]}
    found = proposed(tmp_path, **columns, city=FIRST)
    assert found.fields["address.line2"] == header
    assert found.keys["address"] == ("address.line1", "address.line2", "address.city")
    assert found.left_out["complemento"] == "a door or floor is no signal"


def test_a_street_without_its_number_is_told_by_the_house_in_the_next_column(tmp_path: Path) -> None:
    """One word of its header says street; without the number the same cells are a category."""
    streets = [f"Via {word}" for word in LAST]
    houses = [f"{1 + place * 7 % 90}" for place in range(N)]
    found = proposed(tmp_path, **{"Via fornitura": streets, "Civico": houses, "Comune": FIRST})
    assert (found.fields["address.line1"], found.fields["address.line2"]) == ("Via fornitura", "Civico")
    alone = proposed(tmp_path, **{"Via fornitura": streets, "Comune": FIRST})
    assert "address.line1" not in alone.fields


def test_citizens_are_told_by_what_they_are_called(tmp_path: Path) -> None:
    """As forms in French have it, and names of two columns as SAP has them."""
    called = DRAW.choice(["Française", "Algérienne", "Portugaise", "Sénégalaise"], N)
    found = proposed(tmp_path, Nationalité=called, NAME1=LAST, NAME2=FIRST)
    assert found.fields["citizenship"] == "Nationalité"
    assert (found.fields["lastName"], found.fields["firstName"]) == ("NAME1", "NAME2")


def test_countries_of_residence_are_told_by_codes(tmp_path: Path) -> None:
    """Whatever says which codes they are; countries have names in several languages."""
    columns = {"RESIDENCE_ISO2": DRAW.choice(["DE", "FR", "PL"], N)}
    columns["nationalité"] = DRAW.choice(["Algérie", "Tunisie", "Sénégal", "Côte d'Ivoire"], N)
    fields = proposed(tmp_path, **columns).fields
    assert (fields["address.country"], fields["citizenship"]) == ("RESIDENCE_ISO2", "nationalité")


def test_citizenship_with_unknown_words_is_a_protected_signal(tmp_path: Path) -> None:
    """No feature reads it unless a person says so, and a decision names the words."""
    found = proposed(tmp_path, nacionalidade=DRAW.choice(["Portuguesa", "Brasileira", "Marciana"], N))
    assert [(one.column, one.protected) for one in found.signals] == [("nacionalidade", "citizenship")]
    assert any("no known countries, such as Marciana." in text for text in found.decisions)


def test_names_of_other_persons_are_told_by_the_names_in_the_file(tmp_path: Path) -> None:
    """Those of the holder of an account, under any header."""
    holders = [f"{first} {last}" for first, last in zip(FIRST, LAST, strict=True)]
    found = proposed(tmp_path, first_name=FIRST, last_name=LAST, KOINH=holders)
    assert found.left_out["KOINH"] == "names are no signals"


def test_codes_of_phones_are_no_numbers(tmp_path: Path) -> None:
    """Dialling codes, padded codes and numbers with more digits than a number keeps."""
    found = proposed(
        tmp_path,
        indicatif=DRAW.choice([33, 32, 352], N),
        sparte=DRAW.choice(["01", "02", "03"], N),
        line=[f"{2_000_000_000 + place * 7_919_191 % 7_000_000_000}" for place in range(N)],
        iccid=[f"8933{place * 7919 % 1000:03}{place:012}" for place in range(N)],
        num_contact=[f"6{place * 7919 % 10**8:08}" for place in range(N)],
    )
    types = {signal.column: signal.type for signal in found.signals}
    assert (types["indicatif"], types["sparte"], types["num_contact"]) == ("category", "category", "phone")
    assert types["iccid"] == "identifier"
    assert "line" not in types


def test_headers_are_cut_in_each_word_or_name_a_field_twice(tmp_path: Path) -> None:
    """A header that ranks higher is another field where its cells do not fit: a state of work is no county."""
    codes = [f"{place % 50:02}-{place % 7}00" for place in range(N)]
    counties = DRAW.choice([*"ABCDEFGHI"], N)
    states = np.where(np.arange(N) % 10 == 3, "CLSD", "OPEN")
    found = proposed(tmp_path, kod_poczt=codes, townCity=LAST, county=counties, accountState=states)
    assert (found.fields["address.postalCode"], found.fields["address.city"]) == ("kod_poczt", "townCity")
    assert found.fields["address.region"] == "county"


def test_what_stands_under_a_home_is_the_address(tmp_path: Path) -> None:
    """With abbreviations before a number, too."""
    streets = [f"Calle {word}" for word in LAST]
    columns = {
        "domicilio.calle": streets,
        "domicilio.numExterior": np.arange(N) % 90 + 1,
        "domicilio.municipio": FIRST,
    }
    fields = proposed(tmp_path, **columns).fields
    lines = ("address.line1", "address.line2", "address.city")
    assert [fields[line] for line in lines] == [*columns]
    fields = proposed(tmp_path, addr1=[f"{one} 7" for one in streets], addr2=LAST).fields
    assert (fields["address.line1"], fields["address.line2"]) == ("addr1", "addr2")


def test_documents_and_countries_are_known_in_danish(tmp_path: Path) -> None:
    """As in other languages."""
    found = proposed(
        tmp_path,
        Legitimation=DRAW.choice(["Pas", "Kørekort", "Opholdskort"], N),
        Statsborgerskab=DRAW.choice(["Danmark", "Tyrkiet", "Tyskland"], N),
    )
    assert found.values["documentType"]["Kørekort"] == "DRIVERS_LICENSE"
    assert found.fields["citizenship"] == "Statsborgerskab"


def test_numbers_with_fractions_are_no_identifiers(tmp_path: Path) -> None:
    """Though their header ends with a device."""
    prices = [f"{place % 59 + 900},{place % 59:02}" for place in range(N)]
    found = proposed(tmp_path, cena_urządzenia=prices, kwartał_urządzenia=prices)
    assert {signal.type for signal in found.signals} == {"number"}


def test_a_word_among_numbers_is_a_gap(tmp_path: Path) -> None:
    """Which the words of a company for it are; one that is a word of a category too is none."""
    numbers = [str(place) if place % 9 else "s/ info" for place in range(N)]
    found = proposed(tmp_path, bureau=numbers, column7=DRAW.choice(["open", "other", "closed"], N))
    assert found.nulls == ("s/ info",)
    assert "Among numbers and times 's/ info' counts as a missing value" in " ".join(found.decisions)
    found = proposed(tmp_path, bureau=numbers, column7=DRAW.choice(["open", "s/ info", "closed"], N))
    assert found.nulls == ()


def test_first_and_last_names_in_one_column_are_no_first_names(tmp_path: Path) -> None:
    """Where no column has last names, and nearly every cell is several words."""
    whole = [f"{first} {last}" for first, last in zip(FIRST, LAST, strict=True)]
    births = [f"19{60 + place % 40}-05-{1 + place % 28:02}" for place in range(N)]
    found = proposed(tmp_path, NOME_SEGURADO=whole, DT_NASC_SEGURADO=births)
    assert "firstName" not in found.fields
    assert found.left_out["NOME_SEGURADO"] == "names are no signals"
    assert proposed(tmp_path, nome=whole, cognome=LAST).fields["firstName"] == "nome"


def test_parts_of_an_address_may_stand_under_a_compound(tmp_path: Path) -> None:
    """Of a word for addresses, whatever it is: the postal code of one is no street."""
    fields = proposed(
        tmp_path,
        **{
            "bezorgadres.straat": DRAW.choice(["Kerkstraat", "Molenweg", "Nieuwstraat"], N),
            "bezorgadres.huisnr": DRAW.integers(1, 200, N),
            "bezorgadres.postcode": [f"{number} AB" for number in DRAW.integers(1000, 9999, N)],
            "bezorgadres.plaats": DRAW.choice(["Breda", "Zwolle"], N),
            "bezorgadres.land": DRAW.choice(["NL", "BE"], N),
        },
    ).fields
    parts = ("line1", "line2", "postalCode", "city", "country")
    assert [fields[f"address.{part}"].split(".")[1] for part in parts] == [
        "straat",
        "huisnr",
        "postcode",
        "plaats",
        "land",
    ]


def test_words_for_kinds_of_columns_count_for_nothing(tmp_path: Path) -> None:
    """As Brazilian warehouses write them before each name; a number beside a street is no street."""
    headers = ("NM_CLIENTE", "SOBRENOME_CLIENTE", "DS_LOGRADOURO", "NR_LOGRADOURO", "NM_MUNICIPIO", "SG_UF")
    towns = DRAW.integers(0, 9, N)
    held = (
        FIRST,
        LAST,
        DRAW.choice(["Rua Bela Vista", "Avenida Brasil"], N),
        [f"{number}{'A' if number % 9 == 0 else ''}" for number in DRAW.integers(1, 200, N)],
        [f"Vila {'ABCDEFGHI'[town]}" for town in towns],
        [("SP", "RJ", "MG", "BA", "CE", "PR", "PE", "RS", "GO")[town] for town in towns],
    )
    fields = proposed(tmp_path, **dict(zip(headers, held, strict=True))).fields
    names = ("firstName", "lastName", *(f"address.{part}" for part in ("line1", "line2", "city", "region")))
    assert tuple(fields[name] for name in names) == headers


@pytest.mark.parametrize(
    ("street", "cells", "share", "is_line"),
    [
        ("Nádražní", "208", 1.0, True),
        ("Nádražní", "208", 0.5, False),
        ("12 rue Laurier", "7", 0.3, True),
        ("12 rue Laurier", "apt 7", 0.3, True),
        ("12 rue Laurier", "Hochelaga", 0.3, False),
    ],
)
def test_a_short_number_within_an_address_is_a_part_of_it(
    tmp_path: Path, street: str, cells: str, share: float, is_line: bool
) -> None:
    """Under any header: that of the house where streets have none, otherwise that of the door."""
    numbers = [
        cells.replace(cells[-1], str(9 - place % 9)) if place < share * N else "" for place in range(N)
    ]
    streets = [f"{street}{letter}" for letter in DRAW.choice([*"abcdef"], N)]
    fields = proposed(
        tmp_path, adresse=streets, Xyz=numbers, ville=DRAW.choice(["Laval", "Gatineau"], N)
    ).fields
    assert (fields.get("address.line2") == "Xyz") == is_line


def test_a_door_behind_the_number_of_a_house_is_no_signal(tmp_path: Path) -> None:
    """Under any header, before another part of the address."""
    columns = {
        "strada": LAST,
        "numar": DRAW.integers(1, 90, N),
        "Xyz": DRAW.integers(1, 30, N),
        "localitate": FIRST,
    }
    assert proposed(tmp_path, **columns).left_out["Xyz"] == "a door or floor is no signal"


def test_an_address_of_bills_and_cut_names_are_known(tmp_path: Path) -> None:
    """In French, and of a warehouse."""
    held = {
        "cp_facturation": DRAW.integers(10_000, 99_999, N),
        "ville_facturation": DRAW.choice(["Lyon", "Lille"], N),
    }
    fields = proposed(tmp_path, **held, drv_f_nm=FIRST, drv_l_nm=LAST).fields
    headers = ("cp_facturation", "ville_facturation", "drv_f_nm", "drv_l_nm")
    names = ("address.postalCode", "address.city", "firstName", "lastName")
    assert tuple(fields[name] for name in names) == headers


def test_a_district_is_the_town_where_the_province_stands_beside_it(tmp_path: Path) -> None:
    """A Turkish `il` alone is the town."""
    districts = DRAW.integers(0, 12, N)
    ilçe, il = ([f"{letter}{'ABCDEFGHIJKL'[one]}ce" for one in districts] for letter in ("O", "P"))
    fields = proposed(tmp_path, ilçe=ilçe, il=il).fields
    assert (fields["address.city"], fields["address.region"]) == ("ilçe", "il")
    assert proposed(tmp_path, il=il).fields["address.city"] == "il"


def test_rows_that_are_counted_are_no_ids_where_records_have_some(tmp_path: Path) -> None:
    """Under headers that are not known; alone they are."""
    rows, codes = np.arange(N) + 1, [f"Q{number}" for number in DRAW.permutation(10 * N)[:N]]
    assert proposed(tmp_path, Xyz=rows, Abc=codes).fields["recordId"] == "Abc"
    assert proposed(tmp_path, nr_crt=rows, Abc=codes).fields["recordId"] == "Abc"
    assert proposed(tmp_path, Xyz=[f"{row:07}" for row in rows], Abc=codes).fields["recordId"] == "Abc"
    assert proposed(tmp_path, Xyz=rows).fields["recordId"] == "Xyz"


def test_a_province_of_two_letters_is_no_gap(tmp_path: Path) -> None:
    """Beside eight others `NA` is Napoli; beside words of a check it is a gap."""
    provinces = DRAW.choice(["MI", "RM", "NA", "TO", "PA", "GE", "BO", "FI", "BA"], N)
    assert "NA" not in proposed(tmp_path, PROV=provinces).nulls
    assert "NA" in proposed(tmp_path, CHECK=DRAW.choice(["OK", "KO", "NA"], N)).nulls


@pytest.mark.parametrize("header", ["mcc", "Succursale", "Filial", "code_salle"])
def test_numbers_of_branches_are_categories(tmp_path: Path, header: str) -> None:
    """And so are those of lines of business; sizes are numbers."""
    found = proposed(tmp_path, **{header: DRAW.integers(100, 130, N), "size": DRAW.integers(100, 130, N)})
    assert {signal.column: signal.type for signal in found.signals} == {header: "category", "size": "number"}


@pytest.mark.parametrize(
    "words",
    [
        ("OP", "PAS", "ŘP"),
        ("Kimlik Kartı", "Pasaport", "Ehliyet"),
        ("State ID", "Driver License", "Passport"),
    ],
)
def test_more_words_for_documents_are_known(tmp_path: Path, words: tuple[str, str, str]) -> None:
    """Of Czechs and Turks, and of the United States."""
    found = proposed(tmp_path, column7=DRAW.choice(words, N))
    assert found.fields["documentType"] == "column7"
    assert {*found.values["documentType"].values()} <= {"NATIONAL_ID", "PASSPORT", "DRIVERS_LICENSE"}


def test_a_czech_yes_may_be_one_letter(tmp_path: Path) -> None:
    """Beside its no; other letters beside it are categories."""
    found = proposed(tmp_path, souhlas=DRAW.choice([*"AN"], N), class_=DRAW.choice([*"ABC"], N))
    assert {signal.column: signal.type for signal in found.signals} == {
        "souhlas": "boolean",
        "class_": "category",
    }


def test_parts_of_an_address_share_the_words_around_its_street(tmp_path: Path) -> None:
    """Whatever they are; without a street the town is that of anything."""
    towns = DRAW.choice(["Austin", "Boston"], N)
    columns = {"bizAddr1": [f"{place % 90 + 1} Main St" for place in range(N)], "bizCity": towns}
    columns |= {"bizZip": DRAW.integers(10_000, 99_999, N), "bizCountry": DRAW.choice(["USA", "CAN"], N)}
    fields = proposed(tmp_path, **columns).fields
    parts = ("line1", "city", "postalCode", "country")
    assert [fields[f"address.{part}"] for part in parts] == [*columns]
    assert "address.city" not in proposed(tmp_path, bizCity=towns).fields


def test_a_key_of_what_links_nothing_names_the_records(tmp_path: Path) -> None:
    """That of a customer links them, though each occurs once; initials are no signals."""
    keys = [f"x{number}" for number in DRAW.permutation(10 * N)[:N]]
    assert proposed(tmp_path, sellerKey=keys).fields["recordId"] == "sellerKey"
    found = proposed(tmp_path, customerKey=keys, voorletters=DRAW.choice(["A.", "B."], N))
    assert "recordId" not in found.fields
    assert found.left_out["voorletters"] == "names are no signals"


def test_the_count_of_rows_is_no_id_beside_a_number(tmp_path: Path) -> None:
    """Though its header is one of ids: the next file counts its rows from 1 too."""
    codes = [f"KG-{place * 48271 % 99991:05}" for place in range(N)]
    counted = {"id": range(1, N + 1)}
    assert proposed(tmp_path, **counted, Gesuchsnummer=codes).fields["recordId"] == "Gesuchsnummer"
    assert proposed(tmp_path, **counted, word=codes).fields["recordId"] == "id"


@pytest.mark.parametrize("total", ["Total,2000 Gesuche,", "Total"])
def test_a_row_of_totals_hides_no_id(tmp_path: Path, total: str) -> None:
    """It counts the records in words, and stands behind a file whose rows are counted."""
    count = 2_000
    codes = [f"KG-{place * 48271 % 99991:05}" for place in range(count)]
    times = pd.date_range("2024-01-01", periods=count, freq="3h").strftime("%Y-%m-%d %H:%M:%S")
    frame = pd.DataFrame({"Lfd. Nr.": range(1, count + 1), "Gesuchsnummer": codes, "created_at": times})
    path = tmp_path / "a.csv"
    path.write_text(frame.to_csv(index=False) + f"{total}\n")
    assert propose(path).fields["recordId"] == "Gesuchsnummer"


def test_a_town_may_have_its_postal_code_in_front(tmp_path: Path) -> None:
    """As in Switzerland and Austria: such a column is no link key."""
    towns = [f"{code} Zürich" for code in DRAW.integers(8001, 8060, N)]
    found = proposed(
        tmp_path, **{"Strasse / Nr.": [f"Weg {place}" for place in range(N)], "PLZ / Ort": towns}
    )
    assert found.fields["address.city"] == "PLZ / Ort"


def test_a_town_may_be_one_or_a_city(tmp_path: Path) -> None:
    """In words that a form asks with."""
    towns = DRAW.choice(["Leeds", "York", "Hull"], N)
    assert proposed(tmp_path, **{"Town or city": towns}).fields["address.city"] == "Town or city"


def test_a_second_column_of_one_name_is_no_second_line(tmp_path: Path) -> None:
    """It is the street of another address."""
    lines = ["created_at,Ulice,fraud,Ulice"]
    lines += [f"{time:%Y-%m-%d},Husova {place},{'no'},Lipová {place}" for place, time in enumerate(EVENTS)]
    path = tmp_path / "b.csv"
    path.write_text("\n".join(lines))
    fields = propose(path).fields
    assert fields["address.line1"] == "Ulice (1)"
    assert "address.line2" not in fields


def test_names_on_cards_are_no_link_keys(tmp_path: Path) -> None:
    """Nor is a text that repeats them, in a file without first and last names."""
    names = [f"{first} {last}" for first, last in zip(FIRST, LAST, strict=True)]
    found = proposed(tmp_path, **{"Card Name": names, "Customer Description": names})
    assert found.left_out.keys() >= {"Card Name", "Customer Description"}


def test_a_word_of_which_a_field_lacks_no_vowel_is_none(tmp_path: Path) -> None:
    """`Beleg` is no cut `bölge`, though the consonants are the same; without a street `kat` is no floor."""
    receipts = [f"R-{place * 7919 % 10_007:05}" for place in range(N)]
    found = proposed(tmp_path, Beleg=receipts, kat=["a", "b"] * (N // 2))
    assert found.fields.keys().isdisjoint({"address.region", "address.line2"})
    assert found.fields["recordId"] == "Beleg"


@pytest.mark.parametrize(
    ("header", "form", "expected"),
    [("Född", "%y%m%d", "%y%m%d"), ("Geb", "%d%m%y", "%d%m%y"), ("Born in", "%y%m%d", None)],
)
def test_six_digits_are_births_under_a_header_that_says_so(
    tmp_path: Path, header: str, form: str, expected: str | None
) -> None:
    """Where only one order of them makes days of the calendar."""
    births = [f"{time:{form}}" for time in pd.date_range("1950-01-31", periods=N, freq="61D")]
    found = proposed(tmp_path, **{header: births, "Personnr": [f"{place * 7_919:010}" for place in range(N)]})
    assert (found.fields.get("dob"), found.dates) == ((header, (expected,)) if expected else (None, ()))
    assert found.fields.get("recordId") is None  # a person has one, whether or not it recurs
