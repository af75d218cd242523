"""Addresses written in the style of their country."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from scoring_model.arrays import IntArray
from scoring_model.synthetic.countries import COUNTRIES, City, Country
from scoring_model.synthetic.draws import Draws, KeyArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Habit:
    """One way to write a street line.

    Parameters
    ----------
    pattern : str
        With `{street}` and `{number}`.
    unit : str
        Second line, with `{unit}`.
    """

    pattern: str
    unit: str
    streets: tuple[str, ...]


def _habits(text: str) -> dict[str, Habit]:
    """Read habits, a blank line between two: culture | pattern | unit, then the streets."""
    habits = {}
    for block in text.strip().split("\n\n"):
        head, *streets = block.split("\n")
        culture, pattern, unit = (cell.strip() for cell in head.split("|"))
        habits[culture] = Habit(pattern=pattern, unit=unit, streets=tuple(" ".join(streets).split(", ")))
    return habits


LATIN: Mapping[str, Habit] = _habits("""
english | {number} {street} | Flat {unit}
High Street, Station Road, Church Lane, Park Avenue, Victoria Road, Mill Lane, Main Street, Oak Drive, Maple Avenue,
Queen's Road, The Crescent, Springfield Road, Second Avenue, Kings Court, Elm Street

german | {street} {number} | Wohnung {unit}
Hauptstraße, Schulstraße, Gartenstraße, Bahnhofstraße, Dorfstraße, Bergstraße, Goethestraße, Lindenweg, Am Markt,
Schillerplatz, Mühlenweg, Kirchgasse, Beethovenstraße, Birkenallee

french | {number} {street} | Appt {unit}
rue de la République, rue Victor Hugo, avenue Jean Jaurès, rue de l'Église, place de la Mairie, boulevard Gambetta,
rue des Écoles, chemin du Moulin, impasse des Lilas, rue du Général Leclerc

spanish | {street} {number} | Piso {unit}
Calle Mayor, Calle Real, Avenida de la Constitución, Calle del Sol, Plaza de España, Paseo del Prado, Calle San José,
Avenida Juárez, Calle Morelos, Carrera Séptima, Calle Santa Fe

portuguese | {street}, {number} | Apto {unit}
Rua Direita, Rua da Igreja, Avenida da Liberdade, Rua São João, Rua das Flores, Travessa do Carmo, Avenida Brasil, Rua
Sete de Setembro, Praça da República

italian | {street} {number} | Interno {unit}
Via Roma, Via Garibaldi, Corso Italia, Piazza Dante, Via Mazzini, Viale della Libertà, Via Verdi, Via Cavour, Largo
Augusto

dutch | {street} {number} | App. {unit}
Kerkstraat, Schoolstraat, Molenweg, Dorpsstraat, Beatrixlaan, Wilhelminastraat, Julianaplein, Stationsweg,
Prinsengracht

polish | ul. {street} {number} | m. {unit}
Polna, Leśna, Słoneczna, Krótka, Szkolna, Ogrodowa, Lipowa, Brzozowa, Łąkowa, Kościuszki, Mickiewicza

czech | {street} {number} | byt {unit}
Nádražní, Školní, Zahradní, Dlouhá, Husova, Komenského, Krátká, Palackého, Na Vyhlídce, Tyršova

nordic | {street} {number} | lgh {unit}
Storgatan, Kungsgatan, Skolvägen, Kirkeveien, Strandvejen, Nørregade, Björkvägen, Sjövägen, Åsgatan, Mannerheimintie

hungarian | {street} {number}. | {unit}. ajtó
Kossuth Lajos utca, Petőfi Sándor utca, Rákóczi út, Fő utca, Dózsa György út, Béke tér, Árpád utca

romanian | {street} nr. {number} | ap. {unit}
Strada Mihai Eminescu, Bulevardul Unirii, Strada Libertății, Strada Școlii, Calea Victoriei, Strada Păcii, Strada
Trandafirilor

turkish | {street} No:{number} | Daire {unit}
Atatürk Caddesi, Cumhuriyet Caddesi, İnönü Sokak, Gül Sokak, Çiçek Sokak, Bağdat Caddesi, Okul Sokak

greek | {street} {number} |
Ermou, Athinas, Stadiou, Tsimiski, Patision, Egnatia, Venizelou

ukrainian | {street}, {number} | kv. {unit}
vul. Shevchenka, vul. Franka, vul. Sadova, prosp. Svobody, vul. Hrushevskoho, vul. Lisova, vul. Zelena

bulgarian | {street} {number} | ap. {unit}
ul. Vitosha, bul. Levski, ul. Rakovski, ul. Ivan Vazov, bul. Bulgaria, ul. Shipka

russian | {street}, {number} | kv. {unit}
ul. Lenina, ul. Sadovaya, prosp. Mira, ul. Pushkina, ul. Lesnaya, ul. Novaya, ul. Gagarina

arabic | {number} {street} | Apt {unit}
Tahrir Street, Nile Street, Al Wahda Street, King Faisal Street, Al Nasr Road, Corniche Road

indian | {number}, {street} | Flat {unit}
M.G. Road, Nehru Nagar, Gandhi Marg, Station Road, Lajpat Nagar, Shivaji Road, Sector 12, Rajaji Street

chinese | No. {number}, {street} | Room {unit}
Zhongshan Road, Renmin Road, Jiefang Road, Jianguo Road, Heping Road, Zhongzheng Road, Xinhua Street

japanese | {number} {street} | #{unit}
Jinnan, Sakae-cho, Honcho, Ginza, Namba, Odori, Midorigaoka

