"""Headers and words of exports in many languages, for `init`: the one place to add a language or a synonym.

Languages: English, German, French, Spanish, Italian, Portuguese, Dutch, Polish, Swedish, Czech,
Danish, Norwegian, Hungarian, Greek, Finnish, Romanian, Russian, Ukrainian, Bulgarian, Croatian, Turkish; in Japanese,
Chinese, Arabic and Hebrew the words of labels, times, amounts and devices. Entries are written as a
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
        дата_заявки дата_и_время дата_и_время_заявки время_заявки дата_создания время_создания
        дата_обращения дата_операции дата_заказа дата_регистрации дата_час дата_створення дата_реєстрації
        дата_замовлення дата_на_създаване дата_на_заявка дата_на_поръчка дата_и_час датум_и_време
        datum_sklapanja datum_nastanka datum_prijave datum_zahtjeva datum_narudžbe datum_i_vrijeme
        vrijeme datum_naročila čas_oddaje datum_vytvorenia dátum_žiadosti başvuru_tarihi sipariş_tarihi
        işlem_tarihi kayıt_tarihi oluşturma_tarihi tarih tarih_saat zaman 申込日時 申請日時 登録日時
        注文日時 取引日時 受付日時 作成日時 日時 申请时间 下单时间 创建时间 注册时间 交易时间 发布时间
        提交时间 订单时间 时间 建立時間 申請時間 신청일시 주문일시 거래일시 등록일시 تاريخ_الطلب
        تاريخ_الإنشاء وقت_الطلب تاريخ_التسجيل تاريخ_العملية التاريخ תאריך_פרסום תאריך_יצירה תאריך_בקשה
        תאריך_הזמנה תאריך_עסקה תאריך tilausaika tilauspäivä hakuaika ημερομηνία_κράτησης
        ημερομηνία_παραγγελίας ημερομηνία_δημιουργίας ημερομηνία_εγγραφής data_plasării data_comenzii
        data_cererii criado_em inserido_em registado_em registrado_em data_da_cotação data_cotação
        data_do_pedido data_da_encomenda data_de_criação data_registo data_cadastro creado_en creado_el
        registrado_el erstellt_am erfassungsdatum erf_dt erf_datum erf_zeit anl_dt erdat dt_cre dt_crea
        date_cre dt_creation dt_criacao dt_abertura dt_inclusao data_criacao bkg_dttm bkg_dt ord_dt
        ord_dttm txn_dt txn_dttm crt_dt crt_dttm create_dt created_dt cre_dt open_dt open_date app_dt
        appl_dt requested requested_at posted received received_at ordered_at booked booking_date
        application_dt oprettet_den
        waktu tanggal waktu_transaksi tanggal_transaksi tanggal_pengajuan tarikh masa thời_gian
        ngày_giờ ngày_đặt_hàng thời_gian_đặt_hàng thời_gian_giao_dịch ngày_giao_dịch ngày_tạo kuupäev
        aeg taotluse_kuupäev datums laiks pieteikuma_datums data_laikas paraiškos_data laikas
        dagsetning dátum_čas dátum_podania дата_захтева датум време data_hora_sol·licitud تاریخ
        تاريخ_و_وقت วันที่ วันเวลา เวลา 날짜 일시 신청일 saapunut vastaanotettu event_datetime occurred_at
        logged_at
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
        fraud_detected_at
        дата_выявления дата_виявлення дата_проверки дата_перевірки дата_на_сигнал дата_сигнала
        дата_подтверждения дата_мошенничества дата_измама datum_otkrivanja datum_prijevare
        bildirim_tarihi tespit_tarihi sahtecilik_tarihi 判明日 確定日 検知日 不正判明日 确认时间 发现时间
        判定时间 확인일 تاريخ_البلاغ تاريخ_الاكتشاف תאריך_דיווח תאריך_גילוי petos_havaittu havaittu
        ημ_εντοπισμού ημερομηνία_εντοπισμού data_sesizării data_detectării data_deteção data_detecção
        dt_deteção fecha_detección fecha_fraude_confirmado date_détection dt_detection date_constat cb_dt
        cb_date chbk_dt fraud_dt frd_dt frd_rpt_dt label_ts label_time labeled_at labelled_at reviewed_at
        betr_dt sperrdat sperrdatum
        tanggal_laporan ngày_phát_hiện chargeback_received_date dispute_opened_at charge_off_date
    """,
    "labelReportedAt": "label_reported_at reported_at report_date",
    "label": """
        label is_fraud ground_truth bad is_bad bad_flag bad_ind gb_flag good_bad good_bad_flag cb is_cb
        investigation_outcome investigation_result case_outcome alert_outcome
        fraud class target betrug betrüger chargeback fraud_label verdict outcome ergebnis status y flag
        fraude frode oszustwo bedrägeri event_label
        podvod svindel csalás απάτη petos fraudă fraude_confirmée is_chargeback fraud_flag
        мошенничество мошенник признак_мошенничества шахрайство ознака_шахрайства измама prijevara
        prevara goljufija podvod sahtecilik dolandırıcılık 不正 不正フラグ 詐欺 欺诈 是否欺诈 欺詐 사기
        احتيال הונאה frd_flg frd_ind fraud_ind betrug_kz betrugs_kz
        penipuan gian_lận lừa_đảo pettus krāpšana sukčiavimas превара svik ฉ้อโกง تقلب
    """,
    "recordId": """
        record_id transaction_id tx_id order_id payment_id application_id signup_id rec_id id user_id uuid vorgang
        vorgangsnummer vorgangs_nr antragsnummer antrags_nr bestellnummer transaktionsnummer
        aktenzeichen event_id
        référence numéro_dossier id_transaction id_commande id_demande id_transacción id_operación número_pedido
        id_solicitud folio id_transazione id_operazione numero_ordine numero_pratica
        id_richiesta numero_richiesta id_pratica id_domanda id_transação id_pedido
        número_pedido protocolo transactienummer ordernummer aanvraagnummer dossiernummer kenmerk id_transakcji
        numer_transakcji numer_wniosku nr_wniosku identyfikator ärendenummer transaktions_id
        order_no order_number application_ref application_id application_number txn_id request_id req_id charge_id
        číslo_žádosti číslo_objednávky číslo_transakce kód sagsnummer ansøgningsnr ansøgningsnummer ordrenummer
        ordrenr søknadsnummer tranzakció_azonosító azonosító rendelésszám ügyszám κωδικός αριθμός_αίτησης
        hakemusnumero tilausnumero număr_comandă nº_do_pedido nº_pedido nº_expediente número_expediente pedido
        buchungs_id
        номер_заявки номер_договора номер_заказа номер_операции номер_обращения номер_замовлення
        код_заявки номер_на_обява номер_на_поръчка номер_на_заявка broj_ugovora broj_zahtjeva
        broj_narudžbe broj_računa številka_naročila číslo_zmluvy sipariş_no başvuru_no işlem_no kayıt_no
        受付番号 申込番号 注文番号 取引番号 管理番号 订单号 申请编号 交易号 流水号 职位编号 编号 주문번호
        접수번호 رقم_الطلب رقم_العملية מספר_בקשה מספר_הזמנה מספר_עסקה מספר_מודעה sopimusnumero
        hakemustunnus αριθμός_κράτησης αριθμός_παραγγελίας nº_cotação nº_apólice num_pedido auftr_nr
        auftragsnr vorg_nr beleg_nr vbeln belnr id_loc id_cmd id_res num_cmd num_dossier bkg_ref
        booking_ref ord_no uid
        id_transaksi no_transaksi id_pesanan no_pesanan nomor_pengajuan mã_đơn_hàng mã_giao_dịch
        mã_hồ_sơ taotluse_number tellimuse_number pieteikuma_numurs paraiškos_nr številka_vloge
        číslo_žiadosti број_захтева broj_zahteva núm_comanda 신청번호 transaction_sk event_uuid
        case_number claim_number policy_number schadennummer schadensnummer číslo_škody
        registration_id registrierungs_id anmelde_id id_inscription id_registro id_registrazione numero_registrazione
        id_rejestracji numer_rejestracji id_registo registratie_id
    """,
    "firstName": """
        first_name name2 name_first name_given given_name given_names first_names forename fname vorname vornamen
        prénom prénoms nombre nombres nombre_pila primer_nombre nome nomes voornaam imię imiona
        förnamn nome_proprio primeiro_nome rufname
        given křestní_jméno jméno fornavn keresztnév utónév όνομα etunimi prenume primeiro_nome nome_próprio
        имя ім_я име ime isim 名 名字 الاسم_الأول שם_פרטי
        first nama_depan tên eesnimi vārds vardas meno nom_de_pila fornafn ชื่อ نام vorna 이름
        adı ismi vname vornm ad given_nm nombre_s eigenname
    """,
    "lastName": """
        last_name name1 name_last name_family surname family_name lname ape1 ape_1 ap1 ape nachname familienname
        familienaam zuname
        nom nom_famille nom_usage nom_d_usage nom_marital geburtsname ledig_name apellido
        apellidos cognome sobrenome
        apelido achternaam nazwisko efternamn primer_apellido
        family příjmení efternavn etternavn vezetéknév családnév επώνυμο sukunimi nume_familie nume apellido_1
        primer_apellido last_names
        фамилия прізвище фамилия_имя prezime soyad soyadı 姓 姓氏 اسم_العائلة שם_משפחה
        last nom_naissance apellido_paterno ap_paterno
        nama_belakang họ perekonnanimi uzvārds pavardė priezvisko priimek презиме cognoms
        eftirnafn นามสกุล نام_خانوادگی nachn 성
    """,
    "dob": """
        dob date_of_birth birth_date birthday geburtsdatum geburtstag geb_datum geboren_am date_naissance né_le
        né_e_le née_le
        fecha_nacimiento data_nascita nato_il data_nascimento nascimento geboortedatum data_urodzenia födelsedatum
        birthdate birth dateofbirth datum_narození narozen fødselsdato født født_den születési_dátum született
        születési_idő ημερομηνία_γέννησης ημ_γέννησης syntymäaika data_nașterii f_nacimiento fecha_nac f_nac
        dt_nascimento data_nasc dt_nasc geb geb_dat född född_den föd_dat geboren nato nata_il nacido nascido_em ur
        data_ur urodzony naissance
        дата_рождения дата_народження дата_на_раждане datum_rođenja rojstni_datum dátum_narodenia
        doğum_tarihi 生年月日 出生日期 생년월일 تاريخ_الميلاد תאריך_לידה
        tanggal_lahir tarikh_lahir ngày_sinh sünniaeg sünnikuupäev dzimšanas_datums gimimo_data
        datum_rojstva датум_рођења data_naixement fæðingardagur วันเกิด تاریخ_تولد gbdat
    """,
    "citizenship": """
        citizenship nationality staatsangehörigkeit nationalität nationalité citoyenneté nacionalidad cittadinanza
        natlty nazionalità nacionalidade nationaliteit obywatelstwo narodowość medborgarskap
        státní_příslušnost občanství statsborgerskab statsborgerskap nationalitet állampolgárság εθνικότητα υπηκοότητα
        kansalaisuus cetățenie naționalitate
        гражданство громадянство državljanstvo uyruk 国籍 الجنسية אזרחות pilietybė pilsonība kodakondsus 국적 quốc_tịch
        kewarganegaraan štátna_príslušnosť држављанство
    """,
    "documentType": """
        document_type id_type id_document doc_type document ausweis ausweisart ausweistyp dokument dokumentart
        type_document type_pièce pièce_identité pièce tipo_documento documento documento_identidad tipo_doc
        tipo_di_documento documento_identità tipo_de_documento documenttype soort_document legitimatie
        rodzaj_dokumentu typ_dokumentu dokument_tożsamości dokumenttyp legitimation
        typ_dokladu doklad dokumenttype legitimationstype okmány_típusa τύπος_εγγράφου
    """,
    "address.line1": """
        address_line1 address_line_1 dom domic
        address1 address_1 line1 street street_address address straße strasse anschrift
        adresse adresse1 rue voie dirección calle domicilio indirizzo via endereço morada rua logradouro adres straat
        ulica adress gata gatuadress calle_y_número straße_hausnummer straße_und_hausnummer rue_et_numéro via_e_numero
        straat_huisnummer ulica_i_numer numéro_et_rue
        address_street ulice adresa vej gade gate utca lakcím cím διεύθυνση οδός katuosoite osoite stradă
        straat_en_huisnummer
        адрес адреса адрес_на_живеене adresa adres_satırı 住所 番地 町名番地 地址 العنوان כתובת
        alamat địa_chỉ aadress adrese adresas naslov adreça heimilisfang heimili ที่อยู่ آدرس stras 주소
        lieferadresse lieferanschrift rechnungsadresse rechnungsanschrift address_line_one adresszeile
        gatvė iela tänav katu вулиця улица jalan đường
        str lieferstraße dirección_1 calle_y_núm rua_av
        street_line_1 street_line1 street_1 street_line
    """,
    "address.line2": """
        建物名 建物 マンション名 アパート名 楼栋
        address_line2 address_line_2 address2 address_2 line2 adresszusatz complément_adresse complemento apartamento
        apartment apt unit door floor etage etage_dør dør dörr étage piso planta puerta piso_puerta lokal nr_lokalu
        numer_lokalu num_interior número_interior núm_int interior bus toevoeging huisnummer_toevoeging scala interno
        apartament scara bloc ajtó emelet daire kat byt depto departamento piso_depto piso_dpto apto nr_mieszkania
        nr_mieszk numer_mieszkania mieszkanie leilighet bolignummer bruksenhet
    """,
    "address.city": """
        city town pob pobl
        suburb ort stadt wohnort ville commune ciudad localidad población città comune cidade localidade
        comuna plaats woonplaats stad miasto miejscowość postort
        město obec by poststed város település πόλη kaupunki postitoimipaikka oraș localitate
        город місто град grad mesto şehir ilçe il 市区町村 城市 المدينة עיר
        quận_huyện huyện quận kota thành_phố linn pilsēta miestas општина ciutat població staður จังหวัด شهر ort01 도시
        mjesto naselje 시군구
        município municipio concelho gemeente gmina kommun kunta
        municipalité municipality comune_residenza населено_място община localité lokalita
    """,
    "address.region": """
        region state province prv bundesland région département provincia comunidad regione estado distrito provincie
        województwo län
        uf kraj_region fylke megye νομός maakunta județ ship_state mailing_state st
        область регион županija bölge il 都道府県 省份 المنطقة מחוז județ
        provinsi negeri tỉnh tỉnh_thành tỉnh_thành_phố kanton canton cantone
        woj vármegye oblast kreis
        entidad entidad_federativa depto departamento prov county voivodeship powiat 시도
    """,
    "address.postalCode": """
        postal_code postcode post_code zip zip_code plz postleitzahl code_postal cp código_postal cod_postal cap
        codice_postale cep kod_pocztowy postnummer postnr
        psč postnummer irányítószám ταχυδρομικός_κώδικας τκ tk postinumero cod_poștal
        индекс почтовый_индекс поштовий_індекс пощенски_код poštanski_broj posta_kodu 郵便番号 邮编
        الرمز_البريدي מיקוד código_postal
        kode_pos poskod mã_bưu_điện mã_bưu_chính postiindeks pasta_indekss pašto_kodas poštna_številka
        поштански_број codi_postal póstnúmer รหัสไปรษณีย์ کد_پستی pstlz 우편번호 postal irsz irányítósz
        p_code pcode
        zip5 zip_5 plz5 pc
        pin_code pincode pin
        ir_szám postal_cd
    """,
    "address.country": """
        country country_code residence residence_country country_of_residence
        land ländercode pays code_pays país paese stato kraj
        země stát ország χώρα maa țară país_residencia
        страна країна държава država zemlja ülke 国 国家 الدولة מדינה
        negara quốc_gia riik valsts šalis krajina land1 ประเทศ کشور 국가
        lnd land_kz lnd_kz lkz cntry_code pays_résidence land_code
    """,
    "closedAt": """
        closed_at closed account_closed closed_on geschlossen_am gekündigt_am kontoschließung clôturé_le date_clôture
        fecha_cierre fecha_baja data_chiusura data_encerramento data_fecho gesloten_op opgezegd_op data_zamknięcia
        stängd дата_закрытия дата_закриття kapanış_tarihi dt_clo dt_cloture closed_dt close_dt
        account_closure closure fecha_cancelación date_fermeture einddatum slutdatum datum_zrušení
        ημερομηνία_κλεισίματος
    """,
}
"""Headers by field, likeliest first."""

