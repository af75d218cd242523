"""Converts country names and three-letter codes in files to two-letter codes.

The names are English, from the data set `datasets/country-codes` (PDDL 1.0), and for frequent countries those of
more languages, and words such as "French" for their citizens. Records hold only two-letter codes.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import Final

_LONGEST: Final = 100  # characters: normalising hostile text is slow
# Two letters, three letters, names.
_TABLE: Final = """
    AD AND Andorra | AE ARE United Arab Emirates | AF AFG Afghanistan | AG ATG Antigua & Barbuda | AI
    AIA Anguilla | AL ALB Albania | AM ARM Armenia | AO AGO Angola | AQ ATA Antarctica | AR ARG
    Argentina | AS ASM American Samoa | AT AUT Austria | AU AUS Australia | AW ABW Aruba | AX ALA Åland
    Islands | AZ AZE Azerbaijan | BA BIH Bosnia / Bosnia and Herzegovina | BB BRB Barbados | BD BGD
    Bangladesh | BE BEL Belgium | BF BFA Burkina Faso | BG BGR Bulgaria | BH BHR Bahrain | BI BDI
    Burundi | BJ BEN Benin | BL BLM St. Barthélemy | BM BMU Bermuda | BN BRN Brunei / Brunei Darussalam
    | BO BOL Bolivia / Bolivia (Plurinational State of) | BQ BES Caribbean Netherlands / Bonaire, Sint
    Eustatius and Saba | BR BRA Brazil | BS BHS Bahamas | BT BTN Bhutan | BV BVT Bouvet Island | BW BWA
    Botswana | BY BLR Belarus | BZ BLZ Belize | CA CAN Canada | CC CCK Cocos Islands / Cocos (Keeling)
    Islands | CD COD Congo - Kinshasa / Democratic Republic of the Congo | CF CAF Central African
    Republic | CG COG Congo - Brazzaville / Congo | CH CHE Switzerland | CI CIV Côte d'Ivoire / Ivory
    Coast | CK COK Cook Islands | CL CHL Chile | CM CMR Cameroon | CN CHN China | CO COL Colombia | CR
    CRI Costa Rica | CU CUB Cuba | CV CPV Cape Verde / Cabo Verde | CW CUW Curaçao | CX CXR Christmas
    Island | CY CYP Cyprus | CZ CZE Czechia / Czech Republic | DE DEU Germany | DJ DJI Djibouti | DK DNK
    Denmark | DM DMA Dominica | DO DOM Dominican Republic | DZ DZA Algeria | EC ECU Ecuador | EE EST
    Estonia | EG EGY Egypt | EH ESH Western Sahara | ER ERI Eritrea | ES ESP Spain | ET ETH Ethiopia |
    FI FIN Finland | FJ FJI Fiji | FK FLK Falkland Islands | FM FSM Micronesia / Micronesia (Federated
    States of) | FO FRO Faroe Islands | FR FRA France | GA GAB Gabon | GB GBR United Kingdom of Great
    Britain and Northern Ireland / United Kingdom / Great Britain / UK | GD GRD Grenada | GE GEO Georgia
    | GF GUF French Guiana | GG GGY Guernsey | GH GHA Ghana | GI GIB Gibraltar | GL GRL Greenland | GM
    GMB Gambia | GN GIN Guinea | GP GLP Guadeloupe | GQ GNQ Equatorial Guinea | GR GRC Greece | GS SGS
    South Georgia & South Sandwich Islands / South Georgia and the South Sandwich Islands | GT GTM
    Guatemala | GU GUM Guam | GW GNB Guinea-Bissau | GY GUY Guyana | HK HKG Hong Kong / China, Hong Kong
    Special Administrative Region | HM HMD Heard & McDonald Islands / Heard Island and McDonald Islands
    | HN HND Honduras | HR HRV Croatia | HT HTI Haiti | HU HUN Hungary | ID IDN Indonesia | IE IRL
    Ireland | IL ISR Israel | IM IMN Isle of Man | IN IND India | IO IOT British Indian Ocean Territory
    | IQ IRQ Iraq | IR IRN Iran / Iran (Islamic Republic of) | IS ISL Iceland | IT ITA Italy | JE JEY
    Jersey | JM JAM Jamaica | JO JOR Jordan | JP JPN Japan | KE KEN Kenya | KG KGZ Kyrgyzstan | KH KHM
    Cambodia | KI KIR Kiribati | KM COM Comoros | KN KNA St. Kitts & Nevis | KP PRK North Korea /
    Democratic People's Republic of Korea | KR KOR South Korea / Republic of Korea | KW KWT Kuwait | KY
    CYM Cayman Islands | KZ KAZ Kazakhstan | LA LAO Laos / Lao People's Democratic Republic | LB LBN
    Lebanon | LC LCA St. Lucia | LI LIE Liechtenstein | LK LKA Sri Lanka | LR LBR Liberia | LS LSO
    Lesotho | LT LTU Lithuania | LU LUX Luxembourg | LV LVA Latvia | LY LBY Libya | MA MAR Morocco | MC
    MCO Monaco | MD MDA Moldova / Republic of Moldova | ME MNE Montenegro | MF MAF St. Martin / Saint
    Martin (French Part) | MG MDG Madagascar | MH MHL Marshall Islands | MK MKD North Macedonia | ML MLI
    Mali | MM MMR Myanmar | MN MNG Mongolia | MO MAC Macao / China, Macao Special Administrative Region
    | MP MNP Northern Mariana Islands | MQ MTQ Martinique | MR MRT Mauritania | MS MSR Montserrat | MT
    MLT Malta | MU MUS Mauritius | MV MDV Maldives | MW MWI Malawi | MX MEX Mexico | MY MYS Malaysia |
    MZ MOZ Mozambique | NA NAM Namibia | NC NCL New Caledonia | NE NER Niger | NF NFK Norfolk Island |
    NG NGA Nigeria | NI NIC Nicaragua | NL NLD Netherlands / Holland | NO NOR Norway | NP NPL Nepal | NR
    NRU Nauru | NU NIU Niue | NZ NZL New Zealand | OM OMN Oman | PA PAN Panama | PE PER Peru | PF PYF
    French Polynesia | PG PNG Papua New Guinea | PH PHL Philippines | PK PAK Pakistan | PL POL Poland |
    PM SPM St. Pierre & Miquelon | PN PCN Pitcairn | PR PRI Puerto Rico | PS PSE Palestine / State of
    Palestine | PT PRT Portugal | PW PLW Palau | PY PRY Paraguay | QA QAT Qatar | RE REU Réunion | RO
    ROU Romania | RS SRB Serbia | RU RUS Russia / Russian Federation | RW RWA Rwanda | SA SAU Saudi
    Arabia | SB SLB Solomon Islands | SC SYC Seychelles | SD SDN Sudan | SE SWE Sweden | SG SGP
    Singapore | SH SHN St. Helena | SI SVN Slovenia | SJ SJM Svalbard & Jan Mayen / Svalbard and Jan
    Mayen Islands | SK SVK Slovakia | SL SLE Sierra Leone | SM SMR San Marino | SN SEN Senegal | SO SOM
    Somalia | SR SUR Suriname | SS SSD South Sudan | ST STP São Tomé & Príncipe / Sao Tome and Principe
    | SV SLV El Salvador | SX SXM Sint Maarten / Sint Maarten (Dutch part) | SY SYR Syria / Syrian Arab
    Republic | SZ SWZ Eswatini | TC TCA Turks & Caicos Islands | TD TCD Chad | TF ATF French Southern
    Territories | TG TGO Togo | TH THA Thailand | TJ TJK Tajikistan | TK TKL Tokelau | TL TLS
    Timor-Leste | TM TKM Turkmenistan | TN TUN Tunisia | TO TON Tonga | TR TUR Türkiye / Turkey | TT TTO
    Trinidad & Tobago | TV TUV Tuvalu | TW TWN Taiwan | TZ TZA Tanzania / United Republic of Tanzania |
    UA UKR Ukraine | UG UGA Uganda | UM UMI U.S. Outlying Islands / United States Minor Outlying Islands
    | US USA United States of America / United States | UY URY Uruguay | UZ UZB Uzbekistan | VA VAT
    Vatican City / Holy See | VC VCT St. Vincent & Grenadines / Saint Vincent and the Grenadines | VE
    VEN Venezuela / Venezuela (Bolivarian Republic of) | VG VGB British Virgin Islands | VI VIR U.S.
    Virgin Islands / United States Virgin Islands | VN VNM Vietnam / Viet Nam | VU VUT Vanuatu | WF WLF
    Wallis & Futuna / Wallis and Futuna Islands | WS WSM Samoa | YE YEM Yemen | YT MYT Mayotte | ZA ZAF
    South Africa | ZM ZMB Zambia | ZW ZWE Zimbabwe
