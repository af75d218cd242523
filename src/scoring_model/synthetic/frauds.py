"""Frauds: rings, invented identities, stolen ones and bursts, whose mix and tactics drift over the history.

Every group has a care from 0 to 1. A careful one does what honest people do, and leaves few traces.
"""

import numpy as np

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.synthetic.behaviour import Population, addresses_at, behave, form_seconds, mail_ages
from scoring_model.synthetic.campaigns import Members, Plot, Slice, common, drifting, gather, own
from scoring_model.synthetic.countries import WEIGHTS
from scoring_model.synthetic.draws import Draws
from scoring_model.synthetic.events import TEMPORARY_MAIL, EventArray, Kind, put
from scoring_model.synthetic.people import homes, households, settle

RING = Plot(name="ring", kind=Kind.RING, share=(0.0047, 0.0038), sizes=(2, 3, 4, 6, 9, 14, 24), hours=300.0)
INVENTED = Plot(
    name="invented", kind=Kind.INVENTED, share=(0.0036, 0.0019), sizes=(1, 1, 1, 2, 4), hours=60.0
)
STOLEN = Plot(name="stolen", kind=Kind.STOLEN, share=(0.0021, 0.0047), sizes=(1, 1, 1, 2, 5), hours=60.0)
BURST = Plot(name="burst", kind=Kind.BURST, share=(0.0015, 0.0017), sizes=(6, 10, 16, 26, 50), hours=0.7)

_CARE = (0.0, 0.0, 0.05, 0.25, 0.65, 1.0)


def frauds(draws: Draws, calendar_slice: Slice, population: Population) -> list[EventArray]:
    """Plan the frauds that begin in a slice.

    Parameters
    ----------
    population : Population
        Whose identities may be stolen: everybody who came before the slice.

    Returns
    -------
    list of EventArray
        Not in order of time.
    """
    return [
        _rings(draws, gather(draws, population.calendar, calendar_slice, RING)),
        _invented(draws, gather(draws, population.calendar, calendar_slice, INVENTED)),
        _stolen(draws, gather(draws, population.calendar, calendar_slice, STOLEN), population),
        _bursts(draws, gather(draws, population.calendar, calendar_slice, BURST)),
    ]


def _rings(draws: Draws, members: Members) -> EventArray:
    """Let plausible people share an address, a device or an image: addresses at first, images later."""
    events, progress = members.events, members.progress
    _pose(draws, members)
    loose = draws.uniform("ring.rotates", members.group)
    rotate = 1 + (loose * 3).astype(np.int64)
    address = draws.chance("ring.address", drifting(0.6, 0.3, progress), members.group)
    device = draws.chance("ring.device", drifting(0.45, 0.4, progress), members.group)
    image = draws.chance("ring.image", drifting(0.15, 0.45, progress), members.group)
    _share(draws, members, "address", address | ~(device | image), rotate)
    _share(draws, members, "device", device, rotate)
    _share(draws, members, "image", image, rotate)
    _slip(draws, members, _sloppiness(draws, members))
    return events


def _invented(draws: Draws, members: Members) -> EventArray:
    """Make up identities: odd names and dates at first, ever more plausible ones later."""
    events, progress = members.events, members.progress
    _pose(draws, members)
    sloppy = _sloppiness(draws, members)
    odd = draws.chance("invented.name", sloppy * drifting(0.75, 0.4, progress), events["key"])
    styles = draws.choice("invented.name.style", (0.0, 0.4, 0.17, 0.25, 0.08, 0.1), events["key"])
    put(events, "name_style", styles, odd)
    dated = draws.chance("invented.date", sloppy * drifting(0.6, 0.3, progress), events["key"])
    dates = draws.choice("invented.date.style", (0.0, 0.5, 0.2, 0.3), events["key"])
    put(events, "date_style", dates, dated)
    _share(draws, members, "device", draws.chance("invented.device", 0.5, members.group), 1)
    _slip(draws, members, sloppy)
    return events


