"""Headers and words of exports in many languages, for `init`: the one place to add a language or a synonym.

Languages: English, German, French, Spanish, Italian, Portuguese, Dutch, Polish, Swedish, Czech,
Danish, Norwegian, Hungarian, Greek, Finnish, Romanian. Entries are written as a
person writes them; `words_of` removes case, accents and separators from them and from headers alike. An entry of
several words joins them with `_`.
"""

from typing import Final

HEADERS: Final = {
    "eventTime": """
        event_time timestamp transaction_time purchase_time payment_time order_date transaction_date created_at created
        signup_time registered_at application_date submitted_at date_time date_hour zeitpunkt eingang eingang_am
        erfasst_am antragsdatum antragszeit bestelldatum buchungsdatum transaktionsdatum transaktionszeit
        zahlungszeitpunkt datum_uhrzeit angelegt_am date_de_création date_création créé_le date_opération
        date_transaction date_demande date_heure horodatage fecha_hora fecha_operación fecha_transacción fecha_solicitud
        fecha_alta fecha_creación data_ora data_operazione data_transazione data_richiesta data_creazione data_hora
        data_transação data_operação data_pedido data_criação tijdstip datum_tijd aanvraagdatum transactiedatum
        aangemaakt_op besteldatum data_czas data_transakcji data_operacji data_wniosku utworzono
        czas_transakcji tidpunkt
        skapad datum_tid transaktionstid time date zeit datum fecha data tijd heure hora czas data_i_godzina
        fecha_y_hora data_e_ora data_e_hora date_et_heure datum_en_tijd datum_und_uhrzeit
        event_timestamp
        createddate creation_date ts event_ts event_time_ms txn_ts txn_time posted_at booked_at order_created paid_at
        opened_at submitted datum_cas datum_a_cas cas_transakce vytvoreno datum_zadosti podano oprettet
        oprettelsesdato tidspunkt transaktionsdato dato opprettet søknadsdato ansøgningsdato bestilt időpont dátum
        rögzítve létrehozva tranzakció_ideje kérelem_dátuma ημερομηνία ημερομηνία_ώρα ημερομηνία_αίτησης luotu
        päivämäärä aikaleima pvm tapahtuma_aika creat_la data_creării data_tranzacției dată data_hora_pedido
        data_do_pedido buchungstag valuta umsatzdatum order_date_time created_date_time insert_ts
    """,
    "labelKnownAt": """
        label_known_at known_at chargeback_date chargeback_at label_date confirmed_at fraud_known_at fraud_date
        bekannt_am bekannt_seit betrug_bekannt_am betrugsdatum rückbuchung_am rückbuchungsdatum gemeldet_am date_fraude
        date_de_fraude fraude_connue_le date_impayé date_signalement fecha_fraude fecha_contracargo fecha_confirmación
        data_frode data_contestazione data_segnalazione data_fraude data_chargeback data_confirmação fraude_bekend_op
        datum_fraude bekend_op upptäckt data_esito result_date outcome_date ergebnisdatum fecha_resultado date_résultat
        data_oszustwa data_zgłoszenia data_wykrycia bedrägeri_känt känd_den
        label_timestamp
        svindel_opdaget opdaget oppdaget podvod_zjištěn zjištěno csalás_dátuma ημερομηνία_απάτης dispute_created
        disputed_at dispute_date fraud_confirmed_date fraud_confirmed_at chargeback_posted chargeback_received
        fraud_detected_at status_changed
    """,
    "labelReportedAt": "label_reported_at reported_at report_date",
    "label": """
        label is_fraud fraud class target betrug betrüger chargeback fraud_label verdict outcome ergebnis status y flag
        fraude frode oszustwo bedrägeri event_label
        podvod svindel csalás απάτη petos fraudă fraude_confirmée is_chargeback fraud_flag
    """,
    "recordId": """
        record_id transaction_id tx_id order_id payment_id application_id signup_id rec_id id user_id uuid vorgang
        vorgangsnummer vorgangs_nr antragsnummer antrags_nr bestellnummer transaktionsnummer
        laufnummer lfd_nr aktenzeichen event_id
        référence numéro_dossier id_transaction id_commande id_demande id_transacción id_operación número_pedido
        id_solicitud folio id_transazione id_operazione numero_ordine numero_pratica id_transação id_pedido
        número_pedido protocolo transactienummer ordernummer aanvraagnummer dossiernummer kenmerk id_transakcji
        numer_transakcji numer_wniosku nr_wniosku identyfikator ärendenummer transaktions_id
        order_no order_number application_ref application_id application_number txn_id request_id req_id charge_id
        číslo_žádosti číslo_objednávky číslo_transakce kód sagsnummer ansøgningsnr ansøgningsnummer ordrenummer
        ordrenr søknadsnummer tranzakció_azonosító azonosító rendelésszám ügyszám κωδικός αριθμός_αίτησης
        hakemusnumero tilausnumero număr_comandă nº_do_pedido nº_pedido nº_expediente número_expediente pedido
        buchungs_id nr_crt
    """,
    "firstName": """
        first_name name_first name_given given_name given_names first_names forename fname vorname vornamen
        prénom prénoms nombre nombres nombre_pila primer_nombre nome nomes voornaam imię imiona
        förnamn nome_proprio primeiro_nome rufname
        given křestní_jméno jméno fornavn keresztnév utónév όνομα etunimi prenume primeiro_nome nome_próprio
    """,
    "lastName": """
        last_name name_last name_family surname family_name lname nachname familienname nom nom_famille apellido
        apellidos cognome sobrenome
        apelido achternaam nazwisko efternamn primer_apellido
        family příjmení efternavn etternavn vezetéknév családnév επώνυμο sukunimi nume_familie nume apellido_1
        primer_apellido last_names
    """,
    "dob": """
        dob date_of_birth birth_date birthday geburtsdatum geburtstag geb_datum geboren_am date_naissance né_le
        né_e_le née_le
        fecha_nacimiento data_nascita nato_il data_nascimento nascimento geboortedatum data_urodzenia födelsedatum
        birthdate birth dateofbirth datum_narození narozen fødselsdato født født_den születési_dátum született
        születési_idő ημερομηνία_γέννησης ημ_γέννησης syntymäaika data_nașterii f_nacimiento fecha_nac f_nac
        dt_nascimento data_nasc dt_nasc geb geb_dat
    """,
    "citizenship": """
        citizenship nationality staatsangehörigkeit nationalität nationalité citoyenneté nacionalidad cittadinanza
        nazionalità nacionalidade nationaliteit obywatelstwo narodowość medborgarskap
        státní_příslušnost občanství statsborgerskab statsborgerskap nationalitet állampolgárság εθνικότητα υπηκοότητα
        kansalaisuus cetățenie naționalitate
    """,
    "documentType": """
        document_type id_type id_document doc_type document ausweis ausweisart ausweistyp dokument dokumentart
        type_document type_pièce pièce_identité pièce tipo_documento documento documento_identidad tipo_doc
        tipo_di_documento documento_identità tipo_de_documento documenttype soort_document legitimatie
        rodzaj_dokumentu typ_dokumentu dokument_tożsamości dokumenttyp legitimation
        typ_dokladu doklad dokumenttype legitimationstype okmány_típusa τύπος_εγγράφου
    """,
    "address.line1": """
        address_line1 address_line_1 address1 address_1 line1 street street_address address straße strasse anschrift
        adresse adresse1 rue voie dirección calle domicilio indirizzo via endereço morada rua logradouro adres straat
        ulica adress gata gatuadress calle_y_número straße_hausnummer straße_und_hausnummer rue_et_numéro via_e_numero
        straat_huisnummer ulica_i_numer numéro_et_rue
        address_street ulice adresa vej gade gate utca lakcím cím διεύθυνση οδός katuosoite osoite stradă
        straat_en_huisnummer
    """,
    "address.line2": "address_line2 address_line_2 address2 address_2 line2 adresszusatz complément_adresse",
    "address.city": """
        city town suburb ort stadt wohnort ville commune ciudad localidad población città comune cidade localidade
        plaats woonplaats stad miasto miejscowość postort
        město obec by poststed város település πόλη kaupunki postitoimipaikka oraș localitate
    """,
    "address.region": """
        region state province bundesland région département provincia comunidad regione estado distrito provincie
        województwo län
        uf kraj_region fylke megye νομός maakunta județ ship_state mailing_state st
    """,
    "address.postalCode": """
        postal_code postcode post_code zip zip_code plz postleitzahl code_postal cp código_postal cod_postal cap
        codice_postale cep kod_pocztowy postnummer postnr
        psč postnummer irányítószám ταχυδρομικός_κώδικας τκ tk postinumero cod_poștal
    """,
    "address.country": """
        country country_code land ländercode pays code_pays país paese stato kraj
        země stát ország χώρα maa țară país_residencia
    """,
    "closedAt": """
        closed_at closed account_closed closed_on geschlossen_am gekündigt_am kontoschließung clôturé_le date_clôture
        fecha_cierre fecha_baja data_chiusura data_encerramento gesloten_op opgezegd_op data_zamknięcia stängd
    """,
}
"""Headers by field, likeliest first."""