"""

_ELSEWHERE: Final = """
    AT Österreich / Autriche / Austria / Áustria / Oostenrijk / Österrike | BE Belgien / Belgique / Bélgica
    / Belgio / België / Belgia | BG Bulgarien / Bulgarie / Bulgaria / Bulgária / Bulgarije / Bułgaria | BR
    Brasilien / Brésil / Brasil / Brasile / Brazilië / Brazylia | CA Kanada / Canada / Canadá | CH Schweiz /
    Suisse / Suiza / Svizzera / Suíça / Zwitserland / Szwajcaria | CN China / Chine / Cina / Chiny / Kina |
    CZ Tschechien / Tchéquie / Chequia / Cechia / Chéquia / Tsjechië / Czechy / Tjeckien | DE Deutschland /
    Allemagne / Alemania / Germania / Alemanha / Duitsland / Niemcy / Tyskland | DK Dänemark / Danemark /
    Dinamarca / Danimarca / Denemarken / Dania / Danmark | EE Estland / Estonie / Estonia / Estónia | ES
    Spanien / Espagne / España / Spagna / Espanha / Spanje / Hiszpania | FI Finnland / Finlande / Finlandia
    / Finlândia / Finland | FR Frankreich / France / Francia / França / Frankrijk / Francja / Frankrike | GB
    Vereinigtes Königreich / Großbritannien / Royaume-Uni / Reino Unido / Regno Unito / Verenigd Koninkrijk
    / Wielka Brytania / Zjednoczone Królestwo / Storbritannien | GR Griechenland / Grèce / Grecia / Grécia /
    Griekenland / Grecja / Grekland | HR Kroatien / Croatie / Croacia / Croazia / Croácia / Kroatië /
    Chorwacja | HU Ungarn / Hongrie / Hungría / Ungheria / Hungria / Hongarije / Węgry / Ungern | IE Irland
    / Irlande / Irlanda / Ierland / Irlandia | IN Indien / Inde / India / Índia / Indie | IT Italien /
    Italie / Italia / Itália / Italië / Włochy | JP Japan / Japon / Japón / Giappone / Japão / Japonia | LT
    Litauen / Lituanie / Lituania / Lituânia / Litouwen / Litwa | LU Luxemburg / Luxembourg / Luxemburgo /
    Lussemburgo / Luksemburg | LV Lettland / Lettonie / Letonia / Lettonia / Letónia / Letland / Łotwa | MA
    Marokko / Maroc / Marruecos / Marocco / Marrocos / Maroko / Marocko | MX Mexiko / Mexique / México /
    Messico / Mexico / Meksyk | NL Niederlande / Pays-Bas / Países Bajos / Paesi Bassi / Países Baixos /
    Nederland / Holandia / Niderlandy / Nederländerna | NO Norwegen / Norvège / Noruega / Norvegia /
    Noorwegen / Norwegia / Norge | PL Polen / Pologne / Polonia / Polónia / Polônia / Polska | PT Portugal /
    Portogallo / Portugalia | RO Rumänien / Roumanie / Rumania / Rumanía / Romania / Roménia / Romênia /
    Roemenië / Rumunia | RS Serbien / Serbie / Serbia / Sérvia / Servië | RU Russland / Russie / Rusia /
    Russia / Rússia / Rusland / Rosja / Ryssland | SE Schweden / Suède / Suecia / Svezia / Suécia / Zweden /
    Szwecja / Sverige | SI Slowenien / Slovénie / Eslovenia / Slovenia / Eslovénia / Slovenië / Słowenia /
    Slovenien | SK Slowakei / Slovaquie / Eslovaquia / Slovacchia / Eslováquia / Slowakije / Słowacja /
    Slovakien | TR Türkei / Turquie / Turquía / Turchia / Turquia / Turkije / Turcja / Turkiet | UA Ukraine
    / Ucrania / Ucraina / Ucrânia / Oekraïne / Ukraina | US Vereinigte Staaten / USA / États-Unis / Estados
    Unidos / Stati Uniti / Verenigde Staten / Stany Zjednoczone | DZ Algerien / Algérie / Argelia / Argélia /
    Algerije / Algieria / Algeriet | TN Tunesien / Tunisie / Túnez / Tunísia / Tunesië / Tunezja / Tunisien | EG
    Ägypten / Égypte / Egipto / Egitto / Egito / Egypte / Egipt / Egypten | SY Syrien / Syrie / Siria / Síria / Syrië
    | IQ Irak / Iraque | AF Afganistán / Afghanistan / Afeganistão / Afganistan | PK Pakistán / Paquistão | LB Libanon
    / Liban / Líbano / Libano | CM Kamerun / Cameroun / Camerún / Camerun / Camarões / Kameroen | CI Elfenbeinküste /
    Côte d'Ivoire / Costa de Marfil / Costa d'Avorio / Costa do Marfim / Ivoorkust | SN Sénégal / Senegal | CO
    Kolumbien / Colombie / Kolumbia | AR Argentinien / Argentine / Argentinië / Argentyna | PE Pérou / Perù / Perú |
    PH Philippinen / Philippines / Filipinas / Filippine / Filipijnen / Filipiny / Filippinerna | AL Albanien /
    Albanie / Albania / Albanië | BA Bosnien und Herzegowina / Bosnien / Bosnie-Herzégovine / Bosnia / Bosnië | MD
    Moldawien / Moldavie / Moldavia / Moldávia / Moldavië / Mołdawia | VN Viêt Nam / Vietnam / Wietnam | EC Équateur /
    Ecuador / Equador | VE Venezuela | NG Nigéria / Nigeria | GE Georgien / Géorgie / Georgia / Geórgia / Gruzja | CY
    Zypern / Chypre / Chipre / Cipro / Cypr / Cypern | MT Malte / Malta | BY Weißrussland / Biélorussie / Bielorrusia
    / Bielorussia / Bielorrússia / Białoruś | AT Østrig / Østerrike | FR Frankrig | GR Grækenland / Hellas | TR Tyrkiet
    / Tyrkia | CZ Tjekkiet / Tsjekkia | CH Sveits | ES Spania | NL Nederlandene | SK Slovakiet / Slovakia | HR Kroatia
    | RO Rumænien | RU Russland | LV Letland / Latvia | LT Litauen | DE Tyskland | GB Storbritannia | HU
    Ungarn | PL Polen | AT Rakousko / Rakúsko / Itävalta / Ausztria / Avusturya | AZ Azerbaycan | BE Belgie / Belgicko
    | BG Bulharsko / Bulgaristan | BR Brasilia | BY Bělorusko / Bielorusko / Valko-Venäjä | CH Švýcarsko / Švajčiarsko /
    Sveitsi / Svájc / Elveția | CN Čína / Kiina / Kína | CZ Česko / Česká republika / Tšekki / Csehország / Cehia | DE
    Německo / Nemecko / Saksa / Németország / Almanya | DK Dánsko / Tanska | EE Estonsko / Viro | EG Mısır | ES
    Španělsko / Španielsko / Espanja / Spanyolország | FI Suomi / Finsko | FR Francie / Francúzsko / Ranska /
    Franciaország / Franța / Fransa | GB Velká Británie / Veľká Británia / Spojené království / Iso-Britannia / Egyesült
    Királyság / Marea Britanie / Regatul Unit / İngiltere / Birleşik Krallık | GE Gruzie / Gruzínsko / Gürcistan | GR
    Řecko / Grécko / Kreikka / Görögország / Yunanistan | HR Chorvatsko / Horvátország / Croația / Hrvatska | HU
    Maďarsko / Magyarország / Unkari / Ungaria | IE Irsko / Írsko / Irlanti | IN Intia | IT Itálie / Taliansko /
    Olaszország | LT Litva / Liettua | LV Lotyšsko | MD Moldavsko / Republica Moldova | NL Nizozemsko /
    Holandsko / Alankomaat / Hollandia / Olanda / Țările de Jos / Hollanda | NO Norsko / Nórsko / Norja | PH Filippiinit
    | PL Polsko / Poľsko / Puola / Lengyelország | PT Portugalsko / Portugali | RO Rumunsko / Románia / România | RS
    Srbsko / Szerbia / Srbija | RU Rusko / Venäjä / Oroszország / Rusya | SE Švédsko / Ruotsi / Svédország | SI
    Slovinsko / Szlovénia / Slovenija | SK Slovensko / Szlovákia / Slovacia | SY Syyria / Suriye | TH Thaimaa | TR
    Turecko / Turkki / Törökország / Turcia | UA Ukrajina / Ukrajna / Ukrayna | US Spojené státy / Spojené štáty /
    Yhdysvallat / Egyesült Államok / Statele Unite / ABD
