"""Domains of providers of mail: free ones, and those of addresses that are thrown away after use.

Compiled by the authors from what is publicly known, November 2026. Neither list is complete; a configuration adds to
them (`features.mail_providers`). A bundle holds the lists that it was trained with.
"""

from typing import Final

_FREE = """
    126.com 163.com 21cn.com abv.bg alice.it aliyun.com aol.com aol.de arcor.de att.net azet.sk bell.net bellsouth.net
    bigpond.com bk.ru bluewin.ch bol.com.br bt.com btinternet.com centrum.cz centrum.sk charter.net comcast.net cox.net
    daum.net earthlink.net email.com email.cz email.de fastmail.com fastmail.fm foxmail.com free.fr freemail.hu
    freenet.de gmail.com gmx.at gmx.ch gmx.com gmx.de gmx.fr gmx.net googlemail.com hanmail.net hey.com home.nl
    hotmail.be hotmail.ca hotmail.ch hotmail.co.uk hotmail.com hotmail.com.ar hotmail.com.br hotmail.de hotmail.es
    hotmail.fr hotmail.it hotmail.nl hushmail.com icloud.com inbox.lv inbox.ru interia.pl internode.on.net inwind.it
    juno.com kakao.com kpnmail.nl laposte.net libero.it list.ru live.be live.ca live.co.uk live.com live.de live.fr
    live.it live.nl mac.com mail.bg mail.com mail.de mail.ee mail.ru mailbox.org mailfence.com me.com msn.com nate.com
    naver.com neuf.fr o2.pl onet.pl op.pl optonline.net optusnet.com.au orange.fr outlook.at outlook.com outlook.com.br
    outlook.de outlook.es outlook.fr outlook.it pm.me posteo.de proton.me protonmail.ch protonmail.com qq.com rambler.ru
    rediffmail.com rogers.com rocketmail.com sapo.pt sbcglobal.net seznam.cz sfr.fr shaw.ca sina.cn sina.com skynet.be
    sohu.com sympatico.ca t-online.de talktalk.net telenet.be telus.net terra.com.br tiscali.it tutanota.com
    tutanota.de tuta.com tuta.io ukr.net uol.com.br vip.qq.com verizon.net virgilio.it virginmedia.com walla.co.il
    wanadoo.fr web.de windowslive.com wp.pl xtra.co.nz ya.ru yahoo.ca yahoo.co.id yahoo.co.in yahoo.co.jp yahoo.co.uk
    yahoo.com yahoo.com.ar yahoo.com.au yahoo.com.br yahoo.com.mx yahoo.de yahoo.es yahoo.fr yahoo.it yandex.com
    yandex.ru yeah.net ymail.com ziggo.nl zoho.com zonnet.nl
"""

_DISPOSABLE = """
    0-mail.com 10minutemail.com 10minutemail.net 1secmail.com 1secmail.net 1secmail.org 20minutemail.com 33mail.com
    anonbox.net anonymbox.com binkmail.com bobmail.info boximail.com burnermail.io chacuo.net cock.li crazymailing.com
    deadaddress.com despam.it discard.email discardmail.com discardmail.de dispostable.com dodgeit.com dropmail.me
    e4ward.com easytrashmail.com emailfake.com emailondeck.com emailtemporanea.net emltmp.com fakeinbox.com
    fakemail.net fakemailgenerator.com filzmail.com generator.email getairmail.com getnada.com gettempmail.com
    grr.la guerrillamail.biz guerrillamail.com guerrillamail.de guerrillamail.info guerrillamail.net guerrillamail.org
    guerrillamailblock.com harakirimail.com inboxbear.com inboxkitten.com incognitomail.org jetable.org kasmail.com
    linshiyouxiang.net luxusmail.org mail-temp.com mail-temporaire.fr mail.tm maildrop.cc mailcatch.com maildax.com
    mailexpire.com mailforspam.com mailinator.com mailinator.net mailinator2.com mailmetrash.com mailmoat.com
    mailnesia.com mailnull.com mailpoof.com mailsac.com mailtemp.info meltmail.com minuteinbox.com mintemail.com
    moakt.cc moakt.com mohmal.com mt2015.com mytemp.email mytrashmail.com nada.email no-spam.ws nospam.ze.tm
    nospamfor.us
    notmailinator.com nowmymail.com objectmail.com one-time.email owlymail.com pokemail.net pookmail.com rcpt.at
    reallymymail.com safetymail.info sharklasers.com shieldemail.com smailpro.com sogetthis.com spam4.me spambog.com
    spambox.us spamcowboy.com spamex.com spamfree24.org spamgourmet.com spamherelots.com spamhole.com spaml.com
    spammotel.com spamspot.com superrito.com temp-mail.io temp-mail.org tempail.com tempemail.com tempinbox.com
    tempmail.com tempmail.dev tempmail.net tempmail.plus tempmailaddress.com tempmailo.com tempomail.fr
    temporary-mail.net temporaryemail.net temporaryinbox.com tempr.email throwam.com throwaway.email
    throwawaymail.com tmail.ws tmailinator.com tmpmail.net tmpmail.org trash-mail.com trash-mail.de trashmail.at
    trashmail.com trashmail.de trashmail.me trashmail.net trashmail.ws trbvm.com wegwerfemail.com wegwerfemail.de
    wegwerfmail.de wegwerfmail.net wegwerfmail.org yopmail.com yopmail.fr yopmail.net zetmail.com
"""

FREE: Final = frozenset(_FREE.split())
"""Domains where anyone gets an address free of charge."""

DISPOSABLE: Final = frozenset(_DISPOSABLE.split())
"""Domains of addresses that are thrown away after use."""