PERSONS: Final = """
    applicant customer user person identity profile subject client account holder name address contact birth document
    antragsteller kunde anschrift adresse kontakt demandeur cliente persona solicitante dirección indirizzo richiedente
    endereço requerente klant aanvrager adres klient wnioskodawca kund sökande adress data payload event body record
    billing mailing shipping ship bill home comprador buyer titular žadatel zákazník klient ansøger kunde søker ügyfél
    kérelmező πελάτη πελάτης hakija asiakas solicitant client kundens
"""
"""Names of objects around what an identity has: `applicant.address.zip` is its postal code."""

PHONES: Final = """
    phone mobile cell tel telephone msisdn telefon telefonnummer handy handynummer mobilnummer mobil téléphone portable
    gsm teléfono móvil celular telefono cellulare telefone telemóvel telefoon mobiel komórka
    mobilní tel mobiltelefon mobilnr mobilnummer tlf telefonszám τηλέφωνο κινητό puhelin puhelinnumero matkapuhelin
    cellphone fone whatsapp
"""
"""Words of headers of phone numbers, whose cells look like some."""

WHOLE_NAMES: Final = """
    name full_name fullname customer_name applicant_name user_name client_name cardholder_name kundenname vollname
    vollständiger_name vor_und_nachname nom_complet nom_prénom prénom_nom nombre_completo nombre_y_apellidos
    nome_completo nome_e_cognome nominativo volledige_naam naam imię_i_nazwisko namn fullständigt_namn
    jméno_a_příjmení celé_jméno fuldt_navn fullt_navn navn név teljes_név ονοματεπώνυμο nimi koko_nimi nume_complet
    billing_name shipping_name auftraggeber kontoinhaber titular_do_cartão beneficiary
"""
"""Headers of first and last names in one column."""