ABBREVIATIONS: Final = """
    acct=account addr=address amt=amount app=application appl=application cd=code chgbk=chargeback chrgbk=chargeback
    cntry=country crd=card cre=created crt=created crtd=created cust=customer dcsn=decision dev=device dt=date
    dttm=date_time dvc=device eml=email fnm=first_name clmt=claimant frst=first fst=first lnm=last_name ln=line lst=last
    merch=merchant mrch=merchant mrchnt=merchant nbr=number nm=name ord=order phn=phone pmt=payment pstl=postal
    pymt=payment rcvd=received rsn=reason rslt=result sts=status stat=status trx=transaction txn=transaction
    tx=transaction usr=user strt=street ctry=country cty=city cnfm=confirmed cnfrm=confirmed naiss=naissance adr=address
    ds=name lib=name sg=code tp=type vl=valor cis=cislo trans=transaction tran=transaction tm=time
    tme=time dte=date aplcn=application dsptn=disposition
"""
"""Abbreviations in headers of warehouses, and their words."""

CUSTOMERS: Final = """
    gesuchsteller kreditnehmer darlehensnehmer
    applicant customer client antragsteller kunde kundens demandeur cliente solicitante richiedente requerente klant
    aanvrager klient wnioskodawca kund sökande comprador buyer žadatel zákazník ansøger søker ügyfél kérelmező πελάτη
    πελάτης hakija asiakas solicitant acheteur acquirente koper kupující nabywca kupujący köpare køber kjøper cumpărător
    alıcı клиент клієнт заявитель müşteri klijent kupac
    tenant lessee renter mieter locataire locatario arrendatario inquilino locatário huurder najemca lejer leietaker
    hyresgäst nájemce bérlő kiracı наемател наниматель driver seller vendor vendedor vendeur verkäufer venditore
    verkoper
    sprzedawca prodejce eladó satıcı motorista conductor fahrer chauffeur kierowca řidič sofőr owner inhaber
    propietario propriétaire proprietario eigenaar właściciel assuré asegurado assicurato segurado verzekerde
    ubezpieczony pojištěný biztosított forsikringstager försäkringstagare versicherungsnehmer versicherter
"""
"""Words for the one who applies or buys."""
PERSONS: Final = f"""
    {CUSTOMERS}
    user person identity profile subject account holder name address contact birth document
    anschrift adresse kontakt persona dirección indirizzo
    endereço adres adress data payload event body record
    domicilio domicile zamieszkania wohnsitz bopæl bostad
    billing mailing shipping ship bill home titular
    member insured policyholder borrower guest patient subscriber sender recipient payer payee delivery
    facturation facturación fatturazione faturação faturamento facturatie rechnung fakturering faktura fakturace
    livraison lieferung entrega envío spedizione consegna dostawy dostawa bezorging levering доставки
    доставка dostavka teslimat pelanggan pemohon khách_hàng vásárló szállítási absender afsender avsender
    afzender expéditeur mittente remitente remetente nadawca odesílatel claimant res residence
    氏名 お名前 姓名
"""
"""Names of objects around what an identity has: `applicant.address.zip` is its postal code."""

