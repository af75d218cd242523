"""A short run of the load, so that the policy that is served steps up the share that it steps up in real life."""

from pathlib import Path
from typing import Final

from benchmarks.checks import scores_of
from benchmarks.load import Visits
from benchmarks.served_bundle import stepping_up
from benchmarks.service_process import CREATE, serving

from scoring_model.bundle import Bundle

WARM_SECONDS: Final = 3


def rehearsed(
    bundle: Bundle, visits: Visits, folder: Path, core: int, *, database: str, master_key: str
) -> Path:
    """Serve a bundle for a moment, and save it under a policy that suits what it was asked.

    Parameters
    ----------
    bundle : Bundle
    visits : Visits
        The load to come.
    folder : Path
        Of the service; the bundle appears in ``bundles/served``.
    core : int
        On which it is served.
    database, master_key : str
        URL, and source of the keys.

    Returns
    -------
    Path
        Of the bundle to be measured.
    """
    path = bundle.save(folder / "bundles" / "trained")
    with serving(folder, core, bundle=path, database=database, master_key=master_key) as running:
        warm = visits.drive(running.url + CREATE, seconds=WARM_SECONDS, kept=100_000)
    return stepping_up(bundle, scores_of(warm)).save(folder / "bundles" / "served")