NAMES: Final = """
    apellido apellidos surname nachname geburtsname mädchenname nazwisko efternamn mellannamn cognome sobrenome apelido
    achternaam tussenvoegsel vorname förnamn prénom voornaam imię middle_name maiden_name second_name
    příjmení jméno efternavn etternavn fornavn vezetéknév keresztnév επώνυμο όνομα sukunimi etunimi prenume
"""
"""Words of headers of other names of a person."""

HOURS: Final = """
    time hour zeit uhr uhrzeit heure hora ora tijd tid klockslag godzina
    čas klokkeslæt klokkeslett kl idő óra ώρα kello kellonaika oră
"""
"""Words of headers of times of day, whose cells may look like numbers: 13.45."""

TIMES: Final = """
    time date stamp timestamp ts at created updated modified submitted opened epoch unix zeit datum fecha data tijd
    heure hora ora czas tid horodatage eingang angelegt cas dato idopont aika
"""
"""Words of headers of times that may be numbers."""

EARLIER: Final = """
    previous prior past earlier history before last vorher früher bisherige précédent antérieur anterior previo
    precedente eerder vorige wcześniejszy tidigare tidligere předchozí
"""
"""Words of headers of what happened before the event."""

FILLERS: Final = (
    "the of de la le les du des del della di do da dos das der den van het een von l d el los il lo i"
)
"""Words between those of a header."""

DECISION: Final = """
    outcome decision decided entscheidung bescheid ergebnis décision résultat decisión resultado decisione esito decisão
    beslissing besluit uitkomst decyzja wynik beslut status entscheid verdict disposition estado situação parecer
    statut stato durum karar решение статус
    rozhodnutí afgørelse avgjørelse döntés απόφαση päätös decizie
"""
RESOLUTION: Final = """
    resolution review manual_review step_up nachprüfung prüfung überprüfung vérification revue revisión verificación
    revisione verifica revisão verificação controle herbeoordeling weryfikacja kontrola granskning análise análisis
    analisi analyse incelemesi проверка
"""
"""Headers of what was decided, and of how a step-up or review ended."""

FRAUD_STEMS: Final = """
    fraud fraude frauduleux fraudulent fraudulento fraudolento betrug betrüger betrügerisch frode frodi oszustwo
    oszust wyłudzenie bedrog fraudeur bedrägeri bedragare chargeback rückbuchung contracargo scam
    podvod podvodný svindel bedrageri csalás csaló απάτη petos fraudă înșelăciune estafa fraudulenta golpe stolen_card
"""
"""Words of fraud: as cells they make a label, in a header they tell one."""