PHONES: Final = """
    mdn natel
    phone mobile cell tel telephone msisdn telefon telefonnummer handy handynummer mobilnummer mobil téléphone portable
    gsm teléfono móvil celular telefono cellulare telefone telemóvel telefoon mobiel komórka
    mobilní tel mobiltelefon mobilnr mobilnummer tlf telefonszám τηλέφωνο κινητό puhelin puhelinnumero matkapuhelin
    cellphone fone whatsapp
    телефон мобильный мобільний gsm_no telefon_no telefonu cep_telefonu cep 電話番号 携帯番号 电话 手机
    手机号 联系电话 전화번호 الهاتف الجوال טלפון נייד
    phn hp no_hp nomor_hp telepon ponsel điện_thoại sđt tālrunis telefonas sími โทรศัพท์ تلفن موبایل 휴대폰
    cellulaire cellulari cel cell_no
    num_contact contact_no contact_number contact_num nº_contacto mob ph telf telf1 tel1 tel2 tel_no mobitel mobilni
"""
"""Words of headers of phone numbers, whose cells look like some."""
DIALLING: Final = """
    dialling dialing dial_code isd calling_code area_code country_calling_code ddi ddd indicatif indicativo vorwahl
    landesvorwahl ländervorwahl prefijo prefisso prefixo netnummer landnummer kierunkowy riktnummer landskod předvolba
"""
"""Words of headers of dialling codes, which are no numbers."""
CODES: Final = "code codigo codice kod kód kode koodi kodas κωδικός код"
"""Words that begin or end the headers of codes."""
CATEGORIES: Final = """
    category categoria categoría catégorie kategorie kategoria kategori kategória kategorija categorie κατηγορία
    luokka категория категорія
"""
"""Words of headers of categories, however many values they have."""
CODED: Final = """
    mcc sic nace naics cnae cbo ateco siren branch filiale filial succursale sucursal agence agência agencia oddział
    pobočka şube kantoor konttori fióktelep sucursală
"""
"""Words of headers of branches and lines of business, whose numbers say nothing by their order."""
HOUSE_NUMBERS: Final = """
    house_number house_no house_num house_num1 hausnummer hausnr haus_nr numéro_rue numéro_voie numero_civico civico
    n_civico número_exterior num_exterior num_ext núm_exterior huisnummer huisnr husnummer husnr gatunummer
    nr_domu numer_domu číslo_popisné čp házszám talonumero номер_дома дом kapı_no bina_no altura altura_calle
"""
"""Headers of numbers of houses that stand apart from their streets."""