"""
"""Names in German, French, Spanish, Italian, Portuguese, Dutch, Polish, Czech, Slovak, Finnish, Hungarian, Romanian,
Turkish and the languages of Scandinavia."""

_FARTHER: Final = """
    AL Albanija / Албанија / Albaania / Албания / Албанія / Αλβανία / アルバニア / 阿尔巴尼亚 / 阿爾巴尼亞 /
    알바니아 / ألبانيا / אלבניה | AT Austrija / Avstrija / Аустрија / Австрия / Австрія / Αυστρία /
    オーストリア / 奥地利 / 奧地利 / 오스트리아 / النمسا / אוסטריה / Áo | AU Australija / Avstralija /
    Аустралија / Austraalia / Австралия / Австралія / Αυστραλία / オーストラリア / 澳大利亚 / 澳洲 /
    오스트레일리아 / أستراليا / אוסטרליה / Úc | BA Bosna i Hercegovina / Bosna in Hercegovina / Босна и
    Херцеговина / Bosnija ir Hercegovina / Bosnija un Hercegovina / Bosnia ja Hertsegoviina / Босния и
    Герцеговина / Боснія і Герцеговина / Βοσνία - Ερζεγοβίνη / ボスニア・ヘルツェゴビナ / 波斯尼亚和黑塞哥维那
    / 波士尼亞與赫塞哥維納 / 보스니아 헤르체고비나 / البوسنة والهرسك / בוסניה והרצגובינה / Bosnia và
    Herzegovina / Bosnia dan Herzegovina | BD Bangladeš / Бангладеш / Bangladešas / Bangladeša / Μπανγκλαντές
    / バングラデシュ / 孟加拉国 / 孟加拉 / 방글라데시 / بنغلاديش / בנגלדש | BE Belgija / Белгија / Бельгия /
    Бельгія / Белгия / Βέλγιο / ベルギー / 比利时 / 比利時 / 벨기에 / بلجيكا / בלגיה / Bỉ | BG Bugarska /
    Bolgarija / Бугарска / Bulgarija / Bulgaaria / Болгария / Болгарія / България / Βουλγαρία / ブルガリア /
    保加利亚 / 保加利亞 / 불가리아 / بلغاريا / בולגריה | BR Brazilija / Бразил / Brasiilia / Бразилия /
    Бразилія / Βραζιλία / ブラジル / 巴西 / 브라질 / البرازيل / ברזיל | BY Bjelorusija / Belorusija /
    Белорусија / Baltarusija / Baltkrievija / Valgevene / Беларусь / Білорусь / Беларус / Λευκορωσία /
    ベラルーシ / 白俄罗斯 / 白俄羅斯 / 벨라루스 / بيلاروس / בלארוס / Белоруссия | CA Канада / Καναδάς / カナダ
    / 加拿大 / 캐나다 / كندا / קנדה | CH Švicarska / Švica / Швајцарска / Šveicarija / Šveice / Швейцария /
    Швейцарія / Ελβετία / スイス / 瑞士 / 스위스 / سويسرا / שווייץ / Thụy Sĩ | CN Kitajska / Кина / Kinija /
    Hiina / Китай / Κίνα / 中国 / 中國 / 중국 / الصين / סין / Trung Quốc / Tiongkok | CZ Češka / Чешка /
    Čekija / Čehija / Tšehhi / Чехия / Чехія / Τσεχία / チェコ / 捷克 / 체코 / التشيك / צ׳כיה / Séc / Ceko |
    DE Njemačka / Nemčija / Немачка / Vokietija / Vācija / Saksamaa / Германия / Німеччина / Γερμανία / ドイツ
    / 德国 / 德國 / 독일 / ألمانيا / גרמניה / Đức / Jerman | DK Danska / Данска / Danija / Taani / Дания /
    Данія / Δανία / デンマーク / 丹麦 / 丹麥 / 덴마크 / الدانمرك / דנמרק / Đan Mạch | DZ Alžir / Alžirija /
    Алжир / Alžyras / Alžeeria / Αλγερία / アルジェリア / 阿尔及利亚 / 阿爾及利亞 / 알제리 / الجزائر /
    אלג׳יריה / Aljazair | EE Estonija / Естонија / Estija / Igaunija / Eesti / Эстония / Естонія / Естония /
    Εσθονία / エストニア / 爱沙尼亚 / 愛沙尼亞 / 에스토니아 / إستونيا / אסטוניה | EG Egipat / Египат / Egiptas
    / Ēģipte / Egiptus / Египет / Єгипет / Αίγυπτος / エジプト / 埃及 / 이집트 / مصر / מצרים / Ai Cập / Mesir
    | ES Španjolska / Španija / Шпанија / Ispanija / Hispaania / Испания / Іспанія / Ισπανία / スペイン /
    西班牙 / 스페인 / إسبانيا / ספרד / Tây Ban Nha / Spanyol | FI Finska / Финска / Suomija / Somija / Soome /
    Финляндия / Фінляндія / Финландия / Φινλανδία / フィンランド / 芬兰 / 芬蘭 / 핀란드 / فنلندا / פינלנד /
    Phần Lan | FR Francuska / Francija / Француска / Prancūzija / Prantsusmaa / Франция / Франція / Γαλλία /
    フランス / 法国 / 法國 / 프랑스 / فرنسا / צרפת / Pháp / Prancis | GB Ujedinjeno Kraljevstvo / Združeno
    kraljestvo / Уједињено Краљевство / Jungtinė Karalystė / Apvienotā Karaliste / Ühendkuningriik /
    Великобритания / Велика Британія / Обединеното кралство / Ηνωμένο Βασίλειο / イギリス / 英国 / 英國 / 영국
    / المملكة المتحدة / בריטניה / Vương quốc Anh / Inggris Raya / Velika Britanija / Didžioji Britanija /
    Lielbritānija / Suurbritannia / Англия | GE Gruzija / Грузија / Gruusia / Грузия / Грузія / Γεωργία /
    ジョージア / 格鲁吉亚 / 喬治亞 / 조지아 / جورجيا / גאורגיה | GR Grčka / Grčija / Грчка / Graikija /
    Grieķija / Kreeka / Греция / Греція / Гърция / Ελλάδα / ギリシャ / 希腊 / 希臘 / 그리스 / اليونان / יוון /
    Hy Lạp / Yunani | HK 香港 | HR Hrvaška / Хрватска / Kroatija / Horvātija / Horvaatia / Хорватия / Хорватія
    / Хърватия / Κροατία / クロアチア / 克罗地亚 / 克羅埃西亞 / 크로아티아 / كرواتيا / קרואטיה / Kroasia | HU
    Mađarska / Madžarska / Мађарска / Vengrija / Ungārija / Ungari / Венгрия / Угорщина / Унгария / Ουγγαρία /
    ハンガリー / 匈牙利 / 헝가리 / هنغاريا / הונגריה / Hungaria | ID Indonezija / Индонезија / Indoneesia /
    Индонезия / Індонезія / Ινδονησία / インドネシア / 印度尼西亚 / 印尼 / 인도네시아 / إندونيسيا / אינדונזיה
    | IE Irska / Ирска / Airija / Īrija / Iirimaa / Ирландия / Ірландія / Ιρλανδία / アイルランド / 爱尔兰 /
    愛爾蘭 / 아일랜드 / أيرلندا / אירלנד | IN Indija / Индија / Индия / Індія / Ινδία / インド / 印度 / 인도 /
    الهند / הודו / Ấn Độ | IQ Ирак / Irakas / Irāka / Iraak / Ірак / Ιράκ / イラク / 伊拉克 / 이라크 / العراق
    / עיראק | IR Иран / Iranas / Irāna / Iraan / Іран / Ιράν / イラン / 伊朗 / 이란 / إيران / איראן | IT
    Italija / Италија / Itaalia / Италия / Італія / Ιταλία / イタリア / 意大利 / 義大利 / 이탈리아 / إيطاليا /
    איטליה | JP Japonska / Јапан / Japonija / Japāna / Jaapan / Япония / Японія / Ιαπωνία / 日本 / 일본 /
    اليابان / יפן / Nhật Bản / Jepang | KR Južna Koreja / Јужна Кореја / Pietų Korėja / Dienvidkoreja /
    Lõuna-Korea / Республика Корея / Південна Корея / Южна Корея / Νότια Κορέα / 韓国 / 韩国 / 南韓 / 대한민국
    / كوريا الجنوبية / קוריאה הדרומית / Hàn Quốc / Korea Selatan / Koreja | KZ Kazahstan / Казахстан /
    Kazachstanas / Kazahstāna / Kasahstan / Καζακστάν / カザフスタン / 哈萨克斯坦 / 哈薩克 / 카자흐스탄 /
    كازاخستان / קזחסטן | LT Литванија / Lietuva / Leedu / Литва / Λιθουανία / リトアニア / 立陶宛 / 리투아니아
    / ليتوانيا / ליטא | LV Latvija / Летонија / Läti / Латвия / Латвія / Λετονία / ラトビア / 拉脱维亚 /
    拉脫維亞 / 라트비아 / لاتفيا / לטביה | MA Мароко / Marokas / Maroka / Марокко / Μαρόκο / モロッコ / 摩洛哥
    / 모로코 / المغرب / מרוקו / Ma-rốc | MD Moldavija / Молдавија / Молдова / Μολδαβία / モルドバ / 摩尔多瓦 /
    摩爾多瓦 / 몰도바 / مولدوفا / מולדובה / Молдавия | ME Crna Gora / Црна Гора / Juodkalnija / Melnkalne /
    Черногория / Чорногорія / Черна гора / Μαυροβούνιο / モンテネグロ / 黑山 / 蒙特內哥羅 / 몬테네그로 / الجبل
    الأسود / מונטנגרו | MK Sjeverna Makedonija / Severna Makedonija / Северна Македонија / Šiaurės Makedonija
    / Ziemeļmaķedonija / Põhja-Makedoonia / Северная Македония / Північна Македонія / Северна Македония /
    Βόρεια Μακεδονία / 北マケドニア / 北马其顿 / 北馬其頓 / 북마케도니아 / مقدونيا الشمالية / מקדוניה הצפונית
    / Bắc Macedonia / Makedonia Utara / Makedonija / Македония | MX Meksiko / Mehika / Мексико / Meksika /
    Mehhiko / Мексика / Μεξικό / メキシコ / 墨西哥 / 멕시코 / المكسيك / מקסיקו | NG Nigerija / Нигерија /
    Nigeeria / Нигерия / Нігерія / Νιγηρία / ナイジェリア / 尼日利亚 / 奈及利亞 / 나이지리아 / نيجيريا /
    ניגריה | NL Nizozemska / Холандија / Nyderlandai / Nīderlande / Нидерланды / Нідерланди / Нидерландия /
    Κάτω Χώρες / オランダ / 荷兰 / 荷蘭 / 네덜란드 / هولندا / הולנד / Hà Lan / Belanda / Холандия / Голландия
    | NO Norveška / Норвешка / Norvegija / Norra / Норвегия / Норвегія / Νορβηγία / ノルウェー / 挪威 /
    노르웨이 / النرويج / נורווגיה / Na Uy | PH Filipini / Филипини / Filipinai / Filipiinid / Филиппины /
    Філіппіни / Φιλιππίνες / フィリピン / 菲律宾 / 菲律賓 / 필리핀 / الفلبين / הפיליפינים | PK Пакистан /
    Pakistanas / Pakistāna / Πακιστάν / パキスタン / 巴基斯坦 / 파키스탄 / باكستان / פקיסטן | PL Poljska /
    Пољска / Lenkija / Polija / Poola / Польша / Польща / Полша / Πολωνία / ポーランド / 波兰 / 波蘭 / 폴란드
    / بولندا / פולין / Ba Lan / Polandia | PT Portugalska / Португалија / Portugalija / Portugāle / Португалия
    / Португалія / Πορτογαλία / ポルトガル / 葡萄牙 / 포르투갈 / البرتغال / פורטוגל / Bồ Đào Nha | RO
    Rumunjska / Romunija / Румунија / Rumunija / Rumānija / Rumeenia / Румыния / Румунія / Румъния / Ρουμανία
    / ルーマニア / 罗马尼亚 / 羅馬尼亞 / 루마니아 / رومانيا / רומניה | RS Србија / Serbija / Сербия / Сербія /
    Сърбия / Σερβία / セルビア / 塞尔维亚 / 塞爾維亞 / 세르비아 / صربيا / סרביה | RU Rusija / Русија /
    Krievija / Venemaa / Россия / Росія / Русия / Ρωσία / ロシア / 俄罗斯 / 俄羅斯 / 러시아 / روسيا / רוסיה |
    SE Švedska / Шведска / Švedija / Zviedrija / Rootsi / Швеция / Швеція / Σουηδία / スウェーデン / 瑞典 /
    스웨덴 / السويد / שוודיה / Thụy Điển / Swedia | SI Словенија / Sloveenia / Словения / Словенія / Σλοβενία
    / スロベニア / 斯洛文尼亚 / 斯洛維尼亞 / 슬로베니아 / سلوفينيا / סלובניה | SK Slovačka / Slovaška /
    Словачка / Slovakija / Slovakkia / Словакия / Словаччина / Σλοβακία / スロバキア / 斯洛伐克 / 슬로바키아 /
    سلوفاكيا / סלובקיה | SY Sirija / Сирија / Süüria / Сирия / Сирія / Συρία / シリア / 叙利亚 / 敘利亞 /
    시리아 / سوريا / סוריה / Suriah | TH Tajland / Tajska / Тајланд / Tailandas / Taizeme / Tai / Таиланд /
    Таїланд / Ταϊλάνδη / タイ / 泰国 / 泰國 / 태국 / تايلاند / תאילנד / Thái Lan | TN Tunis / Tunizija / Тунис
    / Tunisas / Tunisija / Tuneesia / Туніс / Τυνησία / チュニジア / 突尼斯 / 突尼西亞 / 튀니지 / تونس /
    תוניסיה | TR Turska / Turčija / Турска / Turkija / Türgi / Турция / Туреччина / Τουρκία / トルコ / 土耳其
    / 튀르키예 / تركيا / טורקיה / Thổ Nhĩ Kỳ / Turki | TW 台湾 / 台灣 | UA Украјина / Украина / Україна /
    Ουκρανία / ウクライナ / 乌克兰 / 烏克蘭 / 우크라이나 / أوكرانيا / אוקראינה | US Sjedinjene Američke Države
    / Združene države Amerike / Сједињене Државе / Jungtinės Valstijos / Amerikas Savienotās Valstis /
    Ameerika Ühendriigid / Соединенные Штаты / Сполучені Штати / Съединени щати / Ηνωμένες Πολιτείες /
    アメリカ合衆国 / 美国 / 美國 / 미국 / الولايات المتحدة / ארצות הברית / Hoa Kỳ / Amerika Serikat / США /
    SAD / ZDA / JAV / ASV / ΗΠΑ / САЩ / アメリカ | VN Vijetnam / Вијетнам / Vietnamas / Vjetnama / Вьетнам /
    Вʼєтнам / Виетнам / Βιετνάμ / ベトナム / 越南 / 베트남 / فيتنام / וייטנאם
