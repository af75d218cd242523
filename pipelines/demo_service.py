"""Serve the main job's bundle on a SQLite file, with a demo client: from nothing to a first answer.

Takes the options of `scoring-model serve`, such as `--port 8001`, except for bundle and database.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from scoring_model.cli import main

RUNS = Path("runs")
BUNDLE = RUNS / "first"
DATABASE = f"sqlite:///{RUNS}/demo.db"
CREDENTIALS = RUNS / "demo.client.json"
BODY = {"signals": {"deviceId": "d-1", "emailAgeDays": 3, "vpn": True}}


def port_of(options: list[str]) -> str:
    """Return the port of the service."""
    if "--port" in options:
        return options[options.index("--port") + 1]
    return os.environ.get("SCORING_MODEL_PORT") or "8000"


def prepare() -> int:
    """Create the bundle, database and client if missing."""
    if not BUNDLE.is_dir() and (code := subprocess.call([sys.executable, "pipelines/main_job.py"])):
        return code
    if not CREDENTIALS.exists() or not (RUNS / "demo.db").exists():
        program = [str(Path(sys.executable).with_name("scoring-model"))]
        subprocess.run([*program, "database", "migrate", "--database", DATABASE], check=True)
        create = [*program, "clients", "create", "demo", "--database", DATABASE, "--json"]
        made = subprocess.run(create, check=True, stdout=subprocess.PIPE)
        CREDENTIALS.touch(mode=0o600)
        CREDENTIALS.write_bytes(made.stdout)
    return 0


def show(port: str) -> None:
    """Print the base URL, the credentials and a first request."""
    client = json.loads(CREDENTIALS.read_text(encoding="utf-8"))
    url = f"http://127.0.0.1:{port}"
    print(f"base URL     {url}      reference: {url}/docs")
    print(f"x-client-id  {client['clientId']}")
    print(f"x-api-key    {client['apiKey']}")
    print("master key   runs/demo.db.key: a demonstration key, next to its data; store a real key separately")
    print(f"\ncurl -s {url}/scoring/v1/verifications \\")
    print(f"  -H 'x-client-id: {client['clientId']}' -H 'x-api-key: {client['apiKey']}' \\")
    print(f"  -H 'Content-Type: application/json' -d '{json.dumps(BODY)}'\n", flush=True)


def run(options: list[str]) -> int:
    """Serve until Ctrl-C."""
    if code := prepare():
        return code
    show(port_of(options))
    return main(["serve", "--bundle", str(BUNDLE), "--database", DATABASE, *options])


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
