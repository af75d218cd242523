"""Countries of invented people with their weight, culture, cities and postal codes."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class City:
    """A city: name in Latin letters and as written at home, region, first characters of its postal codes."""

    name: str
    native: str
    region: str
    postal: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Country:
    """A country of the population.

    Parameters
    ----------
    code : str
        ISO 3166-1 alpha-2.
    culture : str
        Key of the name stocks.
    street : str
        Key of the street habits.
    weight : float
        Share of the population, up to the common sum.
    postal : str or None
        What follows the city's first characters: `9` is a digit, `A` a letter. None where there are no codes.
    """

    code: str
    culture: str
    street: str
    weight: float
    postal: str | None
    cities: tuple[City, ...]


_TABLE = """
GB | english | english | 14 | 9_9AA | London/England/SW, Leeds/England/LS, Cardiff/Wales/CF
US | english | english | 14 | 99 | New York/NY/100, Chicago/IL/606, Austin/TX/787, Fresno/CA/937
IE | english | english | 2 | _A9A9 | Dublin/Leinster/D02, Cork/Munster/T12, Galway/Connacht/H91
AU | english | english | 3 | 99 | Sydney/NSW/20, Melbourne/VIC/30, Perth/WA/60
CA | english | english | 3 | 9A_9A9 | Toronto/ON/M, Montréal/QC/H, Vancouver/BC/V
NZ | english | english | 1 | 99 | Auckland/Auckland/10, Wellington/Wellington/60
DE | german | german | 11 | 999 | Berlin/Berlin/10, München/Bayern/80, Köln/Nordrhein-Westfalen/50
AT | german | german | 2 | 99 | Wien/Wien/10, Graz/Steiermark/80, Linz/Oberösterreich/40
CH | german | german | 2 | 99 | Zürich/ZH/80, Bern/BE/30, Basel/BS/40
FR | french | french | 8 | 99 | Paris/Île-de-France/750, Lyon/Rhône/690, Nîmes/Gard/300
BE | french | french | 2 | 99 | Bruxelles/Bruxelles/10, Liège/Wallonie/40, Namur/Wallonie/50
NL | dutch | dutch | 4 | 99_AA | Amsterdam/Noord-Holland/10, Utrecht/Utrecht/35, Breda/Brabant/48
ES | spanish | spanish | 5 | 999 | Madrid/Madrid/28, Málaga/Andalucía/29, A Coruña/Galicia/15
MX | spanish | spanish | 3 | 999 | Ciudad de México/CDMX/06, Mérida/Yucatán/97, León/Guanajuato/37
AR | spanish | spanish | 2 | 99AAA | Buenos Aires/CABA/C14, Córdoba/Córdoba/X50
CO | spanish | spanish | 2 | 999 | Bogotá/Cundinamarca/110, Medellín/Antioquia/050
PT | portuguese | portuguese | 2 | 99-999 | Lisboa/Lisboa/10, Porto/Porto/40, Évora/Alentejo/70
BR | portuguese | portuguese | 4 | 99-999 | São Paulo/SP/010, Brasília/DF/700, Salvador/BA/400
IT | italian | italian | 5 | 99 | Roma/Lazio/001, Milano/Lombardia/201, Napoli/Campania/801
PL | polish | polish | 4 | 9-999 | Warszawa/Mazowieckie/0, Łódź/Łódzkie/9, Kraków/Małopolskie/3
CZ | czech | czech | 2 | 9_99 | Praha/Praha/11, Brno/Jihomoravský/60, Plzeň/Plzeňský/30
SE | nordic | nordic | 2 | 9_99 | Stockholm/Stockholm/11, Göteborg/Västra Götaland/41
NO | nordic | nordic | 1 | 99 | Oslo/Oslo/01, Tromsø/Troms/90, Bergen/Vestland/50
DK | nordic | nordic | 1 | 99 | København/Hovedstaden/21, Aarhus/Midtjylland/80
FI | finnish | nordic | 1 | 999 | Helsinki/Uusimaa/00, Jyväskylä/Keski-Suomi/40
HU | hungarian | hungarian | 1 | 99 | Budapest/Budapest/10, Győr/Győr-Moson-Sopron/90
RO | romanian | romanian | 2 | 999 | București/București/010, Iași/Iași/700, Brașov/Brașov/500
TR | turkish | turkish | 3 | 999 | İstanbul/İstanbul/34, Ankara/Ankara/06, İzmir/İzmir/35
GR | greek | greek | 2 | 9_99 | Athens=Αθήνα/Attica/10, Thessaloniki=Θεσσαλονίκη/Macedonia/54
UA | ukrainian | ukrainian | 2 | 999 | Kyiv=Київ/Kyiv/01, Lviv=Львів/Lviv/79, Odesa=Одеса/Odesa/65
BG | bulgarian | bulgarian | 1 | 99 | Sofia=София/Sofia/10, Plovdiv=Пловдив/Plovdiv/40
RU | russian | russian | 1 | 999 | Moscow=Москва/Moscow/101, Kazan=Казань/Tatarstan/420
EG | arabic | arabic | 2 | 999 | Cairo=القاهرة/Cairo/11, Alexandria=الإسكندرية/Alexandria/21
AE | arabic | arabic | 2 |  | Dubai=دبي/Dubai/, Abu Dhabi=أبو ظبي/Abu Dhabi/
IN | indian | indian | 5 | 999 | Delhi=दिल्ली/Delhi/110, Mumbai=मुंबई/Maharashtra/400, Pune=पुणे/Maharashtra/411
CN | chinese | chinese | 2 | 999 | Beijing=北京/Beijing/100, Shanghai=上海/Shanghai/200
TW | chinese | chinese | 1 | 99 | Taipei=臺北/Taipei/100, Tainan=臺南/Tainan/700
JP | japanese | japanese | 3 | -9999 | Tokyo=東京/Tokyo/100, Osaka=大阪/Osaka/530, Sapporo=札幌/Hokkaido/060
KR | korean | korean | 2 | 999 | Seoul=서울/Seoul/03, Busan=부산/Busan/48
VN | vietnamese | vietnamese | 1 | 999 | Hà Nội/Hà Nội/10, Đà Nẵng/Đà Nẵng/50
NG | nigerian | english | 2 | 999 | Lagos/Lagos/100, Kano/Kano/700, Abuja/FCT/900
KE | kenyan | english | 1 | 99 | Nairobi/Nairobi/001, Mombasa/Mombasa/801
NA | namibian | english | 1 | 99 | Windhoek/Khomas/100, Swakopmund/Erongo/130
ZA | southern | english | 2 | 99 | Johannesburg/Gauteng/20, Cape Town/Western Cape/80
"""
"""Code, culture, street habits, weight, postal code (_ is a blank), and cities: name[=at home]/region/postal code."""


def _country(line: str) -> Country:
    code, culture, street, weight, postal, cities = (cell.strip() for cell in line.split("|"))
    return Country(
        code=code,
        culture=culture,
        street=street,
        weight=float(weight),
        postal=postal.replace("_", " ") or None,
        cities=tuple(_city(text) for text in cities.split(", ")),
    )


def _city(text: str) -> City:
    name, region, postal = text.split("/")
    latin, _, native = name.partition("=")
    return City(name=latin, native=native or latin, region=region, postal=postal)


COUNTRIES = tuple(_country(line) for line in _TABLE.strip().splitlines())
"""The countries, in a fixed order: a position in it is a country's number everywhere in this package."""

CODES = tuple(country.code for country in COUNTRIES)
WEIGHTS = tuple(country.weight for country in COUNTRIES)
