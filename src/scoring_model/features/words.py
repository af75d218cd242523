"""Words that reveal the kind of a text, without case and accents."""

from typing import Final

_TITLES: Final = """
    mr mrs miss dr prof professor mister herr frau signor signora senor senora madame monsieur
    ltd limited llc llp inc incorporated corp corporation company gmbh plc sarl holding holdings services
    solutions consulting trading enterprises
"""
_NO_NAMES: Final = """
    test tester testing tests asdf qwerty qwertz none null unknown anonymous anonym nobody noname nameless name
    firstname lastname forename surname fullname nachname vorname apellido prenom user username admin
    administrator demo fake dummy example customer client applicant person xxx abc mustermann musterfrau
"""
_NO_ADDRESSES: Final = """
    test testing none null unknown nowhere somewhere anywhere address adresse fake dummy sample example asdf
    qwerty qwertz xxx abc lorem ipsum tbd undefined
"""
_UNITS: Final = """
    apt apartment appartement appt apto apartamento flat unit suite ste room rm wohnung whg dpto depto piso
    interno int lok lokal mieszkanie m byt кв квартира daire etage floor fl lgh bus ap
"""
_NO_HOMES: Final = """
    pmb mailbox mailboxes postlagernd restante forwarding forwarder virtual hotel hostel motel
"""
_PICTURES: Final = "jpg jpeg jpe jfif png gif webp heic heif avif tif tiff bmp jp2 jxl pdf"
_PUBLIC_HOSTS: Final = """
    imgur.com ibb.co imgbb.com postimg.cc postimages.org imageshack.com tinypic.com flickr.com staticflickr.com
    photobucket.com imgbox.com gyazo.com prnt.sc prntscr.com lensdump.com catbox.moe dropbox.com
    dropboxusercontent.com drive.google.com googleusercontent.com onedrive.live.com 1drv.ms mega.nz mediafire.com
    wetransfer.com discordapp.com discordapp.net telegra.ph t.me fbcdn.net cdninstagram.com pinimg.com twimg.com
    wikimedia.org unsplash.com pexels.com shutterstock.com bit.ly tinyurl.com pastebin.com github.io
    githubusercontent.com ngrok.io ngrok-free.app
"""

TITLES: Final = frozenset(_TITLES.split())
"""Titles and company words, which are not part of a person's name."""

NO_NAMES: Final = frozenset(_NO_NAMES.split())
"""Placeholders that people type instead of a name."""

NO_ADDRESSES: Final = frozenset(_NO_ADDRESSES.split())
"""Placeholders that people type instead of an address."""

UNITS: Final = frozenset(_UNITS.split())
"""Flats, floors and rooms."""

NO_HOMES: Final = frozenset(_NO_HOMES.split())
"""Mailboxes and hotels."""

PICTURES: Final = frozenset(_PICTURES.split())
"""Endings of files that hold pictures."""

PUBLIC_HOSTS: Final = frozenset(_PUBLIC_HOSTS.split())
"""Public hosts of pictures: hosts of images and files, social networks, link shorteners."""
