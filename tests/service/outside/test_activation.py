"""A bundle is activated and rolled back through the command line, under load and in every process of every replica."""

import asyncio
import shutil
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from outside_client import VERIFICATIONS, OutsideClient, new_credentials, open_service, port_of
from program import Captured, run
from running_service import Running, until
from scoring_model.bundle import read_bundle
from scoring_model.decision.rules import Policy
from scoring_model.service.activation.activations import serving_bundle
from scoring_model.service.keys.keyring import generate_master_key
from scoring_model.service.store import open_store
from scoring_model.training.run import Training
from service_use import save_under

THREADS = 3
PAUSE = 0.02
"""Seconds after each request of a thread: dozens of requests fall into each command."""


@contextmanager
def loaded(clients: list[OutsideClient]) -> Iterator[list[tuple[int, str]]]:
    """Requests from several threads; gives status and policy of each answer."""
    answers: list[tuple[int, str]] = []
    stop = threading.Event()

    def work(place: int) -> None:
        number = 0
        while not stop.wait(PAUSE):
            number += 1
            body = {"signals": {"vpn": True, "deviceId": f"d{place}-{number % 7}"}}
            answer = clients[number % len(clients)].ask("POST", VERIFICATIONS, body)
            answers.append((answer.status, answer.json.get("policyVersion", answer.body)))

    threads = [threading.Thread(target=work, args=(place,)) for place in range(THREADS)]
    for thread in threads:
        thread.start()
    try:
        yield answers
    finally:
        stop.set()
        for thread in threads:
            thread.join()


async def latest(url: str) -> tuple[str, str]:
    """The versions of the bundle that commands take by default."""
    store = await open_store(url)
    try:
        manifest = read_bundle(await serving_bundle(store)).manifest
    finally:
        await store.close()
    return manifest.model_version, manifest.policy_version


@pytest.fixture(params=["sqlite", "postgresql"])
def site(
    request: pytest.FixtureRequest, sealed: Path, migrated: Path, tmp_path: Path
) -> Iterator[tuple[str, list[Running], int]]:
    """The URL of a database, its replicas and the number of their processes: one, or one and two."""
    if request.param == "sqlite":
        shutil.copy(migrated, tmp_path)
        with open_service(tmp_path, sealed) as only:
            yield f"sqlite:///{tmp_path}/scoring.db", [only], 1
        return
    url = request.getfixturevalue("postgres_url")
    environment = {"SCORING_MODEL_MASTER_KEY": "env:KEYS", "KEYS": generate_master_key()}
    with ExitStack() as stack:
        replicas = []
        for workers in (1, 2):
            folder = tmp_path / str(workers)
            folder.mkdir()
            words = ("--workers", workers)
            opened = open_service(folder, sealed, *words, database=url, environment=environment)
            replicas.append(stack.enter_context(opened))
        yield url, replicas, 3


def test_activation_under_load(
    site: tuple[str, list[Running], int], training: Training, sealed: Path, tmp_path: Path, capsys: Captured
) -> None:
    """No request fails; after either command every process decides with the other bundle, and says since when."""
    url, replicas, processes = site
    strict = save_under(training.bundle, tmp_path / "strict", Policy(step_up_from=1, fail_from=2))
    old, new = (read_bundle(path).manifest for path in (sealed, strict))
    credentials = new_credentials(tmp_path, url)
    clients = [OutsideClient(port_of(replica), credentials) for replica in replicas]
    with loaded(clients) as answers:
        until(lambda: len(answers) > 20, "load")
        for words, expected in ((["activate", strict], new), (["rollback"], old)):
            code, said, error = run(capsys, "bundles", *words, "--database", url)
            told = "1 process serves" if processes == 1 else f"{processes} processes serve"
            assert (code, told in said) == (0, True), said + error
            after = len(answers) + THREADS
            until(lambda after=after: len(answers) > after + 20, "load after")  # type: ignore[misc]
            assert {policy for _, policy in answers[after:]} == {expected.policy_version}
    assert {status for status, _ in answers} == {201}
    for replica in replicas:
        _, ready = replica.request("GET", "/health/ready")
        assert (ready["policyVersion"], ready["bundleProblem"]) == (old.policy_version, None)
    code, listed, _ = run(capsys, "bundles", "list", "--database", url)
    assert code == 0
    assert f"{old.model_version}  {old.policy_version}  active" in listed
    assert f"{new.model_version}  {new.policy_version}  rollback" in listed
    assert listed.count(f"serves {old.model_version} with policy {old.policy_version} since") == processes
    assert asyncio.run(latest(url)) == (old.model_version, old.policy_version)  # not that which began last
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules: [{code: VPN, title: A VPN, when: {signals.vpn: {is: true}}, then: OBSERVE}]")
    code, said, error = run(capsys, "rules", "activate", rules, "--database", url)
    assert (code, "are active" in said) == (0, True), error  # both bundles are found and checked