WHOLE_NAMES: Final = """
    name nom full_name fullname customer_name applicant_name user_name client_name cardholder_name kundenname vollname
    card_name name_on_card card_holder card_holder_name account_holder_name
    vollständiger_name vor_und_nachname nom_complet nom_prénom prénom_nom nombre_completo nombre_y_apellidos
    nome_completo nome_e_cognome nominativo volledige_naam naam imię_i_nazwisko namn fullständigt_namn
    jméno_a_příjmení celé_jméno fuldt_navn fullt_navn navn név teljes_név neve ad_soyad
    adı_soyadı ονοματεπώνυμο nimi koko_nimi nume_complet
    billing_name shipping_name auftraggeber kontoinhaber titular_do_cartão beneficiary
    фио піб имена ad_soyad adı_soyadı ime_i_prezime 氏名 姓名 الاسم שם שם_מלא
    nama nama_lengkap họ_tên họ_và_tên vārds_uzvārds vardas_pavardė meno_a_priezvisko ime_in_priimek
    yetkili_kişi contact_person ansprechpartner personne_de_contact persona_de_contacto kontaktperson contactpersoon
    osoba_kontaktowa kontaktní_osoba представител контактно_лице контактное_лицо
    име_и_презиме nom_i_cognoms nafn ชื่อ_นามสกุล 성명 대표자명 name1 insured_name member_name
"""
"""Headers of first and last names in one column."""

NAMES: Final = """
    ape2 ap2 apellido apellidos surname nachname geburtsname mädchenname nazwisko efternamn mellannamn cognome sobrenome
    apelido achternaam tussenvoegsel vorname förnamn prénom voornaam imię middle_name maiden_name second_name
    initials initialen voorletters voorvoegsel
    mother_name mothers_name maiden nome_mãe nome_da_mãe nome_pai nombre_madre nombre_padre father_name patronymo
    patronymic フリガナ カナ ふりがな
    příjmení jméno efternavn etternavn fornavn vezetéknév keresztnév επώνυμο όνομα sukunimi etunimi prenume
    фамилия имя отчество прізвище ім_я по_батькові soyadı prezime
"""
"""Words of headers of other names of a person."""

HOURS: Final = """
    time hour zeit uhr uhrzeit heure hora ora tijd tid klockslag godzina
    čas klokkeslæt klokkeslett kl idő óra ώρα kello kellonaika oră
    время час vrijeme saat erzet uzeit 時刻 时刻
    waktu jam giờ aeg laiks laikas време เวลา 시간
"""
"""Words of headers of times of day, whose cells may look like numbers: 13.45."""

