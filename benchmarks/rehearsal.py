"""A short run of the load that sets the policy, so that a realistic share is stepped up."""

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
    """Serve a bundle briefly, and save it under a policy that suits its scores.

    Parameters
    ----------
    bundle : Bundle
    visits : Visits
        The load to come.
    folder : Path
        Folder of the service; the bundle is written to ``bundles/served``.
    core : int
        Core of the service.
    database, master_key : str
        URL of the database, and source of the master keys.

    Returns
    -------
    Path
        Path of the bundle to measure.
    """
    path = bundle.save(folder / "bundles" / "trained")
    with serving(folder, core, bundle=path, database=database, master_key=master_key) as running:
        warm = visits.drive(running.url + CREATE, seconds=WARM_SECONDS, kept=100_000)
    return stepping_up(bundle, scores_of(warm)).save(folder / "bundles" / "served")
