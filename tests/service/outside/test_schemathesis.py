"""The served description of the interface holds for the service that serves it: schemathesis tries to refute it."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from outside_client import new_credentials, open_service

HOOKS: Final = Path(__file__).parents[2] / "support" / "schemathesis_hooks.py"
CHARACTERS: Final = Path(__file__).parents[3] / ".hypothesis"
"""Where Hypothesis keeps its tables of characters: to make them takes seconds."""
PROGRAM: Final = Path(sys.executable).with_name("schemathesis")
CONFIGURATION: Final = """
[checks.missing_required_header]
expected-statuses = [400, 401, 403, 406, 415, 422]

[auth.wfc]
path = "clients.json"
user = "client"
peers = ["client", "neighbour"]
"""
OPERATIONS: Final = 24
EXAMPLES: Final = 4


def entry(name: str, credentials: dict[str, str]) -> dict[str, object]:
    """Credentials in the form of Web Fuzzing Commons."""
    headers = [{"name": name, "value": value} for name, value in credentials.items()]
    return {"name": name, "fixedHeaders": headers}


def tried(folder: Path, url: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run schemathesis with every check and every phase, the same way each time."""
    (folder / "schemathesis.toml").write_text(CONFIGURATION)
    fixed = ["--seed", "1", "--generation-deterministic", "--no-color"]
    return subprocess.run(
        [PROGRAM, "run", f"{url}/openapi.json", "--checks", "all", "--continue-on-failure", *fixed, *words],
        cwd=folder,
        # Few variables and no proxy: requests reads all of them again for each request.
        env={
            "SCHEMATHESIS_HOOKS": str(HOOKS),
            "HYPOTHESIS_STORAGE_DIRECTORY": str(CHARACTERS),
            "PYTHONWARNINGS": "default",
            "NO_PROXY": "*",
        },
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_description_is_kept(sealed: Path, migrated: Path, tmp_path: Path) -> None:
    """Examples, edges, random requests and sequences, right and wrong ones, are answered as described."""
    shutil.copy(migrated, tmp_path)
    with open_service(tmp_path, sealed, "--trusted-proxies", "127.0.0.1") as service:
        entries = [entry(name, new_credentials(tmp_path)) for name in ("client", "neighbour")]
        (tmp_path / "clients.json").write_text(json.dumps({"auth": entries}))
        done = tried(tmp_path, service.url, "--max-examples", str(EXAMPLES))
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2_000:]
    assert re.search(rf"Tested: {OPERATIONS}\n", done.stdout), done.stdout
    assert all(f"✅ {phase}" in done.stdout for phase in ("Examples", "Coverage", "Fuzzing", "Stateful"))
    assert '"places"' not in service.log.read_text()  # of a fault