TIMES: Final = """
    time date stamp timestamp ts at created updated modified submitted opened epoch unix zeit datum fecha data tijd
    heure hora ora czas tid horodatage eingang angelegt cas dato idopont aika
    dt dttm tm дата время час tarih tarihi zaman vrijeme čas päivä päiväys 日時 日付 日期 时间 時間 일시
    تاريخ תאריך create report criado creado créé crée erstellt ns reported known
    waktu tanggal tarikh ngày thời_gian kuupäev aeg datums laiks laikas dagsetning датум dátum วันที่
    تاریخ 날짜
"""
"""Words of headers of times that may be numbers."""

EARLIER: Final = """
    previous prior past earlier history before last vorher früher bisherige précédent antérieur anterior previo
    precedente eerder vorige wcześniejszy tidigare tidligere předchozí
    предыдущий прошлый раніше önceki geçmiş prethodni 過去 以前 历史
"""
"""Words of headers of what happened before the event."""

FILLERS: Final = (
    "the of or de la le les du des del della di do da dos das der den van het een von l d el los il lo i"
)
"""Words between those of a header."""

DECISION: Final = """
    outcome decision decided entscheidung bescheid ergebnis décision résultat decisión resultado decisione esito decisão
    beslissing besluit uitkomst decyzja wynik beslut status entscheid verdict disposition estado situação parecer
    statut stato durum karar решение статус
    rozhodnutí afgørelse avgjørelse döntés απόφαση päätös decizie
    рішення odluka 審査結果 审核结果
    keputusan quyết_định kết_quả_duyệt otsus lēmums sprendimas rozhodnutie odločitev одлука decisió
    ákvörðun underwriting 심사결과 risk_result dictamen veredicto
    triage triaje avis dictamen rozstrzygnięcie vyjádření vyhodnocení zhodnocení
    القرار قرار החלטה
"""
RESOLUTION: Final = """
    resolution review manual_review step_up nachprüfung prüfung überprüfung vérification revue revisión verificación
    revisione verifica revisão verificação controle herbeoordeling weryfikacja kontrola granskning análise análisis
    analisi analyse perizia pericial peritaje peritación gutachten expertise incelemesi проверка 目視 再審査
    provjera provjere preverjanje patikra patikros pārbaude 复核 人工审核 추가서류 재심사
"""
"""Headers of what was decided, and of how a step-up or review ended."""

FRAUD_STEMS: Final = """
    fraud fraude frauduleux fraudulent fraudulento fraudolento betrug betrüger betrügerisch frode frodi oszustwo
    oszust wyłudzenie bedrog fraudeur bedrägeri bedragare chargeback rückbuchung contracargo scam
    podvod podvodný svindel bedrageri csalás csaló απάτη petos fraudă înșelăciune estafa fraudulenta golpe stolen_card
    мошенничество мошенник мошеннический шахрайство шахрай шахрайська измама измамник prijevara prevara
    goljufija sahtecilik sahte dolandırıcılık 不正 詐欺 なりすまし 欺诈 诈骗 欺詐 사기 احتيال احتيالي
    הונאה fraudulento fraudulenta fraudulente identity_theft id_theft stolen_identity account_takeover
    card_theft stolen_card lost_or_stolen identitätsdiebstahl identitätsmissbrauch usurpation_identité
    usurpation suplantación suplantación_identidad usurpação roubo_identidade furto_identità
    furto_d_identità identiteitsfraude identiteitsdiefstal kradzież_tożsamości impersonation chargebacked
    cb_reason cb_date cb_amount cb_code cb_flag chbk frd betrugs betr_kz betr_dt
    penipuan gian_lận lừa_đảo pettus krāpšana sukčiavimas превара svik ฉ้อโกง تقلب chgbk charged_back
    svig svigsag forsikringssvindel
    charge_back abuse abusive mule friendly_fraud fraudulently malicious fraudster bedrägligt oszukańczy
    fake_identity false_identity falsche_identität fausse_identité falsa_identidad identidad_falsa identidade_falsa
    falsa_identità identità_falsa falešná_identita fałszywa_tożsamość falsk_identitet valse_identiteit
    bonus_abuse promo_abuse synthetic_identity
    rented_account account_rental conta_alugada money_mule straw_man słup bust_out counterfeit
"""
"""Words of fraud: as cells they make a label, in a header they tell one."""

NEGATIONS: Final = """
    oxi ohi ochi no not non none kein keine keiner nicht pas sans sin nao não sem geen niet nie brak bez inte ej
    není bez ingen ikke uden uten nem όχι ei
    нет не без немає değil yok nije nisu bez 非 不 ليس לא
    tidak bukan không nessuna nessun aucun aucune ninguna ninguno nenhuma nenhum żaden žádný nav nėra ekki
    keinerlei never belum nem μη μην δεν χωρίς
"""
NEGATING_PREFIXES: Final = "in un dis im ir il non des niet nicht nie ne o u ei ikke 不 未 非 无 無 부 불 미"
"""Negations that are written together with a word: `invalidé`, `disapproved`."""
SUSPICIONS: Final = """
    suspected suspicion suspect possible potential verdacht verdächtig soupçon suspecté sospecha sospechoso sospetto
    suspeita suspeito verdenking verdacht vermoeden podejrzenie misstänkt
    podezření mistanke mistænkt gyanú gyanús ύποπτο epäily suspiciune
    подозрение подозревается підозра съмнение sumnja şüpheli şüphe petosepäily 疑い 疑似 可疑 의심 اشتباه
    חשד
"""
"""Words that take its certainty from a word of fraud."""

