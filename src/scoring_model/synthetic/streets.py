"""Spelling of addresses: street names and the position of the number, by country."""

from collections.abc import Mapping
from dataclasses import dataclass


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


def _habit(pattern: str, unit: str, streets: str) -> Habit:
    return Habit(pattern=pattern, unit=unit, streets=tuple(streets.split(", ")))


LATIN: Mapping[str, Habit] = {
    "english": _habit(
        "{number} {street}",
        "Flat {unit}",
        "High Street, Station Road, Church Lane, Park Avenue, Victoria Road, Mill Lane, Main "
        "Street, Oak Drive, "
        "Maple Avenue, Queen's Road, The Crescent, Springfield Road, Second Avenue, Kings Court, Elm Street",
    ),
    "german": _habit(
        "{street} {number}",
        "Wohnung {unit}",
        "Hauptstraße, Schulstraße, Gartenstraße, Bahnhofstraße, Dorfstraße, Bergstraße, "
        "Goethestraße, Lindenweg, "
        "Am Markt, Schillerplatz, Mühlenweg, Kirchgasse, Beethovenstraße, Birkenallee",
    ),
    "french": _habit(
        "{number} {street}",
        "Appt {unit}",
        "rue de la République, rue Victor Hugo, avenue Jean Jaurès, rue de l'Église, place de la Mairie, "
        "boulevard Gambetta, rue des Écoles, chemin du Moulin, impasse des Lilas, rue du Général Leclerc",
    ),
    "spanish": _habit(
        "{street} {number}",
        "Piso {unit}",
        "Calle Mayor, Calle Real, Avenida de la Constitución, Calle del Sol, Plaza de España, Paseo "
        "del Prado, "
        "Calle San José, Avenida Juárez, Calle Morelos, Carrera Séptima, Calle Santa Fe",
    ),
    "portuguese": _habit(
        "{street}, {number}",
        "Apto {unit}",
        "Rua Direita, Rua da Igreja, Avenida da Liberdade, Rua São João, Rua das Flores, Travessa do Carmo, "
        "Avenida Brasil, Rua Sete de Setembro, Praça da República",
    ),
    "italian": _habit(
        "{street} {number}",
        "Interno {unit}",
        "Via Roma, Via Garibaldi, Corso Italia, Piazza Dante, Via Mazzini, Viale della Libertà, Via Verdi, "
        "Via Cavour, Largo Augusto",
    ),
    "dutch": _habit(
        "{street} {number}",
        "App. {unit}",
        "Kerkstraat, Schoolstraat, Molenweg, Dorpsstraat, Beatrixlaan, Wilhelminastraat, Julianaplein, "
        "Stationsweg, Prinsengracht",
    ),
    "polish": _habit(
        "ul. {street} {number}",
        "m. {unit}",
        "Polna, Leśna, Słoneczna, Krótka, Szkolna, Ogrodowa, Lipowa, Brzozowa, Łąkowa, Kościuszki, "
        "Mickiewicza",
    ),
    "czech": _habit(
        "{street} {number}",
        "byt {unit}",
        "Nádražní, Školní, Zahradní, Dlouhá, Husova, Komenského, Krátká, Palackého, Na Vyhlídce, Tyršova",
    ),
    "nordic": _habit(
        "{street} {number}",
        "lgh {unit}",
        "Storgatan, Kungsgatan, Skolvägen, Kirkeveien, Strandvejen, Nørregade, Björkvägen, "
        "Sjövägen, Åsgatan, "
        "Mannerheimintie",
    ),
    "hungarian": _habit(
        "{street} {number}.",
        "{unit}. ajtó",
        "Kossuth Lajos utca, Petőfi Sándor utca, Rákóczi út, Fő utca, Dózsa György út, Béke tér, Árpád utca",
    ),
    "romanian": _habit(
        "{street} nr. {number}",
        "ap. {unit}",
        "Strada Mihai Eminescu, Bulevardul Unirii, Strada Libertății, Strada Școlii, Calea Victoriei, "
        "Strada Păcii, Strada Trandafirilor",
    ),
    "turkish": _habit(
        "{street} No:{number}",
        "Daire {unit}",
        "Atatürk Caddesi, Cumhuriyet Caddesi, İnönü Sokak, Gül Sokak, Çiçek Sokak, Bağdat Caddesi, "
        "Okul Sokak",
    ),
    "greek": _habit(
        "{street} {number}", "", "Ermou, Athinas, Stadiou, Tsimiski, Patision, Egnatia, Venizelou"
    ),
    "ukrainian": _habit(
        "{street}, {number}",
        "kv. {unit}",
        "vul. Shevchenka, vul. Franka, vul. Sadova, prosp. Svobody, vul. Hrushevskoho, vul. Lisova, "
        "vul. Zelena",
    ),
    "bulgarian": _habit(
        "{street} {number}",
        "ap. {unit}",
        "ul. Vitosha, bul. Levski, ul. Rakovski, ul. Ivan Vazov, bul. Bulgaria, ul. Shipka",
    ),
    "russian": _habit(
        "{street}, {number}",
        "kv. {unit}",
        "ul. Lenina, ul. Sadovaya, prosp. Mira, ul. Pushkina, ul. Lesnaya, ul. Novaya, ul. Gagarina",
    ),
    "arabic": _habit(
        "{number} {street}",
        "Apt {unit}",
        "Tahrir Street, Nile Street, Al Wahda Street, King Faisal Street, Al Nasr Road, Corniche Road",
    ),
    "indian": _habit(
        "{number}, {street}",
        "Flat {unit}",
        "M.G. Road, Nehru Nagar, Gandhi Marg, Station Road, Lajpat Nagar, Shivaji Road, Sector 12, "
        "Rajaji Street",
    ),
    "chinese": _habit(
        "No. {number}, {street}",
        "Room {unit}",
        "Zhongshan Road, Renmin Road, Jiefang Road, Jianguo Road, Heping Road, Zhongzheng Road, "
        "Xinhua Street",
    ),
    "japanese": _habit(
        "{number} {street}", "#{unit}", "Jinnan, Sakae-cho, Honcho, Ginza, Namba, Odori, Midorigaoka"
    ),
    "korean": _habit(
        "{number}, {street}",
        "{unit}-ho",
        "Teheran-ro, Sejong-daero, Gangnam-daero, Haeundae-ro, Jong-ro, Toegye-ro",
    ),
    "vietnamese": _habit(
        "{number} {street}",
        "P. {unit}",
        "đường Lê Lợi, đường Trần Hưng Đạo, phố Hàng Bông, đường Nguyễn Huệ, đường Hai Bà Trưng, phố Huế",
    ),
}
"""Habits in Latin letters."""