korean | {number}, {street} | {unit}-ho
Teheran-ro, Sejong-daero, Gangnam-daero, Haeundae-ro, Jong-ro, Toegye-ro

vietnamese | {number} {street} | P. {unit}
đường Lê Lợi, đường Trần Hưng Đạo, phố Hàng Bông, đường Nguyễn Huệ, đường Hai Bà Trưng, phố Huế
""")
"""Habits in Latin letters."""

NATIVE: Mapping[str, Habit] = _habits("""
greek | {street} {number} |
Ερμού, Αθηνάς, Σταδίου, Τσιμισκή, Πατησίων, Εγνατία, Βενιζέλου

ukrainian | {street}, {number} | кв. {unit}
вул. Шевченка, вул. Франка, вул. Садова, просп. Свободи, вул. Грушевського, вул. Лісова, вул. Зелена

bulgarian | {street} {number} | ап. {unit}
ул. Витоша, бул. Левски, ул. Раковски, ул. Иван Вазов, бул. България, ул. Шипка

russian | {street}, {number} | кв. {unit}
ул. Ленина, ул. Садовая, просп. Мира, ул. Пушкина, ул. Лесная, ул. Новая, ул. Гагарина

arabic | {number} {street} | شقة {unit}
شارع التحرير, شارع النيل, شارع الوحدة, شارع الملك فيصل, طريق النصر, طريق الكورنيش

indian | {number}, {street} | फ्लैट {unit}
एम.जी. रोड, नेहरू नगर, गांधी मार्ग, स्टेशन रोड, लाजपत नगर, शिवाजी रोड, सेक्टर 12, राजाजी स्ट्रीट

chinese | {street}{number}号 | {unit}室
中山路, 人民路, 解放路, 建国路, 和平路, 中正路, 新华街

japanese | {street}{number}番地 | {unit}号室
神南, 栄町, 本町, 銀座, 難波, 大通, 緑ヶ丘

korean | {street} {number} | {unit}호
테헤란로, 세종대로, 강남대로, 해운대로, 종로, 퇴계로
""")
"""Habits in the country's own script, if it has one; in the order of `LATIN`."""


_NATIVE_SCRIPT = 0.5
_IN_FLATS = 0.4
_FLATS = 40
_NUMBERS = (1, 4, 9, 15, 24, 38, 57, 90, 160, 420)
_POSTAL_LETTERS = "ABEHJLNPRSTWXY"  # valid at every place of the British, Canadian, Dutch and Irish codes


@dataclass(frozen=True, kw_only=True, slots=True)
class Addresses:
    """Written addresses, each field a list of n strings or None."""

    line1: list[str | None]
    line2: list[str | None]
    city: list[str | None]
    region: list[str | None]
    postal: list[str | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Place:
    habit: Habit
    native: bool
    city: City
    country: Country

    def line1(self, street: int, number: int) -> str:
        streets = self.habit.streets
        return self.habit.pattern.format(street=streets[street % len(streets)], number=number)

    def line2(self, unit: int) -> str | None:
        return self.habit.unit.format(unit=unit) if unit and self.habit.unit else None

    def postal(self, digits: int) -> str | None:
        if self.country.postal is None:
            return None
        return self.city.postal + _filled(self.country.postal, digits)


def written_addresses(draws: Draws, keys: KeyArray, countries: IntArray) -> Addresses:
    """Write the address of each key; equal keys give equal addresses.

    Parameters
    ----------
    keys : ndarray of shape (n,), uint64
    countries : ndarray of shape (n,), int64
        Positions in COUNTRIES.
    """
    places = [
        _place(country, city, native)
        for country, city, native in zip(
            countries.tolist(),
            draws.below("address.city", 1 << 20, keys).tolist(),
            draws.chance("address.native", _NATIVE_SCRIPT, keys).tolist(),
            strict=True,
        )
    ]
    streets = draws.below("address.street", 1 << 20, keys).tolist()
    numbers = draws.quantile("address.number", _NUMBERS, keys).astype(np.int64).tolist()
    flats = draws.chance("address.flats", _IN_FLATS, keys)
    units = np.where(flats, draws.below("address.unit", _FLATS, keys) + 1, 0).tolist()
    postal = draws.below("address.postal", 1 << 40, keys).tolist()
    return Addresses(
        line1=[place.line1(*part) for place, *part in zip(places, streets, numbers, strict=True)],
        line2=[place.line2(unit) for place, unit in zip(places, units, strict=True)],
        city=[place.city.native if place.native else place.city.name for place in places],
        region=[place.city.region for place in places],
        postal=[place.postal(digits) for place, digits in zip(places, postal, strict=True)],
    )


def _place(country: int, city: int, native: bool) -> _Place:
    return _places()[country][native][city % len(COUNTRIES[country].cities)]


@cache
def _places() -> list[tuple[list[_Place], list[_Place]]]:
    return [(_written(country, native=False), _written(country, native=True)) for country in COUNTRIES]


def _written(country: Country, *, native: bool) -> list[_Place]:
    own = native and country.street in NATIVE
    habit = (NATIVE if own else LATIN)[country.street]
    return [_Place(habit=habit, native=own, city=city, country=country) for city in country.cities]


def _filled(template: str, digits: int) -> str:
    """Replace each 9 by a digit and each A by a letter, taken from `digits` from its low end."""
    text = ""
    for sign in template:
        if sign == "9":
            digits, digit = divmod(digits, 10)
            text += str(digit)
        elif sign == "A":
            digits, letter = divmod(digits, len(_POSTAL_LETTERS))
            text += _POSTAL_LETTERS[letter]
        else:
            text += sign
    return text