GENUINE: Final = """
    genuine legit legitimate clean honest ok valid normal settled paid echt ehrlich legitim seriös sauber unauffällig
    ordnung légitime légal légale honnête régulier conforme legítimo legítima genuino genuina lícito legittimo legittima
    regolare lecito autêntico autêntica regular legaal eerlijk goedaardig uczciwy uczciwa prawidłowa prawidłowy legalna
    legalny äkta hederlig good gut bon bueno buono bom goed dobry
    v_pořádku poctivý ægte ekte reel valódi rendben jogos γνήσιο εντάξει aito legitim autentic delivered shipped
    completed entregue pago concluído entregado zugestellt abgeschlossen livré
    честный добросовестный норма нормальный законно добросовісний нормально
    редовен uredno pošteno normalan temiz gerçek geçerli 正常 正規 正当 合法 정상 سليم شرعي תקין אמיתי
    cleared dismissed refuted unfounded unsubstantiated entlastet entkräftet widerlegt ausgeräumt écarté écartée infirmé
    infirmée descartado descartada desestimado escluso scagionato ontkracht wykluczone avskriven frikendt опровергнуто
    false_positive false_alarm falso_positivo falsa_alarma falso_allarme falso_alarme faux_positif fausse_alerte
    fehlalarm vals_positief vals_alarm loos_alarm falskt_larm falsk_alarm falsk_positiv fałszywy_alarm falešný_poplach
    benign asli sah hợp_lệ godīgs sąžiningas poctivé поштено lögmætt hoàn_thành
    ohne_befund befundlos unbegründet nicht_auffällig keine_auffälligkeiten sans_suite classé_sans_suite infondé ras
    non_fondé sans_anomalie rien_à_signaler senza_anomalie infondato sin_hallazgos infundado sem_anomalia
    geen_bijzonderheden ongegrond bez_zastrzeżeń bez_uwag niezasadne utan_anmärkning ingen_avvikelse uden_anmærkning
    afkræftet avkreftet avfärdad vyvráceno vyvrácený wykluczono çürütüldü cáfolt infirmat опровергнат отхвърлен
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
    да так evet da áno 是 はい 有 예 نعم כן
    detected found festgestellt detectado détecté
    confirmed proven substantiated bestätigt nachgewiesen confirmé confirmée avéré avérée confirmado confirmada
    confermato confermata accertato accertata bekräftat begründet bevestigd potwierdzone potwierdzony potwierdzona
    bekräftad bekræftet
    bekreftet potvrzeno potvrzený megerősített επιβεβαιωμένη vahvistettu confirmat confirmată подтверждено
    подтверждена подтвержден підтверджено потвърдено potvrđeno doğrulandı kesinleşti 確定 确认
    ya có jah jā taip já ใช่ بله upheld founded
"""
NEGATIVE: Final = """
    oxi ohi ochi no n false f nein falsch non faux falso não nao nee onwaar nie fałsz nej 0 ne nem nei όχι ei nu
    нет ні не hayır ne nie 否 いいえ 無 无 아니오 لا לא ei
    tidak không nē ไม่ใช่ خیر 아니요
"""

CONTROL: Final = """
    control_group kontrollgruppe groupe_controle groupe_témoin grupo_control grupo_de_control gruppo_di_controllo
    grupo_controle grupo_de_controle controlegroep grupa_kontrolna kontrollgrupp 対照群 对照组 對照組 대조군
    kontrolgruppe kontrolní_skupina kontrolná_skupina kontrollcsoport kontrol_grubu grup_de_control vertailuryhmä
    ομάδα_ελέγχου контрольная_группа контрольна_група champion_challenger holdout hold_out
"""
"""Headers of who passed as a member of a control group."""
CONTROL_WORDS: Final = f"control kontrolle ctrl {CONTROL}"
"""Words for its members."""

ACCEPTED: Final = """
    authoriz authoris
    approv accept angenommen genehmig bewillig freigegeben freigabe akzept accepté validé aprob acept
    accett aprov aceit goedgekeur geaccepteerd zaakcept zatwierdz przyznan przyjęt godkän schvál přijat godkend godkjen
    innvilg elfogad jóváhagy megfelel εγκρίθ αποδεκτ hyväksy acceptat admis onayla onay kabul одобрен принят granted
    erteilt
    схвал odobr 承認 通過 可決 合格 許可 通过 批准
    allow berhasil disetujui diterima duyệt chấp_nhận heaks_kiidetud rahuldatud apstiprin
    patvirtin aprovat samþykkt อนุมัติ تایید 승인 uitgekeerd bewilligt accord concedid concess autoriz
    bevilj aprv appr apr app acc مقبول موافق قبول אושר מאושר
    apv potvrđ favor favorevole liberad libér laissé doorgelaten durchgelassen przepuszczon släppt
"""
STEPPED_UP: Final = """
    stepped_up step_up review revue revisión revisione revisão
    referred refer nachgefragt prüfung prüfen rückfrage vérifi revis anális analis analiz
    controle contrôle weryfik granskas manual manuell pending pendient pendente attente hold escalat prověrk проверк
    k_prověření til_gennemgang til_vurdering ellenőrz υπό_έλεγχο incele challenge 目視 保留 要確認 人工
    tinjau menunggu xem_xét chờ ootel izskat svarstom preverj na_čekanju counter elevate đang 보류 preverka
    vrácen vrácení doplněn
    étude estudio studio onderzoek badan utred šetření
    refr ref rfr rvw rev man المراجعة مراجعة معلق בבדיקה ממתין verific
    розгля рассмотр
"""
REJECTED: Final = """
    declin reject denied deny block abgelehnt ablehnung gesperrt verweigert zurückgewiesen refus rejet
    bloqu rechaz rehus deneg rifiut respint recus rejeit negad
    afgewezen abgewiesen geweiger geblokkeer odrzuc odmow nekad
    zamít odmít afvist avslå elutasít απορρίφθ hylät hylkä reddedil отказ отклон
    відхил відмов odbij 否決 否認 拒否 不可 不合格 不承認 未承認 不通過 拒绝 不通过 却下
    ditolak từ_chối tagasi_lükatud keeldutud noraid atmest zamiet zavrn одбиј rebutja
    hafnað ปฏิเสธ رد_شده 거절 turned_down reprov
    dcln dcl dec decl rej rjct dny avslag 반려 거부 부결 مرفوض رفض נדחה
    desfavor unfavor défavorable sfavorevole negat
"""
PASSED: Final = (
    ACCEPTED + " passed pass ok success cleared pozytywn berhasil thành_công gennemført genomförd fullført"
)
FAILED: Final = REJECTED + " failed fail ko invalid stopped negatywn gagal thất_bại"
APPROVED: Final = PASSED + " bestanden réussi superad superat zdany geslaagd"
DECLINED: Final = FAILED + " échou"
ABANDONED: Final = """
    abandon abgebrochen abbruch expired abbandon afgebroken przerwan avbrut timeout withdrawn cancelled canceled
    zurückgezogen caducad scadut verlopen abgelaufen expiré expirad utgången udløbet wygas desist
    rezygn zrezygn anulowan wycof
    dibatalkan đã_hủy 連絡なし 未回答 期限切れ 取消 辞退 放弃 취소 포기
    отказал_се отказалась отказался frafald bortfald bez_odezvy nereagova uteblev utebli
    wdr wdrn odusta neatvyk atsaukt loobu ulaşılama vazgeç eláll visszalép ακυρώθ έληξ peruut keskeyt
"""
"""Beginnings of the words for what was decided, and for how a step-up ended."""