NATIVE: Mapping[str, Habit] = {
    "greek": _habit(
        "{street} {number}", "", "Ερμού, Αθηνάς, Σταδίου, Τσιμισκή, Πατησίων, Εγνατία, Βενιζέλου"
    ),
    "ukrainian": _habit(
        "{street}, {number}",
        "кв. {unit}",
        "вул. Шевченка, вул. Франка, вул. Садова, просп. Свободи, вул. Грушевського, вул. Лісова, "
        "вул. Зелена",
    ),
    "bulgarian": _habit(
        "{street} {number}",
        "ап. {unit}",
        "ул. Витоша, бул. Левски, ул. Раковски, ул. Иван Вазов, бул. България, ул. Шипка",
    ),
    "russian": _habit(
        "{street}, {number}",
        "кв. {unit}",
        "ул. Ленина, ул. Садовая, просп. Мира, ул. Пушкина, ул. Лесная, ул. Новая, ул. Гагарина",
    ),
    "arabic": _habit(
        "{number} {street}",
        "شقة {unit}",
        "شارع التحرير, شارع النيل, شارع الوحدة, شارع الملك فيصل, طريق النصر, طريق الكورنيش",
    ),
    "indian": _habit(
        "{number}, {street}",
        "फ्लैट {unit}",
        "एम.जी. रोड, नेहरू नगर, गांधी मार्ग, स्टेशन रोड, लाजपत नगर, शिवाजी रोड, सेक्टर 12, राजाजी स्ट्रीट",
    ),
    "chinese": _habit(
        "{street}{number}号", "{unit}室", "中山路, 人民路, 解放路, 建国路, 和平路, 中正路, 新华街"
    ),
    "japanese": _habit("{street}{number}番地", "{unit}号室", "神南, 栄町, 本町, 銀座, 難波, 大通, 緑ヶ丘"),
    "korean": _habit("{street} {number}", "{unit}호", "테헤란로, 세종대로, 강남대로, 해운대로, 종로, 퇴계로"),
}
"""Habits in the country's own script, for those that have one; in the order of `LATIN`."""
