"""Two distributions from one tree: the client, which needs no numpy, and all else, which depends on it."""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final
from zipfile import ZipFile

import pytest

ROOT: Final = Path(__file__).parents[1]
CLIENT: Final = ROOT / "packaging" / "client"
ALONE: Final = """
import sys
import scoring_model.client, scoring_model.contract.identity
print(sorted({"numpy", "pyarrow", "onnxruntime"} & {name.partition(".")[0] for name in sys.modules}))
print(scoring_model.__file__)
for name in ("Scorer", "train"):
    try:
        getattr(scoring_model, name)
    except ImportError as error:
        print(error)
"""


def files(wheel: Path) -> set[str]:
    """The files of a wheel that it installs into the package."""
    return {name for name in ZipFile(wheel).namelist() if name.startswith("scoring_model/")}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Both wheels, by the folder that describes them."""
    made = {}
    for name, folder in (("client", CLIENT), ("main", ROOT)):
        out = tmp_path_factory.mktemp(name)
        build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(out)]
        subprocess.run(build, cwd=folder, check=True, capture_output=True)
        (made[name],) = out.glob("*.whl")
    return made


def test_every_file_is_in_one_wheel(wheels: dict[str, Path]) -> None:
    """No file of the package is in both wheels, and none in neither."""
    package = ROOT / "src" / "scoring_model"
    kept = (path for path in package.rglob("*") if path.is_file() and path.parent.name != "__pycache__")
    shipped = {f"scoring_model/configs/{path.name}" for path in (ROOT / "configs").iterdir()}
    assert files(wheels["client"]) & files(wheels["main"]) == set()
    assert files(wheels["client"]) | files(wheels["main"]) == shipped | {
        path.relative_to(package.parent).as_posix() for path in kept
    }
    assert {name.split("/")[1] for name in files(wheels["client"])} == {
        "__init__.py",
        "client",
        "contract",
        "py.typed",
    }


def test_the_client_runs_alone(wheels: dict[str, Path], tmp_path: Path) -> None:
    """Its wheel imports without numpy, and names the package that has a name it lacks."""
    ZipFile(wheels["client"]).extractall(tmp_path)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ALONE],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == [
        "[]",
        str(tmp_path / "scoring_model" / "__init__.py"),
        "scoring_model.Scorer needs scoring_model.scorer: pip install 'scoring-model'",
        "scoring_model.train needs scoring_model.training: pip install 'scoring-model[train]'",
    ], done.stderr


def test_usability_configurations_come_out_of_an_installed_package(
    wheels: dict[str, Path], tmp_path: Path
) -> None:
    """Without the checkout `configs copy` writes the files of the checkout, and replaces none that is there."""
    for wheel in wheels.values():
        ZipFile(wheel).extractall(tmp_path / "installed")

    def copy() -> subprocess.CompletedProcess[str]:
        program = "import sys; from scoring_model.cli import main; sys.exit(main(sys.argv[1:]))"
        return subprocess.run(
            [sys.executable, "-c", program, "configs", "copy", "mine/configs"],
            cwd=tmp_path,
            env={"PYTHONPATH": str(tmp_path / "installed")},
            capture_output=True,
            text=True,
            check=False,
        )

    done = copy()
    assert done.returncode == 0, done.stderr
    copied, shipped = (
        sorted(folder.iterdir()) for folder in (tmp_path / "mine" / "configs", ROOT / "configs")
    )
    assert [path.name for path in copied] == [path.name for path in shipped]
    assert [path.read_bytes() for path in copied] == [path.read_bytes() for path in shipped]
    copied[0].unlink()
    again = copy()
    assert (again.returncode, str(copied[1].relative_to(tmp_path)) in again.stderr) == (1, True)
    assert not copied[0].exists()


def test_both_have_one_version() -> None:
    """The main distribution depends on the client of its own version, which states what the client imports."""
    main, client = (
        tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        for folder in (ROOT, CLIENT)
    )
    assert main["version"] == client["version"]
    assert f"scoring-model-client=={client['version']}" in main["dependencies"]