ACTIVE: Final = """
    active aktiv activ actif ativo ativa attivo attiva actief aktywn aktiivi aktif vigente in_force laufend ενεργ
    löpande em_dia em_andamento in_corso en_cours lopend løbende
    активн активен действу действующ 有効 利用中 活跃 활성 نشط פעיל
"""
ENDED: Final = """
    baja opsagt oppsagt indfri slutbetal quitad liquidad inkasso charged_off paid_off written_off
    block suspend suspens closed terminated frozen banned deactivated dormant locked gesperrt geschlossen gekündigt
    zablok rozwiąz zawiesz zamkni bloqu encerrad cerrad cancel bloccat chius sospes geblokkeerd gesloten opgezegd
    beëindigd spärrad stängd avslutad blokován zrušen uzavřen ukončen lukittu suljettu askıda kapalı kapatıl engel
    заблок закрыт закрит приостан призупин résili clôtur gelöscht stillgelegt letilt zárolt megszűnt suspendat închis
    μπλοκ κλειστ ανεσταλ 凍結 解約 停止 冻结 注销 封禁 정지 해지 موقوف مغلق محظور חסום סגור
"""
"""Beginnings of the words for how an account stands today."""

HANDLERS: Final = """
    reviewer reviewed_by analyst underwriter adjuster assigned_to assignee case_owner case_handler handled_by
    investigator sachbearbeiter bearbeiter prüfer gestionnaire analyste réviseur enquêteur analista tramitador perito
    investigador revisor liquidatore gestore_pratica istruttore liquidador regulador behandelaar schadebehandelaar
    beoordelaar handläggare granskare sagsbehandler saksbehandler likwidator zpracovatel likvidátor schvalovatel
    ügyintéző hasar_uzmanı käsittelijä
"""
"""Words of headers of who handled a record."""
AFTERWARDS: Final = """
    default defaulted fpd npl npa sar
    arrears overdue dpd delinquency delinquent collection collections recovered recovery refund refunded writeoff
    write_off written_off charged_off chargeoff payout paid_out dunning loss losses mahnung mahnstufe mahnst inkasso
    rückstand verzug erstattung erstattet ausfall impayé recouvrement remboursé remboursement arriéré impago mora
    recobro recuperado recuperación reembolso pagado bezahlt
    ausbezahlt indemnizado atraso inadimplência cobrança estorno insoluto rimborso
    recupero sofferenza arretrato achterstand aanmaning incasso terugbetaald återbetald återbetalning restans windykacja
    account_status account_state contract_status loan_status card_status wallet_status kontostatus vertragsstatus
    statut_compte statut_ligne estado_cuenta estado_contrato estado_conta stato_conto status_konta status_umowy
    lånestatus
    rykker purring betalningspåminnelse upomínka felszólítás somație
    hátralék tartozás restanță întârziere zadłużenie dlužná dług restance gæld eftersläp
    arr arrs zaległość zwrot vymáhání nedoplatek perintä behajtás просрочка взыскание возврат gecikme icra
"""
"""Words of headers of what may become of an application later: arrears, refunds, collections."""
STATUSES: Final = """
    status state standing zustand statut état estado stato stan stav situação situación situatie tillstånd tilstand tila
    állapot stare κατάσταση katastasi статус состояние стан състояние stanje durum 状態 状况 상태 حالة מצב
"""
"""Words of headers of how something stands, at the event or today."""
AMOUNTS: Final = """
    amount amt betrag montant importe importo monto valor bedrag kwota belopp summe
    total ordertotal subtotal částka cena_celkem beløb beløp összeg ποσό summa sumă chargeback_amt
    сумма сума сума_кредиту iznos znesek suma_plata tutar miktar 金額 金额 금액 المبلغ סכום
    schadenhöhe schadenssumme
    jumlah nominal số_tiền tổng_tiền giá_trị suma износ quantitat upphæð จำนวนเงิน مبلغ netwr
"""
MEASURES: Final = f"""
    {AMOUNTS} balance income salary price value score age days hours seconds limit saldo einkommen gehalt preis
    wert alter anzahl tage stunden sekunden solde revenu salaire prix âge nombre jours ingresos salario precio edad días
    reddito stipendio prezzo età giorni renda salário preço idade dias inkomen salaris prijs leeftijd dagen
    dochód pensja
    cena wiek liczba ålder inkomst pris antal dagar duration dauer durée
    income доход дохід зарплата цена стоимость возраст стаж prihod dohodak cijena gelir fiyat yaş 収入
    年収 価格 年齢 数 薪资 价格 年龄 rate percent pct cnt volume qty km kwh
    umur tuổi harga giá số_lượng lama pendapatan gaji thu_nhập days_since years yrs months
    ancienneté antigüedad anzianità scoring rating plafond limite límite fatturato umsatz facturación clv
    wartość distance kreditgräns věk
"""
"""Headers of numbers that measure something, which are no identifiers."""
PAYMENTS: Final = """
    payment transaction transaktion transaktions zahlung tx txn merchant terminal händler paiement commerçant pago
    transacción comercio pagamento transazione esercente transação lojista betaling transactie transakcja płatność
    sprzedawca betalning
    platba transakce betaling transaktion kjøp fizetés tranzakció πληρωμή συναλλαγή maksu plată tranzacție charge
    order
    transaksi giao_dịch pembayaran thanh_toán
"""
LINKS: Final = """
    iccid
    id ids key nr ip device card account iban imei cookie fingerprint hash token session wallet customer client user
    merchant terminal gerät karte konto kunde händler kennung carte compte appareil terminal_client utilisateur
    commerçant tarjeta cuenta dispositivo cliente comercio usuario carta conto utente esercente cartão conta utilizador
    usuário lojista kaart rekening apparaat klant gebruiker winkelier karta urządzenie klient sprzedawca użytkownik kort
    enhet kund kunden karten konten klienta karty konta urządzenia użytkownika sprzedawcy
    zařízení karta účet zákazník enheds enhed kort konto kunde bruger bruker eszköz kártya számla ügyfél συσκευή κάρτα
    λογαριασμός πελάτης laite kortti tili asiakas dispozitiv card cont cpf cnpj dni nif nie fp bin
    телефон карта карты устройство устройства пристрій пристрою клиент клиента клієнта счет счета рахунок
    інн инн устройството uređaj uređaja kartica račun kupac naprava cihaz kart müşteri hesap 端末 端末id
    カード 口座 顧客 会員 设备 设备号 卡号 账号 客户 用户 身份证 الجهاز البطاقة العميل الحساب מכשיר כרטיס
    לקוח חשבון ein ssn oib egn egp kunnr imsi msisdn wallet permis cédula rut curp rfc cuit cuil nit
    perangkat kartu pelanggan thiết_bị thẻ tài_khoản khách_hàng seade ierīce įrenginys kortelė sąskaita
    zariadenie уређај картица рачун dispositiu targeta pesel cnp nik ktp cccd cmnd personnummer isikukood
    personnr fødselsnummer fødselsnr cpr henkilötunnus hetu bsn burgerservicenummer rodné fiscale svnr tckn снилс
    passport pasaporte passeport passaporte reisepassnr benutzer nutzer mitglied member membre adhérent socio medlem
    användare účtu zákazníka klijenta kupca kartice računa πελάτη κάρτας λογαριασμού συσκευής asiakkaan tilin kortin
    laitteen kliendi kaardi vermittler makler courtier broker intermediario intermediário
    last4 ahv visitor beneficiary till paybill agent recipient payee
    sha256 sha1 sha512 md5 hashed hmac haché hachée gehasht 指纹 識別子
"""
"""Headers of identifiers that connect records."""
NUMBERS: Final = """
    id key nr no num number nummer numéro número numero numer n code ref hash token nº kennung identifiant
    číslo cislo azonosító szám int addr αριθμός αρ κωδικός numero număr
    номер код broj številka şifre kimliği kimlik 番号 编号 号 رقم معرف מספר מזהה
    nomor mã numurs numeris kod
    コード nro 識別子 标识
"""
"""Words for the number of something, before or after it."""