def _stolen(draws: Draws, members: Members, population: Population) -> EventArray:
    """Take the names and birth dates of earlier people, with another device, address, often country."""
    events = members.events
    victims = draws.below("stolen.victim", max(population.size, 1), events["key"]).astype(np.uint64)
    events["identity"] = victims
    events["family"] = households(draws, victims, daily=population.daily)
    home = homes(draws, events["family"])
    settle(draws, events, home)
    known = addresses_at(draws, events["family"], events["time"])
    events["address"] = known
    behave(draws, events, members.progress)
    moved = draws.chance("stolen.country", 0.3, members.group)
    events["country"] = np.where(moved, members.country, home)
    kept = draws.chance("stolen.address", 0.35, events["key"]) & ~moved
    events["address"] = np.where(kept, known, own(draws, "member.address", members))
    # By somebody of the house, who has the device and the papers at hand.
    familiar = kept & draws.chance("stolen.familiar", 0.7, events["key"])
    put(events, "device", common(draws, "group.device", members), ~familiar)
    put(events, "image", own(draws, "member.image", members), ~familiar)
    events["mail_age"] = mail_ages(draws, events["key"], fresh=0.2)
    _slip(draws, members, _sloppiness(draws, members))
    return events


def _bursts(draws: Draws, members: Members) -> EventArray:
    """Send many records within an hour, by software, from one device or network country."""
    events, progress = members.events, members.progress
    _pose(draws, members)
    one = draws.chance("burst.device", drifting(0.65, 0.4, progress), members.group)
    _share(draws, members, "device", one, 2)
    source = draws.choice("burst.ip", WEIGHTS, members.group)
    events["ip"] = np.where(draws.chance("burst.abroad", 0.5, members.group), source, members.country)
    quick = draws.chance("burst.quick", drifting(0.7, 0.4, progress), members.group)
    events["form"] = form_seconds(draws, events["key"], quick=np.where(quick, 0.9, 0.2))
    _slip(draws, members, _sloppiness(draws, members))
    return events


def _pose(draws: Draws, members: Members) -> None:
    """Give members identities of their own and the behaviour of honest people."""
    events = members.events
    events["identity"] = own(draws, "member.identity", members)
    kin = draws.chance("fraud.kin", 0.15, members.group)
    events["family"] = np.where(kin, members.group, own(draws, "member.family", members))
    events["address"] = own(draws, "member.address", members)
    settle(draws, events, members.country)
    behave(draws, events, members.progress)


def _sloppiness(draws: Draws, members: Members) -> FloatArray:
    """Take one minus the care of each member's group."""
    return 1.0 - draws.quantile("fraud.care", _CARE, members.group)


def _share(draws: Draws, members: Members, field: str, groups: BoolArray, among: int | IntArray) -> None:
    """Let the members of some groups share a field, with a few exceptions."""
    shared = groups & draws.chance(f"share.{field}", 0.75, members.events["key"])
    keys = common(draws, f"group.{field}", members, np.asarray(among, dtype=np.int64))
    put(members.events, field, keys, shared)


def _slip(draws: Draws, members: Members, sloppy: FloatArray) -> None:
    """Leave traces in the signals: fewer if the group is careful; software and fresh mail become rarer over time."""
    events, progress, keys = members.events, members.progress, members.events["key"]
    vpn = draws.chance("slip.vpn", sloppy * drifting(0.45, 0.6, progress), keys)
    events["vpn"] |= vpn
    source = draws.choice("slip.ip.country", WEIGHTS, members.group)
    abroad = draws.chance("slip.ip", sloppy * 0.5, keys)
    put(events, "ip", source, abroad)
    fresh = draws.chance("slip.mail", sloppy * drifting(0.8, 0.6, progress), keys)
    young = np.floor(draws.lognormal("slip.mail.age", 4.0, 1.2, keys))
    put(events, "mail_age", young, fresh)
    temporary = draws.chance("slip.temporary", sloppy * drifting(0.25, 0.12, progress), keys)
    put(events, "mail", TEMPORARY_MAIL, temporary)
    quick = draws.chance("slip.form", sloppy * drifting(0.65, 0.45, progress), keys)
    put(events, "form", form_seconds(draws, keys, quick=1.0), quick)
