"""Common given and family names by culture, from which invented people get theirs.

Underscores replace blanks inside one name. A culture that writes another script than Latin has the names
twice, in its script and transliterated, in the same order.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Stock:
    """The names of one culture in one script."""

    female: tuple[str, ...]
    male: tuple[str, ...]
    family: tuple[str, ...]


def _stocks(text: str) -> dict[str, Stock]:
    """Read stocks, a blank line between two: culture, female names, male names and then family names."""
    stocks = {}
    for block in text.strip().split("\n\n"):
        culture, female, male, *family = block.split("\n")
        stocks[culture] = Stock(female=_names(female), male=_names(male), family=_names(" ".join(family)))
    return stocks


def _names(text: str) -> tuple[str, ...]:
    return tuple(word.replace("_", " ") for word in text.split())


LATIN: Mapping[str, Stock] = _stocks("""
english
Olivia Emma Charlotte Grace Sophie Hannah Lucy Emily Rachel Karen Susan Margaret Chloe Megan Joy
Oliver Jack Harry George Thomas James William David Michael Andrew Peter Ryan Liam Noah Ian
Smith Jones Taylor Brown Williams Wilson Johnson Davies Robinson Wright Thompson Evans Walker White Roberts Green Hall
Wood O'Brien Murphy Kelly McCarthy Clarke Baker

german
Anna Lena Marie Sabine Petra Ursula Katharina Jana Heike Julia Mia Greta Käthe Birgit
Lukas Leon Jürgen Hans Stefan Andreas Wolfgang Felix Jonas Klaus Günter Matthias Björn Uwe
Müller Schmidt Schneider Fischer Weber Meyer Wagner Becker Schulz Hoffmann Schäfer Koch Bauer Richter Klein Wolf
Schröder Neumann Schwarz Zimmermann Krüger Groß von_Berg

french
Camille Léa Manon Chloé Élodie Françoise Hélène Sylvie Margaux Inès Zoé Nathalie Aurélie Noémie
Lucas Hugo Théo Jérôme François Rémi Étienne Mathieu Guillaume Julien Benoît Cédric Loïc Gaël
Martin Bernard Dubois Robert Richard Petit Durand Leroy Moreau Lefèvre Garnier Faure Rousseau Blanc Guérin Chevalier
Gauthier Mercier Bélanger Tremblay

spanish
María Carmen Lucía Sofía Paula Elena Isabel Pilar Valentina Camila Ximena Rocío Inés Begoña
José Antonio Manuel Javier Diego Pablo Andrés Santiago Mateo Ángel Álvaro Raúl Iñigo Jesús
García González Rodríguez Fernández López Martínez Sánchez Pérez Gómez Ruiz Hernández Díaz Muñoz Romero Álvarez Torres
Vázquez Castro Núñez Ibáñez

portuguese
Ana Beatriz Inês Mariana Leonor Juliana Fernanda Conceição Lurdes Luísa Bruna Letícia
João Pedro Tiago Gonçalo Rui Nuno Luís Rafael Gustavo Thiago Vinícius Otávio
Silva Santos Ferreira Pereira Oliveira Costa Rodrigues Martins Souza Fernandes Gonçalves Gomes Araújo Ribeiro Carvalho
dos_Santos da_Silva Conceição

italian
Giulia Francesca Chiara Sara Martina Alessia Lucia Paola Elisa Nicolò_Maria Rosa Bianca
Marco Andrea Luca Matteo Giuseppe Antonio Niccolò Davide Salvatore Gianluca Pietro Enzo
Rossi Russo Ferrari Esposito Bianchi Romano Colombo Ricci Marino Greco Bruno Gallo Conti De_Luca Costa D'Angelo
Lo_Presti Nicolò

