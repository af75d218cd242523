"""Identity risk scoring: PASSED, STEPPED_UP or FAILED from an identity record and what is known around it.

The names that most programs need are here, each loaded when it is first used, so that a scorer never
brings a training library with it:

- `train(frame, configuration)` makes a bundle of labelled records,
- `Scorer.load(path)` decides with one,
- `evaluate(path, records)` measures the decisions of a bundle on labelled records,
- `compare(path, other, records)` shows what another bundle would change,
- `backtest(frame, configuration)` says how models trained in the past would have fared,
- `change_policy(path, configuration)` gives a bundle another policy without a training,
- `monitor(path, records)` says whether new records are still what a bundle was made for,
- `load_configuration(path)` reads the configuration of a use.

Decision record: docs/adr/0001-packages-and-imports.md.
"""

from importlib import import_module, metadata
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from scoring_model.bundle import Bundle as Bundle
    from scoring_model.configuration import load_configuration as load_configuration
    from scoring_model.evaluation import compare as compare
    from scoring_model.evaluation import evaluate as evaluate
    from scoring_model.monitoring import monitor as monitor
    from scoring_model.scorer import Scorer as Scorer
    from scoring_model.training.backtest import backtest as backtest
    from scoring_model.training.policy_change import change_policy as change_policy
    from scoring_model.training.run import train as train

_PACKAGES: Final = {
    "Bundle": "scoring_model.bundle",
    "Scorer": "scoring_model.scorer",
    "backtest": "scoring_model.training.backtest",
    "change_policy": "scoring_model.training.policy_change",
    "compare": "scoring_model.evaluation",
    "evaluate": "scoring_model.evaluation",
    "load_configuration": "scoring_model.configuration",
    "monitor": "scoring_model.monitoring",
    "train": "scoring_model.training.run",
}

__all__ = list(_PACKAGES)


def __getattr__(name: str) -> object:
    if name == "__version__":
        return _version()
    if name not in _PACKAGES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(_PACKAGES[name]), name)
    except ModuleNotFoundError as error:
        is_part = str(error.name).startswith(f"{__name__}.")
        is_for_training = _PACKAGES[name].startswith(f"{__name__}.training")
        needed = "scoring-model" if is_part and not is_for_training else "scoring-model[train]"
        raise ImportError(f"{__name__}.{name} needs {error.name}: pip install '{needed}'") from error


def _version() -> str:
    """Return the version of the package, or of the client where that alone is installed: they are the same."""
    try:
        return metadata.version("scoring-model")
    except metadata.PackageNotFoundError:
        return metadata.version("scoring-model-client")


def __dir__() -> list[str]:
    return [*__all__, *(name for name in globals() if name.startswith("__")), "__version__"]
