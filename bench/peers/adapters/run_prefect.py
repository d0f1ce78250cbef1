"""Prefect with its own server. Tasks run in the process that calls the flow."""

import os

import peer

port = peer.free_port()
os.environ.update(
    PREFECT_HOME=f"{peer.folder}/home",
    PREFECT_API_URL=f"http://127.0.0.1:{port}/api",
    PREFECT_SERVER_ANALYTICS_ENABLED="false",
    PREFECT_SERVER_UI_ENABLED="false",
    PREFECT_LOGGING_LEVEL="ERROR",
    DO_NOT_TRACK="1",
)
if peer.database:
    os.environ["PREFECT_API_DATABASE_CONNECTION_URL"] = peer.database
server = peer.start(
    f"{peer.python_folder}/prefect", "server", "start", "--port", str(port)
)
health = f"http://127.0.0.1:{port}/api/health"
peer.until(lambda: peer.request("GET", health), 180, "Prefect's server")

from prefect import flow, task  # noqa: E402
from prefect.futures import wait  # noqa: E402


@task
def process():
    peer.true()


@task
def add(number: int) -> int:
    return number + 1


@flow
def chain():
    for _ in range(peer.CHAIN):
        process()


@flow
def wide():
    futures = [process.submit() for _ in range(peer.WIDE)]
    wait(futures)
    for f in futures:
        f.result()


@flow
def functions():
    number = 0
    for _ in range(peer.FUNCTIONS):
        number = add(number)
    peer.expect(number, peer.FUNCTIONS)


@flow
def items():
    found = add.map(range(peer.ITEMS)).result()
    peer.expect(found, list(range(1, peer.ITEMS + 1)))


peer.serve(
    "prefect",
    {
        "chain-40": peer.timed(chain),
        "wide-200": peer.timed(wide),
        "functions-20": peer.timed(functions),
        "map-100": peer.timed(items),
    },
    [server],
)