"""
"""Names in Croatian, Slovenian, Serbian, Lithuanian, Latvian, Estonian, Russian, Ukrainian, Bulgarian, Greek, Japanese,
Chinese, Korean, Arabic, Hebrew, Vietnamese and Indonesian, from the CLDR of Unicode (by Babel 2.19)."""

_CITIZENS: Final = """
    AT Austrian / österreichisch / Österreicher / autrichien / autrichienne / austriaco / austriaca /
    Oostenrijks / austriackie | BE Belgian / belgisch / belge / belga / belgijskie | BG Bulgarian / bulgarisch /
    bulgare / búlgaro / búlgara / Bulgaars / bułgarskie | BR Brazilian / brasilianisch / brésilien / brésilienne
    / brasileño / brasileña / brasiliano / brasiliana / brasileiro / brasileira / Braziliaans / brazylijskie |
    CA Canadian / kanadisch / canadien / canadienne / canadiense / canadese / canadense / canadiano / canadiana
    / Canadees / kanadyjskie | CH Swiss / schweizerisch / Schweizer / suisse / suizo / suiza / svizzero /
    svizzera / suíço / suíça / Zwitsers / szwajcarskie | CN Chinese / chinesisch / chinois / chinoise / chino /
    china / cinese / chinês / chinesa / Chinees / chińskie | CZ Czech / tschechisch / tchèque / checo / checa /
    ceco / ceca / tcheco / tcheca / Tsjechisch / czeskie | DE German / deutsch / Deutscher / Deutsche / allemand
    / allemande / alemán / alemana / tedesco / tedesca / alemão / alemã / Duits / Duitse / niemieckie | DK
    Danish / dänisch / danois / danoise / danés / danesa / danese / dinamarquês / dinamarquesa / Deens / duńskie
    / dansk | ES Spanish / spanisch / espagnol / espagnole / español / española / spagnolo / spagnola / espanhol
    / espanhola / Spaans / hiszpańskie | FI Finnish / finnisch / finlandais / finlandaise / finlandés /
    finlandesa / finlandese / Fins / fińskie / finsk | FR French / französisch / Franzose / français / française
    / francés / francesa / francese / Frans / Franse / francuskie | GB British / britisch / britannique /
    británico / británica / britannico / britannica / Brits / Britse / brytyjskie | GR Greek / griechisch / grec
    / grecque / griego / griega / greco / greca / grego / grega / Grieks / greckie | HR Croatian / kroatisch /
    croate / croata / croato / chorwackie | HU Hungarian / ungarisch / hongrois / hongroise / húngaro / húngara
    / ungherese / Hongaars / węgierskie | IE Irish / irisch / irlandais / irlandaise / irlandés / irlandesa /
    irlandese / Iers / irlandzkie | IN Indian / indisch / indien / indienne / indio / indiano / indiana /
    Indiaas / indyjskie | IQ Iraqi / irakisch / irakien / irakienne / iraquí / iracheno / irachena / iraquiano /
    iraquiana / Iraaks / irackie | IR Iranian / iranisch / iranien / iranienne / iraní / iraniano / iraniana /
    Iraans / irańskie | IT Italian / italienisch / Italiener / italien / italienne / italiano / italiana /
    Italiaans / Italiaanse / włoskie | LT Lithuanian / litauisch / lituanien / lituanienne / lituano / lituana /
    Litouws / litewskie | LV Latvian / lettisch / letton / lettone / letón / letona / letão / Lets / łotewskie |
    MA Moroccan / marokkanisch / marocain / marocaine / marroquí / marocchino / marocchina / marroquino /
    marroquina / Marokkaans / Marokkaanse / marokańskie | MD Moldovan / moldauisch / moldave / moldavo / moldava
    / Moldavisch / mołdawskie | MX Mexican / mexikanisch / mexicain / mexicaine / mexicano / mexicana /
    messicano / messicana / Mexicaans / meksykańskie | NG Nigerian / nigerianisch / nigériane / nigeriano /
    nigeriana / Nigeriaans / nigeryjskie | NL Dutch / niederländisch / Niederländer / néerlandais / néerlandaise
    / neerlandés / neerlandesa / holandés / holandesa / olandese / Nederlands / Nederlandse / holenderskie | NO
    Norwegian / norwegisch / norvégien / norvégienne / noruego / noruega / norvegese / norueguês / norueguesa /
    Noors / norweskie / norsk | PK Pakistani / pakistanisch / pakistanais / pakistanaise / paquistaní /
    pachistano / pachistana / paquistanês / Pakistaans / pakistańskie | PL Polish / polnisch / polonais /
    polonaise / polaco / polaca / polacco / polacca / polonês / polonesa / Pools / Poolse / polskie / polska /
    polsk | PT Portuguese / portugiesisch / portugais / portugaise / portugués / portuguesa / portoghese /
    Portugees / Portugese / portugalskie | RO Romanian / rumänisch / roumain / roumaine / rumano / rumana /
    rumeno / rumena / romeno / romena / Roemeens / rumuńskie | RS Serbian / serbisch / serbe / serbio / serbia /
    serbo / serba / sérvio / sérvia / Servisch / serbskie | RU Russian / russisch / russe / ruso / rusa / russo
    / russa / rosyjskie | SE Swedish / schwedisch / suédois / suédoise / sueco / sueca / svedese / Zweeds /
    szwedzkie / svensk | SI Slovenian / slowenisch / slovène / esloveno / eslovena / sloveno / slovena /
    Sloveens / słoweńskie | SK Slovak / slowakisch / slovaque / eslovaco / eslovaca / slovacco / slovacca /
    Slowaaks / słowackie | SN Senegalese / senegalesisch / sénégalais / sénégalaise / senegalés / senegalesa /
    Senegalees | SY Syrian / syrisch / syrien / syrienne / sirio / siria / siriano / siriana / syryjskie | TN
    Tunisian / tunesisch / tunisien / tunisienne / tunecino / tunecina / tunisino / tunisina / tunisiano /
    tunezyjskie | TR Turkish / türkisch / Türke / turc / turque / turco / turca / Turks / Turkse / tureckie | UA
    Ukrainian / ukrainisch / ukrainien / ukrainienne / ucraniano / ucraniana / ucraino / ucraina / Oekraïens /
    ukraińskie / ukrainsk | US American / amerikanisch / américain / américaine / estadounidense / americano /
    americana / norteamericano / statunitense / Amerikaans / amerykańskie | VE Venezuelan / venezolanisch /
    vénézuélien / vénézuélienne / venezolano / venezolana / venezuelano / venezuelana | DZ Algerian / algerisch
    / algérien / algérienne / argelino / argelina / algerino / algerina / Algerijns / algierskie | AF Afghan /
    afghanisch / afghane / afgano / afgana / afegão / Afghaans / afgańskie | AL Albanian / albanisch / albanais
    / albanaise / albanés / albanesa / albanese / Albanees / albańskie | AR Argentinian / argentinisch /
    argentin / argentino / argentina / Argentijns / argentyńskie | BA Bosnian / bosnisch / bosniaque / bosnio /
    bosniaco / bosniaca / bośniackie | BD Bangladeshi / bangladeschisch / bangladais / bangladaise / bangladesí
    / bengalese | BO Bolivian / bolivianisch / bolivien / bolivienne / boliviano / boliviana | BY Belarusian /
    belarussisch / biélorusse / bielorruso / bielorrusa / bielorusso / bielorussa / białoruskie | CI Ivorian /
    ivorisch / ivoirien / ivoirienne / marfileño / ivoriano / ivoriana / costa-marfinense | CL Chilean /
    chilenisch / chilien / chilienne / chileno / chilena / cileno / cilena / Chileens | CM Cameroonian /
    kamerunisch / camerounais / camerounaise / camerunés / camerunesa / camerunense | CO Colombian /
    kolumbianisch / colombien / colombienne / colombiano / colombiana / Colombiaans / kolumbijskie | CU Cuban /
    kubanisch / cubain / cubaine / cubano / cubana | EC Ecuadorian / ecuadorianisch / équatorien / équatorienne
    / ecuatoriano / ecuatoriana / ecuadoregno / equatoriano | EG Egyptian / ägyptisch / égyptien / égyptienne /
    egipcio / egipcia / egiziano / egiziana / Egyptisch / egipskie | ER Eritrean / eritreisch / érythréen /
    érythréenne / eritreo / eritrea / Eritrees | ET Ethiopian / äthiopisch / éthiopien / éthiopienne / etíope /
    Ethiopisch | GE Georgian / georgisch / géorgien / géorgienne / georgiano / georgiana / gruzińskie | GH
    Ghanaian / ghanaisch / ghanéen / ghanéenne / ghanés / ghanese / Ghanees | LK Sri Lankan / sri-lankisch /
    sri-lankais / sri-lankaise | NP Nepalese / Nepali / nepalesisch / népalais / népalaise / Nepalees | PE
    Peruvian / peruanisch / péruvien / péruvienne / peruano / peruana / Peruaans | PH Philippine / Filipino /
    philippinisch / philippin / filipina / filippino / filippina / Filipijns / filipińskie | PY Paraguayan /
    paraguayisch / paraguayen / paraguayenne / paraguayo / paraguaya / paraguaiano / paraguaiana | SO Somali /
    somalisch / somalien / somalienne / somalo / somala | VN Vietnamese / vietnamesisch / vietnamien /
    vietnamienne / vietnamita / Vietnamees / wietnamskie | AU Australian / australisch / australien /
    australienne / australiano / australiana / australijskie | AO Angolan / angolanisch / angolais / angolaise /
    angoleño / angoleña / angolano / angolana / Angolees | CV Cape Verdean / Cabo Verdean / kapverdisch /
    cap-verdien / cap-verdienne / caboverdiano / caboverdiana / cabo-verdiano / cabo-verdiana / capoverdiano /
    capoverdiana | GW guineense | MZ Mozambican / mosambikanisch / mozambicain / mozambicaine / mozambiqueño /
    mozambiqueña / mozambicano / mozambicana / moçambicano / moçambicana | ST são-tomense / santomense | TL timorense
