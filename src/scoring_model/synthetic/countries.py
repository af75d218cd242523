"""Countries of invented people: 37 countries with their weight, culture, cities and postal codes."""

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


def _city(text: str) -> City:
    name, region, postal = text.split("/")
    latin, _, native = name.partition("=")
    return City(name=latin, native=native or latin, region=region, postal=postal)


def _country(code: str, culture: str, street: str, weight: float, postal: str | None, cities: str) -> Country:
    return Country(
        code=code,
        culture=culture,
        street=street,
        weight=weight,
        postal=postal,
        cities=tuple(_city(text) for text in cities.split(", ")),
    )


COUNTRIES = (
    _country(
        "GB", "english", "english", 14, "9 9AA", "London/England/SW, Leeds/England/LS, Cardiff/Wales/CF"
    ),
    _country(
        "US", "english", "english", 14, "99", "New York/NY/100, Chicago/IL/606, Austin/TX/787, Fresno/CA/937"
    ),
    _country(
        "IE", "english", "english", 2, " A9A9", "Dublin/Leinster/D02, Cork/Munster/T12, Galway/Connacht/H91"
    ),
    _country("AU", "english", "english", 3, "99", "Sydney/NSW/20, Melbourne/VIC/30, Perth/WA/60"),
    _country("CA", "english", "english", 3, "9A 9A9", "Toronto/ON/M, Montréal/QC/H, Vancouver/BC/V"),
    _country("NZ", "english", "english", 1, "99", "Auckland/Auckland/10, Wellington/Wellington/60"),
    _country(
        "DE",
        "german",
        "german",
        11,
        "999",
        "Berlin/Berlin/10, München/Bayern/80, Köln/Nordrhein-Westfalen/50",
    ),
    _country("AT", "german", "german", 2, "99", "Wien/Wien/10, Graz/Steiermark/80, Linz/Oberösterreich/40"),
    _country("CH", "german", "german", 2, "99", "Zürich/ZH/80, Bern/BE/30, Basel/BS/40"),
    _country("FR", "french", "french", 8, "99", "Paris/Île-de-France/750, Lyon/Rhône/690, Nîmes/Gard/300"),
    _country(
        "BE", "french", "french", 2, "99", "Bruxelles/Bruxelles/10, Liège/Wallonie/40, Namur/Wallonie/50"
    ),
    _country(
        "NL", "dutch", "dutch", 4, "99 AA", "Amsterdam/Noord-Holland/10, Utrecht/Utrecht/35, Breda/Brabant/48"
    ),
    _country(
        "ES", "spanish", "spanish", 5, "999", "Madrid/Madrid/28, Málaga/Andalucía/29, A Coruña/Galicia/15"
    ),
    _country(
        "MX",
        "spanish",
        "spanish",
        3,
        "999",
        "Ciudad de México/CDMX/06, Mérida/Yucatán/97, León/Guanajuato/37",
    ),
    _country("AR", "spanish", "spanish", 2, "99AAA", "Buenos Aires/CABA/C14, Córdoba/Córdoba/X50"),
    _country("CO", "spanish", "spanish", 2, "999", "Bogotá/Cundinamarca/110, Medellín/Antioquia/050"),
    _country(
        "PT", "portuguese", "portuguese", 2, "99-999", "Lisboa/Lisboa/10, Porto/Porto/40, Évora/Alentejo/70"
    ),
    _country(
        "BR", "portuguese", "portuguese", 4, "99-999", "São Paulo/SP/010, Brasília/DF/700, Salvador/BA/400"
    ),
    _country(
        "IT", "italian", "italian", 5, "99", "Roma/Lazio/001, Milano/Lombardia/201, Napoli/Campania/801"
    ),
    _country(
        "PL", "polish", "polish", 4, "9-999", "Warszawa/Mazowieckie/0, Łódź/Łódzkie/9, Kraków/Małopolskie/3"
    ),
    _country("CZ", "czech", "czech", 2, "9 99", "Praha/Praha/11, Brno/Jihomoravský/60, Plzeň/Plzeňský/30"),
    _country("SE", "nordic", "nordic", 2, "9 99", "Stockholm/Stockholm/11, Göteborg/Västra Götaland/41"),
    _country("NO", "nordic", "nordic", 1, "99", "Oslo/Oslo/01, Tromsø/Troms/90, Bergen/Vestland/50"),
    _country("DK", "nordic", "nordic", 1, "99", "København/Hovedstaden/21, Aarhus/Midtjylland/80"),
    _country("FI", "finnish", "nordic", 1, "999", "Helsinki/Uusimaa/00, Jyväskylä/Keski-Suomi/40"),
    _country("HU", "hungarian", "hungarian", 1, "99", "Budapest/Budapest/10, Győr/Győr-Moson-Sopron/90"),
    _country(
        "RO", "romanian", "romanian", 2, "999", "București/București/010, Iași/Iași/700, Brașov/Brașov/500"
    ),
    _country("TR", "turkish", "turkish", 3, "999", "İstanbul/İstanbul/34, Ankara/Ankara/06, İzmir/İzmir/35"),
    _country(
        "GR", "greek", "greek", 2, "9 99", "Athens=Αθήνα/Attica/10, Thessaloniki=Θεσσαλονίκη/Macedonia/54"
    ),
    _country(
        "UA",
        "ukrainian",
        "ukrainian",
        2,
        "999",
        "Kyiv=Київ/Kyiv/01, Lviv=Львів/Lviv/79, Odesa=Одеса/Odesa/65",
    ),
    _country("BG", "bulgarian", "bulgarian", 1, "99", "Sofia=София/Sofia/10, Plovdiv=Пловдив/Plovdiv/40"),
    _country("RU", "russian", "russian", 1, "999", "Moscow=Москва/Moscow/101, Kazan=Казань/Tatarstan/420"),
    _country(
        "EG", "arabic", "arabic", 2, "999", "Cairo=القاهرة/Cairo/11, Alexandria=الإسكندرية/Alexandria/21"
    ),
    _country("AE", "arabic", "arabic", 2, None, "Dubai=دبي/Dubai/, Abu Dhabi=أبو ظبي/Abu Dhabi/"),
    _country(
        "IN",
        "indian",
        "indian",
        5,
        "999",
        "Delhi=दिल्ली/Delhi/110, Mumbai=मुंबई/Maharashtra/400, Pune=पुणे/Maharashtra/411",
    ),
    _country("CN", "chinese", "chinese", 2, "999", "Beijing=北京/Beijing/100, Shanghai=上海/Shanghai/200"),
    _country("TW", "chinese", "chinese", 1, "99", "Taipei=臺北/Taipei/100, Tainan=臺南/Tainan/700"),
    _country(
        "JP",
        "japanese",
        "japanese",
        3,
        "-9999",
        "Tokyo=東京/Tokyo/100, Osaka=大阪/Osaka/530, Sapporo=札幌/Hokkaido/060",
    ),
    _country("KR", "korean", "korean", 2, "999", "Seoul=서울/Seoul/03, Busan=부산/Busan/48"),
    _country("VN", "vietnamese", "vietnamese", 1, "999", "Hà Nội/Hà Nội/10, Đà Nẵng/Đà Nẵng/50"),
    _country("NG", "nigerian", "english", 2, "999", "Lagos/Lagos/100, Kano/Kano/700, Abuja/FCT/900"),
    _country("KE", "kenyan", "english", 1, "99", "Nairobi/Nairobi/001, Mombasa/Mombasa/801"),
    _country("NA", "namibian", "english", 1, "99", "Windhoek/Khomas/100, Swakopmund/Erongo/130"),
    _country("ZA", "southern", "english", 2, "99", "Johannesburg/Gauteng/20, Cape Town/Western Cape/80"),
)
"""The countries, in a fixed order: a position in it is a country's number everywhere in this package."""

CODES = tuple(country.code for country in COUNTRIES)
WEIGHTS = tuple(country.weight for country in COUNTRIES)