dutch
Emma Julia Sanne Lotte Femke Anouk Marieke Saskia Fleur Eline Noor Wilhelmina
Daan Sem Bram Jeroen Pieter Willem Joost Maarten Sjoerd Thijs Ruud Hendrik
de_Jong Jansen de_Vries van_den_Berg Bakker Visser Smit Meijer de_Boer Mulder Bos Vos Peters Hendriks van_Dijk
van_der_Meer Dekker Peeters

nordic
Astrid Ingrid Freja Linnea Elsa Maja Kirsten Solveig Åsa Märta Sigrid Ida
Lars Erik Nils Søren Jørgen Anders Björn Håkan Magnus Øyvind Leif Göran
Hansen Johansen Olsen Larsen Andersson Johansson Nilsson Lindström Bergström Sørensen Jørgensen Møller Åberg Öberg
Holm Dahl Sandström Kjær

finnish
Aino Helmi Eeva Päivi Tuula Kaisa Riikka Hilkka Sanni Minna
Juhani Matti Väinö Pekka Heikki Jukka Eero Tapio Ville Mikko
Korhonen Virtanen Mäkinen Nieminen Mäkelä Hämäläinen Laine Heikkinen Koskinen Järvinen Lehtonen Yli-Aho

polish
Zofia Hanna Maja Agnieszka Małgorzata Katarzyna Ewa Łucja Grażyna Bożena Aleksandra Joanna
Jan Jakub Szymon Piotr Krzysztof Andrzej Tomasz Paweł Łukasz Michał Grzegorz Zbigniew
Nowak Wójcik Kowalczyk Woźniak Mazur Krawczyk Kaczmarek Zając Król Wieczorek Wróbel Stępień Dudek Pawlak Sikora Grzyb
Strzelczyk Bąk

czech
Jana Eliška Tereza Kateřina Lenka Zdeňka Veronika Hana Ludmila Šárka
Jiří Jan Petr Tomáš Ondřej Vojtěch Zdeněk Lukáš Miloš Štěpán
Novák Svoboda Dvořák Černý Procházka Kučera Veselý Horák Němec Pokorný Růžička Krejčí Čech Vlk

hungarian
Katalin Erzsébet Zsófia Eszter Réka Boglárka Judit Ildikó Zsuzsanna Nóra
László István Gábor Zoltán Balázs Máté Ferenc György Csaba Bence
Nagy Kovács Tóth Szabó Horváth Varga Kiss Molnár Németh Farkas Balogh Papp Győri Őze

romanian
Ioana Andreea Elena Maria Mădălina Ștefania Ruxandra Ana Crina Simona
Andrei Alexandru Ion Mihai Ștefan Cătălin Răzvan Bogdan Florin Vlad
Popescu Ionescu Popa Radu Dumitru Stan Stoica Gheorghe Rusu Munteanu Țurcanu Șerban Ilie Nistor

turkish
Zeynep Elif Ayşe Fatma Emine Merve Büşra Özlem Çiğdem Gül
Mehmet Mustafa Ahmet Ali Hüseyin Yusuf Emre Çağrı Oğuz İbrahim
Yılmaz Kaya Demir Şahin Çelik Yıldız Öztürk Aydın Özdemir Arslan Doğan Kılıç Aslan Çetin Koç Ünal

greek
Maria Eleni Katerina Georgia Sofia Dimitra Anna Ioanna Despina Vasiliki
Georgios Dimitrios Konstantinos Ioannis Nikolaos Panagiotis Vasilios Christos Spyridon Ilias
Papadopoulos Vlachos Angelopoulos Nikolaidis Georgiou Dimitriou Makris Karagiannis Economou Alexiou Samaras Raptis

russian
Anna Maria Elena Olga Natalia Tatiana Irina Svetlana Anastasia Yulia
Alexander Sergei Dmitry Andrei Alexei Mikhail Ivan Yevgeny Nikolai Yuri
Smirnov Ivanov Kuznetsov Popov Sokolov Lebedev Kozlov Novikov Morozov Petrov Volkov Soloviev Shcherbakov Zhukov