"""
"""What citizens of frequent countries are called, in the same languages but those of Scandinavia."""


def country_code(text: str) -> str:
    """Convert a country name or three-letter code to the two-letter code; return other text unchanged.

    Examples
    --------
    >>> country_code("germany"), country_code("DEU"), country_code("de"), country_code("Atlantis")
    ('DE', 'DE', 'de', 'Atlantis')
    """
    return text if len(text) > _LONGEST else _codes().get(_plain(text), text)


@cache
def _codes() -> dict[str, str]:
    return dict(_entries())


def _entries() -> Iterator[tuple[str, str]]:
    for entry in " ".join(_TABLE.split()).split(" | "):
        code, longer, names = entry.split(" ", 2)
        for name in (longer, *names.split(" / ")):
            yield _plain(name), code
    for entry in " ".join(f"{_ELSEWHERE} | {_FARTHER} | {_CITIZENS}".split()).split(" | "):
        code, names = entry.split(" ", 1)
        for name in names.split(" / "):
            yield _plain(name), code


def _plain(text: str) -> str:
    """Remove case, accents, punctuation, articles and abbreviations."""
    letters = "".join(
        c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c)
    )
    words = re.sub(r"\W+", " ", letters.replace("&", " and ")).strip()
    return re.sub(r"^the | the$", "", re.sub(r"\bst\b", "saint", words))