PROTECTED: Final = {
    "sex": """
        sex gender geschlecht sexe genre sexo género sesso genere gênero geslacht płeć kön køn kjønn pohlaví nem φύλο
        sukupuoli
        пол стать cinsiyet spol 性別 性别 الجنس מין
        jenis_kelamin giới_tính sugu dzimums lytis pohlavie sex_code
    """,
    "age": """
        věk alder kor életkor ηλικία ikä vârstă age alter âge edad età idade leeftijd wiek ålder
        возраст вік възраст yaş 年齢 年龄 العمر גיל
        umur tuổi vanus vecums amžius
    """,
}

_MISSING: Final = """
    NULL | null | (null) | N/A | n/a | #N/A | NaN | nan | None | NA | \\N | ? | - | -- | n.a. | unknown |
    Unknown | k.A. | k. A. | keine Angabe | unbekannt | Unbekannt | entfällt | n/d | N/D | n.d. | N.D. |
    ND | nd | inconnu | Inconnu | inconnue | s/o | S/O | non renseigné | desconocido | sin datos | s/d |
    S/D | sconosciuto | non disponibile | desconhecido | não informado | onbekend | Onbekend | neuvedeno |
    ukendt | ukjent | ismeretlen | άγνωστο | necunoscut | não se aplica | not available | n.v.t. |
    nieznany | nieznane | brak | Brak | b.d. | brak danych | okänd | saknas | неизвестно | невідомо |
    неизвестен | нет данных | bilinmiyor | nepoznato | 不明 | 未知 | غير معروف | 00.00.0000 | 0000-00-00 |
    00/00/0000 | 00-00-0000 | 0000-00-00 00:00:00 | 00.00.0000 00:00 | 00000000 | 9999-12-31 | 31.12.9999 |
    99991231 | 9999-12-31 00:00:00 |
    1900-01-01 | 01.01.1900 | 01/01/1900 | 1900-01-01 00:00:00 | 1970-01-01 00:00:00 | 0001-01-01 |
    0001-01-01 00:00:00 | 0001-01-01T00:00:00
"""
MISSING: Final = tuple(word.strip() for word in _MISSING.split("|"))
"""Cells that mean a missing value."""

DOCUMENTS: Final = {
    "PASSPORT": """
        passport reisepass pass passeport pasaporte passaporto passaporte paspoort paszport pas cestovní_pas
        útlevél passi pasaport pașaport pp διαβατήριο паспорт_загран загранпаспорт
    """,
    "NATIONAL_ID": """
        national_id id_card identity_card personalausweis ausweis carte_identité carte_nationale_identité cni dni
        cédula documento_nacional_identidad carta_identità cie cartão_cidadão bilhete_identidade rg identiteitskaart
        id_kaart dowód_osobisty dowód nationellt_id nasjonalt_id
        nasjonalt_id_kort nationalt_id_kort id_kort občanský_průkaz személyi_igazolvány henkilökortti ine ife
        kimlik_kartı nüfus_cüzdanı op carte_de_identitate ci buletin state_id ταυτότητα δελτίο_ταυτότητας лична_карта
    """,
    "DRIVERS_LICENSE": """
        drivers_license driver_s_license driver_license driving_licence driving_license führerschein permis_conduire
        permis permiso_conducir carnet_conducir carné_conducir carné licencia_conducir fahrerlaubnis führerausweis
        patente patente_guida carta_condução
        carteira_motorista cnh rijbewijs prawo_jazdy körkort kørekort førerkort ajokortti řidičský_průkaz jogosítvány
        ehliyet sürücü_belgesi řp permis_de_conducere δίπλωμα_οδήγησης άδεια_οδήγησης водительское_удостоверение
    """,
    "RESIDENCE_PERMIT": """
        residence_permit aufenthaltstitel aufenthaltserlaubnis titre_séjour carte_séjour permiso_residencia nie tie
        permesso_soggiorno autorização_residência título_residência verblijfsvergunning verblijfsdocument karta_pobytu
        uppehållstillstånd opholdskort oppholdskort opholdstilladelse oppholdstillatelse oleskelulupa povolení_k_pobytu
        άδεια_διαμονής ikamet oturma_izni permis_ședere permis_de_ședere tartózkodási_engedély
    """,
}