ukrainian
Oksana Iryna Kateryna Yuliia Nadiia Halyna Liudmyla Sofiia
Oleksandr Andrii Serhii Volodymyr Mykola Taras Bohdan Yurii
Melnyk Shevchenko Boiko Kovalenko Bondarenko Tkachenko Kravchenko Oliinyk Shvets Moroz Lysenko Rudenko

bulgarian
Maria Ivanka Elena Yordanka Desislava Gergana Radka Tsvetelina
Georgi Ivan Dimitar Nikolay Petar Stoyan Hristo Krasimir
Ivanov Georgiev Dimitrov Petrov Nikolov Hristov Stoyanov Todorov Iliev Vasilev Angelov Tsvetkov

arabic
Fatima Aisha Maryam Nour Layla Zaynab Salma Huda Amina Yasmin
Mohammed Ahmed Ali Omar Youssef Hassan Khaled Ibrahim Mahmoud Abdullah
Al-Masri Hassan Al-Sayed Mansour Al-Najjar Khalil Al-Haddad Saleh Abdel-Rahman Farouk Nasser Al-Shami

indian
Priya Ananya Sunita Kavita Lakshmi Pooja Deepa Neha Meena Radha
Rahul Amit Rajesh Sanjay Arjun Vijay Suresh Anil Ravi Krishna
Sharma Verma Gupta Singh Patel Kumar Reddy Mishra Joshi Mehta Das Rao Nair Yadav

chinese
Fang Na Xiuying Min Jing Li Yan Xiaomei Yutong Shihan
Wei Qiang Lei Jun Yong Jie Tao Ming Haoran Zixuan
Wang Li Zhang Liu Chen Yang Huang Zhao Wu Zhou Xu Sun Ma Zhu Hu Guo

japanese
Yoko Sakura Hanako Misaki Yui Keiko Aoi Naomi Akemi Haruka
Hiroshi Kenji Takashi Daiki Haruto Makoto Kazuo Shota Ren Yuto
Sato Suzuki Takahashi Tanaka Ito Watanabe Yamamoto Nakamura Kobayashi Kato Yoshida Yamada Sasaki Ono

korean
Ji-woo Seo-yeon Min-ji Su-bin Ha-eun Young-hee Eun-ji Yu-na
Min-jun Seo-jun Ji-hoon Hyun-woo Dong-hyun Sung-min Joon-ho Tae-yang
Kim Lee Park Choi Jung Kang Cho Yoon Jang Lim Han Oh

vietnamese
Thị_Lan Thị_Hương Ngọc_Anh Thanh_Hà Mỹ_Linh Bích_Ngọc Thu_Thảo Kim_Oanh
Văn_Hùng Minh_Tuấn Quốc_Bảo Đức_Anh Hữu_Phước Thành_Long Văn_Nam Gia_Huy
Nguyễn Trần Lê Phạm Hoàng Huỳnh Phan Vũ Võ Đặng Bùi Đỗ Hồ Ngô

nigerian
Ngozi Chioma Adaeze Funmilayo Aisha Ifeoma Blessing Yetunde Zainab Patience
Chukwuemeka Oluwaseun Emeka Tunde Ibrahim Musa Chidi Babatunde Sunday Obinna
Okafor Adeyemi Okonkwo Balogun Abubakar Eze Nwosu Ogunleye Bello Adebayo Okoro Mohammed Nwachukwu Uche

kenyan
Wanjiru Akinyi Wambui Atieno Nyambura Chebet Mercy Faith Achieng Njeri
Kamau Otieno Mwangi Kipchoge Njoroge Ochieng Brian Kevin Omondi Mutua
Mwangi Kamau Otieno Odhiambo Kariuki Wanjala Kiprotich Njoroge Mutiso Ngugi Cheruiyot Wafula