NEGATIONS: Final = """
    no not non none kein keine keiner nicht pas sans sin nao não sem geen niet nie brak bez inte ej
    není bez ingen ikke uden uten nem όχι ei
"""
SUSPICIONS: Final = """
    suspected suspicion suspect possible potential verdacht verdächtig soupçon suspecté sospecha sospechoso sospetto
    suspeita suspeito verdenking verdacht vermoeden podejrzenie misstänkt
    podezření mistanke mistænkt gyanú gyanús ύποπτο epäily suspiciune
"""
"""Words that take its certainty from a word of fraud."""

GENUINE: Final = """
    genuine legit legitimate clean honest ok valid normal settled paid echt ehrlich legitim seriös sauber unauffällig
    ordnung légitime légal légale honnête régulier conforme legítimo legítima genuino genuina lícito legittimo legittima
    regolare lecito autêntico autêntica regular legaal eerlijk goedaardig uczciwy uczciwa prawidłowa prawidłowy legalna
    legalny äkta hederlig good gut bon bueno buono bom goed dobry
    v_pořádku poctivý ægte ekte reel valódi rendben jogos γνήσιο εντάξει aito legitim autentic delivered shipped
    completed entregue pago concluído entregado zugestellt abgeschlossen livré
"""
GENUINE_STEMS: Final = """
    genuine legit legitimate echt légitime legítimo legittimo legalna legítima
    genuino autêntico aito
"""
"""Headers under which yes means genuine."""
POSITIVE: Final = """
    yes y true t ja j wahr oui o vrai si s sí verdadero sì vero sim verdadeiro waar tak prawda 1 bad schlecht
    mauvais malo
    cattivo mau slecht zły x ano igen ναι kyllä da tak áno
"""
NEGATIVE: Final = (
    "no n false f nein falsch non faux falso não nao nee onwaar nie fałsz nej 0 ne nem nei όχι ei nu"
)

PASSED: Final = """
    passed pass ok approv accept angenommen genehmig bewillig freigegeben freigabe akzept accepté validé aprob acept
    accett aprov aceit goedgekeur geaccepteerd zaakcept zatwierdz przyznan godkän schvál přijat godkend godkjen
    innvilg elfogad jóváhagy εγκρίθ hyväksy acceptat admis onayla kabul одобрен принят success cleared granted erteilt
"""
STEPPED_UP: Final = """
    stepped_up step_up review referred refer nachgefragt prüfung prüfen rückfrage vérifi revis anális analis analiz
    controle contrôle weryfik granskas manual manuell pending pendient pendente attente hold escalat prověrk проверк
    k_prověření til_gennemgang til_vurdering ellenőrz υπό_έλεγχο incele challenge
"""
FAILED: Final = """
    failed fail declin reject denied deny block abgelehnt ablehnung gesperrt verweigert zurückgewiesen refus rejet
    bloqu rechaz deneg rifiut respint recus rejeit negad afgewezen geweiger geblokkeer odrzuc odmow nekad zamít
    odmít afvist avslå elutasít απορρίφθ hylät hylkä reddedil отказ отклон invalid stopped
"""
APPROVED: Final = PASSED + " bestanden réussi superad superat zdany"
DECLINED: Final = FAILED + " échou"
ABANDONED: Final = """
    abandon abgebrochen abbruch expired abbandon afgebroken przerwan avbrut timeout withdrawn cancelled canceled
    zurückgezogen caducad
"""
"""Beginnings of the words for what was decided, and for how a step-up ended."""

