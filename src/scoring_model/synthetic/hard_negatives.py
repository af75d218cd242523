"""Hard negatives: honest groups that look like fraud, such as shared houses, offices, families with one phone."""

from scoring_model.synthetic.behaviour import behave
from scoring_model.synthetic.campaigns import Members, Plot, Slice, common, gather, own
from scoring_model.synthetic.draws import Draws
from scoring_model.synthetic.events import WORK_MAIL, Channel, EventArray, Kind, put
from scoring_model.synthetic.people import settle
from scoring_model.synthetic.seasons import Calendar


def _plot(name: str, share: float, sizes: tuple[float, ...], hours: float) -> Plot:
    return Plot(name=name, kind=Kind.GENUINE, share=(share, share), sizes=sizes, hours=hours)


STUDENTS = _plot("students", 0.007, (2, 3, 4, 6, 9), 300.0)
OFFICE = _plot("office", 0.008, (4, 7, 12, 22, 45), 2.0)
FAMILY = _plot("family", 0.010, (2, 2, 3, 4, 5), 20.0)
HELPER = _plot("helper", 0.006, (3, 5, 8, 14), 260.0)
UPLOAD = _plot("upload", 0.005, (2, 3, 6, 14), 60.0)


def hard_negatives(draws: Draws, calendar: Calendar, part: Slice) -> list[EventArray]:
    """Plan the honest groups that begin in a slice and look like fraud."""
    groups = {plot.name: _people(draws, calendar, part, plot) for plot in (STUDENTS, OFFICE, HELPER, UPLOAD)}
    _share_house(draws, groups["students"])
    _share_office(draws, groups["office"])
    _share_helper(draws, groups["helper"])
    _share_upload(draws, groups["upload"])
    family = gather(draws, calendar, part, FAMILY)
    family.events["family"] = family.group
    _live(draws, family)
    _share_phone(draws, family)
    return [members.events for members in (*groups.values(), family)]


def _people(draws: Draws, calendar: Calendar, part: Slice, plot: Plot) -> Members:
    members = gather(draws, calendar, part, plot)
    members.events["family"] = own(draws, "member.family", members)
    _live(draws, members)
    return members


def _live(draws: Draws, members: Members) -> None:
    events = members.events
    events["identity"] = own(draws, "member.identity", members)
    events["address"] = own(draws, "member.address", members)
    settle(draws, events, members.country)
    behave(draws, events, members.progress)


def _share_house(draws: Draws, members: Members) -> None:
    members.events["address"] = common(draws, "group.address", members)


def _share_office(draws: Draws, members: Members) -> None:
    """Let people verify in one office and its network, often on a shared tablet."""
    events = members.events
    events["ip"] = members.country
    events["vpn"] = draws.chance("office.vpn", 0.35, members.group)
    work = draws.chance("office.mail", 0.7, events["key"])
    put(events, "mail", WORK_MAIL, work)
    tablet = draws.chance("office.tablet", 0.55, members.group)
    put(events, "device", common(draws, "group.device", members, 2), tablet)
    address = draws.chance("office.address", 0.3, members.group)
    put(events, "address", common(draws, "group.address", members), address)


def _share_helper(draws: Draws, members: Members) -> None:
    """Let a helper with one phone open a mail account for each who has none."""
    events = members.events
    events["device"] = common(draws, "group.device", members)
    opened = draws.chance("helper.mail", 0.5, events["key"])
    put(events, "mail_age", 0.0, opened)
    put(events, "channel", int(Channel.PARTNER), opened)


def _share_upload(draws: Draws, members: Members) -> None:
    """Let a broken scanner send the same picture for all."""
    members.events["image"] = common(draws, "group.image", members)


def _share_phone(draws: Draws, members: Members) -> None:
    """Let a family at one address verify one after the other on one phone."""
    events = members.events
    events["address"] = common(draws, "group.address", members)
    shared = draws.chance("family.phone", 0.75, members.group)
    put(events, "device", common(draws, "group.device", members), shared)