namibian
Ndapewa Selma Hilma Tangeni Magdalena Maria Johanna Ester Uazuva Anna
Tangeni Petrus Johannes Ndeshipanda Simeon Festus Immanuel Hidipo Elia Paulus
Nghipondoka Shikongo Haufiku Amupolo Nangolo Hamutenya !Gaoseb //Garoëb Tjiurutue Kavari Beukes Iipinge

southern
Thandiwe Nomvula Lerato Zanele Palesa Annelize Elsabe Nokuthula Naledi Mbali
Sipho Thabo Mandla Kagiso Pieter Johan Lwazi Bongani Mxolisi Themba
Dlamini Nkosi Khumalo Mokoena van_der_Merwe Botha Naidoo Ndlovu Mthembu Pillay Zulu Mkhize Ngcobo Nxumalo
""")
"""Stocks in Latin letters by culture."""

NATIVE: Mapping[str, Stock] = _stocks("""
greek
Μαρία Ελένη Κατερίνα Γεωργία Σοφία Δήμητρα Άννα Ιωάννα Δέσποινα Βασιλική
Γεώργιος Δημήτριος Κωνσταντίνος Ιωάννης Νικόλαος Παναγιώτης Βασίλειος Χρήστος Σπυρίδων Ηλίας
Παπαδόπουλος Βλάχος Αγγελόπουλος Νικολαΐδης Γεωργίου Δημητρίου Μακρής Καραγιάννης Οικονόμου Αλεξίου Σαμαράς Ράπτης

russian
Анна Мария Елена Ольга Наталья Татьяна Ирина Светлана Анастасия Юлия
Александр Сергей Дмитрий Андрей Алексей Михаил Иван Евгений Николай Юрий
Смирнов Иванов Кузнецов Попов Соколов Лебедев Козлов Новиков Морозов Петров Волков Соловьёв Щербаков Жуков

ukrainian
Оксана Ірина Катерина Юлія Надія Галина Людмила Софія
Олександр Андрій Сергій Володимир Микола Тарас Богдан Юрій
Мельник Шевченко Бойко Коваленко Бондаренко Ткаченко Кравченко Олійник Швець Мороз Лисенко Руденко

bulgarian
Мария Иванка Елена Йорданка Десислава Гергана Радка Цветелина
Георги Иван Димитър Николай Петър Стоян Христо Красимир
Иванов Георгиев Димитров Петров Николов Христов Стоянов Тодоров Илиев Василев Ангелов Цветков

arabic
فاطمة عائشة مريم نور ليلى زينب سلمى هدى أمينة ياسمين
محمد أحمد علي عمر يوسف حسن خالد إبراهيم محمود عبد_الله
المصري حسن السيد منصور النجار خليل الحداد صالح عبد_الرحمن فاروق ناصر الشامي

indian
प्रिया अनन्या सुनीता कविता लक्ष्मी पूजा दीपा नेहा मीना राधा
राहुल अमित राजेश संजय अर्जुन विजय सुरेश अनिल रवि कृष्ण
शर्मा वर्मा गुप्ता सिंह पटेल कुमार रेड्डी मिश्रा जोशी मेहता दास राव नायर यादव

chinese
芳 娜 秀英 敏 静 丽 艳 小梅 雨桐 诗涵
伟 强 磊 军 勇 杰 涛 明 浩然 子轩
王 李 张 刘 陈 杨 黄 赵 吴 周 徐 孙 马 朱 胡 郭

japanese
洋子 さくら 花子 美咲 結衣 恵子 葵 直美 明美 遥
博 健二 隆 大輝 陽翔 誠 和夫 翔太 蓮 悠斗
佐藤 鈴木 高橋 田中 伊藤 渡辺 山本 中村 小林 加藤 吉田 山田 佐々木 小野

korean
지우 서연 민지 수빈 하은 영희 은지 유나
민준 서준 지훈 현우 동현 성민 준호 태양
김 이 박 최 정 강 조 윤 장 임 한 오
""")
"""Stocks in the culture's own script, for those that have one; in the order of `LATIN`."""