AMOUNTS: Final = """
    amount amt betrag montant importe importo monto valor bedrag kwota belopp summe
    total ordertotal subtotal částka cena_celkem beløb beløp összeg ποσό summa sumă chargeback_amt
"""
MEASURES: Final = f"""
    {AMOUNTS} balance income salary price value score age days hours seconds limit saldo einkommen gehalt preis
    wert alter anzahl tage stunden sekunden solde revenu salaire prix âge nombre jours ingresos salario precio edad días
    reddito stipendio prezzo età giorni renda salário preço idade dias inkomen salaris prijs leeftijd dagen
    dochód pensja
    cena wiek dni liczba ålder inkomst pris antal dagar duration dauer durée
"""
"""Headers of numbers that measure something, which are no identifiers."""
PAYMENTS: Final = """
    payment transaction transaktion transaktions zahlung tx txn merchant terminal händler paiement commerçant pago
    transacción comercio pagamento transazione esercente transação lojista betaling transactie transakcja płatność
    sprzedawca betalning
    platba transakce betaling transaktion kjøp fizetés tranzakció πληρωμή συναλλαγή maksu plată tranzacție charge
    order
"""
LINKS: Final = """
    id ids key nr ip device card account iban imei cookie fingerprint hash token session wallet customer client user
    merchant terminal gerät karte konto kunde händler kennung carte compte appareil terminal_client utilisateur
    commerçant tarjeta cuenta dispositivo cliente comercio usuario carta conto utente esercente cartão conta utilizador
    usuário lojista kaart rekening apparaat klant gebruiker winkelier karta urządzenie klient sprzedawca użytkownik kort
    enhet kund kunden karten konten klienta karty konta urządzenia użytkownika sprzedawcy
    zařízení karta účet zákazník enheds enhed kort konto kunde bruger bruker eszköz kártya számla ügyfél συσκευή κάρτα
    λογαριασμός πελάτης laite kortti tili asiakas dispozitiv card cont cpf cnpj dni nif nie fp bin
"""
"""Headers of identifiers that connect records."""
NUMBERS: Final = """
    id nr no num number nummer numéro número numero numer n code ref hash token nº kennung identifiant
    číslo cislo azonosító szám int addr αριθμός κωδικός numero număr
"""
"""Words for the number of something, before or after it."""

PROTECTED: Final = {
    "sex": """
        sex gender geschlecht sexe genre sexo género sesso genere gênero geslacht płeć kön køn kjønn pohlaví nem φύλο
        sukupuoli
    """,
    "age": "věk alder kor életkor ηλικία ikä vârstă age alter âge edad età idade leeftijd wiek ålder",
}

MISSING: Final = (
    *(
        "NULL",
        "null",
        "(null)",
        "N/A",
        "n/a",
        "#N/A",
        "NaN",
        "nan",
        "None",
        "NA",
        "\\N",
        "?",
        "-",
        "--",
        "n.a.",
    ),
    *(
        "unknown",
        "Unknown",
        "k.A.",
        "k. A.",
        "keine Angabe",
        "unbekannt",
        "Unbekannt",
        "entfällt",
        "n/d",
        "N/D",
        "n.d.",
    ),
    *(
        "N.D.",
        "ND",
        "nd",
        "inconnu",
        "Inconnu",
        "inconnue",
        "s/o",
        "S/O",
        "non renseigné",
        "desconocido",
        "sin datos",
    ),
    *(
        "s/d",
        "S/D",
        "sconosciuto",
        "non disponibile",
        "desconhecido",
        "não informado",
        "onbekend",
        "Onbekend",
    ),
    *(
        "neuvedeno",
        "ukendt",
        "ukjent",
        "ismeretlen",
        "άγνωστο",
        "necunoscut",
        "não se aplica",
        "not available",
    ),
    *("n.v.t.", "nieznany", "nieznane", "brak", "Brak", "b.d.", "brak danych", "okänd", "saknas"),
    *("00.00.0000", "0000-00-00", "00/00/0000", "00-00-0000", "0000-00-00 00:00:00", "00.00.0000 00:00"),
)
"""Cells that mean a missing value."""

DOCUMENTS: Final = {
    "PASSPORT": "passport reisepass pass passeport pasaporte passaporto passaporte paspoort paszport",
    "NATIONAL_ID": """
        national_id id_card identity_card personalausweis ausweis carte_identité carte_nationale_identité cni dni
        cédula documento_nacional_identidad carta_identità cie cartão_cidadão bilhete_identidade rg identiteitskaart
        id_kaart dowód_osobisty dowód nationellt_id id_kort
    """,
    "DRIVERS_LICENSE": """
        drivers_license driver_s_license driver_license driving_licence driving_license führerschein permis_conduire
        permis permiso_conducir carnet_conducir licencia_conducir patente patente_guida carta_condução
        carteira_motorista cnh rijbewijs prawo_jazdy körkort
    """,
    "RESIDENCE_PERMIT": """
        residence_permit aufenthaltstitel aufenthaltserlaubnis titre_séjour carte_séjour permiso_residencia nie tie
        permesso_soggiorno autorização_residência título_residência verblijfsvergunning verblijfsdocument karta_pobytu
        uppehållstillstånd
    """,
}
